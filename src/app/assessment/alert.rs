//! Alert rules: list, add, change, remove, and looking whether what they wait for is true of a client.

use serde_json::{Map, Value, json};

use crate::app::App;
use crate::app::event::announce;
use crate::app::input::require_text;
use crate::app::intake::ingest;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::fact::Status;
use crate::error::{Error, Result};
use crate::id::{AlertRuleId, ClientId};
use crate::store::global::alert::{AlertCondition, AlertRule};
use crate::store::global::task::Task;
use crate::store::{Batch, ClientBatch};

pub const N_RULES_MAX: usize = 100;
pub const NAME_CHARS_MAX: usize = 200;
pub const COUNT_MAX: u32 = 1_000_000;
/// A year.
pub const HOURS_MAX: u32 = 366 * 24;
/// How the keys of all alerts' conditions begin.
pub(in crate::app) const KEY_START: &str = "alert/";
/// Clients that are told of a changed rule in one commit, so that writers beside it wait little.
const N_TOLD_AT_ONCE: usize = 200;
const S_PER_HOUR: i64 = 3_600;

/// What an administrator wants to hear of.
#[derive(Clone, Debug)]
pub struct NewRule {
    pub name: String,
    pub enabled: bool,
    /// Empty: all.
    pub clients: Vec<ClientId>,
    pub condition: AlertCondition,
}

/// What may change of a rule. `None` leaves it.
#[derive(Clone, Debug, Default)]
pub struct RuleChange {
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub clients: Option<Vec<ClientId>>,
    pub condition: Option<AlertCondition>,
}

impl App {
    /// Oldest first. Those that the caller may see whole.
    pub async fn list_alert_rules(&self, caller: &Caller) -> Result<Vec<AlertRule>> {
        let mut all = self.store.read(crate::store::Snapshot::list_alert_rules).await?;
        all.retain(|it| caller.may_reach_all(&it.clients));
        Ok(all)
    }

    /// # Errors
    /// `NotFound`; `Forbidden` when it watches clients that the caller may not reach.
    pub async fn get_alert_rule(&self, caller: &Caller, id: AlertRuleId) -> Result<AlertRule> {
        let found = self.store.read(move |snapshot| snapshot.find_alert_rule(id)).await?;
        let rule = found.ok_or_else(absent)?;
        require_reach(caller, &rule.clients)?;
        Ok(rule)
    }

    /// The next sweep looks at every client that it watches.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` when there are too many.
    pub async fn add_alert_rule(&self, caller: &Caller, new: NewRule) -> Result<AlertRule> {
        require_reach(caller, &new.clients)?;
        let now = self.clock.now();
        let NewRule { name, enabled, clients, condition } = new;
        let id = AlertRuleId::made_at(now);
        let (created_at, updated_at) = (now, now);
        let rule = AlertRule { id, name, enabled, clients, condition, created_at, updated_at };
        self.check_rule(&rule, None)?;
        let row = rule.clone();
        let write = move |batch: &mut Batch| {
            if N_RULES_MAX <= batch.list_alert_rules()?.len() {
                let rule = format!("there are {N_RULES_MAX} alert rules already; remove one");
                return Err(Error::conflict(rule));
            }
            batch.note_object(&row.id);
            batch.put_alert_rule(&row)
        };
        self.store.write(write).await?;
        self.look_soon(&[&rule]).await?;
        Ok(rule)
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule.
    pub async fn change_alert_rule(
        &self,
        caller: &Caller,
        id: AlertRuleId,
        change: RuleChange,
    ) -> Result<AlertRule> {
        let now = self.clock.now();
        let before = self.get_alert_rule(caller, id).await?;
        require_reach(caller, change.clients.as_deref().unwrap_or(&before.clients))?;
        let mut wanted = before.clone();
        apply(&mut wanted, &change, now);
        self.check_rule(&wanted, Some(&before))?;
        let by = caller.clone();
        let write = move |batch: &mut Batch| {
            let before = batch.find_alert_rule(id)?.ok_or_else(absent)?;
            require_reach(&by, &before.clients)?;
            let mut rule = before.clone();
            apply(&mut rule, &change, now);
            batch.put_alert_rule(&rule)?;
            Ok((before, rule))
        };
        let (before, rule) = self.store.write(write).await?;
        self.look_soon(&[&before, &rule]).await?;
        Ok(rule)
    }

    /// Its open alerts close with the next sweep.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_alert_rule(&self, caller: &Caller, id: AlertRuleId) -> Result<()> {
        self.get_alert_rule(caller, id).await?;
        let by = caller.clone();
        let write = move |batch: &mut Batch| {
            let rule = batch.find_alert_rule(id)?.ok_or_else(absent)?;
            require_reach(&by, &rule.clients)?;
            batch.remove_alert_rule(id)?;
            Ok(rule)
        };
        let rule = self.store.write(write).await?;
        self.look_soon(&[&rule]).await
    }

    /// Lets the next sweep look at the clients of these rules. Should the process not live to tell them all, the daily
    /// assessment of each client looks too.
    async fn look_soon(&self, rules: &[&AlertRule]) -> Result<()> {
        let now = self.clock.now();
        let is_meant =
            |id: &ClientId| rules.iter().any(|it| it.clients.is_empty() || it.clients.contains(id));
        let all = self.directory.list();
        let clients: Vec<ClientId> = all.iter().map(|it| it.id).filter(is_meant).collect();
        for some in clients.chunks(N_TOLD_AT_ONCE) {
            let some = some.to_vec();
            let write = move |batch: &mut Batch| {
                for id in &some {
                    let mut rows = batch.client(*id);
                    if ingest::require_client(&rows).is_ok() {
                        rows.hasten_due(now)?;
                    }
                }
                Ok(())
            };
            self.store.write(write).await?;
        }
        Ok(())
    }

    fn check_rule(&self, rule: &AlertRule, before: Option<&AlertRule>) -> Result<()> {
        require_text("name", &rule.name, NAME_CHARS_MAX)?;
        self.require_clients(&rule.clients, before.map_or(&[], |it| &it.clients))?;
        self.check_condition(&rule.condition)
    }

    fn check_condition(&self, condition: &AlertCondition) -> Result<()> {
        let within = |member: &str, value: u32, max: u32| {
            if (1..=max).contains(&value) {
                return Ok(());
            }
            let field = format!("condition.{member}");
            Err(Error::invalid_field(field, format!("must be an integer from 1 to {max}")))
        };
        match condition {
            AlertCondition::ScoreBelow { value } | AlertCondition::ReadinessBelow { value, .. } => {
                within("value", u32::from(*value), 100)
            }
            AlertCondition::OpenRisksAtLeast { value, .. }
            | AlertCondition::TasksOverdueAtLeast { value } => within("value", *value, COUNT_MAX),
            AlertCondition::SourceSilent { hours } => within("hours", *hours, HOURS_MAX),
            AlertCondition::ControlFailing { control } => {
                if self.catalog.find_control(control).is_some() {
                    return Ok(());
                }
                let rule = "no such control in the catalogue";
                Err(Error::invalid_field("condition.controlCode", rule))
            }
        }
    }
}

/// # Errors
/// `Forbidden` when a rule for these clients is about others than the caller's.
fn require_reach(caller: &Caller, clients: &[ClientId]) -> Result<()> {
    if caller.may_reach_all(clients) {
        return Ok(());
    }
    Err(Error::forbidden(
        "you are not authorized for all clients of this rule; name those that you are",
    ))
}

fn absent() -> Error {
    Error::not_found("alert rule not found")
}

fn apply(rule: &mut AlertRule, change: &RuleChange, now: Time) {
    let RuleChange { name, enabled, clients, condition } = change.clone();
    rule.name = name.unwrap_or_else(|| rule.name.clone());
    rule.enabled = enabled.unwrap_or(rule.enabled);
    rule.clients = clients.unwrap_or_else(|| rule.clients.clone());
    rule.condition = condition.unwrap_or_else(|| rule.condition.clone());
    rule.updated_at = now;
}

/// Opens alerts whose condition became true and announces them; closes those whose condition is not true any more, or
/// whose rule no longer looks at the client. `tasks`: the client's open ones. When time alone may make one true.
pub(in crate::app) fn evaluate(
    batch: &mut ClientBatch<'_>,
    tasks: &[Task],
    now: Time,
) -> Result<Option<Time>> {
    let rules = batch.list_watching_rules()?;
    let keys: Vec<String> = rules.iter().map(|it| key(it.id)).collect();
    for it in batch.list_conditions_of(KEY_START)? {
        if it.closed_at.is_none() && !keys.contains(&it.key) {
            batch.close_condition(&it.key, now)?;
        }
    }
    let mut next = None;
    for (rule, key) in rules.iter().zip(&keys) {
        let seen = judge(batch, &rule.condition, tasks, now)?;
        next = next.into_iter().chain(seen.next).min();
        match seen.verdict {
            Some(true) => trigger(batch, rule, key, seen.members, now)?,
            Some(false) => {
                batch.close_condition(key, now)?;
            }
            None => (), // Nothing is known that would open or close it.
        }
    }
    Ok(next)
}

fn key(id: AlertRuleId) -> String {
    format!("{KEY_START}{id}")
}

fn trigger(
    batch: &mut ClientBatch<'_>,
    rule: &AlertRule,
    key: &str,
    members: Map<String, Value>,
    now: Time,
) -> Result<()> {
    let mut object = json!({
        "ruleId": rule.id.to_string(),
        "name": rule.name,
        "condition": shown(&rule.condition),
        "dedupKey": key,
    });
    object.as_object_mut().expect("made as one above").extend(members);
    let kind = EventKind::AlertTriggered;
    if let Some(n) = batch.open_condition(key, kind.as_str(), object.to_string(), now)? {
        object["occurrence"] = json!(n);
        batch.add_event(announce::event(kind, now, object, None))?;
    }
    Ok(())
}

/// A condition as events show it.
fn shown(condition: &AlertCondition) -> Value {
    match condition {
        AlertCondition::ScoreBelow { value } => json!({ "type": "score_below", "value": value }),
        AlertCondition::ReadinessBelow { framework, value } => {
            let framework = framework.as_str();
            json!({ "type": "readiness_below", "framework": framework, "value": value })
        }
        AlertCondition::OpenRisksAtLeast { severity, value } => {
            let severity = severity.as_str();
            json!({ "type": "open_risks_at_least", "severity": severity, "value": value })
        }
        AlertCondition::ControlFailing { control } => {
            json!({ "type": "control_failing", "controlCode": control })
        }
        AlertCondition::SourceSilent { hours } => {
            json!({ "type": "source_silent", "hours": hours })
        }
        AlertCondition::TasksOverdueAtLeast { value } => {
            json!({ "type": "tasks_overdue_at_least", "value": value })
        }
    }
}

/// What a rule finds at a client.
struct Seen {
    /// `None`: unknown.
    verdict: Option<bool>,
    /// The `value` that was seen, and more to tell.
    members: Map<String, Value>,
    /// When time alone may make it true.
    next: Option<Time>,
}

impl Seen {
    fn of(verdict: bool, value: impl Into<Value>) -> Self {
        let members = Map::from_iter([("value".to_owned(), value.into())]);
        Self { verdict: Some(verdict), members, next: None }
    }

    fn unknown() -> Self {
        Self { verdict: None, members: Map::new(), next: None }
    }
}

fn judge(
    rows: &ClientBatch<'_>,
    condition: &AlertCondition,
    tasks: &[Task],
    now: Time,
) -> Result<Seen> {
    Ok(match condition {
        AlertCondition::ScoreBelow { value } => match rows.find_score()? {
            Some(it) => Seen::of(it.score.overall < *value, it.score.overall),
            None => Seen::unknown(),
        },
        AlertCondition::ReadinessBelow { framework, value } => {
            // Without any evidence nothing is ready, which is no news.
            let has_evidence = rows.find_score()?.is_some();
            match rows.find_framework(*framework)?.filter(|_| has_evidence) {
                Some(it) => Seen::of(it.summary.readiness < *value, it.summary.readiness),
                None => Seen::unknown(),
            }
        }
        AlertCondition::OpenRisksAtLeast { severity, value } => {
            let all = rows.list_risks()?;
            let shown = all.iter().filter(|it| it.closed.is_none() && it.accepted.is_none());
            let n = shown.filter(|it| *severity <= it.risk.severity).count();
            Seen::of(*value as usize <= n, n)
        }
        AlertCondition::ControlFailing { control } => {
            match rows.find_control_outcome(control)? {
                // What it failed on has lapsed, and silence never heals.
                Some(it) if it.held => Seen::unknown(),
                Some(it) => {
                    let fails = matches!(it.status, Status::Partial | Status::NonCompliant);
                    Seen::of(fails, it.status.as_str())
                }
                None => Seen::unknown(),
            }
        }
        AlertCondition::SourceSilent { hours } => silence(rows, *hours, now)?,
        AlertCondition::TasksOverdueAtLeast { value } => {
            let n = tasks.iter().filter(|it| it.is_overdue(now)).count();
            Seen::of(*value as usize <= n, n)
        }
    })
}

/// Which sources nothing was heard of for so long, and the hours since the one that is silent longest.
fn silence(rows: &ClientBatch<'_>, hours: u32, now: Time) -> Result<Seen> {
    let mut heard = std::collections::BTreeMap::<String, Time>::new();
    for it in rows.list_sources()? {
        let last = heard.entry(it.source).or_insert(it.last_seen_at);
        *last = it.last_seen_at.max(*last);
    }
    let limit_s = i64::from(hours) * S_PER_HOUR;
    let is_silent = |last: Time| last.plus_s(limit_s) <= now;
    let silent: Vec<&str> =
        heard.iter().filter(|it| is_silent(*it.1)).map(|it| it.0.as_str()).collect();
    let longest = heard.values().min().map_or(0, |it| now.s_since(*it) / S_PER_HOUR);
    let mut seen = Seen::of(!silent.is_empty(), longest);
    seen.members.insert("sources".to_owned(), json!(silent));
    seen.next = heard.values().map(|it| it.plus_s(limit_s)).filter(|it| now < *it).min();
    Ok(seen)
}
