//! `posture audit`.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::call::{Call, call, encoded, with_session};
use super::{client_name, print};
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
        #[command(flatten)]
        filter: AuditFilterArgs,
    },
    /// Verify the hashes of the whole log. Exits with 1 if an entry does not match.
    Verify,
}

#[derive(Args, Debug)]
pub(super) struct AuditFilterArgs {
    /// Only those with this in the name of who did it, such as ada@example.com.
    #[arg(long, value_name = "TEXT")]
    by: Option<String>,
    /// Only those of this operation, such as 'PATCH /api/keys/{keyId}'.
    #[arg(long)]
    action: Option<String>,
    /// Only those whose path or object names this client, by name or id.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Only those from this moment or day on, in UTC.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only those before this moment, or until the end of this day, in UTC.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl AuditFilterArgs {
    /// As the query has it, beginning with `&`.
    fn query(&self) -> String {
        let given = [
            ("by", &self.by),
            ("action", &self.action),
            ("from", &self.from),
            ("until", &self.until),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.fold(String::new(), |query, (name, value)| {
            format!("{query}&{name}={}", encoded(value))
        })
    }
}

pub(super) fn run(options: &Config, json: bool, command: &AuditCommand) -> Result<()> {
    match command {
        AuditCommand::List { limit, before, filter } => {
            let before = before.map_or_else(String::new, |it| format!("&before={it}"));
            let answer = with_session(options, async |session| {
                let client = client_name::filter(session, filter.client.as_deref()).await?;
                let query = filter.query();
                session
                    .call(Call::get(format!("/api/audit?limit={limit}{before}{client}{query}")))
                    .await
            })?;
            list(json, &answer)
        }
        AuditCommand::Verify => verify(json, &call(options, Call::get("/api/audit/verify"))?),
    }
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        let names = [
            "sequence", "at", "by", "keyName", "address", "action", "about", "outcome", "count",
            "fields",
        ];
        names.map(|name| print::cell(&it[name])).to_vec()
    };
    let heading =
        ["ENTRY", "AT", "BY", "KEY", "FROM", "ACTION", "ABOUT", "OUTCOME", "COUNT", "FIELDS"];
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
