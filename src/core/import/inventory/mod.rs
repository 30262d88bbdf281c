//! Lists of assets, and of people who left, from anywhere: CSV or JSON whose columns a source names in its own way. Beside them,
//! lists of clients.

mod asset;
pub mod client_list;
mod columns;
mod leaver;
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

/// What the rows of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Assets,
    /// People who left.
    Leavers,
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Assets => "assets",
            Self::Leavers => "people who left",
        }
    }

    /// What a list must say, what that is called, and the fields of which it needs one.
    const fn needs(self) -> &'static [(&'static str, &'static [Field])] {
        match self {
            Self::Assets => &[("the names of the assets", &[Field::Name, Field::Hostname])],
            Self::Leavers => &[
                ("the e-mail addresses or logins", &[Field::Email, Field::Login, Field::Employee]),
                ("the last days", &[Field::LastDay]),
            ],
        }
    }
}

/// Returns true for the start of a table that can only be a list of people who left: by its usual names, it has a column of last
/// days and one of names. Much else has an `End Date`.
pub(super) fn is_leavers(head: &[u8]) -> bool {
    let header = super::sheet::header_of(head);
    let names = Names::of(&header);
    let has = |field: Field| names.place(field, &Columns::default());
    let has_name =
        [Field::Email, Field::Login, Field::Employee].into_iter().any(|it| has(it).is_some());
    has_name && has(Field::LastDay).is_some_and(|it| !header[it].to_lowercase().starts_with("end"))
}

/// Returns true for the start of a table that can only be a list of assets: by its usual names, it has a column of names and
/// two that tell devices apart.
pub(super) fn is_table(head: &[u8]) -> bool {
    let header = super::sheet::header_of(head);
    let names = Names::of(&header);
    let has = |field: Field| names.place(field, &Columns::default()).is_some();
    let telling = [Field::Id, Field::Hostname, Field::Ip, Field::Mac, Field::Serial];
    has(Field::Name) && 2 <= telling.into_iter().filter(|it| has(*it)).count()
}

/// Reads a list. `columns`: which of its columns are what; others are known by their usual names.
///
/// # Errors
/// `Invalid` if the file is truncated or invalid, has no column for what its rows need, or lacks one of `columns`. `Unavailable`
/// when reading it fails. Whatever `records` returns.
pub fn read(
    input: &mut dyn BufRead,
    kind: Kind,
    columns: &Columns,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let start = input.fill_buf().map_err(super::unreadable)?;
    if matches!(start.first(), Some(b'[' | b'{')) {
        rows::read_json(input, kind, columns, records)
    } else {
        rows::read_table(input, kind, columns, records)
    }
}

/// The error of a file without a column that the mapping names. `known`: the columns that it has.
fn without_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let name = super::text::line(name, NAMED_CHARS_MAX);
    Error::invalid(format!("the list has no column {name}; {}", has(known)))
}

/// The error of a file without a column for something that its rows need.
fn without_field<'a>(
    (what, fields): (&str, &[Field]),
    known: impl Iterator<Item = &'a str>,
) -> Error {
    let field = fields.first().map_or("", |it| it.as_str());
    Error::invalid(format!(
        "it is not known which column of the list has {what}; pass it, as in --column {field}=COLUMN; {}",
        has(known)
    ))
}

fn has<'a>(known: impl Iterator<Item = &'a str>) -> String {
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
    format!("it has {}{more}", named.join(", "))
}
