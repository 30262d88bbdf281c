//! A table as the one sheet of an XLSX file. Text is written as text, which a spreadsheet never computes.

use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, FormatAlign, Workbook, Worksheet, XlsxError,
};

use super::{Cell, Column, WRAPPED_FROM};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::text;

/// A cell has at most 32,767 units of UTF-16, of which a character takes up to two. Longer text is cut, and says so.
const CELL_CHARS_MAX: usize = 16_000;
const TIME_FORMAT: &str = "yyyy-mm-dd hh:mm:ss";

/// The sheet so far.
pub struct Sheet {
    book: Workbook,
    rows: Worksheet,
    formats: Formats,
    n_columns: u16,
    n_rows: u32,
}

struct Formats {
    /// Of each column.
    columns: Vec<Format>,
    time: Format,
}

impl Sheet {
    pub(super) fn begin(columns: &[Column], now: Time) -> Result<Self> {
        begin(columns, now).map_err(Error::internal)
    }

    pub(super) fn put(&mut self, cells: Vec<Cell>) -> Result<()> {
        self.n_rows += 1;
        for (index, cell) in (0..self.n_columns).zip(cells) {
            self.put_cell(index, cell).map_err(Error::internal)?;
        }
        Ok(())
    }

    fn put_cell(&mut self, column: u16, cell: Cell) -> Result<(), XlsxError> {
        let (row, sheet) = (self.n_rows, &mut self.rows);
        let format = &self.formats.columns[usize::from(column)];
        match cell {
            Cell::Empty => (),
            Cell::Text(text) => {
                let text = text::block(&text, CELL_CHARS_MAX);
                sheet.write_string_with_format(row, column, text, format)?;
            }
            Cell::Number(number) => {
                sheet.write_number_with_format(row, column, number, format)?;
            }
            Cell::At(time) => {
                let time = ExcelDateTime::from_timestamp(time.s())?;
                sheet.write_datetime_with_format(row, column, time, &self.formats.time)?;
            }
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<Vec<u8>> {
        let last = (self.n_rows, self.n_columns - 1);
        self.rows.autofilter(0, 0, last.0, last.1).map_err(Error::internal)?;
        self.book.push_worksheet(self.rows);
        self.book.save_to_buffer().map_err(Error::internal)
    }
}

fn begin(columns: &[Column], now: Time) -> Result<Sheet, XlsxError> {
    let mut book = Workbook::new();
    let made = ExcelDateTime::from_timestamp(now.s())?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&made));
    let mut rows = Worksheet::new();
    let heading = Format::new().set_bold().set_text_wrap().set_align(FormatAlign::Top);
    let top = Format::new().set_align(FormatAlign::Top);
    let wrapped = top.clone().set_text_wrap();
    for (index, column) in (0..).zip(columns) {
        rows.set_column_width(index, column.width)?;
        rows.write_string_with_format(0, index, &*column.heading, &heading)?;
    }
    rows.set_freeze_panes(1, 0)?;
    let of_column =
        |it: &Column| if it.width < WRAPPED_FROM { top.clone() } else { wrapped.clone() };
    let formats = Formats {
        columns: columns.iter().map(of_column).collect(),
        time: top.clone().set_num_format(TIME_FORMAT),
    };
    let n_columns = u16::try_from(columns.len()).expect("a table has few columns");
    Ok(Sheet { book, rows, formats, n_columns, n_rows: 0 })
}
