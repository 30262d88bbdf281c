//! The posture of one client at one time: the result of an assessment.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::basis::{Basis, Ground};
use super::catalog::Catalog;
use super::contradiction::Contradiction;
use super::estate::{SeenEstate, Unseen};
use super::framework::{Framework, FrameworkId, FrameworkRow, Level};
use crate::clock::Time;
use crate::engine::fact::Status;
use crate::engine::identity::aside::AccountStandings;
use crate::engine::severity::Severity;
use crate::layout::read_by_layout;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posture {
    /// In the catalog's order.
    pub controls: Vec<ControlOutcome>,
    /// What each of the controls rests on.
    pub grounds: Vec<Ground>,
    /// In the catalog's order.
    pub frameworks: Vec<FrameworkOutcome>,
    /// What each row of each of the frameworks rests on.
    pub row_bases: Vec<Vec<Basis>>,
    pub estate: SeenEstate,
    /// What is known and nobody looked at, that of which most depends first.
    pub unseen: Vec<Unseen>,
    /// What people and controls say of the accounts that lists show.
    pub accounts: AccountStandings,
    /// Computed even without evidence. It is shown only once there was evidence.
    pub score: Score,
    /// True if any observation or attestation is valid.
    pub has_evidence: bool,
    /// Open conditions only, highest score first, then by condition.
    pub risks: Vec<Risk>,
    /// Conditions, sorted: findings that pass now, and controls that are compliant because what failed passes now or a
    /// person says so. Any other risk that is no longer open was not seen to be fixed.
    pub fixed: Vec<String>,
    /// Conditions, sorted: controls that a person says are met although they were seen to fail, or whose failing subjects are no
    /// members, as a person says.
    pub overridden: Vec<String>,
    /// Decisions that are contradicted by what was seen: about controls, then about rows, then about platforms. At most one
    /// about each.
    pub contradictions: Vec<Contradiction>,
    /// From a failing subject to the score of the worst risk that affects it, 0 to 100.
    pub touched: BTreeMap<u64, u8>,
    /// `None`: an input is unknown.
    pub loss: Option<ExpectedLoss>,
    /// The next time at which this posture may change without new facts.
    pub changes_at: Option<Time>,
}

/// Returns the share of the applicable controls' weight that is assessed, in percent, rounded down. 0 if nothing is
/// applicable.
#[must_use]
pub fn coverage(catalog: &Catalog, controls: &[ControlOutcome]) -> u8 {
    let (mut assessed, mut applicable) = (0, 0);
    for (outcome, control) in controls.iter().zip(&catalog.controls) {
        let weight = control.severity.weight();
        match outcome.status {
            Status::NotApplicable => (),
            Status::NotAssessed => applicable += weight,
            Status::Compliant | Status::Partial | Status::NonCompliant => {
                applicable += weight;
                assessed += weight;
            }
        }
    }
    let coverage = (assessed * 100).checked_div(applicable).unwrap_or(0);
    u8::try_from(coverage).expect("a part is at most 100 % of the whole")
}

/// Why a control is partly met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PartialBecause {
    /// Something was seen to fail, or somebody says that it does.
    Failing,
    /// What was seen passes, and not all that is known was seen.
    Unseen,
    /// Somebody says that it is met, without evidence.
    Claimed,
}

impl PartialBecause {
    pub const ALL: [Self; 3] = [Self::Failing, Self::Unseen, Self::Claimed];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Unseen => "unseen",
            Self::Claimed => "claimed",
        }
    }
}

/// What people read for the result of a control or a requirement, in English and in French: every page, report and command
/// takes its words from here. Programs read the names of the types.
///
/// `why`: of a control that is partial. `None`: of a requirement, or unknown.
#[must_use]
pub const fn result_words(
    status: Status,
    why: Option<PartialBecause>,
) -> (&'static str, &'static str) {
    match (status, why) {
        (Status::Compliant, _) => ("Compliant", "Conforme"),
        (Status::Partial, Some(PartialBecause::Unseen)) => ("Met where seen", "Conforme là où vu"),
        (Status::Partial, Some(PartialBecause::Claimed)) => {
            ("Said, not shown", "Affirmé sans preuve")
        }
        (Status::Partial, Some(PartialBecause::Failing) | None) => {
            ("Partly met", "Conforme en partie")
        }
        (Status::NonCompliant, _) => ("Not compliant", "Non conforme"),
        (Status::NotAssessed, _) => ("Not assessed", "Non évalué"),
        (Status::NotApplicable, _) => ("Not applicable", "Sans objet"),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct ControlOutcome {
    pub code: String,
    pub status: Status,
    /// 0 to 100. `None` when not assessed or not applicable.
    pub score: Option<u8>,
    pub findings: Option<String>,
    pub remediation: Option<String>,
    /// When the newest counted observation or attestation was made.
    pub assessed_at: Option<Time>,
    /// When the result expires if there is no newer evidence. `None`: unknown, or never.
    pub valid_until: Option<Time>,
    /// True if evidence of a result other than full compliance expired and no newer evidence replaced it.
    pub held: bool,
    /// True if an attestation decides it.
    pub attested: bool,
    /// `None`: it is not partial, or of a release that did not tell.
    pub partial_because: Option<PartialBecause>,
}

read_by_layout!(ControlOutcome {
    code, status, score, findings, remediation, assessed_at, valid_until, held, attested,
} and then { partial_because });

impl ControlOutcome {
    /// Returns true if something is wrong with it, as far as is known: a risk may be open.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        match self.status {
            Status::NonCompliant => true,
            Status::Partial => matches!(self.partial_because, None | Some(PartialBecause::Failing)),
            Status::Compliant | Status::NotAssessed | Status::NotApplicable => false,
        }
    }

    /// Returns true if what was seen of the control passes and decides nothing: only then there is a finding about a
    /// control that is not assessed and whose last result was not worse.
    #[must_use]
    pub fn shows_too_little(&self) -> bool {
        self.status == Status::NotAssessed && !self.held && self.findings.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FrameworkOutcome {
    pub id: FrameworkId,
    pub summary: FrameworkSummary,
    /// One for each row of the catalog's framework, in its order, including details.
    pub rows: Vec<RowOutcome>,
}

impl FrameworkOutcome {
    /// The outcome of a client about which nothing is known.
    #[must_use]
    pub fn unassessed(framework: &Framework) -> Self {
        let row = |it: &FrameworkRow| {
            let status =
                if it.applies.is_some() { Status::NotApplicable } else { Status::NotAssessed };
            RowOutcome { status, score: 0 }
        };
        let is_counted =
            |it: &&FrameworkRow| it.level == Level::Requirement && it.applies.is_none();
        let total = framework.rows.iter().filter(is_counted).count();
        let summary = FrameworkSummary {
            total: u32::try_from(total).expect("a framework has fewer than 2^32 rows"),
            passed: 0,
            partial: 0,
            failed: 0,
            readiness: 0,
            sprs: None,
        };
        Self { id: framework.id, summary, rows: framework.rows.iter().map(row).collect() }
    }
}

/// Counts are over applicable rows of level requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FrameworkSummary {
    pub total: u32,
    pub passed: u32,
    pub partial: u32,
    pub failed: u32,
    /// 0 to 100.
    pub readiness: u8,
    /// -203 to 110; only for `CMMC_L2`, and only with a compliant gate (3.12.4).
    pub sprs: Option<i16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RowOutcome {
    pub status: Status,
    /// 0 to 100.
    pub score: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Score {
    /// 0 to 100.
    pub overall: u8,
    /// From a category's name to 0 to 100, in the catalog's order. Categories with nothing applicable are left out.
    pub categories: Vec<(String, u8)>,
    /// Applicable controls.
    pub n_total: u32,
    pub n_compliant: u32,
    pub n_partial: u32,
    pub n_non_compliant: u32,
}

impl Score {
    #[must_use]
    pub const fn grade(&self) -> &'static str {
        Self::grade_of(self.overall)
    }

    /// The contract's grade rule.
    #[must_use]
    pub const fn grade_of(overall: u8) -> &'static str {
        match overall {
            90.. => "A",
            80..=89 => "B",
            70..=79 => "C",
            60..=69 => "D",
            0..=59 => "F",
        }
    }
}

/// What a year is expected to cost a client, in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpectedLoss {
    /// If it met everything.
    pub base: u64,
    /// With its open risks of controls, accepted or not. At least `base`.
    pub now: u64,
}

impl ExpectedLoss {
    /// What the open risks add.
    #[must_use]
    pub const fn exposure(&self) -> u64 {
        self.now - self.base
    }
}

/// How much of it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RiskExtent {
    /// The control is non-compliant.
    pub is_not_met: bool,
    /// A critical asset fails.
    pub is_critical: bool,
    /// Subjects that fail.
    pub n_failing: u64,
    /// The share that fails, in thousandths.
    pub permille: u16,
}

impl RiskExtent {
    /// Returns true if it is clearly more than what was accepted: the control is no longer partly met, a critical asset fails, or
    /// twice as much fails.
    #[must_use]
    pub const fn exceeds(&self, accepted: &Self) -> bool {
        let is_double = accepted.n_failing != 0
            && accepted.n_failing.saturating_mul(2) <= self.n_failing
            || accepted.permille != 0 && accepted.permille.saturating_mul(2) <= self.permille;
        self.is_not_met && !accepted.is_not_met
            || self.is_critical && !accepted.is_critical
            || is_double
    }
}

/// One open condition.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct Risk {
    /// Stable name of what is wrong: `control/<code>`, `finding/<tool>/<check>/<source>/<scope>`, or `findings/<tool>` for
    /// those that are too many to be a risk each.
    pub condition: String,
    pub title: String,
    pub description: String,
    /// Name of a category of the catalog: the control's, or that of the tool that reports a finding.
    pub category: String,
    pub severity: Severity,
    /// What fixing it alone saves in a year, in dollars. `None`: it has no control, or an input is unknown.
    pub dollar_impact: Option<u64>,
    /// 0 to 100.
    pub score: u8,
    pub source_type: SourceType,
    /// False once its evidence has expired.
    pub verified: bool,
    /// Everything that fails is muted at its source, or accepted by a person one by one.
    pub is_muted: bool,
    pub extent: RiskExtent,
}

read_by_layout!(Risk {
    condition, title, description, category, severity, dollar_impact, score, source_type, verified,
} and then { is_muted, extent });

impl Risk {
    /// The code of the control that fails. `None`: it is about findings that no control is mapped to.
    #[must_use]
    pub fn control_code(&self) -> Option<&str> {
        self.condition.strip_prefix("control/")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SourceType {
    Control,
    Finding,
    Scan,
    Manual,
}

impl SourceType {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Finding => "finding",
            Self::Scan => "scan",
            Self::Manual => "manual",
        }
    }
}
