//! Microsoft's secure score: as a whole (LOG-03), and what it says of the protection of mail (EML-04, EML-05).

use crate::clock::Time;
use crate::connect::m365::tenant::{ControlProfile, Moment, SecureScore, Tenant, thousandths};
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};
use crate::engine::fact::failing_line;

/// The target, while none is agreed.
const TARGET_PERCENT: u64 = 60;
/// An older score says nothing of today. Microsoft makes one a day.
const AGE_DAYS_MAX: i64 = 14;

const FORWARDING: &[&str] = &["mdo_autoforwardingmode", "mdo_blockmailforward"];
const PROTECTION: &[&str] = &[
    "mdo_antiphishingpolicies",
    "mdo_atpprotection",
    "mdo_enabledomainstoprotect",
    "mdo_enablemailboxintelligence",
    "mdo_mailboxintelligenceprotection",
    "mdo_mailboxintelligenceprotectionaction",
    "mdo_phishthresholdlevel",
    "mdo_safeattachmentpolicy",
    "mdo_safeattachments",
    "mdo_safedocuments",
    "mdo_safelinksforOfficeApps",
    "mdo_safelinksforemail",
];
/// What protects mail, with the controls that say whether it is on. Unless the score has one of each, too little is known.
const PROTECTIONS: [(&str, &[&str]); 3] = [
    ("anti-phishing policies", &["mdo_antiphishingpolicies"]),
    ("Safe Attachments", &["mdo_safeattachmentpolicy", "mdo_safeattachments"]),
    ("Safe Links", &["mdo_safelinksforemail"]),
];

/// The newest score, if it is of these days.
fn fresh(tenant: &Tenant, at: Time) -> Option<&SecureScore> {
    let score = tenant.score.as_ref()?;
    let made = Moment::time(score.created_date_time.as_deref())?;
    (at <= made.plus_days(AGE_DAYS_MAX)).then_some(score)
}

/// LOG-03.
pub(super) fn whole(tenant: &Tenant, at: Time) -> Option<Judged> {
    let score = fresh(tenant, at)?;
    let [current, max] =
        [&score.current_score, &score.max_score].map(|it| it.as_ref().and_then(thousandths));
    let (current, max) = (current?, max.filter(|it| 0 < *it)?);
    let percent = current.checked_mul(100)? / max;
    let (status, advice) = if TARGET_PERCENT <= percent {
        (Compliant, "")
    } else {
        let advice =
            " Sort the recommended actions by points, and begin with those that need no license.";
        (NonCompliant, advice)
    };
    let findings =
        format!("The secure score is {percent} percent; the target is {TARGET_PERCENT}.{advice}");
    Some(Judged::whole("LOG-03", "secure_score", status, findings))
}

/// Returns the title and the state of one of the score's controls. `None`: it is not in the score, or the tenant has said
/// that it accepts the risk or uses another product.
fn state<'a>(tenant: &'a Tenant, at: Time, name: &str) -> Option<(&'a str, JudgedStatus)> {
    let is_it = |it: &&ControlProfile| it.id.as_deref() == Some(name);
    let profile = tenant.score_profiles.as_deref()?.iter().find(is_it)?;
    let said = profile.control_state_updates.0.last().and_then(|it| it.state.as_deref());
    if profile.deprecated == Some(true) || matches!(said, Some("Ignored" | "ThirdParty")) {
        return None;
    }
    let scores = &fresh(tenant, at)?.control_scores.0;
    let score = scores.iter().find(|it| it.control_name.as_deref() == Some(name))?;
    let score = thousandths(score.score.as_ref()?)?;
    let max = thousandths(profile.max_score.as_ref()?).filter(|it| 0 < *it)?;
    let status = match score {
        0 => NonCompliant,
        _ if score < max => Partial,
        _ => Compliant,
    };
    Some((profile.title.as_deref().unwrap_or_default(), status))
}

/// EML-04.
pub(super) fn forwarding(tenant: &Tenant, at: Time) -> Option<Judged> {
    let advice = "Set the outbound spam policy to block automatic forwarding, and remove forwarding rules that no one can explain.";
    of_controls(tenant, at, FORWARDING, ["EML-04", "automatic_forwarding", advice])
}

/// EML-05.
pub(super) fn protection(tenant: &Tenant, at: Time) -> Option<Judged> {
    let advice = "Apply the standard or strict preset to all users in the Defender portal.";
    let judged = of_controls(tenant, at, PROTECTION, ["EML-05", "mail_protection", advice])?;
    let unknown = PROTECTIONS
        .iter()
        .filter(|it| it.1.iter().all(|name| state(tenant, at, name).is_none()))
        .map(|it| it.0);
    let unknown: Vec<&str> = unknown.collect();
    if unknown.is_empty() {
        return Some(judged);
    }
    let rest = format!("The score does not say whether these are on: {}.", unknown.join(", "));
    Some(judged.at_most_partial(&rest))
}

fn of_controls(
    tenant: &Tenant,
    at: Time,
    controls: &[&str],
    [control, check, advice]: [&'static str; 3],
) -> Option<Judged> {
    let found: Vec<_> = controls.iter().filter_map(|it| state(tenant, at, it)).collect();
    let status = match found[..] {
        [] => return None,
        _ if found.iter().all(|it| it.1 == Compliant) => Compliant,
        _ if found.iter().all(|it| it.1 == NonCompliant) => NonCompliant,
        _ => Partial,
    };
    let open = found.iter().filter(|it| it.1 != Compliant).map(|it| it.0);
    let open: Vec<&str> = open.collect();
    let n = found.len();
    let findings = if open.is_empty() {
        format!("Microsoft's secure score counts all {n} of its controls on this as met.")
    } else {
        let named = failing_line(&open, open.len());
        let n_open = open.len();
        format!("Not met in Microsoft's secure score, {n_open} of {n}: {named}. {advice}")
    };
    Some(Judged::whole(control, check, status, findings))
}
