//! Backups in the folder of the configuration, on schedule.

use std::sync::Arc;

use super::{App, lock, name_of, remember};
use super::{command, folder};
use crate::app::notice::NoticeKind;
use crate::blocking;
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::store::backup::BackupReport;
use crate::store::{Batch, Snapshot, Store};

const S_PER_H: i64 = 3_600;
/// How soon a failed backup is tried again, unless the next one is due before.
const RETRY_S: i64 = S_PER_H;

impl App {
    /// Makes a backup if one is due, or waits for the one that another caller makes, and runs the command of the operator if
    /// it did not end for the last one. A failure is logged and noticed, and a backup is tried again within an hour.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be read.
    pub async fn run_due_backup(&self) -> Result<()> {
        let backed_up = self.back_up_if_due().await;
        self.run_due_command().await;
        backed_up
    }

    async fn back_up_if_due(&self) -> Result<()> {
        // Whoever comes second finds that nothing is due any more.
        let _turn = self.backups.schedule_turn.lock().await;
        let noted = self.store.read(Snapshot::last_scheduled_backup).await?;
        let last = noted.max(*lock(&self.backups.made_at));
        let now = self.clock.now();
        let is_due = self.next_backup_at(last).is_some_and(|it| it <= now);
        // A clock that went back must not stop the schedule.
        let is_ahead = last.is_some_and(|it| now < it);
        let retry_at = *lock(&self.backups.retry_at);
        let settings = self.backup_settings();
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

    /// When the last scheduled backup that has what is there now will be removed. `None`: there is no schedule.
    pub(in crate::app) fn backups_until(&self, now: Time) -> Option<Time> {
        let settings = self.backup_settings();
        settings.dir.as_ref()?;
        Some(now.plus_s(i64::from(settings.keep) * i64::from(settings.every_h) * S_PER_H))
    }

    /// When the next scheduled backup is due, if the last one was made then.
    pub(super) fn next_backup_at(&self, last: Option<Time>) -> Option<Time> {
        let settings = self.backup_settings();
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
        let settings = self.backup_settings();
        let Some(dir) = settings.dir.clone() else {
            let rule = "backup.dir is not set in posture.toml; set it, choose a folder on the page Settings of the console, or name a file";
            return Err(Error::conflict(rule));
        };
        let is_own = settings.own_dir.as_ref() == Some(&dir);
        let made = async {
            let dir = std::path::absolute(&dir).map_err(Error::internal)?;
            if self.backups.is_busy() {
                return Err(Error::conflict(
                    "a backup, drill or check is in progress; wait for its end",
                ));
            }
            let (encrypted, at) = (!settings.recipients.is_empty(), self.clock.now());
            let file = blocking::run((), move || {
                if is_own {
                    folder::make(&dir)?;
                }
                folder::remove_unfinished(&dir)?;
                Ok(folder::file_at(&dir, at, encrypted))
            });
            let file = file.await?;
            self.back_up_to(store, file).await
        };
        let report = match made.await {
            Ok(made) => made,
            Err(error) => {
                if error.code != Code::Conflict || !self.backups.is_busy() {
                    self.note_failure(NoticeKind::BackupFailed, &error).await;
                }
                return Err(error);
            }
        };
        let at = report.at;
        let due = (!settings.after_command.is_empty()).then(|| report.file_name.clone());
        *lock(&self.backups.made_at) = Some(at);
        lock(&self.backups.due_command).clone_from(&due);
        let write = move |batch: &mut Batch| {
            batch.put_due_command(due.as_deref())?;
            batch.put_last_scheduled_backup(at)
        };
        remember(&self.store, write).await;
        let (keep, name) = (settings.keep, report.file_name.clone());
        match blocking::run((), move || folder::prune(&dir, keep, &name)).await {
            Ok(()) => self.close_notice(NoticeKind::BackupFailed).await,
            Err(error) => self.note_failure(NoticeKind::BackupFailed, &error).await,
        }
        self.run_due_command().await;
        Ok(report)
    }

    /// Runs the command of the operator for the newest backup, if it did not end for that: it was not run yet, or the
    /// service or the caller stopped while it ran. A failure is an end, and opens a notice.
    async fn run_due_command(&self) {
        let settings = self.backup_settings();
        let Some(dir) = settings.dir.clone() else { return };
        // Until what is due is settled, and a command that is canceled has ended.
        let turn = Arc::new(Arc::clone(&self.backups.command_turn).lock_owned().await);
        let Some(due) = lock(&self.backups.due_command).clone() else { return };
        let name = due.clone();
        let ran = match blocking::run((), move || folder::named_or_newest(&dir, &name)).await {
            Ok(file) => {
                let work = self.long_work();
                let ran =
                    command::run(&settings.after_command, &file, Arc::clone(&turn), work).await;
                ran.map_err(|it| it.at(&format!("backup.after_command for {}", name_of(&file))))
            }
            Err(error) => Err(error.at("backup.after_command")),
        };
        if self.long_work().check().is_err() {
            return; // The next start runs it.
        }
        match ran {
            Ok(()) => self.close_notice(NoticeKind::BackupCommandFailed).await,
            Err(error) => self.note_failure(NoticeKind::BackupCommandFailed, &error).await,
        }
        // Unless there is a newer one.
        lock(&self.backups.due_command).take_if(|it| *it == due);
        let write = move |batch: &mut Batch| match batch.due_command()? {
            Some(other) if other != due => Ok(()),
            Some(_) | None => batch.put_due_command(None),
        };
        remember(&self.store, write).await;
        drop(turn);
    }
}
