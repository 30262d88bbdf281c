//! Results of tools that measure hosts and clusters by a baseline.

mod hardeningkitty;
mod inspec;
mod kubebench;
mod wazuh;

pub(super) use hardeningkitty::read as read_hardeningkitty;
pub(super) use inspec::read as read_inspec;
pub(super) use kubebench::read as read_kubebench;
pub(super) use wazuh::read as read_wazuh;

use super::{Format, contains, has_members};

/// The format of a table that starts so.
pub(super) fn detect_table(head: &[u8]) -> Option<Format> {
    hardeningkitty::is_table(head).then_some(Format::HardeningKitty)
}

/// The format of a JSON file that starts so.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
    let has = |names: &[&str]| has_members(head, names);
    if has(&["node_type", "tests", "test_number"]) {
        return Some(Format::KubeBench);
    }
    if has(&["platform", "profiles", "controls"]) {
        return Some(Format::Inspec);
    }
    let is_wazuh = has(&["affected_items", "policy_id", "condition"])
        || has(&["sca", "policy_id", "check"])
        || has(&["hits", "_source", "policy", "check"])
        || contains(head, b"\"wazuh-states-sca");
    is_wazuh.then_some(Format::WazuhSca)
}
