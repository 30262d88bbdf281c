//! What a mapping reads in one row: places, words, times.

use std::str::FromStr;

use serde_json::Value;

use crate::clock::Time;
use crate::connect::device::Last;
use crate::text::line;

/// Longer texts of a tool are cut.
pub(super) const TEXT_CHARS_MAX: usize = 200;
const MICROS_DIGITS: usize = 6;

/// A JSON pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    text: String,
    parts: Vec<String>,
}

const POINTER_CHARS_MAX: usize = 200;

impl FromStr for Pointer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if POINTER_CHARS_MAX < text.chars().count() {
            return Err(format!("must have at most {POINTER_CHARS_MAX} characters"));
        }
        if !text.is_empty() && !text.starts_with('/') {
            return Err(format!("a JSON pointer begins with \"/\", such as \"/{text}\""));
        }
        let mut parts = Vec::new();
        for part in text.split('/').skip(1) {
            let escapes = part.split('~').skip(1);
            if escapes.into_iter().any(|it| !it.starts_with(['0', '1'])) {
                return Err(
                    "in a JSON pointer, \"~\" is written as \"~0\" and \"/\" as \"~1\"".to_owned()
                );
            }
            if part.is_empty() {
                return Err("has an empty part".to_owned());
            }
            parts.push(part.replace("~1", "/").replace("~0", "~"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }
}

/// What is at a place.
enum Place<'v> {
    Absent,
    /// It or something above it is null.
    Null,
    Value(&'v Value),
}

impl Pointer {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value there. `None`: there is none, or null.
    #[must_use]
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self.walk(value) {
            Place::Value(value) => Some(value),
            Place::Absent | Place::Null => None,
        }
    }

    fn walk<'v>(&self, mut value: &'v Value) -> Place<'v> {
        for part in &self.parts {
            let next = match value {
                Value::Object(fields) => fields.get(part),
                Value::Array(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
                Value::Null => return Place::Null,
                Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            let Some(next) = next else { return Place::Absent };
            value = next;
        }
        if value.is_null() { Place::Null } else { Place::Value(value) }
    }

    /// The member of a row that it leads into.
    pub(super) fn member(&self) -> Option<&str> {
        self.parts.first().map(String::as_str)
    }

    /// As people write it: `antivirus.status`.
    pub(super) fn dotted(&self) -> String {
        self.parts.join(".")
    }
}

/// The first of some places that has something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) at: Vec<Pointer>,
    /// That it is absent from all rows is nothing special.
    pub(super) is_optional: bool,
}

impl Field {
    pub(super) fn find<'v>(&self, row: &'v Value) -> Option<&'v Value> {
        let is_filled = |it: &&Value| it.as_str().is_none_or(|it| !it.trim().is_empty());
        self.at.iter().filter_map(|it| it.find(row)).find(is_filled)
    }

    /// Returns true if the row has one of the places, even if nothing is there.
    pub(super) fn is_in(&self, row: &Value) -> bool {
        self.at.iter().any(|it| !matches!(it.walk(row), Place::Absent))
    }

    pub(super) fn text(&self, row: &Value) -> Option<String> {
        self.find(row)
            .and_then(scalar)
            .map(|it| line(&it, TEXT_CHARS_MAX))
            .filter(|it| !it.is_empty())
    }

    /// One text, or each of a list.
    pub(super) fn texts(&self, row: &Value) -> Vec<String> {
        match self.find(row) {
            Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
            Some(value) => scalar(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// The pointer for messages.
    pub(super) fn place(&self) -> &str {
        self.at.first().map_or("", Pointer::as_str)
    }
}

/// A text, number or boolean as text. `1.0` is `1`.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => {
            let text = number.to_string();
            Some(text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned))
        }
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The identifier of a row or of a device: a text that is not empty, or a number. `None`: it has none that can be kept.
pub(super) fn identifier(at: &Pointer, row: &Value) -> Option<String> {
    let id = scalar(at.find(row)?)?;
    let is_kept =
        !id.is_empty() && id.chars().count() <= TEXT_CHARS_MAX && line(&id, TEXT_CHARS_MAX) == id;
    is_kept.then_some(id)
}

/// A word without what vendors spell differently: case, spaces and separators.
pub(super) fn folded(word: &str) -> String {
    word.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What was read of a field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    Value(T),
    /// Nothing is there, or it says so.
    Unknown,
    /// The mapping does not know what this means.
    Unmapped(String),
}

impl<T> Found<T> {
    pub(super) fn map<U>(self, with: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Value(value) => Found::Value(with(value)),
            Self::Unknown => Found::Unknown,
            Self::Unmapped(word) => Found::Unmapped(word),
        }
    }
}

/// Words and what they mean. `None`: they say that it is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words<T> {
    /// Folded. The whole value is the word.
    Listed(Vec<(String, Option<T>)>),
    /// In lower case. The first one that the value contains decides.
    Contained(Vec<(String, Option<T>)>),
}

impl<T: Copy> Words<T> {
    pub(super) fn read(&self, value: Option<&Value>) -> Found<T> {
        let Some(text) = value.and_then(scalar) else {
            return value
                .map_or(Found::Unknown, |_| Found::Unmapped("a list or an object".to_owned()));
        };
        let meaning = match self {
            Self::Listed(all) => {
                let word = folded(&text);
                all.iter().find(|(it, _)| *it == word)
            }
            Self::Contained(all) => {
                let text = text.to_lowercase();
                all.iter().find(|(it, _)| text.contains(it))
            }
        };
        match meaning {
            Some((_, Some(meaning))) => Found::Value(*meaning),
            Some((_, None)) => Found::Unknown,
            None => Found::Unmapped(text),
        }
    }
}

/// A yes or no of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) field: Field,
    pub(super) how: FlagHow,
    pub(super) is_negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FlagHow {
    Boolean,
    /// Yes if there is a text, no if it is empty.
    Filled,
    Words(Words<bool>),
}

impl Flag {
    pub(super) fn read(&self, row: &Value) -> Found<bool> {
        let value = self.field.find(row);
        let found = match &self.how {
            FlagHow::Boolean => match value {
                Some(Value::Bool(flag)) => Found::Value(*flag),
                None => Found::Unknown,
                Some(other) => Found::Unmapped(scalar(other).unwrap_or_default()),
            },
            FlagHow::Filled => {
                let is_there = self.field.at.iter().any(|it| it.find(row).is_some());
                if is_there { Found::Value(value.is_some()) } else { Found::Unknown }
            }
            FlagHow::Words(words) => words.read(value),
        };
        found.map(|it| it != self.is_negated)
    }
}

/// A moment of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) field: Field,
    pub(super) unit: Unit,
    /// What stands for never, as text.
    pub(super) never: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    S,
    Ms,
    Rfc3339,
}

impl Moment {
    pub(super) fn read(&self, row: &Value) -> Found<Last> {
        // An empty text may stand for never too.
        let empty = Value::String(String::new());
        let is_empty = self.field.at.iter().any(|it| it.find(row).is_some());
        let value = self.field.find(row).or(is_empty.then_some(&empty));
        let Some(text) = value.and_then(scalar) else {
            return value
                .map_or(Found::Unknown, |_| Found::Unmapped("a list or an object".to_owned()));
        };
        if self.never.contains(&text) {
            return Found::Value(Last::Never);
        }
        if text.is_empty() {
            return Found::Unknown;
        }
        let time = match self.unit {
            Unit::S => decimal_micros(&text, MICROS_DIGITS),
            Unit::Ms => decimal_micros(&text, MICROS_DIGITS - 3),
            Unit::Rfc3339 => text.parse::<Time>().ok(),
        };
        time.map_or(Found::Unmapped(text), |it| Found::Value(Last::At(it)))
    }
}

/// A decimal number of a unit that has `n_digits` more digits as microseconds.
fn decimal_micros(text: &str, n_digits: usize) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let fraction: String = fraction.chars().chain("000000".chars()).take(n_digits).collect();
    let micros: i64 = format!("{whole}{fraction}").parse().ok()?;
    (0..=Time::MAX.micros()).contains(&micros).then(|| Time::from_micros(micros))
}

/// Rows to leave out: those with one of some values at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) field: Field,
    /// Folded.
    pub(super) is: Vec<String>,
}

impl Condition {
    pub(super) fn holds(&self, row: &Value) -> bool {
        let value = self.field.find(row).and_then(scalar);
        value.is_some_and(|it| self.is.contains(&folded(&it)))
    }
}
