//! Webhook deliveries as the management API shows them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::wire::input::TextOf;
use crate::api::wire::reply::Null;
use crate::api::wire::view::{DeliveryStatusView, EventTypeView, Uid, When};
use crate::store::global::delivery::{Attempt, Delivery, DeliveryState};

/// One attempt at a delivery.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DeliveryAttempt")]
pub struct AttemptView {
    number: u32,
    at: When,
    /// How long the request took, in milliseconds.
    ms: u32,
    /// The HTTP status of the answer; null if there was none.
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

/// The delivery of one event to one webhook.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Delivery")]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    event_id: String,
    #[serde(rename = "type")]
    kind: TextOf<EventTypeView>,
    sequence: u64,
    client_id: Uid,
    status: DeliveryStatusView,
    /// When the next attempt is due.
    due_at: Null<When>,
    created_at: When,
    /// When it was last queued by a recovery.
    recovered_at: Null<When>,
    /// Attempts that were started: the number of the last one.
    attempt_count: u32,
    /// The last attempts, oldest first.
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
            kind: TextOf::of(&delivery.kind),
            sequence: delivery.sequence,
            client_id: Uid::of(delivery.client.as_bytes()),
            status: DeliveryStatusView(delivery.state.as_str()),
            due_at: due_at.into(),
            created_at: When(delivery.created_at),
            recovered_at: delivery.recovered.map(|it| When(it.at)).into(),
            attempt_count: delivery.n_attempts,
            attempts: delivery.attempts.into_iter().map(AttemptView::of).collect(),
        }
    }
}
