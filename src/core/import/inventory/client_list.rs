//! A list of clients that a person made: a table with a header, as spreadsheets save it.

use crate::encoding;
use crate::error::{Error, Result};
use crate::import::refuse_encoded;
use crate::import::sheet::{delimiter, split_named};
use crate::text::visible;

/// Rows that one list may have.
pub const N_LISTED_MAX: usize = 1_000;

/// A row of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedClient {
    /// From 1, without the header.
    pub row: usize,
    pub name: String,
    pub industry: Option<String>,
    pub employee_count: Option<u32>,
    /// As they are written.
    pub frameworks: Vec<String>,
    pub tags: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Industry,
    Employees,
    Frameworks,
    Tags,
}

impl Column {
    /// `None`: no such column is known.
    fn named(title: &str) -> Option<Self> {
        let letters = title.replace([' ', '_', '-'], "").to_ascii_lowercase();
        match letters.as_str() {
            "name" | "client" | "clientname" | "company" | "organization" => Some(Self::Name),
            "industry" => Some(Self::Industry),
            "employees" | "employeecount" => Some(Self::Employees),
            "frameworks" => Some(Self::Frameworks),
            "tags" => Some(Self::Tags),
            _ => None,
        }
    }
}

/// Reads a whole list.
///
/// # Errors
/// `Invalid` with the row, if the list is not such a table or has too many rows.
pub fn read(bytes: &[u8]) -> Result<Vec<ListedClient>> {
    refuse_encoded(bytes)?;
    let bytes = encoding::without_mark(bytes);
    let (named, bytes) = split_named(bytes);
    let header = bytes.split(|it| matches!(it, b'\n' | b'\r')).next().unwrap_or_default();
    let mut table = csv::ReaderBuilder::new()
        .delimiter(named.unwrap_or_else(|| delimiter(header)))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let columns = columns(table.headers().map_err(|it| broken(&it))?)?;
    let mut clients = Vec::new();
    for (row, cells) in (1..).zip(table.records()) {
        if N_LISTED_MAX < row {
            let rule = format!("the list has more than {N_LISTED_MAX} rows; split it");
            return Err(Error::invalid(rule));
        }
        let cells = cells.map_err(|it| broken(&it))?;
        if cells.iter().all(str::is_empty) {
            continue;
        }
        clients.push(client(row, &columns, &cells)?);
    }
    if clients.is_empty() {
        return Err(Error::invalid("the list has a header and no client"));
    }
    Ok(clients)
}

/// `None`: a column without a name, which must be empty.
fn columns(header: &csv::StringRecord) -> Result<Vec<Option<Column>>> {
    let mut columns = Vec::new();
    for title in header {
        if title.is_empty() {
            columns.push(None);
            continue;
        }
        let column = Column::named(title).filter(|it| !columns.contains(&Some(*it)));
        columns.push(Some(column.ok_or_else(|| {
            Error::invalid(format!(
                "the column `{}` is not known, or is there twice; the columns of a list of clients are name, industry, employees, \
                 frameworks and tags, of which only name is needed",
                visible(title)
            ))
        })?));
    }
    if columns.contains(&Some(Column::Name)) {
        Ok(columns)
    } else {
        Err(Error::invalid("the first row has no column `name`; it must name the columns"))
    }
}

fn client(
    row: usize,
    columns: &[Option<Column>],
    cells: &csv::StringRecord,
) -> Result<ListedClient> {
    let mut client = ListedClient { row, ..ListedClient::default() };
    // Spreadsheets save columns that are empty too.
    let n_cells = (0..cells.len()).rev().find(|it| !cells[*it].is_empty()).map_or(0, |it| it + 1);
    if cells.len() < columns.len() || columns.len() < n_cells {
        let (n, expected) = (cells.len(), columns.len());
        let rule = format!("row {row}: has {n} columns where the header has {expected}");
        return Err(Error::invalid(rule));
    }
    for (column, cell) in columns.iter().zip(cells).filter(|it| !it.1.is_empty()) {
        let Some(column) = column else {
            let rule = format!("row {row}: `{}` is in a column without a name", visible(cell));
            return Err(Error::invalid(rule));
        };
        match column {
            Column::Name => cell.clone_into(&mut client.name),
            Column::Industry => client.industry = Some(cell.to_owned()),
            Column::Employees => {
                let count = cell.parse().map_err(|_| {
                    let rule = format!("row {row}: employees must be a whole number");
                    Error::invalid(rule)
                })?;
                client.employee_count = Some(count);
            }
            Column::Frameworks => {
                let names = cell.split([';', ',', ' ']).filter(|it| !it.is_empty());
                client.frameworks = names.map(str::to_ascii_uppercase).collect();
            }
            Column::Tags => {
                let tags = cell.split([';', ',']).map(str::trim).filter(|it| !it.is_empty());
                client.tags = tags.map(str::to_owned).collect();
            }
        }
    }
    Ok(client)
}

fn broken(error: &csv::Error) -> Error {
    let row = error.position().map_or(0, csv::Position::record);
    if let csv::ErrorKind::Utf8 { .. } = error.kind() {
        return Error::invalid(format!("row {row}: is not UTF-8; save the list as CSV UTF-8"));
    }
    Error::invalid(format!("row {row}: {error}"))
}
