//! `posture event`: what was announced.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::newest::Newest;
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::option::repeated;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::page::PULL_LIMIT_MAX;

/// Requirements listed for one event.
const N_NAMED: usize = 3;
/// Time between two requests for new events.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum EventCommand {
    /// List the last events, oldest first.
    List(EventListArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture event list --client 'Acme Ltd'
  posture event list --type risk_item_created --type risk_item_resolved --limit 200
  posture event list --follow --json | jq -c '{type, client: .data.object.clientName}'

With --follow and --json, each event is one line.")]
pub(in crate::cli) struct EventListArgs {
    /// Only events of this client, by name or id.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Only events of this type. Can be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// How many, at most 1000.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: u32,
    /// Keep printing new events as they are announced, until interrupted. A server must be running.
    #[arg(long)]
    follow: bool,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: &EventCommand) -> Result<()> {
    let EventCommand::List(args) = command;
    with_session(options, async |session| {
        let of = client_name::filter(session, args.client.as_deref()).await?;
        let query = format!("{of}{}", repeated("type", &args.types));
        let newest = Newest {
            limit: args.limit,
            limit_max: PULL_LIMIT_MAX,
            narrowed_by: "--client or --type",
        };
        let is_list = !json && !args.follow;
        let limit = if is_list { newest.limit_and_one() } else { newest.limit };
        let path = format!("/api/events?newest=true&limit={limit}{query}");
        if args.follow && !session.is_server() {
            return Err(Error::unavailable(
                "no server is running that could announce events; start `posture serve` first",
            ));
        }
        // Read before the newest: an event that is announced in between is printed once, as one of those.
        let end = if args.follow { last_sequence(session).await? } else { 0 };
        let answer = session.call(Call::get(path)).await?;
        if args.follow {
            return follow(session, json, &answer, end, &query).await;
        }
        if json {
            return print::json(&answer);
        }
        newest.show(&answer, ("no events", &["AT", "TYPE", "CLIENT", "ABOUT"]), row)
    })
}

/// Prints the newest events, then others as they are announced, until standard output is closed. `end`: the last
/// sequence of the log before the newest were read.
async fn follow(
    session: &ServerSession,
    json: bool,
    newest: &Value,
    mut end: u64,
    query: &str,
) -> Result<()> {
    let mut after = print_events(json, newest)?.max(end);
    while !print::is_closed() {
        if end <= after {
            tokio::time::sleep(LOOK_EVERY).await;
            end = last_sequence(session).await?;
            continue;
        }
        let path = format!("/api/events?after={after}&limit={PULL_LIMIT_MAX}{query}");
        let answer = session.call(Call::get(path)).await?;
        let last = print_events(json, &answer)?;
        // Without `next`, the events up to `end` that are not in the answer are not wanted.
        let next = answer["next"].as_str().and_then(|it| it.parse().ok());
        after = next.unwrap_or(last.max(end));
    }
    Ok(())
}

/// Prints one line for each event. Returns the sequence of the last one, or 0.
fn print_events(json: bool, answer: &Value) -> Result<u64> {
    let mut last = 0;
    for it in print::rows(&answer["data"]) {
        last = sequence(it);
        if json {
            print::compact(it)?;
        } else {
            print::line(&row(it).join("  "))?;
        }
    }
    Ok(last)
}

/// The sequence of the last event of the log, of any type and client. 0: there is none.
async fn last_sequence(session: &ServerSession) -> Result<u64> {
    let newest = session.call(Call::get("/api/events?newest=true&limit=1")).await?;
    Ok(sequence(&newest["data"][0]))
}

fn sequence(it: &Value) -> u64 {
    it["data"]["object"]["sequence"].as_u64().unwrap_or(0)
}

fn row(it: &Value) -> Vec<String> {
    let object = &it["data"]["object"];
    vec![
        print::minute(&it["created"]),
        print::cell(&it["type"]),
        print::cell(&object["clientName"]),
        about(object, &it["data"]["previous"]),
    ]
}

/// What a decision that is contradicted by what was seen is about. `None`: there is none.
pub(super) fn contradicted(it: &Value) -> Option<String> {
    let names = ["controlCode", "framework", "frameworkId", "requirement", "platform"];
    let given = names.iter().map(|name| &it[*name]).filter(|it| !it.is_null());
    let about: Vec<String> = given.map(print::cell).collect();
    let decision = it["decision"].as_str()?.replace('_', " ");
    Some(format!("{} {decision}", about.join(" ")))
}

/// What an event is about, in the words of its object.
pub(in crate::cli) fn about(object: &Value, previous: &Value) -> String {
    if let Some(n) = object["count"].as_u64().filter(|_| object["summary"] == true) {
        return format!("{n} at once");
    }
    let mut texts: Vec<String> = Vec::new();
    let names =
        ["severity", "framework", "title", "name", "user", "ruleName", "source", "threshold"];
    for name in names.iter().filter(|it| !object[**it].is_null()) {
        texts.push(print::cell(&object[*name]));
    }
    texts.extend(contradicted(&object["contradiction"]));
    for name in ["overallScore", "readinessScore", "status"] {
        let (now, before) = (&object[name], &previous[name]);
        if now.is_null() {
            continue;
        }
        let from = print::given("", before, |it| format!("{} -> ", print::cell(it)));
        texts.push(from + &print::cell(now));
    }
    let requirements: Vec<String> =
        print::rows(&object["requirements"]).iter().map(print::cell).collect();
    if !requirements.is_empty() {
        texts.push(print::first(&requirements, N_NAMED));
    }
    if !object["openRisks"].is_null() {
        texts.push(print::count(&object["openRisks"], "open risk"));
    }
    for name in ["resolution", "cause"].iter().filter(|it| !object[**it].is_null()) {
        texts.push(format!("({})", print::cell(&object[*name])));
    }
    texts.join(" ")
}
