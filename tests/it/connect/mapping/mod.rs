//! Declared vendors: the language of their files, and the files that this release carries.

mod arbitrary;
mod call;
mod front;
mod language;
mod needs_standins;
mod partial;
mod problem;
pub mod tool;
mod vendor;

use posture::connect::device::Device;
use posture::connect::mapping::{Answers, Mapped, apply, read};
use serde_json::Value;

/// A mapping with the least that one needs. Its example has no rows.
pub const LEAST: &str = r#"kind = "least"
title = "Least"
proof = "specification"
base = { own = "The address of the server." }
auth = { kind = "basic" }
pace = { requests = 1, per_s = 1 }
input = [
    { name = "username", title = "User", help = "Who." },
    { name = "password", title = "Password", help = "What." },
]
[[example]]
name = "nothing"
[[stream]]
name = "orgs"
path = "/orgs"
permission = "read"
rows = ""
[[stream]]
name = "more"
path = "/more"
permission = "read"
rows = ""
[[stream]]
name = "devices"
path = "/devices"
permission = "read"
rows = ""
"#;

const ORG: &str = "org = { at = \"/org\", optional = true }\n";

/// The least mapping with these lines about devices.
pub fn with(device: &str) -> String {
    let org = if device.starts_with("org = ") { "" } else { ORG };
    format!("{LEAST}[device]\nstream = \"devices\"\nid = \"/id\"\nname = \"/id\"\n{org}{device}\n")
}

pub fn mapped(text: &str, answers: &[(&str, Value)]) -> Mapped {
    let mapping = read("test.toml", text).unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", problems.join("\n"))
    });
    let rows = |value: &Value| value.as_array().unwrap().clone();
    let answers: Answers =
        answers.iter().map(|(name, value)| ((*name).to_owned(), rows(value))).collect();
    apply(&mapping, &answers)
}

/// The only device that comes of these rows.
pub fn device(lines: &str, row: Value) -> Device {
    joined(lines, row, Value::Array(Vec::new()))
}

/// [`device`] with the rows of a second stream.
pub fn joined(lines: &str, row: Value, more: Value) -> Device {
    let join = "join = [{ stream = \"more\", device = \"/device\" }]";
    let text = with(&format!("{join}\n{lines}"));
    let rows = Value::Array(vec![row]);
    let mut devices = mapped(&text, &[("devices", rows), ("more", more)]).devices.unwrap();
    assert_eq!(devices.len(), 1);
    devices.remove(0)
}
