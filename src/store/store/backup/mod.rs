//! Copies of the whole database: writing, verifying and restoring them, and finding what is damaged.
//!
//! A backup is a database file that was filled row by row from one snapshot. Its last transaction holds [`META`], without
//! which a file is no database of ours, and the [`Manifest`]: what all rows are together. So a backup that was not finished
//! is not one, and one that lost or changed a row is noticed. It ends with a trailer, which notices any other change.

mod copy;
mod drill;
mod encryption;
mod file;
mod inspect;
mod job;
mod load;
mod moving;
mod place;
mod report;
mod restore;
mod stream;
mod trailer;
mod walk;

use std::fmt;

use bincode::{Decode, Encode};

use crate::clock::Time;

pub use copy::BackupOptions;
pub use drill::rehearse;
pub use encryption::is_recipient;
pub use inspect::{CheckReport, DamagedRow, N_DAMAGED_MAX, check_file, compact_file};
pub use job::{Job, Phase, ProgressFigures};
pub use load::restore_on_server;
pub use moving::{MoveOptions, Moved, move_to_file, move_to_server};
pub use report::{BackupReport, DrillReport, StoredNotice};
pub use restore::{RestoreOptions, Restored, restore};

/// What all rows of a database are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Contents {
    /// Tables that have rows.
    pub n_tables: u64,
    pub n_rows: u64,
    /// Of keys and values.
    pub n_bytes: u64,
    /// The sequence of the last event.
    pub event: u64,
    pub digest: Digest,
}

/// The digest of all rows in order. Two databases with the same one hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Digest(pub [u8; 16]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// What a backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Manifest {
    /// When the snapshot was taken.
    pub at: Time,
    /// The release that wrote it.
    pub release: String,
    pub contents: Contents,
}
