//! The metrics in the `OpenMetrics` text format. They are registered once and set at each scrape.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::node_metric;
use crate::api::edge::traffic::Traffic;
use crate::app::backup::BackupState;
use crate::app::certificate::CertificateHealth;
use crate::app::connect::ConnectionFigures;
use crate::app::intake::count::IntakeFigures;
use crate::app::intake::watch::WatchFigures;
use crate::app::scan::registry::ScanFigures;
use crate::app::webhook::delivery::DeliveryHealth;
use crate::clock::Time;
use crate::poll::PollWatch;
use crate::store::{ActiveNode, Health, StoreMemory};

type Amount = Gauge<u64, AtomicU64>;
/// By one label.
type Counters = Family<[(&'static str, &'static str); 1], Counter>;

type Gauges = Family<[(&'static str, &'static str); 1], Amount>;

/// All metrics of the service.
pub struct Metrics {
    traffic: Registry,
    polls: Arc<PollWatch>,
    long_polls: Counter,
    work: WorkMetrics,
    store: Registry,
    /// Left out of a scrape when the store cannot be read.
    webhooks: Registry,
    /// As well.
    connections: ConnectionMetrics,
    /// As well.
    backups: BackupMetrics,
    ready: Amount,
    clients: Amount,
    commits: Counter,
    writes: Counter,
    damaged: Counter,
    queue: Amount,
    failures: Counter,
    disk_full: Amount,
    clock_ahead: Amount,
    database_bytes: Amount,
    resident: Amount,
    memory: Family<[(&'static str, &'static str); 1], Amount>,
    waiting: Amount,
    due_for: Amount,
    disabled: Amount,
    attempts: Counters,
    /// Left out of a scrape while the service presents no certificate.
    certificate: Registry,
    certificate_expires: Amount,
    certificate_failures: Counter,
}

/// What is known of connections.
struct ConnectionMetrics {
    registry: Registry,
    by_health: Gauges,
    /// Left out of a scrape while nobody knows when it expires.
    credential: Registry,
    expires: Amount,
}

impl Default for ConnectionMetrics {
    fn default() -> Self {
        let by_health = Gauges::default();
        let mut registry = Registry::with_prefix("posture");
        registry.register("connections", "Connections", by_health.clone());
        let mut credential = Registry::with_prefix("posture");
        let help = "When the credential of the Microsoft app expires, in seconds since 1970";
        let expires = gauge(&mut credential, "credential_expires_timestamp_seconds", help);
        Self { registry, by_health, credential, expires }
    }
}

impl ConnectionMetrics {
    fn add(&self, text: &mut String, figures: &ConnectionFigures) {
        for (health, n) in figures.by_health {
            self.by_health.get_or_create(&[("health", health)]).set(n);
        }
        encode_registry(text, &self.registry).expect(NEVER);
        if let Some(until) = figures.credential_expires_at {
            self.expires.set(u64::try_from(until.s()).unwrap_or(0));
            encode_registry(text, &self.credential).expect(NEVER);
        }
    }
}

/// What is known of backups.
struct BackupMetrics {
    registry: Registry,
    success_at: Amount,
    bytes: Amount,
    duration: Gauge<f64, AtomicU64>,
    failures: Counter,
    command_failures: Counter,
    drill_at: Amount,
}

impl Default for BackupMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("posture_backup");
        let mut amount = |name: &str, help: &str| gauge(&mut registry, name, help);
        let help = "When the last verified backup was made, 0 if there is none";
        let success_at = amount("last_success_timestamp_seconds", help);
        let bytes = amount("last_bytes", "Length of the last verified backup");
        let help = "When a backup was last restored as a drill, 0 if never";
        let drill_at = amount("drill_last_success_timestamp_seconds", help);
        let (duration, failures, command_failures) =
            (Gauge::default(), Counter::default(), Counter::default());
        let help = "How long the last verified backup took";
        registry.register("last_duration_seconds", help, duration.clone());
        let help = "Scheduled backups that failed since the start";
        registry.register("failures", help, failures.clone());
        let help = "Runs of backup.after_command that failed since the start";
        registry.register("command_failures", help, command_failures.clone());
        Self { registry, success_at, bytes, duration, failures, command_failures, drill_at }
    }
}

impl BackupMetrics {
    fn add(&self, text: &mut String, state: &BackupState) {
        let seconds = |it: Time| u64::try_from(it.s()).unwrap_or(0);
        if let Some(last) = &state.last_backup {
            self.success_at.set(seconds(last.at));
            self.bytes.set(last.n_bytes);
            self.duration.set(Duration::from_millis(last.duration_ms).as_secs_f64());
        }
        if let Some(last) = &state.last_drill {
            self.drill_at.set(seconds(last.at));
        }
        count(&self.failures, state.n_failures);
        count(&self.command_failures, state.n_command_failures);
        encode_registry(text, &self.registry).expect(NEVER);
    }
}

/// What is known of scans, runs of sources and imports.
struct WorkMetrics {
    registry: Registry,
    running: Amount,
    scans: Counters,
    runs: Counters,
    records: Counter,
    imports: Counters,
    watched: Counters,
    watch_waiting: Amount,
}

impl Default for WorkMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("posture");
        let running = gauge(&mut registry, "scans_running", "Scans that run now");
        let mut counters = |name: &str, help: &str| {
            let counters = Counters::default();
            registry.register(name, help, counters.clone());
            counters
        };
        let scans = counters("scans_ended", "Scans that ended since the start");
        let help = "Runs of sources since the start: files, pushes and scans";
        let runs = counters("source_runs", help);
        let imports = counters("imports", "Files that were imported since the start");
        let records = Counter::default();
        let help = "Records in runs of sources since the start";
        registry.register("source_records", help, records.clone());
        let watched = Counters::default();
        let help = "Files that were taken from the watch folder since the start";
        registry.register("watch_files", help, watched.clone());
        let help = "Files that wait in the watch folder";
        let watch_waiting = gauge(&mut registry, "watch_waiting", help);
        Self { registry, running, scans, runs, records, imports, watched, watch_waiting }
    }
}

impl WorkMetrics {
    fn add(&self, text: &mut String, figures: &Figures) {
        let Figures { scans, intake, watch, .. } = figures;
        self.running.set(scans.n_running);
        count_each(&self.scans, scans.ended);
        count_each(&self.watched, watch.files);
        self.watch_waiting.set(watch.n_waiting);
        count_each(&self.runs, intake.runs);
        count(&self.records, intake.n_records);
        count_each(&self.imports, intake.imports);
        encode_registry(text, &self.registry).expect(NEVER);
    }
}

/// What a scrape shows.
pub struct Figures {
    pub health: Health,
    pub n_clients: u64,
    /// Length of the database file.
    pub database_bytes: u64,
    /// `None`: the database is a file.
    pub node: Option<ActiveNode>,
    /// 0: the clock is believed.
    pub clock_ahead_s: u64,
    pub memory: MemoryUse,
    /// `None`: the store cannot be read.
    pub deliveries: Option<DeliveryHealth>,
    pub certificate: CertificateHealth,
    /// `None`: the store cannot be read.
    pub connections: Option<ConnectionFigures>,
    /// `None`: the store cannot be read.
    pub backups: Option<BackupState>,
    pub scans: ScanFigures,
    pub intake: IntakeFigures,
    pub watch: WatchFigures,
}

/// What is in memory, in bytes.
pub struct MemoryUse {
    /// Of the process, as the operating system counts it.
    pub resident: u64,
    pub store: StoreMemory,
    /// Cached answers.
    pub answers: u64,
}

/// The resident memory of this process in bytes. 0: unknown.
#[must_use]
pub fn resident_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let n_pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
    n_pages * rustix::param::page_size() as u64
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Amount {
    let gauge = Amount::default();
    registry.register(name, help, gauge.clone());
    gauge
}

impl Metrics {
    #[must_use]
    pub fn new(traffic: Arc<Traffic>, polls: Arc<PollWatch>) -> Self {
        let mut requests = Registry::with_prefix("posture");
        requests.register_collector(Box::new(traffic));
        let mut store = Registry::with_prefix("posture");
        let mut amount = |name: &str, help: &str| gauge(&mut store, name, help);
        let ready = amount("ready", "1 if the store can be read and written");
        let clients = amount("clients", "Clients in any state");
        let queue = amount("store_queue", "Writes that are queued or in progress");
        let disk_full = amount("store_disk_full", "1 while writes are refused for lack of space");
        let help = "How far the clock is ahead of the time that passed, while that is in doubt";
        let clock_ahead = amount("clock_ahead_seconds", help);
        let database_bytes = amount("database_bytes", "Length of the database file");
        let resident = amount("resident_memory_bytes", "Memory of the process");
        let memory = Family::<[(&str, &str); 1], Amount>::default();
        store.register("memory_bytes", "Memory of what has a limit of its own", memory.clone());
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            store.register(name, help, counter.clone());
            counter
        };
        let help = "Pieces of async work that held a thread for more than 50 ms, since the start";
        let long_polls = counter("long_polls", help);
        let commits = counter("store_commits", "Commits since the start");
        let writes = counter("store_writes", "Writes since the start");
        let damaged = counter("store_damaged", "Reads that found a damaged record since the start");
        let help = "Storage errors after which the database was reopened, since the start";
        let failures = counter("store_failures", help);
        let help = "Orders of a certificate that failed since the start";
        let certificate_failures = counter("certificate_failures", help);
        let mut certificate = Registry::with_prefix("posture");
        let help = "When the certificate that the service presents expires, in seconds since 1970";
        let certificate_expires =
            gauge(&mut certificate, "certificate_expires_timestamp_seconds", help);
        let mut webhooks = Registry::with_prefix("posture");
        let help = "Deliveries to enabled webhooks that are queued or in progress";
        let waiting = gauge(&mut webhooks, "webhook_waiting", help);
        let help = "How long the delivery has been due that has been for longest";
        let due_for = gauge(&mut webhooks, "webhook_oldest_due_seconds", help);
        let disabled = gauge(&mut webhooks, "webhook_disabled", "Webhooks that are disabled");
        let attempts = Family::default();
        let help = "Attempts at webhook deliveries that ended since the start";
        webhooks.register("webhook_attempts", help, attempts.clone());
        Self {
            traffic: requests,
            polls,
            long_polls,
            connections: ConnectionMetrics::default(),
            work: WorkMetrics::default(),
            store,
            webhooks,
            backups: BackupMetrics::default(),
            ready,
            clients,
            commits,
            writes,
            damaged,
            queue,
            failures,
            disk_full,
            clock_ahead,
            database_bytes,
            resident,
            memory,
            waiting,
            due_for,
            disabled,
            attempts,
            certificate,
            certificate_expires,
            certificate_failures,
        }
    }

    /// Sets the metrics and returns their text.
    #[must_use]
    pub fn text(&self, figures: &Figures) -> String {
        let Figures { health, memory, certificate, .. } = figures;
        self.ready.set(u64::from(health.ready));
        self.clients.set(figures.n_clients);
        self.database_bytes.set(figures.database_bytes);
        self.queue.set(health.queue_len);
        self.disk_full.set(u64::from(health.disk_full));
        self.clock_ahead.set(figures.clock_ahead_s);
        self.resident.set(memory.resident);
        for (part, n_bytes) in [
            ("database_cache", memory.store.cache),
            ("asset_index", memory.store.indexes),
            ("answers", memory.answers),
        ] {
            self.memory.get_or_create(&[("part", part)]).set(n_bytes);
        }
        count(&self.long_polls, self.polls.n_long());
        count(&self.commits, health.n_commits);
        count(&self.writes, health.n_writes);
        count(&self.damaged, health.n_damaged);
        count(&self.failures, health.n_failures);
        count(&self.certificate_failures, certificate.n_failures);
        let mut text = String::new();
        encode_registry(&mut text, &self.store).expect(NEVER);
        encode_registry(&mut text, &self.traffic).expect(NEVER);
        self.work.add(&mut text, figures);
        if let Some(node) = &figures.node {
            node_metric::add(&mut text, node, Some(health));
        }
        if let Some(until) = certificate.until {
            self.certificate_expires.set(u64::try_from(until.s()).unwrap_or(0));
            encode_registry(&mut text, &self.certificate).expect(NEVER);
        }
        if let Some(deliveries) = figures.deliveries {
            let DeliveryHealth { n_delivered, n_failed, n_waiting, n_disabled, due_s } = deliveries;
            self.waiting.set(n_waiting);
            self.due_for.set(due_s);
            self.disabled.set(n_disabled);
            count_each(&self.attempts, [("delivered", n_delivered), ("failed", n_failed)]);
            encode_registry(&mut text, &self.webhooks).expect(NEVER);
        }
        if let Some(connections) = &figures.connections {
            self.connections.add(&mut text, connections);
        }
        if let Some(state) = &figures.backups {
            self.backups.add(&mut text, state);
        }
        encode_eof(&mut text).expect(NEVER);
        text
    }
}

const NEVER: &str = "writing to a String does not fail";

/// Counts by outcome.
fn count_each<const N: usize>(counters: &Counters, outcomes: [(&'static str, u64); N]) {
    for (outcome, n) in outcomes {
        count(&counters.get_or_create(&[("outcome", outcome)]), n);
    }
}

/// Two scrapes at once must not make a counter go back.
fn count(counter: &Counter, n: u64) {
    counter.inner().fetch_max(n, Ordering::Relaxed);
}
