//! Webhooks: registered, delivered, retried, recovered.

mod crash;
mod endpoint;
mod erasure;
mod fair;
mod frameworks;
mod header;
mod hostile;
mod metric;
mod queue;
mod receivers;
mod schedule;
mod signature;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::process::wait_until;
use crate::harness::sink::{Request, Sink};
use crate::harness::{Answer, Posture};

/// What has not happened by then never does. How busy the machine is must not decide a test.
const SOON: Duration = Duration::from_mins(1);
/// What is not to happen has not happened by then.
const A_WHILE: Duration = Duration::from_millis(1_500);

/// A posture that may send to loopback.
pub fn start() -> Posture {
    Posture::start_with(allow_loopback)
}

pub fn allow_loopback(options: &mut posture::serve::ServeOptions) {
    let loopback = vec!["127.0.0.0/8".parse().unwrap()];
    options.app.webhooks.policy.allow_http_networks.clone_from(&loopback);
    options.app.webhooks.policy.allow_private_networks = loopback;
}

/// An endpoint whose answers a test changes as it goes.
pub struct Receiver {
    pub sink: Sink,
    status: Arc<AtomicU16>,
}

impl Receiver {
    pub fn start() -> Self {
        let status = Arc::new(AtomicU16::new(200));
        let said = Arc::clone(&status);
        let sink = Sink::after_request("127.0.0.1:0", move |stream| {
            answer(stream, said.load(Ordering::SeqCst), "");
        });
        Self { sink, status }
    }

    pub fn answer_with(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    pub fn requests(&self) -> Vec<Request> {
        self.sink.requests()
    }

    /// Waits for the n-th request.
    pub fn wait(&self, n: usize) -> Request {
        assert!(
            wait_until(SOON, || n <= self.requests().len()),
            "{} of {n} requests came",
            self.requests().len()
        );
        self.requests()[n - 1].clone()
    }

    /// No request but these has come, and none comes.
    pub fn has_only(&self, n: usize) {
        std::thread::sleep(A_WHILE);
        assert_eq!(self.requests().len(), n);
    }
}

pub fn answer(mut stream: TcpStream, status: u16, headers: &str) {
    use std::io::Write;
    let text = format!("HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n{headers}\r\nok");
    drop(stream.write_all(text.as_bytes()));
}

/// Registers an endpoint for all events; the API's view of it, with its secret.
pub fn add(posture: &Posture, url: &str) -> Value {
    let answer = try_add(posture, &json!({ "url": url, "events": ["all"] }));
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

pub fn try_add(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/webhooks", body)
}

pub fn path(webhook: &Value) -> String {
    format!("/api/webhooks/{}", webhook["id"].as_str().unwrap())
}

pub fn change(posture: &Posture, webhook: &Value, body: &Value) -> Value {
    let answer = posture.operator("PATCH", &path(webhook), body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// The endpoint as it is listed now.
pub fn shown(posture: &Posture, webhook: &Value) -> Value {
    let all = posture.operator("GET", "/api/webhooks", &Value::Null).json();
    let all = all["data"].as_array().unwrap();
    all.iter().find(|it| it["id"] == webhook["id"]).expect("it is listed").clone()
}

pub fn deliveries(posture: &Posture, webhook: &Value) -> Vec<Value> {
    let path = format!("{}/deliveries?limit=100", path(webhook));
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

/// Waits until the first delivery has this status.
pub fn wait_for(posture: &Posture, webhook: &Value, status: &str) -> Value {
    wait_first(posture, webhook, |it| it["status"] == status)
}

/// Waits until this holds of the first delivery; what it was then.
pub fn wait_first(posture: &Posture, webhook: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    first_within(SOON, posture, webhook, is_so)
}

fn first_within(
    wait: Duration,
    posture: &Posture,
    webhook: &Value,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let mut first = Value::Null;
    let came = wait_until(wait, || {
        first = deliveries(posture, webhook).first().cloned().unwrap_or_default();
        is_so(&first)
    });
    assert!(came, "{first}");
    first
}

/// Lets six days pass in which every attempt at the endpoint fails.
pub fn fail_for_days(posture: &Posture, receiver: &Receiver, client: &str) {
    receiver.answer_with(500);
    push(posture, client, "0");
    receiver.wait(1);
    for n in 1..12 {
        posture.pass_s(43_200);
        push(posture, client, &n.to_string());
        std::thread::sleep(A_WHILE / 3);
    }
}

/// Pushes a new asset, which is one event.
pub fn push(posture: &Posture, client: &str, name: &str) {
    let asset = json!({
        "clientId": client, "name": name, "externalId": name, "assetType": "server",
    });
    let answer = posture.send("POST", &posture.key(), "/assets", &asset);
    assert_eq!(answer.status, 201, "{}", answer.text());
}
