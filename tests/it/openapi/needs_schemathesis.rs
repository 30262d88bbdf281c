//! Schemathesis tries the operations with made-up requests, valid and not, and holds the answers against the document.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posture::clock::Clock;
use serde_json::json;

use crate::harness::long::is_long;
use crate::harness::{Posture, tool};

/// Not checked: that every request that the document allows is accepted. A schema cannot say all rules, such as which
/// control codes there are, what a network is, or that a text must not be blank. Their breach is a 400 that names the
/// field.
const NOT_CHECKED: &str = "positive_data_acceptance";
/// They end the session that the others need.
const LAST_OF_A_SESSION: &str = "^/auth/logout$|^/api/me/password$|^/api/users/";

/// Runs the program with a credential on the operations whose path fits.
fn try_operations(posture: &Posture, header: &str, paths: [&str; 2], seed: u32, n: u32) {
    let url = format!("http://{}/openapi.json", posture.address);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(tool::schemathesis());
    command.current_dir(folder.path()).args(["run", &url, "--header", header]);
    command.args(["--checks", "all", "--exclude-checks", NOT_CHECKED]);
    command.args(["--phases", "coverage,fuzzing", "--continue-on-failure", "--warnings", "off"]);
    command.args(["--seed", &seed.to_string(), "--max-examples", &n.to_string()]);
    command.args(["--include-path-regex", paths[0], "--exclude-path-regex", paths[1]]);
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{header}, seed {seed}:\n{told}");
    let cases = told.lines().find(|it| it.contains(" generated, ")).unwrap_or_default();
    eprintln!("seed {seed}, {}: {}", paths[0], cases.trim());
}

#[test]
#[ignore = "needs the Python package schemathesis"]
fn no_made_up_request_gets_what_the_document_does_not_say() {
    let (seeds, n) = if is_long() { (1..=3, 30) } else { (1..=1, 3) };
    let posture = Posture::start();
    posture.client("A");
    let key = posture.key();
    let password = "correct horse battery staple 9";
    let user = json!({"email": "ada@example.com", "role": "admin", "password": password});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    // Users have 600 requests a minute. The clock runs faster here.
    let _hurry = Hurry::start(posture.clock.clone());
    for seed in seeds {
        try_operations(&posture, &format!("X-API-Key: {key}"), ["^/api/v1/", "^$"], seed, n);
        for paths in ["^/api/(clients|portfolio|me|catalog|frameworks|controls)", "^/api/[^c]"] {
            let token = posture.log_in("ada@example.com", password);
            let header = format!("Authorization: Bearer {token}");
            let others = format!("^/api/v1/|{LAST_OF_A_SESSION}");
            try_operations(&posture, &header, [paths, &others], seed, n);
        }
    }
}

/// Moves a clock by a minute several times a second until it is dropped.
struct Hurry(Arc<AtomicBool>);

impl Hurry {
    fn start(clock: Clock) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                clock.set(clock.now().plus_s(60));
                std::thread::sleep(Duration::from_millis(700));
            }
        });
        Self(is_over)
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
