//! The metrics of a node: of the active one, and of a standby.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::store::{ActiveNode, Health};

const NEVER: &str = "writing to a String does not fail";

/// Adds what is known of the node that has the database. `here`: it is this one, and what this one has seen since its start.
pub fn add(text: &mut String, node: &ActiveNode, here: Option<&Health>) {
    let (active, epoch) = (Gauge::<u64, AtomicU64>::default(), Gauge::<u64, AtomicU64>::default());
    let age = Gauge::<f64, AtomicU64>::default();
    active.set(u64::from(here.is_some()));
    epoch.set(node.epoch);
    age.set(node.lease_age.as_secs_f64());
    let mut registry = Registry::with_prefix("posture");
    let help = "1 on the node that has the database open, 0 on a standby";
    registry.register("node_active", help, active);
    registry.register("node_epoch", "Counts how often the database was opened", epoch);
    let help = "Time since the active node renewed its lease";
    registry.register("node_lease_age_seconds", help, age);
    let lost = Counter::<u64, AtomicU64>::default();
    lost.inc_by(here.map_or(0, |it| it.n_lost));
    let help =
        "Acknowledged commits missing from the database server after a reconnect, since the start";
    registry.register("node_lost_commits", help, lost);
    encode_registry(text, &registry).expect(NEVER);
}

/// Adds whether a standby could take over now.
pub fn add_standby(text: &mut String, can_take_over: bool) {
    let able = Gauge::<u64, AtomicU64>::default();
    able.set(u64::from(can_take_over));
    let mut registry = Registry::with_prefix("posture");
    let help = "1 if this standby can take over, 0 if not; its log says why";
    registry.register("node_can_take_over", help, able);
    encode_registry(text, &registry).expect(NEVER);
}
