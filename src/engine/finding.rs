//! Describes observations and attestations in text for people.

use std::fmt::{self, Write};

use super::current::EvidenceClaim;
use super::fact::{Attestation, FINDINGS_CHARS_MAX, Status};
use super::share::{ShareCounts, Sum};
use crate::clock::Time;

/// How many failing checks are named. The others are counted.
const N_CHECKS_NAMED: usize = 3;
/// How many scopes are named. The others are counted.
const N_SCOPES_NAMED: usize = 3;

pub(super) const UNUSED: &str =
    "Out of scope: the client's profile says that its platforms are unused.";
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
    let mut text = String::new();
    let result = claim.result;
    if result.is_counted {
        let (n, of) = (result.failed, result.passed + result.failed);
        let _ = write!(text, "{}", Subjects { n, of, verb: "fail" });
    } else {
        text.push_str("Reported as failing");
    }
    let (tool, check) = (claim.current.tool(), &observation.check);
    let place = Places(std::slice::from_ref(claim));
    let _ = write!(text, " check {check} of {tool} ({place}).");
    push_sample(&mut text, observation.findings.as_deref());
    text
}

/// Names the sources and scopes that reported a failure.
pub(super) fn places(failing: &[EvidenceClaim<'_>]) -> String {
    Places(failing).to_string()
}

fn write_observed(text: &mut String, seen: &Sum<'_>) {
    let n_checks = seen.tallies.len();
    let passed: u64 = seen.tallies.iter().map(|it| it.counted.0).sum();
    let failed: u64 = seen.tallies.iter().map(|it| it.counted.1).sum();
    let of = passed + failed;
    let failing: Vec<_> =
        seen.tallies.iter().filter(|it| it.status() != Status::Compliant).collect();
    let checks = Checks(n_checks);
    // Writing to a string cannot fail.
    if failing.is_empty() {
        let _ = match of {
            0 => write!(text, "Reported as met by {checks}."),
            _ => write!(text, "{} in {checks}.", Subjects { n: of, of, verb: "pass" }),
        };
        return;
    }
    let _ = match failed {
        0 => write!(text, "Reported as failing by {} of {checks}", failing.len()),
        _ => write!(text, "{} in {checks}", Subjects { n: failed, of, verb: "fail" }),
    };
    for (index, tally) in failing.iter().take(N_CHECKS_NAMED).enumerate() {
        text.push_str(if index == 0 { ": " } else { "; " });
        write_check(text, tally);
    }
    if N_CHECKS_NAMED < failing.len() {
        let _ = write!(text, "; and {} more failing checks", failing.len() - N_CHECKS_NAMED);
    }
    text.push('.');
    push_sample(text, failing[0].worst.current.worst.findings.as_deref());
}

fn write_check(text: &mut String, tally: &ShareCounts<'_>) {
    let observation = tally.worst.current.worst;
    let name = [observation.title.trim(), &observation.check];
    let fallback = tally.worst.current.tool();
    text.push_str(name.into_iter().find(|it| !it.is_empty()).unwrap_or(fallback));
    let (passed, failed) = tally.counted;
    if failed != 0 && 1 < tally.n_scopes {
        let _ = write!(text, " ({failed} of {} in {} scopes)", passed + failed, tally.n_scopes);
    } else if failed != 0 {
        let _ = write!(text, " ({failed} of {})", passed + failed);
    }
}

/// Appends the findings of the worst check itself. Importers limit their length.
fn push_sample(text: &mut String, findings: Option<&str>) {
    let sample = findings.map_or("", str::trim);
    if !sample.is_empty() {
        text.push(' ');
        text.extend(sample.chars().take(FINDINGS_CHARS_MAX));
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

struct Checks(usize);

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} check{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// Written as "3 of 12 checked subjects fail" or "1 of 12 checked subjects passes".
struct Subjects {
    n: u64,
    of: u64,
    verb: &'static str,
}

impl fmt::Display for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, of, verb } = self;
        let plural = if *of == 1 { "" } else { "s" };
        let ending = match (*n, *verb) {
            (1, "pass") => "es",
            (1, _) => "s",
            _ => "",
        };
        write!(f, "{n} of {of} checked subject{plural} {verb}{ending}")
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
