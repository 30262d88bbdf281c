//! Conditions besides those of a client's posture: overdue tasks and alerts.

use super::{alert, overdue};
use crate::clock::Time;
use crate::error::Result;
use crate::id::TaskId;
use crate::store::ClientBatch;

/// Announces tasks that are overdue now and alerts whose condition became true, and closes those that no longer hold.
/// Returns the next moment at which time alone could change the result.
///
/// Belongs at the end of every commit that changes what alert rules look at.
pub(in crate::app) fn reevaluate(batch: &mut ClientBatch<'_>, now: Time) -> Result<Option<Time>> {
    let tasks = overdue::announce(batch, now)?;
    let next_due = tasks.iter().filter_map(|it| it.due_at).filter(|it| now < *it).min();
    let next_alert = alert::evaluate(batch, now)?;
    Ok(next_due.into_iter().chain(next_alert).min())
}

/// [`reevaluate`] in a commit that does not itself set when the client is due.
pub(in crate::app) fn reevaluate_and_schedule(
    batch: &mut ClientBatch<'_>,
    now: Time,
) -> Result<()> {
    reevaluate(batch, now)?.map_or(Ok(()), |at| batch.hasten_due(at))
}

/// [`reevaluate`] in a commit that changes one open task and nothing else.
pub(in crate::app) fn reevaluate_task(
    batch: &mut ClientBatch<'_>,
    task: TaskId,
    now: Time,
) -> Result<()> {
    let due_at = overdue::announce_one(batch, task, now)?;
    let next_alert = alert::evaluate(batch, now)?;
    due_at.into_iter().chain(next_alert).try_for_each(|at| batch.hasten_due(at))
}
