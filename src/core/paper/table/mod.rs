//! Tables for people and spreadsheets, written row by row: CSV or XLSX.

mod sheet;
mod text;

use std::borrow::Cow;

use crate::clock::Time;
use crate::error::Result;
use sheet::Sheet;
use text::TextTable;

/// One column.
pub struct Column {
    pub heading: Cow<'static, str>,
    /// In characters. A column wider than [`WRAPPED_FROM`] has long texts, which a sheet wraps.
    pub width: u16,
}

/// Texts of columns that are at least this wide are wrapped.
const WRAPPED_FROM: u16 = 40;

impl Column {
    pub fn of(heading: impl Into<Cow<'static, str>>, width: u16) -> Self {
        Self { heading: heading.into(), width }
    }
}

/// One cell. Text is never a formula, whatever it begins with.
#[derive(Clone, Debug)]
pub enum Cell {
    Empty,
    Text(String),
    Number(f64),
    At(Time),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn number<N: Into<f64>>(number: N) -> Self {
        Self::Number(number.into())
    }

    pub fn yes_or_no(is_so: bool) -> Self {
        Self::text(if is_so { "yes" } else { "no" })
    }

    /// Empty without a value.
    pub fn given<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Empty, cell)
    }
}

/// A table on its way to a file.
pub enum Table {
    Text(Box<TextTable>),
    Sheet(Box<Sheet>),
}

impl Table {
    pub fn csv(columns: &[Column]) -> Result<Self> {
        Ok(Self::Text(Box::new(TextTable::begin(columns)?)))
    }

    /// `now`: the time that the file says it was made at.
    pub fn xlsx(columns: &[Column], now: Time) -> Result<Self> {
        Ok(Self::Sheet(Box::new(Sheet::begin(columns, now)?)))
    }

    pub fn put(&mut self, cells: Vec<Cell>) -> Result<()> {
        match self {
            Self::Text(table) => table.put(&cells),
            Self::Sheet(sheet) => sheet.put(cells),
        }
    }

    pub fn end(self) -> Result<Vec<u8>> {
        match self {
            Self::Text(table) => table.end(),
            Self::Sheet(sheet) => sheet.end(),
        }
    }
}
