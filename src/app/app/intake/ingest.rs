//! Ingests facts: assessment, differences and events, in one commit that decides.
//!
//! The assessment is planned on a snapshot, without blocking the writer. It is applied if the client's facts have not
//! changed since, and otherwise planned again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::remember::remember;
use super::run::{Course, Discovery, Intake, IntakeOutcome, IntakePlan};
use super::{apply, roster};
use crate::app::assessment::assess;
use crate::app::assessment::evidence;
use crate::app::assessment::statement::{Statement, Statements};
use crate::app::event::cause::{Cause, FirstLook, NewPart, Undone, require_free_name};
use crate::app::intake::limit::{require_lists, require_members, require_observations};
use crate::app::intake::list::AccountJudge;
use crate::app::intake::roster::{ListsPlan, ScanJudge};
use crate::app::intake::source::Run;
use crate::app::{App, ClientLock};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::control::controls_of;
use crate::engine::fact::{CompleteRead, Observation, ObservedThing, SourceFacts};
use crate::engine::identity::leaver::Leavers;
use crate::engine::vulnerability::Exploited;
use crate::error::{Code, Error, Result};
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::import::Import;
use crate::store::per_client::read::split_by_age;
use crate::store::per_client::roster::{ListKind, Roster};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// How many plans are made before a client whose facts keep changing is refused.
const N_PLANS_MAX: usize = 5;

impl App {
    /// Ingests one run of a source: facts, results, score, risks and events in one commit.
    ///
    /// # Errors
    /// `NotFound` if the client does not exist; `Unavailable` if the disk does not accept the write, or if the client's
    /// facts kept changing. Then nothing of the run counts.
    pub async fn ingest(&self, rows: &ClientStore, intake: Intake) -> Result<IntakeOutcome> {
        let lock = self.clients.lock(rows.id()).await;
        self.ingest_locked(rows, intake, &lock).await
    }

    /// [`App::ingest`] for a caller that holds the client's lock.
    pub(in crate::app) async fn ingest_locked(
        &self,
        rows: &ClientStore,
        intake: Intake,
        lock: &ClientLock,
    ) -> Result<IntakeOutcome> {
        let intake = Arc::new(intake);
        let ingested = self.ingest_once(rows, &intake, lock).await;
        self.intakes.count_run(&intake, ingested.is_ok());
        ingested
    }

    async fn ingest_once(
        &self,
        rows: &ClientStore,
        intake: &Arc<Intake>,
        lock: &ClientLock,
    ) -> Result<IntakeOutcome> {
        let now = self.clock.now();
        self.settle_runs(rows, lock).await?; // Its steps say which scopes are known.
        let (source, scopes) = (intake.import.source.clone(), intake.scopes.clone());
        let (discovery, listed) = (intake.discovery, intake.listed_scope());
        let new = move |snapshot: &ClientSnapshot| {
            baseline(snapshot, &source, scopes, discovery, listed.as_deref())
        };
        let baseline = rows.read(new).await?;
        for _ in 0..N_PLANS_MAX {
            let plan = self.plan(rows, intake, &baseline, now).await?;
            match self.carry_out(rows, plan, now, lock).await {
                Err(error) if error.code == Code::Conflict => self.settle_runs(rows, lock).await?,
                other => return other,
            }
        }
        Err(Error::unavailable("the client's facts kept changing; try again"))
    }

    /// Carries out a plan: in one commit, or staged around the one that decides.
    async fn carry_out(
        &self,
        rows: &ClientStore,
        plan: IntakePlan,
        now: Time,
        lock: &ClientLock,
    ) -> Result<IntakeOutcome> {
        let plan = Arc::new(plan);
        if !plan.intake.is_undoing() {
            // Undoing makes outdated observations count again, so none may be removed under its plan.
            self.make_room(rows, plan.n_observations(), now).await?;
        }
        let to_decide = Arc::clone(&plan);
        let decide = move |batch: &mut ClientBatch<'_>| apply::decide(batch, &to_decide, now);
        if plan.course != Course::AtOnce {
            // They are outdated until the commit that decides.
            self.unfold(rows, &plan.uncovered).await?;
        }
        let staged = match plan.course {
            Course::AtOnce => Ok(()),
            Course::Staged => self.stage(rows, &plan).await,
            Course::Undone => self.stage_undo(rows, &plan).await,
        };
        let decided = match staged {
            Ok(()) => rows.write(decide).await,
            Err(error) => Err(error),
        };
        if decided.is_err() && plan.course != Course::AtOnce {
            self.try_settle_runs(rows, lock).await;
        }
        let mut outcome = decided?;
        self.touch_rest(rows, &plan.assessment).await?;
        match plan.course {
            Course::AtOnce => (),
            Course::Undone => self.try_settle_runs(rows, lock).await,
            Course::Staged => self.finish_run(rows, &plan, &mut outcome, now).await?,
        }
        Ok(outcome)
    }

    /// Finishes a staged run that was decided, and completes its outcome with what that did.
    async fn finish_run(
        &self,
        rows: &ClientStore,
        plan: &IntakePlan,
        outcome: &mut IntakeOutcome,
        now: Time,
    ) -> Result<()> {
        let finished = self.finish(rows, plan.import.id).await?;
        let Some((import, n_retired, n_events)) = finished else { return Ok(()) };
        outcome.import = import;
        outcome.n_retired = n_retired;
        outcome.announced.n_events += n_events;
        if let Some(it) = plan.intake.idempotent.clone() {
            let answer = it.answer(outcome, now);
            rows.unrecorded().write(move |batch| batch.put_answer(&it.key, &answer)).await?;
        }
        Ok(())
    }

    async fn plan(
        &self,
        rows: &ClientStore,
        intake: &Arc<Intake>,
        baseline: &HashSet<String>,
        now: Time,
    ) -> Result<IntakePlan> {
        let subject = self.subject(rows.id())?;
        let rules = self.roster_rules(rows.id())?;
        let exploited = if intake.is_undoing() || !intake.scans.is_empty() {
            self.list_exploited().await?
        } else {
            Exploited::default() // No scan is judged.
        };
        let scopes = &intake.scopes;
        let is_first = !scopes.is_empty() && scopes.iter().all(|it| baseline.contains(it));
        let (intake, baseline) = (Arc::clone(intake), baseline.clone());
        rows.read(move |snapshot| {
            let source = intake.import.source.as_str();
            let origin = (source, intake.import.id);
            let seen = snapshot.read_source_facts()?;
            let (known, catalog) = (&seen.observations, &subject.catalog);
            let leavers = leavers_for(snapshot, &intake)?;
            let judge = AccountJudge { rules: &rules, catalog, leavers: &leavers, now };
            let mut lists = match &intake.lists {
                Some(lists) => roster::plan(snapshot, origin, lists, &judge)?,
                None if intake.is_undoing() => {
                    roster::undo(snapshot, origin, &intake.import.scopes, &judge)?
                }
                None => ListsPlan::default(),
            };
            let derived = (lists.observations.as_slice(), &**catalog);
            let cause = cause(snapshot, &intake, is_first, known, derived)?;
            let new_days = subject.new_member_days;
            let scan_judge = ScanJudge { catalog, exploited: &exploited, new_days, now };
            if intake.is_undoing() {
                roster::undo_scans(&mut lists, snapshot, origin.1, &scan_judge)?;
            } else {
                roster::plan_scans(&mut lists, snapshot, origin, &intake.scans, &scan_judge)?;
            }
            require_observations(known, &intake.observations)?;
            for (part, moved) in &lists.moved {
                require_members(snapshot, *part, moved)?;
            }
            let n_freed = lists.n_freed_rows(snapshot, source)?;
            require_lists(snapshot, lists.n_kept_rows(), n_freed)?;
            lists.judge_observations(
                snapshot,
                &intake.import,
                (&intake.observations, &seen),
                nothing_seen(&intake),
                intake.shrinking,
            )?;
            lists.restore_reads(snapshot, &intake.import, &intake.retracted_reads, &seen.reads)?;
            let (remembering, corrected) =
                remember(snapshot, &intake, &seen, &lists.complete_reads)?;
            lists.corrected.replaced.extend(corrected);
            let present = present(&intake.observations, &lists.complete_reads);
            let derived = lists.observations.iter().chain(&present);
            let observed = remembering.all(&intake).chain(derived);
            let seen = seen_with(snapshot, seen, &intake, observed, &lists)?;
            let mut statements = Statements::read_all(snapshot, &subject.catalog, now)?;
            let register = evidence::register(snapshot, &subject.catalog)?;
            lists.evidence = evidence::entries(&register, source, &intake.evidence, now)?;
            for it in &lists.evidence {
                statements = statements.with(&Statement::PutEvidence(it.clone()));
            }
            let conditions = lists.conditions.take();
            let assessment =
                assess::plan(snapshot, &subject, &seen, &statements, conditions, &cause, now)?;
            let assessed = (assessment, &**catalog);
            let observed = (intake, remembering);
            IntakePlan::of(snapshot, observed, assessed, lists, present, &baseline, now)
        })
        .await
    }
}

/// `is_first`: none of its scopes was read before. `known`: what was observed before it. `derived`: what follows from its accounts.
///
/// # Errors
/// `Invalid` if a new source has the name of another cause.
fn cause(
    rows: &ClientSnapshot,
    intake: &Intake,
    is_first: bool,
    known: &[Observation],
    derived: (&[Observation], &Catalog),
) -> Result<Cause> {
    let Import { id, source, .. } = &intake.import;
    if intake.is_undoing() {
        return Ok(Cause::Undo(Undone::Import(*id)));
    }
    let is_new = !rows.has_source(source)?;
    if is_new {
        require_free_name(source)?;
    }
    let first_look = if is_first {
        FirstLook::Run
    } else {
        new_part(rows, intake, known, derived)?.map_or(FirstLook::Nothing, FirstLook::Part)
    };
    Ok(Cause::Source {
        source: source.clone(),
        run: *id,
        is_new,
        first_look,
        quiet: intake.run == Run::Quiet,
    })
}

/// Returns who left, if the run has accounts to compare them with.
fn leavers_for(rows: &ClientSnapshot, intake: &Intake) -> Result<Leavers> {
    let lists_accounts = intake.lists.as_ref().is_some_and(|it| it.identities.is_some());
    if lists_accounts || intake.is_undoing() {
        roster::read_leavers(rows)
    } else {
        Ok(Leavers::default())
    }
}

/// Returns what was seen of the client, including what the intake adds and derives, without what it retracts.
///
/// `added`: its observations, and what is derived.
fn seen_with<'a>(
    rows: &ClientSnapshot,
    SourceFacts { mut observations, mut reads }: SourceFacts,
    intake: &'a Intake,
    added: impl Iterator<Item = &'a Observation>,
    lists: &'a ListsPlan,
) -> Result<SourceFacts> {
    let corrected: HashSet<ObservationKey> = lists.corrected.keys().collect();
    if !intake.retracted.is_empty() || !corrected.is_empty() {
        // The observations that the retracted ones replaced count again.
        for key in intake.retracted.iter().chain(&corrected) {
            observations.extend(rows.list_observations_like(key)?);
        }
        observations.retain(|it| {
            it.import != intake.import.id && !corrected.contains(&ObservationKey::from(it))
        });
    }
    if !intake.retracted_reads.is_empty() || !lists.corrected.unread.is_empty() {
        reads = rows.list_stored_reads()?; // Older ones count again.
        reads.retain(|it| it.import != intake.import.id && !lists.corrected.unread.contains(it));
    }
    let added = added.chain(&lists.corrected.replaced);
    observations.extend(added.cloned());
    reads.extend(lists.complete_reads.iter().cloned());
    Ok(SourceFacts { observations, reads: split_by_age(reads).0 })
}

/// Returns the scopes that are read for the first time.
fn baseline(
    rows: &ClientSnapshot,
    source: &str,
    scopes: Vec<String>,
    discovery: Discovery,
    listed: Option<&str>,
) -> Result<HashSet<String>> {
    let known = rows.list_sources()?.into_iter().filter(|it| it.source == source);
    let known: HashSet<String> = known.map(|it| it.scope).collect();
    if let Some(scope) = listed {
        let roster = Roster { source, scope, part: ListKind::Assets };
        if rows.find_reads(roster)?.is_none() {
            return Ok(scopes.into_iter().collect()); // The first complete list of them.
        }
    }
    if discovery == Discovery::OfKnownSource && !known.is_empty() {
        return Ok(HashSet::new());
    }
    Ok(scopes.into_iter().filter(|it| !known.contains(it)).collect())
}

/// Returns what follows from the checks or the accounts of a complete run that its scope reports for the first time, although the
/// source reported the scope before. `None`: neither is new.
fn new_part(
    rows: &ClientSnapshot,
    intake: &Intake,
    known: &[Observation],
    (derived, catalog): (&[Observation], &Catalog),
) -> Result<Option<NewPart>> {
    let Some(lists) = intake.lists.as_ref().filter(|it| it.complete) else { return Ok(None) };
    let (source, scope) = (intake.import.source.as_str(), lists.scope.as_str());
    let is_ours = |it: &Observation| it.source == source && it.scope == scope && !it.is_derived();
    let has_checks = intake.observations.iter().any(is_ours) && !known.iter().any(is_ours);
    let accounts = Roster { source, scope, part: ListKind::Identities };
    let has_accounts = lists.identities.is_some() && rows.find_reads(accounts)?.is_none();
    if !has_checks && !has_accounts {
        return Ok(None);
    }
    let checks = intake.observations.iter().filter(|_| has_checks);
    let of_accounts = derived.iter().filter(|_| has_accounts);
    let indices = checks.chain(of_accounts).flat_map(|it| controls_of(catalog, it));
    let controls = indices.map(|it| catalog.controls[it].code.clone()).collect();
    Ok(Some(NewPart { controls, has_checks }))
}

/// Returns the scope and time of a complete read of observations that found none.
fn nothing_seen(intake: &Intake) -> Option<(&str, Time)> {
    let lists = intake.lists.as_ref().filter(|_| intake.import.complete)?;
    intake.observations.is_empty().then_some((lists.scope.as_str(), lists.at))
}

/// Returns what shows that a read had its checks until its end: those of a file may have been observed earlier.
fn present(seen: &[Observation], reads: &[CompleteRead]) -> Vec<Observation> {
    let of_checks = reads.iter().filter(|it| !it.is_of_accounts);
    let read_at: HashMap<&str, Time> = of_checks.map(|it| (it.scope.as_str(), it.at)).collect();
    let mut newest: BTreeMap<ObservedThing<'_>, &Observation> = BTreeMap::new();
    for it in seen.iter().filter(|it| read_at.contains_key(it.scope.as_str())) {
        let newest = newest.entry(it.thing()).or_insert(it);
        if newest.observed_at < it.observed_at {
            *newest = it;
        }
    }
    let earlier = newest.into_values().filter_map(|it| {
        let at = read_at[it.scope.as_str()];
        (it.observed_at < at).then(|| it.present(at))
    });
    earlier.collect()
}
