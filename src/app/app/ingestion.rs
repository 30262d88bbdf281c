//! Findings that Prowler pushes: received on disk, then imported in turns by key, one file of a key at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::app::App;
use crate::app::intake::file::{FILE_BYTES_MAX, ImportRequest, Imported, ObservedAt};
use crate::app::intake::upload::{ArrivingUpload, Upload};
use crate::auth::caller::{Caller, Principal};
use crate::clock::Time;
use crate::error::{Chain, Code, Error, Result};
use crate::id::{ClientId, ImportId, IngestionId, KeyId};
use crate::import::fold::{Fold, Folded, ImportOrigin};
use crate::import::{self, Format};
use crate::store::global::client::ClientState;
use crate::store::global::client::tenant::BoundTenant;
use crate::store::global::ingestion::{Ingestion, IngestionStatus};
use crate::store::{Batch, Snapshot};

/// What Prowler pushes.
const FORMAT: Format = Format::ProwlerOcsf;
/// Of one key. The oldest of more are removed once they ended.
pub const N_KEPT_PER_KEY: usize = 100;
/// Files of one key that wait.
pub const N_WAITING_PER_KEY_MAX: usize = 4;
/// Files of all keys that wait.
pub const N_WAITING_MAX: usize = 64;
/// When a key with too many of them may push again.
const RETRY_S: u32 = 60;
/// So many accounts of a file are named.
const N_ACCOUNTS_NAMED: usize = 5;
/// How the reasons begin of findings that are valid and no result, such as manual ones.
const NO_RESULT: &str = "status ";

/// Files that are imported at the same time, each of another key.
pub const N_IMPORTED_AT_ONCE: usize = 2;

/// The files that are not imported yet.
pub struct Ingestions {
    queue: Mutex<Queue>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// In the order in which their turns come.
    waiting: VecDeque<(KeyId, IngestionId)>,
    running: Vec<(KeyId, IngestionId)>,
}

impl Ingestions {
    pub(super) fn of(open: Vec<Ingestion>) -> Self {
        let waiting = open.into_iter().map(|it| (it.owner, it.id)).collect();
        let queue = Queue { waiting, running: Vec::new() };
        Self { queue: Mutex::new(queue), wake: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder of this lock panics")
    }
}

impl Queue {
    fn all(&self) -> impl Iterator<Item = &(KeyId, IngestionId)> {
        self.running.iter().chain(&self.waiting)
    }

    /// Takes the file whose turn it is. The others of its key wait until those of other keys had a turn.
    fn claim(&mut self) -> Option<(KeyId, IngestionId)> {
        let is_idle = |key: KeyId| self.running.iter().all(|it| it.0 != key);
        let at = self.waiting.iter().position(|it| is_idle(it.0))?;
        let next = self.waiting.remove(at)?;
        let is_own = |it: &(KeyId, IngestionId)| it.0 == next.0;
        let (own, others): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_own);
        self.waiting.extend(others.into_iter().chain(own));
        self.running.push(next);
        Some(next)
    }
}

/// A file whose turn it is. It waits again if it is dropped before it ended.
struct Turn<'a> {
    ingestions: &'a Ingestions,
    file: (KeyId, IngestionId),
    has_ended: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.ingestions.lock();
        queue.running.retain(|it| *it != self.file);
        if !self.has_ended {
            // Others are tried first.
            queue.waiting.push_back(self.file);
        }
    }
}

/// The findings in a file that was received.
pub struct ReceivedFindings {
    pub id: IngestionId,
    pub upload: Upload,
    /// The name of the file where it came from.
    pub file_name: String,
    /// Where they are in the upload.
    pub content: Range<u64>,
}

/// What became of the findings of a file.
struct Ingested {
    n_total: u64,
    n_invalid: u64,
    /// Or why it was not imported.
    import: Result<ImportId, String>,
}

impl App {
    /// Begins to receive findings from a key.
    ///
    /// # Errors
    /// `Forbidden` for another caller; `RateLimited` or `Unavailable` if too many files wait; those of
    /// [`App::begin_upload`].
    pub async fn begin_ingestion(&self, by: &Caller) -> Result<(IngestionId, ArrivingUpload)> {
        let owner = owner(by)?;
        let (n_own, n_all) = {
            let queue = self.ingestions.lock();
            (queue.all().filter(|it| it.0 == owner).count(), queue.all().count())
        };
        if N_WAITING_PER_KEY_MAX <= n_own {
            let rule =
                format!("{n_own} files of this key wait to be imported; retry after {RETRY_S} s");
            return Err(Error::too_many(rule, RETRY_S));
        }
        if N_WAITING_MAX <= n_all {
            return Err(Error::unavailable("too many files wait to be imported; try again later"));
        }
        let id = IngestionId::made_at(self.clock.now());
        Ok((id, self.begin_ingestion_upload(by, FILE_BYTES_MAX, id).await?))
    }

    /// Accepts findings that are on disk. They are about the only client that the key may reach.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write. Nothing is kept then.
    pub async fn accept_findings(
        &self,
        by: &Caller,
        received: ReceivedFindings,
    ) -> Result<Ingestion> {
        let ReceivedFindings { id, upload, file_name, content } = received;
        let reachable = self.list_reachable(by);
        let ingestion = Ingestion {
            id,
            owner: owner(by)?,
            client: if let [only] = reachable.as_slice() { Some(*only) } else { None },
            status: IngestionStatus::Pending,
            file_name,
            content_at: content.start,
            n_content_bytes: content.end - content.start,
            n_total: 0,
            n_invalid: 0,
            message: None,
            import: None,
            by: by.name(),
            requested_at: self.clock.now(),
            started_at: None,
            completed_at: None,
        };
        let row = ingestion.clone();
        self.store
            .write(move |batch| {
                for old in batch.list_ingestions(row.owner)?.iter().skip(N_KEPT_PER_KEY - 1) {
                    if old.status.has_ended() {
                        batch.remove_ingestion(old.owner, old.id)?;
                    }
                }
                batch.put_ingestion(&row)
            })
            .await?;
        upload.keep();
        self.ingestions.lock().waiting.push_back((ingestion.owner, id));
        self.ingestions.wake.notify_one();
        Ok(ingestion)
    }

    /// # Errors
    /// `NotFound` if the caller did not push it.
    pub async fn find_ingestion(&self, by: &Caller, id: IngestionId) -> Result<Ingestion> {
        let owner = owner(by)?;
        let found = self.store.read(move |snapshot| snapshot.find_ingestion(owner, id)).await?;
        found.ok_or_else(|| Error::not_found("ingestion not found"))
    }

    /// What the caller pushed, newest first.
    ///
    /// # Errors
    /// `Forbidden` for a caller that is no key.
    pub async fn list_ingestions(&self, by: &Caller) -> Result<Vec<Ingestion>> {
        let owner = owner(by)?;
        self.store.read(move |snapshot| snapshot.list_ingestions(owner)).await
    }

    /// Is notified of each file that waits.
    #[must_use]
    pub fn ingestion_wake(&self) -> &Notify {
        &self.ingestions.wake
    }

    /// Removes files that belong to no ingestion, which a power failure left behind.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not allow it.
    pub async fn remove_lost_ingestion_files(&self) -> Result<()> {
        let lost = self.store.list_ingestion_files().await?;
        let waiting: Vec<IngestionId> = self.ingestions.lock().all().map(|it| it.1).collect();
        for id in lost.into_iter().filter(|it| !waiting.contains(it)) {
            self.store.remove_ingestion_file(id).await?;
        }
        Ok(())
    }

    /// Imports the file whose turn it is. Returns true if more may wait.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be imported now. It waits again.
    pub async fn ingest_next(&self) -> Result<bool> {
        let claimed = self.ingestions.lock().claim();
        let Some((owner, id)) = claimed else { return Ok(false) };
        let mut turn = Turn { ingestions: &self.ingestions, file: (owner, id), has_ended: false };
        let now = self.clock.now();
        let begin = move |batch: &mut Batch| {
            let open = batch.find_ingestion(owner, id)?.filter(|it| !it.status.has_ended());
            let Some(mut it) = open else { return Ok(None) };
            it.status = IngestionStatus::Processing;
            it.started_at.get_or_insert(now);
            batch.put_ingestion(&it)?;
            Ok(Some(it))
        };
        if let Some(ingestion) = self.store.write(begin).await? {
            let ingested = match self.import_findings(&ingestion, now).await {
                Err(error) if error.code == Code::Unavailable => return Err(error),
                Err(error) => Ingested::failed(&error),
                Ok(ingested) => ingested,
            };
            self.settle_ingestion(ingestion, ingested).await?;
        }
        turn.has_ended = true;
        drop(turn);
        self.store.remove_ingestion_file(id).await?;
        Ok(true)
    }

    async fn import_findings(&self, ingestion: &Ingestion, now: Time) -> Result<Ingested> {
        let file = self.store.open_ingestion_file(ingestion.id).await?;
        let file = file.ok_or_else(|| Error::invalid("the file is gone; push it again"))?;
        let owner = ingestion.owner;
        let key = self.store.read(move |it| it.find_key(owner)).await?;
        let key = key.ok_or_else(|| Error::invalid("the key that pushed the file was removed"))?;
        let reach = Some(key.clients).filter(|it| !it.is_empty());
        let known = if let Some(client) = ingestion.client {
            Ok(client)
        } else {
            let content = content(file.try_clone().map_err(Error::internal)?, ingestion)?;
            self.find_bound_client(reach.as_deref(), content, now).await?
        };
        let client = match known {
            Ok(client) => client,
            Err(unknown) => return Ok(unknown),
        };
        let content = content(file, ingestion)?;
        let is_there = |id: ClientId| {
            let client = self.clients.directory.find(id);
            client.is_some_and(|it| it.state != ClientState::Erasing)
        };
        if !is_there(client) {
            return Err(Error::not_found("client not found"));
        }
        let order = ImportRequest {
            file_name: ingestion.file_name.clone(),
            format: Some(FORMAT),
            source: None,
            columns: None,
            observed_at: ObservedAt::File,
            again: false,
            complete: false,
            bind: false,
            reach,
            by: ingestion.by.clone(),
        };
        let rows = self.store.client_store(client);
        let import = match self.import_file(&rows, order, content).await? {
            Imported::Changed(outcome) => outcome.import,
            Imported::Known(known) => known.0,
        };
        let unused = import.skipped.iter().filter(|it| !it.0.starts_with(NO_RESULT));
        Ok(Ingested {
            n_total: import.n_records,
            n_invalid: unused.map(|it| u64::from(it.1)).sum(),
            import: Ok(import.id),
        })
    }

    /// The client to which all accounts of a file are bound, if the key may reach it. Otherwise all findings are invalid. What is
    /// only claimed for a client decides nothing: anyone who may reach that client can claim it.
    async fn find_bound_client(
        &self,
        reach: Option<&[ClientId]>,
        content: Take<File>,
        now: Time,
    ) -> Result<Result<ClientId, Ingested>> {
        let folded = self
            .read_file(move |cancellation| {
                let import = ImportId::random();
                let mut fold = Fold::new(ImportOrigin::at(FORMAT.tool(), "", import, now));
                import::read(FORMAT, &mut BufReader::new(content), &mut |record| {
                    cancellation.check()?;
                    fold.add(record)
                })?;
                Ok(fold.finish())
            })
            .await?;
        let Folded { n_records, scopes, .. } = folded;
        let accounts = scopes.clone();
        let find = move |it: &Snapshot| {
            let bound = accounts.iter().map(|account| it.find_bound_tenant(account));
            bound.collect::<Result<Vec<_>>>()
        };
        let bound = self.store.read(find).await?;
        let first = bound.first().and_then(Option::as_ref).map(|it| it.client);
        let is_first = |it: &Option<BoundTenant>| it.as_ref().map(|it| it.client) == first;
        let may_reach = |id: &ClientId| reach.is_none_or(|it| it.contains(id));
        if let Some(client) = first.filter(may_reach).filter(|_| bound.iter().all(is_first)) {
            return Ok(Ok(client));
        }
        let named = scopes.iter().take(N_ACCOUNTS_NAMED).map(String::as_str);
        let accounts = named.collect::<Vec<_>>().join(", ");
        let message = format!(
            "nothing was imported: the key may reach no client or several, and which of them the file is about is not \
             known (it has {} accounts: {accounts}); have somebody who may reach all clients import a file of each account for its \
             client once, or push with a key that is limited to one client",
            scopes.len()
        );
        Ok(Err(Ingested { n_total: n_records, n_invalid: n_records, import: Err(message) }))
    }

    async fn settle_ingestion(&self, ingestion: Ingestion, ingested: Ingested) -> Result<()> {
        let now = self.clock.now();
        let Ingested { n_total, n_invalid, import } = ingested;
        let settled = Ingestion {
            status: match import {
                Ok(_) => IngestionStatus::Completed,
                Err(_) => IngestionStatus::Failed,
            },
            n_total,
            n_invalid,
            message: import.as_ref().err().cloned(),
            import: import.ok(),
            completed_at: Some(now),
            ..ingestion
        };
        self.store
            .write(move |batch| {
                // It is gone if its client was erased meanwhile.
                if batch.find_ingestion(settled.owner, settled.id)?.is_some() {
                    batch.put_ingestion(&settled)?;
                }
                Ok(())
            })
            .await
    }
}

impl Ingested {
    fn failed(error: &Error) -> Self {
        if error.code == Code::Internal {
            tracing::error!(error = %Chain(error), "pushed findings cannot be imported: {}", Chain(error));
        }
        Self { n_total: 0, n_invalid: 0, import: Err(error.message().to_owned()) }
    }
}

fn owner(by: &Caller) -> Result<KeyId> {
    match &by.identity {
        Principal::Key(held) => Ok(held.key.id),
        Principal::User(_) | Principal::Operator { .. } => {
            Err(Error::forbidden("only an API key can push findings and see what became of them"))
        }
    }
}

fn content(mut file: File, ingestion: &Ingestion) -> Result<Take<File>> {
    let unreadable = |error| Error::unavailable("the file cannot be read").caused_by(error);
    file.seek(SeekFrom::Start(ingestion.content_at)).map_err(unreadable)?;
    Ok(file.take(ingestion.n_content_bytes))
}
