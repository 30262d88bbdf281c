//! Alert rules: list, add, change, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{View, Work};
use crate::api::wire::body::{Body, client_ids, present};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made};
use crate::api::wire::view::{SeverityView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::alert_rule::{NewRule, RuleChange};
use crate::engine::catalog::FrameworkId;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::id::AlertRuleId;
use crate::store::global::alert::{AlertCondition, AlertRule};

/// What is to be heard of, and of whom.
#[derive(Object, Serialize)]
#[oai(rename = "AlertRule", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct AlertRuleView {
    id: Uid,
    name: String,
    enabled: bool,
    /// Empty: all clients.
    client_ids: Vec<Uid>,
    condition: ConditionView,
    created_at: When,
    updated_at: When,
}

/// What is looked at, and from where on it is alarming. Which members there are depends on `type`:
/// `score_below` (value), `readiness_below` (framework, value), `open_risks_at_least` (severity: that or a worse one;
/// value), `control_failing` (controlCode), `source_silent` (hours), `tasks_overdue_at_least` (value).
#[derive(Object, Serialize)]
#[oai(rename = "AlertCondition", rename_all = "camelCase", skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    framework: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<SeverityView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hours: Option<u32>,
}

impl ConditionView {
    fn of(condition: &AlertCondition) -> Self {
        let none = Self {
            kind: String::new(),
            value: None,
            framework: None,
            severity: None,
            control_code: None,
            hours: None,
        };
        match condition {
            AlertCondition::ScoreBelow { value } => {
                Self { kind: "score_below".to_owned(), value: Some(u32::from(*value)), ..none }
            }
            AlertCondition::ReadinessBelow { framework, value } => Self {
                kind: "readiness_below".to_owned(),
                framework: Some(framework.as_str().to_owned()),
                value: Some(u32::from(*value)),
                ..none
            },
            AlertCondition::OpenRisksAtLeast { severity, value } => Self {
                kind: "open_risks_at_least".to_owned(),
                severity: Some(SeverityView(*severity)),
                value: Some(*value),
                ..none
            },
            AlertCondition::ControlFailing { control } => Self {
                kind: "control_failing".to_owned(),
                control_code: Some(control.clone()),
                ..none
            },
            AlertCondition::SourceSilent { hours } => {
                Self { kind: "source_silent".to_owned(), hours: Some(*hours), ..none }
            }
            AlertCondition::TasksOverdueAtLeast { value } => {
                Self { kind: "tasks_overdue_at_least".to_owned(), value: Some(*value), ..none }
            }
        }
    }
}

impl AlertRuleView {
    fn of(rule: &AlertRule) -> Self {
        Self {
            id: Uid::of(rule.id.as_bytes()),
            name: rule.name.clone(),
            enabled: rule.enabled,
            client_ids: rule.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            condition: ConditionView::of(&rule.condition),
            created_at: When(rule.created_at),
            updated_at: When(rule.updated_at),
        }
    }
}

/// For a new rule `name` and `condition` are required; for a change absent fields stay.
#[derive(Object)]
#[oai(rename = "AlertRuleChange", rename_all = "camelCase")]
pub struct AlertRuleDoc {
    #[oai(validator(min_length = 1, max_length = 200))]
    name: Option<String>,
    /// Default for a new rule: true.
    enabled: Option<bool>,
    /// Empty: all clients, also those to come.
    client_ids: Option<Vec<Uid>>,
    condition: Option<ConditionView>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct AlertRuleBody {
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
    #[serde(deserialize_with = "present")]
    client_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    condition: Option<ConditionBody>,
}

#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields,
    expecting = "a JSON object with a type"
)]
enum ConditionBody {
    ScoreBelow { value: u32 },
    ReadinessBelow { framework: String, value: u32 },
    OpenRisksAtLeast { severity: String, value: u32 },
    ControlFailing { control_code: String },
    SourceSilent { hours: u32 },
    TasksOverdueAtLeast { value: u32 },
}

impl ConditionBody {
    fn read(self) -> Result<AlertCondition> {
        // Beyond a byte it is beyond the rule that is checked with the others.
        let percent = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
        Ok(match self {
            Self::ScoreBelow { value } => AlertCondition::ScoreBelow { value: percent(value) },
            Self::ReadinessBelow { framework, value } => AlertCondition::ReadinessBelow {
                framework: framework_of(&framework)?,
                value: percent(value),
            },
            Self::OpenRisksAtLeast { severity, value } => {
                AlertCondition::OpenRisksAtLeast { severity: severity_of(&severity)?, value }
            }
            Self::ControlFailing { control_code: control } => {
                AlertCondition::ControlFailing { control }
            }
            Self::SourceSilent { hours } => AlertCondition::SourceSilent { hours },
            Self::TasksOverdueAtLeast { value } => AlertCondition::TasksOverdueAtLeast { value },
        })
    }
}

fn framework_of(word: &str) -> Result<FrameworkId> {
    word.parse().map_err(|error: Error| error.about("condition.framework"))
}

fn severity_of(word: &str) -> Result<Severity> {
    Severity::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
        let known = Severity::ALL.map(Severity::as_str).join(", ");
        Error::invalid_field("condition.severity", format!("must be one of {known}"))
    })
}

impl AlertRuleBody {
    fn change(self) -> Result<RuleChange> {
        Ok(RuleChange {
            name: self.name,
            enabled: self.enabled,
            clients: self.client_ids.as_deref().map(client_ids).transpose()?,
            condition: self.condition.map(ConditionBody::read).transpose()?,
        })
    }

    fn new_rule(self) -> Result<NewRule> {
        let RuleChange { name, enabled, clients, condition } = self.change()?;
        let required = |field| move || Error::invalid_field(field, "is required");
        Ok(NewRule {
            name: name.ok_or_else(required("name"))?,
            enabled: enabled.unwrap_or(true),
            clients: clients.unwrap_or_default(),
            condition: condition.ok_or_else(required("condition"))?,
        })
    }
}

pub struct AlertRules;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl AlertRules {
    /// List alert rules
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
    /// Where its condition is true already it triggers within seconds.
    #[oai(path = "/alert-rules", method = "post", operation_id = "add_alert_rule")]
    async fn add_alert_rule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        body: Body<AlertRuleDoc>,
    ) -> Result<Made<AlertRuleView>, Failure> {
        let new = body.read::<AlertRuleBody>()?.new_rule()?;
        Ok(Made::Added(AlertRuleView::of(&web.app.add_alert_rule(&by.0, new).await?)))
    }

    /// Change an alert rule
    ///
    /// Alerts that it no longer stands for close within seconds.
    #[oai(path = "/alert-rules/:alertRuleId", method = "patch", operation_id = "change_alert_rule")]
    async fn change_alert_rule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "alertRuleId")] alert_rule_id: Path<Raw<Id>>,
        body: Body<AlertRuleDoc>,
    ) -> Result<Data<AlertRuleView>, Failure> {
        let id = alert_rule_id.read::<AlertRuleId>()?;
        web.app.get_alert_rule(&by.0, id).await?;
        let change = body.read::<AlertRuleBody>()?.change()?;
        Ok(Data::of(&AlertRuleView::of(&web.app.change_alert_rule(&by.0, id, change).await?)))
    }

    /// Remove an alert rule
    ///
    /// Its open alerts close within seconds.
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
