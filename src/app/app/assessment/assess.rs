//! Assesses a client. The assessment is planned on a snapshot, without blocking the writer, and applied in one commit
//! if the facts have not changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::subject::AssessmentInput;
use super::{condition, estate, risk, undone};
use crate::app::App;
use crate::app::assessment::contradiction::ContradictionPlan;
use crate::app::assessment::expiry::Expiry;
use crate::app::assessment::statement::Statements;
use crate::app::assessment::verdict::{PostureBefore, VerdictPlan};
use crate::app::event::cause::Cause;
use crate::app::event::change;
use crate::app::event::condition::{ConditionChanges, ConditionPlan};
use crate::app::event::summary::Announcements;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::change::{Before, Change, difference};
use crate::engine::fact::SourceFacts;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::{ControlOutcome, ExpectedLoss, FrameworkOutcome, Posture, coverage};
use crate::error::{Error, Result};
use crate::id::{ClientId, ScoreId};
use crate::store::global::change::{NewChanges, RowChange};
use crate::store::per_client::estate::EstateRecord;
use crate::store::per_client::history::score::ScoreMove;
use crate::store::per_client::import::PostureChange;
use crate::store::per_client::posture::{AssessmentRecord, OpenRisk, ScoreEntry};
use crate::store::{Batch, ClientBatch, ClientSnapshot, ClientStore};

/// The daily assessments are spread over this many seconds from the start of the day.
const DAY_STARTS_WITHIN_S: i64 = 3_600;

/// How many subjects of risks are written in one commit. Scores of further ones follow in commits of their own.
const N_TOUCHED_AT_ONCE: usize = 5_000;

/// How many clients are changed in one commit, so that other writers do not wait long.
const N_CLIENTS_AT_ONCE: usize = 200;

/// Everything that one assessment writes.
#[derive(Debug)]
pub struct AssessmentPlan {
    facts_version: u64,
    assessed: AssessmentRecord,
    controls: Vec<ControlOutcome>,
    frameworks: Vec<FrameworkOutcome>,
    /// Of the frameworks that are not as they were.
    digests: Vec<(FrameworkId, u64)>,
    /// Frameworks that the catalog no longer has.
    forgotten_frameworks: Vec<FrameworkId>,
    score: Option<ScoreEntry>,
    /// Everything that ever showed the score was undone.
    ends_score: bool,
    moved: Option<ScoreMove>,
    verdicts: VerdictPlan,
    changed: Vec<NewChanges>,
    risks: Vec<OpenRisk>,
    forgotten_risks: Vec<String>,
    touched: Vec<(u64, Option<u8>)>,
    loss: Option<ExpectedLoss>,
    /// `None`: it is as it was.
    estate: Option<EstateRecord>,
    contradictions: ContradictionPlan,
    conditions: ConditionChanges,
    announcements: Announcements,
    due: Time,
    /// How many times an assessment had been requested when the plan was made.
    n_asked: u64,
    announced: PostureChange,
}

impl AssessmentPlan {
    /// How many subjects the commit writes that decides.
    fn n_touched_at_once(&self) -> usize {
        self.touched.len().min(N_TOUCHED_AT_ONCE)
    }

    /// # Errors
    /// `Conflict` if the facts have changed since the plan was made.
    pub fn require_unchanged(&self, batch: &ClientBatch<'_>) -> Result<()> {
        if batch.facts_version()? == self.facts_version {
            return Ok(());
        }
        Err(Error::conflict("the client's facts changed meanwhile; try again"))
    }
}

/// The posture as it was stored.
struct StoredPosture {
    controls: Vec<ControlOutcome>,
    frameworks: Vec<FrameworkOutcome>,
    score: Option<ScoreEntry>,
    risks: Vec<OpenRisk>,
    touched: BTreeMap<u64, u8>,
    assessed: Option<AssessmentRecord>,
    /// What each framework was.
    digests: BTreeMap<FrameworkId, u64>,
}

impl StoredPosture {
    fn read(rows: &ClientSnapshot, catalog: &Catalog) -> Result<Self> {
        let mut digests = BTreeMap::new();
        for it in &catalog.frameworks {
            digests.extend(rows.find_framework_digest(it.id)?.map(|digest| (it.id, digest)));
        }
        Ok(Self {
            controls: rows.list_control_outcomes()?,
            frameworks: rows.list_frameworks()?,
            score: rows.find_score()?,
            risks: rows.list_risks()?,
            touched: rows.list_touched()?.into_iter().collect(),
            assessed: rows.find_assessed()?,
            digests,
        })
    }

    fn before(&self) -> PostureBefore<'_> {
        PostureBefore {
            assessed: self.assessed.as_ref(),
            controls: &self.controls,
            frameworks: &self.frameworks,
            score: self.score.as_ref().map(|it| it.score.overall),
        }
    }

    fn unknown_frameworks(&self, catalog: &Catalog) -> Vec<FrameworkId> {
        let all = self.frameworks.iter().map(|it| it.id);
        all.filter(|it| catalog.find_framework(*it).is_none()).collect()
    }

    fn new_digests(&self, catalog: &Catalog) -> Vec<(FrameworkId, u64)> {
        let all = catalog.frameworks.iter().map(|it| (it.id, it.digest));
        all.filter(|(id, digest)| self.digests.get(id) != Some(digest)).collect()
    }

    /// `ends_score`: there is no score to show any more.
    fn difference(
        &mut self,
        subject: &AssessmentInput,
        posture: &Posture,
        ends_score: bool,
    ) -> Vec<Change> {
        if ends_score {
            self.score = None;
        }
        let catalog = &subject.catalog;
        let before = self.assessed.as_ref().map(|_| Before {
            digests: self.digests.clone(),
            controls: &self.controls,
            frameworks: &self.frameworks,
            score: self.score.as_ref().map(|it| &it.score),
            risks: self.risks.iter().filter(|it| it.closed.is_none()).map(|it| &it.risk).collect(),
        });
        let mut changes = difference(catalog, before.as_ref(), posture, &subject.thresholds);
        // Other frameworks than the contract's concern only the clients that must meet them.
        changes.retain(|it| {
            it.framework().is_none_or(|id| id.is_of_contract() || subject.frameworks.contains(&id))
        });
        changes
    }
}

impl App {
    /// Assesses a client on its stored facts.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn reassess(&self, rows: &ClientStore, cause: Cause) -> Result<PostureChange> {
        let _lock = self.clients.lock(rows.id()).await;
        let now = self.clock.now();
        let subject = self.subject(rows.id())?;
        let plan = rows
            .read(move |snapshot| {
                let seen = snapshot.read_source_facts()?;
                let statements = Statements::read_all(snapshot, &subject.catalog, now)?;
                plan(snapshot, &subject, &seen, &statements, None, &cause, now)
            })
            .await?;
        let plan = Arc::new(plan);
        let decided = Arc::clone(&plan);
        let decide = move |batch: &mut ClientBatch<'_>| {
            decided.require_unchanged(batch)?;
            apply(batch, &decided)
        };
        let announced = rows.write(decide).await?;
        self.touch_rest(rows, &plan).await?;
        Ok(announced)
    }

    /// Changes something of many clients, in several commits.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub(in crate::app) async fn write_clients(
        &self,
        is_meant: impl Fn(ClientId) -> bool,
        change: impl Fn(&mut ClientBatch<'_>) -> Result<()> + Copy + Send + 'static,
    ) -> Result<()> {
        let all = self.clients.directory.list();
        let clients: Vec<ClientId> =
            all.iter().map(|it| it.id).filter(|it| is_meant(*it)).collect();
        for some in clients.chunks(N_CLIENTS_AT_ONCE) {
            let some = some.to_vec();
            let write = move |batch: &mut Batch| {
                for id in &some {
                    let mut rows = batch.client(*id);
                    if rows.require_client().is_ok() {
                        change(&mut rows)?;
                    }
                }
                Ok(())
            };
            self.store.write(write).await?;
        }
        Ok(())
    }

    /// Writes the scores of the subjects that the commit that decided left.
    pub(in crate::app) async fn touch_rest(
        &self,
        rows: &ClientStore,
        plan: &AssessmentPlan,
    ) -> Result<()> {
        let rest = &plan.touched[plan.n_touched_at_once()..];
        if rest.is_empty() {
            return Ok(());
        }
        let rows = rows.unrecorded();
        for some in rest.chunks(N_TOUCHED_AT_ONCE) {
            let some = some.to_vec();
            rows.write(move |batch| touch(batch, &some)).await?;
        }
        let (due, n_asked) = (plan.due, plan.n_asked);
        let schedule = move |batch: &mut ClientBatch<'_>| {
            let is_asked = batch.n_asked()? != n_asked;
            if is_asked { Ok(()) } else { batch.set_due(Some(due)) }
        };
        rows.write(schedule).await
    }
}

/// Assesses, and plans every row that the result changes.
pub fn plan(
    rows: &ClientSnapshot,
    subject: &AssessmentInput,
    seen: &SourceFacts,
    statements: &Statements,
    conditions: Option<ConditionPlan>,
    cause: &Cause,
    now: Time,
) -> Result<AssessmentPlan> {
    let before = rows.estate()?;
    let counting = (subject.new_member_days, estate::counted_to(&before, cause, now));
    let known = estate::known(rows, &statements.estate, &before, counting)?;
    let mut posture = subject.assess(seen, statements, &known, now)?;
    let estate = estate::record(&before, &mut posture, counting.1);
    let mut stored = StoredPosture::read(rows, &subject.catalog)?;
    let is_shown = posture.has_evidence || stored.score.is_none();
    let term = (subject.retention, now);
    let ends_score = !is_shown && undone::was_all(rows, cause, (seen, statements), term)?;
    let changes = stored.difference(subject, &posture, ends_score);
    let score = next_score(&stored, &posture, cause, now);
    let is_undo = matches!(cause, Cause::Undo(_));
    let carried = risk::carry(&stored.risks, &posture, &changes, (is_undo, now));
    let in_scope = (&*subject.catalog, subject.frameworks.as_slice());
    let (mut announced, mut events) =
        change::events(in_scope, &changes, &carried.risks, &posture, cause, now);
    events.extend(risk::returned(&carried, &changes, (cause, now)));
    let expiry = Expiry::of(rows, statements, subject, now)?;
    let due = due(rows, (&posture, &before), (subject, cause), now)?;
    let due = expiry.next.map_or(due, |it| it.min(due));
    let conditions = expiry.add_to(conditions, rows, now)?;
    let mut contradictions = ContradictionPlan::of(rows, &posture.contradictions, cause, now)?;
    let conditions = contradictions.add_to(conditions, rows, now)?;
    let conditions = ConditionPlan::settled(conditions, rows, &posture.accounts, (is_undo, now))?;
    let mut conditions = conditions.map(ConditionPlan::finish).unwrap_or_default();
    let announcements = Announcements::plan(rows, cause.run(), events, &mut conditions, now)?;
    announced.n_events = u32::try_from(announcements.events.len()).unwrap_or(u32::MAX);
    Ok(AssessmentPlan {
        facts_version: rows.facts_version()?,
        assessed: record(rows, &subject.catalog, &posture, now)?,
        due: carried.next_end.map_or(due, |it| it.min(due)),
        n_asked: rows.n_asked()?,
        moved: moved(&changes, stored.score.as_ref(), cause, now),
        verdicts: VerdictPlan::of(
            rows,
            &subject.catalog,
            (&stored.before(), &posture),
            (cause, now),
        )?,
        changed: changed(&subject.catalog, &changes, cause, now),
        digests: stored.new_digests(&subject.catalog),
        forgotten_frameworks: stored.unknown_frameworks(&subject.catalog),
        controls: unlike(&stored.controls, posture.controls, |it| it.code.clone()),
        frameworks: unlike(&stored.frameworks, posture.frameworks, |it| it.id),
        score,
        ends_score,
        risks: carried.risks,
        forgotten_risks: carried.forgotten,
        touched: touched(&stored.touched, &posture.touched),
        loss: posture.loss,
        estate,
        contradictions,
        conditions,
        announcements,
        announced,
    })
}

/// What the posture is based on.
fn record(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    posture: &Posture,
    now: Time,
) -> Result<AssessmentRecord> {
    Ok(AssessmentRecord {
        catalog_digest: catalog.digest,
        facts_version: rows.facts_version()?,
        at: now,
        coverage: coverage(catalog, &posture.controls),
    })
}

/// Writes the plan.
pub fn apply(batch: &mut ClientBatch<'_>, plan: &AssessmentPlan) -> Result<PostureChange> {
    for control in &plan.controls {
        batch.put_control_outcome(control)?;
    }
    // First, because a release may bring a framework with the identifier of one that it replaces.
    for framework in &plan.forgotten_frameworks {
        batch.remove_framework(*framework)?;
    }
    for framework in &plan.frameworks {
        batch.put_framework(framework)?;
    }
    for (framework, digest) in &plan.digests {
        batch.put_framework_digest(*framework, *digest)?;
    }
    if let Some(score) = &plan.score {
        batch.put_score(score)?;
        batch.put_day(score)?;
    }
    if plan.ends_score {
        batch.remove_score()?;
    }
    if let Some(moved) = &plan.moved {
        batch.add_move(moved)?;
    }
    plan.verdicts.apply(batch)?;
    for changed in &plan.changed {
        batch.add_changes(changed)?;
    }
    for risk in &plan.risks {
        batch.put_risk(risk)?;
    }
    for condition in &plan.forgotten_risks {
        batch.remove_risk(condition)?;
    }
    touch(batch, &plan.touched[..plan.n_touched_at_once()])?;
    plan.contradictions.apply(batch)?;
    plan.conditions.apply(batch)?;
    plan.announcements.apply(batch)?;
    batch.put_assessed(&plan.assessed)?;
    batch.put_expected_loss(plan.loss)?;
    plan.estate.as_ref().map_or(Ok(()), |it| batch.put_estate(it))?;
    let next = condition::reevaluate(batch, plan.assessed.at)?;
    // A request since the plan was made, such as a push, still requires an assessment of its own.
    if batch.n_asked()? == plan.n_asked {
        let due = next.map_or(plan.due, |it| it.min(plan.due));
        // What `touch_rest` leaves undone at a stop is done by an assessment at the next start.
        let is_whole = plan.n_touched_at_once() == plan.touched.len();
        batch.set_due(Some(if is_whole { due } else { plan.assessed.at }))?;
    }
    Ok(plan.announced.clone())
}

fn touch(batch: &mut ClientBatch<'_>, touched: &[(u64, Option<u8>)]) -> Result<()> {
    for (subject, score) in touched {
        match score {
            Some(score) => batch.put_touched(*subject, *score)?,
            None => {
                batch.remove_touched(*subject)?;
            }
        }
    }
    Ok(())
}

/// Returns the results that differ from the stored ones.
fn unlike<T: PartialEq, K: Ord>(stored: &[T], new: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let stored: BTreeMap<K, &T> = stored.iter().map(|it| (key(it), it)).collect();
    new.into_iter().filter(|it| stored.get(&key(it)) != Some(&it)).collect()
}

fn touched(stored: &BTreeMap<u64, u8>, new: &BTreeMap<u64, u8>) -> Vec<(u64, Option<u8>)> {
    let put = new.iter().filter(|(it, score)| stored.get(it) != Some(score));
    let put = put.map(|(it, score)| (*it, Some(*score)));
    let removed = stored.keys().filter(|it| !new.contains_key(it)).map(|it| (*it, None));
    put.chain(removed).collect()
}

/// Returns the entry to show and to store for today. `None`: the stored entry is still valid.
///
/// There is a new entry with the first evidence, when a part of the score changes, after each run of a source, and each
/// day.
fn next_score(
    stored: &StoredPosture,
    posture: &Posture,
    cause: &Cause,
    now: Time,
) -> Option<ScoreEntry> {
    let entry =
        || ScoreEntry { id: ScoreId::random(), score: posture.score.clone(), calculated_at: now };
    match &stored.score {
        None => posture.has_evidence.then(entry),
        Some(before) => {
            let is_news = before.score != posture.score
                || before.calculated_at.day() != now.day()
                || matches!(cause, Cause::Source { .. });
            is_news.then(entry)
        }
    }
}

/// A release with other rules is on record also where the score stays: what was before cannot be compared with what follows.
fn moved(
    changes: &[Change],
    stored: Option<&ScoreEntry>,
    cause: &Cause,
    now: Time,
) -> Option<ScoreMove> {
    let moved = changes.iter().find_map(|it| {
        let Change::Score { from, to, controls } = it else { return None };
        Some((*from, *to, controls.clone()))
    });
    let stays = || {
        let score = stored.filter(|_| *cause == Cause::Release)?.score.overall;
        Some((Some(score), score, Vec::new()))
    };
    let (from, to, controls) = moved.or_else(stays)?;
    Some(ScoreMove { at: now, from, to, cause: cause.as_str().into_owned(), controls })
}

/// Returns the rows that changed, by framework.
fn changed(catalog: &Catalog, changes: &[Change], cause: &Cause, now: Time) -> Vec<NewChanges> {
    let mut all: Vec<NewChanges> = Vec::new();
    for change in changes {
        let Change::Row { framework, row, from, to } = change else { continue };
        let Some(found) = catalog.find_framework(*framework) else { continue };
        let row = &found.rows[*row];
        let (reference, level) = (row.reference.clone(), row.level);
        let row = RowChange { reference, level, from: *from, to: *to };
        match all.last_mut().filter(|it| it.framework == *framework) {
            Some(same) => same.rows.push(row),
            None => all.push(NewChanges {
                framework: *framework,
                at: now,
                cause: cause.as_str().into_owned(),
                rows: vec![row],
            }),
        }
    }
    all
}

/// Returns when this client must be assessed again: when time changes its results, and each day. The daily assessments
/// are not all at midnight: each client has its own time within the first hour of the day. What was new and is due is counted
/// at once, by an assessment of its own.
fn due(
    rows: &ClientSnapshot,
    (posture, before): (&Posture, &EstateRecord),
    (subject, cause): (&AssessmentInput, &Cause),
    now: Time,
) -> Result<Time> {
    if *cause != Cause::Due && estate::is_due(rows, before, subject.new_member_days, now)? {
        return Ok(now);
    }
    let share_s = i64::from(rows.id().as_bytes()[15]) * DAY_STARTS_WITHIN_S / 256;
    let next_day = Time::EPOCH.plus_days(i64::from(now.day()) + 1).plus_s(share_s);
    Ok(posture.changes_at.map_or(next_day, |it| it.min(next_day)))
}
