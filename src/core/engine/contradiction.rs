//! Decisions of people that are contradicted by what was seen.

use bincode::{Decode, Encode};

use super::evidence::current::EvidenceClaim;
use super::evidence::estate::Estate;
use super::fact::{Attestation, Profile, RowDecision, Status, UNUSED_DAYS, Usage};
use super::framework::FrameworkId;
use super::horizon::Horizon;
use crate::clock::Time;

/// How many sources a contradiction names. The others are counted.
pub const N_SOURCES_NAMED: usize = 10;

/// What a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum DecidedThing {
    /// A control, by its code.
    Control(String),
    Row {
        framework: FrameworkId,
        reference: String,
    },
    /// A platform, by the question of the profile.
    Platform(String),
}

impl DecidedThing {
    /// Names it within its client. It never changes.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Control(code) => format!("control/{code}"),
            Self::Row { framework, reference } => {
                format!("requirement/{}/{reference}", framework.as_str())
            }
            Self::Platform(question) => format!("platform/{question}"),
        }
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DecisionKind {
    /// A person says that a control is met, or partly met, whatever is observed.
    Override,
    OutOfScope,
    /// The profile says that the client does not use a platform.
    Unused,
}

impl DecisionKind {
    pub const ALL: [Self; 3] = [Self::Override, Self::OutOfScope, Self::Unused];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::OutOfScope => "out_of_scope",
            Self::Unused => "unused",
        }
    }
}

/// A decision that counts, and what was seen against it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Contradiction {
    pub about: DecidedThing,
    pub kind: DecisionKind,
    pub by: String,
    pub at: Time,
    /// When the decision expires. `None`: it does not.
    pub until: Option<Time>,
    /// `None`: an answer of the profile has none.
    pub reason: Option<String>,
    pub seen: Sighting,
}

/// What was seen against a decision.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sighting {
    /// Codes of the controls that were seen failing. Empty for a platform.
    pub controls: Vec<String>,
    /// How often a subject was seen failing, by all checks. 0 for a platform: that something of it was seen is enough.
    pub n_failing: u64,
    /// The first [`N_SOURCES_NAMED`] that saw it, in order.
    pub sources: Vec<String>,
    /// How many sources saw it.
    pub n_sources: u32,
    /// When the newest of it was observed.
    pub at: Time,
}

impl Sighting {
    /// `places`: sources, and when each saw something.
    fn of(controls: Vec<String>, places: &[(&str, Time)], n_failing: u64) -> Self {
        let mut sources: Vec<_> = places.iter().map(|it| it.0).collect();
        sources.sort_unstable();
        sources.dedup();
        Self {
            controls,
            n_failing,
            sources: sources.iter().take(N_SOURCES_NAMED).map(|it| (*it).to_owned()).collect(),
            n_sources: u32::try_from(sources.len()).unwrap_or(u32::MAX),
            at: places.iter().map(|it| it.1).max().unwrap_or(Time::EPOCH),
        }
    }

    fn of_failing(controls: Vec<String>, failing: &[EvidenceClaim<'_>]) -> Self {
        let places: Vec<_> =
            failing.iter().map(|it| (it.place().0, it.current.worst.observed_at)).collect();
        let n = failing.iter().fold(0_u64, |n, it| n.saturating_add(it.result.failed));
        Self::of(controls, &places, n)
    }
}

/// What was seen failing of a control that a person put out of scope, or says is met whatever is observed.
#[derive(Debug)]
pub(super) struct Hidden<'a> {
    pub(super) by: &'a Attestation,
    pub(super) failing: Vec<EvidenceClaim<'a>>,
}

impl<'a> Hidden<'a> {
    /// `None`: the attestation, which decides the control, hides no failure. `claims`: all evidence about the control.
    pub(super) fn of(by: &'a Attestation, claims: &[EvidenceClaim<'a>]) -> Option<Self> {
        let is_good = match by.status {
            Status::Compliant | Status::Partial => by.overrides,
            Status::NotApplicable => true,
            Status::NonCompliant | Status::NotAssessed => false,
        };
        let claims = claims.iter().filter(|_| is_good);
        let failing: Vec<_> = claims.filter(|it| is_failing_after(it, by.at)).copied().collect();
        (!failing.is_empty()).then_some(Self { by, failing })
    }

    pub(super) fn contradiction(&self, code: &str) -> Contradiction {
        let by = self.by;
        let kind = match by.status {
            Status::NotApplicable => DecisionKind::OutOfScope,
            Status::Compliant | Status::Partial | Status::NonCompliant | Status::NotAssessed => {
                DecisionKind::Override
            }
        };
        Contradiction {
            about: DecidedThing::Control(code.to_owned()),
            kind,
            by: by.by.clone(),
            at: by.at,
            until: by.until,
            reason: Some(by.reason.clone()),
            seen: Sighting::of_failing(vec![code.to_owned()], &self.failing),
        }
    }
}

/// Returns true if a source saw it fail, and that was not out of date when the decision was made. Time alone ends no
/// contradiction: what failed fails until it was seen to pass.
fn is_failing_after(claim: &EvidenceClaim<'_>, decided_at: Time) -> bool {
    claim.result.is_failing() && decided_at < claim.until && !claim.current.worst.is_said()
}

/// The code of a control, and what was seen failing of it.
pub(super) type SeenControl<'c, 'a> = (&'c str, &'c [EvidenceClaim<'a>]);

/// Returns the contradiction of a decision that takes a row out of scope. `None`: none of the controls that decide the row was
/// seen failing.
pub(super) fn of_row<'c, 'a: 'c>(
    decision: &RowDecision,
    deciding: impl Iterator<Item = SeenControl<'c, 'a>>,
) -> Option<Contradiction> {
    let (mut controls, mut failing) = (Vec::new(), Vec::new());
    for (code, seen) in deciding {
        let n_before = failing.len();
        failing.extend(seen.iter().filter(|it| is_failing_after(it, decision.at)).copied());
        if n_before < failing.len() {
            controls.push(code.to_owned());
        }
    }
    (!failing.is_empty()).then(|| Contradiction {
        about: DecidedThing::Row {
            framework: decision.framework,
            reference: decision.reference.clone(),
        },
        kind: DecisionKind::OutOfScope,
        by: decision.by.clone(),
        at: decision.at,
        until: decision.until,
        reason: Some(decision.reason.clone()),
        seen: Sighting::of_failing(controls, &failing),
    })
}

/// Returns the contradictions of answers that a platform is unused, although something of it was seen since.
pub(super) fn of_platforms(
    profile: &Profile,
    estate: &Estate<'_>,
    horizon: &mut Horizon,
) -> Vec<Contradiction> {
    let mut all = Vec::new();
    for (question, usage) in profile {
        let Usage::Unused { by, until } = usage else { continue };
        horizon.see(*until);
        let said = until.plus_days(-UNUSED_DAYS);
        let places: Vec<_> = estate.seen_after(question, said).collect();
        if horizon.is_past(*until) || places.is_empty() {
            continue;
        }
        all.push(Contradiction {
            about: DecidedThing::Platform(question.clone()),
            kind: DecisionKind::Unused,
            by: by.clone(),
            at: said,
            until: Some(*until),
            reason: None,
            seen: Sighting::of(Vec::new(), &places, 0),
        });
    }
    all
}
