//! Backups of the whole database: on request and on schedule, drills, and checks.

mod command;
mod drill;
mod failure;
mod folder;
mod schedule;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::app::App;
use crate::auth::caller::{Caller, Principal};
use crate::blocking;
use crate::clock::Time;
use crate::error::{Chain, Error, Result};
use crate::request;
use crate::store::backup::{
    BackupOptions, BackupReport, CheckReport, DrillReport, Job, ProgressFigures,
};
use crate::store::{Batch, Snapshot, Store};

pub use drill::Drill;
pub(super) use failure::notices_of;

/// What the use cases need to know of the configuration.
#[derive(Clone, Debug, Default)]
pub struct BackupSettings {
    /// Where scheduled backups go. `None`: there are none.
    pub dir: Option<PathBuf>,
    /// The only folder that can be chosen over the network. It is made when it is needed.
    pub own_dir: Option<PathBuf>,
    pub every_h: u32,
    /// How many scheduled backups are kept.
    pub keep: u32,
    /// Public keys that every backup is encrypted to. None: backups are not encrypted.
    pub recipients: Vec<String>,
    /// Runs after a backup in `dir`, without a shell; `{file}` is the backup. Empty: nothing runs.
    pub after_command: Vec<String>,
}

/// The work on the whole database that is in progress, of which there is at most one, and its failures.
#[derive(Debug, Default)]
pub struct Backups {
    running: Arc<Mutex<Option<Running>>>,
    /// Scheduled backups that failed since the start.
    n_failures: AtomicU64,
    /// Runs of the operator's command that failed since the start.
    n_command_failures: AtomicU64,
    /// Not before, after a failure.
    retry_at: Mutex<Time>,
    /// When the last scheduled one was made since the start, even if the database could not take note of it.
    made_at: Mutex<Option<Time>>,
    /// The name of the backup that the operator's command has not ended for. The database has it as well, for the next start.
    due_command: Mutex<Option<String>>,
    /// Held while a scheduled backup is made.
    schedule_turn: tokio::sync::Mutex<()>,
    /// Held while the command runs.
    command_turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Running {
    what: WholeWork,
    job: Job,
}

impl Backups {
    /// Of an installation with this database.
    pub(super) fn of(settings: &BackupSettings, snapshot: &Snapshot) -> Self {
        let due = readable(snapshot.due_command());
        let due = due.filter(|_| !settings.after_command.is_empty());
        Self { due_command: Mutex::new(due), ..Self::default() }
    }

    fn is_busy(&self) -> bool {
        lock(&self.running).is_some()
    }
}

/// What takes the whole database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeWork {
    Backup,
    Drill,
    Check,
}

impl WholeWork {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Drill => "drill",
            Self::Check => "check",
        }
    }
}

/// The place of the work in progress, which becomes free when this is dropped.
struct Slot(Arc<Mutex<Option<Running>>>);

impl Drop for Slot {
    fn drop(&mut self) {
        *lock(&self.0) = None;
    }
}

/// Nothing if it is damaged, which is logged: the service starts without it.
fn readable<T: Default>(read: Result<T>) -> T {
    read.unwrap_or_else(|error| {
        tracing::error!(error = %Chain(&error), "what is remembered of backups cannot be read: {}", Chain(&error));
        T::default()
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `status` and the metrics show.
#[derive(Clone, Debug)]
pub struct BackupState {
    /// Work in progress, and how far it is.
    pub running: Option<(WholeWork, ProgressFigures)>,
    pub last_backup: Option<BackupReport>,
    pub last_drill: Option<DrillReport>,
    /// Scheduled backups that failed since the start.
    pub n_failures: u64,
    /// Runs of the operator's command that failed since the start.
    pub n_command_failures: u64,
    /// When the next scheduled one is due. `None`: there is no schedule.
    pub next_at: Option<Time>,
}

impl App {
    /// Makes a backup: of this name, or else in the folder of the configuration.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not name a file; `Conflict` if other work on the whole database is in progress, if
    /// there is no folder, or if a record is damaged; those of [`Store::back_up`].
    pub async fn back_up(&self, by: &Caller, file: Option<PathBuf>) -> Result<BackupReport> {
        require_operator(by, file.as_deref())?;
        let store = by.acting_on(&self.store);
        match file {
            Some(file) => self.back_up_to(&store, file).await,
            None => self.back_up_in_folder(&store).await,
        }
    }

    /// Makes a backup of this name and remembers it.
    async fn back_up_to(&self, store: &Store, file: PathBuf) -> Result<BackupReport> {
        let (at, began) = (self.clock.now(), Instant::now());
        let recipients = self.options.backup.recipients.clone();
        let encrypted = !recipients.is_empty();
        let options = BackupOptions { file: file.clone(), recipients };
        let source = self.store.clone();
        let work = move |job: &Job| source.back_up(&options, job, at);
        let (manifest, n_bytes) = self.run_alone(WholeWork::Backup, work).await?;
        let report = BackupReport {
            at,
            file_name: name_of(&file),
            encrypted,
            n_bytes,
            duration_ms: duration_ms(began),
            contents: manifest.contents,
        };
        let (rows, ms) = (report.contents.n_rows, report.duration_ms);
        tracing::info!(
            rows,
            bytes = n_bytes,
            duration_ms = ms,
            request_id = request::id().as_deref(),
            "backup `{}` is complete and verified: {rows} rows, {n_bytes} bytes, {ms} ms",
            report.file_name
        );
        let kept = report.clone();
        remember(store, move |batch| batch.put_last_backup(&kept)).await;
        Ok(report)
    }

    /// Reads every record of the database.
    ///
    /// # Errors
    /// `Conflict` if other work on the whole database is in progress; `Unavailable` if the database cannot be read.
    pub async fn check_database(&self) -> Result<CheckReport> {
        let store = self.store.clone();
        self.run_alone(WholeWork::Check, move |job| store.check(job)).await
    }

    /// The last backup and drill, and what is in progress.
    pub async fn backup_state(&self) -> Result<BackupState> {
        let running = lock(&self.backups.running).as_ref().map(|it| (it.what, it.job.figures()));
        let read =
            |it: &Snapshot| Ok((it.last_backup()?, it.last_drill()?, it.last_scheduled_backup()?));
        let (last_backup, last_drill, scheduled_at) = self.store.read(read).await?;
        let n_failures = self.backups.n_failures.load(Ordering::Relaxed);
        let n_command_failures = self.backups.n_command_failures.load(Ordering::Relaxed);
        let next_at = self.next_backup_at(scheduled_at);
        Ok(BackupState {
            running,
            last_backup,
            last_drill,
            n_failures,
            n_command_failures,
            next_at,
        })
    }

    /// Runs long work off the async threads, unless other such work is in progress. It ends early if the caller is dropped
    /// or the service stops.
    async fn run_alone<T: Send + 'static>(
        &self,
        what: WholeWork,
        work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let cancellation = self.long_work();
        let job = Job::within(cancellation.clone());
        let slot = {
            let mut running = lock(&self.backups.running);
            if let Some(Running { what, .. }) = &*running {
                let what = what.as_str();
                return Err(Error::conflict(format!("a {what} is in progress; wait for its end")));
            }
            *running = Some(Running { what, job: job.clone() });
            Slot(Arc::clone(&self.backups.running))
        };
        blocking::run_cancelable(slot, cancellation, move |_| work(&job)).await
    }
}

/// Only people with an account on the host may name files of it: over the network, anybody who got hold of a session could
/// write or read any file that the service may.
fn require_operator(by: &Caller, file: Option<&Path>) -> Result<()> {
    let is_operator = matches!(by.identity, Principal::Operator { .. });
    let Some(file) = file else { return Ok(()) };
    if !is_operator {
        let rule = "only the command line on the host of the service may name a file";
        return Err(Error::forbidden(rule));
    }
    if !file.is_absolute() {
        return Err(Error::invalid_field("file", "must be an absolute path"));
    }
    Ok(())
}

/// Stores what was done. It is done all the same if that fails, for example on a full disk.
async fn remember<F>(store: &Store, put: F)
where
    F: FnMut(&mut Batch) -> Result<()> + Send + 'static,
{
    if let Err(error) = store.reserved().write(put).await {
        tracing::warn!(error = %Chain(&error), "a backup or drill could not be recorded: {}", Chain(&error));
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn duration_ms(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
