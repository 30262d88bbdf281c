//! Two nodes, of which the active one is killed or asleep. What it acknowledged is there, and what it does afterwards is not.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::harness::backend::Random;
use crate::harness::postgres::shared;
use crate::harness::process::signal;
use crate::postgres::nodes::{Announced, Nodes};
use crate::postgres::writers::{Writers, print_times};

/// Acknowledged writes before and after each event.
const N_WRITES: usize = 20;

fn number(name: &str, default: u32) -> u32 {
    let named = std::env::var_os(name);
    named.map_or(default, |it| it.to_str().and_then(|it| it.parse().ok()).expect("a number"))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn no_acknowledged_asset_is_lost_when_the_active_node_is_killed() {
    let n_rounds = number("POSTURE_TAKEOVERS", 3);
    let url = shared().new_database();
    let mut nodes = Nodes::start([&url, &url]);
    let writers = Writers::start(&nodes);
    let mut random = Random::from_seed(19);
    let (mut announced, mut expected) = (Announced::default(), vec![0]);
    let (mut taken_over, mut gone_on) = (Vec::new(), Vec::new());
    for round in 0..n_rounds {
        let active = nodes.wait_active();
        writers.wait(active, N_WRITES);
        sleep(Duration::from_millis(random.below(300)));
        let (killed, starts_at_once) = (Instant::now(), round % 2 == 1);
        nodes.all[active].process.kill();
        if starts_at_once {
            nodes.all[active].start_again();
        }
        let next = nodes.wait_active();
        writers.wait(next, N_WRITES);
        let times = if next == active { &mut gone_on } else { &mut taken_over };
        times.push(writers.pause_since(killed));
        if next != active {
            expected.push(next);
        }
        if !starts_at_once {
            assert_ne!(next, active);
            nodes.all[active].start_again();
        }
        nodes.all[active].wait_healthy();
        announced.read(&nodes.all[next]);
    }
    let acknowledged = writers.stop();
    let n_there = announced.require(&nodes, &acknowledged);
    assert_eq!(announced.nodes, expected, "no node writes once another has begun");
    let n = acknowledged.len();
    eprintln!("{n_rounds} kills: {n} acknowledged, 0 lost, {n_there} there");
    print_times("the other node takes over", &mut taken_over);
    print_times("the killed node starts at once", &mut gone_on);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_node_that_slept_commits_nothing_and_ends() {
    let sleep_time = Duration::from_secs(number("POSTURE_SLEEP_S", 12).into());
    let url = shared().new_database();
    let mut nodes = Nodes::start([&url, &url]);
    let writers = Writers::start(&nodes);
    writers.wait(0, N_WRITES);
    let asleep = Instant::now();
    signal(nodes.all[0].process.id(), "-STOP");
    nodes.wait_until_active(1);
    writers.wait(1, N_WRITES);
    let pause = writers.pause_since(asleep);
    sleep(sleep_time.saturating_sub(asleep.elapsed()));
    signal(nodes.all[0].process.id(), "-CONT");
    assert!(!nodes.all[0].process.wait().success(), "so that it is started again, as a standby");
    let log = nodes.all[0].log();
    assert!(log.contains("another node has taken over the database"), "{log}");
    writers.wait(1, N_WRITES);
    let acknowledged = writers.stop();
    let mut announced = Announced::default();
    let n_there = announced.require(&nodes, &acknowledged);
    assert_eq!(announced.nodes, [0, 1], "it wrote nothing after the other one had begun");
    let n = acknowledged.len();
    eprintln!("{sleep_time:?} asleep: {n} acknowledged, 0 lost, {n_there} there");
    print_times("the active node sleeps", &mut [pause]);
}
