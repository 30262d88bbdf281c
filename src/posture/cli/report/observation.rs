//! `posture observation`: what sources observed, and the failing subjects behind a control.

use clap::Subcommand;
use serde_json::Value;

use crate::cli::call::{ServerSession, encoded};
use crate::cli::option::{query, repeated};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ObservationCommand {
    /// List the latest result of each check, by source and scope.
    #[command(after_help = "\
Examples:
  posture observation list 'Acme Ltd' --failing
  posture observation list 'Acme Ltd' --control ID-01")]
    List {
        /// Name or id of the client.
        client: String,
        /// Only what counts for this control.
        #[arg(long, value_name = "CODE")]
        control: Option<String>,
        /// Only what this source reported.
        #[arg(long)]
        source: Option<String>,
        /// Only what fails.
        #[arg(long)]
        failing: bool,
    },
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: ObservationCommand) -> Result<()> {
    let ObservationCommand::List { client, control, source, failing } = command;
    let parameters = [
        repeated("control", control.as_slice()),
        repeated("source", source.as_slice()),
        if failing { "&failing=true".to_owned() } else { String::new() },
    ];
    let query = query(&parameters.concat());
    let list = format!("observations{query}");
    let all = client_name::list(options, &client, &list, PULL_LIMIT_MAX)?;
    print_all(json, &all, if failing { "no failing observations" } else { "no observations" })
}

/// `empty`: what to say if there are none.
pub(in crate::cli) fn print_all(json: bool, all: &[Value], empty: &str) -> Result<()> {
    let heading = ["OBSERVED", "CONTROLS", "SOURCE", "SCOPE", "RESULT", "CHECK"];
    print::list(json, all, (empty, &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            observed(it),
            cell("controlCodes"),
            cell("source"),
            cell("scope"),
            result(it),
            cell("title"),
        ]
    })
}

/// When it was seen, or declared to show the present state.
fn observed(it: &Value) -> String {
    let declared = it["declaredCurrent"] == Value::Bool(true);
    print::minute(&it["observedAt"]) + if declared { " (declared)" } else { "" }
}

/// What came out of a check.
fn result(it: &Value) -> String {
    let expired = if it["valid"] == false { ", expired" } else { "" };
    let unseen = match it["unseen"].as_u64() {
        Some(n @ 1..) => format!(", {n} not seen"),
        Some(0) | None => String::new(),
    };
    let counts = (it["passed"].as_u64(), it["failed"].as_u64());
    let text = match counts {
        (Some(passed), Some(0)) => format!("{passed} passed"),
        (Some(passed), Some(failed)) => format!("{failed} of {} failed", passed + failed),
        _ => print::result(&it["status"], &Value::Null),
    };
    text + &unseen + expired
}

/// What fails of a control.
pub(in crate::cli) async fn failing(
    session: &ServerSession,
    client: &str,
    control: &str,
) -> Result<Vec<Value>> {
    let path = format!("{client}/observations?failing=true&control={}", encoded(control));
    session.list(&path, PULL_LIMIT_MAX).await
}

/// Prints what fails under a heading, each with what was found, which names the failing subjects. Prints nothing if nothing
/// fails.
pub(in crate::cli) fn show_failing(heading: &str, all: &[Value]) -> Result<()> {
    if !all.is_empty() {
        print::line(heading)?;
    }
    for it in all {
        let cell = |name: &str| print::cell(&it[name]);
        let scope = match it["scope"].as_str() {
            Some("") | None => String::new(),
            Some(_) => format!(" in {}", cell("scope")),
        };
        let (check, source) = (cell("title"), cell("source"));
        let head = format!("  {check}: {}, seen by {source}{scope}", result(it));
        print::line(&print::wrapped(&head, 4))?;
        for text in it["findings"].as_str().unwrap_or_default().lines() {
            print::line(&print::wrapped(&format!("      {text}"), 6))?;
        }
    }
    Ok(())
}
