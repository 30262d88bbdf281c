//! One event in place of many: what a run announces beyond [`N_SINGLE_MAX`] of one type. The conditions behind it stay
//! marked until they close.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::condition::ConditionChanges;
use super::envelope::{NewEvent, fields};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::per_client::summary_event::{SummaryEvent, SummaryMark};
use crate::store::{ClientBatch, ClientSnapshot};

/// How many events of one type a run announces one by one. Of more, one event says how many there are.
pub const N_SINGLE_MAX: usize = 500;
/// How many of them it shows.
pub const N_SAMPLE: usize = 20;

/// The object of an event that stands for many of its type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventSummary<'a> {
    /// Always true. Other events do not have this member.
    #[schemars(extend("enum" = [true]))]
    pub summary: bool,
    /// How many events it stands for.
    pub count: usize,
    /// The objects of the first 20. Empty in the event that closes a summary.
    pub sample: Vec<&'a Map<String, Value>>,
}

impl EventSummary<'_> {
    fn event(&self, kind: EventKind, key: String, now: Time) -> NewEvent {
        NewEvent::of_object(kind, key, fields(self), now)
    }
}

/// Everything that a run announces, and what it changes about summaries.
#[derive(Clone, Debug, Default)]
pub struct Announcements {
    pub events: Vec<NewEvent>,
    marks: Vec<(String, SummaryMark)>,
    unmarked: Vec<String>,
    summaries: Vec<SummaryEvent>,
}

/// The events of one type in a run.
#[derive(Default)]
struct Many {
    n: usize,
    events: Vec<NewEvent>,
    /// Those of conditions that are not stored, because the client has too many.
    beyond: Vec<NewEvent>,
}

/// Returns true if a run may have many events of this type.
#[must_use]
pub const fn is_summarized(kind: EventKind) -> bool {
    opens(kind)
        || matches!(
            kind,
            EventKind::RiskItemResolved | EventKind::EvidenceExpiring | EventKind::AssetDiscovered
        )
}

/// Returns true if an event of this type opens a condition, which closes at some time.
const fn opens(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::RiskItemCreated
            | EventKind::CriticalRiskDetected
            | EventKind::MfaDisabled
            | EventKind::AdminMfaMissing
            | EventKind::PrivilegeEscalation
            | EventKind::DormantAccountDetected
            | EventKind::ShadowItDetected
    )
}

/// Returns true if an event of this type is about a risk, whose end is announced.
fn is_of_risk(kind: &str) -> bool {
    [EventKind::RiskItemCreated, EventKind::CriticalRiskDetected]
        .iter()
        .any(|it| it.as_str() == kind)
}

impl Announcements {
    /// Decides what `events` and the opened `conditions` of a run become.
    pub fn plan(
        rows: &ClientSnapshot,
        run: ImportId,
        events: Vec<NewEvent>,
        conditions: &mut ConditionChanges,
        now: Time,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let resolved = events.iter().filter(|it| it.kind() == EventKind::RiskItemResolved);
        let closed: Vec<&str> = resolved.map(NewEvent::key).collect();
        let closed = closed.into_iter().chain(conditions.closed.iter().map(String::as_str));
        let silent = plan.close(rows, closed, now)?;
        let all: Vec<NewEvent> =
            events.into_iter().chain(std::mem::take(&mut conditions.opened)).collect();
        let mut many: BTreeMap<EventKind, Many> = BTreeMap::new();
        for event in &all {
            many.entry(event.kind()).or_default().n += 1;
        }
        for event in std::mem::take(&mut conditions.beyond) {
            many.entry(event.kind()).or_default().beyond.push(event);
        }
        many.retain(|_, it| N_SINGLE_MAX < it.n || !it.beyond.is_empty());
        for event in all {
            match many.get_mut(&event.kind()) {
                Some(many) => many.events.push(event),
                None => plan.events.push(event),
            }
        }
        for (kind, many) in many {
            plan.add(run, kind, many, &silent, now);
        }
        plan.settle_marks();
        Ok(plan)
    }

    /// Adds one event for many of its type.
    fn add(
        &mut self,
        run: ImportId,
        kind: EventKind,
        many: Many,
        silent: &BTreeSet<String>,
        now: Time,
    ) {
        let Many { events, beyond, .. } = many;
        // The end of what an event of its own announced is announced by one too, as long as there are not too many.
        let (hidden, alone): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|it| silent.contains(it.key()));
        let (behind, alone) = if alone.len() <= N_SINGLE_MAX && kind == EventKind::RiskItemResolved
        {
            (hidden, alone)
        } else {
            (alone.into_iter().chain(hidden).collect(), Vec::new())
        };
        self.events.extend(alone);
        let shown: Vec<NewEvent> = behind.iter().chain(&beyond).take(N_SAMPLE).cloned().collect();
        let event = of_many(kind, run, behind.len() + beyond.len(), &shown, now);
        let key = event.key().to_owned();
        if opens(kind) && !behind.is_empty() {
            self.summaries.push(SummaryEvent {
                key: key.clone(),
                kind: kind.as_str().to_owned(),
                object: Value::Object(event.members().clone()).to_string(),
                opened_at: now,
                n_open: u32::try_from(behind.len()).unwrap_or(u32::MAX),
            });
            let mark = |it: &NewEvent| {
                let mark = SummaryMark { summaries: vec![key.clone()], is_announced: false };
                (it.key().to_owned(), mark)
            };
            self.marks.extend(behind.iter().map(mark));
        }
        self.events.push(event);
    }

    /// Takes closed conditions off the summaries that announced them, and closes the summaries that have none left.
    /// Returns those that no event of their own announced.
    fn close<'a>(
        &mut self,
        rows: &ClientSnapshot,
        closed: impl Iterator<Item = &'a str>,
        now: Time,
    ) -> Result<BTreeSet<String>> {
        let mut silent = BTreeSet::new();
        let mut known: BTreeMap<String, SummaryEvent> =
            rows.list_summary_events()?.into_iter().map(|it| (it.key.clone(), it)).collect();
        if known.is_empty() {
            return Ok(silent);
        }
        let mut changed = BTreeSet::new();
        for key in closed {
            let Some(mark) = rows.find_summary_mark(key)? else { continue };
            for summary in &mark.summaries {
                if let Some(summary) = known.get_mut(summary) {
                    summary.n_open = summary.n_open.saturating_sub(1);
                    changed.insert(summary.key.clone());
                }
            }
            self.unmarked.push(key.to_owned());
            if !mark.is_announced {
                silent.insert(key.to_owned());
            }
        }
        known.retain(|key, _| changed.contains(key));
        self.events.extend(known.values().filter_map(|it| ending(it, now)));
        self.summaries.extend(known.into_values());
        Ok(silent)
    }

    /// Joins the marks of what several summaries stand for, and notes what an event of its own announces too.
    fn settle_marks(&mut self) {
        let mut marks: BTreeMap<String, SummaryMark> = BTreeMap::new();
        for (key, mark) in std::mem::take(&mut self.marks) {
            marks.entry(key).or_default().summaries.extend(mark.summaries);
        }
        for event in self.events.iter().filter(|it| opens(it.kind())) {
            if let Some(mark) = marks.get_mut(event.key()) {
                mark.is_announced = true;
            }
        }
        self.marks = marks.into_iter().collect();
    }

    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        self.unmarked.iter().try_for_each(|it| batch.remove_summary_mark(it))?;
        self.marks.iter().try_for_each(|(key, mark)| batch.put_summary_mark(key, mark))?;
        self.summaries.iter().try_for_each(|it| batch.put_summary_event(it))?;
        self.events.iter().try_for_each(|it| it.add(batch).map(|_| ()))
    }
}

/// The event that stands for `count` events of a type, of which it shows the first.
#[must_use]
pub fn of_many(
    kind: EventKind,
    run: ImportId,
    count: usize,
    events: &[NewEvent],
    now: Time,
) -> NewEvent {
    let sample = events.iter().take(N_SAMPLE).map(NewEvent::members).collect();
    let body = EventSummary { summary: true, count, sample };
    body.event(kind, format!("summary/{}/{run}", kind.as_str()), now)
}

/// The event that closes a summary of risks, when none of them is open anymore.
fn ending(it: &SummaryEvent, now: Time) -> Option<NewEvent> {
    let is_over = it.n_open == 0 && is_of_risk(&it.kind);
    let body = EventSummary { summary: true, count: 0, sample: Vec::new() };
    is_over.then(|| {
        body.event(EventKind::RiskItemResolved, it.key.clone(), now).opened_at(it.opened_at)
    })
}

/// Takes one risk, which a person accepts, off the summaries that announced it.
pub fn close_one(batch: &mut ClientBatch<'_>, key: &str, now: Time) -> Result<()> {
    let Some(mark) = batch.find_summary_mark(key)? else { return Ok(()) };
    batch.remove_summary_mark(key)?;
    for summary in &mark.summaries {
        let Some(mut summary) = batch.find_summary_event(summary)? else { continue };
        summary.n_open = summary.n_open.saturating_sub(1);
        batch.put_summary_event(&summary)?;
        if let Some(event) = ending(&summary, now) {
            event.add(batch)?;
        }
    }
    Ok(())
}
