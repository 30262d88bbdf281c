//! Frameworks that the managed service provider wrote.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::framework::OwnFrameworkId;
use crate::error::Result;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::OWN_FRAMEWORKS;

/// A framework of the managed service provider, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OwnFramework {
    pub id: OwnFrameworkId,
    pub toml: String,
    pub by: String,
    pub at: Time,
}

impl<R: Rows> Transaction<R> {
    pub fn find_own_framework(&self, id: OwnFrameworkId) -> Result<Option<OwnFramework>> {
        self.rows.find_row(OWN_FRAMEWORKS, id.as_str().as_bytes())
    }

    /// Ordered by id.
    pub fn list_own_frameworks(&self) -> Result<Vec<OwnFramework>> {
        self.rows.list_rows(OWN_FRAMEWORKS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_own_framework(&mut self, framework: &OwnFramework) -> Result<()> {
        self.rows.put_row(OWN_FRAMEWORKS, framework.id.as_str().as_bytes(), framework)
    }

    /// Whether it was there.
    pub fn remove_own_framework(&mut self, id: OwnFrameworkId) -> Result<bool> {
        self.rows.remove_row(OWN_FRAMEWORKS, id.as_str().as_bytes())
    }
}
