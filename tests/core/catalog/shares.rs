//! How far what can be imported or scanned today reaches, as the guide says it.

use posture_core::catalog::embedded;
use posture_core::engine::catalog::facet::FacetSet;
use posture_core::engine::catalog::{Catalog, CheckLink, Tool};
use posture_core::engine::framework::{ControlRole, Framework, FrameworkRow, Level, Mapping};
use posture_core::import::Format;

/// What the guide calls the rows of a framework with two levels.
const LEVELS: [(&str, &str, &str); 4] = [
    ("NIST_CSF", "categories", "subcategories"),
    ("CJIS", "areas", "controls"),
    ("PIPEDA", "principles", "clauses"),
    ("NIST_800_53", "controls", "enhancements"),
];

/// Returns for each control whether a check of a tool looks at it, and whether one can make it compliant.
fn fed(catalog: &Catalog) -> (Vec<bool>, Vec<bool>) {
    let all = catalog.controls.iter().zip(catalog.checks_of_controls());
    let fed = all.map(|(control, checks)| {
        let shown = checks.iter().fold(FacetSet::NONE, |all, it| all.with(it.shows));
        let n_deciding = checks.iter().filter(|it| !it.shows.is_empty()).count();
        let takes = control.open_findings.is_some();
        let is_enough = usize::from(control.n_checks_min) <= n_deciding;
        (!checks.is_empty() || takes, is_enough && shown == control.all_facets() || takes)
    });
    fed.unzip()
}

/// One line of the guide's table of tools.
fn tool_line((name, tool): (&String, &Tool)) -> String {
    let n_gaps =
        tool.checks.values().filter(|it| it.iter().all(CheckLink::shows_only_gaps)).count();
    format!("| `{name}` | {} | {n_gaps} |", tool.checks.len())
}

/// One line of the guide's table.
fn line(framework: &Framework, level: Level, (seen, met): (&[bool], &[bool])) -> String {
    let rows: Vec<&FrameworkRow> = framework.rows.iter().filter(|it| it.level == level).collect();
    let share = |wanted: &dyn Fn(&Mapping) -> bool| {
        let n = rows.iter().filter(|it| it.controls.iter().any(wanted)).count();
        n * 100 / rows.len()
    };
    let any = share(&|it| seen[it.control]);
    let decided = share(&|it| met[it.control] && it.role == ControlRole::Decides);
    let id = framework.id.as_str();
    let name = match LEVELS.iter().find(|it| it.0 == id) {
        Some((_, name, _)) if level == Level::Requirement => format!("{id}, {name}"),
        Some((_, _, name)) => format!("{id}, {name}"),
        None => id.to_owned(),
    };
    format!("| {name} | {} | {any} % | {decided} % |", rows.len())
}

#[test]
fn the_guide_says_how_far_imports_and_scans_reach() {
    let catalog = embedded().unwrap();
    let (seen, met) = fed(&catalog);
    let mut lines = Vec::new();
    for framework in &catalog.frameworks {
        for level in [Level::Requirement, Level::Detail] {
            if framework.rows.iter().any(|it| it.level == level) {
                lines.push(line(framework, level, (&seen, &met)));
            }
        }
    }
    let n = |all: &[bool]| all.iter().filter(|it| **it).count();
    let guide = include_str!("../../../assets/docs/assessment.md");
    let first = format!(
        "{} of the controls are looked at by what can be imported or scanned today, and {} can be shown to be met",
        n(&seen),
        n(&met)
    );
    let table = lines.join("\n");
    assert!(guide.contains(&first) && guide.contains(&table), "{first}\n{table}");
}

#[test]
fn the_guide_lists_the_mapped_checks_of_each_tool_and_all_can_be_imported() {
    let catalog = embedded().unwrap();
    let read = Format::ALL.map(Format::tool);
    let unread: Vec<&String> =
        catalog.tools.keys().filter(|it| !read.contains(&it.as_str())).collect();
    assert_eq!(unread, [""; 0]);
    let (n_controls, n_frameworks) = (catalog.controls.len(), catalog.frameworks.len());
    let n_checks: usize = catalog.tools.values().map(|it| it.checks.len()).sum();
    let first = format!(
        "The catalog has {n_controls} controls, {n_frameworks} frameworks, and maps of {},{:03} checks",
        n_checks / 1_000,
        n_checks % 1_000
    );
    let table = catalog.tools.iter().map(tool_line).collect::<Vec<_>>().join("\n");
    let guide = include_str!("../../../assets/docs/assessment.md");
    assert!(guide.contains(&first) && guide.contains(&table), "{first}\n{table}");
}
