//! Facts: observations of sources, statements of people, and the profiles of clients.

use super::severity::Severity;
use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::framework::FrameworkId;
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

    /// Returns the contract's name of the status.
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

    /// Returns true if nothing is left to do: it is compliant, or does not apply.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Compliant | Self::NotApplicable)
    }
}

/// What an observation is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Subject {
    /// A control of our catalog, by its code: the source did the mapping.
    Control(String),
    /// A check of a known tool. At each assessment, the catalog determines which controls it decides, if any.
    Check { tool: String },
}

/// The result of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verdict {
    /// Subjects that passed and failed. If both are 0, the observation does not count.
    Counted { passed: u32, failed: u32 },
    /// A status without counts: `Compliant`, `Partial` or `NonCompliant`.
    Stated(Status),
    /// The check is missing from a complete read. Earlier observations of it no longer count.
    Gone,
}

impl Verdict {
    /// Returns true if it replaces an older observation of the same key.
    #[must_use]
    pub const fn is_effective(self) -> bool {
        match self {
            Self::Counted { passed, failed } => passed != 0 || failed != 0,
            Self::Stated(_) | Self::Gone => true,
        }
    }

    /// Returns true if a subject fails.
    #[must_use]
    pub fn is_failing(self) -> bool {
        match self {
            Self::Counted { failed, .. } => failed != 0,
            Self::Stated(status) => status != Status::Compliant,
            Self::Gone => false,
        }
    }
}

/// The result of one check of one source in one scope at one time.
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
    /// The import that contained it.
    pub import: ImportId,
    pub verdict: Verdict,
    /// Failing subjects that are muted or suppressed at the source. They are stored but never counted.
    pub accepted: u32,
    /// The check's own severity. It is used only if no control is mapped to the check.
    pub severity: Severity,
    pub title: String,
    /// Details for people, at most [`FINDINGS_CHARS_MAX`] characters.
    pub findings: Option<String>,
    /// At most [`REMEDIATION_CHARS_MAX`] characters.
    pub remediation: Option<String>,
    /// [`subject_hash`] of failing subjects, sorted, at most [`N_FAILING_MAX`].
    pub failing: Vec<u64>,
}

impl Observation {
    /// Returns the observation that a complete read without this one's check adds.
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

/// The check of an observation of a control for which its source names none.
pub const UNNAMED_CHECK: &str = "reported";
/// The check of observations that are derived from lists of accounts. Sources cannot use this name.
pub const DERIVED_CHECK: &str = "identities";
/// Importers cut longer findings, and the text says so.
pub const FINDINGS_CHARS_MAX: usize = 1_000;
pub const REMEDIATION_CHARS_MAX: usize = 1_000;
/// At most this many failing subjects are named in the findings of an observation.
pub const N_NAMED_MAX: usize = 5;
/// Failing subjects beyond this many are counted but not linked to assets.
pub const N_FAILING_MAX: usize = 10_000;

/// The end of the sentence in findings that counts the muted subjects.
pub const MUTED_NOTE: &str = " failed and muted at the source.";

/// Names failing subjects, as on the first line of the findings of an observation, and counts those of `n` that are not
/// named.
#[must_use]
pub fn failing_line(named: &[&str], n: usize) -> String {
    let named = &named[..named.len().min(N_NAMED_MAX)];
    let line = named.join(", ");
    match n - named.len() {
        0 => line,
        n_more => format!("{line} and {n_more} more"),
    }
}

/// Returns a hash of the source's identifier of a subject, which links failing subjects to assets.
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
    /// Where the evidence is. Without evidence, an attested `Compliant` counts as `Partial`.
    pub evidence: Option<String>,
    pub by: String,
    pub at: Time,
    /// When it expires. `None`: an out-of-scope attestation that does not expire.
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

impl RowDecision {
    #[must_use]
    pub fn is_about(&self, framework: FrameworkId, reference: &str) -> bool {
        self.framework == framework && self.reference == reference
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RowDecisionKind {
    OutOfScope,
    /// Lets a row that has only supporting controls be compliant if all of them are.
    Attested {
        evidence: String,
    },
}

/// Whether a client uses a platform.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Usage {
    Used,
    Unknown,
    /// Expires at `until`, [`UNUSED_DAYS`] after the answer was given.
    Unused {
        by: String,
        until: Time,
    },
}

/// An answer of "unused" expires after this many days, so that it must be confirmed again.
pub const UNUSED_DAYS: i64 = 365;

/// Answers to the catalog's profile questions. A question without an answer is `Unknown`.
pub type Profile = BTreeMap<String, Usage>;

/// Everything that an assessment reads besides the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// In any order. Older observations of a key may be included. They show only which failures the newest ones replace.
    pub observations: &'a [Observation],
    /// In any order; the newest of each control counts.
    pub attestations: &'a [Attestation],
    /// In any order; the newest of each row counts.
    pub decisions: &'a [RowDecision],
    pub profile: &'a Profile,
    /// [`subject_hash`] of the client's critical assets, sorted.
    pub critical_subjects: &'a [u64],
    /// What a year is expected to cost a client that meets everything, in dollars. `None`: an input is unknown.
    pub base_loss: Option<u64>,
    pub now: Time,
}

impl<'a> Facts<'a> {
    /// Those of a client of which nothing is known.
    #[must_use]
    pub fn none(profile: &'a Profile) -> Self {
        Self {
            observations: &[],
            attestations: &[],
            decisions: &[],
            profile,
            critical_subjects: &[],
            base_loss: None,
            now: Time::EPOCH,
        }
    }
}
