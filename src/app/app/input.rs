//! Rules that several inputs share. Each error names the field.

use super::App;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::text::is_visible;

/// How many clients one list may have.
pub const N_CLIENTS_MAX: usize = 1_000;

/// # Errors
/// `Invalid` if the text is blank, longer than this, or has control characters.
pub(super) fn require_text(field: &str, text: &str, chars_max: usize) -> Result<()> {
    if text.trim().is_empty() || chars_max < text.chars().count() {
        return Err(Error::invalid_field(field, format!("must be 1 to {chars_max} characters")));
    }
    refuse_control(field, text)
}

/// The name of something, which people read in a line: it must not look like another one.
///
/// # Errors
/// `Invalid` if the name is blank, longer than this, or has characters that are not visible, such as line breaks, characters of no
/// width and those that turn the direction of text.
pub(super) fn require_name(field: &str, name: &str, chars_max: usize) -> Result<()> {
    require_text(field, name, chars_max)?;
    refuse_invisible(field, name)
}

/// # Errors
/// `Invalid` if the text has a character that is not visible, or a space other than that of the keyboard.
pub(super) fn refuse_invisible(field: &str, text: &str) -> Result<()> {
    let Some(bad) = text.chars().find(|it| !is_visible(*it)) else { return Ok(()) };
    let code = u32::from(bad);
    let rule = format!(
        "must not contain line breaks or characters that are not visible; remove U+{code:04X}"
    );
    Err(Error::invalid_field(field, rule))
}

/// Control characters break what reads a text later: terminals run them, and many databases do not take U+0000. Line breaks
/// and tabs are text.
///
/// # Errors
/// `Invalid` if the text has one.
pub(super) fn refuse_control(field: &str, text: &str) -> Result<()> {
    let is_bad = |it: char| it.is_control() && !matches!(it, '\n' | '\r' | '\t');
    if text.contains(is_bad) {
        return Err(Error::invalid_field(field, "must not contain control characters"));
    }
    Ok(())
}

/// # Errors
/// `Invalid` if the text is blank, or if it is longer than this. The two messages differ.
pub(super) fn require_written(field: &str, text: &str, chars_max: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid_field(field, "must not be blank"));
    }
    require_length(field, Some(text), chars_max)
}

/// # Errors
/// `Invalid` if there is a text and it is longer than this or has control characters.
pub(super) fn require_length(field: &str, text: Option<&str>, chars_max: usize) -> Result<()> {
    match text {
        Some(text) if chars_max < text.chars().count() => {
            Err(Error::invalid_field(field, format!("must be at most {chars_max} characters")))
        }
        Some(text) => refuse_control(field, text),
        None => Ok(()),
    }
}

/// # Errors
/// `Invalid` unless the time is in the future.
pub(super) fn require_future(field: &str, end: Time, now: Time) -> Result<()> {
    if end <= now {
        return Err(Error::invalid_field(field, "must be in the future"));
    }
    Ok(())
}

impl App {
    /// A client that was in the list `before` is accepted: it may have been erased since.
    ///
    /// # Errors
    /// `Invalid` about `clientIds`: too many, or one that does not exist.
    pub(super) fn require_clients(&self, clients: &[ClientId], before: &[ClientId]) -> Result<()> {
        if N_CLIENTS_MAX < clients.len() {
            return Err(Error::invalid_field(
                "clientIds",
                format!("must have at most {N_CLIENTS_MAX} entries"),
            ));
        }
        let mut new_clients = clients.iter().filter(|it| !before.contains(it));
        match new_clients.find(|it| self.clients.directory.find(**it).is_none()) {
            Some(id) => {
                Err(Error::invalid_field("clientIds", format!("client {id} does not exist")))
            }
            None => Ok(()),
        }
    }
}
