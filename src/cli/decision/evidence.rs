//! `posture evidence`: the evidence register of a client.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::option::{body, id, moment};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::id::EvidenceId;
use crate::page::LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum EvidenceCommand {
    /// List a client's evidence.
    List {
        /// Name or id of the client.
        client: String,
    },
    /// Add evidence to the register, or renew what is kept at the same place, and print its id.
    Add(EvidenceAddArgs),
    /// Remove evidence. Attestations that refer to it count as attestations without evidence from then on.
    Remove {
        /// Name or id of the client.
        client: String,
        /// Evidence id, as shown by `posture evidence list`.
        evidence: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture evidence add 'Acme Ltd' GOV-14 --title 'Incident response plan 2026' \\
    --location 'SharePoint: Policies/incident-response.docx' --valid-until 2027-06-30 --by 'Ada Lovelace'

Evidence counts once an attestation refers to it: `posture control attest ... --evidence-id ID`.")]
pub(in crate::cli) struct EvidenceAddArgs {
    /// Name or id of the client.
    client: String,
    /// Code of the control that it is about.
    code: String,
    /// What it is.
    #[arg(long)]
    title: String,
    /// Where it is kept. Only this reference is stored, not the file.
    #[arg(long, value_name = "TEXT")]
    location: String,
    /// Who adds it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Digest of the file, in hexadecimal.
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    /// When it expires. A date means the end of that day in UTC. Default: never.
    #[arg(long, value_name = "DATE")]
    valid_until: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: EvidenceCommand) -> Result<()> {
    match command {
        EvidenceCommand::List { client } => list(options, json, &client),
        EvidenceCommand::Add(args) => {
            let body = args.body()?;
            let add = |client: &str| Call::of("POST", format!("{client}/evidence"), &body);
            print::id(json, &client_name::call(options, &args.client, add)?)
        }
        EvidenceCommand::Remove { client, evidence } => {
            let id: EvidenceId = id(&evidence, "an evidence id", "evidence list")?;
            let remove = |client: &str| Call::delete(format!("{client}/evidence/{id}"));
            let answer = client_name::call(options, &client, remove)?;
            print::done(json, &answer, &format!("removed evidence {id}"))
        }
    }
}

impl EvidenceAddArgs {
    fn body(&self) -> Result<Value> {
        let until = self.valid_until.as_deref().map(moment).transpose()?;
        Ok(body(vec![
            ("controlCode", Some(json!(self.code))),
            ("title", Some(json!(self.title))),
            ("reference", Some(json!(self.location))),
            ("by", Some(json!(self.by))),
            ("sha256", self.sha256.as_deref().map(Value::from)),
            ("validUntil", until.map(Value::from)),
        ]))
    }
}

fn list(options: &Config, json: bool, client: &str) -> Result<()> {
    let all = client_name::list(options, client, "evidence", LIMIT_MAX)?;
    let heading = ["ID", "CONTROL", "VALID UNTIL", "BY", "TITLE, LOCATION"];
    print::list(json, &all, ("no evidence", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            cell("controlCode"),
            print::day(&it["validUntil"]),
            cell("by"),
            format!("{}, {}", cell("title"), cell("reference")),
        ]
    })
}
