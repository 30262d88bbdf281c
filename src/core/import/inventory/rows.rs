//! The rows of a list: of a table, or of JSON.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::columns::{Columns, Field, Names};
use super::{Kind, OrSkipped, asset, leaver, without_column, without_field};
use crate::error::Result;
use crate::import::Record;
use crate::import::document::{Part, walk};
use crate::import::ration::refuse_beyond;
use crate::import::sheet::Table;

/// Records with more members are refused.
const N_MEMBERS_MAX: usize = 500;
/// Members of an object that hold the list, in answers of known tools.
const LISTS: [&str; 7] = ["value", "data", "items", "assets", "devices", "rows", "results"];

/// A table, whose header says what separates its columns.
pub(super) fn read_table(
    input: &mut dyn BufRead,
    kind: Kind,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let table = Table::open(input)?.open_ended();
    let header = table.header();
    let names = Names::of(&header);
    let columns_of_file = || header.iter().map(String::as_str);
    if let Some(missing) = columns.named(kind).find(|it| !names.has(it)) {
        return Err(without_column(missing, columns_of_file()));
    }
    let places = Field::ALL.map(|it| names.place(it, columns));
    let is_met = |fields: &[Field]| fields.iter().any(|it| places[*it as usize].is_some());
    if let Some(unmet) = kind.needs().iter().find(|it| !is_met(it.1)) {
        return Err(without_field(*unmet, columns_of_file()));
    }
    let mut known = Known::of(kind);
    table.each(records, &mut |at, row, records| {
        let cell = |field: Field| places[field as usize].map_or(Ok(""), |it| row.at(it));
        known.tell(at, cell, records)
    })
}

/// An array of objects, objects one after the other, or an object with a member that is the list.
pub(super) fn read_json(
    input: &mut dyn BufRead,
    kind: Kind,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut row = Row::default();
    let mut met = BTreeSet::new();
    let (mut known, mut at, mut has_list) = (Known::of(kind), 0, false);
    let mut unmet = kind.needs().to_vec();
    walk(input, "a list", &mut |path, part| {
        let (is_listed, inner) = match path {
            [list, inner @ ..] if LISTS.contains(list) => (true, inner),
            path => (false, path),
        };
        match (inner, part) {
            ([], Part::Open) => {
                has_list |= is_listed;
                row = Row::default();
            }
            // The object around a list.
            ([], Part::Close) if has_list && !is_listed => has_list = false,
            ([], Part::Close) => {
                at += 1;
                let names = Names::of(&row.names);
                let wanted = columns.named(kind).filter(|it| names.has(it));
                met.extend(wanted.map(str::to_owned));
                let cell = |field: Field| {
                    names.place(field, columns).map_or("", |it| row.values[it].as_str())
                };
                unmet.retain(|it| it.1.iter().all(|it| cell(*it).is_empty()));
                known.tell(at, |field| Ok(cell(field)), records)?;
                known.note(&row.names);
            }
            (inner, Part::Text(text)) => {
                let name = if inner.is_empty() { path } else { inner };
                row.names.push(name.join("."));
                row.values.push(text.to_owned());
                let is_within = row.names.len() <= N_MEMBERS_MAX;
                refuse_beyond(is_within, N_MEMBERS_MAX as u64, "members of one object")?;
            }
            (_, Part::Open | Part::Close) => (),
        }
        Ok(())
    })?;
    let columns_of_file = || known.columns.iter().map(String::as_str);
    if at != 0
        && let Some(missing) = columns.named(kind).find(|it| !met.contains(*it))
    {
        return Err(without_column(missing, columns_of_file()));
    }
    if let Some(unmet) = unmet.first().filter(|_| at != 0) {
        return Err(without_field(*unmet, columns_of_file()));
    }
    Ok(())
}

/// One record of JSON: the names of its members, of nested ones with a point between, and what they are.
#[derive(Default)]
struct Row {
    names: Vec<String>,
    values: Vec<String>,
}

/// What was handed out.
struct Known {
    kind: Kind,
    /// External ids of assets.
    ids: BTreeSet<String>,
    /// Columns of the first records.
    columns: BTreeSet<String>,
}

impl Known {
    const fn of(kind: Kind) -> Self {
        Self { kind, ids: BTreeSet::new(), columns: BTreeSet::new() }
    }

    fn tell<'a>(
        &mut self,
        at: u64,
        cell: impl Fn(Field) -> OrSkipped<&'a str>,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let read = match self.kind {
            Kind::Assets => asset::of_row(cell).map(|(it, note)| (Record::Asset(it), note)),
            Kind::Leavers => leaver::of_row(cell).map(|(it, note)| (Record::Leaver(it), note)),
        };
        match read {
            Err(reason) => records(Record::Skipped { at, reason }),
            Ok((Record::Asset(seen), _)) if !self.ids.insert(seen.external_id.clone()) => {
                records(Record::Skipped { at, reason: "the same asset again".to_owned() })
            }
            Ok((record, note)) => {
                records(record)?;
                note.map_or(Ok(()), |reason| records(Record::Skipped { at, reason }))
            }
        }
    }

    fn note(&mut self, names: &[String]) {
        for name in names {
            if self.columns.len() < N_MEMBERS_MAX {
                self.columns.insert(name.clone());
            }
        }
    }
}
