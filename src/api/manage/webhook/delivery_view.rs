//! Deliveries as the management API shows them.

use poem_openapi::Object;
use serde::Serialize;

use crate::api::wire::reply::Null;
use crate::api::wire::view::{Uid, When};
use crate::store::global::delivery::{Attempt, Delivery, DeliveryState};

/// One try to deliver.
#[derive(Object, Serialize)]
#[oai(rename = "DeliveryAttempt")]
pub struct AttemptView {
    number: u32,
    at: When,
    ms: u32,
    /// Of the answer; null when there was none.
    status: Null<u16>,
    /// The first KiB of the answer, or what went wrong.
    answer: String,
}

impl AttemptView {
    fn of(attempt: Attempt) -> Self {
        let Attempt { number, at, ms, status, answer } = attempt;
        Self { number, at: When(at), ms, status: status.into(), answer }
    }
}

/// One event for one endpoint.
#[derive(Object, Serialize)]
#[oai(rename = "Delivery", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    event_id: String,
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    sequence: u64,
    client_id: Uid,
    /// `waiting`, `sending`, `delivered`, `exhausted` (all attempts failed) or `skipped` (the endpoint was disabled
    /// meanwhile, or the event is no longer kept).
    status: String,
    /// Of the next attempt.
    due_at: Null<When>,
    created_at: When,
    recovered_at: Null<When>,
    /// Begun so far: the number of the last one.
    attempt_count: u32,
    /// The last ones, oldest first.
    attempts: Vec<AttemptView>,
}

impl DeliveryView {
    pub fn of(delivery: Delivery) -> Self {
        let due_at = match delivery.state {
            DeliveryState::Waiting { due } => Some(When(due)),
            DeliveryState::Claimed { .. }
            | DeliveryState::Delivered { .. }
            | DeliveryState::Exhausted { .. }
            | DeliveryState::Skipped { .. } => None,
        };
        Self {
            event_id: delivery.event.wire(),
            kind: delivery.kind,
            sequence: delivery.sequence,
            client_id: Uid::of(delivery.client.as_bytes()),
            status: delivery.state.as_str().to_owned(),
            due_at: due_at.into(),
            created_at: When(delivery.created_at),
            recovered_at: delivery.recovered.map(|it| When(it.at)).into(),
            attempt_count: delivery.n_attempts,
            attempts: delivery.attempts.into_iter().map(AttemptView::of).collect(),
        }
    }
}
