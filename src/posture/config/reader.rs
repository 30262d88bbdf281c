//! Reads key after key of a file over the defaults; keeps what is wrong, the values in effect, and where they come from.

use toml::Spanned;
use toml::de::DeString;

use super::file::Sections;
use crate::text::is_visible;
use crate::toml_reader::{Problem, Ruled, TomlDocument, TomlEntry, Value, type_of};

/// One key and its value in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: &'static str,
    /// In TOML. `None`: not set.
    pub(super) value: Option<String>,
    /// File and line, when it differs from the default.
    pub(super) origin: Option<String>,
}

pub(super) struct ConfigReader<'d> {
    document: &'d TomlDocument<'d>,
    written: Sections<'d>,
    defaults: Sections<'d>,
    /// In the order of reading.
    settings: Vec<Setting>,
    /// Keys whose value is wrong: whether they go with others cannot be said.
    wrong: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl<'d> ConfigReader<'d> {
    pub(super) fn new(document: &'d TomlDocument<'d>, defaults: &'d TomlDocument<'d>) -> Self {
        Self {
            document,
            written: Sections::of(document),
            defaults: Sections::of(defaults),
            settings: Vec::new(),
            wrong: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The value of a key that has a default. The default, too, where the file's value is wrong.
    pub(super) fn get<T: PartialEq>(
        &mut self,
        key: &'static str,
        rule: impl Fn(&Value<'_>) -> Ruled<T>,
    ) -> T {
        let default = self.defaults.find(key).expect("the example has every default");
        let default_value = rule(default.value).expect("the example keeps the rules");
        if let Some((entry, value)) = self.find_written(key, &rule) {
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
        let written = self.find_written(key, &rule);
        self.add(key, written.as_ref().map(|(entry, _)| *entry), written.is_some());
        written.map(|(_, value)| value)
    }

    /// Gives a key that is not written another default, because another key is.
    pub(super) fn replace_default<T: ToString>(
        &mut self,
        key: &'static str,
        value: &mut T,
        default: T,
        because: &'static str,
    ) {
        if self.written.find(key).is_some() {
            return;
        }
        let origin = self.written.find(because).map(|it| self.document.place(it.line));
        let setting = self.settings.iter_mut().find(|it| it.key == key);
        let setting = setting.expect("the key was read before");
        setting.value = Some(quoted(&default.to_string()));
        setting.origin = origin.map(|it| format!("{because}, {it}"));
        *value = default;
    }

    /// Reports that keys contradict each other, at the last of them; the rule is about the first.
    pub(super) fn clash(&mut self, keys: &[&'static str], rule: &str) {
        if keys.iter().any(|it| self.wrong.contains(it)) {
            return;
        }
        let lines = keys.iter().filter_map(|it| self.written.find(it)).map(|it| it.line);
        let line = lines.max().unwrap_or(1);
        self.problems.push(self.document.problem(Some(line), format!("{}: {rule}", keys[0])));
    }

    /// Reports the unknown keys.
    ///
    /// # Errors
    /// Everything that is wrong, by line.
    pub(super) fn finish(self) -> Result<Vec<Setting>, Vec<Problem>> {
        let Self { document, written, settings, mut problems, .. } = self;
        let keys: Vec<&str> = settings.iter().map(|it| it.key).collect();
        let mut sections: Vec<&str> = keys.iter().map(|it| section_of(it)).collect();
        sections.dedup();
        let mut add = |line, message| problems.push(document.problem(Some(line), message));
        for (key, entry) in written.strays {
            let message = if sections.contains(&key) {
                format!("{key}: must be a section, not {}", type_of(entry.value))
            } else {
                format!("unknown key {key:?} outside of any section{}", guess(key, &keys))
            };
            add(entry.line, message);
        }
        let mut of_values = Vec::new();
        for (name, section) in written.sections {
            // An unknown section is reported once, without its keys.
            if !sections.contains(&name) {
                let hint = removed(name).unwrap_or_else(|| guess(name, &sections));
                add(section.line, format!("unknown section {name:?}{hint}"));
                continue;
            }
            for (key, line) in section.table.unknown() {
                let key = format!("{name}.{key}");
                let hint = removed(&key).unwrap_or_else(|| guess(&key, &keys));
                add(line, format!("unknown key {key:?}{hint}"));
            }
            of_values.append(&mut section.table.into_problems());
        }
        problems.append(&mut of_values);
        problems.sort_by_key(|it| it.line);
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    /// `None` when the file does not have the key, or has a wrong value.
    fn find_written<T>(
        &mut self,
        key: &'static str,
        rule: &impl Fn(&Value<'_>) -> Ruled<T>,
    ) -> Option<(TomlEntry<'d>, T)> {
        let entry = self.written.find(key)?;
        let (section, name) = key.split_once('.')?;
        let value = self.written.sections[section].table.ruled(name, entry.value, rule);
        if value.is_none() {
            self.wrong.push(key);
        }
        value.map(|it| (entry, it))
    }

    fn add(&mut self, key: &'static str, entry: Option<TomlEntry<'_>>, differs: bool) {
        let value = entry.map(|it| literal(it.value));
        let origin = entry.filter(|_| differs).map(|it| self.document.place(it.line));
        self.settings.push(Setting { key, value, origin });
    }
}

pub(super) fn section_of(key: &str) -> &str {
    key.split_once('.').map_or("", |(section, _)| section)
}

/// Keys and sections of earlier releases, which `posture init` wrote. They never had an effect.
const REMOVED: [&str; 1] = ["assessment.max_age_days"];

/// What to do about a removed name, as the end of a sentence.
fn removed(name: &str) -> Option<String> {
    REMOVED.contains(&name).then(|| "; it never had an effect, so remove it".to_owned())
}

/// The known name nearest to a wrong one, as the end of a sentence. Empty if none is near.
fn guess(wrong: &str, known: &[&str]) -> String {
    let word_of = |key: &str| key.rsplit('.').next().map_or(String::new(), str::to_owned);
    let word = word_of(wrong);
    let distance = |key: &&&str| {
        // The right word in the wrong section counts as one letter.
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

/// A key of an inline table.
fn bare_or_quoted(key: &str) -> String {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { quoted(key) }
}

/// On one line. Strings, integers, and lists and tables of them: no rule takes another type.
fn literal(value: &Value<'_>) -> String {
    let value = value.get_ref();
    if let Some(text) = value.as_str() {
        quoted(text)
    } else if let Some(items) = value.as_array() {
        format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
    } else if let Some(table) = value.as_table() {
        let pair = |(key, value): (&Spanned<DeString<'_>>, &Value<'_>)| {
            format!("{} = {}", bare_or_quoted(key.get_ref()), literal(value))
        };
        format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
    } else {
        value.as_integer().expect("no rule takes another type").to_string()
    }
}
