//! Two-step verification: enforced (ID-01), with keys for administrators (ID-04), without codes by phone (ID-05), and not
//! bypassed by old protocols (ID-06).

use super::setting::{LESS_SECURE_APPS, TWO_STEP_ALLOWED, TWO_STEP_FACTORS, TWO_STEP_FROM};
use super::sign_in::is_by_google;
use super::survey::{Question, Who};
use super::tenant::{Settings, Tenant};
use crate::clock::Time;
use crate::connect::reading::{Judged, JudgedStatus};

/// So many super administrators may be kept out, for emergencies.
const N_EMERGENCY_MAX: usize = 2;

pub(super) const ENFORCED: Question = Question {
    control: "ID-01",
    check: "two_step_enforced",
    who: Who::Everyone,
    service: None,
    kinds: &[TWO_STEP_ALLOWED.kind, TWO_STEP_FROM.kind],
    passes: is_enforced_here,
    gap: "2-Step Verification is not enforced",
    remedy: "Enforce it under Security > Authentication > 2-Step Verification for every organizational unit and group.",
};

pub(super) const KEYS: Question = Question {
    control: "ID-04",
    check: "admin_security_keys",
    who: Who::Admins,
    service: None,
    kinds: &[TWO_STEP_ALLOWED.kind, TWO_STEP_FROM.kind, TWO_STEP_FACTORS.kind],
    passes: |here| {
        // First what cannot be made up for by anything unknown.
        let is_keys_only = google_only(here, factors(here).map(|it| it == Factors::KeysOnly))?;
        Some(is_keys_only && is_enforced_here(here)?)
    },
    gap: "Administrators may sign in without a security key or passkey",
    remedy: "Put administrators into an organizational unit or group where 2-Step Verification is enforced and allows only \
             security keys and passkeys.",
};

pub(super) const NO_CODES_BY_PHONE: Question = Question {
    control: "ID-05",
    check: "no_codes_by_phone",
    who: Who::Everyone,
    service: None,
    kinds: &[TWO_STEP_FACTORS.kind],
    passes: |here| google_only(here, factors(here).map(|it| it != Factors::Any)),
    gap: "Codes by text message or phone call are accepted",
    remedy: "Under Security > Authentication > 2-Step Verification, allow any method except verification codes by text or \
             phone call, or only security keys.",
};

pub(super) const NO_LESS_SECURE_APPS: Question = Question {
    control: "ID-06",
    check: "no_less_secure_apps",
    who: Who::Everyone,
    service: None,
    kinds: &[LESS_SECURE_APPS.kind],
    passes: |here| here.flag(&LESS_SECURE_APPS).map(|it| !it),
    gap: "Users may let less secure apps sign in with only a password",
    remedy: "Turn them off under Security > Access and data control > Less secure apps.",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factors {
    Any,
    /// Apps and prompts, but no codes by phone.
    NoPhone,
    /// Keys, and codes that they make.
    Keys,
    KeysOnly,
}

fn factors(here: Settings<'_>) -> Option<Factors> {
    match here.word(&TWO_STEP_FACTORS)? {
        "ALL" => Some(Factors::Any),
        "NO_TELEPHONY" => Some(Factors::NoPhone),
        "PASSKEY_PLUS_SECURITY_CODE" | "PASSKEY_PLUS_IP_BOUND_SECURITY_CODE" => Some(Factors::Keys),
        "PASSKEY_ONLY" => Some(Factors::KeysOnly),
        _ => None,
    }
}

fn is_enforced_here(here: Settings<'_>) -> Option<bool> {
    google_only(here, is_enforced(here))
}

fn is_enforced(here: Settings<'_>) -> Option<bool> {
    if !here.flag(&TWO_STEP_ALLOWED)? {
        return Some(false);
    }
    let from: Time = here.word(&TWO_STEP_FROM)?.parse().ok()?;
    Some(from != Time::EPOCH && from <= here.tenant.at)
}

/// Unknown where another identity provider asks for the second factor.
fn google_only(here: Settings<'_>, passes: Option<bool>) -> Option<bool> {
    passes.filter(|_| is_by_google(here.tenant, here.place))
}

/// ID-01. One or two super administrators may be kept out, for emergencies.
pub(super) fn enforced(tenant: &Tenant<'_>) -> Option<Judged> {
    let survey = ENFORCED.ask(tenant)?;
    let failing: Vec<_> = survey.members.iter().filter(|it| it.2 != Some(true)).collect();
    let n_passed = survey.members.len() - failing.len();
    let is_emergency = failing.iter().all(|(place, _, passes)| place.is_super && passes.is_some())
        && (1..=N_EMERGENCY_MAX).contains(&failing.len())
        && failing.len() < n_passed
        && survey.weak_groups.is_empty();
    if !is_emergency {
        return survey.judge(&ENFORCED);
    }
    let names: Vec<&str> = failing.iter().map(|(_, user, _)| user.email()).collect();
    let findings = format!(
        "2-Step Verification is enforced for {n_passed} accounts and not for {}. That is accepted for one or two super \
         administrators kept for emergencies. Check that they are nothing else.",
        names.join(" and ")
    );
    Some(Judged::whole(ENFORCED.control, ENFORCED.check, JudgedStatus::Compliant, findings))
}
