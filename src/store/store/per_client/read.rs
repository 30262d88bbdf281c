//! Complete reads that were accepted.

use std::ops::ControlFlow;

use crate::engine::fact::{CompleteRead, SourceFacts};
use crate::error::Result;
use crate::id::ImportId;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::fact::key::is_of;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_READ, FACTS};
use crate::store::{ClientBatch, ClientSnapshot};

/// How many complete reads of a list of a source and scope count: the newest ones.
pub const N_READS_KEPT: usize = 10;

/// The start of the keys of the complete reads of a scope, newest first.
pub(super) fn reads_key(source: &str, scope: &str, is_of_accounts: bool) -> RowKey {
    RowKey::of(FACT_READ).text(source).text(scope).bytes(&[u8::from(is_of_accounts)])
}

fn read_key(it: &CompleteRead) -> RowKey {
    let reads = reads_key(&it.source, &it.scope, it.is_of_accounts);
    reads.falling(it.at).bytes(it.import.as_bytes())
}

/// Returns the reads that count, and those that no longer do because of newer ones.
#[must_use]
pub fn split_by_age(mut reads: Vec<CompleteRead>) -> (Vec<CompleteRead>, Vec<CompleteRead>) {
    fn list(it: &CompleteRead) -> (&str, &str, bool) {
        (&it.source, &it.scope, it.is_of_accounts)
    }
    reads.sort_by(|a, b| list(a).cmp(&list(b)).then(b.at.cmp(&a.at)).then(a.import.cmp(&b.import)));
    let (mut counting, mut outdated) = (Vec::new(), Vec::new());
    let mut n = 0;
    for it in reads {
        let is_next = counting.last().is_some_and(|last| list(last) == list(&it));
        n = if is_next { n + 1 } else { 1 };
        let found = if n <= N_READS_KEPT { &mut counting } else { &mut outdated };
        found.push(it);
    }
    (counting, outdated)
}

impl<R: Rows> ClientTransaction<R> {
    /// What an assessment reads of what sources saw.
    pub fn read_source_facts(&self) -> Result<SourceFacts> {
        let observations = self.list_observations()?;
        Ok(SourceFacts { observations, reads: self.list_complete_reads()? })
    }

    /// The complete reads that count.
    pub fn list_complete_reads(&self) -> Result<Vec<CompleteRead>> {
        Ok(split_by_age(self.list_stored_reads()?).0)
    }

    /// The complete reads that count, or would if newer ones were undone.
    pub fn list_stored_reads(&self) -> Result<Vec<CompleteRead>> {
        let (table, uncounted) = (FACTS.name(self.client), self.list_uncounted()?);
        let mut found = Vec::new();
        let span = Span::prefix(RowKey::of(FACT_READ).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if !is_of(&uncounted, key) {
                found.push(self.rows.open_row(&table, key, bytes)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The complete reads of an import, whether or not they count.
    pub fn find_reads_of_import(&self, import: ImportId) -> Result<Vec<CompleteRead>> {
        let (table, mut found) = (FACTS.name(self.client), Vec::new());
        let span = Span::prefix(RowKey::of(FACT_READ).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if key.ends_with(import.as_bytes()) {
                found.push(self.rows.open_row(&table, key, bytes)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

impl ClientSnapshot {
    /// The complete reads that newer ones make superfluous.
    pub fn list_outdated_reads(&self) -> Result<Vec<CompleteRead>> {
        Ok(split_by_age(self.list_stored_reads()?).1)
    }
}

impl ClientBatch<'_> {
    pub fn add_complete_read(&mut self, read: &CompleteRead) -> Result<()> {
        self.put(FACTS, &read_key(read), read)
    }

    pub fn remove_complete_reads(&mut self, reads: &[CompleteRead]) -> Result<()> {
        reads.iter().try_for_each(|it| self.remove(FACTS, &read_key(it)).map(|_| ()))
    }
}
