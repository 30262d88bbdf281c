//! A small catalogue and the facts about one client, to be put together in a test.

use std::collections::BTreeMap;

use posture_core::clock::Time;
use posture_core::engine::catalog::facet::{Facet, FacetSet, Population};
use posture_core::engine::catalog::{Catalog, Category, CheckLink, Control, Tool};
use posture_core::engine::estate::KnownEstate;
use posture_core::engine::fact::{
    Attestation, CompleteRead, Facts, Observation, Profile, RowDecision, RowDecisionKind, Status,
    Subject, UNUSED_DAYS, Usage, Verdict,
};
use posture_core::engine::framework::{
    ControlRole, Framework, FrameworkId, FrameworkRow, Level, Mapping, ReadinessRule, Sprs,
};
use posture_core::engine::memory::sparse::SparseMemory;
use posture_core::engine::posture::{ControlOutcome, FrameworkOutcome, Posture, RowOutcome};
use posture_core::engine::severity::Severity;
use posture_core::engine::subject::SubjectDecision;
use posture_core::engine::{StatedPart, assess};
use posture_core::id::ImportId;

/// The day on which tests happen, unless they say otherwise.
pub(crate) const TODAY: i64 = 1_000;

pub(crate) fn day(day: i64) -> Time {
    Time::EPOCH.plus_days(day)
}

/// Everything that an assessment reads.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) catalog: Catalog,
    pub(crate) observations: Vec<Observation>,
    pub(crate) reads: Vec<CompleteRead>,
    pub(crate) attestations: Vec<Attestation>,
    pub(crate) parts: Vec<StatedPart>,
    pub(crate) decisions: Vec<RowDecision>,
    pub(crate) subjects: Vec<SubjectDecision>,
    pub(crate) profile: Profile,
    pub(crate) critical: Vec<u64>,
    pub(crate) estate: KnownEstate,
    pub(crate) base_loss: Option<u64>,
    pub(crate) now: Time,
}

impl World {
    pub(crate) fn new(controls: Vec<Control>) -> Self {
        Self {
            catalog: catalog(controls),
            observations: Vec::new(),
            reads: Vec::new(),
            attestations: Vec::new(),
            parts: Vec::new(),
            decisions: Vec::new(),
            subjects: Vec::new(),
            profile: Profile::new(),
            critical: Vec::new(),
            estate: KnownEstate::default(),
            base_loss: None,
            now: day(TODAY),
        }
    }

    /// One critical control, `A-1`, decided by checks `c1` and `c2` of tool `t`.
    pub(crate) fn of_one() -> Self {
        let mut world = Self::new(vec![control("A-1", Severity::Critical)]);
        world.map("c1", &[0]);
        world.map("c2", &[0]);
        world
    }

    pub(crate) fn map(&mut self, check: &str, controls: &[usize]) {
        self.link(check, controls, false);
    }

    /// Like [`World::map`], for a check that shows only gaps of these controls.
    pub(crate) fn map_gaps(&mut self, check: &str, controls: &[usize]) {
        self.link(check, controls, true);
    }

    fn link(&mut self, check: &str, controls: &[usize], shows_only_gaps: bool) {
        for control in controls {
            let all = self.catalog.controls[*control].all_facets();
            self.show(check, *control, if shows_only_gaps { FacetSet::NONE } else { all });
        }
    }

    /// Maps a check to some facets of a control.
    pub(crate) fn show(&mut self, check: &str, control: usize, shows: FacetSet) {
        let none = || Tool {
            category: 1,
            is_by_reference: false,
            checks: BTreeMap::new(),
            together: BTreeMap::new(),
        };
        let tool = self.catalog.tools.entry("t".to_owned()).or_insert_with(none);
        let links = tool.checks.entry(check.to_owned()).or_default();
        links.retain(|it| it.control != control);
        links.push(CheckLink { control, shows, fails: shows, needs_others: false });
        links.sort_unstable();
    }

    /// Maps a check to a control of which it shows only gaps: those of these facets.
    pub(crate) fn show_gaps(&mut self, check: &str, control: usize, fails: FacetSet) {
        self.show(check, control, FacetSet::NONE);
        let links = self.catalog.tools.get_mut("t").unwrap().checks.get_mut(check).unwrap();
        links.iter_mut().filter(|it| it.control == control).for_each(|it| it.fails = fails);
    }

    pub(crate) fn framework(
        &mut self,
        id: FrameworkId,
        rule: ReadinessRule,
        rows: Vec<FrameworkRow>,
    ) {
        let at = self.catalog.frameworks.iter().position(|it| it.id == id).unwrap();
        let framework = &mut self.catalog.frameworks[at];
        (framework.readiness, framework.rows) = (rule, rows);
    }

    pub(crate) fn seen(mut self, observation: Observation) -> Self {
        self.observations.push(observation);
        self
    }

    pub(crate) fn attested(mut self, attestation: Attestation) -> Self {
        self.attestations.push(attestation);
        self
    }

    pub(crate) fn decided(mut self, decision: RowDecision) -> Self {
        self.decisions.push(decision);
        self
    }

    pub(crate) fn says(mut self, question: &str, usage: Usage) -> Self {
        self.profile.insert(question.to_owned(), usage);
        self
    }

    pub(crate) fn on(mut self, today: i64) -> Self {
        self.now = day(today);
        self
    }

    pub(crate) fn assess(&self) -> Posture {
        self.assess_at(self.now)
    }

    pub(crate) fn assess_at(&self, now: Time) -> Posture {
        assess(
            &self.catalog,
            &Facts {
                observations: &self.observations,
                reads: &self.reads,
                attestations: &self.attestations,
                parts: &self.parts,
                decisions: &self.decisions,
                subjects: &self.subjects,
                profile: &self.profile,
                estate: &self.estate,
                critical_subjects: &self.critical,
                base_loss: self.base_loss,
                now,
            },
        )
    }

    /// The first control.
    pub(crate) fn control(&self) -> ControlOutcome {
        self.assess().controls.swap_remove(0)
    }

    /// Status and score of the first control.
    pub(crate) fn outcome(&self) -> (Status, Option<u8>) {
        let control = self.control();
        (control.status, control.score)
    }

    pub(crate) fn outcome_of(&self, id: FrameworkId) -> FrameworkOutcome {
        self.assess().frameworks.into_iter().find(|it| it.id == id).unwrap()
    }

    pub(crate) fn rows(&self, id: FrameworkId) -> Vec<RowOutcome> {
        self.outcome_of(id).rows
    }
}

fn catalog(controls: Vec<Control>) -> Catalog {
    let category = |code: &str, name: &str| Category { code: code.into(), name: name.into() };
    let empty = |id: FrameworkId| Framework {
        id,
        digest: 0,
        name: id.as_str().to_owned(),
        version: "1".to_owned(),
        readiness: ReadinessRule::Mean,
        groups: Vec::new(),
        rows: Vec::new(),
    };
    Catalog {
        digest: 1,
        categories: vec![category("A", "Alpha"), category("B", "Beta")],
        controls,
        frameworks: FrameworkId::CONTRACT.map(empty).to_vec(),
        tools: BTreeMap::new(),
        shown_by_sources: BTreeMap::new(),
    }
}

/// So many facets, none of which one subject is enough for.
pub(crate) fn facets(n: usize) -> Vec<Facet> {
    let facet = |it| Facet {
        name: format!("f{it}"),
        says: format!("Part {it} is met"),
        is_any: false,
        platforms: Vec::new(),
    };
    (0..n).map(facet).collect()
}

/// Its category is named by the first letter of its code: `A` or `B`.
pub(crate) fn control(code: &str, severity: Severity) -> Control {
    Control {
        code: code.to_owned(),
        title: format!("Control {code}"),
        category: usize::from(code.starts_with('B')),
        severity,
        decided_by: Vec::new(),
        platforms: Vec::new(),
        max_age_days: 35,
        requires: String::new(),
        question: None,
        risk: "Something bad can happen.".to_owned(),
        remediation: "Do it.".to_owned(),
        gap: format!("Control {code} is not met"),
        french: None,
        also: Vec::new(),
        open_findings: None,
        n_checks_min: 1,
        over: Population::Client,
        facets: facets(1),
        shown_on: Vec::new(),
        formerly: Vec::new(),
    }
}

pub(crate) fn row(reference: &str, controls: &[(usize, ControlRole)]) -> FrameworkRow {
    let mapping = |(control, role): &(usize, ControlRole)| Mapping {
        control: *control,
        role: *role,
        why: String::new(),
        earns_partial: false,
        within_days: None,
        alone: false,
    };
    FrameworkRow {
        reference: reference.to_owned(),
        level: Level::Requirement,
        parent: None,
        title: String::new(),
        description: String::new(),
        groups: Vec::new(),
        formerly: Vec::new(),
        gate: false,
        applies: None,
        sprs: None,
        controls: controls.iter().map(mapping).collect(),
    }
}

pub(crate) fn decides(reference: &str, controls: &[usize]) -> FrameworkRow {
    let controls: Vec<_> = controls.iter().map(|it| (*it, ControlRole::Decides)).collect();
    row(reference, &controls)
}

pub(crate) fn supports(reference: &str, controls: &[usize]) -> FrameworkRow {
    let controls: Vec<_> = controls.iter().map(|it| (*it, ControlRole::Supports)).collect();
    row(reference, &controls)
}

pub(crate) fn practice(
    reference: &str,
    control: usize,
    weight: u8,
    partial: Option<u8>,
) -> FrameworkRow {
    FrameworkRow { sprs: Some(Sprs { weight, partial }), ..decides(reference, &[control]) }
}

/// Check `c1` of tool `t`, seen today by source `s` in scope `x`.
pub(crate) fn seen(passed: u32, failed: u32) -> Observation {
    Observation {
        subject: Subject::Check { tool: "t".to_owned() },
        source: "s".to_owned(),
        scope: "x".to_owned(),
        check: "c1".to_owned(),
        observed_at: day(TODAY),
        valid_until: None,
        import: ImportId::from_bytes([7; 16]),
        verdict: Verdict::Counted { passed, failed },
        accepted: 0,
        severity: Severity::High,
        title: "Check".to_owned(),
        findings: None,
        remediation: None,
        failing: Vec::new(),
        memory: SparseMemory::default(),
        facets: Vec::new(),
        platform: None,
    }
}

pub(crate) fn stated(status: Status) -> Observation {
    Observation { verdict: Verdict::Stated(status), ..seen(0, 0) }
}

/// Where and when an observation was made.
pub(crate) trait Placed {
    fn check(self, check: &str) -> Self;
    fn scope(self, scope: &str) -> Self;
    fn source(self, source: &str) -> Self;
    fn of_control(self, code: &str) -> Self;
    fn at(self, day: i64) -> Self;
    fn until(self, day: i64) -> Self;
    fn failing(self, subjects: &[u64]) -> Self;
}

impl Placed for Observation {
    fn check(self, check: &str) -> Self {
        Self { check: check.to_owned(), ..self }
    }

    fn scope(self, scope: &str) -> Self {
        Self { scope: scope.to_owned(), ..self }
    }

    fn source(self, source: &str) -> Self {
        Self { source: source.to_owned(), ..self }
    }

    fn of_control(self, code: &str) -> Self {
        Self { subject: Subject::Control(code.to_owned()), ..self }
    }

    fn at(self, at: i64) -> Self {
        Self { observed_at: day(at), ..self }
    }

    fn until(self, until: i64) -> Self {
        Self { valid_until: Some(day(until)), ..self }
    }

    fn failing(self, subjects: &[u64]) -> Self {
        Self { failing: subjects.to_vec(), ..self }
    }
}

/// About `A-1`, with evidence, made today and good for a year.
pub(crate) fn attested(status: Status) -> Attestation {
    Attestation {
        control: "A-1".to_owned(),
        status,
        reason: "looked at it".to_owned(),
        evidence: Some("doc-1".to_owned()),
        by: "ann".to_owned(),
        at: day(TODAY),
        until: Some(day(TODAY + 365)),
        overrides: false,
    }
}

pub(crate) fn unused_since(said: i64) -> Usage {
    Usage::Unused { by: "ann".to_owned(), until: day(said + UNUSED_DAYS) }
}

/// About a row of SOC2, made today and without end.
pub(crate) fn decision(reference: &str, kind: RowDecisionKind) -> RowDecision {
    RowDecision {
        framework: FrameworkId::Soc2,
        reference: reference.to_owned(),
        kind,
        reason: "because".to_owned(),
        by: "ann".to_owned(),
        at: day(TODAY),
        until: None,
    }
}
