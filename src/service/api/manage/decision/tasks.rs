//! Remediation tasks: list, add, change.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewRisks};
use crate::api::wire::body::{Body, Change, example, present};
use crate::api::wire::input::Ref;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Raw, UpTo, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reference::ReferenceView;
use crate::api::wire::reply::{Data, Made, Null, StretchReply};
use crate::api::wire::view::{End, TaskStatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::task::{NewTask, TaskChange};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::error::Result;
use crate::id::{ClientId, RiskId, TaskId};
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::global::task::Task;
use crate::store::per_client::reference::{ExternalReference, Referenced};

/// A task to remedy something.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RemediationTask")]
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
    /// The due date has passed and the task is still open or in progress.
    overdue: bool,
    created_at: When,
    updated_at: When,
    /// When the task became `done`. Null: it is not done.
    completed_at: Null<When>,
    /// What the task is called in other systems, for example its ticket.
    external_references: Vec<ReferenceView>,
}

impl TaskView {
    pub fn of(task: Task, references: Vec<ExternalReference>, now: Time) -> Self {
        Self {
            external_references: ReferenceView::all(references),
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

/// A task to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "RemediationTaskCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewTaskBody {
    client_id: Ref<ClientId>,
    /// Default: the title of the risk. Required without `riskId`.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    title: Option<String>,
    /// At most 16 KiB.
    #[serde(default)]
    description: Null<String>,
    /// An open risk of the client.
    #[serde(default)]
    risk_id: Null<Ref<RiskId>>,
    /// A control of the catalog.
    #[serde(default)]
    control_code: Null<String>,
    #[schemars(length(max = 255))]
    #[serde(default)]
    assignee: Null<String>,
    #[serde(default)]
    due_at: Null<End>,
    /// What the task is called in other systems, at most 10.
    #[schemars(length(max = 10))]
    #[serde(default, deserialize_with = "present")]
    external_references: Option<Vec<ReferenceView>>,
}

example!(NewTaskBody, {
    "clientId": "0199e0a0-5c1a-7e6d-9f0b-1f2e3d4c5b6a",
    "title": "Turn on MFA for all administrators",
    "controlCode": "ID-01",
    "assignee": "ada@example.com",
    "dueAt": "2026-12-01T17:00:00Z",
});

impl NewTaskBody {
    fn new_task(self, zone: &Zone) -> NewTask {
        NewTask {
            client: self.client_id.0,
            title: self.title,
            description: self.description.0,
            risk: self.risk_id.0.map(|it| it.0),
            control: self.control_code.0.map(|it| it.to_ascii_uppercase()),
            assignee: self.assignee.0,
            due_at: self.due_at.0.map(|it| it.0.at(zone)),
            references: ReferenceView::read(self.external_references).unwrap_or_default(),
        }
    }
}

/// What to change of a task. Absent fields stay as they are; null clears a field.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "RemediationTaskChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct TaskBody {
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "present")]
    title: Option<String>,
    /// At most 16 KiB.
    description: Change<String>,
    #[schemars(length(max = 255))]
    assignee: Change<String>,
    due_at: Change<End>,
    #[serde(deserialize_with = "present")]
    status: Option<TaskStatusView>,
    /// What the task is called in other systems, at most 10. They replace all that it has.
    #[schemars(length(max = 10))]
    #[serde(deserialize_with = "present")]
    external_references: Option<Vec<ReferenceView>>,
}

example!(TaskBody, {"status": "done"});

impl TaskBody {
    fn change(self, zone: &Zone) -> TaskChange {
        TaskChange {
            title: self.title,
            description: self.description.0,
            assignee: self.assignee.0,
            due_at: self.due_at.0.map(|it| it.map(|it| it.0.at(zone))),
            status: self.status.map(|it| it.0),
            references: ReferenceView::read(self.external_references),
        }
    }
}

async fn shown(web: &Web, caller: &Caller, task: Task) -> Result<TaskView> {
    let references = web.app.references(caller, task.client, Referenced::Task(task.id)).await?;
    Ok(TaskView::of(task, references, web.app.clock.now()))
}

pub struct Tasks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Tasks {
    /// List remediation tasks
    ///
    /// Tasks of all clients or of one, in the order in which they were added. Scope: `read:risks`.
    #[oai(path = "/tasks", method = "get", operation_id = "list_tasks")]
    async fn list_tasks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        /// Only those about this risk.
        #[oai(name = "riskId")]
        risk_id: Query<Option<Raw<Id>>>,
        /// Only those with this status. Can be repeated.
        status: Query<Option<Vec<Raw<TaskStatusView>>>>,
        /// Continue after this task: the id of the last task of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<TaskView>, Failure> {
        let limit = limit_up_to(limit.0.as_ref())?;
        let statuses: Vec<TaskStatusView> = param::words("status", status.0.as_ref())?;
        let statuses = statuses.into_iter().map(|it| it.0).collect();
        let after = param::id("after", after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let risk = param::id("riskId", risk_id.0.as_ref())?;
        let tasks = web.app.list_tasks(&by.0, client, statuses, risk, after, limit + 1).await?;
        let now = web.app.clock.now();
        let Stretch { items, next } = Stretch::of(tasks, limit, |it| it.id.to_string());
        let about = items.iter().map(|it| (it.client, Referenced::Task(it.id))).collect();
        let references = web.app.references_of(&by.0, about).await?;
        let both = items.into_iter().zip(references);
        let items = both.map(|(it, references)| TaskView::of(it, references, now)).collect();
        Ok(StretchReply::of(&Stretch { items, next }))
    }

    /// Add a remediation task
    ///
    /// The task is announced as an event.
    /// Scope: `manage:decisions`.
    #[oai(path = "/tasks", method = "post", operation_id = "add_task")]
    async fn add_task(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        body: Body<NewTaskBody>,
    ) -> Result<Made<TaskView>, Failure> {
        let body = body.read()?;
        let zone = web.app.time_zone_of(body.client_id.0);
        let new = body.new_task(&zone);
        let task = web.app.add_task(&by.0, new).await?;
        Ok(Made::Added(shown(&web, &by.0, task).await?))
    }

    /// Change a remediation task
    ///
    /// An overdue task is announced once. It is announced again if the due date is moved and passes again.
    /// Scope: `manage:decisions`.
    #[oai(path = "/tasks/:taskId", method = "patch", operation_id = "change_task")]
    async fn change_task(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "taskId")] task_id: Path<Raw<Id>>,
        body: Body<TaskBody>,
    ) -> Result<Data<TaskView>, Failure> {
        let id = task_id.read::<TaskId>()?;
        let change = |client| Ok(body.read()?.change(&web.app.time_zone_of(client)));
        let task = web.app.change_task(&by.0, id, change).await?;
        Ok(Data::of(&shown(&web, &by.0, task).await?))
    }
}
