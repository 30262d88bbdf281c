//! Tables of text with a header: CSV, read by the names of the columns.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use csv::ByteRecord;

use super::text::OrSkipped;
use super::{RECORD_BYTES_MAX, Record, unreadable};
use crate::error::{Error, Result};

/// Begins a line that names the separator, for Excel.
const SEPARATOR: &[u8] = b"sep=";

/// A table that is read row by row.
pub(super) struct Sheet<'a> {
    rows: csv::Reader<RowWatch<'a>>,
    header: ByteRecord,
    row: ByteRecord,
    /// Rows read, without the header.
    at: u64,
    /// Columns of the row that was read last.
    n_columns: usize,
    /// The last row needs no line break if it has all columns.
    is_open_ended: bool,
}

impl<'a> Sheet<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Invalid` if it is too long. `Unavailable` when reading fails.
    pub(super) fn open(input: &'a mut dyn BufRead, delimiter: u8) -> Result<Self> {
        Self::continued(Vec::new(), input, delimiter)
    }

    /// The same of a table of which `start` has been read already.
    fn continued(start: Vec<u8>, input: &'a mut dyn BufRead, delimiter: u8) -> Result<Self> {
        let mut rows = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(RowWatch::new(start, input));
        let mut header = ByteRecord::new();
        rows.read_byte_record(&mut header).map_err(broken)?;
        let n_columns = header.len();
        let (row, at, is_open_ended) = (ByteRecord::new(), 0, false);
        Ok(Self { rows, header, row, at, n_columns, is_open_ended })
    }

    pub(super) fn header(&self) -> &ByteRecord {
        &self.header
    }

    /// The next row with its number, from 1. `None`: the table ends.
    ///
    /// # Errors
    /// `Invalid` if the table is cut off, or a row is too long. `Unavailable` when reading fails.
    pub(super) fn next_row(&mut self) -> Result<Option<(u64, &ByteRecord)>> {
        if self.rows.read_byte_record(&mut self.row).map_err(broken)? {
            self.at += 1;
            self.n_columns = self.row.len();
            return Ok(Some((self.at, &self.row)));
        }
        let watch = self.rows.get_ref();
        let is_whole = self.is_open_ended && self.n_columns == self.header.len();
        if watch.quoted || !watch.at_line_start && !is_whole {
            return Err(Error::invalid(format!(
                "the file is truncated: it ends in row {}; let the tool finish, or copy the file again (a complete file ends \
                 with a line break)",
                self.at
            )));
        }
        Ok(None)
    }
}

/// Takes the records of a file.
type Records<'a> = &'a mut dyn FnMut(Record) -> Result<()>;

/// A table whose columns are known by their names, and whose header says what separates them.
pub(super) struct Table<'a> {
    sheet: Sheet<'a>,
    columns: Columns,
}

impl<'a> Table<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Invalid` if it is too long. `Unavailable` when reading fails.
    pub(super) fn open(input: &'a mut dyn BufRead) -> Result<Self> {
        let mut line = first_line(input)?;
        let named = named_delimiter(&line);
        while named.is_some() && !line.is_empty() {
            // The line break of the named one may have two characters.
            line = first_line(input)?;
            if !line.trim_ascii().is_empty() {
                break;
            }
        }
        let delimiter = named.unwrap_or_else(|| delimiter(&line));
        let sheet = Sheet::continued(line, input, delimiter)?;
        Ok(Self { columns: Columns::of(sheet.header()), sheet })
    }

    /// The same table, whose last row needs no line break if it has all columns: people edit it, and editors leave it out.
    pub(super) fn open_ended(mut self) -> Self {
        self.sheet.is_open_ended = true;
        self
    }

    /// The names of the columns.
    pub(super) fn header(&self) -> Vec<String> {
        texts(self.sheet.header())
    }

    pub(super) fn has_columns(&self, names: &[&str]) -> bool {
        names.iter().all(|it| self.columns.0.contains_key(*it))
    }

    /// # Errors
    /// `Invalid` if a column in `needed` is missing.
    pub(super) fn require(&self, what: &str, needed: &[&str]) -> Result<()> {
        let missing = needed.iter().find(|it| !self.columns.0.contains_key(**it));
        missing.map_or(Ok(()), |name| {
            Err(Error::invalid(format!("not a table of {what}: the header has no column {name}")))
        })
    }

    /// Hands out each row that has all columns. Those that have fewer are skipped.
    ///
    /// # Errors
    /// `Invalid` if the table is cut off or repeats its header. `Unavailable` when reading fails. Whatever `take` returns.
    pub(super) fn each(
        mut self,
        records: Records<'_>,
        take: &mut dyn FnMut(u64, Cells<'_>, Records<'_>) -> Result<()>,
    ) -> Result<()> {
        let header = self.sheet.header().clone();
        while let Some((at, row)) = self.sheet.next_row()? {
            if *row == header {
                return Err(Error::invalid(format!(
                    "the file has more than one table (row {at} repeats the header); import each of them"
                )));
            }
            if row.len() < header.len() {
                let reason = "fewer columns than the header".to_owned();
                records(Record::Skipped { at, reason })?;
                continue;
            }
            take(at, Cells { columns: &self.columns, row }, records)?;
        }
        Ok(())
    }
}

/// Hands out the rows of a table that has the columns in `needed`: see [`Table`].
///
/// # Errors
/// As of [`Table::open`], [`Table::require`] and [`Table::each`].
pub(super) fn each(
    input: &mut dyn BufRead,
    what: &str,
    needed: &[&str],
    records: Records<'_>,
    take: &mut dyn FnMut(u64, Cells<'_>, Records<'_>) -> Result<()>,
) -> Result<()> {
    let table = Table::open(input)?;
    table.require(what, needed)?;
    table.each(records, take)
}

fn first_line(input: &mut dyn BufRead) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let bytes = input.fill_buf().map_err(unreadable)?;
        let end = bytes.iter().position(|it| is_line_end(*it));
        let n = end.map_or(bytes.len(), |it| it + 1);
        line.extend_from_slice(&bytes[..n]);
        input.consume(n);
        if n == 0 || end.is_some() || RECORD_BYTES_MAX < line.len() {
            return Ok(line);
        }
    }
}

/// The separator that a first line `sep=;`, which is for Excel, names.
fn named_delimiter(line: &[u8]) -> Option<u8> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Also in quotes.
    let line = line.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(line);
    let (start, named) = line.split_at_checked(SEPARATOR.len())?;
    match named {
        [one] if start.eq_ignore_ascii_case(SEPARATOR) => Some(*one),
        _ => None,
    }
}

/// A table without a first line that names its separator, and the separator.
pub(super) fn split_named(table: &[u8]) -> (Option<u8>, &[u8]) {
    let n_line = table.iter().position(|it| is_line_end(*it)).unwrap_or(table.len());
    let named = named_delimiter(&table[..n_line]);
    let rest = &table[n_line..];
    let n_ends = rest.iter().take_while(|it| is_line_end(**it)).count();
    if named.is_some() { (named, &rest[n_ends..]) } else { (None, table) }
}

/// What separates the columns of a table with this header: that of these which is in it most often.
pub(super) fn delimiter(header: &[u8]) -> u8 {
    let count = |of: u8| header.split(|it| *it == of).count();
    let mut most = b',';
    for it in [b';', b'\t', b'|'] {
        if count(most) < count(it) {
            most = it;
        }
    }
    most
}

/// Returns true if a file that starts so has all of these columns.
pub(super) fn has_columns(head: &[u8], names: &[&str]) -> bool {
    let columns = header_of(head);
    names.iter().all(|it| columns.iter().any(|column| column == it))
}

/// The names of the columns of a table that starts so.
pub(super) fn header_of(head: &[u8]) -> Vec<String> {
    let (named, table) = split_named(head);
    let line = table.split(|it| is_line_end(*it)).next().unwrap_or_default();
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(named.unwrap_or_else(|| delimiter(line)))
        .has_headers(false)
        .flexible(true)
        .from_reader(line);
    let mut header = ByteRecord::new();
    let is_read = rows.read_byte_record(&mut header).unwrap_or_default();
    if is_read { texts(&header) } else { Vec::new() }
}

fn texts(row: &ByteRecord) -> Vec<String> {
    row.iter().map(|it| String::from_utf8_lossy(it).trim().to_owned()).collect()
}

/// Old systems end lines with a carriage return alone.
const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Where the columns are, by their names.
struct Columns(HashMap<String, usize>);

impl Columns {
    /// Of columns with one name, the first counts.
    fn of(header: &ByteRecord) -> Self {
        let mut places = HashMap::new();
        for (place, name) in texts(header).into_iter().enumerate() {
            places.entry(name).or_insert(place);
        }
        Self(places)
    }
}

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    columns: &'a Columns,
    row: &'a ByteRecord,
}

impl<'a> Cells<'a> {
    /// What is in a column. Empty: the table does not have it.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn text(self, name: &str) -> OrSkipped<&'a str> {
        self.columns.0.get(name).map_or(Ok(""), |place| self.at(*place))
    }

    /// What is in the column with this number.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn at(self, place: usize) -> OrSkipped<&'a str> {
        let bytes = self.row.get(place).unwrap_or_default();
        str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())
    }
}

/// An error from below the csv reader, which itself accepts any bytes.
fn broken(error: csv::Error) -> Error {
    let kind = error.into_kind();
    if let csv::ErrorKind::Io(cause) = kind {
        if cause.kind() == io::ErrorKind::FileTooLarge {
            return Error::invalid(cause.to_string());
        }
        return unreadable(cause);
    }
    Error::invalid("not a CSV file")
}

/// Passes bytes on and watches where rows end: the csv reader does not distinguish a truncated row from a complete one.
struct RowWatch<'a> {
    /// Comes before the input.
    start: io::Cursor<Vec<u8>>,
    input: &'a mut dyn BufRead,
    /// Inside quotes.
    quoted: bool,
    /// Nothing has been read, or a line break outside of quotes.
    at_line_start: bool,
    /// Of the current row.
    n_bytes: usize,
    /// Line breaks passed, whether they end rows or not.
    n_lines: u64,
}

impl<'a> RowWatch<'a> {
    fn new(start: Vec<u8>, input: &'a mut dyn BufRead) -> Self {
        let start = io::Cursor::new(start);
        Self { start, input, quoted: false, at_line_start: true, n_bytes: 0, n_lines: 0 }
    }
}

impl Read for RowWatch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = match self.start.read(buffer)? {
            0 => self.input.read(buffer)?,
            n => n,
        };
        for byte in &buffer[..n_read] {
            self.n_bytes += 1;
            match byte {
                b'"' => self.quoted = !self.quoted,
                b'\n' | b'\r' => {
                    self.n_lines += u64::from(*byte == b'\n');
                    if !self.quoted {
                        self.n_bytes = 0;
                    }
                }
                _ => {}
            }
        }
        if let Some(last) = buffer[..n_read].last() {
            self.at_line_start = is_line_end(*last) && !self.quoted;
        }
        if RECORD_BYTES_MAX < self.n_bytes {
            let message = format!(
                "invalid CSV: the row at line {} is longer than {} MiB; is a quote missing?",
                self.n_lines + 1,
                RECORD_BYTES_MAX >> 20
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(n_read)
    }
}
