//! The rows of a delivery: itself, and one in the index of its state.

use super::{Delivery, DeliveryState};
use crate::clock::Time;
use crate::error::Result;
use crate::id::WebhookId;
use crate::store::kernel::transaction::Writing;
use crate::store::row_key::{RowKey, rising};
use crate::store::table::{CLAIMS, DELIVERIES, FINISHED, OUTBOX};

pub(in crate::store) fn delivery_key(webhook: WebhookId, sequence: u64) -> RowKey {
    RowKey::empty().bytes(webhook.as_bytes()).bytes(&sequence.to_be_bytes())
}

pub(super) fn outbox_key(webhook: WebhookId, due: Time, sequence: u64) -> RowKey {
    RowKey::empty()
        .bytes(webhook.as_bytes())
        .bytes(&rising(due).to_be_bytes())
        .bytes(&sequence.to_be_bytes())
}

fn finished_key(at: Time, webhook: WebhookId, sequence: u64) -> RowKey {
    RowKey::empty()
        .bytes(&rising(at).to_be_bytes())
        .bytes(webhook.as_bytes())
        .bytes(&sequence.to_be_bytes())
}

pub(super) fn sequence_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("the key ends with a sequence"))
}

/// Stores a delivery and the row that its state requires. `before`: as it was stored.
pub(super) fn put_delivery(
    rows: &mut Writing,
    before: Option<&Delivery>,
    after: &Delivery,
) -> Result<()> {
    let (webhook, sequence) = (after.webhook, after.sequence);
    let key = delivery_key(webhook, sequence);
    if let Some(before) = before {
        leave(rows, before)?;
    }
    match after.state {
        DeliveryState::Waiting { due } => {
            rows.effects.has_deliveries = true;
            rows.put_row(OUTBOX, outbox_key(webhook, due, sequence).as_slice(), &())?;
        }
        DeliveryState::Claimed { .. } => rows.put_row(CLAIMS, key.as_slice(), &())?,
        DeliveryState::Delivered { at }
        | DeliveryState::Exhausted { at }
        | DeliveryState::Skipped { at } => {
            rows.put_row(FINISHED, finished_key(at, webhook, sequence).as_slice(), &())?;
        }
    }
    rows.put_row(DELIVERIES, key.as_slice(), after)
}

/// Removes the row that belongs to a delivery's state.
pub(super) fn leave(rows: &mut Writing, delivery: &Delivery) -> Result<()> {
    let (webhook, sequence) = (delivery.webhook, delivery.sequence);
    match delivery.state {
        DeliveryState::Waiting { due } => {
            rows.remove_row(OUTBOX, outbox_key(webhook, due, sequence).as_slice())
        }
        DeliveryState::Claimed { .. } => {
            rows.remove_row(CLAIMS, delivery_key(webhook, sequence).as_slice())
        }
        DeliveryState::Delivered { at }
        | DeliveryState::Exhausted { at }
        | DeliveryState::Skipped { at } => {
            rows.remove_row(FINISHED, finished_key(at, webhook, sequence).as_slice())
        }
    }
    .map(|_| ())
}
