//! What must be in the log of each kind of client, and nothing else.

use super::night::{CATALOGUE_NIGHT, Kind};

/// Of a connector's first complete read: what must reach someone is told, the rest is only found.
const CONNECTOR: [&str; 5] = [
    "open risk: Servers have no successful backup from the last 48 hours #1",
    "open risk: Some administrator sign-ins are not protected by MFA #1",
    "open admin_mfa_missing: user00 #1",
    "found risk: Registration for MFA is incomplete or not required #1",
    "found risk: Disk encryption is off or not required on some devices #1",
];
/// Of an assessor's.
const ASSESSOR: [&str; 2] = [
    "open risk: A root or owner account can sign in without MFA #1",
    "found risk: Cloud console users or administrators can sign in without MFA #1",
];

fn has_assessor(kind: Kind) -> bool {
    matches!(kind, Kind::Steady | Kind::Dead | Kind::Forsaken | Kind::Growing | Kind::Repeated)
}

/// Tickets and news by night, sorted.
pub fn log(kind: Kind) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, &str)> = Vec::new();
    if kind != Kind::Newcomer {
        all.extend(CONNECTOR.map(|it| (0, it)));
    }
    if has_assessor(kind) {
        all.extend(ASSESSOR.map(|it| (0, it)));
    }
    all.extend(news(kind));
    let mut all: Vec<_> = all.into_iter().map(|(night, it)| (night, it.to_owned())).collect();
    all.sort();
    all
}

fn news(kind: Kind) -> &'static [(usize, &'static str)] {
    match kind {
        Kind::Steady | Kind::Truncated | Kind::Repeated => &[],
        Kind::Dead => &[(12, "open connector_health_changed: entra silent #1")],
        Kind::Forsaken => &[
            (12, "open connector_health_changed: entra silent #1"),
            (12, "open connector_health_changed: prowler silent #1"),
        ],
        Kind::Flapping => &[
            (5, "open mfa_disabled: user05 #1"),
            (6, "close mfa_disabled: user05 #1"),
            (8, "open mfa_disabled: user05 #2"),
            (10, "close mfa_disabled: user05 #2"),
            (12, "open mfa_disabled: user05 #3"),
            (12, "close mfa_disabled: user05 #3"),
            (20, "open mfa_disabled: user05 #1"),
            (22, "close mfa_disabled: user05 #1"),
        ],
        Kind::Shrunk => &[
            (10, "close risk: Servers have no successful backup from the last 48 hours #1 (gone)"),
            (10, "close risk: Disk encryption is off or not required on some devices #1 (gone)"),
            (10, "close risk: Registration for MFA is incomplete or not required #1 (fixed)"),
            (10, "close risk: Some administrator sign-ins are not protected by MFA #1 (gone)"),
            (10, "close admin_mfa_missing: user00 #1"),
        ],
        Kind::Mended => &[
            (5, "close risk: Servers have no successful backup from the last 48 hours #1 (fixed)"),
            (8, "open risk: Servers have no successful backup from the last 48 hours #2"),
            (9, "close risk: Servers have no successful backup from the last 48 hours #2 (fixed)"),
            (20, "open risk: Servers have no successful backup from the last 48 hours #1"),
            (22, "close risk: Servers have no successful backup from the last 48 hours #1 (fixed)"),
        ],
        Kind::Growing => &[(5, "discovered srv"), (6, "discovered deploy")],
        Kind::Failing => &[
            (10, "sync failed"),
            (10, "open connector_health_changed: entra degraded #1"),
            (11, "sync failed"),
            (12, "sync failed"),
            (12, "now connector_health_changed: entra failing"),
            (13, "sync failed"),
            (14, "close connector_health_changed: entra failing #1"),
        ],
        Kind::Newcomer => &[
            (8, "open risk: Some administrator sign-ins are not protected by MFA #1"),
            (8, "open admin_mfa_missing: user00 #1"),
            (8, "found risk: Registration for MFA is incomplete or not required #1"),
            (11, "open risk: Servers have no successful backup from the last 48 hours #1"),
            (11, "found risk: Disk encryption is off or not required on some devices #1"),
            (19, "open risk: A root or owner account can sign in without MFA #1"),
            (19, "found risk: Cloud console users or administrators can sign in without MFA #1"),
        ],
        Kind::People => &[
            (5, "open shadow_it_detected: WeTransfer #1"),
            (7, "open privilege_escalation: user10 #1"),
            (9, "close shadow_it_detected: WeTransfer #1"),
            (10, "open risk: Dormant accounts are still enabled, or nothing disables them #1"),
            (10, "open dormant_account_detected: user09 #1"),
            (10, "close privilege_escalation: user10 #1"),
            (11, "open shadow_it_detected: WeTransfer #2"),
            (
                20,
                "close risk: Dormant accounts are still enabled, or nothing disables them #1 (fixed)",
            ),
            (20, "close dormant_account_detected: user09 #1"),
            (25, "open privilege_escalation: user10 #1"),
        ],
    }
}

/// Nights on which readiness or score moved, or rows drifted, and why: real changes and the new catalogue.
pub fn moves(kind: Kind) -> Vec<(usize, String)> {
    let moved: &[(usize, &str)] = match kind {
        Kind::Shrunk => &[(10, "entra")],
        Kind::Mended => &[
            (5, "entra"),
            // No row rests on this control alone, until the new catalogue.
            (8, "entra"),
            (9, "entra"),
            (20, "drift"),
            (20, "entra"),
            (22, "entra"),
        ],
        Kind::People => &[(10, "drift")],
        Kind::Steady
        | Kind::Dead
        | Kind::Forsaken
        | Kind::Flapping
        | Kind::Truncated
        | Kind::Growing
        | Kind::Failing
        | Kind::Repeated
        | Kind::Newcomer => &[],
    };
    let mut all: Vec<_> = moved.iter().map(|(night, it)| (*night, (*it).to_owned())).collect();
    all.push((CATALOGUE_NIGHT, "catalogue".to_owned()));
    all.sort();
    all
}

/// Runs that were taken in, and runs that failed.
pub fn runs(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Steady | Kind::Growing => (1 + 2 * 30, 0),
        Kind::Dead => (1 + 11 + 30, 0),
        Kind::Forsaken => (1 + 2 * 11, 0),
        // One night has two reads.
        Kind::Flapping => (1 + 31, 0),
        Kind::Truncated | Kind::Shrunk | Kind::Mended | Kind::People => (1 + 30, 0),
        Kind::Failing => (1 + 26, 4),
        // The same file again is no run; one read comes late.
        Kind::Repeated => (1 + 2 * 30 + 30 + 1, 0),
        Kind::Newcomer => (25 + 11, 0),
    }
}

/// Assets that are no longer there in the end.
pub fn n_retired(kind: Kind) -> usize {
    if kind == Kind::Shrunk { 14 } else { 0 }
}
