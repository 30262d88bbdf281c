//! A server whose database another node has: it waits, and says so.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use poem::endpoint::make_sync;
use poem::http::{HeaderValue, header};
use poem::{EndpointExt, Request, Response};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::api::SharedService;
use crate::api::edge::traffic::Traffic;
use crate::api::wire::problem;
use crate::blocking;
use crate::error::{Chain, Error, Result};
use crate::serve::{PublicListeners, ServeOptions, http, limits, store_options};
use crate::store::Store;

/// How often it looks whether the other node still has the database.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes the addresses of a server. It is a standby as long as another node has the database. `None`: `until` was done before.
///
/// # Errors
/// Those of [`PublicListeners::open`] and [`Store::active_node`].
pub async fn listen(
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> Result<Option<PublicListeners>> {
    let public = PublicListeners::open(options).await?;
    let Some(active) = active_node(options).await? else { return Ok(Some(public)) };
    if stand_by(active, public, options, until).await {
        return PublicListeners::open(options).await.map(Some);
    }
    Ok(None)
}

/// The node that has the database, if it is another one.
async fn active_node(options: &ServeOptions) -> Result<Option<String>> {
    let options = store_options(options);
    blocking::run((), move || Store::active_node(&options)).await
}

/// Answers 503 and the name of the node that has the database, until no other has it. Then it returns true, and the
/// listeners are closed. It returns false if `until` is done before.
async fn stand_by(
    active: String,
    public: PublicListeners,
    options: &ServeOptions,
    until: impl Future<Output = ()>,
) -> bool {
    tracing::info!(
        "standby: {active} has the database; this node takes over when that one is gone"
    );
    options.supervisor.tell("READY=1");
    let active = Arc::new(Mutex::new(active));
    let named = active.clone();
    let endpoint = make_sync(move |request: Request| {
        let active = named.lock().unwrap_or_else(PoisonError::into_inner).clone();
        answer(request.uri().path(), &active)
    });
    let service = SharedService {
        endpoint: Arc::new(endpoint.boxed()),
        traffic: Arc::new(Traffic::of(Vec::new())),
    };
    let (stop, stopping) = watch::channel(false);
    let (limits, PublicListeners { main, .. }) = (limits(options), public);
    let serving = http::service::run(main, service, &limits, stopping);
    let waiting = async {
        let is_free = tokio::select! {
            () = wait(options, &active) => true,
            () = until => false,
        };
        stop.send_replace(true);
        is_free
    };
    tokio::join!(serving, waiting).1
}

/// Waits until no other node has the database.
async fn wait(options: &ServeOptions, active: &Mutex<String>) {
    loop {
        sleep(LOOK_EVERY).await;
        match active_node(options).await {
            Ok(None) => return,
            Ok(Some(name)) => *active.lock().unwrap_or_else(PoisonError::into_inner) = name,
            // The server of the database may be away for as long as it likes.
            Err(error) => tracing::warn!(error = %Chain(&error), "standby: {error}"),
        }
        options.supervisor.tell("WATCHDOG=1");
    }
}

fn answer(path: &str, active: &str) -> Response {
    if path == "/healthz" {
        return Response::builder()
            .content_type(crate::api::wire::reply::JSON)
            .header(header::CACHE_CONTROL, "no-cache")
            .body(r#"{"data":{"status":"ok"}}"#);
    }
    // Without the folder, which is nobody's business.
    let host = active.split(" (").next().unwrap_or_default();
    let rule = format!("this node is a standby; {host} is active");
    let mut response = problem::respond(&Error::unavailable(rule));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
