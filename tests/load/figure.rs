//! Figures on lines of their own, each beside its goal.

use std::fmt::Display;

/// What was measured so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    n_missed: u32,
}

impl Report {
    /// A figure that has no goal.
    pub(crate) fn note(name: &str, value: impl Display) {
        println!("{name:<58} {value:>22}");
    }

    /// A figure that has one.
    pub(crate) fn goal(&mut self, name: &str, value: impl Display, goal: &str, is_met: bool) {
        let word = if is_met { "ok" } else { "MISSED" };
        println!("{name:<58} {:>22}  goal {goal}: {word}", value.to_string());
        self.n_missed += u32::from(!is_met);
    }

    pub(crate) fn section(name: &str) {
        println!("\n{name}");
    }

    /// # Errors
    /// How many goals were missed.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.n_missed {
            0 => Ok(()),
            n => Err(format!("{n} goals were missed")),
        }
    }
}

/// Microseconds, for people.
pub(crate) fn time(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// A quotient with two decimals.
pub(crate) fn quotient(a: u64, b: u64) -> String {
    let hundredths = a * 100 / b.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

pub(crate) fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

/// A number of `/proc/<id>/status`, such as `VmRSS`, in KiB.
pub(crate) fn memory_kib(id: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|it| it.trim().strip_suffix(" kB"));
    number.expect("a number of KiB").trim().parse().expect("a number")
}
