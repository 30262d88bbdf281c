//! TOML files read key by key. Every broken rule, missing key and unknown key becomes a problem with its line, so that
//! all of them are reported at once.

use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub type Value<'t> = Spanned<DeValue<'t>>;

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As it was named.
    pub file: String,
    /// Counts from 1. `None`: it is about the file as a whole.
    pub line: Option<usize>,
    /// Names the key and the rule.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// One file, parsed.
pub struct TomlDocument<'t> {
    file: String,
    /// Byte offset of each line.
    line_starts: Vec<usize>,
    table: DeTable<'t>,
}

impl<'t> TomlDocument<'t> {
    /// The document, and a problem for each place that is not TOML. With problems, the document lacks what stands there.
    pub fn parse(file: impl Into<String>, text: &'t str) -> (Self, Vec<Problem>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let feeds = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(feeds).collect();
        let document = Self { file: file.into(), line_starts, table: table.into_inner() };
        let problem = |it: &toml::de::Error| {
            let line = it.span().map(|span| document.line(span.start));
            document.problem(line, it.message())
        };
        let mut problems: Vec<Problem> = errors.iter().map(problem).collect();
        problems.sort_by_key(|it| it.line);
        (document, problems)
    }

    pub fn root(&self) -> Table<'_> {
        Table::of(self, &self.table, 1, String::new())
    }

    pub fn problem(&self, line: Option<usize>, message: impl Into<String>) -> Problem {
        Problem { file: self.file.clone(), line, message: message.into() }
    }

    /// File and line, as people write them.
    #[must_use]
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    /// The line of a byte offset. Counts from 1.
    #[must_use]
    pub fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }
}

/// A key's value and the line of the key.
#[derive(Clone, Copy)]
pub struct TomlEntry<'d> {
    pub line: usize,
    pub value: &'d Value<'d>,
}

/// One table of a document. [`Table::finish`] it, or its problems are lost.
#[must_use]
pub struct Table<'d> {
    document: &'d TomlDocument<'d>,
    values: &'d DeTable<'d>,
    pub line: usize,
    /// What every message begins with, such as `row "GV.OC": `.
    label: String,
    known: Vec<&'static str>,
    problems: RefCell<Vec<Problem>>,
}

impl<'d> Table<'d> {
    fn of(
        document: &'d TomlDocument<'d>,
        values: &'d DeTable<'d>,
        line: usize,
        label: String,
    ) -> Self {
        Self { document, values, line, label, known: Vec::new(), problems: RefCell::default() }
    }

    /// Every message from now on begins with this.
    pub fn set_label(&mut self, label: impl Into<String>) {
        self.label = label.into();
    }

    pub fn problem(&self, line: usize, message: impl fmt::Display) {
        let message = format!("{}{message}", self.label);
        self.problems.borrow_mut().push(self.document.problem(Some(line), message));
    }

    /// The line of a key's value; the table's own where it does not have the key.
    pub fn line_of(&self, key: &str) -> usize {
        self.values.get(key).map_or(self.line, |it| self.line_at(it))
    }

    /// The line where a value begins.
    pub fn line_at(&self, value: &Value<'_>) -> usize {
        self.document.line(value.span().start)
    }

    /// Every key with its value, by line.
    pub fn entries(&self) -> Vec<(&'d str, TomlEntry<'d>)> {
        let line = |at: usize| self.document.line(at);
        let entry = |(key, value): (&'d Spanned<toml::de::DeString<'d>>, &'d Value<'d>)| {
            (key.get_ref().as_ref(), TomlEntry { line: line(key.span().start), value })
        };
        let mut entries: Vec<_> = self.values.iter().map(entry).collect();
        entries.sort_by_key(|(_, it)| it.line);
        entries
    }

    /// The value of a key, which is known from now on.
    pub fn find(&mut self, key: &'static str) -> Option<TomlEntry<'d>> {
        self.known.push(key);
        let (key, value) = self.values.get_key_value(key)?;
        Some(TomlEntry { line: self.document.line(key.span().start), value })
    }

    /// The value of a key, which is known from now on. Reports that it is missing.
    pub fn get(&mut self, key: &'static str) -> Option<TomlEntry<'d>> {
        let entry = self.find(key);
        if entry.is_none() {
            self.problem(self.line, format!("missing key {key:?}"));
        }
        entry
    }

    /// What a rule makes of a key's value. Reports what is wrong with it.
    pub fn ruled<T>(
        &self,
        key: &str,
        value: &'d Value<'d>,
        rule: impl Fn(&'d Value<'d>) -> Ruled<T>,
    ) -> Option<T> {
        match rule(value) {
            Ok(value) => Some(value),
            Err(wrongs) => {
                for Wrong { at, rule } in wrongs {
                    self.problem(self.document.line(at), format!("{key}: {rule}"));
                }
                None
            }
        }
    }

    /// The table that is a key's value, with the label of this one. Reports a value that is not a table.
    pub fn inner(&self, key: &str, value: &'d Value<'d>) -> Option<Table<'d>> {
        let table = self.ruled(key, value, table)?;
        Some(Table::of(self.document, table, self.line_at(value), self.label.clone()))
    }

    /// Takes over the problems of a table inside of this one.
    pub fn absorb(&self, inner: Table<'_>) {
        self.problems.borrow_mut().append(&mut inner.finish());
    }

    /// The keys that nothing asked for, with their lines.
    pub fn unknown(&self) -> Vec<(&'d str, usize)> {
        if self.values.keys().all(|it| self.known.contains(&it.get_ref().as_ref())) {
            return Vec::new();
        }
        let all = self.entries().into_iter().filter(|(key, _)| !self.known.contains(key));
        all.map(|(key, entry)| (key, entry.line)).collect()
    }

    /// Reports the unknown keys. Returns all problems.
    #[must_use]
    pub fn finish(self) -> Vec<Problem> {
        for (key, line) in self.unknown() {
            self.problem(line, format!("unknown key {key:?}"));
        }
        self.problems.into_inner()
    }

    /// Returns all problems. Any key is known.
    #[must_use]
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }
}

/// The rule that a value breaks, and the byte offset of the part that breaks it.
#[derive(Debug)]
pub struct Wrong {
    pub at: usize,
    pub rule: String,
}

/// The value, or everything that is wrong with it.
pub type Ruled<T> = Result<T, Vec<Wrong>>;

/// # Errors
/// This rule, broken by this value.
pub fn wrong<T>(value: &Value<'_>, rule: impl Into<String>) -> Ruled<T> {
    Err(vec![Wrong { at: value.span().start, rule: rule.into() }])
}

fn wrong_type<T>(value: &Value<'_>, wanted: &str) -> Ruled<T> {
    wrong(value, format!("must be {wanted}, not {}", type_of(value)))
}

/// The type of a value with its article, such as `an integer`.
#[must_use]
pub fn type_of(value: &Value<'_>) -> String {
    let name = value.get_ref().type_str();
    let article = if name.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// # Errors
/// The value is not a string.
pub fn string<'v>(value: &'v Value<'_>) -> Ruled<&'v str> {
    value.get_ref().as_str().map_or_else(|| wrong_type(value, "a string"), Ok)
}

/// # Errors
/// The value is not a boolean.
pub fn flag(value: &Value<'_>) -> Ruled<bool> {
    value.get_ref().as_bool().map_or_else(|| wrong_type(value, "a boolean"), Ok)
}

/// # Errors
/// The value is not an array.
pub fn array<'v>(value: &'v Value<'v>) -> Ruled<&'v [Value<'v>]> {
    value.get_ref().as_array().map_or_else(|| wrong_type(value, "an array"), |it| Ok(&**it))
}

/// # Errors
/// The value is not a table.
pub fn table<'v>(value: &'v Value<'_>) -> Ruled<&'v DeTable<'v>> {
    value.get_ref().as_table().map_or_else(|| wrong_type(value, "a table"), Ok)
}

/// One line of `chars` characters without leading or trailing spaces.
pub fn text(chars: RangeInclusive<usize>) -> impl Fn(&Value<'_>) -> Ruled<String> {
    move |value| {
        let text = string(value)?;
        let mut wrongs = Vec::new();
        let mut add = |rule: String| wrongs.push(Wrong { at: value.span().start, rule });
        let n_chars = text.chars().count();
        if !chars.contains(&n_chars) {
            let (min, max) = (chars.start(), chars.end());
            add(format!("must have {min} to {max} characters, not {n_chars}"));
        }
        if text.trim() != text || has_control(text) {
            add("must be one line without leading or trailing spaces".to_owned());
        }
        if wrongs.is_empty() { Ok(text.to_owned()) } else { Err(wrongs) }
    }
}

fn has_control(text: &str) -> bool {
    // Those beyond ASCII, U+0080 to U+009F, begin with this byte. The catalog has a million characters and none of them.
    let may_be = |byte: &u8| byte.is_ascii_control() || *byte == 0xc2;
    text.as_bytes().iter().any(may_be) && text.contains(char::is_control)
}

/// An integer of a range.
pub fn number<N>(range: RangeInclusive<N>) -> impl Fn(&Value<'_>) -> Ruled<N>
where
    N: Copy + PartialOrd + TryFrom<u64> + fmt::Display,
{
    move |value| {
        let Some(integer) = value.get_ref().as_integer() else {
            return wrong_type(value, "an integer");
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.and_then(|it| N::try_from(it).ok()).filter(|it| range.contains(it));
        let rule = || format!("must be {} to {}, not {integer}", range.start(), range.end());
        number.map_or_else(|| wrong(value, rule()), Ok)
    }
}

/// What one of the `words` means.
pub fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&Value<'_>) -> Ruled<T> {
    move |value| {
        let text = string(value)?;
        let known = || words.iter().map(|(it, _)| format!("{it:?}")).collect::<Vec<_>>().join(", ");
        words.iter().find(|(it, _)| *it == text).map_or_else(
            || wrong(value, format!("must be one of {}, not {text:?}", known())),
            |(_, meaning)| Ok(*meaning),
        )
    }
}

/// A list of `lengths` items, with everything that is wrong with each of them.
pub fn list<T>(
    lengths: RangeInclusive<usize>,
    item: impl Fn(&Value<'_>) -> Ruled<T>,
) -> impl Fn(&Value<'_>) -> Ruled<Vec<T>> {
    move |value| {
        let array = array(value)?;
        if !lengths.contains(&array.len()) {
            let (min, max) = (lengths.start(), lengths.end());
            return wrong(value, format!("must have {min} to {max} items, not {}", array.len()));
        }
        let (mut items, mut wrongs) = (Vec::new(), Vec::new());
        for ruled in array.iter().map(&item) {
            match ruled {
                Ok(it) => items.push(it),
                Err(more) => wrongs.extend(more),
            }
        }
        if wrongs.is_empty() { Ok(items) } else { Err(wrongs) }
    }
}
