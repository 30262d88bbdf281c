//! Notices: what is wrong with the installation itself, which belongs to no client and is not an event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Time;

/// What a notice is about. There is at most one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    BackupFailed,
    BackupCommandFailed,
    BackupDrillFailed,
    ClockAhead,
    /// Of the managed service provider itself.
    ConnectionFailing,
    CredentialExpiring,
    /// The list of vulnerabilities that are known to be exploited.
    ExploitedListOld,
    /// Results changed with the release.
    ReleaseChanged,
    /// Reports on schedule.
    ReportsNotSent,
    /// Files wait in it that are not taken.
    WatchFolder,
}

impl NoticeKind {
    const ALL: [Self; 10] = [
        Self::BackupFailed,
        Self::BackupCommandFailed,
        Self::BackupDrillFailed,
        Self::ClockAhead,
        Self::ConnectionFailing,
        Self::CredentialExpiring,
        Self::ExploitedListOld,
        Self::ReleaseChanged,
        Self::ReportsNotSent,
        Self::WatchFolder,
    ];

    /// `None`: the word is that of another release.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BackupFailed => "backup_failed",
            Self::BackupCommandFailed => "backup_command_failed",
            Self::BackupDrillFailed => "backup_drill_failed",
            Self::ClockAhead => "clock_ahead",
            Self::ConnectionFailing => "connection_failing",
            Self::CredentialExpiring => "credential_expiring",
            Self::ExploitedListOld => "exploited_list_old",
            Self::ReleaseChanged => "release_changed",
            Self::ReportsNotSent => "reports_not_sent",
            Self::WatchFolder => "watch_folder",
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

/// The notices that are open. The database has them as well, for the next start.
#[derive(Clone, Debug)]
pub struct Notices {
    open: Arc<Mutex<BTreeMap<NoticeKind, Notice>>>,
}

impl Notices {
    pub(super) fn of(open: impl Iterator<Item = Notice>) -> Self {
        Self { open: Arc::new(Mutex::new(open.map(|it| (it.kind, it)).collect())) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NoticeKind, Notice>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a notice, or changes its message. Its time stays that of the first failure.
    pub fn open(&self, kind: NoticeKind, at: Time, message: String) {
        let mut open = self.lock();
        let at = open.get(&kind).map_or(at, |it| it.at);
        open.insert(kind, Notice { kind, at, message });
    }

    /// Returns true if it was open.
    pub fn close(&self, kind: NoticeKind) -> bool {
        self.lock().remove(&kind).is_some()
    }

    #[must_use]
    pub fn list(&self) -> Vec<Notice> {
        self.lock().values().cloned().collect()
    }
}
