//! Azure: a tenant's subscriptions on loopback, and what Defender for Cloud says of them.

pub mod connection;
mod judge;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::connect::vendor::{json as page, parameter, told};
use crate::harness::sink::{Request, Sink};

pub const FIRST: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
pub const SECOND: &str = "bbbbbbbb-0000-4000-8000-00000000000b";

/// A control of the secure score as Azure writes it.
pub fn control(id: &str, name: &str, n_healthy: u64, n_unhealthy: u64) -> Value {
    json!({
        "id": format!("/subscriptions/x/providers/Microsoft.Security/secureScores/ascScore/secureScoreControls/{id}"),
        "name": id, "type": "Microsoft.Security/secureScores/secureScoreControls",
        "properties": {
            "displayName": name, "healthyResourceCount": n_healthy, "unhealthyResourceCount": n_unhealthy,
            "notApplicableResourceCount": 1, "score": {"max": 8, "current": 3.9, "percentage": 0.65}, "weight": 20,
        },
    })
}

/// Of a real subscription, as the Azure CLI recorded it in 2021.
pub fn real_controls() -> Vec<Value> {
    [
        ("05daab2e-f074-4601-ac10-aadf5c9c50f6", "Remediate vulnerabilities", 0, 18),
        ("34a42fb3-e6db-409c-b56b-7b1db6b8aee0", "Enable MFA", 1, 0),
        ("2d85f639-0bea-4a4a-b6c6-608952a1414a", "Manage access and permissions", 1, 0),
        ("12136bd9-dc24-44f2-9587-7be3af6aac14", "Enable endpoint protection", 1, 19),
        ("61702b76-1fab-41f2-bcbc-50b7870dcf38", "Apply system updates", 13, 7),
        ("8fd574ec-43cf-426e-a439-a67cbaf2d564", "Enable encryption at rest", 5, 18),
        ("a9909064-42b4-4d34-8143-275477afe18b", "Protect your applications", 0, 0),
        ("f9d5432b-8f7b-45e9-b90c-e214a30f6a02", "Restrict unauthorized network access", 20, 0),
        ("52901099-235c-4971-b9d5-a33fca3a936e", "Secure management ports", 18, 0),
        ("27b24961-75ba-4fe4-8909-97286d5dd5ee", "Enable auditing and logging", 0, 19),
        ("0e55495e-034f-4abc-8293-767229250176", "Encrypt data in transit", 25, 2),
    ]
    .map(|(id, name, n_healthy, n_unhealthy)| control(id, name, n_healthy, n_unhealthy))
    .to_vec()
}

pub fn subscription(id: &str, name: &str, state: &str) -> Value {
    json!({"id": format!("/subscriptions/{id}"), "subscriptionId": id, "displayName": name, "state": state,
        "tenantId": "cccccccc-0000-4000-8000-00000000000c"})
}

/// Answers by path.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Answers {
    pub fn set(&self, path: &str, answer: Vec<u8>) {
        self.0.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub fn list(&self, path: &str, rows: &[Value]) {
        self.set(path, page(&json!({"value": rows})));
    }

    /// A list in pages of so many rows.
    pub fn pages(&self, path: &str, rows: &[Value], n: usize) {
        let pages: Vec<&[Value]> = rows.chunks(n).collect();
        for (nth, rows) in pages.iter().enumerate() {
            let mut body = json!({"value": rows});
            if nth + 1 < pages.len() {
                body["nextLink"] = next_link(path, nth + 1).into();
            }
            let key = if nth == 0 { path.to_owned() } else { format!("page {nth}") };
            self.set(&key, page(&body));
        }
    }

    pub fn controls(&self, subscription: &str, rows: &[Value]) {
        self.list(&controls_of(subscription), rows);
    }

    /// An error as Azure writes it.
    pub fn fail(&self, path: &str, status: u16, code: &str) {
        let body = json!({"error": {"code": code, "message": "some words"}}).to_string();
        self.set(path, told(status, &[], &body));
    }
}

/// Leads to the nth page, from 0.
pub fn next_link(path: &str, nth: usize) -> String {
    format!("https://management.azure.com{path}?api-version=2020-01-01&skip={nth}")
}

pub fn controls_of(subscription: &str) -> String {
    format!("/subscriptions/{subscription}/providers/Microsoft.Security/secureScoreControls")
}

pub struct Azure {
    pub sink: Sink,
    pub answers: Answers,
}

impl Azure {
    /// A tenant with one subscription.
    pub fn start() -> Self {
        let answers = Answers::default();
        answers.set("token", page(&json!({"access_token": "tok", "expires_in": 3599})));
        answers.list("/subscriptions", &[subscription(FIRST, "Production", "Enabled")]);
        answers.controls(FIRST, &real_controls());
        let known = answers.clone();
        let sink = Sink::scripted("127.0.0.1:0", move |request| answer(&known, request));
        Self { sink, answers }
    }
}

fn answer(answers: &Answers, request: &Request) -> Vec<u8> {
    let (_, target) = request.line.split_once(' ').unwrap();
    let path = target.split('?').next().unwrap();
    let key = if path.ends_with("/oauth2/v2.0/token") {
        let body = String::from_utf8(request.body.clone()).unwrap();
        assert!(body.contains("scope=https%3A%2F%2Fmanagement.azure.com%2F.default"), "{body}");
        "token".to_owned()
    } else {
        assert_eq!(request.header("authorization"), Some("Bearer tok"));
        assert!(target.contains("api-version=20"), "{target}");
        match parameter(request, "skip") {
            nth if nth.is_empty() => path.to_owned(),
            nth => format!("page {nth}"),
        }
    };
    let known = answers.0.lock().unwrap().get(&key).cloned();
    known.unwrap_or_else(|| {
        told(404, &[], "{\"error\":{\"code\":\"NotFound\",\"message\":\"none\"}}")
    })
}
