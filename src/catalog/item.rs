//! A TOML table that is read key by key; each wrong or unknown key becomes a problem with its line.
//!
//! A wrong value is answered by a placeholder, so that reading goes on; its problem refuses the
//! whole catalogue.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{FOLDER, Problem};

/// One file, parsed.
pub(super) struct Source<'t> {
    /// Below the catalogue's folder.
    pub(super) name: &'t str,
    /// Byte offset of each line.
    line_starts: Vec<usize>,
    table: DeTable<'t>,
}

impl<'t> Source<'t> {
    /// What is not TOML becomes problems.
    pub(super) fn parse(name: &'t str, text: &'t str, problems: &mut Vec<Problem>) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(feeds.map(|(at, _)| at + 1)).collect();
        let source = Self { name, line_starts, table: table.into_inner() };
        problems.extend(errors.iter().map(|it| {
            let line = it.span().map(|span| source.line(span.start));
            source.problem(line, it.message())
        }));
        source
    }

    pub(super) fn root(&self) -> Item<'_> {
        Item {
            source: self,
            table: &self.table,
            line: 1,
            label: String::new(),
            known: Vec::new(),
            problems: RefCell::default(),
        }
    }

    pub(super) fn problem(&self, line: Option<usize>, message: impl Into<String>) -> Problem {
        Problem { file: format!("{FOLDER}/{}", self.name), line, message: message.into() }
    }

    /// Counts from 1.
    fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }
}

/// A text and its place.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) line: usize,
}

/// One table of a file. [`Item::finish`] it, or its problems are lost.
#[must_use]
pub(super) struct Item<'s> {
    source: &'s Source<'s>,
    table: &'s DeTable<'s>,
    pub(super) line: usize,
    /// What it is, for messages: `row "GV.OC": `, or nothing.
    label: String,
    known: Vec<&'static str>,
    problems: RefCell<Vec<Problem>>,
}

impl<'s> Item<'s> {
    /// From now on messages begin with what this is.
    pub(super) fn set_label(&mut self, noun: &str, name: &str) {
        self.label = format!("{noun} {name:?}: ");
    }

    pub(super) fn problem(&self, line: usize, message: impl std::fmt::Display) {
        let message = format!("{}{message}", self.label);
        self.problems.borrow_mut().push(self.source.problem(Some(line), message));
    }

    /// Reports the keys that nobody asked for, and hands over all problems.
    pub(super) fn finish(self, problems: &mut Vec<Problem>) {
        for key in self.table.keys() {
            if !self.known.contains(&key.get_ref().as_ref()) {
                let line = self.source.line(key.span().start);
                self.problem(line, format!("unknown key {:?}", key.get_ref()));
            }
        }
        problems.append(&mut self.problems.borrow_mut());
    }

    /// Takes over the problems of a table inside of this one.
    pub(super) fn absorb(&self, inner: Item<'_>) {
        inner.finish(&mut self.problems.borrow_mut());
    }

    pub(super) fn line_of(&self, key: &str) -> usize {
        self.table.get(key).map_or(self.line, |it| self.source.line(it.span().start))
    }

    fn find(&mut self, key: &'static str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn get(&mut self, key: &'static str) -> Option<&'s Spanned<DeValue<'s>>> {
        let value = self.find(key);
        if value.is_none() {
            self.problem(self.line, format!("missing key {key:?}"));
        }
        value
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let line = self.source.line(value.span().start);
        self.problem(
            line,
            format!("{key}: must be of type {wanted}, is {}", value.get_ref().type_str()),
        );
    }

    /// One line of `chars` characters without spaces around it.
    fn text_in(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        chars: &RangeInclusive<usize>,
    ) -> Text {
        let line = self.source.line(value.span().start);
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, value, "string");
            return Text { text: String::new(), line };
        };
        let n_chars = text.chars().count();
        if !chars.contains(&n_chars) {
            let (min, max) = (chars.start(), chars.end());
            self.problem(line, format!("{key}: {n_chars} characters, must be {min} to {max}"));
        }
        if text.trim() != text || text.contains(char::is_control) {
            self.problem(line, format!("{key}: must be one line without spaces around it"));
        }
        Text { text: text.to_owned(), line }
    }

    pub(super) fn text(&mut self, key: &'static str, chars: RangeInclusive<usize>) -> Text {
        match self.get(key) {
            Some(value) => self.text_in(key, value, &chars),
            None => Text { text: String::new(), line: self.line },
        }
    }

    pub(super) fn find_text(
        &mut self,
        key: &'static str,
        chars: RangeInclusive<usize>,
    ) -> Option<Text> {
        self.find(key).map(|value| self.text_in(key, value, &chars))
    }

    fn word_in<T: Copy>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        words: &[(&str, T)],
    ) -> Option<T> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, value, "string");
            return None;
        };
        let word = words.iter().find(|(word, _)| *word == text);
        if word.is_none() {
            let line = self.source.line(value.span().start);
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.problem(line, format!("{key}: unknown word {text:?}, must be one of {known}"));
        }
        word.map(|(_, meaning)| *meaning)
    }

    /// What one of the `words` means; the first is the placeholder.
    pub(super) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> T {
        let value = self.get(key);
        value.and_then(|it| self.word_in(key, it, words)).unwrap_or(words[0].1)
    }

    pub(super) fn find_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        self.find(key).and_then(|it| self.word_in(key, it, words))
    }

    /// Each word at most once.
    pub(super) fn words<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Vec<T> {
        let mut meanings = Vec::new();
        for value in self.array(key) {
            let Some(meaning) = self.word_in(key, value, words) else { continue };
            if meanings.contains(&meaning) {
                let line = self.source.line(value.span().start);
                let word = value.get_ref().as_str().unwrap_or_default();
                self.problem(line, format!("{key}: {word:?} stands there twice"));
            }
            meanings.push(meaning);
        }
        meanings
    }

    /// The placeholder is the start of the range.
    pub(super) fn number(&mut self, key: &'static str, range: RangeInclusive<u16>) -> u16 {
        let value = self.get(key);
        value.and_then(|it| self.number_in(key, it, &range)).unwrap_or(*range.start())
    }

    pub(super) fn find_number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u16>,
    ) -> Option<u16> {
        self.find(key).and_then(|it| self.number_in(key, it, &range))
    }

    fn number_in(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        range: &RangeInclusive<u16>,
    ) -> Option<u16> {
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong_type(key, value, "integer");
            return None;
        };
        let number = u16::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|it| range.contains(it));
        if number.is_none() {
            let line = self.source.line(value.span().start);
            let (min, max) = (range.start(), range.end());
            self.problem(line, format!("{key}: {integer} is not in {min} to {max}"));
        }
        number
    }

    /// False when it is not there.
    pub(super) fn flag(&mut self, key: &'static str) -> bool {
        let Some(value) = self.find(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong_type(key, value, "boolean");
            false
        })
    }

    fn array(&mut self, key: &'static str) -> &'s [Spanned<DeValue<'s>>] {
        let Some(value) = self.get(key) else { return &[] };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "array");
            return &[];
        };
        array
    }

    /// The tables of an array, each with the label of this one.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Item<'s>> {
        self.array(key).iter().filter_map(|it| self.table_in(key, it)).collect()
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<Item<'s>> {
        self.get(key).and_then(|it| self.table_in(key, it))
    }

    pub(super) fn find_table(&mut self, key: &'static str) -> Option<Item<'s>> {
        self.find(key).and_then(|it| self.table_in(key, it))
    }

    fn table_in(&self, key: &str, value: &'s Spanned<DeValue<'s>>) -> Option<Item<'s>> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "table");
            return None;
        };
        Some(Item {
            source: self.source,
            table,
            line: self.source.line(value.span().start),
            label: self.label.clone(),
            known: Vec::new(),
            problems: RefCell::default(),
        })
    }

    /// A table of lists of texts, in the file's order. Takes the place of [`Item::finish`]: any key
    /// is known.
    pub(super) fn lists(
        self,
        chars: RangeInclusive<usize>,
        problems: &mut Vec<Problem>,
    ) -> Vec<(Text, Vec<Text>)> {
        let mut lists = Vec::new();
        for (key, value) in self.table {
            let line = self.source.line(key.span().start);
            let key = Text { text: key.get_ref().as_ref().to_owned(), line };
            let texts = value.get_ref().as_array().map(|it| it.iter());
            if texts.is_none() {
                self.wrong_type(&key.text, value, "array");
            }
            let texts = texts.into_iter().flatten();
            let texts = texts.map(|it| self.text_in(&key.text, it, &chars)).collect();
            lists.push((key, texts));
        }
        lists.sort_by_key(|(key, _)| key.line);
        problems.append(&mut self.problems.borrow_mut());
        lists
    }
}
