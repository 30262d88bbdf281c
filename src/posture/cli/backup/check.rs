//! `posture check` and `compact`.

use serde_json::{Value, json};

use super::{watch, watch_here};
use crate::cli::call::{Call, with_session};
use crate::cli::print;
use crate::config::{Config, DatabaseConfig};
use crate::error::{Code, Error, Result};
use crate::store::backup::{CheckReport, DamagedRow, Job, check_file, compact_file};

/// Reads every record: over the running server's snapshot, or else from the file, whose pages are then verified too.
///
/// # Errors
/// `Invalid` if a record is damaged.
pub(in crate::cli) fn check(options: &Config, json: bool) -> Result<()> {
    let dir = &options.data.dir;
    let job = Job::default();
    let cache_bytes = options.data.cache_bytes();
    let checked = match options.database {
        DatabaseConfig::Redb => watch_here(&job, || check_file(dir, cache_bytes, &job)),
        // It is read as the running server would.
        DatabaseConfig::Postgres { .. } => Err(Error::conflict("a server has the pages")),
    };
    let answer = match checked {
        Ok(report) => json!({ "data": report_json(&report) }),
        // A server has it open, or else a command: that one cannot be asked.
        Err(error) if error.code == Code::Conflict => {
            with_session(options, async |session| watch(session, Call::get("/api/check")).await)?
        }
        Err(error) => return Err(error.at(&dir.display().to_string())),
    };
    let data = &answer["data"];
    if json {
        print::json(&answer)?;
    } else {
        show_check(data, &options.database)?;
    }
    let n_damaged = data["damagedCount"].as_u64().unwrap_or(0);
    match (n_damaged, data["pagesIntact"].as_bool()) {
        (0, Some(true) | None) => Ok(()),
        (0, Some(false)) => Err(Error::invalid("the database file is damaged; restore a backup")),
        (1, _) => Err(Error::invalid("1 record is damaged; restore a backup")),
        (n, _) => Err(Error::invalid(format!("{n} records are damaged; restore a backup"))),
    }
}

fn report_json(report: &CheckReport) -> Value {
    let row = |it: &DamagedRow| {
        json!({
            "table": it.table,
            "clientId": it.client.map(|it| it.to_string()),
            "clientName": it.client_name,
            "key": it.key,
            "reason": it.reason,
        })
    };
    json!({
        "tables": report.n_tables,
        "rows": report.n_rows,
        "damagedCount": report.n_damaged,
        "damaged": report.damaged.iter().map(row).collect::<Vec<_>>(),
        "pagesIntact": report.pages_intact,
    })
}

fn show_check(data: &Value, database: &DatabaseConfig) -> Result<()> {
    let (rows, tables) =
        (print::count(&data["rows"], "record"), print::count(&data["tables"], "table"));
    print::line(&format!("read {rows} in {tables}"))?;
    match data["pagesIntact"].as_bool() {
        Some(true) => print::line("the pages of the file are intact")?,
        Some(false) => print::line("the pages of the file are damaged")?,
        None if matches!(database, DatabaseConfig::Redb) => {
            print::line("the pages of the file were not verified, because the service runs")?;
        }
        None => {
            print::line("the pages are the server's: pg_amcheck and data checksums verify them")?;
        }
    }
    let damaged = print::rows(&data["damaged"]);
    if damaged.is_empty() {
        return print::line("no record is damaged");
    }
    let heading = ["TABLE", "CLIENT", "KEY", "REASON"];
    let rows = damaged.iter().map(|it| {
        let client = if it["clientName"].is_null() { &it["clientId"] } else { &it["clientName"] };
        vec![
            print::cell(&it["table"]),
            print::cell(client),
            print::cell(&it["key"]),
            print::cell(&it["reason"]),
        ]
    });
    print::table(&heading, &rows.collect::<Vec<_>>())
}

pub(in crate::cli) fn compact(options: &Config, json: bool) -> Result<()> {
    if let DatabaseConfig::Postgres { .. } = options.database {
        return Err(Error::invalid(
            "database.engine is \"postgres\": the server uses free space again by itself (autovacuum)",
        ));
    }
    let dir = &options.data.dir;
    let job = Job::default();
    let cache_bytes = options.data.cache_bytes();
    let (before, after) = watch_here(&job, || compact_file(dir, cache_bytes)).map_err(|it| {
        // That the database is in use already names the directory.
        if it.code == Code::Conflict { it } else { it.at(&dir.display().to_string()) }
    })?;
    if json {
        return print::json(&json!({ "data": { "bytesBefore": before, "bytesAfter": after } }));
    }
    print::line(&format!("compacted the database: {before} bytes before, {after} bytes after"))
}
