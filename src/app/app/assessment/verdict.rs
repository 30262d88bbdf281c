//! What an assessment adds to the history of verdicts: those that are not as they were.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

use crate::app::event::cause::Cause;
use crate::clock::Time;
use crate::engine::RULES_VERSION;
use crate::engine::basis::{Basis, Ground};
use crate::engine::catalog::Catalog;
use crate::engine::fact::Status;
use crate::engine::framework::Framework;
use crate::engine::posture::{ControlOutcome, FrameworkOutcome, Posture, RowOutcome};
use crate::error::Result;
use crate::store::global::catalog::outline::Outline;
use crate::store::per_client::history::verdict::{ChangePoint, GroupChange, Verdict, VerdictGroup};
use crate::store::per_client::posture::AssessmentRecord;
use crate::store::{ClientBatch, ClientSnapshot};

/// The group of the controls.
pub const CONTROLS: &str = "";

/// The name, in each outline, of the verdict about the group as a whole: the client's score, or a framework's readiness.
pub const WHOLE: &str = "";

/// The cause of what was known before the history began.
const CAUSE_OF_UPGRADE: &str = "upgrade";

/// What one assessment adds to the history.
#[derive(Debug)]
pub struct VerdictPlan {
    steps: Vec<VerdictStep>,
    outlines: Vec<Outline>,
}

/// What changed at one time.
#[derive(Debug)]
struct VerdictStep {
    point: ChangePoint,
    changes: Vec<GroupChange>,
    groups: Vec<VerdictGroup>,
}

/// A stored posture, as an earlier release left it.
pub struct PostureBefore<'a> {
    pub assessed: Option<&'a AssessmentRecord>,
    pub controls: &'a [ControlOutcome],
    pub frameworks: &'a [FrameworkOutcome],
    pub score: Option<u8>,
}

impl VerdictPlan {
    pub fn of(
        rows: &ClientSnapshot,
        catalog: &Catalog,
        (before, posture): (&PostureBefore<'_>, &Posture),
        (cause, now): (&Cause, Time),
    ) -> Result<Self> {
        let mut known = rows.list_verdict_groups()?;
        let mut plan = Self { steps: Vec::new(), outlines: Vec::new() };
        let groups = groups(catalog, posture, before.score.is_some());
        if let Some(assessed) = before.assessed.filter(|_| known.is_empty()) {
            known = before.groups(catalog, &groups);
            let changes = known.iter().map(|it| change(&[], it)).collect();
            let point = ChangePoint {
                at: assessed.at,
                cause: CAUSE_OF_UPGRADE.to_owned(),
                import: None,
                statement: None,
                catalog: assessed.catalog_digest,
                rules: 0,
                n_added: 0,
            };
            plan.steps.push(VerdictStep { point, changes, groups: known.clone() });
            for it in &known {
                plan.need_outline(rows, catalog, it)?;
            }
        }
        let mut changes = Vec::new();
        let mut altered = Vec::new();
        for group in groups {
            let stored = known.iter().find(|it| it.name == group.name);
            let is_as_it_was = stored.is_some_and(|it| it.outline == group.outline);
            let change = match stored {
                Some(it) if is_as_it_was => change(&it.verdicts, &group),
                Some(it) => change(&moved(rows, it, catalog, &group)?, &group),
                None => change(&[], &group),
            };
            if !is_as_it_was {
                plan.need_outline(rows, catalog, &group)?;
            }
            if !is_as_it_was || !change.changed.is_empty() {
                changes.push(change);
                altered.push(group);
            }
        }
        for gone in known.into_iter().filter(|it| names(catalog, &it.name).is_none()) {
            let blank = VerdictGroup { verdicts: Vec::new(), ..gone.clone() };
            let ended = vec![Verdict::default(); gone.verdicts.len()];
            let change = change(&gone.verdicts, &VerdictGroup { verdicts: ended, ..gone });
            if !change.changed.is_empty() {
                changes.push(change);
                altered.push(blank);
            }
        }
        if !changes.is_empty() {
            let point = point(catalog, cause, now);
            plan.steps.push(VerdictStep { point, changes, groups: altered });
        }
        Ok(plan)
    }

    /// Keeps the outline of a group if no assessment used it yet.
    fn need_outline(
        &mut self,
        rows: &ClientSnapshot,
        catalog: &Catalog,
        group: &VerdictGroup,
    ) -> Result<()> {
        let VerdictGroup { name, outline, .. } = group;
        let is_planned = self.outlines.iter().any(|it| it.group == *name && it.digest == *outline);
        if is_planned || rows.find_outline(name, *outline)?.is_some() {
            return Ok(());
        }
        let names = names(catalog, name).unwrap_or_default();
        let names = names.into_iter().map(str::to_owned).collect();
        self.outlines.push(Outline { group: name.clone(), digest: *outline, names });
        Ok(())
    }

    /// Writes it. The statement that caused it, if one did, is recorded by now.
    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        for outline in &self.outlines {
            batch.put_outline(outline)?;
        }
        for VerdictStep { point, changes, groups } in &self.steps {
            let last = batch.n_statements()?;
            let last = batch.find_statement(last)?.filter(|it| it.recorded_at == point.at);
            let statement = last.map(|it| it.number);
            let point = ChangePoint { statement, ..point.clone() };
            batch.add_verdict_changes(&point, changes, groups)?;
        }
        Ok(())
    }
}

impl PostureBefore<'_> {
    /// The groups as an earlier release left them. What a verdict rested on was not kept: where the verdict is the same, it
    /// rests on what it does now.
    fn groups(&self, catalog: &Catalog, now: &[VerdictGroup]) -> Vec<VerdictGroup> {
        let group_now = |name: &str| now.iter().find(|it| it.name == name);
        let mut all = Vec::new();
        if let Some(now) = group_now(CONTROLS) {
            let known: BTreeMap<&str, &ControlOutcome> =
                self.controls.iter().map(|it| (it.code.as_str(), it)).collect();
            let controls = catalog.controls.iter().zip(&now.verdicts[1..]);
            let controls = controls.map(|(control, now)| {
                let Some(it) = known.get(control.code.as_str()) else { return Verdict::default() };
                let verdict = Verdict {
                    status: it.status,
                    score: it.score,
                    basis: basis_before(it),
                    ..Verdict::default()
                };
                as_now(verdict, now)
            });
            let whole = Verdict { score: self.score, ..Verdict::default() };
            let verdicts = std::iter::once(whole).chain(controls).collect();
            all.push(VerdictGroup { verdicts, ..now.clone() });
        }
        for before in self.frameworks {
            let Some(now) = group_now(before.id.as_str()) else { continue };
            if now.verdicts.len() != before.rows.len() + 1 {
                continue; // Of another catalog.
            }
            let rows = before.rows.iter().zip(&now.verdicts[1..]).map(|(it, now)| {
                let basis = match it.status {
                    Status::NotAssessed => Basis::Nothing,
                    Status::Compliant
                    | Status::Partial
                    | Status::NonCompliant
                    | Status::NotApplicable => Basis::Controls,
                };
                as_now(row_verdict(*it, basis), now)
            });
            let verdicts = std::iter::once(readiness(before)).chain(rows).collect();
            all.push(VerdictGroup { verdicts, ..now.clone() });
        }
        all
    }
}

fn basis_before(it: &ControlOutcome) -> Basis {
    match it.status {
        _ if it.attested => Basis::Attested,
        _ if it.held => Basis::Lapsed,
        Status::NotApplicable => Basis::Profile,
        Status::NotAssessed => Basis::Nothing,
        Status::Compliant | Status::Partial | Status::NonCompliant => Basis::Observed,
    }
}

/// The verdict of now in place of one with the same result.
fn as_now(before: Verdict, now: &Verdict) -> Verdict {
    let is_same = (before.status, before.score) == (now.status, now.score);
    if is_same { now.clone() } else { before }
}

fn point(catalog: &Catalog, cause: &Cause, now: Time) -> ChangePoint {
    let import = if let Cause::Source { run, .. } = cause { Some(*run) } else { None };
    ChangePoint {
        at: now,
        cause: cause.as_str().to_owned(),
        import,
        statement: None,
        catalog: catalog.digest,
        rules: RULES_VERSION,
        n_added: 0,
    }
}

/// Returns what is not as it was. `before` may be shorter: the rest was never looked at.
fn change(before: &[Verdict], group: &VerdictGroup) -> GroupChange {
    let default = Verdict::default();
    let all = group.verdicts.iter().enumerate();
    let is_other =
        |(position, it): &(usize, &Verdict)| before.get(*position).unwrap_or(&default) != *it;
    let changed = all.filter(is_other).map(|(position, it)| (position, it.clone()));
    GroupChange { name: group.name.clone(), outline: group.outline, changed: changed.collect() }
}

/// Returns the verdicts of a group as they were, at the positions that they have now. `group`: as it is now.
fn moved(
    rows: &ClientSnapshot,
    before: &VerdictGroup,
    catalog: &Catalog,
    group: &VerdictGroup,
) -> Result<Vec<Verdict>> {
    let outline = rows.find_outline(&before.name, before.outline)?;
    let old = outline.iter().flat_map(|it| it.names.iter().map(String::as_str));
    let known: BTreeMap<&str, &Verdict> = old.zip(&before.verdicts).collect();
    let now = names(catalog, &group.name).unwrap_or_default().into_iter();
    Ok(now.map(|it| known.get(it).map_or_else(Verdict::default, |it| (*it).clone())).collect())
}

/// The names of a group's verdicts, in order. `None`: the catalog does not have it.
fn names<'a>(catalog: &'a Catalog, group: &str) -> Option<Vec<&'a str>> {
    let whole = std::iter::once(WHOLE);
    if group == CONTROLS {
        let codes = catalog.controls.iter().map(|it| it.code.as_str());
        return Some(whole.chain(codes).collect());
    }
    let framework = catalog.frameworks.iter().find(|it| it.id.as_str() == group)?;
    Some(whole.chain(framework.rows.iter().map(|it| it.reference.as_str())).collect())
}

/// Everything that a posture says. `is_shown`: the score, whether or not there is evidence.
fn groups(catalog: &Catalog, posture: &Posture, is_shown: bool) -> Vec<VerdictGroup> {
    let score = (posture.has_evidence || is_shown).then_some(posture.score.overall);
    let whole = Verdict { score, ..Verdict::default() };
    let controls = posture.controls.iter().zip(&posture.grounds);
    let controls = controls.map(|(it, ground)| control_verdict(it, ground));
    let verdicts = std::iter::once(whole).chain(controls).collect();
    let controls = VerdictGroup::of(CONTROLS, outline_of_controls(catalog), verdicts);
    let frameworks = catalog.frameworks.iter().zip(&posture.frameworks).zip(&posture.row_bases);
    let frameworks = frameworks.map(|((framework, outcome), bases)| {
        let rows = outcome.rows.iter().zip(bases).map(|(it, basis)| row_verdict(*it, *basis));
        let verdicts = std::iter::once(readiness(outcome)).chain(rows).collect();
        VerdictGroup::of(outcome.id.as_str(), outline_of(framework), verdicts)
    });
    std::iter::once(controls).chain(frameworks).collect()
}

fn control_verdict(it: &ControlOutcome, ground: &Ground) -> Verdict {
    let Ground { basis, sources, n_sources } = ground;
    let (basis, sources, n_sources) = (*basis, sources.clone(), *n_sources);
    Verdict { status: it.status, basis, score: it.score, sources, n_sources, sprs: None }
}

fn row_verdict(it: RowOutcome, basis: Basis) -> Verdict {
    let score = (!matches!(it.status, Status::NotAssessed)).then_some(it.score);
    Verdict { status: it.status, basis, score, ..Verdict::default() }
}

fn readiness(outcome: &FrameworkOutcome) -> Verdict {
    let summary = &outcome.summary;
    Verdict { score: Some(summary.readiness), sprs: summary.sprs, ..Verdict::default() }
}

fn outline_of_controls(catalog: &Catalog) -> u64 {
    digest(catalog.controls.iter().map(|it| it.code.as_str()))
}

fn outline_of(framework: &Framework) -> u64 {
    digest(framework.rows.iter().map(|it| it.reference.as_str()))
}

fn digest<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = Xxh3::new();
    names.for_each(|it| it.hash(&mut hash));
    hash.finish()
}
