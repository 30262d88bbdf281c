//! How to reach the server: a URL, and the authorities that its certificate may come from.

use std::net::IpAddr;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_tokio_postgres::MakeRustlsConnect;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{Error, Result};

/// A server that takes longer to accept a connection counts as one that does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection is lost if the server's host acknowledges nothing for this long.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How long a connection is idle before its host is asked whether it is there.
const IDLE: Duration = Duration::from_secs(5);

/// How to reach a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(super) config: Config,
    tls: ClientConfig,
}

impl PostgresOptions {
    /// The server's certificate and name are verified against `roots`, unless the server is on this host and the URL says
    /// `sslmode=disable`.
    ///
    /// # Errors
    /// `Invalid` if it is no URL of a server, or does not verify a server on another host. The message has no part of it.
    pub fn parse(url: &str, roots: RootCertStore) -> Result<Self> {
        let (url, ssl_mode) = without_ssl_mode(url)?;
        let mut config: Config = url.parse().map_err(|_| not_a_url())?;
        if config.get_hosts().is_empty() || config.get_user().is_none() {
            return Err(not_a_url());
        }
        let is_socket = config.get_hosts().iter().all(|it| matches!(it, Host::Unix(_)));
        let is_here = config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_here);
        config.ssl_mode(match ssl_mode.as_deref() {
            None | Some("verify-full") if is_socket => SslMode::Disable,
            None | Some("verify-full") => SslMode::Require,
            Some("disable") if is_here => SslMode::Disable,
            Some("disable") => {
                let rule = "sslmode=disable is only for a server on this host, such as localhost; remove it";
                return Err(Error::invalid(rule));
            }
            Some(_) => {
                let rule = "sslmode must be verify-full, which is the default: the others do not verify the server";
                return Err(Error::invalid(rule));
            }
        });
        config.application_name("posture").keepalives_idle(IDLE).tcp_user_timeout(SILENCE_MAX);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let tls = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config, tls })
    }

    pub(super) fn connector(&self) -> MakeRustlsConnect {
        MakeRustlsConnect::new(self.tls.clone())
    }

    /// The user, for a message.
    pub(super) fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    /// The database, for a message.
    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.user())
    }

    /// The servers, for a message.
    pub(super) fn hosts(&self) -> String {
        let ports = self.config.get_ports();
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let named = self.config.get_hosts().iter().enumerate().map(|(index, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port(index)),
            Host::Unix(folder) => folder.display().to_string(),
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

/// The URL without `sslmode`, of which the library does not know all values, and its value.
fn without_ssl_mode(url: &str) -> Result<(String, Option<String>)> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(not_a_url());
    }
    // A password may have a question mark.
    let host = url.rfind('@').unwrap_or_default();
    let Some(at) = url[host..].find('?') else { return Ok((url.to_owned(), None)) };
    let (start, query) = (&url[..host + at], &url[host + at + 1..]);
    let mut mode = None;
    let mut kept = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", _)) => {
                let rule = "sslrootcert is not read; name the file in database.ca_file";
                return Err(Error::invalid(rule));
            }
            _ => kept.push(part),
        }
    }
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    Ok((format!("{start}{query}"), mode))
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|it: IpAddr| it.is_loopback())
        }
    }
}

fn not_a_url() -> Error {
    Error::invalid(
        "must be a URL such as postgres://posture:PASSWORD@db.example.com/posture; write special characters of the password as \
         %XX",
    )
}
