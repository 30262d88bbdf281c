//! `posture risk`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::WithdrawArgs;
use crate::cli::call::{Call, encoded, with_session};
use crate::cli::option::{body, end, id, query, references, repeated};
use crate::cli::report::observation;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::engine::risk::split_remediation;
use crate::error::Result;
use crate::id::RiskId;
use crate::page::LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RiskCommand {
    /// List a client's open risks, the worst first.
    List(RiskListArgs),
    /// Show an open risk, and what fails.
    #[command(after_help = "\
Example:
  posture risk show 'Acme Ltd' 0199e0a0-5c1a-7e6d-9f0b-1f2e3d4c5b6a")]
    Show(RiskArgs),
    /// Accept a risk until a date. Scores do not change; the risk returns when the acceptance ends.
    Accept(RiskAcceptArgs),
    /// Revoke the acceptance of a risk.
    Revoke(WithdrawArgs<RiskArgs>),
    /// Change what a risk is called in other systems.
    Set(RiskSetArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture risk list 'Acme Ltd' --severity critical --severity high
  posture risk list 'Acme Ltd' --all")]
pub(in crate::cli) struct RiskListArgs {
    /// Name or id of the client.
    client: String,
    /// critical, high, medium or low. Can be repeated.
    #[arg(long = "severity", value_name = "SEVERITY", value_delimiter = ',')]
    severities: Vec<String>,
    /// Include accepted risks.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RiskArgs {
    /// Name or id of the client.
    client: String,
    /// Risk id, as shown by `posture risk list`.
    risk: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture risk accept 'Acme Ltd' RISK --reason 'The server is replaced in March' --until 2027-03-31")]
pub(in crate::cli) struct RiskAcceptArgs {
    #[command(flatten)]
    which: RiskArgs,
    /// Why the risk is accepted.
    #[arg(long, alias = "note", value_name = "TEXT")]
    reason: String,
    /// When the acceptance ends, at most two years from now. A date means the end of that day in the client's time zone.
    #[arg(long, alias = "valid-until", value_name = "DATE")]
    until: String,
    /// Who decided. Default: the operator.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture risk set 'Acme Ltd' RISK --reference halo=4711")]
pub(in crate::cli) struct RiskSetArgs {
    #[command(flatten)]
    which: RiskArgs,
    /// What another system calls it, for example its ticket. Can be repeated. Replaces all; an empty value removes them.
    #[arg(long = "reference", value_name = "SYSTEM=ID", required = true)]
    references: Vec<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: RiskCommand) -> Result<()> {
    match command {
        RiskCommand::List(args) => list(options, json, &args),
        RiskCommand::Show(which) => show(options, json, &which),
        RiskCommand::Accept(RiskAcceptArgs { which, reason, until, by }) => {
            let until = end(&until)?;
            let change = body(vec![
                ("accepted", Some(json!(true))),
                ("until", Some(json!(until))),
                ("reason", Some(json!(reason))),
                ("by", by.map(Value::from)),
            ]);
            let done = |risk: &Value| {
                let until = print::end(&risk["acceptance"]["until"]);
                format!("accepted until {until}: {}", print::cell(&risk["title"]))
            };
            change_risk(options, json, &which, &change, done)
        }
        RiskCommand::Revoke(args) => {
            let done = |risk: &Value| format!("open again: {}", print::cell(&risk["title"]));
            change_risk(options, json, &args.which, &args.body("accepted", json!(false)), done)
        }
        RiskCommand::Set(RiskSetArgs { which, references: pairs }) => {
            let change = body(vec![("externalReferences", references(&pairs)?)]);
            let done = |risk: &Value| {
                let names = print::references(&risk["externalReferences"]);
                format!("references of {}: {names}", print::cell(&risk["title"]))
            };
            change_risk(options, json, &which, &change, done)
        }
    }
}

impl RiskArgs {
    fn id(&self) -> Result<RiskId> {
        id(&self.risk, "a risk id", "risk list")
    }
}

fn list(options: &Config, json: bool, args: &RiskListArgs) -> Result<()> {
    let accepted = if args.all { "" } else { "&accepted=false" };
    let query = query(&format!("{accepted}{}", repeated("severity", &args.severities)));
    let all = client_name::list(options, &args.client, &format!("risks{query}"), LIMIT_MAX)?;
    let empty = match (args.severities.is_empty(), args.all) {
        (true, true) => "no open or accepted risks",
        (true, false) => "no open risks; --all includes accepted ones",
        (false, true) => "no open or accepted risks with this severity",
        (false, false) => "no open risks with this severity; --all includes accepted ones",
    };
    let heading = ["ID", "SEVERITY", "SCORE", "STATE", "CONTROL", "RISK"];
    print::list(json, &all, (empty, &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        let (id, control, title) = (cell("id"), cell("controlCode"), cell("title"));
        vec![id, cell("severity"), cell("riskScore"), state(it), control, title]
    })
}

/// Whether a risk is accepted, and until when.
fn state(it: &Value) -> String {
    if it["acceptance"].is_null() && it["muted"] == true {
        return "muted at the source".to_owned();
    }
    if !it["acceptance"].is_null() {
        return format!("accepted until {}", print::end(&it["acceptance"]["until"]));
    }
    if it["verified"] == false { "unverified".to_owned() } else { "open".to_owned() }
}

fn show(options: &Config, json: bool, which: &RiskArgs) -> Result<()> {
    let id = which.id()?;
    let (answer, mut risk, failing) = with_session(options, async |session| {
        let client = client_name::path(session, &which.client).await?;
        let answer = session.call(Call::get(format!("{client}/risks/{id}"))).await?;
        let mut risk = answer["data"].clone();
        let mut failing = Vec::new();
        if let (Some(code), false) = (answer["data"]["controlCode"].as_str(), json) {
            failing = observation::failing(session, &client, code).await?;
            let control = Call::get(format!("{client}/controls/{}", encoded(code)));
            risk["remediation"] = session.call(control).await?["data"]["remediation"].take();
        }
        Ok((answer, risk, failing))
    })?;
    if json {
        return print::json(&answer);
    }
    risk["dollars"] =
        risk["dollarImpact"].as_u64().map_or(Value::Null, |it| json!(print::dollars(it)));
    risk["state"] = json!(state(&risk));
    if risk["controlCode"].is_null() {
        risk["controlCode"] = json!("none is mapped to the check");
        if let Some((found, remediation)) = split_remediation(&print::cell(&risk["description"])) {
            risk["description"] = json!(found);
            risk["remediation"] = json!(remediation);
        }
    }
    risk["references"] = json!(print::references(&risk["externalReferences"]));
    let names = [
        ("risk", "title"),
        ("id", "id"),
        ("severity", "severity"),
        ("score", "riskScore"),
        ("state", "state"),
        ("category", "category"),
        ("control", "controlCode"),
        ("dollars a year", "dollars"),
        ("opened", "openedAt"),
        ("references", "references"),
        ("description", "description"),
        ("remediation", "remediation"),
    ];
    print::fields(&risk, &names)?;
    let exceeded = "; it got worse than that, so it is open until it is no worse";
    for (name, what) in [("acceptance", ""), ("exceededAcceptance", exceeded)] {
        let acceptance = &risk[name];
        if !acceptance.is_null() {
            let cell = |name: &str| print::cell(&acceptance[name]);
            let until = print::minute(&acceptance["until"]);
            let (by, reason) = (cell("by"), cell("reason"));
            print::line(&format!("accepted by {by} until {until}: {reason}{what}"))?;
        }
    }
    observation::show_failing("what fails:", &failing)
}

fn change_risk(
    options: &Config,
    json: bool,
    which: &RiskArgs,
    change: &Value,
    done: impl FnOnce(&Value) -> String,
) -> Result<()> {
    let id = which.id()?;
    let patch = |client: &str| Call::of("PATCH", format!("{client}/risks/{id}"), change);
    let answer = client_name::call(options, &which.client, patch)?;
    if json {
        return print::json(&answer);
    }
    print::line(&done(&answer["data"]))
}
