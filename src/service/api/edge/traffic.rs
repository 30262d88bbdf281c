//! Counts answers: how many of each operation had which status, and how long they took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poem::http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

/// The statuses that are counted apart.
const STATUSES: [u16; 26] = [
    200, 201, 202, 204, 206, 303, 304, 307, 308, 400, 401, 403, 404, 405, 408, 409, 411, 412, 413,
    414, 415, 416, 429, 431, 500, 503,
];
/// All other statuses together.
const OTHER: usize = STATUSES.len();
/// The ends of the intervals of durations; one more has no end.
const ENDS_US: [u64; 6] = [5_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];
/// What was refused before its operation was known, and what is no operation.
const NO_OPERATION: &str = "none";

/// Where each status is counted.
const SLOTS: [usize; 600] = {
    let mut slots = [OTHER; 600];
    let mut index = 0;
    while index < STATUSES.len() {
        slots[STATUSES[index] as usize] = index;
        index += 1;
    }
    slots
};

/// All answers since the start. Counting one is three additions.
#[derive(Debug)]
pub struct Traffic {
    /// By the number of the operation. The last ones are of no operation.
    operations: Vec<OperationTraffic>,
}

#[derive(Debug)]
struct OperationTraffic {
    name: &'static str,
    /// By [`STATUSES`], and [`OTHER`].
    answers: [AtomicU64; STATUSES.len() + 1],
    /// By [`ENDS_US`], and what took longer.
    durations: [AtomicU64; ENDS_US.len() + 1],
    total_us: AtomicU64,
}

impl OperationTraffic {
    fn of(name: &'static str) -> Self {
        let zero = |_| AtomicU64::new(0);
        Self {
            name,
            answers: std::array::from_fn(zero),
            durations: std::array::from_fn(zero),
            total_us: AtomicU64::new(0),
        }
    }

    fn is_used(&self) -> bool {
        self.durations.iter().any(|it| it.load(Ordering::Relaxed) != 0)
    }
}

impl Traffic {
    /// `names`: those of the operations, by their number.
    #[must_use]
    pub fn of(names: impl Iterator<Item = &'static str>) -> Self {
        let names = names.chain([NO_OPERATION]);
        Self { operations: names.map(OperationTraffic::of).collect() }
    }

    /// The name of an operation.
    #[must_use]
    pub fn name(&self, operation: usize) -> Option<&'static str> {
        self.operations.get(operation).map(|it| it.name)
    }

    /// Counts an answer. `operation`: its number; `took`: from the end of the request's head to the start of the answer.
    pub fn count(&self, operation: Option<usize>, status: StatusCode, took: Duration) {
        let none = self.operations.len() - 1;
        let counts = &self.operations[operation.unwrap_or(none).min(none)];
        let slot = SLOTS.get(usize::from(status.as_u16())).copied().unwrap_or(OTHER);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let interval = ENDS_US.partition_point(|end| *end < us);
        counts.answers[slot].fetch_add(1, Ordering::Relaxed);
        counts.durations[interval].fetch_add(1, Ordering::Relaxed);
        counts.total_us.fetch_add(us, Ordering::Relaxed);
    }

    fn used(&self) -> impl Iterator<Item = &OperationTraffic> {
        self.operations.iter().filter(|it| it.is_used())
    }
}

impl Collector for Traffic {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let help = "Answers since the start, by operation and status.";
        let mut requests =
            encoder.encode_descriptor("requests", help, None, MetricType::Counter)?;
        for operation in self.used() {
            for (index, n) in operation.answers.iter().enumerate() {
                let n = n.load(Ordering::Relaxed);
                if n == 0 {
                    continue;
                }
                let status = STATUSES.get(index).map_or("other".to_owned(), u16::to_string);
                let labels = [("operation", operation.name), ("status", status.as_str())];
                ConstCounter::new(n).encode(requests.encode_family(&labels)?)?;
            }
        }
        let help = "From the end of a request's head to the start of its answer.";
        let kind = MetricType::Histogram;
        let mut durations =
            encoder.encode_descriptor("request_duration_seconds", help, None, kind)?;
        for operation in self.used() {
            let n_in = operation.durations.each_ref().map(|it| it.load(Ordering::Relaxed));
            let ends = ENDS_US.map(|us| Duration::from_micros(us).as_secs_f64());
            let ends = ends.into_iter().chain([f64::INFINITY]);
            let intervals: Vec<(f64, u64)> = ends.zip(n_in).collect();
            let total = Duration::from_micros(operation.total_us.load(Ordering::Relaxed));
            let labels = [("operation", operation.name)];
            let mut metric = durations.encode_family(&labels)?;
            let count = n_in.iter().sum();
            metric.encode_histogram::<NoLabelSet>(total.as_secs_f64(), count, &intervals, None)?;
        }
        Ok(())
    }
}
