//! Two nodes on PostgreSQL that fails over by itself, whose leader is lost with its machine.

use std::time::{Duration, Instant};

use super::nodes::{Announced, Nodes};
use super::writers::{AT_ONCE, Writers, print_times};
use crate::harness::patroni::Patroni;
use crate::harness::postgres::OWNER;

const N_ROUNDS: usize = 5;
const N_WRITES: usize = 20;

#[test]
#[ignore = "needs Patroni"]
fn no_acknowledged_asset_is_lost_when_the_leader_is_killed() {
    let mut patroni = Patroni::start();
    let ports = patroni.members.each_ref().map(|it| it.port);
    let hosts = ports.map(|it| format!("127.0.0.1:{it}")).join(",");
    let url = format!(
        "postgres://{OWNER}@{hosts}/postgres?sslmode=disable&target_session_attrs=read-write"
    );
    let mut nodes = Nodes::start([&url, &url]);
    let writers = Writers::start(&nodes);
    let (mut announced, mut expected) = (Announced::default(), vec![0]);
    let mut pauses: Vec<Duration> = Vec::new();
    for _ in 0..N_ROUNDS {
        let leader = patroni.wait_whole();
        let active = nodes.wait_active();
        writers.wait(active, N_WRITES);
        let killed = Instant::now();
        patroni.members[leader].kill();
        let next = writers.wait_since(killed + AT_ONCE, N_WRITES);
        pauses.push(writers.pause_since(killed));
        patroni.members[leader].start_again();
        if next != active {
            expected.push(next);
            nodes.all[active].process.wait();
            nodes.all[active].start_again();
            nodes.all[active].wait_healthy();
        }
        announced.read(&nodes.all[next]);
    }
    let acknowledged = writers.stop();
    let n_there = announced.require(&nodes, &acknowledged);
    assert_eq!(announced.nodes, expected, "no node writes once another has begun");
    let n = acknowledged.len();
    eprintln!("{N_ROUNDS} leaders killed: {n} acknowledged, 0 lost, {n_there} there");
    print_times("the leader is lost", &mut pauses);
}
