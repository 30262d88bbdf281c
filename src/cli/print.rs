//! Output on the terminal. Nothing else prints.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::text::{is_visible, visible};

/// Prints one line, or several, on standard output. Invisible characters other than line breaks and tabs are escaped.
/// A closed standard output is not an error.
///
/// # Errors
/// `Internal` when standard output cannot be written.
pub(super) fn line(text: &str) -> Result<()> {
    let pieces = text.split_inclusive(['\n', '\t']).flat_map(|piece| {
        let kept = piece.len() - usize::from(piece.ends_with(['\n', '\t']));
        [visible(&piece[..kept]), Cow::Borrowed(&piece[kept..])]
    });
    let text: String = pieces.collect();
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::internal(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints the API's answer as it is, indented. The invisible characters that JSON allows in a string are escaped as JSON
/// does it.
pub(super) fn json(body: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(body).map_err(Error::internal)?;
    let mut shown = String::with_capacity(text.len());
    for it in text.chars() {
        if it == '\n' || is_visible(it) {
            shown.push(it);
            continue;
        }
        for unit in it.encode_utf16(&mut [0; 2]) {
            write!(shown, "\\u{unit:04x}").expect("writing to a String does not fail");
        }
    }
    line(&shown)
}

/// Prints what was done, or with `--json` the API's answer without data: null.
pub(super) fn done(as_json: bool, answer: &Value, text: &str) -> Result<()> {
    if as_json { json(&json!({ "data": answer["data"] })) } else { line(text) }
}

/// Prints rows under a heading. Each column is as wide as its widest cell.
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

/// A value as people read it: text without quotes, `-` for null.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => visible(text).into_owned(),
        Value::Array(all) => all.iter().map(cell).collect::<Vec<_>>().join(","),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Puts `word` in place of an empty list, which means all or any.
pub(super) fn name_all(list: &mut Value, word: &str) {
    if list.as_array().is_some_and(Vec::is_empty) {
        *list = json!(word);
    }
}

/// A number and its noun, such as `1 record` or `2 records`.
pub(super) fn count(number: &Value, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", cell(number))
}

/// Prints named fields of an object, one on each line.
pub(super) fn fields(object: &Value, names: &[(&str, &str)]) -> Result<()> {
    let width = names.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, field) in names {
        line(&format!("{label:<width$}  {}", cell(&object[*field])))?;
    }
    Ok(())
}
