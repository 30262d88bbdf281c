//! The interface of Prowler: what its `--push-to-cloud` sends is imported, and everything else is refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use posture::app::ingestion::{N_KEPT_PER_KEY, N_WAITING_PER_KEY_MAX};
use posture::id::ClientId;
use serde_json::{Value, json};

use crate::harness::{Answer, Posture, send};

/// What `prowler --push-to-cloud` of Prowler 5.46 sent, with this key.
const RECORDED: &[u8] = include_bytes!("../data/prowler/push.http");
const RECORDED_KEY: &str = "service_0123456789_00000000000000000000000000000000000000";
const PATH: &str = "/api/v1/ingestions";
const SOON: Duration = Duration::from_secs(20);

/// A key that may reach one client.
fn key_of(posture: &Posture, client: &str) -> String {
    posture.key_with(&json!({ "clientIds": [client], "scopes": ["write:assessments"] }))
}

/// Sends the recorded bytes with another key: the status and the body.
fn replay(posture: &Posture, key: &str) -> (u16, Value) {
    assert_eq!(key.len(), RECORDED_KEY.len());
    let at = RECORDED.windows(key.len()).position(|it| it == RECORDED_KEY.as_bytes()).unwrap();
    let mut bytes = RECORDED.to_vec();
    bytes[at..at + key.len()].copy_from_slice(key.as_bytes());
    let mut stream = TcpStream::connect(posture.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(&bytes).unwrap();
    // The connection stays open, as the recorded head asks for.
    let mut answer = String::new();
    let mut chunk = [0; 4096];
    while serde_json::from_str::<Value>(body_of(&answer)).is_err() {
        let n_read = stream.read(&mut chunk).unwrap();
        assert_ne!(n_read, 0, "{answer}");
        answer += str::from_utf8(&chunk[..n_read]).unwrap();
    }
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if head.contains(" 202 ") {
        assert!(head.to_lowercase().contains("content-type: application/vnd.api+json"), "{head}");
    }
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |it| it.1)
}

fn form(content: &str) -> Vec<u8> {
    let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.json\"";
    format!("{head}\r\nContent-Type: application/json\r\n\r\n{content}\r\n--b--\r\n").into_bytes()
}

fn push(posture: &Posture, key: &str, body: &[u8]) -> Answer {
    let key = format!("Api-Key {key}");
    let kind = ("Content-Type", "multipart/form-data; boundary=b");
    send(posture.address, "POST", PATH, &[("Authorization", &key), kind], body)
}

fn get(posture: &Posture, key: &str, path: &str) -> Answer {
    let key = format!("Api-Key {key}");
    send(posture.address, "GET", path, &[("Authorization", &key)], b"")
}

fn attributes(posture: &Posture, key: &str, id: &str) -> Value {
    let answer = get(posture, key, &format!("{PATH}/{id}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["attributes"].clone()
}

/// The attributes once they have this status.
fn until(posture: &Posture, key: &str, id: &str, status: &[&str]) -> Value {
    let end = Instant::now() + SOON;
    loop {
        let seen = attributes(posture, key, id);
        if status.iter().any(|it| seen["status"] == *it) {
            return seen;
        }
        assert!(Instant::now() < end, "{seen}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ended(posture: &Posture, key: &str, id: &str) -> Value {
    until(posture, key, id, &["completed", "failed"])
}

fn pushed(posture: &Posture, key: &str, content: &str) -> String {
    let answer = push(posture, key, &form(content));
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn imports(posture: &Posture, client: &str) -> Vec<Value> {
    let path = format!("/api/clients/{client}/imports");
    let answer = posture.operator("GET", &path, &Value::Null);
    answer.json()["data"].as_array().unwrap().clone()
}

#[test]
fn what_prowler_pushes_is_imported() {
    let posture = Posture::start();
    let client = posture.client("A");
    posture.client("B");
    let key = key_of(&posture, &client);

    let (status, body) = replay(&posture, &key);

    assert_eq!(status, 202, "{body}");
    let id = body["data"]["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "data": { "type": "ingestions", "id": id, "attributes": {
            "status": "pending", "summary": { "total": 0, "processed": 0, "invalid": 0 },
            "requested_at": "2026-03-10T09:00:00.000Z", "started_at": null, "completed_at": null,
            "client_id": client, "import_id": null, "errors": [],
        }},
        "meta": { "version": "v1" },
    });
    assert_eq!(body, expected);
    let seen = ended(&posture, &key, &id);
    let all = imports(&posture, &client);
    let [import] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(seen["status"], "completed", "{seen}");
    assert_eq!(seen["summary"], json!({ "total": 6, "processed": 6, "invalid": 0 }));
    assert_eq!(seen["import_id"], import["id"]);
    assert_eq!(seen["completed_at"], "2026-03-10T09:00:00.000Z");
    assert_eq!((&import["format"], &import["source"]), (&json!("prowler-ocsf"), &json!("prowler")));
    let name = "prowler-output-123456789012-20261120094537.ocsf.json";
    assert_eq!((&import["fileName"], &import["records"]), (&json!(name), &json!(6)));
    assert!(import["by"].as_str().unwrap().starts_with("key "), "{import}");

    // The same findings again change nothing.
    let (_, again) = replay(&posture, &key);
    let again_id = again["data"]["id"].as_str().unwrap();
    assert_eq!(ended(&posture, &key, again_id)["import_id"], import["id"]);
    assert_eq!(imports(&posture, &client).len(), 1);
    let list = get(&posture, &key, PATH).json();
    let mut ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    ids.sort_by_key(|it| it.as_str() != Some(again_id));
    assert_eq!(ids, [again_id, &id]);
    let left = std::fs::read_dir(posture.dir()).unwrap().map(|it| it.unwrap().file_name());
    let left = left.filter(|it| it.to_str().unwrap().starts_with("ingest-"));
    assert_eq!(left.count(), 0, "what was imported is not kept");
}

#[test]
fn whoever_may_not_push_is_refused() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = key_of(&posture, &client);
    let good = form("[]");
    let call = |headers: &[(&str, &str)]| {
        let kind = ("Content-Type", "multipart/form-data; boundary=b");
        send(posture.address, "POST", PATH, &[headers, &[kind]].concat(), &good)
    };
    let refused = |answer: &Answer, status: u16, words: &str| {
        assert_eq!(answer.status, status, "{words}: {}", answer.text());
        let (_, message) = answer.problem();
        assert!(message.contains(words), "{words}: {message}");
    };
    refused(&call(&[]), 401, "API key missing or invalid");
    let wrong = format!("Api-Key {RECORDED_KEY}");
    refused(&call(&[("Authorization", &wrong)]), 401, "");
    refused(&call(&[("Authorization", "Api-Key")]), 401, "");
    let bearer = format!("Bearer {key}");
    refused(&call(&[("Authorization", &bearer)]), 401, "X-API-Key");
    let both = format!("Api-Key {key}");
    let twice = [("Authorization", both.as_str()), ("X-API-Key", &key)];
    refused(&call(&twice), 401, "in one header");
    let other = posture.key_with(&json!({ "clientIds": [client], "scopes": ["write:assets"] }));
    refused(&push(&posture, &other, &good), 403, "missing required scope: write:assessments");
    refused(&get(&posture, &other, PATH), 403, "missing required scope: write:assessments");
    let short = posture.key_with(&json!({ "expiresAt": "2026-03-10T09:01:00Z" }));
    assert_eq!(get(&posture, &short, PATH).status, 200);
    posture.clock.set(posture.now().plus_s(61));
    refused(&push(&posture, &short, &good), 401, "");
    let operator = posture.operator("GET", PATH, &Value::Null);
    refused(&operator, 403, "only an API key");
    // Nothing else takes a key in this header.
    for path in ["/api/v1/clients", "/api/clients"] {
        assert_eq!(get(&posture, &posture.key(), path).status, 401, "{path}");
    }
    assert_eq!(call(&[("X-API-Key", &key)]).status, 202);
}

#[test]
fn what_is_no_file_is_refused_with_what_to_send() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = key_of(&posture, &client);
    let good = String::from_utf8(form("[]")).unwrap();
    for (body, words) in [
        (good.replace("name=\"file\"", "name=\"other\""), "must be the first field of the form"),
        (good.replace("; filename=\"a.json\"", ""), "must be the first field of the form"),
        (good.replace("--b\r\nContent", "--c\r\nContent"), "does not start with its boundary"),
        (good.replace("\r\n--b--\r\n", ""), "truncated"),
        (good.replace("--b--", "--b"), "truncated"),
        ("--b\r\nContent-Disposition: form-data".to_owned(), "have no end"),
        ("--b\r\n\r\n--b--".to_owned(), "have no end"),
        ("--b\r\nA: b\r\n\r\n--b--".to_owned(), "must be the first field of the form"),
        (String::new(), "does not start with its boundary"),
    ] {
        let answer = push(&posture, &key, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        let text = answer.text();
        assert!(text.contains(words), "{body}: {text}");
    }
    let authorization = format!("Api-Key {key}");
    let by = ("Authorization", authorization.as_str());
    for kind in ["application/json", "multipart/form-data", "multipart/form-data; boundary=\"\""] {
        let answer = send(posture.address, "POST", PATH, &[by, ("Content-Type", kind)], b"[]");
        assert_eq!(answer.status, 415, "{kind}: {}", answer.text());
    }
    let mut stream = TcpStream::connect(posture.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let n_bytes = (256 << 20) + 1;
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: here\r\nAuthorization: Api-Key {key}\r\nContent-Type: \
         multipart/form-data; boundary=b\r\nContent-Length: {n_bytes}\r\n\r\n--b\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = vec![0; 1024];
    let n_read = stream.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..n_read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");

    for (method, path, status) in [
        ("DELETE", PATH, 405),
        ("POST", "/api/v1/ingestions/0198a000-0000-7000-8000-000000000000", 405),
        ("GET", "/api/v1/ingestions/0198a000-0000-7000-8000-000000000000", 404),
        ("GET", "/api/v1/ingestions/x", 404),
        ("GET", "/api/v1/ingestions/x/y", 404),
        ("GET", "/api/v1/ingestionsx", 404),
    ] {
        let answer = send(posture.address, method, path, &[by], b"");
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        answer.problem();
        let allow = answer.header("allow");
        assert_eq!(allow.is_some_and(|it| it.contains("GET")), status == 405, "{allow:?}");
    }
    assert!(get(&posture, &key, PATH).json()["data"].as_array().unwrap().is_empty());
}

#[test]
fn findings_that_cannot_be_imported_say_why() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = key_of(&posture, &client);
    for (content, words) in [
        ("hello", "not JSON"),
        ("", "the file is empty"),
        ("[{\"metadata\": ", "truncated"),
        ("[{}]", "every record of the file was skipped"),
    ] {
        let id = pushed(&posture, &key, content);
        let seen = ended(&posture, &key, &id);
        assert_eq!(seen["status"], "failed", "{seen}");
        let detail = seen["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{detail}");
    }
    assert!(imports(&posture, &client).is_empty());
}

#[test]
fn the_client_is_never_guessed() {
    let posture = Posture::start();
    let clients = [posture.client("A"), posture.client("B")];
    for key in [
        posture.key_with(&json!({ "scopes": ["write:assessments"] })),
        posture.key_with(&json!({ "clientIds": clients, "scopes": ["write:assessments"] })),
    ] {
        let (status, body) = replay(&posture, &key);
        assert_eq!((status, &body["data"]["attributes"]["client_id"]), (202, &Value::Null));
        let seen = ended(&posture, &key, body["data"]["id"].as_str().unwrap());
        assert_eq!(seen["status"], "failed");
        assert_eq!(seen["summary"], json!({ "total": 6, "processed": 0, "invalid": 6 }));
        let detail = seen["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("aws/123456789012"), "{detail}");
        assert!(detail.contains("limited to one client"), "{detail}");
    }
    for client in clients {
        assert!(imports(&posture, &client).is_empty());
    }
}

#[test]
fn an_account_that_belongs_to_a_client_needs_no_key_of_its_own() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let file = crate::harness::sample::own("prowler/aws.csv"); // Of the same account.
    assert_eq!(posture.import_own(&acme, "observedAt=now", &file).status, 200);
    let scopes = json!(["write:assessments"]);
    for (clients, status) in [(json!([acme, beta]), "completed"), (json!([]), "completed")] {
        let key = posture.key_with(&json!({ "clientIds": clients, "scopes": scopes }));
        let (_, body) = replay(&posture, &key);
        let seen = ended(&posture, &key, body["data"]["id"].as_str().unwrap());
        assert_eq!(seen["status"], status, "{seen}");
    }
    assert_eq!((imports(&posture, &acme).len(), imports(&posture, &beta).len()), (2, 0));
    let gamma = posture.client("Gamma");
    let key = posture.key_with(&json!({ "clientIds": [beta, gamma], "scopes": scopes }));
    let (_, body) = replay(&posture, &key);
    let seen = ended(&posture, &key, body["data"]["id"].as_str().unwrap());
    assert_eq!(seen["status"], "failed", "{seen}");
    // The only client of a key is not believed against what the account is known to be.
    let key = key_of(&posture, &beta);
    let (_, body) = replay(&posture, &key);
    let seen = ended(&posture, &key, body["data"]["id"].as_str().unwrap());
    let detail = seen["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("you may not import for this client"), "{detail}");
    assert!(!detail.contains("Acme"), "{detail}");
}

#[test]
fn a_limited_key_does_not_decide_whose_a_push_of_all_is() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    // The account is nobody's yet; a key that is limited to Acme says first that it is Acme's.
    let limited = key_of(&posture, &acme);
    let (_, body) = replay(&posture, &limited);
    let seen = ended(&posture, &limited, body["data"]["id"].as_str().unwrap());
    assert_eq!(seen["status"], "completed", "{seen}");
    for clients in [json!([]), json!([acme, beta])] {
        let scopes = json!(["write:assessments"]);
        let all = posture.key_with(&json!({ "clientIds": clients, "scopes": scopes }));
        let (_, body) = replay(&posture, &all);
        let seen = ended(&posture, &all, body["data"]["id"].as_str().unwrap());
        assert_eq!(seen["status"], "failed", "{seen}");
    }
    assert_eq!((imports(&posture, &acme).len(), imports(&posture, &beta).len()), (1, 0));
    // Somebody who may reach all clients says so.
    let file = crate::harness::sample::own("prowler/aws.csv");
    assert_eq!(posture.import_own(&acme, "observedAt=now", &file).status, 200);
    let all = posture.key_with(&json!({ "scopes": ["write:assessments"] }));
    let (_, body) = replay(&posture, &all);
    assert_eq!(ended(&posture, &all, body["data"]["id"].as_str().unwrap())["status"], "completed");
}

/// Of each key, only one file is imported at a time, and keys take turns.
#[test]
fn no_key_waits_for_all_files_of_another() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let (many, one) = (key_of(&posture, &acme), key_of(&posture, &beta));
    let client_id: ClientId = acme.parse().unwrap();
    // The first file of Acme cannot be imported yet.
    let busy = posture.block_on(posture.app.clients.lock(client_id));
    let (_, first) = replay(&posture, &many);
    let first = first["data"]["id"].as_str().unwrap().to_owned();
    until(&posture, &many, &first, &["processing"]);
    let second = pushed(&posture, &many, "[{}]");
    let other = pushed(&posture, &one, "[{}]");
    assert_eq!(ended(&posture, &one, &other)["status"], "failed", "it says nothing");
    assert_eq!(attributes(&posture, &many, &second)["status"], "pending");
    drop(busy);
    assert_eq!(ended(&posture, &many, &first)["status"], "completed");
    assert_eq!(ended(&posture, &many, &second)["status"], "failed");
}

#[test]
fn a_key_sees_only_what_it_pushed() {
    let posture = Posture::start();
    let (one, two) = (posture.client("A"), posture.client("B"));
    let (mine, other) = (key_of(&posture, &one), key_of(&posture, &two));
    let same_client = key_of(&posture, &one);
    let id = pushed(&posture, &mine, "[]");
    ended(&posture, &mine, &id);
    for key in [other, same_client, posture.key()] {
        let answer = get(&posture, &key, &format!("{PATH}/{id}"));
        assert_eq!(answer.status, 404, "{}", answer.text());
        assert_eq!(get(&posture, &key, PATH).json()["data"], json!([]));
    }
    // An erasure of the client takes them with it.
    let gone = posture.operator("DELETE", &format!("/api/clients/{one}"), &Value::Null);
    assert_eq!(gone.status, 200, "{}", gone.text());
    let end = Instant::now() + SOON;
    while get(&posture, &mine, PATH).status == 200 {
        if get(&posture, &mine, PATH).json()["data"] == json!([]) {
            return;
        }
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn pushes_count_as_calls_of_the_management_api() {
    let posture = Posture::start();
    posture.client("A");
    let key = posture.key_with(&json!({ "perMinute": 2, "perHour": 2, "perDay": 2 }));
    let statuses = [(); 3].map(|()| get(&posture, &key, PATH).status);
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(posture.get(&key, "/clients").status, 200);
}

#[test]
fn a_restart_loses_no_file_and_few_wait() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = key_of(&posture, &client);
    let client_id: ClientId = client.parse().unwrap();
    let busy = posture.block_on(posture.app.clients.lock(client_id));
    let (_, first) = replay(&posture, &key);
    let first = first["data"]["id"].as_str().unwrap().to_owned();
    until(&posture, &key, &first, &["processing"]);
    let rest: Vec<_> =
        (1..N_WAITING_PER_KEY_MAX).map(|n| pushed(&posture, &key, &" ".repeat(n))).collect();
    let refused = push(&posture, &key, &form("[]"));
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")));
    let lost = "ingest-00000000000000000000000000000000";

    let posture = posture.restart_after(|dir| std::fs::write(dir.join(lost), "x").unwrap(), |_| ());
    drop(busy);

    let seen = ended(&posture, &key, &first);
    assert_eq!(seen["status"], "completed", "{seen}");
    assert_eq!(imports(&posture, &client).len(), 1);
    for id in rest {
        assert_eq!(ended(&posture, &key, &id)["status"], "failed");
    }
    assert!(!posture.dir().join(lost).exists(), "it belongs to no ingestion");
    // A file that is gone, as after a backup was restored, is not waited for.
    let busy = posture.block_on(posture.app.clients.lock(client_id));
    let id = pushed(&posture, &key, "[]");
    until(&posture, &key, &id, &["processing"]);
    let file = format!("ingest-{}", id.replace('-', ""));
    let posture =
        posture.restart_after(|dir| std::fs::remove_file(dir.join(file)).unwrap(), |_| ());
    drop(busy);
    let seen = ended(&posture, &key, &id);
    assert_eq!(seen["errors"][0]["detail"], "the file is gone; push it again");
}

#[test]
fn a_key_s_old_ingestions_are_forgotten() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = key_of(&posture, &client);
    let first = pushed(&posture, &key, "x");
    ended(&posture, &key, &first);
    posture.clock.set(posture.now().plus_s(1));
    for _ in 0..N_KEPT_PER_KEY {
        let id = pushed(&posture, &key, "x");
        ended(&posture, &key, &id);
    }
    let all = get(&posture, &key, PATH).json()["data"].as_array().unwrap().len();
    assert_eq!(all, N_KEPT_PER_KEY);
    assert_eq!(get(&posture, &key, &format!("{PATH}/{first}")).status, 404);
}
