//! Lists of assets from anywhere: CSV or JSON whose columns a source names in its own way.

mod asset;
mod columns;
mod rows;

use std::io::BufRead;

pub use columns::{Columns, Field};

use super::Record;
use super::text::OrSkipped;
use crate::error::{Error, Result};
use columns::Names;

/// The scope of all assets of an inventory.
pub const SCOPE: &str = "inventory";
/// The scope of all lists of people who left.
pub const LEAVERS_SCOPE: &str = "leavers";
/// Of the columns of a file, an error names so many.
const N_NAMED_MAX: usize = 40;
/// Of the name of a column, an error has so many characters.
const NAMED_CHARS_MAX: usize = 60;

/// Returns true for the start of a table that can only be a list of assets: by its usual names, it has a column of names and
/// two that tell devices apart.
pub(super) fn is_table(head: &[u8]) -> bool {
    let header = super::sheet::header_of(head);
    let names = Names::of(&header);
    let has = |field: Field| names.place(field, &Columns::default()).is_some();
    let telling = [Field::Id, Field::Hostname, Field::Ip, Field::Mac, Field::Serial];
    has(Field::Name) && 2 <= telling.into_iter().filter(|it| has(*it)).count()
}

/// Reads a list of assets. `columns`: which of its columns are what; others are known by their usual names.
///
/// # Errors
/// `Invalid` if the file is truncated or invalid, has no column for the names of assets, or lacks one of `columns`. `Unavailable`
/// when reading it fails. Whatever `records` returns.
pub fn read(
    input: &mut dyn BufRead,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let start = input.fill_buf().map_err(super::unreadable)?;
    if matches!(start.first(), Some(b'[' | b'{')) {
        rows::read_json(input, columns, records)
    } else {
        rows::read_table(input, columns, records)
    }
}

/// The error of a file without a column that the mapping names, or without one for names. `known`: the columns that it has.
fn without_column<'a>(missing: Option<&str>, known: impl Iterator<Item = &'a str>) -> Error {
    let mut named: Vec<String> = Vec::new();
    let mut n_more = 0_usize;
    for name in known.filter(|it| !it.trim().is_empty()) {
        if named.len() < N_NAMED_MAX {
            named.push(super::text::line(name, NAMED_CHARS_MAX));
        } else {
            n_more += 1;
        }
    }
    let more = if n_more == 0 { String::new() } else { format!(", and {n_more} more") };
    let has = format!("it has {}{more}", named.join(", "));
    Error::invalid(match missing {
        Some(name) => {
            format!("the list has no column {}; {has}", super::text::line(name, NAMED_CHARS_MAX))
        }
        None => format!(
            "it is not known which column of the list has the names of the assets; pass it, as in --column name=COLUMN; {has}"
        ),
    })
}
