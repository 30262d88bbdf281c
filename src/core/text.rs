//! Foreign text made safe to show: nothing in it moves a cursor, breaks a line, hides or turns the text around it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Marks where a text was cut.
const CUT: &str = "… (cut)";
/// Names that the question about an unknown one suggests.
const N_SUGGESTED_MAX: usize = 3;
/// Nothing is spelled like a longer name: comparing takes as long as both are.
pub const NEAR_CHARS_MAX: usize = 100;

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

/// What names are told apart by: names of one key look the same to people. Upper and lower case, wide and narrow forms,
/// white space and invisible characters do not count, and neither do letters of other scripts that look like those of ASCII.
/// Letters of ASCII that look like each other are told apart.
#[must_use]
pub fn name_key(name: &str) -> String {
    let folded = name.nfkc().flat_map(char::to_lowercase);
    // At the end of a word, Greek has another small sigma.
    look(folded.map(|it| if it == 'ς' { 'σ' } else { it }))
}

/// The ways in which a name is told apart from others: names are alike if one of them is the same. Small letters of other
/// scripts may look like other ones than their capitals.
#[must_use]
pub fn looks(name: &str) -> Vec<String> {
    let capitals = name.nfkc().flat_map(char::to_uppercase);
    let mut looks = vec![name_key(name), look(capitals)];
    looks.dedup();
    looks
}

/// What has names, by their looks. Several may look the same.
#[derive(Debug)]
pub struct LookIndex<T>(HashMap<String, Vec<T>>);

impl<T> Default for LookIndex<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Copy + Ord> LookIndex<T> {
    pub fn put(&mut self, name: &str, of: T) {
        for look in looks(name) {
            self.0.entry(look).or_default().push(of);
        }
    }

    pub fn remove(&mut self, name: &str, of: T) {
        for look in looks(name) {
            let mut alike = self.0.remove(&look).unwrap_or_default();
            alike.retain(|it| *it != of);
            if !alike.is_empty() {
                self.0.insert(look, alike);
            }
        }
    }

    /// In order.
    #[must_use]
    pub fn find(&self, name: &str) -> BTreeSet<T> {
        looks(name).iter().filter_map(|it| self.0.get(it)).flatten().copied().collect()
    }
}

/// A dot, in names of hosts (RFC 5895).
const IDEOGRAPHIC_STOP: char = '\u{3002}';
const DOT_ABOVE: char = '\u{307}';

fn look(name: impl Iterator<Item = char>) -> String {
    let mut key = String::new();
    for character in name {
        let character = if character == IDEOGRAPHIC_STOP { '.' } else { character };
        if character == DOT_ABOVE {
            // Nobody sees it on an i, and other letters have become one with theirs.
        } else if character.is_whitespace() {
            if !key.is_empty() && !key.ends_with(' ') {
                key.push(' ');
            }
        } else if character.is_ascii() {
            key.extend(is_visible(character).then_some(character.to_ascii_lowercase()));
        } else if is_visible(character) {
            let mut buffer = [0; 4];
            let alike = skeleton(character.encode_utf8(&mut buffer));
            key.extend(alike.flat_map(char::to_lowercase));
        }
    }
    key.truncate(key.trim_end().len());
    key
}

/// The letters and digits of a text, and hyphens for everything between them, for the name of a file.
#[must_use]
pub fn file_word(text: &str) -> String {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join("-")
}

/// One line of at most `n_max` characters; longer text ends in a mark that says so. Line breaks, tabs and the spaces of
/// other scripts become plain spaces; other invisible characters are escaped.
#[must_use]
pub fn line(text: &str, n_max: usize) -> String {
    clean(text.trim().chars().map(|it| if it.is_whitespace() { ' ' } else { it }), n_max)
}

/// Like [`line`], but keeps line breaks and tabs.
#[must_use]
pub fn block(text: &str, n_max: usize) -> String {
    let keep = |it: char| if it.is_whitespace() && !matches!(it, '\n' | '\t') { ' ' } else { it };
    clean(text.trim().chars().filter(|it| *it != '\r').map(keep), n_max)
}

/// [`block`], or `None` for an empty text.
#[must_use]
pub fn some_block(text: &str, n_max: usize) -> Option<String> {
    Some(block(text, n_max)).filter(|it| !it.is_empty())
}

/// [`line`], or `None` for an empty text.
#[must_use]
pub fn some_line(text: &str, n_max: usize) -> Option<String> {
    Some(line(text, n_max)).filter(|it| !it.is_empty())
}

/// The known name that is nearest to a wrong one. `None` if none is near.
#[must_use]
pub fn nearest<'a>(wrong: &str, known: &'a [String]) -> Option<&'a str> {
    near(wrong, known).first().copied()
}

/// Asks whether one of the known names was meant: those that contain the wrong one, then those that are spelled alike. `None`
/// if there are none.
#[must_use]
pub fn did_you_mean(wrong: &str, known: &[String]) -> Option<String> {
    let wanted = wrong.to_lowercase();
    let contains = |it: &&str| !wanted.is_empty() && it.to_lowercase().contains(&wanted);
    let containing = known.iter().map(String::as_str).filter(contains);
    let mut found: Vec<String> = Vec::new();
    for name in containing.chain(near(wrong, known)).map(|it| format!("`{it}`")) {
        if found.len() < N_SUGGESTED_MAX && !found.contains(&name) {
            found.push(name);
        }
    }
    let (last, others) = found.split_last()?;
    let others = others.join(", ");
    let names = if others.is_empty() { last.clone() } else { format!("{others} or {last}") };
    Some(format!("did you mean {names}?"))
}

/// The known names that are near a wrong one, nearest first.
fn near<'a>(wrong: &str, known: &'a [String]) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase();
    let n_chars = wrong.chars().count();
    if NEAR_CHARS_MAX < n_chars {
        return Vec::new();
    }
    let n_max = 1 + n_chars / 3;
    // Every further character is a difference.
    let is_as_long = |it: &&String| it.chars().count().abs_diff(n_chars) <= n_max;
    let measured = known.iter().filter(is_as_long).map(|it| {
        let distance = strsim::damerau_levenshtein(&wrong, &it.to_lowercase());
        (distance, it.as_str())
    });
    let mut near: Vec<_> = measured.filter(|(distance, _)| *distance <= n_max).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, name)| name).collect()
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
