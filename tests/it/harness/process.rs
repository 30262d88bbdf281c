//! The real executable: a folder with a configuration, commands run in it, and a server on it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Answer;
pub(crate) use super::wait::{signal, wait_until};

/// No command, start or stop takes longer.
const WAIT: Duration = Duration::from_mins(3);

/// The executable under test; `POSTURE_BINARY` names another.
pub(crate) fn binary() -> PathBuf {
    let named = std::env::var_os("POSTURE_BINARY").map(PathBuf::from);
    let built = || option_env!("CARGO_BIN_EXE_posture").map(PathBuf::from);
    named.or_else(built).expect("POSTURE_BINARY names the executable")
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A folder with a `posture.toml` that keeps everything in it and listens on any free port.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n";
        let text = text.to_owned() + &super::postgres::section(folder.path());
        folder.write("posture.toml", text.as_bytes());
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("data/control.sock")
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.path()).env_remove("POSTURE_CONFIG").args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        finish(&mut self.command(args))
    }

    /// With this on its standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &str) -> Done {
        self.write("input", input.as_bytes());
        let input = File::open(self.path().join("input")).unwrap();
        finish_fed(&mut self.command(args), input.into())
    }

    /// What a command that succeeds prints.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let Done { code, out, err } = self.run(args);
        assert_eq!((code, &*err), (0, ""), "{args:?}: {out}");
        out
    }

    /// What a command that succeeds prints with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// The answer to a GET over the control socket, which has no limits.
    pub(crate) fn ask(&self, path: &str) -> Value {
        let answer = super::http::send_socket(&self.socket(), "GET", path, &[], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Adds a client; its id.
    pub(crate) fn client(&self, name: &str) -> String {
        self.ok(&["client", "add", "--name", name]).trim_end().to_owned()
    }

    /// Issues a key with all scopes and these limits; its text.
    pub(crate) fn key(&self, limit: &str) -> String {
        static N_KEYS: AtomicUsize = AtomicUsize::new(0);
        let scopes = super::ALL_SCOPES.join(",");
        // Two keys must not have the same name.
        let name = format!("test {}", N_KEYS.fetch_add(1, Ordering::Relaxed));
        let issue =
            ["key", "issue", "--quiet", "--name", name.as_str(), "--scope", scopes.as_str()];
        let limits = ["--per-minute", limit, "--per-hour", limit, "--per-day", limit];
        self.ok(&[&issue[..], &limits[..]].concat()).trim_end().to_owned()
    }

    /// Starts the server and waits until it says where it listens.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Starts a server that cannot say where it listens, because another node is active.
    pub(crate) fn serve_beside(&self) -> Beside {
        self.serve_beside_with(&[])
    }

    /// Starts a server that does not say where it listens until it is ready.
    pub(crate) fn serve_beside_with(&self, options: &[&str]) -> Beside {
        let log = self.path().join("serve.log");
        let log = File::options().create(true).append(true).open(log).unwrap();
        Beside::start(self.command(&[&["serve"], options].concat()).stderr(log))
    }

    pub(crate) fn serve_with(&self, options: &[&str]) -> Server {
        let mut command = self.command(&[&["serve"], options].concat());
        Server::start(&mut command, &self.path().join("serve.log"))
    }
}

/// Runs a command to its end. Files take what it prints, so that no pipe fills up.
pub(crate) fn finish(command: &mut Command) -> Done {
    finish_fed(command, Stdio::null())
}

fn finish_fed(command: &mut Command, input: Stdio) -> Done {
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdin(input).stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let status = wait(&mut child);
    Done { code: status.code().unwrap_or(-1), out: whole(out), err: whole(err) }
}

fn whole(mut file: File) -> String {
    use std::io::Seek;
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    let ended = wait_until(WAIT, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if !ended {
        drop(child.kill());
        drop(child.wait());
        panic!("a process did not end within {WAIT:?}");
    }
    status.unwrap()
}

/// A command that runs beside the test, which reads what it prints; killed when dropped.
pub(crate) struct Beside {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
}

impl Beside {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(BufReader::new);
        Self { child, out }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints, with its end. Empty after the last one.
    pub(crate) fn line(&mut self) -> String {
        let mut out = self.out.take().expect("it is read by this test alone");
        let (said, line) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = out.read_line(&mut text).map(|_| text);
            drop(said.send((out, read)));
        });
        let (out, read) = line.recv_timeout(WAIT).expect("another line or the end");
        self.out = Some(out);
        read.unwrap()
    }

    /// Reads no more.
    pub(crate) fn close(&mut self) {
        drop(self.out.take());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.wait();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Fails when it ended before.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// What it says first.
    pub(crate) greeting: String,
    child: Child,
    lines: Receiver<String>,
}

impl Server {
    pub(crate) fn start(command: &mut Command, log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|it| said.send(it))
        });
        let mut line = || {
            lines.recv_timeout(WAIT).unwrap_or_else(|_| {
                drop(child.kill());
                panic!("the server did not start: {}", child.wait().unwrap());
            })
        };
        // The first start names the administrator before.
        let mut greeting = line();
        while !greeting.contains("://") {
            greeting = line();
        }
        let (_, address) = greeting.split_once("://").expect("it was looked for");
        let address = address.split(' ').next().unwrap().parse().unwrap();
        Self { address, greeting, child, lines }
    }

    /// The next line that it prints.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(WAIT).expect("another line")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it had so far, in KiB.
    pub(crate) fn memory_kib_max(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Asks it to stop, as systemd does, and waits until it has.
    pub(crate) fn stop(mut self) -> ExitStatus {
        signal(self.id(), "-TERM");
        wait(&mut self.child)
    }

    /// Ends it at once, as a power cut would end the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A request to the versioned interface; `path` is relative to `/api/v1`.
    pub(crate) fn send(&self, method: &str, key: &str, path: &str, body: &Value) -> super::Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
        super::send(self.address, method, &format!("/api/v1{path}"), &headers, &body)
    }

    pub(crate) fn get(&self, key: &str, path: &str) -> super::Answer {
        self.send("GET", key, path, &Value::Null)
    }

    /// A number of `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = super::send(self.address, "GET", "/metrics", &[], &[]).text();
        let number = text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
        number.unwrap_or_else(|| panic!("no metric `{name}`: {text}")).parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails when it ended before.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A connection that is kept, to a server that may go away at any byte.
pub(crate) struct Line(BufReader<TcpStream>);

impl Line {
    pub(crate) fn to(address: SocketAddr) -> std::io::Result<Self> {
        Self::within(address, WAIT)
    }

    /// To a server that has so much time to answer.
    pub(crate) fn within(address: SocketAddr, wait: Duration) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(wait))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Pushes an asset. The whole answer's status and body; `None` when it did not come whole.
    pub(crate) fn push(&mut self, key: &str, asset: &Value) -> Option<(u16, Value)> {
        let (status, body) = self.send("POST", "/api/v1/assets", key, &asset.to_string())?;
        Some((status, serde_json::from_slice(&body).unwrap()))
    }

    /// The whole answer's status and body; `None` when it did not come whole.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        key: &str,
        body: &str,
    ) -> Option<(u16, Vec<u8>)> {
        self.ask(method, path, key, body).map(|it| (it.status, it.body))
    }

    /// The whole answer; `None` when it did not come whole.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        key: &str,
        body: &str,
    ) -> Option<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut answer = Answer { status, headers: Vec::new(), body: Vec::new() };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            answer.headers.push((name.to_lowercase(), value.to_owned()));
        }
        let n_bytes = answer.header("content-length").map_or(Some(0), |it| it.parse().ok())?;
        answer.body.resize(n_bytes, 0);
        self.0.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        Some(line.strip_suffix("\r\n")?.to_owned())
    }
}

/// A Prowler OCSF file: each of `checks` (code, whether it passed) on one resource, observed at
/// `at_s`.
pub(crate) fn prowler_file(at_s: i64, checks: &[(&str, bool)]) -> Vec<u8> {
    let finding = |(index, (check, passed)): (usize, &(&str, bool))| {
        json!({
            "metadata": { "event_code": check, "product": { "name": "Prowler" } },
            "severity": "High",
            "status": "New",
            "status_code": if *passed { "PASS" } else { "FAIL" },
            "status_detail": "as it was found",
            "finding_info": { "title": format!("Check {check}"), "uid": format!("f-{index}") },
            "resources": [{
                "uid": format!("arn:aws:s3:::bucket-{index}"),
                "name": format!("bucket-{index}"),
                "type": "AwsS3Bucket",
                "group": { "name": "s3" },
            }],
            "class_uid": 2004,
            "cloud": { "account": { "uid": "123456789012" }, "provider": "aws" },
            "time": at_s,
        })
    };
    let findings: Vec<Value> = checks.iter().enumerate().map(finding).collect();
    Value::Array(findings).to_string().into_bytes()
}
