//! `frameworks/<ID>.toml`: the rows of a framework and the controls that answer them. A managed service provider writes
//! its own frameworks in the same format, and may leave more out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::control::{CODE_CHARS, MAX_AGE_DAYS};
use super::item::{ItemTable, Text};
use super::{CatalogFile, Problem, whole};
use crate::engine::catalog::Catalog;
use crate::engine::framework::{
    ControlRole, Framework, FrameworkId, FrameworkRow, Level, Mapping, OwnFrameworkId,
    ReadinessRule, Sprs,
};

/// What a client is asked because rows of a framework depend on it.
pub const ROW_QUESTIONS: [&str; 2] = ["paymentServiceProvider", "creditReports"];

/// How many rows a framework of a managed service provider may have.
pub const N_OWN_ROWS_MAX: usize = 500;

/// Words that mean several frameworks where one is chosen.
const RESERVED_IDS: [&str; 2] = ["ALL", "CONTRACT"];

const OWN_ID_CHARS: RangeInclusive<usize> = 2..=OwnFrameworkId::CHARS_MAX;
const OWN_NAME_CHARS: RangeInclusive<usize> = 2..=64;
const OWN_DESCRIPTION_CHARS: RangeInclusive<usize> = 2..=600;
const OWN_WHY_CHARS: RangeInclusive<usize> = 2..=300;
/// The version of a framework that does not say.
const FIRST_VERSION: &str = "1";

const NAME_CHARS: RangeInclusive<usize> = 4..=64;
const VERSION_CHARS: RangeInclusive<usize> = 1..=32;
const SOURCE_CHARS: RangeInclusive<usize> = 10..=300;
const METHOD_CHARS: RangeInclusive<usize> = 2..=200;
const SAMPLE: RangeInclusive<u16> = 1..=u16::MAX;
const GROUP_CHARS: RangeInclusive<usize> = 1..=16;
const NOTE_CHARS: RangeInclusive<usize> = 10..=600;
const REFERENCE_CHARS: RangeInclusive<usize> = 1..=40;
/// Published titles of details are whole sentences.
const TITLE_CHARS: RangeInclusive<usize> = 2..=240;
const DESCRIPTION_CHARS: RangeInclusive<usize> = 40..=300;
const WHY_CHARS: RangeInclusive<usize> = 10..=160;
/// 0 for the one practice without points, which is a gate instead.
const SPRS_WEIGHT: RangeInclusive<u16> = 0..=5;
/// From the highest SPRS score, 110, down to the lowest, -203.
const SPRS_WEIGHTS_SUM: u32 = 313;

const READINESS_RULES: [(&str, ReadinessRule); 3] = [
    ("mean", ReadinessRule::Mean),
    ("sprs", ReadinessRule::Sprs),
    ("compliant_share", ReadinessRule::CompliantShare),
];

const LEVELS: [(&str, Level); 2] = [("requirement", Level::Requirement), ("detail", Level::Detail)];
const ROLES: [(&str, ControlRole); 2] =
    [("decides", ControlRole::Decides), ("supports", ControlRole::Supports)];

/// A row whose parent is still a reference.
struct WrittenRow {
    row: FrameworkRow,
    line: usize,
    description_line: usize,
    parent: Option<Text>,
    formerly: Vec<Text>,
}

/// Who wrote a framework.
enum Author<'a> {
    /// We did. Controls are known by their codes.
    Release(&'a BTreeMap<String, usize>),
    /// The managed service provider did, against this catalog or one of an earlier release.
    Provider(&'a Catalog),
}

impl Author<'_> {
    /// Indices of the controls that a code means.
    fn controls_named(&self, code: &str) -> Vec<usize> {
        match self {
            Self::Release(index) => index.get(code).copied().into_iter().collect(),
            Self::Provider(catalog) => catalog.controls_named(code),
        }
    }

    /// Why a control is mapped to a row.
    fn why(&self, table: &mut ItemTable<'_>, controls: &[usize]) -> String {
        match self {
            Self::Release(_) => table.text("why", WHY_CHARS).text,
            Self::Provider(catalog) => {
                let requires = || controls.first().map(|it| catalog.controls[*it].requires.clone());
                let written = table.find_text("why", OWN_WHY_CHARS).map(|it| it.text);
                written.or_else(requires).unwrap_or_default()
            }
        }
    }
}

/// A framework that the managed service provider wrote.
pub(super) fn read_own(
    source: &CatalogFile<'_>,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
) -> Option<Framework> {
    let mut root = source.root();
    let id = own_id(&mut root);
    let name = root.text("name", OWN_NAME_CHARS).text;
    let version = root.find_text("version", VERSION_CHARS).map(|it| it.text);
    let readiness = root.find_word("readiness", &READINESS_RULES).unwrap_or(ReadinessRule::Mean);
    root.find_text("source", SOURCE_CHARS);
    root.find_text("note", NOTE_CHARS);
    let groups = groups(&mut root);
    let rows = rows(&mut root, &Author::Provider(catalog), &groups);
    if N_OWN_ROWS_MAX < rows.len() {
        let rule = format!("at most {N_OWN_ROWS_MAX} rows are allowed, not {}", rows.len());
        root.problem(root.line_of("row"), rule);
    }
    check_parts(&root, &rows);
    let rows = checked(&root, readiness, rows);
    root.finish(problems);
    let version = version.unwrap_or_else(|| FIRST_VERSION.to_owned());
    Some(Framework { id: id?, digest: 0, name, version, readiness, groups, rows })
}

fn own_id(root: &mut ItemTable<'_>) -> Option<FrameworkId> {
    let written = root.text("id", OWN_ID_CHARS);
    let text = &written.text;
    match text.parse::<FrameworkId>() {
        Ok(FrameworkId::Own(id)) if !RESERVED_IDS.contains(&FrameworkId::Own(id).as_str()) => {
            return Some(FrameworkId::Own(id));
        }
        Ok(FrameworkId::Own(_)) => {
            root.problem(written.line, format!("id: {text:?} has a meaning of its own"));
        }
        Ok(_) => root.problem(written.line, format!("id: {text:?} is part of this release")),
        Err(_) => root.problem(written.line, format!("id: {}", OwnFrameworkId::RULE)),
    }
    None
}

/// `None` when the file's name is not that of a framework.
pub(super) fn read(
    source: &CatalogFile<'_>,
    controls: &BTreeMap<String, usize>,
    problems: &mut Vec<Problem>,
) -> Option<Framework> {
    let mut root = source.root();
    let Some(id) = FrameworkId::EMBEDDED.into_iter().find(|it| name_of(*it) == source.name) else {
        problems.push(whole(source.name, "unknown framework identifier"));
        return None;
    };
    let written_id = root.text("id", CODE_CHARS);
    if written_id.text != id.as_str() {
        let message = format!("id: {:?} does not match the file's name", written_id.text);
        root.problem(written_id.line, message);
    }
    let name = root.text("name", NAME_CHARS).text;
    let version = root.text("version", VERSION_CHARS).text;
    let readiness = root.word("readiness", &READINESS_RULES);
    let groups = groups(&mut root);
    provenance(&mut root);
    let rows = rows(&mut root, &Author::Release(controls), &groups);
    check_descriptions(&root, &rows);
    let rows = checked(&root, readiness, rows);
    root.finish(problems);
    Some(Framework { id, digest: 0, name, version, readiness, groups, rows })
}

fn groups(root: &mut ItemTable<'_>) -> Vec<String> {
    root.find_texts("groups", &GROUP_CHARS).into_iter().map(|it| it.text).collect()
}

fn rows(root: &mut ItemTable<'_>, author: &Author<'_>, groups: &[String]) -> Vec<WrittenRow> {
    let mut rows = Vec::new();
    for mut item in root.tables("row") {
        rows.push(row(&mut item, author, groups));
        root.absorb(item);
    }
    if rows.is_empty() {
        root.problem(root.line(), "no rows");
    }
    rows
}

/// Reports what is wrong with the rows together.
fn checked(
    root: &ItemTable<'_>,
    readiness: ReadinessRule,
    rows: Vec<WrittenRow>,
) -> Vec<FrameworkRow> {
    check_order(root, &rows);
    check_references(root, &rows);
    check_former(root, &rows);
    check_sprs(root, readiness, &rows);
    let parents = parents(root, &rows);
    check_cycles(root, &rows, &parents);
    join(rows, &parents)
}

/// The name of its file, below the catalog's folder.
pub(super) fn name_of(id: FrameworkId) -> String {
    format!("frameworks/{}.toml", id.as_str())
}

/// Where the references come from and who reviewed the mapping. Only for readers of the file.
fn provenance(root: &mut ItemTable<'_>) {
    root.text("source", SOURCE_CHARS);
    root.find_text("note", NOTE_CHARS);
    date(root, "date");
    let Some(mut review) = root.table("review") else { return };
    date(&mut review, "at");
    review.text("method", METHOD_CHARS);
    // What a second reader judged, if one did.
    if let Some(sample) = review.find_number("sample", SAMPLE) {
        let judged = ["right", "arguable", "wrong"].map(|it| review.number(it, 0..=u16::MAX));
        if judged.into_iter().map(u32::from).sum::<u32>() != u32::from(sample) {
            let rule = "review: right, arguable and wrong must sum to sample";
            review.problem(review.line_of("sample"), rule);
        }
    }
    root.absorb(review);
}

fn date(item: &mut ItemTable<'_>, key: &'static str) {
    let date = item.text(key, 0..=10);
    if date.text.len() != 10 || date.text.parse::<Date>().is_err() {
        item.problem(date.line, format!("{key}: {:?} is not a date such as 2026-01-31", date.text));
    }
}

fn row(item: &mut ItemTable<'_>, author: &Author<'_>, groups: &[String]) -> WrittenRow {
    let reference = item.text("reference", REFERENCE_CHARS);
    item.set_label("row", &reference.text);
    let title = item.text("title", TITLE_CHARS);
    let (level, description) = match author {
        Author::Release(_) => {
            (item.word("level", &LEVELS), item.text("description", DESCRIPTION_CHARS))
        }
        Author::Provider(_) => {
            let description = item.find_text("description", OWN_DESCRIPTION_CHARS);
            let of_title = || Text { text: title.text.clone(), line: title.line };
            let level = item.find_word("level", &LEVELS).unwrap_or(Level::Requirement);
            (level, description.unwrap_or_else(of_title))
        }
    };
    let questions = ROW_QUESTIONS.map(|it| (it, it));
    let row = FrameworkRow {
        reference: reference.text,
        level,
        parent: None,
        title: title.text,
        description: description.text,
        groups: groups_of(item, groups),
        formerly: Vec::new(),
        gate: item.flag("gate"),
        applies: item.find_word("applies", &questions).map(str::to_owned),
        sprs: sprs(item),
        controls: mappings(item, author),
    };
    let parent = item.find_text("parent", REFERENCE_CHARS);
    let formerly = item.find_texts("formerly", &REFERENCE_CHARS);
    WrittenRow { row, line: reference.line, description_line: description.line, parent, formerly }
}

fn groups_of(item: &mut ItemTable<'_>, groups: &[String]) -> Vec<usize> {
    let mut indices = Vec::new();
    for it in item.find_texts("groups", &GROUP_CHARS) {
        match groups.iter().position(|group| *group == it.text) {
            Some(index) => indices.push(index),
            None => item
                .problem(it.line, format!("groups: {:?} is not a group of the framework", it.text)),
        }
    }
    indices.sort_unstable();
    indices
}

fn sprs(item: &mut ItemTable<'_>) -> Option<Sprs> {
    let mut table = item.find_table("sprs")?;
    let weight = table.number("weight", SPRS_WEIGHT);
    let partial = table.find_number("partial", SPRS_WEIGHT);
    if partial.is_some_and(|it| weight <= it) {
        table.problem(table.line(), "sprs: partial must be less than weight");
    }
    table.flag("poam"); // Whether it may wait for a plan of action. Only for readers of the file.
    item.absorb(table);
    let small = |it| u8::try_from(it).expect("at most the end of SPRS_WEIGHT");
    Some(Sprs { weight: small(weight), partial: partial.map(small) })
}

fn mappings(item: &mut ItemTable<'_>, author: &Author<'_>) -> Vec<Mapping> {
    let mut codes = BTreeSet::new();
    let mut mappings: Vec<Mapping> = Vec::new();
    let tables = match author {
        Author::Release(_) => item.tables("controls"),
        Author::Provider(_) => item.find_tables("controls"),
    };
    if tables.is_empty() && matches!(author, Author::Release(_)) {
        item.problem(item.line_of("controls"), "no controls");
    }
    for mut table in tables {
        let code = table.text("code", CODE_CHARS);
        let controls = author.controls_named(&code.text);
        if controls.is_empty() {
            table.problem(code.line, format!("unknown control {:?}", code.text));
        }
        if !codes.insert(code.text.clone()) {
            table.problem(code.line, format!("control {:?} appears more than once", code.text));
        }
        let mapping = Mapping {
            control: 0,
            role: table.word("role", &ROLES),
            why: author.why(&mut table, &controls),
            earns_partial: table.flag("earns_partial"),
            within_days: table.find_number("within_days", MAX_AGE_DAYS),
            alone: table.flag("alone"),
        };
        for control in controls {
            // The code of an earlier release may mean a control that the row names too: the stricter mapping counts.
            match mappings.iter_mut().find(|it| it.control == control) {
                Some(same) => {
                    if mapping.role == ControlRole::Decides {
                        same.role = ControlRole::Decides;
                    }
                    let days = same.within_days.into_iter().chain(mapping.within_days);
                    same.within_days = days.min();
                }
                None => mappings.push(Mapping { control, ..mapping.clone() }),
            }
        }
        item.absorb(table);
    }
    mappings
}

/// Rows of level requirement come first.
fn check_order(root: &ItemTable<'_>, rows: &[WrittenRow]) {
    let first_detail = rows.iter().position(|it| it.row.level == Level::Detail);
    let late = rows.iter().skip(first_detail.unwrap_or(rows.len()));
    for it in late.filter(|it| it.row.level == Level::Requirement) {
        let message = format!("row {:?}: requirements must come before details", it.row.reference);
        root.problem(it.line, message);
    }
}

fn check_references(root: &ItemTable<'_>, rows: &[WrittenRow]) {
    let mut references = BTreeSet::new();
    for WrittenRow { row: FrameworkRow { reference, .. }, line, .. } in rows {
        if !references.insert(reference) {
            root.problem(*line, format!("row {reference:?}: another row has this reference"));
        }
    }
}

fn check_descriptions(root: &ItemTable<'_>, rows: &[WrittenRow]) {
    let mut descriptions = BTreeMap::new();
    for WrittenRow { row, description_line, .. } in rows {
        let reference = &row.reference;
        if let Some(twin) = descriptions.insert(&row.description, reference) {
            let message =
                format!("row {reference:?}: the description duplicates that of row {twin:?}");
            root.problem(*description_line, message);
        }
    }
}

/// A row above others is compliant by their controls. A row without controls would not count there.
fn check_parts(root: &ItemTable<'_>, rows: &[WrittenRow]) {
    for WrittenRow { row, line, parent, .. } in rows {
        if row.controls.is_empty() && parent.is_some() {
            let reference = &row.reference;
            let rule = format!("row {reference:?}: a row with a parent must have a control");
            root.problem(*line, rule);
        }
    }
}

/// What a row replaces is no row any more.
fn check_former(root: &ItemTable<'_>, rows: &[WrittenRow]) {
    let references: BTreeSet<_> = rows.iter().map(|it| it.row.reference.as_str()).collect();
    for WrittenRow { row, formerly, .. } in rows {
        for it in formerly.iter().filter(|it| references.contains(it.text.as_str())) {
            let (reference, former) = (&row.reference, &it.text);
            let message = format!("row {reference:?}: formerly: {former:?} is still a row");
            root.problem(it.line, message);
        }
    }
}

fn check_sprs(root: &ItemTable<'_>, readiness: ReadinessRule, rows: &[WrittenRow]) {
    let weighed = rows.iter().filter_map(|it| it.row.sprs.map(|sprs| (it, sprs)));
    if readiness == ReadinessRule::Sprs {
        let sum: u32 = weighed.map(|(_, sprs)| u32::from(sprs.weight)).sum();
        if sum != SPRS_WEIGHTS_SUM {
            let message = format!("the sprs weights sum to {sum}, must be {SPRS_WEIGHTS_SUM}");
            root.problem(root.line_of("readiness"), message);
        }
        return;
    }
    for (it, _) in weighed {
        let message = format!("row {:?}: sprs requires readiness = \"sprs\"", it.row.reference);
        root.problem(it.line, message);
    }
}

/// Index of the row that each row names as its parent.
fn parents(root: &ItemTable<'_>, rows: &[WrittenRow]) -> Vec<Option<usize>> {
    let index: BTreeMap<&str, usize> =
        rows.iter().enumerate().map(|(at, it)| (it.row.reference.as_str(), at)).collect();
    let parent_of = |it: &WrittenRow| {
        let parent = it.parent.as_ref()?;
        let found = index.get(parent.text.as_str()).copied();
        let wrong = match found.map(|at| rows[at].row.level) {
            None => "unknown",
            Some(Level::Detail) if it.row.level == Level::Requirement => "of level detail",
            Some(Level::Detail | Level::Requirement) => return found,
        };
        let message = format!("row {:?}: parent {:?} is {wrong}", it.row.reference, parent.text);
        root.problem(parent.line, message);
        None
    };
    rows.iter().map(parent_of).collect()
}

/// Reports each row that is its own ancestor.
fn check_cycles(root: &ItemTable<'_>, rows: &[WrittenRow], parents: &[Option<usize>]) {
    for (start, it) in rows.iter().enumerate() {
        let ancestors = std::iter::successors(parents[start], |at| parents[*at]);
        // After more steps than rows, the walk is in a circle that does not contain the start.
        if ancestors.take(rows.len()).any(|at| at == start) {
            root.problem(it.line, format!("row {:?}: is its own ancestor", it.row.reference));
        }
    }
}

fn join(written: Vec<WrittenRow>, parents: &[Option<usize>]) -> Vec<FrameworkRow> {
    let levels: Vec<Level> = written.iter().map(|it| it.row.level).collect();
    let rows = written.into_iter().zip(parents).map(|(it, parent)| {
        // A detail under a requirement is only listed there: its controls stay its own.
        let parent = parent.filter(|at| levels[*at] == it.row.level);
        let formerly = it.formerly.into_iter().map(|it| it.text).collect();
        FrameworkRow { parent, formerly, ..it.row }
    });
    rows.collect()
}
