//! Alert rules: list, add, change, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{View, Work};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::input::{ClientIds, TextOf};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{SeverityView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::alert_rule::{NewRule, RuleChange};
use crate::clock::Time;
use crate::error::Result;
use crate::id::AlertRuleId;
use crate::store::global::alert::{AlertCondition, AlertRule};

/// What triggers an alert, and for which clients.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AlertRule")]
#[serde(rename_all = "camelCase")]
pub struct AlertRuleView {
    id: Uid,
    name: String,
    enabled: bool,
    /// Empty: all clients, including those added later.
    client_ids: Vec<Uid>,
    condition: AlertConditionView,
    /// True: every installation has it. It can be disabled, and neither changed otherwise nor removed.
    built_in: bool,
    /// Null: it is built in.
    created_at: Null<When>,
    /// Null: it is built in, and was never changed.
    updated_at: Null<When>,
}

/// What an alert rule watches.
#[derive(JsonSchema, Deserialize, Serialize)]
#[schemars(rename = "AlertCondition")]
#[serde(tag = "type", rename_all = "snake_case", expecting = "a JSON object with a type")]
pub enum AlertConditionView {
    #[schemars(title = "ScoreBelow")]
    ScoreBelow(ScoreBelow),
    #[schemars(title = "ReadinessBelow")]
    ReadinessBelow(ReadinessBelow),
    #[schemars(title = "OpenRisksAtLeast")]
    OpenRisksAtLeast(OpenRisksAtLeast),
    #[schemars(title = "ControlFailing")]
    ControlFailing(ControlFailing),
    #[schemars(title = "SourceSilent")]
    SourceSilent(SourceSilent),
    #[schemars(title = "TasksOverdueAtLeast")]
    TasksOverdueAtLeast(TasksOverdueAtLeast),
    #[schemars(title = "DecisionContradicted")]
    DecisionContradicted(DecisionContradicted),
}

/// The overall score is below `value`.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreBelow {
    #[schemars(range(min = 1, max = 100))]
    value: u32,
}

/// The readiness for a framework is below `value`.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReadinessBelow {
    framework: TextOf<FrameworkName>,
    #[schemars(range(min = 1, max = 100))]
    value: u32,
}

/// There are at least `value` open risks of this severity or a worse one. Accepted risks do not count.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRisksAtLeast {
    severity: TextOf<SeverityView>,
    #[schemars(range(min = 1, max = 1_000_000))]
    value: u32,
}

/// A control is partial or non-compliant.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlFailing {
    /// The code of a control in the catalog.
    control_code: String,
}

/// A source that reported before has been silent for `hours`.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSilent {
    #[schemars(range(min = 1, max = 8784))]
    hours: u32,
}

/// At least `value` remediation tasks are overdue.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TasksOverdueAtLeast {
    #[schemars(range(min = 1, max = 1_000_000))]
    value: u32,
}

/// A decision is contradicted by what was seen: a control that is overridden or out of scope fails, a control fails that
/// decides a requirement that is out of scope, or something of a platform was seen that the profile says is unused. Each is an
/// alert of its own.
#[derive(JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionContradicted {}

impl AlertConditionView {
    fn of(condition: &AlertCondition) -> Self {
        match condition {
            AlertCondition::ScoreBelow { value } => {
                Self::ScoreBelow(ScoreBelow { value: u32::from(*value) })
            }
            AlertCondition::ReadinessBelow { framework, value } => {
                let framework = TextOf::of(framework.as_str());
                Self::ReadinessBelow(ReadinessBelow { framework, value: u32::from(*value) })
            }
            AlertCondition::OpenRisksAtLeast { severity, value } => {
                let severity = TextOf::of(severity.as_str());
                Self::OpenRisksAtLeast(OpenRisksAtLeast { severity, value: *value })
            }
            AlertCondition::ControlFailing { control } => {
                Self::ControlFailing(ControlFailing { control_code: control.clone() })
            }
            AlertCondition::SourceSilent { hours } => {
                Self::SourceSilent(SourceSilent { hours: *hours })
            }
            AlertCondition::TasksOverdueAtLeast { value } => {
                Self::TasksOverdueAtLeast(TasksOverdueAtLeast { value: *value })
            }
            AlertCondition::DecisionContradicted => {
                Self::DecisionContradicted(DecisionContradicted {})
            }
        }
    }

    fn read(self) -> Result<AlertCondition> {
        // A value that a byte cannot hold is more than 100, which is refused with the other rules.
        let percent = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
        Ok(match self {
            Self::ScoreBelow(it) => AlertCondition::ScoreBelow { value: percent(it.value) },
            Self::ReadinessBelow(it) => AlertCondition::ReadinessBelow {
                framework: it.framework.read("condition.framework")?.0,
                value: percent(it.value),
            },
            Self::OpenRisksAtLeast(it) => AlertCondition::OpenRisksAtLeast {
                severity: it.severity.read("condition.severity")?.0,
                value: it.value,
            },
            Self::ControlFailing(it) => {
                AlertCondition::ControlFailing { control: it.control_code.to_ascii_uppercase() }
            }
            Self::SourceSilent(it) => AlertCondition::SourceSilent { hours: it.hours },
            Self::TasksOverdueAtLeast(it) => {
                AlertCondition::TasksOverdueAtLeast { value: it.value }
            }
            Self::DecisionContradicted(_) => AlertCondition::DecisionContradicted,
        })
    }
}

impl AlertRuleView {
    fn of(rule: &AlertRule) -> Self {
        let is_stored = |it: &Time| *it != Time::EPOCH;
        Self {
            id: Uid::of(rule.id.as_bytes()),
            name: rule.name.clone(),
            enabled: rule.enabled,
            client_ids: rule.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            condition: AlertConditionView::of(&rule.condition),
            built_in: rule.is_built_in(),
            created_at: Some(rule.created_at).filter(is_stored).map(When).into(),
            updated_at: Some(rule.updated_at).filter(is_stored).map(When).into(),
        }
    }
}

/// An alert rule to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "AlertRuleCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewAlertRuleBody {
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// Default: true.
    #[serde(default, deserialize_with = "present")]
    enabled: Option<bool>,
    /// Empty or absent: all clients, including those added later.
    #[serde(default, deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    condition: AlertConditionView,
}

example!(NewAlertRuleBody, {
    "name": "Score below 60",
    "condition": {"type": "score_below", "value": 60},
});

impl NewAlertRuleBody {
    fn new_rule(self) -> Result<NewRule> {
        Ok(NewRule {
            name: self.name,
            enabled: self.enabled.unwrap_or(true),
            clients: self.client_ids.map(|it| it.0).unwrap_or_default(),
            condition: self.condition.read()?,
        })
    }
}

/// What to change of an alert rule. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "AlertRuleChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct AlertRuleBody {
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
    /// Empty: all clients, including those added later.
    #[serde(deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    #[serde(deserialize_with = "present")]
    condition: Option<AlertConditionView>,
}

example!(AlertRuleBody, {"enabled": false});

impl AlertRuleBody {
    fn change(self) -> Result<RuleChange> {
        Ok(RuleChange {
            name: self.name,
            enabled: self.enabled,
            clients: self.client_ids.map(|it| it.0),
            condition: self.condition.map(AlertConditionView::read).transpose()?,
        })
    }
}

pub struct AlertRules;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl AlertRules {
    /// List alert rules
    ///
    /// Oldest first, the built-in one before all others. Callers who are limited to clients see only rules about those clients.
    #[oai(path = "/alert-rules", method = "get", operation_id = "list_alert_rules")]
    async fn list_alert_rules(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
    ) -> Result<Data<Vec<AlertRuleView>>, Failure> {
        let all = web.app.list_alert_rules(&by.0).await?;
        Ok(Data::of(&all.iter().map(AlertRuleView::of).collect::<Vec<_>>()))
    }

    /// Add an alert rule
    ///
    /// If its condition is already true for a client, an alert is triggered within seconds.
    #[oai(path = "/alert-rules", method = "post", operation_id = "add_alert_rule")]
    async fn add_alert_rule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        body: Body<NewAlertRuleBody>,
    ) -> Result<Made<AlertRuleView>, Failure> {
        let new = body.read()?.new_rule()?;
        Ok(Made::Added(AlertRuleView::of(&web.app.add_alert_rule(&by.0, new).await?)))
    }

    /// Change an alert rule
    ///
    /// Alerts whose condition no longer holds close within seconds. Of the built-in rule, only `enabled` can be changed.
    #[oai(path = "/alert-rules/:alertRuleId", method = "patch", operation_id = "change_alert_rule")]
    async fn change_alert_rule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "alertRuleId")] alert_rule_id: Path<Raw<Id>>,
        body: Body<AlertRuleBody>,
    ) -> Result<Data<AlertRuleView>, Failure> {
        let id = alert_rule_id.read::<AlertRuleId>()?;
        let change = || body.read()?.change();
        Ok(Data::of(&AlertRuleView::of(&web.app.change_alert_rule(&by.0, id, change).await?)))
    }

    /// Remove an alert rule
    ///
    /// Its open alerts close within seconds. The built-in rule cannot be removed.
    #[oai(
        path = "/alert-rules/:alertRuleId",
        method = "delete",
        operation_id = "remove_alert_rule"
    )]
    async fn remove_alert_rule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "alertRuleId")] alert_rule_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_alert_rule(&by.0, alert_rule_id.read()?).await?;
        Ok(Gone)
    }
}
