//! Prowler's files: OCSF, CSV and its own JSON.

pub(super) mod csv;
pub(super) mod finding;
pub(super) mod json;
pub(super) mod ocsf;
pub(super) mod record;
mod region;
pub(super) mod resource;

use super::{Format, contains};

/// The format of a JSON file that starts so. AWS's security finding format is that of Prowler, too.
pub(super) fn detect_json(head: &[u8]) -> Option<Format> {
    if contains(head, b"\"FindingUniqueId\"") && contains(head, b"\"CheckID\"") {
        return Some(Format::ProwlerJson);
    }
    let empty = head.strip_prefix(b"[").is_some_and(|it| it.trim_ascii() == b"]");
    let finding = contains(head, b"\"event_code\"") && contains(head, b"\"Prowler\"");
    // Prowler's compliance reports look alike, but are of class 2003.
    if empty || finding && !contains(head, b"\"Compliance Finding\"") && !is_compliance(head) {
        return Some(Format::ProwlerOcsf);
    }
    let is_asff = contains(head, b"\"SchemaVersion\"") && contains(head, b"\"2018-10-08\"");
    is_asff.then_some(Format::Asff)
}

/// Returns true if the first `class_uid` is 2003 (Compliance Finding).
fn is_compliance(head: &[u8]) -> bool {
    let key = b"\"class_uid\"";
    let Some(at) = head.windows(key.len()).position(|it| it == key) else { return false };
    let value = head[at + key.len()..].trim_ascii_start();
    value.strip_prefix(b":").is_some_and(|it| it.trim_ascii_start().starts_with(b"2003"))
}
