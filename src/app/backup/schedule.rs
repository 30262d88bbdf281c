//! Backups in the folder of the configuration, on schedule.

use super::{App, lock, name_of, remember};
use super::{command, folder};
use crate::app::notice::NoticeKind;
use crate::blocking;
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::store::backup::BackupReport;
use crate::store::{Snapshot, Store};

const S_PER_H: i64 = 3_600;
/// How soon a failed backup is tried again, unless the next one is due before.
const RETRY_S: i64 = S_PER_H;

impl App {
    /// Makes a backup if one is due. A failure is logged and noticed, and tried again within an hour.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be read.
    pub async fn run_due_backup(&self) -> Result<()> {
        let noted = self.store.read(Snapshot::last_scheduled_backup).await?;
        let last = noted.max(*lock(&self.backups.made_at));
        let now = self.clock.now();
        let is_due = self.next_backup_at(last).is_some_and(|it| it <= now);
        // A clock that went back must not stop the schedule.
        let is_ahead = last.is_some_and(|it| now < it);
        let retry_at = *lock(&self.backups.retry_at);
        let settings = &self.options.backup;
        if settings.dir.is_none() || !(is_due || is_ahead) {
            return Ok(());
        }
        let wait_s = RETRY_S.min(i64::from(settings.every_h) * S_PER_H);
        if now < retry_at && retry_at <= now.plus_s(wait_s) {
            return Ok(());
        }
        match self.back_up_in_folder(&self.store).await {
            Ok(report) => {
                let action = format!("backup {}", report.file_name);
                if let Err(error) = self.record(&action).await {
                    tracing::warn!("`{action}` could not be recorded in the audit log: {error}");
                }
            }
            Err(_) => *lock(&self.backups.retry_at) = now.plus_s(wait_s),
        }
        Ok(())
    }

    /// When the next scheduled backup is due, if the last one was made then.
    pub(super) fn next_backup_at(&self, last: Option<Time>) -> Option<Time> {
        let settings = &self.options.backup;
        settings.dir.as_ref()?;
        let every_s = i64::from(settings.every_h) * S_PER_H;
        Some(last.map_or(Time::EPOCH, |it| it.plus_s(every_s)))
    }

    /// Makes a backup in the folder of the configuration, removes old ones, and runs the command of the operator. Failures
    /// open a notice.
    ///
    /// # Errors
    /// `Conflict` if there is no folder; as [`App::back_up`]. If the command or the removal fails, there is a backup.
    pub(super) async fn back_up_in_folder(&self, store: &Store) -> Result<BackupReport> {
        let settings = &self.options.backup;
        let Some(dir) = settings.dir.clone() else {
            let rule = "backup.dir is not set in posture.toml; set it, or name a file";
            return Err(Error::conflict(rule));
        };
        let made = async {
            let dir = std::path::absolute(&dir).map_err(Error::internal)?;
            if self.backups.is_busy() {
                return Err(Error::conflict(
                    "a backup, drill or check is in progress; wait for its end",
                ));
            }
            let (encrypted, at) = (!settings.recipients.is_empty(), self.clock.now());
            let file = blocking::run((), move || {
                folder::remove_unfinished(&dir)?;
                Ok(folder::file_at(&dir, at, encrypted))
            });
            let file = file.await?;
            Ok((self.back_up_to(store, file.clone()).await?, file))
        };
        let (report, file) = match made.await {
            Ok(made) => made,
            Err(error) => {
                if error.code != Code::Conflict || !self.backups.is_busy() {
                    self.note_failure(NoticeKind::BackupFailed, &error);
                }
                return Err(error);
            }
        };
        let at = report.at;
        *lock(&self.backups.made_at) = Some(at);
        remember(&self.store, move |batch| batch.put_last_scheduled_backup(at)).await;
        let (keep, name) = (settings.keep, report.file_name.clone());
        match blocking::run((), move || folder::prune(&dir, keep, &name)).await {
            Ok(()) => self.notices.close(NoticeKind::BackupFailed),
            Err(error) => self.note_failure(NoticeKind::BackupFailed, &error),
        }
        if !settings.after_command.is_empty() {
            let ran = command::run(&settings.after_command, &file, self.long_work()).await;
            match ran {
                Ok(()) => self.notices.close(NoticeKind::BackupCommandFailed),
                Err(error) => {
                    let name = name_of(&file);
                    let error = error.at(&format!("backup.after_command for {name}"));
                    self.note_failure(NoticeKind::BackupCommandFailed, &error);
                }
            }
        }
        Ok(report)
    }
}
