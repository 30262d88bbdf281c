//! `posture upgrade preview`: what this executable would do to a database.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::backup::{IdentityArgs, watch_here};
use super::call::{ServerSession, with_copy};
use super::print;
use crate::app::upkeep::preview::VerdictMove;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Result;
use crate::id::ClientId;
use crate::page::PULL_LIMIT_MAX;
use crate::store::FORMAT;
use crate::store::backup::{Job, rehearse};

/// How many rules that change are printed.
const N_RULES_SHOWN: usize = 50;

#[derive(Debug, Subcommand)]
pub(super) enum UpgradeCommand {
    /// Say what changes by client and by control or requirement, on a copy of the database.
    Preview(PreviewArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Run it with the new executable before you install it. The file is read and not changed: a copy of
it is opened, migrated and assessed as the first start would do. The configuration is read too, so
a setting that this release does not know is an error.

Examples:
  posture backup /var/backups/posture/before.redb
  ./posture-new upgrade preview /var/backups/posture/before.redb
  ./posture-new upgrade preview /var/backups/posture/before.redb --json | jq '.data.changes'")]
pub(super) struct PreviewArgs {
    /// A backup, or a copy of posture.redb that was made while the service did not run.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Folder for the copy, which is removed in the end. Default: the system's folder for temporary files.
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// # Errors
/// Why this executable cannot take over the database.
pub(super) fn run(options: &Config, json: bool, command: &UpgradeCommand) -> Result<()> {
    let UpgradeCommand::Preview(args) = command;
    let identity = args.identity.read()?;
    let folder = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let job = Job::default();
    let data = watch_here(&job, || {
        let backup = (args.file.as_path(), identity.as_deref());
        rehearse(backup, &folder, &job, Clock::System.now(), |restored, dir| {
            let began = Instant::now();
            let bar = print::progress(0, "{spinner} assessing {pos} clients {elapsed}");
            let (before, after, moves) = with_copy(options, dir, async |session| {
                let before = scores(session).await?;
                let moves = session.alone()?.app.preview_upgrade(|| bar.inc(1)).await?;
                Ok((before, scores(session).await?, moves))
            })?;
            bar.finish_and_clear();
            let took = began.elapsed();
            Ok(json!({
                "file": args.file.display().to_string(),
                "backupAt": restored.manifest.as_ref().map(|it| it.at.to_string()),
                "release": restored.manifest.as_ref().map(|it| it.release.as_str()),
                "format": restored.format,
                "newRelease": env!("CARGO_PKG_VERSION"),
                "newFormat": FORMAT,
                "bytes": restored.n_bytes,
                "rows": restored.contents.n_rows,
                "tables": restored.contents.n_tables,
                "startMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "clients": after.len(),
                "changedScores": changes(&before, &after),
                "rules": rules(&moves),
                "changes": by_client(&moves, &after),
            }))
        })
    })?;
    if json { print::json(&json!({ "data": data })) } else { show(&data) }
}

type Moves = Vec<(ClientId, Vec<VerdictMove>)>;

async fn scores(session: &ServerSession) -> Result<Vec<Value>> {
    session.list("/api/portfolio/scores", PULL_LIMIT_MAX).await
}

/// The clients whose score or grade differs.
fn changes(before: &[Value], after: &[Value]) -> Vec<Value> {
    let row = |old: &Value| {
        let new = after.iter().find(|it| it["clientId"] == old["clientId"])?;
        let (old_score, new_score) = (&old["score"], &new["score"]);
        let same = |name: &str| old_score[name] == new_score[name];
        (!same("overallScore") || !same("grade")).then(|| {
            json!({
                "clientId": old["clientId"],
                "clientName": old["clientName"],
                "score": old_score["overallScore"],
                "grade": old_score["grade"],
                "newScore": new_score["overallScore"],
                "newGrade": new_score["grade"],
            })
        })
    };
    before.iter().filter_map(row).collect()
}

/// A control or requirement as it was and as it becomes.
fn shown(it: &VerdictMove) -> Value {
    json!({
        "frameworkId": it.framework,
        "name": it.name,
        "status": it.before.0.as_str(),
        "score": it.before.1,
        "newStatus": it.after.0.as_str(),
        "newScore": it.after.1,
    })
}

/// A framework's id, a name in it, and its statuses before and after.
type Rule<'a> = (Option<&'a str>, &'a str, &'a str, &'a str);

/// Which controls and requirements change, and at how many clients, those of most clients first.
fn rules(moves: &Moves) -> Vec<Value> {
    let mut counts: BTreeMap<Rule<'_>, u64> = BTreeMap::new();
    for it in moves.iter().flat_map(|it| &it.1).filter(|it| it.before.0 != it.after.0) {
        let (before, after) = (it.before.0.as_str(), it.after.0.as_str());
        *counts.entry((it.framework.as_deref(), &it.name, before, after)).or_default() += 1;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by_key(|(_, n)| Reverse(*n));
    let rule = |((framework, name, status, new), n): (Rule<'_>, u64)| {
        json!({
            "frameworkId": framework, "name": name, "status": status, "newStatus": new, "clients": n,
        })
    };
    all.into_iter().map(rule).collect()
}

fn by_client(moves: &Moves, clients: &[Value]) -> Vec<Value> {
    let row = |(id, moves): &(ClientId, Vec<VerdictMove>)| {
        let id = id.to_string();
        let client = clients.iter().find(|it| it["clientId"] == id);
        json!({
            "clientId": id,
            "clientName": client.map(|it| &it["clientName"]),
            "verdicts": moves.iter().map(shown).collect::<Vec<_>>(),
        })
    };
    moves.iter().filter(|it| !it.1.is_empty()).map(row).collect()
}

fn show(data: &Value) -> Result<()> {
    let text = |name: &str| print::cell(&data[name]);
    let at = print::given(", as it was at ", &data["backupAt"], print::cell);
    let by = print::given(" with release ", &data["release"], print::cell);
    print::line(&format!("{}: database of format {}{at}{by}", text("file"), text("format")))?;
    let (rows, tables) =
        (print::count(&data["rows"], "row"), print::count(&data["tables"], "table"));
    print::line(&format!("  {rows} in {tables}, {} bytes, all of them readable", text("bytes")))?;
    let (release, format) = (text("newRelease"), text("newFormat"));
    if data["format"] == data["newFormat"] {
        print::line(&format!("release {release} uses format {format} too: nothing is migrated"))?;
    } else {
        print::line(&format!(
            "release {release} migrates it to format {format}, and keeps a copy of {} bytes in the data directory",
            text("bytes")
        ))?;
    }
    let took = Duration::from_millis(data["startMs"].as_u64().unwrap_or(0));
    let clients = print::count(&data["clients"], "client");
    print::line(&format!("opening it and assessing {clients} took {took:.1?} on this machine"))?;
    show_rules(print::rows(&data["rules"]))?;
    let changed = print::rows(&data["changedScores"]);
    if changed.is_empty() {
        return print::line("no score changes");
    }
    print::line(
        "scores that change, because this release assesses with another catalog or other rules:",
    )?;
    let rows = changed.iter().map(|it| {
        let score = |score: &str, grade: &str| {
            format!("{} {}", print::cell(&it[score]), print::cell(&it[grade]))
        };
        vec![print::cell(&it["clientName"]), score("score", "grade"), score("newScore", "newGrade")]
    });
    print::table(&["CLIENT", "NOW", "THEN"], &rows.collect::<Vec<_>>())
}

fn show_rules(rules: &[Value]) -> Result<()> {
    if rules.is_empty() {
        return print::line("no control or requirement changes its status");
    }
    print::line("controls and requirements that change their status:")?;
    let row = |it: &Value| {
        let framework = print::given("", &it["frameworkId"], print::cell);
        let space = if framework.is_empty() { "" } else { " " };
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            format!("{framework}{space}{}", cell("name")),
            cell("status"),
            cell("newStatus"),
            cell("clients"),
        ]
    };
    let rows: Vec<Vec<String>> = rules.iter().take(N_RULES_SHOWN).map(row).collect();
    print::table(&["RULE", "NOW", "THEN", "CLIENTS"], &rows)?;
    match rules.len().checked_sub(N_RULES_SHOWN) {
        None | Some(0) => Ok(()),
        Some(n) => print::line(&format!("and {n} more; --json has all, by client too")),
    }
}
