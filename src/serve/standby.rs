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
use crate::api::edge::layer::{metrics_response, require_scraper};
use crate::api::edge::metrics_token::MetricsToken;
use crate::api::edge::node_metric;
use crate::api::edge::traffic::Traffic;
use crate::api::wire::problem;
use crate::api::wire::reply::JSON;
use crate::blocking;
use crate::error::{Chain, Error, Result};
use crate::peer::Peer;
use crate::serve::{
    PublicListeners, ServeOptions, http, limits, open_control_socket, store_options,
};
use crate::store::{ActiveNode, Store};

/// How often it looks whether the other node still has the database.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes the addresses of a server. It is a standby as long as another node has the database. `None`: `until` was done before.
///
/// # Errors
/// Those of [`PublicListeners::open`], [`open_control_socket`] and [`Store::active_node`].
pub async fn listen(
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> Result<Option<PublicListeners>> {
    let public = PublicListeners::open(options).await?;
    let Some(active) = active_node(options).await? else { return Ok(Some(public)) };
    if stand_by(active, public, options, until).await? {
        return PublicListeners::open(options).await.map(Some);
    }
    Ok(None)
}

/// The node that has the database, if it is another one.
async fn active_node(options: &ServeOptions) -> Result<Option<ActiveNode>> {
    let options = store_options(options);
    blocking::run((), move || Store::active_node(&options)).await
}

/// What a standby answers from.
struct Standby {
    /// What the last look saw, and when that was.
    active: Mutex<(ActiveNode, Instant)>,
    metrics_token: Option<MetricsToken>,
}

/// Answers 503 and the name of the node that has the database, until no other has it. Then it returns true, and the
/// listeners are closed. It returns false if `until` is done before.
///
/// # Errors
/// Those of [`open_control_socket`].
async fn stand_by(
    active: ActiveNode,
    public: PublicListeners,
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> Result<bool> {
    let control = open_control_socket(options).await?;
    tracing::info!(
        "standby: {} has the database; this node takes over when that one is gone",
        active.name
    );
    options.supervisor.tell("READY=1");
    let metrics_token = options.metrics_token.clone();
    let standby = Arc::new(Standby { active: Mutex::new((active, Instant::now())), metrics_token });
    let answering = standby.clone();
    let endpoint = make_sync(move |request: Request| answering.answer(&request));
    let service = SharedService {
        endpoint: Arc::new(endpoint.boxed()),
        traffic: Arc::new(Traffic::of(std::iter::empty())),
    };
    let (stop, stopping) = watch::channel(false);
    let (limits, PublicListeners { main, .. }) = (limits(options), public);
    let serving = async {
        tokio::join!(
            http::service::run(main, service.clone(), &limits, stopping.clone()),
            http::service::run(control, service.clone(), &limits, stopping.clone()),
        )
    };
    let waiting = async {
        let is_free = tokio::select! {
            () = standby.wait(options) => true,
            () = until => false,
        };
        stop.send_replace(true);
        is_free
    };
    Ok(tokio::join!(serving, waiting).1)
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

    /// Waits until no other node has the database.
    async fn wait(&self, options: &ServeOptions) {
        loop {
            sleep(LOOK_EVERY).await;
            match active_node(options).await {
                Ok(None) => return,
                Ok(Some(node)) => *self.lock_active() = (node, Instant::now()),
                // The server of the database may be away for as long as it likes.
                Err(error) => tracing::warn!(error = %Chain(&error), "standby: {error}"),
            }
            options.supervisor.tell("WATCHDOG=1");
        }
    }

    fn answer(&self, request: &Request) -> Response {
        let (active, path) = (self.active(), request.uri().path());
        let is_here = matches!(request.data::<Peer>(), Some(Peer::Socket { .. }));
        let mut response = match path {
            "/healthz" => json_response(&json!({ "data": { "status": "ok" } })),
            "/metrics" => match require_scraper(request, self.metrics_token.as_ref()) {
                Ok(()) => metrics_response(metrics(&active)),
                Err(refused) => problem::respond(&refused),
            },
            "/api/system" if is_here => json_response(&state(&active)),
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

fn metrics(active: &ActiveNode) -> String {
    let mut text = String::new();
    node_metric::add(&mut text, active, false);
    text.push_str("# EOF\n");
    text
}

/// What `posture status` shows on this host.
fn state(ActiveNode { name, epoch, lease_age }: &ActiveNode) -> Value {
    json!({ "data": {
        "version": env!("CARGO_PKG_VERSION"),
        "ready": false,
        "node": {
            "role": "standby",
            "active": name,
            "epoch": epoch,
            "leaseAgeMs": u64::try_from(lease_age.as_millis()).unwrap_or(u64::MAX),
        },
    } })
}
