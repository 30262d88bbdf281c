//! Outbound HTTP: where it goes, where it never goes, and what it makes of what comes back.

mod address;
mod answer;
mod hostile;
mod url;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnetwork::IpNetwork;
use posture::egress::{Egress, EgressPolicy, PostFailure, PostOutcome, Posted};
use tokio::runtime::{Builder, Runtime};

use crate::harness::sink;

/// The timeout of requests that are expected to time out.
pub const TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of all other requests, and how long a peer that hangs does so. No request may take as long.
pub const LONG: Duration = Duration::from_mins(2);
/// A request that takes longer hangs. How busy the machine is must not decide a test.
pub const HANGS_AFTER: Duration = Duration::from_secs(30);

pub fn networks(texts: &[&str]) -> Vec<IpNetwork> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

/// Loopback, over plain HTTP as well.
pub fn local() -> EgressPolicy {
    EgressPolicy {
        allow_http_networks: networks(&["127.0.0.0/8", "::1/128"]),
        allow_private_networks: networks(&["127.0.0.0/8", "::1/128"]),
        own: Vec::new(),
        roots: posture::egress::TrustedRoots::default(),
        sender: posture::egress::Sender::Webhooks,
    }
}

pub fn egress(policy: EgressPolicy) -> Egress {
    Egress::new(policy, LONG, 4).unwrap()
}

/// Gives up after [`TIMEOUT`].
pub fn hasty(policy: EgressPolicy) -> Egress {
    Egress::new(policy, TIMEOUT, 4).unwrap()
}

pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sends `{}`. Every request is checked not to hang.
pub fn post(egress: &Egress, url: &str) -> Posted {
    post_with(egress, url, Vec::new(), "{}")
}

pub fn post_with(
    egress: &Egress,
    url: &str,
    headers: Vec<(&'static str, String)>,
    body: &str,
) -> Posted {
    let start = Instant::now();
    let headers = headers.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let posted = runtime().block_on(egress.post(url.to_owned(), headers, Arc::from(body)));
    let took = start.elapsed();
    assert!(took < HANGS_AFTER, "{url} took {took:?}: {posted:?}");
    assert!(u128::from(posted.ms) <= took.as_millis(), "{posted:?} took {took:?}");
    posted
}

pub fn failure(posted: Posted) -> PostFailure {
    match posted.outcome {
        PostOutcome::Failed(failure) => failure,
        PostOutcome::Answered { .. } => panic!("{posted:?}"),
    }
}

/// The rule by which a request was not made.
pub fn refusal(posted: Posted) -> String {
    let failure = failure(posted);
    let PostFailure::Refused(why) = failure else { panic!("{failure:?}") };
    why
}

pub fn status(posted: &Posted) -> u16 {
    match &posted.outcome {
        PostOutcome::Answered { status, .. } => *status,
        PostOutcome::Failed(failure) => panic!("{failure:?}"),
    }
}
