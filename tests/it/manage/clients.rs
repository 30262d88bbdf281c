//! Clients: added, changed, set up, erased.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use posture::engine::fact::Status;
use serde_json::{Value, json};

use super::estate::say_all;
use super::{GOOD, MIXED, import, read, refused_field};
use crate::harness::{Answer, Posture, catalog, send};

const ABSENT: &str = "0195a000-0000-7000-8000-000000000000";

fn add(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/clients", body)
}

fn patch(posture: &Posture, client: &str, body: &Value) -> Answer {
    posture.operator("PATCH", &format!("/api/clients/{client}"), body)
}

fn change(posture: &Posture, client: &str, body: &Value) -> Value {
    let answer = patch(posture, client, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn a_new_client_shows_what_it_is_and_the_defaults() {
    let posture = Posture::start_with(|it| {
        it.app.settings.dormant_after_days = 45;
        it.app.settings.stale_asset_days = 14;
    });
    let answer = add(&posture, &json!({"name": "Müller & Söhne"}));
    assert_eq!(answer.status, 201);
    let client = answer.json()["data"].clone();
    let settings = json!({
        "profile": {},
        "frameworks": [
            "SOC2", "HIPAA", "PCI_DSS", "NIST_CSF", "ISO_27001", "CJIS", "CMMC_L1", "CMMC_L2",
            "FERPA", "PIPEDA", "LOI_25",
        ],
        "scoreThresholds": [60, 70, 80, 90],
        "dormantAfterDays": 45,
        "evidenceWarningDays": 30,
        "staleAssetDays": 14,
        "sanctionedApps": [],
        "retention": {"statementsDays": 2557, "observationsDays": 730},
        "tags": [],
        "scanNetworks": [],
        "timeZone": "UTC",
    });
    let id = client["id"].as_str().unwrap();
    let expected = json!({
        "id": id, "name": "Müller & Söhne", "industry": null, "employeeCount": null,
        "active": true, "settings": settings, "externalReferences": [], "hold": null,
        "createdAt": "2026-03-10T09:00:00.000Z", "updatedAt": "2026-03-10T09:00:00.000Z",
    });
    assert_eq!(client, expected);
    assert_eq!(read(&posture, &format!("/api/clients/{id}")), expected);
    let shown = posture.read(&posture.key(), &format!("/clients/{id}"))["data"].clone();
    assert_eq!(shown["settings"], settings);
    assert!(shown["employeeCount"].is_null() && shown["active"].is_null());
}

#[test]
fn a_change_changes_only_what_it_names() {
    let posture = Posture::start();
    let body = json!({"name": "A", "industry": "Legal", "employeeCount": 12});
    let client = posture.client_with(&body);
    posture.pass_s(5);
    let changed = change(&posture, &client, &json!({"name": "B"}));
    assert_eq!((&changed["name"], &changed["industry"]), (&json!("B"), &json!("Legal")));
    assert_eq!(changed["employeeCount"], 12);
    assert_eq!(changed["createdAt"], "2026-03-10T09:00:00.000Z");
    assert_eq!(changed["updatedAt"], "2026-03-10T09:00:05.000Z");
    let changed = change(&posture, &client, &json!({"industry": null, "employeeCount": null}));
    assert!(changed["industry"].is_null() && changed["employeeCount"].is_null());
    let changed = change(&posture, &client, &json!({}));
    assert_eq!(changed["name"], "B");
    let posture = posture.restart();
    assert_eq!(read(&posture, &format!("/api/clients/{client}"))["name"], "B");
}

#[test]
fn each_rule_of_a_client_is_told_by_its_field() {
    let posture = Posture::start();
    let client = posture.client("A");
    let before = read(&posture, &format!("/api/clients/{client}"));
    let long = |n: usize| "ü".repeat(n);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(" \t")),
        ("name", json!(null)),
        ("name", json!(7)),
        ("name", json!(long(501))),
        ("industry", json!(long(101))),
        ("industry", json!(7)),
        ("employeeCount", json!(-1)),
        ("employeeCount", json!(1.5)),
        ("employeeCount", json!("12")),
        ("employeeCount", json!(100_000_001)),
        ("employeeCount", json!(5_000_000_000_u64)),
        ("active", json!("yes")),
        ("active", json!(null)),
        ("settings", json!([])),
        ("settings", json!(null)),
        ("colour", json!("red")),
    ] {
        let (told, rule) = refused_field(&patch(&posture, &client, &json!({ field: value })));
        assert_eq!(told, field, "{value}");
        assert!(!rule.contains("u32") && !rule.contains("struct"), "{rule}");
        let body = json!({"name": "B", field: value});
        assert_eq!(refused_field(&add(&posture, &body)).0, field, "{value}");
    }
    assert_eq!(refused_field(&add(&posture, &json!({}))), ("name".into(), "is required".into()));
    assert_eq!(read(&posture, &format!("/api/clients/{client}")), before);
    assert_eq!(read(&posture, "/api/clients").as_array().unwrap().len(), 1);
    let most = json!({"name": long(500), "industry": long(100), "employeeCount": 100_000_000});
    change(&posture, &client, &most);
}

#[test]
fn each_rule_of_the_settings_is_told_by_its_member() {
    let posture = Posture::start();
    let client = posture.client("A");
    let good = json!({"scoreThresholds": [1, 100], "staleAssetDays": 3_650, "own": {"a": [1]}});
    let tags: Vec<_> = (1..=20).map(|n| format!("{n:02}{}", "ü".repeat(62))).collect();
    let most = json!({"settings": {"tags": tags}});
    assert_eq!(change(&posture, &client, &most)["settings"]["tags"], most["settings"]["tags"]);
    change(&posture, &client, &json!({"settings": {"tags": null}}));
    let before = change(&posture, &client, &json!({"settings": good}));
    for (member, value) in [
        ("scoreThresholds", json!([0])),
        ("scoreThresholds", json!([101])),
        ("scoreThresholds", json!([50, 50])),
        ("scoreThresholds", json!([60, 50])),
        ("scoreThresholds", json!([50.5])),
        ("scoreThresholds", json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])),
        ("scoreThresholds", json!(50)),
        ("dormantAfterDays", json!(0)),
        ("evidenceWarningDays", json!(3_651)),
        ("staleAssetDays", json!("30")),
        ("staleAssetDays", json!(-1)),
        ("frameworks", json!(["SOC3"])),
        ("frameworks", json!("SOC2")),
        ("sanctionedApps", json!([1])),
        ("sanctionedApps", json!({})),
        ("tags", json!("gold")),
        ("tags", json!([1])),
        ("tags", json!([" "])),
        ("tags", json!(["t".repeat(65)])),
        ("tags", json!((0..21).map(|n| format!("t{n}")).collect::<Vec<_>>())),
        ("tags", json!(["gold", "G\u{43e}ld"])),
        ("tags", json!(["go\u{200b}ld"])),
        ("profile", json!("aws")),
        ("profile.aws", json!({"aws": "perhaps"})),
        ("profile.aws", json!({"aws": true})),
        ("profile.windows", json!({"windows": "used"})),
    ] {
        let name = member.split('.').next().unwrap();
        let body = json!({"name": "no", "settings": { "own": "no", name: value }});
        let (told, _) = refused_field(&patch(&posture, &client, &body));
        assert_eq!(told, format!("settings.{member}"), "{value}");
    }
    let huge = json!({"settings": {"own": "x".repeat(60 * 1024), "more": "y".repeat(3 * 1024)}});
    change(&posture, &client, &huge);
    let more = json!({"settings": {"most": "z".repeat(3 * 1024)}});
    assert_eq!(refused_field(&patch(&posture, &client, &more)).0, "settings");
    change(&posture, &client, &json!({"settings": {"own": {"a": [1]}, "more": null}}));
    assert_eq!(read(&posture, &format!("/api/clients/{client}")), before);
}

#[test]
fn no_two_clients_have_names_that_look_the_same() {
    let posture = Posture::start();
    let [acme, evil] = ["Acme Ltd", "Evil"].map(|it| posture.client(it));
    for name in ["acme ltd", " Acme  Ltd", "\u{410}cme Ltd", "Acme\u{3000}Ltd", "\u{ff21}cme Ltd"] {
        let answer = add(&posture, &json!({"name": name}));
        // White space other than that of the keyboard is not taken at all.
        let status = if name.contains('\u{3000}') { 400 } else { 409 };
        assert_eq!(answer.status, status, "{name}: {}", answer.text());
    }
    for name in ["A\r\nB", "A\u{202e}cod", "A\u{200b}", "A\u{2028}B"] {
        let answer = add(&posture, &json!({"name": name}));
        assert_eq!(refused_field(&answer).0, "name", "{name:?}");
    }
    assert_eq!(
        add(&posture, &json!({"name": "Acme, Ltd"})).status,
        201,
        "it does not look the same"
    );
    // Who may not reach the other client does not learn whose name it is.
    let scopes = json!(["manage:clients"]);
    let key = posture.key_with(&json!({"clientIds": [evil], "scopes": scopes}));
    let rename = |body: &Value| {
        let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
        let path = format!("/api/clients/{evil}");
        send(posture.address, "PATCH", &path, &headers, body.to_string().as_bytes())
    };
    let refused = rename(&json!({"name": "acme ltd"}));
    assert_eq!(refused.status, 409);
    assert!(
        !refused.text().contains(&acme) && !refused.text().contains("Acme"),
        "{}",
        refused.text()
    );
    assert_eq!(rename(&json!({"name": "acme ltd", "allowSameName": true})).status, 403);
    assert_eq!(rename(&json!({"name": "EVIL"})).status, 200, "its own name in other letters");
    let twin = add(&posture, &json!({"name": "ACME LTD", "allowSameName": true}));
    assert_eq!(twin.status, 201, "{}", twin.text());
    let named = read(&posture, "/api/clients?name=acme%20ltd");
    assert_eq!(named.as_array().unwrap().len(), 2);
    // An erased client's name is free.
    for id in [acme.as_str(), twin.json()["data"]["id"].as_str().unwrap()] {
        assert_eq!(
            posture.operator("DELETE", &format!("/api/clients/{id}"), &Value::Null).status,
            200
        );
    }
    assert_eq!(add(&posture, &json!({"name": "Acme Ltd"})).status, 201);
}

#[test]
fn of_many_clients_added_at_once_one_gets_the_name() {
    let posture = Posture::start();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| add(&posture, &json!({"name": "Acme"})).status))
            .collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|it| **it == 201).count(), 1, "{statuses:?}");
}

#[test]
fn unknown_settings_are_kept_as_given_and_null_removes_one() {
    let posture = Posture::start();
    let client = posture.client("A");
    let own = json!({"b": 1.5, "a": [null, "ü", {"deep": true}], "n": 12_345_678_901_u64});
    change(&posture, &client, &json!({"settings": {"own": own, "dormantAfterDays": 7}}));
    let settings =
        change(&posture, &client, &json!({"settings": {"other": "x"}}))["settings"].clone();
    assert_eq!((&settings["own"], &settings["other"]), (&own, &json!("x")));
    assert_eq!(settings["dormantAfterDays"], 7);
    let patch = json!({"settings": {"own": null, "dormantAfterDays": null}});
    let settings = change(&posture, &client, &patch)["settings"].clone();
    assert!(settings.get("own").is_none());
    assert_eq!((&settings["other"], &settings["dormantAfterDays"]), (&json!("x"), &json!(90)));
}

#[test]
fn what_settings_show_may_be_sent_back() {
    let posture = Posture::start();
    let client = posture.client("A");
    let patch =
        json!({"settings": {"profile": {"aws": "unused", "m365": "used", "gcp": "unknown"}}});
    let shown = change(&posture, &client, &patch)["settings"].clone();
    let again = change(&posture, &client, &json!({"settings": shown.clone()}));
    assert_eq!(again["settings"], shown);
}

/// Statuses of the controls whose platforms are all among these.
fn statuses(posture: &Posture, client: &str, platforms: &[&str]) -> Vec<String> {
    let catalog = catalog();
    let of_these = |it: &&posture::engine::catalog::Control| {
        !it.platforms.is_empty() && it.platforms.iter().all(|it| platforms.contains(&it.as_str()))
    };
    let codes: Vec<_> =
        catalog.controls.iter().filter(of_these).map(|it| it.code.as_str()).collect();
    let controls = read(posture, &format!("/api/clients/{client}/posture"))["controls"].clone();
    let controls = controls.as_array().unwrap().clone();
    let of_codes = |it: &&Value| codes.contains(&it["controlCode"].as_str().unwrap());
    let status = |it: &Value| it["status"].as_str().unwrap().to_owned();
    let statuses: Vec<_> = controls.iter().filter(of_codes).map(status).collect();
    assert!(!statuses.is_empty());
    statuses
}

const CLOUDS: [&str; 3] = ["aws", "azure", "gcp"];

fn all_are(statuses: &[String], status: Status) -> bool {
    statuses.iter().all(|it| it == status.as_str())
}

#[test]
fn controls_of_unused_platforms_do_not_apply() {
    let posture = Posture::start();
    let client = posture.client("A");
    let answers = json!({"aws": "unused", "azure": "unused"});
    change(&posture, &client, &json!({"settings": {"profile": answers}}));
    assert!(all_are(&statuses(&posture, &client, &["aws", "azure"]), Status::NotApplicable));
    let clouds = statuses(&posture, &client, &CLOUDS);
    assert!(clouds.iter().any(|it| it == "not_assessed"), "gcp may still be in use");
    let patch = json!({"settings": {"profile": {"gcp": "unused"}}});
    let profile = change(&posture, &client, &patch)["settings"]["profile"].clone();
    let aws = json!({
        "usage": "unused", "by": profile["aws"]["by"], "at": "2026-03-10T09:00:00.000Z",
        "until": "2027-03-10T09:00:00.000Z",
    });
    assert_eq!(profile["aws"], aws);
    assert!(profile["aws"]["by"].as_str().unwrap().starts_with("operator uid "));
    assert!(all_are(&statuses(&posture, &client, &CLOUDS), Status::NotApplicable));
    let patch = json!({"settings": {"profile": {"azure": "used"}}});
    change(&posture, &client, &patch);
    assert!(all_are(&statuses(&posture, &client, &["aws"]), Status::NotApplicable));
    assert!(!all_are(&statuses(&posture, &client, &CLOUDS), Status::NotApplicable));
}

#[test]
fn unused_lapses_after_a_year() {
    let posture = Posture::start();
    let client = posture.client("A");
    change(&posture, &client, &json!({"settings": {"profile": {"aws": "unused"}}}));
    posture.pass_days(364);
    assert!(all_are(&statuses(&posture, &client, &["aws"]), Status::NotApplicable));
    posture.pass_days(1);
    assert!(all_are(&statuses(&posture, &client, &["aws"]), Status::NotAssessed));
}

#[test]
fn facts_contradict_unused_at_once() {
    let posture = Posture::start();
    let client = posture.client("A");
    change(&posture, &client, &json!({"settings": {"profile": {"aws": "unused"}}}));
    import(&posture, &client, "", MIXED);
    say_all(&posture, &client, "cloud_accounts");
    assert!(all_are(&statuses(&posture, &client, &["aws"]), Status::Compliant));
}

#[test]
fn an_erased_client_is_gone_with_everything() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Same");
    let asset = json!({"clientId": client, "name": "a", "externalId": "1", "assetType": "user"});
    let asset = posture.send("POST", &key, "/assets", &asset).json()["data"]["id"].clone();
    let asset = format!("/assets/{}", asset.as_str().unwrap());
    import(&posture, &client, "", MIXED);
    posture.pass_s(1);
    let (kept, kept_key) = (posture.client("Kept"), posture.key());
    import(&posture, &kept, "", GOOD);
    let before = super::all_answers(&posture, &kept_key, &kept);
    let path = format!("/api/clients/{client}");
    let answer = posture.operator("DELETE", &path, &Value::Null);
    assert_eq!(answer.status, 200);
    let gone = |posture: &Posture| {
        for rest in ["", "/assets", "/scores", "/risks", "/compliance", "/compliance/SOC2"] {
            let answer = posture.get(&key, &format!("/clients/{client}{rest}"));
            assert_eq!(answer.status, 404, "{rest}");
        }
        for rest in ["", "/imports", "/posture"] {
            let answer = posture.operator("GET", &format!("{path}{rest}"), &Value::Null);
            assert_eq!(answer.status, 404, "{rest}");
        }
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 404);
        assert_eq!(posture.send("PUT", &key, &asset, &json!({"name": "b"})).status, 404);
        let list = posture.operator("GET", "/api/clients", &Value::Null).text();
        assert!(!list.contains(&client));
        let of_client = |it: &&Value| it["data"]["clientId"] == client.as_str();
        assert_eq!(posture.events().iter().filter(of_client).count(), 0);
    };
    gone(&posture);
    let same = posture.client("Same");
    assert_ne!(same, client);
    let scores = posture.read(&key, &format!("/clients/{same}/scores"))["data"].clone();
    assert_eq!(scores, json!({"current": null, "history": []}));
    let assets = posture.read(&key, &format!("/clients/{same}/assets"));
    assert_eq!(assets["pagination"]["total"], 0);
    posture.pass_days(1);
    let posture = posture.restart();
    gone(&posture);
    let kept_now = super::all_answers(&posture, &kept_key, &kept);
    let events = |all: &[(String, String)]| all.last().unwrap().1.contains(&kept);
    assert!(events(&before) && events(&kept_now), "others keep theirs");
}

#[test]
fn nothing_pushed_while_a_client_is_erased_stays() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("A");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (posture, key, client, stop) = (&posture, &key, &client, &stop);
            scope.spawn(move || {
                for n in 0.. {
                    let body = json!({
                        "clientId": client, "name": "a", "externalId": format!("{thread}-{n}"),
                        "assetType": "user",
                    });
                    let headers =
                        [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
                    let body = body.to_string();
                    let path = "/api/v1/assets";
                    let answer = send(posture.address, "POST", path, &headers, body.as_bytes());
                    if answer.status == 404 || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    assert_eq!(answer.status, 201);
                }
            });
        }
        while read(&posture, "/api/events?limit=100").as_array().unwrap().len() < 20 {}
        let answer = posture.operator("DELETE", &format!("/api/clients/{client}"), &Value::Null);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(answer.status, 200);
    });
    assert_eq!(posture.events().len(), 0);
}

#[test]
fn a_change_beside_an_erasure_brings_nothing_back() {
    let posture = Posture::start();
    for _ in 0..10 {
        let client = posture.client("A");
        thread::scope(|scope| {
            let renames =
                || (0..5).for_each(|_| drop(patch(&posture, &client, &json!({"name": "B"}))));
            scope.spawn(renames);
            scope.spawn(renames);
            let path = format!("/api/clients/{client}");
            assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
        });
        assert_eq!(read(&posture, "/api/clients"), json!([]));
    }
    assert_eq!(read(&posture.restart(), "/api/clients"), json!([]));
}

#[test]
fn clients_are_listed_in_order_with_the_inactive() {
    let posture = Posture::start();
    let all = ["A", "B", "C"].map(|it| {
        posture.pass_s(1);
        posture.client(it)
    });
    change(&posture, &all[1], &json!({"active": false}));
    let page = posture.operator("GET", "/api/clients?limit=2&offset=1", &Value::Null).json();
    assert_eq!(page["pagination"], json!({"total": 3, "limit": 2, "offset": 1}));
    let shown =
        |index: usize| (page["data"][index]["id"].clone(), page["data"][index]["active"].clone());
    assert_eq!(shown(0), (json!(all[1]), json!(false)));
    assert_eq!(shown(1), (json!(all[2]), json!(true)));
    let answer = patch(&posture, ABSENT, &json!({"active": true}));
    assert_eq!(answer.problem(), ("NOT_FOUND".into(), "client not found".into()));
}
