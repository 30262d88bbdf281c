//! The risks of a client: failing controls, and findings that no control is mapped to.

mod loss;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

pub use self::loss::rounded;
use self::loss::{Loss, Points};
use super::catalog::{Catalog, Control};
use super::control::{AssessedControl, Gap, UNMAPPED_AGE_DAYS};
use super::evidence::current::{Current, EvidenceClaim};
use super::evidence::fraction::Share;
use super::evidence::share::Sum;
use super::finding;
use super::horizon::Horizon;
use super::posture::{ExpectedLoss, Risk, RiskExtent, SourceType};
use crate::engine::fact::{Status, Subject};
use crate::engine::severity::Severity;

/// Divides the description of a risk that no control is mapped to: what was found, and the remediation. `None`: the
/// assessor gave none.
#[must_use]
pub fn split_remediation(description: &str) -> Option<(&str, &str)> {
    let (found, remediation) = description.split_once(finding::TO_FIX)?;
    Some((found.trim_end(), remediation))
}

/// Points for how much fails. With the points for severity and for a critical asset, they are at most 100.
const SHARE_POINTS: u64 = 20;
const CRITICAL_ASSET_POINTS: u8 = 10;
/// How many findings that no control is mapped to are a risk each: the worst. The rest is one risk for each tool.
pub const N_FINDINGS_MAX: usize = 50_000;
/// The category of findings of a tool that the catalog does not know.
const NO_CATEGORY: &str = "Other";

/// Everything about risks that a posture holds.
#[derive(Debug, Default)]
pub(super) struct PostureRisks {
    pub(super) open: Vec<Risk>,
    pub(super) fixed: Vec<String>,
    pub(super) overridden: Vec<String>,
    pub(super) touched: BTreeMap<u64, u8>,
    pub(super) loss: Option<ExpectedLoss>,
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

/// Returns the risks of a client and its expected loss.
///
/// `base_loss`: what a year would cost if it met everything.
pub(super) fn risks(
    catalog: &Catalog,
    controls: &[AssessedControl<'_>],
    unmapped: &[&Current<'_>],
    base_loss: Option<u64>,
    horizon: &mut Horizon,
) -> PostureRisks {
    let mut all = PostureRisks::default();
    let gaps = controls.iter().filter_map(|it| it.gap.as_ref());
    let mut touched = Vec::with_capacity(gaps.map(|it| n_failing(&it.failing)).sum());
    let all_points = open_gaps(catalog, controls).map(|(control, _, gap)| points(control, gap));
    let loss = base_loss.map(|base| Loss::of(base, all_points));
    all.loss = loss.as_ref().map(Loss::expected);
    let fixed = catalog.controls.iter().zip(controls).filter(|(_, it)| it.is_fixed);
    all.fixed.extend(fixed.map(|(control, _)| condition_of(control)));
    let overridden = catalog.controls.iter().zip(controls).filter(|(_, it)| it.is_overridden);
    all.overridden.extend(overridden.map(|(control, _)| condition_of(control)));
    all.overridden.sort_unstable();
    for (control, assessed, gap) in open_gaps(catalog, controls) {
        let saved = loss.as_ref().map(|it| it.saved_by(points(control, gap)));
        let risk = of_control(catalog, control, assessed, gap, saved);
        touch(&mut touched, &gap.failing, risk.score);
        all.open.push(risk);
    }
    let mut findings = Vec::new();
    for current in unmapped {
        let is_serious = Severity::High <= current.worst.severity;
        match current.claim(UNMAPPED_AGE_DAYS, None) {
            Some(claim) if !claim.result.is_failing() => all.fixed.push(condition(current)),
            Some(claim) if is_serious => {
                horizon.see(claim.until);
                let risk = of_finding(catalog, claim, !horizon.is_past(claim.until));
                touch(&mut touched, &[claim], risk.score);
                findings.push((current.tool(), risk));
            }
            Some(_) | None => (),
        }
    }
    findings.sort_by(|a, b| worst_first(&a.1, &b.1));
    let rest = findings.split_off(findings.len().min(N_FINDINGS_MAX));
    all.open.extend(findings.into_iter().map(|it| it.1));
    all.open.extend(summaries(&rest));
    all.open.sort_by(worst_first);
    all.fixed.sort_unstable();
    touched.sort_unstable();
    touched.dedup_by_key(|it| it.subject()); // The highest score of each subject stays.
    all.touched = touched.into_iter().map(|it| (it.subject(), it.score())).collect();
    all
}

/// Returns the controls that are a risk, with what fails of them.
fn open_gaps<'c, 'a>(
    catalog: &'c Catalog,
    controls: &'c [AssessedControl<'a>],
) -> impl Iterator<Item = (&'c Control, &'c AssessedControl<'a>, &'c Gap<'a>)> {
    let all = catalog.controls.iter().zip(controls);
    all.filter_map(|(control, assessed)| {
        let gap = assessed.gap.as_ref().filter(|it| !is_only_of_findings(control, it))?;
        Some((control, assessed, gap))
    })
}

fn points(control: &Control, gap: &Gap<'_>) -> Points {
    Points::of(control.severity, gap.share, gap.seen.is_critical || gap.seen.is_fatal)
}

/// Highest score first, then by condition.
fn worst_first(a: &Risk, b: &Risk) -> Ordering {
    (Reverse(a.score), &a.condition).cmp(&(Reverse(b.score), &b.condition))
}

/// Returns one risk for the findings of each tool that are beyond [`N_FINDINGS_MAX`].
fn summaries(rest: &[(&str, Risk)]) -> Vec<Risk> {
    let mut by_tool: BTreeMap<&str, Vec<&Risk>> = BTreeMap::new();
    for (tool, risk) in rest {
        by_tool.entry(tool).or_default().push(risk);
    }
    let summary = |(tool, findings): (&str, Vec<&Risk>)| {
        let n = findings.len();
        let worst = findings[0]; // They are sorted.
        Risk {
            condition: format!("findings/{}", escaped(tool)),
            title: format!("{n} more findings of {tool}"),
            description: format!(
                "{n} findings of {tool} are open beyond the {N_FINDINGS_MAX} worst, which are listed one by one. They \
                 are listed too as soon as others are fixed."
            ),
            severity: findings.iter().map(|it| it.severity).max().unwrap_or(worst.severity),
            verified: findings.iter().any(|it| it.verified),
            is_muted: findings.iter().all(|it| it.is_muted),
            ..worst.clone()
        }
    };
    by_tool.into_iter().map(summary).collect()
}

/// A failing subject and the score of a risk that affects it, as one number. There are many, and numbers sort fastest:
/// by subject, then from the highest score on.
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
    for claim in failing {
        for observation in claim.current.failing() {
            let intended = claim.intended(observation);
            let failing = observation.failing.iter().filter(|it| !intended.contains(it));
            touched.extend(failing.map(|it| Touch::of(*it, score)));
        }
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
    add(&format!("What can happen: {}", control.risk));
    Risk {
        condition: condition_of(control),
        title: control.gap.clone(),
        description,
        category: catalog.categories[control.category].name.clone(),
        severity: control.severity,
        dollar_impact,
        score: risk_score(control.severity, gap.share, gap.seen.is_critical),
        source_type: SourceType::Control,
        verified: gap.is_verified,
        is_muted: gap.stated.is_none() && gap.failing.iter().all(|it| it.result.is_muted()),
        extent: RiskExtent {
            is_not_met: assessed.outcome.status == Status::NonCompliant,
            is_critical: gap.seen.is_critical,
            n_failing: gap.seen.n_failing(),
            permille: permille(gap.share),
        },
    }
}

fn of_finding(catalog: &Catalog, claim: EvidenceClaim<'_>, is_verified: bool) -> Risk {
    let observation = claim.current.worst;
    let title = Some(observation.title.trim()).filter(|it| !it.is_empty());
    let category = catalog.tools.get(claim.current.tool()).map(|it| it.category);
    let seen = Sum::of(std::iter::once(claim));
    Risk {
        condition: condition(claim.current),
        title: format!("Check failed: \"{}\"", title.unwrap_or(&observation.check)),
        description: finding::unmapped(&claim),
        category: category.map_or(NO_CATEGORY, |it| &catalog.categories[it].name).to_owned(),
        severity: observation.severity,
        dollar_impact: None,
        score: risk_score(observation.severity, seen.share(), claim.result.is_critical),
        source_type: SourceType::Finding,
        verified: is_verified,
        is_muted: claim.result.is_muted(),
        extent: RiskExtent {
            is_not_met: claim.result.status == Status::NonCompliant,
            is_critical: claim.result.is_critical,
            n_failing: claim.result.failed,
            permille: permille(seen.share()),
        },
    }
}

/// The share that fails, in thousandths.
fn permille(passing: Share) -> u16 {
    u16::try_from(passing.rest().times(1_000)).expect("a share is at most the whole")
}

/// Returns true if what fails is open findings, each of which is a risk already: of the control that its check decides,
/// or of its own.
fn is_only_of_findings(control: &Control, gap: &Gap<'_>) -> bool {
    let is_check =
        |it: &EvidenceClaim<'_>| matches!(it.current.worst.subject, Subject::Check { .. });
    control.open_findings.is_some() && gap.stated.is_none() && gap.failing.iter().all(is_check)
}

/// Names what is wrong with a control.
fn condition_of(control: &Control) -> String {
    format!("control/{}", control.code)
}

/// Names what a check that no control is mapped to reports in one scope.
fn condition(current: &Current<'_>) -> String {
    let observation = current.worst;
    let tool = match &observation.subject {
        Subject::Check { tool } => tool,
        Subject::Control(code) => code, // A control that is not in the catalog.
    };
    let parts = [tool, &observation.check, &observation.source, &observation.scope];
    format!("finding/{}", parts.map(|it| escaped(it)).join("/"))
}

/// Escapes the separator, so that different parts never give the same condition.
fn escaped(part: &str) -> String {
    part.replace('%', "%25").replace('/', "%2F")
}
