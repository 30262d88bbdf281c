//! Reports about accounts and subscriptions of a cloud.

mod defender;

pub(super) use defender::read as read_defender;

use super::Format;
use super::sheet::has_columns;

/// The format of a table that starts so.
pub(super) fn detect_table(head: &[u8]) -> Option<Format> {
    let is_defender = has_columns(head, &defender::COLUMNS);
    is_defender.then_some(Format::DefenderCloud)
}
