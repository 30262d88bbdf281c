//! What a mapping reads of its vendor's answers.

use posture::connect::mapping::FILES;
use toml::{Table, Value};

/// A field of an answer.
pub struct Field {
    pub path: String,
    /// Such as `results/bitLockerStatus/protectionStatus`.
    pub name: String,
    /// What it may say, as far as the mapping knows.
    pub words: Vec<String>,
}

struct Stream<'t> {
    name: &'t str,
    path: &'t str,
    rows: &'t str,
}

/// Every field that a mapping of this release reads.
pub fn fields(file: &str) -> Vec<Field> {
    let (_, text) = FILES.into_iter().find(|it| it.0 == file).unwrap();
    let mapping: Table = text.parse().unwrap();
    let word =
        |table: &'_ Value, key: &str| table.get(key).and_then(Value::as_str).unwrap().to_owned();
    let mut all = Vec::new();
    let told = mapping["stream"].as_array().unwrap();
    let names: Vec<[String; 3]> =
        told.iter().map(|it| ["name", "path", "rows"].map(|key| word(it, key))).collect();
    let streams: Vec<Stream<'_>> =
        names.iter().map(|[name, path, rows]| Stream { name, path, rows }).collect();
    for (stream, table) in streams.iter().zip(told) {
        let answer = Stream { rows: "", ..*stream };
        for (key, value) in table.get("pager").and_then(Value::as_table).into_iter().flatten() {
            walk(value, &streams, if key == "id" { stream } else { &answer }, &[], &mut all);
        }
        if let Some(value) = table.get("skip_if") {
            walk(value, &streams, stream, &[], &mut all);
        }
    }
    for part in ["organizations", "device", "user"] {
        if let Some(value) = mapping.get(part) {
            walk(value, &streams, &streams[0], &[], &mut all);
        }
    }
    all
}

/// Adds the pointers in `value`, which are followed from the rows of `stream` unless they name another.
fn walk(
    value: &Value,
    streams: &[Stream<'_>],
    stream: &Stream<'_>,
    words: &[String],
    all: &mut Vec<Field>,
) {
    match value {
        Value::String(text) if text.starts_with('/') => {
            let name = format!("{}{text}", stream.rows).trim_start_matches('/').to_owned();
            all.push(Field { path: stream.path.to_owned(), name, words: words.to_vec() });
        }
        Value::Array(values) => {
            for it in values {
                walk(it, streams, stream, words, all);
            }
        }
        Value::Table(table) => {
            let named = table.get("stream").and_then(Value::as_str);
            let own = streams.iter().find(|it| Some(it.name) == named).unwrap_or(stream);
            let known = table.get("words").and_then(Value::as_table);
            let known: Vec<String> = known.into_iter().flat_map(Table::keys).cloned().collect();
            for (key, value) in table.iter().filter(|it| it.0 != "words") {
                // What excuses a device is said by the device itself.
                let at = if key == "none_if" { stream } else { own };
                walk(value, streams, at, if key == "at" { &known } else { &[] }, all);
            }
        }
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_) => (),
    }
}
