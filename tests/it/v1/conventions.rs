//! What all operations have in common.

use serde_json::{Value, json};

use super::{NOBODY, assert_invalid, assert_problem, deactivate, import_sample, new_asset, push};
use crate::harness::{ALL_SCOPES, Answer, Posture, send};

/// Method, path with `C` for a client and `A` for an asset, scope.
const OPERATIONS: [(&str, &str, &str); 9] = [
    ("GET", "/clients", "read:clients"),
    ("GET", "/clients/C", "read:clients"),
    ("GET", "/clients/C/assets", "read:assets"),
    ("POST", "/assets", "write:assets"),
    ("PUT", "/assets/A", "write:assets"),
    ("GET", "/clients/C/scores", "read:scores"),
    ("GET", "/clients/C/risks", "read:risks"),
    ("GET", "/clients/C/compliance", "read:compliance"),
    ("GET", "/clients/C/compliance/SOC2", "read:compliance"),
];

/// The operations that name a client in their path.
fn of_a_client() -> impl Iterator<Item = &'static str> {
    OPERATIONS.into_iter().filter(|it| it.1.contains('C')).map(|(_, path, _)| path)
}

fn at(path: &str, client: &str, asset: &str) -> String {
    path.replace("/C", &format!("/{client}")).replace("/A", &format!("/{asset}"))
}

fn body_of(method: &str, client: &str) -> Value {
    match method {
        "POST" => new_asset(client, "another"),
        "PUT" => json!({"owner": "me"}),
        _ => Value::Null,
    }
}

/// A client, one of its assets, and a key that may do everything.
fn furnished(posture: &Posture) -> (String, String, String) {
    let (key, client) = (posture.key(), posture.client("Furnished"));
    let asset = push(posture, &key, &client, "a", &json!({}));
    (key, client, asset["id"].as_str().unwrap().to_owned())
}

fn get_with(posture: &Posture, key: &str, path: &str, header: (&str, &str)) -> Answer {
    send(posture.address, "GET", &format!("/api/v1{path}"), &[("X-API-Key", key), header], b"")
}

#[test]
fn a_credential_in_the_wrong_place_is_refused_with_the_right_one() {
    let posture = Posture::start();
    let key = posture.key();
    posture.block_on(posture.app.add_first_admin()).unwrap();
    let ask = |value: &str| {
        let headers = [("Authorization", value)];
        let answer = send(posture.address, "GET", "/api/v1/clients", &headers, b"");
        assert_eq!(answer.header("www-authenticate"), Some("ApiKey header=\"X-API-Key\""));
        let (code, message) = answer.problem();
        assert_eq!((answer.status, &*code), (401, "UNAUTHORIZED"));
        message
    };
    let here = "API key missing or invalid; send the key in the header X-API-Key, not as Authorization: Bearer";
    assert_eq!(ask(&format!("Bearer {key}")), here);
    assert_eq!(ask(&format!("bearer {}", crate::keys::forged(&key))), here, "it is not verified");
    let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.c2ln";
    assert!(ask(&format!("Bearer {token}")).contains("not the token of a login"));
    for other in ["Bearer garbage", "Basic dXNlcjpwYXNz", "Bearer service_1", &*key] {
        assert_eq!(ask(other), "API key missing or invalid", "{other}");
    }
}

#[test]
fn a_compressed_body_is_refused_as_such() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    let gzip = ("Content-Encoding", "gzip");
    let json_type = ("Content-Type", "application/json");
    let body = new_asset(&client, "b").to_string();
    let by = ("X-API-Key", key.as_str());
    for (status, method, path, headers) in [
        (415, "POST", "/api/v1/assets".to_owned(), vec![by, json_type, gzip]),
        (
            415,
            "PUT",
            format!("/api/v1/assets/{asset}"),
            vec![by, json_type, ("Content-Encoding", "br")],
        ),
        (401, "POST", "/api/v1/assets".to_owned(), vec![json_type, gzip]),
        (415, "POST", "/auth/login".to_owned(), vec![json_type, gzip]),
        (415, "POST", format!("/api/clients/{client}/facts"), vec![by, json_type, gzip]),
        (
            201,
            "POST",
            "/api/v1/assets".to_owned(),
            vec![by, json_type, ("Content-Encoding", "identity")],
        ),
    ] {
        let answer = send(posture.address, method, &path, &headers, body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        if status == 415 {
            assert_eq!(answer.problem().0, "UNSUPPORTED_MEDIA_TYPE");
        }
    }
}

#[test]
fn names_have_no_control_characters() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    for bad in ["a\u{0}b", "\u{1b}[31mred", "a\u{7f}", "a\u{85}b"] {
        let rule = "must not contain control characters";
        let mut new = new_asset(&client, "c");
        new["name"] = json!(bad);
        assert_eq!(assert_invalid(&posture.send("POST", &key, "/assets", &new), "name"), rule);
        for field in ["name", "displayName", "category", "owner"] {
            let answer =
                posture.send("PUT", &key, &format!("/assets/{asset}"), &json!({ field: bad }));
            assert_eq!(assert_invalid(&answer, field), rule);
        }
        for (path, body) in [
            ("/api/clients", json!({ "name": bad })),
            ("/api/keys", json!({ "name": bad, "scopes": ["read:clients"] })),
            (
                "/api/alert-rules",
                json!({ "name": bad, "condition": {"type": "score_below", "value": 5} }),
            ),
        ] {
            assert_eq!(assert_invalid(&posture.operator("POST", path, &body), "name"), rule);
        }
    }
    let lines = json!({ "description": "first\nsecond\tcell", "name": "Zoë – 東京" });
    assert_eq!(posture.send("PUT", &key, &format!("/assets/{asset}"), &lines).status, 200);
}

#[test]
fn every_operation_needs_a_key_and_its_own_scope() {
    let posture = Posture::start();
    let (_, client, asset) = furnished(&posture);
    for scope in ALL_SCOPES {
        let only = posture.key_with(&json!({"scopes": [scope]}));
        let others: Vec<&str> = ALL_SCOPES.into_iter().filter(|it| *it != scope).collect();
        let without = posture.key_with(&json!({"scopes": others}));
        for (method, path, _) in OPERATIONS.into_iter().filter(|it| it.2 == scope) {
            let (path, body) = (at(path, &client, &asset), body_of(method, &client));
            let stranger = send(posture.address, method, &format!("/api/v1{path}"), &[], b"");
            assert_problem(&stranger, 401, "UNAUTHORIZED");
            let scheme = stranger.header("www-authenticate");
            assert_eq!(scheme, Some("ApiKey header=\"X-API-Key\""), "tokens are not for this");
            let answer = posture.send(method, &without, &path, &body);
            let message = assert_problem(&answer, 403, "FORBIDDEN");
            assert_eq!(message, format!("API key missing required scope: {scope}"));
            let answer = posture.send(method, &only, &path, &body);
            assert!(answer.status < 300, "{method} {path}: {}", answer.status);
        }
    }
}

#[test]
fn checks_come_in_the_documented_order() {
    let posture = Posture::start();
    let (key, client, _) = furnished(&posture);
    let blind = posture.key_with(&json!({"scopes": ["read:clients"]}));
    let restricted = posture.key_with(&json!({"clientIds": [client]}));
    let worst = "/clients/x/assets?limit=0";
    assert_problem(&posture.get("service_x_y", worst), 401, "UNAUTHORIZED");
    let message = assert_problem(&posture.get(&blind, worst), 403, "FORBIDDEN");
    assert!(message.contains("scope"), "the scope comes before the query: {message}");
    assert_invalid(&posture.get(&key, worst), "limit");
    assert_problem(&posture.get(&restricted, "/clients/x/assets"), 404, "NOT_FOUND");
    let foreign = format!("/clients/{NOBODY}/assets");
    assert_problem(&posture.get(&restricted, &foreign), 403, "FORBIDDEN");
    assert_problem(&posture.get(&key, &foreign), 404, "NOT_FOUND");
    let level = format!("/clients/{NOBODY}/compliance/GDPR?level=x");
    assert_invalid(&posture.get(&key, &level), "level");
    let unknown = format!("/clients/{NOBODY}/compliance/GDPR");
    let message = assert_problem(&posture.get(&restricted, &unknown), 403, "FORBIDDEN");
    assert!(message.contains("client"), "{message}");
}

#[test]
fn an_exhausted_limit_comes_before_the_scope_and_the_query() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 2, "scopes": ["read:clients"]}));
    assert_problem(&posture.get(&key, "/clients?limit=0"), 400, "VALIDATION_ERROR");
    assert_problem(&posture.get(&key, "/clients/x/risks"), 403, "FORBIDDEN");
    for path in ["/clients?limit=0", "/clients/x/risks", "/clients"] {
        let answer = posture.get(&key, path);
        assert_problem(&answer, 429, "RATE_LIMITED");
        assert_eq!(answer.header("ratelimit-remaining"), Some("0"));
        assert_eq!(answer.header("retry-after"), Some("60"));
    }
}

#[test]
fn an_absent_or_inactive_client_is_not_found_and_a_foreign_one_forbidden() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    let mine = posture.client("Mine");
    let restricted = posture.key_with(&json!({"clientIds": [mine]}));
    let own = posture.key_with(&json!({"clientIds": [client]}));
    let put = |key: &str| posture.send("PUT", key, &format!("/assets/{asset}"), &json!({}));
    let post = |key: &str| posture.send("POST", key, "/assets", &new_asset(&client, "b"));
    for active in [true, false] {
        for path in of_a_client() {
            let answer = posture.get(&restricted, &at(path, &client, ""));
            assert_problem(&answer, 403, "FORBIDDEN");
            let answer = posture.get(&restricted, &at(path, NOBODY, ""));
            assert_problem(&answer, 403, "FORBIDDEN");
            assert_problem(&posture.get(&key, &at(path, NOBODY, "")), 404, "NOT_FOUND");
            assert_problem(&posture.get(&key, &at(path, "x", "")), 404, "NOT_FOUND");
            let status = posture.get(&own, &at(path, &client, "")).status;
            assert_eq!(status, if active { 200 } else { 404 }, "{path}");
        }
        assert_problem(&put(&restricted), 403, "FORBIDDEN");
        assert_problem(&post(&restricted), 403, "FORBIDDEN");
        assert_eq!(put(&own).status, if active { 200 } else { 404 });
        assert_eq!(post(&key).status, if active { 201 } else { 404 });
        deactivate(&posture, &client);
    }
}

#[test]
fn limit_and_offset_are_integers_within_their_bounds_wherever_there_are_pages() {
    let posture = Posture::start();
    let (key, client, _) = furnished(&posture);
    for path in ["/clients", "/clients/C/assets", "/clients/C/risks"] {
        let path = at(path, &client, "");
        for bad in ["0", "101", "-1", "x", "+5", "", "1.0", "%2B5", "0x5", "99999999999999999999"] {
            let rule = assert_invalid(&posture.get(&key, &format!("{path}?limit={bad}")), "limit");
            assert!(rule.contains("1 to 100"), "{rule}");
        }
        for bad in ["-1", "x", "+5", "", "1.0", "0x5", "99999999999999999999"] {
            assert_invalid(&posture.get(&key, &format!("{path}?offset={bad}")), "offset");
        }
        let page =
            |query: &str| posture.read(&key, &format!("{path}{query}"))["pagination"].clone();
        let default = page("");
        assert_eq!((&default["limit"], &default["offset"]), (&json!(50), &json!(0)));
        for (limit, offset) in [(1, 0), (100, 0), (50, 1), (7, 1_000_000)] {
            let found = page(&format!("?limit={limit}&offset={offset}"));
            assert_eq!(found["limit"], limit);
            assert_eq!(found["offset"], offset);
            assert_eq!(found["total"], default["total"], "the total is of the whole list");
        }
        assert_eq!(page("?limit=007"), page("?limit=7"));
    }
}

#[test]
fn unknown_query_names_are_ignored() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    for (method, path, _) in OPERATIONS.into_iter().filter(|it| it.0 == "GET") {
        let path = at(path, &client, &asset);
        let plain = posture.get(&key, &path);
        let asked = posture.get(&key, &format!("{path}?fields=id&Limit=0&severities=x&=&a[]=1"));
        assert_eq!(asked.status, 200, "{method} {path}");
        assert!(asked.body == plain.body, "{path}");
    }
    let put = posture.send("PUT", &key, &format!("/assets/{asset}?limit=0"), &json!({}));
    assert_eq!(put.status, 200);
}

#[test]
fn a_method_that_a_path_does_not_have_is_refused_with_those_it_has() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    for (method, path, _) in OPERATIONS {
        let allowed: &[&str] = if method == "GET" { &["GET", "HEAD"] } else { &[method] };
        let path = format!("/api/v1{}", at(path, &client, &asset));
        for other in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if allowed.contains(&other) {
                continue;
            }
            // With a key and without.
            for headers in [&[("X-API-Key", key.as_str())][..], &[]] {
                let answer = send(posture.address, other, &path, headers, b"");
                assert_problem(&answer, 405, "METHOD_NOT_ALLOWED");
                let found = answer.header("allow").unwrap_or_default();
                let mut found: Vec<&str> = found.split(", ").collect();
                found.sort_unstable();
                assert_eq!(found, allowed, "{other} {path}");
            }
        }
    }
}

#[test]
fn an_unknown_route_is_not_found_without_a_key_too() {
    let posture = Posture::start();
    let key = posture.key();
    for path in [
        "/index.html",
        "/docs/nothing",
        "/docs/install/",
        "/go",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/nothing",
        "/api/v2/clients",
        "/Clients",
        "/api/v1/Clients",
        "/api/v1/clients/x/y/z/w",
        "/api/v1/clients/x/compliance/a/b",
        "/api/v1/../clients",
        "/api/v1/%2e%2e/clients",
        "/api/v1//clients",
    ] {
        for headers in [&[("X-API-Key", key.as_str())][..], &[]] {
            let answer = send(posture.address, "GET", path, headers, b"");
            assert_problem(&answer, 404, "NOT_FOUND");
        }
    }
}

#[test]
fn head_answers_as_get_without_the_body() {
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    let headers = [("X-API-Key", key.as_str())];
    let paths = OPERATIONS.into_iter().filter(|it| it.0 == "GET").map(|it| it.1);
    for path in paths.chain(["/clients/x", "/clients?limit=0", "/nothing"]) {
        let path = format!("/api/v1{}", at(path, &client, &asset));
        let get = send(posture.address, "GET", &path, &headers, b"");
        let head = send(posture.address, "HEAD", &path, &headers, b"");
        assert_eq!(head.status, get.status, "{path}");
        assert!(head.body.is_empty(), "{path}");
        for name in ["content-type", "content-length", "etag", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
    }
}

#[test]
fn a_get_is_tagged_and_a_caller_who_has_it_is_told_so() {
    let posture = Posture::start();
    let (key, client, _) = furnished(&posture);
    for (_, path, _) in OPERATIONS.into_iter().filter(|it| it.0 == "GET") {
        let path = at(path, &client, "");
        let first = posture.get(&key, &path);
        let tag = first.header("etag").unwrap().to_owned();
        let opaque = tag.trim_start_matches("W/");
        assert!(opaque.starts_with('"') && opaque.ends_with('"') && 2 < opaque.len(), "{tag}");
        assert_eq!(first.header("cache-control"), Some("private, no-cache"));
        assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(first.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(posture.get(&key, &path).header("etag"), Some(tag.as_str()));
        let (weak, several) = (format!("W/{opaque}"), format!("\"x\", {tag}"));
        for known in [opaque, weak.as_str(), several.as_str(), "*"] {
            let answer = get_with(&posture, &key, &path, ("If-None-Match", known));
            assert_eq!(answer.status, 304, "{path}: {known}");
            assert!(answer.body.is_empty());
            assert_eq!(answer.header("etag"), Some(tag.as_str()));
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            for name in ["limit", "remaining", "reset", "policy"] {
                assert!(answer.header(&format!("ratelimit-{name}")).is_some(), "{path}: {name}");
            }
        }
        for other in ["\"x\"", opaque.trim_matches('"'), ""] {
            let answer = get_with(&posture, &key, &path, ("If-None-Match", other));
            assert_eq!(answer.status, 200, "{path}: {other}");
            assert!(answer.body == first.body);
        }
    }
    let missing = get_with(&posture, &key, "/clients/x", ("If-None-Match", "*"));
    assert_problem(&missing, 404, "NOT_FOUND");
    assert!(missing.header("etag").is_none());
    assert_eq!(missing.header("cache-control"), Some("no-store"));
}

#[test]
fn a_304_counts_against_the_limits_like_any_answer() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 60, "perHour": 1000, "perDay": 10000}));
    let first = posture.get(&key, "/clients");
    let policy = "60;w=60, 1000;w=3600, 10000;w=86400";
    assert_eq!(first.header("ratelimit-policy"), Some(policy));
    assert_eq!(first.header("ratelimit-limit"), Some("60"));
    assert_eq!(first.header("ratelimit-remaining"), Some("59"));
    assert_eq!(first.header("ratelimit-reset"), Some("60"));
    posture.clock.set(posture.now().plus_s(10));
    let answer = get_with(&posture, &key, "/clients", ("If-None-Match", "*"));
    assert_eq!(answer.status, 304);
    assert_eq!(answer.header("ratelimit-remaining"), Some("58"));
    assert_eq!(answer.header("ratelimit-reset"), Some("50"));
}

/// The tag of every GET of a client.
fn tags(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let tag = |path| posture.get(key, &at(path, client, "")).header("etag").unwrap().to_owned();
    of_a_client().map(tag).collect()
}

#[test]
fn tags_move_with_what_they_name_and_with_nothing_else() {
    const NONE: [usize; 0] = [];
    let posture = Posture::start();
    let (key, client, asset) = furnished(&posture);
    let [detail, assets, scores, risks, compliance, soc2] = [0, 1, 2, 3, 4, 5];
    let mut before = tags(&posture, &key, &client);
    let mut moved = || {
        let after = tags(&posture, &key, &client);
        let moved: Vec<usize> = (0..after.len()).filter(|it| before[*it] != after[*it]).collect();
        before = after;
        moved
    };
    assert_eq!(moved(), NONE);
    posture.pass_s(5);
    assert_eq!(moved(), NONE, "a reassessment that finds nothing new moves nothing");
    posture.send("PUT", &key, &format!("/assets/{asset}"), &json!({"owner": "me"}));
    assert_eq!(moved(), [assets]);
    let path = format!("/api/clients/{client}");
    posture.operator("PATCH", &path, &json!({"industry": "Legal"}));
    assert_eq!(moved(), [detail]);
    let other = posture.client("Other");
    push(&posture, &key, &other, "a", &json!({}));
    assert_eq!(moved(), NONE);
    import_sample(&posture, &client, "prowler/aws.csv");
    assert_eq!(moved(), [assets, scores, risks, compliance, soc2]);
}

#[test]
fn the_same_file_again_changes_no_byte_of_any_answer() {
    let posture = Posture::start();
    let (key, client, _) = furnished(&posture);
    let file = "prowler/aws.csv";
    import_sample(&posture, &client, file);
    posture.pass_s(60);
    let answers = || {
        let paths = of_a_client().map(|it| at(it, &client, "")).chain(["/clients".to_owned()]);
        paths.map(|it| posture.get(&key, &it).body).collect::<Vec<_>>()
    };
    let before = answers();
    let n_events = posture.events().len();
    posture.pass_s(60);
    import_sample(&posture, &client, file);
    assert!(answers() == before);
    assert_eq!(posture.events().len(), n_events, "nothing is announced either");
}
