//! Files of evidence. They are kept in parts, so that no record is large and a backup carries them.

use bincode::{Decode, Encode};

use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_EVIDENCE_FILE, FACT_EVIDENCE_PART, FACTS};

/// Bytes of each part but the last.
pub const PART_BYTES: usize = 192 * 1024;

/// The file of an entry of the register. Until its last part is there, the register has no such entry.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EvidenceFile {
    pub evidence: EvidenceId,
    /// What it is called.
    pub name: String,
    pub n_bytes: u64,
}

impl EvidenceFile {
    /// How many parts it has.
    #[must_use]
    pub fn n_parts(&self) -> u32 {
        u32::try_from(self.n_bytes.div_ceil(PART_BYTES as u64)).unwrap_or(u32::MAX)
    }
}

fn file_key(id: EvidenceId) -> RowKey {
    RowKey::of(FACT_EVIDENCE_FILE).bytes(id.as_bytes())
}

fn parts_key(id: EvidenceId) -> RowKey {
    RowKey::of(FACT_EVIDENCE_PART).bytes(id.as_bytes())
}

fn part_key(id: EvidenceId, number: u32) -> RowKey {
    parts_key(id).bytes(&number.to_be_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// All files, those too that are still arriving or broke off.
    pub fn list_evidence_files(&self) -> Result<Vec<EvidenceFile>> {
        self.list(FACTS, &RowKey::of(FACT_EVIDENCE_FILE))
    }

    /// The file of an entry of the register. `None`: there is no such entry, or it has none.
    pub fn find_evidence_file(&self, id: EvidenceId) -> Result<Option<EvidenceFile>> {
        if self.find_evidence(id)?.is_none() {
            return Ok(None);
        }
        self.find(FACTS, &file_key(id))
    }

    /// A part, by its number from 0.
    ///
    /// # Errors
    /// `NotFound` if the evidence was removed.
    pub fn evidence_part(&self, id: EvidenceId, number: u32) -> Result<Vec<u8>> {
        let part: Option<Vec<u8>> = self.find(FACTS, &part_key(id, number))?;
        part.ok_or_else(|| Error::not_found("the evidence was removed"))
    }
}

impl ClientBatch<'_> {
    pub fn put_evidence_file(&mut self, file: &EvidenceFile) -> Result<()> {
        self.put(FACTS, &file_key(file.evidence), file)
    }

    /// Stores a part, by its number from 0.
    pub fn put_evidence_part(
        &mut self,
        id: EvidenceId,
        number: u32,
        bytes: &Vec<u8>,
    ) -> Result<()> {
        self.put(FACTS, &part_key(id, number), bytes)
    }

    /// Removes the file and its parts, if there is one.
    pub fn remove_evidence_file(&mut self, id: EvidenceId) -> Result<()> {
        if !self.remove(FACTS, &file_key(id))? {
            return Ok(());
        }
        let table = FACTS.name(self.client);
        let span = Span::prefix(parts_key(id).as_slice());
        for key in self.rows.list_keys_of(&table, &span, usize::MAX)? {
            self.rows.remove_row(&table, &key)?;
        }
        Ok(())
    }
}
