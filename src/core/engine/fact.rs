//! Facts: observations of sources, statements of people, and the profiles of clients.

use super::severity::Severity;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};

use super::StatedPart;
use super::estate::KnownEstate;
use super::framework::FrameworkId;
use super::memory::sparse::SparseMemory;
use super::subject::SubjectDecision;
use crate::clock::Time;
use crate::id::ImportId;
use crate::layout::read_by_layout;

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

    /// Returns what counted subjects come to. `Partial` requires that at least half of them pass and that none that fails is
    /// critical.
    #[must_use]
    pub const fn of_count(passed: u32, failed: u32, is_critical: bool) -> Self {
        if failed == 0 {
            Self::Compliant
        } else if failed <= passed && !is_critical {
            Self::Partial
        } else {
            Self::NonCompliant
        }
    }

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
    /// The source no longer says anything about it. Earlier observations of it no longer count. Written for scans of systems,
    /// and for all checks by releases up to 0.1, which stored no [`CompleteRead`].
    Gone,
    /// As `Counted`, of more subjects than say whether they pass. Once one fails, those that were not seen count as if they
    /// failed too: one that turns out to fail changes nothing.
    Seen { passed: u32, failed: u32, unseen: u32 },
}

impl Verdict {
    /// Returns what a population shows of which some members may be unseen. While most are, nothing passes.
    #[must_use]
    pub const fn of_population(passed: u32, failed: u32, unseen: u32) -> Self {
        if unseen == 0 {
            Self::Counted { passed, failed }
        } else if failed == 0 && passed < unseen {
            Self::Counted { passed: 0, failed: 0 }
        } else {
            Self::Seen { passed, failed, unseen }
        }
    }

    /// Returns the status that it comes to. `None`: it says nothing any more.
    ///
    /// `is_critical`: a subject that fails is.
    #[must_use]
    pub const fn status(self, is_critical: bool) -> Option<Status> {
        match self {
            Self::Counted { passed, failed } => Some(Status::of_count(passed, failed, is_critical)),
            Self::Stated(status) => Some(status),
            Self::Seen { failed: 0, .. } => Some(Status::Partial),
            Self::Seen { passed, failed, unseen } => {
                Some(Status::of_count(passed, failed.saturating_add(unseen), is_critical))
            }
            Self::Gone => None,
        }
    }

    /// Returns true if it replaces an older observation of the same key.
    #[must_use]
    pub const fn is_effective(self) -> bool {
        match self {
            Self::Counted { passed, failed } | Self::Seen { passed, failed, .. } => {
                passed != 0 || failed != 0
            }
            Self::Stated(_) | Self::Gone => true,
        }
    }

    /// Returns true if a subject fails.
    #[must_use]
    pub fn is_failing(self) -> bool {
        match self {
            Self::Counted { failed, .. } | Self::Seen { failed, .. } => failed != 0,
            Self::Stated(status) => status != Status::Compliant,
            Self::Gone => false,
        }
    }
}

/// What a list of accounts or systems shows about one control.
#[derive(Debug)]
pub struct ControlVerdict<'a> {
    /// The control's code.
    pub code: &'static str,
    pub verdict: Verdict,
    /// The subjects that fail.
    pub failing: Vec<&'a str>,
    pub n_unknown: usize,
    /// Until when all passes that passes, if that is earlier than the control says.
    pub passes_until: Option<Time>,
    /// The facets of the control that it speaks of, by name. Empty: the catalog says which.
    pub facets: &'static [&'static str],
}

impl<'a> ControlVerdict<'a> {
    /// Counts subjects that pass, that fail, and of which this is unknown, by [`Verdict::of_population`].
    #[must_use]
    pub fn counted(
        code: &'static str,
        judged: impl IntoIterator<Item = (&'a str, Option<bool>)>,
    ) -> Self {
        let (mut passed, mut failing, mut n_unknown) = (0_u32, Vec::new(), 0);
        for (name, passes) in judged {
            match passes {
                Some(true) => passed += 1,
                Some(false) => failing.push(name),
                None => n_unknown += 1,
            }
        }
        let [failed, unknown] =
            [failing.len(), n_unknown].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let verdict = Verdict::of_population(passed, failed, unknown);
        Self { code, verdict, failing, n_unknown, passes_until: None, facets: &[] }
    }
}

/// The result of one check of one source in one scope at one time.
///
/// Key: (subject, source, scope, check). The newest effective one of each key counts, until `valid_until`.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
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
    /// How many of the failing subjects are muted or suppressed at the source: not passed, but accepted there.
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
    pub memory: SparseMemory,
    /// The facets of its control that it looked at, by name. Empty: the catalog says what it shows.
    pub facets: Vec<String>,
    /// The platform that it is about, as its source says it.
    pub platform: Option<String>,
}

read_by_layout!(Observation {
    subject, source, scope, check, observed_at, valid_until, import, verdict, accepted, severity, title, findings, remediation,
    failing,
} and then { memory, facets, platform });

impl Observation {
    /// Stands for the run that it came with if a person says so. No run has this id.
    pub const SAID: ImportId = ImportId::from_bytes([0; 16]);

    /// Returns false if it says nothing about a control.
    #[must_use]
    pub fn is_effective(&self) -> bool {
        let says_nothing =
            matches!(self.verdict, Verdict::Stated(Status::NotAssessed | Status::NotApplicable));
        self.verdict.is_effective() && !says_nothing
    }

    /// Returns one of the same check that says no more than that the check was there.
    #[must_use]
    pub fn present(&self, at: Time) -> Self {
        Self {
            observed_at: at,
            valid_until: None,
            verdict: Verdict::Counted { passed: 0, failed: 0 },
            accepted: 0,
            findings: None,
            failing: Vec::new(),
            memory: SparseMemory::default(),
            ..self.clone()
        }
    }

    /// Returns true if a person says so, and no source.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.import == Self::SAID
    }

    /// Returns true if it was derived from a list of accounts. Only lists of accounts replace it, and not the source's
    /// other facts.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        self.check == DERIVED_CHECK && matches!(self.subject, Subject::Control(_))
    }

    /// Returns what identifies it besides its time: subject, source, scope and check.
    #[must_use]
    pub fn thing(&self) -> ObservedThing<'_> {
        (&self.subject, &self.source, &self.scope, &self.check)
    }
}

pub type ObservedThing<'a> = (&'a Subject, &'a str, &'a str, &'a str);

/// A complete read of a source and scope that was accepted: everything else that was seen there before is gone, whether
/// or not it was known when the read arrived.
///
/// Invariant: there is an observation, effective or not, of everything that it has, with its time and its import.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CompleteRead {
    pub source: String,
    pub scope: String,
    /// True: a list of accounts, which speaks of what is derived from such lists. False: it speaks of all other checks.
    pub is_of_accounts: bool,
    pub at: Time,
    /// The import that contained it.
    pub import: ImportId,
    /// How many checks or accounts it has.
    pub n: u32,
}

/// What sources saw.
#[derive(Clone, Debug, Default)]
pub struct SourceFacts {
    /// In any order. Older observations of a key may be included. They show only which failures the newest ones replace.
    pub observations: Vec<Observation>,
    /// In any order.
    pub reads: Vec<CompleteRead>,
}

/// What complete reads lack.
#[derive(Debug)]
pub struct Absences<'a> {
    /// The reads of each source, scope and list, newest first.
    reads: BTreeMap<(&'a str, &'a str, bool), Vec<&'a CompleteRead>>,
    /// Observations that do not count, and show only that an import had the check.
    present: BTreeSet<(ImportId, Time, ObservedThing<'a>)>,
}

impl<'a> Absences<'a> {
    #[must_use]
    pub fn of(reads: &'a [CompleteRead], observations: &'a [Observation]) -> Self {
        let mut by_list: BTreeMap<_, Vec<&CompleteRead>> = BTreeMap::new();
        for it in reads {
            let list = (it.source.as_str(), it.scope.as_str(), it.is_of_accounts);
            by_list.entry(list).or_default().push(it);
        }
        for reads in by_list.values_mut() {
            reads.sort_by_key(|it| Reverse(it.at));
        }
        let silent = observations.iter().filter(|it| !by_list.is_empty() && !it.is_effective());
        let present = silent.map(|it| (it.import, it.observed_at, it.thing())).collect();
        Self { reads: by_list, present }
    }

    /// Returns true if a read after the newest effective observation of something lacks it.
    #[must_use]
    pub fn include(&self, newest: &Observation) -> bool {
        self.include_between(newest, None)
    }

    /// Returns true if a read after this observation, and before the next effective one of the same, lacks it.
    #[must_use]
    pub fn include_between(&self, it: &Observation, next: Option<Time>) -> bool {
        let list = (it.source.as_str(), it.scope.as_str(), it.is_derived());
        let Some(reads) = self.reads.get(&list) else { return false };
        let before = reads.iter().skip_while(|read| next.is_some_and(|next| next <= read.at));
        let mut between = before.take_while(|read| it.observed_at < read.at);
        between.any(|read| !self.present.contains(&(read.import, read.at, it.thing())))
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
/// Failing subjects of an observation beyond this many are counted, and not known one by one.
pub const N_FAILING_MAX: usize = 50_000;
/// As many failing subjects of a client are known one by one.
pub const N_FAILING_OF_CLIENT_MAX: usize = 1_000_000;

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

/// The bits in which [`regional_hash`] of a resource differs from its [`subject_hash`].
const REGION_BITS: u64 = 0xffff << 48;

/// Returns a hash of a subject of which there is one of the same identifier in each region, such as an account.
#[must_use]
pub fn regional_hash(external_id: &str, region: &str) -> u64 {
    // Never 0, so that it is not the hash of the identifier alone.
    subject_hash(external_id) ^ ((1 + subject_hash(region) % 0xffff) << 48)
}

/// Returns the part of a hash that is the same for an identifier alone and in all regions.
#[must_use]
pub const fn anywhere(hash: u64) -> u64 {
    hash & !REGION_BITS
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
    /// In any order.
    pub reads: &'a [CompleteRead],
    /// In any order; the newest of each control counts.
    pub attestations: &'a [Attestation],
    /// In any order; one of each part counts.
    pub parts: &'a [StatedPart],
    /// In any order; the newest of each row counts.
    pub decisions: &'a [RowDecision],
    /// In any order; the newest about each subject of a control counts.
    pub subjects: &'a [SubjectDecision],
    pub profile: &'a Profile,
    pub estate: &'a KnownEstate,
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
            reads: &[],
            attestations: &[],
            parts: &[],
            decisions: &[],
            subjects: &[],
            profile,
            estate: KnownEstate::NOTHING,
            critical_subjects: &[],
            base_loss: None,
            now: Time::EPOCH,
        }
    }
}
