//! Azure through the front door, and what each fault leaves.

use std::sync::Arc;
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::azure::{self, Wanted};
use posture::connect::call::{Api, Endpoints};
use posture::connect::microsoft::{AppKey, Cloud, MicrosoftApp};
use posture::connect::reading::StreamState::{self, Complete, Denied, Failed, Partial, Unlicensed};
use posture::connect::reading::{Reading, Stream};
use posture::egress::Egress;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::{Answers, Azure, FIRST, SECOND, control, controls_of, subscription};
use crate::connect::tenant::{ran, say_all, shown, status};
use crate::connect::vendor::{json as page, local, told};
use crate::harness::process::{Folder, Server, wait_until};

const APP: &str = "00000000-1111-2222-3333-444444444444";
const ORIGINS: [&str; 2] = ["https://login.microsoftonline.com", "https://management.azure.com"];

pub fn read(azure: &Azure, ids: &[&str]) -> Reading {
    read_wanted(azure, &Wanted { ids: ids.to_vec(), ..Wanted::default() })
}

fn read_wanted(azure: &Azure, wanted: &Wanted<'_>) -> Reading {
    let at = format!("http://{}", azure.sink.address);
    let endpoints = Endpoints(ORIGINS.map(|it| (it.to_owned(), at.clone())).into());
    let egress = Egress::new(local(), Duration::from_secs(20), 4).unwrap();
    let app = MicrosoftApp {
        app_id: APP.to_owned(),
        tenant: "msp.example".to_owned(),
        cloud: Cloud::Global,
        certificate_pem: None,
        fingerprint: None,
    };
    let key = Arc::new(AppKey::Secret("secret".to_owned()));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let deadline = Instant::now() + Duration::from_mins(1);
        let (egress, endpoints) = (Arc::new(egress), Arc::new(endpoints));
        let api = Api::new(egress, endpoints, &azure::DIALECT, Clock::System, deadline);
        azure::read(&api, &app, &key, "acme.example", wanted).await
    })
}

fn streams(reading: &Reading) -> &[Stream] {
    &reading.groups[0].streams
}

#[test]
fn a_real_answer_decides_nine_controls() {
    let reading = read(&Azure::start(), &[]);
    let group = &reading.groups[0];
    assert!(
        group.is_whole && streams(&reading).iter().all(|it| it.state == Complete),
        "{reading:?}"
    );
    assert_eq!(streams(&reading)[1].n_rows, 11);
    let mut found: Vec<(&str, &str)> =
        group.observations.iter().map(|it| (it.control, it.status.as_str())).collect();
    found.sort_unstable();
    let expected = [
        ("CLD-01", "compliant"),
        ("CLD-10", "compliant"),
        ("CLD-11", "partial"),
        ("CLD-12", "non_compliant"),
        ("CLD-13", "compliant"),
        ("CLD-15", "non_compliant"),
        ("CLD-17", "partial"),
        ("CLD-19", "non_compliant"),
        ("END-05", "non_compliant"),
    ];
    assert_eq!(found, expected);
}

type Fault<'a> = (&'a str, fn(&Answers), StreamState, &'a str);

const OF_SUBSCRIPTIONS: [Fault<'static>; 4] = [
    (
        "no subscription",
        |it| it.list("/subscriptions", &[]),
        Denied,
        "not allowed; grant the app the role Security Reader on a subscription of the tenant; it sees none that is on",
    ),
    (
        "none that is on",
        |it| it.list("/subscriptions", &[subscription(FIRST, "Old", "Disabled")]),
        Denied,
        "not allowed; grant the app the role Security Reader on a subscription of the tenant",
    ),
    (
        "a field that is gone",
        |it| it.list("/subscriptions", &[json!({"subscriptionId": FIRST})]),
        Partial,
        "the field state is absent from 1 of 1 rows",
    ),
    (
        "HTML",
        |it| it.set("/subscriptions", told(200, &[], "<html>")),
        Failed,
        "the answer is not JSON",
    ),
];

const OF_CONTROLS: [Fault<'static>; 5] = [
    (
        "a missing role",
        |it| it.fail(&controls_of(FIRST), 403, "AuthorizationFailed"),
        Denied,
        "Production: not allowed; grant the app the role Security Reader on the subscription aaaaaaaa",
    ),
    (
        "Defender off",
        |it| it.fail(&controls_of(FIRST), 409, "Subscription Not Registered"),
        Unlicensed,
        "Production: Defender for Cloud is not on; open it once",
    ),
    (
        "another 404",
        |it| it.fail(&controls_of(FIRST), 404, "SubscriptionNotFound"),
        Failed,
        "Production: Azure answered 404 SubscriptionNotFound: \"some words\"",
    ),
    (
        "a count that is gone",
        |it| it.controls(FIRST, &[json!({"name": "x", "properties": {"displayName": "x"}})]),
        Partial,
        "Production: the field healthyResourceCount is absent from 1 of 1 rows",
    ),
    (
        "other controls",
        |it| it.controls(FIRST, &[control("new", "New", 1, 0)]),
        Partial,
        "Production: the secure score has none of the controls that Posture knows",
    ),
];

#[test]
fn what_is_not_read_decides_nothing() {
    for (name, change, state, words) in OF_SUBSCRIPTIONS {
        let azure = Azure::start();
        change(&azure.answers);
        let reading = read(&azure, &[]);
        let [found] = streams(&reading) else { panic!("{name}: {reading:?}") };
        assert_eq!(
            (found.state, found.reason.starts_with(words)),
            (state, true),
            "{name}: {}",
            found.reason
        );
        assert!(!reading.groups[0].is_whole && reading.groups[0].observations.is_empty(), "{name}");
    }
    for (name, change, state, words) in OF_CONTROLS {
        let azure = Azure::start();
        change(&azure.answers);
        let reading = read(&azure, &[]);
        let found = &streams(&reading)[1];
        assert_eq!(
            (found.state, found.reason.starts_with(words)),
            (state, true),
            "{name}: {}",
            found.reason
        );
        assert!(!reading.groups[0].is_whole && reading.groups[0].observations.is_empty(), "{name}");
    }
}

#[test]
fn one_subscription_that_is_not_read_leaves_all_undecided() {
    let azure = Azure::start();
    let both =
        [subscription(FIRST, "Production", "Enabled"), subscription(SECOND, "Test", "Warned")];
    azure.answers.list("/subscriptions", &both);
    azure.answers.fail(&controls_of(SECOND), 403, "AuthorizationFailed");
    let reading = read(&azure, &[]);
    assert_eq!(streams(&reading)[1].state, Denied);
    assert!(reading.groups[0].observations.is_empty());
    let reading = read(&azure, &[FIRST]);
    assert_eq!(reading.groups[0].observations.len(), 9, "the other one is not wanted");
    azure.answers.controls(SECOND, &[]);
    let reading = read(&azure, &[]);
    let second = streams(&reading).last().unwrap();
    assert!(second.reason.contains("has no secure score yet"), "{second:?}");
    assert!(reading.groups[0].observations.is_empty(), "nobody saw what is in the second one");
    let reading = read(&azure, &[FIRST, "dddddddd-0000-4000-8000-00000000000d"]);
    let reason = &streams(&reading)[0].reason;
    assert!(reason.contains("the role Security Reader on the subscription dddddddd"), "{reason}");
    azure
        .answers
        .controls(SECOND, &[control("52901099-235c-4971-b9d5-a33fca3a936e", "Ports", 0, 1)]);
    let reading = read(&azure, &[]);
    let ports = reading.groups[0].observations.iter().find(|it| it.control == "CLD-10").unwrap();
    assert_eq!(ports.status.as_str(), "partial");
    assert!(ports.findings.starts_with("Subscriptions: Test\n1 of 19"), "{}", ports.findings);
}

/// A folder whose configuration leads to it.
pub fn folder(azure: &Azure) -> Folder {
    let folder = Folder::new();
    let at = format!("http://{}", azure.sink.address);
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\nallow_http_networks = [\"127.0.0.0/8\"]\n\
         allow_private_networks = [\"127.0.0.0/8\"]\nendpoints = {{ \"{}\" = \"{at}\", \"{}\" = \"{at}\" }}\n",
        ORIGINS[0], ORIGINS[1]
    );
    folder.write("posture.toml", text.as_bytes());
    folder.write("secret", b"some-secret-value");
    folder
}

fn init(folder: &Folder) {
    let app = ["connect", "m365", "init", "--app-id", APP, "--tenant", "msp.example"];
    folder.ok(&[&app[..], &["--secret-file", "secret"]].concat());
}

const ADD: [&str; 8] =
    ["connect", "add", "--no-wait", "azure", "--client", "Acme", "--set", "tenant=acme.example"];

/// A client whose tenant was read once.
pub fn read_once(azure: &Azure) -> (Folder, Server, String, String) {
    let folder = folder(azure);
    let server = folder.serve();
    let client = folder.client("Acme");
    init(&folder);
    let id = folder.ok(&ADD).lines().next().unwrap().to_owned();
    ran(&folder, &id, &Value::Null);
    say_all(&folder, &client);
    (folder, server, client, id)
}

#[test]
fn azure_is_read_by_the_microsoft_app_through_the_front_door() {
    let azure = Azure::start();
    let folder = folder(&azure);
    let _server = folder.serve();
    folder.client("Acme");
    let wrong = [&ADD[..], &["--set", "subscriptions=one,two"]].concat();
    assert!(folder.run(&wrong).err.contains("must be ids with commas between"));
    init(&folder);
    let refusal = json!({"error": "unauthorized_client", "error_codes": [700_016], "error_description": "AADSTS700016: x"});
    azure.answers.set("token", told(400, &[], &refusal.to_string()));
    let added = folder.ok(&ADD);
    assert!(added.contains("/acme.example/adminconsent?client_id=00000000-1111"), "{added}");
    let id = added.lines().next().unwrap().to_owned();
    let shown = || folder.ask(&format!("/api/connections/{id}"))["data"].clone();
    let mut now = Value::Null;
    let ran = || {
        now = shown();
        !now["lastRunAt"].is_null()
    };
    assert!(wait_until(Duration::from_mins(1), ran), "{now}");
    assert_eq!(now["health"], "pending", "{now}");
    azure.answers.set("token", page(&json!({"access_token": "tok", "expires_in": 3599})));
    folder.ok(&["connect", "sync", &id]);
    let tested = folder.ok(&["connect", "test", &id]);
    assert!(tested.contains("CLD-13") && tested.contains("secure_score_controls"), "{tested}");
    assert!(tested.contains("Subscriptions: Production 18 of 23 resources"), "{tested}");
}

#[test]
fn a_subscription_that_the_app_cannot_see_any_more_is_not_forgotten() {
    let azure = Azure::start();
    let [first, second] =
        [subscription(FIRST, "Production", "Enabled"), subscription(SECOND, "Test", "Enabled")];
    azure.answers.list("/subscriptions", &[first.clone(), second]);
    azure
        .answers
        .controls(SECOND, &[control("52901099-235c-4971-b9d5-a33fca3a936e", "Ports", 0, 1)]);
    let (folder, _server, client, id) = read_once(&azure);
    let verdict = || status(&folder, &client, "CLD-10");
    let shown = || shown(&folder, &id);
    assert_eq!(verdict(), "non_compliant", "one open port is enough: {}", shown());
    let one = format!("/subscriptions/{SECOND}");
    azure.answers.list("/subscriptions", &[first]);
    azure.answers.fail(&one, 403, "AuthorizationFailed");
    for _ in 0..3 {
        folder.run(&["connect", "sync", &id]);
        assert_eq!(
            (verdict(), shown()["health"].as_str()),
            ("non_compliant".to_owned(), Some("degraded"))
        );
    }
    let said = shown().to_string();
    assert!(said.contains("Test: not allowed; grant the app the role Security Reader"), "{said}");
    azure.answers.set("token", told(500, &[], "{}"));
    folder.run(&["connect", "sync", &id]);
    azure.answers.set("token", page(&json!({"access_token": "tok", "expires_in": 3599})));
    folder.run(&["connect", "sync", &id]);
    assert_eq!(verdict(), "non_compliant", "a run that reads nothing forgets nothing");
    azure.answers.fail(&one, 502, "BadGateway");
    folder.run(&["connect", "sync", &id]);
    assert_eq!(verdict(), "non_compliant");
    azure.answers.fail(&one, 404, "SubscriptionNotFound");
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(verdict(), "compliant", "it was deleted");
    assert_eq!(shown()["health"], "healthy");
}
