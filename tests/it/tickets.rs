//! A ticket system as an integrator writes it: events open and close tickets, and numbers are written back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::harness::Posture;
use super::harness::backend::Random;
use super::harness::http::send;
use super::harness::long::is_long;
use super::manage::{Finding, prowler};
use super::webhook::{Receiver, allow_loopback, try_add};

const CHECKS: [(&str, &str); 6] = [
    ("iam_root_mfa_enabled", "critical"),
    ("iam_no_root_access_key", "critical"),
    ("iam_user_mfa_enabled_console_access", "high"),
    ("cloudtrail_multi_region_enabled", "high"),
    ("s3_bucket_public_access", "critical"),
    ("ec2_ebs_volume_encryption", "high"),
];
const EVENTS: [&str; 3] = ["risk_item_created", "critical_risk_detected", "risk_item_resolved"];
const SYSTEM: &str = "psa";

#[derive(Debug)]
struct Ticket {
    /// The event's key.
    key: String,
    is_open: bool,
}

/// What the ticket system knows. It keeps no list of risks: the closing event names the ticket.
#[derive(Default)]
struct TicketSystem {
    tickets: Vec<Ticket>,
    /// Who an event's key is about.
    clients: BTreeMap<String, String>,
    n_handled: usize,
    n_reopened: usize,
}

fn call(posture: &Posture, key: &str, method: &str, path: &str, body: &Value) -> Value {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    let answer = send(posture.address, method, path, &headers, &bytes);
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    answer.json()
}

impl TicketSystem {
    fn take(&mut self, posture: &Posture, key: &str, event: &Value) {
        let object = &event["data"]["object"];
        let text = |name: &str| {
            let text = object[name].as_str();
            text.unwrap_or_else(|| panic!("{name} in {event}")).to_owned()
        };
        let client = event["data"]["clientId"].as_str().unwrap().to_owned();
        let dedup_key = text("dedupKey");
        let known = self.clients.entry(dedup_key.clone()).or_insert_with(|| client.clone());
        assert_eq!(*known, client, "a key is about one client");
        assert!(text("clientName").starts_with("Client "));
        assert!(text("url").starts_with("https://posture.test/go/risk/"), "{event}");
        if event["type"] == "risk_item_resolved" {
            let ticket = ticket_of(object).unwrap_or_else(|| panic!("no ticket in {event}"));
            let ticket = &mut self.tickets[ticket];
            assert_eq!(ticket.key, dedup_key, "the closing event names the ticket of the risk");
            assert!(ticket.is_open, "closed twice: {event}");
            ticket.is_open = false;
            return;
        }
        if let Some(number) = ticket_of(object) {
            let ticket = &mut self.tickets[number];
            assert_eq!(ticket.key, dedup_key);
            self.n_reopened += usize::from(!ticket.is_open);
            ticket.is_open = true;
            return;
        }
        if self.tickets.iter().any(|it| it.is_open && it.key == dedup_key) {
            return; // A critical risk is announced twice.
        }
        self.open(posture, key, (&client, &dedup_key), &text("id"));
    }

    /// Opens a ticket and writes its number back.
    fn open(
        &mut self,
        posture: &Posture,
        key: &str,
        (client, dedup_key): (&str, &str),
        risk: &str,
    ) {
        let number = self.tickets.len();
        self.tickets.push(Ticket { key: dedup_key.to_owned(), is_open: true });
        let path = format!("/api/clients/{client}/risks/{risk}");
        let references = json!([{"system": SYSTEM, "id": number.to_string()}]);
        call(posture, key, "PATCH", &path, &json!({ "externalReferences": references }));
    }

    /// Opens what has no ticket. Events announce only the critical risks that a client's first run finds.
    fn compare(&mut self, posture: &Posture, key: &str, open: &BTreeMap<String, Value>) {
        for (dedup_key, it) in open {
            if !self.open_keys().contains(dedup_key.as_str()) {
                let (client, risk) = (&it["clientId"], &it["object"]["id"]);
                let about = (client.as_str().unwrap(), dedup_key.as_str());
                self.open(posture, key, about, risk.as_str().unwrap());
            }
        }
    }

    fn open_keys(&self) -> BTreeSet<&str> {
        self.tickets.iter().filter(|it| it.is_open).map(|it| it.key.as_str()).collect()
    }
}

/// The number of the ticket that an event names.
fn ticket_of(object: &Value) -> Option<usize> {
    let references = object.get("externalReferences")?.as_array()?;
    let own = references.iter().find(|it| it["system"] == SYSTEM)?;
    Some(own["id"].as_str().unwrap().parse().unwrap())
}

/// All risks that are open by their keys, read in pages.
fn open_conditions(posture: &Posture, key: &str) -> BTreeMap<String, Value> {
    let mut open = BTreeMap::new();
    let mut path = "/api/conditions?limit=100".to_owned();
    loop {
        let page = call(posture, key, "GET", &path, &Value::Null);
        for it in page["data"].as_array().unwrap() {
            let dedup_key = it["object"]["dedupKey"].as_str().unwrap();
            if dedup_key.contains("/risk/") {
                open.insert(dedup_key.to_owned(), it.clone());
            }
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/conditions?limit=100&after={}", percent(next)),
            None => return open,
        }
    }
}

fn percent(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// How many events a subscriber is to get that came after a sequence, and the newest sequence.
fn count_told(posture: &Posture, key: &str, mut after: u64) -> (usize, u64) {
    let mut n = 0;
    loop {
        let path = format!("/api/events?after={after}&limit=100");
        let page = call(posture, key, "GET", &path, &Value::Null);
        let events = page["data"].as_array().unwrap();
        let Some(last) = events.last() else { return (n, after) };
        after = last["data"]["object"]["sequence"].as_u64().unwrap();
        n += events.iter().filter(|it| EVENTS.contains(&it["type"].as_str().unwrap())).count();
    }
}

#[test]
fn tickets_that_events_open_and_close_pair_up() {
    let (n_clients, n_nights) = if is_long() { (200, 30) } else { (12, 8) };
    let posture = Posture::start_with(|options| {
        allow_loopback(options);
        options.app.public_url = Some("https://posture.test".to_owned());
    });
    let receiver = Receiver::start();
    let url = receiver.sink.url();
    assert_eq!(try_add(&posture, &json!({"url": url, "events": EVENTS})).status, 201);
    let key = posture.key_with(&json!({"scopes": ["read:events", "manage:decisions"]}));
    let clients: Vec<String> =
        (0..n_clients).map(|it| posture.client(&format!("Client {it}"))).collect();
    let mut system = TicketSystem::default();
    let mut random = Random::from_seed(14);
    let (mut n_told, mut newest) = (0, 0);
    for night in 0..n_nights {
        for client in &clients {
            let findings: Vec<Finding<'_>> = CHECKS
                .iter()
                .map(|(check, severity)| {
                    let status = if random.below(4) == 0 { "FAIL" } else { "PASS" };
                    (*check, status, *severity, "everything")
                })
                .collect();
            let answer = posture.import(client, "observedAt=now", &prowler(&findings));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let told = count_told(&posture, &key, newest);
        (n_told, newest) = (n_told + told.0, told.1);
        receiver.wait(n_told);
        for request in receiver.requests().drain(system.n_handled..) {
            system.take(&posture, &key, &serde_json::from_slice(&request.body).unwrap());
            system.n_handled += 1;
        }
        let open = open_conditions(&posture, &key);
        if night == 0 {
            system.compare(&posture, &key, &open);
        }
        let open: BTreeSet<&str> = open.keys().map(String::as_str).collect();
        assert_eq!(system.open_keys(), open, "night {night}");
        posture.pass_days(1);
    }
    let n_open = system.open_keys().len();
    eprintln!(
        "{n_clients} clients, {n_nights} nights: {} events, {} tickets, {} opened again, {n_open} open in the end",
        system.n_handled,
        system.tickets.len(),
        system.n_reopened
    );
    assert!(n_open < system.tickets.len() && 0 < system.n_reopened);
}
