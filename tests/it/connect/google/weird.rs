//! Whatever Google sends, nothing panics, and less is never better.

use posture::connect::google::{Snapshot, StreamKind, accounts, apps, judge, notes};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::workspace::{at, good_wire, judged, snapshot};

fn json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("ALL".to_owned()),
        Just("1970-01-01T00:00:00Z".to_owned()),
        Just("/".to_owned()),
        Just("orgUnits/top".to_owned()),
        Just("ENABLED".to_owned()),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|it| json!(it)),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|it| it.into_iter().collect::<Value>()),
        ]
    })
}

/// Every place of a value, but not the lists themselves and their rows.
fn places(of: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    if 2 < depth {
        found.push(at.to_owned());
    }
    match of {
        Value::Object(all) => {
            for (name, it) in all {
                places(it, &format!("{at}/{name}"), depth + 1, found);
            }
        }
        Value::Array(all) => {
            for (index, it) in all.iter().enumerate() {
                places(it, &format!("{at}/{index}"), depth + 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

fn read_all(snapshot: &Snapshot) {
    for it in judge(snapshot, &[], at()) {
        assert!(it.findings.chars().count() <= 1_000);
        assert!(it.count.is_none_or(|count| 0 < count.n_passed || !count.failing.is_empty()));
    }
    let _ = (accounts(snapshot, at()), apps(snapshot), notes(snapshot));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_change_makes_it_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), json()), 1..6)) {
        let mut wire = good_wire();
        for (which, value) in changes {
            let mut found = Vec::new();
            places(&wire, "", 0, &mut found);
            *wire.pointer_mut(&found[which.index(found.len())]).unwrap() = value;
        }
        read_all(&snapshot(wire));
    }

    #[test]
    fn no_rows_make_it_panic(rows in prop::collection::vec(json(), 0..4)) {
        let rows: Vec<Value> = rows.into_iter().map(|it| json!({
            "setting": it, "policyQuery": it, "id": it, "orgUnitPath": it, "orgUnitId": it, "events": it, "roleId": it,
        })).collect();
        let mut wire = good_wire();
        for list in StreamKind::ALL.into_iter().filter(|it| *it != StreamKind::Customer) {
            wire[list.as_str()].as_array_mut().unwrap().extend(rows.clone());
        }
        read_all(&snapshot(wire));
    }

    /// A list less gives no verdict that was not there.
    #[test]
    fn less_is_never_better(mask: u16) {
        let full = judged(&snapshot(good_wire()));
        let mut wire = good_wire();
        for (bit, kind) in StreamKind::ALL.into_iter().enumerate() {
            if mask >> bit & 1 == 1 {
                wire[kind.as_str()] = Value::Null;
            }
        }
        for it in judged(&snapshot(wire)) {
            prop_assert!(full.contains(&it), "{it:?}");
        }
    }
}
