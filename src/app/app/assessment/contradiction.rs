//! Decisions that are contradicted by what was seen: what is stored of them, and an alert about each for every rule that
//! watches them.

use std::collections::{BTreeMap, BTreeSet};

use super::alert::quiet_until;
use crate::app::event::alert::{
    self, AlertTriggered, AlertValue, ConditionFields, ContradictionFields,
};
use crate::app::event::cause::Cause;
use crate::app::event::condition::ConditionPlan;
use crate::app::event::envelope::NewEvent;
use crate::clock::Time;
use crate::engine::contradiction::Contradiction;
use crate::error::Result;
use crate::store::global::alert::{AlertCondition, AlertRule};
use crate::store::{ClientBatch, ClientSnapshot};

/// What an assessment changes about the contradictions of a client.
#[derive(Debug)]
pub struct ContradictionPlan {
    put: Vec<Contradiction>,
    /// Keys of what the decisions are about.
    removed: Vec<String>,
    /// How many there are. `None`: as many as before.
    n: Option<u32>,
    /// Alerts to open, and whether they are announced.
    opened: Vec<NewEvent>,
    is_announced: bool,
    /// Keys of alerts to close.
    closed: Vec<String>,
}

impl ContradictionPlan {
    pub fn of(
        rows: &ClientSnapshot,
        found: &[Contradiction],
        cause: &Cause,
        now: Time,
    ) -> Result<Self> {
        let stored = rows.list_contradictions()?;
        let n_before = rows.find_n_contradictions()?;
        let known: BTreeMap<String, &Contradiction> =
            stored.iter().map(|it| (it.about.key(), it)).collect();
        let keys: BTreeSet<String> = found.iter().map(|it| it.about.key()).collect();
        let put = found.iter().filter(|it| known.get(&it.about.key()) != Some(it));
        let n = u32::try_from(found.len()).unwrap_or(u32::MAX);
        // What a first look shows is no news, and neither is what an earlier release did not look for.
        let is_first_look = cause.is_first_read()
            || *cause == Cause::Release
            || n_before.is_none() && rows.find_assessed()?.is_some();
        let mut plan = Self {
            put: put.cloned().collect(),
            removed: known.into_keys().filter(|it| !keys.contains(it)).collect(),
            n: (n_before != Some(n)).then_some(n),
            opened: Vec::new(),
            is_announced: !is_first_look,
            closed: Vec::new(),
        };
        plan.add_alerts(rows, found, now)?;
        Ok(plan)
    }

    fn add_alerts(
        &mut self,
        rows: &ClientSnapshot,
        found: &[Contradiction],
        now: Time,
    ) -> Result<()> {
        let mut rules = rows.list_watching_rules()?;
        rules.retain(|it| it.condition == AlertCondition::DecisionContradicted);
        let alerts = rows.list_conditions_of(alert::KEY_START)?.into_iter();
        let mut open: BTreeSet<String> =
            alerts.filter(|it| it.closed_at.is_none()).map(|it| it.key).collect();
        open.retain(|it| alert::is_about_something(it));
        let is_quiet = quiet_until(rows.find_release()?.as_ref(), now).is_some();
        let is_quiet = is_quiet && self.is_announced;
        for rule in &rules {
            for it in found {
                let event = triggered(rule, it, now);
                if !open.remove(event.key()) && !is_quiet {
                    self.opened.push(event);
                }
            }
        }
        self.closed = open.into_iter().collect();
        Ok(())
    }

    /// Adds the alerts to the conditions of a run.
    pub fn add_to(
        &mut self,
        conditions: Option<ConditionPlan>,
        rows: &ClientSnapshot,
        now: Time,
    ) -> Result<Option<ConditionPlan>> {
        let (closed, opened) = (std::mem::take(&mut self.closed), std::mem::take(&mut self.opened));
        ConditionPlan::changed(conditions, rows, (closed, opened), self.is_announced, now)
    }

    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        self.put.iter().try_for_each(|it| batch.put_contradiction(it))?;
        self.removed.iter().try_for_each(|it| batch.remove_contradiction(it))?;
        self.n.map_or(Ok(()), |it| batch.put_n_contradictions(it))
    }
}

fn triggered(rule: &AlertRule, it: &Contradiction, now: Time) -> NewEvent {
    let body = AlertTriggered {
        rule_id: rule.id.to_string(),
        name: &rule.name,
        condition: ConditionFields::of(&rule.condition),
        value: AlertValue::Number(it.seen.n_failing),
        sources: None,
        contradiction: Some(ContradictionFields::of(it)),
        occurrence: None,
        about: Some(it.about.key()),
    };
    NewEvent::new(&body, now)
}
