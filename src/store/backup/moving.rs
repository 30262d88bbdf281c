//! Moving the database between the file and a server: copied, read again, and only then given up where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Contents;
use super::copy::NewDatabase;
use super::file::{not_kept, require_space, take_alone_as, target_refused};
use super::inspect::{Verified, verify, verify_pages};
use super::job::{Job, Phase};
use super::load::load;
use super::restore::put_in_place;
use super::walk::{CACHE_BYTES, walk};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::engine::{Engine, FILE, PostgresEngine, PostgresOptions};
use crate::store::kernel::health::Gauges;
use crate::store::kernel::meta;
use crate::store::kernel::transaction::Reading;
use crate::store::open::{
    DatabaseLocation, checked_format, guarded, open_file, require_not_moved, write_alone,
};
use crate::store::{EngineOptions, StoreOptions};

/// Begins the name of a file that is being filled. The digest of what it will hold follows, so that it is known again.
const PENDING: &str = "posture.redb.moving-";

/// What to move. The service must not run on either.
pub struct MoveOptions<'a> {
    /// The data directory.
    pub dir: &'a Path,
    pub server: &'a PostgresOptions,
    /// Whether it may take the place of another database, which is kept.
    pub replace: bool,
}

/// What was moved.
#[derive(Clone, Debug)]
pub struct Moved {
    pub contents: Contents,
    /// Rows that a move had copied which was interrupted.
    pub n_resumed: u64,
    /// Where the database is that was there before.
    pub kept: Option<String>,
}

/// Moves the database from the file to the server. The file is kept, and opened no more. If it is interrupted, the file is as
/// it was, and the next call goes on.
///
/// # Errors
/// `NotFound` if there is no file; `Conflict` if a process has either open, or there is another database on the server;
/// `Invalid` if one of them cannot be used or was moved before; `Unavailable` if the server does not answer.
pub fn move_to_server(options: &MoveOptions<'_>, job: &Job, now: Time) -> Result<Moved> {
    let file = options.dir.join(FILE);
    if !file.exists() {
        return Err(Error::not_found(format!("there is no {}", file.display())));
    }
    on_server(options, |server| {
        guarded(|| copy_to_server(server, &file, options.replace, job, now))
    })
}

/// Moves the database from the server to a file. What is on the server is kept, and opened no more. If it is interrupted, the
/// server is as it was, and the next call goes on.
///
/// # Errors
/// As [`move_to_server`], the other way round; `Unavailable` if the disk does not accept it.
pub fn move_to_file(options: &MoveOptions<'_>, job: &Job, now: Time) -> Result<Moved> {
    on_server(options, |server| copy_to_file(server, options, job, now))
}

/// Runs `work` while nobody else has the data directory or the database on the server.
fn on_server(
    options: &MoveOptions<'_>,
    work: impl FnOnce(&PostgresEngine) -> Result<Moved>,
) -> Result<Moved> {
    let engine = EngineOptions::Postgres(Box::new(options.server.clone()));
    let dir = options.dir.to_owned();
    let home: DatabaseLocation =
        take_alone_as(&StoreOptions { dir, cache_bytes: CACHE_BYTES, engine })?;
    let server = home.open_server()?;
    let moved = work(&server);
    server.release();
    moved
}

fn copy_to_server(
    server: &PostgresEngine,
    file: &Path,
    replace: bool,
    job: &Job,
    now: Time,
) -> Result<Moved> {
    let gauges = Arc::new(Gauges::default());
    let file = open_file(file, CACHE_BYTES)?;
    checked_format(&file, &gauges)?;
    let rows = Reading::begin(&file, &gauges)?;
    let contents = walk(&rows, job, Phase::Verify, &mut |_, _, _| Ok(()))?;
    let there = Reading::begin(server, &gauges)?;
    let (is_there, is_moved) =
        (!there.list_tables()?.is_empty(), meta::find_moved(&there)?.is_some());
    // An earlier call was interrupted after the last row.
    let is_copied = is_there && holds(&there, &contents, job);
    drop(there);
    let (mut n_resumed, mut kept) = (contents.n_rows, None);
    if !is_copied {
        if is_there && !is_moved && !replace {
            return Err(Error::conflict(
                "the database on the server has records; pass --replace to put this one in its place (it is kept as another \
                 table)",
            ));
        }
        kept =
            is_there.then(|| format!("posture_rows_before_move_{}", now.compact().to_lowercase()));
        n_resumed = load(server, &rows, &contents, kept.as_deref(), job)?;
        if !holds(&Reading::begin(server, &gauges)?, &contents, job) {
            return Err(Error::unavailable(
                "the database server did not keep what was written; do not use it",
            ));
        }
    }
    drop(rows);
    give_up(&file, &gauges, &meta::Relocation { at: now, to_server: true })?;
    Ok(Moved { contents, n_resumed, kept: kept.map(|it| format!("table {it}")) })
}

fn copy_to_file(
    server: &PostgresEngine,
    MoveOptions { dir, replace, .. }: &MoveOptions<'_>,
    job: &Job,
    now: Time,
) -> Result<Moved> {
    let gauges = Arc::new(Gauges::default());
    let rows = Reading::begin(server, &gauges)?;
    if meta::find_format(&rows)?.is_none() {
        return Err(Error::not_found("the database on the server has no records"));
    }
    require_not_moved(&rows)?;
    let contents = walk(&rows, job, Phase::Verify, &mut |_, _, _| Ok(()))?;
    let file = dir.join(FILE);
    let there = if file.exists() { Some(verify(&file, None, job)) } else { None };
    let is_copied = matches!(&there, Some(Ok(it)) if it.contents == contents);
    let (mut n_resumed, mut kept) = (contents.n_rows, None);
    if !is_copied {
        let is_moved = matches!(&there, Some(Ok(it)) if it.is_moved);
        if there.is_some() && !is_moved && !replace {
            return Err(Error::conflict(format!(
                "{} exists; pass --replace to put the database of the server in its place (it is kept under another name)",
                file.display()
            )));
        }
        require_space(dir, contents.n_bytes, None)?;
        let pending = pending(dir, &contents).map_err(target_refused)?;
        n_resumed = fill(&pending, &rows, job)?;
        let Verified { contents: written, .. } = verify_pages(&pending, job)?;
        if written != contents {
            return Err(not_kept());
        }
        kept = put_in_place(&pending, dir, "move", now)?;
    }
    drop(rows);
    give_up(server, &gauges, &meta::Relocation { at: now, to_server: false })?;
    Ok(Moved { contents, n_resumed, kept: kept.map(|it| it.display().to_string()) })
}

/// Whether these rows are together as they should be. Damaged ones are not.
fn holds(rows: &Reading, contents: &Contents, job: &Job) -> bool {
    walk(rows, job, Phase::Verify, &mut |_, _, _| Ok(())).is_ok_and(|it| it == *contents)
}

/// The file to fill. Those of other contents are removed.
fn pending(dir: &Path, contents: &Contents) -> io::Result<PathBuf> {
    let name = format!("{PENDING}{}", contents.digest);
    for entry in fs::read_dir(dir)? {
        let found = entry?.file_name();
        if found.to_str().is_some_and(|it| it.starts_with(PENDING) && it != name) {
            fs::remove_file(dir.join(found))?;
        }
    }
    Ok(dir.join(name))
}

/// Fills a file with all rows. Returns how many it had before.
fn fill(file: &Path, rows: &Reading, job: &Job) -> Result<u64> {
    let (mut made, n_before) =
        if file.exists() { NewDatabase::go_on(file)? } else { (NewDatabase::create(file)?, 0) };
    let mut n_rows = 0;
    walk(rows, job, Phase::Copy, &mut |table, key, bytes| {
        n_rows += 1;
        if n_rows <= n_before { Ok(()) } else { made.put(table, key, bytes) }
    })?;
    made.commit()?;
    Ok(n_before)
}

/// The last step: from then on nobody opens the database where it was.
fn give_up(db: &dyn Engine, gauges: &Arc<Gauges>, to: &meta::Relocation) -> Result<()> {
    write_alone(db, gauges, |rows| meta::put_moved(rows, to))
}
