//! Each endpoint has its own queue. No endpoint delays another, and a restart continues where it was.

use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use posture::serve::ServeOptions;

use super::{Receiver, SOON, add, allow_loopback, deliveries, push, start, wait_for};
use crate::harness::Posture;
use crate::harness::process::wait_until;
use crate::harness::sink::Sink;

/// No attempt is given up before the end of its test.
const TIMEOUT_S: u32 = 600;

/// Takes a request and never answers.
fn hang(_stream: TcpStream) {
    std::thread::sleep(Duration::from_secs(TIMEOUT_S.into()));
}

fn patient(options: &mut ServeOptions) {
    allow_loopback(options);
    options.app.webhooks.timeout_s = TIMEOUT_S;
}

#[test]
fn hanging_endpoints_delay_nobody() {
    let posture = Posture::start_with(patient);
    let hanging: Vec<_> = (0..49).map(|_| Sink::after_request("127.0.0.1:0", hang)).collect();
    let webhooks: Vec<_> = hanging.iter().map(|it| add(&posture, &it.url())).collect();
    let receiver = Receiver::start();
    add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    for n in 1..=20 {
        push(&posture, &client, &n.to_string());
        receiver.wait(n);
    }
    let all_hang = || hanging.iter().all(|it| it.requests().len() == 1);
    assert!(wait_until(SOON, all_hang), "each hanging endpoint holds one attempt");
    for (sink, webhook) in hanging.iter().zip(&webhooks) {
        assert_eq!(sink.requests().len(), 1, "and no more");
        let first = &deliveries(&posture, webhook)[0];
        assert_eq!(first["status"], "sending", "it still hangs, and the others had theirs");
    }
}

#[test]
fn an_attempt_that_a_stop_cut_off_is_made_again_with_the_next_number() {
    let posture = Posture::start_with(patient);
    let sink = Sink::after_request("127.0.0.1:0", hang);
    let webhook = add(&posture, &sink.url());
    push(&posture, &posture.client("A"), "one");
    wait_for(&posture, &webhook, "sending");
    let posture = posture.restart_after(|_| (), patient);
    let is_again = || sink.requests().len() == 2;
    assert!(wait_until(SOON, is_again));
    let numbers: Vec<_> = sink
        .requests()
        .iter()
        .map(|it| it.header("x-service-delivery-attempt").unwrap().to_owned())
        .collect();
    assert_eq!(numbers, ["1", "2"]);
    let ids: Vec<_> = sink.requests().iter().map(|it| it.body.clone()).collect();
    assert_eq!(ids[0], ids[1]);
    let log = deliveries(&posture, &webhook);
    assert_eq!(log[0]["attempts"][0]["answer"], "the service stopped before the attempt ended");
}

#[test]
fn a_working_endpoint_is_sent_several_events_at_once() {
    const N_AT_ONCE: usize = 4;
    let posture = start();
    // Under way, the most so far, and all so far. Only the first is answered before the most was reached: an endpoint
    // is known to work from its first answer on.
    let counts = Arc::new((Mutex::new((0, 0, 0)), Condvar::new()));
    let counted = Arc::clone(&counts);
    let slow = Sink::after_request("127.0.0.1:0", move |stream| {
        let (counts, changed) = &*counted;
        let mut held = counts.lock().unwrap();
        held.0 += 1;
        held.1 = held.1.max(held.0);
        held.2 += 1;
        changed.notify_all();
        if 1 < held.2 {
            held = changed.wait_timeout_while(held, SOON, |it| it.1 < N_AT_ONCE).unwrap().0;
        }
        held.0 -= 1;
        drop(held);
        super::answer(stream, 200, "");
    });
    add(&posture, &slow.url());
    let client = posture.client("A");
    for n in 0..13 {
        push(&posture, &client, &n.to_string());
    }
    assert!(wait_until(SOON, || slow.requests().len() == 13));
    assert_eq!(counts.0.lock().unwrap().1, N_AT_ONCE);
}
