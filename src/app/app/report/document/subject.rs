//! What people decided about single subjects of controls, as reports list it.

use super::language::{counted, date, of, say};
use super::standing::Standing;
use crate::engine::subject::SubjectRuling;
use crate::paper::{Block, Column, Language, Table};
use crate::store::per_client::statement::subject::{StatedSubjects, SubjectStatement};

/// How many decisions are listed: those that end first.
const N_DECISIONS_NAMED: usize = 20;
/// How many subjects of a decision are named.
const N_SUBJECTS_NAMED: usize = 3;

/// Subjects that are meant to be so, and those whose risk is accepted, by whom and why.
pub(super) fn decisions(language: Language, it: &Standing) -> Vec<Block> {
    if it.subjects.is_empty() {
        return Vec::new();
    }
    let n = counted(
        language,
        it.subjects.len() as u64,
        ["decision counts", "decisions count"],
        ["décision compte", "décisions comptent"],
    );
    let intro = say!(
        language,
        "{n} about single subjects of controls. Those that are meant to be so are not counted; those that are accepted \
         still fail.",
        "{n} au sujet d’éléments précis des contrôles. Ceux qui sont voulus ne sont pas comptés; ceux qui sont acceptés \
         échouent toujours."
    );
    let row = |said: &SubjectStatement| {
        let (by, reason) = (&said.by, &said.reason);
        vec![
            said.control.clone(),
            ruling(language, said.ruling).to_owned(),
            about(language, &said.subjects),
            date(language, &it.zone, said.until),
            say!(language, "{by}: {reason}", "{by}\u{a0}: {reason}"),
        ]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Control", "Contrôle"), 11),
            Column::left(of(language, "Decision", "Décision"), 14),
            Column::left(of(language, "Subjects", "Éléments"), 28),
            Column::left(of(language, "Until", "Jusqu’au"), 17),
            Column::left(of(language, "By whom and why", "Par qui et pourquoi"), 30),
        ],
        rows: it.subjects.iter().take(N_DECISIONS_NAMED).map(row).collect(),
    };
    let mut blocks = vec![Block::Text(intro), Block::Table(table)];
    let n_more = it.subjects.len().saturating_sub(N_DECISIONS_NAMED);
    if n_more != 0 {
        let french = ["autre décision compte", "autres décisions comptent"];
        let english = ["more decision counts", "more decisions count"];
        let n = counted(language, n_more as u64, english, french);
        blocks.push(Block::Text(format!("{n}.")));
    }
    blocks
}

fn ruling(language: Language, it: SubjectRuling) -> &'static str {
    match it {
        SubjectRuling::Intended => of(language, "Meant to be so", "Voulu"),
        SubjectRuling::Accepted => of(language, "Accepted", "Accepté"),
    }
}

/// The pattern, or the first subjects and how many more.
fn about(language: Language, it: &StatedSubjects) -> String {
    let names = match it {
        StatedSubjects::Matching(pattern) => return pattern.clone(),
        StatedSubjects::Named(names) => names,
    };
    let first: Vec<&str> = names.iter().take(N_SUBJECTS_NAMED).map(String::as_str).collect();
    let line = first.join(", ");
    match names.len() - first.len() {
        0 => line,
        n => say!(language, "{line} and {n} more", "{line} et {n} de plus"),
    }
}
