//! The commit that decides a run.

use super::announce::{announce_discovered, announce_run};
use super::run::{IntakeOutcome, IntakePlan};
use super::stage;
use super::step::StepCounts;
use crate::app::assessment::assess;
use crate::clock::Time;
use crate::error::Result;
use crate::store::ClientBatch;

/// Writes everything that anybody can see of a run.
///
/// # Errors
/// `Conflict` if the client's facts changed since the plan was made.
pub(super) fn decide(
    batch: &mut ClientBatch<'_>,
    plan: &IntakePlan,
    now: Time,
) -> Result<IntakeOutcome> {
    plan.assessment.require_unchanged(batch)?;
    let (intake, mut import, id) = (&plan.intake, plan.import.clone(), plan.import.id);
    let is_small = plan.is_small();
    let mut counts = StepCounts::default();
    if is_small {
        for key in &intake.retracted {
            batch.remove_observation(key)?;
        }
        for observation in &*plan.observations {
            batch.add_observation(observation)?;
        }
        counts = plan.context.take_all(batch, &plan.steps, now)?;
        import.n_assets_new = counts.n_new;
        import.n_assets_updated = counts.n_updated;
        announce_discovered(batch, id, &counts, now)?;
    } else if plan.is_undoing() {
        stage::undo(batch, id, &plan.context)?;
    } else {
        stage::decide(batch, id, &plan.context, &intake.run)?;
    }
    for it in &plan.evidence {
        batch.put_evidence_of(&import.source, it)?;
    }
    let has_news = !plan.observations.is_empty() || !plan.evidence.is_empty();
    if has_news || !intake.retracted.is_empty() {
        batch.bump_facts_version()?;
    }
    batch.note_object(&id);
    batch.put_import(&import)?;
    let mut announced = assess::apply(batch, &plan.assessment)?;
    if is_small && !plan.is_undoing() {
        announced.n_events += announce_run(batch, &import, &intake.run, now)?;
    }
    let n_retired = counts.n_retired;
    let outcome = IntakeOutcome { import, announced, moved: plan.moved.clone(), n_retired };
    if let Some(it) = &intake.idempotent {
        batch.put_answer(&it.key, &it.answer(&outcome, now))?;
    }
    Ok(outcome)
}
