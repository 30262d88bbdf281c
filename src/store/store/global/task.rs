//! Remediation tasks of all clients.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, RiskId, TaskId};
use crate::store::global::merge::{MergedPlaces, Order, starts};
use crate::store::kernel::transaction::{ClientTransaction, Reading, Rows, Transaction};
use crate::store::per_client::reference::Referenced;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{CLIENT_TASKS, OPEN_TASKS, TASKS};
use crate::store::{Batch, ClientBatch};

/// Tasks that are read at once, where not all that are read are wanted.
const N_AT_ONCE: usize = 1_000;

/// A remediation task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Task {
    pub id: TaskId,
    pub client: ClientId,
    pub title: String,
    pub description: Option<String>,
    /// The risk that it remedies.
    pub risk: Option<RiskId>,
    /// The code of the control that it is about.
    pub control: Option<String>,
    pub assignee: Option<String>,
    pub due_at: Option<Time>,
    pub status: TaskStatus,
    /// The due date that was last announced as passed.
    pub missed: Option<Time>,
    /// How many due dates were announced as passed.
    pub n_missed: u32,
    pub created_at: Time,
    pub updated_at: Time,
    /// `None` unless it is done.
    pub completed_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TaskStatus {
    Open,
    InProgress,
    Done,
    Cancelled,
}

impl TaskStatus {
    pub const ALL: [Self; 4] = [Self::Open, Self::InProgress, Self::Done, Self::Cancelled];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns true if it is open or in progress.
    #[must_use]
    pub const fn is_open(self) -> bool {
        match self {
            Self::Open | Self::InProgress => true,
            Self::Done | Self::Cancelled => false,
        }
    }
}

impl Task {
    /// Returns true if its due date has passed and it is open or in progress.
    #[must_use]
    pub fn is_overdue(&self, now: Time) -> bool {
        self.status.is_open() && self.due_at.is_some_and(|it| it <= now)
    }
}

/// A filter for tasks. `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    pub clients: Option<Vec<ClientId>>,
    /// Empty: any.
    pub statuses: Vec<TaskStatus>,
    pub risk: Option<RiskId>,
}

/// Some of the tasks that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedTasks {
    pub ids: Vec<TaskId>,
    /// Where to continue. `None`: all were looked at.
    pub next: Option<TaskId>,
}

/// Returns true if the task is done or cancelled, and was last changed before this time.
fn has_ended_before(task: &Task, time: Time) -> bool {
    !task.status.is_open() && task.updated_at < time
}

fn client_key(client: ClientId, id: TaskId) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).bytes(id.as_bytes())
}

const fn until(is_full: bool) -> ControlFlow<()> {
    if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn id_of(key: &[u8]) -> TaskId {
    TaskId::from_bytes(*key.last_chunk().expect("every key of a task ends with its id"))
}

impl<R: Rows> Transaction<R> {
    pub fn find_task(&self, id: TaskId) -> Result<Option<Task>> {
        self.rows.find_row(TASKS, id.as_bytes())
    }
}

impl Transaction<Reading> {
    /// Up to `limit` tasks after one of them (`None`: from the first), in id order, which is the order in which they were
    /// added.
    pub fn list_tasks(
        &self,
        filter: &TaskFilter,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Vec<Task>> {
        let is_wanted = |it: &Task| {
            (filter.statuses.is_empty() || filter.statuses.contains(&it.status))
                && filter.risk.is_none_or(|risk| it.risk == Some(risk))
        };
        let is_all = filter.statuses.is_empty() && filter.risk.is_none();
        let mut found = Vec::new();
        let Some(clients) = &filter.clients else {
            let span = after.map_or_else(Span::all, |it| Span::all().after(it.as_bytes()));
            self.rows.visit_rows(TASKS, &span, &mut |key, bytes| {
                found.extend(Some(self.rows.open_row(TASKS, key, bytes)?).filter(is_wanted));
                Ok(until(limit <= found.len()))
            })?;
            return Ok(found);
        };
        let from = (Order::Rising, after.map(|it| *it.as_bytes()));
        let n_at_once = if is_all { limit } else { N_AT_ONCE };
        let mut places: MergedPlaces<'_, _, 16> =
            MergedPlaces::of((&self.rows, CLIENT_TASKS), starts(clients), from, n_at_once)?;
        while found.len() < limit
            && let Some(id) = places.next()?
        {
            found.extend(self.rows.find_row(TASKS, &id)?.filter(is_wanted));
        }
        Ok(found)
    }
}

impl<R: Rows> Transaction<R> {
    /// Finds tasks of all clients but some that ended before `time`. Looks at up to `n_rows_max` after `after`, in id order.
    pub fn list_ended_tasks(
        &self,
        (time, except): (Time, &[ClientId]),
        after: Option<TaskId>,
        n_rows_max: usize,
    ) -> Result<EndedTasks> {
        let span = after.map_or_else(Span::all, |it| Span::all().after(it.as_bytes()));
        let tasks: Vec<Task> = self.rows.list_rows(TASKS, &span, n_rows_max)?;
        let is_meant = |it: &&Task| has_ended_before(it, time) && !except.contains(&it.client);
        let ended = tasks.iter().filter(is_meant).map(|it| it.id).collect();
        // Those behind one that is newer are newer too.
        let last = tasks.last().filter(|it| tasks.len() == n_rows_max && it.created_at < time);
        Ok(EndedTasks { ids: ended, next: last.map(|it| it.id) })
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// Tasks that are open or in progress, in id order.
    pub fn list_open_tasks(&self) -> Result<Vec<Task>> {
        self.list_own_tasks((OPEN_TASKS, None), usize::MAX)
    }

    /// Up to `limit` tasks after one of them, in id order, including done ones.
    pub fn list_tasks_after(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Task>> {
        self.list_own_tasks((CLIENT_TASKS, after), limit)
    }

    fn list_own_tasks(
        &self,
        (table, after): (&str, Option<TaskId>),
        limit: usize,
    ) -> Result<Vec<Task>> {
        let mut span = Span::prefix(self.client.as_bytes());
        if let Some(after) = after {
            span = span.after(client_key(self.client, after).as_slice());
        }
        let mut tasks = Vec::new();
        for key in self.rows.list_keys_of(table, &span, limit)? {
            tasks.extend(self.rows.find_row::<Task>(TASKS, id_of(&key).as_bytes())?);
        }
        Ok(tasks)
    }

    /// One of this client's.
    pub fn find_own_task(&self, id: TaskId) -> Result<Option<Task>> {
        let found = self.rows.find_row::<Task>(TASKS, id.as_bytes())?;
        Ok(found.filter(|it| it.client == self.client))
    }
}

impl ClientBatch<'_> {
    /// The task must be this client's.
    pub fn put_task(&mut self, task: &Task) -> Result<()> {
        assert!(task.client == self.client, "a client's batch writes its own tasks");
        let before = self.find_own_task(task.id)?;
        self.count_task(before.as_ref(), task)?;
        let key = client_key(self.client, task.id);
        self.rows.put_row(CLIENT_TASKS, key.as_slice(), &())?;
        if task.status.is_open() {
            self.rows.put_row(OPEN_TASKS, key.as_slice(), &())?;
        } else {
            self.rows.remove_row(OPEN_TASKS, key.as_slice())?;
        }
        self.rows.put_row(TASKS, task.id.as_bytes(), task)
    }
}

impl Batch {
    /// Removes a task, unless it is open or was changed since `time`.
    pub fn remove_ended_task(&mut self, id: TaskId, time: Time) -> Result<()> {
        if let Some(task) = self.find_task(id)?.filter(|it| has_ended_before(it, time)) {
            self.client(task.client).put_references(Referenced::Task(id), &[])?;
            self.rows.remove_row(CLIENT_TASKS, client_key(task.client, id).as_slice())?;
            self.rows.remove_row(TASKS, id.as_bytes())?;
        }
        Ok(())
    }

    /// Removes up to `n_max` tasks of a client, and returns how many.
    pub(in crate::store) fn remove_client_tasks(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let span = Span::prefix(client.as_bytes());
        let keys = self.rows.list_keys_of(CLIENT_TASKS, &span, n_max)?;
        for key in &keys {
            self.rows.remove_row(OPEN_TASKS, key)?;
            self.rows.remove_row(CLIENT_TASKS, key)?;
            self.rows.remove_row(TASKS, id_of(key).as_bytes())?;
        }
        Ok(keys.len())
    }
}
