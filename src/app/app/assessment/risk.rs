//! Carries risks over from one assessment to the next.

use std::collections::{BTreeMap, HashSet};

use crate::app::event;
use crate::app::event::cause::Cause;
use crate::app::event::envelope::NewEvent;
use crate::app::event::risk::Return;
use crate::clock::Time;
use crate::engine::change::{self, Change};
use crate::engine::posture::Posture;
use crate::id::RiskId;
use crate::store::per_client::condition::REOPEN_DAYS;
use crate::store::per_client::posture::{Closed, OpenRisk, Resolution};

/// A closed risk is kept for so long, for reports about a quarter.
const CLOSED_DAYS: i64 = 90;

/// What an assessment makes of the stored risks.
#[derive(Debug, Default)]
pub struct Carried {
    /// The risks to store.
    pub risks: Vec<OpenRisk>,
    /// The conditions of risks to remove.
    pub forgotten: Vec<String>,
    /// Those of `risks` that stayed open and are shown again, because their acceptance no longer covers them.
    pub returned: Vec<(OpenRisk, Return<'static>)>,
    /// Those of `risks` that stayed open and are no longer shown: what fails was muted at its source, or is no longer worse than what
    /// was accepted.
    pub hidden: Vec<OpenRisk>,
    /// When the next acceptance ends.
    pub next_end: Option<Time>,
}

/// Returns the risks to store. A risk keeps its id as long as its condition exists, and gets it back if the condition
/// returns within [`REOPEN_DAYS`]. The same is true of an acceptance until it expires. `is_undo`: what closed a risk may
/// have been a mistake, so it is the same risk, open since it was before.
pub fn carry(
    stored: &[OpenRisk],
    posture: &Posture,
    changes: &[Change],
    (is_undo, now): (bool, Time),
) -> Carried {
    let known: BTreeMap<&str, &OpenRisk> =
        stored.iter().map(|it| (it.risk.condition.as_str(), it)).collect();
    let is_recent = |it: &Closed| is_undo || now < it.at.plus_days(REOPEN_DAYS);
    let mut carried = Carried::default();
    for risk in &posture.risks {
        let before = known.get(risk.condition.as_str()).copied();
        let before = before.filter(|it| it.closed.as_ref().is_none_or(is_recent));
        let next = match before {
            Some(before) => {
                let mut next = OpenRisk {
                    risk: risk.clone(),
                    closed: None,
                    opened_at: before.closed.filter(|_| !is_undo).map_or(before.opened_at, |_| now),
                    accepted: before.accepted.clone().filter(|it| now < it.until),
                    ..before.clone()
                };
                next.occurrence += u32::from(next.is_shown() && !before.is_shown());
                next
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
            let why = if next.accepted.is_some() { Return::Exceeded } else { Return::Ended };
            carried.returned.push((next.clone(), why));
        }
        if before.is_some_and(OpenRisk::is_shown) && !next.is_shown() {
            carried.hidden.push(next.clone());
        }
        if before != Some(&next) {
            carried.risks.push(next);
        }
    }
    carried.risks.extend(changes.iter().filter_map(|it| closed(it, &known, now)));
    let is_past = |it: &Closed| it.at.plus_days(CLOSED_DAYS) <= now;
    let is_forgotten = |it: &&OpenRisk| it.closed.as_ref().is_some_and(is_past);
    let open: HashSet<&str> = posture.risks.iter().map(|it| it.condition.as_str()).collect();
    let is_open = |it: &&OpenRisk| open.contains(it.risk.condition.as_str());
    let forgotten = stored.iter().filter(is_forgotten).filter(|it| !is_open(it));
    carried.forgotten = forgotten.map(|it| it.risk.condition.clone()).collect();
    carried
}

fn closed(change: &Change, known: &BTreeMap<&str, &OpenRisk>, now: Time) -> Option<OpenRisk> {
    let Change::RiskClosed { risk, resolution } = change else { return None };
    let resolution = match resolution {
        change::RiskEnding::Fixed => Resolution::Fixed,
        change::RiskEnding::ScopedOut => Resolution::ScopedOut,
        change::RiskEnding::Overridden => Resolution::Overridden,
        change::RiskEnding::Gone => Resolution::Gone,
    };
    let open = known.get(risk.condition.as_str())?;
    Some(OpenRisk { closed: Some(Closed { at: now, resolution }), ..(*open).clone() })
}

/// Returns the events about risks whose acceptance ended by itself, and about those that are accepted by themselves. Risks that became
/// critical are announced by `changes`. What another release makes of them is no news.
pub fn returned(
    carried: &Carried,
    changes: &[Change],
    (cause, now): (&Cause, Time),
) -> Vec<NewEvent> {
    if *cause == Cause::Release {
        return Vec::new();
    }
    let critical = changes.iter().filter_map(|it| {
        let Change::RiskCritical { risk } = it else { return None };
        Some(risk.condition.as_str())
    });
    let critical: HashSet<&str> = critical.collect();
    let is_announced = |open: &OpenRisk| critical.contains(open.risk.condition.as_str());
    let mut events: Vec<NewEvent> =
        carried.hidden.iter().filter_map(|it| event::risk::resolved(it, now)).collect();
    for (open, why) in &carried.returned {
        let mut shown = event::risk::shown_again(open, *why, now);
        if is_announced(open) {
            shown.truncate(1);
        }
        events.extend(shown);
    }
    events
}
