//! An authority that others wrote judges how the Microsoft app proves who it is.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::graph::{APP, Graph};
use crate::harness::process::{Beside, Folder, wait_until};
use crate::harness::{http, tool};

const WAIT: Duration = Duration::from_mins(1);
/// Where the app of a tenant gets its tokens.
const TOKENS: &str = "https://login.microsoftonline.com/acme.example/oauth2/v2.0/token";

struct Authority {
    process: Beside,
    address: SocketAddr,
}

impl Authority {
    /// It knows the app by this certificate.
    fn start(certificate: &Path) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oidc/server.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(tool::npm()).args([TOKENS, APP]);
        command.arg("https://graph.microsoft.com/.default").arg(certificate);
        let mut process = Beside::start(&mut command);
        let port = told(&mut process)["port"].as_u64().unwrap();
        Self { process, address: format!("127.0.0.1:{port}").parse().unwrap() }
    }

    /// The next request for a token: what the app said of itself, and the status of the answer.
    fn asked(&mut self) -> (String, u64) {
        loop {
            let it = told(&mut self.process);
            if let Some(assertion) = it["assertion"].as_str() {
                return (assertion.to_owned(), it["status"].as_u64().unwrap());
            }
        }
    }

    /// Why it refused the last request, in its own words, whatever it tells the app.
    fn refused(&mut self) -> String {
        loop {
            let it = told(&mut self.process);
            if let Some(why) = it["refused"].as_str() {
                return why.to_owned();
            }
        }
    }
}

fn told(process: &mut Beside) -> Value {
    let line = process.line();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

fn init(folder: &Folder, more: &[&str]) -> String {
    let init = ["connect", "m365", "init", "--app-id", APP, "--tenant", "msp.example"];
    folder.ok(&[&init[..], &["--out", "app.cer"], more].concat())
}

fn ran(folder: &Folder, id: &str) -> Value {
    let mut last = Value::Null;
    let came = wait_until(WAIT, || {
        last = folder.ask(&format!("/api/connections/{id}"))["data"].clone();
        !last["lastRunAt"].is_null()
    });
    assert!(came, "{last}");
    last
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn an_authority_takes_the_certificate_of_the_app_once() {
    let graph = Graph::start();
    let first = Folder::new();
    let before = first.serve();
    let said = init(&first, &[]);
    assert!(said.contains("upload app.cer"), "{said}");
    drop(before);
    let certificate = first.path().join("app.cer");
    let mut authority = Authority::start(&certificate);
    // The same database, with a configuration that leads to the authority.
    let led = graph.folder_with(authority.address);
    fs::copy(led.path().join("posture.toml"), first.path().join("posture.toml")).unwrap();
    let _server = first.serve();
    first.client("Acme");
    let add =
        ["connect", "add", "--no-wait", "m365", "--client", "Acme", "--set", "tenant=acme.example"];
    let id = first.ok(&add).lines().next().unwrap().to_owned();
    let now = ran(&first, &id);
    assert_eq!(now["health"], "healthy", "{now}");
    let (assertion, status) = authority.asked();
    assert_eq!(status, 200);
    let tokens: std::collections::BTreeSet<_> = graph
        .sink
        .requests()
        .iter()
        .filter_map(|it| it.header("authorization").map(str::to_owned))
        .collect();
    assert_eq!(tokens.len(), 1, "one token for the whole run");

    // Who steals the assertion on its way cannot use it.
    let body = format!(
        "grant_type=client_credentials&client_id={APP}&scope=https%3A%2F%2Fgraph.microsoft.com%2F.default\
         &client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion={assertion}"
    );
    let path = "/acme.example/oauth2/v2.0/token";
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = http::send(authority.address, "POST", path, &headers, body.as_bytes());
    assert_eq!(answer.status, 401, "{}", answer.text());
    let why = authority.refused();
    assert!(why.contains("only be used once"), "{why}");
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn an_authority_that_knows_another_certificate_refuses_and_nothing_is_read() {
    let graph = Graph::start();
    let folder = Folder::new();
    let before = folder.serve();
    init(&folder, &[]);
    let known = folder.path().join("known.cer");
    fs::copy(folder.path().join("app.cer"), &known).unwrap();
    init(&folder, &[]); // Nobody uploaded this one.
    drop(before);
    let mut authority = Authority::start(&known);
    let led = graph.folder_with(authority.address);
    fs::copy(led.path().join("posture.toml"), folder.path().join("posture.toml")).unwrap();
    let _server = folder.serve();
    folder.client("Acme");
    let add =
        ["connect", "add", "--no-wait", "m365", "--client", "Acme", "--set", "tenant=acme.example"];
    let id = folder.ok(&add).lines().next().unwrap().to_owned();
    let now = ran(&folder, &id);
    assert_eq!(now["health"], "failing", "{now}");
    let shown = folder.run(&["connect", "show", &id]).out;
    assert!(shown.contains("invalid_client"), "{shown}");
    assert!(authority.refused().contains("signature"), "it is the key that is wrong");
    assert!(graph.asked().is_empty(), "{:?}", graph.asked());
}
