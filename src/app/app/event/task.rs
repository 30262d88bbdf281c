//! Events about remediation tasks.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, Link, NewEvent, NoPrevious};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::id::TaskId;
use crate::store::global::task::{Task, TaskStatus};

/// What every event about a task says of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskFields<'a> {
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    pub title: &'a str,
    pub description: Option<&'a str>,
    #[schemars(extend("format" = "uuid"))]
    pub risk_id: Option<String>,
    pub control_code: Option<&'a str>,
    pub assignee: Option<&'a str>,
    #[schemars(extend("format" = "date-time"))]
    pub due_at: Option<String>,
    #[schemars(extend("enum" = ["open", "in_progress", "done", "cancelled"]))]
    pub status: &'static str,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub completed_at: Option<String>,
    #[serde(skip)]
    task_id: TaskId,
}

impl<'a> TaskFields<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            id: task.id.to_string(),
            title: &task.title,
            description: task.description.as_deref(),
            risk_id: task.risk.map(|it| it.to_string()),
            control_code: task.control.as_deref(),
            assignee: task.assignee.as_deref(),
            due_at: task.due_at.map(|it| it.to_string()),
            status: task.status.as_str(),
            created_at: task.created_at.to_string(),
            completed_at: task.completed_at.map(|it| it.to_string()),
            task_id: task.id,
        }
    }

    fn key(&self) -> String {
        key(self.task_id)
    }
}

/// The key of all events about a task, within its client.
#[must_use]
pub fn key(id: TaskId) -> String {
    format!("task/{id}")
}

/// A remediation task was added.
#[derive(Serialize, JsonSchema)]
pub struct RemediationTaskCreated<'a>(TaskFields<'a>);

impl EventBody for RemediationTaskCreated<'_> {
    const KIND: EventKind = EventKind::RemediationTaskCreated;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.0.key()
    }

    fn link(&self) -> Link {
        Link::Task(self.0.task_id)
    }
}

/// A remediation task was done.
#[derive(Serialize, JsonSchema)]
pub struct RemediationTaskCompleted<'a>(TaskFields<'a>);

/// The task's status before.
#[derive(Serialize, JsonSchema)]
pub struct TaskBefore {
    #[schemars(extend("enum" = ["open", "in_progress", "cancelled"]))]
    pub status: &'static str,
}

impl EventBody for RemediationTaskCompleted<'_> {
    const KIND: EventKind = EventKind::RemediationTaskCompleted;
    type Previous = TaskBefore;

    fn key(&self) -> String {
        self.0.key()
    }

    fn link(&self) -> Link {
        Link::Task(self.0.task_id)
    }
}

/// A remediation task is past its due date.
#[derive(Serialize, JsonSchema)]
pub struct RemediationTaskOverdue<'a> {
    #[serde(flatten)]
    task: TaskFields<'a>,
    /// Counts the due dates that the task missed, from 1.
    pub occurrence: u32,
}

impl EventBody for RemediationTaskOverdue<'_> {
    const KIND: EventKind = EventKind::RemediationTaskOverdue;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.task.key()
    }

    fn link(&self) -> Link {
        Link::Task(self.task.task_id)
    }
}

#[must_use]
pub fn created(task: &Task, now: Time) -> NewEvent {
    NewEvent::new(&RemediationTaskCreated(TaskFields::of(task)), now)
}

#[must_use]
pub fn completed(task: &Task, before: TaskStatus, now: Time) -> NewEvent {
    let body = RemediationTaskCompleted(TaskFields::of(task));
    let before = TaskBefore { status: before.as_str() };
    NewEvent::after(&body, Some(&before), now).opened_at(task.created_at)
}

#[must_use]
pub fn overdue(task: &Task, now: Time) -> NewEvent {
    let body = RemediationTaskOverdue { task: TaskFields::of(task), occurrence: task.n_missed };
    NewEvent::new(&body, now).opened_at(task.created_at)
}
