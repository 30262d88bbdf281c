//! The rows of a list: of a table, or of JSON.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::asset::of_row;
use super::columns::{Columns, Field, Names};
use super::{OrSkipped, without_column};
use crate::error::Result;
use crate::import::Record;
use crate::import::document::{Part, walk};
use crate::import::ration::refuse_beyond;
use crate::import::sheet::Table;

const WHAT: &str = "an inventory";
/// Records with more members are refused.
const N_MEMBERS_MAX: usize = 500;
/// Members of an object that hold the list, in answers of known tools.
const LISTS: [&str; 7] = ["value", "data", "items", "assets", "devices", "rows", "results"];

/// A table, whose header says what separates its columns.
pub(super) fn read_table(
    input: &mut dyn BufRead,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let table = Table::open(input)?.open_ended();
    let header = table.header();
    let names = Names::of(&header);
    if let Some(missing) = columns.named().find(|it| !names.has(it)) {
        return Err(without_column(Some(missing), header.iter().map(String::as_str)));
    }
    let places = Field::ALL.map(|it| names.place(it, columns));
    if places[Field::Name as usize].is_none() && places[Field::Hostname as usize].is_none() {
        return Err(without_column(None, header.iter().map(String::as_str)));
    }
    let mut known = Known::default();
    table.each(records, &mut |at, row, records| {
        let cell = |field: Field| places[field as usize].map_or(Ok(""), |it| row.at(it));
        known.tell(at, cell, records)
    })
}

/// An array of objects, objects one after the other, or an object with a member that is the list.
pub(super) fn read_json(
    input: &mut dyn BufRead,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut row = Row::default();
    let mut met = BTreeSet::new();
    let (mut known, mut at, mut has_list, mut has_names) = (Known::default(), 0, false, false);
    walk(input, WHAT, &mut |path, part| {
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
                let wanted = columns.named().filter(|it| names.has(it));
                met.extend(wanted.map(str::to_owned));
                let cell = |field: Field| {
                    names.place(field, columns).map_or("", |it| row.values[it].as_str())
                };
                has_names |= [Field::Name, Field::Hostname].iter().any(|it| !cell(*it).is_empty());
                known.tell(at, |field| Ok(cell(field)), records)?;
                known.note(&row.names);
            }
            (inner, Part::Text(text)) => {
                let name = if inner.is_empty() { path } else { inner };
                row.names.push(name.join("."));
                row.values.push(text.to_owned());
                let is_within = row.names.len() <= N_MEMBERS_MAX;
                refuse_beyond(is_within, N_MEMBERS_MAX as u64, "members of one asset")?;
            }
            (_, Part::Open | Part::Close) => (),
        }
        Ok(())
    })?;
    let columns_of_file = || known.columns.iter().map(String::as_str);
    if at != 0
        && let Some(missing) = columns.named().find(|it| !met.contains(*it))
    {
        return Err(without_column(Some(missing), columns_of_file()));
    }
    if at != 0 && !has_names {
        return Err(without_column(None, columns_of_file()));
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
#[derive(Default)]
struct Known {
    /// External ids.
    ids: BTreeSet<String>,
    /// Columns of the first records.
    columns: BTreeSet<String>,
}

impl Known {
    fn tell<'a>(
        &mut self,
        at: u64,
        cell: impl Fn(Field) -> OrSkipped<&'a str>,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        match of_row(cell) {
            Err(reason) => records(Record::Skipped { at, reason }),
            Ok((seen, _)) if !self.ids.insert(seen.external_id.clone()) => {
                records(Record::Skipped { at, reason: "the same asset again".to_owned() })
            }
            Ok((seen, left_out)) => {
                records(Record::Asset(seen))?;
                left_out.map_or(Ok(()), |reason| records(Record::Skipped { at, reason }))
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
