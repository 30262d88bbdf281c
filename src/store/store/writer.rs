//! The only thread that writes. Queued closures share a transaction, and are answered once it is
//! durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::blocking;
use crate::error::{Chain, Code, Error, Result};
use crate::secret::random;
use crate::store::disk_space::{DiskSpace, Space};
use crate::store::engine::Engine;
use crate::store::global::audit;
use crate::store::global::audit::{AuditOutcome, Changed, PendingAct};
use crate::store::kernel::health::{reopening, stopping};
use crate::store::kernel::transaction::{Counts, Reading, Writing};
use crate::store::open::DatabaseLocation;
use crate::store::{Batch, DatabaseState, Shared, Snapshot, Store};

/// The maximum number of closures in one transaction.
const N_GROUP_MAX: usize = 256;
/// A group that wrote this much is committed before further closures run. Writes are in memory until they are committed.
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How soon a storage error of a reader is noticed.
const POLL: Duration = Duration::from_millis(500);
/// The time between attempts to reopen. It doubles up to the longest.
const REOPEN_WAIT_MIN: Duration = Duration::from_millis(100);
const REOPEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// What a job must do.
pub(in crate::store) enum JobStep<'a> {
    /// Run, perhaps not for the first time.
    Run(&'a mut Batch),
    /// Answer with this error, or otherwise with the value of the last run.
    Settle(Option<Error>),
}

/// A closure, and the channel to its caller.
pub(in crate::store) struct WriteJob {
    call: Box<dyn FnMut(JobStep<'_>) -> Result<()> + Send>,
    refusal: Option<Error>,
    /// The act to record with it.
    act: Option<PendingAct>,
    /// What its last run changed.
    changed: Changed,
    /// It may use the space that is reserved on a disk that is nearly full.
    is_reserved: bool,
    /// Its last run changed something.
    wrote: bool,
    /// Its place in the queue.
    _seat: OwnedSemaphorePermit,
}

impl WriteJob {
    /// `kept` is called once the closure's last run is durable, before the answer, even if the caller was dropped.
    pub(in crate::store) fn new<T, F, K>(
        mut body: F,
        kept: K,
        seat: OwnedSemaphorePermit,
        (act, is_reserved): (Option<PendingAct>, bool),
    ) -> (Self, oneshot::Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnMut(&mut Batch) -> Result<T> + Send + 'static,
        K: FnOnce(&T) + Send + 'static,
    {
        let act = act.filter(PendingAct::is_due);
        let (answer, receiver) = oneshot::channel();
        let (mut answer, mut kept) = (Some(answer), Some(kept));
        let mut value = None;
        let call = move |step: JobStep<'_>| match step {
            JobStep::Run(batch) => {
                value = Some(body(batch)?);
                Ok(())
            }
            JobStep::Settle(refusal) => {
                let outcome = match refusal {
                    Some(error) => Err(error),
                    None => value.take().ok_or_else(stopping),
                };
                if let (Ok(value), Some(kept)) = (&outcome, kept.take()) {
                    kept(value);
                }
                if let Some(answer) = answer.take() {
                    drop(answer.send(outcome)); // Fails if the caller was dropped.
                }
                Ok(())
            }
        };
        (
            Self {
                call: Box::new(call),
                refusal: None,
                act,
                changed: Changed::default(),
                is_reserved,
                wrote: false,
                _seat: seat,
            },
            receiver,
        )
    }

    fn settle(mut self, failure: Option<Error>) {
        let refusal = failure.or(self.refusal.take());
        if let (None, true, Some(act)) = (&refusal, self.wrote, &self.act) {
            act.set_recorded();
            act.log(&self.changed);
        }
        (self.call)(JobStep::Settle(refusal)).expect("settling does not fail");
    }
}

/// What is called with the state of a reopened database.
pub(in crate::store) type Reload = Box<dyn Fn(&Snapshot) -> Result<()> + Send>;

impl Store {
    /// Sets what brings memory to the state of the database after a storage error, before anybody else can read it.
    /// Replaces what was set before.
    pub fn on_reopened(&self, reload: impl Fn(&Snapshot) -> Result<()> + Send + 'static) {
        let mut held = self.shared().reload.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(Box::new(reload));
    }

    /// Writes a row on the writer thread and reads it back. It waits for as long as the writer takes. A refusal because
    /// the disk is full, or because the database is being reopened, is an answer: both end by themselves.
    ///
    /// # Errors
    /// `Internal` if the writer thread has ended, or the row does not read as it was written.
    pub async fn self_test(&self) -> Result<()> {
        let ended = || Error::internal("the thread that writes to the database has ended");
        let value: [u8; 8] = random();
        let seat = self.inner.seats.clone().acquire_owned().await.map_err(|_| ended())?;
        let write = move |batch: &mut Batch| batch.put_self_test(value);
        let answer = self.reserved().order(write, |()| (), seat).map_err(|_| ended())?;
        let store = self.clone();
        let read = match answer.await.map_err(|_| ended())? {
            // Not among the reads of callers, which may be many.
            Ok(()) => blocking::run((), move || store.snapshot()?.self_test()).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(read) if read == Some(value) => Ok(()),
            Ok(_) => Err(Error::internal("the database does not read as it was written")),
            Err(error) if error.code == Code::Unavailable => Ok(()),
            Err(error) => Err(error),
        }
    }
}

pub(in crate::store) enum Message {
    Write(WriteJob),
    Close,
}

pub(in crate::store) struct Writer {
    pub(in crate::store) shared: Arc<Shared>,
    pub(in crate::store) queue: Receiver<Message>,
    pub(in crate::store) home: DatabaseLocation,
    pub(in crate::store) space: DiskSpace,
    pub(in crate::store) counts: Counts,
}

impl Writer {
    /// Runs until it gets the order to close or all handles are dropped.
    pub(in crate::store) fn run(mut self) {
        loop {
            let mut is_last = false;
            match self.queue.recv_timeout(POLL) {
                Ok(Message::Write(first)) => {
                    let jobs = self.gather(first, &mut is_last);
                    self.serve(jobs);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => break,
            }
            if is_last || (self.has_failed() && !self.reopen()) {
                break;
            }
        }
        let last = std::mem::replace(&mut *self.shared.door_mut(), DatabaseState::Closed);
        if let DatabaseState::Open(db) = last {
            db.release();
        }
    }

    fn has_failed(&self) -> bool {
        let gauges = &self.shared.gauges;
        if let DatabaseState::Open(db) = &*self.shared.door()
            && !db.is_current()
        {
            gauges.fail();
        }
        gauges.failed.load(Ordering::Acquire)
    }

    /// Takes the jobs that are already queued.
    fn gather(&self, first: WriteJob, is_last: &mut bool) -> Vec<WriteJob> {
        let mut jobs = vec![first];
        while jobs.len() < N_GROUP_MAX {
            match self.queue.try_recv() {
                Ok(Message::Write(job)) => jobs.push(job),
                Ok(Message::Close) => {
                    *is_last = true;
                    break;
                }
                Err(_) => break,
            }
        }
        jobs
    }

    fn serve(&mut self, mut jobs: Vec<WriteJob>) {
        let space = self.space.check();
        self.shared.gauges.disk_full.store(space != Space::Enough, Ordering::Relaxed);
        if space != Space::Enough {
            let has_space = |it: &WriteJob| space == Space::ReserveOnly && it.is_reserved;
            let (some, refused) = jobs.into_iter().partition(has_space);
            self.settle(refused, || Some(disk_full()));
            jobs = some;
        }
        if jobs.is_empty() {
            return;
        }
        while !jobs.is_empty() {
            let written = catch_unwind(AssertUnwindSafe(|| {
                let shared = self.shared.clone();
                match &*shared.door() {
                    DatabaseState::Open(db) if !shared.gauges.failed.load(Ordering::Acquire) => {
                        self.write_group(&**db, &mut jobs)
                    }
                    DatabaseState::Open(_) | DatabaseState::Reopening => Err(reopening()),
                    DatabaseState::Closed => Err(stopping()),
                }
            }));
            match written {
                Ok(Ok(n_written)) => {
                    let rest = jobs.split_off(n_written);
                    self.settle(std::mem::replace(&mut jobs, rest), || None);
                    continue;
                }
                Ok(Err(error)) => tracing::error!(error = %Chain(&error), "a write failed"),
                Err(_) => tracing::error!("the database panicked during a write"),
            }
            self.shared.gauges.fail();
            self.settle(std::mem::take(&mut jobs), || Some(reopening()));
        }
    }

    fn settle(&self, jobs: Vec<WriteJob>, failure: impl Fn() -> Option<Error>) {
        for job in jobs {
            self.shared.gauges.queue_len.fetch_sub(1, Ordering::Relaxed);
            job.settle(failure());
        }
    }

    /// Runs jobs in one transaction and makes it durable. Returns how many: the rest follows if they wrote much. A job that
    /// fails has no effect, and the others do not notice it.
    ///
    /// # Errors
    /// The database failed. It is unknown which writes of the group are durable.
    fn write_group(&mut self, db: &dyn Engine, jobs: &mut [WriteJob]) -> Result<usize> {
        let gauges = &self.shared.gauges;
        let (batch, jobs) = loop {
            let rows = Writing::begin(db, gauges, self.counts)?;
            let mut batch = Batch { rows };
            let mut n_run = 0;
            while n_run < jobs.len() && batch.rows.n_kept_bytes() < GROUP_BYTES_MAX {
                run(&mut jobs[n_run], &mut batch);
                n_run += 1;
            }
            if !batch.rows.fetch_missing(db)? {
                break (batch, &jobs[..n_run]);
            }
        };
        let Some((counts, effects)) = batch.rows.commit(db)? else {
            return Ok(jobs.len()); // All of them failed, or only read.
        };
        self.counts = counts;
        let n_writes = jobs.iter().filter(|it| it.refusal.is_none()).count();
        gauges.n_commits.fetch_add(1, Ordering::Relaxed);
        gauges.n_writes.fetch_add(n_writes as u64, Ordering::Relaxed);
        // Before the versions: a page that is cached under the new version must come from the new index.
        self.shared.indexes.apply(effects.deltas);
        self.shared.versions.advance(effects.parts);
        if effects.has_deliveries {
            self.shared.outbox.notify_one();
        }
        Ok(jobs.len())
    }

    /// Closes the database and opens it again, as often as necessary. All requests are refused
    /// meanwhile. Returns false if it got the order to close.
    fn reopen(&mut self) -> bool {
        *self.shared.door_mut() = DatabaseState::Reopening; // Drops the failed one.
        let gauges = self.shared.gauges.clone();
        gauges.opening.fetch_add(1, Ordering::AcqRel);
        let mut wait = REOPEN_WAIT_MIN;
        loop {
            match self.home.reopen(&gauges) {
                Ok((db, counts)) if self.reload(&*db) => {
                    self.counts = Counts { asset: counts.asset.max(self.counts.asset), ..counts };
                    // It is unknown what the failed commit wrote, so everything in memory is
                    // invalid.
                    self.shared.indexes.forget_all();
                    self.shared.versions.advance_all();
                    *self.shared.door_mut() = DatabaseState::Open(db);
                    gauges.n_reopen_failures.store(0, Ordering::Relaxed);
                    gauges.failed.store(false, Ordering::Release);
                    tracing::warn!("the database was reopened after a storage error");
                    return true;
                }
                Err(error) if error.code == Code::Conflict && self.home.is_shared() => {
                    tracing::error!(error = %Chain(&error), "another node has taken over the database: {error}");
                    self.shared.taken_over.notify_one();
                    return false;
                }
                Ok(_) => {
                    gauges.n_reopen_failures.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    gauges.n_reopen_failures.fetch_add(1, Ordering::Relaxed);
                    tracing::error!(error = %Chain(&error), "the database could not be reopened");
                }
            }
            if !self.refuse_for(wait) {
                return false;
            }
            wait = (wait * 2).min(REOPEN_WAIT_MAX);
        }
    }

    /// Brings what others keep in memory to the state of the reopened database: it is unknown what the failed commit
    /// wrote. Returns false if that failed.
    fn reload(&self, db: &dyn Engine) -> bool {
        let held = self.shared.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reload) = held.as_ref() else { return true };
        let reading = Reading::begin(db, &self.shared.gauges);
        match reading.and_then(|rows| reload(&Snapshot { rows })) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(error = %Chain(&error), "the reopened database could not be read");
                false
            }
        }
    }

    /// Answers all jobs that the database is not open. Returns false if it got the order to close.
    fn refuse_for(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            match self.queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Write(job)) => self.settle(vec![job], || Some(reopening())),
                Err(RecvTimeoutError::Timeout) => return true,
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// Runs one job, records its act with what it changed, and keeps what it wrote.
fn run_recorded(job: &mut WriteJob, batch: &mut Batch) -> Result<()> {
    (job.call)(JobStep::Run(batch))?;
    job.wrote = batch.rows.wrote();
    if let (Some(act), true) = (&job.act, job.wrote) {
        let (client, object) = (batch.rows.client, batch.rows.object.take());
        job.changed = Changed { client, object: object.clone() };
        audit::add(&mut batch.rows, &act.act(), object, AuditOutcome::Done, 1)?;
    }
    batch.rows.keep()
}

/// Runs one job and stores its result.
fn run(job: &mut WriteJob, batch: &mut Batch) {
    job.refusal = match catch_unwind(AssertUnwindSafe(|| run_recorded(job, batch))) {
        Ok(run) => run.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
            Some(Error::internal(format!("a write panicked: {text}")))
        }
    };
    if job.refusal.is_some() {
        batch.rows.discard();
    }
}

fn disk_full() -> Error {
    Error::unavailable("the disk is nearly full; writes are refused until space is free")
}
