//! Waiting for other processes, and asking them to end.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(3);

/// Waits until `is_so`; whether it came to be in time.
pub(crate) fn wait_until(wait: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + wait;
    while !is_so() {
        if end < Instant::now() {
            return false;
        }
        sleep(LOOK_EVERY);
    }
    true
}

/// Sends a process a signal, such as `-TERM`.
pub(crate) fn signal(id: u32, name: &str) {
    let kill = ["-c", "kill \"$0\" \"$1\"", name, &id.to_string()];
    assert!(Command::new("sh").args(kill).status().unwrap().success(), "no process {id}");
}
