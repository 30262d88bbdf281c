//! What fails is tried again, for three days, with the same id and rising numbers.

use serde_json::{Value, json};

use super::{Receiver, add, answer, fail_for_days, path, push, shown, start, wait_first, wait_for};
use crate::harness::Posture;
use crate::harness::sink::Sink;

const GAPS_S: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// Milliseconds from now until the first delivery is due again, after so many attempts.
fn due_in_ms(posture: &Posture, webhook: &Value, n_attempts: usize) -> i64 {
    let has_failed = |it: &Value| {
        let n_ended = it["attempts"].as_array().map_or(0, Vec::len);
        it["status"] == "waiting" && n_ended == n_attempts
    };
    let waiting = wait_first(posture, webhook, has_failed);
    let due: posture::clock::Time = waiting["dueAt"].as_str().unwrap().parse().unwrap();
    (due.micros() - posture.now().micros()) / 1_000
}

/// Moves the clock to when the first delivery is due.
fn pass_to_due(posture: &Posture, webhook: &Value, n_attempts: usize) {
    let ms = due_in_ms(posture, webhook, n_attempts);
    posture.clock.set(posture.now().plus_ms(ms + 1));
    posture.app.outbox().notify_one();
}

#[test]
fn ten_attempts_go_out_at_the_times_of_the_table() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    push(&posture, &posture.client("A"), "one");
    for n in 1..=GAPS_S.len() {
        let request = receiver.wait(n);
        assert_eq!(request.header("x-service-delivery-attempt"), Some(&*n.to_string()));
        assert_eq!(request.body, receiver.wait(1).body, "resent byte for byte");
        let Some(gap_s) = GAPS_S.get(n) else { break };
        let ms = due_in_ms(&posture, &webhook, n);
        let (least, most) = (gap_s * 800, gap_s * 1_200);
        assert!((least..=most).contains(&ms), "attempt {}: {ms} ms, not {gap_s} s", n + 1);
        pass_to_due(&posture, &webhook, n);
    }
    let exhausted = wait_for(&posture, &webhook, "exhausted");
    assert_eq!(exhausted["attempts"].as_array().unwrap().len(), 10);
    assert_eq!(exhausted["attempts"][9]["status"], 500);
    posture.pass_days(10);
    receiver.has_only(10);
    receiver.answer_with(204);
    let body = json!({ "sequence": exhausted["sequence"] });
    let recover = format!("{}/recover", path(&webhook));
    let recovered = posture.operator("POST", &recover, &body);
    assert_eq!(recovered.json()["data"]["queued"], 1, "{}", recovered.text());
    let request = receiver.wait(11);
    assert_eq!(request.header("x-service-delivery-attempt"), Some("11"));
    assert_eq!(request.body, receiver.wait(1).body);
    assert_eq!(wait_for(&posture, &webhook, "delivered")["attemptCount"], 11);
}

#[test]
fn a_receiver_may_ask_for_more_time_up_to_twice_the_gap() {
    let posture = start();
    let sink = Sink::after_request("127.0.0.1:0", |it| answer(it, 503, "Retry-After: 9\r\n"));
    let webhook = add(&posture, &sink.url());
    push(&posture, &posture.client("A"), "one");
    assert_eq!(due_in_ms(&posture, &webhook, 1), 9_000);
    pass_to_due(&posture, &webhook, 1);
    let ms = due_in_ms(&posture, &webhook, 2);
    assert!((240_000..=360_000).contains(&ms), "the gap is longer than what was asked: {ms}");
}

#[test]
fn an_overloaded_receiver_is_left_alone_for_a_minute() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(429);
    let webhook = add(&posture, &receiver.sink.url());
    push(&posture, &posture.client("A"), "one");
    assert_eq!(due_in_ms(&posture, &webhook, 1), 60_000);
}

#[test]
fn an_answer_of_410_disables_the_endpoint_at_once() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(410);
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    push(&posture, &client, "one");
    receiver.wait(1);
    let is_disabled = || shown(&posture, &webhook)["disabledBecause"] == "gone";
    assert!(crate::harness::process::wait_until(super::SOON, is_disabled));
    push(&posture, &client, "two");
    posture.pass_days(1);
    receiver.has_only(1);
}

#[test]
fn an_endpoint_that_only_fails_for_days_is_disabled() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    fail_for_days(&posture, &receiver, &posture.client("A"));
    let is_disabled = || shown(&posture, &webhook)["disabledBecause"] == "failing";
    let is_so = crate::harness::process::wait_until(super::SOON, is_disabled);
    assert!(is_so, "{}", shown(&posture, &webhook));
}
