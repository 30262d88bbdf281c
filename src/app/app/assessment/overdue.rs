//! Tasks that become overdue.

use crate::app::event;
use crate::clock::Time;
use crate::error::Result;
use crate::id::TaskId;
use crate::store::ClientBatch;
use crate::store::global::task::Task;

/// Announces each open task whose due date has passed, once for each due date. Returns all open tasks as they are then.
pub(in crate::app) fn announce(batch: &mut ClientBatch<'_>, now: Time) -> Result<Vec<Task>> {
    let mut tasks = batch.list_open_tasks()?;
    for task in &mut tasks {
        announce_task(batch, task, now)?;
    }
    Ok(tasks)
}

/// [`announce`] for one task. Returns when it will be overdue, if it is not yet.
pub(super) fn announce_one(
    batch: &mut ClientBatch<'_>,
    id: TaskId,
    now: Time,
) -> Result<Option<Time>> {
    let Some(mut task) = batch.find_own_task(id)?.filter(|it| it.status.is_open()) else {
        return Ok(None);
    };
    announce_task(batch, &mut task, now)?;
    Ok(task.due_at.filter(|it| now < *it))
}

fn announce_task(batch: &mut ClientBatch<'_>, task: &mut Task, now: Time) -> Result<()> {
    if !task.is_overdue(now) || task.missed == task.due_at {
        return Ok(());
    }
    task.missed = task.due_at;
    task.n_missed += 1;
    batch.put_task(task)?;
    event::task::overdue(task, now).add(batch).map(|_| ())
}
