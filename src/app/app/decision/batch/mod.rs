//! Statements about many clients at once: tried first, made client by client in the background, and undone as one.

mod run;
mod trial;

use std::collections::BTreeSet;

use super::control::{self, NewAttestation};
use super::estate::{self, NewMemberDecision, NewWhole};
use super::member::MemberStanding;
use super::requirement::{self, NewDecision};
use super::risk::{self, NewAcceptance};
use super::undo::UNDO_DAYS;
use crate::app::App;
use crate::app::assessment::statement::{REASON_CHARS_MAX, REFERENCE_CHARS_MAX};
use crate::app::client::settings::Settings;
use crate::app::input::require_text;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::ControlPart;
use crate::engine::catalog::Catalog;
use crate::engine::estate::EstateKind;
use crate::engine::fact::RowDecisionKind;
use crate::engine::framework::FrameworkId;
use crate::error::{Error, Result};
use crate::id::{BatchId, ClientId};
use crate::page::{Cut, Page};
use crate::store::global::client::ClientState;
use crate::store::global::client::batch::{BatchDeed, BatchRecord, BatchUndo};
use crate::store::per_client::statement::Author;
use crate::store::per_client::statement::batch::BatchEntry;
use crate::store::{Batch, Snapshot};

pub use run::Batches;
pub use trial::Trial;

/// Clients of one batch.
pub const N_CLIENTS_MAX: usize = 1_000;
/// Batches of one account that are in progress.
pub const N_OPEN_MAX: usize = 5;
/// Batches of one account that are kept.
pub const N_KEPT_MAX: usize = 1_000;
/// How long a batch is kept. The statements stay longer, and say that they were made together.
pub const KEPT_DAYS: i64 = 90;

/// Which clients.
#[derive(Clone, Debug)]
pub enum Chosen {
    Clients(Vec<ClientId>),
    /// The active clients that have the tag now.
    Tag(String),
}

#[derive(Clone, Debug)]
pub struct NewBatch {
    pub chosen: Chosen,
    pub deed: BatchDeed,
    pub author: Author,
}

/// How far a batch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub record: BatchRecord,
    /// Of its clients: stated, refused, undone.
    pub n_stated: u32,
    pub n_refused: u32,
    pub n_undone: u32,
}

/// A client of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub client: ClientId,
    pub name: String,
    /// `None`: the batch has not come to it.
    pub entry: Option<BatchEntry>,
}

impl App {
    /// Begins a batch. It is stored before anything is stated.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Forbidden` or `NotFound` for a client; `Conflict` if the caller has too many
    /// batches.
    pub async fn begin_batch(&self, caller: &Caller, new: NewBatch) -> Result<Progress> {
        let now = self.clock.now();
        check(&self.catalog(), &new, now)?;
        let clients = self.chosen_clients(caller, &new.chosen)?;
        let record = BatchRecord {
            id: BatchId::made_at(now),
            at: now,
            author: new.author,
            deed: new.deed,
            n_clients: u32::try_from(clients.len()).unwrap_or(u32::MAX),
            clients,
            finished_at: None,
            undo: None,
        };
        let _beginning = self.batches.lock_beginning().await;
        let own = self.own_batches(&record.author.account).await?;
        if N_KEPT_MAX <= own.len() {
            return Err(Error::conflict(format!(
                "you began {N_KEPT_MAX} batches in {KEPT_DAYS} days: wait until the first of them are forgotten"
            )));
        }
        require_few_open(&own)?;
        let kept = record.clone();
        let begin = move |batch: &mut Batch| {
            batch.note_object(&kept.id);
            batch.put_batch(&kept)
        };
        caller.acting_on(&self.store).write(begin).await?;
        Ok(Progress { record, n_stated: 0, n_refused: 0, n_undone: 0 })
    }

    /// Undoes everything that a batch stated. If it is in progress, it ends.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for the reason; `Conflict` if it is undone already, or too old; `Forbidden` for a client.
    pub async fn undo_batch(
        &self,
        caller: &Caller,
        id: BatchId,
        reason: String,
    ) -> Result<Progress> {
        require_text("reason", &reason, REASON_CHARS_MAX)?;
        let now = self.clock.now();
        let record = self.batch_record(caller, id).await?;
        for member in self.members_of(&record).await? {
            caller.reach(&self.store, member.client)?;
        }
        let author = caller.own_author();
        let _beginning = self.batches.lock_beginning().await;
        let mut own = self.own_batches(&author.account).await?;
        own.retain(|it| it.id != id);
        require_few_open(&own)?;
        let undo = move |batch: &mut Batch| {
            let record = batch.find_batch(id)?.ok_or_else(absent)?;
            if record.undo.is_some() {
                return Err(Error::conflict("the batch is undone already"));
            }
            if record.at.plus_days(UNDO_DAYS) < now {
                return Err(Error::conflict(format!(
                    "the batch was made more than {UNDO_DAYS} days ago: say of each client what is true now"
                )));
            }
            let (author, reason) = (author.clone(), reason.clone());
            let undo = Some(BatchUndo { at: now, author, reason, finished_at: None });
            batch.note_object(&id);
            batch.put_batch(&BatchRecord { undo, ..record })
        };
        caller.acting_on(&self.store).write(undo).await?;
        self.find_batch(caller, id).await
    }

    /// The batches that an account began.
    async fn own_batches(&self, account: &str) -> Result<Vec<BatchRecord>> {
        let account = account.to_owned();
        let list = move |it: &Snapshot| {
            let mut own = it.list_batches()?;
            own.retain(|it| it.author.account == account);
            Ok(own)
        };
        self.store.read(list).await
    }

    /// A batch, without how far it is.
    ///
    /// # Errors
    /// `NotFound`, also for a batch of another account if the caller may not reach all clients.
    pub async fn batch_record(&self, caller: &Caller, id: BatchId) -> Result<BatchRecord> {
        let record = self.store.read(move |it| it.find_batch(id)).await?;
        record.filter(|it| may_see(caller, it)).ok_or_else(absent)
    }

    /// How far a batch is.
    ///
    /// # Errors
    /// As [`App::batch_record`].
    pub async fn find_batch(&self, caller: &Caller, id: BatchId) -> Result<Progress> {
        let record = self.batch_record(caller, id).await?;
        let members = self.members_of(&record).await?;
        let count = |is_meant: fn(&BatchEntry) -> bool| {
            let entries = members.iter().filter_map(|it| it.entry.as_ref());
            u32::try_from(entries.filter(|it| is_meant(it)).count()).unwrap_or(u32::MAX)
        };
        let n_stated = count(|it| it.statement.is_some());
        let n_refused = count(|it| it.refused.is_some());
        let n_undone = count(|it| it.undone_by.is_some());
        Ok(Progress { record, n_stated, n_refused, n_undone })
    }

    /// Batches of the last days that the caller may see, newest first.
    pub async fn list_batches(&self, caller: &Caller, cut: Cut) -> Result<Page<BatchRecord>> {
        let mut all = self.store.read(Snapshot::list_batches).await?;
        all.retain(|it| may_see(caller, it));
        Ok(Page::of(all.into_iter(), cut))
    }

    /// The clients of a batch that are still there and that the caller may reach, in the order in which they were added.
    ///
    /// # Errors
    /// As [`App::batch_record`].
    pub async fn list_members(&self, caller: &Caller, id: BatchId) -> Result<Vec<Member>> {
        let record = self.batch_record(caller, id).await?;
        let mut members = self.members_of(&record).await?;
        members.retain(|it| caller.may_reach(it.client));
        Ok(members)
    }

    async fn members_of(&self, record: &BatchRecord) -> Result<Vec<Member>> {
        let mut all = self.clients.directory.list();
        all.retain(|it| it.state != ClientState::Erasing);
        let (id, waiting) = (record.id, record.clients.iter().copied().collect::<BTreeSet<_>>());
        let read = move |snapshot: &Snapshot| {
            let mut members = Vec::new();
            for it in all {
                let entry = snapshot.client(it.id).find_batch_entry(id)?;
                if entry.is_some() || waiting.contains(&it.id) {
                    members.push(Member { client: it.id, name: it.name.clone(), entry });
                }
            }
            Ok(members)
        };
        self.store.read(read).await
    }

    fn chosen_clients(&self, caller: &Caller, chosen: &Chosen) -> Result<Vec<ClientId>> {
        let (field, clients) = match chosen {
            Chosen::Clients(given) => {
                require_few("clientIds", given)?;
                given.iter().try_for_each(|it| self.reach_any(caller, *it).map(|_| ()))?;
                ("clientIds", given.clone())
            }
            Chosen::Tag(tag) => {
                let has_tag = |id: &ClientId| {
                    let client = self.clients.directory.find(*id);
                    client.is_some_and(|it| {
                        it.state == ClientState::Active
                            && Settings::of(&it.settings).tags().contains(&tag.as_str())
                    })
                };
                ("tag", self.list_reachable(caller).into_iter().filter(has_tag).collect())
            }
        };
        let mut seen = BTreeSet::new();
        let clients: Vec<ClientId> = clients.into_iter().filter(|it| seen.insert(*it)).collect();
        require_few(field, &clients)?;
        Ok(clients)
    }
}

fn require_few(field: &str, clients: &[ClientId]) -> Result<()> {
    if (1..=N_CLIENTS_MAX).contains(&clients.len()) {
        return Ok(());
    }
    let rule = format!("must choose 1 to {N_CLIENTS_MAX} clients, not {}", clients.len());
    Err(Error::invalid_field(field, rule))
}

/// Who may not reach all clients sees what the same account began.
fn may_see(caller: &Caller, record: &BatchRecord) -> bool {
    caller.allowed_clients().is_none() || record.author.account == caller.name()
}

fn absent() -> Error {
    Error::not_found("batch not found")
}

fn require_few_open(own: &[BatchRecord]) -> Result<()> {
    if own.iter().filter(|it| it.is_open()).count() < N_OPEN_MAX {
        return Ok(());
    }
    let rule = format!("you have {N_OPEN_MAX} batches in progress: wait until one is finished");
    Err(Error::conflict(rule))
}

/// What is to be done with one client.
enum Step {
    Attest { control: String, new: NewAttestation },
    Decide { requirement: (FrameworkId, String), new: NewDecision },
    Accept { control: String, new: NewAcceptance },
    SayWhole { kind: EstateKind, new: NewWhole },
    DecideMember(NewMemberDecision),
}

impl Step {
    fn of(deed: BatchDeed, by: Author) -> Self {
        match deed {
            BatchDeed::Attest { control, status, reason, evidence, until, overrides } => {
                let evidence_id = None;
                let part = ControlPart::default();
                let new = NewAttestation {
                    part,
                    status,
                    reason,
                    evidence,
                    evidence_id,
                    until,
                    overrides,
                    by,
                };
                Self::Attest { control, new }
            }
            BatchDeed::Decide { framework, reference, kind, reason, until } => Self::Decide {
                requirement: (framework, reference),
                new: NewDecision { kind, reason, until, by },
            },
            BatchDeed::Accept { control, reason, until } => {
                Self::Accept { control, new: NewAcceptance { until, reason, by } }
            }
            BatchDeed::SayWhole { kind, reason, until } => {
                Self::SayWhole { kind, new: NewWhole { reason, until, by } }
            }
            BatchDeed::DecideMember { member, is_retired, reason, until } => {
                let standing =
                    if is_retired { MemberStanding::Retired } else { MemberStanding::Excluded };
                let (members, reason) = (vec![member], Some(reason));
                Self::DecideMember(NewMemberDecision { members, standing, reason, until, by })
            }
        }
    }
}

fn check_evidence(field: &str, evidence: Option<&str>) -> Result<()> {
    evidence.map_or(Ok(()), |it| require_text(field, it, REFERENCE_CHARS_MAX))
}

/// # Errors
/// `Invalid` with the field that breaks a rule, `NotFound` for a control or requirement.
fn check(catalog: &Catalog, new: &NewBatch, now: Time) -> Result<()> {
    match Step::of(new.deed.clone(), new.author.clone()) {
        Step::Attest { control, new } => {
            check_evidence("attestation.evidence", new.evidence.as_deref())?;
            control::checked_end(catalog.get_control(&control)?, &new, now).map(|_| ())
        }
        Step::Decide { requirement: (framework, reference), new } => {
            catalog.get_framework(framework)?.get_row(&reference)?;
            if let RowDecisionKind::Attested { evidence } = &new.kind {
                check_evidence("decision.evidence", Some(evidence))?;
            }
            requirement::checked_end(&new, now).map(|_| ())
        }
        Step::Accept { control, new } => {
            catalog.get_control(&control)?;
            risk::check(&new, now)
        }
        Step::SayWhole { kind, new } => estate::checked_end(kind, &new, now).map(|_| ()),
        Step::DecideMember(new) => estate::check_decision(&new, now),
    }
}
