//! `posture batch`: the same statement about many clients, undone as one.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::estate::Kind;
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::option::{body, end};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::page::LIMIT_MAX;

/// How often it is looked how far a batch is.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BatchCommand {
    /// Attest a control at many clients.
    #[command(after_help = "\
Example:
  posture batch attest GOV-14 --status compliant --tag gold --note 'Our plan was exercised on 2026-11-12' \\
    --evidence 'SharePoint: Plans/2026' --by 'Ada Lovelace' --try")]
    Attest {
        /// Control code, such as GOV-14.
        code: String,
        /// `compliant`, `partial`, `non_compliant` or `not_applicable`. Without evidence, `compliant` is said, not shown.
        #[arg(long)]
        status: String,
        /// Where the evidence is.
        #[arg(long, value_name = "TEXT")]
        evidence: Option<String>,
        /// The attestation counts even while a technical result says otherwise. Requires --until.
        #[arg(long = "override")]
        overrides: bool,
        #[command(flatten)]
        said: SaidArgs,
    },
    /// Decide about a requirement at many clients: out of scope, or attested with evidence.
    #[command(after_help = "\
Example:
  posture batch decide PCI_DSS 9.4.1 --out-of-scope --client 'Acme Ltd' --client Beta --note 'No media' --by 'Ada Lovelace'")]
    Decide {
        /// Framework, such as HIPAA.
        framework: String,
        /// The framework's own reference.
        requirement: String,
        /// The requirement does not apply.
        #[arg(long, conflicts_with = "evidence", required_unless_present = "evidence")]
        out_of_scope: bool,
        /// It is met, and here is the evidence.
        #[arg(long, value_name = "TEXT")]
        evidence: Option<String>,
        #[command(flatten)]
        said: SaidArgs,
    },
    /// Accept the risk about a control at many clients. Requires --until.
    #[command(after_help = "\
Example:
  posture batch accept END-04 --tag gold --until 2027-03-31 --note 'Replaced in spring' --by 'Ada Lovelace'")]
    Accept {
        /// Control code, such as END-04.
        code: String,
        #[command(flatten)]
        said: SaidArgs,
    },
    /// Say that there are no more cloud accounts, computers, servers, phones or systems than are known at each of many clients.
    #[command(after_help = "\
Example:
  posture batch all servers --tag gold --note 'Confirmed in the yearly review' --by 'Ada Lovelace' --try")]
    All {
        /// What there are no more of.
        kind: Kind,
        #[command(flatten)]
        said: SaidArgs,
    },
    /// Take an account or a domain out of what must be seen at many clients: it exists, and is not meant.
    #[command(after_help = "\
Example:
  posture batch exclude aws/123456789012 --tag gold --note 'Our own account' --by 'Ada Lovelace' --try")]
    Exclude(MemberArgs),
    /// Take an account or a domain out of what must be seen at many clients: it is gone.
    Retire(MemberArgs),
    /// List the batches of the last 90 days, newest first.
    List,
    /// Show a batch and its clients.
    Show {
        /// Id of the batch, as shown by `posture batch list`.
        id: String,
    },
    /// Undo all that a batch stated, within 30 days: as if it had never been said.
    Undo {
        /// Id of the batch, as shown by `posture batch list`.
        id: String,
        /// Why it was a mistake.
        #[arg(long, alias = "reason", value_name = "TEXT")]
        note: String,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MemberArgs {
    /// The account or domain, as shown by `posture estate list`. Clients that do not have it refuse.
    member: String,
    #[command(flatten)]
    said: SaidArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SaidArgs {
    /// Name or id of a client. Can be repeated, up to 1,000 times.
    #[arg(
        long = "client",
        value_name = "CLIENT",
        required_unless_present = "tag",
        conflicts_with = "tag"
    )]
    clients: Vec<String>,
    /// The active clients that have this tag now.
    #[arg(long)]
    tag: Option<String>,
    /// Why, or how it is known.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: String,
    /// Who says it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// When it ends. A date means the end of that day in the service provider's time zone. Default: as for one client.
    #[arg(long, alias = "valid-until", value_name = "DATE")]
    until: Option<String>,
    /// Only say what it would find at each client.
    #[arg(long = "try")]
    is_trial: bool,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: BatchCommand) -> Result<()> {
    with_session(options, async |session| match command {
        BatchCommand::Attest { code, status, evidence, overrides, said } => {
            let overrides = overrides.then_some(json!(true));
            let evidence = evidence.map(Value::from);
            let what = body(vec![
                ("controlCode", Some(json!(code))),
                ("status", Some(json!(status))),
                ("evidence", evidence),
                ("override", overrides),
            ]);
            state(session, json, said, ("attestation", what)).await
        }
        BatchCommand::Decide { framework, requirement, out_of_scope, evidence, said } => {
            let decision = if out_of_scope { "out_of_scope" } else { "attested" };
            let what = body(vec![
                ("frameworkId", Some(json!(framework))),
                ("requirement", Some(json!(requirement))),
                ("decision", Some(json!(decision))),
                ("evidence", evidence.map(Value::from)),
            ]);
            state(session, json, said, ("decision", what)).await
        }
        BatchCommand::Accept { code, said } => {
            state(session, json, said, ("acceptance", json!({ "controlCode": code }))).await
        }
        BatchCommand::All { kind, said } => {
            state(session, json, said, ("estate", json!({ "kind": kind.as_str() }))).await
        }
        BatchCommand::Exclude(it) => decide(session, json, it, "excluded").await,
        BatchCommand::Retire(it) => decide(session, json, it, "retired").await,
        BatchCommand::List => list(json, &session.list("/api/batches", LIMIT_MAX).await?),
        BatchCommand::Show { id } => show(session, json, &id).await,
        BatchCommand::Undo { id, note } => {
            let path = format!("{}/undo", path(&id)?);
            let begun = session.call(Call::of("POST", path, &json!({ "reason": note }))).await?;
            follow(session, json, begun).await
        }
    })
}

fn path(id: &str) -> Result<String> {
    let id = crate::cli::option::id::<crate::id::BatchId>(id, "a batch", "batch list")?;
    Ok(format!("/api/batches/{id}"))
}

async fn decide(
    session: &ServerSession,
    json: bool,
    MemberArgs { member, said }: MemberArgs,
    decision: &str,
) -> Result<()> {
    state(session, json, said, ("estate", json!({ "member": member, "decision": decision }))).await
}

async fn state(
    session: &ServerSession,
    json: bool,
    said: SaidArgs,
    (kind, what): (&str, Value),
) -> Result<()> {
    let until = said.until.as_deref().map(end).transpose()?;
    let clients = client_name::find_all(session, &said.clients).await?;
    let order = body(vec![
        ("clientIds", said.tag.is_none().then(|| json!(clients))),
        ("tag", said.tag.map(Value::from)),
        (kind, Some(what)),
        ("reason", Some(json!(said.note))),
        ("by", Some(json!(said.by))),
        ("until", until.map(Value::from)),
    ]);
    if said.is_trial {
        let answer = session.call(Call::of("POST", "/api/batches/trial", &order)).await?;
        return show_trial(json, &answer);
    }
    let begun = session.call(Call::of("POST", "/api/batches", &order)).await?;
    follow(session, json, begun).await
}

/// Waits until a batch is over, and says what came of it.
///
/// # Errors
/// `Conflict` if a client refused.
async fn follow(session: &ServerSession, json: bool, begun: Value) -> Result<()> {
    let batch = &begun["data"];
    let (id, n_clients) = (print::cell(&batch["id"]), batch["clientCount"].as_u64().unwrap_or(0));
    let bar = print::progress(n_clients, "{wide_bar} {pos} of {len} clients {elapsed}");
    let answer = loop {
        session.work_on_batches(LOOK_EVERY).await?;
        let answer = session.call(Call::get(format!("/api/batches/{id}"))).await?;
        let now = &answer["data"];
        let count = |name: &str| now[name].as_u64().unwrap_or(0);
        bar.set_position(match now["state"].as_str() {
            Some("running") => count("statedCount") + count("refusedCount"),
            _ => count("undoneCount"),
        });
        if matches!(now["state"].as_str(), Some("finished" | "undone")) {
            break answer;
        }
    };
    bar.finish_and_clear();
    if json {
        print::json(&answer)?;
    } else {
        print::line(&sentence(&answer["data"]))?;
    }
    match answer["data"]["refusedCount"].as_u64() {
        Some(0) | None => Ok(()),
        Some(n) => Err(Error::conflict(format!(
            "{} refused; see `posture batch show {id}`",
            print::count(&n.into(), "client")
        ))),
    }
}

fn sentence(batch: &Value) -> String {
    let cell = |name: &str| print::cell(&batch[name]);
    let count = |name: &str| print::count(&batch[name], "client");
    let what = match batch["state"].as_str() {
        Some("undone") => format!("undone at {}", count("undoneCount")),
        _ => format!("stated at {}", count("statedCount")),
    };
    format!("{}: {what}; batch {}", cell("title"), cell("id"))
}

fn show_trial(json: bool, answer: &Value) -> Result<()> {
    let all = print::rows(&answer["data"]);
    if json {
        return print::json(answer);
    }
    let heading = ["CLIENT", "IS", "WOULD"];
    print::list(json, all, ("no clients", &heading), |it| {
        let would = match (it["message"].as_str(), it["replaces"] == true) {
            (Some(message), _) => format!("state nothing: {message}"),
            (None, true) => "replace what was stated".to_owned(),
            (None, false) => "state it".to_owned(),
        };
        let is = match it["known"].as_u64() {
            Some(n) => format!("{n} known"),
            None => print::result(&it["status"], &Value::Null),
        };
        vec![print::cell(&it["clientName"]), is, would]
    })
}

fn list(json: bool, all: &[Value]) -> Result<()> {
    let heading = ["ID", "BEGUN", "WHAT", "CLIENTS", "STATE", "BY"];
    print::list(json, all, ("no batches", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            print::minute(&it["begunAt"]),
            cell("title"),
            cell("clientCount"),
            cell("state"),
            cell("by"),
        ]
    })
}

async fn show(session: &ServerSession, json: bool, id: &str) -> Result<()> {
    let path = path(id)?;
    let answer = session.call(Call::get(path.as_str())).await?;
    let clients = session.list(&format!("{path}/clients"), LIMIT_MAX).await?;
    if json {
        let mut answer = answer;
        answer["data"]["clients"] = json!(clients);
        return print::json(&answer);
    }
    print::fields(
        &answer["data"],
        &[
            ("id", "id"),
            ("what", "title"),
            ("why", "reason"),
            ("by", "by"),
            ("state", "state"),
            ("begun", "begunAt"),
            ("finished", "finishedAt"),
            ("undone by", "undoneBy"),
            ("because", "undoReason"),
        ],
    )?;
    let heading = ["CLIENT", "STATE", "STATEMENT", "MESSAGE"];
    print::list(json, &clients, ("no clients are left", &heading), |it| {
        ["clientName", "state", "statement", "message"].map(|name| print::cell(&it[name])).to_vec()
    })
}
