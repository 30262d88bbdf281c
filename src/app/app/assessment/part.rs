//! What people attest about parts of controls: a facet, a platform, or one of its accounts.

use crate::app::assessment::log;
use crate::engine::{ControlPart, StatedPart};
use crate::store::per_client::fact::Attested;
use crate::store::per_client::statement::{StatementRecord, Topic};

/// What counts of a part until it expires.
#[derive(Clone, Debug)]
pub struct AttestedPart {
    pub part: ControlPart,
    pub attested: Attested,
}

impl AttestedPart {
    /// `None`: the record is about something else, or ends another.
    pub(in crate::app) fn of(record: &StatementRecord) -> Option<Self> {
        let Topic::Part { control, part } = &record.topic else { return None };
        let attested = log::attested_as(control, record)?;
        Some(Self { part: part.clone(), attested })
    }

    #[must_use]
    pub fn topic(&self) -> Topic {
        let control = self.attested.attestation.control.clone();
        Topic::Part { control, part: self.part.clone() }
    }

    /// `evidence`: where the one is that counts now.
    pub(in crate::app) fn stated(&self, evidence: Option<&str>) -> StatedPart {
        let mut said = self.attested.attestation.clone();
        said.evidence = evidence.map(str::to_owned);
        StatedPart { part: self.part.clone(), said }
    }
}
