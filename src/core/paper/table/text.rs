//! A table as CSV, in UTF-8 with a byte order mark, with times as RFC 3339.

use std::borrow::Cow;

use super::{Cell, Column};
use crate::encoding::MARK;
use crate::error::{Error, Result};

/// The table so far.
pub struct TextTable(csv::Writer<Vec<u8>>);

impl TextTable {
    pub(super) fn begin(columns: &[Column]) -> Result<Self> {
        // Quotes keep a text in its cell also where a spreadsheet takes semicolons for separators.
        let quoted = csv::QuoteStyle::NonNumeric;
        // Excel takes CSV without the mark for the code page of the machine.
        let start = MARK.as_bytes().to_vec();
        let mut rows = csv::WriterBuilder::new().quote_style(quoted).from_writer(start);
        let headings = columns.iter().map(|it| inert(&it.heading).into_owned());
        rows.write_record(headings).map_err(Error::internal)?;
        Ok(Self(rows))
    }

    pub(super) fn put(&mut self, cells: &[Cell]) -> Result<()> {
        self.0.write_record(cells.iter().map(|it| shown(it).into_owned())).map_err(Error::internal)
    }

    pub(super) fn end(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(|it| Error::internal(it.into_error()))
    }
}

fn shown(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::Empty => Cow::Borrowed(""),
        Cell::Text(text) => inert(text),
        Cell::Number(number) => Cow::Owned(number.to_string()),
        Cell::At(time) => Cow::Owned(time.to_string()),
    }
}

/// Text that a spreadsheet shows instead of computing it: it takes a cell for a formula because of its first character,
/// and an apostrophe says that it is none.
fn inert(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}
