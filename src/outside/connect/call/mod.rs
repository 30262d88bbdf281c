//! Calls of vendors' APIs: paced, repeated where that helps, bounded in time and size.

mod endpoint;
mod page;
mod part;
mod token;
mod unread;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::fmt::rfc2822;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::clock::{Clock, Time};
use crate::egress::http::{HeaderMap, Method, Request, header};
use crate::egress::{Egress, PostFailure, retry_after_s};
use crate::encoding;

pub use endpoint::{Endpoints, Letters};
pub use page::{Collection, Pager, Rows};
pub use part::Parts;
pub use token::TokenSource;
pub use unread::{Cause, Unread, said};

/// A longer answer is not read.
pub const ANSWER_BYTES_MAX: u64 = 32 * 1_024 * 1_024;
/// Attempts of a call that fails in a way that may pass.
const N_ATTEMPTS: u32 = 3;
/// How often a call is repeated because the service asked to come back later.
const N_THROTTLED_MAX: u32 = 8;
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// If the clock of a service that refuses a token differs by more, that is why.
const CLOCK_TOLERANCE_S: i64 = 180;

/// How a vendor speaks.
pub struct Dialect {
    /// As sentences name it.
    pub vendor: &'static str,
    /// An answer that asks to come back later although its status is another than 429.
    pub is_throttling: fn(&Answer) -> bool,
    /// Why a call was answered with an error. The second is the permission that the call needs, in words.
    pub explain: fn(&Answer, &str) -> Unread,
    /// Why no token was issued.
    pub explain_token: fn(&Answer) -> Unread,
}

/// One vendor's API during one run.
pub struct Api {
    egress: Arc<Egress>,
    endpoints: Arc<Endpoints>,
    dialect: &'static Dialect,
    clock: Clock,
    deadline: Instant,
    /// When the next call of each class may be made.
    turns: Mutex<BTreeMap<&'static str, Instant>>,
    n_calls: AtomicU32,
}

/// A request, without what authorizes it.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    pub pace: Pace,
    /// The permission that it needs, in words.
    pub permission: Cow<'static, str>,
}

/// Calls of one class are at least so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub class: &'static str,
    pub gap: Duration,
}

impl Pace {
    pub const NONE: Self = Self { class: "", gap: Duration::ZERO };
}

/// What authorizes a call.
pub enum Auth<'a> {
    None,
    /// `Authorization`, or another header.
    Header(&'a str, &'a str),
    Bearer(&'a TokenSource),
    /// Adds headers to each attempt, at its time, because a signature soon expires.
    Signed(&'a (dyn Fn(&mut Call, Time) + Send + Sync)),
}

/// An answer with any status.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// # Errors
    /// `Failed` if it is not JSON.
    pub fn json(&self) -> Result<Value, Unread> {
        serde_json::from_slice(encoding::without_mark(&self.body)).map_err(|_| {
            let kind = self.header("content-type");
            let kind = if kind.is_empty() { String::new() } else { format!(" ({kind})") };
            Unread::failed(format!("the answer is not JSON{kind}"))
        })
    }

    /// What time it was where it was given.
    fn date(&self) -> Option<Time> {
        let date = self.headers.get(header::DATE)?.to_str().ok()?;
        Some(Time::from_s(rfc2822::parse(date).ok()?.timestamp().as_second()))
    }

    /// JSON of an error. Null if it is something else.
    #[must_use]
    pub fn error_json(&self) -> Value {
        serde_json::from_slice(encoding::without_mark(&self.body)).unwrap_or_default()
    }

    #[must_use]
    pub fn header(&self, name: &str) -> String {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        crate::text::line(value.unwrap_or_default(), 100)
    }
}

impl Call {
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            pace: Pace::NONE,
            permission: Cow::Borrowed(""),
        }
    }

    /// A form as tokens are asked for with.
    #[must_use]
    pub fn form(url: impl Into<String>, fields: &[(&str, &str)]) -> Self {
        let field = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
        let body = fields.iter().map(field).collect::<Vec<_>>().join("&");
        let kind = ("content-type", "application/x-www-form-urlencoded".to_owned());
        Self {
            method: Method::POST,
            headers: vec![kind],
            body: Bytes::from(body),
            ..Self::get(url)
        }
    }
}

/// As in a query and in a form: everything but letters, digits and `-._~` is escaped.
#[must_use]
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

impl Api {
    /// Everything that it reads is read by the deadline, or is said not to have been.
    #[must_use]
    pub fn new(
        egress: Arc<Egress>,
        endpoints: Arc<Endpoints>,
        dialect: &'static Dialect,
        clock: Clock,
        deadline: Instant,
    ) -> Self {
        let (turns, n_calls) = (Mutex::default(), AtomicU32::new(0));
        Self { egress, endpoints, dialect, clock, deadline, turns, n_calls }
    }

    /// Requests that were sent.
    pub fn n_calls(&self) -> u32 {
        self.n_calls.load(Ordering::Relaxed)
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the answer if it is a success. A refused token is replaced once.
    ///
    /// # Errors
    /// Why there is no such answer.
    pub async fn call(&self, call: &Call, auth: &Auth<'_>) -> Result<Answer, Unread> {
        let answer = self.ask(call, auth).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        Err((self.dialect.explain)(&answer, &call.permission))
    }

    /// Gets a token, and asks for nothing else.
    ///
    /// # Errors
    /// Why none was issued.
    pub async fn sign_in(&self, tokens: &TokenSource) -> Result<(), Unread> {
        tokens.get(self, None).await.map(drop)
    }

    /// [`Api::call`] whose answer may be an error.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(&self, call: &Call, auth: &Auth<'_>) -> Result<Answer, Unread> {
        match auth {
            Auth::None | Auth::Header(..) | Auth::Signed(_) => self.exchange(call, auth).await,
            Auth::Bearer(source) => {
                let token = source.get(self, None).await?;
                let answer = self.exchange_bearing(call, &token).await?;
                if answer.status != 401 {
                    return Ok(answer);
                }
                let token = source.get(self, Some(&token)).await?;
                self.exchange_bearing(call, &token).await
            }
        }
    }

    async fn exchange_bearing(&self, call: &Call, token: &str) -> Result<Answer, Unread> {
        self.exchange(call, &Auth::Header("authorization", &format!("Bearer {token}"))).await
    }

    /// One answer that is not about to pass: what asks to come back later is asked again, and so is what broke. `auth` bears
    /// no token.
    async fn exchange(&self, call: &Call, auth: &Auth<'_>) -> Result<Answer, Unread> {
        let (mut n_broken, mut n_throttled) = (0, 0);
        loop {
            self.take_turn(call.pace).await?;
            let wait = match self.fetch(call, auth).await {
                Ok(answer) if answer.status == 429 || (self.dialect.is_throttling)(&answer) => {
                    n_throttled += 1;
                    if N_THROTTLED_MAX < n_throttled {
                        return Err(Unread::failed(format!(
                            "{} asked {n_throttled} times to come back later",
                            self.dialect.vendor
                        )));
                    }
                    self.asked_wait(&answer)?.unwrap_or(backoff(n_throttled))
                }
                Ok(answer) if matches!(answer.status, 500 | 502 | 503 | 504) => {
                    n_broken += 1;
                    if n_broken == N_ATTEMPTS {
                        return Ok(answer);
                    }
                    self.asked_wait(&answer)?.unwrap_or(backoff(n_broken))
                }
                Ok(answer) => return Ok(answer),
                Err(failure) => {
                    n_broken += 1;
                    if n_broken == N_ATTEMPTS || !may_pass(&failure) {
                        return Err(Unread::failed(format!("{}: {failure}", self.dialect.vendor)));
                    }
                    backoff(n_broken)
                }
            };
            self.wait(Instant::now() + wait).await?;
        }
    }

    /// `None`: it does not say. A time is one of the service's own clock.
    fn asked_wait(&self, answer: &Answer) -> Result<Option<Duration>, Unread> {
        let asked = answer.headers.get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
        let now = answer.date().unwrap_or_else(|| self.clock.now());
        let Some(s) = asked.and_then(|it| retry_after_s(it, now)) else {
            return Ok(None);
        };
        let wait = Duration::from_secs(u64::from(s.max(1)));
        if self.deadline < Instant::now() + wait {
            return Err(Unread::failed(format!(
                "{} asked to wait for {s} s, and there was not enough time",
                self.dialect.vendor
            )));
        }
        Ok(Some(wait))
    }

    async fn take_turn(&self, pace: Pace) -> Result<(), Unread> {
        let now = Instant::now();
        let turn = if pace.gap.is_zero() {
            now
        } else {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let next = turns.entry(pace.class).or_insert(now);
            let turn = now.max(*next);
            *next = turn + pace.gap;
            turn
        };
        self.wait(turn).await
    }

    async fn wait(&self, until: Instant) -> Result<(), Unread> {
        if self.deadline < until {
            return Err(Unread::failed("there was not enough time to read it"));
        }
        if Instant::now() < until {
            sleep_until(until).await;
        }
        Ok(())
    }

    async fn fetch(&self, call: &Call, auth: &Auth<'_>) -> Result<Answer, PostFailure> {
        self.n_calls.fetch_add(1, Ordering::Relaxed);
        let mut call = call.clone();
        let own = match auth {
            Auth::Header(name, value) => Some((*name, *value)),
            Auth::Signed(sign) => {
                sign(&mut call, self.clock.now());
                None
            }
            Auth::None | Auth::Bearer(_) => None,
        };
        let mut request =
            Request::builder().method(call.method.clone()).uri(self.endpoints.route(&call.url));
        let headers = call.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in headers.chain(own) {
            request = request.header(name, value);
        }
        let invalid = |it: crate::egress::http::Error| PostFailure::Refused(it.to_string());
        let request = request.body(call.body).map_err(invalid)?;
        let (head, body) = self.egress.fetch(request, ANSWER_BYTES_MAX).await?.into_parts();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}

fn backoff(n: u32) -> Duration {
    Duration::from_secs(1 << n.min(6))
}

/// It may go better the next time.
fn may_pass(failure: &PostFailure) -> bool {
    match failure {
        PostFailure::Refused(_) | PostFailure::Tls(_) | PostFailure::TooLong(_) => false,
        PostFailure::Unresolved
        | PostFailure::Unreachable
        | PostFailure::TimedOut
        | PostFailure::Broken(_) => true,
    }
}

/// Says that the clock is wrong, if the answer tells another time.
#[must_use]
pub fn explain_clock(unread: Unread, answer: &Answer, now: Time) -> Unread {
    let Some(there) = answer.date() else { return unread };
    let off_s = now.s() - there.s();
    if off_s.abs() <= CLOCK_TOLERANCE_S {
        return unread;
    }
    let direction = if off_s < 0 { "behind" } else { "ahead" };
    let minutes = off_s.abs() / 60;
    let reason = format!(
        "the clock of this machine is {minutes} minutes {direction}; set it. {}",
        unread.reason
    );
    Unread { reason, ..unread }
}
