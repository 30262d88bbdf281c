//! `posture serve`.

use std::io::IsTerminal;
use std::net::SocketAddr;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{print, serve_options};
use crate::clock::Clock;
use crate::config::{Config, LogFormat, LogLevel};
use crate::demo::fill;
use crate::error::{Error, Result};
use crate::serve;

/// Threads for reads and imports. More would only take memory.
const N_BLOCKING_THREADS: usize = 64;

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
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
    runtime.block_on(async {
        let stop = stop_signal()?;
        let mut wanted = serve_options(options);
        if args.demo {
            fill::price(&mut wanted);
        }
        let demo_key = if args.demo { Some(fill::fill(&wanted).await?) } else { None };
        let opened = serve::open(&wanted)?;
        let is_new = opened.app.clients.directory.list().is_empty();
        let key = demo_key.as_ref().map(crate::auth::key::KeyText::reveal);
        let admin = opened.app.add_first_admin().await?;
        if let Some((name, password)) = &admin {
            // Before listening: if the address is in use, the process ends and the password is not shown again.
            print::line(&format!(
                "the first administrator is `{name}` with password `{password}`; save it now: it is not shown again and must be \
                 changed at first login"
            ))?;
        }
        let greet = |address| greet(address, is_new, key, admin);
        serve::serve(opened, &wanted, greet, stop).await
    })
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
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}

/// Prints the address of the service and what to do next.
fn greet(address: SocketAddr, is_new: bool, key: Option<&str>, admin: Option<(String, String)>) {
    let now = Clock::System.now();
    let mut lines = vec![format!(
        "posture {} is listening on http://{address} since {now}",
        env!("CARGO_PKG_VERSION")
    )];
    lines.push(format!("Guides and API reference: http://{address}/docs/"));
    if let Some(key) = key {
        lines.push("Try it:".to_owned());
        lines.push(format!("curl -H 'X-API-Key: {key}' http://{address}/api/v1/clients"));
    } else if is_new {
        lines.push(
            "There are no clients yet. In another terminal, with the same configuration:"
                .to_owned(),
        );
        lines.push("  posture client add --name 'Acme Ltd'".to_owned());
        lines.push("  posture key issue --name first --scope read:clients,read:assets,read:scores,read:risks,read:compliance".to_owned());
        lines.push("  posture import --client CLIENT_ID prowler-output.ocsf.json".to_owned());
        lines.push(format!("  curl -H 'X-API-Key: KEY' http://{address}/api/v1/clients"));
    }
    if let Some((name, password)) = admin {
        let body = json!({ "username_or_email": name, "password": password });
        lines.push("Log in:".to_owned());
        lines.push(format!(
            "curl -H 'Content-Type: application/json' -d '{body}' http://{address}/auth/login"
        ));
    }
    for line in lines {
        // A closed standard output does not stop the service: the log goes to standard error.
        let _ = print::line(&line);
    }
}
