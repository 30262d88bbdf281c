//! No client takes another's place in a queue or sees another's events, and no attempt is lost.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{
    Receiver, SOON, add, allow_loopback, answer, change, fail_for_days, path, push, shown, start,
    wait_for,
};
use crate::harness::Posture;
use crate::harness::backend::Disk;
use crate::harness::process::wait_until;
use crate::harness::sink::Sink;

#[test]
fn an_endpoint_that_was_limited_to_a_client_is_sent_nothing_of_others_from_then_on() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    let (mine, other) = (posture.client("A"), posture.client("B"));
    push(&posture, &other, "theirs");
    receiver.wait(1);
    wait_for(&posture, &webhook, "waiting");
    receiver.answer_with(200);
    change(&posture, &webhook, &json!({ "clientIds": [mine] }));
    posture.pass_s(3_600);
    let skipped = wait_for(&posture, &webhook, "skipped");
    let body = json!({ "sequence": skipped["sequence"] });
    let refused = posture.operator("POST", &format!("{}/recover", path(&webhook)), &body);
    let rule = "the webhook does not subscribe to this type, client or framework; change it first";
    assert_eq!(refused.problem(), ("CONFLICT".to_owned(), rule.to_owned()));
    receiver.has_only(1);
    push(&posture, &mine, "ours");
    let body: Value = serde_json::from_slice(&receiver.wait(2).body).unwrap();
    assert_eq!(body["data"]["object"]["name"], "ours");
}

#[test]
fn an_endpoint_that_is_enabled_again_starts_without_its_failures() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    fail_for_days(&posture, &receiver, &client);
    assert!(wait_until(SOON, || shown(&posture, &webhook)["disabledBecause"] == "failing"));
    let log = posture.operator("GET", "/api/audit?limit=100", &Value::Null).json();
    let mut log = log["data"].as_array().unwrap().iter();
    let entry = log.find(|it| it["action"] == "disable webhook").expect("it is recorded");
    assert_eq!(entry["by"], "service");
    assert_eq!((&entry["object"], &entry["about"]), (&webhook["id"], &json!("failing")));
    let on = change(&posture, &webhook, &json!({ "enabled": true }));
    assert_eq!((&on["failures"], &on["failingSince"]), (&json!(0), &Value::Null));
    let n_before = receiver.requests().len();
    push(&posture, &client, "again");
    receiver.wait(n_before + 1);
    assert!(wait_until(SOON, || shown(&posture, &webhook)["failures"] == 1));
    assert_eq!(shown(&posture, &webhook)["enabled"], true, "one failure is not days of failures");
}

#[test]
fn the_result_of_an_attempt_is_kept_until_the_database_accepts_it() {
    let disk = Disk::default();
    let posture = Posture::start_on_disk(&disk, allow_loopback);
    let (failing, is_first) = (disk.clone(), AtomicBool::new(true));
    let sink = Sink::after_request("127.0.0.1:0", move |stream| {
        if is_first.swap(false, Ordering::SeqCst) {
            failing.fail_once(1);
        }
        answer(stream, 200, "");
    });
    let webhook = add(&posture, &sink.url());
    push(&posture, &posture.client("A"), "one");
    assert!(wait_until(SOON, || disk.has_failed()));
    let is_delivered = || {
        let answer =
            posture.operator("GET", &format!("{}/deliveries", path(&webhook)), &Value::Null);
        answer.status == 200 && answer.json()["data"][0]["status"] == "delivered"
    };
    assert!(wait_until(SOON, is_delivered));
    assert_eq!(sink.requests().len(), 1, "and the attempt is not made again");
}
