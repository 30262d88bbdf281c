//! Alert rules: list, add, change, remove.

use crate::app::App;
use crate::app::input::require_name;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{AlertRuleId, ClientId};
use crate::store::Batch;
use crate::store::global::alert::{AlertCondition, AlertRule};

/// Of all clients together.
pub const N_RULES_MAX: usize = 1_000;
/// Rules that name a client, so that those of one client do not keep those of the others out.
pub const N_RULES_PER_CLIENT_MAX: usize = 20;
/// Rules that watch all clients.
pub const N_RULES_FOR_ALL_MAX: usize = 100;
pub const NAME_CHARS_MAX: usize = 200;
pub const COUNT_MAX: u32 = 1_000_000;
/// A year.
pub const HOURS_MAX: u32 = 366 * 24;

/// An alert rule to add.
#[derive(Clone, Debug)]
pub struct NewRule {
    pub name: String,
    pub enabled: bool,
    /// Empty: all.
    pub clients: Vec<ClientId>,
    pub condition: AlertCondition,
}

/// What to change of a rule. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct RuleChange {
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub clients: Option<Vec<ClientId>>,
    pub condition: Option<AlertCondition>,
}

impl App {
    /// Oldest first. Only rules whose clients the caller may all access.
    pub async fn list_alert_rules(&self, caller: &Caller) -> Result<Vec<AlertRule>> {
        let mut all =
            caller.acting_on(&self.store).read(crate::store::Snapshot::list_alert_rules).await?;
        all.retain(|it| caller.may_reach_all(&it.clients));
        Ok(all)
    }

    /// # Errors
    /// `NotFound`; `Forbidden` if the caller may not access all clients that it watches.
    pub async fn get_alert_rule(&self, caller: &Caller, id: AlertRuleId) -> Result<AlertRule> {
        let found = caller
            .acting_on(&self.store)
            .read(move |snapshot| snapshot.find_alert_rule(id))
            .await?;
        let rule = found.ok_or_else(absent)?;
        require_reach(caller, &rule.clients)?;
        Ok(rule)
    }

    /// Adds a rule. The next sweep evaluates it for every client that it watches.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` if there are too many rules.
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
            require_share(&batch.list_alert_rules()?, &row)?;
            batch.note_object(&row.id);
            batch.put_alert_rule(&row)
        };
        caller.acting_on(&self.store).write(write).await?;
        self.look_soon(&[&rule]).await?;
        Ok(rule)
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule; `Conflict` if more is to change of the built-in rule than
    /// whether it is enabled.
    pub async fn change_alert_rule(
        &self,
        caller: &Caller,
        id: AlertRuleId,
        change: impl FnOnce() -> Result<RuleChange>,
    ) -> Result<AlertRule> {
        let now = self.clock.now();
        let before = self.get_alert_rule(caller, id).await?;
        let change = change()?;
        require_reach(caller, change.clients.as_deref().unwrap_or(&before.clients))?;
        let mut wanted = before.clone();
        apply(&mut wanted, &change, now);
        self.check_rule(&wanted, Some(&before))?;
        if before.is_built_in()
            && (change.name.is_some() || change.clients.is_some() || change.condition.is_some())
        {
            return Err(Error::conflict(
                "this alert rule is built in; only `enabled` can be changed",
            ));
        }
        let by = caller.clone();
        let write = move |batch: &mut Batch| {
            let before = batch.find_alert_rule(id)?.ok_or_else(absent)?;
            require_reach(&by, &before.clients)?;
            let mut rule = before.clone();
            apply(&mut rule, &change, now);
            if rule.clients != before.clients {
                require_share(&batch.list_alert_rules()?, &rule)?;
            }
            batch.put_alert_rule(&rule)?;
            Ok((before, rule))
        };
        let (before, rule) = caller.acting_on(&self.store).write(write).await?;
        self.look_soon(&[&before, &rule]).await?;
        Ok(rule)
    }

    /// Moves rules about a control of an earlier release to the controls that replace it: a further rule for each further
    /// control.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn carry_alert_rules(&self) -> Result<()> {
        let catalog = self.catalog();
        let now = self.clock.now();
        let carried = |rule: AlertRule| {
            let AlertCondition::ControlFailing { control } = &rule.condition else {
                return Vec::new();
            };
            let next = catalog.codes_replacing(control);
            let of = |(index, code): (usize, &str)| {
                let id = if index == 0 { rule.id } else { AlertRuleId::made_at(now) };
                let condition = AlertCondition::ControlFailing { control: code.to_owned() };
                AlertRule { id, condition, updated_at: now, ..rule.clone() }
            };
            next.into_iter().enumerate().map(of).collect()
        };
        let rules = self.store.read(crate::store::Snapshot::list_alert_rules).await?;
        let carried: Vec<AlertRule> = rules.into_iter().flat_map(carried).collect();
        if carried.is_empty() {
            return Ok(());
        }
        let write =
            move |batch: &mut Batch| carried.iter().try_for_each(|it| batch.put_alert_rule(it));
        self.store.write(write).await
    }

    /// Removes a rule. Its open alerts close with the next sweep.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is the built-in rule.
    pub async fn remove_alert_rule(&self, caller: &Caller, id: AlertRuleId) -> Result<()> {
        if self.get_alert_rule(caller, id).await?.is_built_in() {
            return Err(Error::conflict("this alert rule is built in; disable it instead"));
        }
        let by = caller.clone();
        let write = move |batch: &mut Batch| {
            let rule = batch.find_alert_rule(id)?.ok_or_else(absent)?;
            require_reach(&by, &rule.clients)?;
            batch.remove_alert_rule(id)?;
            Ok(rule)
        };
        let rule = caller.acting_on(&self.store).write(write).await?;
        self.look_soon(&[&rule]).await
    }

    /// Schedules the clients of these rules for the next sweep. If the process ends before all are scheduled, the daily
    /// assessment of each client evaluates the rules too.
    async fn look_soon(&self, rules: &[&AlertRule]) -> Result<()> {
        let is_meant =
            |id: ClientId| rules.iter().any(|it| it.clients.is_empty() || it.clients.contains(&id));
        let now = self.clock.now();
        self.write_clients(is_meant, move |rows| rows.hasten_due(now)).await
    }

    fn check_rule(&self, rule: &AlertRule, before: Option<&AlertRule>) -> Result<()> {
        if before.is_none_or(|it| it.name != rule.name) {
            require_name("name", &rule.name, NAME_CHARS_MAX)?;
        }
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
            AlertCondition::ScoreBelow { value } => within("value", u32::from(*value), 100),
            AlertCondition::ReadinessBelow { framework, value } => {
                within("value", u32::from(*value), 100)?;
                let catalog = self.catalog();
                let found = catalog.framework_named(framework.as_str());
                let unknown = |it: Error| {
                    Error::invalid_field("condition.framework", it.message().to_owned())
                };
                found.map(|_| ()).map_err(unknown)
            }
            AlertCondition::OpenRisksAtLeast { value, .. }
            | AlertCondition::TasksOverdueAtLeast { value } => within("value", *value, COUNT_MAX),
            AlertCondition::SourceSilent { hours } => within("hours", *hours, HOURS_MAX),
            AlertCondition::ControlFailing { control } => {
                if self.catalog().find_control(control).is_some() {
                    return Ok(());
                }
                let rule = "must be a control code of the catalog";
                Err(Error::invalid_field("condition.controlCode", rule))
            }
            AlertCondition::DecisionContradicted => Ok(()),
        }
    }
}

/// # Errors
/// `Forbidden` unless the caller may access all of these clients.
fn require_reach(caller: &Caller, clients: &[ClientId]) -> Result<()> {
    if caller.may_reach_all(clients) {
        return Ok(());
    }
    Err(Error::forbidden(
        "you are not authorized for all clients of this rule; name only clients that you are authorized for",
    ))
}

/// # Errors
/// `Conflict` if the rule, beside the others, is one too many of a client, of those for all clients, or in all.
fn require_share(all: &[AlertRule], rule: &AlertRule) -> Result<()> {
    let others = || all.iter().filter(|it| it.id != rule.id && !it.is_built_in());
    let too_many = |n: usize, of: &str| {
        Err(Error::conflict(format!("there are already {n} alert rules {of}; remove one first")))
    };
    if N_RULES_MAX <= others().count() {
        return too_many(N_RULES_MAX, "in all");
    }
    if rule.clients.is_empty() {
        return match others().filter(|it| it.clients.is_empty()).count() {
            N_RULES_FOR_ALL_MAX.. => too_many(N_RULES_FOR_ALL_MAX, "for all clients"),
            _ => Ok(()),
        };
    }
    let n_of = |client: &ClientId| others().filter(|it| it.clients.contains(client)).count();
    if rule.clients.iter().any(|it| N_RULES_PER_CLIENT_MAX <= n_of(it)) {
        return too_many(N_RULES_PER_CLIENT_MAX, "of a client that the rule names");
    }
    Ok(())
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
