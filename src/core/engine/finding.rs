//! Describes observations and attestations in text for people.

mod place;

use std::fmt::{self, Write};

use self::place::Places;
use super::catalog::Control;
use super::contradiction::Hidden;
use super::evidence::current::EvidenceClaim;
use super::evidence::share::{ShareCounts, Sum};
use super::evidence::stated::StatedPart;
use super::fact::{
    Attestation, DERIVED_CHECK, FINDINGS_CHARS_MAX, MUTED_NOTE, N_NAMED_MAX, Observation, Status,
    Subject, UNNAMED_CHECK, Verdict,
};
use crate::clock::Time;

/// How many failing checks are named. The others are counted.
const N_CHECKS_NAMED: usize = 5;
/// How many scopes are named. The others are counted.
const N_SCOPES_NAMED: usize = 3;

/// Names of the checks of sources that report a control itself.
const IS_THE_CONTROL: [&str; 2] = [UNNAMED_CHECK, DERIVED_CHECK];

const FAILED_CHECK: &str = "Failed check: ";
const REPORTED: &str = "Reported";
/// Leads the remediation at the end of what is said about a check that no control is mapped to.
pub(super) const TO_FIX: &str = "To fix it: ";

pub(super) const LAPSED_PROFILE: &str =
    "The client's profile said that its platforms are unused; that answer has expired.";

/// Describes the valid observations of one control.
pub(super) fn observed(seen: &Sum<'_>) -> String {
    let mut text = String::new();
    write_observed(&mut text, seen);
    text
}

/// Describes what passes and does not decide the control. `None`: nothing was observed.
pub(super) fn too_little(seen: &Sum<'_>) -> Option<String> {
    if seen.tallies.is_empty() {
        return None;
    }
    let mut text = observed(seen);
    text.push_str(" That is too little to show that the control is met.");
    Some(text)
}

/// Describes expired observations of failures: when they were last confirmed, and since when that is too old.
pub(super) fn lapsed(seen: &Sum<'_>, confirmed: Time, until: Time) -> String {
    let mut then = String::new();
    write_observed(&mut then, seen);
    let then = match (then.strip_prefix(FAILED_CHECK), then.strip_prefix(REPORTED)) {
        (Some(check), _) => format!("failed check {check}"),
        (None, Some(status)) => format!("reported{status}"),
        (None, None) => then,
    };
    let (confirmed, until) = (Day(confirmed), Day(until));
    format!("Last confirmed on {confirmed}, out of date since {until}. At that time: {then}")
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

/// Describes what a person says about a part, without evidence, while nobody saw anything of the control.
pub(super) fn claimed(control: &Control, it: &StatedPart) -> String {
    format!("{}: {}", it.part.name(control), lower(&attested(&it.said)))
}

/// Describes an attestation that stands over what was seen, and what was seen all the same.
pub(super) fn over_observations(attestation: &Attestation, seen: &Sum<'_>) -> String {
    let mut text = attested(attestation);
    if !seen.tallies.is_empty() {
        text.push_str(". Observed all the same: ");
        write_observed(&mut text, seen);
    }
    text
}

/// Adds what fails all the same of a part for which somebody answers.
pub(super) fn with_overruled(text: Option<String>, it: Option<&Hidden<'_>>) -> Option<String> {
    let Some(it) = it else { return text };
    let n: u64 = it.failing.iter().map(|it| it.result.failed).sum();
    let (places, by) = (Places(&it.failing), &it.by.by);
    text.map(|text| format!("{text} {n} fail all the same ({places}), which {by} overrides."))
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
    let of_tool = if tool == observation.source { String::new() } else { format!(" of {tool}") };
    let mut text = String::new();
    let (n, of) = (claim.result.failed, claim.result.passed + claim.result.failed);
    let _ = if claim.result.is_counted && 1 < of {
        write!(text, "Check {check}{of_tool} failed for {n} of {of} ({place})")
    } else {
        write!(text, "Check {check}{of_tool} failed ({place})")
    };
    let seen = Sum::of(std::iter::once(*claim));
    for tally in &seen.tallies {
        if let Some(names) = failing_names(tally) {
            let _ = write!(text, ": {names}");
        }
        text.push('.');
        push_details(&mut text, &seen, tally);
    }
    let remediation = observation.remediation.as_deref().unwrap_or_default();
    push_sentence(&mut text, TO_FIX, remediation.trim());
    text
}

/// Names the sources and scopes that reported a failure.
pub(super) fn places(failing: &[EvidenceClaim<'_>]) -> String {
    Places(failing).to_string()
}

// Writing to a string cannot fail.
fn write_observed(text: &mut String, seen: &Sum<'_>) {
    let Some(worst) = seen.tallies.first().filter(|it| it.is_failing()) else {
        return write_passing(text, seen);
    };
    let (checks, reports): (Vec<_>, Vec<_>) =
        seen.tallies.iter().partition(|it| name(it).is_some());
    if seen.tallies.len() == 1 && checks.is_empty() {
        write_lone_report(text, worst);
    } else {
        let mut clauses = failing_checks(&checks);
        let also = if clauses.is_empty() { "" } else { "also " };
        clauses.extend(
            failing_reports(&reports)
                .into_iter()
                .enumerate()
                .map(|(index, it)| if index == 0 { format!("{also}{it}") } else { it }),
        );
        if !checks.is_empty() && !checks.iter().any(|it| it.is_failing()) {
            clauses.push(format!("but {}", lower(&passing_checks(&checks))));
        }
        text.push_str(&upper(&clauses.join("; ")));
    }
    text.push('.');
    push_details(text, seen, worst);
    push_carried(text, seen);
    push_unseen(text, seen);
}

/// Counts those that fail because they failed before, and the newest look did not see them.
fn push_carried(text: &mut String, seen: &Sum<'_>) {
    let failing = seen.tallies.iter().flat_map(|it| &it.failing);
    let n: u64 = failing.map(|it| u64::from(it.current.worst.memory.n_carried())).sum();
    if n != 0 {
        push_sentence(text, "", &format!("Failed before, and not looked at since: {n} of them"));
    }
}

/// Says of what checks or reports not all was seen, in the words of the source if it has some.
fn push_unseen(text: &mut String, seen: &Sum<'_>) {
    let short: Vec<_> = seen.tallies.iter().filter(|it| it.unseen != 0).collect();
    for tally in short.iter().take(N_CHECKS_NAMED) {
        let lead = match name(tally) {
            Some(name) if 1 < seen.tallies.len() => format!("\"{name}\": "),
            None if 1 < seen.tallies.len() => format!("{}: ", tally.worst.place().0),
            Some(_) | None => String::new(),
        };
        let own = Details::of(tally.worst.current.worst).rest;
        if own.is_empty() {
            let known = tally.passed + tally.failed + tally.unseen;
            push_sentence(text, &lead, &format!("{} of {known} not seen", tally.unseen));
        } else if !tally.is_failing() {
            push_sentence(text, &lead, own);
        }
    }
    if let rest @ 1.. = short.len().saturating_sub(N_CHECKS_NAMED) {
        push_sentence(text, "", &format!("And {rest} more were not seen in full"));
    }
    push_sentence(text, "", &seen.parts.to_string());
}

fn write_lone_report(text: &mut String, tally: &ShareCounts<'_>) {
    let (passed, failed) = tally.counted;
    if failed == 0 {
        let _ = write!(text, "{REPORTED} as {}", how_met(tally));
        return;
    }
    let _ = write!(text, "{failed} of {} {}", passed + failed, verb("fail", failed));
    if let Some(names) = failing_names(tally) {
        let _ = write!(text, ": {names}");
    }
}

fn how_met(tally: &ShareCounts<'_>) -> &'static str {
    match tally.status() {
        Status::Compliant => "met",
        Status::Partial => "partly met",
        Status::NonCompliant | Status::NotAssessed | Status::NotApplicable => "not met",
    }
}

/// Returns clauses about the checks that fail, the first with a lead. Empty: none fails.
fn failing_checks(checks: &[&ShareCounts<'_>]) -> Vec<String> {
    let failing: Vec<_> = checks.iter().filter(|it| it.is_failing()).collect();
    let passes_too = |it: &ShareCounts<'_>| 0 < it.passed || it.status() == Status::Partial;
    let mut clauses: Vec<_> =
        failing.iter().take(N_CHECKS_NAMED).map(|it| FailingCheck(it).to_string()).collect();
    if let Some(first) = clauses.first_mut() {
        let lead = match checks.len() {
            1 => FAILED_CHECK.to_owned(),
            n if n == failing.len() && failing.iter().all(|it| passes_too(it)) => {
                format!("{n} of {n} checks failed in part: ")
            }
            n => format!("{} of {n} checks failed: ", failing.len()),
        };
        first.insert_str(0, &lead);
    }
    if let rest @ 1.. = failing.len().saturating_sub(N_CHECKS_NAMED) {
        clauses.push(format!("and {rest} more"));
    }
    clauses
}

/// Returns clauses about the sources that report a failure of the control itself.
fn failing_reports(reports: &[&ShareCounts<'_>]) -> Vec<String> {
    let mut clauses = Vec::new();
    for status in ["not met", "partly met"] {
        let stated = reports.iter().filter(|it| it.counted.1 == 0 && how_met(it) == status);
        let sources: Vec<_> = stated.map(|it| it.worst.place().0).collect();
        if !sources.is_empty() {
            clauses.push(format!("reported as {status} by {}", listed(&sources)));
        }
    }
    let counted: Vec<_> = reports.iter().filter(|it| it.counted.1 != 0).collect();
    for tally in counted.iter().take(N_CHECKS_NAMED) {
        let (passed, failed) = tally.counted;
        let (of, source) = (passed + failed, tally.worst.place().0);
        let names = failing_names(tally).map(|it| format!(" ({it})")).unwrap_or_default();
        clauses.push(format!(
            "{failed} of {of} {} according to {source}{names}",
            verb("fail", failed)
        ));
    }
    if let rest @ 1.. = counted.len().saturating_sub(N_CHECKS_NAMED) {
        clauses.push(format!("and {rest} more"));
    }
    clauses
}

/// Names the first [`N_SCOPES_NAMED`] and counts the others.
fn listed(all: &[&str]) -> String {
    let shown = &all[..all.len().min(N_SCOPES_NAMED)];
    match (all.len() - shown.len(), shown) {
        (0, [first, second]) => format!("{first} and {second}"),
        (0, _) => shown.join(", "),
        (n, _) => format!("{} and {n} more", shown.join(", ")),
    }
}

fn write_passing(text: &mut String, seen: &Sum<'_>) {
    let (checks, reports): (Vec<_>, Vec<_>) =
        seen.tallies.iter().partition(|it| name(it).is_some());
    if !checks.is_empty() {
        text.push_str(&passing_checks(&checks));
    } else if let [(passed @ 1.., _)] = reports.iter().map(|it| it.counted).collect::<Vec<_>>()[..]
    {
        let _ = write!(text, "{passed} of {passed} {}", verb("pass", passed));
    } else {
        let _ = write!(text, "{REPORTED} as met");
    }
    text.push('.');
    push_unseen(text, seen);
}

fn passing_checks(checks: &[&ShareCounts<'_>]) -> String {
    match checks {
        [only] => format!("\"{}\" passes", name(only).unwrap_or_default()),
        [_, _] => "Both checks pass".to_owned(),
        more => format!("All {} checks pass", more.len()),
    }
}

fn upper(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |it| it.to_uppercase().chain(rest).collect())
}

fn lower(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |it| it.to_lowercase().chain(rest).collect())
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

/// Written as `"KMS keys are rotated" (2 of 3 fail: a, b)`. Of a check of one subject, only the subject is named.
struct FailingCheck<'v, 'a>(&'v ShareCounts<'a>);

impl fmt::Display for FailingCheck<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.0;
        write!(f, "\"{}\"", name(tally).unwrap_or_default())?;
        let (passed, failed) = tally.counted;
        let n = passed + failed;
        match failing_names(tally) {
            Some(names) if n == 1 => write!(f, " ({names})"),
            Some(names) => write!(f, " ({failed} of {n} {}: {names})", verb("fail", failed)),
            None if 1 < n => write!(f, " ({failed} of {n} {})", verb("fail", failed)),
            None if failed == 0 && tally.status() == Status::Partial => write!(f, " (partly met)"),
            None => Ok(()),
        }
    }
}

/// Names failing subjects of all scopes where a check fails, the worst scopes first, and counts those that are not named.
/// `None`: the source named none.
fn failing_names(tally: &ShareCounts<'_>) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut n_named = 0;
    for claim in &tally.failing {
        let room = N_NAMED_MAX.saturating_sub(n_named);
        if claim.result.intended != 0 {
            let (intended, known) =
                (claim.intended(claim.current.worst), &claim.current.worst.memory);
            let left = known.names.iter().filter(|it| !intended.contains(&it.hash)).take(room);
            names.extend(left.inspect(|_| n_named += 1).map(|it| it.name.as_str()));
            continue;
        }
        let Some(more) = Details::of(claim.current.worst).failing else { continue };
        if let Some((shown, n)) = more.first(room) {
            n_named += n;
            names.extend((!names.contains(&shown)).then_some(shown));
        }
    }
    let n_more = usize::try_from(tally.counted.1).unwrap_or(usize::MAX).saturating_sub(n_named);
    match n_more {
        _ if names.is_empty() => None,
        0 => Some(names.join(", ")),
        n => Some(format!("{} and {n} more", names.join(", "))),
    }
}

/// The names on the first line of findings.
#[derive(Clone, Copy)]
struct Names<'a> {
    text: &'a str,
    n: usize,
}

impl<'a> Names<'a> {
    /// Reads the line of an observation in which `n_failed` fail. `None`: it names nothing.
    fn of(line: &'a str, n_failed: usize) -> Option<Self> {
        // Earlier releases stored "2 of 3 failed: a, b."
        let line = line.split_once(" failed: ").map_or(line, |it| it.1).trim_end_matches('.');
        let counted = line.strip_suffix(" more").and_then(|it| it.rsplit_once(" and "));
        let counted = counted.and_then(|(text, n)| Some((text, n.parse::<usize>().ok()?)));
        let (text, n_more) = counted.filter(|it| it.1 < n_failed).unwrap_or((line, 0));
        // Fewer than it should name are left of a line that was cut.
        let n = (n_failed - n_more.min(n_failed)).clamp(1, text.split(", ").count());
        (!text.is_empty()).then_some(Self { text, n })
    }

    /// Returns at most `n_max` of the names, and how many they are. `None`: a name has a comma, so that they cannot be
    /// told apart, or there is no room.
    fn first(&self, n_max: usize) -> Option<(&'a str, usize)> {
        if self.n <= n_max {
            return Some((self.text, self.n));
        }
        if n_max == 0 || self.text.split(", ").count() != self.n {
            return None;
        }
        let (end, _) = self.text.match_indices(", ").nth(n_max - 1)?;
        Some((&self.text[..end], n_max))
    }
}

/// The findings of an observation, in parts.
struct Details<'a> {
    /// Failing subjects, as an importer or a list of accounts names them.
    failing: Option<Names<'a>>,
    /// Sentences.
    rest: &'a str,
}

impl<'a> Details<'a> {
    fn of(observation: &'a Observation) -> Self {
        let text = observation.findings.as_deref().map_or("", str::trim);
        let n_failed = match observation.verdict {
            Verdict::Counted { failed, .. } | Verdict::Seen { failed, .. } => Some(failed as usize),
            Verdict::Stated(_) | Verdict::Gone => None,
        };
        let is_listed = match observation.subject {
            Subject::Check { .. } => observation.verdict.is_failing(),
            Subject::Control(_) => n_failed.is_some() && observation.check == DERIVED_CHECK,
        };
        if !is_listed {
            return Self { failing: None, rest: text };
        }
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        Self { failing: Names::of(first, n_failed.unwrap_or(1)), rest: rest.trim() }
    }
}

/// Adds what the worst check says besides names. Where it could be about several, it says about which it is; if that is
/// unknown, it is left out.
fn push_details(text: &mut String, seen: &Sum<'_>, worst: &ShareCounts<'_>) {
    let observation = worst.worst.current.worst;
    let details = Details::of(observation);
    if worst.worst.result.intended != 0 {
        return; // It may be about one of those that are not counted.
    }
    let is_alone = seen.tallies.iter().filter(|it| it.is_failing()).count() == 1;
    if matches!(observation.subject, Subject::Control(_)) {
        let source = if is_alone { String::new() } else { format!("{}: ", observation.source) };
        return push_sentence(text, &source, details.rest);
    }
    // A fold puts this note before the detail.
    let (note, detail) = match details.rest.split_once('\n') {
        Some((note, detail)) if note.ends_with(MUTED_NOTE) => (note, detail),
        _ if details.rest.ends_with(MUTED_NOTE) => (details.rest, ""),
        Some(_) | None => ("", details.rest),
    };
    if is_alone && worst.failing.len() == 1 {
        push_sentence(text, "", note);
    }
    let only = details.failing.filter(|_| worst.worst.result.failed == 1).map(|it| it.text);
    match only {
        Some(_) if is_alone && worst.failed == 1 => push_sentence(text, "", detail),
        Some(subject) if !detail.contains(subject) => {
            push_sentence(text, &format!("{subject}: "), detail);
        }
        Some(_) => push_sentence(text, "", detail),
        None if is_alone && worst.failing.len() == 1 => {
            let lead = if 1 < worst.failed { "One of them: " } else { "" };
            push_sentence(text, lead, detail);
        }
        None => (),
    }
}

fn push_sentence(text: &mut String, lead: &str, sentence: &str) {
    if !sentence.is_empty() {
        text.push(' ');
        text.push_str(lead);
        text.extend(sentence.chars().take(FINDINGS_CHARS_MAX));
        if !sentence.ends_with(['.', '!', '?']) {
            text.push('.');
        }
    }
}

/// The verb in the present tense, for `n` subjects.
fn verb(verb: &'static str, n: u64) -> String {
    let ending = match (n, verb) {
        (1, "pass") => "es",
        (1, _) => "s",
        _ => "",
    };
    format!("{verb}{ending}")
}

/// The UTC day of a moment, as `2026-11-20`.
struct Day(Time);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split('T').next().unwrap_or(&text))
    }
}
