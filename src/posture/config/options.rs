//! The options: plain values, one struct for each section.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnetwork::IpNetwork;

use super::database::{DatabaseConfig, database};
use super::mail::{MailConfig, mail};
use super::oidc::{OidcConfig, oidc};
use super::reader::{ConfigReader, Setting};
use super::rule::{
    ByIndustry, acme_domains, by_industry, email, https_url, network, network_or_attached, origins,
    path, public_url, recipient, socket_addr, time_zone, zero_or,
};
use crate::app::client::retention::{OBSERVATIONS_DAYS, STATEMENTS_DAYS};
use crate::app::client::settings::NEW_MEMBER_DAYS;
use crate::app::setting::{BACKUP_HOURS, Configured, LANGUAGES, MSP_NAME_CHARS, N_BACKUPS};
use crate::app::upkeep::EVENTS_DAYS;
use crate::clock::zone::Zone;
use crate::paper::Language;
use crate::store::global::user::Role;
use crate::toml_reader::{Problem, list, number, text, word};

/// Permissions of the socket for a proxy: as the owner, the group, or all users of the machine.
const SOCKET_MODES: [(&str, u32); 3] = [("600", 0o600), ("660", 0o660), ("666", 0o666)];
const ROLES: [(&str, Role); 3] =
    [("viewer", Role::Viewer), ("analyst", Role::Analyst), ("admin", Role::Admin)];
const N_ROLES: RangeInclusive<usize> = 0..=ROLES.len();
const MSP_ID_CHARS: RangeInclusive<usize> = 1..=64;
/// Longer lists of networks are refused.
const N_NETWORKS: RangeInclusive<usize> = 0..=256;
const CACHE_MIB: RangeInclusive<u32> = 8..=65_536;
const CONNECTIONS: RangeInclusive<u32> = 8..=4_096;
/// From what holds for everyone to the age at which each connection ends.
const PROXY_IDLE_S: RangeInclusive<u32> = 10..=600;
const CALLS: RangeInclusive<u32> = 1..=100_000_000;
const PACKETS_PER_S: RangeInclusive<u32> = 1..=1_000_000;
const PER_HOST_CONNECTIONS: RangeInclusive<u32> = 1..=256;
const CONCURRENT_SCANS: RangeInclusive<u32> = 1..=16;
const TIMEOUT_S: RangeInclusive<u32> = 1..=120;
/// Attempts of one delivery.
const N_RETRY_GAPS: RangeInclusive<usize> = 1..=20;
/// At most a week.
const RETRY_GAP_S: RangeInclusive<u32> = 0..=604_800;
/// A gap grows randomly by at most this share of it.
const RETRY_JITTER_PERCENT: u64 = 20;
/// At most ten years.
const DAYS: RangeInclusive<u32> = 1..=3_650;
/// At most a billion dollars.
const DOLLARS: RangeInclusive<u64> = 0..=1_000_000_000;
/// Of a thousand clients in a year.
const INCIDENTS: RangeInclusive<u64> = 0..=1_000;
const RECORDS: RangeInclusive<u64> = 0..=1_000_000;
/// At most a year.
const HOURS: RangeInclusive<u64> = 0..=8_760;
const N_RECIPIENTS: RangeInclusive<usize> = 0..=20;
/// A command and its arguments.
const N_WORDS: RangeInclusive<usize> = 0..=64;
const WORD_CHARS: RangeInclusive<usize> = 1..=4_096;
const S_PER_DAY: u64 = 86_400;
/// Where an ACME authority finds the service.
const ACME_LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 443));
const ACME_HTTP_LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 80));

/// What the process is to do. Every value obeys its rule, and no values contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file that they were read from. `None`: they are the defaults, or come from a text.
    pub file: Option<PathBuf>,
    pub server: Server,
    pub data: DataConfig,
    pub database: DatabaseConfig,
    pub msp: Msp,
    /// `None`: no message is sent.
    pub mail: Option<MailConfig>,
    pub auth: AuthConfig,
    /// `None`: people sign in with passwords alone.
    pub oidc: Option<OidcConfig>,
    pub limits: LimitConfig,
    pub scan: ScanConfig,
    pub webhooks: WebhookConfig,
    pub assessment: Assessment,
    pub retention: RetentionConfig,
    /// The folder whose files are imported. `None`: there is none.
    pub import_watch: Option<PathBuf>,
    pub backup: BackupConfig,
    pub connect: ConnectConfig,
    pub log: Log,
    /// As they were read, for `posture config show`.
    pub(super) settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub listen: SocketAddr,
    /// `None`: `listen` serves plain HTTP.
    pub certificate: Option<CertificateConfig>,
    /// Where plain HTTP leads to HTTPS.
    pub http_listen: Option<SocketAddr>,
    /// The file of the token with which other hosts read `/metrics`.
    pub metrics_token_file: Option<PathBuf>,
    /// The origin at which people reach the service, as browsers write it. `None`: events have no links.
    pub public_url: Option<String>,
    /// Peers whose forwarding header is trusted.
    pub trusted_proxies: Vec<IpNetwork>,
    /// A socket for a proxy on this machine, and its permissions.
    pub listen_socket: Option<(PathBuf, u32)>,
    /// How long a trusted proxy may keep an idle connection.
    pub proxy_idle_timeout_s: u32,
    /// Open connections of one address that is neither loopback nor a trusted proxy.
    pub connections_per_address: u32,
}

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateConfig {
    Files {
        /// With its chain.
        certificate: PathBuf,
        key: PathBuf,
    },
    Acme {
        domains: Vec<String>,
        email: Option<String>,
        /// The URL of the authority's directory.
        directory: String,
        /// The authorities that the certificate of the directory itself may come from, besides the known ones.
        ca_file: Option<PathBuf>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataConfig {
    pub dir: PathBuf,
    /// The key file that somebody else provides. `None`: it is in `dir`.
    pub key_file: Option<PathBuf>,
    /// Size of the database's page cache.
    pub cache_mib: u32,
}

impl DataConfig {
    #[must_use]
    pub fn cache_bytes(&self) -> usize {
        self.cache_mib as usize * 1024 * 1024
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Msp {
    /// `None`: it is generated once and kept.
    pub id: Option<String>,
    /// On reports.
    pub name: Option<String>,
    /// The file of the logo on reports.
    pub logo: Option<PathBuf>,
    /// Of reports whose reader did not ask for one.
    pub language: Language,
    /// Where days end, unless a client has a zone of its own.
    pub time_zone: Zone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthConfig {
    /// Users of these roles must have a second factor.
    pub require_mfa: Vec<Role>,
}

/// Requests of one API key in each window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitConfig {
    pub per_minute: u32,
    pub per_hour: u32,
    pub per_day: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanConfig {
    /// The private networks attached to this host may be scanned.
    pub allow_attached: bool,
    /// What else may be scanned.
    pub allowed_networks: Vec<IpNetwork>,
    /// What may never be scanned, allowed or not.
    pub excluded_networks: Vec<IpNetwork>,
    /// All scans together.
    pub packets_per_s: u32,
    pub per_host_connections: u32,
    /// Scans that run at the same time.
    pub concurrent: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfig {
    pub timeout_s: u32,
    /// The wait before each attempt, including the first. Never shorter than the one before it.
    pub retry_gaps_s: Vec<u32>,
    /// Networks in which an endpoint may have an `http:` URL.
    pub allow_http_networks: Vec<IpNetwork>,
    /// Private networks in which an endpoint may be.
    pub allow_private_networks: Vec<IpNetwork>,
    /// Authorities that the certificate of an endpoint may come from, besides the known ones.
    pub ca_file: Option<PathBuf>,
    /// How long a finished delivery stays listed. Longer than all attempts together.
    pub retention_days: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub stale_asset_days: u32,
    pub new_member_days: u32,
    pub dormant_after_days: u32,
    pub evidence_warning_days: u32,
    /// Serious incidents in a year of 1,000 clients that meet everything.
    pub incidents_per_1000: ByIndustry,
    pub records_per_employee: ByIndustry,
    /// Dollars per lost record.
    pub record_cost: u64,
    /// How long work stops after a serious incident.
    pub downtime_hours: u64,
    /// Dollars per hour of downtime of an organization of 100 employees.
    pub downtime_cost_per_hour: u64,
}

/// How long what ended is kept, in days. 0: it is never removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionConfig {
    pub statements: u32,
    pub observations: u32,
    pub events: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupConfig {
    /// Where scheduled backups go. `None`: there are none.
    pub dir: Option<PathBuf>,
    pub every_h: u32,
    /// How many scheduled backups are kept.
    pub keep: u32,
    /// Public keys that every backup is encrypted to.
    pub recipients: Vec<String>,
    /// The program that runs after a scheduled backup, and its arguments.
    pub after_command: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectConfig {
    /// The name server that connections ask. `None`: those of the system.
    pub dns_server: Option<SocketAddr>,
    /// Networks in which a tool may have an `http:` URL.
    pub allow_http_networks: Vec<IpNetwork>,
    /// Private networks in which a tool or a domain controller may be.
    pub allow_private_networks: Vec<IpNetwork>,
    /// Authorities that a certificate may come from, besides the known ones.
    pub ca_file: Option<PathBuf>,
    /// Origins that are reached through others.
    pub endpoints: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    pub level: LogLevel,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

const LOG_LEVELS: [(&str, LogLevel); 5] = [
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("trace", LogLevel::Trace),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object on each line.
    Json,
}

const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];

/// The values of `posture.toml.example`.
impl Default for Config {
    fn default() -> Self {
        super::parse("posture.toml.example", "").expect("nothing is wrong with an empty file")
    }
}

impl Config {
    /// Every option with its value in effect, and where that comes from.
    #[must_use]
    pub fn configured(&self) -> Vec<Configured> {
        let all = self.settings.iter().cloned();
        all.map(|Setting { key, value, origin }| Configured { key, value, origin }).collect()
    }

    /// # Errors
    /// Everything that is wrong, by line.
    pub(super) fn read(mut it: ConfigReader<'_>) -> Result<Self, Vec<Problem>> {
        let server = server(&mut it);
        let public_url = server.public_url.clone();
        let options = Self {
            file: None,
            server,
            data: DataConfig {
                dir: it.get("data.dir", path),
                key_file: it.find("data.key_file", path),
                cache_mib: it.get("data.cache_mib", number(CACHE_MIB)),
            },
            database: database(&mut it),
            msp: Msp {
                id: it.find("msp.id", text(MSP_ID_CHARS)),
                name: it.find("msp.name", text(MSP_NAME_CHARS)),
                logo: it.find("msp.logo", path),
                language: it.get("msp.language", word(&LANGUAGES)),
                time_zone: it.get("msp.time_zone", time_zone),
            },
            mail: mail(&mut it, public_url.as_deref()),
            auth: AuthConfig {
                require_mfa: it.get("auth.require_mfa", list(N_ROLES, word(&ROLES))),
            },
            oidc: oidc(&mut it, public_url.as_deref()),
            limits: limits(&mut it),
            scan: scan(&mut it),
            webhooks: webhooks(&mut it),
            assessment: assessment(&mut it),
            retention: retention(&mut it),
            import_watch: it.find("import.watch", path),
            backup: backup(&mut it),
            connect: connect(&mut it),
            log: Log {
                level: it.get("log.level", word(&LOG_LEVELS)),
                format: it.get("log.format", word(&LOG_FORMATS)),
            },
            settings: Vec::new(),
        };
        Ok(Self { settings: it.finish()?, ..options })
    }
}

fn server(it: &mut ConfigReader<'_>) -> Server {
    let certificate = it.find("server.tls_cert", path);
    let key = it.find("server.tls_key", path);
    if certificate.is_some() != key.is_some() {
        let rule = "must be set together with server.tls_key";
        it.clash(&["server.tls_cert", "server.tls_key"], rule);
    }
    let domains = it.find("server.acme_domains", acme_domains);
    if certificate.is_some() && domains.is_some() {
        let rule = "the certificate comes from files or from an authority, not both";
        it.clash(&["server.acme_domains", "server.tls_cert"], rule);
    }
    let email = it.find("server.acme_email", email);
    let directory = it.get("server.acme_directory", https_url);
    let ca_file = it.find("server.acme_ca_file", path);
    let mut listen = it.get("server.listen", socket_addr);
    let mut http_listen = it.find("server.http_listen", socket_addr);
    if domains.is_some() {
        let because = "server.acme_domains";
        it.replace_default("server.listen", &mut listen, ACME_LISTEN, because);
        let mut http = http_listen.unwrap_or(ACME_HTTP_LISTEN);
        it.replace_default("server.http_listen", &mut http, ACME_HTTP_LISTEN, because);
        http_listen = Some(http);
    } else if http_listen.is_some() && certificate.is_none() {
        let rule =
            "must be set together with server.tls_cert or server.acme_domains: it leads to HTTPS";
        it.clash(&["server.http_listen", "server.tls_cert", "server.tls_key"], rule);
    }
    let files = certificate.zip(key);
    let files = files.map(|(certificate, key)| CertificateConfig::Files { certificate, key });
    let acme =
        domains.map(|domains| CertificateConfig::Acme { domains, email, directory, ca_file });
    let socket = it.find("server.listen_socket", path);
    let mode = it.get("server.listen_socket_mode", word(&SOCKET_MODES));
    let trusted_proxies = it.get("server.trusted_proxies", list(N_NETWORKS, network));
    if socket.is_some() && !trusted_proxies.iter().any(|it| it.contains(Ipv4Addr::LOCALHOST.into()))
    {
        let rule = "needs \"127.0.0.1\" in server.trusted_proxies: what comes over the socket counts as from there";
        it.clash(&["server.listen_socket", "server.trusted_proxies"], rule);
    }
    let listen_socket = socket.map(|it| (it, mode));
    Server {
        listen,
        certificate: files.or(acme),
        http_listen,
        metrics_token_file: it.find("server.metrics_token_file", path),
        public_url: it.find("server.public_url", public_url),
        trusted_proxies,
        listen_socket,
        proxy_idle_timeout_s: it.get("server.proxy_idle_timeout_s", number(PROXY_IDLE_S)),
        connections_per_address: it.get("server.connections_per_address", number(CONNECTIONS)),
    }
}

fn limits(it: &mut ConfigReader<'_>) -> LimitConfig {
    let limits = LimitConfig {
        per_minute: it.get("limits.per_minute", number(CALLS)),
        per_hour: it.get("limits.per_hour", number(CALLS)),
        per_day: it.get("limits.per_day", number(CALLS)),
    };
    // A longer window that allows less makes the limit of the shorter one meaningless.
    if limits.per_hour < limits.per_minute {
        let keys = ["limits.per_hour", "limits.per_minute"];
        it.clash(&keys, "must not be less than limits.per_minute");
    }
    if limits.per_day < limits.per_hour {
        it.clash(&["limits.per_day", "limits.per_hour"], "must not be less than limits.per_hour");
    }
    limits
}

fn scan(it: &mut ConfigReader<'_>) -> ScanConfig {
    let allowed = it.get("scan.allowed_networks", list(N_NETWORKS, network_or_attached));
    ScanConfig {
        allow_attached: allowed.contains(&None),
        allowed_networks: allowed.into_iter().flatten().collect(),
        excluded_networks: it.get("scan.excluded_networks", list(N_NETWORKS, network)),
        packets_per_s: it.get("scan.packets_per_s", number(PACKETS_PER_S)),
        per_host_connections: it.get("scan.per_host_connections", number(PER_HOST_CONNECTIONS)),
        concurrent: it.get("scan.concurrent", number(CONCURRENT_SCANS)),
    }
}

fn webhooks(it: &mut ConfigReader<'_>) -> WebhookConfig {
    let options = WebhookConfig {
        timeout_s: it.get("webhooks.timeout_s", number(TIMEOUT_S)),
        retry_gaps_s: it.get("webhooks.retry_gaps_s", list(N_RETRY_GAPS, number(RETRY_GAP_S))),
        allow_http_networks: it.get("webhooks.allow_http_networks", list(N_NETWORKS, network)),
        allow_private_networks: it
            .get("webhooks.allow_private_networks", list(N_NETWORKS, network)),
        ca_file: it.find("webhooks.ca_file", path),
        retention_days: it.get("webhooks.retention_days", number(DAYS)),
    };
    if !options.retry_gaps_s.is_sorted() {
        it.clash(
            &["webhooks.retry_gaps_s"],
            "each wait must be at least as long as the one before it",
        );
    }
    let gaps_s: u64 = options.retry_gaps_s.iter().copied().map(u64::from).sum();
    let attempts_s = gaps_s + gaps_s * RETRY_JITTER_PERCENT / 100;
    if u64::from(options.retention_days) * S_PER_DAY <= attempts_s {
        let keys = ["webhooks.retention_days", "webhooks.retry_gaps_s"];
        it.clash(&keys, "must be longer than the sum of webhooks.retry_gaps_s plus a fifth of it");
    }
    options
}

fn assessment(it: &mut ConfigReader<'_>) -> Assessment {
    Assessment {
        stale_asset_days: it.get("assessment.stale_asset_days", number(DAYS)),
        new_member_days: it.get("assessment.new_member_days", number(NEW_MEMBER_DAYS)),
        dormant_after_days: it.get("assessment.dormant_after_days", number(DAYS)),
        evidence_warning_days: it.get("assessment.evidence_warning_days", number(DAYS)),
        incidents_per_1000: it.get("assessment.incidents_per_1000", by_industry(INCIDENTS)),
        records_per_employee: it.get("assessment.records_per_employee", by_industry(RECORDS)),
        record_cost: it.get("assessment.record_cost", number(DOLLARS)),
        downtime_hours: it.get("assessment.downtime_hours", number(HOURS)),
        downtime_cost_per_hour: it.get("assessment.downtime_cost_per_hour", number(DOLLARS)),
    }
}

fn retention(it: &mut ConfigReader<'_>) -> RetentionConfig {
    RetentionConfig {
        statements: it.get("retention.statements_days", zero_or(STATEMENTS_DAYS)),
        observations: it.get("retention.observations_days", zero_or(OBSERVATIONS_DAYS)),
        events: it.get("retention.events_days", number(EVENTS_DAYS)),
    }
}

fn backup(it: &mut ConfigReader<'_>) -> BackupConfig {
    BackupConfig {
        dir: it.find("backup.dir", path),
        every_h: it.get("backup.every_h", number(BACKUP_HOURS)),
        keep: it.get("backup.keep", number(N_BACKUPS)),
        recipients: it.get("backup.recipients", list(N_RECIPIENTS, recipient)),
        after_command: it.get("backup.after_command", list(N_WORDS, text(WORD_CHARS))),
    }
}

fn connect(it: &mut ConfigReader<'_>) -> ConnectConfig {
    ConnectConfig {
        dns_server: it.find("connect.dns_server", socket_addr),
        allow_http_networks: it.get("connect.allow_http_networks", list(N_NETWORKS, network)),
        allow_private_networks: it.get("connect.allow_private_networks", list(N_NETWORKS, network)),
        ca_file: it.find("connect.ca_file", path),
        endpoints: it.get("connect.endpoints", origins),
    }
}
