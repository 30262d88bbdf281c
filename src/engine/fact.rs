//! Facts: what a source saw, what a person stated, what a client says about itself.

use super::severity::Severity;
use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::catalog::FrameworkId;
use crate::clock::Time;
use crate::id::ImportId;

/// The contract's `ComplianceStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    Compliant,
    Partial,
    NonCompliant,
    NotAssessed,
    NotApplicable,
}

impl Status {
    pub const ALL: [Self; 5] = [
        Self::Compliant,
        Self::Partial,
        Self::NonCompliant,
        Self::NotAssessed,
        Self::NotApplicable,
    ];

    /// The contract's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compliant => "compliant",
            Self::Partial => "partial",
            Self::NonCompliant => "non_compliant",
            Self::NotAssessed => "not_assessed",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// What an observation speaks about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Subject {
    /// A control of our catalogue, by its code: the source did the mapping.
    Control(String),
    /// A check of a known tool: the catalogue says which controls it decides, if any, at each assessment.
    Check { tool: String },
}

/// What an observation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verdict {
    /// Subjects that passed and failed. Nothing counted is no observation.
    Counted { passed: u32, failed: u32 },
    /// A status without counts: `Compliant`, `Partial` or `NonCompliant`.
    Stated(Status),
    /// A complete read no longer has this check: what it said before counts no more.
    Gone,
}

impl Verdict {
    /// Whether it takes the place of an older observation of the same key.
    #[must_use]
    pub const fn is_effective(self) -> bool {
        match self {
            Self::Counted { passed, failed } => passed != 0 || failed != 0,
            Self::Stated(_) | Self::Gone => true,
        }
    }
}

/// What one source saw of one check in one scope at one time.
///
/// Key: (subject, source, scope, check). The newest effective one of each key counts, until `valid_until`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Observation {
    pub subject: Subject,
    pub source: String,
    pub scope: String,
    pub check: String,
    pub observed_at: Time,
    /// `None`: the control's `max_age_days` decides.
    pub valid_until: Option<Time>,
    /// The import that brought it.
    pub import: ImportId,
    pub verdict: Verdict,
    /// Subjects that failed and were muted or suppressed at the source: kept, never counted.
    pub accepted: u32,
    /// The check's own severity; matters where no control is mapped.
    pub severity: Severity,
    pub title: String,
    /// What was seen, for a person. At most [`FINDINGS_CHARS_MAX`] characters.
    pub findings: Option<String>,
    /// At most [`REMEDIATION_CHARS_MAX`] characters.
    pub remediation: Option<String>,
    /// [`subject_hash`] of failing subjects, sorted, at most [`N_FAILING_MAX`].
    pub failing: Vec<u64>,
}

impl Observation {
    /// What a complete read says that no longer has it.
    #[must_use]
    pub fn gone(&self, at: Time, import: ImportId) -> Self {
        Self {
            observed_at: at,
            valid_until: None,
            import,
            verdict: Verdict::Gone,
            accepted: 0,
            findings: None,
            failing: Vec::new(),
            ..self.clone()
        }
    }
}

/// Longer texts of findings are cut at a sentence that says so, by the importer.
pub const FINDINGS_CHARS_MAX: usize = 1_000;
pub const REMEDIATION_CHARS_MAX: usize = 1_000;
/// Failing subjects beyond this many are counted but not linked to assets.
pub const N_FAILING_MAX: usize = 10_000;

/// Links a failing subject to an asset: a hash of the source's own identifier of it.
#[must_use]
pub fn subject_hash(external_id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(external_id.as_bytes())
}

/// A person's statement about a control.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attestation {
    /// The control's code.
    pub control: String,
    /// `Compliant`, `Partial`, `NonCompliant`, or `NotApplicable` for out of scope.
    pub status: Status,
    pub reason: String,
    /// Where the evidence is. Without it an attested `Compliant` counts as `Partial`.
    pub evidence: Option<String>,
    pub by: String,
    pub at: Time,
    /// From then on it counts no more. `None`: an out-of-scope decision without end.
    pub until: Option<Time>,
    /// Counts even where a technical observation is valid.
    pub overrides: bool,
}

/// A person's decision about one row of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RowDecision {
    pub framework: FrameworkId,
    pub reference: String,
    pub kind: RowDecisionKind,
    pub reason: String,
    pub by: String,
    pub at: Time,
    pub until: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RowDecisionKind {
    OutOfScope,
    /// Lets a row that its controls only support be compliant when they all are.
    Attested {
        evidence: String,
    },
}

/// Whether a client uses a platform.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Usage {
    Used,
    Unknown,
    /// Lapses at `until`, [`UNUSED_DAYS`] after it was said.
    Unused {
        by: String,
        until: Time,
    },
}

/// An answer of "unused" lapses after this many days, so that somebody looks again.
pub const UNUSED_DAYS: i64 = 365;

/// Answers to the catalogue's profile questions. A question without an answer is `Unknown`.
pub type Profile = BTreeMap<String, Usage>;

/// Everything that one assessment reads beside the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// In any order; older observations of a key may be there and count for nothing.
    pub observations: &'a [Observation],
    /// In any order; the newest of each control counts.
    pub attestations: &'a [Attestation],
    /// In any order; the newest of each row counts.
    pub decisions: &'a [RowDecision],
    pub profile: &'a Profile,
    /// [`subject_hash`] of the client's critical assets, sorted.
    pub critical_subjects: &'a [u64],
    /// What a year without any control would cost the client, in dollars. `None` when inputs are unknown.
    pub annual_loss: Option<u64>,
    pub now: Time,
}
