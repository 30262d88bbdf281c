//! `controls.toml`: categories and controls.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::item::ItemTable;
use super::{CatalogFile, Problem, whole};
use crate::engine::catalog::facet::{Facet, FacetSet, N_FACETS_MAX, Population};
use crate::engine::catalog::{Category, Control, Decider, OpenFindings, Wording};
use crate::engine::severity::Severity;

/// What a client is asked about the platforms it uses.
pub const PLATFORM_QUESTIONS: [&str; 16] = [
    "m365",
    "google",
    "aws",
    "azure",
    "gcp",
    "kubernetes",
    "otherIdentity",
    "saas",
    "onPremNetwork",
    "mobileDevices",
    "servers",
    "customerWebApps",
    "cardPayments",
    "softwareDevelopment",
    "criminalJusticeInformation",
    "educationRecords",
];

/// Characters of a control's code, or of its category's.
pub(super) const CODE_CHARS: RangeInclusive<usize> = 1..=16;
pub(super) const TOOL_CHARS: RangeInclusive<usize> = 2..=32;
const CATEGORY_NAME_CHARS: RangeInclusive<usize> = 2..=32;
const TITLE_CHARS: RangeInclusive<usize> = 5..=100;
/// In French, which takes more words.
const FRENCH_TITLE_CHARS: RangeInclusive<usize> = 5..=160;
const FRENCH_REMEDIATION_CHARS: RangeInclusive<usize> = 40..=900;
const SENTENCE_CHARS: RangeInclusive<usize> = 20..=300;
const REMEDIATION_CHARS: RangeInclusive<usize> = 40..=600;
/// An observation is valid for at least a day and at most ten years.
pub(super) const MAX_AGE_DAYS: RangeInclusive<u16> = 1..=3_650;

/// The facet of a control that has no parts.
const WHOLE: &str = "whole";
const FACET_CHARS: RangeInclusive<usize> = 2..=16;
const PLATFORM_CHARS: RangeInclusive<usize> = 3..=32;
const FACET_SENTENCE_CHARS: RangeInclusive<usize> = 5..=100;
const POPULATIONS: [(&str, Population); 12] = {
    let mut words = [("", Population::Client); 12];
    let mut at = 0;
    while at < words.len() {
        words[at] = (Population::ALL[at].as_str(), Population::ALL[at]);
        at += 1;
    }
    words
};

const CHECKS_MIN: RangeInclusive<u16> = 1..=1_000;

const SEVERITIES: [(&str, Severity); 4] = [
    ("critical", Severity::Critical),
    ("high", Severity::High),
    ("medium", Severity::Medium),
    ("low", Severity::Low),
];

const DECIDERS: [(&str, Decider); 7] = [
    ("assessor", Decider::Assessor),
    ("connector", Decider::Connector),
    ("scan", Decider::Scan),
    ("dns", Decider::Dns),
    ("push", Decider::Push),
    ("attestation", Decider::Attestation),
    ("derived", Decider::Derived),
];

/// The content of `controls.toml`.
#[derive(Default)]
pub(super) struct Controls {
    pub(super) categories: Vec<Category>,
    pub(super) list: Vec<Control>,
    /// Code -> index into `list`.
    pub(super) index: BTreeMap<String, usize>,
}

impl Controls {
    /// The control and the facets that a key such as `ID-15` (all of it) or `ID-15.length` means.
    pub(super) fn find_facets(&self, key: &str) -> Option<(usize, FacetSet)> {
        let (code, facet) = key.split_once('.').map_or((key, None), |it| (it.0, Some(it.1)));
        let index = *self.index.get(code)?;
        let control = &self.list[index];
        let facets = match facet {
            Some(name) => FacetSet::one(control.find_facet(name)?),
            None => control.all_facets(),
        };
        Some((index, facets))
    }
}

pub(super) fn read(source: &CatalogFile<'_>, problems: &mut Vec<Problem>) -> Controls {
    let mut root = source.root();
    let mut read = Controls::default();
    for mut item in root.tables("category") {
        let category = category(&mut item, &read.categories);
        read.categories.push(category);
        root.absorb(item);
    }
    let mut general = Vec::new();
    let mut former = Vec::new();
    for mut item in root.tables("control") {
        let control = control(&mut item, &read.categories);
        if read.index.insert(control.code.clone(), read.list.len()).is_some() {
            item.problem(item.line_of("code"), "another control has this code");
        }
        general.push(item.find_texts("also", &CODE_CHARS));
        former.push(item.find_texts("formerly", &CODE_CHARS));
        read.list.push(control);
        root.absorb(item);
    }
    for (index, (general, former)) in general.into_iter().zip(former).enumerate() {
        let code = read.list[index].code.clone();
        for it in general {
            match read.index.get(&it.text) {
                Some(found) if *found != index => read.list[index].also.push(*found),
                _ => root.problem(
                    it.line,
                    format!("control {code:?}: also: no other control {:?}", it.text),
                ),
            }
        }
        for it in former {
            if read.index.contains_key(&it.text) {
                let rule = format!("control {code:?}: formerly: {:?} is still a control", it.text);
                root.problem(it.line, rule);
            }
            read.list[index].formerly.push(it.text);
        }
    }
    root.finish(problems);
    read
}

/// Reads what people read of each control in French.
pub(super) fn read_french(
    source: &CatalogFile<'_>,
    controls: &mut Controls,
    problems: &mut Vec<Problem>,
) {
    let mut root = source.root();
    for mut item in root.tables("control") {
        let code = item.text("code", CODE_CHARS);
        item.set_label("control", &code.text);
        let wording = Wording {
            title: item.text("title", FRENCH_TITLE_CHARS).text,
            gap: item.text("gap", FRENCH_TITLE_CHARS).text,
            remediation: item.text("remediation", FRENCH_REMEDIATION_CHARS).text,
        };
        match controls.index.get(&code.text) {
            None => item.problem(code.line, "no control has this code"),
            Some(found) if controls.list[*found].french.replace(wording).is_some() => {
                item.problem(code.line, "another entry has this code");
            }
            Some(_) => (),
        }
        root.absorb(item);
    }
    root.finish(problems);
    for control in controls.list.iter().filter(|it| it.french.is_none()) {
        problems.push(whole(source.name, &format!("control {:?} is missing", control.code)));
    }
}

fn category(item: &mut ItemTable<'_>, earlier: &[Category]) -> Category {
    let code = item.text("code", CODE_CHARS);
    item.set_label("category", &code.text);
    let name = item.text("name", CATEGORY_NAME_CHARS);
    if earlier.iter().any(|it| it.code == code.text) {
        item.problem(code.line, "another category has this code");
    }
    if earlier.iter().any(|it| it.name == name.text) {
        item.problem(name.line, format!("another category has the name {:?}", name.text));
    }
    Category { code: code.text, name: name.text }
}

fn control(item: &mut ItemTable<'_>, categories: &[Category]) -> Control {
    let code = item.text("code", CODE_CHARS);
    item.set_label("control", &code.text);
    let category = category_of(&code.text, categories);
    if category.is_none() {
        item.problem(code.line, "the code must be a category's code, a hyphen and two digits");
    }
    let decided_by = item.words("decided_by", &DECIDERS);
    if decided_by.is_empty() {
        item.problem(item.line_of("decided_by"), "decided_by: must not be empty");
    }
    let question = item.find_text("question", SENTENCE_CHARS).map(|it| it.text);
    if question.is_some() != decided_by.contains(&Decider::Attestation) {
        let rule =
            "question: is required with attestation in decided_by, and not allowed without it";
        item.problem(item.line_of("question"), rule);
    }
    let questions = PLATFORM_QUESTIONS.map(|it| (it, it));
    Control {
        title: item.text("title", TITLE_CHARS).text,
        gap: item.text("gap", TITLE_CHARS).text,
        category: category.unwrap_or_default(),
        severity: item.word("severity", &SEVERITIES),
        decided_by,
        platforms: item.words("platforms", &questions).into_iter().map(str::to_owned).collect(),
        max_age_days: item.number("max_age_days", MAX_AGE_DAYS),
        requires: item.text("requires", SENTENCE_CHARS).text,
        question,
        risk: item.text("risk", SENTENCE_CHARS).text,
        remediation: item.text("remediation", REMEDIATION_CHARS).text,
        french: None,
        also: Vec::new(),
        open_findings: open_findings(item),
        n_checks_min: item.find_number("checks_min", CHECKS_MIN).unwrap_or(1),
        over: item.find_word("over", &POPULATIONS).unwrap_or(Population::Client),
        facets: facets(item),
        shown_on: Vec::new(),
        formerly: Vec::new(),
        code: code.text,
    }
}

/// At least one: a control without facets is one as a whole.
fn facets(item: &mut ItemTable<'_>) -> Vec<Facet> {
    let any = item.find_texts("any", &FACET_CHARS);
    let mut facets = Vec::new();
    for mut it in item.find_tables("facets") {
        let name = it.text("name", FACET_CHARS).text;
        let says = it.text("says", FACET_SENTENCE_CHARS).text;
        let is_any = any.iter().any(|it| it.text == name);
        facets.push(Facet { is_any, name, says, platforms: facet_platforms(&mut it) });
        item.absorb(it);
    }
    if facets.is_empty() {
        let is_any = any.iter().any(|it| it.text == WHOLE);
        let (name, says) = (WHOLE.to_owned(), String::new());
        facets.push(Facet { name, says, is_any, platforms: Vec::new() });
    }
    for unknown in any.iter().filter(|any| !facets.iter().any(|it| it.name == any.text)) {
        item.problem(unknown.line, format!("any: no facet {:?}", unknown.text));
    }
    if N_FACETS_MAX < facets.len() {
        item.problem(item.line_of("facets"), format!("facets: must be at most {N_FACETS_MAX}"));
        facets.truncate(N_FACETS_MAX);
    }
    facets
}

/// Where a facet is asked. Empty when the key is not there.
fn facet_platforms(item: &mut ItemTable<'_>) -> Vec<String> {
    let platforms = item.find_texts("platforms", &PLATFORM_CHARS);
    for unknown in platforms.iter().filter(|it| !PLATFORM_QUESTIONS.contains(&it.text.as_str())) {
        item.problem(unknown.line, format!("platforms: unknown platform {:?}", unknown.text));
    }
    platforms.into_iter().map(|it| it.text).collect()
}

fn open_findings(item: &mut ItemTable<'_>) -> Option<OpenFindings> {
    let mut table = item.find_table("open_findings")?;
    let tools = table.find_texts("tools", &TOOL_CHARS).into_iter().map(|it| it.text).collect();
    let severity = table.word("severity", &SEVERITIES);
    item.absorb(table);
    Some(OpenFindings { tools, severity })
}

fn category_of(code: &str, categories: &[Category]) -> Option<usize> {
    let (prefix, number) = code.split_once('-')?;
    let two_digits = number.len() == 2 && number.bytes().all(|it| it.is_ascii_digit());
    categories.iter().position(|it| two_digits && it.code == prefix)
}
