//! The file as written: dotted keys, their values, and where they stand. Nothing is judged here but
//! the TOML.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// Something that the file gets wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As it was named.
    pub file: String,
    /// Counts from 1.
    pub line: usize,
    /// Names the key and the rule.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// One key and what it was given.
pub(super) struct Entry<'t> {
    /// Where the key stands.
    pub(super) line: usize,
    pub(super) value: Value<'t>,
}

pub(super) struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// By `section.key`.
    pub(super) entries: BTreeMap<String, Entry<'t>>,
    /// Keys outside of any section.
    pub(super) strays: BTreeMap<String, Entry<'t>>,
    /// Name -> line of its header.
    pub(super) sections: BTreeMap<String, usize>,
}

impl<'t> File<'t> {
    /// # Errors
    /// Everything that is not TOML.
    pub(super) fn parse(name: &'t str, text: &'t str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let (entries, strays, sections) = Default::default();
        let mut file = Self { name, text, entries, strays, sections };
        if !errors.is_empty() {
            let at = |it: &toml::de::Error| it.span().map_or(0, |span| span.start);
            let problem = |it: &toml::de::Error| file.problem(file.line(at(it)), it.message());
            let mut problems: Vec<Problem> = errors.iter().map(problem).collect();
            problems.sort_by_key(|it| it.line);
            return Err(problems);
        }
        for (key, value) in table.into_inner() {
            let line = file.line(key.span().start);
            let (at, name, value) = (value.span(), key.into_inner(), value.into_inner());
            if let DeValue::Table(section) = value {
                file.add_section(&name, line, section);
            } else {
                let value = Spanned::new(at, value);
                file.strays.insert(name.into_owned(), Entry { line, value });
            }
        }
        Ok(file)
    }

    fn add_section(&mut self, name: &str, line: usize, section: DeTable<'t>) {
        self.sections.insert(name.to_owned(), line);
        for (key, value) in section {
            let line = self.line(key.span().start);
            self.entries.insert(format!("{name}.{}", key.get_ref()), Entry { line, value });
        }
    }

    pub(super) fn problem(&self, line: usize, message: impl Into<String>) -> Problem {
        Problem { file: self.name.to_owned(), line, message: message.into() }
    }

    /// File and line, as people write them.
    pub(super) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.name)
    }

    /// Of a byte offset. Counts from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        line(self.text.as_bytes(), at)
    }
}

/// # Errors
/// The place of the first byte that is not UTF-8.
pub(super) fn utf8<'t>(name: &str, bytes: &'t [u8]) -> Result<&'t str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| Problem {
        file: name.to_owned(),
        line: line(bytes, error.valid_up_to()),
        message: "not UTF-8".to_owned(),
    })
}

fn line(text: &[u8], at: usize) -> usize {
    text[..at.min(text.len())].split(|byte| *byte == b'\n').count()
}
