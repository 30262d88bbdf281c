//! A table of the catalog's files.
//!
//! A wrong value is answered by a placeholder, so that reading goes on; its problem refuses the whole catalog.

use std::fmt;
use std::ops::RangeInclusive;

use crate::toml_reader::{Problem, Table, Value, array, flag, number, text, word, wrong};

/// A text and its place.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) line: usize,
}

/// One table. [`ItemTable::finish`] it, or its problems are lost.
#[must_use]
pub(super) struct ItemTable<'d>(pub(super) Table<'d>);

impl<'d> ItemTable<'d> {
    /// Messages from now on begin with what this is.
    pub(super) fn set_label(&mut self, noun: &str, name: &str) {
        self.0.set_label(format!("{noun} {name:?}: "));
    }

    pub(super) fn problem(&self, line: usize, message: impl fmt::Display) {
        self.0.problem(line, message);
    }

    /// Reports the unknown keys, and hands over all problems.
    pub(super) fn finish(self, problems: &mut Vec<Problem>) {
        problems.append(&mut self.0.finish());
    }

    /// Takes over the problems of a table inside of this one.
    pub(super) fn absorb(&self, inner: ItemTable<'_>) {
        self.0.absorb(inner.0);
    }

    pub(super) fn line(&self) -> usize {
        self.0.line
    }

    pub(super) fn line_of(&self, key: &str) -> usize {
        self.0.line_of(key)
    }

    /// A text that breaks a rule stays: it may name the table in other messages.
    fn text_in(&self, key: &str, value: &'d Value<'d>, chars: RangeInclusive<usize>) -> String {
        let raw = value.get_ref().as_str().unwrap_or_default();
        self.0.ruled(key, value, text(chars)).unwrap_or_else(|| raw.to_owned())
    }

    pub(super) fn text(&mut self, key: &'static str, chars: RangeInclusive<usize>) -> Text {
        let line = self.line_of(key);
        let text = self.0.get(key).map(|it| self.text_in(key, it.value, chars));
        Text { text: text.unwrap_or_default(), line }
    }

    pub(super) fn find_text(
        &mut self,
        key: &'static str,
        chars: RangeInclusive<usize>,
    ) -> Option<Text> {
        let line = self.line_of(key);
        let text = self.0.find(key).map(|it| self.text_in(key, it.value, chars))?;
        Some(Text { text, line })
    }

    /// What one of the `words` means; the first is the placeholder.
    pub(super) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> T {
        let value = self.0.get(key);
        value.and_then(|it| self.0.ruled(key, it.value, word(words))).unwrap_or(words[0].1)
    }

    pub(super) fn find_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        self.0.find(key).and_then(|it| self.0.ruled(key, it.value, word(words)))
    }

    /// Each word at most once.
    pub(super) fn words<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Vec<T> {
        let mut meanings = Vec::new();
        for value in self.array(key) {
            let Some(meaning) = self.0.ruled(key, value, word(words)) else { continue };
            let once = |value: &Value<'_>| {
                let word = value.get_ref().as_str().unwrap_or_default();
                let rule = || format!("{word:?} appears more than once");
                if meanings.contains(&meaning) { wrong(value, rule()) } else { Ok(()) }
            };
            self.0.ruled(key, value, once);
            meanings.push(meaning);
        }
        meanings
    }

    /// The placeholder is the start of the range.
    pub(super) fn number(&mut self, key: &'static str, range: RangeInclusive<u16>) -> u16 {
        let (value, min) = (self.0.get(key), *range.start());
        value.and_then(|it| self.0.ruled(key, it.value, number(range))).unwrap_or(min)
    }

    pub(super) fn find_number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u16>,
    ) -> Option<u16> {
        self.0.find(key).and_then(|it| self.0.ruled(key, it.value, number(range)))
    }

    /// False when the key is not there.
    pub(super) fn flag(&mut self, key: &'static str) -> bool {
        self.0.find(key).and_then(|it| self.0.ruled(key, it.value, flag)).unwrap_or(false)
    }

    /// Different texts. Empty when the key is not there.
    pub(super) fn find_texts(
        &mut self,
        key: &'static str,
        chars: &RangeInclusive<usize>,
    ) -> Vec<Text> {
        let found = self.0.find(key).and_then(|it| self.0.ruled(key, it.value, array));
        let mut texts: Vec<Text> = Vec::new();
        for value in found.unwrap_or_default() {
            let text = self.text_in(key, value, chars.clone());
            let line = self.0.line_at(value);
            if texts.iter().any(|it| it.text == text) {
                self.problem(line, format!("{key}: {text:?} appears more than once"));
            }
            texts.push(Text { text, line });
        }
        texts
    }

    fn array(&mut self, key: &'static str) -> &'d [Value<'d>] {
        self.0.get(key).and_then(|it| self.0.ruled(key, it.value, array)).unwrap_or_default()
    }

    /// The tables of an array, each with the label of this one.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<ItemTable<'d>> {
        self.array(key).iter().filter_map(|it| self.0.inner(key, it).map(ItemTable)).collect()
    }

    /// [`ItemTable::tables`] of a key that may be absent.
    pub(super) fn find_tables(&mut self, key: &'static str) -> Vec<ItemTable<'d>> {
        let found = self.0.find(key).and_then(|it| self.0.ruled(key, it.value, array));
        let tables = found.unwrap_or_default().iter();
        tables.filter_map(|it| self.0.inner(key, it).map(ItemTable)).collect()
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<ItemTable<'d>> {
        self.0.get(key).and_then(|it| self.0.inner(key, it.value).map(ItemTable))
    }

    pub(super) fn find_table(&mut self, key: &'static str) -> Option<ItemTable<'d>> {
        self.0.find(key).and_then(|it| self.0.inner(key, it.value).map(ItemTable))
    }

    /// The tables that are its values, by line, whatever their names.
    pub(super) fn all_tables(&self) -> Vec<(&'d str, ItemTable<'d>)> {
        let all = self.0.entries().into_iter();
        all.filter_map(|(key, it)| Some((key, ItemTable(self.0.inner(key, it.value)?)))).collect()
    }

    /// All problems. Any key is known.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.0.into_problems()
    }

    /// A table of lists of lists of texts, by line. Takes the place of [`ItemTable::finish`]: any key is known.
    pub(super) fn groups(
        self,
        chars: &RangeInclusive<usize>,
        problems: &mut Vec<Problem>,
    ) -> Vec<(Text, Vec<Vec<Text>>)> {
        let mut all = Vec::new();
        for (key, entry) in self.0.entries() {
            let values = self.0.ruled(key, entry.value, array).unwrap_or_default();
            let group = |it: &'d Value<'d>| {
                let texts = self.0.ruled(key, it, array).unwrap_or_default().iter();
                let text = |it: &'d Value<'d>| Text {
                    text: self.text_in(key, it, chars.clone()),
                    line: self.0.line_at(it),
                };
                texts.map(text).collect()
            };
            let groups = values.iter().map(group).collect();
            all.push((Text { text: key.to_owned(), line: entry.line }, groups));
        }
        problems.append(&mut self.0.into_problems());
        all
    }

    /// A table of lists of texts, by line. Takes the place of [`ItemTable::finish`]: any key is known.
    pub(super) fn lists(
        self,
        chars: &RangeInclusive<usize>,
        problems: &mut Vec<Problem>,
    ) -> Vec<(Text, Vec<Text>)> {
        let mut lists = Vec::new();
        for (key, entry) in self.0.entries() {
            let values = self.0.ruled(key, entry.value, array).unwrap_or_default();
            let texts = values.iter().map(|it| Text {
                text: self.text_in(key, it, chars.clone()),
                line: self.0.line_at(it),
            });
            lists.push((Text { text: key.to_owned(), line: entry.line }, texts.collect()));
        }
        problems.append(&mut self.0.into_problems());
        lists
    }
}
