//! Foreign text made safe to store and show: bounded, on one line, and with its invisible characters escaped.

pub(super) use crate::text::{line, some_block, some_line};

/// The value, or the reason why a record is skipped.
pub(super) type OrSkipped<T> = Result<T, String>;

/// Longer identifiers (scopes, check ids, external ids) are refused, never cut.
pub(super) const ID_CHARS_MAX: usize = 500;
/// Longer names of subjects and assets are cut.
pub(super) const NAME_CHARS_MAX: usize = 200;
/// Longer titles of checks are cut.
pub(super) const TITLE_CHARS_MAX: usize = 300;
/// Longer errors of a parser are cut.
pub(super) const WHY_CHARS_MAX: usize = 200;
/// Longer descriptions of what was seen are cut.
pub(super) const DETAIL_CHARS_MAX: usize = 500;

/// An identifier, without leading and trailing spaces.
///
/// # Errors
/// The reason, naming `what`, when it is missing, longer than [`ID_CHARS_MAX`] or has control
/// characters.
pub(super) fn id(text: &str, what: &str) -> OrSkipped<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("missing {what}"));
    }
    if ID_CHARS_MAX < text.chars().count() {
        return Err(format!("{what} longer than {ID_CHARS_MAX} characters"));
    }
    if text.chars().any(is_hidden) {
        return Err(format!("{what} with control characters"));
    }
    Ok(text.to_owned())
}

/// The words of a text, which have ASCII letters and digits alone, in lower case with hyphens between them.
pub(super) fn slug(text: &str) -> String {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// Control characters, and those that turn the direction of text or have no width: two ids that look alike must be the
/// same. Narrower than what [`crate::text::visible`] escapes: an id may hold a no-break space or a character that Unicode did not
/// assign when this was built.
fn is_hidden(char: char) -> bool {
    let hides = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    let turns = matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || hides || turns
}
