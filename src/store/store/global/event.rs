//! Announced events of all clients, in commit order.

use bincode::{Decode, Encode};
use serde::Deserialize;

use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::{ClientId, EventId, RiskId};
use crate::store::global::merge::{MergedPlaces, Order, client_key, sequence_of, starts};
use crate::store::kernel::meta;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{CLIENT_EVENTS, EVENTS};
use crate::store::{Batch, ClientBatch};

/// An event or audit entry is committed at most this long after its time: both logs are sorted by time to within it.
pub const COMMIT_S_MAX: i64 = 3_600;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Event {
    /// Rises by one, in commit order, over all clients. The first is 1.
    pub sequence: u64,
    pub id: EventId,
    pub client: ClientId,
    /// The contract's name of the event type.
    pub kind: String,
    pub created: Time,
    /// JSON: the complete body of a delivery, created once and sent unchanged.
    pub body: String,
}

/// What an event names, as its body has it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Named {
    id: Option<String>,
    risk_id: Option<String>,
    framework: Option<String>,
    condition: Option<Box<Named>>,
    first_run: bool,
}

#[derive(Deserialize)]
struct NamedObject {
    object: Named,
}

#[derive(Deserialize)]
struct NamedBody {
    data: NamedObject,
}

impl Event {
    /// The framework that it is about. `None`: it is about none.
    #[must_use]
    pub fn framework(&self) -> Option<FrameworkId> {
        // Nothing else names one.
        let named = self.named_by(&[
            EventKind::ComplianceStatusChanged,
            EventKind::ComplianceDriftDetected,
            EventKind::EvidenceExpiring,
            EventKind::AlertTriggered,
        ])?;
        named.framework.or_else(|| named.condition?.framework)?.parse().ok()
    }

    /// Returns true if it is about this risk, or about a task for it.
    #[must_use]
    pub fn is_about(&self, risk: RiskId) -> bool {
        let of_risk = self.named_by(&[
            EventKind::RiskItemCreated,
            EventKind::CriticalRiskDetected,
            EventKind::RiskItemResolved,
        ]);
        let of_task = || {
            self.named_by(&[
                EventKind::RemediationTaskCreated,
                EventKind::RemediationTaskCompleted,
                EventKind::RemediationTaskOverdue,
            ])
        };
        let named = of_risk.map_or_else(|| of_task()?.risk_id, |it| it.id);
        named.is_some_and(|it| it == risk.to_string())
    }

    /// Returns true if it tells of a run that is not the first of its source.
    #[must_use]
    pub fn is_of_later_run(&self) -> bool {
        self.named_by(&[EventKind::RiskAssessmentCompleted]).is_some_and(|it| !it.first_run)
    }

    /// What it names, if it is of one of these types.
    fn named_by(&self, kinds: &[EventKind]) -> Option<Named> {
        let is_one = kinds.iter().any(|it| it.as_str() == self.kind);
        let body = is_one.then(|| serde_json::from_str::<NamedBody>(&self.body));
        Some(body?.ok()?.data.object)
    }
}

impl<R: Rows> Transaction<R> {
    /// Up to `limit` events of all clients after a sequence, oldest first.
    pub fn list_all_events(&self, after: u64, limit: usize) -> Result<Vec<Event>> {
        self.rows.list_rows(EVENTS, &Span::all().after(&after.to_be_bytes()), limit)
    }

    /// Up to `limit` events after a sequence, oldest first, of some clients or of all.
    pub fn list_events(
        &self,
        after: u64,
        limit: usize,
        clients: Option<&[ClientId]>,
    ) -> Result<Vec<Event>> {
        let Some(clients) = clients else { return self.list_all_events(after, limit) };
        let from = (Order::Rising, Some(after.to_be_bytes()));
        let mut places: MergedPlaces<'_, _, 8> =
            MergedPlaces::of((&self.rows, CLIENT_EVENTS), starts(clients), from, limit)?;
        let mut keys = Vec::new();
        while keys.len() < limit
            && let Some(place) = places.next()?
        {
            keys.push(RowKey::empty().bytes(&place));
        }
        Ok(self.rows.find_rows(EVENTS, &keys)?.into_iter().flatten().collect())
    }

    /// The last `limit` events that are wanted, oldest first, of some clients or of all, before a sequence or up to the end, and
    /// since a moment.
    /// At most `n_scanned_max` are looked at, about `n_at_once` at a time.
    pub fn list_newest_events(
        &self,
        (limit, n_at_once, n_scanned_max): (usize, usize, usize),
        (clients, before, since): (Option<&[ClientId]>, Option<u64>, Option<Time>),
        is_wanted: impl Fn(&Event) -> bool,
    ) -> Result<Vec<Event>> {
        let log = (EVENTS, CLIENT_EVENTS);
        let before = before.map(u64::to_be_bytes);
        let mut places: MergedPlaces<'_, _, 8> =
            MergedPlaces::newest(&self.rows, log, (clients, before), n_at_once)?;
        let (mut found, mut n_scanned) = (Vec::new(), 0);
        while found.len() < limit
            && n_scanned < n_scanned_max
            && let Some(place) = places.next()?
        {
            n_scanned += 1;
            let Some(event): Option<Event> = self.rows.find_row(EVENTS, &place)? else { continue };
            if since.is_some_and(|it| event.created.plus_s(COMMIT_S_MAX) < it) {
                break;
            }
            let is_since = |it: &Event| since.is_none_or(|since| since <= it.created);
            found.extend(Some(event).filter(|it| is_since(it) && is_wanted(it)));
        }
        found.reverse();
        Ok(found)
    }
}

impl ClientBatch<'_> {
    /// Gives an event its sequence, keeps it, and makes its deliveries. `body` makes the body of the event with this sequence.
    pub fn add_event(
        &mut self,
        id: EventId,
        kind: EventKind,
        created: Time,
        body: impl FnOnce(u64) -> Result<String>,
    ) -> Result<u64> {
        let sequence = self.rows.counts.event + 1;
        let (client, kind, body) = (self.client, kind.as_str().to_owned(), body(sequence)?);
        self.rows.counts.event = sequence;
        let event = Event { sequence, id, client, kind, created, body };
        self.rows.put_row(CLIENT_EVENTS, client_key(client, sequence).as_slice(), &())?;
        self.rows.put_row(EVENTS, &sequence.to_be_bytes(), &event)?;
        self.add_deliveries(&event)?;
        Ok(sequence)
    }
}

impl Batch {
    /// Removes up to `n_max` events from before `time`, oldest first. Returns true if more may
    /// remain.
    pub fn remove_events_before(&mut self, time: Time, n_max: usize) -> Result<bool> {
        let mut old: Vec<Event> = self.rows.list_rows(EVENTS, &Span::all(), n_max)?;
        let is_full = old.len() == n_max;
        let n_old = old.iter().take_while(|it| it.created < time).count();
        old.truncate(n_old);
        for event in &old {
            self.remove_event(event.client, event.sequence)?;
        }
        Ok(is_full && n_old == n_max)
    }

    /// Removes up to `n_max` events of a client with their deliveries, and returns how many.
    pub fn erase_client_events(&mut self, client: ClientId, n_max: usize) -> Result<usize> {
        let span = Span::prefix(client.as_bytes());
        let keys = self.rows.list_keys_of(CLIENT_EVENTS, &span, n_max)?;
        let webhooks = self.list_webhooks()?;
        for sequence in keys.iter().map(|it| sequence_of(it)) {
            webhooks.iter().try_for_each(|it| self.erase_delivery(it.id, sequence))?;
            self.remove_event(client, sequence)?;
        }
        Ok(keys.len())
    }

    fn remove_event(&mut self, client: ClientId, sequence: u64) -> Result<()> {
        if sequence == self.rows.counts.event {
            // The table no longer shows the last sequence.
            meta::put_last_event(&mut self.rows, sequence)?;
        }
        self.rows.remove_row(CLIENT_EVENTS, client_key(client, sequence).as_slice())?;
        self.rows.remove_row(EVENTS, &sequence.to_be_bytes())?;
        Ok(())
    }
}
