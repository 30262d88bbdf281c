//! `checks/<tool>.toml`: the checks of a tool, and the controls that each of them decides.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::control::{CODE_CHARS, Controls, TOOL_CHARS};
use super::{CatalogFile, Problem};
use crate::engine::catalog::Tool;

const CHECK_CHARS: RangeInclusive<usize> = 1..=200;

/// The tool, and what the catalog knows of it.
pub(super) fn read(
    source: &CatalogFile<'_>,
    controls: &Controls,
    problems: &mut Vec<Problem>,
) -> (String, Tool) {
    let mut root = source.root();
    let tool = root.text("tool", TOOL_CHARS);
    if format!("checks/{}.toml", tool.text) != source.name {
        root.problem(tool.line, format!("tool: {:?} does not match the file's name", tool.text));
    }
    let code = root.text("category", CODE_CHARS);
    let category = controls.categories.iter().position(|it| it.code == code.text);
    if category.is_none() {
        root.problem(code.line, format!("category: unknown category {:?}", code.text));
    }
    let mut checks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut gap_checks: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (table, is_gaps) in [(root.table("controls"), false), (root.find_table("gaps"), true)] {
        let lists = table.map(|it| it.lists(&CHECK_CHARS, problems));
        for (code, ids) in lists.into_iter().flatten() {
            if ids.is_empty() {
                root.problem(code.line, format!("control {:?}: no checks", code.text));
            }
            let Some(control) = controls.index.get(&code.text).copied() else {
                root.problem(code.line, format!("unknown control {:?}", code.text));
                continue;
            };
            for id in ids {
                let decides = checks.entry(id.text.clone()).or_default();
                if decides.contains(&control) {
                    let (control, check) = (&code.text, &id.text);
                    root.problem(
                        id.line,
                        format!("control {control:?}: check {check:?} appears more than once"),
                    );
                }
                decides.push(control);
                if is_gaps {
                    gap_checks.entry(control).or_default().insert(id.text);
                }
            }
        }
    }
    for decides in checks.values_mut() {
        decides.sort_unstable();
    }
    root.finish(problems);
    (tool.text, Tool { category: category.unwrap_or_default(), checks, gap_checks })
}
