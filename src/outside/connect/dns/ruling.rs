//! What a rule read and concluded.

use crate::connect::reading::{JudgedStatus, StreamState};
use crate::text::line;

/// Longer records are cut where findings show them.
const RECORD_CHARS_MAX: usize = 240;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ruling {
    pub(super) state: StreamState,
    pub(super) reason: String,
    pub(super) n_rows: usize,
    pub(super) verdict: Option<(JudgedStatus, String)>,
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Ruling {
    /// Everything was read, and it decides nothing.
    pub(super) fn none(n_rows: usize) -> Self {
        let (reason, notes) = (String::new(), Vec::new());
        Self { state: StreamState::Complete, reason, n_rows, verdict: None, notes }
    }

    pub(super) fn noted(n_rows: usize, name: &'static str, text: String) -> Self {
        Self { notes: vec![(name, text)], ..Self::none(n_rows) }
    }

    pub(super) fn judged(n_rows: usize, status: JudgedStatus, findings: String) -> Self {
        Self { verdict: Some((status, findings)), ..Self::none(n_rows) }
    }

    /// A part could not be read, so that nothing is judged.
    pub(super) fn partial(n_rows: usize, reason: String) -> Self {
        Self { state: StreamState::Partial, reason, ..Self::none(n_rows) }
    }

    pub(super) fn failed(reason: String) -> Self {
        Self { state: StreamState::Failed, reason, ..Self::none(0) }
    }
}

/// A record for findings: in quotation marks, cut, with nothing hidden in it.
pub(super) fn quoted(record: &str) -> String {
    format!("\"{}\"", line(record, RECORD_CHARS_MAX))
}
