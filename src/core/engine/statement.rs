//! Statements of people about controls, platforms and rows.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use super::catalog::Control;
use super::evidence::current::rank;
use super::evidence::estate::Estate;
use super::fact::{Attestation, Profile, RowDecision, RowDecisionKind, Status, UNUSED_DAYS, Usage};
use super::framework::FrameworkId;
use super::horizon::Horizon;
use crate::clock::Time;

/// Platforms that a client may use, by the question of the profile.
const PLATFORMS: [(&str, &str); 11] = [
    ("m365", "Microsoft 365"),
    ("google", "Google Workspace"),
    ("aws", "AWS"),
    ("azure", "Azure"),
    ("gcp", "Google Cloud"),
    ("kubernetes", "Kubernetes"),
    ("otherIdentity", "other identity provider"),
    ("saas", "other cloud applications"),
    ("onPremNetwork", "network of its own"),
    ("mobileDevices", "mobile devices"),
    ("servers", "servers"),
];
/// What a client does not do that answers `unused`, by the question of the profile.
const UNDONE: [(&str, &str); 5] = [
    ("customerWebApps", "runs no web applications for its customers"),
    ("cardPayments", "takes no card payments"),
    ("softwareDevelopment", "develops no software"),
    ("criminalJusticeInformation", "handles no criminal justice information"),
    ("educationRecords", "keeps no education records"),
];

/// What people call a platform.
#[must_use]
pub fn platform_name(platform: &str) -> &str {
    PLATFORMS.iter().find(|it| it.0 == platform).map_or(platform, |it| it.1)
}

/// Returns true if a statement that expires at `until` still counts.
fn is_in_force(until: Option<Time>, now: Time) -> bool {
    until.is_none_or(|it| now < it)
}

impl Attestation {
    /// Returns true if it still counts.
    pub(super) fn is_valid(&self, now: Time) -> bool {
        is_in_force(self.until, now)
    }

    /// Returns true if it decides whatever is observed.
    pub(super) fn stands_over_observations(&self) -> bool {
        self.overrides || self.status == Status::NotApplicable
    }

    /// Returns the status that it counts as. Compliant without evidence counts as partial.
    pub(super) fn effective(&self) -> Status {
        let has_evidence = self.evidence.as_ref().is_some_and(|it| !it.trim().is_empty());
        match self.status {
            Status::Compliant if !has_evidence => Status::Partial,
            Status::Compliant
            | Status::Partial
            | Status::NonCompliant
            | Status::NotAssessed
            | Status::NotApplicable => self.status,
        }
    }

    /// Orders attestations; the last one counts. The newest is last. Of several with the same time, the last is one
    /// that does not override, then the one that expires first, then the worst, then one chosen by its texts, so that
    /// the order of the facts does not matter. Evidence is compared last, so that less evidence never makes a better
    /// attestation count.
    fn newest_last(&self, other: &Self) -> Ordering {
        let order = |it: &Self| {
            let until = it.until.unwrap_or(Time::MAX);
            let status = (Reverse(rank(it.effective())), rank(it.status));
            (it.at, !it.overrides, Reverse(until), status)
        };
        let texts = |it: &Self| (it.reason.clone(), it.by.clone(), it.evidence.clone());
        order(self).cmp(&order(other)).then_with(|| texts(self).cmp(&texts(other)))
    }
}

/// Returns the newest attestation of each control, by code. An attestation without a status is ignored.
pub(super) fn newest<'a>(
    all: &'a [Attestation],
    horizon: &mut Horizon,
) -> BTreeMap<&'a str, &'a Attestation> {
    let mut newest: BTreeMap<&str, &Attestation> = BTreeMap::new();
    for attestation in all.iter().filter(|it| it.status != Status::NotAssessed) {
        let kept = newest.entry(&attestation.control).or_insert(attestation);
        if kept.newest_last(attestation) == Ordering::Less {
            *kept = attestation;
        }
    }
    newest.values().filter_map(|it| it.until).for_each(|it| horizon.see(it));
    newest
}

/// What the profile says about the platforms of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platforms {
    /// A platform is used or may be used, or the control has no platforms.
    MayBeUsed,
    /// All are unused. The time is when the first of the answers was given.
    UnusedSince(Time),
    /// All are unused, but at least one answer has expired.
    Lapsed,
}

impl Platforms {
    /// An answer of "unused" is over once something of the platform is seen.
    pub(super) fn of(
        control: &Control,
        profile: &Profile,
        estate: &Estate<'_>,
        horizon: &mut Horizon,
    ) -> Self {
        let mut since = Time::MAX;
        let mut soonest = Time::MAX;
        for question in &control.platforms {
            match profile.get(question) {
                Some(Usage::Unused { until, .. }) => {
                    let said = until.plus_days(-UNUSED_DAYS);
                    if estate.saw_after(question, said) {
                        return Self::MayBeUsed;
                    }
                    since = since.min(said);
                    soonest = soonest.min(*until);
                }
                Some(Usage::Used | Usage::Unknown) | None => return Self::MayBeUsed,
            }
        }
        if control.platforms.is_empty() {
            return Self::MayBeUsed;
        }
        horizon.see(soonest);
        if horizon.is_past(soonest) { Self::Lapsed } else { Self::UnusedSince(since) }
    }
}

/// What people decided about one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowStatement {
    OutOfScope,
    Attested,
    /// It was out of scope until this time.
    OutOfScopeUntil(Time),
}

/// What the newest decision about each row means now.
#[derive(Debug)]
pub(super) struct RowStatements<'a>(BTreeMap<(FrameworkId, &'a str), &'a RowDecision>);

impl<'a> RowStatements<'a> {
    pub(super) fn of(all: &'a [RowDecision], horizon: &mut Horizon) -> Self {
        let mut newest: BTreeMap<_, &RowDecision> = BTreeMap::new();
        for decision in all {
            let key = (decision.framework, decision.reference.as_str());
            let kept = newest.entry(key).or_insert(decision);
            if order(kept) < order(decision) {
                *kept = decision;
            }
        }
        newest.values().filter_map(|it| it.until).for_each(|it| horizon.see(it));
        Self(newest)
    }

    /// Returns the newest decision about the row, whether or not it still counts.
    pub(super) fn decision(&self, id: FrameworkId, reference: &str) -> Option<&'a RowDecision> {
        self.0.get(&(id, reference)).copied()
    }

    /// Returns `None` if no decision about the row matters now.
    pub(super) fn find(&self, id: FrameworkId, reference: &str, now: Time) -> Option<RowStatement> {
        let decision = self.decision(id, reference)?;
        let is_valid = is_in_force(decision.until, now);
        match &decision.kind {
            RowDecisionKind::OutOfScope if is_valid => Some(RowStatement::OutOfScope),
            RowDecisionKind::OutOfScope => decision.until.map(RowStatement::OutOfScopeUntil),
            RowDecisionKind::Attested { evidence } => {
                (is_valid && !evidence.trim().is_empty()).then_some(RowStatement::Attested)
            }
        }
    }
}

/// Returns a sort key; the last decision counts. The newest is last. Of several with the same time, the last is one
/// that does not take the row out of scope, then one without evidence, then the one that expires first.
fn order(decision: &RowDecision) -> (Time, bool, bool, Reverse<Time>) {
    let (keeps, has_evidence) = match &decision.kind {
        RowDecisionKind::OutOfScope => (false, false),
        RowDecisionKind::Attested { evidence } => (true, !evidence.trim().is_empty()),
    };
    (decision.at, keeps, !has_evidence, Reverse(decision.until.unwrap_or(Time::MAX)))
}

/// Says why a control of these platforms does not apply.
pub(super) fn unused(platforms: &[String]) -> String {
    let phrase = |all: &[(&str, &'static str)], question: &str| {
        all.iter().find(|it| it.0 == question).map(|it| it.1)
    };
    let mut clauses = Vec::new();
    let used = platforms.iter().filter(|it| phrase(&UNDONE, it).is_none());
    let used: Vec<&str> = used.map(|it| phrase(&PLATFORMS, it).unwrap_or(it)).collect();
    match used.split_last() {
        Some((last, [])) => clauses.push(format!("uses no {last}")),
        Some((last, rest)) => clauses.push(format!("uses no {} or {last}", rest.join(", "))),
        None => (),
    }
    clauses.extend(platforms.iter().filter_map(|it| phrase(&UNDONE, it)).map(str::to_owned));
    format!("Not applicable: according to its profile, the client {}.", clauses.join(" and "))
}
