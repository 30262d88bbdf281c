//! `posture estate`: what exists at a client, and what of it nobody looked at.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::WithdrawArgs;
use crate::cli::call::Call;
use crate::cli::option::{body, end};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum EstateCommand {
    /// List what is known to exist at a client, and what of it nobody looked at.
    #[command(after_help = "\
Example:
  posture estate list 'Acme Ltd'")]
    List(EstateArgs),
    /// Say that there are no more cloud accounts, computers, servers, phones or systems than are known.
    All(AllArgs),
    /// Withdraw that these are all.
    NotAll(WithdrawArgs<KindArgs>),
    /// Take accounts or devices out of what must be seen: they exist, and are not meant.
    Exclude(MemberArgs),
    /// Take accounts or devices out of what must be seen: they are gone, until they are seen again.
    Retire(MemberArgs),
    /// Take accounts or devices back in that were excluded or retired.
    Count(MemberArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct EstateArgs {
    /// Name or id of the client.
    client: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum Kind {
    CloudAccounts,
    Computers,
    Servers,
    Phones,
    Systems,
}

impl Kind {
    /// As the API names it.
    pub(in crate::cli) const fn as_str(self) -> &'static str {
        match self {
            Self::CloudAccounts => "cloud_accounts",
            Self::Computers => "computers",
            Self::Servers => "servers",
            Self::Phones => "phones",
            Self::Systems => "systems",
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct KindArgs {
    /// Name or id of the client.
    client: String,
    /// What there are no more of.
    kind: Kind,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture estate all 'Acme Ltd' cloud-accounts --note 'Confirmed in the meeting of 2026-11-12' --by 'Ada Lovelace'")]
pub(in crate::cli) struct AllArgs {
    #[command(flatten)]
    which: KindArgs,
    /// How it is known.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: String,
    /// Who says it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Until when it counts, at most two years. A date means the end of that day in the client's time zone. Default: a year.
    #[arg(long, alias = "until", value_name = "DATE")]
    valid_until: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture estate exclude 'Acme Ltd' aws/123456789012 --note 'Sandbox for trainings' --by 'Ada Lovelace'
  posture estate retire 'Acme Ltd' 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --note 'Scrapped' --by 'Ada Lovelace'")]
pub(in crate::cli) struct MemberArgs {
    /// Name or id of the client.
    client: String,
    /// Accounts and domains as shown by `posture estate list`, and ids of devices as shown by `posture asset list`.
    #[arg(required = true, value_name = "MEMBER")]
    members: Vec<String>,
    /// Why.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: Option<String>,
    /// Who decides it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// When the decision ends. Default: an exclusion after a year; what is retired stays so.
    #[arg(long, alias = "until", value_name = "DATE")]
    valid_until: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: EstateCommand) -> Result<()> {
    match command {
        EstateCommand::List(it) => {
            let show = |client: &str| Call::get(format!("{client}/estate"));
            let answer = client_name::call(options, &it.client, show)?;
            show_estate(json, &answer)
        }
        EstateCommand::All(it) => {
            let until = it.valid_until.as_deref().map(end).transpose()?;
            let said = body(vec![
                ("all", Some(json!(true))),
                ("reason", Some(json!(it.note))),
                ("by", Some(json!(it.by))),
                ("until", until.map(Value::from)),
            ]);
            say(options, json, &it.which, &said)
        }
        EstateCommand::NotAll(it) => say(options, json, &it.which, &it.body("all", json!(false))),
        EstateCommand::Exclude(it) => decide(options, json, &it, "excluded"),
        EstateCommand::Retire(it) => decide(options, json, &it, "retired"),
        EstateCommand::Count(it) => decide(options, json, &it, "counted"),
    }
}

fn say(options: &Config, json: bool, which: &KindArgs, said: &Value) -> Result<()> {
    let put =
        |client: &str| Call::of("PUT", format!("{client}/estate/{}", which.kind.as_str()), said);
    let answer = client_name::call(options, &which.client, put)?;
    show_estate(json, &answer)
}

fn decide(options: &Config, json: bool, args: &MemberArgs, decision: &str) -> Result<()> {
    let until = args.valid_until.as_deref().map(end).transpose()?;
    let decided = body(vec![
        ("members", Some(json!(args.members))),
        ("decision", Some(json!(decision))),
        ("reason", args.note.as_deref().map(Value::from)),
        ("by", Some(json!(args.by))),
        ("until", until.map(Value::from)),
    ]);
    let post = |client: &str| Call::of("POST", format!("{client}/estate/decisions"), &decided);
    let answer = client_name::call(options, &args.client, post)?;
    show_estate(json, &answer)
}

fn show_estate(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let estate = &answer["data"];
    print::list(false, print::rows(&estate["kinds"]), ("", &["KIND", "KNOWN", "ALL"]), |it| {
        vec![print::cell(&it["kind"]), print::cell(&it["known"]), all(it)]
    })?;
    print::line("")?;
    let heading = ["MEMBER", "NAME", "KIND", "STATE", "FIRST SEEN", "LAST SEEN", "BY", "DECIDED"];
    let none = "nothing was seen yet";
    print::list(false, print::rows(&estate["members"]), (none, &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            cell("name"),
            cell("kind"),
            state(it),
            print::day(&it["firstSeen"]),
            print::day(&it["lastSeen"]),
            cell("source"),
            decided(&it["decision"]),
        ]
    })?;
    print::line("")?;
    let heading = ["NOT LOOKED AT", "CONTROLS", "WHAT TO DO"];
    let none = "all that is known was looked at";
    print::list(false, print::rows(&estate["unseen"]), (none, &heading), |it| {
        vec![print::cell(&it["what"]), controls(it), print::cell(&it["remedy"])]
    })
}

/// Whether a member must be seen; of one that is new, from when on.
fn state(member: &Value) -> String {
    let from = print::given(" until ", &member["countsFrom"], print::day);
    format!("{}{from}", print::cell(&member["state"]))
}

/// The control that something unseen keeps from being met, or how many there are.
pub(in crate::cli) fn controls(unseen: &Value) -> String {
    match print::rows(&unseen["controlCodes"]) {
        [only] => print::cell(only),
        all => all.len().to_string(),
    }
}

/// Whether these are all, and who says so.
fn all(kind: &Value) -> String {
    let said = &kind["all"];
    if kind["listed"] == true {
        return "listed by a source".to_owned();
    }
    if said.is_null() {
        return match kind["kind"].as_str() {
            Some("platforms") => "the profile says which are used".to_owned(),
            Some("scopes" | "domains") => "each one is asked for".to_owned(),
            Some(_) | None => "nobody says so".to_owned(),
        };
    }
    let until = print::given(" until ", &said["until"], print::end);
    let more = if said["counts"] == true { "" } else { "; does not count any more" };
    format!("said by {}{until}: {}{more}", print::cell(&said["by"]), print::cell(&said["reason"]))
}

fn decided(decision: &Value) -> String {
    if decision.is_null() { String::new() } else { super::sentence(decision, "decision") }
}
