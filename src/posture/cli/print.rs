//! Output on the terminal. Nothing else prints.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;
use serde_json::{Value, json};

use crate::encoding;
use crate::engine::fact::Status;
use crate::engine::posture::{PartialBecause, result_words};
use crate::error::{Error, Result};
use crate::text::{is_visible, visible};

/// How far something is, of `n_total`, in a style of indicatif. Shown only on a terminal.
pub(super) fn progress(n_total: u64, style: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(style).expect("the template is well formed");
    ProgressBar::new(n_total).with_style(style)
}

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

/// Prints bytes as they are. On a terminal, without a byte order mark, and with invisible characters other than line breaks
/// and tabs escaped.
///
/// # Errors
/// As [`line`].
pub(super) fn bytes(content: &[u8]) -> Result<()> {
    if io::stdout().is_terminal() {
        let content = encoding::without_mark(content);
        return line(String::from_utf8_lossy(content).trim_end_matches('\n'));
    }
    match io::stdout().lock().write_all(content) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::internal(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns true if standard output is a pipe or a terminal that has no reader anymore.
pub(super) fn is_closed() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().intersects(gone)
}

/// Prints a warning on standard error.
pub(super) fn warn(text: &str) {
    // A closed standard error cannot be reported.
    let _ = writeln!(io::stderr().lock(), "posture: {}", visible(text));
}

/// Prints the API's answer as it is, indented. The invisible characters that JSON allows in a string are escaped as JSON
/// does it.
pub(super) fn json(body: &Value) -> Result<()> {
    line(&escaped(&serde_json::to_string_pretty(body).map_err(Error::internal)?))
}

/// JSON with the invisible characters of its strings escaped.
pub(super) fn escaped(text: &str) -> String {
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
    shown
}

/// Prints a value on one line, as a program reads one after the other.
pub(super) fn compact(value: &Value) -> Result<()> {
    line(&escaped(&value.to_string()))
}

/// Prints the id of what was added, or with `--json` the API's answer.
pub(super) fn id(as_json: bool, answer: &Value) -> Result<()> {
    if as_json { json(answer) } else { line(&cell(&answer["data"]["id"])) }
}

/// Prints what was done, or with `--json` the API's answer without data: null.
pub(super) fn done(as_json: bool, answer: &Value, text: &str) -> Result<()> {
    if as_json { json(&json!({ "data": answer["data"] })) } else { line(text) }
}

/// Prints a list of the API as a table, or the sentence about an empty list. With `--json`: the rows as the API has them.
pub(super) fn list(
    as_json: bool,
    rows: &[Value],
    (empty, heading): (&str, &[&str]),
    cells: impl Fn(&Value) -> Vec<String>,
) -> Result<()> {
    if as_json {
        return json(&json!({ "data": rows }));
    }
    if rows.is_empty() {
        return line(empty);
    }
    table(heading, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// The rows of a list. None if it is null.
pub(super) fn rows(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// The first `n` words, and how many more there are.
pub(super) fn first(words: &[String], n: usize) -> String {
    let shown = words.iter().take(n).map(String::as_str).collect::<Vec<_>>().join(", ");
    if words.len() <= n { shown } else { format!("{shown} and {} more", words.len() - n) }
}

/// Prints rows under a heading. Each column is as wide as its widest cell. A last column that would be wider than the screen
/// is wrapped; without a screen, each row is one line.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> Result<()> {
    let widths: Vec<usize> = (0..heading.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count());
            cells.chain([heading[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let before_last: usize = widths.iter().rev().skip(1).map(|it| it + COLUMN_GAP.len()).sum();
    let shown = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let text = padded.collect::<Vec<_>>().join(COLUMN_GAP).trim_end().to_owned();
        wrapped(&text, before_last)
    };
    line(&shown(&mut heading.iter().copied()))?;
    for row in rows {
        line(&shown(&mut row.iter().map(String::as_str)))?;
    }
    Ok(())
}

/// Columns of a terminal that does not say how wide it is.
const SCREEN_COLUMNS: usize = 100;
/// Separates two columns.
const COLUMN_GAP: &str = "  ";
/// A narrower column is not wrapped: it would only get longer.
const WRAPPED_COLUMNS_MIN: usize = 20;

/// Columns of the terminal that standard output is. `None`: it is a file or a pipe.
fn screen_columns() -> Option<usize> {
    let out = io::stdout();
    let known = || Some(usize::from(tcgetwinsize(&out).ok()?.ws_col)).filter(|it| *it != 0);
    out.is_terminal().then(|| known().unwrap_or(SCREEN_COLUMNS))
}

/// Breaks a line between words so that it fits the screen, if there is one. Continuation lines are indented by `indent`
/// columns.
pub(super) fn wrapped(text: &str, indent: usize) -> String {
    let Some(n_columns) = screen_columns() else { return text.to_owned() };
    let n_chars = text.chars().count();
    if n_chars <= n_columns || n_columns < indent + WRAPPED_COLUMNS_MIN {
        return text.to_owned();
    }
    let start = text.char_indices().nth(indent).map_or(text.len(), |it| it.0);
    let (mut shown, rest) = (text[..start].to_owned(), &text[start..]);
    let mut column = indent;
    for word in rest.split(' ') {
        let width = word.chars().count();
        if column != indent && n_columns < column + 1 + width {
            shown.push('\n');
            shown.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if column != indent {
            shown.push(' ');
            column += 1;
        }
        shown.push_str(word);
        column += width;
    }
    shown
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

/// A time to the minute, as people read it: `2026-11-23 08:15`.
pub(super) fn minute(time: &Value) -> String {
    let text = cell(time);
    text.get(..16).map_or_else(|| text.clone(), |it| it.replace('T', " "))
}

/// The day of a time.
pub(super) fn day(time: &Value) -> String {
    let text = cell(time);
    text.get(..10).map_or_else(|| text.clone(), str::to_owned)
}

/// When something ends: the day in UTC if it ends with that, and otherwise the minute.
pub(super) fn end(time: &Value) -> String {
    let text = cell(time);
    let is_end_of_day = text.get(10..19) == Some("T23:59:59");
    if is_end_of_day || time.is_null() { day(time) } else { format!("{} UTC", minute(time)) }
}

/// An amount of dollars, with a comma between thousands.
pub(super) fn dollars(amount: u64) -> String {
    let digits = amount.to_string();
    let mut shown = String::from("$");
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// References to other systems, as options name them.
pub(super) fn references(all: &Value) -> String {
    let all: Vec<String> =
        rows(all).iter().map(|it| format!("{}={}", cell(&it["system"]), cell(&it["id"]))).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

/// Some words and a value, or nothing if the value is null.
pub(super) fn given(words: &str, value: &Value, shown: impl Fn(&Value) -> String) -> String {
    if value.is_null() { String::new() } else { format!("{words}{}", shown(value)) }
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

/// The result of a control or, without `why`, of a requirement, as people read it.
pub(super) fn result(status: &Value, why: &Value) -> String {
    let why = PartialBecause::ALL.into_iter().find(|it| why == it.as_str());
    match Status::ALL.into_iter().find(|it| status == it.as_str()) {
        Some(status) => result_words(status, why).0.to_lowercase(),
        None => cell(status),
    }
}

/// A word of a command to copy, quoted if the shell needs it.
pub(super) fn word(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Prints named fields of an object, one on each line.
pub(super) fn fields(object: &Value, names: &[(&str, &str)]) -> Result<()> {
    let width = names.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, field) in names {
        let value = &object[*field];
        if value.is_object() {
            line(&format!("{label:<width$}  {}", cell(value)))?;
            continue;
        }
        // Further lines of a text are aligned with the first.
        let mut pieces = value.as_str().into_iter().flat_map(str::lines).map(|it| visible(it));
        let first = pieces.next().map_or_else(|| cell(value), Cow::into_owned);
        line(&wrapped(&format!("{label:<width$}  {first}"), width + 2))?;
        for piece in pieces {
            line(&wrapped(&format!("{:width$}  {piece}", ""), width + 2))?;
        }
    }
    Ok(())
}
