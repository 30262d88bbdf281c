//! Evidence for controls, by reference to where it is kept.

pub mod file;

use std::collections::{HashMap, HashSet};

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::EvidenceId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::evidence::file::EvidenceFile;
use crate::store::row_key::RowKey;
use crate::store::table::{FACT_EVIDENCE, FACT_EVIDENCE_SOURCE, FACTS};

/// One document, report or record.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Evidence {
    pub id: EvidenceId,
    /// The control's code.
    pub control: String,
    pub title: String,
    /// Where the evidence is kept.
    pub reference: String,
    pub sha256: Option<[u8; 32]>,
    /// When it expires. `None`: it does not expire.
    pub valid_until: Option<Time>,
    /// When it was added or renewed.
    pub added_at: Time,
    pub by: String,
}

/// The source that reports an entry of the register.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct EvidenceSource {
    evidence: EvidenceId,
    source: String,
}

/// An entry of the register, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredEvidence {
    pub evidence: Evidence,
    /// The source that reports it. `None`: a person added it, or a source did before this was recorded.
    pub source: Option<String>,
    /// `None`: only the reference is kept.
    pub file: Option<EvidenceFile>,
}

impl Evidence {
    /// Returns true if it has not expired.
    #[must_use]
    pub fn is_valid(&self, now: Time) -> bool {
        self.valid_until.is_none_or(|it| now < it)
    }
}

fn evidence_key(id: EvidenceId) -> RowKey {
    RowKey::of(FACT_EVIDENCE).bytes(id.as_bytes())
}

fn source_key(id: EvidenceId) -> RowKey {
    RowKey::of(FACT_EVIDENCE_SOURCE).bytes(id.as_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// In the order in which it was first added.
    pub fn list_evidence(&self) -> Result<Vec<Evidence>> {
        self.list(FACTS, &RowKey::of(FACT_EVIDENCE))
    }

    /// [`Self::list_evidence`], with the sources and files.
    pub fn list_registered_evidence(&self) -> Result<Vec<RegisteredEvidence>> {
        let sources: Vec<EvidenceSource> = self.list(FACTS, &RowKey::of(FACT_EVIDENCE_SOURCE))?;
        let mut sources: HashMap<EvidenceId, String> =
            sources.into_iter().map(|it| (it.evidence, it.source)).collect();
        let mut files: HashMap<EvidenceId, EvidenceFile> =
            self.list_evidence_files()?.into_iter().map(|it| (it.evidence, it)).collect();
        let registered = |evidence: Evidence| {
            let source = sources.remove(&evidence.id);
            let file = files.remove(&evidence.id);
            RegisteredEvidence { evidence, source, file }
        };
        Ok(self.list_evidence()?.into_iter().map(registered).collect())
    }

    /// Entries that expired before `time` and to which no attestation that is kept refers.
    pub fn list_ended_evidence(&self, time: Time) -> Result<Vec<EvidenceId>> {
        let mut ended = self.list_evidence()?;
        ended.retain(|it| it.valid_until.is_some_and(|end| end < time));
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let used: HashSet<EvidenceId> =
            self.list_attested()?.into_iter().filter_map(|it| it.evidence_id).collect();
        Ok(ended.into_iter().map(|it| it.id).filter(|it| !used.contains(it)).collect())
    }

    pub fn find_evidence(&self, id: EvidenceId) -> Result<Option<Evidence>> {
        self.find(FACTS, &evidence_key(id))
    }
}

impl ClientBatch<'_> {
    pub fn put_evidence(&mut self, evidence: &Evidence) -> Result<()> {
        self.put(FACTS, &evidence_key(evidence.id), evidence)
    }

    /// Stores evidence that a source reports.
    pub fn put_evidence_of(&mut self, source: &str, evidence: &Evidence) -> Result<()> {
        let origin = EvidenceSource { evidence: evidence.id, source: source.to_owned() };
        self.put(FACTS, &source_key(evidence.id), &origin)?;
        self.put_evidence(evidence)
    }

    /// Removes it, with its file. Whether it was there.
    pub fn remove_evidence(&mut self, id: EvidenceId) -> Result<bool> {
        self.remove_evidence_file(id)?;
        self.remove(FACTS, &source_key(id))?;
        self.remove(FACTS, &evidence_key(id))
    }
}
