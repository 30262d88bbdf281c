//! `posture alert` and `posture condition`: what is wrong now.

use clap::Subcommand;
use serde_json::Value;

use super::rule;
use crate::cli::call::with_session;
use crate::cli::option::query;
use crate::cli::report::event::about;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AlertCommand {
    /// List open alerts.
    #[command(after_help = "\
Examples:
  posture alert list
  posture alert list --client 'Acme Ltd' --all")]
    List {
        /// Only alerts of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
        /// Include alerts that closed in the last seven days.
        #[arg(long)]
        all: bool,
    },
    /// Manage alert rules.
    #[command(subcommand)]
    Rule(rule::RuleCommand),
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConditionCommand {
    /// List what is wrong now: open risks, overdue tasks, alerts, and every other announced condition that still holds.
    #[command(after_help = "\
Examples:
  posture condition list --client 'Acme Ltd'
  posture condition list --json | jq -r '.data[].dedupKey'")]
    List {
        /// Only conditions of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
    },
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: AlertCommand) -> Result<()> {
    match command {
        AlertCommand::List { client, all } => list(options, json, client.as_deref(), all),
        AlertCommand::Rule(command) => rule::run(options, json, command),
    }
}

fn list(options: &Config, json: bool, client: Option<&str>, with_closed: bool) -> Result<()> {
    let mut all = read(options, "/api/alerts", client)?;
    if !with_closed {
        all.retain(|it| it["closedAt"].is_null());
    }
    let empty = if with_closed { "no alerts in the last seven days" } else { "no open alerts" };
    let heading = ["OPENED", "CLOSED", "CLIENT", "TIMES", "ALERT"];
    print::list(json, &all, (empty, &heading), |it| {
        vec![
            print::minute(&it["openedAt"]),
            print::minute(&it["closedAt"]),
            print::cell(&it["object"]["clientName"]),
            print::cell(&it["occurrence"]),
            about(&it["object"], &Value::Null),
        ]
    })
}

pub(in crate::cli) fn run_conditions(
    options: &Config,
    json: bool,
    command: &ConditionCommand,
) -> Result<()> {
    let ConditionCommand::List { client } = command;
    let all = read(options, "/api/conditions", client.as_deref())?;
    let heading = ["OPENED", "CLIENT", "TYPE", "ABOUT"];
    print::list(json, &all, ("no open conditions", &heading), |it| {
        vec![
            print::minute(&it["openedAt"]),
            print::cell(&it["object"]["clientName"]),
            print::cell(&it["type"]),
            about(&it["object"], &Value::Null),
        ]
    })
}

fn read(options: &Config, path: &str, client: Option<&str>) -> Result<Vec<Value>> {
    with_session(options, async |session| {
        let of = client_name::filter(session, client).await?;
        session.list(&format!("{path}{}", query(&of)), PULL_LIMIT_MAX).await
    })
}
