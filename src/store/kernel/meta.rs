//! What the database says of itself.

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::Batch;
use crate::store::global::audit;
use crate::store::global::audit::AuditHead;
use crate::store::kernel::transaction::{Counts, Reading, Rows, Transaction, Writing};
use crate::store::table::{ASSET_CLIENTS, CHANGES, EVENTS, META};

const FORMAT: &[u8] = b"format";
const MSP_ID: &[u8] = b"msp_id";
const CREATED_AT: &[u8] = b"created_at";
/// The sequence of the last event, from when its row was removed.
const LAST_EVENT: &[u8] = b"last_event";
/// The sequence of the last changed row, from when its record was removed.
const LAST_CHANGE: &[u8] = b"last_change";

/// Sequence and hash of the last audit entry that was removed.
const AUDIT_START: &[u8] = b"audit_start";

impl<R: Rows> Transaction<R> {
    /// Names this installation in events: made with the database, unless the configuration names it.
    pub fn msp_id(&self) -> Result<String> {
        msp_id(&self.rows)
    }

    /// When the database was made.
    pub fn created_at(&self) -> Result<Time> {
        let found = self.rows.find_row(META, CREATED_AT)?;
        found.ok_or_else(|| Error::internal("the database has no creation time"))
    }
}

impl Batch {
    pub fn put_msp_id(&mut self, id: &str) -> Result<()> {
        self.rows.put_row(META, MSP_ID, &id.to_owned())
    }
}

pub(in crate::store) fn msp_id(rows: &impl Rows) -> Result<String> {
    let found = rows.find_row(META, MSP_ID)?;
    found.ok_or_else(|| Error::internal("the database has no installation id"))
}

/// `None` when the file is a database of something else.
pub(in crate::store) fn find_format(rows: &impl Rows) -> Result<Option<u32>> {
    rows.find_row(META, FORMAT)
}

pub(in crate::store) fn put_format(rows: &mut Writing, format: u32) -> Result<()> {
    rows.put_row(META, FORMAT, &format)
}

/// The first rows of a new database.
pub(in crate::store) fn create(rows: &mut Writing, format: u32, now: Time) -> Result<()> {
    put_format(rows, format)?;
    rows.put_row(META, MSP_ID, &uuid::Uuid::new_v4().hyphenated().to_string())?;
    rows.put_row(META, CREATED_AT, &now)
}

pub(in crate::store) fn put_last_event(rows: &mut Writing, sequence: u64) -> Result<()> {
    rows.put_row(META, LAST_EVENT, &sequence)
}

pub(in crate::store) fn put_last_change(rows: &mut Writing, sequence: u64) -> Result<()> {
    rows.put_row(META, LAST_CHANGE, &sequence)
}

/// The last entry of the audit log that was removed.
pub(in crate::store) fn find_audit_start(rows: &impl Rows) -> Result<Option<AuditHead>> {
    rows.find_row(META, AUDIT_START)
}

pub(in crate::store) fn put_audit_start(rows: &mut Writing, start: AuditHead) -> Result<()> {
    rows.put_row(META, AUDIT_START, &start)
}

/// What the writer goes on counting from.
pub(in crate::store) fn find_counts(rows: &Reading) -> Result<Counts> {
    let last = |table: &str, removed: &[u8]| -> Result<u64> {
        let kept = rows.last_key::<8>(table)?.map_or(0, u64::from_be_bytes);
        Ok(kept.max(rows.find_row(META, removed)?.unwrap_or(0)))
    };
    let asset = rows.last_key(ASSET_CLIENTS)?.unwrap_or_default();
    let (event, change) = (last(EVENTS, LAST_EVENT)?, last(CHANGES, LAST_CHANGE)?);
    Ok(Counts { asset, event, change, audit: audit::find_head(rows)? })
}
