//! All rows of a database in order, each verified.

use std::ops::ControlFlow;

use xxhash_rust::xxh3::Xxh3;

use super::job::{Job, Phase};
use super::place::Place;
use super::{Contents, Digest};
use crate::error::{Error, Result};
use crate::store::kernel::envelope::{self, Broken};
use crate::store::kernel::meta::RELOCATION;
use crate::store::kernel::transaction::{Reading, Rows};
use crate::store::open::find_counts;
use crate::store::row_key::Span;
use crate::store::table::{MANIFEST, META};

/// Pages of a backup that are kept in memory while it is written or read.
pub(super) const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Takes the table, key and value of each row.
type Visit<'a> = &'a mut dyn FnMut(&str, &[u8], &[u8]) -> Result<()>;

/// Tables in the order of a walk: [`META`] is last, and a manifest is no content.
fn tables(rows: &Reading) -> Result<Vec<String>> {
    let mut names = rows.list_tables()?;
    names.retain(|it| it != META && it != MANIFEST);
    names.push(META.to_owned());
    Ok(names)
}

/// Verifies every row of every table and hands it out; returns what they are together.
///
/// # Errors
/// `Conflict` for the first damaged row; those of `each`; `Unavailable` if `job` is canceled.
pub(super) fn walk(rows: &Reading, job: &Job, phase: Phase, each: Visit<'_>) -> Result<Contents> {
    let names = tables(rows)?;
    let n_rows_of = |name: &String| rows.count_rows(name);
    let n_total = names.iter().map(n_rows_of).sum::<Result<u64>>()?;
    job.begin(phase, n_total);
    let mut digest = Xxh3::new();
    let (mut n_tables, mut n_rows, mut n_bytes) = (0_u64, 0_u64, 0_u64);
    for name in &names {
        let n_before = n_rows;
        rows.visit_rows(name, &Span::all(), &mut |key, bytes| {
            if name == META && key == RELOCATION {
                return Ok(ControlFlow::Continue(())); // It says where the content is, and is none.
            }
            if let Err(broken) = envelope::verify(name, key, bytes) {
                return Err(damaged(rows, name, key, broken));
            }
            if n_rows == n_before {
                n_tables += 1;
                add_part(&mut digest, name.as_bytes());
            }
            add_part(&mut digest, key);
            add_part(&mut digest, bytes);
            n_rows += 1;
            n_bytes += (key.len() + bytes.len()) as u64;
            each(name, key, bytes)?;
            job.step()?;
            Ok(ControlFlow::Continue(()))
        })?;
        if n_before < n_rows {
            // Before the next name, so that a row cannot be taken for one. A table without rows is as one that is not there.
            digest.update(&(n_rows - n_before).to_le_bytes());
        }
    }
    let digest = Digest(digest.digest128().to_le_bytes());
    Ok(Contents { n_tables, n_rows, n_bytes, event: find_counts(rows)?.event, digest })
}

fn add_part(digest: &mut Xxh3, part: &[u8]) {
    digest.update(&(part.len() as u64).to_le_bytes());
    digest.update(part);
}

/// Counts a damaged row, and says where it is.
fn damaged(rows: &Reading, table: &str, key: &[u8], broken: Broken) -> Error {
    let place = Place::of(rows, table, key).words();
    let reason = broken.reason();
    let cause = rows.damaged(broken);
    let rule =
        format!("a record is damaged ({reason}): {place}; `posture check` lists all of them");
    Error::conflict(rule).caused_by(cause)
}
