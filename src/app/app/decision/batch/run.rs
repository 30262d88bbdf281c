//! Makes batches, one client after the other. Each client is one commit, which also takes note that the batch came to it, so
//! that a batch goes on after a stop where it was.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use super::{KEPT_DAYS, Step};
use crate::app::App;
use crate::app::assessment::log::Entry;
use crate::error::{Code, Error, Result};
use crate::id::{BatchId, ClientId};
use crate::store::global::audit::{Act, PendingAct};
use crate::store::global::client::batch::{BatchRecord, BatchUndo};
use crate::store::per_client::posture::OpenRisk;
use crate::store::{Batch, ClientBatch, ClientSnapshot, ClientStore, Snapshot};

/// How many batches are at a client at the same time. Each batch is at one.
const N_AT_ONCE: usize = 3;
/// Batches removed in one commit.
const N_FORGOTTEN_AT_ONCE: usize = 200;

/// The clients that batches in progress have not come to.
#[derive(Debug, Default)]
pub struct Batches {
    /// Held from counting the batches of an account until one more is stored.
    beginning: AsyncMutex<()>,
    /// Held during a step: one that ends a batch must not pass one that is at its last client.
    turn: AsyncMutex<()>,
    queues: Mutex<HashMap<Pass, VecDeque<ClientId>>>,
}

/// A batch, and whether it is being undone.
type Pass = (BatchId, bool);

impl Batches {
    pub(super) async fn lock_beginning(&self) -> AsyncMutexGuard<'_, ()> {
        self.beginning.lock().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Pass, VecDeque<ClientId>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open risk about a control, accepted or not.
pub(super) fn open_risk(rows: &ClientSnapshot, control: &str) -> Result<Option<OpenRisk>> {
    let found = rows.find_risk(&format!("control/{control}"))?;
    Ok(found.filter(|it| it.closed.is_none()))
}

pub(super) fn no_risk(control: &str) -> String {
    format!("no risk about {control} is open")
}

impl App {
    /// Does what is due at one client of each batch. Returns false if nothing can be done now: no batch is in progress, or all
    /// clients that are left are busy.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available. What was done stays done.
    pub async fn advance_batches(&self) -> Result<bool> {
        let _turn = self.batches.turn.lock().await;
        let open = self.store.read(Snapshot::list_open_batches).await?;
        let steps = open.into_iter().map(|it| self.advance_batch(it));
        let done: Vec<Result<bool>> =
            stream::iter(steps).buffer_unordered(N_AT_ONCE).collect().await;
        Ok(done.into_iter().collect::<Result<Vec<_>>>()?.contains(&true))
    }

    /// Returns whether it did something.
    async fn advance_batch(&self, record: BatchRecord) -> Result<bool> {
        let pass = (record.id, record.undo.is_some());
        if !self.batches.lock().contains_key(&pass) {
            let queue = self.queue_of(&record).await?;
            self.batches.lock().insert(pass, queue);
        }
        let Some(client) = self.next_of(pass) else {
            if self.batches.lock().get(&pass).is_some_and(|it| !it.is_empty()) {
                return Ok(false);
            }
            let id = record.id;
            self.finish_batch(record).await?;
            self.batches.lock().retain(|it, _| it.0 != id);
            return Ok(true);
        };
        let done = self.do_at(&record, client).await;
        if done.is_err()
            && let Some(queue) = self.batches.lock().get_mut(&pass)
        {
            queue.push_front(client);
        }
        done.map(|()| true)
    }

    /// The first client that is left and not busy: a long import of one does not hold up batches.
    fn next_of(&self, pass: Pass) -> Option<ClientId> {
        let mut queues = self.batches.lock();
        let queue = queues.get_mut(&pass)?;
        let first = queue.iter().position(|it| !self.clients.is_busy(*it))?;
        queue.remove(first)
    }

    /// The clients that are left, of those that are still there.
    async fn queue_of(&self, record: &BatchRecord) -> Result<VecDeque<ClientId>> {
        let is_undo = record.undo.is_some();
        let members = self.members_of(record).await?.into_iter();
        let is_left = |it: &super::Member| match &it.entry {
            Some(entry) => {
                is_undo
                    && entry.statement.is_some()
                    && entry.undone_by.is_none()
                    && entry.refused.is_none()
            }
            None => !is_undo,
        };
        Ok(members.filter(is_left).map(|it| it.client).collect())
    }

    async fn finish_batch(&self, record: BatchRecord) -> Result<()> {
        let now = self.clock.now();
        let finish = move |batch: &mut Batch| {
            // Somebody may have undone it meanwhile.
            let Some(mut now_kept) = batch.find_batch(record.id)? else { return Ok(()) };
            if now_kept.undo.is_some() != record.undo.is_some() {
                return Ok(());
            }
            now_kept.clients.clear();
            match &mut now_kept.undo {
                Some(undo) => undo.finished_at = Some(now),
                None => now_kept.finished_at = Some(now),
            }
            batch.put_batch(&now_kept)
        };
        self.store.write(finish).await
    }

    /// # Errors
    /// `Unavailable`. Whatever else the client refuses is noted.
    async fn do_at(&self, record: &BatchRecord, client: ClientId) -> Result<()> {
        let rows = self.rows_of(record, client);
        let done = match &record.undo {
            Some(undo) => self.undo_at(&rows, record.id, undo).await,
            None => self.state_at(&rows, record).await,
        };
        let refused = match done {
            Ok(()) => return Ok(()),
            Err(error) if error.code == Code::Unavailable => return Err(error),
            Err(error) => error.message().to_owned(),
        };
        let id = record.id;
        let note = move |batch: &mut ClientBatch<'_>| batch.refuse_in_batch(id, &refused);
        match rows.unrecorded().write(note).await {
            Err(error) if error.code == Code::NotFound => Ok(()), // It was erased meanwhile.
            other => other,
        }
    }

    async fn state_at(&self, rows: &ClientStore, record: &BatchRecord) -> Result<()> {
        match Step::of(record.deed.clone(), record.author.clone()) {
            Step::Attest { control, new } => self.attest_control(rows, &control, new).await,
            Step::Decide { requirement: (framework, reference), new } => {
                self.decide_row(rows, framework, &reference, new).await
            }
            Step::Accept { control, new } => {
                let find = move |it: &ClientSnapshot| {
                    let absent = || Error::conflict(no_risk(&control));
                    open_risk(it, &control)?.ok_or_else(absent)
                };
                let open = rows.read(find).await?;
                self.accept_risk(rows, (open.id, open.risk.condition), new, None).await.map(|_| ())
            }
            Step::SayWhole { kind, new } => self.say_whole(rows, kind, new).await,
            Step::DecideMember(new) => self.decide_members(rows, new).await,
        }
    }

    async fn undo_at(&self, rows: &ClientStore, id: BatchId, undo: &BatchUndo) -> Result<()> {
        let find = move |it: &ClientSnapshot| {
            let entry = it.find_batch_entry(id)?;
            let number = entry.filter(|it| it.undone_by.is_none()).and_then(|it| it.statement);
            number.map_or(Ok(None), |number| it.find_statement(number))
        };
        let Some(record) = rows.read(find).await? else { return Ok(()) };
        let (reason, author) = (undo.reason.clone(), undo.author.clone());
        let entry = Entry { topic: record.topic, reason, author };
        self.undo_record(rows, entry, record.number).await
    }

    /// Rows whose change the audit log has under the name of whoever asked for it.
    fn rows_of(&self, record: &BatchRecord, client: ClientId) -> ClientStore {
        let (by, action) = match &record.undo {
            Some(undo) => (&undo.author, "undo in a batch"),
            None => (&record.author, "state in a batch"),
        };
        let act = Act {
            at: self.clock.now(),
            by: by.account.clone(),
            action: action.to_owned(),
            about: format!("/api/clients/{client}/batches/{}", record.id),
            ..Act::default()
        };
        let store = self.store.acting(Some(PendingAct::new(act)));
        store.client_store(client).in_batch(record.id)
    }

    /// Removes batches of which no client is left: their texts may be about one that was erased.
    pub(in crate::app) async fn forget_empty_batches(&self) -> Result<()> {
        for record in self.store.read(Snapshot::list_batches).await? {
            if self.members_of(&record).await?.is_empty() {
                self.store.reserved().write(move |it| it.remove_batch(record.id)).await?;
            }
        }
        Ok(())
    }

    /// Removes batches that are over for long. Returns true if more may remain.
    pub(in crate::app) async fn forget_batches(&self) -> Result<bool> {
        let before = self.clock.now().plus_days(-KEPT_DAYS);
        let remove = move |it: &mut Batch| it.remove_batches_before(before, N_FORGOTTEN_AT_ONCE);
        Ok(self.store.reserved().write(remove).await? == N_FORGOTTEN_AT_ONCE)
    }
}
