//! A vendor on loopback that says what a test wants.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use posture::clock::{Clock, Time};
use posture::connect::call::{Answer, Api, Call, Dialect, Endpoints, TokenSource, Unread};
use posture::egress::{Egress, EgressPolicy, Sender};
use serde_json::Value;
use tokio::time::Instant;

use crate::harness::sink::{Request, Sink};

/// The origin of the vendor as the code knows it. Requests for it go to the sink.
pub const ORIGIN: &str = "https://vendor.example";

pub const DIALECT: Dialect = Dialect {
    vendor: "Vendor",
    is_throttling: |answer| answer.status == 403 && answer.body.starts_with(b"slow"),
    explain: |answer: &Answer, permission: &str| match answer.status {
        403 => Unread::denied(permission),
        status => Unread::failed(format!("Vendor answered {status}")),
    },
    explain_token: |answer| Unread::credential(format!("no token: {}", answer.status)),
};

pub struct Vendor {
    pub sink: Sink,
    n_tokens: Arc<AtomicUsize>,
}

/// Any answer.
pub fn told(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    format!("{head}Connection: close\r\n\r\n{body}").into_bytes()
}

pub fn json(body: &Value) -> Vec<u8> {
    told(200, &[("Content-Type", "application/json")], &body.to_string())
}

/// The value of a query parameter of a request. Empty: there is none.
pub fn parameter(request: &Request, name: &str) -> String {
    let query = request.line.split_once('?').map_or("", |(_, query)| query);
    let found = query.split('&').find_map(|it| it.strip_prefix(&format!("{name}=")));
    found.unwrap_or_default().to_owned()
}

impl Vendor {
    /// Issues the tokens t1, t2, … at `/token`, and answers everything else as told.
    pub fn start(answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let n_tokens = Arc::new(AtomicUsize::new(0));
        let issued = Arc::clone(&n_tokens);
        let sink = Sink::scripted("127.0.0.1:0", move |request| {
            if request.line.starts_with("POST /token") {
                let n = issued.fetch_add(1, Ordering::SeqCst) + 1;
                return json(
                    &serde_json::json!({"access_token": format!("t{n}"), "expires_in": 3600}),
                );
            }
            answer(request)
        });
        Self { sink, n_tokens }
    }

    pub fn of(sink: Sink) -> Self {
        Self { sink, n_tokens: Arc::default() }
    }

    pub fn n_tokens(&self) -> usize {
        self.n_tokens.load(Ordering::SeqCst)
    }

    /// Requests for anything but tokens.
    pub fn asked(&self) -> Vec<Request> {
        let all = self.sink.requests().into_iter();
        all.filter(|it| !it.line.starts_with("POST /token")).collect()
    }

    pub fn api(&self) -> Api {
        self.api_until(Duration::from_mins(2))
    }

    pub fn api_until(&self, time: Duration) -> Api {
        let origin = format!("http://{}", self.sink.address);
        let endpoints = Endpoints([(ORIGIN.to_owned(), origin)].into());
        let egress = Egress::new(local(), Duration::from_secs(20), 8).unwrap();
        let deadline = Instant::now() + time;
        Api::new(Arc::new(egress), Arc::new(endpoints), &DIALECT, Clock::System, deadline)
    }
}

pub fn local() -> EgressPolicy {
    let loopback = vec!["127.0.0.0/8".parse().unwrap()];
    EgressPolicy {
        allow_http_networks: loopback.clone(),
        allow_private_networks: loopback,
        sender: Sender::Connections,
        ..EgressPolicy::default()
    }
}

pub fn tokens() -> TokenSource {
    TokenSource::of(|_: Time| Ok(Call::form(format!("{ORIGIN}/token"), &[("a", "b c&d")])))
}
