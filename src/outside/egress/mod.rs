//! Outbound HTTP and TLS: the only place that connects to an address that a person entered.
//!
//! A host is resolved once per request. All of its addresses are checked, and the request connects to a checked address:
//! there is no second look-up, redirect or proxy that could lead elsewhere.

mod answer;
mod guard;
mod refusal;
mod resolve;
mod root;
mod stream;
mod target;

use std::borrow::Cow;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use ureq::http::{Method, Request, Response, Uri};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, AsSendBody, Body};

use crate::error::{Chain, Error, Result};

pub use answer::{
    ANSWER_BYTES_MAX, PostFailure, PostOutcome, Posted, RETRY_AFTER_S_MAX, retry_after_s,
};
pub use guard::{EgressPolicy, Sender};
pub use root::TrustedRoots;
pub use stream::{Fingerprint, TlsStream, Trust, time_for_each};
pub use target::{URL_CHARS_MAX, is_loopback, is_same_origin, is_url};
pub use ureq::http;

use crate::egress::refusal::Refusal;
use resolve::{Lookup, Resolver};
use target::{Scheme, Target, TargetHost};

/// For the TCP connection and the TLS handshake together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);
/// An answer counts once its head arrived. This is for the part of its body that is stored.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// A request ends at most this long after its timeout.
const MARGIN: Duration = Duration::from_millis(400);
const HEAD_BYTES_MAX: usize = 16 * 1024;
const INPUT_BYTES: usize = 32 * 1024;
/// Small, because the timeout is checked between two writes of this size.
const OUTPUT_BYTES: usize = 8 * 1024;
const STACK_BYTES: usize = 512 * 1024;

/// Sends requests that its policy allows.
pub struct Egress {
    policy: Arc<EgressPolicy>,
    agent: Agent,
    resolver: Resolver,
    timeout: Duration,
    /// One permit per request in progress.
    places: Arc<Semaphore>,
    /// A separate thread pool, so that slow endpoints do not use up the threads of the store. `None`: dropped.
    threads: Option<Runtime>,
}

impl Egress {
    /// At most `n_at_once_max` requests are in progress, each on a thread, and as many name look-ups.
    ///
    /// # Errors
    /// `Internal` if the thread pool cannot be created.
    pub fn new(policy: EgressPolicy, timeout: Duration, n_at_once_max: usize) -> Result<Self> {
        let system = |host: &str, port| (host, port).to_socket_addrs().map(Iterator::collect);
        Self::with_resolver(policy, timeout, n_at_once_max, system)
    }

    /// [`Egress::new`] with another resolver than the system's. It gets the name in lower case.
    ///
    /// # Errors
    /// `Internal` if the thread pool cannot be created.
    pub fn with_resolver(
        policy: EgressPolicy,
        timeout: Duration,
        n_at_once_max: usize,
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Result<Self> {
        assert!(0 < n_at_once_max, "no request could be made");
        let threads = Builder::new_current_thread()
            .max_blocking_threads(2 * n_at_once_max)
            .thread_name("egress")
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(Error::internal)?;
        let policy = Arc::new(policy);
        let lookup: Arc<Lookup> = Arc::new(lookup);
        let resolver =
            Resolver::new(Arc::clone(&policy), lookup, threads.handle().clone(), n_at_once_max);
        let config = Agent::config_builder()
            .user_agent(concat!("posture/", env!("CARGO_PKG_VERSION")))
            .proxy(None)
            .max_redirects(0)
            .tls_config(policy.roots.rules())
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .timeout_resolve(Some(RESOLVE_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_body(Some(BODY_TIMEOUT))
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .max_response_header_size(HEAD_BYTES_MAX)
            .input_buffer_size(INPUT_BYTES)
            .output_buffer_size(OUTPUT_BYTES)
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::new(), resolver.clone());
        let places = Arc::new(Semaphore::new(n_at_once_max));
        Ok(Self { policy, agent, resolver, timeout, places, threads: Some(threads) })
    }

    /// Refuses a URL that requests cannot be sent to, as far as that is known without resolving its host.
    ///
    /// # Errors
    /// `Invalid` about `url`, with the rule and, if a setting could allow it, the name of the setting.
    pub fn check(&self, url: &str) -> Result<()> {
        let checked = self.target(url).map(drop);
        checked.map_err(|refusal| Error::invalid_field("url", refusal.0))
    }

    fn target(&self, url: &str) -> Result<Uri, Refusal> {
        let uri = target::parse(url)?;
        self.judge(&uri)?;
        Ok(uri)
    }

    /// Of a URL that may be longer than those that people enter.
    fn judge(&self, uri: &Uri) -> Result<(), Refusal> {
        let target = Target::of(uri)?;
        let Target { scheme, port, .. } = target;
        if let TargetHost::Address(address) = target.host {
            self.policy.judge(scheme, SocketAddr::new(address, port))?;
        } else if target.is_private_name() && self.policy.allow_private_networks.is_empty() {
            let setting = self.policy.sender.private_setting();
            return Err(Refusal(format!(
                "must have a public host; set `{setting}` to allow others"
            )));
        } else if scheme == Scheme::Http && self.policy.allow_http_networks.is_empty() {
            let advice = self.policy.sender.advice_on_http();
            return Err(Refusal(format!("must begin with `https://`; {advice}")));
        }
        Ok(())
    }

    /// Sends the body exactly as given, once. Never fails: the outcome says what happened.
    ///
    /// Waits while `n_at_once_max` requests are in progress; from then on it takes at most the timeout and half a second.
    /// Dropping the call does not cancel its request. Must run on a runtime with time.
    pub async fn post(
        &self,
        url: String,
        headers: Vec<(Cow<'static, str>, String)>,
        body: Arc<str>,
    ) -> Posted {
        let uri = match self.target(&url) {
            Ok(uri) => uri,
            Err(refusal) => {
                return Posted {
                    outcome: PostOutcome::Failed(PostFailure::Refused(refusal.0)),
                    ms: 0,
                };
            }
        };
        let place = Arc::clone(&self.places).acquire_owned().await.expect("never closed");
        let start = Instant::now();
        let sent = self.on_thread(place, move |agent| send(agent, uri, headers, &body)).await;
        let outcome = sent.unwrap_or_else(PostOutcome::Failed);
        Posted { outcome, ms: u32::try_from(start.elapsed().as_millis()).unwrap_or(u32::MAX) }
    }

    /// Sends a request, and returns its answer with any status. Limits as with [`Egress::post`], except that the whole body
    /// of the answer counts, so that it may take the rest of the timeout.
    ///
    /// # Errors
    /// Why there is no answer. `TooLong` if it has more than `bytes_max` bytes.
    pub async fn fetch(
        &self,
        request: Request<Bytes>,
        bytes_max: u64,
    ) -> std::result::Result<Response<Bytes>, PostFailure> {
        let judged = self.judge(request.uri());
        judged.map_err(|refusal| PostFailure::Refused(refusal.0))?;
        let place = Arc::clone(&self.places).acquire_owned().await.expect("never closed");
        let fetched = self.on_thread(place, move |agent| {
            let (head, body) = request.into_parts();
            let answer = match head.method {
                Method::POST => run(agent, Request::from_parts(head, &body[..])),
                _ => run(agent, Request::from_parts(head, ())),
            };
            let (head, body) = answer.map_err(answer::failure)?.into_parts();
            let body = body.into_with_config().limit(bytes_max).read_to_vec();
            Ok(Response::from_parts(head, Bytes::from(body.map_err(answer::failure)?)))
        });
        fetched.await.flatten()
    }

    /// Runs `work` on a thread of its own.
    async fn on_thread<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        work: impl FnOnce(&Agent) -> T + Send + 'static,
    ) -> std::result::Result<T, PostFailure> {
        let threads = self.threads.as_ref().expect("dropped by `drop` alone");
        let agent = self.agent.clone();
        let sending = threads.spawn_blocking(move || {
            let done = work(&agent);
            drop(place); // On the thread, because the caller may be gone.
            done
        });
        match tokio::time::timeout(self.timeout + MARGIN, sending).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(error = %Chain(&error), "a request panicked: {error}");
                Err(PostFailure::Broken("internal error".to_owned()))
            }
            Err(_) => Err(PostFailure::TimedOut),
        }
    }
}

impl Drop for Egress {
    /// Lets requests in progress continue without an owner, because a runtime must not wait for them in an async context.
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// Without a limit of its own for the body of the answer.
fn run(
    agent: &Agent,
    request: Request<impl AsSendBody>,
) -> std::result::Result<Response<Body>, ureq::Error> {
    agent.run(agent.configure_request(request).timeout_recv_body(None).build())
}

fn send(
    agent: &Agent,
    uri: Uri,
    headers: Vec<(Cow<'static, str>, String)>,
    body: &str,
) -> PostOutcome {
    let mut request = agent.post(uri);
    for (name, value) in headers {
        request = request.header(&*name, value);
    }
    match request.send(body.as_bytes()) {
        Ok(response) => answer::read(response),
        Err(error) => PostOutcome::Failed(answer::failure(error)),
    }
}
