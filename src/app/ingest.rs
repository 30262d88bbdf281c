//! The one flow: facts -> assessment -> difference -> events, in one commit.
//!
//! The assessment is planned on a snapshot, off the writer, and applied if the client's facts are still those it was
//! planned on; else it is planned again.

use std::sync::Arc;

use super::App;
use super::announce::{self, Announced};
use super::assessment::{self, Cause, Plan};
use super::asset::{Met, meet};
use crate::clock::Time;
use crate::engine::asset::Seen;
use crate::engine::fact::{Observation, Verdict};
use crate::error::{Code, Error, Result};
use crate::store::fact::ObservationKey;
use crate::store::import::{Import, Source};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// Assets merged in one commit; more take more commits, so that writers beside them wait little. The last of them
/// comes with the facts.
const N_ASSETS_PER_COMMIT: usize = 500;
/// A plan that finds the facts changed is made again at most this often.
const N_PLANS_MAX: usize = 5;

/// What one run of a source brought, or took back.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The run, as it will be kept; the counts of assets and facts are filled in.
    pub import: Import,
    pub observations: Vec<Observation>,
    pub retracted: Vec<ObservationKey>,
    pub assets: Vec<Seen>,
    /// When assets without a time of their own were seen.
    pub seen_at: Time,
}

/// What an ingest changed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub import: Import,
    pub announced: Announced,
}

impl App {
    /// Takes in one run of a source: facts, results, score, risks and events in one commit.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it, or the client's facts never stood still; nothing of the run
    /// counts then, but assets of a large run that were met before stay.
    pub async fn ingest(&self, rows: &ClientStore, intake: Intake) -> Result<Outcome> {
        let lock = self.assessing(rows.id());
        let _assessing = lock.lock().await;
        let now = self.clock.now();
        let baseline = {
            let (source, scopes) = (intake.import.source.clone(), intake.import.scopes.clone());
            rows.read(move |snapshot| new_scopes(snapshot, &source, &scopes)).await?
        };
        let mut intake = intake;
        self.merge_most_assets(rows, &mut intake, &baseline).await?;
        let intake = Arc::new(intake);
        for _ in 0..N_PLANS_MAX {
            let plan = Arc::new(self.plan(rows, Arc::clone(&intake), &baseline, now).await?);
            let (intake, scopes) = (Arc::clone(&intake), baseline.clone());
            let applied = rows.write(move |batch| apply(batch, &plan, &intake, &scopes, now)).await;
            match applied {
                Err(error) if error.code == Code::Conflict => (),
                other => return other,
            }
        }
        Err(Error::unavailable("the client's facts kept changing; try again"))
    }

    async fn plan(
        &self,
        rows: &ClientStore,
        intake: Arc<Intake>,
        baseline: &[String],
        now: Time,
    ) -> Result<Plan> {
        let subject = self.subject(rows.id())?;
        let is_baseline = !intake.import.scopes.is_empty()
            && intake.import.scopes.iter().all(|it| baseline.contains(it));
        let cause = Cause::Source { source: intake.import.source.clone(), baseline: is_baseline };
        rows.read(move |snapshot| {
            let (observations, gone) = assessment::observations_with(snapshot, &intake, now)?;
            assessment::plan(snapshot, &subject, &observations, gone, &cause, now)
        })
        .await
    }

    /// All but the last commit's worth of assets that are new or changed.
    async fn merge_most_assets(
        &self,
        rows: &ClientStore,
        intake: &mut Intake,
        baseline: &[String],
    ) -> Result<()> {
        while N_ASSETS_PER_COMMIT < intake.assets.len() {
            let rest = intake.assets.len() - N_ASSETS_PER_COMMIT;
            let some = intake.assets.split_off(rest);
            let (source, at) = (intake.import.source.clone(), intake.seen_at);
            let baseline = baseline.to_vec();
            let write =
                move |batch: &mut ClientBatch<'_>| meet_all(batch, &source, &some, at, &baseline);
            let (n_new, n_updated) = rows.write(write).await?;
            intake.import.n_assets_new += n_new;
            intake.import.n_assets_updated += n_updated;
        }
        Ok(())
    }
}

/// Which of the scopes this source never spoke of before.
fn new_scopes(rows: &ClientSnapshot, source: &str, scopes: &[String]) -> Result<Vec<String>> {
    let mut new = Vec::new();
    for scope in scopes {
        if rows.find_source(source, scope)?.is_none() {
            new.push(scope.clone());
        }
    }
    Ok(new)
}

/// Merges assets; how many were new and how many changed.
fn meet_all(
    batch: &mut ClientBatch<'_>,
    source: &str,
    assets: &[Seen],
    at: Time,
    baseline: &[String],
) -> Result<(u32, u32)> {
    let (mut n_new, mut n_updated) = (0, 0);
    for seen in assets {
        match meet(batch, source, seen, at, !baseline.contains(&seen.scope))? {
            Met::Added => n_new += 1,
            Met::Updated => n_updated += 1,
            Met::Unchanged => (),
        }
    }
    Ok((n_new, n_updated))
}

fn apply(
    batch: &mut ClientBatch<'_>,
    plan: &Plan,
    intake: &Intake,
    baseline: &[String],
    now: Time,
) -> Result<Outcome> {
    plan.require_unchanged(batch)?;
    let mut import = intake.import.clone();
    let assets = meet_all(batch, &import.source, &intake.assets, intake.seen_at, baseline)?;
    import.n_assets_new += assets.0;
    import.n_assets_updated += assets.1;
    for key in &intake.retracted {
        batch.remove_observation(key)?;
    }
    for observation in intake.observations.iter().chain(&plan.gone) {
        batch.add_observation(observation)?;
    }
    if !(intake.observations.is_empty() && intake.retracted.is_empty() && plan.gone.is_empty()) {
        batch.bump_facts_version()?;
    }
    let is_run = import.retracted_at.is_none();
    if is_run {
        import.n_facts = u32::try_from(intake.observations.len()).unwrap_or(u32::MAX);
        put_sources(batch, &import, now)?;
    }
    batch.put_import(&import)?;
    let announced = assessment::apply(batch, plan)?;
    if is_run {
        announce::sync_completed(batch, &import)?;
    }
    Ok(Outcome { import, announced })
}

/// Notes that the source spoke of its scopes.
fn put_sources(batch: &mut ClientBatch<'_>, import: &Import, now: Time) -> Result<()> {
    for scope in &import.scopes {
        let before = batch.find_source(&import.source, scope)?;
        batch.put_source(&Source {
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

/// Observations that a complete read no longer has: each becomes one that says so.
pub fn gone(known: &[Observation], intake: &Intake, at: Time) -> Vec<Observation> {
    if !intake.import.complete {
        return Vec::new();
    }
    let spoken = |it: &Observation| {
        it.source == intake.import.source && intake.import.scopes.contains(&it.scope)
    };
    let has = |it: &Observation| {
        intake.observations.iter().any(|new| {
            (&new.subject, &new.scope, &new.check) == (&it.subject, &it.scope, &it.check)
        })
    };
    let lost = known
        .iter()
        .filter(|it| spoken(it) && it.verdict != Verdict::Gone && it.observed_at < at && !has(it));
    let tombstone = |it: &Observation| Observation {
        observed_at: at,
        valid_until: None,
        import: intake.import.id,
        verdict: Verdict::Gone,
        accepted: 0,
        findings: None,
        failing: Vec::new(),
        ..it.clone()
    };
    let mut gone: Vec<_> = lost.map(tombstone).collect();
    gone.dedup_by(|a, b| (&a.subject, &a.scope, &a.check) == (&b.subject, &b.scope, &b.check));
    gone
}
