//! `posture move`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{absolute, contents_json, watch_here};
use crate::cli::{engine_options, print};
use crate::clock::Clock;
use crate::config::{Config, DatabaseConfig};
use crate::error::{Error, Result};
use crate::store::EngineOptions;
use crate::store::backup::{Job, MoveOptions, Moved, move_to_file, move_to_server};

#[derive(Debug, Args)]
#[command(after_help = "\
Stop the service first, on all nodes. Every record is copied and read again. The database is kept
where it was, and the service does not start on it any more. If the move is interrupted, run the
same command again: it goes on where it stopped.

Examples:
  posture move --to postgres --url-file /etc/posture/database.url
  posture move --to redb")]
pub(in crate::cli) struct MoveArgs {
    /// What keeps the records from then on.
    #[arg(long, value_enum)]
    to: EngineName,
    /// File with the URL of the server, as `database.url_file` of the configuration, which is the default.
    #[arg(long, value_name = "FILE")]
    url_file: Option<PathBuf>,
    /// File with the authority of the server's certificate, as `database.ca_file`.
    #[arg(long, value_name = "FILE", requires = "url_file")]
    ca_file: Option<PathBuf>,
    /// Replace the database that is there, if there is one. It is kept under another name.
    #[arg(long)]
    replace: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineName {
    /// A PostgreSQL server.
    Postgres,
    /// The file in the data directory.
    Redb,
}

/// # Errors
/// Why it was not moved.
pub(in crate::cli) fn run(options: &Config, json: bool, args: &MoveArgs) -> Result<()> {
    let database = match &args.url_file {
        Some(url_file) => DatabaseConfig::Postgres {
            url_file: absolute(url_file)?,
            ca_file: args.ca_file.as_deref().map(absolute).transpose()?,
        },
        None => options.database.clone(),
    };
    let EngineOptions::Postgres(server) = engine_options(&database)? else {
        return Err(Error::invalid(
            "no server is named; pass --url-file FILE, the file with its URL",
        ));
    };
    let dir = &options.data.dir;
    let wanted = MoveOptions { dir, server: &server, replace: args.replace };
    let (job, now) = (Job::default(), Clock::System.now());
    let moved = watch_here(&job, || match args.to {
        EngineName::Postgres => move_to_server(&wanted, &job, now),
        EngineName::Redb => move_to_file(&wanted, &job, now),
    })?;
    if json {
        return print::json(&moved_json(&moved));
    }
    let (from, after) = match args.to {
        EngineName::Postgres => (dir.join("posture.redb").display().to_string(), database),
        EngineName::Redb => ("the database on the server".to_owned(), DatabaseConfig::Redb),
    };
    show(&moved)?;
    print::line(&format!("{from} is kept, and the service does not start on it any more"))?;
    if options.database == after {
        return print::line("next: start the service, then look at `posture status`");
    }
    print::line("next: set [database] in posture.toml to this, then start the service:")?;
    print::line("")?;
    settings(&after).iter().try_for_each(|it| print::line(it))
}

fn moved_json(Moved { contents, n_resumed, kept }: &Moved) -> serde_json::Value {
    json!({ "data": {
        "contents": contents_json(contents),
        "resumedRows": n_resumed,
        "keptAs": kept,
    } })
}

fn show(Moved { contents, n_resumed, kept }: &Moved) -> Result<()> {
    print::line(&format!(
        "moved {} in {}, {} bytes, last event {}; all were read again",
        print::count(&json!(contents.n_rows), "record"),
        print::count(&json!(contents.n_tables), "table"),
        contents.n_bytes,
        contents.event
    ))?;
    if 0 < *n_resumed {
        print::line(&format!(
            "  {n_resumed} had been copied before, by a move that was interrupted"
        ))?;
    }
    match kept {
        Some(kept) => print::line(&format!("the database that was there is now {kept}")),
        None => Ok(()),
    }
}

/// The lines of the configuration.
fn settings(database: &DatabaseConfig) -> Vec<String> {
    let mut lines = vec!["[database]".to_owned()];
    match database {
        DatabaseConfig::Redb => lines.push("engine = \"redb\"".to_owned()),
        DatabaseConfig::Postgres { url_file, ca_file } => {
            lines.push("engine = \"postgres\"".to_owned());
            lines.push(format!("url_file = {:?}", url_file.display().to_string()));
            lines.extend(
                ca_file.iter().map(|it| format!("ca_file = {:?}", it.display().to_string())),
            );
        }
    }
    lines
}
