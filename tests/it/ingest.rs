//! The one flow: late and complete reads, merging of assets, announcements, two of the same at once.

use serde_json::{Value, json};

use crate::harness::Posture;

/// One Prowler finding of an account.
pub(crate) fn finding(check: &str, passes: bool, at: &str) -> Value {
    json!({
        "metadata": {"event_code": check, "product": {"name": "Prowler"}},
        "severity": "Critical", "status": "New",
        "status_code": if passes { "PASS" } else { "FAIL" },
        "time_dt": at,
        "finding_info": {"title": check, "uid": check},
        "resources": [{"uid": "arn:aws:iam::123456789012:root", "name": "root", "type": "Other"}],
        "cloud": {"provider": "aws", "account": {"uid": "123456789012"}},
        "remediation": {"desc": "Turn it on."},
    })
}

pub(crate) fn file(findings: &[Value]) -> Vec<u8> {
    serde_json::to_vec(findings).unwrap()
}

/// An nmap file of hosts: address, hostname, whether telnet is open.
fn scan(hosts: &[(&str, &str, bool)]) -> Vec<u8> {
    let host = |(ip, name, open): &(&str, &str, bool)| {
        let state = if *open { "open" } else { "closed" };
        format!(
            r#"<host><status state="up" reason="syn-ack"/><address addr="{ip}" addrtype="ipv4"/>
            <hostnames><hostname name="{name}" type="PTR"/></hostnames>
            <ports><port protocol="tcp" portid="23"><state state="{state}" reason="x"/></port></ports></host>"#
        )
    };
    let hosts: String = hosts.iter().map(host).collect();
    format!(
        r#"<?xml version="1.0"?><nmaprun scanner="nmap" args="nmap" start="1773133200" version="7.93">
        <scaninfo type="connect" protocol="tcp" numservices="1" services="23"/>{hosts}
        <runstats><finished time="1773133201" exit="success"/></runstats></nmaprun>"#
    )
    .into_bytes()
}

fn titles(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let risks = posture.read(key, &format!("/clients/{client}/risks?limit=100"));
    let all = risks["data"].as_array().unwrap();
    all.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect()
}

const UNMAPPED: &str = "no_control_knows_this_check";
const UNMAPPED_RISK: &str = "Check failed: \"no_control_knows_this_check\"";

#[test]
fn a_late_complete_read_does_not_heal_what_was_seen_after_it() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    let newer = file(&[finding(UNMAPPED, false, "2026-03-08T00:00:00Z")]);
    assert_eq!(posture.import(&client, "", &newer).status, 200);
    let older = file(&[finding("another_check", true, "2026-03-01T00:00:00Z")]);
    let answer = posture.import(&client, "complete=true", &older);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(titles(&posture, &key, &client), [UNMAPPED_RISK]);
}

#[test]
fn a_complete_read_ends_what_it_no_longer_has() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    let first = file(&[finding(UNMAPPED, false, "2026-03-08T00:00:00Z")]);
    posture.import(&client, "", &first);
    let second = file(&[finding("another_check", true, "2026-03-09T00:00:00Z")]);
    posture.import(&client, "", &second);
    assert_eq!(
        titles(&posture, &key, &client),
        [UNMAPPED_RISK],
        "a read that may be partial ends nothing"
    );
    posture.import(&client, "again=true&complete=true", &second);
    assert_eq!(titles(&posture, &key, &client), Vec::<String>::new());
}

#[test]
fn two_hosts_stay_two_when_one_takes_over_the_others_address() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    let first = scan(&[("10.0.0.5", "z.corp.example", false)]);
    assert_eq!(posture.import(&client, "observedAt=now", &first).status, 200);
    posture.pass_s(60);
    let second =
        scan(&[("10.0.0.5", "b.corp.example", false), ("10.0.0.9", "z.corp.example", false)]);
    assert_eq!(posture.import(&client, "observedAt=now", &second).status, 200);
    let assets = posture.read(&key, &format!("/clients/{client}/assets"));
    let names: Vec<_> =
        assets["data"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "z.corp.example");
}

#[test]
fn a_new_host_of_a_known_scan_is_announced_and_those_of_the_first_are_not() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    posture.import(&client, "observedAt=now", &scan(&[("10.0.0.5", "a.corp.example", false)]));
    let kinds = |posture: &Posture| -> Vec<Value> {
        let all = posture.events().into_iter();
        all.filter(|it| it["type"] == "asset_discovered").collect()
    };
    assert_eq!(kinds(&posture).len(), 0);
    posture.pass_s(60);
    let second =
        scan(&[("10.0.0.5", "a.corp.example", false), ("10.0.0.66", "rogue.corp.example", false)]);
    posture.import(&client, "observedAt=now", &second);
    let announced = kinds(&posture);
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0]["data"]["object"]["name"], "rogue.corp.example");
    assert_eq!(announced[0]["created"], posture.now().to_string());
}

#[test]
fn a_file_that_comes_eight_times_at_once_is_taken_once() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let file = file(&[finding(UNMAPPED, false, "2026-03-09T00:00:00Z")]);
    let n_taken = std::thread::scope(|scope| {
        let import =
            || posture.import(&client, "", &file).json()["data"]["alreadyImported"] == false;
        let all: Vec<_> = (0..8).map(|_| scope.spawn(import)).collect();
        all.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
    });
    assert_eq!(n_taken, 1);
    let imports = posture.operator("GET", &format!("/api/clients/{client}/imports"), &Value::Null);
    assert_eq!(imports.json()["pagination"]["total"], 1);
}

#[test]
fn an_import_undone_twice_at_once_is_undone_once() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let file = file(&[finding(UNMAPPED, false, "2026-03-09T00:00:00Z")]);
    let import = posture.import(&client, "", &file).json()["data"]["import"]["id"].clone();
    let path = format!("/api/clients/{client}/imports/{}", import.as_str().unwrap());
    let mut statuses = std::thread::scope(|scope| {
        let undo = || posture.operator("DELETE", &path, &Value::Null).status;
        let all: Vec<_> = (0..4).map(|_| scope.spawn(undo)).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
}

#[test]
fn a_push_during_an_assessment_is_assessed_soon_and_told_as_its_cause() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    let name = "iam_user_mfa_enabled_console_access";
    let one = |uid: &str, passes: bool| {
        let mut it = finding(name, passes, "2026-03-09T00:00:00Z");
        it["resources"][0]["uid"] = json!(uid);
        it
    };
    let file = file(&[one("database-a", true), one("database-b", true), one("database-c", false)]);
    assert_eq!(posture.import(&client, "", &file).status, 200);
    let status = |posture: &Posture| {
        let path = format!("/api/clients/{client}/posture");
        let all = posture.operator("GET", &path, &Value::Null).json();
        let controls = all["data"]["controls"].as_array().unwrap().clone();
        let found = controls.into_iter().find(|it| it["controlCode"] == "CLD-03").unwrap();
        found["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&posture), "partial");
    let asset = json!({
        "clientId": client, "name": "database-c", "externalId": "database-c",
        "assetType": "cloud_resource", "isCritical": true,
    });
    assert_eq!(posture.send("POST", &key, "/assets", &asset).status, 201);
    posture.pass_s(4);
    assert_eq!(status(&posture), "non_compliant", "a critical asset fails");
    let events = posture.events();
    let assessed = events.iter().rfind(|it| it["type"] == "risk_assessment_completed").unwrap();
    assert_eq!(assessed["data"]["object"]["cause"], "assets");
}

#[test]
fn a_client_without_facts_goes_on_without_a_score_day_after_day() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    for _ in 0..3 {
        posture.pass_days(1);
    }
    let scores = posture.read(&key, &format!("/clients/{client}/scores"));
    assert_eq!(scores["data"], json!({"current": null, "history": []}));
}
