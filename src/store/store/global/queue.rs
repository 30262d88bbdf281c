//! The queue of each webhook: how many deliveries wait, each client's share of the places, and the failures in a row.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, WebhookId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction, Writing};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{DELIVERY_QUEUES, QUEUE_SHARES};

/// The places of a webhook's queue. A client may take half of those that the others leave, so that one client that floods
/// the queue delays its own events only: what finds no place is skipped, and can be recovered.
pub const N_WAITING_MAX: u32 = 100_000;
/// Places that every client has, even in a full queue.
pub const N_SHARE_MIN: u32 = 100;
/// More waiting deliveries, by the places that every client has, disable the webhook.
pub const N_WAITING_DISABLES: u32 = 2 * N_WAITING_MAX;
/// The state of a webhook's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DeliveryQueue {
    /// Deliveries that are queued or in progress.
    pub n_waiting: u32,
    pub last_success_at: Option<Time>,
    pub last_failure_at: Option<Time>,
    /// The first failure since the last success.
    pub failing_since: Option<Time>,
    /// Failed attempts since the last success.
    pub n_failures: u32,
}

/// One client's share of a webhook's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ClientShare {
    pub n_waiting: u32,
    /// Events that found no place since something of the client waits.
    pub n_skipped: u32,
}

fn share_key(webhook: WebhookId, client: ClientId) -> RowKey {
    RowKey::empty().bytes(webhook.as_bytes()).bytes(client.as_bytes())
}

pub(in crate::store) fn find(rows: &impl Rows, webhook: WebhookId) -> Result<DeliveryQueue> {
    Ok(rows.find_row(DELIVERY_QUEUES, webhook.as_bytes())?.unwrap_or_default())
}

pub(in crate::store) fn find_share(
    rows: &impl Rows,
    webhook: WebhookId,
    client: ClientId,
) -> Result<ClientShare> {
    let found = rows.find_row(QUEUE_SHARES, share_key(webhook, client).as_slice())?;
    Ok(found.unwrap_or_default())
}

fn put_share(
    rows: &mut Writing,
    (webhook, client): (WebhookId, ClientId),
    share: ClientShare,
) -> Result<()> {
    let key = share_key(webhook, client);
    if share.n_waiting == 0 {
        return rows.remove_row(QUEUE_SHARES, key.as_slice()).map(|_| ());
    }
    rows.put_row(QUEUE_SHARES, key.as_slice(), &share)
}

/// Counts a delivery that begins to wait.
pub(in crate::store) fn count_in(
    rows: &mut Writing,
    queue: &mut DeliveryQueue,
    of: (WebhookId, ClientId),
) -> Result<()> {
    count(rows, queue, of, |it| it + 1)
}

/// Counts a delivery that no longer waits.
pub(in crate::store) fn count_out(
    rows: &mut Writing,
    queue: &mut DeliveryQueue,
    of: (WebhookId, ClientId),
) -> Result<()> {
    count(rows, queue, of, |it| it.saturating_sub(1))
}

fn count(
    rows: &mut Writing,
    queue: &mut DeliveryQueue,
    of: (WebhookId, ClientId),
    next: impl Fn(u32) -> u32,
) -> Result<()> {
    queue.n_waiting = next(queue.n_waiting);
    let share = find_share(rows, of.0, of.1)?;
    put_share(rows, of, ClientShare { n_waiting: next(share.n_waiting), ..share })
}

/// Returns true if the queue has a place for one more event of the client.
pub(in crate::store) const fn has_place(queue: &DeliveryQueue, share: ClientShare) -> bool {
    let others = queue.n_waiting.saturating_sub(share.n_waiting);
    share.n_waiting < N_SHARE_MIN || share.n_waiting < N_WAITING_MAX.saturating_sub(others) / 2
}

pub(in crate::store) fn put(
    rows: &mut Writing,
    webhook: WebhookId,
    queue: &DeliveryQueue,
) -> Result<()> {
    rows.put_row(DELIVERY_QUEUES, webhook.as_bytes(), queue)
}

/// Counts an event that found no place.
pub(in crate::store) fn skip(
    rows: &mut Writing,
    (webhook, client): (WebhookId, ClientId),
    share: ClientShare,
) -> Result<()> {
    if share.n_skipped == 0 {
        tracing::warn!(
            %webhook, client.id = %client,
            "the queue of webhook {webhook} is full of events of client {client}: its further events are skipped until some \
             are delivered; recover them then"
        );
    }
    let share = ClientShare { n_skipped: share.n_skipped.saturating_add(1), ..share };
    put_share(rows, (webhook, client), share)
}

/// Removes the queue of a webhook that has no deliveries.
pub(in crate::store) fn remove(rows: &mut Writing, webhook: WebhookId) -> Result<()> {
    for key in rows.list_keys_of(QUEUE_SHARES, &Span::prefix(webhook.as_bytes()), usize::MAX)? {
        rows.remove_row(QUEUE_SHARES, &key)?;
    }
    rows.remove_row(DELIVERY_QUEUES, webhook.as_bytes()).map(|_| ())
}

impl<R: Rows> Transaction<R> {
    pub fn find_delivery_queue(&self, webhook: WebhookId) -> Result<DeliveryQueue> {
        find(&self.rows, webhook)
    }
}

impl Batch {
    /// Forgets the failures of a webhook that is enabled again.
    pub fn reset_failures(&mut self, webhook: WebhookId) -> Result<()> {
        let queue = self.find_delivery_queue(webhook)?;
        let queue = DeliveryQueue { failing_since: None, n_failures: 0, ..queue };
        put(&mut self.rows, webhook, &queue)
    }
}
