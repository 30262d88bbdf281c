//! Reports about a tenant of Microsoft 365 or Google Workspace.

mod maester;
mod scuba;
mod securescore;
mod zerotrust;

pub(super) use maester::read as read_maester;
pub(super) use scuba::read as read_scuba;
pub(super) use securescore::read as read_securescore;
pub(super) use zerotrust::read as read_zerotrust;

use super::{Format, contains, has_members};

/// The format of a JSON file that starts so.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
    let has = |names: &[&str]| has_members(head, names);
    if has(&["MetaData", "ScubaGear"]) || has(&["MetaData", "ScubaGoggles"]) {
        return Some(Format::Scuba);
    }
    if has(&["PassedCount", "SkippedCount", "TenantId"]) || has(&["Tenants", "PassedCount"]) {
        return Some(Format::Maester);
    }
    if has(&["TestPillar", "TestStatus"]) || has(&["ExecutedAt", "TenantId", "TestResultSummary"]) {
        return Some(Format::ZeroTrust);
    }
    let is_score = contains(head, b"security/secureScore") || has(&["controlScores"]);
    is_score.then_some(Format::SecureScore)
}
