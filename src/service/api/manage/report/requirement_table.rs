//! One client's compliance with a framework as a table: one row per requirement.

use std::collections::BTreeMap;

use crate::api::wire::file::FileFormat;
use crate::app::report::framework::{FrameworkReport, ReportedControl, ReportedRequirement};
use crate::engine::contradiction::{Contradiction, DecidedThing};
use crate::engine::fact::{RowDecision, RowDecisionKind};
use crate::engine::framework::ControlRole;
use crate::engine::posture::result_words;
use crate::error::Result;
use crate::paper::table::{Cell, Column};

/// The headings, and how wide their columns are.
const COLUMNS: [(&str, u16); 19] = [
    ("Client", 24),
    ("Framework", 16),
    ("Requirement", 16),
    ("Title", 40),
    ("Groups", 16),
    ("Status", 16),
    ("Score", 8),
    ("Because", 60),
    ("Controls", 40),
    ("Last seen", 20),
    ("Sources", 40),
    ("Decision", 14),
    ("Decision reason", 40),
    ("Decision evidence", 40),
    ("Decided by", 20),
    ("Decided at", 20),
    ("Decided until", 20),
    ("Attestations", 60),
    ("Contradicted by", 40),
];

pub(super) fn table(report: &FrameworkReport, format: FileFormat) -> Result<Vec<u8>> {
    let columns = COLUMNS.map(|(heading, width)| Column::of(heading, width));
    let mut table = format.table(&columns, report.now)?;
    report.requirements.iter().try_for_each(|it| table.put(cells(report, it)))?;
    table.end()
}

fn cells(report: &FrameworkReport, requirement: &ReportedRequirement) -> Vec<Cell> {
    let row = report.row(requirement);
    let groups: Vec<&str> =
        row.groups.iter().map(|it| report.framework.groups[*it].as_str()).collect();
    let controls: Vec<&ReportedControl> = report.controls_of(requirement).map(|it| it.0).collect();
    let results = report.controls_of(requirement).map(|(it, role)| result(it, role));
    let last_seen_at = controls.iter().filter_map(|it| it.last_seen_at()).max();
    let mut cells = vec![
        Cell::text(&report.client.name),
        Cell::text(report.framework.id.as_str()),
        Cell::text(&row.reference),
        Cell::text(&row.title),
        Cell::text(groups.join(", ")),
        Cell::text(requirement.outcome.status.as_str()),
        Cell::number(requirement.outcome.score),
        Cell::text(requirement.sentences().join(". ")),
        Cell::text(results.collect::<Vec<_>>().join(", ")),
        Cell::given(last_seen_at, Cell::At),
        Cell::text(sources(&controls)),
    ];
    cells.extend(decision(requirement.decision.as_ref()));
    cells.push(Cell::text(attestations(&controls)));
    cells.push(Cell::text(contradicted(report, &row.reference, &controls)));
    cells
}

/// `CLD-01 partly met 50`, and whether it only supports the requirement.
fn result(control: &ReportedControl, role: ControlRole) -> String {
    let outcome = &control.outcome;
    let score = outcome.score.map_or(String::new(), |it| format!(" {it}"));
    let role = match role {
        ControlRole::Decides => "",
        ControlRole::Supports => " (supports)",
    };
    let words = result_words(outcome.status, outcome.partial_because).0.to_lowercase();
    format!("{} {words}{score}{role}", outcome.code)
}

/// Each source, and when it last saw one of the controls.
fn sources(controls: &[&ReportedControl]) -> String {
    let mut all = BTreeMap::new();
    for (name, at) in controls.iter().flat_map(|it| &it.sources) {
        let last = all.entry(name).or_insert(*at);
        *last = (*last).max(*at);
    }
    let all: Vec<String> = all.into_iter().map(|(name, at)| format!("{name} {at}")).collect();
    all.join(", ")
}

fn decision(decision: Option<&RowDecision>) -> [Cell; 6] {
    let Some(it) = decision else { return [const { Cell::Empty }; 6] };
    let (word, evidence) = match &it.kind {
        RowDecisionKind::OutOfScope => ("out_of_scope", None),
        RowDecisionKind::Attested { evidence } => ("attested", Some(evidence)),
    };
    [
        Cell::text(word),
        Cell::text(&it.reason),
        Cell::given(evidence, Cell::text),
        Cell::text(&it.by),
        Cell::At(it.at),
        Cell::given(it.until, Cell::At),
    ]
}

/// What was seen against the decisions about a requirement and its controls.
fn contradicted(
    report: &FrameworkReport,
    requirement: &str,
    controls: &[&ReportedControl],
) -> String {
    let is_about = |it: &&Contradiction| match &it.about {
        DecidedThing::Control(code) => controls.iter().any(|it| it.outcome.code == *code),
        DecidedThing::Row { reference, .. } => reference == requirement,
        DecidedThing::Platform(_) => false,
    };
    let shown = |it: &Contradiction| {
        let (decision, by, seen) = (it.kind.as_str(), &it.by, &it.seen);
        let (failing, sources) = (seen.controls.join(", "), seen.sources.join(", "));
        format!(
            "{decision} by {by}: {} failing of {failing} ({sources} {})",
            seen.n_failing, seen.at
        )
    };
    let all = report.contradictions.iter().filter(is_about);
    all.map(shown).collect::<Vec<_>>().join("; ")
}

fn attestations(controls: &[&ReportedControl]) -> String {
    let shown = |control: &&ReportedControl| {
        let it = control.attestation.as_ref()?;
        let until = it.until.map_or(String::new(), |end| format!(" until {end}"));
        let evidence = it.evidence.as_ref().map_or(String::new(), |it| format!(" [{it}]"));
        let (status, by, reason) = (it.status.as_str(), &it.by, &it.reason);
        Some(format!("{} {status} by {by}{until}: {reason}{evidence}", it.control))
    };
    controls.iter().filter_map(shown).collect::<Vec<_>>().join("; ")
}
