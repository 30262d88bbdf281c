//! Who assesses, who is assessed, and who attested or decided something.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::identifier::uuid;
use super::{NAMESPACE, line};
use crate::app::report::framework::FrameworkReport;

pub(super) const ATTESTER: &str = "attester";

pub(super) fn roles() -> Value {
    json!([
        { "id": "prepared-by", "title": "Managed service provider" },
        { "id": "prepared-for", "title": "Client organization" },
        { "id": ATTESTER, "title": "Person who attested a control or decided about a requirement" },
    ])
}

/// The managed service provider, the client, and everybody who stated something.
pub(super) fn parties(report: &FrameworkReport) -> Vec<Value> {
    let organization = |uuid: String, name: &str, scheme: &str, id: &str| {
        let external = json!({ "scheme": format!("{NAMESPACE}:{scheme}"), "id": line(id) });
        json!({ "uuid": uuid, "type": "organization", "name": line(name), "external-ids": [external] })
    };
    let (msp, client) = (&report.msp_id, &report.client);
    let mut all = vec![
        organization(msp_of(report), "Managed service provider", "msp", msp),
        organization(client_of(report), &client.name, "client", &client.id.to_string()),
    ];
    let decided = report.requirements.iter().filter_map(|it| it.decision.as_ref());
    let attested = report.controls.values().filter_map(|it| it.attestation.as_ref());
    let people: BTreeSet<&str> =
        decided.map(|it| &*it.by).chain(attested.map(|it| &*it.by)).collect();
    all.extend(
        people.into_iter().map(
            |name| json!({ "uuid": person(report, name), "type": "person", "name": line(name) }),
        ),
    );
    all
}

pub(super) fn responsible(report: &FrameworkReport) -> Value {
    json!([
        { "role-id": "prepared-by", "party-uuids": [msp_of(report)] },
        { "role-id": "prepared-for", "party-uuids": [client_of(report)] },
    ])
}

fn msp_of(report: &FrameworkReport) -> String {
    uuid("msp", &[&report.msp_id])
}

pub(super) fn client_of(report: &FrameworkReport) -> String {
    uuid("client", &[&report.client.id.to_string()])
}

/// Somebody by the name that a statement has. Two people of one name are one here.
pub(super) fn person(report: &FrameworkReport, name: &str) -> String {
    uuid("person", &[&report.msp_id, name])
}
