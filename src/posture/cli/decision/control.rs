//! `posture control`: the controls of a client.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::subject::{self, SubjectsArgs};
use super::{WithdrawArgs, history, sentence};
use crate::cli::call::{Call, encoded, with_session};
use crate::cli::option::{body, end, query, repeated};
use crate::cli::report::observation;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ControlCommand {
    /// List a client's controls with their results.
    List(ControlListArgs),
    /// Show a client's control: its status, why, and which subjects fail.
    #[command(after_help = "\
Example:
  posture control show 'Acme Ltd' ID-01")]
    Show(ControlArgs),
    /// List what a control was and when, newest first, and why it changed.
    #[command(after_help = "\
Example:
  posture control history 'Acme Ltd' ID-01")]
    History(ControlArgs),
    /// Attest a control: what a person knows about it.
    Attest(AttestArgs),
    /// Withdraw the attestation of a control.
    Withdraw(WithdrawPartArgs),
    /// List the failing subjects of a control, or decide that single ones are meant to be so or accepted.
    Subjects(SubjectsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture control list 'Acme Ltd' --status non_compliant --status partial
  posture control list 'Acme Ltd' --status not_assessed --framework HIPAA
  posture control list 'Acme Ltd' --search backup

`posture catalog control CODE` shows what a control asks for.")]
pub(in crate::cli) struct ControlListArgs {
    /// Name or id of the client.
    client: String,
    /// `compliant`, `partial`, `non_compliant`, `not_assessed` or `not_applicable`. Can be repeated.
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<String>,
    /// Only those that a requirement of this framework names, such as HIPAA.
    #[arg(long, value_name = "FRAMEWORK")]
    framework: Option<String>,
    /// Only those with this in their code, title or what they require.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ControlArgs {
    /// Name or id of the client.
    client: String,
    /// Control code, such as ID-01.
    code: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture control attest 'Acme Ltd' GOV-14 --status compliant --note 'Tested on 2026-11-12' \\
    --evidence 'SharePoint: Audits/restore-test.pdf' --by 'Ada Lovelace'
  posture control attest 'Acme Ltd' NET-22 --facet registrar --status compliant --note 'Locked, renews by itself' \\
    --evidence 'SharePoint: Domains/registrar.pdf' --by 'Ada Lovelace'
  posture control attest 'Acme Ltd' PHY-03 --status not_applicable --note 'No office' --by 'Ada Lovelace'")]
pub(in crate::cli) struct AttestArgs {
    #[command(flatten)]
    which: ControlArgs,
    #[command(flatten)]
    part: PartArgs,
    /// `compliant`, `partial`, `non_compliant` or `not_applicable`. Without evidence, `compliant` is said, not shown.
    #[arg(long)]
    status: String,
    /// Why, or how it is known.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: String,
    /// Who attests it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Where the evidence is.
    #[arg(long, value_name = "TEXT", conflicts_with = "evidence_id")]
    evidence: Option<String>,
    /// Entry of the evidence register, as shown by `posture evidence list`.
    #[arg(long, value_name = "ID")]
    evidence_id: Option<String>,
    /// When the attestation ends. A date means the end of that day in the client's time zone. Default: as long as a result of
    /// the control counts.
    #[arg(long, alias = "until", value_name = "DATE")]
    valid_until: Option<String>,
    /// The attestation counts even while a technical result says otherwise. Requires --valid-until.
    #[arg(long = "override")]
    overrides: bool,
}

/// The part of a control that a person speaks of.
#[derive(Debug, Args)]
pub(in crate::cli) struct PartArgs {
    /// Only this facet, as `posture catalog control` names it.
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,
    /// Only on this platform of the profile, such as aws.
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<String>,
    /// Only for this account, as `posture estate list` names it, such as aws/123456789012.
    #[arg(long, value_name = "ACCOUNT")]
    scope: Option<String>,
}

impl PartArgs {
    fn add_to(&self, body: &mut Value) {
        let all = [("facet", &self.facet), ("platform", &self.platform), ("scope", &self.scope)];
        for (field, given) in all {
            if let Some(it) = given {
                body[field] = json!(it);
            }
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WithdrawPartArgs {
    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    rest: WithdrawArgs<ControlArgs>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: ControlCommand) -> Result<()> {
    match command {
        ControlCommand::List(args) => list(options, json, &args),
        ControlCommand::Show(which) => show(options, json, &which),
        ControlCommand::History(it) => {
            history::list(options, json, &it.client, &format!("controls/{}", encoded(&it.code)))
        }
        ControlCommand::Attest(args) => {
            let body = args.body()?;
            put(options, json, &args.which, &body)
        }
        ControlCommand::Subjects(args) => subject::run(options, json, &args),
        ControlCommand::Withdraw(args) => {
            let mut body = args.rest.body("status", Value::Null);
            args.part.add_to(&mut body);
            put(options, json, &args.rest.which, &body)
        }
    }
}

fn path(client: &str, code: &str) -> String {
    format!("{client}/controls/{}", encoded(code))
}

impl AttestArgs {
    fn body(&self) -> Result<Value> {
        let until = self.valid_until.as_deref().map(end).transpose()?;
        let mut body = body(vec![
            ("status", Some(json!(self.status))),
            ("reason", Some(json!(self.note))),
            ("by", Some(json!(self.by))),
            ("evidence", self.evidence.as_deref().map(Value::from)),
            ("evidenceId", self.evidence_id.as_deref().map(Value::from)),
            ("until", until.map(Value::from)),
            ("override", self.overrides.then_some(json!(true))),
        ]);
        self.part.add_to(&mut body);
        Ok(body)
    }
}

fn list(options: &Config, json: bool, args: &ControlListArgs) -> Result<()> {
    let mut asked = repeated("status", &args.statuses);
    asked.push_str(&repeated("framework", args.framework.as_slice()));
    asked.push_str(&repeated("search", args.search.as_slice()));
    let query = query(&asked);
    let list = |client: &str| Call::get(format!("{client}/controls{query}"));
    let answer = client_name::call(options, &args.client, list)?;
    let all = print::rows(&answer["data"]);
    let heading = ["CODE", "SEVERITY", "STATUS", "SCORE", "ASSESSED", "TITLE"];
    print::list(json, all, ("no controls like that", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("controlCode"),
            cell("severity"),
            status(it),
            cell("score"),
            print::day(&it["assessedAt"]),
            cell("title"),
        ]
    })
}

fn show(options: &Config, json: bool, which: &ControlArgs) -> Result<()> {
    let (answer, failing) = with_session(options, async |session| {
        let client = client_name::path(session, &which.client).await?;
        let answer = session.call(Call::get(path(&client, &which.code))).await?;
        let failing = if json {
            Vec::new()
        } else {
            observation::failing(session, &client, &which.code).await?
        };
        Ok((answer, failing))
    })?;
    if json {
        return print::json(&answer);
    }
    show_control(&answer["data"])?;
    observation::show_failing("what fails:", &failing)
}

fn status(control: &Value) -> String {
    print::result(&control["status"], &control["partialBecause"])
}

fn show_control(control: &Value) -> Result<()> {
    let mut names = vec![
        ("control", "controlCode"),
        ("title", "title"),
        ("status", "status"),
        ("score", "score"),
        ("severity", "severity"),
        ("category", "category"),
        ("assessed", "assessedAt"),
        ("valid until", "validUntil"),
        ("why", "findings"),
        ("remediation", "remediation"),
    ];
    let mut control = control.clone();
    let words = status(&control);
    if control["status"] == "not_assessed" && control["findings"].is_null() {
        let (by, code) = (print::cell(&control["decidedBy"]), print::cell(&control["controlCode"]));
        control["findings"] = json!(format!(
            "No source has reported on it. It is decided by: {by}. See `posture catalog control {code}`."
        ));
    }
    control["status"] = json!(words);
    let attestation = &control["attestation"];
    if !attestation.is_null() {
        let decides = if attestation["decides"] == true { "" } else { "; does not decide now" };
        control["attested"] = json!(sentence(attestation, "status") + decides);
        names.push(("attested", "attested"));
    }
    print::fields(&control, &names)?;
    for it in print::rows(&control["parts"]) {
        let evidence = if it["evidence"].is_null() { ", without evidence" } else { "" };
        print::line(&format!(
            "{}: {}{evidence}",
            print::cell(&it["name"]),
            sentence(it, "status")
        ))?;
    }
    Ok(())
}

fn put(options: &Config, json: bool, which: &ControlArgs, body: &Value) -> Result<()> {
    let put = |client: &str| Call::of("PUT", path(client, &which.code), body);
    let answer = client_name::call(options, &which.client, put)?;
    if json {
        return print::json(&answer);
    }
    show_control(&answer["data"])?;
    let attestation = &answer["data"]["attestation"];
    if attestation["decides"] == false {
        print::line(
            "the attestation does not decide: what was observed does; with --override and --valid-until it would, until then",
        )?;
    }
    let is_bare = attestation["status"] == "compliant"
        && attestation["evidence"].is_null()
        && attestation["decides"] == true;
    if is_bare {
        print::line(
            "without evidence it is said, not shown, and not compliant: attest it again with --evidence or --evidence-id",
        )?;
    }
    Ok(())
}
