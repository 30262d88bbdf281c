//! Risks from one assessment to the next, and their acceptance: a person's decision to live with one for a while.

use std::collections::BTreeMap;

use serde_json::json;

use super::condition;
use crate::app::App;
use crate::app::event::announce;
use crate::app::input::{require_future, require_text};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::change::{self, Change};
use crate::engine::event::EventKind;
use crate::engine::fact::Severity;
use crate::engine::posture::Posture;
use crate::error::{Error, Result};
use crate::id::{ClientId, RiskId};
use crate::store::global::event::NewEvent;
use crate::store::per_client::condition::REOPEN_DAYS;
use crate::store::per_client::posture::{Acceptance, Closed, OpenRisk, Resolution};
use crate::store::{ClientBatch, ClientSnapshot};

pub const REASON_CHARS_MAX: usize = 500;
pub const BY_CHARS_MAX: usize = 255;
/// Two years, one of them a leap year. Nobody decides for longer.
pub const ACCEPTED_DAYS_MAX: i64 = 731;

/// What an assessment makes of the risks that were there.
#[derive(Debug)]
pub struct Carried {
    /// As they are to be stored.
    pub risks: Vec<OpenRisk>,
    /// Conditions of those to forget.
    pub forgotten: Vec<String>,
    /// Those of `risks` that were open all along and are shown again: their acceptance is over.
    pub returned: Vec<OpenRisk>,
    /// When the next acceptance ends.
    pub next_end: Option<Time>,
}

/// Whether an acceptance still covers a risk.
fn covers(acceptance: &Acceptance, severity: Severity, now: Time) -> bool {
    now < acceptance.until && severity <= acceptance.severity
}

/// Risks as they are to be stored. An id lives as long as its condition, and comes back with it within
/// [`REOPEN_DAYS`]; so does an acceptance, until its time.
pub fn carry(stored: &[OpenRisk], posture: &Posture, changes: &[Change], now: Time) -> Carried {
    let known: BTreeMap<&str, &OpenRisk> =
        stored.iter().map(|it| (it.risk.condition.as_str(), it)).collect();
    let is_recent = |it: &Closed| now < it.at.plus_days(REOPEN_DAYS);
    let mut carried =
        Carried { risks: Vec::new(), forgotten: Vec::new(), returned: Vec::new(), next_end: None };
    for risk in &posture.risks {
        let before = known.get(risk.condition.as_str()).copied();
        let before = before.filter(|it| it.closed.as_ref().is_none_or(is_recent));
        let next = match before {
            Some(before) => {
                let accepted = before.accepted.clone();
                let accepted = accepted.filter(|it| covers(it, risk.severity, now));
                let was_shown = before.closed.is_none() && before.accepted.is_none();
                let is_new = accepted.is_none() && !was_shown;
                OpenRisk {
                    risk: risk.clone(),
                    closed: None,
                    occurrence: before.occurrence + u32::from(is_new),
                    opened_at: if is_new { now } else { before.opened_at },
                    accepted,
                    ..before.clone()
                }
            }
            None => OpenRisk {
                id: RiskId::random(),
                risk: risk.clone(),
                created_at: now,
                closed: None,
                occurrence: 1,
                opened_at: now,
                accepted: None,
            },
        };
        let end = next.accepted.as_ref().map(|it| it.until);
        carried.next_end = carried.next_end.into_iter().chain(end).min();
        if before.is_some_and(|it| it.closed.is_none() && it.occurrence < next.occurrence) {
            carried.returned.push(next.clone());
        }
        if before != Some(&next) {
            carried.risks.push(next);
        }
    }
    carried.risks.extend(changes.iter().filter_map(|it| closed(it, &known, now)));
    let is_over = |it: &&OpenRisk| it.closed.as_ref().is_some_and(|it| !is_recent(it));
    let is_open =
        |it: &&OpenRisk| posture.risks.iter().any(|risk| risk.condition == it.risk.condition);
    let forgotten = stored.iter().filter(is_over).filter(|it| !is_open(it));
    carried.forgotten = forgotten.map(|it| it.risk.condition.clone()).collect();
    carried
}

fn closed(change: &Change, known: &BTreeMap<&str, &OpenRisk>, now: Time) -> Option<OpenRisk> {
    let Change::RiskClosed { risk, resolution } = change else { return None };
    let resolution = match resolution {
        change::Resolution::Fixed => Resolution::Fixed,
        change::Resolution::ScopedOut => Resolution::ScopedOut,
        change::Resolution::Gone => Resolution::Gone,
    };
    let open = known.get(risk.condition.as_str())?;
    Some(OpenRisk { closed: Some(Closed { at: now, resolution }), ..(*open).clone() })
}

/// What is announced of risks whose acceptance ended by itself. `changes` tells of those that became critical.
pub fn returned(risks: &[OpenRisk], changes: &[Change], now: Time) -> Vec<NewEvent> {
    let is_told = |open: &OpenRisk| {
        let mut all = changes.iter();
        all.any(|it| matches!(it, Change::RiskCritical { risk } if risk.condition == open.risk.condition))
    };
    let mut events = Vec::new();
    for open in risks {
        let mut shown = shown(open, now);
        if is_told(open) {
            shown.truncate(1);
        }
        events.extend(shown);
    }
    events
}

/// What is announced of a risk that is shown again: that it is there, then that it is critical, if it is.
fn shown(open: &OpenRisk, now: Time) -> Vec<NewEvent> {
    let object = announce::risk_object(open);
    let mut events = vec![announce::event(EventKind::RiskItemCreated, now, object.clone(), None)];
    if open.risk.severity == Severity::Critical {
        events.push(announce::event(EventKind::CriticalRiskDetected, now, object, None));
    }
    events
}

/// What a person says who accepts a risk.
#[derive(Clone, Debug)]
pub struct NewAcceptance {
    pub until: Time,
    pub reason: String,
    /// `None`: the caller.
    pub by: Option<String>,
}

impl App {
    /// An open risk, accepted or not.
    ///
    /// # Errors
    /// `Forbidden` when the caller may not see the client; `NotFound` for the client or the risk.
    pub async fn get_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        id: RiskId,
    ) -> Result<OpenRisk> {
        let (_, rows) = self.reach_any(caller, client)?;
        rows.read(move |snapshot: &ClientSnapshot| find(snapshot.list_risks()?, id)).await
    }

    /// Accepts a risk until a moment, or changes until when and why it is accepted. It is not shown meanwhile; its
    /// control scores as before.
    ///
    /// # Errors
    /// As [`App::get_risk`]; `Invalid` with the field that breaks a rule.
    pub async fn accept_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        id: RiskId,
        new: NewAcceptance,
    ) -> Result<OpenRisk> {
        let now = self.clock.now();
        check(&new, now)?;
        let by = new.by.clone().unwrap_or_else(|| caller.name());
        let write = move |batch: &mut ClientBatch<'_>| {
            let mut open = find(batch.list_risks()?, id)?;
            let is_new = open.accepted.is_none();
            let (until, reason, by) = (new.until, new.reason.clone(), by.clone());
            let severity = open.risk.severity;
            open.accepted = Some(Acceptance { until, reason, by, at: now, severity });
            batch.put_risk(&open)?;
            if is_new {
                batch.add_event(accepted(&open, now))?;
            }
            batch.hasten_due(until)?;
            condition::look_again(batch, now)?;
            Ok(open)
        };
        self.write_risk(caller, client, write).await
    }

    /// Takes an acceptance back: the risk is shown again. Nothing happens to one that is not accepted.
    ///
    /// # Errors
    /// As [`App::get_risk`].
    pub async fn unaccept_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        id: RiskId,
    ) -> Result<OpenRisk> {
        let now = self.clock.now();
        let write = move |batch: &mut ClientBatch<'_>| {
            let mut open = find(batch.list_risks()?, id)?;
            if open.accepted.take().is_none() {
                return Ok(open);
            }
            open.occurrence += 1;
            open.opened_at = now;
            batch.put_risk(&open)?;
            for event in shown(&open, now) {
                batch.add_event(event)?;
            }
            condition::look_again(batch, now)?;
            Ok(open)
        };
        self.write_risk(caller, client, write).await
    }

    /// While no assessment of the client is under way: it would write the risk as it was.
    async fn write_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        write: impl FnMut(&mut ClientBatch<'_>) -> Result<OpenRisk> + Send + 'static,
    ) -> Result<OpenRisk> {
        let lock = self.assessing(client);
        let _alone = lock.lock().await;
        let (_, rows) = self.reach_any(caller, client)?;
        rows.write(write).await
    }
}

fn find(all: Vec<OpenRisk>, id: RiskId) -> Result<OpenRisk> {
    let found = all.into_iter().find(|it| it.id == id && it.closed.is_none());
    found.ok_or_else(|| Error::not_found("risk not found, or no longer open"))
}

fn check(new: &NewAcceptance, now: Time) -> Result<()> {
    require_future("until", new.until, now)?;
    if now.plus_days(ACCEPTED_DAYS_MAX) < new.until {
        return Err(Error::invalid_field("until", "must be at most two years from now"));
    }
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    new.by.as_deref().map_or(Ok(()), |it| require_text("by", it, BY_CHARS_MAX))
}

fn accepted(open: &OpenRisk, now: Time) -> NewEvent {
    let mut object = announce::risk_object(open);
    object["resolution"] = json!(Resolution::Accepted.as_str());
    if let Some(it) = &open.accepted {
        object["acceptance"] =
            json!({ "until": it.until.to_string(), "reason": it.reason, "by": it.by });
    }
    announce::event(EventKind::RiskItemResolved, now, object, None)
}
