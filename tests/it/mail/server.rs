//! A mail server that others wrote, and what it took.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::port::free_port;
use crate::harness::tool;

const WAIT: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);

/// Killed when dropped.
pub(super) struct MailServer {
    child: Child,
    pub(super) port: u16,
    folder: TempDir,
}

impl MailServer {
    /// `settings`: see `tests/data/smtp/server.py`.
    pub(super) fn start(settings: &Value) -> Self {
        Self::start_at(free_port(), settings)
    }

    pub(super) fn start_at(port: u16, settings: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings.clone();
        settings["port"] = json!(port);
        settings["folder"] = json!(folder.path());
        let child = Command::new(tool::aiosmtpd())
            .args(["-c", include_str!("../../data/smtp/server.py"), &settings.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < WAIT, "aiosmtpd does not start");
            std::thread::sleep(LOOK);
        }
        Self { child, port, folder }
    }

    /// The messages that it took, in order.
    pub(super) fn taken(&self) -> Vec<Value> {
        let read = |n: usize| std::fs::read(self.folder.path().join(format!("{n}.json"))).ok();
        let all = (0..).map_while(read);
        all.map(|it| serde_json::from_slice(&it).unwrap()).collect()
    }

    /// Waits until it has taken this many.
    pub(super) fn wait_for(&self, n: usize) -> Vec<Value> {
        let start = Instant::now();
        loop {
            let taken = self.taken();
            if n <= taken.len() {
                return taken;
            }
            assert!(start.elapsed() < WAIT, "{} of {n} messages arrived", taken.len());
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The content of the only file of a message.
pub(super) fn file(message: &Value) -> Vec<u8> {
    let files = message["files"].as_array().unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["kind"], "application/pdf");
    BASE64_STANDARD.decode(files[0]["content"].as_str().unwrap()).unwrap()
}
