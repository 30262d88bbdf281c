//! The executable killed while it delivers: no event is lost, and no attempt's number is used twice.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use posture::clock::Clock;
use serde_json::{Value, json};

use crate::harness::backend::Random;
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Line, wait_until};
use crate::harness::sink::{Request, Sink};

/// May send to loopback, and tries again at once: what is measured here is not patience.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[data]
dir = "data"
[webhooks]
timeout_s = 5
retry_gaps_s = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
allow_http_networks = ["127.0.0.0/8"]
allow_private_networks = ["127.0.0.0/8"]
"#;
/// With 300 rounds, more than ten thousand.
const N_EVENTS_PER_ROUND: u64 = 40;
/// A round is over by then, however few deliveries came.
const ROUND_MAX: Duration = Duration::from_millis(500);
const N_PUSHERS: u64 = 2;
/// One answer of so many says that the receiver failed.
const ONE_FAILS_OF: u64 = 16;
/// What is left after the last kill is delivered within this.
const DRAINED_WITHIN: Duration = Duration::from_mins(3);
const CUT_OFF: &str = "the service stopped before the attempt ended";

fn n_rounds() -> u64 {
    let named = std::env::var_os("POSTURE_KILL_ROUNDS");
    named.map_or(15, |it| it.to_str().and_then(|it| it.parse().ok()).expect("a number of rounds"))
}

/// Answers after 0 to 15 ms, so that kills meet attempts at every point.
fn receiver(seed: u64) -> Sink {
    let n_answered = AtomicU64::new(0);
    Sink::after_request("127.0.0.1:0", move |stream| {
        let n = n_answered.fetch_add(1, Ordering::SeqCst);
        let mut random = Random::from_seed(seed ^ n);
        sleep(Duration::from_millis(random.below(16)));
        let status = if random.below(ONE_FAILS_OF) == 0 { 500 } else { 200 };
        super::answer(stream, status, "");
    })
}

/// Pushes so many assets, each of which is an event, or as many as the server lives to answer; how many those were.
fn push(address: SocketAddr, key: &str, (client, prefix): (&str, &str), n_wanted: u64) -> u64 {
    let Ok(mut line) = Line::to(address) else { return 0 };
    for n in 0..n_wanted {
        let name = format!("{prefix}-{n}");
        let body = json!({
            "clientId": client, "name": name, "externalId": name, "assetType": "server",
        });
        let Some((status, body)) = line.push(key, &body) else { return n };
        assert_eq!(status, 201, "{body}");
    }
    n_wanted
}

/// Everything behind a sequence that a list of the management API holds.
fn list(folder: &Folder, path: &str, sequence: impl Fn(&Value) -> u64) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(0, &sequence);
        let path = format!("{path}?after={after}&limit=100");
        let page = send_socket(&folder.socket(), "GET", &path, &[], b"").json();
        let page = page["data"].as_array().expect("a list").clone();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn number(request: &Request) -> u32 {
    request.header("x-service-delivery-attempt").unwrap().parse().unwrap()
}

/// Checks what came of one event; how many attempts that were.
fn check(event: &Value, attempts: &[&Request], delivery: &Value) -> usize {
    let id = &event["id"];
    for it in attempts {
        assert_eq!(it.body, attempts[0].body, "{id}: each attempt brings the same bytes");
        assert_eq!(it.header("webhook-id"), id.as_str());
    }
    let body: Value = serde_json::from_slice(&attempts[0].body).unwrap();
    assert_eq!(&body, event, "the log has what was delivered");
    let numbers: Vec<u32> = attempts.iter().map(|it| number(it)).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{id}: a number was used twice: {numbers:?}");
    assert_eq!(delivery["eventId"], *id);
    assert_eq!(delivery["status"], "delivered", "{delivery}");
    let n_begun = delivery["attemptCount"].as_u64().unwrap();
    assert!(u64::from(numbers[numbers.len() - 1]) <= n_begun, "{numbers:?}: {delivery}");
    attempts.len()
}

#[test]
fn no_event_is_lost_to_kill_9_and_no_attempt_s_number_is_used_twice() {
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    let seed = Clock::System.now().micros().unsigned_abs();
    let (mut random, n_rounds) = (Random::from_seed(seed), n_rounds());
    let sink = receiver(seed);
    let mut server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("100000000"));
    let added = folder.json(&["webhook", "add", "--url", &sink.url(), "--event", "all"]);
    let webhook = added["data"]["id"].as_str().unwrap().to_owned();
    let mut n_pushed = 0;
    for n in 0..n_rounds {
        // What an earlier round did not live to push is made up for.
        let n_missing = (n + 1) * N_EVENTS_PER_ROUND - n_pushed;
        let address = server.address;
        let n_accepted = sink.n_accepted() as u64 + random.below(2 * N_EVENTS_PER_ROUND);
        n_pushed += std::thread::scope(|scope| {
            let pushers: Vec<_> = (0..N_PUSHERS)
                .map(|it| {
                    let (key, client) = (key.as_str(), client.as_str());
                    let prefix = format!("r{n}-c{it}");
                    let n_wanted = n_missing.div_ceil(N_PUSHERS);
                    scope.spawn(move || push(address, key, (client, &prefix), n_wanted))
                })
                .collect();
            wait_until(ROUND_MAX, || n_accepted <= sink.n_accepted() as u64);
            server.kill();
            pushers.into_iter().map(|it| it.join().unwrap()).sum::<u64>()
        });
        assert!(wait_until(super::SOON, || sink.is_idle()), "a dead server's requests");
        server = folder.serve();
    }
    let is_drained = || server.metric("posture_webhook_waiting") == 0;
    assert!(wait_until(DRAINED_WITHIN, is_drained), "round {n_rounds}, seed {seed}");
    let requests = sink.requests();
    let mut by_event: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for it in &requests {
        by_event.entry(it.header("x-service-event-id").unwrap()).or_default().push(it);
    }
    let sequence_of_event = |it: &Value| it["data"]["object"]["sequence"].as_u64().unwrap();
    let events = list(&folder, "/api/events", sequence_of_event);
    let path = format!("/api/webhooks/{webhook}/deliveries");
    let log = list(&folder, &path, |it| it["sequence"].as_u64().unwrap());
    assert_eq!(log.len(), events.len(), "seed {seed}");
    let mut n_attempts = 0;
    for (event, delivery) in events.iter().zip(&log) {
        let id = event["id"].as_str().unwrap();
        let attempts = by_event.get(id).unwrap_or_else(|| panic!("{id} is lost, seed {seed}"));
        n_attempts += check(event, attempts, delivery);
    }
    let ids: BTreeSet<&str> = events.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), by_event.len(), "nothing came that the log does not have");
    let cut_off = |it: &&Value| {
        let attempts = it["attempts"].as_array().unwrap();
        attempts.iter().any(|it| it["answer"] == CUT_OFF)
    };
    let n_cut_off = log.iter().filter(cut_off).count();
    eprintln!(
        "{n_rounds} kills, seed {seed}: {n_pushed} acknowledged, {} events, 0 lost, {n_attempts} attempts came, \
         {n_cut_off} deliveries had one cut off",
        events.len()
    );
    assert!(n_pushed <= events.len() as u64, "an acknowledged push is an event");
    // How much happens between two kills is the machine's affair; that something does is not.
    assert!(n_rounds <= n_pushed, "only {n_pushed} were pushed");
    assert!(n_rounds < 10 || 0 < n_cut_off, "kills must meet attempts under way");
}
