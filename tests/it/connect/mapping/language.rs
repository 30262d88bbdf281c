//! Each word that a mapping may use.

use posture::connect::device::{Antivirus, Last, PatchSeverity, PatchState, PatchStatus};
use posture::engine::asset::AssetType;
use serde_json::{Value, json};

use super::{device, joined, mapped, with};

fn row(field: &str, value: Value) -> Value {
    let mut row = json!({ "id": "d1" });
    row[field] = value;
    row
}

#[test]
fn a_place_is_a_pointer_or_the_first_of_some_that_has_something() {
    let deep = |value| device("hostname = \"/a/b~1c\"", row("a", value)).hostname;
    assert_eq!(deep(json!({ "b/c": "ws-1" })).as_deref(), Some("ws-1"));
    assert_eq!(deep(json!({ "b/c": null })), None);
    assert_eq!(deep(json!(null)), None);
    assert_eq!(deep(json!("text")), None);
    let first = |row| device("hostname = [\"/a\", \"/b\"]", row).hostname;
    assert_eq!(first(json!({ "id": 1, "a": "x", "b": "y" })).as_deref(), Some("x"));
    assert_eq!(first(json!({ "id": 1, "a": " ", "b": "y" })).as_deref(), Some("y"));
    assert_eq!(first(json!({ "id": 1, "a": null, "b": 26100 })).as_deref(), Some("26100"));
    let item = |value| device("ip = \"/ips/0\"", row("ips", value)).ip;
    assert_eq!(item(json!(["10.0.0.1", "10.0.0.2"])).as_deref(), Some("10.0.0.1"));
    assert_eq!(item(json!([])), None);
    let macs = |value| device("macs = \"/m\"", row("m", value)).macs;
    assert_eq!(macs(json!(["a", "b", null, 3])), ["a", "b", "3"]);
    assert_eq!(macs(json!("a")), ["a"]);
}

#[test]
fn texts_are_one_line_without_anything_hidden() {
    let name = device("hostname = \"/a\"", row("a", json!("ws\u{202e}\n1"))).hostname.unwrap();
    assert_eq!(name, "ws\\u{202e} 1");
    let long = device("hostname = \"/a\"", row("a", json!("x".repeat(999)))).hostname.unwrap();
    assert_eq!(long.chars().count(), 200);
}

#[test]
fn a_flag_is_a_boolean_and_nothing_else() {
    let flag = |lines: &str, value| device(lines, row("a", value)).firewall;
    let plain = "firewall = \"/a\"";
    assert_eq!(flag(plain, json!(true)), Some(true));
    assert_eq!(flag(plain, json!(false)), Some(false));
    for other in [json!(null), json!(1), json!("true"), json!([]), json!({})] {
        assert_eq!(flag(plain, other.clone()), None, "{other}");
    }
    let negated = "firewall = { at = \"/a\", negate = true }";
    assert_eq!(flag(negated, json!(true)), Some(false));
    assert_eq!(flag(negated, json!(null)), None);
    let filled = "firewall = { at = \"/a\", filled = true }";
    assert_eq!(flag(filled, json!("1.2")), Some(true));
    assert_eq!(flag(filled, json!("")), Some(false));
    assert_eq!(flag(filled, json!(null)), None);
}

#[test]
fn words_mean_what_is_listed_and_others_are_counted() {
    let lines = "firewall = { at = \"/a\", words = { On = true, \"Not On\" = false, Odd = \"unknown\", 1 = true } }";
    let read = |value| {
        let mapped = mapped(&with(lines), &[("devices", json!([row("a", value)]))]);
        let unmapped: Vec<String> = mapped.unmapped.into_keys().map(|it| it.word).collect();
        (mapped.devices.unwrap()[0].firewall, unmapped.join(", "))
    };
    for (value, expected, unmapped) in [
        (json!("On"), Some(true), ""),
        (json!("ON"), Some(true), ""),
        (json!("NOT_ON"), Some(false), ""),
        (json!("not-on"), Some(false), ""),
        (json!("odd"), None, ""),
        (json!(1), Some(true), ""),
        (json!(1.0), Some(true), ""),
        (json!(null), None, ""),
        (json!("Onward"), None, "Onward"),
        (json!(true), None, "true"),
        (json!(["On"]), None, "a list or an object"),
    ] {
        assert_eq!(read(value.clone()), (expected, unmapped.to_owned()), "{value}");
    }
    let words = mapped(
        &with(lines),
        &[("devices", json!([{"id": 1, "a": "x"}, {"id": 2, "a": "x"}, {"id": 3, "a": "y"}]))],
    );
    let counts: Vec<(String, u64)> = words
        .unmapped
        .into_iter()
        .map(|(it, n)| (format!("{}{}={}", it.stream, it.field, it.word), n))
        .collect();
    assert_eq!(counts, [("devices/a=x".to_owned(), 2), ("devices/a=y".to_owned(), 1)]);
}

#[test]
fn the_first_part_that_a_value_contains_decides() {
    let lines = "kind = { at = \"/a\", contains = [[\"server\", \"server\"], [\"windows\", \"workstation\"]] }";
    let kind = |text: &str| device(lines, row("a", json!(text))).kind;
    assert_eq!(kind("Windows Server 2022"), Some(AssetType::Server));
    assert_eq!(kind("WINDOWS 11"), Some(AssetType::Workstation));
    assert_eq!(kind("BeOS"), None);
}

#[test]
fn times_have_a_unit_and_words_for_never() {
    let time = |unit: &str, value| {
        let lines = format!(
            "last_seen = {{ at = \"/a\", time = \"{unit}\", never = [0, \"\", \"0001-01-01T00:00:00Z\"] }}"
        );
        device(&lines, row("a", value)).last_seen.map(|it| match it {
            Last::Never => "never".to_owned(),
            Last::At(time) => time.to_string(),
        })
    };
    for (unit, value, expected) in [
        ("s", json!(1_795_430_000), Some("2026-11-23T10:33:20.000Z")),
        ("s", json!(1_795_430_000.5), Some("2026-11-23T10:33:20.500Z")),
        ("s", json!("1795430000"), Some("2026-11-23T10:33:20.000Z")),
        ("ms", json!(1_795_430_000_250_i64), Some("2026-11-23T10:33:20.250Z")),
        ("rfc3339", json!("2026-11-23T11:33:20+01:00"), Some("2026-11-23T10:33:20.000Z")),
        ("s", json!(0), Some("never")),
        ("s", json!(0.0), Some("never")),
        ("ms", json!(0), Some("never")),
        ("rfc3339", json!("0001-01-01T00:00:00Z"), Some("never")),
        ("rfc3339", json!(""), Some("never")),
        ("s", json!(null), None),
        ("s", json!(-5), None),
        ("s", json!(1e300), None),
        ("s", json!("yesterday"), None),
        ("ms", json!(true), None),
        ("rfc3339", json!("2026-11-23"), None),
        ("rfc3339", json!(1_795_430_000), None),
    ] {
        assert_eq!(time(unit, value.clone()).as_deref(), expected, "{unit} {value}");
    }
}

#[test]
fn rows_of_other_streams_are_joined_by_the_device() {
    let more = json!([
        { "device": "d1", "on": true, "n": 2, "at": 1000, "ok": "yes" },
        { "device": "d1", "on": false, "n": 3, "at": 3000, "ok": "no" },
        { "device": "d1", "on": true, "n": 0, "at": 2000, "ok": "yes" },
        { "device": "d2", "on": null, "n": null, "at": null, "ok": "what" },
    ]);
    let read = |line: &str| joined(line, json!({ "id": "d1" }), more.clone());
    assert_eq!(read("firewall = { stream = \"more\", at = \"/on\" }").firewall, Some(false));
    assert_eq!(
        read("firewall = { stream = \"more\", at = \"/on\", any = true }").firewall,
        Some(true)
    );
    assert_eq!(read("threats = { stream = \"more\", at = \"/n\" }").threats, Some(5));
    let count = "threats = { stream = \"more\", at = \"/ok\", words = { yes = true, no = false } }";
    assert_eq!(read(count).threats, Some(2));
    let at = |s| Some(Last::At(posture::clock::Time::from_s(s)));
    assert_eq!(read("backup = { stream = \"more\", at = \"/at\", time = \"s\" }").backup, at(3000));
    let only = "backup = { stream = \"more\", at = \"/at\", time = \"s\", only = { at = \"/ok\", words = { yes = true, no = false } } }";
    assert_eq!(read(only).backup, at(2000));
}

#[test]
fn what_joined_rows_do_not_say_is_unknown() {
    let read = |line: &str, more| joined(line, json!({ "id": "d1" }), more);
    let firewall = "firewall = { stream = \"more\", at = \"/on\" }";
    assert_eq!(read(firewall, json!([])).firewall, None);
    assert_eq!(read(firewall, json!([{ "device": "d1", "on": null }])).firewall, None);
    let some = json!([{ "device": "d1", "on": null }, { "device": "d1", "on": true }]);
    assert_eq!(read(firewall, some.clone()).firewall, None, "all rows must say yes");
    let any = "firewall = { stream = \"more\", at = \"/on\", any = true }";
    assert_eq!(read(any, some).firewall, Some(true));
    let sum = "threats = { stream = \"more\", at = \"/n\" }";
    assert_eq!(read(sum, json!([])).threats, None);
    assert_eq!(read(sum, json!([{ "device": "d1", "n": null }])).threats, None);
    let count = "threats = { stream = \"more\", at = \"/ok\", words = { yes = true, no = false } }";
    assert_eq!(read(count, json!([])).threats, Some(0));
    assert_eq!(read(count, json!([{ "device": "d1", "ok": "what" }])).threats, None);
    let both = json!([{ "device": "d1", "ok": "what" }, { "device": "d1", "ok": "yes" }]);
    assert_eq!(read(count, both).threats, Some(1), "at least one");
    let backup = "backup = { stream = \"more\", at = \"/at\", time = \"s\", only = { at = \"/ok\", words = { yes = true, no = false } } }";
    let rows = |words: &[&str]| {
        let row = |it: &&str| json!({ "device": "d1", "at": 1000, "ok": it });
        read(backup, Value::Array(words.iter().map(row).collect())).backup
    };
    assert_eq!(rows(&[]), None, "another product may do it");
    assert_eq!(rows(&["no", "no"]), Some(Last::Never));
    assert_eq!(rows(&["yes", "what"]), None, "it may be a later one");
}

#[test]
fn each_row_is_an_antivirus_product() {
    let lines = "[device.antivirus]\nstream = \"more\"\nproduct = \"/p\"\nrunning = \"/r\"\ncurrent = \"/c\"\n\
                 none_if = [{ at = \"/os\", is = [\"windows\"] }]";
    let read = |os: &str, more| joined(lines, json!({ "id": "d1", "os": os }), more).antivirus;
    let product =
        |running, current| Antivirus { product: Some("Guard".to_owned()), running, current };
    let rows = json!([
        { "device": "d1", "p": "Guard", "r": true, "c": false },
        { "device": "d1", "p": "Guard", "r": null, "c": true },
    ]);
    let both = vec![product(Some(true), Some(false)), product(None, Some(true))];
    assert_eq!(read("Windows", rows), Some(both));
    assert_eq!(read("Windows", json!([])), Some(vec![]));
    assert_eq!(read("Linux", json!([])), None);
    let silent = json!([{ "device": "d1", "p": null, "r": null, "c": null }]);
    assert_eq!(read("Windows", silent), None, "a row that says nothing is no product");
}

#[test]
fn patches_are_a_summary_or_one_for_each_row() {
    let lines = "[device.os_patches]\nstate = { at = \"/s\", words = { Fine = \"current\", Bad = \"failed\" } }";
    assert_eq!(device(lines, row("s", json!("Fine"))).os_patches.state, Some(PatchState::Current));
    assert_eq!(device(lines, row("s", json!("Odd"))).os_patches.state, None);
    let lines = "[device.software_patches.open]\nstream = \"more\"\n\
                 severity = { at = \"/sev\", words = { C = \"critical\" } }\n\
                 status = { at = \"/st\", words = { P = \"pending\", X = \"closed\" } }\n\
                 since = { at = \"/at\", time = \"s\" }";
    let more = json!([
        { "device": "d1", "sev": "C", "st": "P", "at": 1000 },
        { "device": "d1", "sev": "?", "st": "X", "at": null },
    ]);
    let open = joined(lines, json!({ "id": "d1" }), more).software_patches.open.unwrap();
    assert_eq!(open[0].severity, Some(PatchSeverity::Critical));
    assert_eq!(open[0].status, Some(PatchStatus::Pending));
    assert_eq!(open[0].since, Some(posture::clock::Time::from_s(1000)));
    assert_eq!((open[1].severity, open[1].status), (None, Some(PatchStatus::Closed)));
    let none = joined(lines, json!({ "id": "d1" }), json!([])).software_patches;
    assert_eq!(none.open, Some(vec![]));
}

#[test]
fn rows_are_skipped_by_a_value_and_devices_with_their_organization() {
    let text =
        with("org = \"/org\"\n[organizations]\nstream = \"orgs\"\nid = \"/id\"\nname = \"/name\"")
            .replace(
                "name = \"orgs\"\n",
                "name = \"orgs\"\nskip_if = [{ at = \"/name\", is = [\"Deleted Devices\"] }]\n",
            );
    let text = text.replace(
        "name = \"devices\"\n",
        "name = \"devices\"\nskip_if = [{ at = \"/deleted\", is = [true] }, { at = \"/class\", is = [\"printer\"] }]\n",
    );
    let orgs = json!([{ "id": 1, "name": "Acme" }, { "id": 2, "name": "deleted-devices" }]);
    let devices = json!([
        { "id": "a", "org": 1 },
        { "id": "b", "org": 1, "deleted": true },
        { "id": "c", "org": 1, "deleted": false, "class": "Printer" },
        { "id": "d", "org": 2 },
        { "id": "e", "org": 9 },
        { "id": "a", "org": 1 },
    ]);
    let mapped = mapped(&text, &[("orgs", orgs), ("devices", devices)]);
    let names: Vec<String> = mapped.organizations.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["Acme"]);
    let ids: Vec<(String, String)> =
        mapped.devices.unwrap().into_iter().map(|it| (it.id, it.org)).collect();
    let expected = [("a", "1"), ("e", "9")].map(|(id, org)| (id.to_owned(), org.to_owned()));
    assert_eq!(ids, expected, "an organization that is not listed stays visible");
}

#[test]
fn devices_may_name_their_organization_by_its_name() {
    let text = with(
        "org = \"/org\"\norg_is_name = true\n[organizations]\nstream = \"orgs\"\nid = \"/id\"\nname = \"/name\"",
    );
    let orgs = json!([{ "id": 4, "name": "Acme" }]);
    let devices = json!([{ "id": "a", "org": "Acme" }, { "id": "b", "org": "Other" }]);
    let devices_of_acme = devices.clone();
    let devices = mapped(&text, &[("orgs", orgs), ("devices", devices)]).devices.unwrap();
    assert_eq!((&*devices[0].org, &*devices[1].org), ("4", ""));
    let orgs = json!([{ "id": 4, "name": "Acme" }, { "id": 5, "name": "Acme" }]);
    let devices = mapped(&text, &[("orgs", orgs), ("devices", devices_of_acme)]).devices.unwrap();
    assert_eq!(devices[0].org, "", "a name that two have is nobody's");
}
