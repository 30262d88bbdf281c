//! Counts runs of sources and imported files since the start, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::run::Intake;
use super::source::Run;
use crate::app::App;

/// What became of runs.
#[derive(Debug, Default)]
pub struct IntakeCounts {
    completed: AtomicU64,
    partial: AtomicU64,
    failed: AtomicU64,
    quiet: AtomicU64,
    refused: AtomicU64,
    n_records: AtomicU64,
    files: AtomicU64,
    known_files: AtomicU64,
    undone_files: AtomicU64,
}

/// [`IntakeCounts`] at one moment.
#[derive(Clone, Copy, Debug)]
pub struct IntakeFigures {
    /// Runs, by how they went.
    pub runs: [(&'static str, u64); 5],
    /// Records in runs that were taken.
    pub n_records: u64,
    /// Files, by what became of them.
    pub imports: [(&'static str, u64); 3],
}

fn add(count: &AtomicU64, n: u64) {
    count.fetch_add(n, Ordering::Relaxed);
}

impl IntakeCounts {
    /// Counts a run that was taken or not.
    pub(super) fn count_run(&self, intake: &Intake, is_taken: bool) {
        let count = match &intake.run {
            _ if intake.is_undoing() => return,
            _ if !is_taken => &self.refused,
            Run::Completed => &self.completed,
            Run::Degraded { .. } => &self.partial,
            Run::Failed { .. } => &self.failed,
            Run::Quiet => &self.quiet,
        };
        add(count, 1);
        if is_taken {
            add(&self.n_records, intake.import.n_records);
        }
    }

    pub(super) fn count_file(&self) {
        add(&self.files, 1);
    }

    pub(super) fn count_known_file(&self) {
        add(&self.known_files, 1);
    }

    pub(super) fn count_undone_file(&self) {
        add(&self.undone_files, 1);
    }
}

impl App {
    pub fn intake_figures(&self) -> IntakeFigures {
        let it = &self.intakes;
        let n = |count: &AtomicU64| count.load(Ordering::Relaxed);
        IntakeFigures {
            runs: [
                ("completed", n(&it.completed)),
                ("partial", n(&it.partial)),
                ("failed", n(&it.failed)),
                ("quiet", n(&it.quiet)),
                ("refused", n(&it.refused)),
            ],
            n_records: n(&it.n_records),
            imports: [
                ("taken", n(&it.files)),
                ("known", n(&it.known_files)),
                ("undone", n(&it.undone_files)),
            ],
        }
    }
}
