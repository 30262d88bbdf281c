//! Foreign text made safe to show: nothing in it moves a cursor, breaks a line, hides or turns the text around it.

use std::borrow::Cow;

/// The text with every invisible character escaped.
///
/// Escaped are the characters that [`str::escape_debug`] does not print: control and format characters (among them the
/// marks that turn the direction of text, such as U+202E, and characters of no width), every space but U+0020, line and
/// paragraph separators, and what Unicode does not assign or leaves to private use. An escape is `\n`, `\r`, `\t`, `\0`
/// or `\u{202e}`.
///
/// Quotes, backslashes and printable characters of every script stay as they are, so a text that holds only those is
/// borrowed. As a backslash stays as it is, the original cannot be restored from the result.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_visible(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_debug());
        }
    }
    Cow::Owned(shown)
}

/// Returns true if [`visible`] leaves the character as it is.
#[must_use]
pub fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    // Behind another character, `str::escape_debug` leaves a combining mark as it is; `char::escape_debug` never does.
    let mut pair = [b'a'; 5];
    let n_bytes = character.encode_utf8(&mut pair[1..]).len();
    let pair = str::from_utf8(&pair[..=n_bytes]).expect("a letter and a character are UTF-8");
    pair.escape_debug().nth(1) == Some(character)
}
