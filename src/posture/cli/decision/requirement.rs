//! `posture requirement`: the requirements of a framework for one client, and why they are not met.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{WithdrawArgs, history, sentence};
use crate::cli::call::{Call, encoded, with_session};
use crate::cli::option::{body, end, repeated};
use crate::cli::report::observation;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RequirementCommand {
    /// List the requirements of a framework with a client's status.
    List(RequirementListArgs),
    /// Show a requirement: its status, what keeps it from being compliant, its controls, and which subjects fail.
    #[command(after_help = "\
Example:
  posture requirement show 'Acme Ltd' SOC2 CC6.1")]
    Show(RequirementArgs),
    /// List what a requirement was and when, newest first, and why it changed.
    #[command(after_help = "\
Example:
  posture requirement history 'Acme Ltd' SOC2 CC6.1")]
    History(RequirementArgs),
    /// Attest a requirement with evidence, or take it out of scope.
    Decide(DecideArgs),
    /// Withdraw the decision about a requirement.
    Withdraw(WithdrawArgs<RequirementArgs>),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture requirement list 'Acme Ltd' SOC2 --status partial --status non_compliant
  posture requirement list 'Acme Ltd' NIST_CSF --details")]
pub(in crate::cli) struct RequirementListArgs {
    /// Name or id of the client.
    client: String,
    /// Framework identifier, as shown by `posture catalog list`.
    framework: String,
    /// `compliant`, `partial`, `non_compliant`, `not_assessed` or `not_applicable`. Can be repeated.
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<String>,
    /// The framework's detail rows instead of its requirements.
    #[arg(long)]
    details: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RequirementArgs {
    /// Name or id of the client.
    client: String,
    /// Framework identifier, as shown by `posture catalog list`.
    framework: String,
    /// The framework's own reference, such as CC6.1.
    reference: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture requirement decide 'Acme Ltd' HIPAA '164.308(a)(2)' --decision attested --note 'Ada is the security officer' \\
    --evidence 'Minutes of 2026-10-02' --by 'Ada Lovelace'
  posture requirement decide 'Acme Ltd' SOC2 CC6.4 --decision out_of_scope --note 'No office' --by 'Ada Lovelace'")]
pub(in crate::cli) struct DecideArgs {
    #[command(flatten)]
    which: RequirementArgs,
    /// `attested` or `out_of_scope`.
    #[arg(long)]
    decision: String,
    /// Why.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: String,
    /// Who decided.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Where the evidence is. Required with `attested`.
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// When the decision ends. A date means the end of that day in the client's time zone. Default: a year for `attested`,
    /// never for `out_of_scope`.
    #[arg(long, alias = "until", value_name = "DATE")]
    valid_until: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: RequirementCommand) -> Result<()> {
    match command {
        RequirementCommand::List(args) => list(options, json, &args),
        RequirementCommand::Show(which) => show(options, json, &which),
        RequirementCommand::History(which) => {
            history::list(options, json, &which.client, &which.place())
        }
        RequirementCommand::Decide(args) => {
            let body = args.body()?;
            put(options, json, &args.which, &body)
        }
        RequirementCommand::Withdraw(args) => {
            put(options, json, &args.which, &args.body("decision", Value::Null))
        }
    }
}

impl RequirementArgs {
    fn path(&self, client: &str) -> String {
        format!("{client}/{}", self.place())
    }

    /// Where it is below its client.
    fn place(&self) -> String {
        let (framework, reference) = (encoded(&self.framework), encoded(&self.reference));
        format!("compliance/{framework}/{reference}")
    }
}

impl DecideArgs {
    fn body(&self) -> Result<Value> {
        let until = self.valid_until.as_deref().map(end).transpose()?;
        Ok(body(vec![
            ("decision", Some(json!(self.decision))),
            ("reason", Some(json!(self.note))),
            ("by", Some(json!(self.by))),
            ("evidence", self.evidence.as_deref().map(Value::from)),
            ("until", until.map(Value::from)),
        ]))
    }
}

fn list(options: &Config, json: bool, args: &RequirementListArgs) -> Result<()> {
    let level = if args.details { "detail" } else { "requirement" };
    let query = format!("level={level}{}", repeated("status", &args.statuses));
    let framework = encoded(&args.framework);
    let list = |client: &str| Call::get(format!("{client}/compliance/{framework}?{query}"));
    let answer = client_name::call(options, &args.client, list)?;
    if json {
        return print::json(&answer);
    }
    let all = print::rows(&answer["data"]["requirements"]);
    let is_all = args.statuses.is_empty();
    let empty = if is_all { "no requirements" } else { "no requirements with this status" };
    let heading = ["REFERENCE", "STATUS", "SCORE", "TITLE"];
    print::list(json, all, (empty, &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        let status = print::result(&it["overallStatus"], &it["partialBecause"]);
        vec![cell("requirement"), status, cell("complianceScore"), cell("title")]
    })
}

fn show(options: &Config, json: bool, which: &RequirementArgs) -> Result<()> {
    let (answer, failing) = with_session(options, async |session| {
        let client = client_name::path(session, &which.client).await?;
        let answer = session.call(Call::get(which.path(&client))).await?;
        let mut failing = Vec::new();
        for it in print::rows(&answer["data"]["controls"]).iter().filter(|_| !json) {
            let (code, status) = (print::cell(&it["controlCode"]), &it["status"]);
            if *status == "partial" || *status == "non_compliant" {
                let all = observation::failing(session, &client, &code).await?;
                failing.push((code, all));
            }
        }
        Ok((answer, failing))
    })?;
    if json {
        return print::json(&answer);
    }
    let requirement = &answer["data"];
    let mut requirement = requirement.clone();
    requirement["overallStatus"] =
        json!(print::result(&requirement["overallStatus"], &requirement["partialBecause"]));
    let names = [
        ("requirement", "requirement"),
        ("title", "title"),
        ("status", "overallStatus"),
        ("score", "complianceScore"),
        ("description", "description"),
    ];
    print::fields(&requirement, &names)?;
    let because = print::rows(&requirement["because"]);
    if !because.is_empty() {
        print::line("\nwhat keeps it from being compliant:")?;
    }
    for it in because {
        print::line(&print::wrapped(&format!("  {}", print::cell(it)), 4))?;
    }
    show_decision(&requirement["decision"])?;
    show_controls(&requirement["controls"])?;
    failing.iter().try_for_each(|(code, all)| {
        observation::show_failing(&format!("\nwhat fails of {code}:"), all)
    })
}

fn show_decision(it: &Value) -> Result<()> {
    if it.is_null() {
        return Ok(());
    }
    print::line("")?;
    print::line(&print::wrapped(&sentence(it, "decision"), 2))
}

fn show_controls(controls: &Value) -> Result<()> {
    print::line("")?;
    let heading = ["CONTROL", "ROLE", "STATUS", "SCORE", "TITLE"];
    print::list(false, print::rows(controls), ("no controls count for it", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        let status = print::result(&it["status"], &it["partialBecause"]);
        vec![cell("controlCode"), cell("role"), status, cell("score"), cell("title")]
    })
}

fn put(options: &Config, json: bool, which: &RequirementArgs, body: &Value) -> Result<()> {
    let put = |client: &str| Call::of("PUT", which.path(client), body);
    let answer = client_name::call(options, &which.client, put)?;
    if json {
        return print::json(&answer);
    }
    let it = &answer["data"];
    let cell = |name: &str| print::cell(&it[name]);
    let (framework, reference) = (cell("frameworkId"), cell("requirement"));
    let score = cell("complianceScore");
    let status = print::result(&it["overallStatus"], &Value::Null);
    print::line(&format!("{framework} {reference} is {status}, score {score}"))?;
    show_decision(&it["decision"])
}
