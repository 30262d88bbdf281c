//! The parts that several tables of a mapping's file have: places, words, flags, times.

use crate::connect::mapping::field::{
    Condition, Field, Flag, FlagHow, Moment, Pointer, Unit, Words, folded,
};
use crate::connect::mapping::plan::Streamed;
use crate::toml_reader::{
    Ruled, Table, Value, Wrong, array, flag as boolean, list, string, table as any_table, text,
    word, wrong,
};

const N_PLACES_MAX: usize = 8;
const N_WORDS_MAX: usize = 200;
const WORD_CHARS_MAX: usize = 100;
const N_CONDITIONS_MAX: usize = 16;

/// The value of a key that must be there.
pub(super) fn need<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    rule: impl Fn(&'d Value<'d>) -> Ruled<T>,
) -> Option<T> {
    let entry = table.get(key)?;
    table.ruled(key, entry.value, rule)
}

/// The value of a key that may be missing. `None`: it is wrong.
pub(super) fn may<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    rule: impl Fn(&'d Value<'d>) -> Ruled<T>,
) -> Option<Option<T>> {
    let Some(entry) = table.find(key) else { return Some(None) };
    table.ruled(key, entry.value, rule).map(Some)
}

/// What the tables of an array come to. Those that are wrong are reported and missing.
pub(super) fn each<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    n_max: usize,
    read: impl Fn(&mut Table<'d>) -> Option<T>,
) -> Vec<T> {
    let Some(entry) = table.find(key) else { return Vec::new() };
    let items = table.ruled(key, entry.value, array).unwrap_or_default();
    if n_max < items.len() {
        table.problem(entry.line, format!("{key}: must have at most {n_max} items"));
        return Vec::new();
    }
    let mut all = Vec::new();
    for item in items {
        let Some(mut inner) = table.inner(key, item) else { continue };
        all.extend(read(&mut inner));
        table.absorb(inner);
    }
    all
}

/// What the table that is the value of a key comes to. `Some(None)`: there is none. `None`: it is wrong.
pub(super) fn one<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    read: impl Fn(&mut Table<'d>) -> Option<T>,
) -> Option<Option<T>> {
    let Some(entry) = table.find(key) else { return Some(None) };
    let mut inner = table.inner(key, entry.value)?;
    inner.set_label(format!("{key}: "));
    let read = read(&mut inner);
    table.absorb(inner);
    read.map(Some)
}

pub(super) fn pointer(value: &Value<'_>) -> Ruled<Pointer> {
    string(value)?.parse().or_else(|rule: String| wrong(value, rule))
}

/// One pointer, or a list of them of which the first that has something counts.
fn places(value: &Value<'_>) -> Ruled<Vec<Pointer>> {
    if value.get_ref().is_array() {
        list(1..=N_PLACES_MAX, pointer)(value)
    } else {
        pointer(value).map(|it| vec![it])
    }
}

pub(super) fn place(value: &Value<'_>) -> Ruled<Field> {
    places(value).map(|at| Field { at, is_optional: false })
}

/// A place with what is said of it: a pointer, a list of pointers, or a table with `at`.
///
/// `read`: the rest of the table, if it is one.
pub(super) fn of_place<'d, T>(
    outer: &mut Table<'d>,
    key: &'static str,
    read: impl Fn(Option<&mut Table<'d>>, Field) -> Option<T>,
) -> Option<Option<T>> {
    let Some(entry) = outer.find(key) else { return Some(None) };
    if any_table(entry.value).is_err() {
        let field = outer.ruled(key, entry.value, place)?;
        return read_short(outer, (key, entry.line), read(None, field));
    }
    let mut inner = outer.inner(key, entry.value)?;
    let at = need(&mut inner, "at", places);
    let is_optional = may(&mut inner, "optional", boolean);
    let field = at.zip(is_optional);
    let field = field.map(|(at, it)| Field { at, is_optional: it.unwrap_or(false) });
    let what = field.and_then(|it| read(Some(&mut inner), it));
    outer.absorb(inner);
    what.map(Some)
}

fn read_short<T>(
    outer: &Table<'_>,
    (key, line): (&str, usize),
    read: Option<T>,
) -> Option<Option<T>> {
    if read.is_none() {
        outer.problem(line, format!("{key}: needs a table that says what its values mean"));
    }
    read.map(Some)
}

/// [`of_place`] of a stream: by default the one given.
pub(super) fn streamed<'d, T>(
    outer: &mut Table<'d>,
    key: &'static str,
    (default, known): (&str, &[String]),
    read: impl Fn(Option<&mut Table<'d>>, Field) -> Option<T>,
) -> Option<Option<Streamed<T>>> {
    of_place(outer, key, |table, field| {
        let Some(table) = table else {
            let what = read(None, field)?;
            return Some(Streamed { stream: default.to_owned(), what });
        };
        let stream = stream(table, (default, known));
        let what = read(Some(table), field);
        Some(Streamed { stream: stream?, what: what? })
    })
}

/// The stream that a table names.
pub(super) fn stream(table: &mut Table<'_>, (default, known): (&str, &[String])) -> Option<String> {
    let stream = may(table, "stream", |it| {
        let name = string(it)?.to_owned();
        if known.contains(&name) {
            return Ok(name);
        }
        wrong(it, format!("{name:?} is not {default:?} and no stream of [[device.join]]"))
    })?;
    Some(stream.unwrap_or_else(|| default.to_owned()))
}

/// The place alone.
#[expect(clippy::unnecessary_wraps, reason = "it stands where others read more and may fail")]
pub(super) fn plain(_: Option<&mut Table<'_>>, field: Field) -> Option<Field> {
    Some(field)
}

/// What a table says that the words at a place mean. `Some(None)`: it does not.
pub(super) fn words<'d, T: Copy>(
    table: &mut Table<'d>,
    meaning: impl Fn(&'d Value<'d>) -> Ruled<Option<T>>,
) -> Option<Option<Words<T>>> {
    let listed = table.find("words");
    let contained = table.find("contains");
    match (listed, contained) {
        (None, None) => Some(None),
        (Some(_), Some(both)) => {
            table.problem(both.line, "contains: cannot stand beside words");
            None
        }
        (Some(entry), None) => {
            let inner = table.inner("words", entry.value)?;
            let entries = inner.entries();
            let _ = inner.into_problems(); // Any key is a word.
            check_n(table, "words", entry.line, entries.len())?;
            let mut all: Vec<(String, Option<T>)> = Vec::new();
            for (key, it) in entries {
                let word = folded(key);
                if WORD_CHARS_MAX < key.chars().count() || all.iter().any(|(it, _)| *it == word) {
                    table.problem(
                        it.line,
                        format!("words: {key:?} is too long, or the same as another"),
                    );
                    return None;
                }
                all.push((word, table.ruled(&format!("words: {key:?}"), it.value, &meaning)?));
            }
            Some(Some(Words::Listed(all)))
        }
        (None, Some(entry)) => {
            let items = table.ruled("contains", entry.value, array)?;
            check_n(table, "contains", entry.line, items.len())?;
            let pair = |it: &'d Value<'d>| match array(it)? {
                [part, meant] => {
                    let part = text(1..=WORD_CHARS_MAX)(part)?.to_lowercase();
                    Ok((part, meaning(meant)?))
                }
                _ => wrong(it, "must be a pair: a part of the value, and what it means"),
            };
            let all: Option<Vec<_>> =
                items.iter().map(|it| table.ruled("contains", it, pair)).collect();
            Some(Some(Words::Contained(all?)))
        }
    }
}

fn check_n(table: &Table<'_>, key: &str, line: usize, n: usize) -> Option<()> {
    if (1..=N_WORDS_MAX).contains(&n) {
        return Some(());
    }
    table.problem(line, format!("{key}: must have 1 to {N_WORDS_MAX} words, not {n}"));
    None
}

/// What a word means that is one of a list, or `"unknown"`.
pub(super) fn meaning<T: Copy>(
    words: &'static [(&'static str, T)],
) -> impl Fn(&Value<'_>) -> Ruled<Option<T>> {
    move |value| {
        let mut all: Vec<(&str, Option<T>)> =
            words.iter().map(|(it, of)| (*it, Some(*of))).collect();
        all.push(("unknown", None));
        word(&all)(value)
    }
}

fn yes_or_no(value: &Value<'_>) -> Ruled<Option<bool>> {
    if value.get_ref().as_bool().is_some() {
        return boolean(value).map(Some);
    }
    if value.get_ref().as_str() == Some("unknown") {
        return Ok(None);
    }
    wrong(value, "must be true, false or \"unknown\"")
}

/// A yes or no: a JSON boolean, or what the table says.
pub(super) fn flag(table: Option<&mut Table<'_>>, field: Field) -> Option<Flag> {
    let Some(table) = table else {
        return Some(Flag { field, how: FlagHow::Boolean, is_negated: false });
    };
    let words = words(table, yes_or_no);
    let is_filled = may(table, "filled", boolean);
    let is_negated = may(table, "negate", boolean);
    let how = match (words?, is_filled?.unwrap_or(false)) {
        (None, false) => FlagHow::Boolean,
        (None, true) => FlagHow::Filled,
        (Some(words), false) => FlagHow::Words(words),
        (Some(_), true) => {
            table.problem(table.line, "filled: cannot stand beside words");
            return None;
        }
    };
    Some(Flag { field, how, is_negated: is_negated?.unwrap_or(false) })
}

const UNITS: [(&str, Unit); 3] = [("s", Unit::S), ("ms", Unit::Ms), ("rfc3339", Unit::Rfc3339)];

/// A moment. It needs its unit.
pub(super) fn moment(table: Option<&mut Table<'_>>, field: Field) -> Option<Moment> {
    let table = table?;
    let unit = need(table, "time", word(&UNITS));
    let never = may(table, "never", list(1..=N_PLACES_MAX, value_text));
    Some(Moment { field, unit: unit?, never: never?.unwrap_or_default() })
}

/// A string, integer or boolean of the file as the text that JSON values are compared with.
fn value_text(value: &Value<'_>) -> Ruled<String> {
    let it = value.get_ref();
    if let Some(text) = it.as_str() {
        return Ok(text.trim().to_owned());
    }
    if let Some(number) = it.as_integer() {
        return Ok(number.as_str().to_owned());
    }
    match it.as_bool() {
        Some(flag) => Ok(flag.to_string()),
        None => Err(vec![Wrong {
            at: value.span().start,
            rule: "must be a string, an integer or a boolean".to_owned(),
        }]),
    }
}

pub(super) fn conditions(table: &mut Table<'_>, key: &'static str) -> Vec<Condition> {
    each(table, key, N_CONDITIONS_MAX, |it| {
        let field = need(it, "at", places);
        let is = need(it, "is", list(1..=N_WORDS_MAX, value_text));
        let is = is?.iter().map(|it| folded(it)).collect();
        Some(Condition { field: Field { at: field?, is_optional: true }, is })
    })
}
