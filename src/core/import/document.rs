//! Reports that are one JSON document: read as a stream, and only what is needed of them is kept.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::scalar::Scalar;
use super::{RECORD_BYTES_MAX, text, unreadable};
use crate::error::{Error, Result};

/// A document nested deeper is refused. Reports of the known tools nest two dozen.
const DEPTH_MAX: u32 = 100;
/// Of a longer text, the rest is not kept.
const TEXT_CHARS_MAX: usize = 4_000;
/// Of a longer name of a member, the rest is not kept.
const NAME_CHARS_MAX: usize = 100;
const CHUNK_BYTES: usize = 64 << 10;

/// Reads a document to its end. `what`: whose report it should be.
///
/// # Errors
/// `Invalid` if it is truncated, invalid, too deep, or of another form.
pub(super) fn parse<T: DeserializeOwned>(input: &mut dyn BufRead, what: &str) -> Result<T> {
    let mut guard = Guard::new(input);
    let parsed = {
        let buffered = BufReader::with_capacity(CHUNK_BYTES, &mut guard);
        let mut deserializer = serde_json::Deserializer::from_reader(buffered);
        let parsed = Object::<T>::deserialize(&mut deserializer);
        parsed.and_then(|it| deserializer.end().map(|()| it.0))
    };
    parsed.map_err(|error| wrong(error, guard.refused, what))
}

/// Why the parser could not go on. `refused`: what the guard refused.
fn wrong(error: serde_json::Error, refused: Option<String>, what: &str) -> Error {
    match refused.filter(|_| error.is_io()) {
        Some(reason) => Error::invalid(format!("not a report of {what}: {reason}")),
        None if error.is_io() => unreadable(error.into()),
        None if error.is_eof() => Error::invalid(format!(
            "the file is truncated: it ends at line {}, column {}; let the tool finish, or copy the file again",
            error.line(),
            error.column()
        )),
        None => {
            let why = text::line(&error.to_string(), text::WHY_CHARS_MAX);
            Error::invalid(if error.is_data() {
                format!("not a report of {what}: {why}")
            } else {
                format!("invalid JSON: {why}; export the report again")
            })
        }
    }
}

/// What comes next in a document.
pub(super) enum Part<'a> {
    /// An object begins: the document itself, the value of a member, or an element of a list.
    Open,
    /// A text, number or boolean. Null is the empty text.
    Text(&'a str),
    /// The object ends.
    Close,
}

/// Walks through documents, one after the other, to the end of the file. A list of objects counts as so many documents.
///
/// `visit` gets the names of the members that lead to each part. Elements of a list have the name of the list.
/// `what`: whose report it should be.
///
/// # Errors
/// `Invalid` if it is truncated, invalid, too deep, or no object. Whatever `visit` returns.
pub(super) fn walk(
    input: &mut dyn BufRead,
    what: &str,
    visit: &mut dyn FnMut(&[&str], Part<'_>) -> Result<()>,
) -> Result<()> {
    let mut guard = Guard::new(input);
    let mut steps = Steps { path: Vec::new(), visit, failed: None };
    let parsed = {
        let buffered = BufReader::with_capacity(CHUNK_BYTES, &mut guard);
        let mut deserializer = serde_json::Deserializer::from_reader(buffered);
        loop {
            if let Err(error) = Step(&mut steps).deserialize(&mut deserializer) {
                break Err(error);
            }
            match deserializer.end() {
                Err(error) if error.is_syntax() => (), // Another document follows.
                end => break end,
            }
        }
    };
    if let Some(error) = steps.failed {
        return Err(error);
    }
    parsed.map_err(|error| wrong(error, guard.refused, what))
}

/// The way to the current part.
struct Steps<'a> {
    path: Vec<String>,
    visit: &'a mut dyn FnMut(&[&str], Part<'_>) -> Result<()>,
    /// What `visit` returned.
    failed: Option<Error>,
}

impl Steps<'_> {
    fn tell<E: serde::de::Error>(&mut self, part: Part<'_>) -> Result<(), E> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        (self.visit)(&path, part).map_err(|error| {
            let message = error.message().to_owned();
            self.failed = Some(error);
            E::custom(message)
        })
    }

    fn text<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        if self.path.is_empty() {
            return Err(E::custom("it is no object"));
        }
        self.tell(Part::Text(text))
    }
}

/// Reads one value.
struct Step<'a, 'b>(&'a mut Steps<'b>);

impl<'de> DeserializeSeed<'de> for Step<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.0.text(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        self.0.text(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        self.0.text(&number.to_string())
    }

    fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<(), E> {
        self.0.text(if flag { "true" } else { "false" })
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.text("")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Step(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.tell(Part::Open)?;
        while let Some(name) = map.next_key::<Name>()? {
            self.0.path.push(name.0);
            map.next_value_seed(Step(&mut *self.0))?;
            self.0.path.pop();
        }
        self.0.tell(Part::Close)
    }
}

/// The name of a member, cut: longer ones are unknown.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, text: &str) -> Result<Name, E> {
        Ok(Name(text.chars().take(NAME_CHARS_MAX).collect()))
    }
}

/// Bounds what the parser collects before it returns: a text, and how deep it is.
struct Guard<'a> {
    input: &'a mut dyn BufRead,
    is_text: bool,
    is_escaped: bool,
    /// Bytes of the text so far.
    n_text: usize,
    depth: u32,
    refused: Option<String>,
}

impl<'a> Guard<'a> {
    fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, is_text: false, is_escaped: false, n_text: 0, depth: 0, refused: None }
    }
}

impl Guard<'_> {
    /// Looks at bytes until one of them is too much, and returns where it is.
    fn look(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.is_text {
                self.n_text += 1;
                if RECORD_BYTES_MAX < self.n_text {
                    let reason = format!("a text is longer than {} MiB", RECORD_BYTES_MAX >> 20);
                    self.refused = Some(reason);
                    return Some(at);
                }
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_text = false,
                    _ => (),
                }
                continue;
            }
            match byte {
                b'"' => (self.is_text, self.n_text) = (true, 0),
                b'{' | b'[' => {
                    self.depth += 1;
                    if DEPTH_MAX < self.depth {
                        self.refused = Some("it is nested too deeply".to_owned());
                        return Some(at);
                    }
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => (),
            }
        }
        None
    }
}

/// What comes before the byte that is too much is handed out, so that the parser may find its own fault there.
impl Read for Guard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = if self.refused.is_some() { 0 } else { self.input.read(buffer)? };
        let n_good = self.look(&buffer[..n_read]).unwrap_or(n_read);
        match &self.refused {
            Some(reason) if n_good == 0 => {
                Err(io::Error::new(io::ErrorKind::InvalidData, reason.clone()))
            }
            _ => Ok(n_good),
        }
    }
}

/// A document that is an object. A list is none, though a struct could be read from it by position.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// A text, whatever type a release of the tool gives it, cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Brief(pub(super) String);

impl<'de> Deserialize<'de> for Brief {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        Ok(Self(text.chars().take(TEXT_CHARS_MAX).collect()))
    }
}

/// A list of at most `MAX`. Null is none, and an object alone is one, as PowerShell writes it.
#[derive(Debug)]
pub(super) struct Rows<T, const MAX: usize>(pub(super) Vec<T>);

/// All values of an object with at most `MAX` names, with these names, cut.
#[derive(Debug)]
pub(super) struct Named<T, const MAX: usize>(pub(super) Vec<(String, T)>);

impl<T, const MAX: usize> Default for Named<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Default for Rows<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Rows<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RowsVisitor(PhantomData))
    }
}

struct RowsVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for RowsVisitor<T, MAX> {
    type Value = Rows<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Rows::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = list.next_element()? {
            if rows.len() == MAX {
                return Err(A::Error::custom(format!("a list has more than {MAX} rows")));
            }
            rows.push(row);
        }
        Ok(Rows(rows))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|it| Rows(vec![it]))
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Named<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for NamedVisitor<T, MAX> {
    type Value = Named<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Named::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(name) = map.next_key::<Name>()? {
            if values.len() == MAX {
                return Err(A::Error::custom(format!("an object has more than {MAX} names")));
            }
            values.push((name.0, map.next_value()?));
        }
        Ok(Named(values))
    }
}
