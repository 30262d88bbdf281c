//! `posture task`: remediation tasks.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::{Call, call, with_session};
use crate::cli::option::{body, clearable, end, id, query, references, repeated, require_change};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::id::TaskId;
use crate::page::PULL_LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TaskCommand {
    /// List tasks in the order in which they were added.
    List(TaskListArgs),
    /// Add a task and print its id.
    Add(TaskAddArgs),
    /// Change a task, for example close it.
    Set(TaskSetArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture task list
  posture task list --client 'Acme Ltd' --status done")]
pub(in crate::cli) struct TaskListArgs {
    /// Only tasks of this client, by name or id.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// `open`, `in_progress`, `done` or `cancelled`. Can be repeated. Default: `open` and `in_progress`.
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<String>,
    /// Tasks of every status.
    #[arg(long, conflicts_with = "statuses")]
    all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture task add 'Acme Ltd' --title 'Turn on MFA for all administrators' --control ID-01 --assignee ada --due 2026-12-01")]
pub(in crate::cli) struct TaskAddArgs {
    /// Name or id of the client.
    client: String,
    /// What to do.
    #[arg(long)]
    title: String,
    /// More about it.
    #[arg(long)]
    description: Option<String>,
    /// Risk that it is about, as shown by `posture risk list`.
    #[arg(long, value_name = "ID")]
    risk: Option<String>,
    /// Code of the control that it is about.
    #[arg(long, value_name = "CODE")]
    control: Option<String>,
    /// Who does it.
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// When it is due. A date means the end of that day in the client's time zone.
    #[arg(long, value_name = "DATE")]
    due: Option<String>,
    /// What another system calls it, for example its ticket. Can be repeated.
    #[arg(long = "reference", value_name = "SYSTEM=ID")]
    references: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture task set TASK --status done
  posture task set TASK --due 2027-01-15 --reference halo=4711")]
pub(in crate::cli) struct TaskSetArgs {
    /// Task id, as shown by `posture task list`.
    task: String,
    /// `open`, `in_progress`, `done` or `cancelled`.
    #[arg(long)]
    status: Option<String>,
    /// What to do.
    #[arg(long)]
    title: Option<String>,
    /// More about it. An empty value clears it.
    #[arg(long)]
    description: Option<String>,
    /// Who does it. An empty value clears it.
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// When it is due. A date means the end of that day in the client's time zone. An empty value clears it.
    #[arg(long, value_name = "DATE")]
    due: Option<String>,
    /// What another system calls it. Can be repeated. Replaces all; an empty value removes them.
    #[arg(long = "reference", value_name = "SYSTEM=ID")]
    references: Vec<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: TaskCommand) -> Result<()> {
    match command {
        TaskCommand::List(args) => list(options, json, args),
        TaskCommand::Add(args) => {
            let mut body = args.body()?;
            let answer = with_session(options, async |session| {
                body["clientId"] =
                    json!(client_name::find(session, &args.client).await?.to_string());
                session.call(Call::of("POST", "/api/tasks", &body)).await
            })?;
            print::id(json, &answer)
        }
        TaskCommand::Set(args) => {
            let id: TaskId = id(&args.task, "a task id", "task list")?;
            let body = args.body()?;
            show(json, &call(options, Call::of("PATCH", format!("/api/tasks/{id}"), &body))?)
        }
    }
}

impl TaskAddArgs {
    fn body(&self) -> Result<Value> {
        let due = self.due.as_deref().map(end).transpose()?;
        Ok(body(vec![
            ("title", Some(json!(self.title))),
            ("description", self.description.as_deref().map(Value::from)),
            ("riskId", self.risk.as_deref().map(Value::from)),
            ("controlCode", self.control.as_deref().map(Value::from)),
            ("assignee", self.assignee.as_deref().map(Value::from)),
            ("dueAt", due.map(Value::from)),
            ("externalReferences", references(&self.references)?),
        ]))
    }
}

impl TaskSetArgs {
    /// # Errors
    /// `Invalid` if there is nothing to change.
    fn body(&self) -> Result<Value> {
        let due = match &self.due {
            Some(it) if it.is_empty() => Some(Value::Null),
            Some(it) => Some(json!(end(it)?)),
            None => None,
        };
        require_change(body(vec![
            ("status", self.status.as_deref().map(Value::from)),
            ("title", self.title.as_deref().map(Value::from)),
            ("description", clearable(self.description.as_deref())),
            ("assignee", clearable(self.assignee.as_deref())),
            ("dueAt", due),
            ("externalReferences", references(&self.references)?),
        ]))
    }
}

fn list(options: &Config, json: bool, args: TaskListArgs) -> Result<()> {
    let mut statuses = args.statuses;
    let empty = match (statuses.is_empty(), args.all) {
        (false, _) => "no tasks with this status",
        (true, true) => "no tasks",
        (true, false) => "no open tasks; --all includes the others",
    };
    if statuses.is_empty() && !args.all {
        statuses = vec!["open".to_owned(), "in_progress".to_owned()];
    }
    let (all, names) = with_session(options, async |session| {
        let of = client_name::filter(session, args.client.as_deref()).await?;
        let query = query(&format!("{}{of}", repeated("status", &statuses)));
        let all = session.list(&format!("/api/tasks{query}"), PULL_LIMIT_MAX).await?;
        Ok((all, client_name::Names::unless_json(session, json).await?))
    })?;
    let heading = ["ID", "CLIENT", "STATUS", "DUE", "ASSIGNEE", "TITLE"];
    print::list(json, &all, (empty, &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            names.name(&it["clientId"]),
            if it["overdue"] == true { "overdue".to_owned() } else { cell("status") },
            print::end(&it["dueAt"]),
            cell("assignee"),
            cell("title"),
        ]
    })
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut task = answer["data"].clone();
    task["references"] = json!(print::references(&task["externalReferences"]));
    let names = [
        ("task", "title"),
        ("id", "id"),
        ("status", "status"),
        ("overdue", "overdue"),
        ("due", "dueAt"),
        ("assignee", "assignee"),
        ("risk", "riskId"),
        ("control", "controlCode"),
        ("references", "references"),
        ("description", "description"),
    ];
    print::fields(&task, &names)
}
