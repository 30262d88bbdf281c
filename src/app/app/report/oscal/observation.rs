//! Observations: the result of each control that was seen or attested, with its evidence.

use serde_json::{Value, json};

use super::identifier::uuid;
use super::{line, party, property, put, put_list, tool};
use crate::app::report::framework::{FrameworkReport, ReportedControl};
use crate::clock::Time;

/// The controls of which something is known.
pub(super) fn all(report: &FrameworkReport) -> Vec<Value> {
    report.controls.values().filter_map(|it| observation(report, it)).collect()
}

/// The identifier of a control's observation. `None`: nothing was ever seen or attested of the control.
pub(super) fn id(report: &FrameworkReport, control: &ReportedControl) -> Option<String> {
    let id = || uuid("observation", &[&report.client.id.to_string(), &control.outcome.code]);
    collected_at(control).map(|_| id())
}

fn collected_at(control: &ReportedControl) -> Option<Time> {
    control.last_seen_at().max(control.attestation.as_ref().map(|it| it.at))
}

fn observation(report: &FrameworkReport, control: &ReportedControl) -> Option<Value> {
    let outcome = &control.outcome;
    let mut props =
        vec![property("control", &outcome.code), property("status", outcome.status.as_str())];
    props.extend(outcome.score.map(|it| property("score", &it.to_string())));
    let status = || format!("The control is {}.", outcome.status.as_str().replace('_', " "));
    let mut observation = json!({
        "uuid": id(report, control)?,
        "title": line(&format!("{} {}", outcome.code, control.title)),
        "description": outcome.findings.clone().unwrap_or_else(status),
        "props": props,
        "methods": methods(control),
        "types": ["control-objective"],
        "subjects": [{ "subject-uuid": party::client_of(report), "type": "party" }],
        "collected": collected_at(control)?.to_string(),
    });
    put(&mut observation, "expires", outcome.valid_until.map(|it| it.to_string()));
    put(&mut observation, "remarks", outcome.remediation.as_deref());
    put_list(&mut observation, "origins", origins(report, control));
    put_list(&mut observation, "relevant-evidence", evidence(control));
    Some(observation)
}

/// What sources report was tested. What a person attests was examined if there is evidence, and only asked otherwise.
fn methods(control: &ReportedControl) -> Vec<&'static str> {
    let tested = (!control.sources.is_empty()).then_some("TEST");
    let attested = control.attestation.as_ref();
    let attested = attested.map(|it| if it.evidence.is_some() { "EXAMINE" } else { "INTERVIEW" });
    let all: Vec<_> = tested.into_iter().chain(attested).collect();
    if all.is_empty() { vec!["UNKNOWN"] } else { all }
}

fn origins(report: &FrameworkReport, control: &ReportedControl) -> Vec<Value> {
    let origin =
        |actor: &str, uuid: String| json!({ "actors": [{ "type": actor, "actor-uuid": uuid }] });
    let tools = control.sources.keys().map(|it| origin("tool", tool::source(report, it)));
    let person =
        control.attestation.iter().map(|it| origin("party", party::person(report, &it.by)));
    tools.chain(person).collect()
}

/// What was attested, and the entries of the register.
fn evidence(control: &ReportedControl) -> Vec<Value> {
    let attested = control.attestation.iter().map(|it| {
        let until = it.until.map_or(String::new(), |end| format!(" until {end}"));
        let status = it.status.as_str();
        let by = format!("Attested as {status} by {} at {}{until}: {}", it.by, it.at, it.reason);
        entry(&by, it.evidence.as_deref())
    });
    let registered = control.evidence.iter().map(|it| entry(&it.title, Some(&it.reference)));
    attested.chain(registered).collect()
}

/// `reference`: where it is kept, which is a link or says so in words.
fn entry(text: &str, reference: Option<&str>) -> Value {
    let link = reference.filter(|it| is_link(it));
    let words = reference.filter(|it| !is_link(it)).map_or(String::new(), |it| format!(" ({it})"));
    let mut entry = json!({ "description": format!("{text}{words}") });
    put(&mut entry, "href", link);
    entry
}

fn is_link(text: &str) -> bool {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    is_web && text.chars().all(|it| it.is_ascii_graphic() && !"<>\"{}|\\^`".contains(it))
}
