//! Drills: the newest backup is restored into a scratch folder, and opened as a start opens it.

use std::path::PathBuf;
use std::time::Instant;

use super::{App, WholeWork, duration_ms, folder, name_of, remember, require_operator};
use crate::app::notice::NoticeKind;
use crate::auth::caller::Caller;
use crate::auth::keyring::Keyring;
use crate::blocking;
use crate::error::{Error, Result};
use crate::store::Snapshot;
use crate::store::backup::{DrillReport, Job};

/// What to restore as a drill.
#[derive(Default)]
pub struct Drill {
    /// `None`: the newest scheduled backup.
    pub file: Option<PathBuf>,
    /// The text of the file with the secret key, for an encrypted backup.
    pub identity: Option<String>,
}

impl App {
    /// Restores a backup into a scratch folder, which is removed in the end, and opens it. The result is remembered.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not name a file; `NotFound` if there is no backup; `Conflict` if other work on the
    /// whole database is in progress; `Invalid` if the backup is damaged or cannot be decrypted.
    pub async fn drill(&self, by: &Caller, drill: Drill) -> Result<DrillReport> {
        require_operator(by, drill.file.as_deref())?;
        let dir = self.backup_settings().dir;
        let (file, is_newest) = match (drill.file, dir) {
            (Some(file), Some(dir)) => {
                let look = move || Ok((folder::is_newest(&dir, &file), file));
                let (is_newest, file) = blocking::run((), look).await?;
                (file, is_newest)
            }
            (Some(file), None) => (file, false),
            (None, Some(dir)) => (blocking::run((), move || folder::newest(&dir)).await?, true),
            (None, None) => {
                let rule = "backup.dir is not set in posture.toml; set it, choose a folder on the page Settings of the console, or \
                    name a file";
                return Err(Error::conflict(rule));
            }
        };
        let (at, began, file_name) = (self.clock.now(), Instant::now(), name_of(&file));
        let store = self.store.clone();
        let work = move |job: &Job| {
            store.rehearse(&file, drill.identity.as_deref(), job, at, read_as_start)
        };
        let restored = match self.run_alone(WholeWork::Drill, work).await {
            Ok(restored) => restored,
            Err(error) => {
                let is_of_backup = error.code == crate::error::Code::Invalid;
                if is_of_backup && is_newest {
                    self.note_failure(NoticeKind::BackupDrillFailed, &error).await;
                }
                let action = format!("backup drill of {file_name} failed: {}", error.message());
                if let Err(error) = self.record(&action).await {
                    tracing::warn!(
                        "a failed drill could not be recorded in the audit log: {error}"
                    );
                }
                return Err(error);
            }
        };
        // The notice is about the newest backup. Of that, another one says nothing.
        if is_newest {
            self.close_notice(NoticeKind::BackupDrillFailed).await;
        }
        let report = DrillReport {
            at,
            file_name,
            backup_at: restored.manifest.map(|it| it.at),
            n_bytes: restored.n_bytes,
            duration_ms: duration_ms(began),
            contents: restored.contents,
        };
        let kept = report.clone();
        remember(&by.acting_on(&self.store), move |batch| batch.put_last_drill(&kept)).await;
        Ok(report)
    }
}

/// Reads what a start of the service reads.
fn read_as_start(snapshot: &Snapshot) -> Result<()> {
    snapshot.installation()?;
    snapshot.list_users()?;
    snapshot.list_clients()?;
    snapshot.list_windows()?;
    Keyring::of(snapshot.list_keys()?)?;
    snapshot.list_own_frameworks().map(|_| ())
}
