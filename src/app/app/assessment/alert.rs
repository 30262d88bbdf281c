//! Alert rules against the state of one client.

use crate::app::event::alert::{self, AlertTriggered, AlertValue, ConditionFields};
use crate::app::event::envelope::NewEvent;
use crate::clock::Time;
use crate::error::Result;
use crate::store::global::alert::{AlertCondition, AlertRule};
use crate::store::{ClientBatch, ReleaseRecord};

const S_PER_HOUR: i64 = 3_600;
/// How long no alert is opened after a release with another catalog or other rules took over: people decide first.
const QUIET_S: i64 = 24 * S_PER_HOUR;

/// Opens and announces alerts whose condition became true. Closes alerts whose condition is no longer true, or whose
/// rule no longer watches the client. Returns the next time at which a condition may become true without new facts.
pub(in crate::app) fn evaluate(batch: &mut ClientBatch<'_>, now: Time) -> Result<Option<Time>> {
    let rules = batch.list_watching_rules()?;
    let keys: Vec<String> = rules.iter().map(|it| alert::key(it.id)).collect();
    for it in batch.list_conditions_of(alert::KEY_START)? {
        // Those of one decision each belong to assessments.
        let is_of_rule = !alert::is_about_something(&it.key);
        if it.closed_at.is_none() && is_of_rule && !keys.contains(&it.key) {
            batch.close_condition(&it.key, now)?;
        }
    }
    let quiet_until = quiet_until(batch.find_release()?.as_ref(), now);
    let quiet_until = quiet_until.filter(|_| !rules.is_empty());
    let mut next = quiet_until;
    for (rule, key) in rules.iter().zip(&keys) {
        let seen = judge(batch, &rule.condition, now)?;
        next = next.into_iter().chain(seen.next).min();
        match seen.verdict {
            Some(true) if quiet_until.is_some() => (),
            Some(true) => trigger(batch, rule, seen, now)?,
            Some(false) => {
                batch.close_condition(key, now)?;
            }
            None => (), // Unknown: the alert neither opens nor closes.
        }
    }
    Ok(next)
}

/// Returns until when no alert is opened. `None`: one may be.
pub(super) fn quiet_until(release: Option<&ReleaseRecord>, now: Time) -> Option<Time> {
    release.map(|it| it.since.plus_s(QUIET_S)).filter(|it| now < *it)
}

fn trigger(
    batch: &mut ClientBatch<'_>,
    rule: &AlertRule,
    seen: RuleResult,
    now: Time,
) -> Result<()> {
    let body = AlertTriggered {
        rule_id: rule.id.to_string(),
        name: &rule.name,
        condition: ConditionFields::of(&rule.condition),
        value: seen.value,
        sources: seen.sources,
        contradiction: None,
        occurrence: None,
        about: None,
    };
    if let Some(event) = NewEvent::new(&body, now).open(batch, now)? {
        event.add(batch)?;
    }
    Ok(())
}

/// The result of a rule for one client.
struct RuleResult {
    /// `None`: unknown.
    verdict: Option<bool>,
    value: AlertValue,
    /// The silent sources, if the rule is about them.
    sources: Option<Vec<String>>,
    /// When it may become true without new facts.
    next: Option<Time>,
}

impl RuleResult {
    fn number(verdict: bool, value: impl TryInto<u64>) -> Self {
        let value = AlertValue::Number(value.try_into().unwrap_or(0));
        Self { verdict: Some(verdict), value, sources: None, next: None }
    }

    fn status(verdict: bool, status: &'static str) -> Self {
        Self {
            verdict: Some(verdict),
            value: AlertValue::Status(status),
            sources: None,
            next: None,
        }
    }

    fn unknown() -> Self {
        Self { verdict: None, value: AlertValue::Number(0), sources: None, next: None }
    }
}

fn judge(rows: &ClientBatch<'_>, condition: &AlertCondition, now: Time) -> Result<RuleResult> {
    Ok(match condition {
        AlertCondition::ScoreBelow { value } => match rows.find_score()? {
            Some(it) => RuleResult::number(it.score.overall < *value, it.score.overall),
            None => RuleResult::unknown(),
        },
        AlertCondition::ReadinessBelow { framework, value } => {
            // Without any evidence no framework is ready, which is not worth an alert.
            let has_evidence = rows.find_score()?.is_some();
            match rows.find_framework(*framework)?.filter(|_| has_evidence) {
                Some(it) => RuleResult::number(it.summary.readiness < *value, it.summary.readiness),
                None => RuleResult::unknown(),
            }
        }
        AlertCondition::OpenRisksAtLeast { severity, value } => {
            let n: u32 = rows.figures()?.n_risks[*severity as usize..].iter().sum();
            RuleResult::number(*value <= n, n)
        }
        AlertCondition::ControlFailing { control } => {
            match rows.find_control_outcome(control)? {
                // The evidence of the failure has expired, which does not mean that it was fixed.
                Some(it) if it.held => RuleResult::unknown(),
                Some(it) => RuleResult::status(it.is_failing(), it.status.as_str()),
                None => RuleResult::unknown(),
            }
        }
        AlertCondition::SourceSilent { hours } => silence(rows, *hours, now)?,
        AlertCondition::TasksOverdueAtLeast { value } => {
            let n = rows.figures()?.n_overdue_tasks;
            RuleResult::number(*value <= n, n)
        }
        // Each assessment opens and closes an alert for each decision.
        AlertCondition::DecisionContradicted => RuleResult::unknown(),
    })
}

/// Finds the sources that have been silent for this many hours. The value is the hours since the one that has been
/// silent longest.
fn silence(rows: &ClientBatch<'_>, hours: u32, now: Time) -> Result<RuleResult> {
    let mut heard = std::collections::BTreeMap::<String, Time>::new();
    for it in rows.list_sources()? {
        let last = heard.entry(it.source).or_insert(it.last_seen_at);
        *last = it.last_seen_at.max(*last);
    }
    let limit_s = i64::from(hours) * S_PER_HOUR;
    let is_silent = |last: Time| last.plus_s(limit_s) <= now;
    let silent: Vec<String> =
        heard.iter().filter(|it| is_silent(*it.1)).map(|it| it.0.clone()).collect();
    let longest = heard.values().min().map_or(0, |it| now.s_since(*it) / S_PER_HOUR);
    let mut seen = RuleResult::number(!silent.is_empty(), longest);
    seen.sources = Some(silent);
    seen.next = heard.values().map(|it| it.plus_s(limit_s)).filter(|it| now < *it).min();
    Ok(seen)
}
