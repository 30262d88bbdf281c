//! Other people's side: the examples of receivers, and the library of Standard Webhooks, on real deliveries.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use posture::clock::Clock;
use posture::webhook::sign::SigningSecret;
use serde_json::{Value, json};

use super::{Receiver, add, change, path, push, start, wait_first, wait_for};
use crate::harness::sink::Request;
use crate::harness::{Posture, tool};

/// What takes longer hangs.
const WAIT: Duration = Duration::from_mins(2);
/// More than a receiver reads.
const LARGE_BYTES: usize = 2 << 20;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A receiver from `assets/docs/receivers`, killed when dropped.
struct Program {
    child: Child,
    address: SocketAddr,
    lines: mpsc::Receiver<String>,
}

impl Program {
    /// `port` is below 32768, where no free port is given away.
    fn start(interpreter: &str, file: &str, port: u16, secret: &str) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut child = Command::new(interpreter)
            .arg(root().join("assets/docs/receivers").join(file))
            .env("WEBHOOK_SECRET", secret)
            .env("PORT", port.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{interpreter}: {error}"));
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|it| said.send(it))
        });
        let program = Self { child, address, lines };
        assert_eq!(program.line(), format!("listening on http://{address}/"));
        program
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(WAIT).expect("another line")
    }

    /// Sends these bytes as a delivery; the status of the answer.
    fn post(&self, headers: &[(&str, &str)], body: &[u8], length: usize) -> u16 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let mut head = format!("POST /hook HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "Connection: close\r\nContent-Length: {length}\r\n\r\n").unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn rotate(posture: &Posture, webhook: &Value) {
    let body = json!({ "overlapS": 3_600 });
    let path = format!("{}/rotate-secret", path(webhook));
    assert_eq!(posture.operator("POST", &path, &body).status, 200);
}

/// What no receiver may take: the same delivery, changed.
fn forged(program: &Program, request: &Request, secret: &str) {
    let id = request.header("x-service-event-id").unwrap();
    let signature = SigningSecret::parse(secret).unwrap().sign(&request.body);
    let post = |signature: &str, body: &[u8]| {
        let headers = [("X-Service-Event-Id", id), ("X-Service-Signature", signature)];
        program.post(&headers, body, body.len())
    };
    assert_eq!(post(&signature, &request.body), 204, "what is not changed is taken");
    let body = String::from_utf8(request.body.clone()).unwrap();
    for body in [body.replacen("asset", "asseT", 1), format!("{body} "), String::new()] {
        assert_eq!(post(&signature, body.as_bytes()), 401, "{body}");
    }
    let other = SigningSecret::random().sign(&request.body);
    for signature in
        ["", "0", &other, &signature[1..], &format!("{signature}0"), &"é".repeat(64), "sha256="]
    {
        assert_eq!(post(signature, &request.body), 401, "{signature}");
    }
    let unsigned = program.post(&[("X-Service-Event-Id", id)], &request.body, request.body.len());
    assert_eq!(unsigned, 401);
    let headers = [("X-Service-Event-Id", id), ("X-Service-Signature", &*signature)];
    assert_eq!(program.post(&headers, b"", LARGE_BYTES), 413);
}

/// Runs a receiver against a posture: what it takes, what it refuses, and what it knows already.
fn takes_deliveries_and_nothing_else(interpreter: &str, file: &str, port: u16) {
    let (posture, sink) = (start(), Receiver::start());
    let webhook = add(&posture, "https://example.com/");
    let secret = webhook["secret"].as_str().unwrap();
    let program = Program::start(interpreter, file, port, secret);
    change(&posture, &webhook, &json!({ "url": format!("http://{}/hook", program.address) }));
    add(&posture, &sink.sink.url());
    let client = posture.client("A");
    let said = |n: usize| {
        let request = sink.wait(n);
        let id = request.header("x-service-event-id").unwrap().to_owned();
        assert_eq!(program.line(), format!("{id} asset_discovered {client}"));
        request
    };
    push(&posture, &client, "one");
    let request = said(1);
    let delivered = wait_for(&posture, &webhook, "delivered");
    assert_eq!(delivered["attempts"][0]["status"], 204);

    let recover = format!("{}/recover", path(&webhook));
    let body = json!({ "sequence": delivered["sequence"] });
    assert_eq!(posture.operator("POST", &recover, &body).json()["data"]["queued"], 1);
    let is_again = |it: &Value| it["attemptCount"] == 2 && it["status"] == "delivered";
    wait_first(&posture, &webhook, is_again);
    forged(&program, &request, secret);
    push(&posture, &client, "two");
    said(2); // The next line: of what came in between nothing was new.
    rotate(&posture, &webhook);
    push(&posture, &client, "three");
    said(3);
}

mod needs_python {
    #[test]
    #[ignore = "needs python3"]
    fn the_receiver_takes_deliveries_and_nothing_else() {
        super::takes_deliveries_and_nothing_else("python3", "receiver.py", 8_706);
    }
}

mod needs_node {
    #[test]
    #[ignore = "needs node"]
    fn the_receiver_takes_deliveries_and_nothing_else() {
        super::takes_deliveries_and_nothing_else("node", "receiver.mjs", 8_707);
    }
}

mod needs_pwsh {
    #[test]
    #[ignore = "needs pwsh"]
    fn the_receiver_takes_deliveries_and_nothing_else() {
        super::takes_deliveries_and_nothing_else("pwsh", "receiver.ps1", 8_708);
    }
}

const STANDARD: &str = "
import json, sys
from standardwebhooks.webhooks import Webhook
given = json.load(sys.stdin)
print(json.dumps(Webhook(given['secret']).verify(given['body'], given['headers'])))
";

/// A Python with the package of Standard Webhooks, which `tests/tools` installs.
fn python() -> PathBuf {
    tool::python()
}

/// What the package makes of a delivery.
///
/// # Errors
/// What it says against it.
fn verify(python: &Path, secret: &str, request: &Request) -> Result<Value, String> {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: serde_json::Map<_, _> =
        names.iter().map(|it| ((*it).to_owned(), json!(request.header(it).unwrap()))).collect();
    let body = String::from_utf8(request.body.clone()).unwrap();
    let given = json!({ "secret": secret, "headers": headers, "body": body }).to_string();
    let mut command = Command::new(python);
    command.args(["-c", STANDARD]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    if done.status.success() {
        return Ok(serde_json::from_slice(&done.stdout).unwrap());
    }
    let told = String::from_utf8_lossy(&done.stderr);
    Err(told.lines().last().unwrap_or_default().to_owned())
}

mod needs_standardwebhooks {
    use super::*;

    #[test]
    #[ignore = "needs the Python package standardwebhooks"]
    fn the_library_of_standard_webhooks_verifies_deliveries() {
        let python = python();
        let (posture, receiver) = (start(), Receiver::start());
        posture.clock.set(Clock::System.now()); // The library knows no other one.
        let webhook = add(&posture, &receiver.sink.url());
        let secret = webhook["secret"].as_str().unwrap();
        let client = posture.client("A");
        push(&posture, &client, "é");
        let request = receiver.wait(1);
        let event = verify(&python, secret, &request).unwrap();
        assert_eq!(event, posture.events()[0]);

        let refused = |secret: &str, request: &Request| {
            let told = verify(&python, secret, request).unwrap_err();
            assert!(told.contains("WebhookVerificationError"), "{told}");
            told
        };
        refused(SigningSecret::random().reveal(), &request);
        let body = [&request.body[..], b" "].concat();
        refused(secret, &Request { body, ..request.clone() });
        let next_s = request.header("webhook-timestamp").unwrap().parse::<i64>().unwrap() + 1;
        for (name, value) in [("webhook-id", "evt_0"), ("webhook-timestamp", &next_s.to_string())] {
            let mut changed = request.clone();
            let header = changed.headers.iter_mut().find(|(it, _)| it == name).unwrap();
            value.clone_into(&mut header.1);
            refused(secret, &changed);
        }

        rotate(&posture, &webhook);
        push(&posture, &client, "signed by both");
        verify(&python, secret, &receiver.wait(2))
            .expect("the old secret signs during the overlap");
        posture.clock.set(Clock::System.now().plus_s(600));
        push(&posture, &client, "signed by a clock that is wrong");
        assert!(refused(secret, &receiver.wait(3)).contains("timestamp too new"));
    }
}
