//! The event about evidence, attestations and decisions that are about to expire.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, NoPrevious};
use crate::engine::event::EventKind;

/// How the keys of warnings begin, by what is about to expire.
pub const EVIDENCE: &str = "evidence";
pub const ATTESTATION: &str = "attestation";
pub const DECISION: &str = "decision";
pub const ESTATE: &str = "estate";

/// Evidence, an attestation, a decision about a requirement, or the answer that these are all is about to expire.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceExpiring<'a> {
    /// What is about to expire.
    #[schemars(extend("enum" = ["evidence", "attestation", "decision", "estate"]))]
    pub kind: &'static str,
    /// Of evidence and attestations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_code: Option<&'a str>,
    /// Of decisions: the framework identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<&'a str>,
    /// Of decisions: the framework's own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<&'a str>,
    pub title: &'a str,
    #[schemars(extend("format" = "date-time"))]
    pub valid_until: String,
    /// Counts the openings of the condition, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
    #[serde(skip)]
    pub key: String,
}

impl<'a> EvidenceExpiring<'a> {
    /// With what all kinds have.
    #[must_use]
    pub fn blank(kind: &'static str, title: &'a str) -> Self {
        let (control_code, framework, requirement, occurrence) = (None, None, None, None);
        let (valid_until, key) = (String::new(), String::new());
        Self { kind, control_code, framework, requirement, title, valid_until, occurrence, key }
    }
}

impl EventBody for EvidenceExpiring<'_> {
    const KIND: EventKind = EventKind::EvidenceExpiring;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.key.clone()
    }
}
