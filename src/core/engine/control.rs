//! Assesses each control: collects the observations and attestations about it and determines which of them decide.

use super::basis::{Basis, Ground};
use super::catalog::{Catalog, Control};
use super::contradiction::Hidden;
use super::estate::UnseenKind;
use super::evidence::claim::{self, Claims};
use super::evidence::current::{Current, EvidenceClaim, lapse};
use super::evidence::estate::Estate;
use super::evidence::fraction::Share;
use super::evidence::part::Parts;
use super::evidence::share::{Sum, stated_score};
use super::evidence::stated::{self, BareParts, StatedPart};
use super::evidence::subject::{self, SubjectRulings};
use super::fact::{Attestation, Facts, Observation, Status, Subject, UNUSED_DAYS};
use super::finding;
use super::horizon::Horizon;
use super::posture::{ControlOutcome, PartialBecause};
use super::statement::{self, Platforms};
use crate::clock::Time;

/// How many days an observation counts if no control is mapped to its check.
pub const UNMAPPED_AGE_DAYS: u16 = 35;

/// The indices of the controls that an observation counts for. Empty: none is mapped to its check.
#[must_use]
pub fn controls_of(catalog: &Catalog, observation: &Observation) -> Vec<usize> {
    match &observation.subject {
        Subject::Control(code) => catalog.controls_named(code),
        Subject::Check { tool } => {
            let links = catalog.links_of_check(tool, &observation.check);
            links.iter().map(|it| it.control).collect()
        }
    }
}

/// Returns when an observation expires: the latest expiry for any control that it is about.
#[must_use]
pub fn valid_until(catalog: &Catalog, observation: &Observation) -> Time {
    let ages = controls_of(catalog, observation).into_iter();
    let longest = ages.map(|it| catalog.controls[it].max_age_days).max();
    lapse(observation, longest.unwrap_or(UNMAPPED_AGE_DAYS))
}

/// One control of one client, assessed.
#[derive(Debug)]
pub(super) struct AssessedControl<'a> {
    pub(super) outcome: ControlOutcome,
    /// What the outcome rests on.
    pub(super) ground: Ground,
    /// True if any observation or attestation of it is valid.
    pub(super) has_evidence: bool,
    /// When it was last observed or attested, whether or not that is still valid.
    pub(super) last_evidence_at: Option<Time>,
    /// The same, without what shows only gaps while it does not decide.
    pub(super) last_told_at: Option<Time>,
    /// What is wrong, as observed or attested. `None`: no problem is known.
    pub(super) gap: Option<Gap<'a>>,
    /// True if it is compliant because a check that failed passes now, or because of what a person said. Otherwise what
    /// failed only disappeared.
    pub(super) is_fixed: bool,
    /// A person says that it is met although it was seen to fail, or that what failed is meant to be so.
    pub(super) is_overridden: bool,
    /// What of it nobody looked at, in words, while that keeps it from being met.
    pub(super) unseen: Vec<(UnseenKind, String)>,
    /// What was seen failing although a person says that it is met or out of scope.
    pub(super) hidden: Option<Hidden<'a>>,
}

impl<'a> AssessedControl<'a> {
    pub(super) fn is_applicable(&self) -> bool {
        self.outcome.status != Status::NotApplicable
    }

    /// Returns what was seen failing and was not settled since, also if a person's decision hides it.
    pub(super) fn seen_failing(&self) -> &[EvidenceClaim<'a>] {
        match (&self.hidden, &self.gap) {
            (Some(hidden), _) => &hidden.failing,
            (None, Some(gap)) => &gap.failing,
            (None, None) => &[],
        }
    }
}

/// The evidence for a control's risk.
#[derive(Debug)]
pub(super) struct Gap<'a> {
    /// The valid observations, and the expired failing ones.
    pub(super) seen: Sum<'a>,
    pub(super) failing: Vec<EvidenceClaim<'a>>,
    /// The share that passes.
    pub(super) share: Share,
    /// False once all of this evidence has expired.
    pub(super) is_verified: bool,
    /// The attestation that states the problem, if one counts.
    pub(super) stated: Option<&'a Attestation>,
}

/// All evidence about one control.
struct ControlEvidence<'a, 'e> {
    control: &'a Control,
    claims: Vec<EvidenceClaim<'a>>,
    /// The newest attestation.
    attestation: Option<&'a Attestation>,
    platforms: Platforms,
    /// How many subjects failed of checks of which nothing is left.
    n_silenced: u64,
    bare: BareParts<'a>,
    /// What people stand over who answer for a part.
    overruled: Option<Hidden<'a>>,
    estate: &'e Estate<'a>,
    now: Time,
}

/// What decides a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling<'a> {
    Attested(&'a Attestation),
    /// Nobody saw anything, and a person calls a part met, without evidence.
    Claimed(&'a StatedPart),
    Observed,
    Unused,
    /// Evidence of a result other than full compliance expired, and no newer evidence replaced it. Time alone does not
    /// make the control compliant.
    Held,
    Silent,
}

/// Returns the outcome of each control, in the catalog's order, and the current observations that no control is mapped
/// to.
pub(super) fn assess<'a>(
    catalog: &'a Catalog,
    facts: &Facts<'a>,
    (current, rulings): (&'a [Current<'a>], &'a [Option<SubjectRulings<'a>>]),
    estate: &Estate<'a>,
    horizon: &mut Horizon,
) -> (Vec<AssessedControl<'a>>, Vec<&'a Current<'a>>) {
    let Claims { by_control, silenced, unmapped, mut overruled } =
        claim::by_control(catalog, (current, rulings), facts.parts, facts.now);
    facts.parts.iter().filter_map(|it| it.said.until).for_each(|it| horizon.see(it));
    let attestations = statement::newest(facts.attestations, horizon);
    let all = catalog.controls.iter().zip(by_control).enumerate();
    let controls = all.map(|(index, (control, claims))| {
        for claim in &claims {
            horizon.see(claim.until);
        }
        let evidence = ControlEvidence {
            control,
            claims,
            attestation: attestations.get(control.code.as_str()).copied(),
            platforms: Platforms::of(control, facts.profile, estate, horizon),
            n_silenced: silenced.iter().filter(|it| it.0 == index).map(|it| it.1).sum(),
            bare: BareParts::of(control, facts.parts, facts.now),
            overruled: overruled.extract_if(.., |it| it.0 == index).next().map(|it| it.1),
            estate,
            now: facts.now,
        };
        evidence.assess()
    });
    (controls.collect(), unmapped)
}

impl<'a> ControlEvidence<'a, '_> {
    fn assess(mut self) -> AssessedControl<'a> {
        let overruled = self.overruled.take();
        let parts = Parts::of(self.control, self.valid(), (self.estate, &self.bare));
        let seen = Sum::of_control(self.control, self.valid(), parts);
        let ruling = self.ruling(&seen);
        let has_evidence = self.valid_attestation().is_some()
            || self.bare.newest().is_some()
            || !seen.tallies.is_empty();
        let mut outcome = self.outcome(ruling, &seen);
        let failed_before = || self.holding().any(|it| it.result.is_failing());
        let is_overridden = matches!(ruling, Ruling::Attested(it) if it.overrides)
            && outcome.status == Status::Compliant
            && (seen.is_failing() || failed_before());
        let n_intended = self.n_intended();
        let is_overridden = is_overridden
            || self.is_meant_so(n_intended, &outcome)
            || overruled.is_some() && !outcome.is_failing();
        outcome.findings = subject::with_decided(outcome.findings, n_intended, self.n_accepted());
        outcome.findings = finding::with_overruled(outcome.findings, overruled.as_ref());
        let is_fixed = !outcome.is_failing() && !is_overridden && self.is_fixed(ruling);
        let last_evidence_at = self.last_at(|_| true);
        let is_over = matches!(ruling, Ruling::Attested(it) if it.stands_over_observations());
        let is_told = seen.decides() && !is_over;
        let last_told_at = self.last_at(|it| is_told || !it.is_thin());
        let unseen = self.unseen(ruling, &outcome, &seen);
        let gap = self.gap(ruling, outcome.status, seen);
        outcome.remediation = gap.as_ref().map(|it| it.seen.remediation(self.control));
        let ground = self.ground(ruling);
        let hidden = match ruling {
            Ruling::Attested(it) => Hidden::of(it, &self.claims).or(overruled),
            Ruling::Claimed(_)
            | Ruling::Observed
            | Ruling::Unused
            | Ruling::Held
            | Ruling::Silent => overruled,
        };
        AssessedControl {
            outcome,
            ground,
            has_evidence,
            last_evidence_at,
            last_told_at,
            gap,
            is_fixed,
            is_overridden,
            unseen,
            hidden,
        }
    }

    fn unseen(
        &self,
        ruling: Ruling<'_>,
        outcome: &ControlOutcome,
        seen: &Sum<'a>,
    ) -> Vec<(UnseenKind, String)> {
        match ruling {
            Ruling::Attested(_) | Ruling::Unused => Vec::new(),
            Ruling::Observed if outcome.status == Status::Compliant => Vec::new(),
            Ruling::Silent | Ruling::Held | Ruling::Claimed(_) if seen.parts.is_whole() => {
                Parts::of_platforms(self.control, self.estate).unseen().collect()
            }
            Ruling::Observed | Ruling::Silent | Ruling::Held | Ruling::Claimed(_) => {
                let of_tallies = seen.tallies.iter().filter(|it| it.unseen != 0);
                let over = self.control.over.as_str();
                let of_tallies = of_tallies.map(|it| {
                    let what = format!("{} of {} {over}", it.unseen, it.known());
                    (UnseenKind::Members, what)
                });
                of_tallies.chain(seen.parts.unseen()).collect()
            }
        }
    }

    fn ground(&self, ruling: Ruling<'a>) -> Ground {
        Ground::of(match ruling {
            Ruling::Observed => return stated::ground(self.valid()),
            Ruling::Attested(Attestation { evidence: Some(_), .. }) => Basis::AttestedWithEvidence,
            Ruling::Attested(_) | Ruling::Claimed(_) => Basis::Attested,
            Ruling::Unused => Basis::Profile,
            Ruling::Held => Basis::Lapsed,
            Ruling::Silent => Basis::Nothing,
        })
    }

    /// Returns true if a person decides, or if the observations that decide replace a failure of the same check or a
    /// person's statement of one.
    fn is_fixed(&self, ruling: Ruling<'a>) -> bool {
        match ruling {
            Ruling::Attested(it) => it.effective() == Status::Compliant,
            Ruling::Observed => {
                self.replaces_failure()
                    || self.attestation.is_some_and(|it| {
                        matches!(it.effective(), Status::Partial | Status::NonCompliant)
                    })
            }
            Ruling::Silent => self.replaces_failure(),
            Ruling::Unused | Ruling::Held | Ruling::Claimed(_) => false,
        }
    }

    fn replaces_failure(&self) -> bool {
        self.valid().any(|it| it.replaces_failure())
    }

    /// Returns true if it does not fail because what failed is no member of it, as a person says.
    fn is_meant_so(&self, n_intended: u64, outcome: &ControlOutcome) -> bool {
        n_intended != 0
            && !outcome.is_failing()
            && outcome.status != Status::NotApplicable
            && !self.replaces_failure()
    }

    /// How many failing subjects are no members of it, as a person says.
    fn n_intended(&self) -> u64 {
        self.claims.iter().map(|it| it.result.intended).sum::<u64>() + self.n_silenced
    }

    /// How many of those that fail are accepted, if people accepted single ones.
    fn n_accepted(&self) -> u64 {
        let ruled = self.claims.iter().filter(|it| it.rulings.is_some());
        ruled.map(|it| it.result.muted).sum()
    }

    fn ruling(&self, seen: &Sum<'_>) -> Ruling<'a> {
        let valid = self.valid_attestation();
        // A person may answer for what no source sees, as long as nothing is seen to fail.
        let vouches = |it: &&Attestation| it.effective() == Status::Compliant;
        if let Some(it) = valid.filter(|it| it.stands_over_observations()) {
            return Ruling::Attested(it);
        }
        if self.holding().next().is_some() {
            return match valid.filter(|it| self.is_newer_than_lapsed(it, vouches(it))) {
                Some(it) if vouches(&it) && seen.is_short() => Ruling::Attested(it),
                // A valid observation counts too if it is worse: the attestation replaces only the evidence that
                // expired.
                Some(it) if seen.is_worse_than(it.effective()) => Ruling::Observed,
                Some(it) => Ruling::Attested(it),
                None if self.is_unused() => Ruling::Unused,
                None => Ruling::Held,
            };
        }
        let is_held = self.holding_attestation().is_some();
        if seen.decides() {
            return match valid.filter(vouches) {
                _ if is_held => Ruling::Held,
                Some(it) if seen.is_short() => Ruling::Attested(it),
                Some(_) | None => Ruling::Observed,
            };
        }
        if let Some(it) = valid {
            return Ruling::Attested(it);
        }
        if self.is_unused() {
            Ruling::Unused
        } else if is_held || (self.platforms == Platforms::Lapsed && seen.tallies.is_empty()) {
            Ruling::Held
        } else {
            self.bare.newest().map_or(Ruling::Silent, Ruling::Claimed)
        }
    }

    /// Everything that lapsed had done so when it was attested. A person who answers for what no source sees need not wait for
    /// what was not seen in full.
    fn is_newer_than_lapsed(&self, attestation: &Attestation, vouches: bool) -> bool {
        let is_covered = |it: &EvidenceClaim<'_>| {
            it.until <= attestation.at || vouches && !it.result.is_failing()
        };
        self.holding().all(|it| is_covered(&it))
    }

    fn valid(&self) -> impl Iterator<Item = EvidenceClaim<'a>> {
        self.claims.iter().filter(|it| self.now < it.until).copied()
    }

    /// Returns when it was last attested, or observed by one of these claims.
    fn last_at(&self, counts: impl Fn(&EvidenceClaim<'_>) -> bool) -> Option<Time> {
        let seen = self.claims.iter().filter(|it| counts(it));
        let seen = seen.map(|it| it.current.worst.observed_at);
        seen.chain(self.attestation.map(|it| it.at)).max()
    }

    fn valid_attestation(&self) -> Option<&'a Attestation> {
        self.attestation.filter(|it| it.is_valid(self.now))
    }

    /// Returns an attestation that decided until it expired, and when it expired, if there is no newer evidence. Its
    /// effect ends with the next observation, not with time. An attestation of full compliance with evidence is not
    /// returned, because no result after it is better.
    fn holding_attestation(&self) -> Option<(&'a Attestation, Time)> {
        let expired = self.attestation.filter(|it| !it.is_valid(self.now))?;
        let end = expired.until.filter(|_| expired.effective() != Status::Compliant)?;
        // A look that is too narrow only for now is one, so that time alone does not bring the attestation back.
        let mut claims = self.claims.iter();
        let is_superseded = if expired.stands_over_observations() {
            // Whether it passes or not: a failure must not make older results count again.
            claims.any(|it| !it.shows_only_gaps() && end < it.current.worst.observed_at)
        } else {
            claims.any(|it| (it.result.is_failing() || !it.shows_only_gaps()) && end < it.until)
        };
        (!is_superseded).then_some((expired, end))
    }

    /// Returns the observations that expired and did not pass in full. Each is the newest of its check, source and scope, so
    /// that check was not reported again. What other checks report says nothing about it.
    fn holding(&self) -> impl Iterator<Item = EvidenceClaim<'a>> {
        let lapsed =
            |it: &&EvidenceClaim| it.result.status != Status::Compliant && it.until <= self.now;
        self.claims.iter().filter(lapsed).copied()
    }

    /// Returns true if the profile says that the control's platforms are unused, and since that answer no observation
    /// was valid, and no attestation other than out of scope.
    fn is_unused(&self) -> bool {
        let Platforms::UnusedSince(said) = self.platforms else { return false };
        let attested = self.attestation.filter(|it| it.status != Status::NotApplicable);
        let attested = attested.is_some_and(|it| it.until.is_none_or(|end| said < end));
        !attested && self.claims.iter().all(|it| it.until <= said)
    }

    fn outcome(&self, ruling: Ruling<'a>, seen: &Sum<'a>) -> ControlOutcome {
        let (status, score, assessed_at) = match ruling {
            Ruling::Attested(it) | Ruling::Claimed(StatedPart { said: it, .. }) => {
                (it.effective(), stated_score(it.effective()), Some(it.at))
            }
            Ruling::Observed => {
                let newest = self.valid().map(|it| it.current.worst.observed_at).max();
                (seen.status, Some(seen.score()), newest)
            }
            Ruling::Unused => (Status::NotApplicable, None, None),
            Ruling::Held | Ruling::Silent => (Status::NotAssessed, None, None),
        };
        let findings = match ruling {
            Ruling::Attested(it) if it.stands_over_observations() => {
                Some(finding::over_observations(it, seen))
            }
            Ruling::Attested(it) => Some(finding::attested(it)),
            Ruling::Claimed(it) => Some(finding::claimed(self.control, it)),
            Ruling::Observed => Some(finding::observed(seen)),
            Ruling::Unused => Some(statement::unused(&self.control.platforms)),
            Ruling::Held => Some(self.held_finding()),
            Ruling::Silent => finding::too_little(seen),
        };
        ControlOutcome {
            code: self.control.code.clone(),
            status,
            score,
            findings,
            remediation: None,
            assessed_at,
            valid_until: self.decided_until(ruling),
            held: ruling == Ruling::Held,
            attested: matches!(ruling, Ruling::Attested(_)),
            partial_because: (status == Status::Partial).then(|| why_partial(ruling, seen)),
        }
    }

    /// Returns when the deciding evidence expires. `None`: unknown, or never.
    fn decided_until(&self, ruling: Ruling<'a>) -> Option<Time> {
        match (ruling, self.platforms) {
            (Ruling::Attested(it) | Ruling::Claimed(StatedPart { said: it, .. }), _) => it.until,
            (Ruling::Observed, _) => self.valid().map(|it| it.until).min(),
            (Ruling::Unused, Platforms::UnusedSince(said)) => Some(said.plus_days(UNUSED_DAYS)),
            (Ruling::Unused | Ruling::Held | Ruling::Silent, _) => None,
        }
    }

    fn held_finding(&self) -> String {
        match (self.holding().max_by_key(|it| it.until), self.holding_attestation()) {
            (Some(last), _) => {
                let confirmed = last.current.worst.observed_at;
                finding::lapsed(&Sum::of(self.holding()), confirmed, last.until)
            }
            (None, Some((expired, end))) => finding::expired(expired, end),
            (None, None) => finding::LAPSED_PROFILE.to_owned(),
        }
    }

    /// Returns the evidence for the control's risk. Where an attestation decides, the observations still show which
    /// subjects fail.
    ///
    /// `valid`: the sum of the valid observations.
    fn gap(&self, ruling: Ruling<'a>, status: Status, valid: Sum<'a>) -> Option<Gap<'a>> {
        let failing: Vec<_> =
            self.valid().chain(self.holding()).filter(|it| it.result.is_failing()).collect();
        let stated = match ruling {
            Ruling::Attested(it) => Some(it),
            Ruling::Held => self.holding_attestation().map(|(it, _)| it),
            Ruling::Claimed(_) | Ruling::Observed | Ruling::Unused | Ruling::Silent => None,
        };
        // That it is met, without evidence, is no problem.
        let stated =
            stated.filter(|it| !matches!(it.status, Status::NotApplicable | Status::Compliant));
        let is_known = !failing.is_empty() || stated.is_some();
        let is_open = match status {
            Status::Partial | Status::NonCompliant => is_known,
            Status::NotAssessed => ruling == Ruling::Held && is_known,
            Status::Compliant | Status::NotApplicable => false,
        };
        if !is_open {
            return None;
        }
        let is_stated_now = matches!(ruling, Ruling::Attested(_));
        let seen = if self.holding().next().is_some() {
            Sum::of_control(self.control, self.valid().chain(self.holding()), Parts::default())
        } else {
            valid
        };
        let share = match stated {
            Some(it) if is_stated_now || failing.is_empty() => share_of(it.effective()),
            Some(_) | None => seen.share(),
        };
        let is_verified = is_stated_now || failing.iter().any(|it| self.now < it.until);
        Some(Gap { seen, failing, share, is_verified, stated })
    }
}

fn why_partial(ruling: Ruling<'_>, seen: &Sum<'_>) -> PartialBecause {
    match ruling {
        Ruling::Attested(it) if it.status == Status::Compliant => PartialBecause::Claimed,
        Ruling::Claimed(_) => PartialBecause::Claimed,
        Ruling::Observed if seen.is_claimed() => PartialBecause::Claimed,
        Ruling::Observed if !seen.is_failing() => PartialBecause::Unseen,
        Ruling::Attested(_) | Ruling::Observed | Ruling::Unused | Ruling::Held | Ruling::Silent => {
            PartialBecause::Failing
        }
    }
}

/// Returns the share that passes according to an attested status.
fn share_of(status: Status) -> Share {
    match status {
        Status::Compliant => Share::WHOLE,
        Status::Partial => Share::HALF,
        Status::NonCompliant | Status::NotAssessed | Status::NotApplicable => Share::NONE,
    }
}
