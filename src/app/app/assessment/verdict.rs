//! What an assessment adds to the history of verdicts: those that are not as they were.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

use crate::app::event::cause::{Cause, Undone};
use crate::clock::Time;
use crate::engine::RULES_VERSION;
use crate::engine::basis::{Basis, Ground};
use crate::engine::catalog::Catalog;
use crate::engine::fact::Status;
use crate::engine::framework::Framework;
use crate::engine::posture::{ControlOutcome, FrameworkOutcome, Posture, RowOutcome};
use crate::error::Result;
use crate::store::global::catalog::outline::Outline;
use crate::store::per_client::history::verdict::{
    ChangePoint, Verdict, VerdictGroup, limit_sources,
};
use crate::store::per_client::posture::AssessmentRecord;
use crate::store::per_client::statement::StatementRecord;
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
    changes: Vec<VerdictGroup>,
    /// Those that changed, as they are now.
    groups: Vec<VerdictGroup>,
}

/// A stored posture, as an earlier release left it.
pub struct PostureBefore<'a> {
    pub assessed: Option<&'a AssessmentRecord>,
    pub controls: &'a [ControlOutcome],
    pub frameworks: &'a [FrameworkOutcome],
    pub score: Option<u8>,
}

/// All verdicts of a group.
struct Group<'a> {
    name: &'a str,
    outline: u64,
    verdicts: Vec<Verdict>,
}

impl VerdictPlan {
    pub fn of(
        rows: &ClientSnapshot,
        catalog: &Catalog,
        (before, posture): (&PostureBefore<'_>, &Posture),
        (cause, now): (&Cause, Time),
    ) -> Result<Self> {
        let groups = groups(catalog, posture, before.score.is_some());
        let mut known = rows.list_verdict_groups()?;
        let mut plan = Self { steps: Vec::new(), outlines: Vec::new() };
        if let Some(assessed) = before.assessed.filter(|_| known.is_empty()) {
            let left = before.groups(catalog, &groups);
            known = left.iter().map(Group::packed).collect();
            let changes = left.iter().map(|it| change(&[], it)).collect();
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
            left.iter().try_for_each(|it| plan.need_outline(rows, catalog, it))?;
        }
        let mut changes = Vec::new();
        let mut altered = Vec::new();
        for group in &groups {
            let packed = group.packed();
            let stored = known.iter().find(|it| it.name == group.name);
            match stored {
                Some(it) if *it == packed => continue,
                Some(it) if it.outline == group.outline => {
                    changes.push(change(&it.verdicts()?, group));
                }
                Some(it) => {
                    plan.need_outline(rows, catalog, group)?;
                    changes.push(change(&moved(rows, it, catalog)?, group));
                }
                None => {
                    plan.need_outline(rows, catalog, group)?;
                    changes.push(change(&[], group));
                }
            }
            altered.push(packed);
        }
        for gone in known.iter().filter(|it| !groups.iter().any(|now| now.name == it.name)) {
            let before = gone.verdicts()?;
            let blank = |n: usize| Group {
                name: &gone.name,
                outline: gone.outline,
                verdicts: vec![Verdict::default(); n],
            };
            if !before.is_empty() {
                changes.push(change(&before, &blank(before.len())));
                altered.push(blank(0).packed());
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
        group: &Group<'_>,
    ) -> Result<()> {
        let is_planned =
            self.outlines.iter().any(|it| it.group == group.name && it.digest == group.outline);
        if is_planned || rows.find_outline(group.name, group.outline)?.is_some() {
            return Ok(());
        }
        let names = names(catalog, group.name).into_iter().map(str::to_owned).collect();
        let (name, digest) = (group.name.to_owned(), group.outline);
        self.outlines.push(Outline { group: name, digest, names });
        Ok(())
    }

    /// Writes it. The statement that caused it, if one did, is recorded by now.
    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        for outline in &self.outlines {
            batch.put_outline(outline)?;
        }
        for VerdictStep { point, changes, groups } in &self.steps {
            let last = batch.n_statements()?;
            let is_cause =
                |it: &StatementRecord| it.recorded_at == point.at && point.import.is_none();
            let last = batch.find_statement(last)?.filter(is_cause);
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
    fn groups<'a>(&self, catalog: &Catalog, now: &[Group<'a>]) -> Vec<Group<'a>> {
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
            all.push(Group { name: now.name, outline: now.outline, verdicts });
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
            all.push(Group { name: now.name, outline: now.outline, verdicts });
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
    let import = match cause {
        Cause::Source { run, .. } | Cause::Undo(Undone::Import(run)) => Some(*run),
        Cause::Lapse
        | Cause::Scope
        | Cause::Estate
        | Cause::Due
        | Cause::Attestation
        | Cause::Assets
        | Cause::Catalogue
        | Cause::Release
        | Cause::Undo(Undone::Statement(_)) => None,
    };
    ChangePoint {
        at: now,
        cause: cause.as_str().into_owned(),
        import,
        statement: None,
        catalog: catalog.digest,
        rules: RULES_VERSION,
        n_added: 0,
    }
}

impl Group<'_> {
    fn packed(&self) -> VerdictGroup {
        let default = Verdict::default();
        let all = self.verdicts.iter().enumerate().filter(|(_, it)| **it != default);
        VerdictGroup::of(self.name, self.outline, all)
    }
}

/// Returns what is not as it was. `before` may be shorter: the rest was never looked at.
fn change(before: &[Verdict], group: &Group<'_>) -> VerdictGroup {
    let default = Verdict::default();
    let is_other =
        |(position, it): &(usize, &Verdict)| before.get(*position).unwrap_or(&default) != *it;
    let changed = group.verdicts.iter().enumerate().filter(is_other);
    VerdictGroup::of(group.name, group.outline, changed)
}

/// Returns the verdicts of a group as they were, at the positions that they have in this catalog.
fn moved(rows: &ClientSnapshot, before: &VerdictGroup, catalog: &Catalog) -> Result<Vec<Verdict>> {
    let outline = rows.find_outline(&before.name, before.outline)?;
    let old = outline.iter().flat_map(|it| it.names.iter().map(String::as_str));
    let known: BTreeMap<&str, Verdict> = old.zip(before.verdicts()?).collect();
    let now = names(catalog, &before.name).into_iter();
    Ok(now.map(|it| known.get(it).cloned().unwrap_or_default()).collect())
}

/// The names of a group's verdicts, in order. None if the catalog does not have it.
fn names<'a>(catalog: &'a Catalog, group: &str) -> Vec<&'a str> {
    let whole = std::iter::once(WHOLE);
    if group == CONTROLS {
        let codes = catalog.controls.iter().map(|it| it.code.as_str());
        return whole.chain(codes).collect();
    }
    let framework = catalog.frameworks.iter().find(|it| it.id.as_str() == group);
    let rows = framework.iter().flat_map(|it| it.rows.iter().map(|it| it.reference.as_str()));
    whole.chain(rows).collect()
}

/// Everything that a posture says. `is_shown`: the score, whether or not there is evidence.
fn groups<'a>(catalog: &'a Catalog, posture: &Posture, is_shown: bool) -> Vec<Group<'a>> {
    let score = (posture.has_evidence || is_shown).then_some(posture.score.overall);
    let whole = Verdict { score, ..Verdict::default() };
    let controls = posture.controls.iter().zip(&posture.grounds);
    let controls = controls.map(|(it, ground)| control_verdict(it, ground));
    let mut verdicts: Vec<Verdict> = std::iter::once(whole).chain(controls).collect();
    limit_sources(&mut verdicts);
    let controls = Group { name: CONTROLS, outline: outline_of_controls(catalog), verdicts };
    let frameworks = catalog.frameworks.iter().zip(&posture.frameworks).zip(&posture.row_bases);
    let frameworks = frameworks.map(|((framework, outcome), bases)| {
        let rows = outcome.rows.iter().zip(bases).map(|(it, basis)| row_verdict(*it, *basis));
        let verdicts = std::iter::once(readiness(outcome)).chain(rows).collect();
        Group { name: framework.id.as_str(), outline: outline_of(framework), verdicts }
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
