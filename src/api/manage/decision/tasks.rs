//! Remediation tasks: list, add, change.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewRisks, Work};
use crate::api::wire::body::{Body, nullable, present, time};
use crate::api::wire::param;
use crate::api::wire::param::{Id, Limit, Raw, TaskStatusWord, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Made, Null};
use crate::api::wire::view::{TaskStatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::task::{NewTask, TaskChange};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::TaskId;
use crate::store::global::task::{Task, TaskStatus};

/// Something that somebody is to put right.
#[derive(Object, Serialize)]
#[oai(rename = "RemediationTask", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    id: Uid,
    client_id: Uid,
    title: String,
    description: Null<String>,
    risk_id: Null<Uid>,
    control_code: Null<String>,
    assignee: Null<String>,
    due_at: Null<When>,
    status: TaskStatusView,
    /// Its due date has passed and it is still to be done.
    overdue: bool,
    created_at: When,
    updated_at: When,
    /// When it was done; null while it is not.
    completed_at: Null<When>,
}

impl TaskView {
    pub fn of(task: Task, now: Time) -> Self {
        Self {
            id: Uid::of(task.id.as_bytes()),
            client_id: Uid::of(task.client.as_bytes()),
            overdue: task.is_overdue(now),
            title: task.title,
            description: task.description.into(),
            risk_id: task.risk.map(|it| Uid::of(it.as_bytes())).into(),
            control_code: task.control.into(),
            assignee: task.assignee.into(),
            due_at: task.due_at.map(When).into(),
            status: TaskStatusView(task.status),
            created_at: When(task.created_at),
            updated_at: When(task.updated_at),
            completed_at: task.completed_at.map(When).into(),
        }
    }
}

/// What is to be done.
#[derive(Object)]
#[oai(rename = "RemediationTaskCreate", rename_all = "camelCase")]
pub struct NewTaskDoc {
    client_id: Uid,
    #[oai(validator(min_length = 1, max_length = 200))]
    title: String,
    #[oai(nullable)]
    description: Option<String>,
    /// A risk of the client.
    #[oai(nullable)]
    risk_id: Option<Uid>,
    /// A control of the catalogue.
    #[oai(nullable)]
    control_code: Option<String>,
    #[oai(nullable, validator(max_length = 255))]
    assignee: Option<String>,
    /// RFC 3339.
    #[oai(nullable)]
    due_at: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct NewTaskBody {
    client_id: String,
    title: String,
    description: Option<String>,
    risk_id: Option<String>,
    control_code: Option<String>,
    assignee: Option<String>,
    due_at: Option<String>,
}

impl NewTaskBody {
    fn new_task(self) -> Result<NewTask> {
        let not_an_id = |field| move |_| Error::invalid_field(field, "must be a UUID");
        Ok(NewTask {
            client: self.client_id.parse().map_err(not_an_id("clientId"))?,
            title: self.title,
            description: self.description,
            risk: self.risk_id.map(|it| it.parse().map_err(not_an_id("riskId"))).transpose()?,
            control: self.control_code,
            assignee: self.assignee,
            due_at: self.due_at.as_deref().map(|it| time("dueAt", it)).transpose()?,
        })
    }
}

/// What to change of a task; absent fields stay, null clears.
#[derive(Object)]
#[oai(rename = "RemediationTaskChange", rename_all = "camelCase")]
pub struct TaskDoc {
    #[oai(validator(min_length = 1, max_length = 200))]
    title: Option<String>,
    #[oai(nullable)]
    description: Option<String>,
    #[oai(nullable, validator(max_length = 255))]
    assignee: Option<String>,
    /// RFC 3339.
    #[oai(nullable)]
    due_at: Option<String>,
    status: Option<TaskStatusView>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct TaskBody {
    #[serde(deserialize_with = "present")]
    title: Option<String>,
    #[serde(deserialize_with = "nullable")]
    description: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    assignee: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    due_at: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    status: Option<String>,
}

impl TaskBody {
    fn change(self) -> Result<TaskChange> {
        let Self { title, description, assignee, due_at: due, status } = self;
        let due_at =
            due.map(|it| it.as_deref().map(|it| time("dueAt", it)).transpose()).transpose()?;
        let status = status.as_deref().map(status_of).transpose()?;
        Ok(TaskChange { title, description, assignee, due_at, status })
    }
}

fn status_of(word: &str) -> Result<TaskStatus> {
    TaskStatus::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
        let known = TaskStatus::ALL.map(TaskStatus::as_str).join(", ");
        Error::invalid_field("status", format!("must be one of {known}"))
    })
}

pub struct Tasks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Tasks {
    /// List remediation tasks
    ///
    /// Of all clients or one, in the order in which they were made. Scope: `read:risks`.
    #[oai(path = "/tasks", method = "get", operation_id = "list_tasks")]
    async fn list_tasks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        status: Query<Option<Raw<TaskStatusWord>>>,
        /// The id of the last task that was seen. Default: from the first on.
        after: Query<Option<Raw<Id>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<Data<Vec<TaskView>>, Failure> {
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let status = param::task_status(status.0.as_ref())?;
        let after = param::id("after", after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let tasks = web.app.list_tasks(&by.0, client, status, after, limit).await?;
        let now = web.app.clock.now();
        Ok(Data::of(&tasks.into_iter().map(|it| TaskView::of(it, now)).collect::<Vec<_>>()))
    }

    /// Add a remediation task
    #[oai(path = "/tasks", method = "post", operation_id = "add_task")]
    async fn add_task(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        body: Body<NewTaskDoc>,
    ) -> Result<Made<TaskView>, Failure> {
        let new = body.read::<NewTaskBody>()?.new_task()?;
        let task = web.app.add_task(&by.0, new).await?;
        Ok(Made::Added(TaskView::of(task, web.app.clock.now())))
    }

    /// Change a remediation task
    ///
    /// Its due date is told of once when it passes; moved, once more.
    #[oai(path = "/tasks/:taskId", method = "patch", operation_id = "change_task")]
    async fn change_task(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "taskId")] task_id: Path<Raw<Id>>,
        body: Body<TaskDoc>,
    ) -> Result<Data<TaskView>, Failure> {
        let id = task_id.read::<TaskId>()?;
        web.app.get_task(&by.0, id).await?;
        let change = body.read::<TaskBody>()?.change()?;
        let task = web.app.change_task(&by.0, id, change).await?;
        Ok(Data::of(&TaskView::of(task, web.app.clock.now())))
    }
}
