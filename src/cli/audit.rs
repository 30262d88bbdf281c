//! `posture audit`.

use clap::Subcommand;
use serde_json::Value;

use super::call::{Call, call};
use super::print;
use crate::config::Config;
use crate::error::{Error, Result};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// List entries, newest first.
    List {
        /// Number of entries, at most 100.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only entries before this sequence number.
        #[arg(long, value_name = "SEQUENCE")]
        before: Option<u64>,
    },
    /// Verify the hashes of the whole log. Exits with 1 if an entry does not match.
    Verify,
}

pub(super) fn run(options: &Config, json: bool, command: &AuditCommand) -> Result<()> {
    match command {
        AuditCommand::List { limit, before } => {
            let before = before.map_or_else(String::new, |it| format!("&before={it}"));
            let path = format!("/api/audit?limit={limit}{before}");
            list(json, &call(options, Call::get(path))?)
        }
        AuditCommand::Verify => verify(json, &call(options, Call::get("/api/audit/verify"))?),
    }
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        ["sequence", "at", "by", "address", "action", "about", "outcome", "count"]
            .map(|name| print::cell(&it[name]))
            .to_vec()
    };
    let heading = ["ENTRY", "AT", "BY", "FROM", "ACTION", "ABOUT", "OUTCOME", "COUNT"];
    print::list(false, print::rows(&answer["data"]), ("no entries", &heading), row)
}

fn verify(json: bool, answer: &Value) -> Result<()> {
    if json {
        print::json(answer)?;
    } else {
        let names = [
            ("entries", "entries"),
            ("first entry", "firstSequence"),
            ("last entry", "lastSequence"),
            ("last hash", "lastHash"),
        ];
        print::fields(&answer["data"], &names)?;
    }
    match answer["data"]["brokenAt"].as_u64() {
        Some(sequence) => Err(Error::invalid(format!(
            "the audit log is not intact: the hash of entry {sequence} does not match"
        ))),
        None if json => Ok(()),
        None => print::line("the audit log is intact"),
    }
}
