//! Tasks that become overdue.

use crate::app::event;
use crate::clock::Time;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::global::task::Task;

/// Announces each open task whose due date has passed, once for each due date. Returns all open tasks as they are then.
pub(in crate::app) fn announce(batch: &mut ClientBatch<'_>, now: Time) -> Result<Vec<Task>> {
    let mut tasks = batch.list_open_tasks()?;
    for task in tasks.iter_mut().filter(|it| it.is_overdue(now) && it.missed != it.due_at) {
        task.missed = task.due_at;
        task.n_missed += 1;
        batch.put_task(task)?;
        event::task::overdue(task, now).add(batch)?;
    }
    Ok(tasks)
}
