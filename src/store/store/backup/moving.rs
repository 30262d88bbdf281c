//! Moving the database between the file and a server.
//!
//! Never can both be opened: the copy arrives with a [`Relocation`], is read again, then the other one is left, and only then
//! the copy is in use. Each step is durable before the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Contents;
use super::copy::NewDatabase;
use super::file::{require_space, take_alone_as, target_refused};
use super::inspect::{verify, verify_pages};
use super::job::{Job, Phase};
use super::load::load;
use super::restore::put_in_place;
use super::walk::{CACHE_BYTES, walk};
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::store::engine::{Engine, FILE, PostgresEngine, PostgresOptions};
use crate::store::kernel::envelope;
use crate::store::kernel::health::Gauges;
use crate::store::kernel::meta::{self, RELOCATION, Relocation};
use crate::store::kernel::transaction::Reading;
use crate::store::migration::write_alone;
use crate::store::open::{DatabaseLocation, file_format, guarded, open_file, require_in_use};
use crate::store::table::META;
use crate::store::{EngineOptions, StoreOptions};

/// Begins the name of a file that is being filled. The digest of what it will hold follows.
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
    /// Rows that an interrupted move had copied before.
    pub n_resumed: u64,
    /// Where the database is that was there before.
    pub kept: Option<String>,
}

/// Moves the database from the file to the server. The file is kept, and no service starts on it any more. After an
/// interruption the next call goes on.
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

/// Moves the database from the server to a file. What is on the server is kept, and no service starts on it any more. After
/// an interruption the next call goes on.
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
    let is_current = server.is_current();
    server.release();
    moved.map_err(|error| {
        if is_current {
            return error;
        }
        Error::unavailable(
            "the database server did not answer for 8 seconds, or another node has taken over; stop all nodes, then run the \
             same command again",
        )
        .caused_by(error)
    })
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
    let rows = Reading::begin(&file, &gauges)?;
    file_format(&rows)?;
    let there = Reading::begin(server, &gauges)?;
    let is_there = !there.list_tables()?.is_empty();
    let relocation = meta::find_relocation(&there)?;
    drop(there); // It must not be idle while the file is read.
    let is_arriving = relocation == Some(Relocation::Arriving);
    require_source(&rows, true, is_arriving)?;
    let contents = walk(&rows, job, Phase::Verify, &mut |_, _, _| Ok(()))?;
    let is_copied = is_arriving && holds(&Reading::begin(server, &gauges)?, &contents, job)?;
    let (mut n_resumed, mut kept) = (contents.n_rows, None);
    if !is_copied {
        if is_there && relocation.is_none() && !replace {
            return Err(Error::conflict(
                "the database on the server has records; pass --replace to put this one in its place (it is kept as another \
                 table)",
            ));
        }
        kept = (is_there && !is_arriving)
            .then(|| format!("posture_rows_before_move_{}", now.compact().to_lowercase()));
        let loaded = (&contents, Some(&Relocation::Arriving));
        n_resumed = load(server, &rows, loaded, kept.as_deref(), job)?;
        if !holds(&Reading::begin(server, &gauges)?, &contents, job)? {
            return Err(Error::unavailable(
                "the database server did not keep what was written; do not use it",
            ));
        }
    }
    drop(rows);
    leave(&file, server, &gauges, &Relocation::Left { at: now, to_server: true })?;
    Ok(Moved { contents, n_resumed, kept: kept.map(|it| format!("table {it}")) })
}

fn copy_to_file(
    server: &PostgresEngine,
    MoveOptions { dir, replace, .. }: &MoveOptions<'_>,
    job: &Job,
    now: Time,
) -> Result<Moved> {
    let gauges = Arc::new(Gauges::default());
    let file = dir.join(FILE);
    // Before a transaction on the server begins, which must not be idle for long.
    let there = if file.exists() { Some(verify(&file, None, job)) } else { None };
    let found = there.as_ref().and_then(|it| it.as_ref().ok());
    let relocation = found.and_then(|it| it.relocation.clone());
    let is_arriving = relocation == Some(Relocation::Arriving);
    let rows = Reading::begin(server, &gauges)?;
    if meta::find_format(&rows)?.is_none() {
        return Err(Error::not_found("the database on the server has no records"));
    }
    require_source(&rows, false, is_arriving)?;
    let contents = walk(&rows, job, Phase::Verify, &mut |_, _, _| Ok(()))?;
    let is_copied = is_arriving && found.is_some_and(|it| it.contents == contents);
    let (mut n_resumed, mut kept) = (contents.n_rows, None);
    if !is_copied {
        if there.is_some() && relocation.is_none() && !replace {
            return Err(Error::conflict(format!(
                "{} exists; pass --replace to put the database of the server in its place (it is kept under another name)",
                file.display()
            )));
        }
        let pending = pending(dir, &contents).map_err(target_refused)?;
        let n_filled = fs::metadata(&pending).map_or(0, |it| it.len());
        require_space(dir, contents.n_bytes.saturating_sub(n_filled), None)?;
        n_resumed = fill(&pending, &rows, job)?.min(contents.n_rows);
        if !verify_pages(&pending, job).is_ok_and(|it| it.contents == contents) {
            fs::remove_file(&pending).map_err(target_refused)?;
            return Err(Error::unavailable(
                "the disk did not keep what was written; do not use this disk",
            ));
        }
        kept = put_in_place(&pending, dir, "move", now)?;
    }
    drop(rows);
    let file = guarded(|| open_file(&file, CACHE_BYTES))?;
    leave(server, &file, &gauges, &Relocation::Left { at: now, to_server: false })?;
    Ok(Moved { contents, n_resumed, kept: kept.map(|it| it.display().to_string()) })
}

/// # Errors
/// `Invalid` if the database was moved before, unless that was this move, whose last step is missing.
fn require_source(rows: &Reading, to_server: bool, is_arriving: bool) -> Result<()> {
    match meta::find_relocation(rows)? {
        Some(Relocation::Left { to_server: to, .. }) if to == to_server && is_arriving => Ok(()),
        Some(Relocation::Left { .. } | Relocation::Arriving) | None => require_in_use(rows),
    }
}

/// Whether these rows are the contents. Damaged ones are not.
fn holds(rows: &Reading, contents: &Contents, job: &Job) -> Result<bool> {
    match walk(rows, job, Phase::Verify, &mut |_, _, _| Ok(())) {
        Ok(found) => Ok(found == *contents),
        Err(error) if error.code == Code::Conflict => Ok(false),
        Err(error) => Err(error),
    }
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

/// Fills a file with all rows, as one that arrives. Returns how many it had before.
fn fill(file: &Path, rows: &Reading, job: &Job) -> Result<u64> {
    let begun = if file.exists() { NewDatabase::go_on(file).ok() } else { None };
    let (mut made, n_before) = if let Some(begun) = begun {
        begun
    } else {
        if file.exists() {
            fs::remove_file(file).map_err(target_refused)?;
        }
        (NewDatabase::create(file)?, 0)
    };
    let mut n_rows = 0;
    walk(rows, job, Phase::Copy, &mut |table, key, bytes| {
        n_rows += 1;
        if n_rows <= n_before { Ok(()) } else { made.put(table, key, bytes) }
    })?;
    let arriving = envelope::seal(META, RELOCATION, &Relocation::Arriving)?;
    made.put(META, RELOCATION, &arriving)?;
    made.commit()?;
    Ok(n_before)
}

/// The last steps: from then on the one is not in use, and the other one is.
fn leave(
    from: &dyn Engine,
    to: &dyn Engine,
    gauges: &Arc<Gauges>,
    left: &Relocation,
) -> Result<()> {
    write_alone(from, gauges, |rows| meta::put_relocation(rows, left))?;
    write_alone(to, gauges, meta::remove_relocation)
}
