//! Each endpoint has a lane of its own: none delays another, and a restart goes on where it was.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Receiver, add, allow_loopback, deliveries, push, start, wait_for};
use crate::harness::sink::Sink;

/// Takes a request and never answers.
fn hang(_stream: TcpStream) {
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn hanging_endpoints_delay_nobody() {
    let posture = start();
    let hanging: Vec<_> = (0..49).map(|_| Sink::after_request("127.0.0.1:0", hang)).collect();
    for it in &hanging {
        add(&posture, &it.url());
    }
    let receiver = Receiver::start();
    add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    for n in 1..=20 {
        let since = Instant::now();
        push(&posture, &client, &n.to_string());
        receiver.wait(n);
        let took = since.elapsed();
        assert!(took < Duration::from_secs(2), "first attempt after {took:?}");
    }
    let all_hang = || hanging.iter().all(|it| it.requests().len() == 1);
    assert!(all_hang(), "each hanging endpoint holds one attempt and no more");
}

#[test]
fn an_attempt_that_a_stop_cut_off_is_made_again_with_the_next_number() {
    let posture = start();
    let sink = Sink::after_request("127.0.0.1:0", hang);
    let webhook = add(&posture, &sink.url());
    push(&posture, &posture.client("A"), "one");
    wait_for(&posture, &webhook, "sending");
    let posture = posture.restart_after(|_| (), allow_loopback);
    let is_again = || sink.requests().len() == 2;
    assert!(crate::harness::process::wait_until(super::SOON, is_again));
    let numbers: Vec<_> = sink
        .requests()
        .iter()
        .map(|it| it.header("x-service-delivery-attempt").unwrap().to_owned())
        .collect();
    assert_eq!(numbers, ["1", "2"]);
    let ids: Vec<_> = sink.requests().iter().map(|it| it.body.clone()).collect();
    assert_eq!(ids[0], ids[1]);
    let log = deliveries(&posture, &webhook);
    assert_eq!(log[0]["attempts"][0]["answer"], "the service stopped before the attempt had ended");
}

#[test]
fn a_working_endpoint_is_sent_several_events_at_once() {
    let posture = start();
    let slow = Sink::after_request("127.0.0.1:0", |stream| {
        std::thread::sleep(Duration::from_millis(300));
        super::answer(stream, 200, "");
    });
    add(&posture, &slow.url());
    let client = posture.client("A");
    for n in 0..13 {
        push(&posture, &client, &n.to_string());
    }
    let since = Instant::now();
    assert!(crate::harness::process::wait_until(super::SOON, || slow.requests().len() == 13));
    let took = since.elapsed();
    assert!(took < Duration::from_secs(3), "four at once take 1.2 s, one by one 3.9 s: {took:?}");
}
