//! What is set in place of the configuration.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::SETTINGS;

/// A value in place of one of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredSetting {
    /// The key of the configuration.
    pub key: String,
    /// Text, or of `msp.logo` the file.
    pub value: Vec<u8>,
    /// Who set it.
    pub by: String,
    pub at: Time,
}

impl<R: Rows> Transaction<R> {
    /// Ordered by key.
    pub fn list_settings(&self) -> Result<Vec<StoredSetting>> {
        self.rows.list_rows(SETTINGS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_setting(&mut self, setting: &StoredSetting) -> Result<()> {
        self.rows.put_row(SETTINGS, setting.key.as_bytes(), setting)
    }

    /// Whether it was there.
    pub fn remove_setting(&mut self, key: &str) -> Result<bool> {
        self.rows.remove_row(SETTINGS, key.as_bytes())
    }
}
