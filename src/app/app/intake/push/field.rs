//! The rules of single fields of a facts body.

use crate::app::input::require_written;
use crate::clock::Time;
use crate::error::{Error, Result};

pub(super) const TEXT_CHARS_MAX: usize = 500;

pub(super) fn bad<T>(field: impl Into<String>, rule: impl Into<String>) -> Result<T> {
    Err(Error::invalid_field(field, rule))
}

/// Refuses a text that is blank or longer than this.
pub(super) fn text(field: &str, text: &str, chars_max: usize) -> Result<String> {
    require_written(field, text, chars_max)?;
    Ok(text.to_owned())
}

pub(super) fn optional(field: &str, given: Option<&String>) -> Result<Option<String>> {
    given.map(|it| text(field, it, TEXT_CHARS_MAX)).transpose()
}

pub(super) fn time(field: &str, given: &str) -> Result<Time> {
    given.parse().map_err(|error: Error| error.about(field))
}
