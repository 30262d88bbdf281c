//! What the verdicts of each group are about: names by position.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::OUTLINES;

/// The names of a group's verdicts, in order: codes of controls, or references of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Outline {
    /// Empty: the controls. Otherwise the id of a framework.
    pub group: String,
    pub digest: u64,
    pub names: Vec<String>,
}

fn outlines_of(group: &str) -> RowKey {
    RowKey::empty().text(group)
}

fn key(group: &str, digest: u64) -> RowKey {
    outlines_of(group).bytes(&digest.to_be_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// `None`: no assessment has used it.
    pub fn find_outline(&self, group: &str, digest: u64) -> Result<Option<Outline>> {
        self.rows.find_row(OUTLINES, key(group, digest).as_slice())
    }

    /// All that a group had, of one catalog after the other.
    pub fn list_outlines(&self, group: &str) -> Result<Vec<Outline>> {
        let span = Span::prefix(outlines_of(group).as_slice());
        self.rows.list_rows(OUTLINES, &span, usize::MAX)
    }
}

impl ClientBatch<'_> {
    pub fn put_outline(&mut self, outline: &Outline) -> Result<()> {
        let key = key(&outline.group, outline.digest);
        self.rows.put_row(OUTLINES, key.as_slice(), outline)
    }
}
