//! Deliveries that outlived their events, which an erasure of their client has to look for: no index leads to them.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::id::{ClientId, WebhookId};
use crate::store::Batch;
use crate::store::global::delivery::{Delivery, delivery_key};
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::{DELIVERIES, EVENTS};

/// A delivery: its webhook and the sequence of its event.
pub type DeliveryKey = (WebhookId, u64);

/// Some of a client's deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDeliveries {
    pub deliveries: Vec<DeliveryKey>,
    /// Where to continue. `None`: all were looked at.
    pub next: Option<DeliveryKey>,
}

impl<R: Rows> Transaction<R> {
    /// Finds deliveries of a client among those whose events were removed. Looks at up to `n_rows_max` after `after`.
    pub fn list_outlived_deliveries(
        &self,
        client: ClientId,
        after: Option<DeliveryKey>,
        n_rows_max: usize,
    ) -> Result<FoundDeliveries> {
        let oldest = self.oldest_event()?;
        let mut found = FoundDeliveries { deliveries: Vec::new(), next: None };
        let mut n_rows = 0;
        for webhook in self.list_webhooks()?.into_iter().map(|it| it.id) {
            let until = delivery_key(webhook, oldest).as_slice().to_vec();
            let mut span = Span { until: Some(until), ..Span::prefix(webhook.as_bytes()) };
            match after {
                Some((last, _)) if webhook < last => continue,
                Some((last, sequence)) if webhook == last => {
                    span = span.after(delivery_key(webhook, sequence).as_slice());
                }
                Some(_) | None => (),
            }
            self.rows.visit_rows(DELIVERIES, &span, &mut |key, bytes| {
                let delivery = self.rows.open_row::<Delivery>(DELIVERIES, key, bytes)?;
                let key = (webhook, delivery.sequence);
                n_rows += 1;
                found.deliveries.extend((delivery.client == client).then_some(key));
                if n_rows < n_rows_max {
                    return Ok(ControlFlow::Continue(()));
                }
                found.next = Some(key);
                Ok(ControlFlow::Break(()))
            })?;
            if found.next.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// The sequence of the oldest event, or one after all of them if there is none.
    fn oldest_event(&self) -> Result<u64> {
        let first = self.rows.list_keys_of(EVENTS, &Span::all(), 1)?.pop();
        let sequence = |key: Vec<u8>| {
            u64::from_be_bytes(*key.last_chunk().expect("the key of an event is its sequence"))
        };
        Ok(first.map_or(u64::MAX, sequence))
    }
}

impl Batch {
    /// Removes deliveries. Those that were removed meanwhile are left out.
    pub fn erase_deliveries(&mut self, deliveries: &[DeliveryKey]) -> Result<()> {
        deliveries
            .iter()
            .try_for_each(|(webhook, sequence)| self.erase_delivery(*webhook, *sequence))
    }
}
