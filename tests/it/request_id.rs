//! `X-Request-Id`: on every answer, in the log, and never another caller's.

use std::collections::BTreeSet;

use serde_json::json;

use crate::backup::check::damage;
use crate::edge::{Edge, HELLO, lazy};
use crate::harness::process::Folder;
use crate::harness::{Answer, Posture, http, send};

const NAME: &str = "X-Request-Id";

fn id(answer: &Answer) -> String {
    let ids: Vec<_> = answer.headers.iter().filter(|it| it.0 == "x-request-id").collect();
    assert_eq!(ids.len(), 1, "{answer:?}");
    ids[0].1.clone()
}

/// Panics unless the service made the id.
fn made(id: &str) -> String {
    let fits = |it: char| it.is_ascii_digit() || ('a'..='f').contains(&it);
    assert!(id.len() == 16 && id.chars().all(fits), "{id}");
    id.to_owned()
}

#[test]
fn a_callers_own_id_is_kept_and_what_is_none_is_replaced() {
    let posture = Posture::start();
    let ask = |given: &str| id(&send(posture.address, "GET", "/healthz", &[(NAME, given)], b""));
    let longest = "a".repeat(64);
    for own in ["7", "Order-12_b.3", longest.as_str()] {
        assert_eq!(ask(own), own);
    }
    let too_long = "a".repeat(65);
    let mut all = BTreeSet::new();
    for other in ["", "a b", "a\"b", "a/b", "caf\u{e9}", "a,b", too_long.as_str()] {
        assert!(all.insert(made(&ask(other))), "{all:?}");
    }
    let none = send(posture.address, "GET", "/healthz", &[], b"");
    assert!(all.insert(made(&id(&none))), "{all:?}");
}

#[test]
fn an_answer_from_the_cache_has_the_id_of_who_asks() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Acme"));
    let path = format!("/api/v1/clients/{client}/scores");
    let ask = |given: &str, more: (&str, &str)| {
        let headers = [("X-API-Key", key.as_str()), (NAME, given), more];
        send(posture.address, "GET", &path, &headers, b"")
    };
    let (first, second) = (ask("first", ("Accept", "*/*")), ask("second", ("Accept", "*/*")));
    assert_eq!((first.status, &first.body), (200, &second.body));
    assert_eq!((id(&first), id(&second)), ("first".to_owned(), "second".to_owned()));
    let known = ask("third", ("If-None-Match", first.header("etag").unwrap()));
    assert_eq!((known.status, id(&known)), (304, "third".to_owned()));
    made(&id(&posture.get(&key, &format!("/clients/{client}/scores"))));
}

#[test]
fn what_is_refused_has_an_id_too() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 1, "perHour": 1, "perDay": 1}));
    let ask = |path: &str, key: &str| {
        let headers = [("X-API-Key", key), (NAME, "mine")];
        send(posture.address, "GET", path, &headers, b"")
    };
    let clients = "/api/v1/clients";
    for (path, key, status) in [
        (clients, "wrong", 401),
        (clients, key.as_str(), 200),
        (clients, key.as_str(), 429),
        ("/nowhere", "", 404),
        (&*format!("/{}", "a".repeat(9_000)), "", 414),
    ] {
        let answer = ask(path, key);
        assert_eq!((answer.status, id(&answer)), (status, "mine".to_owned()));
    }
}

/// The id in the head of an answer.
fn id_in(head: &str) -> &str {
    let (_, rest) = head.split_once("\r\nx-request-id: ").unwrap_or_else(|| panic!("{head}"));
    rest.split("\r\n").next().unwrap()
}

#[test]
fn a_panic_and_what_is_no_http_have_an_id() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send("GET /panic HTTP/1.1\r\nHost: here\r\nX-Request-Id: mine\r\n\r\n");
    let answer = wire.answer();
    assert_eq!((answer.status, id_in(&answer.head)), (500, "mine"));
    wire.send(HELLO);
    let next = made(id_in(&wire.answer().head));
    wire.send("GET  /hello HTTP/1.1\r\nHost: here\r\nX-Request-Id: mine\r\n\r\n");
    let refused = wire.answer();
    assert_eq!(refused.status, 400);
    assert_ne!(made(id_in(&refused.head)), next);
}

#[test]
fn the_log_has_the_id_where_something_fails_and_where_something_changes() {
    let folder = Folder::new();
    let client = folder.client("Acme");
    let server = folder.serve();
    let key = folder.key("1000");
    let asset = json!({
        "clientId": client, "name": "a", "externalId": "1", "assetType": "server",
    });
    assert_eq!(server.send("POST", &key, "/assets", &asset).status, 201);
    let body = json!({ "name": "Other" }).to_string();
    let headers = [("Content-Type", "application/json"), (NAME, "change-1")];
    let added =
        http::send_socket(&folder.socket(), "POST", "/api/clients", &headers, body.as_bytes());
    assert_eq!((added.status, id(&added)), (201, "change-1".to_owned()));
    server.stop();
    damage(&folder.path().join("data/posture.redb"), "/assets");
    let server = folder.serve();
    let path = format!("/api/v1/clients/{client}/assets");
    let failed = send(server.address, "GET", &path, &[("X-API-Key", &key), (NAME, "lost-1")], b"");
    assert_eq!((failed.status, id(&failed)), (500, "lost-1".to_owned()));
    let (code, message) = failed.problem();
    assert_eq!(code, "INTERNAL");
    assert!(message.contains("request_id lost-1"), "{message}");
    server.stop();
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    for (said, id) in [("POST /api/clients", "change-1"), ("request failed", "lost-1")] {
        let is_it = |it: &&str| it.contains(said) && it.contains(&format!("request_id=\"{id}\""));
        assert_eq!(log.lines().filter(is_it).count(), 1, "{id}: {log}");
    }
}
