//! What single things take: `cargo bench --bench bench`. Each time stands beside that of the same known work in the
//! same run (SHA-256 of 1 MiB), so that figures of different machines compare. `-- formats` runs one part alone.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement says its figures")]

#[path = "../load/app.rs"]
mod app;
mod assess;
#[path = "../load/figure.rs"]
mod figure;
#[path = "../load/findings.rs"]
mod findings;
mod formats;
#[allow(
    dead_code,
    unreachable_pub,
    clippy::print_stderr,
    reason = "of the tests' harness only the processes are used"
)]
#[path = "../it/harness/mod.rs"]
mod harness;
mod input;
mod logins;
mod start;

/// The service's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::hint::black_box;
use std::time::Instant;

use sha2::{Digest, Sha256};

use figure::{Report, median, quotient, time};

type Part = fn(&mut Bench);

fn main() -> Result<(), String> {
    let mut bench = Bench { report: Report::default(), reference: 0 };
    bench.reference = median_micros(50, || {
        black_box(Sha256::digest(black_box(vec![7_u8; 1 << 20])));
    });
    Report::note("SHA-256 of 1 MiB (1.00 ref)", time(bench.reference));
    let parts: [(&str, Part); 5] = [
        ("assess", assess::bench),
        ("input", input::bench),
        ("formats", formats::bench),
        ("logins", logins::bench),
        ("start", start::bench),
    ];
    // Cargo passes options of its own.
    let named: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    for (name, part) in parts {
        if named.is_empty() || named.iter().any(|it| it == name) {
            part(&mut bench);
        }
    }
    bench.report.finish()
}

struct Bench {
    report: Report,
    /// What the known work takes, in microseconds.
    reference: u64,
}

impl Bench {
    fn goal(&mut self, name: &str, micros: u64, goal_micros: u64) {
        let value = format!("{} ({} ref)", time(micros), quotient(micros, self.reference));
        let goal = format!("< {}", time(goal_micros));
        self.report.goal(name, value, &goal, micros < goal_micros);
    }

    fn note(&self, name: &str, micros: u64) {
        let value = format!("{} ({} ref)", time(micros), quotient(micros, self.reference));
        Report::note(name, value);
    }
}

fn micros(mut work: impl FnMut()) -> u64 {
    let start = Instant::now();
    work();
    u64::try_from(start.elapsed().as_micros()).unwrap()
}

/// The first one, which warms up, does not count.
fn median_micros(n: usize, mut work: impl FnMut()) -> u64 {
    work();
    median((0..n).map(|_| micros(&mut work)).collect())
}
