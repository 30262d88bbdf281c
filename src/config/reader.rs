//! Reads key after key of a file over the defaults; keeps what is wrong, what holds and where that
//! comes from.

use super::file::{Entry, File, Problem, Value};
use super::rule::Ruled;
use crate::text::is_visible;

/// One key as it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: &'static str,
    /// In TOML. `None`: not set.
    pub(super) value: Option<String>,
    /// File and line, when it differs from the default.
    pub(super) origin: Option<String>,
}

pub(super) struct Reader<'t> {
    file: &'t File<'t>,
    defaults: &'t File<'t>,
    /// In the order of reading.
    settings: Vec<Setting>,
    /// Keys whose value is wrong: how they go with others cannot be told.
    wrong: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t File<'t>, defaults: &'t File<'t>) -> Self {
        Self { file, defaults, settings: Vec::new(), wrong: Vec::new(), problems: Vec::new() }
    }

    /// The value of a key that has a default; the default also where the file's is wrong.
    pub(super) fn get<T: PartialEq>(
        &mut self,
        key: &'static str,
        rule: impl Fn(&Value<'_>) -> Ruled<T>,
    ) -> T {
        let default = self.defaults.entries.get(key).expect("the example has every default");
        let default_value = rule(&default.value).expect("the example keeps the rules");
        if let Some((entry, value)) = self.written(key, &rule) {
            self.add(key, Some(entry), value != default_value);
            return value;
        }
        self.add(key, Some(default), false);
        default_value
    }

    /// The value of a key that has no default.
    pub(super) fn find<T>(
        &mut self,
        key: &'static str,
        rule: impl Fn(&Value<'_>) -> Ruled<T>,
    ) -> Option<T> {
        let written = self.written(key, &rule);
        self.add(key, written.as_ref().map(|(entry, _)| *entry), written.is_some());
        written.map(|(_, value)| value)
    }

    /// Reports that keys do not go together, at the last of them; the rule is about the first.
    pub(super) fn clash(&mut self, keys: &[&str], rule: &str) {
        if keys.iter().any(|it| self.wrong.contains(it)) {
            return;
        }
        let lines = keys.iter().filter_map(|it| self.file.entries.get(*it)).map(|it| it.line);
        let line = lines.max().unwrap_or(1);
        self.problems.push(self.file.problem(line, format!("{}: {rule}", keys[0])));
    }

    /// Reports the keys that nobody asked for.
    ///
    /// # Errors
    /// Everything that is wrong, by line.
    pub(super) fn finish(mut self) -> Result<Vec<Setting>, Vec<Problem>> {
        let keys: Vec<&str> = self.settings.iter().map(|it| it.key).collect();
        let mut sections: Vec<&str> = keys.iter().map(|it| section_of(it)).collect();
        sections.dedup();
        for (name, line) in &self.file.sections {
            if !sections.contains(&name.as_str()) {
                let message = format!("unknown section {name:?}{}", guess(name, &sections));
                self.problems.push(self.file.problem(*line, message));
            }
        }
        for (key, Entry { line, value }) in &self.file.strays {
            let message = if sections.contains(&key.as_str()) {
                format!("{key}: must be a section, is {}", value.get_ref().type_str())
            } else {
                format!("unknown key {key:?} outside of any section{}", guess(key, &keys))
            };
            self.problems.push(self.file.problem(*line, message));
        }
        for (key, entry) in &self.file.entries {
            // An unknown section is reported once, without its keys.
            if sections.contains(&section_of(key)) && !keys.contains(&key.as_str()) {
                let message = format!("unknown key {key:?}{}", guess(key, &keys));
                self.problems.push(self.file.problem(entry.line, message));
            }
        }
        self.problems.sort_by_key(|it| it.line);
        if self.problems.is_empty() { Ok(self.settings) } else { Err(self.problems) }
    }

    /// `None` when the file does not have the key, or has a wrong value.
    fn written<T>(
        &mut self,
        key: &'static str,
        rule: &impl Fn(&Value<'_>) -> Ruled<T>,
    ) -> Option<(&'t Entry<'t>, T)> {
        let entry = self.file.entries.get(key)?;
        match rule(&entry.value) {
            Ok(value) => Some((entry, value)),
            Err(wrongs) => {
                self.wrong.push(key);
                self.problems.extend(wrongs.into_iter().map(|it| {
                    self.file.problem(self.file.line(it.at), format!("{key}: {}", it.rule))
                }));
                None
            }
        }
    }

    fn add(&mut self, key: &'static str, entry: Option<&Entry<'_>>, differs: bool) {
        let value = entry.map(|it| literal(&it.value));
        let origin = entry.filter(|_| differs).map(|it| self.file.place(it.line));
        self.settings.push(Setting { key, value, origin });
    }
}

pub(super) fn section_of(key: &str) -> &str {
    key.split_once('.').map_or("", |(section, _)| section)
}

/// The known name nearest to a wrong one, as the end of a sentence; nothing when none is near.
fn guess(wrong: &str, known: &[&str]) -> String {
    let word_of = |key: &str| key.rsplit('.').next().map_or(String::new(), str::to_owned);
    let word = word_of(wrong);
    let distance = |key: &&&str| {
        // The right word in the wrong section is as near as one letter.
        let moved = strsim::damerau_levenshtein(&word, &word_of(key)) + 1;
        let whole = strsim::damerau_levenshtein(wrong, key);
        (moved.min(whole), whole)
    };
    let near = known.iter().min_by_key(distance);
    let near = near.filter(|it| distance(it).0 <= 1 + word.chars().count() / 3);
    near.map_or(String::new(), |it| format!("; did you mean {it:?}?"))
}

/// A TOML string on one line. Invisible characters are written as TOML's escapes, so that what is shown can be read
/// again.
fn quoted(text: &str) -> String {
    if text.chars().all(is_visible) {
        return toml::Value::from(text).to_string();
    }
    let escaped = text.chars().map(|it| match it {
        '"' | '\\' => format!("\\{it}"),
        _ if is_visible(it) => it.to_string(),
        _ => format!("\\U{:08x}", u32::from(it)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// On one line. Strings, integers and lists of them: no rule takes another type.
fn literal(value: &Value<'_>) -> String {
    let value = value.get_ref();
    if let Some(text) = value.as_str() {
        quoted(text)
    } else if let Some(items) = value.as_array() {
        format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
    } else {
        value.as_integer().expect("no rule takes another type").to_string()
    }
}
