//! A person who left, or who is still there, from a row of a list.

use super::OrSkipped;
use super::columns::Field;
use crate::clock::Time;
use crate::engine::identity::leaver::{Leaver, PersonName};
use crate::import::moment;

/// The person, and why a part of the row says nothing. `cell`: what the list says of a field, if anything.
///
/// # Errors
/// The reason why the row is skipped.
pub(super) fn of_row<'a>(
    cell: impl Fn(Field) -> OrSkipped<&'a str>,
) -> OrSkipped<(Leaver, Option<String>)> {
    let mut names = Vec::new();
    for field in [Field::Email, Field::Login] {
        names.extend(PersonName::login(cell(field)?));
    }
    names.extend(PersonName::number(cell(Field::Employee)?));
    if names.is_empty() {
        return Err("no e-mail address, login or employee id".to_owned());
    }
    let last_day = cell(Field::LastDay)?.trim();
    if last_day.is_empty() {
        let has_not_left = "no last day: the person has not left".to_owned();
        return Ok((Leaver { names, last_day: None }, Some(has_not_left)));
    }
    let unread = || "the last day is not a date such as 2026-11-20".to_owned();
    let last_day = day(last_day).ok_or_else(unread)?;
    Ok((Leaver { names, last_day: Some(last_day) }, None))
}

/// A day such as `2026-11-20` or `20261120`, or a date-time. Other numbers are no days.
fn day(text: &str) -> Option<Time> {
    if !text.bytes().all(|it| it.is_ascii_digit()) {
        return moment::of_day(text);
    }
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2).filter(|it| it.1.len() == 2)?;
    moment::of_day(&format!("{year}-{month}-{day}"))
}
