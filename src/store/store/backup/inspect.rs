//! Reading a whole database to find what is damaged.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::file::take_alone;
use super::job::{Job, Phase};
use super::place::Place;
use super::walk::{CACHE_BYTES, walk};
use super::{Contents, Manifest};
use crate::error::{Chain, Error, Result};
use crate::id::ClientId;
use crate::store::Store;
use crate::store::engine::{FILE, FileEngine, OpenFault, view_file};
use crate::store::kernel::envelope;
use crate::store::kernel::health::Gauges;
use crate::store::kernel::meta::{self, Relocation};
use crate::store::kernel::transaction::{Reading, Rows};
use crate::store::migration::FORMAT;
use crate::store::open::{DatabaseLocation, guarded, open_file};
use crate::store::row_key::Span;
use crate::store::table::{MANIFEST, META};

/// Further damaged rows are only counted.
pub const N_DAMAGED_MAX: usize = 10_000;

/// What a file holds.
pub(super) struct Verified {
    pub(super) manifest: Option<Manifest>,
    pub(super) contents: Contents,
    pub(super) format: u32,
    /// Identifies the key file that its secrets are sealed with.
    pub(super) key_file: Option<[u8; 8]>,
    /// Why it is not the database in use.
    pub(super) relocation: Option<Relocation>,
}

/// Reads every row of a closed file, and compares what they are together with what is expected, or else with what the file
/// says.
///
/// # Errors
/// `Invalid` if it is damaged or from a newer release.
pub(super) fn verify(file: &Path, expected: Option<&Manifest>, job: &Job) -> Result<Verified> {
    whole(|| {
        let view = view_file(file, CACHE_BYTES).map_err(refused)?;
        verify_rows(&Reading::of_file(view), expected, job)
    })
}

/// As [`verify`], of a file that is only ours: its pages are verified too.
pub(super) fn verify_pages(file: &Path, job: &Job) -> Result<Verified> {
    whole(|| {
        let mut db = FileEngine::open(file, CACHE_BYTES).map_err(refused)?;
        // Rows that a damaged page hides are missed here, and pages that look free but are not.
        if !db.verify_pages().map_err(refused)? {
            return Err(damaged());
        }
        verify_rows(&Reading::begin(&db, &Arc::new(Gauges::default()))?, None, job)
    })
}

fn verify_rows(rows: &Reading, expected: Option<&Manifest>, job: &Job) -> Result<Verified> {
    let format = meta::find_format(rows)?.ok_or_else(foreign)?;
    if FORMAT < format {
        return Err(Error::invalid(format!(
            "was written by a newer release (format {format}; this one reads up to {FORMAT})"
        )));
    }
    let own: Option<Manifest> = rows.find_row(MANIFEST, b"")?;
    let contents = walk(rows, job, Phase::Verify, &mut |_, _, _| Ok(()))?;
    // A copy of a database has no manifest.
    if expected.or(own.as_ref()).is_some_and(|it| it.contents != contents) {
        return Err(Error::invalid(
            "is damaged: it does not hold the rows it was written with; use another backup",
        ));
    }
    let (key_file, relocation) = (meta::find_key_file(rows)?, meta::find_relocation(rows)?);
    Ok(Verified { manifest: own, contents, format, key_file, relocation })
}

/// Runs `read`; an internal error or panic of it means a damaged file.
fn whole<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    use crate::error::Code;

    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Err(error)) if error.code == Code::Internal => {
            Err(damaged().caused_by(Chain(&error).to_string()))
        }
        Ok(read) => read,
        Err(_) => Err(damaged().caused_by("reading it panicked")),
    }
}

fn damaged() -> Error {
    Error::invalid("is damaged; use another backup")
}

fn foreign() -> Error {
    Error::invalid("is not a backup or database of posture")
}

fn refused(fault: OpenFault) -> Error {
    match fault {
        OpenFault::Io(error) => Error::unavailable(format!("cannot be read: {error}")),
        OpenFault::Damaged(cause) => damaged().caused_by(cause),
        OpenFault::InUse | OpenFault::Foreign(_) => foreign().caused_by(fault.into_cause()),
    }
}

/// A row that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRow {
    /// The table's noun and what of it the row is, for example `facts: observation`.
    pub table: String,
    /// The client that it belongs to. `None`: a global table.
    pub client: Option<ClientId>,
    /// `None`: of no client, or the client's own row is damaged too.
    pub client_name: Option<String>,
    /// In readable form. Empty: a whole part of the table cannot be read.
    pub key: String,
    pub reason: String,
}

/// What was found in a whole database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    pub n_tables: u64,
    /// Those that could be read, damaged or not.
    pub n_rows: u64,
    pub n_damaged: u64,
    /// The first [`N_DAMAGED_MAX`].
    pub damaged: Vec<DamagedRow>,
    /// Whether the pages of the file are as they were written. `None`: not looked at, because the database is in use.
    pub pages_intact: Option<bool>,
}

impl Store {
    /// Reads every row of the current state. Takes long: run it off the async threads.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be read at all, or `job` is canceled.
    pub fn check(&self, job: &Job) -> Result<CheckReport> {
        check_rows(&self.snapshot()?.rows, job)
    }
}

/// Reads every row of the database in a data directory that no server uses, then verifies its pages.
///
/// # Errors
/// `Conflict` if a process has it open; `Invalid` if it cannot be opened; `NotFound` if there is none.
pub fn check_file(dir: &Path, cache_bytes: usize, job: &Job) -> Result<CheckReport> {
    let (_home, mut db) = open_alone(dir, cache_bytes)?;
    let rows = Reading::begin(&db, &Arc::new(Gauges::default()))?;
    let mut report = check_rows(&rows, job)?;
    drop(rows);
    report.pages_intact = Some(guarded(|| Ok(db.verify_pages().unwrap_or(false))).unwrap_or(false));
    Ok(report)
}

/// Rewrites the database in a data directory that no server uses, so that its file has no free pages. Returns the bytes
/// before and after.
///
/// # Errors
/// As [`check_file`].
pub fn compact_file(dir: &Path, cache_bytes: usize) -> Result<(u64, u64)> {
    let (_home, mut db) = open_alone(dir, cache_bytes)?;
    let length = || std::fs::metadata(dir.join(FILE)).map(|it| it.len()).map_err(Error::internal);
    let before = length()?;
    guarded(|| db.compact().map_err(|fault| Error::internal(fault.into_cause())))?;
    drop(db);
    Ok((before, length()?))
}

fn open_alone(dir: &Path, cache_bytes: usize) -> Result<(DatabaseLocation, FileEngine)> {
    if !dir.join(FILE).exists() {
        return Err(Error::not_found(format!("there is no {FILE}")));
    }
    let home = take_alone(dir, cache_bytes)?;
    let db = guarded(|| open_file(&dir.join(FILE), cache_bytes))?;
    Ok((home, db))
}

fn check_rows(rows: &Reading, job: &Job) -> Result<CheckReport> {
    let mut names = guarded(|| rows.list_tables())?;
    names.retain(|it| it != MANIFEST);
    let n_total = names.iter().map(|it| rows.count_rows(it).unwrap_or(0)).sum();
    job.begin(Phase::Verify, n_total);
    let n_tables = names.len() as u64;
    let mut report =
        CheckReport { n_tables, n_rows: 0, n_damaged: 0, damaged: Vec::new(), pages_intact: None };
    if meta::find_format(rows).is_ok_and(|it| it.is_none()) {
        add(&mut report, Place::of(rows, META, b""), "the database does not say its format");
    }
    for name in &names {
        let read = catch_unwind(AssertUnwindSafe(|| check_table(rows, name, job, &mut report)));
        match read {
            Ok(Ok(())) => (),
            Ok(Err(error)) if error.code == crate::error::Code::Unavailable => return Err(error),
            Ok(Err(_)) | Err(_) => {
                add(&mut report, Place::of(rows, name, b""), "a part of the table cannot be read");
            }
        }
    }
    Ok(report)
}

fn check_table(rows: &Reading, name: &str, job: &Job, report: &mut CheckReport) -> Result<()> {
    let expected = rows.count_rows(name)?;
    let mut n_rows = 0;
    rows.visit_rows(name, &Span::all(), &mut |key, bytes| {
        n_rows += 1;
        if let Err(broken) = envelope::verify(name, key, bytes) {
            add(report, Place::of(rows, name, key), broken.reason());
            drop(rows.damaged(broken)); // Counts it.
        }
        job.step()?;
        Ok(ControlFlow::Continue(()))
    })?;
    report.n_rows += n_rows;
    if n_rows != expected {
        add(report, Place::of(rows, name, b""), "rows are missing");
    }
    Ok(())
}

fn add(report: &mut CheckReport, place: Place, reason: &str) {
    report.n_damaged += 1;
    if report.damaged.len() < N_DAMAGED_MAX {
        let Place { table, client, client_name, key } = place;
        let reason = reason.to_owned();
        report.damaged.push(DamagedRow { table, client, client_name, key, reason });
    }
}
