//! Putting a backup in the place of the database on a server, after every row of it was verified.

use super::Contents;
use super::drill::rehearse;
use super::file::take_alone_as;
use super::job::{Job, Phase};
use super::restore::{RestoreOptions, Restored};
use super::walk::{CACHE_BYTES, walk};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::engine::{
    Engine, FILE, Fault, OpenFault, Overlay, PostgresEngine, PostgresOptions, view_file,
};
use crate::store::kernel::envelope;
use crate::store::kernel::meta::{RELOCATION, Relocation};
use crate::store::kernel::transaction::Reading;
use crate::store::table::META;
use crate::store::{EngineOptions, StoreOptions};

/// Rows that are sent at once. They are in memory until then.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// Restores a backup on a server. Its database changes only after every row and page of the backup was verified and the
/// server has all of them. The data directory needs space for the restored file meanwhile.
///
/// # Errors
/// Those of [`super::restore`]; `Conflict` if another node has the database open; `Invalid` if the server cannot be used.
pub fn restore_on_server(
    options: &RestoreOptions<'_>,
    server: &PostgresOptions,
    job: &Job,
    now: Time,
) -> Result<Restored> {
    let engine = EngineOptions::Postgres(Box::new(server.clone()));
    let dir = options.dir.to_owned();
    let home = take_alone_as(&StoreOptions { dir, cache_bytes: CACHE_BYTES, engine })?;
    let db = home.open_server()?;
    let restored = replace(&db, options, job, now);
    db.release();
    restored
}

fn replace(
    db: &PostgresEngine,
    options: &RestoreOptions<'_>,
    job: &Job,
    now: Time,
) -> Result<Restored> {
    let is_there = !db.view().and_then(|it| it.list_tables()).map_err(refused)?.is_empty();
    if is_there && !options.replace {
        return Err(Error::conflict(
            "the database on the server has records; pass --replace to put the backup in its place (it is kept as another \
             table)",
        ));
    }
    let kept =
        is_there.then(|| format!("posture_rows_before_restore_{}", now.compact().to_lowercase()));
    let backup = (options.file, options.identity);
    rehearse(backup, options.dir, job, now, |restored, dir| {
        let view = view_file(&dir.join(FILE), CACHE_BYTES);
        let view = view.map_err(OpenFault::into_cause).map_err(Error::internal)?;
        load(db, &Reading::of_file(view), (&restored.contents, None), kept.as_deref(), job)?;
        let kept = kept.as_ref().map(|it| format!("table {it}"));
        Ok(Restored { n_bytes: restored.contents.n_bytes, kept, ..restored })
    })
}

/// Loads all rows, and puts them in the place of those on the server. With `contents`, which says what they are together,
/// comes what the server's say further of themselves. `kept`: the table with the others from then on. Returns how many rows
/// an interrupted load of the same had loaded before.
pub(super) fn load(
    db: &PostgresEngine,
    rows: &Reading,
    (contents, relocation): (&Contents, Option<&Relocation>),
    kept: Option<&str>,
    job: &Job,
) -> Result<u64> {
    let n_loaded = db.begin_load(&contents.digest.to_string()).map_err(refused)?;
    let (mut n_rows, mut part) = (0_u64, Overlay::default());
    walk(rows, job, Phase::Copy, &mut |table, key, bytes| {
        n_rows += 1;
        if n_rows <= n_loaded {
            return Ok(());
        }
        part.put(table, key, bytes.to_vec());
        if part.n_bytes() < PART_BYTES {
            return Ok(());
        }
        db.load(std::mem::take(&mut part)).map_err(refused)
    })?;
    let mut n_bytes = contents.n_bytes;
    if let Some(relocation) = relocation {
        let bytes = envelope::seal(META, RELOCATION, relocation)?;
        n_bytes += (RELOCATION.len() + bytes.len()) as u64;
        n_rows += 1;
        if n_loaded < n_rows {
            part.put(META, RELOCATION, bytes);
        }
    }
    db.load(part).map_err(refused)?;
    db.finish_load((n_rows, n_bytes), kept).map_err(refused)?;
    Ok(n_loaded.min(contents.n_rows))
}

fn refused(fault: Fault) -> Error {
    let cause = fault.into_cause();
    Error::unavailable(format!("the database server did not take the records: {cause}"))
}
