//! What programs read with a key of their own: of its clients, and of no others.

use serde_json::{Value, json};

use super::estate::say_all;
use super::{GOOD, MIXED, import, patched, posted, read, refused_field};
use crate::harness::{Answer, Posture, send};

/// Reads with a key.
fn with(posture: &Posture, key: &str, path: &str) -> Answer {
    let answer = posture.fetch(key, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer
}

#[test]
fn a_key_reads_events_key_figures_and_the_export_of_its_clients_alone() {
    let posture = Posture::start();
    let (own, other) = (posture.client("Own"), posture.client("Other"));
    import(&posture, &own, "", MIXED);
    import(&posture, &other, "", MIXED);
    let scopes = ["read:events", "read:portfolio", "read:export"];
    let limited = posture.key_with(&json!({"scopes": scopes, "clientIds": [own]}));
    let free = posture.key_with(&json!({"scopes": scopes}));
    for path in [
        "/api/events?limit=100",
        "/api/changes?limit=100",
        "/api/conditions",
        "/api/dashboard/kpis",
        "/api/portfolio/compliance?framework=SOC2",
        "/api/portfolio/scores",
        "/api/portfolio/risks?severity=critical",
    ] {
        let seen = with(&posture, &limited, path).text();
        assert!(seen.contains(&own) && !seen.contains(&other), "{path}: {seen:.300}");
        let all = with(&posture, &free, path).text();
        assert!(all.contains(&other), "{path}");
        assert_eq!(all, posture.operator("GET", path, &Value::Null).text(), "{path}");
    }
    let kpis = with(&posture, &limited, "/api/dashboard/kpis").json();
    assert_eq!(kpis["data"]["clients"]["total"], 1);
    let export = |client: &str| format!("/api/clients/{client}/export");
    assert!(with(&posture, &limited, &export(&own)).text().ends_with("}\n"));
    let foreign = posture.fetch(&limited, &export(&other));
    assert_eq!(foreign.status, 403);
}

/// Clients whose ids are in the order of their names here.
pub(super) fn in_order<const N: usize>(posture: &Posture, names: [&str; N]) -> [String; N] {
    names.map(|it| {
        posture.pass_s(1);
        posture.client(it)
    })
}

/// All rows of a list, this many at a time.
fn pulled(posture: &Posture, path: &str, cursor: &str, limit: u32) -> Vec<Value> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let first = format!("{path}{joint}limit={limit}");
    let (mut rows, mut at) = (Vec::new(), first.clone());
    loop {
        let answer = posture.operator("GET", &at, &Value::Null);
        assert_eq!(answer.status, 200, "{at}: {}", answer.text());
        let page = answer.json();
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= limit as usize, "{at}");
        rows.extend(data.iter().cloned());
        let Some(next) = page["next"].as_str() else { return rows };
        assert_eq!(data.len(), limit as usize, "{at}: a page before the last one is full");
        at = format!("{first}&{cursor}={next}");
    }
}

#[test]
fn every_list_with_a_cursor_says_where_it_continues() {
    let posture = Posture::start_with(crate::webhook::allow_loopback);
    let webhook = crate::webhook::add(&posture, "http://127.0.0.1:9/");
    let rule = json!({"name": "low", "condition": {"type": "score_below", "value": 99}});
    posted(&posture, "/api/alert-rules", &rule);
    for name in ["A", "B", "C"] {
        let client = posture.client(name);
        import(&posture, &client, "", MIXED);
        posted(&posture, "/api/tasks", &json!({"clientId": client, "title": name}));
    }
    let deliveries = format!("/api/webhooks/{}/deliveries", webhook["id"].as_str().unwrap());
    for (path, cursor, limit_max) in [
        ("/api/tasks", "after", 1_000),
        ("/api/alerts", "after", 1_000),
        ("/api/conditions", "after", 1_000),
        ("/api/changes", "after", 5_000),
        ("/api/events", "after", 1_000),
        ("/api/portfolio/scores", "after", 1_000),
        ("/api/portfolio/risks", "after", 5_000),
        ("/api/audit", "before", 100),
        (deliveries.as_str(), "after", 100),
    ] {
        let whole = pulled(&posture, path, cursor, 100);
        assert!(3 <= whole.len(), "{path}: {}", whole.len());
        let is_log = path.contains("webhooks");
        let ids = |rows: &[Value]| -> Vec<String> {
            rows.iter()
                .map(|it| if is_log { it["eventId"].to_string() } else { it.to_string() })
                .collect()
        };
        assert_eq!(ids(&pulled(&posture, path, cursor, 2)), ids(&whole), "{path}");
        assert_eq!(ids(&pulled(&posture, path, cursor, 1)), ids(&whole), "{path}");
        let beyond = format!("{path}?limit={}", limit_max + 1);
        let refused = refused_field(&posture.operator("GET", &beyond, &Value::Null));
        let rule = format!("must be an integer from 1 to {limit_max}");
        assert_eq!(refused, ("limit".to_owned(), rule), "{path}");
        let most = format!("{path}?limit={limit_max}");
        assert_eq!(posture.operator("GET", &most, &Value::Null).status, 200, "{path}");
    }
}

#[test]
fn the_lists_of_a_key_of_some_clients_are_those_of_all_without_the_others() {
    let posture = Posture::start();
    let clients = in_order(&posture, ["A", "B", "C", "Silent", "Foreign"]);
    // C has most, and all of B's lies between two of C's.
    for (n, name) in [2, 2, 0, 4, 1, 1, 2, 0, 4, 2, 2].into_iter().enumerate() {
        posture.pass_s(60);
        import(&posture, &clients[name], "again=true", if n % 2 == 0 { MIXED } else { GOOD });
        for _ in 0..3 {
            posture.pass_s(1);
            posted(&posture, "/api/tasks", &json!({"clientId": clients[name], "title": "T"}));
        }
    }
    let own = [&clients[3], &clients[2], &clients[0], &clients[1]];
    let key = posture.key_with(&json!({"clientIds": own}));
    for (path, limit_max) in
        [("/api/events", 1_000), ("/api/changes", 5_000), ("/api/tasks", 1_000)]
    {
        let mut all = pulled(&posture, path, "after", limit_max);
        let client = |it: &Value| it.get("clientId").unwrap_or(&it["data"]["clientId"]).clone();
        all.retain(|it| own.iter().any(|own| client(it) == **own));
        assert!(20 < all.len(), "{path}: {}", all.len());
        for limit in [1, 2, 3, 5, 8, 13, all.len() - 1, all.len(), all.len() + 1] {
            let (mut rows, mut after) = (Vec::new(), String::new());
            loop {
                let at = format!("{path}?limit={limit}{after}");
                let page = with(&posture, &key, &at).json();
                rows.extend(page["data"].as_array().unwrap().iter().cloned());
                let Some(next) = page["next"].as_str() else { break };
                after = format!("&after={next}");
            }
            assert!(rows == all, "{path}, {limit} at a time: {} of {}", rows.len(), all.len());
        }
    }
}

#[test]
fn the_scores_of_all_clients_are_what_each_client_shows() {
    let posture = Posture::start();
    let clients = in_order(&posture, ["Good", "Mixed", "Unknown", "Left"]);
    import(&posture, &clients[0], "", GOOD);
    import(&posture, &clients[1], "", MIXED);
    patched(&posture, &format!("/api/clients/{}", clients[3]), &json!({"active": false}));
    let scoped = json!({"settings": {"frameworks": ["SOC2"]}});
    patched(&posture, &format!("/api/clients/{}", clients[1]), &scoped);
    let key = posture.key();
    let rows = read(&posture, "/api/portfolio/scores");
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 3, "an inactive client is not listed");
    for (row, client) in rows.iter().zip(&clients) {
        assert_eq!(row["clientId"], *client);
        let scores = posture.read(&key, &format!("/clients/{client}/scores"));
        assert_eq!(row["score"], scores["data"]["current"]);
        let shown = read(&posture, &format!("/api/clients/{client}/posture"));
        assert_eq!(
            (&row["coverage"], &row["provisional"]),
            (&shown["coverage"], &shown["provisional"])
        );
        let frameworks = row["frameworks"].as_array().unwrap();
        let versioned = posture.read(&key, &format!("/clients/{client}/compliance"));
        for summary in versioned["data"].as_array().unwrap() {
            let name = &summary["framework"];
            let own = frameworks.iter().find(|it| it["framework"] == *name).unwrap();
            for (member, value) in summary.as_object().unwrap() {
                assert_eq!(own[member], *value, "{name} {member}");
            }
        }
    }
    let in_scope = |row: &Value| {
        let all = row["frameworks"].as_array().unwrap().iter();
        all.filter(|it| it["inScope"] == true).map(|it| it["framework"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(in_scope(&rows[1]), ["SOC2"]);
    for (search, wanted) in [("", 3), ("GOO", 1), ("n", 1), ("o", 2), ("left", 0), ("%25", 0)] {
        let found = read(&posture, &format!("/api/portfolio/scores?search={search}"));
        assert_eq!(found.as_array().unwrap().len(), wanted, "{search}");
    }
}

#[test]
fn clients_are_listed_by_what_is_asked_for() {
    let posture = Posture::start();
    let clients = in_order(&posture, ["delta", "Bravo", "alpha", "Charlie"]);
    import(&posture, &clients[0], "", GOOD);
    import(&posture, &clients[1], "", MIXED);
    clients[..2].iter().for_each(|it| drop(say_all(&posture, it, "cloud_accounts")));
    for (client, industry, frameworks) in
        [(&clients[1], "Legal", json!(["SOC2"])), (&clients[3], "legal", json!(["HIPAA"]))]
    {
        let change = json!({"industry": industry, "settings": {"frameworks": frameworks}});
        patched(&posture, &format!("/api/clients/{client}"), &change);
    }
    let names = |query: &str| {
        let mut names = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/api/portfolio/scores?limit=3&{query}{after}");
            let answer = posture.operator("GET", &path, &Value::Null).json();
            let page = answer["data"].as_array().unwrap().iter();
            names.extend(page.map(|it| it["clientName"].as_str().unwrap().to_owned()));
            let Some(next) = answer["next"].as_str() else { return names };
            after = format!("&after={next}");
        }
    };
    assert_eq!(names(""), ["delta", "Bravo", "alpha", "Charlie"]);
    assert_eq!(names("order=added"), names(""));
    assert_eq!(names("order=name"), ["alpha", "Bravo", "Charlie", "delta"]);
    assert_eq!(names("order=score"), ["Bravo", "delta", "alpha", "Charlie"]);
    assert_eq!(names("order=risks")[0], "Bravo");
    assert_eq!(names("order=coverage")[..2], ["alpha", "Charlie"]);
    assert_eq!(names("order=name&industry=LEGAL"), ["Bravo", "Charlie"]);
    assert_eq!(names("order=name&framework=soc2"), ["alpha", "Bravo", "delta"]);
    assert_eq!(names("industry=legal&framework=HIPAA&search=char"), ["Charlie"]);
    for (query, field) in [
        ("order=size", "order"),
        ("framework=SOC3", "framework"),
        ("order=name&after=0195a000-0000-7000-8000-000000000000", "after"),
    ] {
        let path = format!("/api/portfolio/scores?{query}");
        let answer = posture.operator("GET", &path, &Value::Null);
        assert_eq!(refused_field(&answer).0, field);
    }
    // In the order in which they were added, it continues after one that was removed.
    let gone = "/api/portfolio/scores?after=0195a000-0000-7000-8000-000000000000";
    assert_eq!(read(&posture, gone).as_array().unwrap().len(), 4);
}

#[test]
fn the_score_of_a_month_ago_stands_beside_the_present_one() {
    let posture = Posture::start();
    let client = posture.client("A");
    let row = || read(&posture, "/api/portfolio/scores")[0].clone();
    import(&posture, &client, "", GOOD);
    say_all(&posture, &client, "cloud_accounts");
    let first = row()["score"]["overallScore"].clone();
    assert_eq!(row()["score30DaysAgo"], Value::Null);
    posture.pass_days(20);
    import(&posture, &client, "observedAt=now", MIXED);
    assert_eq!(row()["score30DaysAgo"], Value::Null);
    let second = row()["score"]["overallScore"].clone();
    posture.pass_days(15);
    assert_eq!(row()["score30DaysAgo"], first);
    assert!(row()["score"]["overallScore"].as_u64() < first.as_u64());
    posture.pass_days(20);
    import(&posture, &client, "observedAt=now", MIXED);
    assert_eq!(row()["score30DaysAgo"], second);
}

#[test]
fn the_risks_of_all_clients_are_what_each_client_shows() {
    let posture = Posture::start();
    let clients = in_order(&posture, ["A", "B", "Left"]);
    for client in &clients {
        import(&posture, client, "", MIXED);
    }
    patched(&posture, &format!("/api/clients/{}", clients[2]), &json!({"active": false}));
    let own = |client: &str| read(&posture, &format!("/api/clients/{client}/risks?limit=100"));
    let first = own(&clients[0])[0]["id"].as_str().unwrap().to_owned();
    let accepted = json!({"accepted": true, "until": "2026-04-01T00:00:00Z", "reason": "replaced"});
    patched(&posture, &format!("/api/clients/{}/risks/{first}", clients[0]), &accepted);
    let mut expected = Vec::new();
    for (client, name) in clients.iter().zip(["A", "B"]) {
        let mut risks = own(client).as_array().unwrap().clone();
        risks.sort_by_key(|it| it["id"].to_string());
        for risk in &mut risks {
            risk["clientId"] = json!(client);
            risk["clientName"] = json!(name);
        }
        expected.extend(risks);
    }
    assert_eq!(read(&posture, "/api/portfolio/risks"), json!(expected));
    assert!(expected.iter().any(|it| it["acceptance"]["reason"] == "replaced"));
    let critical = read(&posture, "/api/portfolio/risks?severity=critical");
    expected.retain(|it| it["severity"] == "critical");
    assert_eq!(critical, json!(expected));
    for after in ["x", "x/y", "0195a000-0000-7000-8000-000000000000"] {
        let path = format!("/api/portfolio/risks?after={after}");
        let refused = refused_field(&posture.operator("GET", &path, &Value::Null));
        assert_eq!(refused.1, "must be <clientId>/<riskId> of a row");
    }
}

#[test]
fn a_night_of_many_clients_is_five_calls_of_a_default_key() {
    let posture = Posture::start();
    for n in 0..30 {
        import(&posture, &posture.client(&format!("Client {n}")), "", MIXED);
    }
    let body = json!({"name": "bi", "scopes": ["read:events", "read:portfolio"]});
    let issued = posture.operator("POST", "/api/keys", &body).json();
    let key = issued["data"]["key"].as_str().unwrap().to_owned();
    for path in [
        "/api/portfolio/scores?limit=1000",
        "/api/portfolio/risks?limit=5000",
        "/api/changes?limit=5000",
        "/api/events?limit=1000",
        "/api/conditions?limit=1000",
    ] {
        let page = with(&posture, &key, path).json();
        assert!(30 <= page["data"].as_array().unwrap().len() && page["next"].is_null(), "{path}");
    }
}

/// Does something with a key, with a JSON body.
fn act(posture: &Posture, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    send(posture.address, method, path, &headers, body.to_string().as_bytes())
}

#[test]
fn a_key_onboards_a_client_and_decides_for_it_and_no_more() {
    let posture = Posture::start();
    let scopes = ["manage:clients", "manage:decisions", "read:clients", "write:assessments"];
    let issued = posture.issue(&json!({"scopes": scopes}));
    let key = issued["key"].as_str().unwrap();
    let made = act(&posture, key, "POST", "/api/clients", &json!({"name": "New"}));
    assert_eq!(made.status, 201, "{}", made.text());
    let client = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/api/clients/{client}{rest}");
    let profile = json!({"industry": "Legal", "settings": {"profile": {"aws": "used"}}});
    assert_eq!(
        act(&posture, key, "PATCH", &path(""), &profile).json()["data"]["industry"],
        "Legal"
    );
    let attested = json!({"status": "compliant", "reason": "seen", "by": "Ada"});
    let answer = act(&posture, key, "PUT", &path("/controls/CLD-01"), &attested);
    let by = format!("key {}", issued["prefix"].as_str().unwrap());
    let told = &answer.json()["data"]["attestation"]["by"];
    assert_eq!(*told, format!("Ada, entered by {by}"), "{}", answer.text());
    let nameless = json!({"status": "compliant", "reason": "seen"});
    let answer = act(&posture, key, "PUT", &path("/controls/CLD-01"), &nameless);
    assert_eq!(answer.json()["data"]["attestation"]["by"], by);
    let task = act(&posture, key, "POST", "/api/tasks", &json!({"clientId": client, "title": "T"}));
    assert_eq!(task.status, 201);
    let task = format!("/api/tasks/{}", task.json()["data"]["id"].as_str().unwrap());
    let done = act(&posture, key, "PATCH", &task, &json!({"status": "done"}));
    assert_eq!(done.json()["data"]["status"], "done");
    let audit = read(&posture, "/api/audit?limit=100");
    let of_key = audit.as_array().unwrap().iter().filter(|it| it["by"] == by).count();
    assert_eq!(of_key, 6, "each change is recorded as the key's: {audit}");
    for (method, path) in [
        ("DELETE", path("")),
        ("GET", "/api/keys".to_owned()),
        ("POST", "/api/keys".to_owned()),
        ("POST", "/api/users".to_owned()),
        ("POST", "/api/webhooks".to_owned()),
        ("POST", "/api/alert-rules".to_owned()),
        ("POST", path("/imports")),
    ] {
        let refused = act(&posture, key, method, &path, &json!({}));
        let message = refused.problem().1;
        let told = (refused.status, message.as_str());
        assert_eq!(told, (403, "an API key cannot do this; log in as a user"), "{method} {path}");
    }
}

#[test]
fn a_key_that_is_limited_changes_its_clients_and_adds_none() {
    let posture = Posture::start();
    let (own, other) = (posture.client("Own"), posture.client("Other"));
    let key = posture.key_with(&json!({"scopes": ["manage:clients"], "clientIds": [own]}));
    let change = json!({"industry": "Legal"});
    let path = |client: &str| format!("/api/clients/{client}");
    assert_eq!(act(&posture, &key, "PATCH", &path(&own), &change).status, 200);
    assert_eq!(act(&posture, &key, "PATCH", &path(&other), &change).status, 403);
    assert_eq!(read(&posture, &path(&other))["industry"], Value::Null);
    let refused = act(&posture, &key, "POST", "/api/clients", &json!({"name": "New"}));
    let told = (refused.status, refused.problem().1);
    let rule = "an API key that is limited to clients cannot do this";
    assert_eq!(told, (403, rule.to_owned()));
    assert_eq!(read(&posture, "/api/clients").as_array().unwrap().len(), 2);
}
