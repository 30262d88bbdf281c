//! The management API, a file for each resource.

mod accounts;
mod alarms;
mod alerts;
pub(crate) mod all_events;
mod batches;
mod bounds;
mod catalog;
mod changes;
mod client_documents;
mod client_list;
mod clients;
mod complete;
mod compliance;
mod conditions;
mod contradictions;
mod controls;
mod counts;
mod documents;
mod estate;
mod events;
mod evidence;
mod evidence_files;
mod expiry;
mod export;
mod facts;
mod framework_documents;
mod history;
mod holds;
mod imports;
mod keys;
mod knowledge;
mod kpis;
mod lapse;
mod leavers;
mod observations;
mod order;
mod orphans;
mod oscal;
mod own_frameworks;
mod parts;
mod plain_clients;
mod portfolio;
mod portfolio_documents;
mod posture;
mod programs;
mod queries;
mod reads;
mod references;
mod release;
mod reports;
mod requirements;
mod retention;
mod risk_acceptance;
mod scan_networks;
mod scans;
mod statements;
mod subject_decisions;
mod subjects;
mod system;
mod tasks;
mod time_zones;
mod undo;
mod undone;
mod vulnerabilities;

use serde_json::Value;

use crate::harness::{Answer, Posture, catalog};

/// Check, status, severity, resource.
pub(crate) type Finding<'a> = (&'a str, &'a str, &'a str, &'a str);

const ROOT_MFA: &str = "iam_root_mfa_enabled";
const ROOT_KEY: &str = "iam_no_root_access_key";
const CONSOLE_MFA: &str = "iam_user_mfa_enabled_console_access";

/// All well.
pub(crate) const GOOD: &[Finding<'_>] = &[
    (ROOT_MFA, "PASS", "critical", "root"),
    (ROOT_KEY, "PASS", "critical", "root"),
    (CONSOLE_MFA, "PASS", "high", "alice"),
    (CONSOLE_MFA, "PASS", "high", "bob"),
];

/// One critical control fails, one is partly met.
pub(crate) const MIXED: &[Finding<'_>] = &[
    (ROOT_MFA, "FAIL", "critical", "root"),
    (ROOT_KEY, "PASS", "critical", "root"),
    (CONSOLE_MFA, "FAIL", "high", "alice"),
    (CONSOLE_MFA, "PASS", "high", "bob"),
];

/// A report of Prowler about one account.
pub(crate) fn prowler(findings: &[Finding<'_>]) -> Vec<u8> {
    prowler_of("111122223333", findings)
}

pub(crate) fn prowler_of(account: &str, findings: &[Finding<'_>]) -> Vec<u8> {
    let header = "PROVIDER;ACCOUNT_UID;CHECK_ID;CHECK_TITLE;STATUS;STATUS_EXTENDED;MUTED;\
                  SERVICE_NAME;SEVERITY;RESOURCE_TYPE;RESOURCE_UID;RESOURCE_NAME;TIMESTAMP\n";
    let row = |(check, status, severity, resource): &Finding<'_>| {
        format!(
            "aws;{account};{check};{check};{status};{resource}: {status};False;iam;{severity};\
             AwsIamUser;arn:aws:iam::{account}:user/{resource};{resource};2026-03-10 08:00:00\n"
        )
    };
    let rows: String = findings.iter().map(row).collect();
    format!("{header}{rows}").into_bytes()
}

/// Everything that is known of Prowler passes, but for these checks.
fn all_but(failing: &[&str]) -> Vec<u8> {
    prowler(&findings_of_all_but(failing))
}

pub(crate) fn findings_of_all_but(failing: &[&str]) -> Vec<Finding<'static>> {
    let finding = |check: &'static String| {
        let status = if failing.contains(&check.as_str()) { "FAIL" } else { "PASS" };
        (check.as_str(), status, "critical", "everything")
    };
    catalog().tools["prowler"].checks.keys().map(finding).collect()
}

/// Imports findings as of now; the answer's data.
pub fn import(posture: &Posture, client: &str, query: &str, findings: &[Finding<'_>]) -> Value {
    let query = format!("observedAt=now&{query}");
    let answer = posture.import(client, &query, &prowler(findings));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// The data of every event of a kind so far, in commit order.
fn told(posture: &Posture, kind: &str) -> Vec<Value> {
    let events = posture.events().into_iter().filter(|it| it["type"] == kind);
    events.map(|it| it["data"].clone()).collect()
}

/// What the operator changes.
fn patched(posture: &Posture, path: &str, body: &Value) -> Value {
    let answer = posture.operator("PATCH", path, body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

/// What the operator adds.
fn posted(posture: &Posture, path: &str, body: &Value) -> Value {
    let answer = posture.operator("POST", path, body);
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

/// What a key asks of the management API.
fn by_key(posture: &Posture, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    crate::harness::send(posture.address, method, path, &headers, body.to_string().as_bytes())
}

/// Undoes an import.
fn undo(posture: &Posture, client: &str, import: &str) {
    let path = format!("/api/clients/{client}/imports/{import}");
    let answer = posture.operator("DELETE", &path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// What the operator reads.
fn read(posture: &Posture, path: &str) -> Value {
    let answer = posture.operator("GET", path, &Value::Null);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

/// The one field that a 400 names, and its rule; the message must say both.
pub(crate) fn refused_field(answer: &Answer) -> (String, String) {
    let (code, message) = answer.problem();
    assert_eq!((answer.status, code.as_str()), (400, "VALIDATION_ERROR"), "{message}");
    let details = answer.json()["error"]["details"].clone();
    let [detail] = details.as_array().unwrap().as_slice() else { panic!("{details}") };
    let text = |name: &str| detail[name].as_str().unwrap().to_owned();
    let (field, rule) = (text("field"), text("message"));
    assert_eq!(message, format!("{field}: {rule}"));
    (field, rule)
}

/// Everything that the versioned interface and the operator read of a client.
fn all_answers(posture: &Posture, key: &str, client: &str) -> Vec<(String, String)> {
    let rests = ["", "/assets", "/scores", "/risks", "/compliance"];
    let mut paths: Vec<_> =
        rests.iter().map(|it| format!("/api/v1/clients/{client}{it}")).collect();
    let frameworks = posture.read(key, &format!("/clients/{client}/compliance"))["data"].clone();
    for framework in frameworks.as_array().unwrap() {
        let id = framework["framework"].as_str().unwrap();
        paths.push(format!("/api/v1/clients/{client}/compliance/{id}"));
    }
    paths.extend(["", "/imports", "/posture"].map(|it| format!("/api/clients/{client}{it}")));
    paths.push("/api/events?limit=100".to_owned());
    let answer = |path: String| {
        let answer = posture.operator("GET", &path, &Value::Null);
        assert_eq!(answer.status, 200, "{path}");
        (path, answer.text())
    };
    paths.into_iter().map(answer).collect()
}

/// Holds two readings of [`all_answers`] against each other without printing them.
fn assert_same_answers(before: &[(String, String)], after: &[(String, String)]) {
    let pairs = before.iter().zip(after).filter(|(a, b)| a != b);
    let changed: Vec<_> = pairs.map(|(it, _)| it.0.as_str()).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
    assert_eq!(before.len(), after.len());
}
