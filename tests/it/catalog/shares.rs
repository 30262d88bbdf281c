//! How far what can be imported or scanned today reaches, as the guide says it.

use posture::catalog::embedded;
use posture::engine::catalog::Catalog;
use posture::engine::framework::{ControlRole, Framework, FrameworkRow, Level, Mapping};

/// The tools whose results an importer reads, or Posture's own scan has.
const READ: [&str; 2] = ["nmap", "prowler"];
/// What the guide calls the rows of a framework with two levels.
const LEVELS: [(&str, &str, &str); 4] = [
    ("NIST_CSF", "categories", "subcategories"),
    ("CJIS", "areas", "controls"),
    ("PIPEDA", "principles", "clauses"),
    ("NIST_800_53", "controls", "enhancements"),
];

/// Returns for each control whether a check that can be read decides it.
fn fed(catalog: &Catalog) -> Vec<bool> {
    let of = |index: usize| {
        READ.iter().any(|tool| {
            let mut checks = catalog.tools[*tool].checks.values();
            let findings = catalog.controls[index].open_findings.as_ref();
            checks.any(|it| it.contains(&index))
                || findings.is_some_and(|it| it.tools.iter().any(|name| name == tool))
        })
    };
    (0..catalog.controls.len()).map(of).collect()
}

/// One line of the guide's table.
fn line(framework: &Framework, level: Level, fed: &[bool]) -> String {
    let rows: Vec<&FrameworkRow> = framework.rows.iter().filter(|it| it.level == level).collect();
    let share = |wanted: &dyn Fn(&Mapping) -> bool| {
        let n = rows.iter().filter(|it| it.controls.iter().any(wanted)).count();
        n * 100 / rows.len()
    };
    let any = share(&|it| fed[it.control]);
    let decided = share(&|it| fed[it.control] && it.role == ControlRole::Decides);
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
    let fed = fed(&catalog);
    let mut lines = Vec::new();
    for framework in &catalog.frameworks {
        for level in [Level::Requirement, Level::Detail] {
            if framework.rows.iter().any(|it| it.level == level) {
                lines.push(line(framework, level, &fed));
            }
        }
    }
    let n = fed.iter().filter(|it| **it).count();
    let guide = include_str!("../../../assets/docs/assessment.md");
    let first = format!("{n} of the controls can be decided by what can be imported or scanned");
    let table = lines.join("\n");
    assert!(guide.contains(&first) && guide.contains(&table), "{first}\n{table}");
}
