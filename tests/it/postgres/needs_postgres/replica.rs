//! A PostgreSQL server with a synchronous standby, which takes its place.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::port::free_port;
use crate::harness::postgres::{Cluster, OWNER};
use crate::harness::process::{Line, wait_until};
use crate::postgres::nodes::{Announced, HANGS_AFTER, Nodes};
use crate::postgres::writers::{AT_ONCE, Writers, print_times};

const N_WRITES: usize = 20;
/// Longer than the lease of a node.
const LONG: Duration = Duration::from_secs(12);

/// A database on the first server, with a URL that finds it on either.
fn url(primary: &Cluster, standby_port: u16, database: &str) -> String {
    primary.sql("postgres", &format!("CREATE DATABASE {database}"));
    let (host, port) = ("127.0.0.1", primary.port);
    format!("postgres://{OWNER}@{host}:{port},{host}:{standby_port}/{database}?sslmode=disable")
}

/// What becomes of the primary.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// All its processes are killed.
    Killed,
    /// It accepts connections and answers nothing, as a machine does that has lost its disk.
    Frozen,
}

/// The standby takes the place of a primary that is lost, so long after the loss.
fn survive(loss: Loss, promoted_after: Duration) {
    let mut primary = Cluster::start(&[]);
    let port = free_port();
    let url = url(&primary, port, "survivor");
    let standby = primary.synchronous_standby(port);
    let nodes = Nodes::start([&url, &url]);
    let writers = Writers::start(&nodes);
    writers.wait(0, N_WRITES);
    let began = Instant::now();
    match loss {
        Loss::Killed => primary.kill(),
        Loss::Frozen => primary.signal("-STOP"),
    }
    sleep(promoted_after);
    standby.promote();
    let promoted = Instant::now();
    writers.wait_since(promoted.max(began + AT_ONCE), N_WRITES);
    let (pause, until) = (writers.pause_since(began), promoted.elapsed());
    let acknowledged = writers.stop();
    let mut announced = Announced::default();
    let n_there = announced.require(&nodes, &acknowledged);
    let n = acknowledged.len();
    eprintln!("{loss:?}: {n} acknowledged, 0 lost, {n_there} there; {until:?} after the promotion");
    print_times("the primary is lost", &mut [pause]);
    if promoted_after.is_zero() {
        assert_eq!(announced.nodes, [0], "the same node goes on");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_standby_that_is_promoted_at_once_serves_the_same_node() {
    survive(Loss::Killed, Duration::ZERO);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_standby_that_is_promoted_late_has_all_that_was_acknowledged() {
    survive(Loss::Killed, LONG);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_primary_that_answers_nothing_is_left_for_the_next_server_of_the_url() {
    survive(Loss::Frozen, Duration::from_secs(2));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_the_standby_does_not_have_is_not_acknowledged() {
    let primary = Cluster::start(&[]);
    let port = free_port();
    let url = url(&primary, port, "alone");
    let standby = primary.synchronous_standby(port);
    let folder = super::folder(&url);
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    assert_eq!(super::push(&server, &key, &client, "before"), 201);
    let body = json!({
        "clientId": client, "name": "alone", "externalId": "alone", "assetType": "server",
    });
    let mut line = Line::to(server.address).unwrap();
    standby.signal("-STOP");
    // Each time the wait for the standby is broken off, the write is on the primary alone.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    std::thread::scope(|scope| {
        let pushing = scope.spawn(|| line.push(&key, &body).unwrap().0);
        let until = Instant::now() + LONG;
        while Instant::now() < until && !pushing.is_finished() {
            primary.sql("postgres", cut);
            sleep(Duration::from_millis(100));
        }
        let is_answered = pushing.is_finished();
        standby.signal("-CONT");
        let status = pushing.join().unwrap();
        assert!(!is_answered || status == 503, "{status}");
    });
    let is_served = || matches!(super::push(&server, &key, &client, "after"), 200 | 201);
    assert!(wait_until(HANGS_AFTER, is_served), "it goes on");
}
