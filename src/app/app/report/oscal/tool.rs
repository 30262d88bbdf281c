//! The tools that assess: this service, and the sources that report to it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::identifier::uuid;
use super::line;
use crate::app::report::framework::FrameworkReport;

/// The platform and the tools that it uses.
pub(super) fn assets(report: &FrameworkReport) -> Value {
    let sources: BTreeSet<&str> =
        report.controls.values().flat_map(|it| it.sources.keys().map(String::as_str)).collect();
    let platform = uuid("platform", &[&report.msp_id]);
    if sources.is_empty() {
        return json!({ "assessment-platforms": [{ "uuid": platform, "title": "Posture" }] });
    }
    let component = |name: &&str| {
        json!({
            "uuid": source(report, name),
            "type": "software",
            "title": line(name),
            "description": "A source that reports what it sees of the client's environment.",
            "status": { "state": "operational" },
        })
    };
    let used = |name: &&str| json!({ "component-uuid": source(report, name) });
    json!({
        "components": sources.iter().map(component).collect::<Vec<_>>(),
        "assessment-platforms": [{
            "uuid": platform,
            "title": "Posture",
            "uses-components": sources.iter().map(used).collect::<Vec<_>>(),
        }],
    })
}

pub(super) fn source(report: &FrameworkReport, name: &str) -> String {
    uuid("source", &[&report.client.id.to_string(), name])
}
