//! `posture import`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use poem::Body;
use serde_json::Value;

use super::call::{Call, Session, encoded, with_session};
use super::{client, print};
use crate::config::Options;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::text::visible;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Whose file it is.
    #[arg(long, value_name = "ID", required = true)]
    client: Option<String>,
    /// prowler-ocsf, prowler-csv, prowler-json, nmap or facts. Default: told from the file's start, but for facts.
    #[arg(long)]
    format: Option<String>,
    /// Which time the observations count from: `file` (the file's own), `now`, or a date-time.
    #[arg(long, default_value = "file", value_name = "file|now|TIME")]
    observed_at: String,
    /// The source's name. Default: the tool's.
    #[arg(long, value_name = "LABEL")]
    source: Option<String>,
    /// Import the same bytes once more.
    #[arg(long)]
    again: bool,
    /// The file tells everything of the accounts or hosts in it: what it no longer has is gone.
    #[arg(long)]
    complete: bool,
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List a client's imports.
    List {
        #[arg(long, value_name = "ID")]
        client: String,
    },
    /// Take an import's facts back and reassess.
    Undo {
        #[arg(long, value_name = "ID")]
        client: String,
        /// As `posture import list` shows it.
        import: String,
    },
}

pub(super) fn run(options: &Options, json: bool, args: Args) -> Result<()> {
    match args.command {
        Some(Command::List { client }) => list(options, json, &client),
        Some(Command::Undo { client, import }) => undo(options, json, &client, &import),
        None => with_session(options, async |session| {
            for file in &args.files {
                let answer = import(session, &args, file).await.map_err(|error| {
                    Error::invalid(format!("{}: {}", file.display(), error.message()))
                })?;
                show(json, &visible(&file.display().to_string()), &answer)?;
            }
            Ok(())
        }),
    }
}

async fn import(session: &Session, args: &Args, path: &Path) -> Result<Value> {
    let client = args.client.as_deref().unwrap_or_default();
    let unreadable = |error: std::io::Error| Error::invalid(format!("cannot be read: {error}"));
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let metadata = file.metadata().await.map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Error::invalid("is a directory; name the file in it"));
    }
    let bar = progress(metadata.len());
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let mut query = vec![
        format!("observedAt={}", encoded(&args.observed_at)),
        format!("fileName={}", encoded(&name)),
    ];
    query.extend(args.format.as_ref().map(|it| format!("format={}", encoded(it))));
    query.extend(args.source.as_ref().map(|it| format!("source={}", encoded(it))));
    query.extend(args.again.then(|| "again=true".to_owned()));
    query.extend(args.complete.then(|| "complete=true".to_owned()));
    let call = Call {
        method: "POST",
        path: format!("{}/imports?{}", client::path(client)?, query.join("&")),
        content_type: "application/octet-stream",
        body: Body::from_async_read(bar.wrap_async_read(file)),
    };
    let answer = session.call(call).await;
    bar.finish_and_clear();
    answer
}

/// Shown only where somebody looks.
fn progress(n_bytes: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(n_bytes);
    let style = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is well formed"));
    bar
}

fn show(json: bool, file: &str, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let data = &answer["data"];
    let import = &data["import"];
    let cell = |name: &str| print::cell(&import[name]);
    if data["alreadyImported"] == Value::Bool(true) {
        return print::line(&format!(
            "{file}: already imported as {} at {}; nothing changed (--again imports it once more)",
            cell("id"),
            cell("at")
        ));
    }
    print::line(&format!("{file}: imported as {}", cell("id")))?;
    print::line(&format!(
        "  {} records of {} -> {} facts; assets: {} new, {} updated",
        cell("records"),
        cell("format"),
        cell("facts"),
        cell("assetsAdded"),
        cell("assetsUpdated")
    ))?;
    for skipped in import["skipped"].as_array().into_iter().flatten() {
        let (count, reason) = (print::cell(&skipped["count"]), print::cell(&skipped["reason"]));
        print::line(&format!("  skipped {count}: {reason}"))?;
    }
    show_changes(&data["changed"])
}

fn show_changes(changed: &Value) -> Result<()> {
    let cell = |name: &str| print::cell(&changed[name]);
    let score = match (changed["scoreBefore"].as_u64(), changed["scoreAfter"].as_u64()) {
        (_, None) => "score as before".to_owned(),
        (None, Some(to)) => format!("first score {to}"),
        (Some(from), Some(to)) => format!("score {from} -> {to}"),
    };
    print::line(&format!(
        "  changed: {score}; {} controls; readiness of {} frameworks; risks {} opened, {} closed; {} events",
        cell("controls"),
        cell("frameworks"),
        cell("risksOpened"),
        cell("risksClosed"),
        cell("events")
    ))
}

fn list(options: &Options, json: bool, client: &str) -> Result<()> {
    let path = format!("{}/imports?limit={}", client::path(client)?, crate::page::LIMIT_MAX);
    let answer = super::call::call(options, Call::get(path))?;
    if json {
        return print::json(&answer);
    }
    let row = |it: &Value| {
        ["id", "at", "source", "format", "fileName", "facts", "undoneAt"]
            .map(|name| print::cell(&it[name]))
            .to_vec()
    };
    let rows: Vec<_> = answer["data"].as_array().into_iter().flatten().map(row).collect();
    print::table(&["ID", "AT", "SOURCE", "FORMAT", "FILE", "FACTS", "UNDONE"], &rows)?;
    let (n, total) = (rows.len() as u64, answer["pagination"]["total"].as_u64().unwrap_or(0));
    if n < total {
        print::line(&format!("the newest {n} of {total}"))?;
    }
    Ok(())
}

fn undo(options: &Options, json: bool, client: &str, import: &str) -> Result<()> {
    let id: ImportId =
        import.parse().map_err(|_| Error::invalid(format!("`{import}` is not an import id")))?;
    let path = format!("{}/imports/{id}", client::path(client)?);
    let answer = super::call::call(options, Call::delete(path))?;
    if json {
        return print::json(&answer);
    }
    print::line(&format!("undid import {id}"))?;
    show_changes(&answer["data"]["changed"])
}
