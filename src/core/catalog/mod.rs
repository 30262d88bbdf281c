//! The catalog: the files under `assets/catalog`, embedded, as types of the engine.
//!
//! Reading takes two steps, and each reports every problem: first the TOML of every file, then their content. With any
//! problem there is no catalog.

mod check;
mod control;
mod framework;
mod item;
mod score;
mod source;

use std::collections::BTreeMap;

use self::check::Platforms;
use self::item::ItemTable;
use crate::engine::catalog::facet::FacetSet;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::framework::{ControlRole, Framework, FrameworkId, Mapping};
use crate::toml_reader::TomlDocument;

pub use self::control::PLATFORM_QUESTIONS;
pub use self::framework::{N_OWN_ROWS_MAX, ROW_QUESTIONS};
pub use self::score::{ScoreLink, control_of_score};
pub use crate::toml_reader::Problem;

/// Where the files are in the project, for messages.
const FOLDER: &str = "assets/catalog";
const CONTROLS: &str = "controls.toml";
const CONTROLS_FRENCH: &str = "controls_fr.toml";
const SOURCES: &str = "sources.toml";
/// The name of a framework that is not one of our files.
const OWN: &str = "framework";

macro_rules! embed {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../assets/catalog/", $name)))),+]
    };
}

/// Name below [`FOLDER`] and text of every file.
const FILES: [(&str, &str); 39] = embed!(
    "controls.toml",
    "controls_fr.toml",
    "sources.toml",
    "frameworks/SOC2.toml",
    "frameworks/HIPAA.toml",
    "frameworks/PCI_DSS.toml",
    "frameworks/NIST_CSF.toml",
    "frameworks/ISO_27001.toml",
    "frameworks/CJIS.toml",
    "frameworks/CMMC_L1.toml",
    "frameworks/CMMC_L2.toml",
    "frameworks/FERPA.toml",
    "frameworks/PIPEDA.toml",
    "frameworks/LOI_25.toml",
    "frameworks/CIS_V8.toml",
    "frameworks/CYBER_ESSENTIALS.toml",
    "frameworks/ESSENTIAL_8.toml",
    "frameworks/GDPR.toml",
    "frameworks/NIS2.toml",
    "frameworks/NIST_800_53.toml",
    "frameworks/NIST_800_171_R3.toml",
    "checks/prowler.toml",
    "checks/nmap.toml",
    "checks/scuba.toml",
    "checks/maester.toml",
    "checks/lynis.toml",
    "checks/securescore.toml",
    "checks/zero-trust.toml",
    "checks/defender-cloud.toml",
    "checks/scoutsuite.toml",
    "checks/wazuh-sca.toml",
    "checks/hardeningkitty.toml",
    "checks/securityhub.toml",
    "checks/powerpipe.toml",
    "checks/sarif.toml",
    "checks/oscal.toml",
    "checks/kube-bench.toml",
    "checks/pingcastle.toml",
    "checks/xccdf.toml",
);

/// One file, parsed.
struct CatalogFile<'t> {
    /// Below [`FOLDER`].
    name: &'t str,
    document: TomlDocument<'t>,
}

impl CatalogFile<'_> {
    fn root(&self) -> ItemTable<'_> {
        ItemTable(self.document.root())
    }
}

/// The catalog that this release carries.
///
/// # Errors
/// Every problem in it. A test makes sure that there is none.
pub fn embedded() -> Result<Catalog, Vec<Problem>> {
    load(&FILES)
}

/// Reads a catalog from the names (below `assets/catalog`) and texts of its files, in any order.
///
/// # Errors
/// Every problem, by file in the given order, then by line.
pub fn load(files: &[(&str, &str)]) -> Result<Catalog, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut sources = Vec::new();
    for (name, text) in files {
        let (document, more) = TomlDocument::parse(format!("{FOLDER}/{name}"), text);
        sources.push(CatalogFile { name, document });
        problems.extend(more);
    }
    if !problems.is_empty() {
        sort(&mut problems, files);
        return Err(problems); // The content of a file cannot be judged by half of it.
    }
    let mut catalog = Catalog {
        digest: 0,
        categories: Vec::new(),
        controls: Vec::new(),
        frameworks: Vec::new(),
        tools: BTreeMap::new(),
        shown_by_sources: BTreeMap::new(),
    };
    let mut platforms = BTreeMap::new();
    let controls = sources.iter().find(|it| it.name == CONTROLS);
    let mut controls = controls.map(|it| control::read(it, &mut problems)).unwrap_or_default();
    for source in &sources {
        match source.name.split_once('/') {
            Some(("frameworks", _)) => {
                if let Some(framework) = framework::read(source, &controls.index, &mut problems) {
                    catalog.frameworks.push(framework);
                }
            }
            Some(("checks", _)) => {
                let (name, of_tool, tool) = check::read(source, &controls, &mut problems);
                platforms.insert(name.clone(), of_tool);
                catalog.tools.insert(name, tool);
            }
            Some(_) | None if source.name == CONTROLS => (),
            Some(_) | None if source.name == CONTROLS_FRENCH => {
                control::read_french(source, &mut controls, &mut problems);
            }
            Some(_) | None if source.name == SOURCES => {
                catalog.shown_by_sources = source::read(source, &controls, &mut problems);
            }
            Some(_) | None => problems.push(whole(source.name, "not a file of the catalog")),
        }
    }
    check_names(files, &mut problems);
    if !problems.is_empty() {
        sort(&mut problems, files);
        return Err(problems);
    }
    (catalog.categories, catalog.controls) = (controls.categories, controls.list);
    note_platforms(&mut catalog, &platforms);
    for framework in &mut catalog.frameworks {
        link(framework, &catalog.controls);
    }
    catalog.frameworks.sort_by_key(|it| it.id);
    catalog.seal();
    Ok(catalog)
}

/// Notes on which platforms some source can show which facets.
fn note_platforms(catalog: &mut Catalog, of_tools: &BTreeMap<String, Platforms>) {
    let mut shown: BTreeMap<(usize, &str), FacetSet> = BTreeMap::new();
    let mut note = |control: usize, platform, shows: FacetSet| {
        let known = shown.entry((control, platform)).or_default();
        *known = known.with(shows);
    };
    for (name, prefixes) in of_tools {
        for (check, links) in &catalog.tools[name].checks {
            let is_of = |prefix: &str| prefix == "*" || check.starts_with(prefix);
            let platform = prefixes.iter().find(|(prefix, _)| is_of(prefix));
            for (link, (_, platform)) in links.iter().filter_map(|it| Some((it, platform?))) {
                note(link.control, platform.as_str(), link.shows);
            }
        }
    }
    for (source, controls) in &catalog.shown_by_sources {
        for (control, shows) in controls {
            note(*control, source.as_str(), *shows);
        }
    }
    for ((control, platform), shows) in shown {
        let control = &mut catalog.controls[control];
        if control.platforms.iter().any(|it| it == platform) && !shows.is_empty() {
            control.shown_on.push((platform.to_owned(), shows));
        }
    }
}

/// Reads a framework that the managed service provider wrote for this catalog.
///
/// # Errors
/// Every problem, by line.
pub fn read_own(catalog: &Catalog, text: &str) -> Result<Framework, Vec<Problem>> {
    let (document, mut problems) = TomlDocument::parse(OWN, text);
    if !problems.is_empty() {
        return Err(problems);
    }
    let source = CatalogFile { name: OWN, document };
    match framework::read_own(&source, catalog, &mut problems) {
        Some(mut framework) if problems.is_empty() => {
            link(&mut framework, &catalog.controls);
            Ok(framework)
        }
        Some(_) | None => {
            problems.sort_by_key(|it| it.line);
            Err(problems)
        }
    }
}

/// Adds each control as a support to the rows that a more general control of it is mapped to, unless that mapping is for
/// the general control alone.
fn link(framework: &mut Framework, controls: &[Control]) {
    let has_general = |it: &(usize, &Control)| !it.1.also.is_empty();
    let parts: Vec<_> = controls.iter().enumerate().filter(has_general).collect();
    for row in &mut framework.rows {
        let written: Vec<usize> = row.controls.iter().map(|it| it.control).collect();
        let followed: Vec<usize> =
            row.controls.iter().filter(|it| !it.alone).map(|it| it.control).collect();
        for &(index, control) in &parts {
            let general = followed.iter().find(|it| control.also.contains(it));
            let Some(general) = general.filter(|_| !written.contains(&index)) else { continue };
            let general = &controls[*general];
            row.controls.push(Mapping {
                control: index,
                role: ControlRole::Supports,
                why: format!("Part of {}: {}", general.code, general.title),
                earns_partial: false,
                within_days: None,
                alone: false,
            });
        }
    }
}

/// Each name once, the controls, and a framework for each identifier of the contract.
fn check_names(files: &[(&str, &str)], problems: &mut Vec<Problem>) {
    for (index, (name, _)) in files.iter().enumerate() {
        if files[..index].iter().any(|(earlier, _)| earlier == name) {
            problems.push(whole(name, "appears more than once"));
        }
    }
    let frameworks = FrameworkId::CONTRACT.map(framework::name_of);
    for name in frameworks.iter().map(String::as_str).chain([CONTROLS]) {
        if !files.iter().any(|(it, _)| *it == name) {
            problems.push(whole(name, "missing"));
        }
    }
}

fn whole(name: &str, message: &str) -> Problem {
    Problem { file: format!("{FOLDER}/{name}"), line: None, message: message.to_owned() }
}

fn sort(problems: &mut [Problem], files: &[(&str, &str)]) {
    let place = |problem: &Problem| {
        files.iter().position(|(name, _)| problem.file == format!("{FOLDER}/{name}"))
    };
    problems.sort_by_cached_key(|it| (place(it).unwrap_or(files.len()), it.line));
}
