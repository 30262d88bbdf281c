//! `posture evidence`: the evidence register of a client.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::{Call, encoded, with_session};
use crate::cli::option::{body, end, id};
use crate::cli::report::download;
use crate::cli::{client_name, input, print};
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
    /// Save the file of evidence.
    Save {
        /// Name or id of the client.
        client: String,
        /// Evidence id, as shown by `posture evidence list`.
        evidence: String,
        /// File to write, or - for standard output. A file that exists is replaced.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
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
  posture evidence add 'Acme Ltd' GOV-14 --title 'Incident response plan 2026' \\
    --file incident-response.pdf --valid-until 2027-06-30 --by 'Ada Lovelace'

Evidence counts once an attestation refers to it: `posture control attest ... --evidence-id ID`.")]
pub(in crate::cli) struct EvidenceAddArgs {
    /// Name or id of the client.
    client: String,
    /// Code of the control that it is about.
    code: String,
    /// What it is.
    #[arg(long)]
    title: String,
    /// Where it is kept. Default: the name of the file.
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    location: Option<String>,
    /// The file itself, up to 20 MiB. It is kept in the database.
    #[arg(long, value_name = "FILE", conflicts_with = "sha256")]
    file: Option<PathBuf>,
    /// Who adds it.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Digest of the file, in hexadecimal.
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    /// When it expires. A date means the end of that day in the client's time zone. Default: never.
    #[arg(long, value_name = "DATE")]
    valid_until: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: EvidenceCommand) -> Result<()> {
    match command {
        EvidenceCommand::List { client } => list(options, json, &client),
        EvidenceCommand::Add(args) => {
            let answer = with_session(options, async |session| {
                let client = client_name::path(session, &args.client).await?;
                match &args.file {
                    None => {
                        let (path, body) = (format!("{client}/evidence"), args.body()?);
                        session.call(Call::of("POST", path, &body)).await
                    }
                    Some(file) => {
                        let query = args.query(&input::file_name(file))?;
                        let target = format!("{client}/evidence/files?{query}");
                        let sent = input::send(session, file, target).await;
                        sent.map_err(|error| error.at(&input::name(file)))
                    }
                }
            })?;
            print::id(json, &answer)
        }
        EvidenceCommand::Save { client, evidence, output } => {
            let id: EvidenceId = id(&evidence, "an evidence id", "evidence list")?;
            let such = ("policy.pdf", Some("document"));
            download::save(options, json, &output, such, async |session| {
                let client = client_name::path(session, &client).await?;
                Ok(format!("{client}/evidence/{id}/file"))
            })
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
        let until = self.valid_until.as_deref().map(end).transpose()?;
        Ok(body(vec![
            ("controlCode", Some(json!(self.code))),
            ("title", Some(json!(self.title))),
            ("reference", self.location.as_deref().map(Value::from)),
            ("by", Some(json!(self.by))),
            ("sha256", self.sha256.as_deref().map(Value::from)),
            ("validUntil", until.map(Value::from)),
        ]))
    }

    fn query(&self, file_name: &str) -> Result<String> {
        let until = self.valid_until.as_deref().map(end).transpose()?;
        let pairs = [
            ("controlCode", Some(self.code.as_str())),
            ("fileName", Some(file_name)),
            ("title", Some(&self.title)),
            ("by", Some(&self.by)),
            ("reference", self.location.as_deref()),
            ("validUntil", until.as_deref()),
        ];
        let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let given = given.map(|(name, value)| format!("{name}={}", encoded(value)));
        Ok(given.collect::<Vec<_>>().join("&"))
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
            print::end(&it["validUntil"]),
            cell("by"),
            format!("{}, {}", cell("title"), place(it)),
        ]
    })
}

/// Where it is kept: the reference, and the file if there is one.
fn place(it: &Value) -> String {
    let (reference, file) = (print::cell(&it["reference"]), &it["file"]);
    if file.is_null() {
        return reference;
    }
    let kib = file["sizeBytes"].as_u64().unwrap_or(0).div_ceil(1024);
    format!("{reference} (file {}, {kib} KiB)", print::cell(&file["name"]))
}
