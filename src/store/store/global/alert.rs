//! Alert rules.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::framework::FrameworkId;
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::{AlertRuleId, ClientId};
use crate::store::Batch;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::ALERT_RULES;

/// The id of the rule that every installation has.
const BUILT_IN: AlertRuleId =
    AlertRuleId::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1]);

/// A condition, and the clients that it is checked for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AlertRule {
    pub id: AlertRuleId,
    pub name: String,
    pub enabled: bool,
    /// Empty: all clients.
    pub clients: Vec<ClientId>,
    pub condition: AlertCondition,
    pub created_at: Time,
    pub updated_at: Time,
}

/// When an alert is triggered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AlertCondition {
    /// The overall score is below `value`.
    ScoreBelow { value: u8 },
    /// A framework's readiness is below `value`.
    ReadinessBelow { framework: FrameworkId, value: u8 },
    /// There are at least this many open risks of this severity or a worse one, not counting accepted ones.
    OpenRisksAtLeast { severity: Severity, value: u32 },
    /// A control is partial or non-compliant.
    ControlFailing { control: String },
    /// A source that reported before has been silent for this long.
    SourceSilent { hours: u32 },
    /// At least this many tasks are overdue.
    TasksOverdueAtLeast { value: u32 },
    /// A decision of a person is contradicted by what was seen. Each is an alert of its own.
    DecisionContradicted,
}

impl AlertCondition {
    /// The framework that it is about, if it is about one.
    #[must_use]
    pub fn framework(&self) -> Option<FrameworkId> {
        match self {
            Self::ReadinessBelow { framework, .. } => Some(*framework),
            Self::ScoreBelow { .. }
            | Self::OpenRisksAtLeast { .. }
            | Self::ControlFailing { .. }
            | Self::SourceSilent { .. }
            | Self::TasksOverdueAtLeast { .. }
            | Self::DecisionContradicted => None,
        }
    }
}

impl AlertRule {
    /// The rule that every installation has. It is stored once it was changed.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            id: BUILT_IN,
            name: "A decision is contradicted by what was seen".to_owned(),
            enabled: true,
            clients: Vec::new(),
            condition: AlertCondition::DecisionContradicted,
            created_at: Time::EPOCH,
            updated_at: Time::EPOCH,
        }
    }

    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.id == BUILT_IN
    }

    /// Returns true if the rule is enabled and includes this client.
    #[must_use]
    pub fn watches(&self, client: ClientId) -> bool {
        self.enabled && (self.clients.is_empty() || self.clients.contains(&client))
    }
}

impl<R: Rows> Transaction<R> {
    pub fn find_alert_rule(&self, id: AlertRuleId) -> Result<Option<AlertRule>> {
        let stored = self.rows.find_row(ALERT_RULES, id.as_bytes())?;
        Ok(stored.or_else(|| (id == BUILT_IN).then(AlertRule::built_in)))
    }

    /// All rules in id order, including disabled ones. The built-in one is the first.
    pub fn list_alert_rules(&self) -> Result<Vec<AlertRule>> {
        list_rules(&self.rows)
    }
}

fn list_rules(rows: &impl Rows) -> Result<Vec<AlertRule>> {
    let mut rules: Vec<AlertRule> = rows.list_rows(ALERT_RULES, &Span::all(), usize::MAX)?;
    if rules.first().is_none_or(|it| !it.is_built_in()) {
        rules.insert(0, AlertRule::built_in());
    }
    Ok(rules)
}

impl<R: Rows> ClientTransaction<R> {
    /// The rules that include this client, in id order.
    pub fn list_watching_rules(&self) -> Result<Vec<AlertRule>> {
        let mut rules = list_rules(&self.rows)?;
        rules.retain(|it| it.watches(self.client));
        Ok(rules)
    }
}

impl Batch {
    pub fn put_alert_rule(&mut self, rule: &AlertRule) -> Result<()> {
        self.rows.put_row(ALERT_RULES, rule.id.as_bytes(), rule)
    }

    /// Whether it was there.
    pub fn remove_alert_rule(&mut self, id: AlertRuleId) -> Result<bool> {
        self.rows.remove_row(ALERT_RULES, id.as_bytes())
    }
}
