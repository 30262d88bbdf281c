//! The server: open the database, start, wait, stop.

pub mod certificate;
pub mod http;
pub mod key_file;
mod plain;
pub mod standby;
pub mod supervisor;

use std::future::pending;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ipnetwork::IpNetwork;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::api::edge::metrics_token::{MetricsAccess, MetricsToken};
use crate::api::{self, SharedService, WebOptions};
use crate::app::{self, App};
use crate::blocking;
use crate::clock::Clock;
use crate::engine::catalog::Catalog;
use crate::error::{Chain, Error, Result};
use crate::origin::Origin;
use crate::secret::Sealer;
use crate::serve::certificate::{CertificateSource, Presented};
use crate::serve::http::limit::ConnectionLimits;
use crate::serve::http::listen::Listener;
use crate::serve::supervisor::Supervisor;
use crate::store::{EngineOptions, Store, StoreOptions};
use crate::web::console::Console;
use crate::{catalog, web, work};

/// The control socket's name in the data directory.
pub const CONTROL_SOCKET: &str = "control.sock";

/// How long after the stop the reading of uploads and other long work are canceled. It is part of [`http::limit::DRAIN_TIMEOUT`].
const CANCEL_AFTER: Duration = Duration::from_secs(4);
/// How long the stop waits for background tasks, after the last request.
const TASKS_TIMEOUT: Duration = Duration::from_secs(4);
/// How long the stop waits for the database to store the last counters and to close. Everything that was acknowledged is
/// durable before.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The part of the configuration that the server needs.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub listen: SocketAddr,
    /// With it `listen` serves HTTPS.
    pub certificate: Option<CertificateSource>,
    /// Where plain HTTP is led to HTTPS. Only together with a certificate.
    pub http_listen: Option<SocketAddr>,
    /// A socket with these permissions, for a proxy on this machine. It serves plain HTTP.
    pub listen_socket: Option<(PathBuf, u32)>,
    /// With which other hosts read the metrics.
    pub metrics_token: Option<MetricsToken>,
    /// The folder of the database and the control socket.
    pub dir: PathBuf,
    /// The key that seals secrets. `None`: [`key_file::KEY_FILE`] in `dir`, made if it is missing.
    pub key_file: Option<PathBuf>,
    pub cache_bytes: usize,
    /// What keeps the rows.
    pub engine: EngineOptions,
    pub trusted_proxies: Vec<IpNetwork>,
    /// How long one of them may keep an idle connection.
    pub proxy_idle_timeout: Duration,
    pub connections_per_ip_max: usize,
    /// Who is told how the service is.
    pub supervisor: Supervisor,
    pub app: app::AppOptions,
}

/// The application on its database, which only this process has open.
pub struct Opened {
    pub app: Arc<App>,
    pub service: SharedService,
    store: Store,
}

impl Opened {
    /// Mounts the application with the embedded catalog on a store.
    ///
    /// # Errors
    /// Those of [`App::open`].
    pub fn on(store: Store, clock: Clock, options: &ServeOptions) -> Result<Self> {
        Self::with_catalog(load_catalog()?, store, clock, options)
    }

    /// [`Opened::on`] with another catalog, such as that of a later release.
    ///
    /// # Errors
    /// As there.
    pub fn with_catalog(
        catalog: Catalog,
        store: Store,
        clock: Clock,
        options: &ServeOptions,
    ) -> Result<Self> {
        let sealer = match &options.key_file {
            Some(path) => Sealer::open_provided(path)?,
            None => key_file::open(&options.dir, store.snapshot()?.key_file()?, clock.now())?,
        };
        if let EngineOptions::Postgres(_) = options.engine {
            key_file::require_same(&sealer, store.snapshot()?.key_file()?)?;
        }
        let mut app_options = options.app.clone();
        for own in [Some(options.listen), options.http_listen].into_iter().flatten() {
            app_options.webhooks.policy.own.push(own);
            app_options.connect.egress.own.push(own);
            app_options.scan.own.push(own);
            if let Some(oidc) = &mut app_options.oidc {
                oidc.settings.egress.own.push(own);
            }
        }
        let app = App::open(store.clone(), catalog, sealer, clock, app_options)?;
        let app = Arc::new(app);
        let web_options = WebOptions {
            trusted_proxies: options.trusted_proxies.clone(),
            metrics_access: metrics_access(options),
        };
        let (shown, proxies) = (Arc::clone(&app), options.trusted_proxies.clone());
        let url = console_url(options);
        let pages = |operations, summaries| {
            web::pages(&Console::new(shown, operations, summaries, proxies, url))
        };
        let service = api::mount(Arc::clone(&app), web_options, pages);
        Ok(Self { app, service, store })
    }

    /// Stores the counters in memory and closes the database.
    ///
    /// # Errors
    /// `Unavailable` if the last counters cannot be stored. The database is closed anyway.
    pub async fn close(self) -> Result<()> {
        let stored = self.app.checkpoint_limits().await;
        let audited = self.app.checkpoint_audit().await;
        let strangers = self.app.checkpoint_unauthenticated().await;
        let store = self.store;
        let closed = blocking::run((), move || {
            store.close();
            Ok(())
        });
        stored.and(audited).and(strangers).and(closed.await)
    }
}

/// Where a server listens for callers: taken before any other work, so that a server that cannot start says so at once.
pub struct PublicListeners {
    main: Listener,
    /// Of plain HTTP, beside HTTPS.
    plain: Option<Listener>,
    /// For a proxy on this machine.
    socket: Option<Listener>,
    /// What `main` presents. `None`: it serves plain HTTP.
    pub presented: Option<Arc<Presented>>,
}

impl PublicListeners {
    /// # Errors
    /// Those of [`certificate::files::present`], [`Listener::tcp`] and [`Listener::proxy_socket`].
    pub async fn open(options: &ServeOptions) -> Result<Self> {
        let presented = Arc::<Presented>::default();
        if let Some(CertificateSource::Files(files)) = &options.certificate {
            certificate::files::present(files, &presented)?;
        }
        let presented = options.certificate.as_ref().map(|_| presented);
        let mut main = Listener::tcp(options.listen).await?;
        if let Some(presented) = &presented {
            main = main.with_tls(presented.config()?);
        }
        let plain = match options.http_listen {
            Some(address) => Some(Listener::tcp(address).await?),
            None => None,
        };
        let socket = match &options.listen_socket {
            Some((path, mode)) => Some(Listener::proxy_socket(path, *mode).await?),
            None => None,
        };
        Ok(Self { main, plain, socket, presented })
    }

    /// Where plain HTTP leads to HTTPS, with the port that the system chose for port 0.
    #[must_use]
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.plain.as_ref().and_then(Listener::local_addr)
    }
}

/// Listens on the control socket.
///
/// # Errors
/// Those of [`Listener::socket`].
pub async fn open_control_socket(options: &ServeOptions) -> Result<Listener> {
    Listener::socket(&options.dir.join(CONTROL_SOCKET)).await
}

/// Opens the database.
///
/// # Errors
/// `Conflict` if another process has it open; those of [`Store::open`].
pub fn open_store(options: &ServeOptions) -> Result<Store> {
    let opened = Store::open(&store_options(options), Clock::System.now());
    opened.map_err(|error| match options.engine {
        EngineOptions::File => error.at(&options.dir.display().to_string()),
        EngineOptions::Postgres(_) => error,
    })
}

fn store_options(options: &ServeOptions) -> StoreOptions {
    let (dir, engine) = (options.dir.clone(), options.engine.clone());
    StoreOptions { dir, cache_bytes: options.cache_bytes, engine }
}

/// Opens the database and the application on it.
///
/// # Errors
/// Those of [`open_store`] and [`App::open`].
pub fn open(options: &ServeOptions) -> Result<Opened> {
    Opened::on(open_store(options)?, Clock::System, options)
}

pub fn load_catalog() -> Result<Catalog> {
    catalog::embedded().map_err(|problems| {
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Error::internal(lines.join("\n"))
    })
}

fn metrics_access(options: &ServeOptions) -> MetricsAccess {
    let people_come_over_https = console_url(options).is_some_and(|it| it.is_https());
    let has_unknown_proxy = people_come_over_https
        && options.certificate.is_none()
        && options.trusted_proxies.is_empty();
    MetricsAccess { token: options.metrics_token.clone(), has_unknown_proxy }
}

/// Where people reach the console: what the configuration says, or the first name of an ordered certificate.
fn console_url(options: &ServeOptions) -> Option<Origin> {
    let named = match &options.certificate {
        Some(CertificateSource::Acme(acme)) => acme.domains.first(),
        Some(CertificateSource::Files(_)) | None => None,
    };
    let named = named.map(|it| format!("https://{it}:{}", options.listen.port()));
    options.app.public_url.clone().or(named).and_then(|it| Origin::parse(&it))
}

/// Serves on the listeners until `until` is done, then stops: no new connections, requests in progress finish, tasks stop, the store
/// closes. `started` is called with the address once requests are answered. Boxed, so that all of it is compiled once, with this
/// package.
///
/// # Errors
/// Those of the store if it cannot be written, or cannot be closed cleanly.
pub fn serve<'a>(
    opened: Opened,
    public: PublicListeners,
    control: Listener,
    options: &'a ServeOptions,
    started: impl FnOnce(SocketAddr) + 'a,
    until: impl Future<Output = ()> + 'a,
) -> LocalBoxFuture<'a, Result<()>> {
    let (started, until) = (Box::new(started), until.boxed_local());
    serve_boxed(opened, public, control, options, started, until).boxed_local()
}

async fn serve_boxed(
    opened: Opened,
    PublicListeners { main, plain, socket, presented }: PublicListeners,
    control: Listener,
    options: &ServeOptions,
    started: Box<dyn FnOnce(SocketAddr) + '_>,
    until: LocalBoxFuture<'_, ()>,
) -> Result<()> {
    let n_files = http::listen::raise_open_files()?;
    tracing::debug!(n_files, "up to {n_files} files may be open");
    options.supervisor.wait_for(settle(&opened.app)).await?;
    note(&opened.app, concat!("start ", env!("CARGO_PKG_VERSION"))).await;
    let address = main.local_addr().unwrap_or(options.listen);
    let public_url = options.app.public_url.clone();
    let to_https = SharedService {
        endpoint: plain::lead_to_https(public_url, address.port(), presented.clone()),
        traffic: Arc::clone(&opened.service.traffic),
        polls: Arc::clone(&opened.service.polls),
    };
    let limits = limits(options);
    let (stop, stopping) = watch::channel(false);
    let (stop_work, work_stopping) = watch::channel(false);
    let service = &opened.service;
    let serving = async {
        tokio::join!(
            http::service::run(main, service.clone(), &limits, stopping.clone()),
            run_on(plain, to_https, &limits, stopping.clone()),
            run_on(socket, service.clone(), &limits, stopping.clone()),
            async {
                if let (Some(source), Some(presented)) = (&options.certificate, &presented) {
                    certificate::keep(&opened.app, source, presented, stopping.clone()).await;
                }
            },
            http::service::run(control, service.clone(), &limits, stopping.clone()),
            options.supervisor.watch(&opened.app, stopping.clone()),
        );
        // Tasks stop after the last request, because they handle what it left due.
        stop_work.send_replace(true);
    };
    let working = work::run(&opened.app, &work_stopping);
    let mut stopped = work_stopping.clone();
    let working = async {
        let overdue = async {
            let _ = stopped.wait_for(|stopping| *stopping).await;
            sleep(TASKS_TIMEOUT).await;
        };
        tokio::select! {
            () = working => (),
            () = overdue => tracing::warn!("background tasks did not finish in time and were dropped"),
        }
    };
    let waiting = async {
        started(address);
        options.supervisor.tell("READY=1");
        until.await;
        options.supervisor.tell("STOPPING=1");
        tracing::info!("stopping");
        stop.send_replace(true);
        sleep(CANCEL_AFTER).await;
        opened.app.cancel_long_work();
    };
    let running = Box::pin(async { tokio::join!(serving, working) });
    tokio::select! {
        _ = running => (),
        () = async { waiting.await; pending().await } => (),
        () = opened.store.taken_over() => {
            // At once: nothing can be answered any more, nor be stored.
            return Err(Error::conflict("another node has taken over the database; this one has stopped"));
        }
    }
    close(opened).await
}

/// Answers on a listener, if there is one.
async fn run_on(
    listener: Option<Listener>,
    service: SharedService,
    limits: &ConnectionLimits,
    stopping: watch::Receiver<bool>,
) {
    if let Some(listener) = listener {
        http::service::run(listener, service, limits, stopping).await;
    }
}

/// Does what a start after another release, configuration or key file has to.
async fn settle(app: &App) -> Result<()> {
    app.settle_installation().await?;
    app.carry_alert_rules().await?;
    app.reassess_outdated().await?;
    app.settle_key_file().await
}

/// Closes the database, unless a write takes too long. Then the process ends without it, as if it was killed: the database
/// loses nothing by that.
async fn close(opened: Opened) -> Result<()> {
    let store = opened.store.clone();
    let closing = async {
        note(&opened.app, "stop").await;
        opened.close().await
    };
    let Ok(closed) = timeout(CLOSE_TIMEOUT, closing).await else {
        tracing::warn!("the database is busy and was not closed; the next start recovers it");
        // Dropping the last handle would wait for the writer.
        std::mem::forget(store);
        return Ok(());
    };
    closed?;
    tracing::info!("stopped");
    Ok(())
}

/// Records an action in the audit log. If that fails, the service still runs, so that data can be read.
async fn note(app: &App, action: &str) {
    if let Err(error) = app.record(action).await {
        tracing::warn!(error = %Chain(&error), "`{action}` could not be recorded in the audit log: {}", Chain(&error));
    }
}

fn limits(options: &ServeOptions) -> ConnectionLimits {
    ConnectionLimits {
        connections_per_ip_max: options.connections_per_ip_max,
        exempt: options.trusted_proxies.clone(),
        proxy_idle_timeout: options.proxy_idle_timeout,
        ..ConnectionLimits::default()
    }
}
