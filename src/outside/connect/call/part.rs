//! Streams that are read in parts, one after the other: in each region, bucket or subscription.

use super::unread::Unread;
use crate::connect::reading::{Stream, StreamState};

/// A stream while it is read.
pub struct Parts {
    name: &'static str,
    n_rows: u64,
    n_read: usize,
    /// Which parts were not read, and why.
    unread: Vec<(String, Unread)>,
}

impl Parts {
    #[must_use]
    pub const fn of(name: &'static str) -> Self {
        Self { name, n_rows: 0, n_read: 0, unread: Vec::new() }
    }

    /// Notes what became of a part, whose name may be empty. `None`: it was not read.
    pub fn take<T>(
        &mut self,
        part: &str,
        read: Result<T, Unread>,
        n_rows: impl Fn(&T) -> usize,
    ) -> Option<T> {
        match read {
            Ok(value) => {
                self.n_read += 1;
                self.n_rows += n_rows(&value) as u64;
                Some(value)
            }
            Err(unread) => {
                self.unread.push((part.to_owned(), unread));
                None
            }
        }
    }

    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Whether all was read, and the first reason why not.
    #[must_use]
    pub fn stream(&self) -> Stream {
        let Some((part, first)) = self.unread.first() else {
            return Stream {
                name: self.name.to_owned(),
                state: StreamState::Complete,
                reason: String::new(),
                n_rows: self.n_rows,
            };
        };
        let is_same = self.unread.iter().all(|it| it.1.state == first.state);
        // A right that is missing in some parts is missing all the same.
        let is_told = self.n_read == 0 || first.state == StreamState::Denied;
        let state = if is_same && is_told { first.state } else { StreamState::Partial };
        let more = match self.unread.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more like it)"),
        };
        let about = if part.is_empty() { String::new() } else { format!("{part}: ") };
        let reason = format!("{about}{}{more}", first.reason);
        Stream { name: self.name.to_owned(), state, reason, n_rows: self.n_rows }
    }
}
