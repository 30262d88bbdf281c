//! `posture connect check` and `posture connect mapping`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::call::{Call, call, encoded};
use crate::cli::{input, print};
use crate::config::Config;
use crate::connect::mapping::{EXAMPLE, FILE_BYTES_MAX, FILES, Proof, Report, check};
use crate::error::{Error, Result};

const PATH: &str = "/api/connection-mappings";

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MappingCommand {
    /// Add a mapping, or put it in the place of the one that declares the same kind.
    Add {
        /// File with the mapping as TOML, or - for standard input.
        file: PathBuf,
    },
    /// Print a mapping to start from. Needs no service.
    Example {
        /// A kind of this release, such as ninjaone, to see how its tool is read.
        kind: Option<String>,
    },
    /// List your own mappings. `posture connect kinds` lists all kinds.
    List,
    /// Remove a mapping that no connection uses.
    Remove {
        /// The kind that it declares, as shown by `posture connect mapping list`.
        kind: String,
    },
}

pub(super) fn run(options: &Config, json: bool, command: MappingCommand) -> Result<()> {
    match command {
        MappingCommand::Add { file } => {
            let (text, report) = checked(json, &file)?;
            let path = format!("{PATH}/{}", encoded(&report.kind));
            let answer = call(options, Call::of("PUT", path, &json!({ "toml": text })))?;
            let done = format!("added; `posture connect add {}` uses it", report.kind);
            print::done(json, &answer, &done)
        }
        MappingCommand::Example { kind } => print::line(example(kind.as_deref())?.trim_end()),
        MappingCommand::List => list(json, &call(options, Call::get(PATH))?),
        MappingCommand::Remove { kind } => {
            let path = format!("{PATH}/{}", encoded(&kind));
            print::done(json, &call(options, Call::delete(path))?, "removed")
        }
    }
}

/// Needs no service.
pub(super) fn run_check(json: bool, file: &Path) -> Result<()> {
    let (_, report) = checked(json, file)?;
    let controls: Vec<&str> = report.controls.into_iter().collect();
    let proof = report.proof.as_str();
    if json {
        return print::json(&json!({ "data": {
            "kind": report.kind, "title": report.title, "proof": proof, "streams": report.streams,
            "controls": controls, "examples": report.examples, "problems": [],
        } }));
    }
    let proof = match report.proof {
        Proof::Recorded => "answers of a real system",
        Proof::Specification => "what the vendor wrote: unproven",
    };
    let shown = json!({
        "kind": report.kind, "title": report.title, "proof": proof, "streams": report.streams.join(", "),
        "controls": controls.join(", "), "examples": report.examples.join(", "),
    });
    let names = [
        ("kind", "kind"),
        ("title", "title"),
        ("made from", "proof"),
        ("reads", "streams"),
        ("may decide", "controls"),
        ("examples that hold", "examples"),
    ];
    print::fields(&shown, &names)
}

fn example(kind: Option<&str>) -> Result<&'static str> {
    let Some(kind) = kind else { return Ok(EXAMPLE) };
    let declared = |file: &'static str| file.trim_end_matches(".toml");
    let found = FILES.into_iter().find(|(file, _)| declared(file) == kind);
    found.map(|(_, text)| text).ok_or_else(|| {
        let known = FILES.map(|(file, _)| declared(file)).join(", ");
        Error::invalid(format!("no mapping declares {kind:?}; use one of {known}"))
    })
}

/// The text of a mapping that is right and whose examples hold. Prints every problem of one that is not.
fn checked(json: bool, file: &Path) -> Result<(String, Report)> {
    let text = input::text(file, FILE_BYTES_MAX)?;
    let problems = match check(&input::name(file), &text) {
        Ok(report) => return Ok((text, report)),
        Err(problems) => problems,
    };
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if json {
        print::json(&json!({ "data": { "problems": lines } }))?;
    } else {
        lines.iter().try_for_each(|it| print::line(it))?;
    }
    Err(Error::invalid(match lines.len() {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }))
}

fn list(json: bool, answer: &Value) -> Result<()> {
    let row = |it: &Value| {
        let state = match (print::rows(&it["problems"]).first(), &it["unproven"]) {
            (Some(problem), _) => format!("not in use: {}", print::cell(problem)),
            (None, Value::Bool(true)) => "unproven".to_owned(),
            (None, _) => "proven".to_owned(),
        };
        let cell = |name: &str| print::cell(&it[name]);
        vec![cell("kind"), cell("title"), cell("at"), cell("by"), cell("controls"), state]
    };
    if json {
        return print::json(answer);
    }
    let heading = ["KIND", "TITLE", "ADDED", "BY", "MAY DECIDE", "STATE"];
    print::list(false, print::rows(&answer["data"]), ("no mappings of your own", &heading), row)
}
