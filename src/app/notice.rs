//! Notices: what is wrong with the installation itself, which belongs to no client and is not an event.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Time;

/// What a notice is about. There is at most one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    BackupFailed,
    BackupCommandFailed,
    BackupDrillFailed,
    ClockAhead,
}

impl NoticeKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BackupFailed => "backup_failed",
            Self::BackupCommandFailed => "backup_command_failed",
            Self::BackupDrillFailed => "backup_drill_failed",
            Self::ClockAhead => "clock_ahead",
        }
    }
}

/// Something that is wrong since a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    /// Since when.
    pub at: Time,
    pub message: String,
}

/// The notices that are open. They are found again after a restart.
#[derive(Debug, Default)]
pub struct Notices {
    open: Mutex<BTreeMap<NoticeKind, Notice>>,
}

impl Notices {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<NoticeKind, Notice>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a notice, or changes its message. Its time stays that of the first failure.
    pub fn open(&self, kind: NoticeKind, at: Time, message: String) {
        let mut open = self.lock();
        let at = open.get(&kind).map_or(at, |it| it.at);
        open.insert(kind, Notice { kind, at, message });
    }

    pub fn close(&self, kind: NoticeKind) {
        self.lock().remove(&kind);
    }

    #[must_use]
    pub fn list(&self) -> Vec<Notice> {
        self.lock().values().cloned().collect()
    }
}
