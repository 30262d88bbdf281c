//! How to reach the server: a URL, and the authorities that its certificate may come from.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_tokio_postgres::MakeRustlsConnect;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::error::{Error, Result};

/// An address that takes longer to accept a connection counts as one that does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// What a server may take longer until the connection can be used.
const GREETING_TIMEOUT: Duration = Duration::from_secs(3);
/// A connection is lost if the server's host acknowledges nothing for this long.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How long a connection is idle before its host is asked whether it is there, and how often from then on.
const IDLE: Duration = Duration::from_secs(5);
const ASK_EVERY: Duration = Duration::from_secs(2);

/// How to reach a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// All servers of the URL.
    config: Config,
    /// Each of them alone.
    servers: Vec<Config>,
    /// The one to begin with. Clones have the same.
    first: Arc<AtomicUsize>,
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
        let config: Config = url.parse().map_err(|_| not_a_url())?;
        let mut server: Config = without_servers(&url).parse().map_err(|_| not_a_url())?;
        if config.get_hosts().is_empty() || config.get_user().is_none() {
            return Err(not_a_url());
        }
        let is_socket = config.get_hosts().iter().all(|it| matches!(it, Host::Unix(_)));
        let is_here = config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_here);
        server.ssl_mode(match ssl_mode.as_deref() {
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
        server.application_name("posture").tcp_user_timeout(SILENCE_MAX);
        server.keepalives_idle(IDLE).keepalives_interval(ASK_EVERY);
        if server.get_connect_timeout().is_none() {
            server.connect_timeout(CONNECT_TIMEOUT);
        }
        if 1 < config.get_hosts().len() {
            // A standby answers from a state of its own.
            server.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let tls = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let servers = (0..config.get_hosts().len()).map(|it| one_server(&config, it, &server));
        Ok(Self { servers: servers.collect(), config, first: Arc::default(), tls })
    }

    /// The servers in the order in which they are asked, each with its number.
    pub(super) fn servers(&self) -> impl Iterator<Item = (usize, &Config)> {
        let first = self.first.load(Ordering::Relaxed);
        let all = self.servers.iter().enumerate();
        all.clone().skip(first).chain(all.take(first))
    }

    /// From now on this server is asked first.
    pub(super) fn begin_with(&self, number: usize) {
        self.first.store(number, Ordering::Relaxed);
    }

    /// If this server is asked first, it is the next one from now on.
    pub(super) fn begin_behind(&self, number: usize) {
        if self.first.load(Ordering::Relaxed) == number {
            self.begin_with((number + 1) % self.servers.len());
        }
    }

    /// How long a server is waited for until the connection can be used.
    pub(super) fn wait(&self) -> Duration {
        let accepted = self.servers.first().and_then(Config::get_connect_timeout);
        accepted.copied().unwrap_or_default() + GREETING_TIMEOUT
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

/// The URL without what names servers.
fn without_servers(url: &str) -> String {
    let scheme = url.find("://").map_or(0, |it| it + 3);
    let start = url.find('@').map_or(scheme, |it| it + 1);
    let (user, rest) = url.split_at(start);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (path, query) = rest[end..].split_once('?').unwrap_or((&rest[end..], ""));
    let is_kept =
        |it: &&str| !["host=", "hostaddr=", "port="].iter().any(|name| it.starts_with(name));
    let kept: Vec<&str> = query.split('&').filter(|it| !it.is_empty()).filter(is_kept).collect();
    format!("{user}{path}?{}", kept.join("&"))
}

/// One of the servers of a URL, with what all of them have in common.
fn one_server(all: &Config, index: usize, common: &Config) -> Config {
    let mut server = common.clone();
    match &all.get_hosts()[index] {
        Host::Tcp(name) => server.host(name),
        Host::Unix(folder) => server.host_path(folder),
    };
    if let Some(address) = all.get_hostaddrs().get(index) {
        server.hostaddr(*address);
    }
    let ports = all.get_ports();
    if let Some(port) = ports.get(index).or(ports.first()) {
        server.port(*port);
    }
    server
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
