//! What is announced, and what is not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    CONSOLE_MFA, Finding, GOOD, MIXED, ROOT_MFA, all_but, import, prowler_of, read, refused_field,
};
use crate::harness::Posture;

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let found: Vec<_> = events.iter().filter(|it| it["type"] == kind).collect();
    assert!(!found.is_empty(), "no {kind}");
    found
}

fn object(event: &Value) -> &Value {
    &event["data"]["object"]
}

#[test]
fn a_first_read_announces_only_what_must_reach_someone() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let events = posture.events();
    assert_eq!(
        kinds(&events),
        ["critical_risk_detected", "integration_sync_completed", "risk_assessment_completed"]
    );
    let critical = object(of_kind(&events, "critical_risk_detected")[0]);
    assert_eq!((&critical["severity"], &critical["occurrence"]), (&json!("critical"), &json!(1)));
    let risk = critical["id"].as_str().unwrap();
    assert_eq!(critical["dedupKey"], format!("{client}/risk/{risk}"));
    assert_eq!(critical["clientName"], "A");
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks?severity=critical"));
    assert_eq!(risks["data"][0]["id"], risk);
    let sync = object(of_kind(&events, "integration_sync_completed")[0]);
    assert_eq!((&sync["source"], &sync["assetsAdded"]), (&json!("prowler"), &json!(3)));
    let assessed = object(of_kind(&events, "risk_assessment_completed")[0]);
    assert_eq!((&assessed["baseline"], &assessed["critical"]), (&json!(true), &json!(1)));
    let counts = ["firstRun", "risksOpened", "risksClosed", "openRisks"];
    assert_eq!(counts.map(|it| assessed[it].clone()), [json!(true), json!(2), json!(0), json!(2)]);
    assert!(events.iter().all(|it| it["data"].get("previous").is_none()));
}

#[test]
fn frameworks_that_a_client_is_not_to_meet_are_not_announced() {
    let posture = Posture::start();
    let told = |settings: Value| -> BTreeSet<String> {
        let client = posture.client_with(&json!({"name": "A", "settings": settings}));
        for failing in [&[][..], &[ROOT_MFA, CONSOLE_MFA]] {
            posture.pass_s(60);
            posture.import(&client, "observedAt=now", &all_but(failing));
        }
        let shown = posture.read(&posture.key(), &format!("/clients/{client}/compliance"));
        assert_eq!(shown["data"].as_array().unwrap().len(), 11, "reads tell of all");
        let mut events = posture.events();
        events.retain(|it| it["data"]["clientId"] == client.as_str());
        events.iter().filter_map(|it| object(it)["framework"].as_str().map(str::to_owned)).collect()
    };
    let all = told(json!({}));
    assert!(2 < all.len(), "{all:?}");
    let one = all.first().unwrap();
    assert_eq!(told(json!({"frameworks": [one]})), BTreeSet::from([one.clone()]));
}

#[test]
fn a_worse_second_read_announces_every_change() {
    let posture = Posture::start();
    let client = posture.client("A");
    let take = |failing: &[&str]| {
        let answer = posture.import(&client, "observedAt=now", &all_but(failing));
        answer.json()["data"].clone()
    };
    let first = take(&[]);
    let n_before = posture.events().len();
    posture.pass_s(60);
    let second = take(&[ROOT_MFA, CONSOLE_MFA, "entra_user_with_recent_sign_in"]);
    let events = posture.events().split_off(n_before);
    let found: BTreeSet<_> = kinds(&events).into_iter().collect();
    for kind in [
        "compliance_drift_detected",
        "compliance_status_changed",
        "critical_risk_detected",
        "integration_sync_completed",
        "risk_assessment_completed",
        "risk_item_created",
        "security_score_changed",
    ] {
        assert!(found.contains(kind), "no {kind} among {found:?}");
    }
    let score = of_kind(&events, "security_score_changed")[0];
    assert_eq!(score["data"]["previous"]["overallScore"], first["changed"]["scoreAfter"]);
    assert_eq!(object(score)["overallScore"], second["changed"]["scoreAfter"]);
    assert_eq!(object(score)["cause"], "prowler");
    let created = of_kind(&events, "risk_item_created");
    assert_eq!(created.len() as u64, second["changed"]["risksOpened"].as_u64().unwrap());
    assert!(created.iter().all(|it| it["data"].get("previous").is_none()));
    let changed = of_kind(&events, "compliance_status_changed");
    assert_eq!(changed.len() as u64, second["changed"]["frameworks"].as_u64().unwrap());
    let shown = posture.read(&posture.key(), &format!("/clients/{client}/compliance"));
    for event in changed {
        let framework = &object(event)["framework"];
        let mut rows = shown["data"].as_array().unwrap().iter();
        let row = rows.find(|it| it["framework"] == *framework).unwrap();
        assert_eq!(object(event)["readinessScore"], row["readinessScore"], "{framework}");
        let before = event["data"]["previous"]["readinessScore"].as_u64().unwrap();
        assert!(row["readinessScore"].as_u64().unwrap() < before, "{framework}");
    }
    let drift = object(of_kind(&events, "compliance_drift_detected")[0]);
    let because = drift["because"].as_array().unwrap();
    assert!(!because.is_empty() && !because.contains(&json!("CLD-02")), "{because:?}");
    let failing = ["CLD-01", "CLD-03", "ID-11"].map(Value::from);
    assert!(because.iter().all(|it| failing.contains(it)), "{because:?}");
    let n_rows = drift["requirements"].as_array().unwrap().len() as u64;
    assert_eq!(drift["count"].as_u64(), Some(n_rows));
}

#[test]
fn a_better_third_read_resolves_the_risks() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (n, findings) in [GOOD, MIXED].iter().enumerate() {
        import(&posture, &client, &format!("fileName={n}"), findings);
        posture.pass_s(60);
    }
    let before = posture.events();
    let created: BTreeSet<_> = of_kind(&before, "risk_item_created")
        .iter()
        .map(|it| object(it)["id"].to_string())
        .collect();
    import(&posture, &client, "again=true", GOOD);
    let after = posture.events().split_off(before.len());
    let resolved = of_kind(&after, "risk_item_resolved");
    assert!(resolved.iter().all(|it| object(it)["resolution"] == "fixed"));
    let ids: BTreeSet<_> = resolved.iter().map(|it| object(it)["id"].to_string()).collect();
    assert_eq!(ids, created);
    posture.pass_days(6);
    import(&posture, &client, "again=true", MIXED);
    let again = posture.events().split_off(before.len() + after.len());
    let reopened = of_kind(&again, "risk_item_created");
    assert!(reopened.iter().all(|it| created.contains(&object(it)["id"].to_string())));
    assert!(reopened.iter().all(|it| object(it)["occurrence"] == 2), "within seven days");
}

#[test]
fn an_unchanged_read_announces_only_its_run() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let before = posture.events().len();
    posture.pass_s(60);
    import(&posture, &client, "again=true", MIXED);
    let events = posture.events().split_off(before);
    assert_eq!(kinds(&events), ["integration_sync_completed", "risk_assessment_completed"]);
}

#[test]
fn a_new_scope_is_a_baseline_of_its_own() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", GOOD);
    let before = posture.events().len();
    posture.pass_s(60);
    let other = prowler_of("444455556666", MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &other).status, 200);
    let events = posture.events().split_off(before);
    assert_eq!(
        kinds(&events),
        ["critical_risk_detected", "integration_sync_completed", "risk_assessment_completed"]
    );
    let assessed = object(of_kind(&events, "risk_assessment_completed")[0]);
    assert_eq!((&assessed["baseline"], &assessed["firstRun"]), (&json!(true), &json!(false)));
}

#[test]
fn assets_are_discovered_by_push_always_and_by_import_after_the_first() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let body = json!({
        "clientId": client, "name": "pushed", "externalId": "1", "assetType": "server",
        "category": "rack", "isCritical": true,
    });
    let pushed = posture.send("POST", &key, "/assets", &body).json()["data"].clone();
    let events = posture.events();
    assert_eq!(kinds(&events), ["asset_discovered"]);
    let shown = object(&events[0]);
    for member in
        ["id", "name", "assetType", "category", "isCritical", "isManaged", "firstDiscoveredAt"]
    {
        assert_eq!(shown[member], pushed[member], "{member}");
    }
    assert_eq!((&shown["source"], &shown["externalId"]), (&json!("test"), &json!("1")));
    assert_eq!(shown["dedupKey"], format!("{client}/asset/{}", pushed["id"].as_str().unwrap()));
    posture.send("POST", &key, "/assets", &body);
    posture.send(
        "PUT",
        &key,
        &format!("/assets/{}", pushed["id"].as_str().unwrap()),
        &json!({"name": "b"}),
    );
    assert_eq!(posture.events().len(), 1, "what is known is not discovered");
    import(&posture, &client, "", GOOD);
    let n_before = posture.events().len();
    assert!(kinds(&posture.events()[1..]).iter().all(|it| *it != "asset_discovered"));
    posture.pass_s(60);
    let more = [GOOD, &[(ROOT_MFA, "PASS", "critical", "carol")]].concat();
    import(&posture, &client, "", &more);
    let events = posture.events().split_off(n_before);
    let found = of_kind(&events, "asset_discovered");
    let names: Vec<_> = found.iter().map(|it| object(it)["name"].clone()).collect();
    assert_eq!(names, [json!("carol")]);
}

#[test]
fn sequences_rise_and_pages_miss_nothing() {
    let posture = Posture::start();
    let clients = ["A", "B"].map(|it| posture.client(it));
    let worse: &[Finding<'_>] = MIXED;
    for (n, findings) in [GOOD, worse, GOOD].iter().enumerate() {
        for client in &clients {
            import(&posture, client, &format!("again=true&fileName={n}"), findings);
        }
        posture.pass_s(60);
    }
    let all = posture.events();
    assert!(20 < all.len());
    let sequence = |it: &Value| it["data"]["object"]["sequence"].as_u64().unwrap();
    assert!(all.is_sorted_by(|a, b| sequence(a) < sequence(b)));
    let ids: BTreeSet<_> = all.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len());
    assert!(ids.iter().all(|it| it.starts_with("evt_") && it.len() == 36));
    assert!(all.iter().all(|it| it["data"]["mspId"] == "msp-test"));
    let mut paged = Vec::new();
    loop {
        let after = paged.last().map_or(0, sequence);
        let page = read(&posture, &format!("/api/events?after={after}&limit=3"));
        let page = page.as_array().unwrap().clone();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert!(paged == all);
    let posture = posture.restart();
    assert!(posture.events() == all, "they survive a restart");
    import(&posture, &clients[0], "again=true", worse);
    assert!(sequence(all.last().unwrap()) < sequence(posture.events().last().unwrap()));
}

#[test]
fn events_of_a_type_and_the_newest_are_found_wherever_they_are() {
    let posture = Posture::start();
    let clients = ["A", "B", "C"].map(|it| posture.client(it));
    for _ in 0..4 {
        for client in &clients {
            import(&posture, client, "", MIXED);
            posture.pass_s(60);
            import(&posture, client, "", GOOD);
            posture.pass_s(60);
        }
    }
    let all = posture.events();
    let key = posture.key_with(&json!({"clientIds": [clients[0], clients[2]]}));
    let get = |path: &str, key: Option<&str>| match key {
        None => posture.operator("GET", path, &Value::Null).json(),
        Some(key) => posture.fetch(key, path).json(),
    };
    let sequence = |it: &Value| it["data"]["object"]["sequence"].as_u64().unwrap();
    let sequences = |page: &Value| -> Vec<u64> {
        page["data"].as_array().unwrap().iter().map(sequence).collect()
    };
    for key in [None, Some(key.as_str())] {
        let of_key = |it: &&Value| key.is_none() || it["data"]["clientId"] != clients[1].as_str();
        for kind in ["risk_item_resolved", "integration_sync_completed", "shadow_it_detected"] {
            let of_kind = |it: &&Value| it["type"] == kind;
            let wanted: Vec<u64> =
                all.iter().filter(of_key).filter(of_kind).map(sequence).collect();
            assert_eq!(wanted.is_empty(), kind == "shadow_it_detected", "{kind}");
            let (mut found, mut after) = (Vec::new(), "0".to_owned());
            loop {
                let page = get(&format!("/api/events?type={kind}&limit=2&after={after}"), key);
                found.extend(sequences(&page));
                let Some(next) = page["next"].as_str() else { break };
                after = next.to_owned();
            }
            assert_eq!(found, wanted, "{kind}");
            let newest = get(&format!("/api/events?type={kind}&limit=3&newest=true"), key);
            assert_eq!(sequences(&newest), wanted[wanted.len().saturating_sub(3)..], "{kind}");
            // Backwards, page by page, it is the same list.
            let (mut found, mut before) = (Vec::new(), String::new());
            loop {
                let path = format!("/api/events?type={kind}&limit=2&newest=true{before}");
                let page = sequences(&get(&path, key));
                let Some(first) = page.first() else { break };
                before = format!("&before={first}");
                found.splice(0..0, page);
            }
            assert_eq!(found, wanted, "{kind}");
        }
        let wanted: Vec<u64> = all.iter().filter(of_key).map(sequence).collect();
        let newest = get("/api/events?limit=7&newest=true", key);
        assert_eq!(sequences(&newest), wanted[wanted.len() - 7..]);
        let changes = |query: &str| {
            let page = get(&format!("/api/changes?{query}"), key)["data"].clone();
            let rows = page.as_array().unwrap().iter();
            rows.map(|it| it["sequence"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        let wanted = changes("limit=5000");
        assert!(100 < wanted.len());
        assert_eq!(changes("limit=64&newest=true"), wanted[wanted.len() - 64..]);
    }
}

#[test]
fn repeated_runs_of_sources_can_be_left_out() {
    let posture = Posture::start();
    let clients = ["A", "B"].map(|it| posture.client(it));
    for client in &clients {
        for file in [GOOD, MIXED, GOOD] {
            import(&posture, client, "again=true", file);
            posture.pass_s(60);
        }
    }
    let runs = |query: &str| {
        let path = format!("/api/events?limit=500&type=risk_assessment_completed{query}");
        let page = posture.operator("GET", &path, &Value::Null).json();
        page["data"].as_array().unwrap().clone()
    };
    assert_eq!(runs("").len(), 6);
    let first = runs("&firstRun=true");
    let of: Vec<_> = first.iter().map(|it| it["data"]["clientId"].as_str().unwrap()).collect();
    assert_eq!(of, [&clients[0], &clients[1]]);
    assert!(first.iter().all(|it| object(it)["firstRun"] == true));
    // What is no run stays.
    let count = |query: &str| {
        let path = format!("/api/events?limit=500{query}");
        posture.operator("GET", &path, &Value::Null).json()["data"].as_array().unwrap().len()
    };
    assert_eq!(count("&firstRun=true"), count("") - 4);
    // Each says which controls changed.
    let moved: Vec<_> = runs("").iter().map(|it| object(it)["controls"].clone()).collect();
    assert!(moved.iter().all(|it| !it.as_array().unwrap().is_empty()), "{moved:?}");
    assert_eq!(moved[1], moved[2], "there and back");
    let answer = posture.operator("GET", "/api/events?firstRun=false", &Value::Null);
    assert_eq!(answer.status, 400);
}

#[test]
fn a_sequence_is_digits() {
    let posture = Posture::start();
    for after in ["-1", "%2B1", "x", "1.5", "", "18446744073709551616"] {
        let answer = posture.operator("GET", &format!("/api/events?after={after}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, "after", "{after}");
    }
    assert_eq!(read(&posture, "/api/events?after=18446744073709551615"), json!([]));
}
