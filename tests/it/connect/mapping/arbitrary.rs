//! Any JSON may be in an answer: nothing panics, and nothing passes by it.

use std::collections::BTreeMap;

use posture::clock::Time;
use posture::connect::device::{assets, judge, judge_users};
use posture::connect::mapping::{apply, embedded};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// Names and words that the mappings read, so that what is generated is near what they expect.
const KEYS: [&str; 24] = [
    "id",
    "uid",
    "deviceId",
    "agent_id",
    "organizationId",
    "siteUid",
    "client_name",
    "name",
    "hostname",
    "nodeClass",
    "deviceType",
    "category",
    "antivirus",
    "antivirusStatus",
    "patchManagement",
    "patchStatus",
    "lastContact",
    "lastSeen",
    "last_seen",
    "status",
    "severity",
    "bitLockerStatus",
    "os",
    "boot_time",
];
const WORDS: [&str; 12] = [
    "",
    "ON",
    "WINDOWS_SERVER",
    "FullyPatched",
    "RunningAndUpToDate",
    "server",
    "2026-11-23T00:00:00Z",
    "CRITICAL",
    "FAILED",
    "Windows 11 Pro build 26100",
    "\u{202e}\0",
    "99999999999999999999",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(&WORDS[..]).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        let object = btree_map(select(&KEYS[..]), inner.clone(), 0..8)
            .prop_map(|it| it.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        prop_oneof![vec(inner, 0..4).prop_map(Value::Array), object.prop_map(Value::Object)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_rows_come_to_something(rows in vec(vec(json(), 0..6), 13), missing in any::<u16>(), at in any::<i64>()) {
        let at = Time::from_micros(at);
        for mapping in embedded() {
            let streams = mapping.streams.iter().zip(&rows).enumerate();
            let read = streams.filter(|(index, _)| missing >> index & 1 == 0);
            let answers: BTreeMap<String, Vec<Value>> =
                read.map(|(_, (stream, rows))| (stream.name.clone(), rows.clone())).collect();
            let mapped = apply(mapping, &answers);
            prop_assert_eq!(&mapped, &apply(mapping, &answers));
            let devices = mapped.devices.unwrap_or_default();
            let assets = assets(&devices, "");
            prop_assert_eq!(assets.len(), devices.len());
            for judged in judge(&devices, &mapped.known, at) {
                prop_assert!(judged.findings.chars().count() <= 1_000);
                prop_assert!(mapped.known.iter().any(|it| it.control() == judged.control) || judged.control == "END-01");
            }
            let _ = mapped.users.and_then(|it| judge_users(&it, &mapping.title));
        }
    }
}
