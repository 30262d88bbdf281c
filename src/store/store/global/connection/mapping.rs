//! Mappings that the managed service provider wrote: tools that connections read.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::CONNECTION_MAPPINGS;

/// A mapping of the managed service provider, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ConnectionMapping {
    /// The kind of connection that it declares.
    pub kind: String,
    pub toml: String,
    pub by: String,
    pub at: Time,
}

impl<R: Rows> Transaction<R> {
    pub fn find_connection_mapping(&self, kind: &str) -> Result<Option<ConnectionMapping>> {
        self.rows.find_row(CONNECTION_MAPPINGS, kind.as_bytes())
    }

    /// Ordered by kind.
    pub fn list_connection_mappings(&self) -> Result<Vec<ConnectionMapping>> {
        self.rows.list_rows(CONNECTION_MAPPINGS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_connection_mapping(&mut self, mapping: &ConnectionMapping) -> Result<()> {
        self.rows.put_row(CONNECTION_MAPPINGS, mapping.kind.as_bytes(), mapping)
    }

    /// Whether it was there.
    pub fn remove_connection_mapping(&mut self, kind: &str) -> Result<bool> {
        self.rows.remove_row(CONNECTION_MAPPINGS, kind.as_bytes())
    }
}
