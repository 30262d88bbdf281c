//! Decisions of people that are contradicted by what was seen: who decided what, when and why, and what was seen.

use std::cmp::Reverse;

use super::language::{counted, date, heading, number, of, say, severity};
use super::wording;
use crate::app::report::question;
use crate::clock::zone::Zone;
use crate::engine::catalog::Catalog;
use crate::engine::contradiction::{Contradiction, DecidedThing, DecisionKind};
use crate::engine::severity::Severity;
use crate::paper::{Block, Column, Language, Table};

/// The decisions that are named.
const N_NAMED: usize = 50;
/// The controls and the sources of one that are named.
const N_SEEN_NAMED: usize = 5;

/// A contradiction, and what the decision is about in words.
pub(super) struct Named {
    name: String,
    /// Of the worst control that was seen to fail. `None`: none was, only something of a platform.
    severity: Option<Severity>,
    found: Contradiction,
}

/// The most severe come first.
pub(super) fn named(language: Language, catalog: &Catalog, all: Vec<Contradiction>) -> Vec<Named> {
    let severity_of = |code: &String| Some(catalog.controls[catalog.find_control(code)?].severity);
    let of = |found: Contradiction| Named {
        name: name(language, catalog, &found.about),
        severity: found.seen.controls.iter().filter_map(severity_of).max(),
        found,
    };
    let mut all: Vec<Named> = all.into_iter().map(of).collect();
    all.sort_by_key(|it| Reverse(it.severity));
    all
}

fn name(language: Language, catalog: &Catalog, about: &DecidedThing) -> String {
    match about {
        DecidedThing::Control(code) => {
            let control = catalog.find_control(code).map(|it| &catalog.controls[it]);
            let title = control.map_or("", |it| wording::control(language, it).0);
            format!("{code} {title}").trim_end().to_owned()
        }
        DecidedThing::Row { framework, reference } => {
            let found = catalog.find_framework(*framework);
            let name = found.map_or(framework.as_str(), |it| &it.name);
            let row = found.and_then(|it| Some(&it.rows[it.find_row(reference)?]));
            let title = row.map_or("", |it| it.title.as_str());
            format!("{name} {reference} {title}").trim_end().to_owned()
        }
        DecidedThing::Platform(question) => question::in_words(question, language).to_owned(),
    }
}

/// Says that decisions are contradicted by what was seen, and how. Empty: none is.
pub(super) fn blocks(language: Language, zone: &Zone, all: &[Named]) -> Vec<Block> {
    if all.is_empty() {
        return Vec::new();
    }
    let n = counted(
        language,
        all.len() as u64,
        ["decision is", "decisions are"],
        ["décision est contredite", "décisions sont contredites"],
    );
    let intro = say!(
        language,
        "{n} contradicted by what was seen. What is out of scope or said to be met counts so in every score, although it \
         was seen failing. A platform that was seen counts as used.",
        "{n} par ce qui a été constaté. Ce qui est exclu ou déclaré respecté compte ainsi dans chaque pointage, même si un \
         échec a été constaté. Une plateforme qui a été vue compte comme utilisée."
    );
    let row = |it: &Named| {
        let severe = it.severity.map_or("", |it| severity(language, it)).to_owned();
        let (what, seen) = (decision(language, zone, &it.found), seen(language, zone, &it.found));
        vec![it.name.clone(), severe, what, seen]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Decision about", "Décision sur"), 29),
            Column::left(of(language, "Severity", "Gravité"), 11),
            Column::left(
                of(language, "What, by whom and why", "Laquelle, par qui et pourquoi"),
                33,
            ),
            Column::left(of(language, "What was seen", "Ce qui a été constaté"), 27),
        ],
        rows: all.iter().take(N_NAMED).map(row).collect(),
    };
    let mut blocks = vec![
        heading(
            language,
            "Decisions that are contradicted",
            "Décisions contredites par les constats",
        ),
        Block::Text(intro),
        Block::Table(table),
    ];
    if let n @ 1.. = all.len().saturating_sub(N_NAMED) {
        let n = number(language, n as u64);
        blocks.push(Block::Note(say!(language, "And {n} more.", "Et {n} de plus.")));
    }
    blocks
}

fn decision(language: Language, zone: &Zone, it: &Contradiction) -> String {
    let (by, at) = (&it.by, date(language, zone, it.at));
    let what = match it.kind {
        DecisionKind::Override => of(language, "Said to be met", "Déclaré respecté"),
        DecisionKind::OutOfScope => of(language, "Out of scope", "Hors de portée"),
        DecisionKind::Unused => of(language, "Said to be unused", "Déclaré inutilisé"),
    };
    let until = it.until.map(|it| date(language, zone, it));
    let until =
        until.map_or_else(String::new, |it| say!(language, ", until {it}", ", jusqu’au {it}"));
    let why = it.reason.as_ref();
    let why = why.map_or_else(String::new, |it| say!(language, ": {it}", "\u{a0}: {it}"));
    say!(language, "{what}, by {by} on {at}{until}{why}", "{what}, par {by} le {at}{until}{why}")
}

fn seen(language: Language, zone: &Zone, it: &Contradiction) -> String {
    let it = &it.seen;
    let n = number(language, it.n_failing);
    let what = match (it.n_failing, it.controls.as_slice()) {
        (0, _) => of(language, "Something of it", "Quelque chose en a été vu").to_owned(),
        (_, controls) => {
            let of = listed(language, controls, controls.len());
            say!(language, "{n} failing of {of}", "{n} en échec sous {of}")
        }
    };
    let sources = listed(language, &it.sources, it.n_sources as usize);
    let at = date(language, zone, it.at);
    say!(
        language,
        "{what}, by {sources}, last on {at}",
        "{what}, par {sources}, la dernière fois le {at}"
    )
}

/// The first of them, and how many more there are of `n`.
fn listed(language: Language, all: &[String], n: usize) -> String {
    let shown = &all[..all.len().min(N_SEEN_NAMED)];
    let text = shown.join(", ");
    match n.saturating_sub(shown.len()) {
        0 => text,
        more => say!(language, "{text} and {more} more", "{text} et {more} de plus"),
    }
}
