//! The event about an alert rule whose condition became true.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, NoPrevious};
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
    /// Counts the openings of the condition, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
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
        }
    }
}

/// The key of a rule's alert, within the client.
#[must_use]
pub fn key(id: AlertRuleId) -> String {
    format!("{KEY_START}{id}")
}

impl EventBody for AlertTriggered<'_> {
    const KIND: EventKind = EventKind::AlertTriggered;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        format!("{KEY_START}{}", self.rule_id)
    }
}
