//! The notices about backups: opened by failures, and kept in the database.

use std::sync::atomic::Ordering;

use super::{BackupSettings, readable, remember};
use crate::app::App;
use crate::app::notice::{Notice, NoticeKind};
use crate::error::{Chain, Error};
use crate::request;
use crate::store::backup::StoredNotice;
use crate::store::{Batch, Snapshot};

/// The notices that were open when the service ended, without those about what the configuration no longer asks for.
pub(in crate::app) fn notices_of(
    settings: &BackupSettings,
    snapshot: &Snapshot,
) -> impl Iterator<Item = Notice> + use<> {
    let (has_folder, has_command) = (settings.dir.is_some(), !settings.after_command.is_empty());
    let notices = readable(snapshot.list_notices()).into_iter().filter_map(|it| {
        let StoredNotice { kind, at, message } = it;
        Some(Notice { kind: NoticeKind::parse(&kind)?, at, message })
    });
    notices.filter(move |it| match it.kind {
        NoticeKind::BackupFailed | NoticeKind::BackupDrillFailed => has_folder,
        NoticeKind::BackupCommandFailed => has_folder && has_command,
        // Whoever restarts the service believes the clock, and the others are opened again.
        NoticeKind::ClockAhead
        | NoticeKind::ConnectionFailing
        | NoticeKind::CredentialExpiring
        | NoticeKind::ExploitedListOld
        | NoticeKind::ReleaseChanged
        | NoticeKind::ReportsNotSent
        | NoticeKind::WatchFolder => false,
    })
}

impl App {
    /// Logs a failure once, counts it if it is of a backup or the operator's command, and opens a notice.
    pub(super) async fn note_failure(&self, kind: NoticeKind, error: &Error) {
        let message = error.message().to_owned();
        let id = request::id();
        tracing::error!(error = %Chain(error), request_id = id.as_deref(), "{}: {}", kind.as_str(), Chain(error));
        let count = match kind {
            NoticeKind::BackupFailed => Some(&self.backups.n_failures),
            NoticeKind::BackupCommandFailed => Some(&self.backups.n_command_failures),
            NoticeKind::BackupDrillFailed
            | NoticeKind::ClockAhead
            | NoticeKind::ConnectionFailing
            | NoticeKind::CredentialExpiring
            | NoticeKind::ExploitedListOld
            | NoticeKind::ReleaseChanged
            | NoticeKind::ReportsNotSent
            | NoticeKind::WatchFolder => None,
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.notices.open(kind, self.clock.now(), message);
        self.keep_notices().await;
    }

    /// What the notice is about is right again.
    pub(super) async fn close_notice(&self, kind: NoticeKind) {
        if self.notices.close(kind) {
            self.keep_notices().await;
        }
    }

    async fn keep_notices(&self) {
        let stored = |it: Notice| StoredNotice {
            kind: it.kind.as_str().to_owned(),
            at: it.at,
            message: it.message,
        };
        // As they are when it is written: another may be opened or closed meanwhile.
        let notices = self.notices.clone();
        let write = move |batch: &mut Batch| {
            let open = notices.list().into_iter().map(stored).collect();
            batch.put_notices(&open)
        };
        remember(&self.store, write).await;
    }
}
