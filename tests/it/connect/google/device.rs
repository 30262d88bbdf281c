//! Phones, tablets and Chromebooks.

use posture::connect::device::Last;
use posture::connect::google::{Snapshot, devices, judge_devices};
use posture::connect::reading::JudgedStatus::{self, Compliant, NonCompliant};
use posture::engine::asset::AssetType;
use serde_json::{Value, json};

use super::workspace::{at, changed};

fn phones(rows: Value) -> Snapshot {
    changed(|wire| wire["mobile_devices"] = rows)
}

fn status(snapshot: &Snapshot, check: &str) -> Option<JudgedStatus> {
    let judged = judge_devices(&devices(snapshot).unwrap(), at());
    judged.into_iter().find(|it| it.check == check).map(|it| it.status)
}

#[test]
fn phones_and_chromebooks_are_devices_until_they_are_wiped_or_deprovisioned() {
    let snapshot = changed(|wire| {
        wire["mobile_devices"] = json!([
            {"resourceId": "m1", "model": "iPad", "status": "APPROVED", "lastSync": "2026-11-19T00:00:00Z",
             "email": ["ben@example.com", "ben@other.example"], "wifiMacAddress": "a4bb6d000002"},
            {"resourceId": "m2", "status": "BLOCKED"},
            {"resourceId": "m3", "status": "DEVICE_WIPED"},
        ]);
        wire["chrome_devices"] = json!([
            {"deviceId": "c1", "serialNumber": "5CD1", "osVersion": "131", "lastSync": "1970-01-01T00:00:00.000Z"},
            {"deviceId": "c2", "status": "DEPROVISIONED"},
        ]);
    });
    let all = devices(&snapshot).unwrap();
    let names: Vec<_> = all.iter().map(|it| (it.id.as_str(), it.name.as_str(), it.kind)).collect();
    assert_eq!(
        names,
        [
            ("m1", "iPad of ben@example.com", Some(AssetType::Mobile)),
            ("m2", "Phone or tablet", Some(AssetType::Mobile)),
            ("c1", "Chrome device 5CD1", Some(AssetType::Workstation)),
        ]
    );
    assert_eq!(
        (all[0].macs.len(), all[1].last_seen, all[2].last_seen),
        (1, None, Some(Last::Never))
    );
    assert_eq!(devices(&phones(Value::Null)), None);
    assert_eq!(devices(&phones(json!([{"model": "iPad"}]))), None, "one has no identifier");
    assert_eq!(devices(&changed(|wire| wire["chrome_devices"] = Value::Null)), None);
}

#[test]
fn only_what_google_tells_of_devices_is_judged() {
    for (words, expected) in [
        (json!("Compromised"), Some(NonCompliant)),
        (json!("No compromise detected"), Some(Compliant)),
        (json!("Undetected"), None),
        (Value::Null, None),
    ] {
        let snapshot = phones(json!([{"resourceId": "m", "deviceCompromisedStatus": words}]));
        assert_eq!(status(&snapshot, "jailbreak"), expected, "{words}");
    }
    for (last, expected) in [
        (json!("2026-11-19T00:00:00Z"), Some(Compliant)),
        (json!("2026-10-01T00:00:00Z"), Some(NonCompliant)),
        (Value::Null, None),
    ] {
        let snapshot = phones(json!([{"resourceId": "m", "lastSync": last}]));
        assert_eq!(status(&snapshot, "check_in"), expected, "{last}");
    }
    let snapshot = phones(json!([{"resourceId": "m", "lastSync": "2026-11-19T00:00:00Z"}]));
    let judged = judge_devices(&devices(&snapshot).unwrap(), at());
    assert!(judged.iter().all(|it| ["END-02", "END-11"].contains(&it.control)), "{judged:?}");
}
