//! Where connections come in: addresses, the control socket, and what is left when files run out.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use posture::error::{Code, Error};
use posture::serve::http::listen;
use posture::serve::http::listen::Listener;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::edge::{Edge, HELLO, PATIENCE, Wire, lazy};
use crate::harness::Posture;
use crate::harness::http::send_socket;

fn start(path: &Path) -> Result<Edge, Error> {
    let runtime = Runtime::new().expect("a runtime");
    let listener = runtime.block_on(Listener::socket(path))?;
    Ok(Edge::on(runtime, listener, lazy(), watch::Sender::new(false)))
}

fn refused(path: &Path) -> Code {
    match start(path) {
        Ok(_) => panic!("{} is served", path.display()),
        Err(error) => error.code,
    }
}

fn connect(path: &Path) -> Wire<UnixStream> {
    let stream = UnixStream::connect(path).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    Wire::new(stream)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_tcp_request_carries_its_peer() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/peer"));
    let ours = wire.stream.local_addr().expect("an address");
    assert_eq!(wire.answer().body, format!("Tcp({ours})"));
}

#[test]
fn what_comes_over_the_socket_of_a_proxy_counts_as_from_this_machine() {
    let folder = folder();
    let path = folder.path().join("web/posture.sock");
    let made = path.clone();
    let posture = Posture::start_with(move |it| {
        it.listen_socket = Some((made, 0o660));
        it.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    let permissions = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((permissions(&path), permissions(path.parent().unwrap())), (0o660, 0o755));
    // The operator comes over the control socket alone.
    let ask = |path: &Path, of: &str, headers: &[(&str, &str)]| {
        send_socket(path, "GET", of, headers, b"").status
    };
    assert_eq!(ask(&path, "/api/clients", &[]), 401);
    assert_eq!(ask(&posture.socket(), "/api/clients", &[]), 200);
    // The caller is whom the proxy names.
    let key = posture.issue(&json!({"networks": ["192.0.2.0/24"]}));
    let key = key["key"].as_str().unwrap();
    let from = |address| [("X-API-Key", key), ("X-Forwarded-For", address)];
    assert_eq!(ask(&path, "/api/v1/clients", &from("192.0.2.7")), 200);
    assert_eq!(ask(&path, "/api/v1/clients", &from("198.51.100.7")), 403);
    assert_eq!(ask(&path, "/api/v1/clients", &[("X-API-Key", key)]), 403);
    drop(posture);
    assert!(!path.exists(), "it is removed at the stop");
}

#[test]
fn an_ipv4_peer_is_not_shown_in_its_ipv6_form() {
    let runtime = Runtime::new().expect("a runtime");
    let any = "[::]:0".parse().expect("an address");
    let listener = runtime.block_on(Listener::tcp(any)).expect("a free port");
    let mut edge = Edge::on(runtime, listener, lazy(), watch::Sender::new(false));
    edge.address = ([127, 0, 0, 1], edge.address.port()).into();
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/peer"));
    let ours = wire.stream.local_addr().expect("an address");
    assert_eq!(wire.answer().body, format!("Tcp({ours})"));
}

#[test]
fn an_address_in_use_is_a_conflict() {
    let edge = Edge::start(lazy());
    let runtime = Runtime::new().expect("a runtime");
    let second = runtime.block_on(Listener::tcp(edge.address));
    assert_eq!(second.err().map(|it| it.code), Some(Code::Conflict));
}

#[test]
fn a_socket_request_carries_the_uid_of_its_peer() {
    let folder = folder();
    let path = folder.path().join("control.sock");
    let _edge = start(&path).expect("served");
    let uid = fs::metadata(folder.path()).expect("a folder").uid();
    let mut wire = connect(&path);
    wire.send(&HELLO.replace("/hello", "/peer").replace("Host: here\r\n", ""));
    assert_eq!(wire.answer().body, format!("Socket {{ uid: {uid} }}"));
}

#[test]
fn a_socket_is_for_its_owner_alone_and_is_removed_at_the_stop() {
    let folder = folder();
    let path = folder.path().join("run/posture/control.sock");
    let edge = start(&path).expect("served");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let around = path.parent().expect("a folder");
    assert_eq!(mode(around), 0o700);
    let n_files = |path: &Path| fs::read_dir(path).expect("a folder").count();
    assert_eq!(n_files(around), 1, "only the socket");
    drop(edge);
    assert_eq!(n_files(around), 0);
}

#[test]
fn a_dead_socket_is_replaced_and_a_living_one_is_not() {
    let folder = folder();
    let path = folder.path().join("control.sock");
    drop(UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists(), "std leaves it behind");
    let edge = start(&path).expect("a dead socket is replaced");

    assert_eq!(refused(&path), Code::Conflict);
    let mut wire = connect(&path);
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello", "the living one lives on");
    drop(edge);
    start(&path).expect("the place is free again");
}

#[test]
fn what_is_not_a_socket_is_left_alone() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "precious").expect("a file");
    assert_eq!(refused(&file), Code::Invalid);
    assert_eq!(fs::read_to_string(&file).expect("a file"), "precious");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("absent"), &link).expect("a link");
    assert_eq!(refused(&link), Code::Invalid);
}

#[test]
fn a_folder_that_others_may_change_holds_no_socket() {
    let folder = folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("ours");
    assert_eq!(refused(&folder.path().join("control.sock")), Code::Invalid);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn the_stop_leaves_a_socket_of_somebody_else() {
    let folder = folder();
    let path = folder.path().join("control.sock");
    let edge = start(&path).expect("served");
    fs::remove_file(&path).expect("ours");
    let _other = UnixListener::bind(&path).expect("a socket");
    drop(edge);
    assert!(fs::metadata(&path).expect("still there").file_type().is_socket());
}

#[test]
fn open_files_are_raised_to_the_hard_limit() {
    let raised = listen::raise_open_files().expect("a limit");
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    assert_eq!((Some(raised), current), (current, maximum));
}

const OPEN_FILES_MAX: u64 = 40;
const FEW_FILES: &str = "POSTURE_TEST_FEW_FILES";
const LISTENING: &str = "listening on ";

#[test]
#[ignore = "a part of the next test, which runs it in a process of its own"]
fn an_edge_with_few_files() {
    let is_child = std::env::var_os(FEW_FILES).is_some();
    assert!(is_child, "it would take away the files of the other tests");
    let edge = Edge::start(lazy());
    let few = Rlimit { current: Some(OPEN_FILES_MAX), maximum: Some(OPEN_FILES_MAX) };
    setrlimit(Resource::Nofile, few).expect("fewer");
    println!("\n{LISTENING}{}", edge.address);
    // The parent ends this process; if it cannot, the process ends itself.
    thread::sleep(4 * PATIENCE);
}

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("a child can be ended");
        self.0.wait().expect("it ends");
    }
}

#[test]
fn running_out_of_files_neither_spins_nor_lasts() {
    let name = concat!(module_path!(), "::an_edge_with_few_files");
    let name = name.split_once("::").expect("a module in a crate").1;
    let ourselves = std::env::current_exe().expect("a path");
    let mut process = Process(
        Command::new(ourselves)
            .args(["--exact", name, "--ignored", "--nocapture"])
            .env(FEW_FILES, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process"),
    );
    let lines = BufReader::new(process.0.stdout.take().expect("piped")).lines();
    let address = lines
        .map(|it| it.expect("text"))
        .find_map(|it| it.strip_prefix(LISTENING).map(str::to_owned))
        .expect("the child says where it listens");
    let address = address.parse().expect("an address");

    let n_clients = 3 * OPEN_FILES_MAX;
    let clients: Vec<TcpStream> = (0..n_clients)
        .map(|_| TcpStream::connect_timeout(&address, PATIENCE).expect("the kernel's queue"))
        .collect();
    let before = cpu_ms(process.0.id());
    thread::sleep(Duration::from_secs(2));
    let spent_ms = cpu_ms(process.0.id()) - before;
    assert!(spent_ms <= 200, "{spent_ms} ms of processor time in 2 s");

    drop(clients);
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let mut wire = Wire::new(stream);
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
}

/// Processor time of a process so far.
fn cpu_ms(process: u32) -> u64 {
    const MS_PER_TICK: u64 = 10;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<u64>().expect("a number");
    // Fields 14 and 15 of proc(5), counted from behind the name, which is field 2.
    (ticks(11) + ticks(12)) * MS_PER_TICK
}
