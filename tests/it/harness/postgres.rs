//! A PostgreSQL server of the tests: one for all of them, which ends with their process, and a database for each that asks.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use super::store::{EngineOptions, PostgresOptions};
use rustls::RootCertStore;
use tempfile::TempDir;

use super::port::free_port;
use super::tool;
use super::wait::{signal, wait_until};

/// Runs the tests that know nothing of engines on this one.
const VARIABLE: &str = "POSTURE_TEST_ENGINE";
const HOST: &str = "127.0.0.1";
/// The user that owns everything.
pub const OWNER: &str = "posture";
const START_MAX: Duration = Duration::from_mins(1);

/// A running server; killed when dropped, or when the thread that started it ends.
pub struct Cluster {
    pub port: u16,
    dir: TempDir,
    process: Child,
    settings: Vec<String>,
}

impl Cluster {
    /// With these settings, each as `name=value`.
    pub fn start(settings: &[&str]) -> Self {
        let (dir, port) = (TempDir::new().unwrap(), free_port());
        let data = dir.path().join("data");
        let init =
            ["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-U", OWNER, "-D"];
        let made = as_nobody("initdb").args(init).arg(&data).stdout(Stdio::null()).status();
        assert!(made.unwrap().success(), "initdb");
        let settings: Vec<String> = settings.iter().map(|it| (*it).to_owned()).collect();
        let process = run_server(dir.path(), port, &settings);
        let cluster = Self { port, dir, process, settings };
        cluster.wait();
        cluster
    }

    /// Ends the server at once, as if it was killed.
    pub fn stop(&mut self) {
        signal(self.process.id(), "-QUIT");
        self.process.wait().unwrap();
    }

    /// Starts it again.
    pub fn start_again(&mut self) {
        self.process = run_server(self.dir.path(), self.port, &self.settings);
        self.wait();
    }

    /// A standby on this port, for which every commit waits from now on.
    pub fn synchronous_standby(&self, port: u16) -> Self {
        let dir = TempDir::new().unwrap();
        let source =
            format!("host={HOST} port={} user={OWNER} application_name=standby", self.port);
        let mut copy = as_nobody("pg_basebackup");
        copy.args(["-R", "-c", "fast", "--no-sync", "-d", &source, "-D"]);
        assert!(copy.arg(dir.path().join("data")).status().unwrap().success(), "pg_basebackup");
        let process = run_server(dir.path(), port, &self.settings);
        let standby = Self { port, dir, process, settings: self.settings.clone() };
        standby.wait();
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        let is_followed = || self.sql("postgres", sql).trim() == "1";
        assert!(wait_until(START_MAX, is_followed), "it follows");
        standby
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()").trim(), "t");
    }

    /// Kills all its processes at once, as the loss of its machine would.
    pub fn kill(&mut self) {
        self.signal("-KILL");
        self.process.wait().unwrap();
    }

    /// Sends all its processes a signal, such as `-STOP`.
    pub fn signal(&self, name: &str) {
        signal_family(self.process.id(), name);
    }

    fn wait(&self) {
        let log = || fs::read_to_string(self.dir.path().join("log")).unwrap();
        assert!(wait_until(START_MAX, || self.answers()), "{}", log());
    }

    fn answers(&self) -> bool {
        TcpStream::connect((HOST, self.port)).is_ok()
            && self.try_sql("postgres", "SELECT 1").is_ok()
    }

    /// Runs statements as the owner; what they print.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let port = self.port.to_string();
        let mut psql = program("psql");
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", HOST, "-p", &port, "-U", OWNER, "-d"]);
        let ran = psql.args([database, "-c", sql]).output().unwrap();
        if ran.status.success() {
            return Ok(String::from_utf8(ran.stdout).unwrap());
        }
        Err(String::from_utf8_lossy(&ran.stderr).into_owned())
    }

    /// Runs a statement in a transaction that lasts until what is returned is dropped.
    pub fn hold(&self, database: &str, sql: &str) -> Held {
        let port = self.port.to_string();
        let mut psql = program("psql");
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", HOST, "-p", &port, "-U", OWNER, "-d"]);
        let mut process =
            psql.arg(database).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(process.stdin.as_mut().unwrap(), "BEGIN; {sql}; SELECT 'held';").unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n", "{sql}");
        Held(process)
    }

    /// The URL of a new database.
    pub fn new_database(&self) -> String {
        static N_MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", N_MADE.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(OWNER, &name)
    }

    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@{HOST}:{}/{database}?sslmode=disable", self.port)
    }

    /// Lets clients in as these lines of `pg_hba.conf` say, and no others.
    pub fn let_in(&self, lines: &str) {
        fs::write(self.dir.path().join("data/pg_hba.conf"), lines).unwrap();
        self.sql("postgres", "SELECT pg_reload_conf()");
    }
}

/// A transaction that is held open.
pub struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take()); // Its end is the end of the session.
        drop(self.0.wait());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its children may be stopped.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.signal("-KILL");
        }
        drop(self.process.wait());
    }
}

/// Sends a process and its children a signal.
fn signal_family(id: u32, name: &str) {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    // A child that has just ended is none.
    let kill = format!("kill {name} {id} {children} 2>/dev/null || true");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

fn run_server(dir: &Path, port: u16, settings: &[String]) -> Child {
    let mut server = as_nobody("postgres");
    server.args(["-h", HOST, "-p", &port.to_string(), "-D"]).arg(dir.join("data"));
    // No test takes the power away from it.
    let all =
        ["fsync=off", "full_page_writes=off", "max_connections=400", "unix_socket_directories="];
    for setting in all.into_iter().chain(settings.iter().map(String::as_str)) {
        server.args(["-c", setting]);
    }
    let log = fs::File::options().create(true).append(true).open(dir.join("log")).unwrap();
    server.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// A program of the server, which refuses to run as root: in a namespace of its own, where the user of the tests is another.
fn as_nobody(name: &str) -> Command {
    let mut command = nobody();
    command.arg(tool::postgres(name)).env("LD_LIBRARY_PATH", tool::postgres_libraries());
    command
}

/// Runs the program that follows, which ends with the thread that starts it.
pub fn nobody() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534", "--", "setpriv"]);
    command.args(["--pdeathsig", "KILL", "--"]);
    command
}

fn program(name: &str) -> Command {
    let mut command = Command::new(tool::postgres(name));
    command.env("LD_LIBRARY_PATH", tool::postgres_libraries());
    command
}

/// The server of all tests of this process.
pub fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (started, starts) = channel();
        // The server ends with the thread that started it, and so with the process.
        std::thread::spawn(move || {
            started.send(Cluster::start(&[])).expect("a test waits for it");
            loop {
                std::thread::park();
            }
        });
        starts.recv().expect("it starts")
    })
}

/// Whether tests that know nothing of engines run on this one.
pub fn is_wanted() -> bool {
    static IS_WANTED: LazyLock<bool> = LazyLock::new(|| match std::env::var_os(VARIABLE) {
        None => false,
        Some(it) if it == "redb" => false,
        Some(it) if it == "postgres" => true,
        Some(it) => panic!("{VARIABLE} must be redb or postgres, not {}", it.display()),
    });
    *IS_WANTED
}

/// The engine of a data directory: a file, or a database of its own on the server of all tests.
pub fn engine(dir: &Path) -> EngineOptions {
    if is_wanted() {
        EngineOptions::Postgres(Box::new(options(&url_of(dir))))
    } else {
        EngineOptions::File
    }
}

pub fn options(url: &str) -> PostgresOptions {
    PostgresOptions::parse(url, RootCertStore::empty()).unwrap()
}

/// The URL of the database that belongs to a folder, which keeps it.
fn url_of(dir: &Path) -> String {
    let file = url_file(dir);
    fs::read_to_string(&file).unwrap_or_else(|_| {
        let url = shared().new_database();
        fs::create_dir_all(dir).unwrap();
        fs::write(&file, &url).unwrap();
        url
    })
}

fn url_file(dir: &Path) -> PathBuf {
    dir.join("database.url")
}

/// The section of a configuration in this folder. Empty: the default.
pub fn section(folder: &Path) -> String {
    if !is_wanted() {
        return String::new();
    }
    url_of(folder);
    "[database]\nengine = \"postgres\"\nurl_file = \"database.url\"\n".to_owned()
}
