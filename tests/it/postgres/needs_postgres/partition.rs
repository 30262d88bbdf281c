//! A network that is cut between the active node and the database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::harness::postgres::shared;
use crate::harness::wire::{Network, Wire};
use crate::postgres::nodes::{Announced, Nodes, status};
use crate::postgres::writers::{Writers, print_times};

const N_WRITES: usize = 20;
/// The node stops answering so long after it last renewed its lease.
const ANSWERS_FOR: Duration = Duration::from_secs(8);
/// What a busy machine may add.
const BUSY: Duration = Duration::from_secs(1);

/// Ends what runs beside a test, also if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// When the last read was sent that the node answered, most of them from memory.
fn last_read(nodes: &Nodes, is_over: &AtomicBool) -> Instant {
    let mut last = None;
    while !is_over.load(Ordering::Relaxed) {
        let sent = Instant::now();
        match status(nodes.all[0].address, "/api/v1/clients", &nodes.key) {
            Some(200) => last = Some(sent),
            Some(503) | None => (),
            Some(other) => panic!("{other}"),
        }
        sleep(Duration::from_millis(20));
    }
    last.expect("it answers before")
}

/// Another node takes over from the one that is cut off, and what that one does has no effect.
fn take_over_from_cut_off(network: Network) {
    let url = shared().new_database();
    let wire = Wire::to(shared().port);
    let cut_off = url.replace(&format!(":{}/", shared().port), &format!(":{}/", wire.port));
    let mut nodes = Nodes::start([&cut_off, &url]);
    let writers = Writers::start(&nodes);
    writers.wait(0, N_WRITES);
    let is_over = AtomicBool::new(false);
    let (cut, last_read) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| last_read(&nodes, &is_over));
        let over = Over(&is_over);
        sleep(Duration::from_secs(1));
        let cut = Instant::now();
        wire.set(network);
        nodes.wait_until_active(1);
        writers.wait(1, N_WRITES);
        assert_ne!(status(nodes.all[0].address, "/readyz", ""), Some(200));
        drop(over);
        (cut, reading.join().unwrap())
    });
    let pause = writers.pause_since(cut);
    wire.set(Network::Whole);
    assert!(!nodes.all[0].process.wait().success());
    let log = nodes.all[0].log();
    assert!(log.contains("another node has taken over the database"), "{log}");
    nodes.all[0].start_again();
    nodes.all[0].wait_healthy();
    assert_eq!(status(nodes.all[0].address, "/readyz", ""), Some(503), "it is the standby");
    writers.wait(1, N_WRITES);
    let first = {
        let all = writers.acknowledged();
        let of = |node| all.iter().filter(move |it| it.node == node).map(|it| it.at);
        let (last, first) = (of(0).next_back().unwrap(), of(1).next().unwrap());
        assert!(last < first, "it acknowledged something after the other one had begun");
        first
    };
    assert!(last_read < first, "it answered after the other one had begun");
    let answered = last_read.saturating_duration_since(cut);
    assert!(answered < ANSWERS_FOR + BUSY, "{answered:?}");
    let acknowledged = writers.stop();
    let mut announced = Announced::default();
    announced.require(&nodes, &acknowledged);
    assert_eq!(announced.nodes, [0, 1], "it wrote nothing after the other one had begun");
    eprintln!("{network:?}: {} acknowledged, 0 lost; reads for {answered:?}", acknowledged.len());
    print_times("the active node is cut off", &mut [pause]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_node_whose_packets_are_lost_is_taken_over_and_what_arrives_late_is_fenced() {
    take_over_from_cut_off(Network::Silent);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_node_whose_connections_are_refused_is_taken_over() {
    take_over_from_cut_off(Network::Cut);
}
