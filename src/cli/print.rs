//! What the terminal shows. Nothing else prints.

use std::io::{self, Write};

use serde_json::Value;

use crate::error::{Error, Result};

/// One line on standard output. A reader that went away is no fault of ours.
///
/// # Errors
/// `Internal` when standard output does not take it.
pub(super) fn line(text: &str) -> Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::internal(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The API's answer as it is, indented.
pub(super) fn json(body: &Value) -> Result<()> {
    line(&serde_json::to_string_pretty(body).map_err(Error::internal)?)
}

/// Rows under a heading, each column as wide as its widest cell.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> Result<()> {
    let widths: Vec<usize> = (0..heading.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count());
            cells.chain([heading[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let shown = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    line(&shown(&mut heading.iter().copied()))?;
    for row in rows {
        line(&shown(&mut row.iter().map(String::as_str)))?;
    }
    Ok(())
}

/// A value for a person: text without quotes, `-` for null.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => clean(text),
        Value::Array(all) => all.iter().map(cell).collect::<Vec<_>>().join(","),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Control characters of foreign text must not reach the terminal.
fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}

/// Named fields of an object, one a line.
pub(super) fn fields(object: &Value, names: &[(&str, &str)]) -> Result<()> {
    let width = names.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, field) in names {
        line(&format!("{label:<width$}  {}", cell(&object[*field])))?;
    }
    Ok(())
}
