//! What the database says of itself.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::store::Batch;
use crate::store::kernel::audit_head::AuditHead;
use crate::store::kernel::envelope;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction, Writing};
use crate::store::table::META;

const FORMAT: &[u8] = b"format";
const MSP_ID: &[u8] = b"msp_id";
/// Where people reach this installation. Absent while the configuration does not say.
const PUBLIC_URL: &[u8] = b"public_url";
/// From when on the keys of conditions name their client.
const SCOPED_KEYS_SINCE: &[u8] = b"scoped_keys_since";
/// Identifies the key file that the service was last started with.
const KEY_FILE: &[u8] = b"key_file";
const CREATED_AT: &[u8] = b"created_at";
/// Present while the database is not the one in use.
pub(in crate::store) const RELOCATION: &[u8] = b"relocation";
/// The keys that sign documents.
const REPORT_KEYS: &[u8] = b"report_keys";
/// What results are assessed by.
const RELEASE: &[u8] = b"release";
/// What the last self-test wrote.
const SELF_TEST: &[u8] = b"self_test";
/// The sequence of the last event, from when its row was removed.
pub(in crate::store) const LAST_EVENT: &[u8] = b"last_event";
/// The sequence of the last changed row, from when its record was removed.
pub(in crate::store) const LAST_CHANGE: &[u8] = b"last_change";

/// Sequence and hash of the last audit entry that was removed.
const AUDIT_START: &[u8] = b"audit_start";

/// What results are assessed by, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReleaseRecord {
    /// Of the catalog and the rules that the release carries.
    pub digest: u64,
    /// When a release with others was last started before. The beginning of time: none was.
    pub since: Time,
    /// Clients that were assessed again since.
    pub n_clients: u32,
}

/// What every event says of this installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Names the managed service provider: made with the database, unless the configuration names it.
    pub msp_id: String,
    /// Without a slash at its end.
    pub public_url: Option<String>,
    /// Conditions opened before this time keep a `dedupKey` that does not name their client.
    pub scoped_keys_since: Time,
}

/// Why a database is not the one in use. No release opens it then.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(in crate::store) enum Relocation {
    /// It was moved to a server, or else to a file.
    Left { at: Time, to_server: bool },
    /// A move has filled it, and the other one may still be in use.
    Arriving,
}

/// A key that signs documents.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReportKey {
    /// When it was made.
    pub at: Time,
    pub public_key: [u8; 32],
    /// Sealed.
    pub seed: Vec<u8>,
}

fn installation(rows: &impl Rows) -> Result<Installation> {
    Ok(Installation {
        msp_id: msp_id(rows)?,
        public_url: rows.find_row(META, PUBLIC_URL)?,
        scoped_keys_since: rows.find_row(META, SCOPED_KEYS_SINCE)?.unwrap_or(Time::EPOCH),
    })
}

impl<R: Rows> ClientTransaction<R> {
    pub fn installation(&self) -> Result<Installation> {
        installation(&self.rows)
    }

    /// [`Transaction::find_release`].
    pub fn find_release(&self) -> Result<Option<ReleaseRecord>> {
        self.rows.find_row(META, RELEASE)
    }
}

impl<R: Rows> Transaction<R> {
    pub fn installation(&self) -> Result<Installation> {
        installation(&self.rows)
    }

    /// `None` before the first start of a release that keeps it.
    pub fn find_release(&self) -> Result<Option<ReleaseRecord>> {
        self.rows.find_row(META, RELEASE)
    }

    /// `None` in a file that no release with scoped keys has opened yet.
    pub fn scoped_keys_since(&self) -> Result<Option<Time>> {
        self.rows.find_row(META, SCOPED_KEYS_SINCE)
    }

    /// Identifies the key file of the last start. `None` before the first.
    pub fn key_file(&self) -> Result<Option<[u8; 8]>> {
        find_key_file(&self.rows)
    }

    /// The keys that sign documents, oldest first.
    pub fn list_report_keys(&self) -> Result<Vec<ReportKey>> {
        Ok(self.rows.find_row(META, REPORT_KEYS)?.unwrap_or_default())
    }

    /// What the last self-test wrote.
    pub(in crate::store) fn self_test(&self) -> Result<Option<[u8; 8]>> {
        self.rows.find_row(META, SELF_TEST)
    }

    /// When the database was made.
    pub fn created_at(&self) -> Result<Time> {
        let found = self.rows.find_row(META, CREATED_AT)?;
        found.ok_or_else(|| Error::internal("the database has no creation time"))
    }
}

impl Batch {
    pub fn put_release(&mut self, release: &ReleaseRecord) -> Result<()> {
        self.rows.put_row(META, RELEASE, release)
    }

    pub fn put_msp_id(&mut self, id: &str) -> Result<()> {
        self.rows.put_row(META, MSP_ID, &id.to_owned())
    }

    pub fn put_public_url(&mut self, url: Option<&str>) -> Result<()> {
        match url {
            Some(url) => self.rows.put_row(META, PUBLIC_URL, &url.to_owned()),
            None => self.rows.remove_row(META, PUBLIC_URL).map(|_| ()),
        }
    }

    pub fn put_key_file(&mut self, id: [u8; 8]) -> Result<()> {
        self.rows.put_row(META, KEY_FILE, &id)
    }

    pub fn put_report_keys(&mut self, keys: &Vec<ReportKey>) -> Result<()> {
        self.rows.put_row(META, REPORT_KEYS, keys)
    }

    pub(in crate::store) fn put_self_test(&mut self, value: [u8; 8]) -> Result<()> {
        self.rows.put_row(META, SELF_TEST, &value)
    }

    pub fn put_scoped_keys_since(&mut self, time: Time) -> Result<()> {
        self.rows.put_row(META, SCOPED_KEYS_SINCE, &time)
    }
}

pub(in crate::store) fn msp_id(rows: &impl Rows) -> Result<String> {
    let found = rows.find_row(META, MSP_ID)?;
    found.ok_or_else(|| Error::internal("the database has no installation id"))
}

pub(in crate::store) fn find_key_file(rows: &impl Rows) -> Result<Option<[u8; 8]>> {
    rows.find_row(META, KEY_FILE)
}

/// The rows that [`Identity`] is read from.
pub(in crate::store) const IDENTITY: [&[u8]; 3] = [FORMAT, KEY_FILE, RELOCATION];

/// What decides whether a node can use a database. `None`: it does not say.
#[derive(Debug)]
pub(in crate::store) struct Identity {
    pub(in crate::store) format: Option<u32>,
    pub(in crate::store) key_file: Option<[u8; 8]>,
    /// `None`: the database is in use.
    pub(in crate::store) relocation: Option<Relocation>,
}

impl Identity {
    /// From those of the rows of [`IDENTITY`] that are there: key and value.
    pub(in crate::store) fn of(rows: &[(Vec<u8>, Vec<u8>)]) -> Result<Self> {
        let (format, key_file) = (parsed(rows, FORMAT)?, parsed(rows, KEY_FILE)?);
        Ok(Self { format, key_file, relocation: parsed(rows, RELOCATION)? })
    }
}

fn parsed<T: Decode<Layout>>(rows: &[(Vec<u8>, Vec<u8>)], key: &[u8]) -> Result<Option<T>> {
    let bytes = rows.iter().find(|it| it.0 == key).map(|it| &it.1);
    bytes.map(|it| envelope::open(META, key, it)).transpose().map_err(Error::internal)
}

/// `None` when the file is a database of something else.
pub(in crate::store) fn find_format(rows: &impl Rows) -> Result<Option<u32>> {
    rows.find_row(META, FORMAT)
}

/// `None`: the database is in use.
pub(in crate::store) fn find_relocation(rows: &impl Rows) -> Result<Option<Relocation>> {
    rows.find_row(META, RELOCATION)
}

pub(in crate::store) fn put_relocation(rows: &mut Writing, relocation: &Relocation) -> Result<()> {
    rows.put_row(META, RELOCATION, relocation)
}

pub(in crate::store) fn remove_relocation(rows: &mut Writing) -> Result<()> {
    rows.remove_row(META, RELOCATION).map(|_| ())
}

pub(in crate::store) fn put_format(rows: &mut Writing, format: u32) -> Result<()> {
    rows.put_row(META, FORMAT, &format)
}

/// The first rows of a new database.
pub(in crate::store) fn create(rows: &mut Writing, format: u32, now: Time) -> Result<()> {
    put_format(rows, format)?;
    rows.put_row(META, MSP_ID, &uuid::Uuid::new_v4().hyphenated().to_string())?;
    rows.put_row(META, SCOPED_KEYS_SINCE, &Time::EPOCH)?;
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
