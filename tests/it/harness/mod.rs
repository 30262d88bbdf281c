//! A whole posture for a test: the real server on a real database file, with a clock that only the test moves.

#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod backend;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod demonstration;
pub mod http;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod long;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod newer;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod patroni;
pub mod port;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod postgres;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod process;
pub mod report;
pub mod sample;
pub mod sink;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod small_disk;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod snapshot;
pub mod tls;
pub mod tool;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod wait;
#[allow(dead_code, reason = "which of these a test file needs is its own affair")]
pub mod wire;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use posture::app::App;
use posture::catalog::embedded;
use posture::clock::{Clock, Time};
use posture::engine::catalog::Catalog;
use posture::error::Code;
use posture::import::Format;
use posture::serve::{
    CONTROL_SOCKET, Opened, PublicListeners, ServeOptions, open_control_socket, serve,
};
pub use posture::store;
use posture::store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use backend::Disk;
pub use http::{Answer, send};

/// Where the clock stands when a posture starts.
pub const START: &str = "2026-03-10T09:00:00Z";
pub const ALL_SCOPES: [&str; 12] = [
    "read:clients",
    "read:assets",
    "write:assets",
    "read:scores",
    "read:risks",
    "read:compliance",
    "write:assessments",
    "read:events",
    "read:portfolio",
    "read:export",
    "manage:clients",
    "manage:decisions",
];

pub struct Posture {
    pub address: SocketAddr,
    pub clock: Clock,
    pub app: Arc<App>,
    dir: TempDir,
    runtime: tokio::runtime::Handle,
    running: Option<Running>,
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

pub fn options(dir: &Path) -> ServeOptions {
    ServeOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        certificate: None,
        http_listen: None,
        listen_socket: None,
        metrics_token: None,
        dir: dir.to_path_buf(),
        key_file: None,
        cache_bytes: 16 * 1024 * 1024,
        engine: postgres::engine(dir),
        trusted_proxies: Vec::new(),
        proxy_idle_timeout: posture::serve::http::limit::PROXY_IDLE_TIMEOUT,
        connections_per_ip_max: posture::serve::http::limit::CONNECTIONS_PER_IP_MAX,
        supervisor: posture::serve::supervisor::Supervisor::default(),
        app: posture::app::AppOptions {
            quota: [60, 1_000, 10_000],
            require_mfa: Vec::new(),
            oidc: None,
            msp_id: Some("msp-test".to_owned()),
            public_url: None,
            settings: posture::app::client::settings::Defaults::default(),
            events_days: 90,
            loss: posture::app::client::loss::LossModel::default(),
            webhooks: posture::app::webhook::delivery::DeliveryOptions::default(),
            scan: posture::app::scan::request::ScanOptions::default(),
            backup: posture::app::backup::BackupSettings::default(),
            connect: connect_options(),
            letterhead: posture::app::report::document::Letterhead::default(),
            time_zone: posture::clock::zone::Zone::UTC,
            configured: posture::config::Config::default().configured(),
            mail: None,
            watch: None,
        },
    }
}

/// Connections may go to loopback.
fn connect_options() -> posture::app::connect::registry::ConnectOptions {
    let loopback = vec!["127.0.0.0/8".parse().unwrap()];
    let egress = posture::egress::EgressPolicy {
        allow_http_networks: loopback.clone(),
        allow_private_networks: loopback,
        sender: posture::egress::Sender::Connections,
        ..posture::egress::EgressPolicy::default()
    };
    posture::app::connect::registry::ConnectOptions { egress, ..Default::default() }
}

/// The catalog of the executable, read once.
pub fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| embedded().expect("the catalog is valid"));
    &CATALOG
}

/// The database in a data folder that no server has open.
pub fn open_store(dir: &Path, now: Time) -> Store {
    let engine = postgres::engine(dir);
    let options = store::StoreOptions { dir: dir.to_owned(), cache_bytes: 64 << 20, engine };
    // A process that another test starts holds the lock of a file that was just closed, until it runs its program.
    for _ in 0..N_OPENS {
        match Store::open(&options, now) {
            Err(error) if error.code == Code::Conflict => sleep(OPEN_PAUSE),
            opened => return opened.unwrap(),
        }
    }
    Store::open(&options, now).unwrap()
}

const N_OPENS: u32 = 50;
const OPEN_PAUSE: Duration = Duration::from_millis(20);

impl Posture {
    pub fn start() -> Self {
        Self::start_with(|_| ())
    }

    /// With options that the test changed.
    pub fn start_with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let clock = Clock::manual(START.parse().unwrap());
        Self::start_in(TempDir::new().unwrap(), clock, catalog().clone(), change)
    }

    /// On a data directory with a database of before.
    pub fn start_on(dir: TempDir, clock: Clock, change: impl FnOnce(&mut ServeOptions)) -> Self {
        Self::start_in(dir, clock, catalog().clone(), change)
    }

    /// With a data folder below this one.
    pub fn start_below(folder: &Path) -> Self {
        let (clock, dir) = (Clock::manual(START.parse().unwrap()), TempDir::new_in(folder));
        Self::start_in(dir.unwrap(), clock, catalog().clone(), |_| ())
    }

    /// With a database on this disk.
    pub fn start_on_disk(disk: &Disk, change: impl FnOnce(&mut ServeOptions)) -> Self {
        let (clock, disk) = (Clock::manual(START.parse().unwrap()), disk.clone());
        let (dir, catalog) = (TempDir::new().unwrap(), catalog().clone());
        Self::start_with_store(dir, clock, catalog, change, |options, _| {
            Store::on_backends(move || disk.clone(), options.cache_bytes).unwrap()
        })
    }

    fn start_in(
        dir: TempDir,
        clock: Clock,
        catalog: Catalog,
        change: impl FnOnce(&mut ServeOptions),
    ) -> Self {
        Self::start_with_store(dir, clock, catalog, change, |options, now| {
            let (dir, engine) = (options.dir.clone(), options.engine.clone());
            let cache_bytes = options.cache_bytes;
            Store::open(&store::StoreOptions { dir, cache_bytes, engine }, now).unwrap()
        })
    }

    fn start_with_store(
        dir: TempDir,
        clock: Clock,
        catalog: Catalog,
        change: impl FnOnce(&mut ServeOptions),
        open: impl FnOnce(&ServeOptions, Time) -> Store + Send + 'static,
    ) -> Self {
        let mut options = options(dir.path());
        change(&mut options);
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, starting) = channel();
        let server_clock = clock.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let handle = runtime.handle().clone();
            runtime.block_on(async move {
                let store = open(&options, server_clock.now());
                let opened = Opened::with_catalog(catalog, store, server_clock, &options).unwrap();
                let app = Arc::clone(&opened.app);
                let greet = move |address| started.send((address, app, handle)).unwrap();
                let until = async { drop(stopped.await) };
                let public = PublicListeners::open(&options).await.unwrap();
                let control = open_control_socket(&options).await.unwrap();
                serve(opened, public, control, &options, greet, until).await.unwrap();
            });
        });
        let (address, app, runtime) = starting.recv().expect("the server starts");
        let running = Some(Running { stop, thread });
        Self { address, clock, app, dir, runtime, running }
    }

    /// Stops in order and starts on the same file.
    pub fn restart(self) -> Self {
        self.restart_after(|_| (), |_| ())
    }

    /// Stops in order and starts on what a test makes of the folder, with options that it changes.
    pub fn restart_after(
        self,
        meanwhile: impl FnOnce(&Path),
        change: impl FnOnce(&mut ServeOptions),
    ) -> Self {
        let (dir, clock) = self.end();
        meanwhile(dir.path());
        Self::start_in(dir, clock, catalog().clone(), change)
    }

    /// Stops in order and starts on the same file with another catalogue, as a later release does.
    pub fn restart_with(self, catalog: Catalog) -> Self {
        let (dir, clock) = self.end();
        Self::start_in(dir, clock, catalog, |_| ())
    }

    /// Stops in order; the data folder.
    pub fn into_dir(self) -> TempDir {
        self.end().0
    }

    fn end(mut self) -> (TempDir, Clock) {
        self.stop();
        let clock = self.clock.clone();
        (std::mem::replace(&mut self.dir, TempDir::new().unwrap()), clock)
    }

    fn stop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            let _ = stop.send(());
            let result = thread.join();
            if !std::thread::panicking() {
                result.expect("the server stops in order");
            }
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join(CONTROL_SOCKET)
    }

    /// Moves the clock and does what became due.
    pub fn pass_s(&self, seconds: i64) {
        self.clock.set(self.clock.now().plus_s(seconds));
        self.app.outbox().notify_one();
        self.sweep();
    }

    pub fn pass_days(&self, days: i64) {
        self.pass_s(days * 86_400);
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Does everything that is due now.
    pub fn sweep(&self) {
        self.block_on(async {
            for client in self.app.list_due(&[]).await.unwrap() {
                self.app.sweep(client).await.unwrap();
            }
        });
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Runs a future beside the test.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }

    /// A management request over the control socket.
    pub fn operator(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.operator_bytes(method, path, "application/json", &body)
    }

    pub fn operator_bytes(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Answer {
        http::send_socket(&self.socket(), method, path, &[("Content-Type", kind)], body)
    }

    /// Logs in; the token.
    pub fn log_in(&self, name: &str, password: &str) -> String {
        let answer = self.try_log_in(name, password);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"]["token"].as_str().unwrap().to_owned()
    }

    pub fn try_log_in(&self, name: &str, password: &str) -> Answer {
        self.try_log_in_with(&json!({ "username_or_email": name, "password": password }))
    }

    pub fn try_log_in_with(&self, body: &Value) -> Answer {
        let body = body.to_string();
        let headers = [("Content-Type", "application/json")];
        send(self.address, "POST", "/auth/login", &headers, body.as_bytes())
    }

    /// A management request of a user over TCP.
    pub fn as_user(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        send(self.address, method, path, &headers, &body)
    }

    /// The app that all connections to Microsoft use, whose secret expires then.
    pub fn set_microsoft_app(&self, expires_at: &str) {
        let app = json!({
            "appId": "8a3b0c7e-5a11-4a0e-9c55-0d6a1b2c3d4e", "tenant": "msp.example",
            "clientSecret": "canary", "secretExpiresAt": expires_at,
        });
        let answer = self.operator("PUT", "/api/microsoft-app", &app);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Adds a client; its id.
    pub fn client(&self, name: &str) -> String {
        self.client_with(&json!({ "name": name }))
    }

    /// Adds a client, even one that is named like another.
    pub fn client_with(&self, body: &Value) -> String {
        let mut answer = self.operator("POST", "/api/clients", body);
        if answer.status == 409 {
            let mut body = body.clone();
            body["allowSameName"] = json!(true);
            answer = self.operator("POST", "/api/clients", &body);
        }
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["data"]["id"].as_str().unwrap().to_owned()
    }

    /// Issues a key with all scopes and limits that no test reaches.
    pub fn key(&self) -> String {
        self.key_with(&json!({}))
    }

    /// Issues a key; `change` replaces members of the request.
    pub fn key_with(&self, change: &Value) -> String {
        self.issue(change)["key"].as_str().unwrap().to_owned()
    }

    /// Issues a key; the API's view of it, with the key's text.
    pub fn issue(&self, change: &Value) -> Value {
        static N_KEYS: AtomicUsize = AtomicUsize::new(0);
        // A longer window never allows less than a shorter one.
        let most = |longer: &[&str]| {
            let given = longer.iter().filter_map(|it| change[*it].as_u64());
            given.min().unwrap_or(1_000_000)
        };
        // Two keys must not have the same name.
        let n = N_KEYS.fetch_add(1, Ordering::Relaxed);
        let mut body = json!({
            "name": format!("test {n}"),
            "scopes": ALL_SCOPES,
            "perMinute": most(&["perHour", "perDay"]),
            "perHour": most(&["perDay"]),
            "perDay": 1_000_000,
        });
        if change["name"].is_null() {
            body["source"] = json!("test");
        }
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = self.operator("POST", "/api/keys", &body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["data"].clone()
    }

    /// A request with a key to the versioned interface; `path` is relative to `/api/v1`.
    pub fn send(&self, method: &str, key: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let mut headers = vec![("X-API-Key", key)];
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        send(self.address, method, &format!("/api/v1{path}"), &headers, &body)
    }

    /// A GET with a key, of a whole path.
    pub fn fetch(&self, key: &str, path: &str) -> Answer {
        send(self.address, "GET", path, &[("X-API-Key", key)], b"")
    }

    pub fn get(&self, key: &str, path: &str) -> Answer {
        self.send("GET", key, path, &Value::Null)
    }

    /// What a GET that succeeds holds.
    pub fn read(&self, key: &str, path: &str) -> Value {
        let answer = self.get(key, path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Imports bytes, whosever they are; `query` such as `observedAt=now`.
    pub fn import(&self, client: &str, query: &str, file: &[u8]) -> Answer {
        let bind = if query.contains("format=facts") { "" } else { "bind=true&" };
        self.import_own(client, &format!("{bind}{query}"), file)
    }

    /// Imports bytes, which must be about the client's own tenants.
    pub fn import_own(&self, client: &str, query: &str, file: &[u8]) -> Answer {
        let path = format!("/api/clients/{client}/imports?{query}");
        self.operator_bytes("POST", &path, "application/octet-stream", file)
    }

    /// Adds evidence with its file. `query` begins with a question mark.
    pub fn bring_evidence(&self, client: &str, query: &str, file: &[u8]) -> Answer {
        let path = format!("/api/clients/{client}/evidence/files{query}");
        self.operator_bytes("POST", &path, "application/octet-stream", file)
    }

    /// All events so far, in commit order.
    pub fn events(&self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let after = events.last().map_or(0, |it: &Value| {
                it["data"]["object"]["sequence"].as_u64().expect("a sequence")
            });
            let path = format!("/api/events?after={after}&limit=100");
            let page = self.operator("GET", &path, &Value::Null).json();
            let page = page["data"].as_array().unwrap().clone();
            if page.is_empty() {
                return events;
            }
            events.extend(page);
        }
    }
}

impl Drop for Posture {
    fn drop(&mut self) {
        self.stop();
    }
}
