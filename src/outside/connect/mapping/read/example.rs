//! The examples of a mapping's file: answers, and what they come to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::part::{may, need};
use crate::clock::Time;
use crate::toml_reader::{Ruled, Table, TomlEntry, Value, Wrong, array, list, string, text, wrong};

const N_ROWS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 400;

/// Answers, and what they come to. Everything is compared, in both directions.
pub(in crate::connect::mapping) struct Example {
    pub(in crate::connect::mapping) line: usize,
    pub(in crate::connect::mapping) name: String,
    /// Whole answers, by stream. A stream that is missing was not read to its end.
    pub(in crate::connect::mapping) answers: BTreeMap<String, Json>,
    pub(in crate::connect::mapping) organizations: BTreeMap<String, String>,
    /// The facts of each by name, as text.
    pub(in crate::connect::mapping) devices: Vec<BTreeMap<String, String>>,
    pub(in crate::connect::mapping) users: Vec<BTreeMap<String, String>>,
    pub(in crate::connect::mapping) unmapped: BTreeSet<String>,
    pub(in crate::connect::mapping) partial: BTreeSet<String>,
    /// When to judge, and the status of each control that is judged.
    pub(in crate::connect::mapping) verdicts: Option<(Time, BTreeMap<String, String>)>,
}

pub(super) fn example(table: &mut Table<'_>) -> Option<Example> {
    let name = need(table, "name", text(1..=100));
    table.set_label(name.as_ref().map_or("example: ".to_owned(), |it| format!("example {it:?}: ")));
    let answers = any_keys(table, "answers", json);
    let organizations = any_keys(table, "organizations", shown);
    let devices = all_any_keys(table, "device");
    let users = all_any_keys(table, "user");
    let unmapped = may(table, "unmapped", list(0..=N_ROWS_MAX, text(1..=TEXT_CHARS_MAX)));
    let partial = may(table, "partial", list(0..=N_ROWS_MAX, text(1..=TEXT_CHARS_MAX)));
    let at = may(table, "at", time);
    let verdicts = any_keys(table, "verdicts", shown);
    let at = at?;
    if at.is_some() != verdicts.is_some() {
        table.problem(table.line, "verdicts and at go together");
    }
    Some(Example {
        line: table.line,
        name: name?,
        answers: answers.unwrap_or_default(),
        organizations: organizations.unwrap_or_default(),
        devices,
        users,
        unmapped: unmapped?.unwrap_or_default().into_iter().collect(),
        partial: partial?.unwrap_or_default().into_iter().collect(),
        verdicts: at.zip(verdicts),
    })
}

/// All keys of the table that is the value of a key, with what a rule makes of their values.
fn any_keys<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    rule: impl Fn(&'d Value<'d>) -> Ruled<T>,
) -> Option<BTreeMap<String, T>> {
    let entry = table.find(key)?;
    values(table, key, entry.value, rule)
}

/// [`any_keys`] of each table of an array.
fn all_any_keys(table: &mut Table<'_>, key: &'static str) -> Vec<BTreeMap<String, String>> {
    let Some(entry) = table.find(key) else { return Vec::new() };
    let items = table.ruled(key, entry.value, array).unwrap_or_default();
    if N_ROWS_MAX < items.len() {
        table.problem(entry.line, format!("{key}: must have at most {N_ROWS_MAX} items"));
        return Vec::new();
    }
    items.iter().filter_map(|it| values(table, key, it, shown)).collect()
}

fn values<'d, T>(
    table: &Table<'d>,
    key: &str,
    value: &'d Value<'d>,
    rule: impl Fn(&'d Value<'d>) -> Ruled<T>,
) -> Option<BTreeMap<String, T>> {
    let inner = table.inner(key, value)?;
    let entries = inner.entries();
    let _ = inner.into_problems(); // Any key is known.
    let read = |(name, entry): (&str, TomlEntry<'d>)| {
        let value = table.ruled(&format!("{key}.{name}"), entry.value, &rule)?;
        Some((name.to_owned(), value))
    };
    Some(entries.into_iter().filter_map(read).collect())
}

/// An answer, as JSON in a string.
fn json(value: &Value<'_>) -> Ruled<Json> {
    let text = string(value)?;
    serde_json::from_str(text).or_else(|error| wrong(value, format!("is not JSON: {error}")))
}

fn time(value: &Value<'_>) -> Ruled<Time> {
    string(value)?.parse().or_else(|error| wrong(value, format!("{error}")))
}

/// A fact as text.
fn shown(value: &Value<'_>) -> Ruled<String> {
    let it = value.get_ref();
    let flag = it.as_bool().map(|it| it.to_string());
    let number = it.as_integer().map(|it| it.as_str().to_owned());
    let text = it.as_str().map(str::to_owned);
    let rule = "must be a string, an integer or a boolean".to_owned();
    text.or(flag).or(number).ok_or_else(|| vec![Wrong { at: value.span().start, rule }])
}
