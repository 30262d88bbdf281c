//! How ready a client is for a framework.

use super::control::AssessedControl;
use super::fact::Status;
use super::framework::{Framework, FrameworkRow, Level, ReadinessRule};
use super::posture::{FrameworkSummary, RowOutcome};
use super::requirement::above;

/// The highest readiness while a gate row is not compliant.
const GATED_READINESS_MAX: u8 = 69;
/// The SPRS score with every practice met, and with none.
const SPRS_MAX: i32 = 110;
const SPRS_MIN: i32 = -203;

/// Returns the counts and the readiness over a framework's rows of level requirement.
pub(super) fn summarize(
    framework: &Framework,
    outcomes: &[RowOutcome],
    controls: &[AssessedControl<'_>],
) -> FrameworkSummary {
    let rows = judged(framework, outcomes);
    let n = |status| count(rows.iter().filter(|it| it.outcome.status == status));
    let has_gate = rows.iter().any(|it| it.row.gate);
    let is_gated = rows.iter().any(Judged::holds_back);
    let sprs = sprs(&rows, controls);
    let readiness = match framework.readiness {
        ReadinessRule::Mean => mean(&rows),
        ReadinessRule::CompliantShare => compliant_share(&rows),
        ReadinessRule::Sprs => earned_share(&rows, controls),
    };
    let is_sprs = framework.readiness == ReadinessRule::Sprs;
    FrameworkSummary {
        total: count(rows.iter().filter(|it| it.is_applicable())),
        passed: n(Status::Compliant),
        partial: n(Status::Partial),
        failed: n(Status::NonCompliant),
        readiness: if is_gated { readiness.min(GATED_READINESS_MAX) } else { readiness },
        sprs: (is_sprs && has_gate && !is_gated).then(|| i16::try_from(sprs).expect("-203 to 110")),
    }
}

#[derive(Clone, Copy)]
struct Judged<'a> {
    row: &'a FrameworkRow,
    outcome: RowOutcome,
    is_leaf: bool,
}

impl Judged<'_> {
    fn is_applicable(&self) -> bool {
        self.outcome.status != Status::NotApplicable
    }

    /// It is a gate that is not met.
    fn holds_back(&self) -> bool {
        self.row.gate && self.outcome.status != Status::Compliant
    }
}

/// The rows of level requirement.
fn judged<'a>(framework: &'a Framework, outcomes: &[RowOutcome]) -> Vec<Judged<'a>> {
    let rows = framework.rows.iter().zip(outcomes).zip(leaves(&framework.rows));
    rows.map(|((row, outcome), is_leaf)| Judged { row, outcome: *outcome, is_leaf })
        .filter(|it| it.row.level == Level::Requirement)
        .collect()
}

fn count<T>(all: impl Iterator<Item = T>) -> u32 {
    u32::try_from(all.count()).expect("a framework has fewer than 2^32 rows")
}

/// Returns for each row whether it has no row below it.
fn leaves(rows: &[FrameworkRow]) -> Vec<bool> {
    let mut leaves = vec![true; rows.len()];
    for parent in (0..rows.len()).filter_map(|it| above(rows, it)) {
        leaves[parent] = false;
    }
    leaves
}

/// Returns the mean score of applicable leaf rows, rounded down. 0 if there are none.
fn mean(rows: &[Judged<'_>]) -> u8 {
    let leaves = || rows.iter().filter(|it| it.is_leaf && it.is_applicable());
    let sum: u32 = leaves().map(|it| u32::from(it.outcome.score)).sum();
    let mean = sum.checked_div(count(leaves())).unwrap_or(0);
    u8::try_from(mean).expect("a mean of scores is at most 100")
}

/// How ready a client is for one group of a framework's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupReadiness {
    /// Applicable rows of level requirement.
    pub n_total: u32,
    pub n_compliant: u32,
    /// 0 to 100.
    pub readiness: u8,
}

/// Returns the readiness for each group of a framework, in its order.
#[must_use]
pub fn of_groups(framework: &Framework, outcomes: &[RowOutcome]) -> Vec<GroupReadiness> {
    let rows = judged(framework, outcomes);
    let is_gated = rows.iter().any(Judged::holds_back);
    let of_group = |group: usize| {
        let members: Vec<Judged<'_>> =
            rows.iter().filter(|it| it.row.groups.contains(&group)).copied().collect();
        let is_compliant = |it: &&Judged<'_>| it.outcome.status == Status::Compliant;
        let readiness = match framework.readiness {
            ReadinessRule::CompliantShare => compliant_share(&members),
            // No framework with points has groups.
            ReadinessRule::Mean | ReadinessRule::Sprs => mean(&members),
        };
        GroupReadiness {
            n_total: count(members.iter().filter(|it| it.is_applicable())),
            n_compliant: count(members.iter().filter(is_compliant)),
            readiness: if is_gated { readiness.min(GATED_READINESS_MAX) } else { readiness },
        }
    };
    (0..framework.groups.len()).map(of_group).collect()
}

/// Returns the percentage of applicable leaf rows that are compliant, rounded down. 0 if there are none.
fn compliant_share(rows: &[Judged<'_>]) -> u8 {
    let leaves = || rows.iter().filter(|it| it.is_leaf && it.is_applicable());
    let n_compliant = count(leaves().filter(|it| it.outcome.status == Status::Compliant));
    let share = (100 * n_compliant).checked_div(count(leaves())).unwrap_or(0);
    u8::try_from(share).expect("a share is at most 100")
}

/// Returns 110 minus the points of each practice that is not met; -203 to 110.
fn sprs(rows: &[Judged<'_>], controls: &[AssessedControl<'_>]) -> i32 {
    let lost: u32 = rows.iter().map(|it| lost_points(it, controls)).sum();
    let lost = i32::try_from(lost).unwrap_or(i32::MAX);
    SPRS_MAX.saturating_sub(lost).clamp(SPRS_MIN, SPRS_MAX)
}

/// Returns the points that a practice costs as it is.
fn lost_points(judged: &Judged<'_>, controls: &[AssessedControl<'_>]) -> u32 {
    let status_of = |it: usize| controls[it].outcome.status;
    sprs_lost(judged.row, judged.outcome.status, status_of)
}

/// Returns the SPRS points that a practice of this status costs. `status_of`: of a control, by its index.
pub fn sprs_lost(row: &FrameworkRow, status: Status, status_of: impl Fn(usize) -> Status) -> u32 {
    let Some(sprs) = row.sprs else { return 0 };
    let lost = match status {
        Status::Compliant | Status::NotApplicable => 0,
        Status::Partial if earns_partial(row, status_of) => {
            sprs.partial.unwrap_or(sprs.weight).min(sprs.weight)
        }
        Status::Partial | Status::NonCompliant | Status::NotAssessed => sprs.weight,
    };
    u32::from(lost)
}

/// Returns true if the controls that partial credit requires are met, as far as they apply.
fn earns_partial(row: &FrameworkRow, status_of: impl Fn(usize) -> Status) -> bool {
    let named = row.controls.iter().filter(|it| it.earns_partial);
    let named: Vec<_> = named.map(|it| status_of(it.control)).collect();
    named.is_empty()
        || (named.iter().all(|it| it.is_settled()) && named.contains(&Status::Compliant))
}

/// Returns the share of the applicable practices' points that is not lost, in percent, rounded down. Of practices without
/// points, the share that is met. 0 if nothing is applicable or nothing is assessed.
fn earned_share(rows: &[Judged<'_>], controls: &[AssessedControl<'_>]) -> u8 {
    let applicable = || rows.iter().filter(|it| it.is_applicable());
    if applicable().all(|it| it.outcome.status == Status::NotAssessed) {
        return 0;
    }
    let points = |it: &Judged<'_>| it.row.sprs.map_or(0, |it| u32::from(it.weight));
    let all: u32 = applicable().map(points).sum();
    if all == 0 {
        return compliant_share(rows);
    }
    let lost: u32 = applicable().map(|it| lost_points(it, controls)).sum();
    let share = 100 * (all - lost) / all;
    u8::try_from(share).expect("a part is at most 100 % of the whole")
}
