//! Snapshots: what people and programs are shown, kept word for word in `tests/it/snapshots`.
//!
//! `INSTA_UPDATE=always cargo test` writes the files anew; what changed is then reviewed like code.

use std::collections::BTreeSet;
use std::path::Path;

use posture::clock::Time;
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snapshots");

/// Compares a value with its snapshot.
pub fn assert_json(name: &str, value: &Value) {
    settings().bind(|| insta::assert_json_snapshot!(name, value));
}

/// Compares a text with its snapshot.
pub fn assert_text(name: &str, text: &str) {
    settings().bind(|| insta::assert_snapshot!(name, text));
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(Path::new(FOLDER));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// The names of all snapshots that begin so.
pub fn names(start: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let names = entries.filter_map(|it| {
        let name = it.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".snap").map(str::to_owned)
    });
    names.filter(|it| it.starts_with(start)).collect()
}

/// The value without what differs from run to run: ids and times.
pub fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) if text.parse::<Time>().is_ok() => "[time]".into(),
        Value::String(text) => without_ids(text).into(),
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, it)| (name.clone(), redacted(it))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn without_ids(text: &str) -> String {
    const ID_BYTES: usize = 36;
    let mut told = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let id = rest.get(..ID_BYTES).filter(|it| it.parse::<uuid::Uuid>().is_ok());
        if id.is_some() {
            told.push_str("[id]");
            rest = &rest[ID_BYTES..];
        } else {
            told.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    told
}
