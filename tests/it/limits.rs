//! Three windows for each key, and what an integrator reads of them.

use std::sync::{Arc, Barrier};
use std::thread;

use posture::auth::limit::{Limiter, Standing};
use posture::clock::Time;
use posture::id::KeyId;
use serde_json::{Value, json};

use crate::harness::process::Folder;
use crate::harness::{Answer, Posture, send};

/// `RateLimit-Limit`, `-Remaining` and `-Reset`.
fn told(answer: &Answer) -> [u32; 3] {
    ["limit", "remaining", "reset"].map(|it| {
        let name = format!("ratelimit-{it}");
        answer.header(&name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    })
}

fn statuses(posture: &Posture, key: &str, n: usize) -> Vec<u16> {
    (0..n).map(|_| posture.get(key, "/clients").status).collect()
}

#[test]
fn of_200_requests_at_once_exactly_60_pass() {
    const N_THREADS: usize = 50;
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 60}));
    let start = Arc::new(Barrier::new(N_THREADS));
    let address = posture.address;
    let threads: Vec<_> = (0..N_THREADS)
        .map(|_| {
            let (key, start) = (key.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let headers = [("X-API-Key", key.as_str())];
                let ask = |_| send(address, "GET", "/api/v1/clients", &headers, b"").status;
                (0..4).map(ask).collect::<Vec<_>>()
            })
        })
        .collect();
    let statuses: Vec<u16> = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
    let count = |status| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((statuses.len(), count(200), count(429)), (200, 60, 140));
}

#[test]
fn many_threads_take_no_more_than_there_is() {
    let limiter = Limiter::default();
    let key = KeyId::from_bytes([1; 16]);
    let passed = thread::scope(|scope| {
        let take = || {
            let take = |_: &i32| limiter.take(key, [500, 700, 900], Time::from_s(9)).refused_s;
            (0..200).filter(|it| take(it).is_none()).count()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum::<usize>()
    });
    assert_eq!(passed, 500);
}

#[test]
fn a_refusal_by_the_minute_costs_nothing_of_the_hour_and_day() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 2, "perHour": 3, "perDay": 4}));
    assert_eq!(statuses(&posture, &key, 6), [200, 200, 429, 429, 429, 429]);
    posture.pass_s(60);
    assert_eq!(statuses(&posture, &key, 2), [200, 429], "the hour's third");
    posture.pass_s(3_540);
    assert_eq!(statuses(&posture, &key, 2), [200, 429], "the day's fourth");
    posture.pass_s(86_400 - 3_600 - 1);
    assert_eq!(statuses(&posture, &key, 1), [429]);
    posture.pass_s(1);
    assert_eq!(statuses(&posture, &key, 1), [200]);
}

#[test]
fn a_window_starts_with_the_first_request_after_the_last_one() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 2}));
    posture.pass_s(47);
    assert_eq!(told(&posture.get(&key, "/clients")), [2, 1, 60]);
    posture.pass_s(59);
    assert_eq!(told(&posture.get(&key, "/clients")), [2, 0, 1]);
    assert_eq!(statuses(&posture, &key, 1), [429]);
    posture.pass_s(30);
    assert_eq!(told(&posture.get(&key, "/clients")), [2, 1, 60], "now, not on the old beat");
}

#[test]
fn remaining_and_reset_tell_of_the_window_closest_to_its_end() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 10, "perHour": 12, "perDay": 14}));
    assert_eq!(told(&posture.get(&key, "/clients")), [10, 9, 60]);
    posture.pass_s(20);
    assert_eq!(told(&posture.get(&key, "/clients")), [10, 8, 40]);
    posture.pass_s(40);
    assert_eq!(told(&posture.get(&key, "/clients")), [12, 9, 3_540], "of two with 9 the longer");
    posture.pass_s(60);
    assert_eq!(told(&posture.get(&key, "/clients")), [12, 8, 3_480], "the hour is closer now");
    for _ in 0..8 {
        assert_eq!(posture.get(&key, "/clients").status, 200);
    }
    let refused = posture.get(&key, "/clients");
    assert_eq!((refused.status, told(&refused)), (429, [12, 0, 3_480]));
    assert_eq!(refused.header("retry-after"), Some("3480"));
    posture.pass_s(3_480);
    assert_eq!(told(&posture.get(&key, "/clients")), [14, 1, 86_400 - 3_600]);
    assert_eq!(posture.get(&key, "/clients").status, 200);
    assert_eq!(posture.get(&key, "/clients").header("retry-after"), Some("82800"));
}

#[test]
fn retry_after_is_the_longest_of_the_exhausted_windows() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perMinute": 1, "perHour": 1, "perDay": 5}));
    assert_eq!(posture.get(&key, "/clients").status, 200);
    let refused = posture.get(&key, "/clients");
    assert_eq!(refused.header("retry-after"), Some("3600"));
    let (code, message) = refused.problem();
    assert_eq!((code.as_str(), message.contains("3600 s")), ("RATE_LIMITED", true));
    assert_eq!(told(&refused), [1, 0, 3_600]);
    posture.pass_s(3_600);
    assert_eq!(posture.get(&key, "/clients").status, 200, "it was true");
}

/// Status, method, path, headers and body.
type Case<'a> = (u16, &'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8]);

#[test]
fn every_answer_to_a_key_tells_its_limits() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key_with(&json!({
        "perMinute": 60, "perHour": 1_000, "perDay": 10_000,
        "scopes": ["read:clients", "write:assets"],
    }));
    let etag = posture.get(&key, "/clients");
    let etag = etag.header("etag").unwrap();
    let by = ("X-API-Key", key.as_str());
    let json = ("Content-Type", "application/json");
    let risks = format!("/clients/{client}/risks");
    let asset = json!({"clientId": client, "name": "a", "externalId": "a", "assetType": "user"});
    let asset = asset.to_string();
    let huge = vec![b' '; 65 * 1024];
    let cases: [Case<'_>; 9] = [
        (200, "GET", "/clients", &[by], b""),
        (200, "HEAD", "/clients", &[by], b""),
        (304, "GET", "/clients", &[by, ("If-None-Match", etag)], b""),
        (403, "GET", &risks, &[by], b""),
        (404, "GET", "/clients/none", &[by], b""),
        (400, "GET", "/clients?limit=0", &[by], b""),
        (415, "POST", "/assets", &[by], b"{}"),
        (413, "POST", "/assets", &[by, json], &huge),
        (201, "POST", "/assets", &[by, json], asset.as_bytes()),
    ];
    for (index, (status, method, path, headers, body)) in cases.into_iter().enumerate() {
        let path = format!("/api/v1{path}");
        let answer = send(posture.address, method, &path, headers, body);
        assert_eq!(answer.status, status, "{method} {path}");
        let used = u32::try_from(index).unwrap() + 2;
        assert_eq!(told(&answer), [60, 60 - used, 60], "{method} {path}");
        let policy = answer.header("ratelimit-policy");
        assert_eq!(policy, Some("60;w=60, 1000;w=3600, 10000;w=86400"));
    }
}

#[test]
fn a_restart_does_not_refill_the_day() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"perDay": 5}));
    assert_eq!(statuses(&posture, &key, 3), [200, 200, 200]);
    posture.pass_s(3_600);
    let posture = posture.restart();
    assert_eq!(told(&posture.get(&key, "/clients")), [5, 1, 82_800]);
    let posture = posture.restart();
    assert_eq!(statuses(&posture, &key, 2), [200, 429]);
    posture.pass_s(82_800);
    let posture = posture.restart();
    assert_eq!(statuses(&posture, &key, 1), [200]);
}

#[test]
fn a_new_key_has_the_configured_limits() {
    let posture = Posture::start_with(|it| it.app.quota = [2, 30, 400]);
    let body = json!({"name": "a", "scopes": ["read:clients"]});
    let issued = posture.operator("POST", "/api/keys", &body).json()["data"].clone();
    let limits = ["perMinute", "perHour", "perDay"].map(|it| issued[it].as_u64().unwrap());
    assert_eq!(limits, [2, 30, 400]);
    assert_eq!(statuses(&posture, issued["key"].as_str().unwrap(), 3), [200, 200, 429]);
}

#[test]
fn a_raised_limit_counts_what_was_used() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"perMinute": 2}));
    let key = issued["key"].as_str().unwrap();
    assert_eq!(statuses(&posture, key, 3), [200, 200, 429]);
    let path = format!("/api/keys/{}", issued["id"].as_str().unwrap());
    posture.operator("PATCH", &path, &json!({"perMinute": 4}));
    assert_eq!(statuses(&posture, key, 3), [200, 200, 429]);
    posture.operator("PATCH", &path, &json!({"perMinute": 1}));
    let refused = posture.get(key, "/clients");
    assert_eq!((refused.status, told(&refused)), (429, [1, 0, 60]));
}

#[test]
fn keys_have_limits_of_their_own() {
    let posture = Posture::start();
    let keys = [(); 2].map(|()| posture.key_with(&json!({"perMinute": 1})));
    for key in &keys {
        assert_eq!(statuses(&posture, key, 2), [200, 429]);
    }
}

#[test]
fn a_refused_stranger_costs_the_key_nothing() {
    let posture = Posture::start();
    let change = json!({"perMinute": 2, "networks": ["10.0.0.0/8"]});
    let issued = posture.issue(&change);
    let key = issued["key"].as_str().unwrap();
    for _ in 0..5 {
        assert_eq!(posture.get(&crate::keys::forged(key), "/clients").status, 401);
        assert_eq!(posture.get(key, "/clients").status, 403);
    }
    let path = format!("/api/keys/{}", issued["id"].as_str().unwrap());
    posture.operator("PATCH", &path, &json!({"networks": []}));
    assert_eq!(told(&posture.get(key, "/clients")), [2, 1, 60]);
}

#[test]
fn calls_from_outside_the_networks_of_a_key_have_a_limit_of_their_own() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"perMinute": 3, "networks": ["10.0.0.0/8"]}));
    let key = issued["key"].as_str().unwrap();
    assert_eq!(statuses(&posture, key, 60), [403; 60]);
    posture.pass_s(20);
    let refused = posture.get(key, "/clients");
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("40")));
    assert_eq!(refused.header("ratelimit-limit"), None, "it says nothing about the key");
    let managed = posture.fetch(key, "/api/frameworks");
    assert_eq!(managed.status, 429, "the management API is counted with it");
    let path = format!("/api/keys/{}", issued["id"].as_str().unwrap());
    posture.operator("PATCH", &path, &json!({"networks": []}));
    assert_eq!(told(&posture.get(key, "/clients")), [3, 2, 60], "the key itself lost nothing");
    posture.operator("PATCH", &path, &json!({"networks": ["10.0.0.0/8"]}));
    posture.pass_s(40);
    assert_eq!(statuses(&posture, key, 61), [vec![403; 60], vec![429]].concat());
}

#[test]
fn the_log_names_a_key_from_a_wrong_network_once_a_minute() {
    let folder = Folder::new();
    let issue = ["key", "issue", "--quiet", "--scope", "read:clients", "--ip", "10.0.0.0/8"];
    let keys = ["a", "b"].map(|it| folder.ok(&[&issue[..], &["--name", it]].concat()));
    let server = folder.serve();
    for _ in 0..30 {
        for key in &keys {
            assert_eq!(server.get(key.trim_end(), "/clients").status, 403);
        }
    }
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert_eq!(log.matches("is not in its networks").count(), 2, "one for each key: {log}");
}

#[test]
fn operators_are_not_limited() {
    let posture = Posture::start_with(|it| it.app.quota = [1, 1, 1]);
    for path in ["/api/clients", "/api/v1/clients", "/api/system"] {
        for _ in 0..5 {
            let answer = posture.operator("GET", path, &Value::Null);
            assert_eq!(answer.status, 200);
            assert!(answer.header("ratelimit-limit").is_none());
        }
    }
}

fn take(limiter: &Limiter, at_s: i64) -> Standing {
    limiter.take(KeyId::from_bytes([1; 16]), [2, 100, 1_000], Time::from_s(at_s))
}

#[test]
fn a_clock_that_goes_back_neither_refills_nor_locks_out() {
    let limiter = Limiter::default();
    let day = 20_000 * 86_400;
    assert_eq!(take(&limiter, day).refused_s, None);
    assert_eq!(take(&limiter, day).refused_s, None);
    assert_eq!(take(&limiter, day - 1).refused_s, Some(60), "a second back is no new window");
    assert_eq!(take(&limiter, day - 86_400).refused_s, Some(60), "nor is a day");
    assert_eq!(take(&limiter, day - 86_341).refused_s, Some(1));
    assert_eq!(take(&limiter, day - 86_340).refused_s, None, "and a minute later it passes");
}

#[test]
fn a_clock_that_leaps_ahead_opens_all_windows() {
    let limiter = Limiter::default();
    take(&limiter, 1_000);
    take(&limiter, 1_000);
    let standing = take(&limiter, 1_000 + 10 * 366 * 86_400);
    assert_eq!((standing.refused_s, standing.remaining, standing.reset_s), (None, 1, 60));
}
