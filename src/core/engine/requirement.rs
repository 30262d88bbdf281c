//! Assesses each row of a framework.

use super::basis::Basis;
use super::catalog::Catalog;
use super::contradiction::{self, Contradiction};
use super::control::AssessedControl;
use super::fact::{Facts, Status, Usage};
use super::framework::{ControlRole, Framework, FrameworkRow, Mapping};
use super::horizon::Horizon;
use super::posture::RowOutcome;
use super::statement::{RowStatement, RowStatements};
use crate::clock::Time;

/// The highest score of a row that is not compliant.
const NOT_COMPLIANT_MAX: u8 = 99;

/// A control that counts for a row: one of its own, or of a row below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    control: usize,
    decides: bool,
    within_days: Option<u16>,
}

impl Taken {
    fn of(mapping: &Mapping) -> Self {
        let decides = mapping.role == ControlRole::Decides;
        Self { control: mapping.control, decides, within_days: mapping.within_days }
    }

    /// The same control on two rows: it decides if it decides one of them, and the stricter time counts.
    fn merge(&mut self, other: Self) {
        self.decides |= other.decides;
        let limits = self.within_days.into_iter().chain(other.within_days);
        self.within_days = limits.min();
    }

    /// Returns false once the last evidence about the control is too old for the row, or if there is none but what a person
    /// says of a part.
    fn is_current(&self, control: &AssessedControl<'_>, horizon: &mut Horizon) -> bool {
        let Some(days) = self.within_days else { return true };
        let Some(at) = control.last_told_at else { return false };
        let end = at.plus_days(i64::from(days));
        horizon.see(end);
        !horizon.is_past(end)
    }
}

/// A row with the statement about it.
struct Scoped<'a> {
    row: &'a FrameworkRow,
    statement: Option<RowStatement>,
    /// True if its question or a decision takes it out of scope. It then does not apply, and the rows above it do not
    /// use its controls.
    is_out: bool,
    taken: Vec<Taken>,
    /// True if it has neither controls nor rows below it: nothing but a person's word can decide it.
    is_unmapped: bool,
    /// True if it, or a row below it, was out of scope until a decision expired, and there is no newer evidence about
    /// its controls.
    is_held: bool,
}

/// Returns the outcome of each row of a framework and what it rests on, in its order, and the decisions about rows that are
/// contradicted by what was seen.
pub(super) fn assess(
    catalog: &Catalog,
    framework: &Framework,
    controls: &[AssessedControl<'_>],
    statements: &RowStatements<'_>,
    facts: &Facts<'_>,
    horizon: &mut Horizon,
) -> (Vec<(RowOutcome, Basis)>, Vec<Contradiction>) {
    let parents: Vec<usize> = framework.rows.iter().filter_map(|it| it.parent).collect();
    let applies = |row: &FrameworkRow| {
        let asked = row.applies.as_ref();
        asked.is_none_or(|it| facts.profile.get(it) == Some(&Usage::Used))
    };
    let scoped = framework.rows.iter().enumerate().map(|(index, row)| {
        let statement = statements.find(framework.id, &row.reference, facts.now);
        let is_out = !applies(row) || statement == Some(RowStatement::OutOfScope);
        let is_unmapped = row.controls.is_empty() && !parents.contains(&index);
        let taken = Vec::new();
        Scoped { row, statement, is_out, taken, is_unmapped, is_held: false }
    });
    let mut rows: Vec<Scoped<'_>> = scoped.collect();
    take_controls(&mut rows);
    hold(&mut rows, controls);
    let contradicted = rows.iter().filter_map(|it| {
        let is_decided = applies(it.row) && it.statement == Some(RowStatement::OutOfScope);
        let decision = statements.decision(framework.id, &it.row.reference);
        let decision = decision.filter(|_| is_decided)?;
        let deciding = it.taken.iter().filter(|it| it.decides).map(|it| &controls[it.control]);
        let seen = deciding.map(|it| (it.outcome.code.as_str(), it.seen_failing()));
        contradiction::of_row(decision, seen)
    });
    let contradicted = contradicted.collect();
    (rows.iter().map(|it| outcome(it, catalog, controls, horizon)).collect(), contradicted)
}

/// Returns the index of the row above, if it has the same level.
pub(super) fn above(rows: &[FrameworkRow], index: usize) -> Option<usize> {
    rows[index].parent.filter(|it| rows[*it].level == rows[index].level)
}

/// Calls `act` for each row above, unless the row itself is out of scope. A cycle of parents ends.
fn for_each_above(rows: &mut [Scoped<'_>], index: usize, mut act: impl FnMut(&mut Scoped<'_>)) {
    if rows[index].is_out {
        return;
    }
    let mut at = index;
    for _ in 0..rows.len() {
        let level = rows[at].row.level;
        match rows[at].row.parent.filter(|it| rows[*it].row.level == level) {
            Some(parent) if parent != index => {
                act(&mut rows[parent]);
                at = parent;
            }
            Some(_) | None => return,
        }
    }
}

/// Adds to each row its own controls and those of the rows below it.
fn take_controls(rows: &mut [Scoped<'_>]) {
    for index in 0..rows.len() {
        let own = rows[index].row.controls.iter().map(Taken::of);
        for_each_above(rows, index, |it| it.taken.extend(own.clone()));
        rows[index].taken.extend(own);
    }
    // A row's own controls have no duplicates.
    for row in rows.iter_mut().filter(|it| it.row.controls.len() < it.taken.len()) {
        row.taken.sort_unstable_by_key(|it| it.control);
        row.taken.dedup_by(|again, kept| {
            let is_same = again.control == kept.control;
            if is_same {
                kept.merge(*again);
            }
            is_same
        });
    }
}

/// An out-of-scope decision that expires does not bring a row's score back. That requires evidence that is newer than
/// the end of the decision.
fn hold(rows: &mut [Scoped<'_>], controls: &[AssessedControl<'_>]) {
    let has_evidence_since = |row: &Scoped<'_>, end: Time| {
        let mut times = row.taken.iter().filter_map(|it| controls[it.control].last_evidence_at);
        times.any(|it| end < it)
    };
    for index in 0..rows.len() {
        let Some(RowStatement::OutOfScopeUntil(end)) = rows[index].statement else { continue };
        let applies = rows[index].taken.iter().any(|it| controls[it.control].is_applicable());
        if rows[index].is_out || !applies || has_evidence_since(&rows[index], end) {
            continue;
        }
        rows[index].is_held = true;
        for_each_above(rows, index, |it| it.is_held = true);
    }
}

fn outcome(
    row: &Scoped<'_>,
    catalog: &Catalog,
    controls: &[AssessedControl<'_>],
    horizon: &mut Horizon,
) -> (RowOutcome, Basis) {
    let none = |status| {
        let outcome = RowOutcome { status, score: 0 };
        (outcome, basis_of(outcome))
    };
    if row.is_out {
        let is_decided = row.statement == Some(RowStatement::OutOfScope);
        let basis = if is_decided { Basis::Decision } else { Basis::Profile };
        return (none(Status::NotApplicable).0, basis);
    }
    let is_attested = row.statement == Some(RowStatement::Attested);
    if row.is_unmapped {
        let attested = RowOutcome { status: Status::Compliant, score: 100 };
        let attested = (attested, Basis::AttestedWithEvidence);
        return if is_attested { attested } else { none(Status::NotAssessed) };
    }
    let (mut sum, mut weight) = (0, 0);
    let (mut n, mut n_compliant, mut n_partial, mut n_assessed) = (0, 0, 0, 0);
    for taken in &row.taken {
        let control = &controls[taken.control];
        let outcome = &control.outcome;
        let score = if taken.is_current(control, horizon) { outcome.score } else { None };
        match outcome.status {
            Status::NotApplicable => continue,
            // Not assessed, or too long ago for this row.
            _ if score.is_none() => (),
            Status::NotAssessed => (),
            Status::Compliant => (n_compliant, n_assessed) = (n_compliant + 1, n_assessed + 1),
            Status::Partial => (n_partial, n_assessed) = (n_partial + 1, n_assessed + 1),
            Status::NonCompliant => n_assessed += 1,
        }
        n += 1;
        let control_weight = catalog.controls[taken.control].severity.weight();
        weight += control_weight;
        sum += control_weight * u32::from(score.unwrap_or(0));
    }
    if n == 0 {
        return none(Status::NotApplicable);
    }
    if n_assessed == 0 || row.is_held {
        return none(Status::NotAssessed);
    }
    let decides = |it: &Taken| it.decides && controls[it.control].is_applicable();
    let is_decided = row.taken.iter().any(decides);
    let status = if n_compliant == n && (is_decided || is_attested) {
        Status::Compliant
    } else if 0 < n_compliant + n_partial {
        Status::Partial
    } else {
        Status::NonCompliant
    };
    let score = u8::try_from(sum / weight).expect("a mean of scores is at most 100");
    let score = if status == Status::Compliant { score } else { score.min(NOT_COMPLIANT_MAX) };
    let outcome = RowOutcome { status, score };
    let is_word_needed = status == Status::Compliant && !is_decided;
    let basis = if is_word_needed { Basis::AttestedWithEvidence } else { basis_of(outcome) };
    (outcome, basis)
}

/// What an outcome rests on that neither a person nor the profile decides.
fn basis_of(outcome: RowOutcome) -> Basis {
    if outcome.status == Status::NotAssessed { Basis::Nothing } else { Basis::Controls }
}
