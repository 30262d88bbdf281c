//! `posture framework`: the frameworks that the managed service provider writes.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::call::{Call, call, encoded};
use super::{input, print};
use crate::app::framework::OWN_BYTES_MAX;
use crate::config::Config;
use crate::error::Result;

#[derive(Debug, Subcommand)]
pub(super) enum FrameworkCommand {
    /// Add a framework. Every client is assessed with it within seconds.
    Add {
        /// File with the framework as TOML, or - for standard input.
        file: PathBuf,
        /// Replace the framework that has the same id.
        #[arg(long)]
        replace: bool,
        /// Keep decisions about requirements whose text changed.
        #[arg(long)]
        keep_decisions: bool,
    },
    /// List your own frameworks. `posture catalog list` lists all.
    List,
    /// Print one of your own frameworks as it was added. `posture catalog show` shows its requirements.
    Show {
        /// Framework identifier, as shown by `posture framework list`.
        id: String,
    },
    /// Remove a framework with its results. Decisions about its requirements are kept.
    Remove {
        /// Framework identifier, as shown by `posture framework list`.
        id: String,
    },
}

pub(super) fn run(options: &Config, json: bool, command: FrameworkCommand) -> Result<()> {
    match command {
        FrameworkCommand::Add { file, replace, keep_decisions } => {
            let body = json!({
                "toml": input::text(&file, OWN_BYTES_MAX)?, "replace": replace, "keepDecisions": keep_decisions,
            });
            let answer = call(options, Call::of("POST", "/api/own-frameworks", &body))?;
            let id = print::cell(&answer["data"]["frameworkId"]);
            let text = format!("added {id}; `posture catalog show {id}` shows its requirements");
            if json { print::json(&answer) } else { print::line(&text) }
        }
        FrameworkCommand::List => list(json, &call(options, Call::get("/api/own-frameworks"))?),
        FrameworkCommand::Show { id } => {
            let answer = call(options, Call::get(path(&id)))?;
            if json {
                return print::json(&answer);
            }
            print::line(answer["data"]["toml"].as_str().unwrap_or_default().trim_end())
        }
        FrameworkCommand::Remove { id } => {
            let answer = call(options, Call::delete(path(&id)))?;
            print::done(json, &answer, "removed")
        }
    }
}

fn path(id: &str) -> String {
    format!("/api/own-frameworks/{}", encoded(id))
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        let problems = it["problems"].as_array().map_or(0, Vec::len);
        let state = match problems {
            0 => "in use".to_owned(),
            _ => format!("not in use: {}", print::cell(&it["problems"][0])),
        };
        let cell = |name: &str| print::cell(&it[name]);
        vec![cell("frameworkId"), cell("at"), cell("by"), state]
    };
    let rows: Vec<_> = print::rows(&answer["data"]).iter().map(row).collect();
    print::table(&["ID", "ADDED", "BY", "STATE"], &rows)
}
