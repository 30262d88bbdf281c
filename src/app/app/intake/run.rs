//! One run of a source: what it brings, what it will write, and what it changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::step::{N_ASSETS_PER_COMMIT, N_ROWS_PER_COMMIT, Step, StepContext, n_rows};
use crate::app::assessment::assess::AssessmentPlan;
use crate::app::assessment::evidence::NewEvidence;
use crate::app::assessment::log::Entry;
use crate::app::intake::list::{Lists, Moved, Shrinking};
use crate::app::intake::roster::{Corrections, ListsPlan};
use crate::app::intake::source::Run;
use crate::clock::Time;
use crate::engine::asset::Seen;
use crate::engine::catalog::Catalog;
use crate::engine::control::valid_until;
use crate::engine::fact::{CompleteRead, Observation};
use crate::engine::memory::Extent;
use crate::engine::vulnerability::SystemScan;
use crate::error::Result;
use crate::id::ImportId;
use crate::import::fold::Folded;
use crate::import::fold::outcome::SubjectOutcomes;
use crate::store::ClientSnapshot;
use crate::store::global::answer::{Answer, AnswerKey};
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::import::{Import, ImportAge, PostureChange, SourceScope};
use crate::store::per_client::roster::ListKind;

/// How many scopes the record and the event of a run name. Both also have the total.
pub const N_SCOPES_KEPT: usize = 100;

/// What one run of a source adds, or what undoing an import retracts.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The run, as it will be stored. The counts of assets and facts are filled in later.
    pub import: Import,
    /// How current it is. How many of its facts are too old is filled in later.
    pub age: ImportAge,
    /// How many of its observations end earlier than it says.
    pub n_adjusted: u32,
    /// All scopes of the run. The record keeps the first [`N_SCOPES_KEPT`].
    pub scopes: Vec<String>,
    pub observations: Vec<Observation>,
    /// What the checks of a file came to for each subject.
    pub outcomes: SubjectOutcomes,
    /// Of which subjects the observations of a complete run speak that is not believed. `None`: each says it itself.
    pub extent_if_held: Option<Extent>,
    pub retracted: Vec<ObservationKey>,
    pub retracted_reads: Vec<CompleteRead>,
    /// Who undoes it, and why. `None`: it is a run.
    pub undone: Option<Entry>,
    pub evidence: Vec<NewEvidence>,
    pub assets: Vec<Seen>,
    /// What vulnerability scanners found.
    pub scans: Vec<SystemScan>,
    /// When assets without their own time were seen.
    pub seen_at: Time,
    /// Which new assets are announced.
    pub discovery: Discovery,
    pub run: Run,
    /// Whether a complete run is believed that shrank.
    pub shrinking: Shrinking,
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
        let Folded { scopes, observations, outcomes, assets, scans, file_observed_at, .. } = folded;
        let age = ImportAge { file_observed_at, ..ImportAge::default() };
        Self { age, scopes, observations, outcomes, assets, scans, ..Self::empty(import, at) }
    }

    /// Makes the intake that retracts the observations and complete reads of an earlier run.
    pub(super) fn undoing(
        import: Import,
        retracted: Vec<ObservationKey>,
        retracted_reads: Vec<CompleteRead>,
        undone: Entry,
        at: Time,
    ) -> Self {
        let import = Import { retracted_at: Some(at), complete: false, ..import };
        Self { retracted, retracted_reads, undone: Some(undone), ..Self::empty(import, at) }
    }

    fn empty(import: Import, seen_at: Time) -> Self {
        Self {
            import,
            age: ImportAge::default(),
            n_adjusted: 0,
            scopes: Vec::new(),
            observations: Vec::new(),
            outcomes: SubjectOutcomes::default(),
            extent_if_held: None,
            retracted: Vec::new(),
            retracted_reads: Vec::new(),
            undone: None,
            evidence: Vec::new(),
            assets: Vec::new(),
            scans: Vec::new(),
            seen_at,
            discovery: Discovery::OfKnownScopes,
            run: Run::Completed,
            shrinking: Shrinking::Doubted,
            lists: None,
            idempotent: None,
        }
    }

    /// Says of which subjects each observation speaks.
    #[must_use]
    pub fn speaking_of(mut self, extent: Extent) -> Self {
        for it in &mut self.observations {
            it.memory.extent = extent;
        }
        self
    }

    /// Returns true if it retracts an earlier run.
    pub(super) fn is_undoing(&self) -> bool {
        self.import.retracted_at.is_some()
    }

    /// Returns the scope in which the run lists all assets of its source. `None`: it does not.
    pub(super) fn listed_scope(&self) -> Option<String> {
        let complete = self.lists.as_ref().filter(|it| it.complete && it.assets.is_some());
        complete.map(|it| it.scope.clone())
    }
}

/// The observations of a run that remember earlier ones, by their place in the run.
#[derive(Default)]
pub(super) struct Remembering(HashMap<usize, Observation>);

impl Remembering {
    pub(super) const fn of(by_place: HashMap<usize, Observation>) -> Self {
        Self(by_place)
    }

    /// The observations of the run.
    pub(super) fn all<'a>(&'a self, intake: &'a Intake) -> impl Iterator<Item = &'a Observation> {
        let observations = intake.observations.iter().enumerate();
        observations.map(|(at, it)| self.0.get(&at).unwrap_or(it))
    }
}

/// Everything that a run writes.
pub(super) struct IntakePlan {
    pub intake: Arc<Intake>,
    remembering: Remembering,
    /// The run, as it will be stored.
    pub import: Import,
    pub age: ImportAge,
    pub assessment: AssessmentPlan,
    pub evidence: Vec<Evidence>,
    /// What follows from lists and complete reads, beside what the intake observed.
    derived: Vec<Observation>,
    /// Of earlier runs, what follows from lists of accounts now that one more or one less is known.
    pub corrected: Corrections,
    /// What counts again of what was observed long ago.
    pub uncovered: Vec<Observation>,
    /// The complete reads that are accepted.
    pub reads: Vec<CompleteRead>,
    pub context: StepContext,
    pub steps: Vec<Step>,
    pub course: Course,
    pub moved: BTreeMap<ListKind, Moved>,
}

/// How a plan is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// In one commit.
    AtOnce,
    /// Stored before the commit that decides, and finished after it.
    Staged,
    /// Its steps are stored before the commit that decides. They are done, and what no longer counts is removed, after
    /// it.
    Undone,
}

impl Course {
    fn of(intake: &Intake, n_added: usize, steps: &[Step]) -> Self {
        let n_retracted = intake.retracted.len() + intake.retracted_reads.len();
        let n_rows = n_added + n_retracted + n_rows(steps);
        if n_rows <= N_ROWS_PER_COMMIT && intake.assets.len() <= N_ASSETS_PER_COMMIT {
            Self::AtOnce
        } else if intake.is_undoing() {
            Self::Undone
        } else {
            Self::Staged
        }
    }
}

impl IntakePlan {
    pub(super) fn of(
        rows: &ClientSnapshot,
        (intake, remembering): (Arc<Intake>, Remembering),
        (assessment, catalog): (AssessmentPlan, &Catalog),
        mut lists: ListsPlan,
        present: Vec<Observation>,
        baseline: &HashSet<String>,
        now: Time,
    ) -> Result<Self> {
        let mut import = intake.import.clone();
        let age = age(catalog, &intake, &lists, now);
        let listed = intake.lists.as_ref();
        let context = StepContext {
            source: import.source.clone(),
            scope: lists.scope.clone(),
            listed_at: listed.map_or(now, |it| it.at),
            seen_at: intake.seen_at,
        };
        let mut steps: Vec<Step> = Vec::new();
        steps.extend(intake.assets.iter().map(|seen| Step::Asset {
            seen: seen.clone(),
            is_announced: !baseline.contains(&seen.scope),
        }));
        let mut derived = std::mem::take(&mut lists.observations);
        let (evidence, moved) =
            (std::mem::take(&mut lists.evidence), std::mem::take(&mut lists.moved));
        if intake.is_undoing() {
            steps.extend(source_steps_of_undoing(rows, &intake)?);
        } else {
            let n_facts = intake.observations.len() + derived.len() + lists.n_scanned();
            import.n_facts = u32::try_from(n_facts).unwrap_or(u32::MAX);
            for scope in &intake.scopes {
                steps.push(Step::Source(source_of(rows, &import, scope, now)?));
            }
        }
        derived.extend(present);
        let corrected = std::mem::take(&mut lists.corrected);
        let reads = std::mem::take(&mut lists.complete_reads);
        steps.extend(lists.into_steps());
        let removed: Vec<ObservationKey> =
            intake.retracted.iter().chain(&corrected.removed).cloned().collect();
        let uncovered = rows.list_uncovered(&removed)?;
        let n_added = intake.observations.len() + derived.len() + reads.len() + uncovered.len();
        let course = Course::of(&intake, n_added, &steps);
        Ok(Self {
            intake,
            remembering,
            import,
            age,
            assessment,
            evidence,
            derived,
            corrected,
            uncovered,
            reads,
            context,
            steps,
            course,
            moved,
        })
    }

    /// Returns true if it changes what an assessment reads.
    pub(super) fn changes_facts(&self) -> bool {
        let Intake { retracted, retracted_reads, .. } = &*self.intake;
        let n_retracted = retracted.len() + retracted_reads.len();
        let n_added = self.n_observations() + self.reads.len() + self.evidence.len();
        n_retracted + n_added != 0 || !self.corrected.is_empty()
    }

    /// Everything that is added to the log of observations.
    pub(super) fn observations(&self) -> impl Iterator<Item = &Observation> {
        self.remembering.all(&self.intake).chain(&self.derived)
    }

    /// How many subjects still fail that the run did not look at.
    pub(super) fn n_carried(&self) -> u64 {
        let all = self.remembering.all(&self.intake);
        all.map(|it| u64::from(it.memory.n_carried())).sum()
    }

    pub(super) fn n_observations(&self) -> usize {
        self.intake.observations.len() + self.derived.len()
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

impl Idempotent {
    /// The answer to store.
    pub(super) fn answer(&self, outcome: &IntakeOutcome, now: Time) -> Answer {
        Answer { digest: self.digest, at: now, body: (self.render)(outcome) }
    }
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
    /// `None`: an undone import of a release that did not keep it.
    pub age: Option<ImportAge>,
    pub announced: PostureChange,
    /// How each list changed.
    pub moved: BTreeMap<ListKind, Moved>,
    pub n_retired: u32,
    /// How many observations end earlier than the run says.
    pub n_adjusted: u32,
    /// How many subjects still fail that failed before and that the run did not look at.
    pub n_carried: u64,
}

/// Returns how current a run is, with how many of its facts are too old to count.
fn age(catalog: &Catalog, intake: &Intake, lists: &ListsPlan, now: Time) -> ImportAge {
    let observed = intake.observations.iter().chain(&lists.observations);
    let outdated = observed.filter(|it| valid_until(catalog, it) <= now);
    let n_outdated = outdated.count() + lists.n_outdated(now);
    ImportAge { n_outdated: u32::try_from(n_outdated).unwrap_or(u32::MAX), ..intake.age }
}

/// Returns what makes the records of the scopes of an import that is undone as if it had never been.
fn source_steps_of_undoing(rows: &ClientSnapshot, intake: &Intake) -> Result<Vec<Step>> {
    let undone = &intake.import;
    let others = rows.list_imports()?; // Newest first.
    let is_of = |it: &&Import| {
        it.source == undone.source && it.id != undone.id && it.retracted_at.is_none()
    };
    let others: Vec<&Import> = others.iter().filter(is_of).collect();
    let mut scopes: BTreeSet<&String> = undone.scopes.iter().collect();
    scopes.extend(intake.retracted.iter().map(|it| &it.scope));
    let mut steps = Vec::new();
    for scope in scopes {
        let Some(stored) = rows.find_source(&undone.source, scope)? else { continue };
        let mut of_scope = others.iter().filter(|it| it.scopes.contains(scope));
        let last = of_scope.clone().next();
        if last.is_none() && undone.at <= stored.first_seen_at {
            steps.push(Step::ForgetSource(scope.clone()));
            continue;
        }
        let before = stored.last_complete_at.filter(|it| *it < undone.at);
        let completed = of_scope.find(|it| it.complete).map(|it| it.at).or(before);
        steps.push(Step::Source(SourceScope {
            last_seen_at: last.map_or(stored.first_seen_at, |it| it.at),
            last_complete_at: completed,
            ..stored
        }));
    }
    Ok(steps)
}

/// Returns the record that a source reported a scope.
fn source_of(
    rows: &ClientSnapshot,
    import: &Import,
    scope: &str,
    now: Time,
) -> Result<SourceScope> {
    let before = rows.find_source(&import.source, scope)?;
    let first_seen_at = before.as_ref().map_or(now, |it| it.first_seen_at);
    let completed_before = before.and_then(|it| it.last_complete_at);
    Ok(SourceScope {
        source: import.source.clone(),
        scope: scope.to_owned(),
        first_seen_at,
        last_seen_at: now,
        last_complete_at: if import.complete { Some(now) } else { completed_before },
    })
}
