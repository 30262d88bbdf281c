//! `posture serve`.

use std::future::pending;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{print, serve_options};
use crate::api::edge::metrics_token::MetricsToken;
use crate::app::intake::watch;
use crate::clock::Clock;
use crate::config::{self, Config, LogFormat, LogLevel, Supervision};
use crate::demo::connection;
use crate::demo::fill::{self, Demo};
use crate::demo::office::Login;
use crate::demo::receiver::{self, Receiver};
use crate::demo::story::N_WEEKS;
use crate::error::{Error, Result};
use crate::oidc::ClientSecret;
use crate::serve::certificate::Presented;
use crate::serve::supervisor::Supervisor;
use crate::serve::{self, Opened, ServeOptions, standby};
use crate::store::global::user::Role;

/// Threads for reads and imports. More would only take memory.
const N_BLOCKING_THREADS: usize = 64;
/// How long the end of the process waits for reads in progress whose callers are gone.
const BLOCKING_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posture serve
  posture serve --demo --listen 127.0.0.1:8090")]
pub(super) struct ServeArgs {
    /// Address and port to listen on, instead of `server.listen` of the configuration.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Fill an empty database with a made-up portfolio first.
    #[arg(long)]
    demo: bool,
}

pub(super) fn run(options: &Config, args: &ServeArgs) -> Result<()> {
    start_log(options);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(N_BLOCKING_THREADS)
        .build()
        .map_err(Error::internal)?;
    let served = runtime.block_on(async {
        let mut stop = pin!(stop_signal()?);
        let hangup = signal(SignalKind::hangup()).map_err(Error::internal)?; // Also while it is a standby.
        let wanted = wanted(options, args)?;
        let Some((public, store)) = standby::open(&wanted, &mut stop).await? else { return Ok(()) };
        let control = serve::open_control_socket(&wanted).await?;
        let mut demo = None;
        if args.demo {
            let progress = DemoProgress::start();
            demo = tokio::select! {
                filled = fill::fill(&store, &wanted, |week| progress.show(week)) => Some(filled?),
                () = &mut stop => None,
            };
            progress.finish();
            if demo.is_none() {
                store.close();
                return print::line("stopped; the next `posture serve --demo` continues with the portfolio");
            }
        }
        if let Some(demo) = &demo {
            // At once: if the start fails later on, the passwords are not shown again.
            show_logins(&demo.logins)?;
        }
        let opened = Opened::on(store, Clock::System, &wanted)?;
        if !args.demo && fill::is_unfinished(&opened.app) {
            tracing::warn!("the demonstration portfolio is not complete; `posture serve --demo` completes it");
        }
        let is_new = opened.app.clients.directory.list().is_empty();
        let receiver = match &demo {
            Some(_) => {
                connection::furnish(&opened.app).await?;
                Some(Receiver::start(&opened.app).await?)
            }
            None => None,
        };
        let admin = opened.app.add_first_admin().await?;
        if let Some((name, password)) = &admin {
            // At once: if the start fails later on, the password is not shown again.
            print::line(&format!(
                "the first administrator is `{name}` with password `{password}`; save it now: it is not shown again and must be \
                 changed at first login"
            ))?;
        }
        let admin = admin.or_else(|| demo.as_ref().and_then(first_admin));
        let scheme = if public.presented.is_some() { "https" } else { "http" };
        let plain = public.plain_address();
        let greet = |address| {
            greet(&format!("{scheme}://{address}"), plain, is_new, demo.as_ref(), admin);
        };
        let reloading = reload_on_hangup(hangup, public.presented.clone());
        let receiving = async {
            match &receiver {
                Some(receiver) => receiver.run().await,
                None => pending().await,
            }
        };
        tokio::select! {
            served = serve::serve(opened, public, control, &wanted, greet, stop) => served,
            () = receiving => Ok(()),
            () = reloading => Ok(()),
        }
    });
    // Blocking work that is still in progress ends with the process.
    runtime.shutdown_timeout(BLOCKING_TIMEOUT);
    served
}

/// The options of the configuration, changed as the command line says.
fn wanted(options: &Config, args: &ServeArgs) -> Result<ServeOptions> {
    let mut wanted = serve_options(options)?;
    wanted.listen = args.listen.unwrap_or(wanted.listen);
    let metrics_token = options.server.metrics_token_file.as_deref();
    wanted.metrics_token = metrics_token.map(MetricsToken::read).transpose()?;
    let secret = options.oidc.as_ref().and_then(|it| it.client_secret_file.as_deref());
    if let Some(oidc) = &mut wanted.app.oidc {
        oidc.settings.client_secret = secret.map(ClientSecret::read).transpose()?;
    }
    options.import_watch.as_deref().map_or(Ok(()), watch::check)?;
    let Supervision { socket, watchdog } = config::supervision();
    wanted.supervisor = Supervisor { socket, watchdog };
    if args.demo {
        receiver::allow(&mut wanted);
        connection::allow(&mut wanted);
    }
    Ok(wanted)
}

/// Prints the users of a demonstration that was just completed.
fn show_logins(logins: &[Login]) -> Result<()> {
    if logins.is_empty() {
        return Ok(());
    }
    print::line(
        "users of the demonstration; save the passwords now: they are not shown again and must be changed at first login",
    )?;
    for Login { username, role, password } in logins {
        print::line(&format!("  `{username}` ({}) with password `{password}`", role.as_str()))?;
    }
    Ok(())
}

/// The name and the password of its administrator.
fn first_admin(demo: &Demo) -> Option<(String, String)> {
    let admin = demo.logins.iter().find(|it| it.role == Role::Admin)?;
    Some((admin.username.clone(), admin.password.clone()))
}

/// How far the demonstration is: a bar on a terminal, a line now and then elsewhere.
struct DemoProgress(Option<ProgressBar>);

/// Weeks between two lines.
const WEEKS_PER_LINE: u64 = 5;

impl DemoProgress {
    fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let style = "{bar:40} {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is well formed");
        Self(Some(ProgressBar::new(N_WEEKS).with_style(style)))
    }

    fn show(&self, week: u64) {
        let text = format!("filling the database with made-up clients: week {week} of {N_WEEKS}");
        match &self.0 {
            Some(bar) => {
                bar.set_message(text);
                bar.set_position(week);
            }
            None if week % WEEKS_PER_LINE == 1 => {
                // A closed standard output does not stop the service.
                let _ = print::line(&text);
            }
            None => (),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn start_log(options: &Config) {
    let level = match options.log.level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("warn,posture={level}")))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // In a test the log may have been set up already.
    let _ = match options.log.format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

/// Completes when the process is asked to stop.
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}

/// Reads the certificate again each time the process is told to reload. Never completes.
async fn reload_on_hangup(mut hangup: Signal, certificate: Option<Arc<Presented>>) {
    while hangup.recv().await.is_some() {
        if let Some(certificate) = &certificate {
            certificate.renew_now.notify_one();
            tracing::info!("looking for a new certificate, as SIGHUP asks");
        }
        tracing::info!(
            "posture.toml is read at the start only: restart the service to apply changes of it"
        );
    }
    pending::<()>().await;
}

/// Prints the URL of the service and what to do next.
fn greet(
    url: &str,
    plain: Option<SocketAddr>,
    is_new: bool,
    demo: Option<&Demo>,
    admin: Option<(String, String)>,
) {
    let now = Clock::System.now();
    let mut lines =
        vec![format!("posture {} is listening on {url} since {now}", env!("CARGO_PKG_VERSION"))];
    if let Some(plain) = plain {
        lines.push(format!("http://{plain} leads browsers there, and refuses API calls."));
    }
    lines.push(format!("Guides and API reference: {url}/docs/"));
    if let Some(Demo { key, replaces, .. }) = demo {
        if *replaces {
            lines.push(
                "The demo key of the start before is revoked; use the new one below.".to_owned(),
            );
        }
        let key = key.reveal();
        lines.push("Try it:".to_owned());
        lines.push(format!("curl -H 'X-API-Key: {key}' {url}/api/v1/clients"));
    } else if is_new {
        lines.push(
            "There are no clients yet. In another terminal, with the same configuration:"
                .to_owned(),
        );
        lines.push("  posture client add --name 'Acme Ltd'".to_owned());
        lines.push("  posture key issue --name first --scope read:clients,read:assets,read:scores,read:risks,read:compliance".to_owned());
        lines.push("  posture import --client 'Acme Ltd' prowler-output.ocsf.json".to_owned());
        lines.push("  posture show 'Acme Ltd'".to_owned());
        lines.push(format!("  curl -H 'X-API-Key: KEY' {url}/api/v1/clients"));
    }
    if let Some((name, password)) = admin {
        let body = json!({ "username_or_email": name, "password": password });
        lines.push("Log in:".to_owned());
        lines
            .push(format!("curl -H 'Content-Type: application/json' -d '{body}' {url}/auth/login"));
    }
    for line in lines {
        // A closed standard output does not stop the service: the log goes to standard error.
        let _ = print::line(&line);
    }
}
