//! The differences between a client's previous posture and its current one.

use std::collections::{BTreeMap, BTreeSet};

use super::assess;
use super::catalog::Catalog;
use super::fact::{Facts, Profile};
use super::framework::{Framework, FrameworkId, Level};
use super::posture::{ControlOutcome, FrameworkOutcome, Posture, Risk, RowOutcome, Score};
use super::requirement::above;
use crate::engine::fact::Status;
use crate::engine::severity::Severity;

/// The previous posture of a client, as it was stored.
#[derive(Clone, Debug)]
pub struct Before<'a> {
    /// The digests of the frameworks that the posture was assessed with. Rows are compared only if these are the same.
    pub digests: BTreeMap<FrameworkId, u64>,
    pub controls: &'a [ControlOutcome],
    pub frameworks: &'a [FrameworkOutcome],
    /// `None`: there was no evidence yet.
    pub score: Option<&'a Score>,
    /// Open risks, accepted or not, in any order.
    pub risks: Vec<&'a Risk>,
}

impl<'a> Before<'a> {
    /// Describes a stored posture that was assessed with this catalog.
    #[must_use]
    pub fn of(posture: &'a Posture, catalog: &Catalog) -> Self {
        Self {
            digests: catalog.frameworks.iter().map(|it| (it.id, it.digest)).collect(),
            controls: &posture.controls,
            frameworks: &posture.frameworks,
            score: posture.has_evidence.then_some(&posture.score),
            risks: posture.risks.iter().collect(),
        }
    }
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A control's status.
    Control {
        code: String,
        from: Status,
        to: Status,
    },
    /// The status of a row, by its index in the catalog's framework.
    Row {
        framework: FrameworkId,
        row: usize,
        from: Status,
        to: Status,
    },
    /// A framework's readiness.
    Readiness {
        framework: FrameworkId,
        from: u8,
        to: u8,
    },
    /// Rows of level requirement that are no longer compliant, and the codes of the controls that got worse below them.
    Drift {
        framework: FrameworkId,
        rows: Vec<usize>,
        because: Vec<String>,
    },
    /// The overall score, with the codes of the controls whose status or score changed. `from` is `None` the first
    /// time.
    Score {
        from: Option<u8>,
        to: u8,
        controls: Vec<String>,
    },
    /// The overall score crossed a threshold: it was below and is now at or above it, or the other way round.
    Threshold {
        threshold: u8,
        direction: Direction,
        from: u8,
        to: u8,
    },
    RiskOpened {
        risk: Risk,
    },
    /// A critical risk opened, or an open one became critical.
    RiskCritical {
        risk: Risk,
    },
    /// The risk in its last state.
    RiskClosed {
        risk: Risk,
        resolution: RiskEnding,
    },
}

impl Change {
    /// The framework that it is about. `None`: it is about the client as a whole.
    #[must_use]
    pub fn framework(&self) -> Option<FrameworkId> {
        match self {
            Self::Row { framework, .. }
            | Self::Readiness { framework, .. }
            | Self::Drift { framework, .. } => Some(*framework),
            Self::Control { .. }
            | Self::Score { .. }
            | Self::Threshold { .. }
            | Self::RiskOpened { .. }
            | Self::RiskCritical { .. }
            | Self::RiskClosed { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

impl Direction {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// Why a condition is no longer open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskEnding {
    /// What failed passes now, or a person says so.
    Fixed,
    /// The control no longer applies to the client.
    ScopedOut,
    /// A person says that it is met although it was seen to fail, or that what failed is meant to be so.
    Overridden,
    /// It is missing from a complete read, or nothing is known about it anymore.
    Gone,
}

/// Returns the changes from `before` to `after`, in the order of [`Change`]. `after` was assessed with `catalog`.
///
/// `before` is `None` for a client that was never assessed. It is compared with the posture of a client of which nothing
/// is known. A score that was shown before is still shown if there is no evidence now.
/// `thresholds` apply to the overall score.
#[must_use]
pub fn difference(
    catalog: &Catalog,
    before: Option<&Before<'_>>,
    after: &Posture,
    thresholds: &[u8],
) -> Vec<Change> {
    let blank = before.is_none().then(|| assess(catalog, &Facts::none(&Profile::new())));
    let blank = blank.as_ref().map(|it| Before::of(it, catalog));
    let Some(before) = before.or(blank.as_ref()) else { unreachable!("one of both is there") };
    let moves = moves(before.controls, &after.controls);
    let mut changes: Vec<Change> = moves.iter().filter_map(ControlMove::change).collect();
    changes.extend(rows(catalog, before, after));
    changes.extend(readiness(before, after));
    changes.extend(drifts(catalog, before, after, &moves));
    changes.extend(score(before, after, &moves));
    changes.extend(crossings(before, after, thresholds));
    changes.extend(risks(before, after));
    changes
}

/// The previous and the current result of one control.
struct ControlMove<'a> {
    code: &'a str,
    /// Status and score.
    from: (Status, Option<u8>),
    to: (Status, Option<u8>),
}

impl ControlMove<'_> {
    fn change(&self) -> Option<Change> {
        let (from, to) = (self.from.0, self.to.0);
        (from != to).then(|| Change::Control { code: self.code.to_owned(), from, to })
    }

    /// Returns true if it may be the reason why a row is no longer compliant.
    fn is_worse(&self) -> bool {
        self.from.0 != self.to.0 && self.to.0 != Status::Compliant
    }
}

/// Returns the controls whose status or score changed, in the catalog's order.
fn moves<'a>(before: &[ControlOutcome], after: &'a [ControlOutcome]) -> Vec<ControlMove<'a>> {
    let known: BTreeMap<&str, &ControlOutcome> =
        before.iter().map(|it| (it.code.as_str(), it)).collect();
    let moves = after.iter().map(|it| {
        let from = known.get(it.code.as_str());
        let from = from.map_or((Status::NotAssessed, None), |it| (it.status, it.score));
        ControlMove { code: &it.code, from, to: (it.status, it.score) }
    });
    moves.filter(|it| it.from != it.to).collect()
}

/// Returns the previous outcome of the framework. `None`: there was none, or it had a different number of rows.
fn find<'a>(before: &Before<'a>, after: &FrameworkOutcome) -> Option<&'a FrameworkOutcome> {
    before.frameworks.iter().find(|it| it.id == after.id && it.rows.len() == after.rows.len())
}

/// The frameworks that are as they were, with their outcomes now.
fn unchanged<'a>(
    catalog: &'a Catalog,
    before: &Before<'_>,
    after: &'a Posture,
) -> Vec<(&'a Framework, &'a FrameworkOutcome)> {
    let all = catalog.frameworks.iter().zip(&after.frameworks);
    all.filter(|(it, _)| before.digests.get(&it.id) == Some(&it.digest)).collect()
}

fn rows(catalog: &Catalog, before: &Before<'_>, after: &Posture) -> Vec<Change> {
    let mut changes = Vec::new();
    for (_, now) in unchanged(catalog, before, after) {
        let then = find(before, now);
        for (row, to) in now.rows.iter().enumerate() {
            let from = match then {
                Some(it) => it.rows[row].status,
                // A row that never applied did not change.
                None if to.status == Status::NotApplicable => continue,
                None => Status::NotAssessed,
            };
            if from != to.status {
                changes.push(Change::Row { framework: now.id, row, from, to: to.status });
            }
        }
    }
    changes
}

fn readiness(before: &Before<'_>, after: &Posture) -> Vec<Change> {
    let changes = after.frameworks.iter().map(|now| {
        let then = before.frameworks.iter().find(|it| it.id == now.id);
        let from = then.map_or(0, |it| it.summary.readiness);
        Change::Readiness { framework: now.id, from, to: now.summary.readiness }
    });
    changes.filter(|it| !matches!(it, Change::Readiness { from, to, .. } if from == to)).collect()
}

fn drifts(
    catalog: &Catalog,
    before: &Before<'_>,
    after: &Posture,
    moves: &[ControlMove<'_>],
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (framework, now) in unchanged(catalog, before, after) {
        let Some(then) = find(before, now) else { continue };
        let left = |row: &usize| {
            let (then, now): (RowOutcome, RowOutcome) = (then.rows[*row], now.rows[*row]);
            then.status == Status::Compliant && now.status != Status::Compliant
        };
        let all = 0..framework.rows.len();
        let required = all.filter(|it| framework.rows[*it].level == Level::Requirement);
        let rows: Vec<usize> = required.filter(left).collect();
        if !rows.is_empty() {
            let because = because(catalog, framework, &rows, moves);
            changes.push(Change::Drift { framework: framework.id, rows, because });
        }
    }
    changes
}

/// Returns the codes of the controls that got worse, of these rows and of the rows below them.
fn because(
    catalog: &Catalog,
    framework: &Framework,
    rows: &[usize],
    moves: &[ControlMove<'_>],
) -> Vec<String> {
    let worse: BTreeSet<&str> = moves.iter().filter(|it| it.is_worse()).map(|it| it.code).collect();
    let is_below = |row: usize| {
        let parents = |it: &usize| above(&framework.rows, *it);
        let chain = std::iter::successors(Some(row), parents);
        chain.take(framework.rows.len()).any(|it| rows.contains(&it))
    };
    let below = (0..framework.rows.len()).filter(|it| is_below(*it));
    let controls = below.flat_map(|it| &framework.rows[it].controls).map(|it| it.control);
    let controls: BTreeSet<usize> = controls.collect();
    let codes = controls.into_iter().map(|it| &catalog.controls[it].code);
    codes.filter(|it| worse.contains(it.as_str())).cloned().collect()
}

/// Returns the previous and the current overall score. `None`: there is no score to show.
fn overall(before: &Before<'_>, after: &Posture) -> (Option<u8>, Option<u8>) {
    let from = before.score.map(|it| it.overall);
    let is_shown = after.has_evidence || from.is_some();
    (from, is_shown.then_some(after.score.overall))
}

fn score(before: &Before<'_>, after: &Posture, moves: &[ControlMove<'_>]) -> Option<Change> {
    let (from, to) = overall(before, after);
    let to = to.filter(|it| Some(*it) != from)?;
    let controls = moves.iter().map(|it| it.code.to_owned()).collect();
    Some(Change::Score { from, to, controls })
}

fn crossings(before: &Before<'_>, after: &Posture, thresholds: &[u8]) -> Vec<Change> {
    let (Some(from), Some(to)) = overall(before, after) else { return Vec::new() };
    let crossing = |threshold: u8| {
        let direction = match (threshold <= from, threshold <= to) {
            (false, true) => Direction::Up,
            (true, false) => Direction::Down,
            (true, true) | (false, false) => return None,
        };
        Some(Change::Threshold { threshold, direction, from, to })
    };
    thresholds.iter().filter_map(|it| crossing(*it)).collect()
}

fn risks(before: &Before<'_>, after: &Posture) -> Vec<Change> {
    let known: BTreeMap<&str, &Risk> =
        before.risks.iter().map(|it| (it.condition.as_str(), *it)).collect();
    let mut changes = Vec::new();
    for risk in &after.risks {
        let then = known.get(risk.condition.as_str());
        if then.is_none() {
            changes.push(Change::RiskOpened { risk: risk.clone() });
        }
        let was_critical = then.is_some_and(|it| it.severity == Severity::Critical);
        if risk.severity == Severity::Critical && !was_critical {
            changes.push(Change::RiskCritical { risk: risk.clone() });
        }
    }
    let open: BTreeSet<&str> = after.risks.iter().map(|it| it.condition.as_str()).collect();
    for (condition, risk) in known {
        if !open.contains(condition) {
            let resolution = resolution(condition, after);
            changes.push(Change::RiskClosed { risk: risk.clone(), resolution });
        }
    }
    changes
}

fn resolution(condition: &str, after: &Posture) -> RiskEnding {
    let is_among = |all: &[String]| all.binary_search_by(|it| it.as_str().cmp(condition)).is_ok();
    if is_among(&after.overridden) {
        return RiskEnding::Overridden;
    }
    if is_among(&after.fixed) {
        return RiskEnding::Fixed;
    }
    let code = condition.strip_prefix("control/");
    let control = after.controls.iter().find(|it| Some(it.code.as_str()) == code);
    match control.map(|it| it.status) {
        Some(Status::NotApplicable) => RiskEnding::ScopedOut,
        // Other checks may pass, but what failed was not seen to pass.
        Some(Status::Compliant | Status::Partial | Status::NonCompliant | Status::NotAssessed)
        | None => RiskEnding::Gone,
    }
}
