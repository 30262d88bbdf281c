//! `sources.toml`: what the sources that name controls themselves show of controls with several facets.

use std::collections::BTreeMap;

use super::control::Controls;
use super::{CatalogFile, Problem};
use crate::engine::catalog::facet::FacetSet;

/// By source, then by index of the control. An empty list of facets: what passes shows none of them whole.
pub(super) fn read(
    source: &CatalogFile<'_>,
    controls: &Controls,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, BTreeMap<usize, FacetSet>> {
    let root = source.root();
    let mut shown: BTreeMap<String, BTreeMap<usize, FacetSet>> = BTreeMap::new();
    for (name, table) in root.all_tables() {
        let of_source = shown.entry(name.to_owned()).or_default();
        for (code, facets) in table.lists(&(2..=16), problems) {
            let Some((control, _)) = controls.find_facets(&code.text) else {
                root.problem(code.line, format!("unknown control {:?}", code.text));
                continue;
            };
            let mut all = FacetSet::NONE;
            for it in facets {
                match controls.list[control].find_facet(&it.text) {
                    Some(facet) => all = all.with(FacetSet::one(facet)),
                    None => root.problem(it.line, format!("{}: no facet {:?}", code.text, it.text)),
                }
            }
            of_source.insert(control, all);
        }
    }
    problems.append(&mut root.into_problems());
    shown
}
