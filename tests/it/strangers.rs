//! Who gets in, where, and in which order that is decided: for every operation of the document.

mod operation;
mod roles;
mod state;
pub(crate) mod world;

use posture::auth::key::KeyText;
use serde_json::{Value, json};

use crate::harness::{ALL_SCOPES, Answer, Posture, http, send};
use crate::openapi::{Operation, operations};
use operation::{Names, TRIED};
use world::{OF_A_SESSION, World, closed, in_order, keyed, managed, scoped, tried, versioned};

const REFUSED: &str = "API key missing or invalid";
const NO_TOKEN: &str = "the token is invalid or expired; log in again";
const NOTHING: &str = "token missing; log in with POST /auth/login";
const NOT_FOR_KEYS: &str = "an API key cannot do this; log in as a user";
const NO_SCOPE: &str = "API key missing required scope: ";
const OTHER_NETWORK: &str = "API key not authorized from this network";
const OTHER_CLIENT: &str = "API key not authorized for this client";
/// It takes a file of any kind.
const ANY_BODY: &str = "add_evidence_file";
const LIMITED_KEY: &str = "an API key that is limited to clients cannot do this";
const ABSENT: &str = "0195a000-0000-7000-8000-000000000000";

/// All but those that are enough.
fn scopes_without(operation: &Operation) -> Vec<&'static str> {
    let lacks = |it: &&str| operation.scopes.iter().all(|scope| scope != it);
    ALL_SCOPES.into_iter().filter(lacks).collect()
}

/// Headers, and the status and sentence that they get.
type Sent<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

fn refuses(answer: &Answer, status: u16, code: &str, message: &str, about: &str) {
    let problem = answer.problem();
    // Who sends a key or token where it does not count is told so, whatever it is.
    let said = match &*problem.1 {
        it if it.contains("not the token of a login") || it.contains("not as Authorization") => {
            it.split(';').next().unwrap()
        }
        it => it,
    };
    assert_eq!((answer.status, problem.0.as_str(), said), (status, code, message), "{about}");
    let challenge = answer.header("www-authenticate");
    assert_eq!(challenge.is_some(), status == 401, "{about}");
    assert!(!answer.text().contains("Canary"), "{about}");
}

#[test]
fn every_operation_of_the_document_is_tried() {
    let mut documented: Vec<_> = operations().into_iter().map(|it| it.id).collect();
    let mut tried: Vec<_> = TRIED.iter().map(|it| it.0).collect();
    documented.sort_unstable();
    tried.sort_unstable();
    assert_eq!(documented, tried);
}

/// Headers of people who hold no key that lives; what each is.
fn strangers(posture: &Posture, live: &str) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let text = |it: &Value| it["key"].as_str().unwrap().to_owned();
    let expired = posture.issue(&json!({"expiresAt": "2026-03-10T09:00:01Z"}));
    let revoked = posture.issue(&json!({}));
    let rotated = posture.issue(&json!({}));
    let path = |it: &Value, rest: &str| format!("/api/keys/{}{rest}", it["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path(&revoked, ""), &Value::Null).status, 204);
    let rotation = posture.operator("POST", &path(&rotated, "/rotate"), &json!({"graceS": 0}));
    assert_eq!(rotation.status, 200);
    posture.pass_s(1);
    let last = live.chars().last().unwrap();
    let mistyped = format!("{}{}", &live[..live.len() - 1], if last == '0' { '1' } else { '0' });
    let jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsImV4cCI6OTk5OTk5OTk5OX0.".to_owned();
    let key = |it: String| vec![("X-API-Key", it)];
    let bearer = |it: &str| vec![("Authorization", format!("Bearer {it}"))];
    vec![
        ("without a key", Vec::new()),
        ("with an empty key", key(String::new())),
        ("with garbage", key("hunter2".to_owned())),
        ("with much garbage", key("service_".repeat(500))),
        ("with a word of a key's length", key("x".repeat(57))),
        ("with bytes above ASCII", key("service_äöü".to_owned())),
        ("with a mistyped key", key(mistyped)),
        ("with a key that nobody issued", key(KeyText::random().reveal().to_owned())),
        ("with another's secret", key(crate::keys::forged(live))),
        ("with a key in another case", key(live.to_lowercase())),
        ("with more behind the key", key(format!("{live}0"))),
        ("with an expired key", key(text(&expired))),
        ("with a revoked key", key(text(&revoked))),
        ("with a rotated key", key(text(&rotated))),
        ("with a JWT", bearer(&jwt)),
        ("with a JWT for a key", key(jwt)),
        ("with a key as bearer", bearer(live)),
        ("with a key in the cookie", vec![("Cookie", format!("X-API-Key={live}"))]),
    ]
}

#[test]
fn a_stranger_gets_401_everywhere() {
    let world = World::new();
    let strangers = strangers(&world.posture, &world.key);
    for operation in closed() {
        for (name, headers) in &strangers {
            let about = format!("{} {name}", operation.id);
            let headers: Vec<_> = headers.iter().map(|(it, value)| (*it, value.as_str())).collect();
            let message = match headers.first() {
                Some(("X-API-Key", _)) => REFUSED,
                _ if operation.role.is_none() => REFUSED,
                Some(("Authorization", _)) if *name == "with a key as bearer" => continue,
                Some(("Authorization", _)) => NO_TOKEN,
                _ => NOTHING,
            };
            let answer = world.knock(&operation, &headers);
            refuses(&answer, 401, "UNAUTHORIZED", message, &about);
            assert!(answer.header("ratelimit-remaining").is_none(), "{}", operation.id);
        }
    }
}

#[test]
fn two_keys_are_no_key() {
    let world = World::new();
    let key = world.key.as_str();
    for operation in closed() {
        let answer = world.knock(&operation, &[("X-API-Key", key), ("x-api-key", key)]);
        refuses(&answer, 401, "UNAUTHORIZED", "send X-API-Key once", &operation.id);
    }
    for operation in managed() {
        let bearer = format!("Bearer {key}");
        let twice = [("Authorization", bearer.as_str()), ("authorization", bearer.as_str())];
        let answer = world.knock(&operation, &twice);
        refuses(&answer, 401, "UNAUTHORIZED", "send Authorization once", &operation.id);
    }
}

#[test]
fn what_is_for_users_is_not_for_keys() {
    let world = World::new();
    let key = world.key.as_str();
    let bearer = format!("Bearer {key}");
    let sent: [Sent<'_>; 5] = [
        (&[("X-API-Key", key)], 403, NOT_FOR_KEYS),
        (&[("Authorization", &bearer)], 403, NOT_FOR_KEYS),
        (&[("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-User", "root")], 401, NOTHING),
        (&[("Authorization", "Basic cm9vdDo=")], 401, "Authorization must be `Bearer <token>`"),
        (&[("Authorization", "Bearer")], 401, "Authorization must be `Bearer <token>`"),
    ];
    for operation in managed().filter(|it| !it.takes_keys) {
        for (headers, status, message) in sent {
            let answer = world.knock(&operation, headers);
            let code = if status == 401 { "UNAUTHORIZED" } else { "FORBIDDEN" };
            refuses(&answer, status, code, message, &operation.id);
        }
        let (path, _) = world.filled(&operation, Some("no-id"), "no-id");
        let answer = send(world.posture.address, &operation.method, &path, &[], b"");
        assert_eq!(answer.status, 401, "{}: the caller comes first", operation.id);
    }
    let clients = world.posture.operator("GET", "/api/clients", &Value::Null);
    assert_eq!(clients.json()["pagination"]["total"], 1, "nothing was done");
}

#[test]
fn the_operator_gets_everything_on_the_socket() {
    let world = World::new();
    for operation in in_order(operations()) {
        let (path, body) = world.filled(&operation, None, &world.client);
        let answer = world.operator(&operation, &path, &body);
        let expected = tried(&operation).3;
        assert_eq!(answer.status, expected, "{}: {:.200}", operation.id, answer.text());
    }
}

#[test]
fn a_bad_key_on_the_socket_is_not_the_operator() {
    let world = World::new();
    for operation in closed() {
        let (path, body) = world.filled(&operation, None, &world.client);
        let headers = [("X-API-Key", "garbage"), ("Content-Type", "application/json")];
        let socket = world.posture.socket();
        let answer = http::send_socket(&socket, &operation.method, &path, &headers, &body);
        refuses(&answer, 401, "UNAUTHORIZED", REFUSED, &operation.id);
    }
}

#[test]
fn a_key_without_the_scope_is_told_which() {
    let world = World::new();
    for operation in in_order(scoped().collect()) {
        let scope = operation.scope.clone().unwrap();
        let key = world.posture.key_with(&json!({"scopes": scopes_without(&operation)}));
        let message = format!("{NO_SCOPE}{scope}");
        for id in [None, Some(ABSENT), Some("no-id")] {
            let answer = world.ask(&operation, &key, id);
            refuses(&answer, 403, "FORBIDDEN", &message, &operation.id);
            assert!(answer.header("ratelimit-remaining").is_some(), "{}", operation.id);
        }
        for scope in &operation.scopes {
            let key = world.posture.key_with(&json!({"scopes": [scope]}));
            let expected = if operation.id == "create_asset" { 200 } else { tried(&operation).3 };
            let answer = world.ask(&operation, &key, None);
            let allowed = [expected, 201].contains(&answer.status);
            assert!(allowed, "{} {}: {scope} is enough", operation.id, answer.status);
        }
    }
}

#[test]
fn a_key_from_another_network_is_refused() {
    let world = World::new();
    let elsewhere = world.posture.key_with(&json!({"networks": ["10.0.0.0/8", "::/0"]}));
    let here = world.posture.key_with(&json!({"networks": ["10.0.0.0/8", "127.0.0.0/8"]}));
    for operation in in_order(keyed().collect()) {
        world.posture.pass_s(1); // An address may be refused so often a minute.
        let answer = world.ask(&operation, &elsewhere, None);
        refuses(&answer, 403, "FORBIDDEN", OTHER_NETWORK, &operation.id);
        let answer = world.ask(&operation, &here, None);
        assert!(matches!(answer.status, 200..=204), "{} {}", operation.id, answer.status);
    }
}

#[test]
fn a_key_of_another_client_learns_nothing() {
    let world = World::new();
    let other = world.posture.client("Other");
    let key = world.posture.key_with(&json!({"clientIds": [other]}));
    let free = world.posture.key();
    for operation in scoped() {
        let there = world.ask(&operation, &key, None);
        let absent = world.ask(&operation, &key, Some(ABSENT));
        match tried(&operation).1 {
            Names::Client | Names::ClientInside => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
                refuses(&absent, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
                let free = world.ask(&operation, &free, Some(ABSENT));
                refuses(&free, 404, "NOT_FOUND", "client not found", &operation.id);
            }
            Names::Scan => {
                refuses(&there, 404, "NOT_FOUND", "scan not found", &operation.id);
                refuses(&absent, 404, "NOT_FOUND", "scan not found", &operation.id);
            }
            Names::Asset => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
                refuses(&absent, 404, "NOT_FOUND", "asset not found", &operation.id);
            }
            Names::Evidence | Names::SubjectDecision | Names::Risk | Names::Import => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
                refuses(&absent, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
            }
            Names::Batch => {
                refuses(&there, 404, "NOT_FOUND", "batch not found", &operation.id);
                refuses(&absent, 404, "NOT_FOUND", "batch not found", &operation.id);
            }
            Names::Task => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, &operation.id);
                refuses(&absent, 404, "NOT_FOUND", "task not found", &operation.id);
            }
            Names::Nothing
            | Names::Key
            | Names::Webhook
            | Names::AlertRule
            | Names::Connection
            | Names::ReportSchedule
            | Names::User => {
                let message = match operation.id.as_str() {
                    // They name the client in their body.
                    "start_scan" | "add_task" | "try_batch" | "begin_batch" => Some(OTHER_CLIENT),
                    "add_client" | "add_client_list" => Some(LIMITED_KEY),
                    _ => None,
                };
                if let Some(message) = message {
                    refuses(&there, 403, "FORBIDDEN", message, &operation.id);
                    continue;
                }
                let told = there.text();
                assert!(there.status == 200 && !told.contains("Canary"), "{}", operation.id);
                assert!(!told.contains(&world.client), "{}", operation.id);
            }
        }
    }
}

/// Keys that break the n-th rule of the order and all behind it that a key can break.
struct Ladder {
    network: String,
    exhausted: String,
    scope: String,
    client: String,
    free: String,
}

impl Ladder {
    fn new(world: &World, operation: &Operation) -> Self {
        let other = world.posture.client(&format!("Other than {}", operation.id));
        let lacking = scopes_without(operation);
        let key = |change: &Value| world.posture.key_with(change);
        let networks = ["10.0.0.0/8"];
        let ladder = Self {
            network: key(&json!({
                "networks": networks, "perDay": 1, "scopes": lacking, "clientIds": [other],
            })),
            exhausted: key(&json!({"perDay": 1, "scopes": lacking, "clientIds": [other]})),
            scope: key(&json!({"scopes": lacking, "clientIds": [other]})),
            client: key(&json!({"clientIds": [other]})),
            free: key(&json!({})),
        };
        let used = world.posture.get(&ladder.exhausted, "/clients");
        assert!(matches!(used.status, 200 | 403), "{}", used.status);
        // The management API counts by itself.
        let headers = [("X-API-Key", ladder.exhausted.as_str())];
        assert_eq!(
            send(world.posture.address, "GET", "/api/frameworks", &headers, b"").status,
            200
        );
        ladder
    }
}

#[test]
fn checks_come_in_the_promised_order() {
    let world = World::new();
    for operation in scoped() {
        let (_, names, bad_query, _) = tried(&operation);
        let scope = operation.scope.clone().unwrap();
        let ladder = Ladder::new(&world, &operation);
        let has_body = matches!(operation.method.as_str(), "POST" | "PUT" | "PATCH")
            && !["cancel_scan", ANY_BODY].contains(&operation.id.as_str());
        let bad_body: &[u8] = if has_body { b"{\"name\": 1}" } else { b"" };
        // Query, then path: `None` is the id that exists.
        let expect = |key: &str, query: &str, id: Option<&str>, status: u16, says: &str| {
            let (path, _) = world.filled(&operation, id, &world.client);
            let path = with_query(&path, query);
            let answer = world.ask_with(&operation, key, &path, bad_body);
            let message = answer.problem().1;
            let about = &operation.id;
            assert!(answer.status == status && message.contains(says), "{about}: {message}");
        };
        expect("x", bad_query, Some("no-id"), 401, REFUSED);
        expect(&ladder.network, bad_query, Some("no-id"), 403, OTHER_NETWORK);
        // These have limits of their own, which that key has not used.
        if !["start_scan", "get_scan", "get_kpis"].contains(&operation.id.as_str()) {
            expect(&ladder.exhausted, bad_query, Some("no-id"), 429, "rate limit exceeded");
        }
        expect(&ladder.scope, bad_query, Some("no-id"), 403, &scope);
        if !bad_query.is_empty() {
            let parameter = bad_query.split('=').next().unwrap();
            expect(&ladder.client, bad_query, Some("no-id"), 400, parameter);
        }
        if matches!(names, Names::Client | Names::Asset) {
            expect(&ladder.client, "", Some("no-id"), 404, "not found");
            expect(&ladder.client, "", None, 403, OTHER_CLIENT);
            expect(&ladder.free, "", Some(ABSENT), 404, "not found");
        }
        if has_body {
            expect(&ladder.free, "", None, 400, "name");
            // The client is in the body: the body comes first.
            let is_inside = names == Names::ClientInside
                || ["start_scan", "add_task", "try_batch", "begin_batch"]
                    .contains(&operation.id.as_str());
            let refused = if names == Names::Batch { 404 } else { 403 };
            let status = if is_inside { 400 } else { refused };
            expect(&ladder.client, "", None, status, "");
        }
    }
}

fn with_query(path: &str, query: &str) -> String {
    format!("{path}{}{query}", if path.contains('?') { '&' } else { '?' })
}

#[test]
fn management_checks_come_in_the_same_order() {
    let world = World::new();
    for operation in managed().filter(|it| !OF_A_SESSION.contains(&it.id.as_str())) {
        let (_, names, bad_query, _) = tried(&operation);
        let has_body = matches!(operation.method.as_str(), "POST" | "PATCH" | "PUT")
            && operation.id != ANY_BODY;
        let bad_body: &[u8] = if has_body { b"{\"name\": 1}" } else { b"" };
        let expect = |query: &str, id: Option<&str>, status: u16, says: &str| {
            let (path, _) = world.filled(&operation, id, &world.client);
            let path = with_query(&path, query);
            let answer = world.operator(&operation, &path, bad_body);
            let message = answer.problem().1;
            let about = &operation.id;
            assert!(answer.status == status && message.contains(says), "{about}: {message}");
        };
        if !bad_query.is_empty() {
            let parameter = bad_query.split('=').next().unwrap();
            expect(bad_query, Some("no-id"), 400, parameter);
        }
        if names != Names::Nothing {
            expect("", Some("no-id"), 404, "not found");
            expect("", Some(ABSENT), 404, "not found");
        }
        let is_bare = [
            "sync_connection",
            "test_connection",
            "test_microsoft_app",
            "renew_microsoft_app",
            "send_report_schedule",
        ]
        .contains(&operation.id.as_str());
        if has_body && !is_bare && !matches!(names, Names::Import | Names::Scan) {
            expect("", None, 400, "");
        }
    }
}

#[test]
fn an_unknown_path_is_404_with_and_without_a_key() {
    let world = World::new();
    for path in ["/api/v1", "/api/v1/", "/api/v1/clientz", "/api/v2/clients", "/api/none", "/go"] {
        for headers in [&[][..], &[("X-API-Key", world.key.as_str())][..]] {
            let answer = send(world.posture.address, "GET", path, headers, b"");
            refuses(&answer, 404, "NOT_FOUND", "path not found", path);
        }
    }
}

#[test]
fn an_inactive_client_is_as_good_as_absent() {
    let world = World::new();
    let path = format!("/api/clients/{}", world.client);
    assert_eq!(world.posture.operator("PATCH", &path, &json!({"active": false})).status, 200);
    for operation in versioned() {
        let answer = world.ask(&operation, &world.key, None);
        match tried(&operation).1 {
            Names::Nothing
            | Names::Key
            | Names::Import
            | Names::Evidence
            | Names::SubjectDecision
            | Names::Webhook
            | Names::Risk
            | Names::Task
            | Names::Batch
            | Names::AlertRule
            | Names::User
            | Names::Connection
            | Names::ReportSchedule
            | Names::Scan => {
                assert_eq!(answer.json()["pagination"]["total"], 0);
            }
            Names::Asset => {
                refuses(&answer, 404, "NOT_FOUND", "asset not found", &operation.id);
            }
            Names::Client | Names::ClientInside => {
                refuses(&answer, 404, "NOT_FOUND", "client not found", &operation.id);
            }
        }
    }
    assert_eq!(world.posture.operator("PATCH", &path, &json!({"active": true})).status, 200);
    let assets = world.posture.read(&world.key, &format!("/clients/{}/assets", world.client));
    assert!(assets.to_string().contains("Canary"), "its data is kept");
}
