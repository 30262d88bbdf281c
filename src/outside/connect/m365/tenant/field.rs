//! Fields of Graph's rows. A field that is absent, null or of another type never fails its row, and never turns into a value.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::clock::Time;

/// What Graph writes for a time that never was.
const NEVER: &str = "0001-01-01T";

/// A row of Graph in its wire form. Each field takes what it can read of the value, or else its default.
macro_rules! row {
    ($($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
            #[serde(default, rename_all = "camelCase")]
            #[allow(clippy::struct_field_names, reason = "the names are Graph's")]
            pub struct $name {
                $(
                    $(#[$note])*
                    #[serde(deserialize_with = "super::field::lenient")]
                    pub $field: $type,
                )*
            }
        )*
    };
}
pub(super) use row;

pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A field of which null says something else than its absence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// Or of another type.
    #[default]
    Absent,
    Null,
    Is(T),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Null);
        }
        Ok(serde_json::from_value(value).map_or(Self::Absent, Self::Is))
    }
}

/// A list of words. Null is an empty one; words in one text are separated by commas.
///
/// What is no text stays as the text of its JSON, so that an exclusion of an unknown form is still an exclusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

impl Words {
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.0.iter().any(|it| it.eq_ignore_ascii_case(word))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = |it: Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let words = match Value::deserialize(deserializer)? {
            Value::Null => Vec::new(),
            Value::Array(items) => items.into_iter().map(word).collect(),
            Value::String(text) => text.split(',').map(|it| it.trim().to_owned()).collect(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => vec![word(other)],
        };
        Ok(Self(words.into_iter().filter(|it| !it.is_empty()).collect()))
    }
}

/// A list of rows inside a row. Null is an empty one; what is no row is one of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T>(pub Vec<T>);

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = |it: Value| serde_json::from_value(it).unwrap_or_default();
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::Null => Vec::new(),
            Value::Array(items) => items.into_iter().map(row).collect(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                vec![row(other)]
            }
        }))
    }
}

/// A time as Graph writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Never,
    At(Time),
}

impl Moment {
    /// `None`: absent, or not a time.
    #[must_use]
    pub fn parse(text: Option<&str>) -> Option<Self> {
        let text = text?;
        if text.starts_with(NEVER) {
            return Some(Self::Never);
        }
        text.parse().ok().map(Self::At)
    }

    /// `None`: never, absent, or not a time.
    #[must_use]
    pub fn time(text: Option<&str>) -> Option<Time> {
        match Self::parse(text)? {
            Self::Never => None,
            Self::At(time) => Some(time),
        }
    }
}
