//! Reports about accounts and subscriptions of a cloud.

mod defender;
mod ocsf;
mod powerpipe;
mod scoutsuite;

pub(super) use defender::read as read_defender;
pub(super) use ocsf::read as read_ocsf;
pub(super) use powerpipe::read as read_powerpipe;
pub(super) use scoutsuite::read as read_scoutsuite;

use super::Format;
use super::sheet::has_columns;

/// The format of a JSON file that starts so.
pub(super) fn detect_json(head: &[u8]) -> Option<Format> {
    if powerpipe::is_report(head) {
        return Some(Format::Powerpipe);
    }
    ocsf::is_report(head).then_some(Format::SecurityHubOcsf)
}

/// The format of a file that starts so and is neither XML nor JSON.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
    if head.starts_with(scoutsuite::NAME) {
        return Some(Format::ScoutSuite);
    }
    let is_defender = has_columns(head, &defender::COLUMNS);
    is_defender.then_some(Format::DefenderCloud)
}
