//! Reads the values of options, and builds queries and bodies from them.

use std::str::FromStr;

use serde_json::{Value, json};

use crate::clock::zone::Deadline;
use crate::error::{Error, Result};

/// Reads `0`, `90s`, `30m`, `12h` or `90d`.
pub(super) fn seconds(text: &str) -> Result<i64> {
    let bad = || {
        Error::invalid(format!(
            "`{text}` is not a duration; use a number followed by s, m, h or d, such as 90d"
        ))
    };
    if text == "0" {
        return Ok(0);
    }
    let unit_at =
        text.len().checked_sub(1).filter(|it| text.is_char_boundary(*it)).ok_or_else(bad)?;
    let (number, unit) = text.split_at(unit_at);
    let unit_s = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(bad()),
    };
    let number: i64 = number.parse().ok().filter(|it| 0 <= *it).ok_or_else(bad)?;
    number.checked_mul(unit_s).ok_or_else(bad)
}

/// Reads a date, which means the end of that day in the client's time zone, or a date-time. Returns it as the API takes it.
pub(super) fn end(text: &str) -> Result<String> {
    let end: Deadline = text.parse().map_err(|_| {
        Error::invalid(format!(
            "`{text}` is not a date; use 2026-12-31, which means the end of that day in the client's time zone, or \
             2026-12-31T17:00:00Z"
        ))
    })?;
    Ok(end.to_string())
}

/// Reads `SYSTEM=ID` pairs. One empty value stands for an empty list. `None`: no option was given.
pub(super) fn references(pairs: &[String]) -> Result<Option<Value>> {
    match pairs {
        [] => return Ok(None),
        [only] if only.is_empty() => return Ok(Some(json!([]))),
        _ => (),
    }
    let read = |pair: &String| {
        let (system, id) = pair.split_once('=').ok_or_else(|| {
            Error::invalid(format!("--reference {pair}: must have the form SYSTEM=ID"))
        })?;
        Ok(json!({ "system": system, "id": id }))
    };
    Ok(Some(Value::Array(pairs.iter().map(read).collect::<Result<_>>()?)))
}

/// Reads an id. `what`: its name with an article. `list`: the command that shows such ids.
pub(super) fn id<T: FromStr>(text: &str, what: &str, list: &str) -> Result<T> {
    text.parse().map_err(|_| {
        Error::invalid(format!("`{text}` is not {what}; `posture {list}` shows the ids"))
    })
}

/// A query parameter for each value, each beginning with `&`.
pub(super) fn repeated(name: &str, values: &[String]) -> String {
    let one = |it: &String| format!("&{name}={}", super::call::encoded(it));
    values.iter().map(one).collect::<Vec<_>>().concat()
}

/// A query string of parameters that each begin with `&`. Empty if there are none.
pub(super) fn query(parameters: &str) -> String {
    parameters.strip_prefix('&').map_or(String::new(), |it| format!("?{it}"))
}

/// The body of a request, with the members that are not `None`.
pub(super) fn body(members: Vec<(&str, Option<Value>)>) -> Value {
    let given = members.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
    Value::Object(given.collect())
}

/// A text that an empty value clears.
pub(super) fn clearable(text: Option<&str>) -> Option<Value> {
    text.map(|it| if it.is_empty() { Value::Null } else { it.into() })
}

/// # Errors
/// `Invalid` if no member was given.
pub(super) fn require_change(body: Value) -> Result<Value> {
    match body.as_object() {
        Some(members) if members.is_empty() => {
            Err(Error::invalid("nothing to change; pass at least one option"))
        }
        Some(_) | None => Ok(body),
    }
}
