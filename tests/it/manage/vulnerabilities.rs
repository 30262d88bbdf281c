//! Vulnerabilities: what scans of several tools leave, and what they decide as time passes.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::read;
use crate::harness::{Answer, Posture};

/// A host of a report: its name, whether the scanner signed in, and what it found there.
type Host<'a> = (&'a str, bool, &'a [Found<'a>]);

/// Its CVE, its severity from 1 to 4, and since when there is a patch.
type Found<'a> = (&'a str, u8, Option<&'a str>);

const OLD: Found<'_> = ("CVE-2024-3094", 4, Some("2026/01/05"));
const FRESH: Found<'_> = ("CVE-2026-0001", 4, Some("2026/03/08"));
const HIGH: Found<'_> = ("CVE-2025-1000", 3, Some("2026/02/20"));
const UNDATED: Found<'_> = ("CVE-2025-2000", 3, None);
const LOW: Found<'_> = ("CVE-2025-3000", 1, Some("2020/01/01"));

/// A report of Nessus whose hosts were scanned at this time.
fn nessus(posture: &Posture, hosts: &[Host<'_>]) -> String {
    let at = posture.now().s();
    let mut text =
        "<?xml version=\"1.0\" ?>\n<NessusClientData_v2>\n<Report name=\"weekly\">\n".to_owned();
    for (name, is_deep, found) in hosts {
        write!(
            text,
            "<ReportHost name=\"{name}\"><HostProperties>\
             <tag name=\"HOST_END_TIMESTAMP\">{at}</tag><tag name=\"host-fqdn\">{name}</tag>\
             <tag name=\"Credentialed_Scan\">{is_deep}</tag></HostProperties>\
             <ReportItem port=\"0\" svc_name=\"general\" protocol=\"tcp\" severity=\"0\" pluginID=\"19506\" \
             pluginName=\"Nessus Scan Information\" pluginFamily=\"Settings\">\
             <plugin_output>Credentialed checks : {}</plugin_output></ReportItem>",
            if *is_deep { "yes" } else { "no" }
        )
        .unwrap();
        for (n, (cve, severity, patched)) in found.iter().enumerate() {
            let patched = patched.map_or_else(String::new, |it| {
                format!("<patch_publication_date>{it}</patch_publication_date>")
            });
            write!(
                text,
                "<ReportItem port=\"443\" svc_name=\"www\" protocol=\"tcp\" severity=\"{severity}\" \
                 pluginID=\"{}\" pluginName=\"Flaw {cve}\" pluginFamily=\"Debian Local Security Checks\">\
                 <cve>{cve}</cve><solution>Update it.</solution>{patched}</ReportItem>",
                100 + n
            )
            .unwrap();
        }
        text.push_str("</ReportHost>\n");
    }
    text + "</Report>\n</NessusClientData_v2>\n"
}

fn send(posture: &Posture, client: &str, query: &str, hosts: &[Host<'_>]) -> Answer {
    posture.import(client, query, nessus(posture, hosts).as_bytes())
}

fn import(posture: &Posture, client: &str, hosts: &[Host<'_>]) -> String {
    let answer = send(posture, client, "", hosts);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["import"]["id"].as_str().unwrap().to_owned()
}

/// The status of each control that scans decide, in the order NET-07, END-07, CLD-15.
fn decided(posture: &Posture, client: &str) -> String {
    let all = read(posture, &format!("/api/clients/{client}/controls"));
    let status = |code: &str| {
        let found = all.as_array().unwrap().iter().find(|it| it["controlCode"] == code).unwrap();
        found["status"].as_str().unwrap().to_owned()
    };
    ["NET-07", "END-07", "CLD-15"].map(status).join(" ")
}

fn listed(posture: &Posture, client: &str, query: &str) -> Vec<Value> {
    let all = read(posture, &format!("/api/clients/{client}/vulnerabilities?{query}"));
    all.as_array().unwrap().clone()
}

/// As `system id`.
fn names(posture: &Posture, client: &str, query: &str) -> Vec<String> {
    let all = listed(posture, client, query);
    let name =
        |it: &Value| format!("{} {}", it["system"].as_str().unwrap(), it["id"].as_str().unwrap());
    all.iter().map(name).collect()
}

const DAY_S: i64 = 86_400;

#[test]
fn what_waits_too_long_fails_and_what_is_clean_passes() {
    let posture = Posture::start();
    let client = posture.client("A");
    assert_eq!(decided(&posture, &client), "not_assessed not_assessed not_assessed");
    import(&posture, &client, &[("web", true, &[]), ("db", true, &[LOW])]);
    assert_eq!(decided(&posture, &client), "compliant compliant not_assessed");
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[FRESH, HIGH])]);
    assert_eq!(decided(&posture, &client), "partial compliant not_assessed", "db stays clean");
    assert_eq!(
        names(&posture, &client, ""),
        ["db CVE-2025-3000", "web CVE-2025-1000", "web CVE-2026-0001"]
    );
    assert!(listed(&posture, &client, "overdue=true").is_empty());
    posture.pass_s(16 * DAY_S);
    import(&posture, &client, &[("web", true, &[FRESH, HIGH])]);
    assert_eq!(decided(&posture, &client), "partial partial not_assessed");
    let late = listed(&posture, &client, "overdue=true");
    let both = ["CVE-2025-1000", "CVE-2026-0001"];
    assert_eq!(late.iter().map(|it| it["id"].as_str().unwrap()).collect::<Vec<_>>(), both);
    assert_eq!(late[0]["firstSeenAt"], "2026-03-10T09:01:00.000Z");
    assert_eq!(late[0]["lastSeenAt"], "2026-03-26T09:01:00.000Z");
    assert!(late[0]["assetId"].is_string(), "{}", late[0]);
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[])]);
    assert_eq!(decided(&posture, &client), "compliant compliant not_assessed");
}

#[test]
fn a_look_from_outside_passes_nothing_and_fixes_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, &[("web", false, &[])]);
    assert_eq!(decided(&posture, &client), "compliant not_assessed not_assessed");
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[OLD])]);
    assert_eq!(decided(&posture, &client), "non_compliant non_compliant not_assessed");
    posture.pass_s(60);
    import(&posture, &client, &[("web", false, &[])]);
    assert_eq!(decided(&posture, &client), "non_compliant non_compliant not_assessed");
    assert_eq!(names(&posture, &client, ""), ["web CVE-2024-3094"]);
    assert_eq!(listed(&posture, &client, "")[0]["lastSeenAt"], "2026-03-10T09:01:00.000Z");
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[])]);
    assert_eq!(decided(&posture, &client), "compliant compliant not_assessed");
}

#[test]
fn what_has_no_date_is_not_on_time_until_it_was_not_there() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, &[("web", true, &[UNDATED]), ("db", true, &[])]);
    assert_eq!(decided(&posture, &client), "compliant partial not_assessed");
    assert_eq!(listed(&posture, &client, "")[0]["overdue"], Value::Null);
    posture.pass_s(60);
    import(&posture, &client, &[("db", true, &[UNDATED])]);
    assert_eq!(listed(&posture, &client, "system=DB")[0]["overdue"], false, "it came since");
    posture.pass_s(31 * DAY_S);
    import(&posture, &client, &[("web", true, &[UNDATED]), ("db", true, &[UNDATED])]);
    assert_eq!(names(&posture, &client, "overdue=true").len(), 2);
    assert_eq!(decided(&posture, &client), "compliant non_compliant not_assessed");
}

#[test]
fn a_system_that_no_scan_saw_is_a_gap_of_the_scan() {
    let posture = Posture::start();
    let client = posture.client("A");
    let hosts = json!({
        "source": "script", "scope": "", "complete": true, "observations": [],
        "assets": [
            {"externalId": "1", "name": "web", "assetType": "server", "hostname": "WEB"},
            {"externalId": "2", "name": "nas", "assetType": "server", "hostname": "nas"},
            {"externalId": "3", "name": "i-1", "assetType": "virtual_machine"},
        ],
    });
    let push = || {
        let pushed = posture.operator("POST", &format!("/api/clients/{client}/facts"), &hosts);
        assert_eq!(pushed.status, 200, "{}", pushed.text());
    };
    push();
    import(&posture, &client, &[("web", true, &[]), ("db", true, &[])]);
    assert_eq!(decided(&posture, &client), "partial compliant not_assessed");
    let why = read(&posture, &format!("/api/clients/{client}/observations?control=NET-07"));
    assert!(why[0]["findings"].as_str().unwrap().starts_with("nas\n"), "{why}");
    assert_eq!((&why[0]["passed"], &why[0]["failed"]), (&json!(2), &json!(1)));
    posture.pass_s(60);
    import(&posture, &client, &[("nas", true, &[])]);
    assert_eq!(decided(&posture, &client), "compliant compliant not_assessed");
    // One that still exists and is not scanned again is one that no scan saw.
    posture.pass_s(91 * DAY_S);
    push();
    import(&posture, &client, &[("nas", true, &[])]);
    assert_eq!(decided(&posture, &client), "partial compliant not_assessed", "web is not");
}

#[test]
fn two_tools_count_once_and_what_one_does_not_see_stays() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, &[("web", true, &[OLD, FRESH])]);
    let second = send(&posture, &client, "source=outside", &[("WEB", true, &[OLD])]);
    assert_eq!(second.status, 200, "{}", second.text());
    let all = listed(&posture, &client, "");
    assert_eq!(all.len(), 2, "{all:?}");
    let of = |id: &str| all.iter().find(|it| it["id"] == id).unwrap()["sources"].clone();
    assert_eq!(of("CVE-2024-3094"), json!(["nessus", "outside"]));
    assert_eq!(of("CVE-2026-0001"), json!(["nessus"]));
    posture.pass_s(60);
    send(&posture, &client, "source=outside", &[("web", true, &[])]);
    assert_eq!(names(&posture, &client, "").len(), 2, "the other tool still sees both");
    assert_eq!(decided(&posture, &client), "non_compliant non_compliant not_assessed");
}

#[test]
fn undone_scans_leave_what_was_before_in_any_order() {
    let posture = Posture::start();
    let client = posture.client("A");
    let undo = |import: &str| {
        let path = format!("/api/clients/{client}/imports/{import}");
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    };
    let state = || (decided(&posture, &client), names(&posture, &client, ""));
    let mut states = vec![state()];
    let mut imports = Vec::new();
    for hosts in [
        &[("web", true, &[OLD][..])][..],
        &[("web", true, &[]), ("db", true, &[FRESH])],
        &[("web", true, &[]), ("db", true, &[])],
    ] {
        imports.push(import(&posture, &client, hosts));
        states.push(state());
        posture.pass_s(60);
    }
    assert_eq!(states[3].0, "compliant compliant not_assessed");
    undo(&imports[2]);
    assert_eq!(state(), states[2]);
    undo(&imports[0]);
    assert_eq!(state(), states[2], "the second says all of both");
    undo(&imports[1]);
    assert_eq!(state(), states[0]);
    // What is undone counts no longer in what later ones showed of all systems. Its system stays in the inventory.
    let first = import(&posture, &client, &[("web", true, &[OLD])]);
    posture.pass_s(60);
    import(&posture, &client, &[("db", true, &[])]);
    assert_eq!(decided(&posture, &client), "partial partial not_assessed");
    undo(&first);
    assert_eq!(state(), ("partial compliant not_assessed".to_owned(), Vec::new()));
}

#[test]
fn an_older_report_that_comes_later_changes_nothing_of_what_is_newer() {
    let posture = Posture::start();
    let client = posture.client("A");
    let old = nessus(&posture, &[("web", true, &[OLD])]);
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[FRESH])]);
    let before = (decided(&posture, &client), names(&posture, &client, ""));
    let late = posture.import(&client, "", old.as_bytes());
    assert_eq!(late.status, 200, "{}", late.text());
    assert_eq!((decided(&posture, &client), names(&posture, &client, "")), before);
}

#[test]
fn what_is_known_to_be_exploited_counts_as_critical() {
    let posture = Posture::start();
    let client = posture.client("A");
    let list = |version: &str, at: &str, cves: &[&str], count: usize| {
        let entry = |it: &&str| json!({"cveID": it, "vendorProject": "Debian"});
        let all: Vec<Value> = cves.iter().map(entry).collect();
        let body = json!({
            "title": "CISA Catalog", "catalogVersion": version, "dateReleased": at, "count": count,
            "vulnerabilities": all,
        });
        posture.operator("PUT", "/api/exploited", &body)
    };
    assert_eq!(read(&posture, "/api/exploited"), json!({"list": null}));
    import(&posture, &client, &[("web", true, &[LOW])]);
    assert_eq!(decided(&posture, &client), "compliant compliant not_assessed");
    let first = list("2026.03.01", "2026-03-01T15:00:00.0000Z", &["CVE-2025-3000"], 1);
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(names(&posture, &client, "exploited=true"), ["web CVE-2025-3000"]);
    assert_eq!(listed(&posture, &client, "")[0]["overdue"], true);
    posture.pass_s(60);
    import(&posture, &client, &[("web", true, &[LOW])]);
    assert_eq!(decided(&posture, &client), "non_compliant non_compliant not_assessed");
    for (refused, status, words) in [
        (list("2", "2026-03-02T15:00:00Z", &["CVE-2025-3000"], 2), 400, "download it again"),
        (list("2", "2026-03-02T15:00:00Z", &[], 0), 400, "download it again"),
        (
            list("2", "2026-03-02T15:00:00Z", &["GHSA-1"], 1),
            400,
            "`GHSA-1` in the list is not a CVE",
        ),
        (list("0", "2026-02-01T15:00:00Z", &["CVE-2025-1"], 1), 400, "is not a CVE"),
        (list("0", "2026-02-01T15:00:00Z", &["CVE-2025-1000"], 1), 409, "2026.03.01, is newer"),
    ] {
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    assert_eq!(read(&posture, "/api/exploited")["list"]["version"], "2026.03.01");
    let second = list("2026.03.09", "2026-03-09T15:00:00Z", &["CVE-2025-1000"], 1);
    assert_eq!(second.status, 200, "{}", second.text());
    assert!(names(&posture, &client, "exploited=true").is_empty(), "the list is replaced");
    let notices = |posture: &Posture| {
        posture.block_on(posture.app.note_exploited_list()).unwrap();
        posture.operator("GET", "/api/system", &Value::Null).json()["data"]["notices"].clone()
    };
    posture.pass_days(29); // It is not 30 days old yet, by hours.
    assert_eq!(notices(&posture), json!([]));
    posture.pass_days(1);
    let old = notices(&posture);
    assert_eq!(old[0]["kind"], "exploited_list_old");
    assert_eq!(old[0]["at"], "2026-04-08T15:00:00.000Z");
    let message = old[0]["message"].as_str().unwrap();
    assert!(message.contains("is of 2026-03-09") && message.contains("catalog kev"), "{message}");
    let third = list("2026.04.08", "2026-04-08T15:00:00Z", &["cve-2025-3000"], 1);
    assert_eq!(third.status, 200, "{}", third.text());
    let system = posture.operator("GET", "/api/system", &Value::Null).json();
    assert_eq!(system["data"]["notices"], json!([]));
    assert_eq!(names(&posture, &client, "exploited=true"), ["web CVE-2025-3000"]);
}

#[test]
fn a_long_list_is_read_in_pages_and_exported_whole() {
    let posture = Posture::start();
    let client = posture.client("A");
    let cves: Vec<String> = (0..600).map(|it| format!("CVE-2025-{it:04}")).collect();
    let found: Vec<Found<'_>> = cves.iter().map(|it| (it.as_str(), 2, None)).collect();
    import(&posture, &client, &[("web", true, &found), ("database", true, &found[..3])]);
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/api/clients/{client}/vulnerabilities?limit=97{after}");
        let page = posture.operator("GET", &path, &Value::Null).json();
        seen.extend(page["data"].as_array().unwrap().iter().map(|it| {
            format!("{} {}", it["system"].as_str().unwrap(), it["id"].as_str().unwrap())
        }));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let mut wanted: Vec<String> = cves.iter().map(|it| format!("web {it}")).collect();
    wanted.extend(cves[..3].iter().map(|it| format!("database {it}")));
    wanted.sort();
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!(sorted, wanted);
    let export = posture.operator("GET", &format!("/api/clients/{client}/export"), &Value::Null);
    assert_eq!(export.text().matches("\"kind\":\"vulnerability\"").count(), 603);
    let bad = posture.operator(
        "GET",
        &format!("/api/clients/{client}/vulnerabilities?after=x"),
        &Value::Null,
    );
    assert_eq!(bad.status, 400, "{}", bad.text());
}
