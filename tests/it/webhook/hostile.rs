//! Receivers that hang, stream, lie or break: each attempt ends in time, is kept for what it was, and delays nobody.

use std::any::Any;
use std::io::Write;
use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use posture::clock::Time;
use serde_json::{Value, json};

use super::{
    Receiver, add, allow_loopback, answer, deliveries, first_within, path, push, shown, try_add,
    wait_first,
};
use crate::harness::Posture;
use crate::harness::sink::{Nobody, Sink};

const AT: &str = "127.0.0.1:0";
/// How long a receiver hangs: longer than any attempt.
const LONG: Duration = Duration::from_mins(10);
/// An attempt that takes longer waits for its receiver. How busy the machine is must not decide a test.
const ATTEMPT_MS_MAX: u64 = 30_000;
/// By then as many receivers as there are here were given up, though not all are tried at once.
const ALL_TRIED: Duration = Duration::from_mins(3);
const ENDLESS_BYTES: usize = 1 << 30;

/// Milliseconds from an attempt to the next: the schedule's 5 s, a fifth less or more.
const GAP: RangeInclusive<i64> = 4_000..=6_000;
/// Twice the gap: the most that a receiver may ask for.
const TWICE: RangeInclusive<i64> = 10_000..=10_000;
/// After what says that the receiver is overloaded.
const MINUTE: RangeInclusive<i64> = 60_000..=60_000;

/// A connection with its TLS handshake may take as long, whatever the timeout.
const CONNECT_S: u32 = 5;

const SILENT: &str = "the request timed out";
const INVALID: &str = "the connection broke or the answer was not valid";
const UNTRUSTED: &str = "the TLS connection failed";

/// What an attempt at a receiver has to be kept as.
struct Case {
    name: String,
    url: String,
    status: Option<u16>,
    /// Is part of what the log says of the answer.
    said: &'static str,
    /// When the next attempt is due. `None`: it was delivered.
    next_ms: Option<RangeInclusive<i64>>,
    /// Kept open for as long as the case.
    _open: Box<dyn Any>,
}

fn default_timeout_s() -> u32 {
    posture::app::webhook::delivery::DeliveryOptions::default().timeout_s
}

/// Of attempts that are to time out: a second, and with `POSTURE_HOSTILE=long` what it is by default.
fn timeout_s() -> u32 {
    let is_long = std::env::var_os("POSTURE_HOSTILE").is_some_and(|it| it == "long");
    if is_long { default_timeout_s() } else { 1 }
}

fn start(timeout_s: u32) -> Posture {
    Posture::start_with(|options| {
        allow_loopback(options);
        options.app.webhooks.timeout_s = timeout_s;
    })
}

fn hang(_stream: TcpStream) {
    thread::sleep(LONG);
}

/// Begins with `start`, then sends `rest` over and over, byte after byte.
fn drip(start: &'static str, rest: &'static str) -> Sink {
    Sink::after_request(AT, move |mut stream| {
        drop(stream.write_all(start.as_bytes()));
        for it in rest.bytes().cycle() {
            if stream.write_all(&[it]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    })
}

/// Begins with `start`, then sends `piece` until a gigabyte is out.
fn flood(start: String, piece: &str) -> Sink {
    let pieces = piece.repeat((1 << 16) / piece.len());
    Sink::after_request(AT, move |mut stream| {
        drop(stream.write_all(start.as_bytes()));
        for _ in 0..ENDLESS_BYTES / pieces.len() {
            if stream.write_all(pieces.as_bytes()).is_err() {
                return;
            }
        }
    })
}

fn failed(name: &str, sink: Sink, said: &'static str, next_ms: RangeInclusive<i64>) -> Case {
    let (name, url) = (name.to_owned(), sink.url());
    Case { name, url, status: None, said, next_ms: Some(next_ms), _open: Box::new(sink) }
}

fn answered(
    name: &str,
    sink: Sink,
    status: u16,
    next_ms: impl Into<Option<RangeInclusive<i64>>>,
) -> Case {
    let (name, url, next_ms) = (name.to_owned(), sink.url(), next_ms.into());
    Case { name, url, status: Some(status), said: "", next_ms, _open: Box::new(sink) }
}

/// A receiver that says this, and no more.
fn says(status: u16, header: &str, next_ms: RangeInclusive<i64>) -> Case {
    let head = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let sink = Sink::after_request(AT, move |it| answer(it, status, &head));
    Case { said: "ok", ..answered(&format!("{status} {header}"), sink, status, next_ms) }
}

/// Receivers whose answer never comes.
fn silent() -> Vec<Case> {
    let handshake = failed("hangs in the handshake", Sink::raw(AT, hang), SILENT, MINUTE);
    vec![
        failed("hangs", Sink::after_request(AT, hang), SILENT, MINUTE),
        failed("does not read", Sink::raw(AT, hang), SILENT, MINUTE),
        failed("drips its head", drip("HTTP/1.1 200 OK\r\nX-A: ", "a"), SILENT, MINUTE),
        https(handshake),
    ]
}

fn https(case: Case) -> Case {
    Case { url: case.url.replace("http:", "https:"), ..case }
}

/// Receivers whose answer never ends.
fn endless() -> Vec<Case> {
    const OK: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    const OOPS: &str = "HTTP/1.1 500 Oops\r\nContent-Length: 9999\r\n\r\n";
    let (ok, oops) = (OK.to_owned(), OOPS.to_owned());
    let endless = || "HTTP/1.1 200 OK\r\n".to_owned();
    vec![
        answered("drips its body", drip(OK, "a"), 200, None),
        answered("drips the body of a 500", drip(OOPS, "a"), 500, GAP),
        answered("a body of a gigabyte", flood(ok, "a"), 200, None),
        answered("a gigabyte for a 500", flood(oops, "a"), 500, GAP),
        failed("headers without end", flood(endless(), "X-A: aaaa\r\n"), INVALID, GAP),
        failed("a header without end", flood(endless(), "a"), INVALID, GAP),
        failed(
            "interim answers without end",
            flood(String::new(), "HTTP/1.1 100 Continue\r\n\r\n"),
            INVALID,
            GAP,
        ),
    ]
}

/// Receivers that break, or are none.
fn broken() -> Vec<Case> {
    let nobody = Nobody::listens();
    let reset = Sink::raw(AT, |stream| {
        thread::sleep(Duration::from_millis(100));
        drop(stream); // With the request unread: a reset, not an end.
    });
    let hello = Sink::answering(AT, "<html>hello</html>");
    let plain = Sink::raw(AT, |mut it| drop(it.write_all(b"HTTP/1.1 200 OK\r\n\r\n")));
    vec![
        failed("resets", reset, INVALID, GAP),
        failed("ends at once", Sink::answering(AT, ""), INVALID, GAP),
        failed("is no HTTP", hello, INVALID, GAP),
        https(failed("is no TLS", plain, UNTRUSTED, GAP)),
        Case {
            name: "nobody listens".to_owned(),
            url: format!("http://{}/", nobody.address),
            status: None,
            said: "the connection failed",
            next_ms: Some(GAP),
            _open: Box::new(nobody),
        },
    ]
}

/// Receivers that say no. `trap`: where a redirect would lead.
fn refusing(trap: &Sink) -> Vec<Case> {
    let metadata = "Location: http://169.254.169.254/latest/meta-data/";
    vec![
        says(400, "", GAP),
        says(500, "", GAP),
        says(302, metadata, GAP),
        says(307, &format!("Location: {}", trap.url()), GAP),
        says(502, "", MINUTE),
        says(504, "", MINUTE),
        says(429, "Retry-After: 0", MINUTE),
        says(429, "Retry-After: -1", MINUTE),
        says(429, "Retry-After: 1000000000000", MINUTE),
        says(429, "Retry-After: Tue, 31 Dec 2999 23:59:59 GMT", MINUTE),
        says(503, "Retry-After: 7", 7_000..=7_000),
        says(503, "Retry-After: 1000000000000", TWICE),
        says(503, "Retry-After: Tue, 31 Dec 2999 23:59:59 GMT", TWICE),
        says(503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", GAP),
        says(503, "Retry-After: soon", GAP),
    ]
}

fn check(posture: &Posture, case: &Case, webhook: &Value) {
    let name = &case.name;
    let has_ended = |it: &Value| it["attempts"].as_array().is_some_and(|it| !it.is_empty());
    let delivery = first_within(ALL_TRIED, posture, webhook, has_ended);
    let attempt = &delivery["attempts"][0];
    assert_eq!(attempt["number"], 1, "{name}");
    assert_eq!(attempt["status"], json!(case.status), "{name}: {delivery}");
    let (said, ms) = (attempt["answer"].as_str().unwrap(), attempt["ms"].as_u64().unwrap());
    assert!(said.contains(case.said), "{name}: {said}");
    assert!(said.len() <= 1_024, "{name}: {} bytes were kept", said.len());
    assert!(ms < ATTEMPT_MS_MAX, "{name}: ended after {ms} ms");
    let is_early = ms < u64::from(timeout_s().min(CONNECT_S)) * 1_000 / 2;
    assert!(case.said != SILENT || !is_early, "{name}: given up after {ms} ms");
    let Some(next_ms) = &case.next_ms else {
        assert_eq!(delivery["status"], "delivered", "{name}: {delivery}");
        return;
    };
    assert_eq!(delivery["status"], "waiting", "{name}: {delivery}");
    let time = |it: &Value| it.as_str().unwrap().parse::<Time>().unwrap().micros();
    let ms = (time(&delivery["dueAt"]) - time(&attempt["at"])) / 1_000;
    assert!(next_ms.contains(&ms), "{name}: due again after {ms} ms");
}

/// Sends every receiver an event, and another one ten.
fn start_with(cases: &[Case], timeout_s: u32) -> (Posture, Vec<Value>) {
    let posture = start(timeout_s);
    let all: Vec<_> = cases.iter().map(|it| add(&posture, &it.url)).collect();
    let receiver = Receiver::start();
    add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    for n in 1..=10 {
        push(&posture, &client, &n.to_string());
        receiver.wait(n);
    }
    (posture, all)
}

/// Every receiver is sent one event; the class of each attempt is checked.
fn are_judged(cases: &[Case], timeout_s: u32) {
    let (posture, all) = start_with(cases, timeout_s);
    for (case, webhook) in cases.iter().zip(&all) {
        check(&posture, case, webhook);
        let is_enabled = &shown(&posture, webhook)["enabled"];
        assert_eq!(is_enabled, &json!(true), "{}", case.name);
    }
}

#[test]
fn receivers_that_take_forever_are_cut_off() {
    are_judged(&silent(), timeout_s());
}

#[test]
fn receivers_that_take_forever_delay_nobody() {
    let cases = silent();
    let (posture, all) = start_with(&cases, 600);
    for (case, webhook) in cases.iter().zip(&all) {
        let first = &deliveries(&posture, webhook)[0];
        assert_eq!(first["status"], "sending", "{}: the other one had its ten before", case.name);
    }
}

#[test]
fn answers_without_end_are_cut_off() {
    are_judged(&endless(), default_timeout_s());
}

#[test]
fn receivers_that_break_have_failed() {
    are_judged(&broken(), default_timeout_s());
}

#[test]
fn receivers_that_refuse_are_tried_again_when_they_allow_it_and_redirects_lead_nowhere() {
    let trap = Sink::answering("127.0.0.2:0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    are_judged(&refusing(&trap), default_timeout_s());
    assert_eq!(trap.n_accepted(), 0);
}

#[test]
fn fifty_receivers_that_hang_are_tried_for_no_longer_than_the_timeout_and_none_again() {
    let posture = start(timeout_s());
    let sinks: Vec<_> = (0..50).map(|_| Sink::after_request(AT, hang)).collect();
    let all: Vec<_> = sinks.iter().map(|it| add(&posture, &it.url())).collect();
    push(&posture, &posture.client("A"), "one");
    for (webhook, sink) in all.iter().zip(&sinks) {
        let case = Case {
            name: sink.url(),
            url: String::new(),
            status: None,
            said: SILENT,
            next_ms: Some(MINUTE),
            _open: Box::new(()),
        };
        check(&posture, &case, webhook);
        assert_eq!(sink.n_accepted(), 1);
    }
}

const PRIVATE: &str = "`webhooks.allow_private_networks`";
const HTTP: &str = "`webhooks.allow_http_networks`";

/// A URL, and what the refusal to register it says.
const FORBIDDEN: &[(&str, &str)] = &[
    ("https://127.0.0.1/hook", PRIVATE),
    ("https://10.1.2.3:8443/hook", PRIVATE),
    ("https://192.168.0.1/", PRIVATE),
    ("https://100.64.0.1/", PRIVATE),
    ("https://[::1]/", PRIVATE),
    ("https://[fd12::1]/", PRIVATE),
    ("https://[::ffff:192.168.0.1]/", PRIVATE),
    ("https://[64:ff9b::a00:1]/", PRIVATE),
    ("https://localhost/", PRIVATE),
    ("https://psa.internal/", PRIVATE),
    ("https://psa/", PRIVATE),
    ("http://hooks.example.com/", HTTP),
    ("http://1.1.1.1/", HTTP),
    ("https://169.254.169.254/latest/", "never sent there"),
    ("https://[::ffff:169.254.169.254]/", "never sent there"),
    ("https://[fd00:ec2::254]/", "never sent there"),
    ("https://100.100.100.200/", "never sent there"),
    ("https://0.0.0.0/", "never sent there"),
    ("https://[fe80::1]/", "never sent there"),
    ("https://2130706433/", "four decimal numbers"),
    ("https://0x7f.1/", "four decimal numbers"),
    ("https://0177.0.0.1/", "four decimal numbers"),
    ("https://127.1/", "four decimal numbers"),
    ("https://[fe80::1%25eth0]/", "url"),
    ("https://me:secret@example.com/", "`@`"),
    ("https://example.com/#a", "`#`"),
    ("https://example.com\\@127.0.0.1/", "`\\`"),
    ("ftp://example.com/", "`https://`"),
];

#[test]
fn an_endpoint_where_none_may_be_is_refused_with_the_key_that_would_allow_it() {
    let posture = Posture::start();
    let known = add(&posture, "https://hooks.example.com/posture");
    for (url, said) in FORBIDDEN {
        let body = json!({ "url": url, "events": ["all"] });
        for answer in [
            try_add(&posture, &body),
            posture.operator("PATCH", &path(&known), &json!({ "url": url })),
        ] {
            assert_eq!(answer.status, 400, "{url}: {}", answer.text());
            let message = answer.problem().1;
            assert!(message.contains("url: ") && message.contains(said), "{url}: {message}");
        }
    }
    let list = posture.operator("GET", "/api/webhooks", &Value::Null).json();
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    assert_eq!(list["data"][0]["url"], "https://hooks.example.com/posture");
}

#[test]
fn a_name_that_leads_to_a_forbidden_address_is_refused_when_it_is_called() {
    let posture = Posture::start_with(|options| {
        let elsewhere = vec!["10.0.0.0/8".parse().unwrap()];
        options.app.webhooks.policy.allow_http_networks.clone_from(&elsewhere);
        options.app.webhooks.policy.allow_private_networks = elsewhere;
    });
    let receiver = Receiver::start();
    let webhook = add(&posture, &format!("http://localhost:{}/", receiver.sink.address.port()));
    push(&posture, &posture.client("A"), "one");
    let has_ended = |it: &Value| it["attempts"].as_array().is_some_and(|it| !it.is_empty());
    let delivery = wait_first(&posture, &webhook, has_ended);
    let said = delivery["attempts"][0]["answer"].as_str().unwrap();
    assert!(said.contains("not sent") && said.contains(PRIVATE), "{said}");
    assert_eq!((&delivery["status"], receiver.sink.n_accepted()), (&json!("waiting"), 0));
    let tested = posture.operator("POST", &format!("{}/test", path(&webhook)), &json!({})).json();
    assert_eq!((&tested["data"]["delivered"], receiver.sink.n_accepted()), (&json!(false), 0));
    // Nothing but the policy was in the way.
    let posture = posture.restart_after(
        |_| (),
        |options| {
            allow_loopback(options);
            let policy = &mut options.app.webhooks.policy;
            policy.allow_http_networks.push("::1/128".parse().unwrap());
            policy.allow_private_networks.push("::1/128".parse().unwrap());
        },
    );
    posture.pass_s(10);
    receiver.wait(1);
}
