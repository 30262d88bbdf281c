//! `posture upgrade --check`: what this executable would do to a database.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::backup::{IdentityArgs, watch_here};
use super::call::{ServerSession, with_copy};
use super::print;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;
use crate::store::FORMAT;
use crate::store::backup::{Job, rehearse};

#[derive(Debug, Args)]
#[command(after_help = "\
Run it with the new executable before you install it. The file is read and not changed: a copy of
it is opened, migrated and assessed as the first start would do. The configuration is read too, so
a setting that this release does not know is an error.

Examples:
  posture backup /var/backups/posture/before.redb
  ./posture-new upgrade --check /var/backups/posture/before.redb")]
pub(super) struct UpgradeArgs {
    /// A backup, or a copy of posture.redb that was made while the service did not run.
    #[arg(long, value_name = "FILE")]
    check: PathBuf,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Folder for the copy, which is removed in the end. Default: the system's folder for temporary files.
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// # Errors
/// Why this executable cannot take over the database.
pub(super) fn run(options: &Config, json: bool, args: &UpgradeArgs) -> Result<()> {
    let identity = args.identity.read()?;
    let folder = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let job = Job::default();
    let data = watch_here(&job, || {
        let backup = (args.check.as_path(), identity.as_deref());
        rehearse(backup, &folder, &job, Clock::System.now(), |restored, dir| {
            let began = Instant::now();
            let (before, after) = with_copy(options, dir, async |session| {
                let before = scores(session).await?;
                session.alone()?.app.reassess_outdated().await?;
                Ok((before, scores(session).await?))
            })?;
            let took = began.elapsed();
            Ok(json!({
                "file": args.check.display().to_string(),
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
            }))
        })
    })?;
    if json { print::json(&json!({ "data": data })) } else { show(&data) }
}

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
    let changed = print::rows(&data["changedScores"]);
    if changed.is_empty() {
        return print::line("no score changes");
    }
    print::line("scores that change, because this release assesses with another catalog:")?;
    let rows = changed.iter().map(|it| {
        let score = |score: &str, grade: &str| {
            format!("{} {}", print::cell(&it[score]), print::cell(&it[grade]))
        };
        vec![print::cell(&it["clientName"]), score("score", "grade"), score("newScore", "newGrade")]
    });
    print::table(&["CLIENT", "NOW", "THEN"], &rows.collect::<Vec<_>>())
}
