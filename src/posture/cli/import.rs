//! `posture import`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::call::{Call, ServerSession, encoded, with_session};
use super::option::{id, query, repeated};
use super::report::observation;
use super::report::show::score_text;
use super::{client_name, input, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::page::LIMIT_MAX;
use crate::text::visible;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  posture import --client 'Acme Ltd' prowler-output.ocsf.json
  posture import --client 'Acme Ltd' --format facts facts.json
  posture import --client 'Acme Ltd' scan.xml.gz
  posture import --client 'Acme Ltd' --format inventory --column name='Asset Name' assets.csv
  posture import --client 'Acme Ltd' --format leavers people.csv
  nmap -oX - 192.0.2.0/24 | posture import --client 'Acme Ltd' -")]
pub(super) struct ImportArgs {
    #[command(subcommand)]
    command: Option<ImportCommand>,
    /// The client that the file is about, by name or id.
    #[arg(long, value_name = "CLIENT", required = true)]
    client: Option<String>,
    /// prowler-ocsf, prowler-csv, prowler-json, asff, securityhub-ocsf, nmap, masscan, scuba, maester, securescore,
    /// zero-trust, defender-cloud, scoutsuite, powerpipe, sarif, lynis, pingcastle, xccdf, stig-checklist, cklb, inspec, wazuh-sca,
    /// kube-bench, hardeningkitty, nessus, nessus-csv, openvas, openvas-csv, qualys, trivy, grype,
    /// defender-vulnerabilities, wazuh-vulnerabilities, inventory, leavers or facts.
    /// Default: detected from the file, except for facts.
    #[arg(long)]
    format: Option<String>,
    /// Time of the observations: `file` (the times in the file), `now`, or a date-time.
    #[arg(long, default_value = "file", value_name = "file|now|TIME")]
    observed_at: String,
    /// Name of the source. Default: the name of the tool; required for kube-bench, hardeningkitty, oscal and sarif, whose
    /// files do not say what they are about.
    #[arg(long, value_name = "LABEL")]
    source: Option<String>,
    /// Which column of an inventory is what, such as name='Asset Name'; once for each field. A field is one of id, name,
    /// type, os, hostname, ip, mac, serial, owner, description, tags, critical, managed and seen; of a list of people
    /// who left, one of email, login, employee and last-day. Kept for the next list of the source. Default: those kept,
    /// or else by usual names.
    #[arg(long = "column", value_name = "FIELD=COLUMN")]
    columns: Vec<String>,
    /// Import the file even if the same bytes were imported before.
    #[arg(long)]
    again: bool,
    /// The file covers its accounts or hosts in full: anything missing from it is treated as removed.
    #[arg(long)]
    complete: bool,
    /// The tenants, accounts or domains in the file are this client's, although one belongs to another client, or the client has
    /// another one so far.
    #[arg(long)]
    bind: bool,
    /// Files to import, or - for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    /// List a client's imports.
    List {
        /// The client of the imports, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: String,
    },
    /// List what an undone import showed: it no longer counts, and is kept until its retention ends.
    Undone {
        /// The client of the imports, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: String,
        /// Import id, as shown by `posture import list`.
        import: String,
    },
    /// Undo an import: retract its facts and reassess the client.
    Undo {
        /// The client of the imports, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: String,
        /// Import id, as shown by `posture import list`.
        import: String,
        /// Why it is undone.
        #[arg(long, alias = "reason", value_name = "TEXT")]
        note: Option<String>,
    },
}

pub(super) fn run(options: &Config, json: bool, args: ImportArgs) -> Result<()> {
    match args.command {
        Some(ImportCommand::List { client }) => list(options, json, &client),
        Some(ImportCommand::Undone { client, import }) => {
            let import: ImportId = id(&import, "an import", "import list")?;
            let list = format!("imports/{import}/observations");
            let all = client_name::list(options, &client, &list, LIMIT_MAX)?;
            observation::print_all(json, &all, "nothing is kept of it, or it counts")
        }
        Some(ImportCommand::Undo { client, import, note }) => {
            undo(options, json, &client, (&import, note.as_slice()))
        }
        None => with_session(options, async |session| {
            let named = args.client.as_deref().unwrap_or_default();
            let client = client_name::path(session, named).await?;
            let mut is_first = false;
            for file in &args.files {
                let name = input::name(file);
                let answer =
                    import(session, &args, &client, file).await.map_err(|error| error.at(&name))?;
                show(json, &visible(&name), &answer)?;
                is_first |= answer["data"]["changed"]["scoreBefore"].is_null()
                    && answer["data"]["changed"]["scoreAfter"].is_number();
            }
            if json {
                return Ok(());
            }
            let posture = session.call(Call::get(format!("{client}/posture"))).await?;
            show_score(named, &posture["data"])?;
            if is_first { show_questions(named, &posture) } else { Ok(()) }
        }),
    }
}

async fn import(
    session: &ServerSession,
    args: &ImportArgs,
    client: &str,
    path: &Path,
) -> Result<Value> {
    let name = input::file_name(path);
    let mut query = vec![
        format!("observedAt={}", encoded(&args.observed_at)),
        format!("fileName={}", encoded(&name)),
    ];
    query.extend(args.format.as_ref().map(|it| format!("format={}", encoded(it))));
    query.extend(args.source.as_ref().map(|it| format!("source={}", encoded(it))));
    if let Some(columns) = columns(&args.columns)? {
        query.push(format!("columns={}", encoded(&columns)));
    }
    query.extend(args.again.then(|| "again=true".to_owned()));
    query.extend(args.complete.then(|| "complete=true".to_owned()));
    query.extend(args.bind.then(|| "bind=true".to_owned()));
    input::send(session, path, format!("{client}/imports?{}", query.join("&"))).await
}

/// The columns as the API takes them. `None`: none are given.
fn columns(given: &[String]) -> Result<Option<String>> {
    if given.is_empty() {
        return Ok(None);
    }
    let mut all = BTreeMap::new();
    for it in given {
        let Some((field, column)) = it.split_once('=') else {
            let rule = format!("--column {it}: must be FIELD=COLUMN, such as name='Asset Name'");
            return Err(Error::invalid(rule));
        };
        all.insert(field, column);
    }
    serde_json::to_string(&all).map(Some).map_err(Error::internal)
}

/// What the client's score is now.
fn show_score(client: &str, posture: &Value) -> Result<()> {
    let score = &posture["score"];
    if score.is_null() {
        return Ok(());
    }
    print::line(&format!(
        "score {}; `posture show {}` shows the rest",
        score_text(score, posture),
        print::word(client)
    ))
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
            "{file}: already imported as {} at {}; nothing changed (use --again to import it anyway)",
            cell("id"),
            cell("at")
        ));
    }
    print::line(&format!("{file}: imported as {}", cell("id")))?;
    print::line(&format!(
        "  {} -> {}; assets: {} new, {} updated",
        print::count(&import["records"], &format!("{} record", cell("format"))),
        print::count(&import["facts"], "fact"),
        cell("assetsAdded"),
        cell("assetsUpdated")
    ))?;
    show_age(import)?;
    for skipped in print::rows(&import["skipped"]) {
        let (count, reason) = (print::cell(&skipped["count"]), print::cell(&skipped["reason"]));
        print::line(&format!("  skipped {count}: {reason}"))?;
    }
    if data["held"] == true {
        print::line(
            "  it has far fewer checks than before: what it lacks counts as gone once a second file agrees",
        )?;
    }
    if let n @ 1.. = data["notLookedAt"].as_u64().unwrap_or(0) {
        print::line(&format!(
            "  {n} that failed before were not looked at and still fail; if the file shows everything, repeat with --again --complete"
        ))?;
    }
    show_changes(&data["changed"])
}

/// Who says when the facts were observed, if it is not the file, and how many are too old to count.
fn show_age(import: &Value) -> Result<()> {
    if import["observedAtGiven"] == Value::Bool(true) {
        print::line(&format!("  observed {}", observed(import)))?;
    }
    let n_outdated = import["factsOutdated"].as_u64().unwrap_or(0);
    if n_outdated == 0 {
        return Ok(());
    }
    print::line(&format!(
        "  {n_outdated} of {} are older than their controls allow and do not count; if the file shows the present state, \
         repeat with --again --observed-at now",
        print::count(&import["facts"], "fact")
    ))
}

/// The newest time of an import's facts, and who says so, if it is not the file.
fn observed(import: &Value) -> String {
    let at = print::cell(&import["observedTo"]);
    if import["observedAtGiven"] != Value::Bool(true) {
        return at;
    }
    let file = &import["fileObservedAt"];
    if file.is_null() {
        format!("{at} (declared)")
    } else {
        format!("{at} (declared; the file says {})", print::cell(file))
    }
}

fn show_changes(changed: &Value) -> Result<()> {
    let count = |name: &str, noun: &str| print::count(&changed[name], noun);
    let score = match (changed["scoreBefore"].as_u64(), changed["scoreAfter"].as_u64()) {
        (_, None) => "score unchanged".to_owned(),
        (None, Some(to)) => format!("first score {to}"),
        (Some(from), Some(to)) => format!("score {from} -> {to}"),
    };
    print::line(&format!(
        "  changed: {score}; {}; readiness of {}; {} opened, {} closed; {}",
        count("controls", "control"),
        count("frameworks", "framework"),
        count("risksOpened", "risk"),
        print::cell(&changed["risksClosed"]),
        count("events", "event")
    ))
}

/// After a client's first score: what its profile does not say yet, and how many requirements wait for that.
fn show_questions(client: &str, answer: &Value) -> Result<()> {
    let questions = print::rows(&answer["data"]["questions"]);
    if questions.is_empty() {
        return Ok(());
    }
    print::line("some requirements wait only for what the client uses:")?;
    for it in questions {
        let (question, n) = (print::cell(&it["question"]), &it["count"]);
        print::line(&format!("  {question}: {}", print::count(n, "requirement")))?;
    }
    print::line(&format!(
        "answer each: posture client set {} --profile QUESTION=used,QUESTION=unused",
        print::word(client)
    ))
}

fn list(options: &Config, json: bool, client: &str) -> Result<()> {
    let all = client_name::list(options, client, "imports", LIMIT_MAX)?;
    let heading = ["ID", "AT", "SOURCE", "FORMAT", "FILE", "FACTS", "OBSERVED", "UNDONE"];
    print::list(json, &all, ("no imports", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        let start = ["id", "at", "source", "format", "fileName", "facts"].map(cell);
        [start.as_slice(), &[observed(it), cell("undoneAt")]].concat()
    })
}

fn undo(
    options: &Config,
    json: bool,
    client: &str,
    (import, note): (&str, &[String]),
) -> Result<()> {
    let id: ImportId = id(import, "an import id", "import list")?;
    let query = query(&repeated("reason", note));
    let undo = |client: &str| Call::delete(format!("{client}/imports/{id}{query}"));
    let answer = client_name::call(options, client, undo)?;
    if json {
        return print::json(&answer);
    }
    print::line(&format!("undid import {id}"))?;
    show_changes(&answer["data"]["changed"])
}
