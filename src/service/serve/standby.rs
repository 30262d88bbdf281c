//! A server whose database another node has: it waits, and says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use poem::endpoint::make_sync;
use poem::http::{HeaderValue, header};
use poem::{EndpointExt, Request, Response};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::api::SharedService;
use crate::api::edge::exposition;
use crate::api::edge::layer::require_scraper;
use crate::api::edge::metrics_token::MetricsAccess;
use crate::api::edge::node_metric;
use crate::api::edge::traffic::Traffic;
use crate::api::wire::problem;
use crate::api::wire::reply::JSON;
use crate::background::FailureLog;
use crate::blocking;
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::peer::Peer;
use crate::serve::certificate::{self, Presented};
use crate::serve::{
    CertificateSource, PublicListeners, ServeOptions, http, key_file, limits, metrics_access,
    open_control_socket, open_store, store_options,
};
use crate::store::{ActiveNode, Glimpse, Store};

/// How often it looks whether the other node still has the database.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes the addresses of a server, and opens its database. It is a standby as long as another node has the database. `None`:
/// `until` was done before.
///
/// # Errors
/// Those of [`PublicListeners::open`], [`open_control_socket`], [`Store::glimpse`] and [`open_store`]; `Invalid` if this node
/// does not have the key of the database.
pub async fn open(
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> Result<Option<(PublicListeners, Store)>> {
    let public = PublicListeners::open(options).await?;
    let seen = glimpse(options).await?;
    seen.is_usable?;
    let Some(active) = seen.active else {
        return Ok(Some((public, open_store(options)?)));
    };
    let Some(store) = stand_by(active, public, options, until).await? else { return Ok(None) };
    Ok(Some((PublicListeners::open(options).await?, store)))
}

/// What this node sees of the database. It is not usable without its key file either.
async fn glimpse(options: &ServeOptions) -> Result<Glimpse> {
    let (dir, provided) = (options.dir.clone(), options.key_file.clone());
    let options = store_options(options);
    let look = move || {
        let seen = Store::glimpse(&options)?;
        let has_key = match seen.key_file {
            Some(needed) => key_file::require_at(&dir, provided.as_deref(), needed),
            None => Ok(()),
        };
        Ok(Glimpse { is_usable: seen.is_usable.and(has_key), ..seen })
    };
    blocking::run((), look).await
}

/// What a standby answers from.
struct Standby {
    /// What the last look saw, and when that was.
    active: Mutex<(ActiveNode, Instant)>,
    /// Why it could not take over now.
    problem: Mutex<Option<String>>,
    metrics_access: MetricsAccess,
}

/// Answers 503 and the name of the node that has the database, until no other has it and it is open here. Then the listeners
/// are closed. `None`: `until` was done before.
///
/// # Errors
/// Those of [`open_control_socket`].
async fn stand_by(
    active: ActiveNode,
    public: PublicListeners,
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> Result<Option<Store>> {
    let control = open_control_socket(options).await?;
    tracing::info!(
        "standby: {} has the database; this node takes over when that one is gone",
        active.name
    );
    options.supervisor.tell("READY=1");
    let active = Mutex::new((active, Instant::now()));
    let metrics_access = metrics_access(options);
    let standby = Arc::new(Standby { active, problem: Mutex::default(), metrics_access });
    let answering = standby.clone();
    let endpoint = make_sync(move |request: Request| answering.answer(&request));
    let service = SharedService {
        endpoint: Arc::new(endpoint.boxed()),
        traffic: Arc::new(Traffic::of(std::iter::empty())),
        polls: Arc::default(),
    };
    let (stop, stopping) = watch::channel(false);
    let (limits, PublicListeners { main, presented, .. }) = (limits(options), public);
    let serving = async {
        tokio::join!(
            http::service::run(main, service.clone(), &limits, stopping.clone()),
            http::service::run(control, service.clone(), &limits, stopping.clone()),
            keep_certificate(options, presented, stopping.clone()),
        )
    };
    let waiting = async {
        let opened = tokio::select! {
            store = standby.wait(options) => Some(store),
            () = until => None,
        };
        stop.send_replace(true);
        opened
    };
    Ok(tokio::join!(serving, waiting).1)
}

/// A standby may wait for longer than a certificate is valid.
async fn keep_certificate(
    options: &ServeOptions,
    presented: Option<Arc<Presented>>,
    stop: watch::Receiver<bool>,
) {
    if let (Some(CertificateSource::Files(files)), Some(presented)) =
        (&options.certificate, &presented)
    {
        let changed = |key| presented.present(key);
        certificate::files::follow(files, changed, &presented.renew_now, stop).await;
    }
}

impl Standby {
    fn lock_active(&self) -> MutexGuard<'_, (ActiveNode, Instant)> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it would be now, if it has not renewed its lease since the last look.
    fn active(&self) -> ActiveNode {
        let (active, seen) = self.lock_active().clone();
        ActiveNode { lease_age: active.lease_age + seen.elapsed(), ..active }
    }

    /// Waits until no other node has the database, and opens it. The server of the database may be down for any length of
    /// time, also during that.
    async fn wait(&self, options: &ServeOptions) -> Store {
        let mut failures = FailureLog::default();
        loop {
            sleep(LOOK_EVERY).await;
            let opened = self.try_open(options).await;
            options.supervisor.tell("WATCHDOG=1");
            let problem = match opened {
                Ok(Some(store)) => return store,
                Ok(None) => None,
                Err(error) => Some(error),
            };
            match &problem {
                Some(error) => failures.failed("this standby cannot take over", error),
                None => failures.succeeded(),
            }
            let problem = problem.map(|it| it.to_string());
            *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        }
    }

    /// Opens the database if no other node has it.
    async fn try_open(&self, options: &ServeOptions) -> Result<Option<Store>> {
        let seen = glimpse(options).await?;
        let is_free = seen.active.is_none();
        if let Some(node) = seen.active {
            *self.lock_active() = (node, Instant::now());
        }
        seen.is_usable?;
        if !is_free {
            return Ok(None);
        }
        let options = store_options(options);
        let open = move || Store::open(&options, Clock::System.now());
        match blocking::run((), open).await {
            // Another standby was faster.
            Err(error) if error.code == Code::Conflict => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, request: &Request) -> Response {
        let (active, path) = (self.active(), request.uri().path());
        let is_here = matches!(request.data::<Peer>(), Some(Peer::Socket { .. }));
        let mut response = match path {
            "/healthz" => json_response(&json!({ "data": { "status": "ok" } })),
            "/metrics" => match require_scraper(request, &self.metrics_access) {
                Ok(()) => {
                    let text = metrics(&active, self.problem().is_none());
                    exposition::respond(text, request.headers())
                }
                Err(refused) => problem::respond(&refused),
            },
            "/api/system" if is_here => json_response(&state(&active, self.problem().as_deref())),
            _ => {
                // Without the folder, which is nobody's business.
                let host = active.name.split(" (").next().unwrap_or_default();
                let named = if is_here { &active.name } else { host };
                problem::respond(&Error::unavailable(format!(
                    "this node is a standby; {named} is active"
                )))
            }
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn json_response(body: &Value) -> Response {
    Response::builder().content_type(JSON).body(body.to_string())
}

fn metrics(active: &ActiveNode, can_take_over: bool) -> String {
    let mut text = String::new();
    node_metric::add(&mut text, active, None);
    node_metric::add_standby(&mut text, can_take_over);
    text.push_str("# EOF\n");
    text
}

/// What `posture status` shows on this host.
fn state(ActiveNode { name, epoch, lease_age }: &ActiveNode, problem: Option<&str>) -> Value {
    json!({ "data": {
        "version": env!("CARGO_PKG_VERSION"),
        "ready": false,
        "node": {
            "role": "standby",
            "active": name,
            "epoch": epoch,
            "leaseAgeMs": u64::try_from(lease_age.as_millis()).unwrap_or(u64::MAX),
            "problem": problem,
        },
    } })
}
