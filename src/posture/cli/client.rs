//! `posture client`.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use serde_json::{Map, Value, json};

use super::call::{Call, ServerSession, encoded, with_session};
use super::option::{body, clearable, end, references, require_change};
use super::{client_name, input, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::page::LIMIT_MAX;

/// Its assessments ask for artifacts of six years.
const CMMC_L2: &str = "CMMC_L2";
const REFERENCES: &str = "externalReferences";

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Add a client organization and print its id.
    #[command(after_help = "\
Example:
  posture client add --name 'Acme Ltd' --industry Healthcare --employees 40 --profile m365=used,aws=unused")]
    Add(ClientAddArgs),
    /// Add the clients of a CSV list that are not there yet.
    #[command(after_help = "\
The first row names the columns: name, and optionally industry, employees, frameworks and tags,
which are separated by semicolons. Names that clients already have are left out. If a row
breaks a rule, none is added.

Example:
  posture client import clients.csv")]
    Import {
        /// The list, or - for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List all clients.
    List,
    /// Show a client.
    Show {
        /// Name or id of the client.
        client: String,
    },
    /// List what a client came to each day, newest first: its score, readiness for each framework, and SPRS.
    #[command(after_help = "\
Example:
  posture client days 'Acme Ltd' --days 90")]
    Days {
        /// Name or id of the client.
        client: String,
        /// How many days.
        #[arg(long, value_name = "DAYS", default_value = "31", value_parser = value_parser!(u32).range(1..=1000))]
        days: u32,
    },
    /// Change a client.
    Set(ClientSetArgs),
    /// Place a hold on a client: nothing about it is removed, by age or by erasing it.
    #[command(after_help = "\
A hold that stands is replaced. The assessment for CMMC keeps artifacts for six years.

Examples:
  posture client hold 'Acme Ltd' --note 'Litigation, case 4711'
  posture client hold 'Acme Ltd' --note '32 CFR 170.17: six years' --until 2032-12-31")]
    Hold {
        /// Name or id of the client.
        client: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        note: String,
        /// When the hold ends by itself. Default: it does not.
        #[arg(long, value_name = "DATE")]
        until: Option<String>,
    },
    /// Lift the hold of a client.
    Release {
        /// Name or id of the client.
        client: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
    /// List the clients that were erased: receipts with digests and counts, newest first.
    Erasures,
    /// Erase a client and all of its data. Only a backup can bring it back. Prints a receipt.
    Remove {
        /// Name or id of the client.
        client: String,
        /// Confirm the erasure. Without it, nothing is erased.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct ClientAddArgs {
    /// Name of the client.
    #[arg(long)]
    name: String,
    /// Industry, such as Healthcare.
    #[arg(long)]
    industry: Option<String>,
    /// Number of employees.
    #[arg(long)]
    employees: Option<u32>,
    /// What the client uses: QUESTION=used|unused|unknown, such as m365=used,aws=unused. Can be repeated.
    #[arg(long = "profile", value_name = "QUESTION=USAGE", value_delimiter = ',')]
    profile: Vec<String>,
    /// What another system calls the client, for example a company of a PSA. Can be repeated.
    #[arg(long = "reference", value_name = "SYSTEM=ID")]
    references: Vec<String>,
    /// Add the client even if another one has this name, or one that looks like it.
    #[arg(long)]
    allow_same_name: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture client set 'Acme Ltd' --profile aws=unused,gcp=unused
  posture client set 'Acme Ltd' --reference halo=4711 --setting staleAssetDays=14")]
pub(super) struct ClientSetArgs {
    /// Name or id of the client.
    client: String,
    /// Name of the client.
    #[arg(long)]
    name: Option<String>,
    /// Industry, such as Healthcare. An empty value clears it.
    #[arg(long)]
    industry: Option<String>,
    /// Number of employees.
    #[arg(long)]
    employees: Option<u32>,
    /// `false` leaves the client out of the API; its data is kept.
    #[arg(long)]
    active: Option<bool>,
    /// What the client uses: QUESTION=used|unused|unknown, such as aws=unused,gcp=unused. Can be repeated.
    #[arg(long = "profile", value_name = "QUESTION=USAGE", value_delimiter = ',')]
    profile: Vec<String>,
    /// A setting: NAME=JSON, such as staleAssetDays=14. Can be repeated.
    #[arg(long = "setting", value_name = "NAME=JSON")]
    settings: Vec<String>,
    /// What another system calls the client. Can be repeated. Replaces all; an empty value removes them.
    #[arg(long = "reference", value_name = "SYSTEM=ID")]
    references: Vec<String>,
    /// Take the name even if another client has it, or one that looks like it.
    #[arg(long)]
    allow_same_name: bool,
}

pub(super) fn run(options: &Config, json: bool, command: ClientCommand) -> Result<()> {
    with_session(options, async |session| match command {
        ClientCommand::Add(args) => add(session, json, &args).await,
        ClientCommand::Import { file } => {
            let answer = input::send(session, &file, "/api/clients/list".to_owned()).await;
            let answer = answer.map_err(|error| error.at(&input::name(&file)))?;
            imported(json, &answer)
        }
        ClientCommand::List => list(json, &session.list("/api/clients", LIMIT_MAX).await?),
        ClientCommand::Show { client } => {
            let path = client_name::path(session, &client).await?;
            show(json, &session.call(Call::get(path)).await?)
        }
        ClientCommand::Days { client, days } => {
            let path = client_name::path(session, &client).await?;
            let answer = session.call(Call::get(format!("{path}/days?limit={days}"))).await?;
            show_days(json, &answer)
        }
        ClientCommand::Set(args) => {
            let body = args.body()?;
            let id = client_name::find(session, &args.client).await?;
            let path = format!("/api/clients/{id}");
            let answer = session.call(Call::of("PATCH", path, &body)).await?;
            show(json, &answer)?;
            if args.settings.iter().any(|it| it.starts_with("frameworks=")) {
                offer_hold(&answer["data"]);
            }
            Ok(())
        }
        ClientCommand::Remove { client, yes } => {
            if !yes {
                let how =
                    "this erases the client and all of its data; repeat with --yes to confirm";
                return Err(Error::invalid(how));
            }
            let path = client_name::path(session, &client).await?;
            let answer = session.call(Call::delete(path)).await?;
            show_erasure(json, &answer)
        }
        ClientCommand::Hold { client, note, until } => {
            let until = until.as_deref().map(end).transpose()?.map(Value::from);
            let note = Some(json!(note));
            let hold = body(vec![("reason", note), ("until", until)]);
            let path = client_name::path(session, &client).await?;
            let call = Call::of("PUT", format!("{path}/hold"), &hold);
            show(json, &session.call(call).await?)
        }
        ClientCommand::Release { client, note } => {
            let path = client_name::path(session, &client).await?;
            let query = format!("?reason={}", encoded(&note));
            show(json, &session.call(Call::delete(format!("{path}/hold{query}"))).await?)
        }
        ClientCommand::Erasures => {
            list_erasures(json, &session.list("/api/erasures", LIMIT_MAX).await?)
        }
    })
}

/// What CMMC asks of artifacts cannot be met later: what was removed by then is gone.
fn offer_hold(client: &Value) {
    let frameworks = print::rows(&client["settings"]["frameworks"]);
    if frameworks.iter().any(|it| it == CMMC_L2) && client["hold"].is_null() {
        let name = print::cell(&client["name"]);
        print::warn(&format!(
            "CMMC keeps artifacts for six years (32 CFR 170.17), and results that newer ones replaced are removed sooner. Keep all with\n  \
             posture client hold '{name}' --note '32 CFR 170.17' --until DATE"
        ));
    }
}

async fn add(session: &ServerSession, json: bool, args: &ClientAddArgs) -> Result<()> {
    let body = args.body()?;
    let answer = session.call(Call::of("POST", "/api/clients", &body)).await?;
    print::id(json, &answer)
}

impl ClientAddArgs {
    fn body(&self) -> Result<Value> {
        Ok(body(vec![
            ("name", Some(json!(self.name))),
            ("allowSameName", self.allow_same_name.then_some(json!(true))),
            ("industry", self.industry.as_deref().map(Value::from)),
            ("employeeCount", self.employees.map(Value::from)),
            ("settings", profile(&self.profile)?.map(|it| json!({ "profile": it }))),
            (REFERENCES, references(&self.references)?),
        ]))
    }
}

impl ClientSetArgs {
    /// # Errors
    /// `Invalid` if there is nothing to change.
    fn body(&self) -> Result<Value> {
        let mut settings = Map::new();
        for pair in &self.settings {
            let (name, value) = split(pair)?;
            let value = serde_json::from_str(value)
                .map_err(|_| Error::invalid(format!("--setting {pair}: `{value}` is not JSON")))?;
            settings.insert(name.to_owned(), value);
        }
        settings.extend(profile(&self.profile)?.map(|it| ("profile".to_owned(), it)));
        require_change(body(vec![
            ("name", self.name.as_deref().map(Value::from)),
            ("allowSameName", self.allow_same_name.then_some(json!(true))),
            ("industry", clearable(self.industry.as_deref())),
            ("employeeCount", self.employees.map(Value::from)),
            ("active", self.active.map(Value::from)),
            ("settings", (!settings.is_empty()).then_some(Value::Object(settings))),
            (REFERENCES, references(&self.references)?),
        ]))
    }
}

/// Reads `QUESTION=USAGE` pairs. `None`: no option was given.
fn profile(pairs: &[String]) -> Result<Option<Value>> {
    let answers =
        pairs.iter().map(|it| split(it).map(|(name, usage)| (name.to_owned(), json!(usage))));
    let answers = answers.collect::<Result<Map<_, _>>>()?;
    Ok((!answers.is_empty()).then_some(Value::Object(answers)))
}

fn split(pair: &str) -> Result<(&str, &str)> {
    pair.split_once('=')
        .ok_or_else(|| Error::invalid(format!("`{pair}` must have the form NAME=VALUE")))
}

fn list(json: bool, clients: &[Value]) -> Result<()> {
    let heading = ["ID", "NAME", "INDUSTRY", "EMPLOYEES", "ACTIVE"];
    print::list(json, clients, ("no clients", &heading), |it| {
        ["id", "name", "industry", "employeeCount", "active"]
            .map(|name| print::cell(&it[name]))
            .to_vec()
    })
}

fn show_days(json: bool, answer: &Value) -> Result<()> {
    let all = print::rows(&answer["data"]);
    let figure = |it: &Value| {
        let sprs = print::given(", SPRS ", &it["sprsScore"], print::cell);
        format!("{} {}{sprs}", print::cell(&it["frameworkId"]), print::cell(&it["readinessScore"]))
    };
    let heading = ["DAY", "SCORE", "READINESS"];
    print::list(json, all, ("never assessed", &heading), |it| {
        let figures: Vec<String> = print::rows(&it["frameworks"]).iter().map(figure).collect();
        vec![print::cell(&it["day"]), print::cell(&it["score"]), figures.join("; ")]
    })
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut client = answer["data"].clone();
    if !client["hold"].is_null() {
        client["hold"] = json!(hold(&client["hold"]));
    }
    client["references"] = json!(print::references(&client[REFERENCES]));
    let profile = client["settings"]["profile"].take();
    for usage in ["used", "unused"] {
        let answers = profile.as_object().into_iter().flatten();
        let of_usage = answers.filter(|(_, it)| it["usage"] == usage);
        let questions: Vec<&str> = of_usage.map(|(question, _)| question.as_str()).collect();
        let is_known = !questions.is_empty();
        client[usage] = if is_known { json!(questions.join(", ")) } else { Value::Null };
    }
    if let Some(settings) = client["settings"].as_object_mut() {
        settings.remove("profile");
    }
    print::fields(
        &client,
        &[
            ("id", "id"),
            ("name", "name"),
            ("industry", "industry"),
            ("employees", "employeeCount"),
            ("active", "active"),
            ("references", "references"),
            ("added", "createdAt"),
            ("changed", "updatedAt"),
            ("uses", "used"),
            ("does not use", "unused"),
            ("settings", "settings"),
            ("hold", "hold"),
        ],
    )
}

fn hold(it: &Value) -> String {
    let until = print::given(" until ", &it["until"], print::end);
    let [reason, by, since] = ["reason", "by", "since"].map(|name| print::cell(&it[name]));
    format!("{reason} (by {by}, {since}{until})")
}

fn counts(it: &Value) -> String {
    let all = it["counts"].as_object().into_iter().flatten();
    let some = all.filter(|(_, n)| **n != 0).map(|(what, n)| format!("{n} {what}"));
    some.collect::<Vec<_>>().join(", ")
}

fn show_erasure(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut receipt = answer["data"].clone();
    receipt["counts"] = json!(counts(&answer["data"]));
    receipt["evidence"] = json!(print::rows(&receipt["evidenceSha256"]).len());
    print::fields(
        &receipt,
        &[
            ("erased", "finishedAt"),
            ("by", "by"),
            ("SHA-256 of its id", "clientSha256"),
            ("there was", "counts"),
            ("SHA-256 of statements", "statementsSha256"),
            ("evidence with SHA-256", "evidence"),
            ("backups have it until", "backupsUntil"),
        ],
    )
}

fn list_erasures(json: bool, all: &[Value]) -> Result<()> {
    let heading =
        ["BEGUN", "FINISHED", "BY", "SHA-256 OF ITS ID", "BACKUPS HAVE IT UNTIL", "THERE WAS"];
    print::list(json, all, ("no client was erased", &heading), |it| {
        let names = ["begunAt", "finishedAt", "by", "clientSha256", "backupsUntil"];
        let cells = names.map(|name| print::cell(&it[name]));
        cells.into_iter().chain([counts(it)]).collect()
    })
}

fn imported(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let [added, known] =
        ["added", "known"].map(|it| answer["data"][it].as_array().map_or(0, Vec::len));
    let there = if known == 0 { String::new() } else { format!("; {known} were there already") };
    print::line(&format!("{} added{there}", print::count(&added.into(), "client")))
}
