//! The commit that decides a run.

use super::announce::{announce_discovered, announce_run};
use super::run::{Course, IntakeOutcome, IntakePlan};
use super::stage;
use super::step::StepCounts;
use crate::app::assessment::{assess, log};
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
    let mut counts = StepCounts::default();
    match plan.course {
        Course::AtOnce => {
            batch.replace_observations(&plan.uncovered)?;
            batch.undo_observations(&intake.retracted)?;
            batch.remove_complete_reads(&intake.retracted_reads)?;
            plan.observations().try_for_each(|it| batch.add_observation(it))?;
            plan.reads.iter().try_for_each(|it| batch.add_complete_read(it))?;
            counts = plan.context.take_all(batch, &plan.steps, now)?;
            import.n_assets_new = counts.n_new;
            import.n_assets_updated = counts.n_updated;
            announce_discovered(batch, id, &counts, now)?;
        }
        Course::Staged => stage::decide(batch, id, &plan.context, &intake.run)?,
        Course::Undone => stage::undo(batch, id, &plan.context)?,
    }
    batch.remove_observations(&plan.corrected.removed)?;
    batch.remove_complete_reads(&plan.corrected.unread)?;
    batch.replace_observations(&plan.corrected.replaced)?;
    for it in &plan.evidence {
        batch.put_evidence_of(&import.source, it)?;
    }
    if plan.changes_facts() {
        batch.bump_facts_version()?;
    }
    batch.note_object(&id);
    batch.put_import(&import)?;
    if let Some(entry) = &intake.undone {
        log::undo_import(batch, now, entry.clone(), &import)?;
    }
    let age = if intake.is_undoing() { batch.find_import_age(id)? } else { Some(plan.age) };
    let mut announced = assess::apply(batch, &plan.assessment)?;
    if plan.course == Course::AtOnce && !intake.is_undoing() {
        announced.n_events += announce_run(batch, &import, &intake.run, now)?;
    }
    if !intake.is_undoing() {
        batch.put_import_change(id, &announced)?;
        batch.put_import_age(id, &plan.age)?;
    }
    let n_retired = counts.n_retired;
    let (moved, n_adjusted) = (plan.moved.clone(), intake.n_adjusted);
    let n_carried = plan.n_carried();
    let outcome = IntakeOutcome { import, age, announced, moved, n_retired, n_adjusted, n_carried };
    if let Some(it) = &intake.idempotent {
        batch.put_answer(&it.key, &it.answer(&outcome, now))?;
    }
    Ok(outcome)
}
