//! What is wrong at a client: failing controls, and findings that no control is mapped to.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::catalog::{Catalog, Control};
use super::control::{AssessedControl, Gap, UNMAPPED_AGE_DAYS};
use super::current::{Current, EvidenceClaim};
use super::finding;
use super::horizon::Horizon;
use super::posture::{Risk, SourceType};
use super::share::{Share, Sum};
use crate::engine::fact::Subject;
use crate::engine::severity::Severity;

/// Points by severity, for how much fails, and where a critical asset fails. At most 100 together.
const SHARE_POINTS: u64 = 20;
const CRITICAL_ASSET_POINTS: u8 = 10;

/// Everything about risks that a posture holds.
#[derive(Debug, Default)]
pub(super) struct Risks {
    pub(super) open: Vec<Risk>,
    pub(super) fixed: Vec<String>,
    pub(super) touched: BTreeMap<u64, u8>,
}

const fn severity_points(severity: Severity) -> u8 {
    match severity {
        Severity::Critical => 70,
        Severity::High => 50,
        Severity::Medium => 30,
        Severity::Low => 10,
    }
}

/// 0 to 100.
fn risk_score(severity: Severity, share: Share, is_critical: bool) -> u8 {
    let failing = u8::try_from(share.rest().times(SHARE_POINTS)).expect("at most 20 points");
    severity_points(severity) + failing + if is_critical { CRITICAL_ASSET_POINTS } else { 0 }
}

/// The risks of a client, its annual loss shared over them.
pub(super) fn risks(
    catalog: &Catalog,
    controls: &[AssessedControl<'_>],
    unmapped: &[&Current<'_>],
    annual_loss: Option<u64>,
    horizon: &mut Horizon,
) -> Risks {
    let mut all = Risks::default();
    let gaps = controls.iter().filter_map(|it| it.gap.as_ref());
    let mut touched = Vec::with_capacity(gaps.map(|it| n_failing(&it.failing)).sum());
    let applicable = catalog.controls.iter().zip(controls).filter(|(_, it)| it.is_applicable());
    let weight: u64 = applicable.map(|(it, _)| u64::from(it.severity.weight())).sum();
    for (control, assessed) in catalog.controls.iter().zip(controls) {
        let Some(gap) = &assessed.gap else { continue };
        let part = (u64::from(control.severity.weight()), weight);
        // By its weight and how much of it fails, so that all of them never cost more than the
        // loss.
        let cost = annual_loss.map(|loss| gap.share.rest().times_part(loss, part));
        let risk = of_control(catalog, control, assessed, gap, cost);
        touch(&mut touched, &gap.failing, risk.score);
        all.open.push(risk);
    }
    for current in unmapped {
        let is_serious = Severity::High <= current.worst.severity;
        match current.voice(UNMAPPED_AGE_DAYS) {
            Some(voice) if !voice.word.is_failing() => all.fixed.push(condition(current)),
            Some(voice) if is_serious => {
                horizon.see(voice.until);
                let risk = of_finding(voice, !horizon.is_past(voice.until));
                touch(&mut touched, &[voice], risk.score);
                all.open.push(risk);
            }
            Some(_) | None => (),
        }
    }
    all.open
        .sort_by(|a, b| (Reverse(a.score), &a.condition).cmp(&(Reverse(b.score), &b.condition)));
    all.fixed.sort_unstable();
    touched.sort_unstable();
    touched.dedup_by_key(|it| it.subject()); // Of each the highest score stays.
    all.touched = touched.into_iter().map(|it| (it.subject(), it.score())).collect();
    all
}

/// A failing subject and the score of a risk that touches it, in one number: sorted by subject, then from the highest
/// score on. There are many, and numbers sort fastest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch(u128);

impl Touch {
    fn of(subject: u64, score: u8) -> Self {
        Self(u128::from(subject) << 8 | u128::from(!score))
    }

    fn subject(self) -> u64 {
        u64::try_from(self.0 >> 8).expect("64 bits are left of it")
    }

    fn score(self) -> u8 {
        !self.0.to_le_bytes()[0]
    }
}

fn n_failing(failing: &[EvidenceClaim<'_>]) -> usize {
    failing.iter().flat_map(|it| it.current.failing()).map(|it| it.failing.len()).sum()
}

fn touch(touched: &mut Vec<Touch>, failing: &[EvidenceClaim<'_>], score: u8) {
    for observation in failing.iter().flat_map(|it| it.current.failing()) {
        touched.extend(observation.failing.iter().map(|it| Touch::of(*it, score)));
    }
}

fn of_control(
    catalog: &Catalog,
    control: &Control,
    assessed: &AssessedControl<'_>,
    gap: &Gap<'_>,
    dollar_impact: Option<u64>,
) -> Risk {
    let mut description = assessed.outcome.findings.clone().unwrap_or_default();
    let mut add = |text: &str| {
        description.push(' ');
        description.push_str(text);
    };
    if gap.stated.is_some() && !gap.failing.is_empty() {
        add(&finding::observed(&gap.seen));
    }
    if !gap.failing.is_empty() {
        add(&format!("Seen by {}.", finding::places(&gap.failing)));
    }
    add(&control.risk);
    Risk {
        condition: format!("control/{}", control.code),
        title: format!("Not fully met: {}", control.title),
        description,
        category: catalog.categories[control.category].name.clone(),
        severity: control.severity,
        dollar_impact,
        score: risk_score(control.severity, gap.share, gap.seen.is_critical),
        source_type: SourceType::Control,
        verified: gap.is_verified,
    }
}

fn of_finding(voice: EvidenceClaim<'_>, is_verified: bool) -> Risk {
    let observation = voice.current.worst;
    let title = observation.title.trim();
    let seen = Sum::of(std::iter::once(voice));
    Risk {
        condition: condition(voice.current),
        title: if title.is_empty() { observation.check.clone() } else { title.to_owned() },
        description: finding::unmapped(&voice),
        category: voice.current.tool().to_owned(),
        severity: observation.severity,
        dollar_impact: None,
        score: risk_score(observation.severity, seen.share(), voice.word.is_critical),
        source_type: SourceType::Finding,
        verified: is_verified,
    }
}

/// Names what a check that no control is mapped to finds in one scope.
fn condition(current: &Current<'_>) -> String {
    let observation = current.worst;
    let tool = match &observation.subject {
        Subject::Check { tool } => tool,
        Subject::Control(code) => code, // A control that the catalogue does not have.
    };
    let parts = [tool, &observation.check, &observation.source, &observation.scope];
    format!("finding/{}", parts.map(|it| escaped(it)).join("/"))
}

/// So that the parts of a condition cannot run into each other.
fn escaped(part: &str) -> String {
    part.replace('%', "%25").replace('/', "%2F")
}
