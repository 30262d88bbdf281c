//! PostgreSQL that fails over by itself: two servers, each with a Patroni, and three etcds.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::port::free_port;
use super::postgres::{OWNER, nobody};
use super::process::wait_until;
use super::{http, tool};

const START_MAX: Duration = Duration::from_mins(2);
const N_ETCDS: usize = 3;
const HOST: &str = "127.0.0.1";

/// Ends with the thread that started it.
pub struct Patroni {
    etcds: Vec<Child>,
    pub members: [Member; 2],
    _dir: TempDir,
}

/// A server and its Patroni.
pub struct Member {
    pub port: u16,
    rest: SocketAddr,
    dir: TempDir,
    process: Child,
}

impl Patroni {
    pub fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let ports: Vec<(u16, u16)> = (0..N_ETCDS).map(|_| (free_port(), free_port())).collect();
        let etcds = (0..N_ETCDS).map(|it| run_etcd(dir.path(), &ports, it)).collect();
        for (client, _) in &ports {
            let is_up = || TcpStream::connect((HOST, *client)).is_ok();
            assert!(wait_until(START_MAX, is_up), "etcd");
        }
        let etcds_at: Vec<String> = ports.iter().map(|it| format!("{HOST}:{}", it.0)).collect();
        let first = Member::start("one", &etcds_at);
        assert!(wait_until(START_MAX, || first.is("primary")), "{}", first.log());
        let second = Member::start("two", &etcds_at);
        let is_synchronous = || second.is("synchronous");
        assert!(wait_until(START_MAX, is_synchronous), "{}", second.log());
        Self { etcds, members: [first, second], _dir: dir }
    }

    /// Which member leads, once one does and the other follows it synchronously.
    pub fn wait_whole(&self) -> usize {
        let mut leader = None;
        let is_whole = wait_until(START_MAX, || {
            leader = self.members.iter().position(|it| it.is("primary"));
            leader.is_some_and(|it| self.members[1 - it].is("synchronous"))
        });
        let logs = || self.members.each_ref().map(Member::log).join("----\n");
        assert!(is_whole, "{}", logs());
        leader.unwrap()
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.kill();
        }
        for etcd in &mut self.etcds {
            drop(etcd.kill());
            drop(etcd.wait());
        }
    }
}

impl Member {
    fn start(name: &str, etcds: &[String]) -> Self {
        let (dir, port) = (TempDir::new().unwrap(), free_port());
        let rest = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let config = config(name, dir.path(), (port, rest), etcds);
        fs::write(dir.path().join("patroni.yml"), config.to_string()).unwrap();
        let process = run_patroni(dir.path());
        Self { port, rest, dir, process }
    }

    /// Kills its Patroni and all processes of its server at once, as the loss of its machine would.
    pub fn kill(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }

    pub fn start_again(&mut self) {
        // After the start of a machine, the number in it is that of another process.
        drop(fs::remove_file(self.dir.path().join("data/postmaster.pid")));
        self.process = run_patroni(self.dir.path());
    }

    /// Whether its Patroni says that it has this role.
    fn is(&self, role: &str) -> bool {
        TcpStream::connect(self.rest).is_ok()
            && http::send(self.rest, "GET", &format!("/{role}"), &[], &[]).status == 200
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

/// JSON, which is YAML as well.
fn config(name: &str, dir: &Path, (port, rest): (u16, SocketAddr), etcds: &[String]) -> Value {
    let (data, address) = (dir.join("data"), format!("{HOST}:{port}"));
    let sockets = dir.to_str().unwrap();
    let bin = tool::postgres("postgres");
    json!({
        "scope": "posture",
        "name": name,
        "restapi": { "listen": rest.to_string(), "connect_address": rest.to_string() },
        "etcd3": { "hosts": etcds },
        "bootstrap": {
            "dcs": {
                "ttl": 20, "loop_wait": 5, "retry_timeout": 5,
                "synchronous_mode": true,
                "postgresql": { "use_pg_rewind": true, "parameters": { "wal_log_hints": "on" } },
            },
            "initdb": [{ "encoding": "UTF8" }, { "locale": "C" }, { "auth": "trust" }, "no-sync"],
        },
        "postgresql": {
            "listen": address, "connect_address": address,
            "data_dir": data, "bin_dir": bin.parent().unwrap(), "pgpass": dir.join("pgpass"),
            "authentication": {
                "superuser": { "username": OWNER }, "replication": { "username": OWNER },
                "rewind": { "username": OWNER },
            },
            "pg_hba": [
                format!("host all all {HOST}/32 trust"),
                format!("host replication all {HOST}/32 trust"),
            ],
            "parameters": {
                "unix_socket_directories": sockets, "fsync": "off", "max_connections": 300,
            },
            "remove_data_directory_on_rewind_failure": true,
            "remove_data_directory_on_diverged_timelines": true,
        },
    })
}

/// In a namespace of its own for processes, which end with it.
fn run_patroni(dir: &Path) -> Child {
    let mut patroni = Command::new("setpriv");
    patroni.args(["--pdeathsig", "KILL", "--", "unshare", "--user", "--map-user=65534"]);
    patroni.args(["--map-group=65534", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    patroni.arg(tool::patroni("bin/python")).args(["-m", "patroni"]).arg(dir.join("patroni.yml"));
    patroni.env("LD_LIBRARY_PATH", tool::postgres_libraries());
    run(patroni, dir, "log")
}

fn run_etcd(dir: &Path, ports: &[(u16, u16)], index: usize) -> Child {
    let (client, peer) = ports[index];
    let name = |index: usize| format!("etcd{index}");
    let url = |port: u16| format!("http://{HOST}:{port}");
    let cluster =
        ports.iter().enumerate().map(|(it, (_, peer))| format!("{}={}", name(it), url(*peer)));
    let mut etcd = nobody();
    etcd.arg(tool::patroni("usr/bin/etcd")).args(["--name", &name(index), "--data-dir"]);
    etcd.arg(dir.join(name(index)));
    etcd.args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)]);
    etcd.args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)]);
    etcd.args(["--initial-cluster", &cluster.collect::<Vec<_>>().join(",")]);
    run(etcd, dir, &name(index).replace("etcd", "log"))
}

fn run(mut command: Command, dir: &Path, log: &str) -> Child {
    let log = fs::File::options().create(true).append(true).open(dir.join(log)).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null()).spawn().unwrap()
}
