//! Two nodes of one installation, and what their database has in the end.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use super::needs_postgres::{CONFIG, folder, other_node};
use crate::harness::port::free_port;
use crate::harness::process::{Beside, Folder, Line, wait_until};

/// A takeover or a start that takes longer hangs. How busy the machine is must not decide a test.
pub(super) const HANGS_AFTER: Duration = Duration::from_mins(2);
/// A node that is asleep or cut off is waited for no longer.
const ANSWER_MAX: Duration = Duration::from_secs(2);

pub(super) struct Node {
    pub(super) folder: Folder,
    pub(super) address: SocketAddr,
    pub(super) process: Beside,
}

/// The status of an answer to a GET; `None` if there is none.
pub(super) fn status(address: SocketAddr, path: &str, key: &str) -> Option<u16> {
    let mut line = Line::within(address, ANSWER_MAX).ok()?;
    line.ask("GET", path, key, "").map(|it| it.status)
}

impl Node {
    fn start(folder: Folder) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let config = CONFIG.replace("127.0.0.1:0", &address.to_string());
        folder.write("posture.toml", config.as_bytes());
        let process = folder.serve_beside();
        let node = Self { folder, address, process };
        node.wait_healthy();
        node
    }

    /// Starts it again, after its process has ended.
    pub(super) fn start_again(&mut self) {
        self.process = self.folder.serve_beside();
    }

    pub(super) fn wait_healthy(&self) {
        let is_healthy = || status(self.address, "/healthz", "") == Some(200);
        assert!(wait_until(HANGS_AFTER, is_healthy), "{}", self.log());
    }

    pub(super) fn is_active(&self) -> bool {
        status(self.address, "/readyz", "") == Some(200)
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("serve.log")).unwrap()
    }
}

/// Two nodes, of which the first is active.
pub(super) struct Nodes {
    pub(super) all: [Node; 2],
    pub(super) client: String,
    pub(super) key: String,
}

impl Nodes {
    /// Each with its own way to the database.
    pub(super) fn start([url, other_url]: [&str; 2]) -> Self {
        let first = Node::start(folder(url));
        assert!(wait_until(HANGS_AFTER, || first.is_active()), "{}", first.log());
        let (client, key) = (first.folder.client("Acme"), first.folder.key("100000000"));
        let other = Node::start(other_node(&first.folder, other_url));
        Self { all: [first, other], client, key }
    }

    /// Waits until a node is active: which one.
    pub(super) fn wait_active(&self) -> usize {
        let mut active = None;
        let is_served = wait_until(HANGS_AFTER, || {
            active = self.all.iter().position(Node::is_active);
            active.is_some()
        });
        let logs = || self.all.each_ref().map(Node::log).join("----\n");
        assert!(is_served, "no node is active: {}", logs());
        active.unwrap()
    }

    /// Waits until this node is active.
    pub(super) fn wait_until_active(&self, index: usize) {
        let is_active = || self.all[index].is_active();
        assert!(wait_until(HANGS_AFTER, is_active), "{}", self.all[index].log());
    }
}

/// What was announced so far, in order.
#[derive(Default)]
pub(super) struct Announced {
    last_sequence: u64,
    names: HashSet<String>,
    /// The nodes that announced something, one after the other.
    pub(super) nodes: Vec<usize>,
}

impl Announced {
    /// Reads on, and looks that no sequence is missing or repeated, and no asset announced twice.
    pub(super) fn read(&mut self, active: &Node) {
        loop {
            let path = format!("/api/events?after={}&limit=100", self.last_sequence);
            let page = active.folder.ask(&path);
            let page = page["data"].as_array().unwrap();
            for event in page {
                let object = &event["data"]["object"];
                assert_eq!(object["sequence"].as_u64(), Some(self.last_sequence + 1), "{event}");
                self.last_sequence += 1;
                if event["type"] == "asset_discovered" {
                    self.note(object["name"].as_str().unwrap());
                }
            }
            if page.is_empty() {
                return;
            }
        }
    }

    fn note(&mut self, name: &str) {
        assert!(self.names.insert(name.to_owned()), "{name} was announced twice");
        let node = usize::from(name.as_bytes()[0] - b'0');
        if self.nodes.last() != Some(&node) {
            self.nodes.push(node);
        }
    }

    /// Looks that everything that was acknowledged is there: announced, and in the list of assets, each once; and that the
    /// audit log is whole. Returns how many assets there are.
    pub(super) fn require(&mut self, nodes: &Nodes, acknowledged: &[String]) -> usize {
        let active = &nodes.all[nodes.wait_active()];
        self.read(active);
        let lost: Vec<_> = acknowledged.iter().filter(|it| !self.names.contains(*it)).collect();
        assert_eq!(lost, Vec::<&String>::new(), "lost");
        let listed = assets(active.address, &nodes.key, &nodes.client);
        assert_eq!(listed.len(), self.names.len());
        assert!(listed.iter().all(|it| self.names.contains(it)), "as they were announced");
        assert_eq!(listed.iter().collect::<HashSet<_>>().len(), listed.len(), "each once");
        assert_eq!(active.folder.json(&["audit", "verify"])["data"]["whole"], true);
        listed.len()
    }
}

/// The names of all assets.
fn assets(address: SocketAddr, key: &str, client: &str) -> Vec<String> {
    let (mut line, mut names) = (Line::to(address).unwrap(), Vec::new());
    loop {
        let path = format!("/api/v1/clients/{client}/assets?limit=100&offset={}", names.len());
        let answer = line.ask("GET", &path, key, "").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json()["data"].as_array().unwrap().clone();
        if page.is_empty() {
            return names;
        }
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        names.extend(page.iter().map(name));
    }
}
