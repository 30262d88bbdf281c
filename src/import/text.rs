//! Foreign text made safe to store and show: bounded, on one line, and with its invisible characters escaped.

use std::borrow::Cow;

use crate::text::visible;

/// What could be understood, or the reason why a record is left out.
pub(super) type Told<T> = Result<T, String>;

/// Longer identifiers (scopes, check ids, external ids) are refused, never cut.
pub(super) const ID_CHARS_MAX: usize = 500;
/// Longer names of subjects and assets are cut.
pub(super) const NAME_CHARS_MAX: usize = 200;
/// Longer titles of checks are cut.
pub(super) const TITLE_CHARS_MAX: usize = 300;
/// Longer descriptions of what was seen are cut.
pub(super) const DETAIL_CHARS_MAX: usize = 500;

/// Marks where a text was cut.
const CUT: &str = "… (cut)";

/// An identifier as it is, without spaces around it.
///
/// # Errors
/// The reason, naming `what`, when it is missing, longer than [`ID_CHARS_MAX`] or has control
/// characters.
pub(super) fn id(text: &str, what: &str) -> Told<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("no {what}"));
    }
    if ID_CHARS_MAX < text.chars().count() {
        return Err(format!("{what} longer than {ID_CHARS_MAX} characters"));
    }
    if text.chars().any(is_hidden) {
        return Err(format!("{what} with control characters"));
    }
    Ok(text.to_owned())
}

/// One line of at most `n_max` characters; longer text ends in a mark that says so. Line breaks, tabs and the spaces of
/// other scripts become plain spaces; other invisible characters are escaped.
pub(super) fn line(text: &str, n_max: usize) -> String {
    clean(text.trim().chars().map(|it| if it.is_whitespace() { ' ' } else { it }), n_max)
}

/// Like [`line`], but keeps line breaks and tabs.
pub(super) fn block(text: &str, n_max: usize) -> String {
    let keep = |it: char| if it.is_whitespace() && !matches!(it, '\n' | '\t') { ' ' } else { it };
    clean(text.trim().chars().filter(|it| *it != '\r').map(keep), n_max)
}

/// [`block`], or `None` for an empty text.
pub(super) fn some_block(text: &str, n_max: usize) -> Option<String> {
    Some(block(text, n_max)).filter(|it| !it.is_empty())
}

/// [`line`], or `None` for an empty text.
pub(super) fn some_line(text: &str, n_max: usize) -> Option<String> {
    Some(line(text, n_max)).filter(|it| !it.is_empty())
}

fn clean(chars: impl Iterator<Item = char>, n_max: usize) -> String {
    let n_kept = n_max - CUT.chars().count();
    let mut text = String::new();
    let mut n_chars = 0;
    // Byte length of the text up to which the mark still fits behind it.
    let mut kept = 0;
    for char in chars {
        let mut buffer = [0; 4];
        let char: &str = char.encode_utf8(&mut buffer);
        let piece = if matches!(char, "\n" | "\t") { Cow::Borrowed(char) } else { visible(char) };
        let n_more = piece.chars().count();
        if n_max < n_chars + n_more {
            text.truncate(kept);
            text.push_str(CUT);
            return text;
        }
        text.push_str(&piece);
        n_chars += n_more;
        if n_chars <= n_kept {
            kept = text.len();
        }
    }
    text
}

/// Control characters, and those that turn the direction of text or have no width: two ids that look alike must be the
/// same. Narrower than what [`visible`] escapes: an id may hold a no-break space or a character that Unicode did not
/// assign when this was built.
fn is_hidden(char: char) -> bool {
    let hides = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    let turns = matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || hides || turns
}
