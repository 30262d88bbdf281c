//! The metrics of a node: of the active one, and of a standby.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::store::ActiveNode;

/// Adds what is known of the node that has the database. `is_here`: it is this one.
pub fn add(text: &mut String, node: &ActiveNode, is_here: bool) {
    let (active, epoch) = (Gauge::<u64, AtomicU64>::default(), Gauge::<u64, AtomicU64>::default());
    let age = Gauge::<f64, AtomicU64>::default();
    active.set(u64::from(is_here));
    epoch.set(node.epoch);
    age.set(node.lease_age.as_secs_f64());
    let mut registry = Registry::with_prefix("posture");
    let help = "1 on the node that has the database open, 0 on a standby";
    registry.register("node_active", help, active);
    registry.register("node_epoch", "Counts how often the database was opened", epoch);
    let help = "Time since the active node renewed its lease";
    registry.register("node_lease_age_seconds", help, age);
    encode_registry(text, &registry).expect("writing to a String does not fail");
}
