//! The faults of an HTTP API: they answer in the place of the scripted server that they are put before.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::fault::{Fault, RetryAfter};
use crate::connect::vendor::{json, told};
use crate::harness::sink::{Request, Sink};

/// A list of an API, as its vendor pages it.
#[derive(Clone, Copy)]
pub struct List {
    /// The request is for a page of it.
    pub is_page: fn(&Request) -> bool,
    /// The request is for a page after the first one.
    pub is_later: fn(&Request) -> bool,
    /// The nth page, from 0, of a list without an end.
    pub endless: fn(usize) -> Vec<u8>,
    /// Leads to the next page there.
    pub lead: fn(&mut Value, &str),
    /// How the vendor refuses a token.
    pub refusal: fn() -> Vec<u8>,
}

/// An hour, and the time until a request is answered.
pub const HOUR: Duration = Duration::from_secs(3_630);

pub fn http_date(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

impl List {
    /// Puts a fault before a server. `elsewhere`: a host that is not the vendor's.
    pub fn put(self, fault: Fault, sink: &Sink, elsewhere: SocketAddr) {
        let Self { is_page, is_later, endless, lead, refusal } = self;
        match fault {
            Fault::Busy(after) => once(sink, is_page, move || busy(after)),
            Fault::Refused => once(sink, is_later, refusal),
            Fault::Clock => self.put_clock(sink),
            Fault::Cut => sink.put_before(move |request, server| {
                let whole = server(request);
                if is_page(request) { cut(&whole) } else { whole }
            }),
            Fault::Html => always(sink, is_page, || {
                told(200, &[("Content-Type", "text/html")], "<html><body>Sign in</body></html>")
            }),
            Fault::Empty => always(sink, is_page, || told(200, &[], "")),
            Fault::Error => always(sink, is_page, || {
                told(500, &[("Retry-After", "1"), ("Content-Type", "text/html")], "oops")
            }),
            Fault::ForeignLink => sink.put_before(move |request, server| {
                let whole = server(request);
                if !is_page(request) {
                    return whole;
                }
                let path = request.line.split(['?', ' ']).nth(1).unwrap();
                let mut page = body(&whole);
                lead(&mut page, &format!("http://{elsewhere}{path}"));
                json(&page)
            }),
            Fault::SamePage => {
                let first: Mutex<Option<Vec<u8>>> = Mutex::default();
                sink.put_before(move |request, server| {
                    if !is_page(request) {
                        return server(request);
                    }
                    first.lock().unwrap().get_or_insert_with(|| server(request)).clone()
                });
            }
            Fault::Endless => {
                let n = AtomicUsize::new(0);
                sink.put_before(move |request, server| {
                    if is_page(request) {
                        endless(n.fetch_add(1, Ordering::SeqCst))
                    } else {
                        server(request)
                    }
                });
            }
            Fault::OneRowMore => (), // The list has it already.
            Fault::Shorter => panic!("the vendor has the rows"),
        }
    }

    /// Every answer says that it is an hour later, and so does one that asks to come back at a time.
    fn put_clock(self, sink: &Sink) {
        let (is_page, n) = (self.is_page, AtomicUsize::new(0));
        sink.put_before(move |request, server| {
            let there = Timestamp::now() + HOUR;
            let answer = if is_page(request) && n.fetch_add(1, Ordering::SeqCst) == 0 {
                let soon = http_date(there + Duration::from_secs(1));
                told(429, &[("Retry-After", &soon)], "{}")
            } else {
                server(request)
            };
            let at = answer.windows(2).position(|it| it == b"\r\n").unwrap();
            let date = format!("\r\nDate: {}", http_date(there));
            [&answer[..at], date.as_bytes(), &answer[at..]].concat()
        });
    }
}

fn always(sink: &Sink, is_hit: fn(&Request) -> bool, told: fn() -> Vec<u8>) {
    sink.put_before(move |request, server| if is_hit(request) { told() } else { server(request) });
}

fn once(
    sink: &Sink,
    is_hit: fn(&Request) -> bool,
    told: impl Fn() -> Vec<u8> + Send + Sync + 'static,
) {
    let n = Arc::new(AtomicUsize::new(0));
    sink.put_before(move |request, server| {
        let is_due = is_hit(request) && n.fetch_add(1, Ordering::SeqCst) == 0;
        if is_due { told() } else { server(request) }
    });
}

fn busy(after: RetryAfter) -> Vec<u8> {
    let date = http_date(Timestamp::now() + Duration::from_secs(2));
    let after = match after {
        RetryAfter::Second => "1",
        RetryAfter::Zero => "0",
        RetryAfter::Fraction => "0.249",
        RetryAfter::Word => "soon",
        RetryAfter::Date => &date,
        RetryAfter::Hour => "3600",
        RetryAfter::Absent => return told(429, &[], "{}"),
    };
    told(429, &[("Retry-After", after)], "{}")
}

fn n_head(answer: &[u8]) -> usize {
    answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4
}

/// The head with the whole length, and half of the body.
fn cut(answer: &[u8]) -> Vec<u8> {
    answer[..n_head(answer).midpoint(answer.len())].to_vec()
}

fn body(answer: &[u8]) -> Value {
    serde_json::from_slice(&answer[n_head(answer)..]).unwrap()
}
