//! `posture change`: requirements whose status changed.

use clap::Subcommand;

use super::newest::Newest;
use crate::cli::call::{Call, with_session};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::page::SMALL_PULL_LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ChangeCommand {
    /// List the last status changes of requirements, oldest first.
    #[command(after_help = "\
Examples:
  posture change list --client 'Acme Ltd'
  posture change list --limit 1000 --json")]
    List {
        /// Only changes of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
        /// How many, at most 5000.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
    },
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: &ChangeCommand) -> Result<()> {
    let ChangeCommand::List { client, limit } = command;
    let newest = Newest { limit: *limit, limit_max: SMALL_PULL_LIMIT_MAX, narrowed_by: "--client" };
    let limit = if json { newest.limit } else { newest.limit_and_one() };
    let (answer, names) = with_session(options, async |session| {
        let of = client_name::filter(session, client.as_deref()).await?;
        let path = format!("/api/changes?newest=true&limit={limit}{of}");
        let answer = session.call(Call::get(path)).await?;
        Ok((answer, client_name::Names::unless_json(session, json).await?))
    })?;
    if json {
        return print::json(&answer);
    }
    let heading = ["AT", "CLIENT", "FRAMEWORK", "REQUIREMENT", "FROM", "TO", "CAUSE"];
    newest.show(&answer, ("no changes in the last 90 days", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            print::minute(&it["at"]),
            names.name(&it["clientId"]),
            cell("framework"),
            cell("requirement"),
            cell("from"),
            cell("to"),
            cell("cause"),
        ]
    })
}
