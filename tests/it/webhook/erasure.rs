//! What an erased client leaves at the endpoints: nothing.

use serde_json::{Value, json};

use super::{Receiver, add, allow_loopback, deliveries, push, wait_first};
use crate::harness::Posture;

/// The clients of the deliveries that are listed.
fn clients(posture: &Posture, webhook: &Value) -> Vec<Value> {
    deliveries(posture, webhook).into_iter().map(|it| it["clientId"].clone()).collect()
}

#[test]
fn deliveries_that_outlived_their_events_are_erased_with_their_client() {
    let (posture, receiver) = (
        Posture::start_with(|options| {
            allow_loopback(options);
            options.app.webhooks.retention_days = 300;
        }),
        Receiver::start(),
    );
    let webhooks = [(); 2].map(|()| add(&posture, &receiver.sink.url()));
    let (gone, stays) = (posture.client("Gone"), posture.client("Stays"));
    for client in [&gone, &stays, &gone] {
        push(&posture, client, &format!("asset {}", posture.events().len()));
    }
    receiver.wait(6);
    for webhook in &webhooks {
        wait_first(&posture, webhook, |_| {
            deliveries(&posture, webhook).iter().all(|it| it["status"] == "delivered")
        });
    }
    posture.pass_days(91);
    while posture.block_on(posture.app.forget_events()).unwrap() {}
    while posture.block_on(posture.app.forget_deliveries()).unwrap() {}
    assert!(posture.events().iter().all(|it| it["type"] != "asset_discovered"), "they are gone");
    for webhook in &webhooks {
        assert_eq!(clients(&posture, webhook).len(), 3, "the deliveries are kept longer");
    }
    push(&posture, &gone, "another asset, whose event is there");
    receiver.wait(8);
    let erased = posture.operator("DELETE", &format!("/api/clients/{gone}"), &Value::Null);
    assert_eq!(erased.status, 200, "{}", erased.text());
    for webhook in &webhooks {
        assert_eq!(clients(&posture, webhook), [json!(stays)]);
    }
}
