//! The event about an alert rule whose condition became true.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, NoPrevious};
use crate::engine::contradiction::{Contradiction, DecidedThing};
use crate::engine::event::EventKind;
use crate::id::AlertRuleId;
use crate::store::global::alert::AlertCondition;

/// How the keys of all alerts begin.
pub const KEY_START: &str = "alert/";

/// The condition of an alert rule became true of the client.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertTriggered<'a> {
    #[schemars(extend("format" = "uuid"))]
    pub rule_id: String,
    /// The rule's name.
    pub name: &'a str,
    pub condition: ConditionFields<'a>,
    pub value: AlertValue,
    /// Of `source_silent`: the sources that are silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// Of `decision_contradicted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<ContradictionFields>,
    /// Counts the openings of the condition, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
    /// Of a rule that makes an alert for each of several things: the one that it is about.
    #[serde(skip)]
    pub about: Option<String>,
}

/// A person's decision that is contradicted by what was seen.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContradictionFields {
    #[schemars(extend("enum" = ["override", "out_of_scope", "unused"]))]
    pub decision: &'static str,
    /// Of a decision about a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_code: Option<String>,
    /// Of a decision about a requirement: the framework identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// Of a decision about a requirement: the framework's own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Of an answer that a platform is unused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Who decided.
    pub by: String,
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// When the decision expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The controls that were seen failing.
    pub controls: Vec<String>,
    /// How many were seen failing, by all checks. 0 for a platform: that it was seen is enough.
    pub failing: u64,
    /// The first 10 sources that saw it.
    pub sources: Vec<String>,
    /// When the newest of it was observed.
    #[schemars(extend("format" = "date-time"))]
    pub seen_at: String,
}

impl ContradictionFields {
    #[must_use]
    pub fn of(it: &Contradiction) -> Self {
        let (control_code, row, platform) = match &it.about {
            DecidedThing::Control(code) => (Some(code.clone()), None, None),
            DecidedThing::Row { framework, reference } => {
                (None, Some((framework.as_str().to_owned(), reference.clone())), None)
            }
            DecidedThing::Platform(question) => (None, None, Some(question.clone())),
        };
        let (framework, requirement) = row.unzip();
        Self {
            decision: it.kind.as_str(),
            control_code,
            framework,
            requirement,
            platform,
            by: it.by.clone(),
            at: it.at.to_string(),
            until: it.until.map(|it| it.to_string()),
            reason: it.reason.clone(),
            controls: it.seen.controls.clone(),
            failing: it.seen.n_failing,
            sources: it.seen.sources.clone(),
            seen_at: it.seen.at.to_string(),
        }
    }
}

/// What was seen: a score, a count, hours, or a control's status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AlertValue {
    Number(u64),
    Status(&'static str),
}

/// What the rule waits for.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConditionFields<'a> {
    ScoreBelow {
        value: u8,
    },
    ReadinessBelow {
        framework: &'a str,
        value: u8,
    },
    OpenRisksAtLeast {
        #[schemars(extend("enum" = ["critical", "high", "medium", "low"]))]
        severity: &'static str,
        value: u32,
    },
    #[serde(rename_all = "camelCase")]
    ControlFailing {
        control_code: &'a str,
    },
    SourceSilent {
        hours: u32,
    },
    TasksOverdueAtLeast {
        value: u32,
    },
    DecisionContradicted {},
}

impl<'a> ConditionFields<'a> {
    #[must_use]
    pub fn of(condition: &'a AlertCondition) -> Self {
        match condition {
            AlertCondition::ScoreBelow { value } => Self::ScoreBelow { value: *value },
            AlertCondition::ReadinessBelow { framework, value } => {
                Self::ReadinessBelow { framework: framework.as_str(), value: *value }
            }
            AlertCondition::OpenRisksAtLeast { severity, value } => {
                Self::OpenRisksAtLeast { severity: severity.as_str(), value: *value }
            }
            AlertCondition::ControlFailing { control } => {
                Self::ControlFailing { control_code: control }
            }
            AlertCondition::SourceSilent { hours } => Self::SourceSilent { hours: *hours },
            AlertCondition::TasksOverdueAtLeast { value } => {
                Self::TasksOverdueAtLeast { value: *value }
            }
            AlertCondition::DecisionContradicted => Self::DecisionContradicted {},
        }
    }
}

/// The key of a rule's alert, within the client.
#[must_use]
pub fn key(id: AlertRuleId) -> String {
    format!("{KEY_START}{id}")
}

/// Returns true if it is the key of an alert about one of several things that its rule watches.
#[must_use]
pub fn is_about_something(key: &str) -> bool {
    key.strip_prefix(KEY_START).is_some_and(|it| it.contains('/'))
}

impl EventBody for AlertTriggered<'_> {
    const KIND: EventKind = EventKind::AlertTriggered;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        match &self.about {
            Some(about) => format!("{KEY_START}{}/{about}", self.rule_id),
            None => format!("{KEY_START}{}", self.rule_id),
        }
    }
}
