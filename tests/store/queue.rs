//! The queue of a webhook has a fair share for each client.

use posture_core::id::WebhookId;
use posture_store::store::Store;
use posture_store::store::global::delivery::DeliveryState;
use posture_store::store::global::queue::{N_SHARE_MIN, N_WAITING_MAX};
use posture_store::store::global::webhook::{Webhook, WebhookState};

use super::{add_event, memory, noon, some_client};

const WEBHOOK: [u8; 16] = [7; 16];

fn with_webhook() -> Store {
    let store = memory();
    let webhook = Webhook {
        id: WebhookId::from_bytes(WEBHOOK),
        url: "https://hooks.example.com/".to_owned(),
        description: String::new(),
        kinds: Vec::new(),
        clients: Vec::new(),
        secret: Vec::new(),
        previous: None,
        state: WebhookState::Enabled { after: 0 },
        created_at: noon(),
        updated_at: noon(),
    };
    store.write_now(move |batch| batch.put_webhook(&webhook)).unwrap();
    store
}

fn add_events(store: &Store, client: u8, n_events: u32) {
    let rows = store.client_store(some_client(client));
    for _ in 0..n_events.div_ceil(1_000) {
        let n = n_events.min(1_000);
        rows.write_now(move |batch| (0..n).try_for_each(|_| add_event(batch, "a").map(drop)))
            .unwrap();
    }
}

/// How many of the deliveries after a sequence wait, and how many were skipped.
fn count(store: &Store, after: u64) -> (usize, usize) {
    let webhook = WebhookId::from_bytes(WEBHOOK);
    let all = store.snapshot().unwrap().list_deliveries(webhook, after, usize::MAX).unwrap();
    let is_waiting = |it: &DeliveryState| matches!(it, DeliveryState::Waiting { .. });
    let is_skipped = |it: &DeliveryState| matches!(it, DeliveryState::Skipped { .. });
    let n_of = |is: &dyn Fn(&DeliveryState) -> bool| all.iter().filter(|it| is(&it.state)).count();
    (n_of(&is_waiting), n_of(&is_skipped))
}

#[test]
fn a_client_that_floods_a_queue_loses_only_its_own_events() {
    let store = with_webhook();
    let half = N_WAITING_MAX / 2;
    add_events(&store, 1, half + 1_000);
    assert_eq!(count(&store, 0), (half as usize, 1_000), "half of the places, and no more");
    let webhook = WebhookId::from_bytes(WEBHOOK);
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.find_webhook(webhook).unwrap().unwrap().is_enabled());
    assert_eq!(snapshot.find_delivery_queue(webhook).unwrap().n_waiting, half);
    let last = u64::from(half + 1_000);
    add_events(&store, 2, 1_000);
    assert_eq!(count(&store, last), (1_000, 0), "the other client has its own places");
    add_events(&store, 1, N_SHARE_MIN);
    assert_eq!(count(&store, last + 1_000), (0, N_SHARE_MIN as usize));
}
