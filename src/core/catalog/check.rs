//! `checks/<tool>.toml`: the checks of a tool, and the controls that each of them decides.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::control::{CODE_CHARS, Controls, TOOL_CHARS};
use super::{CatalogFile, Problem};
use crate::engine::catalog::{CheckLink, Tool};

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
    let is_by_reference = root.flag("by_reference");
    let mut checks: BTreeMap<String, Vec<CheckLink>> = BTreeMap::new();
    for (table, shows_only_gaps) in
        [(root.table("controls"), false), (root.find_table("gaps"), true)]
    {
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
                let links = checks.entry(id.text.clone()).or_default();
                if links.iter().any(|it| it.control == control) {
                    let (control, check) = (&code.text, &id.text);
                    root.problem(
                        id.line,
                        format!("control {control:?}: check {check:?} appears more than once"),
                    );
                }
                links.push(CheckLink { control, shows_only_gaps });
            }
        }
    }
    for links in checks.values_mut() {
        links.sort_unstable();
    }
    root.finish(problems);
    (tool.text, Tool { category: category.unwrap_or_default(), is_by_reference, checks })
}
