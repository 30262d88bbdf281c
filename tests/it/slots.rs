//! Slots for connections: who has how many, and whose is closed to make room.

use std::io::Read;
use std::net::TcpStream;
use std::thread;

use posture::serve::http::limit::ConnectionLimits;

use crate::edge::{Edge, HELLO, LARGE_BYTES, PATIENCE, SHORT, Wire, lazy};

#[test]
fn connections_of_one_peer_are_capped_and_those_of_others_are_not() {
    let capped = ConnectionLimits { connections_loopback_max: 2, ..lazy() };
    let edge = Edge::start(capped.clone());
    let never = HELLO.replace("/hello", "/never");
    let mut first = edge.connect();
    let mut second = edge.connect();
    for wire in [&mut first, &mut second] {
        wire.send(&never);
        edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    }
    assert_eq!(edge.connect().closes(), "", "both have a request in progress");
    drop(first);
    edge.serves_again();

    let all = "127.0.0.0/8".parse().expect("a network");
    let edge = Edge::start(ConnectionLimits { exempt: vec![all], ..capped });
    let mut all: Vec<_> = (0..5).map(|_| edge.connect()).collect();
    for wire in &mut all {
        wire.send(&never);
        edge.begun.recv_timeout(PATIENCE).expect("a trusted proxy is exempt");
    }
}

/// A connection that was answered.
fn answered(edge: &Edge) -> Wire<TcpStream> {
    let mut wire = edge.connect();
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
    wire
}

#[test]
fn the_longest_idle_connection_of_a_peer_makes_room_for_its_next() {
    let edge = Edge::start(ConnectionLimits { connections_loopback_max: 3, ..lazy() });
    let mut busy = edge.connect();
    busy.send(&HELLO.replace("/hello", "/never"));
    edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    let mut oldest = answered(&edge);
    let mut newest = edge.connect();
    newest.send("GET /hel");
    let mut oldest_again = answered(&edge);
    assert_eq!(oldest.closes(), "", "it was idle longest");
    let mut last = answered(&edge);
    assert_eq!(newest.closes(), "", "half a head is idle too");
    for wire in [&mut oldest_again, &mut last] {
        wire.send(HELLO);
        assert_eq!(wire.answer().body, "hello");
    }
    assert!(busy.is_silent_for(SHORT), "what has a request in progress stays");
}

#[test]
fn the_longest_idle_connection_of_all_makes_room() {
    let edge = Edge::start(ConnectionLimits { connections_max: 2, ..lazy() });
    let mut first = answered(&edge);
    let mut second = answered(&edge);
    first.send(HELLO);
    assert_eq!(first.answer().body, "hello");
    let mut third = answered(&edge);
    assert_eq!(second.closes(), "");
    for wire in [&mut first, &mut third] {
        wire.send(HELLO);
        assert_eq!(wire.answer().body, "hello");
    }
}

#[test]
fn connections_beyond_the_total_wait_until_one_is_idle() {
    let edge = Edge::start(ConnectionLimits { connections_max: 2, ..lazy() });
    let mut never = edge.connect();
    let mut slow = edge.connect();
    for (wire, path) in [(&mut never, "/never"), (&mut slow, "/slow")] {
        wire.send(&HELLO.replace("/hello", path));
        edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    }
    let mut third = edge.connect();
    third.send(HELLO);
    assert_eq!(slow.answer().body, "slow", "the answer is sent whole");
    assert_eq!(third.answer().body, "hello");
    assert_eq!(slow.closes(), "", "it was the first to become idle");
    let mut fourth = edge.connect();
    fourth.send(&HELLO.replace("/hello", "/never"));
    edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    let mut fifth = edge.connect();
    fifth.send(HELLO);
    assert!(fifth.is_silent_for(SHORT), "nobody is idle");
    drop(never);
    assert_eq!(fifth.answer().body, "hello");
}

#[test]
fn a_large_answer_is_in_progress_until_it_is_written() {
    let edge = Edge::start(ConnectionLimits { connections_loopback_max: 1, ..lazy() });
    let mut reader = edge.connect();
    reader.send(&HELLO.replace("/hello", "/large"));
    assert_eq!(reader.stream.peek(&mut [0]).expect("it begins"), 1);
    thread::sleep(SHORT);
    assert_eq!(edge.connect().closes(), "", "the answer is not read yet");
    let (mut n_bytes, mut piece) = (0, vec![0; 1_024 * 1_024]);
    while n_bytes < LARGE_BYTES {
        n_bytes += reader.stream.read(&mut piece).expect("the answer goes on");
    }
    edge.serves_again();
}
