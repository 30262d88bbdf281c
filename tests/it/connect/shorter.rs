//! Lists that are shorter than before: rows may go, but not all of them.

use posture::connect::google::StreamKind;
use serde_json::{Value, json};

use super::aws::cloud::Cloud;
use super::aws::connection::read_trusted;
use super::aws::healthy::{report, report_xml};
use super::google::front;
use super::google::server::{Google, answer};
use super::graph::{Graph, Told, registration, user};
use super::tenant::{assets, controls, n_events, read_once, shown, status, stream};
use crate::harness::process::Folder;

const EMPTY: &str = "the list is empty, although it always has a row";

fn sync(folder: &Folder, id: &str) -> Value {
    folder.run(&["connect", "sync", id]);
    shown(folder, id)
}

fn rows(shown: &Value, name: &str) -> u64 {
    let parts = shown["parts"].as_array().unwrap().iter();
    let mut streams = parts.flat_map(|it| it["streams"].as_array().unwrap());
    streams.find(|it| it["name"] == name).unwrap()["rows"].as_u64().unwrap()
}

/// None of the events that say that someone became less safe.
fn assert_quiet(folder: &Folder) {
    for kind in
        ["mfa_disabled", "admin_mfa_missing", "privilege_escalation", "dormant_account_detected"]
    {
        assert_eq!(n_events(folder, kind), 0, "{kind}");
    }
}

#[test]
fn people_who_left_a_tenant_are_gone_and_a_tenant_without_people_is_not_believed() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    let people = [("u1", "ada"), ("u2", "bob")];
    let registered = "/reports/authenticationMethods/userRegistrationDetails";
    graph.answers.set("/users", Told::List(people.map(|it| user(it.0, it.1)).to_vec()));
    graph.answers.set(registered, Told::List(people.map(|it| registration(it.0, true)).to_vec()));
    let now = sync(&folder, &id);
    assert_eq!((&now["health"], rows(&now, "users")), (&"healthy".into(), 2), "{now}");
    assert_eq!(controls(&folder, &client), before);
    for (path, name) in [
        ("/users", "users"),
        (registered, "userRegistrationDetails"),
        ("/roleManagement/directory/roleDefinitions", "roleDefinitions"),
        ("/servicePrincipals", "servicePrincipals"),
        ("/domains", "domains"),
    ] {
        let good = graph.answers.swap(path, Told::List(Vec::new())).unwrap();
        let now = sync(&folder, &id);
        assert_eq!(now["health"], "degraded", "{name}");
        assert_eq!(stream(&now, name), ("failed".to_owned(), EMPTY.to_owned()));
        assert_eq!(controls(&folder, &client), before, "{name}");
        graph.answers.set(path, good);
    }
    assert_eq!(sync(&folder, &id)["health"], "healthy");
    assert_quiet(&folder);
}

#[test]
fn people_who_left_a_workspace_are_gone_and_one_without_people_is_not_believed() {
    let google = Google::start();
    let (folder, _server, client, id) = front::read_once(&google);
    let before = controls(&folder, &client);
    let n = rows(&shown(&folder, &id), "users");
    google.script.change(|it| drop(it["users"].as_array_mut().unwrap().pop()));
    let now = sync(&folder, &id);
    assert_eq!((&now["health"], rows(&now, "users")), (&"healthy".into(), n - 1), "{now}");
    assert_eq!(controls(&folder, &client), before);
    for kind in [StreamKind::Users, StreamKind::RoleAssignments, StreamKind::Policies] {
        let name = kind.as_str();
        google.script.fail(
            kind,
            "*",
            usize::MAX,
            answer(200, &[("Content-Type", "application/json")], "{}"),
        );
        let now = sync(&folder, &id);
        assert_eq!(now["health"], "degraded", "{name}");
        assert_eq!(stream(&now, name), ("failed".to_owned(), EMPTY.to_owned()));
        assert_eq!(controls(&folder, &client), before, "{name}");
        google.script.mend();
    }
    assert_quiet(&folder);
}

fn device(nth: usize, is_encrypted: bool) -> Value {
    json!({
        "id": format!("d{nth}"), "deviceName": format!("PC-{nth}"), "operatingSystem": "Windows",
        "osVersion": "10.0.26200.4460", "complianceState": "compliant", "isEncrypted": is_encrypted,
        "jailBroken": "Unknown", "lastSyncDateTime": jiff::Timestamp::now().to_string(),
    })
}

#[test]
fn devices_of_a_tenant_that_are_suddenly_few_count_when_a_second_run_agrees() {
    let graph = Graph::start();
    let path = "/deviceManagement/managedDevices";
    let all = |n: usize| Told::List((0..n).map(|nth| device(nth, 3 <= nth)).collect());
    let few = || Told::List((3..6).map(|nth| device(nth, true)).collect());
    graph.answers.set(path, all(10));
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    assert_eq!(status(&folder, &client, "END-04"), "partial");
    assert_eq!(assets(&folder, &client), (10, 0));
    for (shorter, n) in [(few(), 3), (Told::List(Vec::new()), 0)] {
        graph.answers.set(path, shorter);
        let now = sync(&folder, &id);
        assert_eq!(now["health"], "degraded");
        let reason = format!("{n} devices, and there were 10; they count when a second run agrees");
        assert_eq!(stream(&now, "device counts"), ("partial".to_owned(), reason));
        assert_eq!(controls(&folder, &client), before);
        assert_eq!(assets(&folder, &client), (10, 0));
        graph.answers.set(path, all(10));
        assert_eq!(sync(&folder, &id)["health"], "healthy");
    }
    graph.answers.set(path, few());
    sync(&folder, &id);
    assert_eq!(sync(&folder, &id)["health"], "healthy");
    assert_eq!(status(&folder, &client, "END-04"), "partial");
    assert_eq!(assets(&folder, &client), (10, 7));
    // Few are as many as none.
    graph.answers.set(path, Told::List(Vec::new()));
    assert_eq!(sync(&folder, &id)["health"], "degraded");
    assert_eq!(status(&folder, &client, "END-04"), "partial");
    assert_eq!(sync(&folder, &id)["health"], "healthy");
    assert_eq!(status(&folder, &client, "END-04"), "not_assessed");
    assert_eq!(assets(&folder, &client), (10, 10));
}

#[test]
fn a_workspace_whose_devices_vanish_is_asked_twice() {
    let google = Google::start();
    let (folder, _server, client, id) = front::read_once(&google);
    let (before, known) = (controls(&folder, &client), assets(&folder, &client));
    assert!(0 < known.0 && known.1 == 0);
    for kind in [StreamKind::MobileDevices, StreamKind::ChromeDevices] {
        let told = answer(200, &[("Content-Type", "application/json")], "{}");
        google.script.fail(kind, "*", usize::MAX, told);
    }
    let now = sync(&folder, &id);
    assert_eq!(stream(&now, "device counts").0, "partial", "{now}");
    assert_eq!((controls(&folder, &client), assets(&folder, &client)), (before, known));
    assert_eq!(sync(&folder, &id)["health"], "healthy");
    assert_eq!(assets(&folder, &client), (known.0, known.0));
    google.script.mend();
    sync(&folder, &id);
    assert_eq!(assets(&folder, &client), known, "they are back");
}

#[test]
fn users_who_left_an_account_are_gone_and_a_report_without_rows_is_not_believed() {
    let cloud = Cloud::start();
    let (folder, _server, client, id) = read_trusted(&cloud);
    let report = report();
    let lines: Vec<&str> = report.lines().collect();
    let say = |n: usize| {
        cloud.script.say_xml(
            "iam us-east-1 GetCredentialReport",
            &report_xml(&(lines[..n].join("\n") + "\n")),
        );
    };
    say(2);
    let now = sync(&folder, &id);
    assert_eq!((&now["health"], rows(&now, "credential_report")), (&"healthy".into(), 1), "{now}");
    assert_eq!(status(&folder, &client, "CLD-02"), "compliant");
    assert_eq!(status(&folder, &client, "CLD-03"), "not_assessed", "nobody is left who needs MFA");
    let before = controls(&folder, &client);
    say(1);
    let now = sync(&folder, &id);
    assert_eq!(now["health"], "degraded");
    assert_eq!(stream(&now, "credential_report").0, "failed");
    assert_eq!(controls(&folder, &client), before);
}
