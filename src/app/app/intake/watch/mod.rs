//! The watch folder: finished files in it are imported, each for the client whose folder it is in.
//!
//! An import is known by its client and the digest of its file. A file that is still there after a crash is therefore
//! moved, but not imported again.

mod folder;
mod name;
mod wait;

use std::fs::File;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::folder::{Opened, Verdict, WatchFolder};
use self::name::{Owners, Place};
pub use self::wait::SETTLED_AFTER;
use self::wait::{Ready, Waiting};
use super::file::{ImportRequest, Imported, ObservedAt};
use crate::app::App;
use crate::app::notice::NoticeKind;
use crate::blocking;
use crate::error::{Chain, Code, Error, Result};
use crate::store::ClientStore;
use crate::store::global::audit::{Act, PendingAct};

pub use self::folder::check;

/// The actor of these imports, in the audit log and in lists of imports.
const ACTOR: &str = "watch folder";
/// Problems that a notice names.
const N_NAMED: usize = 3;

/// What waits in the watch folder, and what became of files since the start.
#[derive(Debug, Default)]
pub struct Watch {
    waiting: Mutex<Waiting>,
    n_waiting: AtomicU64,
    n_done: AtomicU64,
    n_failed: AtomicU64,
}

/// [`Watch`] at one moment, for metrics.
#[derive(Clone, Copy, Debug)]
pub struct WatchFigures {
    pub files: [(&'static str, u64); 2],
    pub n_waiting: u64,
}

/// The files that are to be taken now: the first finished one of each folder.
#[derive(Debug, Default)]
pub struct Round {
    pub files: Vec<FinishedFile>,
    /// Another round has files, too.
    pub more: bool,
}

/// A file that is to be taken.
#[derive(Debug)]
pub struct FinishedFile(Ready);

impl Watch {
    fn with<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        change(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl App {
    /// Looks for finished files. Opens and closes the notice about what keeps others waiting.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be read.
    pub async fn list_finished_files(&self) -> Result<Round> {
        let Some(path) = self.options.watch.clone() else { return Ok(Round::default()) };
        let listing = blocking::run((), move || WatchFolder::open(&path)?.list()).await;
        let listing = listing.inspect_err(|it| self.note_problems(&[it.message().to_owned()]))?;
        let n_waiting = listing.folders.iter().map(|it| it.n_files).sum();
        self.watch.n_waiting.store(n_waiting, Ordering::Relaxed);
        let owners = Owners::of(self.clients.directory.list());
        let look = |it: &mut Waiting| it.look(&listing, &owners, Instant::now());
        let (ready, problems) = self.watch.with(look);
        self.note_problems(&problems);
        let files = ready.files.into_iter().map(FinishedFile).collect();
        Ok(Round { files, more: ready.more })
    }

    fn note_problems(&self, problems: &[String]) {
        if problems.is_empty() {
            self.notices.close(NoticeKind::WatchFolder);
            return;
        }
        let mut message = problems.iter().take(N_NAMED).cloned().collect::<Vec<_>>().join("; ");
        if N_NAMED < problems.len() {
            message = format!("{message}; and {} more", problems.len() - N_NAMED);
        }
        self.notices.open(NoticeKind::WatchFolder, self.clock.now(), message);
    }

    /// Imports a file and moves it. What fails for now is tried again later.
    pub async fn take_finished_file(&self, file: FinishedFile) {
        let FinishedFile(ready) = file;
        let Err(error) = self.try_take(&ready).await else { return };
        if self.long_work().check().is_err() {
            return; // The service stops. The next start takes the file.
        }
        if error.code == Code::Internal {
            let (place, why) = (ready.place.shown(), Chain(&error).to_string());
            tracing::error!(client.id = %ready.client, error = why, "`{place}` of the watch folder could not be taken: {why}");
        }
        self.watch.with(|it| it.delay(&ready.place, error.message(), Instant::now()));
    }

    async fn try_take(&self, it: &Ready) -> Result<()> {
        let Some(path) = self.options.watch.clone() else { return Ok(()) };
        let verdict = match &it.verdict {
            Some(verdict) => verdict.clone(),
            None => match self.import_ready(it).await? {
                Some(verdict) => verdict,
                None => return Ok(()),
            },
        };
        // If it cannot be moved now, only the move is repeated.
        self.watch.with(|waiting| waiting.judged(&it.place, &verdict));
        let (place, stamp, known) = (it.place.clone(), it.stamp, verdict.clone());
        let settle = move || WatchFolder::open(&path)?.settle(&place, stamp, &known);
        let (moved, shown) = (blocking::run((), settle).await?, it.place.shown());
        let Some(name) = moved.map(|it| name::shown(&it)) else {
            tracing::info!(client.id = %it.client, "`{shown}` of the watch folder was changed while it was read; it is looked at again");
            return Ok(());
        };
        match verdict {
            Verdict::Imported => {
                self.watch.n_done.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(client.id = %it.client, "moved `{shown}` of the watch folder to done, as `{name}`");
            }
            Verdict::Refused { reason } => {
                self.watch.n_failed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(client.id = %it.client, "moved `{shown}` of the watch folder to failed, as `{name}`: {reason}");
            }
        }
        Ok(())
    }

    /// Imports a file. `None`: it was changed meanwhile.
    async fn import_ready(&self, it: &Ready) -> Result<Option<Verdict>> {
        let Some(path) = self.options.watch.clone() else { return Ok(None) };
        let (place, stamp) = (it.place.clone(), it.stamp);
        let open = move || WatchFolder::open(&path)?.open_file(&place, stamp);
        let file = match blocking::run((), open).await? {
            Opened::File(file) => file,
            Opened::Unreadable { reason } => return Ok(Some(Verdict::Refused { reason })),
            Opened::Changed => return Ok(None),
        };
        let imported = self.import_watched(it, file).await;
        match imported {
            Ok(Imported::Changed(outcome)) => {
                let (id, n) = (outcome.import.id, outcome.import.n_facts);
                tracing::info!(client.id = %it.client, facts = n, "imported `{}` of the watch folder as {id}: {n} facts", it.place.shown());
                Ok(Some(Verdict::Imported))
            }
            Ok(Imported::Known(known)) => {
                let id = known.0.id;
                tracing::info!(client.id = %it.client, "`{}` of the watch folder was imported before, as {id}", it.place.shown());
                Ok(Some(Verdict::Imported))
            }
            Err(error) if is_final(&error) => {
                Ok(Some(Verdict::Refused { reason: error.message().to_owned() }))
            }
            Err(error) => Err(error),
        }
    }

    async fn import_watched(&self, it: &Ready, file: File) -> Result<Imported> {
        let Place { file: name, .. } = &it.place;
        let order = ImportRequest {
            file_name: name.to_string_lossy().into_owned(),
            format: None,
            source: None,
            columns: None,
            observed_at: ObservedAt::File,
            again: false,
            complete: false,
            bind: false,
            // Whoever may put files there may reach no other client.
            reach: Some(vec![it.client]),
            by: ACTOR.to_owned(),
        };
        self.import_file(&self.rows_for(it), order, file).await
    }

    /// The rows of the client. Changes are recorded as those of the watch folder.
    fn rows_for(&self, it: &Ready) -> ClientStore {
        let act = Act {
            at: self.clock.now(),
            by: ACTOR.to_owned(),
            action: "import a file".to_owned(),
            about: it.place.shown(),
            ..Act::default()
        };
        self.store.acting(Some(PendingAct::new(act))).client_store(it.client)
    }

    pub fn watch_figures(&self) -> WatchFigures {
        let n = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let it = &self.watch;
        WatchFigures {
            files: [("done", n(&it.n_done)), ("failed", n(&it.n_failed))],
            n_waiting: n(&it.n_waiting),
        }
    }
}

/// Returns true if the same file would be refused again.
fn is_final(error: &Error) -> bool {
    match error.code {
        Code::Invalid
        | Code::TooLarge
        | Code::UnsupportedMediaType
        | Code::Conflict
        | Code::Forbidden
        | Code::Unauthenticated
        | Code::CodeRequired => true,
        // The client was erased meanwhile, or the service cannot do it now.
        Code::NotFound | Code::RateLimited { .. } | Code::Unavailable | Code::Internal => false,
    }
}
