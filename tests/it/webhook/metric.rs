//! What `/metrics` says of deliveries.

use serde_json::{Value, json};

use super::{Receiver, SOON, add, change, push, start};
use crate::harness::process::wait_until;

#[test]
fn the_metrics_count_attempts_and_what_waits() {
    let (posture, receiver) = (start(), Receiver::start());
    let metrics = |delivered: u32, failed: u32, waiting: u32, disabled: u32| {
        let lines = [
            format!("posture_webhook_attempts_total{{outcome=\"delivered\"}} {delivered}"),
            format!("posture_webhook_attempts_total{{outcome=\"failed\"}} {failed}"),
            format!("posture_webhook_waiting {waiting}"),
            format!("posture_webhook_disabled {disabled}"),
        ];
        let mut text = String::new();
        let are_there = wait_until(SOON, || {
            text = posture.operator("GET", "/metrics", &Value::Null).text();
            lines.iter().all(|line| text.lines().any(|it| it == line))
        });
        assert!(are_there, "not {lines:?}: {text}");
    };
    metrics(0, 0, 0, 0);
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    push(&posture, &posture.client("A"), "one");
    metrics(0, 1, 1, 0);
    posture.pass_s(6);
    metrics(0, 2, 1, 0);
    receiver.answer_with(200);
    posture.pass_s(360);
    metrics(1, 2, 0, 0);
    receiver.answer_with(410);
    push(&posture, &posture.client("B"), "two");
    metrics(1, 3, 0, 1);
    posture.pass_s(10);
    change(&posture, &webhook, &json!({ "enabled": true }));
    metrics(1, 3, 0, 0);
}
