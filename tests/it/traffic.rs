//! `/metrics` counts every answer once: by operation and status, and by how long it took.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::harness::process::wait_until;
use crate::harness::{Posture, send};
use crate::openapi;

const SOON: Duration = Duration::from_secs(10);

fn scrape(posture: &Posture) -> String {
    send(posture.address, "GET", "/metrics", &[], b"").text()
}

/// The number of a line; 0 if it is not there.
fn number(text: &str, line: &str) -> u64 {
    let found = text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' '));
    found.map_or(0, |it| it.parse().unwrap())
}

fn n_of(text: &str, operation: &str, status: u16) -> u64 {
    let labels = format!("operation=\"{operation}\",status=\"{status}\"");
    number(text, &format!("posture_requests_total{{{labels}}}"))
}

/// All answers of the operation, and how many durations there are.
fn sums(text: &str, operation: &str) -> (u64, u64) {
    let start = format!("posture_requests_total{{operation=\"{operation}\",");
    let lines = text.lines().filter(|it| it.starts_with(&start));
    let n = lines.map(|it| it.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    let count = format!("posture_request_duration_seconds_count{{operation=\"{operation}\"}}");
    (n, number(text, &count))
}

#[test]
fn an_answer_counts_once_under_its_operation_and_status() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Acme"));
    let path = format!("/clients/{client}/scores");
    let first = posture.get(&key, &path);
    let known = first.header("etag").unwrap().to_owned();
    assert_eq!((first.status, posture.get(&key, &path).status), (200, 200));
    let whole = format!("/api/v1{path}");
    let ask = |method: &str, path: &str, header: (&str, &str)| {
        send(posture.address, method, path, &[("X-API-Key", &key), header], b"").status
    };
    assert_eq!(ask("HEAD", &whole, ("Accept", "*/*")), 200);
    assert_eq!(ask("GET", &whole, ("If-None-Match", &known)), 304);
    assert_eq!(ask("PATCH", &whole, ("Accept", "*/*")), 405);
    assert_eq!(posture.get("wrong", &path).status, 401);
    assert_eq!(posture.get(&key, "/clients/nobody/scores").status, 404);
    assert_eq!(send(posture.address, "GET", "/nowhere", &[], b"").status, 404);
    assert_eq!(send(posture.address, "GET", "/api/nowhere", &[], b"").status, 404);
    let text = scrape(&posture);
    let scores: Vec<u64> = [200, 304, 401, 404, 405].map(|it| n_of(&text, "get_scores", it)).into();
    assert_eq!(scores, [3, 1, 1, 1, 0], "{text}");
    assert_eq!(sums(&text, "get_scores"), (6, 6), "{text}");
    assert_eq!((n_of(&text, "none", 404), n_of(&text, "none", 405)), (2, 1), "{text}");
    assert_eq!(n_of(&text, "issue_key", 201), 1, "over the control socket: {text}");
    assert_eq!(n_of(&text, "none", 200), 0, "the scrape is not answered yet: {text}");
    assert_eq!(n_of(&scrape(&posture), "none", 200), 1);
}

#[test]
fn what_is_refused_before_its_handler_counts() {
    let posture = Posture::start();
    let limited = posture.key_with(&json!({"perMinute": 1, "perHour": 1, "perDay": 1}));
    let statuses = [(); 2].map(|()| posture.get(&limited, "/clients").status);
    assert_eq!(statuses, [200, 429]);
    let scoped = posture.key_with(&json!({"scopes": ["read:assets"]}));
    assert_eq!(posture.get(&scoped, "/clients").status, 403);
    // Refused before it is routed, while it is read, and by the reader of HTTP.
    let long = send(posture.address, "GET", &format!("/{}", "a".repeat(9_000)), &[], b"");
    assert_eq!(long.status, 414);
    let cut = format!(
        "POST /api/v1/assets HTTP/1.1\r\nHost: here\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        posture.key()
    );
    for request in [cut.as_str(), "GET  / HTTP/1.1\r\nHost: here\r\n\r\n"] {
        let mut stream = TcpStream::connect(posture.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let text = scrape(&posture);
    let lists: Vec<u64> = [200, 403, 429].map(|it| n_of(&text, "list_clients", it)).into();
    assert_eq!(lists, [1, 1, 1], "{text}");
    assert_eq!((n_of(&text, "none", 414), n_of(&text, "none", 400)), (1, 1), "{text}");
    assert_eq!(n_of(&text, "create_asset", 400), 1, "{text}");
}

#[test]
fn durations_are_cumulative_and_their_sum_moves() {
    let posture = Posture::start();
    let sum = |text: &str| {
        let line = "posture_request_duration_seconds_sum{operation=\"none\"} ";
        let sum = text.lines().find_map(|it| it.strip_prefix(line));
        sum.map_or(0.0, |it| it.parse::<f64>().unwrap())
    };
    assert_eq!(scrape(&posture).matches("_bucket{").count(), 0, "nothing was answered yet");
    let mut text = String::new();
    let moves = wait_until(SOON, || {
        text = scrape(&posture);
        0.0 < sum(&text)
    });
    assert!(moves, "{text}");
    let start = "posture_request_duration_seconds_bucket{le=\"";
    let lines = text.lines().filter_map(|it| it.strip_prefix(start));
    let ends: Vec<(&str, u64)> = lines
        .filter(|it| it.contains("operation=\"none\""))
        .map(|it| (it.split('"').next().unwrap(), it.rsplit(' ').next().unwrap().parse().unwrap()))
        .collect();
    let names: Vec<&str> = ends.iter().map(|it| it.0).collect();
    assert_eq!(names, ["0.005", "0.025", "0.1", "0.5", "2.5", "10.0", "+Inf"]);
    assert!(ends.is_sorted_by_key(|it| it.1), "{ends:?}");
    assert_eq!(ends[6].1, sums(&text, "none").1);
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let posture = Posture::start();
    let document = openapi::document();
    let mut n = 0_usize;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let method = method.to_uppercase();
            // Nobody may: that is answered before anything is done.
            let parts = path.split('/').map(|it| if it.starts_with('{') { "x" } else { it });
            let path = parts.collect::<Vec<_>>().join("/");
            let before = sums(&scrape(&posture), id);
            send(posture.address, &method, &path, &[], b"");
            let after = sums(&scrape(&posture), id);
            assert_eq!(after, (before.0 + 1, before.1 + 1), "{method} {path}");
            n += 1;
        }
    }
    assert_eq!(n, openapi::operations().len());
}

/// A scrape with these headers; its kind and its text.
fn scrape_with(posture: &Posture, headers: &[(&str, &str)]) -> (String, String) {
    let answer = send(posture.address, "GET", "/metrics", headers, b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    (answer.header("content-type").unwrap().to_owned(), answer.text())
}

#[test]
fn a_scraper_gets_the_format_that_it_likes_more() {
    let posture = Posture::start();
    let open = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = "text/plain; version=0.0.4; charset=utf-8";
    for (accept, kind) in [
        ("*/*", open),
        ("text/html,*/*;q=0.8", open),
        ("text/plain;version=0.0.4", text),
        ("text/plain; version=0.0.4; q=0.5, */*; q=0.1", text),
        ("TEXT/PLAIN", text),
        ("text/*", text),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
            open,
        ),
        ("application/openmetrics-text;q=0.2,text/plain;version=0.0.4;q=0.5", text),
        ("text/plain;q=0", open),
        ("application/json", open),
    ] {
        assert_eq!(scrape_with(&posture, &[("Accept", accept)]).0, kind, "{accept}");
    }
    let (kind, shown) = scrape_with(&posture, &[]);
    assert_eq!(kind, open);
    let (_, plain) = scrape_with(&posture, &[("Accept", "text/plain")]);
    // A family has the name of its samples, and each has a type.
    let mut kinds = std::collections::BTreeMap::new();
    for line in plain.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            kinds.insert(name, kind);
        } else if line.starts_with('#') {
            assert!(line.starts_with("# HELP "), "{line}");
        } else {
            let sample = line.split(['{', ' ']).next().unwrap();
            let ends = ["_bucket", "_count", "_sum"].map(|it| sample.strip_suffix(it));
            let names = ends.into_iter().flatten().chain([sample]);
            assert_eq!(names.filter(|it| kinds.contains_key(it)).count(), 1, "{line}");
        }
    }
    let n_families = |text: &str| text.matches("# TYPE ").count();
    assert_eq!(n_families(&plain), n_families(&shown));
    let samples = |text: &str| {
        let names = text.lines().filter(|it| !it.starts_with('#'));
        names.map(|it| it.rsplit_once(' ').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    // The scrapes before count as well.
    assert_eq!(samples(&plain), samples(&scrape_with(&posture, &[]).1));
}

#[test]
fn only_a_program_of_this_machine_reads_the_metrics_without_a_token() {
    let posture = Posture::start();
    let status = |posture: &Posture, headers: &[(&str, &str)]| {
        send(posture.address, "GET", "/metrics", headers, b"").status
    };
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:8080"] {
        assert_eq!(status(&posture, &[("Host", host)]), 200, "{host}");
    }
    // A proxy that passes the name on, and a page of another site whose name leads here.
    for host in ["posture.example.com", "localhost.evil.example", "10.0.0.5:8080", "posture"] {
        assert_eq!(status(&posture, &[("Host", host)]), 404, "{host}");
    }
    let traces = [
        "Forwarded",
        "Via",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Proto",
        "X-Forwarded-Server",
        "X-Real-IP",
    ];
    for name in traces {
        assert_eq!(status(&posture, &[(name, "x")]), 404, "{name}");
    }
    // As nginx asks, unless it is told not to.
    let mut old = TcpStream::connect(posture.address).unwrap();
    old.write_all(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:8080\r\n\r\n").unwrap();
    let mut answer = String::new();
    old.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 404 "), "{answer}");
    // People come through a proxy that is not named: who asks here may be anyone.
    let hidden = |is_named: bool| {
        Posture::start_with(|it| {
            it.app.public_url = Some("https://posture.example.com".to_owned());
            if is_named {
                it.trusted_proxies = vec!["192.0.2.1/32".parse().unwrap()];
            }
        })
    };
    assert_eq!(status(&hidden(false), &[]), 404);
    assert_eq!(status(&hidden(true), &[]), 200);
}
