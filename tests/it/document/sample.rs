//! The samples of events and the names of metrics in the guides, compared with the program.

use std::collections::BTreeSet;

use posture::engine::event::EventKind;
use serde_json::{Value, json};

use super::NODE_METRICS;
use super::markdown::{Document, document};
use crate::harness::{Posture, send};
use crate::openapi;

/// The samples in the guide to events: the type, and `data` without the ids.
fn samples(guide: &Document) -> Vec<(String, Value)> {
    let mut samples = Vec::new();
    for section in guide.text.split("\n#### `").skip(1) {
        let kind = section.split('`').next().unwrap().to_owned();
        let (_, rest) = section.split_once("```json\n").unwrap_or_else(|| panic!("{kind}"));
        let (sample, _) = rest.split_once("```").unwrap();
        samples.push((kind, serde_json::from_str(sample).unwrap()));
    }
    samples
}

#[test]
fn the_guide_to_events_has_a_sample_of_every_type_that_its_schema_accepts() {
    let (described, guide) = (openapi::document(), document("assets/docs/events.md"));
    let samples = samples(&guide);
    let kinds: Vec<&str> = samples.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(kinds, EventKind::ALL.map(EventKind::as_str));
    let check = |kind: &str, body: &Value| {
        let content = &described["x-webhooks"][kind]["post"]["requestBody"]["content"];
        let schema = &content["application/json"]["schema"];
        assert!(schema["$ref"].is_string(), "{kind}");
        openapi::faults(&described, schema, body, kind)
    };
    for (kind, sample) in samples {
        let mut data = sample.clone();
        let start = "https://posture.example.com/go/";
        assert!(sample["object"]["url"].as_str().unwrap().starts_with(start), "{kind}");
        data["mspId"] = json!("msp");
        data["clientId"] = json!("019cd6f9-1c20-7a41-8c5e-3f1b2d4c6a70");
        let mut body = json!({
            "id": "evt_4f0c5d0a6c1b4a0e9d7e2b8f3a6c1d20", "type": kind,
            "created": "2026-03-10T09:01:00.000Z", "data": data,
        });
        assert_eq!(check(&kind, &body), [""; 0], "{kind}");
        body["data"]["object"]["other"] = json!(1);
        assert_eq!(check(&kind, &body), [format!("{kind}.data.object.other is not documented")]);
        for member in ["clientName", "dedupKey", "sequence"] {
            let mut body = body.clone();
            body["data"]["object"].as_object_mut().unwrap().remove(member);
            assert_eq!(check(&kind, &body).len(), 2, "{kind} without {member}");
        }
    }
    let whole = guide.blocks_in("json").next().unwrap();
    let whole: Value = serde_json::from_str(whole).unwrap();
    assert_eq!(check(whole["type"].as_str().unwrap(), &whole), [""; 0]);
}

#[test]
fn the_guide_for_operators_names_every_metric_and_no_other() {
    let posture = Posture::start();
    posture.app.note_certificate(Some(posture.now())); // One metric is there only with HTTPS.
    posture.set_microsoft_app("2027-01-01T00:00:00Z"); // And one only with an app.
    send(posture.address, "GET", "/healthz", &[], b""); // Only what was answered has numbers.
    let text = send(posture.address, "GET", "/metrics", &[], b"").text();
    let mut shown = BTreeSet::new();
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        shown.insert(line.split(['{', ' ']).next().unwrap().to_owned());
    }
    shown.extend(NODE_METRICS.map(str::to_owned));
    let names_of = |document: &Document| -> BTreeSet<String> {
        let spans = document.spans.iter().filter(|it| it.starts_with("posture_"));
        spans.map(|it| it.split(['{', ' ']).next().unwrap().to_owned()).collect()
    };
    assert_eq!(names_of(&document("assets/docs/operate.md")), shown);
    let named = names_of(&document("assets/docs/webhooks.md"));
    assert!(!named.is_empty() && named.is_subset(&shown), "{named:?}");
}
