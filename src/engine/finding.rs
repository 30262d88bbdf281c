//! Describes observations and attestations in text for people.

use std::fmt::{self, Write};

use super::current::EvidenceClaim;
use super::fact::{
    Attestation, DERIVED_CHECK, FINDINGS_CHARS_MAX, Observation, Status, Subject, UNNAMED_CHECK,
    Verdict,
};
use super::share::{ShareCounts, Sum};
use crate::clock::Time;

/// How many failing checks are named. The others are counted.
const N_CHECKS_NAMED: usize = 5;
/// How many scopes are named. The others are counted.
const N_SCOPES_NAMED: usize = 3;

/// Names of the checks of sources that report a control itself.
const IS_THE_CONTROL: [&str; 2] = [UNNAMED_CHECK, DERIVED_CHECK];

pub(super) const UNUSED: &str =
    "Not applicable: the client does not use this platform, its profile says.";
pub(super) const LAPSED_PROFILE: &str =
    "The client's profile said that its platforms are unused; that answer has expired.";

/// Describes the valid observations of one control.
pub(super) fn observed(seen: &Sum<'_>) -> String {
    let mut text = String::new();
    write_observed(&mut text, seen);
    text
}

/// Describes expired observations of failures.
pub(super) fn lapsed(seen: &Sum<'_>, at: Time) -> String {
    let mut text = format!("Not confirmed since {}; before that: ", Day(at));
    write_observed(&mut text, seen);
    text
}

/// Describes an attestation.
pub(super) fn attested(attestation: &Attestation) -> String {
    let verb = match attestation.status {
        Status::NotApplicable => "Declared out of scope",
        Status::Compliant => "Attested as met",
        Status::Partial => "Attested as partly met",
        Status::NonCompliant | Status::NotAssessed => "Attested as not met",
    };
    let is_bare =
        attestation.status == Status::Compliant && attestation.effective() != Status::Compliant;
    let without = if is_bare { ", without evidence" } else { "" };
    let (by, at, reason) = (&attestation.by, Day(attestation.at), attestation.reason.trim());
    format!("{verb} by {by} on {at}{without}: {reason}")
}

/// Describes an attestation that a control is out of scope, and what was seen all the same.
pub(super) fn out_of_scope(attestation: &Attestation, seen: &Sum<'_>) -> String {
    let mut text = attested(attestation);
    if !seen.tallies.is_empty() {
        text.push_str(". Observed all the same: ");
        write_observed(&mut text, seen);
    }
    text
}

/// Describes an attestation that no longer counts.
pub(super) fn expired(attestation: &Attestation, end: Time) -> String {
    format!("{} (expired on {})", attested(attestation), Day(end))
}

/// Describes what one check reports in one scope. No control is mapped to the check.
pub(super) fn unmapped(claim: &EvidenceClaim<'_>) -> String {
    let observation = claim.current.worst;
    let (tool, check) = (claim.current.tool(), &observation.check);
    let place = Places(std::slice::from_ref(claim));
    let details = Details::of(observation);
    let mut text = String::new();
    let _ = if claim.result.is_counted {
        let (n, of) = (claim.result.failed, claim.result.passed + claim.result.failed);
        let verb = verb("fail", n);
        write!(text, "{n} of {of} {verb} check {check} of {tool} ({place})")
    } else {
        write!(text, "Check {check} of {tool} fails ({place})")
    };
    if let Some(failing) = details.failing {
        let _ = write!(text, ": {failing}");
    }
    text.push('.');
    push_sentence(&mut text, details.rest);
    text
}

/// Names the sources and scopes that reported a failure.
pub(super) fn places(failing: &[EvidenceClaim<'_>]) -> String {
    Places(failing).to_string()
}

// Writing to a string cannot fail.
fn write_observed(text: &mut String, seen: &Sum<'_>) {
    let n = seen.tallies.len();
    let failing: Vec<_> =
        seen.tallies.iter().filter(|it| it.status() != Status::Compliant).collect();
    let Some(worst) = failing.first() else { return write_passing(text, seen) };
    if n == 1 {
        let name = name(worst);
        let lead = if name.is_some() { "Fails: " } else { "" };
        let _ = write!(text, "{lead}{}", FailingCheck { tally: worst, name });
    } else {
        let n_failing = failing.len();
        let _ = write!(text, "{n_failing} of {n} checks {}: ", verb("fail", n_failing as u64));
        for (index, tally) in failing.iter().take(N_CHECKS_NAMED).enumerate() {
            text.push_str(if index == 0 { "" } else { "; " });
            let _ = write!(text, "{}", FailingCheck { tally, name: Some(any_name(tally)) });
        }
        if let rest @ 1.. = n_failing.saturating_sub(N_CHECKS_NAMED) {
            let _ = write!(text, "; and {rest} more");
        }
    }
    text.push('.');
    push_sentence(text, Details::of(worst.worst.current.worst).rest);
}

fn write_passing(text: &mut String, seen: &Sum<'_>) {
    let n_subjects: u64 = seen.tallies.iter().map(|it| it.counted.0).sum();
    let _ = match (seen.tallies.len(), n_subjects) {
        (1, 0) => write!(text, "Reported as met"),
        (1, n) => write!(text, "Passes for {}", All(n)),
        (n, 0) => write!(text, "All {n} checks pass"),
        (n, of) => write!(text, "All {n} checks pass, for {of} checked subjects"),
    };
    text.push('.');
}

/// The name of a check for people. `None`: the source reports the control itself.
fn name<'a>(tally: &ShareCounts<'a>) -> Option<&'a str> {
    let observation = tally.worst.current.worst;
    match observation.subject {
        Subject::Control(_) if IS_THE_CONTROL.contains(&observation.check.as_str()) => None,
        Subject::Control(_) => Some(&observation.check),
        Subject::Check { .. } => {
            let names = [observation.title.trim(), &observation.check];
            Some(names.into_iter().find(|it| !it.is_empty()).unwrap_or(tally.worst.current.tool()))
        }
    }
}

/// [`name`], or else that of the source.
fn any_name<'a>(tally: &ShareCounts<'a>) -> &'a str {
    name(tally).unwrap_or_else(|| tally.worst.place().0)
}

/// Written as "KMS keys are rotated (2 of 3 fail: a, b)", or without a name as "2 of 3 fail: a, b".
struct FailingCheck<'v, 'a> {
    tally: &'v ShareCounts<'a>,
    name: Option<&'v str>,
}

impl fmt::Display for FailingCheck<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, name } = self;
        let (passed, failed) = tally.counted;
        if failed == 0 {
            let status = if tally.status() == Status::Partial { "partly met" } else { "not met" };
            return match name {
                Some(name) => write!(f, "{name} (reported as {status})"),
                None => write!(f, "Reported as {status}"),
            };
        }
        let of = passed + failed;
        if let Some(name) = name {
            write!(f, "{name} (")?;
        }
        write!(f, "{failed} of {of} {}", verb("fail", failed))?;
        if 1 < tally.n_scopes {
            write!(f, " in {} scopes", tally.n_scopes)?;
        }
        if let Some(failing) = Details::of(tally.worst.current.worst).failing {
            write!(f, ": {failing}")?;
        }
        if name.is_some() { write!(f, ")") } else { Ok(()) }
    }
}

/// The findings of an observation, in parts.
struct Details<'a> {
    /// Names of failing subjects, as an importer or a list of accounts gives them.
    failing: Option<&'a str>,
    /// Sentences.
    rest: &'a str,
}

impl<'a> Details<'a> {
    fn of(observation: &'a Observation) -> Self {
        let text = observation.findings.as_deref().map_or("", str::trim);
        let is_counted = matches!(observation.verdict, Verdict::Counted { .. });
        let is_listed = match observation.subject {
            Subject::Check { .. } => observation.verdict.is_failing(),
            Subject::Control(_) => is_counted && observation.check == DERIVED_CHECK,
        };
        if !is_listed {
            return Self { failing: None, rest: text };
        }
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        // Earlier releases stored "2 of 3 failed: a, b."
        let names = first.split_once(" failed: ").map_or(first, |it| it.1).trim_end_matches('.');
        Self { failing: Some(names).filter(|it| !it.is_empty()), rest: rest.trim() }
    }
}

fn push_sentence(text: &mut String, sentence: &str) {
    if !sentence.is_empty() {
        text.push(' ');
        text.extend(sentence.chars().take(FINDINGS_CHARS_MAX));
        if !sentence.ends_with(['.', '!', '?']) {
            text.push('.');
        }
    }
}

fn verb(verb: &'static str, n: u64) -> String {
    format!("{verb}{}", if n == 1 { "s" } else { "" })
}

/// Written as "the one checked subject" or "all 12 checked subjects".
struct All(u64);

impl fmt::Display for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("the one checked subject"),
            n => write!(f, "all {n} checked subjects"),
        }
    }
}

/// The UTC day of a moment, as `2026-11-20`.
struct Day(Time);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split('T').next().unwrap_or(&text))
    }
}

/// Sources with their scopes, in order and without duplicates.
struct Places<'v, 'a>(&'v [EvidenceClaim<'a>]);

impl fmt::Display for Places<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places: Vec<_> = self.0.iter().map(EvidenceClaim::place).collect();
        places.dedup(); // Most duplicates are adjacent, and fewer sort faster.
        places.sort_unstable();
        places.dedup();
        let mut last = None;
        for (source, scope) in places.iter().take(N_SCOPES_NAMED) {
            let is_same = last == Some(source);
            match (last, is_same) {
                (None, _) => write!(f, "{source}")?,
                (Some(_), true) => (),
                (Some(_), false) => write!(f, "; {source}")?,
            }
            if !scope.is_empty() {
                write!(f, "{} {scope}", if is_same { "," } else { ":" })?;
            }
            last = Some(source);
        }
        match places.len().saturating_sub(N_SCOPES_NAMED) {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}
