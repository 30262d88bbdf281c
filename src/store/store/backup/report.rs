//! What the database remembers of its backups.

use bincode::{Decode, Encode};

use super::Contents;
use crate::clock::Time;
use crate::error::Result;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::table::META;
use crate::store::{Batch, Snapshot};

const LAST_BACKUP: &[u8] = b"last_backup";
const LAST_SCHEDULED_BACKUP: &[u8] = b"last_scheduled_backup";
const LAST_DRILL: &[u8] = b"last_drill";
/// The backup that the command of the operator has not ended for. Absent: there is none.
const DUE_COMMAND: &[u8] = b"due_backup_command";
const NOTICES: &[u8] = b"notices";

/// A backup that was verified.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BackupReport {
    /// When its snapshot was taken.
    pub at: Time,
    /// Its name, without the folder.
    pub file_name: String,
    pub encrypted: bool,
    pub n_bytes: u64,
    pub duration_ms: u64,
    pub contents: Contents,
}

/// A backup that was restored as a drill.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DrillReport {
    /// When the drill began.
    pub at: Time,
    /// The name of the backup, without the folder.
    pub file_name: String,
    /// When the backup was made. `None`: it does not say so.
    pub backup_at: Option<Time>,
    /// Of the restored database.
    pub n_bytes: u64,
    pub duration_ms: u64,
    pub contents: Contents,
}

/// Something that is wrong with the installation since a time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredNotice {
    /// The word for what it is about.
    pub kind: String,
    pub at: Time,
    pub message: String,
}

impl<R: Rows> Transaction<R> {
    /// The name of the backup, without the folder, that the command of the operator has not ended for.
    pub fn due_command(&self) -> Result<Option<String>> {
        self.rows.find_row(META, DUE_COMMAND)
    }
}

impl Snapshot {
    /// The notices that are open.
    pub fn list_notices(&self) -> Result<Vec<StoredNotice>> {
        Ok(self.rows.find_row(META, NOTICES)?.unwrap_or_default())
    }

    pub fn last_backup(&self) -> Result<Option<BackupReport>> {
        self.rows.find_row(META, LAST_BACKUP)
    }

    /// When the last backup in the folder of the configuration was made.
    pub fn last_scheduled_backup(&self) -> Result<Option<Time>> {
        self.rows.find_row(META, LAST_SCHEDULED_BACKUP)
    }

    pub fn last_drill(&self) -> Result<Option<DrillReport>> {
        self.rows.find_row(META, LAST_DRILL)
    }
}

impl Batch {
    pub fn put_due_command(&mut self, file_name: Option<&str>) -> Result<()> {
        match file_name {
            Some(file_name) => self.rows.put_row(META, DUE_COMMAND, &file_name.to_owned()),
            None => self.rows.remove_row(META, DUE_COMMAND).map(|_| ()),
        }
    }

    pub fn put_notices(&mut self, notices: &Vec<StoredNotice>) -> Result<()> {
        self.rows.put_row(META, NOTICES, notices)
    }

    pub fn put_last_backup(&mut self, report: &BackupReport) -> Result<()> {
        self.rows.put_row(META, LAST_BACKUP, report)
    }

    pub fn put_last_scheduled_backup(&mut self, at: Time) -> Result<()> {
        self.rows.put_row(META, LAST_SCHEDULED_BACKUP, &at)
    }

    pub fn put_last_drill(&mut self, report: &DrillReport) -> Result<()> {
        self.rows.put_row(META, LAST_DRILL, report)
    }
}
