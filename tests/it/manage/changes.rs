//! Rows that changed, in commit order.

use std::collections::BTreeMap;

use posture::engine::framework::FrameworkId;
use serde_json::{Value, json};

use super::{CONSOLE_MFA, GOOD, MIXED, ROOT_MFA, all_but, import, patched, read, refused_field};
use crate::harness::Posture;

/// No test makes so many changes.
const N_ENOUGH: usize = 20_000;

/// All changes behind a sequence, pulled in pages of this size.
fn pulled(posture: &Posture, after: u64, limit: usize) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(after, sequence);
        let page = read(posture, &format!("/api/changes?after={after}&limit={limit}"));
        let page = page.as_array().unwrap().clone();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
        assert!(all.len() < N_ENOUGH, "pages come to an end");
    }
}

fn sequence(change: &Value) -> u64 {
    change["sequence"].as_u64().unwrap()
}

/// The status of every row of a client, details too, by framework, level and reference.
fn statuses(posture: &Posture, client: &str) -> BTreeMap<(String, String, String), String> {
    let key = posture.key();
    let mut found = BTreeMap::new();
    for level in ["requirement", "detail"] {
        for framework in FrameworkId::CONTRACT.map(FrameworkId::embedded_str) {
            let path = format!("/clients/{client}/compliance/{framework}?level={level}");
            let answer = posture.get(&key, &path);
            if answer.status == 400 {
                continue; // It has no details.
            }
            for row in answer.json()["data"]["requirements"].as_array().unwrap() {
                let text = |name: &str| row[name].as_str().unwrap().to_owned();
                let key = (framework.to_owned(), level.to_owned(), text("requirement"));
                found.insert(key, text("overallStatus"));
            }
        }
    }
    found
}

/// What the changes make of statuses, which must be what each of them says it comes from.
fn apply(statuses: &mut BTreeMap<(String, String, String), String>, changes: &[Value]) {
    for change in changes {
        let text = |name: &str| change[name].as_str().unwrap().to_owned();
        let key = (text("framework"), text("level"), text("requirement"));
        let status = statuses.get_mut(&key).unwrap_or_else(|| panic!("no row {key:?}"));
        assert_eq!(*status, text("from"), "{key:?}");
        assert_ne!(text("from"), text("to"), "{key:?}");
        *status = text("to");
    }
}

#[test]
fn changes_lead_from_each_reading_to_the_next() {
    let posture = Posture::start();
    let client = posture.client("A");
    let mut kept = statuses(&posture, &client);
    let mut seen = 0;
    let mut n_details = 0;
    for failing in [&[][..], &[ROOT_MFA, CONSOLE_MFA], &[ROOT_MFA]] {
        posture.import(&client, "observedAt=now&again=true", &all_but(failing));
        let changes = pulled(&posture, seen, 100);
        assert!(!changes.is_empty());
        apply(&mut kept, &changes);
        let now = statuses(&posture, &client);
        assert!(kept == now, "{failing:?}");
        for change in &changes {
            assert_eq!(change["clientId"], client.as_str());
            assert_eq!((&change["cause"], &change["at"]), (&json!("prowler"), &at(&posture)));
            n_details += usize::from(change["level"] == "detail");
        }
        seen = sequence(changes.last().unwrap());
        posture.pass_s(60);
    }
    assert!(0 < n_details, "details are rows too");
    assert!(pulled(&posture, seen, 100).is_empty());
    posture.pass_days(36);
    let lapsed = pulled(&posture, seen, 100);
    assert!(!lapsed.is_empty() && lapsed.iter().all(|it| it["cause"] == "lapse"));
    apply(&mut kept, &lapsed);
    assert!(kept == statuses(&posture, &client));
}

#[test]
fn changes_and_events_can_be_pulled_of_one_client() {
    let posture = Posture::start();
    let (one, other) = (posture.client("A"), posture.client("B"));
    for client in [&one, &other] {
        import(&posture, client, "", MIXED);
        crate::webhook::push(&posture, client, "new");
    }
    for path in ["changes", "events"] {
        let of = |query: &str| {
            let all = read(&posture, &format!("/api/{path}?limit=100{query}"));
            all.as_array().unwrap().clone()
        };
        let mine = of(&format!("&clientId={one}"));
        assert!(!mine.is_empty() && mine.len() < of("").len(), "{path}");
        assert!(mine.iter().all(|it| json!(it).to_string().contains(&one)), "{path}");
        assert!(!json!(mine).to_string().contains(&other), "{path}");
    }
    let absent = "/api/changes?clientId=0195a000-0000-7000-8000-000000000000";
    assert_eq!(posture.operator("GET", absent, &Value::Null).status, 404);
}

fn at(posture: &Posture) -> Value {
    json!(posture.now().to_string())
}

#[test]
fn a_first_read_changes_rows_and_an_unchanged_one_does_not() {
    let posture = Posture::start();
    let client = posture.client("A");
    assert!(pulled(&posture, 0, 100).is_empty());
    import(&posture, &client, "", MIXED);
    let first = pulled(&posture, 0, 100);
    assert!(!first.is_empty(), "they are not announced, but they are changes");
    assert!(first.iter().all(|it| it["from"] == "not_assessed"));
    posture.pass_s(60);
    import(&posture, &client, "again=true", MIXED);
    assert_eq!(pulled(&posture, 0, 100), first);
    let settings = json!({"settings": {"profile": {"aws": "unused"}}});
    patched(&posture, &format!("/api/clients/{client}"), &settings);
    import(&posture, &client, "again=true", GOOD);
    let causes: Vec<_> = pulled(&posture, sequence(first.last().unwrap()), 100);
    assert!(causes.iter().all(|it| it["cause"] == "scope" || it["cause"] == "prowler"));
}

#[test]
fn sequences_have_no_gaps_and_pages_of_any_size_join() {
    let posture = Posture::start();
    let clients = ["A", "B"].map(|it| posture.client(it));
    for findings in [GOOD, MIXED, GOOD] {
        for client in &clients {
            import(&posture, client, "again=true", findings);
        }
        posture.pass_s(60);
    }
    let all = pulled(&posture, 0, 100);
    let sequences: Vec<u64> = all.iter().map(sequence).collect();
    let counted: Vec<u64> = (1..=all.len() as u64).collect();
    assert_eq!(sequences, counted);
    for limit in [1, 7, 33] {
        assert!(pulled(&posture, 0, limit) == all, "pages of {limit}");
    }
    let middle = all.len() / 2;
    assert!(pulled(&posture, middle as u64, 100) == all[middle..]);
    let whole: Vec<_> = all.iter().map(|it| it["clientId"].as_str().unwrap()).collect();
    assert!(clients.iter().all(|it| whole.contains(&it.as_str())));
}

#[test]
fn a_sequence_is_never_used_again() {
    let mut posture = Posture::start();
    let (kept, erased) = (posture.client("Kept"), posture.client("Erased"));
    import(&posture, &kept, "", MIXED);
    import(&posture, &erased, "", MIXED);
    let before = pulled(&posture, 0, 100);
    let last = sequence(before.last().unwrap());
    let path = format!("/api/clients/{erased}");
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    let left = pulled(&posture, 0, 100);
    assert!(!left.is_empty() && left.iter().all(|it| it["clientId"] == kept.as_str()));
    posture = posture.restart();
    assert!(pulled(&posture, 0, 100) == left, "they survive a restart");
    posture.import(&kept, "observedAt=now", &all_but(&[]));
    let all = pulled(&posture, 0, 100);
    assert!(all.starts_with(&left));
    assert_eq!(sequence(&all[left.len()]), last + 1, "also when the last ones are gone");
}

#[test]
fn changes_are_kept_for_ninety_days() {
    let mut posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let forget =
        |posture: &Posture| while posture.block_on(posture.app.forget_events()).unwrap() {};
    let before = pulled(&posture, 0, 100);
    posture.pass_days(90);
    forget(&posture);
    let all = pulled(&posture, 0, 100);
    assert!(all.starts_with(&before), "not on the ninetieth day yet");
    let last = sequence(all.last().unwrap());
    posture.pass_days(1);
    forget(&posture);
    let left = pulled(&posture, 0, 100);
    assert!(before.iter().all(|it| !left.contains(it)));
    posture.pass_days(100);
    forget(&posture);
    assert!(pulled(&posture, 0, 100).is_empty());
    posture = posture.restart();
    import(&posture, &client, "again=true", GOOD);
    let new = pulled(&posture, 0, 100);
    assert!(last < sequence(&new[0]), "the count goes on");
}

#[test]
fn where_to_go_on_is_a_sequence() {
    let posture = Posture::start();
    for after in ["-1", "x", "1.5", ""] {
        let answer = posture.operator("GET", &format!("/api/changes?after={after}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, "after", "{after}");
    }
    for limit in ["0", "5001", "x"] {
        let answer = posture.operator("GET", &format!("/api/changes?limit={limit}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, "limit", "{limit}");
    }
    assert_eq!(read(&posture, "/api/changes?after=18446744073709551615"), json!([]));
}

#[test]
fn the_first_word_about_a_client_is_told_too() {
    let posture = Posture::start();
    let firsts: [(&str, &str, Value); 3] = [
        (
            "PUT",
            "/compliance/soc2/CC1.1",
            json!({"decision": "out_of_scope", "reason": "r", "by": "Ada"}),
        ),
        (
            "PUT",
            "/controls/GOV-14",
            json!({"status": "not_applicable", "reason": "r", "by": "Ada"}),
        ),
        ("PATCH", "", json!({"settings": {"profile": {"creditReports": "used"}}})),
    ];
    for (method, path, body) in firsts {
        let client = posture.client("A");
        let mut known = statuses(&posture, &client);
        let path = format!("/api/clients/{client}{path}");
        let answer = posture.operator(method, &path, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.sweep();
        let changes = read(&posture, &format!("/api/changes?clientId={client}&limit=100"));
        apply(&mut known, changes.as_array().unwrap());
        assert_eq!(known, statuses(&posture, &client), "{path}");
    }
}
