//! What each control comes to: the observations and statements about it, and which of them decide.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::catalog::{Catalog, CheckWalk, Control};
use super::current::{Current, EvidenceClaim, lapse};
use super::fact::{Attestation, Facts, Observation, Status, Subject, UNUSED_DAYS};
use super::finding;
use super::horizon::Horizon;
use super::posture::ControlOutcome;
use super::share::{Share, Sum, stated_score};
use super::statement::{self, Platforms};
use crate::clock::Time;

/// Days that an observation counts when no control is mapped to its check.
pub const UNMAPPED_AGE_DAYS: u16 = 35;

/// When an observation lapses: with the control that keeps it longest, of those it speaks about.
#[must_use]
pub fn valid_until(catalog: &Catalog, observation: &Observation) -> Time {
    let ages = match &observation.subject {
        Subject::Control(code) => catalog.find_control(code).as_slice().to_vec(),
        Subject::Check { tool } => catalog.controls_of_check(tool, &observation.check).to_vec(),
    };
    let ages = ages.into_iter().map(|it| catalog.controls[it].max_age_days);
    lapse(observation, ages.max().unwrap_or(UNMAPPED_AGE_DAYS))
}

/// One control of one client, assessed.
#[derive(Debug)]
pub(super) struct AssessedControl<'a> {
    pub(super) outcome: ControlOutcome,
    /// Whether any observation or attestation of it is valid.
    pub(super) has_evidence: bool,
    /// When anybody last spoke about it, valid or not.
    pub(super) heard_at: Option<Time>,
    /// What is wrong, seen or stated. `None`: nothing is, as far as anybody knows.
    pub(super) gap: Option<Gap<'a>>,
}

impl AssessedControl<'_> {
    pub(super) fn is_applicable(&self) -> bool {
        self.outcome.status != Status::NotApplicable
    }
}

/// What a control's risk rests on.
#[derive(Debug)]
pub(super) struct Gap<'a> {
    /// The failing observations, valid or holding, and what passes beside them.
    pub(super) seen: Sum<'a>,
    pub(super) failing: Vec<EvidenceClaim<'a>>,
    /// How much passes.
    pub(super) share: Share,
    /// False once all it rests on has lapsed.
    pub(super) is_verified: bool,
    /// A person said so, and that counts.
    pub(super) stated: Option<&'a Attestation>,
}

/// Everything that was said about one control.
struct ControlEvidence<'a> {
    control: &'a Control,
    voices: Vec<EvidenceClaim<'a>>,
    /// The newest.
    attestation: Option<&'a Attestation>,
    platforms: Platforms,
    now: Time,
}

/// What decides a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling<'a> {
    Attested(&'a Attestation),
    Observed,
    Unused,
    /// Something that was not good lapsed, and silence does not heal.
    Held,
    Silent,
}

/// What each of the catalogue's controls comes to, in its order, and the current observations that
/// no control is mapped to.
pub(super) fn assess<'a>(
    catalog: &'a Catalog,
    facts: &Facts<'a>,
    current: &'a [Current<'a>],
    horizon: &mut Horizon,
) -> (Vec<AssessedControl<'a>>, Vec<&'a Current<'a>>) {
    let (voices, unmapped) = by_control(catalog, current);
    let attestations = statement::newest(facts.attestations, horizon);
    let controls = catalog.controls.iter().zip(voices).map(|(control, voices)| {
        for voice in &voices {
            horizon.see(voice.until);
        }
        let hearing = ControlEvidence {
            control,
            voices,
            attestation: attestations.get(control.code.as_str()).copied(),
            platforms: Platforms::of(control, facts.profile, horizon),
            now: facts.now,
        };
        hearing.assess()
    });
    (controls.collect(), unmapped)
}

/// One list of voices for each control, and the observations that speak about none.
fn by_control<'a>(
    catalog: &'a Catalog,
    current: &'a [Current<'a>],
) -> (Vec<Vec<EvidenceClaim<'a>>>, Vec<&'a Current<'a>>) {
    let codes = catalog.controls.iter().enumerate().map(|(index, it)| (it.code.as_str(), index));
    let codes = LazyCell::new(|| codes.collect::<BTreeMap<&str, usize>>());
    let mut checks = CheckWalk::of(catalog);
    let controls_of = |each: &'a Current<'a>| match &each.worst.subject {
        Subject::Control(code) => codes.get(code.as_str()).map_or(&[][..], std::slice::from_ref),
        Subject::Check { tool } => checks.controls_of(tool, &each.worst.check),
    };
    let mapped: Vec<&[usize]> = current.iter().map(controls_of).collect();
    let mut n_voices = vec![0; catalog.controls.len()];
    mapped.iter().copied().flatten().for_each(|control| n_voices[*control] += 1);
    let mut voices: Vec<_> = n_voices.into_iter().map(Vec::with_capacity).collect();
    let mut unmapped = Vec::new();
    for (each, controls) in current.iter().zip(mapped) {
        if controls.is_empty() {
            unmapped.push(each);
        }
        for &control in controls {
            voices[control].extend(each.voice(catalog.controls[control].max_age_days));
        }
    }
    (voices, unmapped)
}

impl<'a> ControlEvidence<'a> {
    fn assess(&self) -> AssessedControl<'a> {
        let seen = Sum::of(self.valid());
        let ruling = self.ruling(&seen);
        let has_evidence = self.valid_attestation().is_some() || !seen.tallies.is_empty();
        let mut outcome = self.outcome(ruling, &seen);
        let gap = self.gap(ruling, outcome.status, seen);
        outcome.remediation = gap.as_ref().map(|it| it.seen.remediation(self.control));
        AssessedControl { outcome, has_evidence, heard_at: self.heard_at(), gap }
    }

    fn ruling(&self, seen: &Sum<'_>) -> Ruling<'a> {
        let valid = self.valid_attestation();
        if let Some(it) = valid.filter(|it| it.overrides) {
            return Ruling::Attested(it);
        }
        if let Some(lapsed_at) = self.holding().map(|it| it.until).max() {
            return match valid.filter(|it| lapsed_at <= it.at && !self.is_contradicted(it)) {
                // What others see counts too: a person's word ends the silence, and covers nothing
                // that is valid.
                Some(it) if seen.is_worse_than(it.effective()) => Ruling::Observed,
                Some(it) => Ruling::Attested(it),
                None if self.is_unused() => Ruling::Unused,
                None => Ruling::Held,
            };
        }
        let is_held = self.holding_attestation().is_some();
        if !seen.tallies.is_empty() {
            return if is_held { Ruling::Held } else { Ruling::Observed };
        }
        if let Some(it) = valid.filter(|it| !self.is_contradicted(it)) {
            return Ruling::Attested(it);
        }
        if self.is_unused() {
            Ruling::Unused
        } else if is_held || self.platforms == Platforms::Lapsed {
            Ruling::Held
        } else {
            Ruling::Silent
        }
    }

    fn valid(&self) -> impl Iterator<Item = EvidenceClaim<'a>> {
        self.voices.iter().filter(|it| self.now < it.until).copied()
    }

    fn heard_at(&self) -> Option<Time> {
        let seen = self.voices.iter().map(|it| it.current.worst.observed_at);
        seen.chain(self.attestation.map(|it| it.at)).max()
    }

    fn valid_attestation(&self) -> Option<&'a Attestation> {
        self.attestation.filter(|it| it.is_valid(self.now))
    }

    /// One that decided until it expired, and when that was, if nothing has spoken since: what it
    /// covered comes back with the next observation, not with time. Without those that said that
    /// all is well, with evidence: what comes after them is never better.
    fn holding_attestation(&self) -> Option<(&'a Attestation, Time)> {
        let expired = self.attestation.filter(|it| !it.is_valid(self.now))?;
        let end = expired.until.filter(|_| expired.effective() != Status::Compliant)?;
        let is_over = if expired.overrides {
            self.voices.iter().any(|it| end < it.current.worst.observed_at)
        } else {
            self.voices.iter().any(|it| end < it.until)
        };
        (!is_over).then_some((expired, end))
    }

    /// Failing observations that lapsed, and whose source has said nothing about this control in
    /// that scope since.
    fn holding(&self) -> impl Iterator<Item = EvidenceClaim<'a>> {
        let lapsed = |it: &EvidenceClaim| it.word.is_failing() && it.until <= self.now;
        let newest =
            if self.voices.iter().any(lapsed) { self.newest_reports() } else { BTreeMap::new() };
        let holds = move |it: &EvidenceClaim| {
            newest.get(&it.place()).is_none_or(|newest| *newest <= it.until)
        };
        self.voices.iter().filter(move |it| lapsed(it) && holds(it)).copied()
    }

    /// When each source last spoke about this control in each scope.
    fn newest_reports(&self) -> BTreeMap<(&'a str, &'a str), Time> {
        let mut newest = BTreeMap::new();
        for voice in &self.voices {
            let time = newest.entry(voice.place()).or_insert(Time::EPOCH);
            *time = voice.current.worst.observed_at.max(*time);
        }
        newest
    }

    /// Out of scope was said while an observation was valid, without overriding it: the platform is
    /// there.
    fn is_contradicted(&self, attestation: &Attestation) -> bool {
        attestation.status == Status::NotApplicable
            && self.voices.iter().any(|it| attestation.at < it.until)
    }

    /// The profile says that its platforms are unused, and no observation, and no attestation of
    /// anything but out of scope, was valid after that was said.
    fn is_unused(&self) -> bool {
        let Platforms::UnusedSince(said) = self.platforms else { return false };
        let attested = self.attestation.filter(|it| it.status != Status::NotApplicable);
        let attested = attested.is_some_and(|it| it.until.is_none_or(|end| said < end));
        !attested && self.voices.iter().all(|it| it.until <= said)
    }

    fn outcome(&self, ruling: Ruling<'a>, seen: &Sum<'a>) -> ControlOutcome {
        let (status, score, assessed_at) = match ruling {
            Ruling::Attested(it) => (it.effective(), stated_score(it.effective()), Some(it.at)),
            Ruling::Observed => {
                let newest = self.valid().map(|it| it.current.worst.observed_at).max();
                (seen.status, Some(seen.score()), newest)
            }
            Ruling::Unused => (Status::NotApplicable, None, None),
            Ruling::Held | Ruling::Silent => (Status::NotAssessed, None, None),
        };
        let findings = match ruling {
            Ruling::Attested(it) => Some(finding::attested(it)),
            Ruling::Observed => Some(finding::observed(seen)),
            Ruling::Unused => Some(finding::UNUSED.to_owned()),
            Ruling::Held => Some(self.held_finding()),
            Ruling::Silent => None,
        };
        ControlOutcome {
            code: self.control.code.clone(),
            status,
            score,
            findings,
            remediation: None,
            assessed_at,
            valid_until: self.stands_until(ruling),
            held: ruling == Ruling::Held,
            attested: matches!(ruling, Ruling::Attested(_)),
        }
    }

    /// When time alone may end what decides it.
    fn stands_until(&self, ruling: Ruling<'a>) -> Option<Time> {
        match (ruling, self.platforms) {
            (Ruling::Attested(it), _) => it.until,
            (Ruling::Observed, _) => self.valid().map(|it| it.until).min(),
            (Ruling::Unused, Platforms::UnusedSince(said)) => Some(said.plus_days(UNUSED_DAYS)),
            (Ruling::Unused | Ruling::Held | Ruling::Silent, _) => None,
        }
    }

    fn held_finding(&self) -> String {
        match (self.holding().max_by_key(|it| it.until), self.holding_attestation()) {
            (Some(last), _) => finding::lapsed(&Sum::of(self.holding()), last.until),
            (None, Some((expired, end))) => finding::expired(expired, end),
            (None, None) => finding::LAPSED_PROFILE.to_owned(),
        }
    }

    /// What the control's risk rests on. Where a person's word decides, what was seen still says
    /// which subjects fail.
    ///
    /// `valid`: what is valid came to.
    fn gap(&self, ruling: Ruling<'a>, status: Status, valid: Sum<'a>) -> Option<Gap<'a>> {
        let failing: Vec<_> =
            self.valid().chain(self.holding()).filter(|it| it.word.is_failing()).collect();
        let stated = match ruling {
            Ruling::Attested(it) => Some(it),
            Ruling::Held => self.holding_attestation().map(|(it, _)| it),
            Ruling::Observed | Ruling::Unused | Ruling::Silent => None,
        };
        let stated = stated.filter(|it| it.status != Status::NotApplicable);
        let is_open = match status {
            Status::Partial | Status::NonCompliant => true,
            Status::NotAssessed => {
                ruling == Ruling::Held && !(failing.is_empty() && stated.is_none())
            }
            Status::Compliant | Status::NotApplicable => false,
        };
        if !is_open {
            return None;
        }
        let is_stated_now = matches!(ruling, Ruling::Attested(_));
        let is_holding = self.holding().next().is_some();
        let seen = if is_holding { Sum::of(self.valid().chain(self.holding())) } else { valid };
        let share = match stated {
            Some(it) if is_stated_now || failing.is_empty() => share_of(it.effective()),
            Some(_) | None => seen.share(),
        };
        let is_verified = is_stated_now || failing.iter().any(|it| self.now < it.until);
        Some(Gap { seen, failing, share, is_verified, stated })
    }
}

/// How much passes by a person's word.
fn share_of(status: Status) -> Share {
    match status {
        Status::Compliant => Share::WHOLE,
        Status::Partial => Share::HALF,
        Status::NonCompliant | Status::NotAssessed | Status::NotApplicable => Share::NONE,
    }
}
