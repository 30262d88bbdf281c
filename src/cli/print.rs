//! What the terminal shows. Nothing else prints.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// One line, or several, on standard output. A reader that went away is no fault of ours.
///
/// # Errors
/// `Internal` when standard output does not take it.
pub(super) fn line(text: &str) -> Result<()> {
    let keep = |it| matches!(it, '\n' | '\t') || !is_hostile(it);
    let text: String = text.chars().map(|it| if keep(it) { it } else { INSTEAD }).collect();
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::internal(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The API's answer as it is, indented. JSON leaves some hostile characters as they are; they are escaped.
pub(super) fn json(body: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(body).map_err(Error::internal)?;
    let mut shown = String::with_capacity(text.len());
    for it in text.chars() {
        if it != '\n' && is_hostile(it) {
            write!(shown, "\\u{:04x}", u32::from(it)).expect("a String takes everything");
        } else {
            shown.push(it);
        }
    }
    line(&shown)
}

/// That something was done to which the API answers nothing: null as its data.
pub(super) fn done(as_json: bool, answer: &Value, text: &str) -> Result<()> {
    if as_json { json(&json!({ "data": answer["data"] })) } else { line(text) }
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

/// What is shown in the place of a hostile character.
const INSTEAD: char = '\u{fffd}';

/// Foreign text on one line, without what would command the terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|it| if is_hostile(it) { INSTEAD } else { it }).collect()
}

/// Control characters command the terminal; marks of direction show text in another order than it has. All of them
/// have four hexadecimal digits.
fn is_hostile(it: char) -> bool {
    it.is_control()
        || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Named fields of an object, one a line.
pub(super) fn fields(object: &Value, names: &[(&str, &str)]) -> Result<()> {
    let width = names.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, field) in names {
        line(&format!("{label:<width$}  {}", cell(&object[*field])))?;
    }
    Ok(())
}
