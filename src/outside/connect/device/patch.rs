//! Whether patches are installed in time (END-07, END-08).

use super::{Last, Patch, PatchSeverity, PatchState, PatchStatus, Patching};
use crate::clock::Time;

/// That nothing is pending says something only of a device on which a patch was installed in so many days: where no policy
/// installs any, nothing is pending either.
const INSTALLED_DAYS_MAX: i64 = 60;

const S_PER_DAY: i64 = 86_400;

/// For how many days a patch may be pending.
fn os_days_max(severity: PatchSeverity) -> Option<i64> {
    match severity {
        PatchSeverity::Critical => Some(14),
        PatchSeverity::Important => Some(30),
        PatchSeverity::Other => None,
    }
}

fn software_days_max(severity: PatchSeverity) -> Option<i64> {
    match severity {
        PatchSeverity::Critical => Some(30),
        PatchSeverity::Important | PatchSeverity::Other => None,
    }
}

pub(super) fn os(patching: &Patching, at: Time) -> Option<bool> {
    passes(patching, os_days_max, at)
}

pub(super) fn software(patching: &Patching, at: Time) -> Option<bool> {
    passes(patching, software_days_max, at)
}

fn passes(
    patching: &Patching,
    days_max: fn(PatchSeverity) -> Option<i64>,
    at: Time,
) -> Option<bool> {
    let open = patching.open.as_ref();
    let in_time: Option<Vec<Option<bool>>> =
        open.map(|all| all.iter().map(|it| is_in_time(it, days_max, at)).collect());
    let is_overdue = |all: &Vec<Option<bool>>| all.contains(&Some(false));
    match patching.state {
        Some(PatchState::Failed | PatchState::NoPolicy) => return Some(false),
        _ if in_time.as_ref().is_some_and(is_overdue) => return Some(false),
        Some(PatchState::Current) => return Some(true),
        Some(PatchState::Pending) => return None,
        None => (),
    }
    let is_working = match patching.installed? {
        Last::Never => false,
        Last::At(time) => at.s_since(time) <= INSTALLED_DAYS_MAX * S_PER_DAY,
    };
    (is_working && !in_time?.contains(&None)).then_some(true)
}

/// `None`: how severe it is or since when it is pending is unknown, and matters.
fn is_in_time(it: &Patch, days_max: fn(PatchSeverity) -> Option<i64>, at: Time) -> Option<bool> {
    if it.status == Some(PatchStatus::Closed) {
        return Some(true);
    }
    let Some(days_max) = days_max(it.severity?) else { return Some(true) };
    match (it.status, it.since) {
        (Some(PatchStatus::Failed), _) => Some(false),
        (_, Some(since)) if days_max * S_PER_DAY < at.s_since(since) => Some(false),
        (Some(PatchStatus::Pending), Some(_)) => Some(true),
        (Some(PatchStatus::Pending | PatchStatus::Closed) | None, _) => None,
    }
}
