//! `posture statement`: what people said about a client, and what became of it.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::option::{query, repeated};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StatementCommand {
    /// List who said what about a client and when, newest first, and what became of it.
    List(StatementListArgs),
    /// Undo what was said by mistake, within 30 days: as if it had never been said. The record stays.
    Undo(StatementUndoArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture statement undo 'Acme Ltd' 12 --note 'It was meant for another client'

To say that something is no longer true: `posture control withdraw`, `control subjects --withdraw`, \
`requirement withdraw`, `risk revoke`.")]
pub(in crate::cli) struct StatementUndoArgs {
    /// Name or id of the client.
    client: String,
    /// Number of the record, as shown by `posture statement list`.
    number: u64,
    /// Why it was a mistake.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture statement list 'Acme Ltd'
  posture statement list 'Acme Ltd' --kind control --subject GOV-14
  posture statement list 'Acme Ltd' --framework HIPAA")]
pub(in crate::cli) struct StatementListArgs {
    /// Name or id of the client.
    client: String,
    /// `control`, `requirement`, `risk`, `profile`, `import`, `hold` or `subjects`.
    #[arg(long)]
    kind: Option<String>,
    /// Control code, reference of a framework, risk id, question of the profile or import id.
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// Only those about requirements of this framework, such as HIPAA.
    #[arg(long, value_name = "FRAMEWORK")]
    framework: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: StatementCommand) -> Result<()> {
    match command {
        StatementCommand::List(args) => list(options, json, &args),
        StatementCommand::Undo(args) => undo(options, json, &args),
    }
}

fn undo(options: &Config, json: bool, args: &StatementUndoArgs) -> Result<()> {
    let body = json!({ "reason": args.note });
    let undo =
        |client: &str| Call::of("POST", format!("{client}/statements/{}/undo", args.number), &body);
    let answer = client_name::call(options, &args.client, undo)?;
    let it = &answer["data"];
    print::done(json, &answer, &format!("undone: {}, {}", about(it), said(it)))
}

fn list(options: &Config, json: bool, args: &StatementListArgs) -> Result<()> {
    let parameters = [
        repeated("kind", args.kind.as_slice()),
        repeated("subject", args.subject.as_slice()),
        repeated("framework", args.framework.as_slice()),
    ];
    let list = format!("statements{}", query(&parameters.concat()));
    let all = client_name::list(options, &args.client, &list, PULL_LIMIT_MAX)?;
    let heading = ["NO", "RECORDED", "ABOUT", "SAID", "STATE", "BY", "VIA", "REASON"];
    print::list(json, &all, ("nothing was said", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("number"),
            print::minute(&it["recordedAt"]),
            about(it),
            said(it),
            state(it),
            cell("by"),
            cell("channel"),
            cell("reason"),
        ]
    })
}

fn about(it: &Value) -> String {
    let framework = print::given("", &it["frameworkId"], print::cell);
    let space = if framework.is_empty() { "" } else { " " };
    format!("{framework}{space}{}{}", print::cell(&it["subject"]), part(&it["part"]))
}

/// Written as ` (length, aws/123456789012)`.
fn part(it: &Value) -> String {
    let place = if it["scope"].is_null() { &it["platform"] } else { &it["scope"] };
    let named: Vec<&str> = [&it["facet"], place].into_iter().filter_map(Value::as_str).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

fn said(it: &Value) -> String {
    if !it["withdraws"].is_null() {
        return format!("withdraws {}", print::cell(&it["withdraws"]));
    }
    if !it["undoes"].is_null() {
        return format!("undoes {}", print::cell(&it["undoes"]));
    }
    let until = print::given(" until ", &it["validUntil"], print::end);
    let evidence = print::given("; evidence: ", &it["evidence"], print::cell);
    format!("{}{until}{evidence}", print::cell(&it["answer"]))
}

fn state(it: &Value) -> String {
    let by = print::given(" by ", &it["endedBy"], print::cell);
    format!("{}{by}", print::cell(&it["state"]))
}
