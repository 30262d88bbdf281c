//! The file as written: its sections, and the keys outside of any.

use std::collections::BTreeMap;

use crate::encoding::{self, NotText};
use crate::toml_reader::{Problem, Table, TomlDocument, TomlEntry};

/// One section.
pub(super) struct Section<'d> {
    /// The line of its header.
    pub(super) line: usize,
    pub(super) table: Table<'d>,
}

/// The sections of a file, by name.
pub(super) struct Sections<'d> {
    pub(super) sections: BTreeMap<&'d str, Section<'d>>,
    /// Keys outside of any section.
    pub(super) strays: Vec<(&'d str, TomlEntry<'d>)>,
}

impl<'d> Sections<'d> {
    pub(super) fn of(document: &'d TomlDocument<'d>) -> Self {
        let root = document.root();
        let mut read = Self { sections: BTreeMap::new(), strays: Vec::new() };
        for (name, entry) in root.entries() {
            if entry.value.get_ref().is_table() {
                let Some(mut table) = root.inner(name, entry.value) else { continue };
                table.set_label(format!("{name}."));
                read.sections.insert(name, Section { line: entry.line, table });
            } else {
                read.strays.push((name, entry));
            }
        }
        read
    }

    /// The value of `section.key`, which is known from now on.
    pub(super) fn find(&mut self, key: &'static str) -> Option<TomlEntry<'d>> {
        let (section, name) = key.split_once('.')?;
        self.sections.get_mut(section)?.table.find(name)
    }
}

/// # Errors
/// The place of the first byte that is not UTF-8.
pub(super) fn utf8<'t>(name: &str, bytes: &'t [u8]) -> Result<&'t str, Problem> {
    encoding::text(bytes).map_err(|why| Problem {
        file: name.to_owned(),
        line: match why {
            NotText::Utf16 => None,
            NotText::NotUtf8 { valid_up_to } => {
                Some(bytes[..valid_up_to].split(|byte| *byte == b'\n').count())
            }
        },
        message: why.to_string(),
    })
}
