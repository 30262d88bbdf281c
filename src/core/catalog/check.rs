//! `checks/<tool>.toml`: the checks of a tool, and the controls that each of them decides.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::control::{CODE_CHARS, Controls, TOOL_CHARS};
use super::item::{ItemTable, Text};
use super::{CatalogFile, Problem};
use crate::engine::catalog::facet::FacetSet;
use crate::engine::catalog::{CheckLink, Together, Tool};

const CHECK_CHARS: RangeInclusive<usize> = 1..=200;

/// On which platform the checks are whose ids begin so. `*`: all.
pub(super) type Platforms = Vec<(String, String)>;

/// The tool, on which platforms its checks are, and what the catalog knows of it.
pub(super) fn read(
    source: &CatalogFile<'_>,
    controls: &Controls,
    problems: &mut Vec<Problem>,
) -> (String, Platforms, Tool) {
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
    let platforms = root.find_table("platforms").map(|it| it.lists(&CHECK_CHARS, problems));
    let mut links = Links { controls, checks: BTreeMap::new(), together: BTreeMap::new() };
    for (table, shows_only_gaps) in
        [(root.table("controls"), false), (root.find_table("gaps"), true)]
    {
        let lists = table.map(|it| it.lists(&CHECK_CHARS, problems));
        for (code, ids) in lists.into_iter().flatten() {
            if ids.is_empty() {
                root.problem(code.line, format!("control {:?}: no checks", code.text));
            }
            let Some((control, facets)) = links.meant(&root, &code) else { continue };
            let is_named = !shows_only_gaps || code.text.contains('.');
            let shows = if shows_only_gaps { FacetSet::NONE } else { facets };
            let fails = if is_named { facets } else { FacetSet::NONE };
            for id in ids {
                links.add(&root, &id, CheckLink { control, shows, fails, needs_others: false });
            }
        }
    }
    let together = root.find_table("together").map(|it| it.groups(&CHECK_CHARS, problems));
    for (code, groups) in together.into_iter().flatten() {
        let Some((control, shows)) = links.meant(&root, &code) else { continue };
        for mut group in groups {
            if group.len() < 2 {
                root.problem(
                    code.line,
                    format!("control {:?}: a group needs two checks", code.text),
                );
                continue;
            }
            let first = group.remove(0);
            let link = CheckLink { control, shows, fails: shows, needs_others: true };
            links.add(&root, &first, link);
            let checks = group.into_iter().map(|it| it.text).collect();
            let group = Together { control, shows, checks };
            links.together.entry(first.text).or_default().push(group);
        }
    }
    let Links { mut checks, together, .. } = links;
    for links in checks.values_mut() {
        links.sort_unstable();
    }
    root.finish(problems);
    let platforms = platforms.unwrap_or_default().into_iter();
    let platforms = platforms.flat_map(|(platform, prefixes)| {
        prefixes.into_iter().map(move |it| (it.text, platform.text.clone()))
    });
    let platforms = platforms.collect();
    (
        tool.text,
        platforms,
        Tool { category: category.unwrap_or_default(), is_by_reference, checks, together },
    )
}

struct Links<'c> {
    controls: &'c Controls,
    checks: BTreeMap<String, Vec<CheckLink>>,
    together: BTreeMap<String, Vec<Together>>,
}

impl Links<'_> {
    /// The control and the facets that a key such as `ID-15` or `ID-15.length` means.
    fn meant(&self, root: &ItemTable<'_>, key: &Text) -> Option<(usize, FacetSet)> {
        let found = self.controls.find_facets(&key.text);
        if found.is_none() {
            root.problem(key.line, format!("unknown control or facet {:?}", key.text));
        }
        found
    }

    fn add(&mut self, root: &ItemTable<'_>, id: &Text, link: CheckLink) {
        let links = self.checks.entry(id.text.clone()).or_default();
        let Some(known) = links.iter_mut().find(|it| it.control == link.control) else {
            return links.push(link);
        };
        let is_another_facet =
            !known.fails.is_empty() && !link.fails.is_empty() && !known.fails.shares(link.fails);
        // Either of two groups is enough.
        let is_another_group = known.needs_others && link.needs_others;
        if is_another_facet || is_another_group {
            known.shows = known.shows.with(link.shows);
            known.fails = known.fails.with(link.fails);
            known.needs_others |= link.needs_others;
        } else {
            let control = &self.controls.list[link.control].code;
            let check = &id.text;
            root.problem(
                id.line,
                format!("control {control:?}: check {check:?} appears more than once"),
            );
        }
    }
}
