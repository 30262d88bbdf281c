//! A report as OSCAL assessment results, the format of NIST. The same state gives the same document, except for
//! `last-modified`.

mod finding;
mod identifier;
mod observation;
mod party;
mod tool;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::framework::FrameworkReport;
use crate::clock::Time;
use identifier::{ControlIds, uuid};

/// The oldest release of the format that has everything that is used here.
const OSCAL_VERSION: &str = "1.2.0";
/// The namespace of properties and schemes that only this service defines.
const NAMESPACE: &str = "urn:posture:oscal";

/// Writes a report as OSCAL assessment results.
#[must_use]
pub fn document(report: &FrameworkReport) -> Value {
    let FrameworkReport { client, framework, .. } = report;
    let (client_id, name) = (client.id.to_string(), framework.id.as_str());
    let plan = uuid("plan", &[&client_id, name]);
    let title = format!("{} {}", framework.name, framework.version);
    let mut results = json!({
        "uuid": uuid("results", &[&client_id, name]),
        "metadata": {
            "title": line(&format!("{title}: {}", client.name)),
            "oscal-version": OSCAL_VERSION,
            "roles": party::roles(),
            "parties": party::parties(report),
            "responsible-parties": party::responsible(report),
        },
        "import-ap": { "href": format!("#{plan}") },
        "results": [result(report)],
        "back-matter": { "resources": [{
            "uuid": plan,
            "title": "Continuous assessment",
            "description": format!(
                "There is no separate assessment plan. Each control of the catalog is assessed whenever one of its sources \
                 reports, and its results are mapped to the requirements of {title}."
            ),
        }] },
    });
    let version = format!("{:016x}", xxh3_64(results.to_string().as_bytes()));
    results["metadata"]["version"] = version.into();
    results["metadata"]["last-modified"] = report.now.to_string().into();
    json!({ "assessment-results": results })
}

fn result(report: &FrameworkReport) -> Value {
    let FrameworkReport { client, framework, .. } = report;
    let ids = ControlIds::of(framework);
    let reference = [&client.id.to_string(), framework.id.as_str()];
    let seen = report.controls.values().filter_map(|it| it.outcome.assessed_at);
    let (first, last) = (seen.clone().min(), seen.max());
    let mut result = json!({
        "uuid": uuid("result", &reference),
        "title": line(&format!("{} {}", framework.name, framework.version)),
        "description": "What was last seen or attested of each control, and what the requirements come to with it.",
        "start": first.unwrap_or(client.created_at).to_string(),
        "local-definitions": { "assessment-assets": tool::assets(report) },
        "reviewed-controls": { "control-selections": [finding::selection(report, &ids)] },
    });
    put(&mut result, "end", last.as_ref().map(Time::to_string));
    put_list(&mut result, "attestations", finding::statements(report, &ids));
    put_list(&mut result, "observations", observation::all(report));
    put_list(&mut result, "findings", finding::all(report, &ids));
    result
}

/// A text of one line, which must not be empty.
fn line(text: &str) -> String {
    const CHARS_MAX: usize = 4_000;
    let line = crate::text::line(text, CHARS_MAX);
    if line.is_empty() { "-".to_owned() } else { line }
}

/// A property that only this service defines.
fn property(name: &str, value: &str) -> Value {
    json!({ "name": name, "ns": NAMESPACE, "value": line(value) })
}

fn put(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}

/// Adds a list, unless it is empty: the format has no empty lists.
fn put_list(object: &mut Value, name: &str, all: Vec<Value>) {
    put(object, name, Some(all).filter(|it| !it.is_empty()));
}
