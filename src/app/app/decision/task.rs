//! Remediation tasks: add, change, list.

use super::reference;
use crate::app::App;
use crate::app::assessment::condition;
use crate::app::event;
use crate::app::input::{refuse_invisible, require_length, require_name};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, RiskId, TaskId};
use crate::store::global::task::{Task, TaskFilter, TaskStatus};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::{ClientBatch, ClientStore};
use crate::text;

pub const TITLE_CHARS_MAX: usize = 200;
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
pub const ASSIGNEE_CHARS_MAX: usize = 255;
/// How many open tasks one client may have.
pub const N_OPEN_MAX: u32 = 10_000;

/// A task to add.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub client: ClientId,
    /// `None`: that of the risk.
    pub title: Option<String>,
    pub description: Option<String>,
    pub risk: Option<RiskId>,
    /// A control's code.
    pub control: Option<String>,
    pub assignee: Option<String>,
    pub due_at: Option<Time>,
    pub references: Vec<ExternalReference>,
}

/// What to change of a task. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct TaskChange {
    pub title: Option<String>,
    pub description: Option<Option<String>>,
    pub assignee: Option<Option<String>>,
    pub due_at: Option<Option<Time>>,
    pub status: Option<TaskStatus>,
    pub references: Option<Vec<ExternalReference>>,
}

impl App {
    /// # Errors
    /// `Forbidden` or `NotFound` for the client; `Invalid` with the field that breaks a rule; `TooLarge` if there are
    /// too many open tasks.
    pub async fn add_task(&self, caller: &Caller, new: NewTask) -> Result<Task> {
        let (_, rows) = self.reach_any(caller, new.client)?;
        let now = self.clock.now();
        reference::check(Some(&new.references))?;
        let references = new.references;
        let of_risk = match new.risk {
            Some(risk) => Some(title_of_risk(&rows, risk).await?),
            None => None,
        };
        let title = new
            .title
            .or(of_risk)
            .ok_or_else(|| Error::invalid_field("title", "is required without riskId"))?;
        let task = Task {
            id: TaskId::made_at(now),
            client: new.client,
            title,
            description: new.description,
            risk: new.risk,
            control: new.control,
            assignee: new.assignee,
            due_at: new.due_at,
            status: TaskStatus::Open,
            missed: None,
            n_missed: 0,
            created_at: now,
            updated_at: now,
            completed_at: None,
        };
        check(&task, None)?;
        let is_known = |it: &String| self.catalog().find_control(it).is_some();
        if !task.control.as_ref().is_none_or(is_known) {
            return Err(Error::invalid_field(
                "controlCode",
                "must be a control code of the catalog",
            ));
        }
        let write = move |batch: &mut ClientBatch<'_>| {
            require_room(batch)?;
            batch.note_object(&task.id);
            batch.put_task(&task)?;
            batch.put_references(Referenced::Task(task.id), &references)?;
            event::task::created(&task, now).add(batch)?;
            condition::reevaluate_task(batch, task.id, now)?;
            as_it_is(batch, task.id)
        };
        rows.write(write).await
    }

    /// # Errors
    /// `Forbidden` if the caller may not access its client; `NotFound`.
    pub async fn get_task(&self, caller: &Caller, id: TaskId) -> Result<Task> {
        let task =
            caller.acting_on(&self.store).read(move |snapshot| snapshot.find_task(id)).await?;
        let task = task.ok_or_else(absent)?;
        self.reach_any(caller, task.client)?;
        Ok(task)
    }

    /// # Errors
    /// As [`App::get_task`]; `Invalid` with the field that breaks a rule; `TooLarge` if it would be reopened while
    /// there are too many open tasks.
    pub async fn change_task(
        &self,
        caller: &Caller,
        id: TaskId,
        change: impl FnOnce(ClientId) -> Result<TaskChange>,
    ) -> Result<Task> {
        let client = self.get_task(caller, id).await?.client;
        let (_, rows) = self.reach_any(caller, client)?;
        let change = change(client)?;
        reference::check(change.references.as_ref())?;
        let now = self.clock.now();
        let write = move |batch: &mut ClientBatch<'_>| {
            let before = as_it_is(batch, id)?;
            let mut task = before.clone();
            apply(&mut task, &change, now);
            check(&task, Some(&before))?;
            if task.status.is_open() && !before.status.is_open() {
                require_room(batch)?;
            }
            batch.put_task(&task)?;
            if let Some(references) = &change.references {
                batch.put_references(Referenced::Task(id), references)?;
            }
            if task.status == TaskStatus::Done && before.status != TaskStatus::Done {
                event::task::completed(&task, before.status, now).add(batch)?;
            }
            condition::reevaluate_task(batch, id, now)?;
            as_it_is(batch, id)
        };
        rows.write(write).await
    }

    /// Oldest first.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client that is named.
    pub async fn list_tasks(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        statuses: Vec<TaskStatus>,
        risk: Option<RiskId>,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<Task>> {
        let clients = self.asked_clients(caller, client)?;
        let filter = TaskFilter { clients, statuses, risk };
        let limit = limit as usize;
        caller
            .acting_on(&self.store)
            .read(move |snapshot| snapshot.list_tasks(&filter, after, limit))
            .await
    }
}

fn as_it_is(batch: &ClientBatch<'_>, id: TaskId) -> Result<Task> {
    batch.find_own_task(id)?.ok_or_else(absent)
}

fn absent() -> Error {
    Error::not_found("task not found")
}

fn require_room(batch: &ClientBatch<'_>) -> Result<()> {
    let n = batch.figures()?.n_tasks;
    if n < N_OPEN_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "the client has {n} open tasks, and {N_OPEN_MAX} is the most; complete or cancel some first"
    )))
}

/// The title for a task about a risk. Looked up before the write, which would keep everybody else waiting. A risk is known
/// for some days after it closed.
async fn title_of_risk(rows: &ClientStore, risk: RiskId) -> Result<String> {
    let found = rows.read(move |it| it.find_risk_by_id(risk)).await?;
    let found = found
        .ok_or_else(|| Error::invalid_field("riskId", "must be the id of a risk of the client"))?;
    Ok(text::line(&found.risk.title, TITLE_CHARS_MAX))
}

fn apply(task: &mut Task, change: &TaskChange, now: Time) {
    let TaskChange { title, description, assignee, due_at, status, references: _ } = change.clone();
    if let Some(title) = title {
        task.title = title;
    }
    if let Some(description) = description {
        task.description = description;
    }
    if let Some(assignee) = assignee {
        task.assignee = assignee;
    }
    if let Some(due_at) = due_at {
        task.due_at = due_at;
    }
    if let Some(status) = status {
        let done_at = task.completed_at.unwrap_or(now);
        task.completed_at = (status == TaskStatus::Done).then_some(done_at);
        task.status = status;
    }
    task.updated_at = now;
}

/// What a task had `before` is accepted.
fn check(task: &Task, before: Option<&Task>) -> Result<()> {
    if before.is_none_or(|it| it.title != task.title) {
        require_name("title", &task.title, TITLE_CHARS_MAX)?;
    }
    if task.description.as_ref().is_some_and(|it| DESCRIPTION_BYTES_MAX < it.len()) {
        let rule = format!("must be at most {DESCRIPTION_BYTES_MAX} bytes");
        return Err(Error::invalid_field("description", rule));
    }
    if before.is_some_and(|it| it.assignee == task.assignee) {
        return Ok(());
    }
    require_length("assignee", task.assignee.as_deref(), ASSIGNEE_CHARS_MAX)?;
    refuse_invisible("assignee", task.assignee.as_deref().unwrap_or_default())
}
