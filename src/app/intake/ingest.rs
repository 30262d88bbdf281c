//! Ingests facts: assessment, differences and events, in one commit.
//!
//! The assessment is planned on a snapshot, without blocking the writer. It is applied if the client's facts have not
//! changed since, and otherwise planned again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::roster;
use super::source;
use crate::app::assessment::assess;
use crate::app::assessment::assess::{AssessmentPlan, RunChanges};
use crate::app::assessment::evidence;
use crate::app::assessment::evidence::NewEvidence;
use crate::app::assessment::statement::{Statement, Statements};
use crate::app::event;
use crate::app::event::cause::Cause;
use crate::app::event::change::Announced;
use crate::app::intake::account::is_derived;
use crate::app::intake::limit::{require_members, require_observations};
use crate::app::intake::list::{Lists, Moved};
use crate::app::intake::roster::ListsPlan;
use crate::app::intake::source::Run;
use crate::app::inventory::asset::{Merged, Sighting, merge};
use crate::app::{App, ClientLock};
use crate::clock::Time;
use crate::engine::asset::Seen;
use crate::engine::fact::{Observation, Verdict};
use crate::error::{Code, Error, Result};
use crate::id::ImportId;
use crate::import::fold::Folded;
use crate::store::global::answer::{Answer, AnswerKey};
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::import::{Import, SourceScope};
use crate::store::per_client::roster::{ListKind, Roster};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// How many assets are merged in one commit. More take several commits, so that other writers do not wait long. The
/// last of these commits also stores the facts.
pub(in crate::app) const N_ASSETS_PER_COMMIT: usize = 500;
/// How many plans are made before a client whose facts keep changing is refused.
const N_PLANS_MAX: usize = 5;

/// How many scopes the record and the event of a run name. Both also have the total.
pub const N_SCOPES_KEPT: usize = 100;

/// What one run of a source adds, or what undoing an import retracts.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The run, as it will be stored. The counts of assets and facts are filled in later.
    pub import: Import,
    /// All scopes of the run. The record keeps the first [`N_SCOPES_KEPT`].
    pub scopes: Vec<String>,
    pub observations: Vec<Observation>,
    pub retracted: Vec<ObservationKey>,
    pub evidence: Vec<NewEvidence>,
    pub assets: Vec<Seen>,
    /// When assets without their own time were seen.
    pub seen_at: Time,
    /// Which new assets are announced.
    pub discovery: Discovery,
    pub run: Run,
    /// Accept a complete run even if it shrank.
    pub confirm_shrink: bool,
    /// `None`: the run has no lists.
    pub lists: Option<Lists>,
    pub idempotent: Option<Idempotent>,
}

/// A new run of a source, without its data.
pub struct NewRun {
    pub id: ImportId,
    /// The name of the file, or another name of the run.
    pub name: String,
    pub format: String,
    pub digest: [u8; 32],
    pub source: String,
    /// Who sent it.
    pub by: String,
    pub at: Time,
}

impl Intake {
    /// Makes the intake of a completed run. It lists nothing completely.
    #[must_use]
    pub fn of(run: NewRun, folded: Folded) -> Self {
        let NewRun { id, name, format, digest, source, by, at } = run;
        let import = Import {
            id,
            file_name: name,
            format,
            digest,
            source,
            n_scopes: u32::try_from(folded.scopes.len()).unwrap_or(u32::MAX),
            scopes: folded.scopes.iter().take(N_SCOPES_KEPT).cloned().collect(),
            observed_from: folded.observed_from,
            observed_to: folded.observed_to,
            n_records: folded.n_records,
            n_facts: 0,
            n_assets_new: 0,
            n_assets_updated: 0,
            skipped: folded.skipped.into_iter().collect(),
            by,
            at,
            complete: false,
            retracted_at: None,
        };
        let Folded { scopes, observations, assets, .. } = folded;
        Self { scopes, observations, assets, ..Self::empty(import, at) }
    }

    /// Makes the intake that retracts the observations of an earlier run.
    #[must_use]
    pub fn undoing(import: Import, observations: Vec<ObservationKey>, at: Time) -> Self {
        let import = Import { retracted_at: Some(at), complete: false, ..import };
        Self { retracted: observations, ..Self::empty(import, at) }
    }

    fn empty(import: Import, seen_at: Time) -> Self {
        Self {
            import,
            scopes: Vec::new(),
            observations: Vec::new(),
            retracted: Vec::new(),
            evidence: Vec::new(),
            assets: Vec::new(),
            seen_at,
            discovery: Discovery::OfKnownScopes,
            run: Run::Completed,
            confirm_shrink: false,
            lists: None,
            idempotent: None,
        }
    }

    /// Returns the scope in which the run lists all assets of its source. `None`: it does not.
    fn listed_scope(&self) -> Option<String> {
        let complete = self.lists.as_ref().filter(|it| it.complete && it.assets.is_some());
        complete.map(|it| it.scope.clone())
    }
}

/// A request that may be sent twice. Its answer is stored in the commit that performs it.
#[derive(Clone, Debug)]
pub struct Idempotent {
    pub key: AnswerKey,
    /// The digest of the request.
    pub digest: [u8; 32],
    pub render: fn(&IntakeOutcome) -> String,
}

/// Which new assets are announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// All except those of a scope that the source reports for the first time: the first read of an account is its
    /// baseline.
    OfKnownScopes,
    /// All, once the source has reported anything about this client: each scope is a single host, and a new host is
    /// worth an event.
    OfKnownSource,
}

/// What an ingest changed.
#[derive(Clone, Debug)]
pub struct IntakeOutcome {
    pub import: Import,
    pub announced: Announced,
    /// How each list changed.
    pub moved: BTreeMap<ListKind, Moved>,
    pub n_retired: u32,
}

impl App {
    /// Ingests one run of a source: facts, results, score, risks and events in one commit.
    ///
    /// # Errors
    /// `NotFound` if the client does not exist; `Unavailable` if the disk does not accept the write, or if the client's
    /// facts kept changing. Then nothing of the run counts, but assets of a large run that were already merged stay.
    pub async fn ingest(&self, rows: &ClientStore, intake: Intake) -> Result<IntakeOutcome> {
        let lock = self.clients.lock(rows.id()).await;
        self.ingest_locked(rows, intake, &lock).await
    }

    /// [`App::ingest`] for a caller that holds the client's lock.
    pub(in crate::app) async fn ingest_locked(
        &self,
        rows: &ClientStore,
        mut intake: Intake,
        _: &ClientLock,
    ) -> Result<IntakeOutcome> {
        let now = self.clock.now();
        let (source, scopes) = (intake.import.source.clone(), intake.scopes.clone());
        let (discovery, listed) = (intake.discovery, intake.listed_scope());
        let new = move |snapshot: &ClientSnapshot| {
            baseline(snapshot, &source, scopes, discovery, listed.as_deref())
        };
        let baseline = rows.read(new).await?;
        let baseline = Arc::new(baseline);
        self.merge_most_assets(rows, &mut intake, &baseline, now).await?;
        let intake = Arc::new(intake);
        for _ in 0..N_PLANS_MAX {
            let (plan, lists) = self.plan(rows, &intake, &baseline, now).await?;
            let (intake, baseline) = (Arc::clone(&intake), Arc::clone(&baseline));
            let plans = Arc::new((plan, lists));
            let write =
                move |batch: &mut ClientBatch<'_>| apply(batch, &plans, &intake, &baseline, now);
            match rows.write(write).await {
                Err(error) if error.code == Code::Conflict => (),
                other => return other,
            }
        }
        Err(Error::unavailable("the client's facts kept changing; try again"))
    }

    async fn plan(
        &self,
        rows: &ClientStore,
        intake: &Arc<Intake>,
        baseline: &HashSet<String>,
        now: Time,
    ) -> Result<(AssessmentPlan, ListsPlan)> {
        let subject = self.subject(rows.id())?;
        let rules = self.roster_rules(rows.id())?;
        let scopes = &intake.scopes;
        let is_first = !scopes.is_empty() && scopes.iter().all(|it| baseline.contains(it));
        let intake = Arc::clone(intake);
        rows.read(move |snapshot| {
            let source = intake.import.source.as_str();
            let origin = (source, intake.import.id);
            let observations = snapshot.list_observations()?;
            let cause = Cause::Source {
                source: source.to_owned(),
                run: intake.import.id,
                baseline: is_first || brings_new_part(snapshot, &intake, &observations)?,
                quiet: intake.run == Run::Quiet,
            };
            let (known, catalog) = (&observations, &subject.catalog);
            let mut lists = match &intake.lists {
                Some(lists) => {
                    roster::plan(snapshot, origin, lists, &rules, catalog, (known, now))?
                }
                None => ListsPlan::default(),
            };
            require_observations(known, &intake.observations)?;
            for (part, moved) in &lists.moved {
                require_members(snapshot, *part, moved)?;
            }
            let held = lists.judge_observations(
                snapshot,
                &intake.import,
                (&intake.observations, &observations),
                intake.confirm_shrink,
            )?;
            let gone = gone(&observations, &intake, &held);
            let derived = lists.observations.iter().chain(&gone);
            let observations = observations_with(snapshot, observations, &intake, derived)?;
            let mut statements = Statements::read(snapshot)?;
            lists.evidence = evidence::entries(&statements.evidence, &intake.evidence, now)?;
            for it in &lists.evidence {
                statements = statements.with(&Statement::PutEvidence(it.clone()));
            }
            let run = RunChanges { gone, conditions: lists.conditions.take() };
            let plan =
                assess::plan(snapshot, &subject, &observations, &statements, run, &cause, now)?;
            Ok((plan, lists))
        })
        .await
    }

    /// Merges the new and changed assets, except those of the last commit.
    async fn merge_most_assets(
        &self,
        rows: &ClientStore,
        intake: &mut Intake,
        baseline: &Arc<HashSet<String>>,
        now: Time,
    ) -> Result<()> {
        while N_ASSETS_PER_COMMIT < intake.assets.len() {
            let rest = intake.assets.len() - N_ASSETS_PER_COMMIT;
            let some = intake.assets.split_off(rest);
            let (source, seen_at) = (intake.import.source.clone(), intake.seen_at);
            let baseline = Arc::clone(baseline);
            let import = intake.import.id;
            let write = move |batch: &mut ClientBatch<'_>| {
                batch.note_object(&import);
                let sight = Sighting { source: &source, seen_at, now };
                merge_all(batch, &sight, &some, &baseline)
            };
            let (n_new, n_updated) = rows.write(write).await?;
            intake.import.n_assets_new += n_new;
            intake.import.n_assets_updated += n_updated;
        }
        Ok(())
    }
}

/// Returns the client's observations, including what the intake adds and derives, without what it retracts.
fn observations_with<'a>(
    rows: &ClientSnapshot,
    mut observations: Vec<Observation>,
    intake: &'a Intake,
    derived: impl Iterator<Item = &'a Observation>,
) -> Result<Vec<Observation>> {
    if !intake.retracted.is_empty() {
        // The observations that the retracted ones replaced count again.
        for key in &intake.retracted {
            observations.extend(rows.list_observations_like(key)?);
        }
        observations.retain(|it| it.import != intake.import.id);
    }
    observations.extend(intake.observations.iter().chain(derived).cloned());
    Ok(observations)
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

/// Returns true if a complete run reports checks or accounts of its scope for the first time although the source
/// reported the scope before. Then nothing changed: it is only seen now.
fn brings_new_part(rows: &ClientSnapshot, intake: &Intake, known: &[Observation]) -> Result<bool> {
    let Some(lists) = intake.lists.as_ref().filter(|it| it.complete) else { return Ok(false) };
    let (source, scope) = (intake.import.source.as_str(), lists.scope.as_str());
    let is_ours = |it: &Observation| it.source == source && it.scope == scope && !is_derived(it);
    if intake.observations.iter().any(is_ours) && !known.iter().any(is_ours) {
        return Ok(true);
    }
    let accounts = Roster { source, scope, part: ListKind::Identities };
    Ok(lists.identities.is_some() && rows.find_reads(accounts)?.is_none())
}

/// Merges assets. Returns how many were new and how many changed.
fn merge_all(
    batch: &mut ClientBatch<'_>,
    sight: &Sighting<'_>,
    assets: &[Seen],
    baseline: &HashSet<String>,
) -> Result<(u32, u32)> {
    let (mut n_new, mut n_updated) = (0, 0);
    let mut met = Vec::with_capacity(assets.len());
    for seen in assets {
        let (id, outcome) = merge(batch, sight, seen, &met)?;
        met.push(id);
        match outcome {
            Merged::Added(asset) => {
                if !baseline.contains(&seen.scope) {
                    event::asset::discovered(&asset, sight.now).add(batch)?;
                }
                n_new += 1;
            }
            Merged::Updated => n_updated += 1,
            Merged::Unchanged => (),
        }
    }
    Ok((n_new, n_updated))
}

fn apply(
    batch: &mut ClientBatch<'_>,
    (plan, lists): &(AssessmentPlan, ListsPlan),
    intake: &Intake,
    baseline: &HashSet<String>,
    now: Time,
) -> Result<IntakeOutcome> {
    plan.require_unchanged(batch)?;
    let mut import = intake.import.clone();
    let sight = Sighting { source: &import.source, seen_at: intake.seen_at, now };
    let assets = merge_all(batch, &sight, &intake.assets, baseline)?;
    import.n_assets_new += assets.0;
    import.n_assets_updated += assets.1;
    for key in &intake.retracted {
        batch.remove_observation(key)?;
    }
    let observations = || intake.observations.iter().chain(&lists.observations).chain(&plan.gone);
    for observation in observations() {
        batch.add_observation(observation)?;
    }
    for it in &lists.evidence {
        batch.put_evidence(it)?;
    }
    let has_news = observations().next().is_some() || !lists.evidence.is_empty();
    if has_news || !intake.retracted.is_empty() {
        batch.bump_facts_version()?;
    }
    let is_run = import.retracted_at.is_none();
    if is_run {
        let n_facts = intake.observations.len() + lists.observations.len();
        import.n_facts = u32::try_from(n_facts).unwrap_or(u32::MAX);
        put_sources(batch, &import, &intake.scopes, now)?;
    }
    batch.note_object(&import.id);
    batch.put_import(&import)?;
    let mut announced = assess::apply(batch, plan)?;
    let at = intake.lists.as_ref().map_or(now, |it| it.at);
    let n_retired = roster::apply(batch, &import.source, lists, at)?;
    if is_run {
        announced.n_events += announce_run(batch, &import, &intake.run, now)?;
    }
    let outcome = IntakeOutcome { import, announced, moved: lists.moved.clone(), n_retired };
    if let Some(Idempotent { key, digest, render }) = &intake.idempotent {
        let answer = Answer { digest: *digest, at: now, body: render(&outcome) };
        batch.put_answer(key, &answer)?;
    }
    Ok(outcome)
}

/// Records how the run went. Returns how many events announced it.
fn announce_run(batch: &mut ClientBatch<'_>, import: &Import, run: &Run, now: Time) -> Result<u32> {
    match run {
        Run::Quiet => return Ok(0),
        Run::Completed | Run::Degraded { .. } => {
            event::source::sync_completed(import).add(batch)?;
        }
        Run::Failed { message } => {
            let scope = import.scopes.first().map_or("", String::as_str);
            let message = message.as_deref();
            event::source::sync_failed(&import.source, scope, message, now).add(batch)?;
        }
    }
    Ok(1 + u32::from(source::note_run(batch, &import.source, run, now)?))
}

/// Records that the source reported its scopes.
fn put_sources(
    batch: &mut ClientBatch<'_>,
    import: &Import,
    scopes: &[String],
    now: Time,
) -> Result<()> {
    for scope in scopes {
        let before = batch.find_source(&import.source, scope)?;
        batch.put_source(&SourceScope {
            source: import.source.clone(),
            scope: scope.clone(),
            first_seen_at: before.as_ref().map_or(now, |it| it.first_seen_at),
            last_seen_at: now,
            last_complete_at: if import.complete {
                Some(now)
            } else {
                before.and_then(|it| it.last_complete_at)
            },
        })?;
    }
    Ok(())
}

/// Returns observations that mark those as gone that are missing from a complete read, with the time of that read. What
/// was seen later stays.
///
/// `held`: scopes whose read is not accepted.
fn gone(known: &[Observation], intake: &Intake, held: &HashSet<String>) -> Vec<Observation> {
    if !intake.import.complete {
        return Vec::new();
    }
    let mut read_at: HashMap<&str, Time> = HashMap::new();
    let mut has = HashSet::new();
    for it in intake.observations.iter().filter(|it| !held.contains(&it.scope)) {
        let newest = read_at.entry(&it.scope).or_insert(it.observed_at);
        *newest = (*newest).max(it.observed_at);
        has.insert((&it.subject, it.scope.as_str(), it.check.as_str()));
    }
    let mut gone = Vec::new();
    let is_ours = |it: &&Observation| it.source == intake.import.source && !is_derived(it);
    for it in known.iter().filter(is_ours) {
        let Some(at) = read_at.get(it.scope.as_str()).copied() else { continue };
        let key = (&it.subject, it.scope.as_str(), it.check.as_str());
        let counts = it.verdict != Verdict::Gone && it.observed_at < at;
        if counts && has.insert(key) {
            gone.push(it.gone(at, intake.import.id));
        }
    }
    gone
}
