//! The export of one client and of all.

use serde_json::{Value, json};

use crate::harness::http::get_slowly;
use crate::harness::{Posture, send};

/// Each line's kind and data.
fn lines(text: &str) -> Vec<(String, Value)> {
    let line = |it: &str| {
        let mut line: Value = serde_json::from_str(it).unwrap();
        (line["kind"].as_str().unwrap().to_owned(), line["data"].take())
    };
    text.lines().map(line).collect()
}

/// By id.
fn sorted<'a>(items: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut items: Vec<_> = items.cloned().collect();
    items.sort_by_key(|it| it["id"].to_string());
    items
}

/// All open risks of a client, as the management API lists them.
fn risks_of(posture: &Posture, client: &str) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let path = format!("/api/clients/{client}/risks?limit=100&offset={}", found.len());
        let page = super::read(posture, &path);
        if page.as_array().unwrap().is_empty() {
            return sorted(found.iter());
        }
        found.extend(page.as_array().unwrap().iter().cloned());
    }
}

#[test]
fn an_export_has_everything_once_and_says_where_it_ends() {
    let posture = Posture::start();
    let (client, other) = (posture.client("Canary"), posture.client("Other"));
    let key =
        posture.key_with(&json!({"perMinute": 100_000, "perHour": 100_000, "perDay": 100_000}));
    let file = crate::manage::prowler(crate::manage::MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let push = |client: &str, name: &str| {
        let body =
            json!({"clientId": client, "name": name, "externalId": name, "assetType": "server"});
        assert_eq!(posture.send("POST", &key, "/assets", &body).status, 201);
    };
    (0..1_010).for_each(|it| push(&client, &format!("host-{it}")));
    push(&other, "Foreign-7f3a");
    let path = format!("/api/clients/{client}/export");
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    assert!(!answer.text().contains("Foreign-7f3a"));
    let lines = lines(&answer.text());
    let of_kind = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|it| it.0 == kind).map(|it| &it.1).collect()
    };
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(*last, ("end".to_owned(), json!({"lines": before.len(), "clients": 1})));
    assert_eq!(of_kind("client")[0]["name"], "Canary");
    let read = |rest: &str| posture.read(&key, &format!("/clients/{client}{rest}"));
    let assets = read("/assets?limit=1");
    assert_eq!(json!(of_kind("asset").len()), assets["pagination"]["total"]);
    assert_eq!(*of_kind("asset")[0], assets["data"][0]);
    let mut ids: Vec<_> = of_kind("asset").iter().map(|it| it["id"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), of_kind("asset").len(), "no page came twice");
    assert_eq!(sorted(of_kind("risk").into_iter()), risks_of(&posture, &client));
    let frameworks = of_kind("framework");
    assert_eq!(frameworks.len(), 18);
    let soc2 = read("/compliance/SOC2")["data"].clone();
    for (ours, versioned) in [
        (&frameworks[0]["frameworkId"], &soc2["frameworkId"]),
        (
            &frameworks[0]["requirements"][0]["overallStatus"],
            &soc2["requirements"][0]["overallStatus"],
        ),
    ] {
        assert_eq!(ours, versioned);
    }
    assert_eq!(of_kind("control").len(), posture.app.catalog().controls.len());
    let observations =
        posture.operator("GET", &path.replace("export", "observations"), &Value::Null);
    assert_eq!(json!(of_kind("observation")), observations.json()["data"]);
    assert_eq!((of_kind("import").len(), of_kind("score").len()), (1, 1));
}

#[test]
fn the_export_of_all_clients_is_that_of_each_and_ends_once() {
    let posture = Posture::start();
    let clients = super::programs::in_order(&posture, ["A", "B", "C"]);
    for client in &clients {
        super::import(&posture, client, "", super::MIXED);
    }
    super::patched(&posture, &format!("/api/clients/{}", clients[2]), &json!({"active": false}));
    let text = |path: &str| posture.operator("GET", path, &Value::Null).text();
    let without_end = |text: &str| {
        let (rest, last) = text.trim_end().rsplit_once('\n').unwrap();
        assert!(last.contains("\"kind\":\"end\""), "{last}");
        format!("{rest}\n")
    };
    let all = text("/api/export");
    let each: String =
        clients.iter().map(|it| without_end(&text(&format!("/api/clients/{it}/export")))).collect();
    assert_eq!(without_end(&all), each);
    let lines = lines(&all);
    let end = json!({"lines": lines.len() - 1, "clients": 3});
    assert_eq!(lines.last().unwrap().1, end);
    let ids = all.lines().filter_map(|it| {
        let line: Value = serde_json::from_str(it).unwrap();
        line["clientId"].as_str().map(str::to_owned)
    });
    let mut ids: Vec<_> = ids.collect();
    ids.dedup();
    assert_eq!(ids, clients, "every line names its client");
    let key = posture.key_with(&json!({"scopes": ["read:export"], "clientIds": [clients[1]]}));
    let own = posture.fetch(&key, "/api/export").text();
    assert_eq!(own, text(&format!("/api/clients/{}/export", clients[1])));
}

#[test]
fn large_answers_are_compressed_for_who_asks() {
    let posture = Posture::start();
    let client = posture.client("A");
    super::import(&posture, &client, "", super::MIXED);
    let key = posture.key();
    let get = |path: &str, headers: &[(&str, &str)]| {
        let all = [&[("X-API-Key", key.as_str())], headers].concat();
        send(posture.address, "GET", path, &all, b"")
    };
    for path in [
        "/api/export",
        "/api/controls",
        "/openapi.json",
        "/docs/",
        "/api/portfolio/scores",
        &format!("/api/clients/{client}/controls"),
        &format!("/api/clients/{client}/compliance/SOC2"),
        &format!("/api/v1/clients/{client}/compliance/SOC2"),
    ] {
        let plain = get(path, &[]);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        assert_eq!(plain.header("vary"), Some("accept-encoding"), "{path}");
        for refusal in ["identity", "gzip;q=0", "br, gzip; q=0.0"] {
            let answer = get(path, &[("Accept-Encoding", refusal)]);
            assert_eq!(answer.header("content-encoding"), None, "{path} {refusal}");
        }
        for wish in ["gzip", "br;q=1.0, gzip;q=0.5", "deflate, GZIP"] {
            let packed = get(path, &[("Accept-Encoding", wish)]);
            assert!(packed.body.len() * 2 < plain.body.len(), "{path} {wish}");
            assert_eq!(packed.unpacked().text(), plain.text(), "{path} {wish}");
            assert_eq!(packed.header("vary"), plain.header("vary"), "{path} {wish}");
            assert_eq!(packed.header("etag"), plain.header("etag"), "{path} {wish}");
        }
    }
    for path in ["/api/controls", &format!("/api/clients/{client}/controls"), "/api/frameworks"] {
        assert!(get(path, &[]).header("etag").is_some(), "{path}");
    }
    let small = get("/healthz", &[("Accept-Encoding", "gzip")]);
    assert_eq!(small.header("content-encoding"), None, "it would not be shorter");
}

#[test]
fn both_forms_of_an_answer_have_one_weak_tag_that_finds_them_unchanged() {
    let posture = Posture::start();
    let client = posture.client("A");
    super::import(&posture, &client, "", super::MIXED);
    let key = posture.key();
    let ask = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let all = [&[("X-API-Key", key.as_str())], headers].concat();
        send(posture.address, method, path, &all, b"")
    };
    let (plain, gzip) = (("Accept-Encoding", "identity"), ("Accept-Encoding", "gzip"));
    for path in [
        "/api/controls",
        "/api/portfolio/scores",
        &format!("/api/clients/{client}/compliance/SOC2"),
        &format!("/api/v1/clients/{client}/compliance/SOC2"),
    ] {
        let weak = ask("GET", path, &[plain]).header("etag").unwrap().to_owned();
        let strong = weak.strip_prefix("W/").expect("two forms of bytes have it").to_owned();
        let several = format!("\"other\", {strong}");
        for wish in [plain, gzip] {
            let head = ask("HEAD", path, &[wish]);
            assert_eq!((head.status, head.header("etag")), (200, Some(weak.as_str())), "{path}");
            assert_eq!(head.header("vary"), Some("accept-encoding"), "{path}");
            for known in [&weak, &strong, &several, "*"] {
                for method in ["GET", "HEAD"] {
                    let again = ask(method, path, &[wish, ("If-None-Match", known)]);
                    assert_eq!((again.status, again.body.len()), (304, 0), "{path} {known}");
                    assert_eq!(again.header("etag"), Some(weak.as_str()), "{path} {known}");
                    assert_eq!(again.header("vary"), Some("accept-encoding"), "{path} {known}");
                    assert_eq!(again.header("content-encoding"), None, "{path} {known}");
                }
            }
            let other = ask("GET", path, &[wish, ("If-None-Match", "W/\"other\"")]);
            assert_eq!(other.status, 200, "{path}");
        }
    }
    let small = ask("GET", "/api/v1/clients", &[gzip]);
    let told = (small.header("vary"), small.header("content-encoding"));
    assert_eq!(told, (None, None), "it has one form");
    assert!(small.header("etag").unwrap().starts_with('"'), "and a strong tag");
}

#[test]
fn weights_of_codings_are_read_as_the_standard_says() {
    let posture = Posture::start();
    let is_packed = |wish: &str| {
        let headers = [("Accept-Encoding", wish)];
        let answer = send(posture.address, "GET", "/openapi.json", &headers, b"");
        answer.header("content-encoding").is_some()
    };
    for wish in [
        "x-gzip",
        "*",
        "br, *;q=0.1",
        "gzip;Q=1",
        "gzip ; q=0.001",
        "gzip;q=1.000",
        "gzip;q=0.5, identity;q=0",
        "gzip;q=0.5, identity; q=0.5",
        "identity;q=0.5, gzip",
    ] {
        assert!(is_packed(wish), "{wish}");
    }
    for refusal in [
        "",
        "br",
        "gzip;Q=0",
        "gzip ; q = 0",
        "gzip\t;\tq=0.000",
        "gzip;q=0, *",
        "*;q=0",
        "gzip;q=",
        "gzip;q=2",
        "gzip;q=1.001",
        "gzip;q=high",
        "identity, gzip;q=0.5",
    ] {
        assert!(!is_packed(refusal), "{refusal}");
    }
}

#[test]
fn a_long_export_has_each_row_once_with_acceptances_and_references() {
    let posture = Posture::start();
    let client = posture.client("A");
    let checks: Vec<String> = (0..1_005).map(|it| format!("our_check_{it}")).collect();
    let findings: Vec<_> =
        checks.iter().map(|it| (it.as_str(), "FAIL", "critical", "one")).collect();
    super::import(&posture, &client, "", &findings);
    for n in 0..1_005 {
        let task = json!({"clientId": client, "title": format!("Task {n}")});
        super::posted(&posture, "/api/tasks", &task);
    }
    let risks = risks_of(&posture, &client);
    let ticket = json!([{"system": "psa", "id": "ticket-7"}]);
    let change = json!({
        "accepted": true, "until": "2026-04-01T00:00:00Z", "reason": "replaced",
        "externalReferences": ticket,
    });
    let path = format!("/api/clients/{client}/risks/{}", risks[0]["id"].as_str().unwrap());
    super::patched(&posture, &path, &change);
    let path = format!("/api/clients/{client}/export");
    let lines = lines(&posture.operator("GET", &path, &Value::Null).text());
    let of_kind = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|it| it.0 == kind).map(|it| &it.1).collect()
    };
    let exported = sorted(of_kind("risk").into_iter());
    assert_eq!(exported, risks_of(&posture, &client));
    assert_eq!(exported.len(), 1_005);
    let accepted = &exported[0];
    assert_eq!(
        (&accepted["acceptance"]["reason"], &accepted["externalReferences"]),
        (&json!("replaced"), &ticket)
    );
    let all = |path: &str| super::read(&posture, path).as_array().unwrap().clone();
    let mut tasks = all("/api/tasks?limit=1000");
    let last = tasks.last().unwrap()["id"].as_str().unwrap().to_owned();
    tasks.extend(all(&format!("/api/tasks?after={last}")));
    assert_eq!((json!(of_kind("task")), tasks.len()), (json!(tasks), 1_005));
    let titles = of_kind("observation").into_iter().map(|it| it["check"].to_string());
    let titles: std::collections::BTreeSet<_> = titles.collect();
    assert_eq!((titles.len(), of_kind("observation").len()), (1_005, 1_005));
}

#[test]
fn an_export_ends_with_a_reason_when_its_key_loses_access() {
    let posture = Posture::start();
    let clients: Vec<String> = (0..30).map(|it| posture.client(&format!("Client {it}"))).collect();
    let scopes = json!(["read:export"]);
    let issue =
        |clients: &[String]| posture.issue(&json!({"scopes": scopes, "clientIds": clients}));
    let change = |key: &Value, body: Value| {
        let path = format!("/api/keys/{}", key["id"].as_str().unwrap());
        super::patched(&posture, &path, &body);
    };
    let ended = |key: &Value, meanwhile: &dyn Fn()| {
        let headers = [("X-API-Key", key["key"].as_str().unwrap())];
        let answer = get_slowly(posture.address, "/api/export", &headers, meanwhile);
        assert_eq!(answer.status, 200);
        let lines = lines(&answer.text());
        let n_clients = lines.iter().filter(|it| it.0 == "client").count();
        assert!((1..clients.len()).contains(&n_clients), "{n_clients} clients");
        let (last, before) = lines.split_last().unwrap();
        assert!(before.iter().all(|it| !["end", "error"].contains(&it.0.as_str())));
        assert_eq!(last.0, "error", "{last:?}");
        last.1["code"].as_str().unwrap().to_owned()
    };
    let key = issue(&[]);
    assert_eq!(ended(&key, &|| change(&key, json!({"clientIds": [clients[0]]}))), "FORBIDDEN");
    let key = issue(&clients);
    assert_eq!(ended(&key, &|| change(&key, json!({"scopes": ["read:risks"]}))), "FORBIDDEN");
    let key = issue(&clients);
    let revoke = || {
        let path = format!("/api/keys/{}", key["id"].as_str().unwrap());
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    };
    assert_eq!(ended(&key, &revoke), "UNAUTHORIZED");
    let key = issue(&[]);
    let rotate = || {
        let path = format!("/api/keys/{}/rotate", key["id"].as_str().unwrap());
        let answer = posture.operator("POST", &path, &json!({"graceS": 0}));
        assert!(answer.status < 300, "{}", answer.text());
    };
    assert_eq!(ended(&key, &rotate), "UNAUTHORIZED");
    let expires = posture.now().plus_s(60).to_string();
    let key = posture.issue(&json!({"scopes": scopes, "expiresAt": expires}));
    assert_eq!(ended(&key, &|| posture.pass_s(61)), "UNAUTHORIZED");
}
