//! Why a requirement of a client is not compliant, in words.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::fact::{Profile, RowDecision, RowDecisionKind, Status, Usage};
use crate::engine::framework::{ControlRole, Framework, FrameworkId, Level, Mapping};
use crate::engine::posture::{ControlOutcome, PartialBecause, RowOutcome};

/// What the reasons are read from.
pub struct ReasonInput<'a> {
    pub catalog: &'a Catalog,
    /// In the catalog's order.
    pub controls: &'a [ControlOutcome],
    pub profile: &'a Profile,
    /// Platforms that a source reported about.
    pub seen: &'a BTreeSet<String>,
    pub now: Time,
}

/// A question of the profile without an answer, and the rows that wait only for it and others like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    pub question: String,
    /// By framework, in its order.
    pub rows: Vec<(FrameworkId, usize)>,
}

/// What keeps a row from being compliant: indices of controls, in their order.
#[derive(Default)]
struct RowGaps<'a> {
    failing: Vec<usize>,
    /// With the number of days within which the row requires evidence.
    outdated: Vec<(usize, u16)>,
    unassessed: Vec<usize>,
    /// Controls that are not assessed, by the question that may take them out of scope.
    asked: BTreeMap<&'a str, Vec<&'a str>>,
}

impl RowGaps<'_> {
    fn waits_only_for_answers(&self) -> bool {
        !self.asked.is_empty()
            && self.failing.is_empty()
            && self.unassessed.is_empty()
            && self.outdated.is_empty()
    }
}

/// One thing that keeps a row from being compliant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Failing {
        name: ControlName,
        status: Status,
        why: Option<PartialBecause>,
        score: u8,
    },
    Outdated {
        name: ControlName,
        /// The row requires evidence that is not older.
        days: u16,
    },
    Unassessed {
        name: ControlName,
        why: Unassessed,
    },
    /// The answer to a question of the profile may take controls out of scope.
    Unanswered {
        question: String,
        codes: Vec<String>,
    },
    NoControl,
    OnlySupported,
    EvidenceTooOld,
}

/// A control's code and title, in both languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlName {
    pub english: String,
    pub french: String,
}

impl ControlName {
    fn of(control: &Control) -> Self {
        let french = control.french.as_ref().map_or(&control.title, |it| &it.title);
        let name = |title: &String| format!("{} {title}", control.code);
        Self { english: name(&control.title), french: name(french) }
    }
}

/// What is known of a control that is not assessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unassessed {
    Unseen,
    WasWorse,
    ShowsTooLittle,
}

impl ReasonInput<'_> {
    /// Returns each thing that keeps a row from being compliant. Empty: it is, or it does not apply.
    ///
    /// `mappings`: those of the row and of the rows below it.
    #[must_use]
    pub fn because(
        &self,
        mappings: &[&Mapping],
        outcome: RowOutcome,
        decision: Option<&RowDecision>,
    ) -> Vec<Reason> {
        if outcome.status.is_settled() {
            return Vec::new();
        }
        let mut reasons = self.reasons(self.gaps(mappings));
        let decides = |it: &&Mapping| {
            it.role == ControlRole::Decides
                && self.controls[it.control].status != Status::NotApplicable
        };
        if !mappings.iter().any(decides) && !is_attested(decision, self.now) {
            reasons.push(match mappings {
                [] => Reason::NoControl,
                _ => Reason::OnlySupported,
            });
        }
        if reasons.is_empty() {
            reasons.push(Reason::EvidenceTooOld);
        }
        reasons
    }

    /// Why a row is partial. `None`: it is not. It fails if one of its controls does, and is only claimed if nobody has to look any
    /// more.
    #[must_use]
    pub fn partial_because(
        &self,
        mappings: &[&Mapping],
        outcome: RowOutcome,
    ) -> Option<PartialBecause> {
        if outcome.status != Status::Partial {
            return None;
        }
        let why = |it: &&Mapping| {
            let it = &self.controls[it.control];
            match it.status {
                Status::NonCompliant => Some(PartialBecause::Failing),
                Status::Partial => it.partial_because,
                Status::NotAssessed => Some(PartialBecause::Unseen),
                Status::Compliant | Status::NotApplicable => None,
            }
        };
        let all: Vec<PartialBecause> = mappings.iter().filter_map(why).collect();
        let worst = [PartialBecause::Failing, PartialBecause::Unseen, PartialBecause::Claimed];
        Some(worst.into_iter().find(|it| all.contains(it)).unwrap_or(PartialBecause::Unseen))
    }

    /// Failing controls first, then those not seen lately, then those not assessed.
    fn reasons(&self, gaps: RowGaps<'_>) -> Vec<Reason> {
        let name = |it: usize| ControlName::of(&self.catalog.controls[it]);
        let mut reasons = Vec::new();
        for it in gaps.failing {
            let ControlOutcome { status, score, partial_because, .. } = &self.controls[it];
            let (status, why, score) = (*status, *partial_because, score.unwrap_or(0));
            reasons.push(Reason::Failing { name: name(it), status, why, score });
        }
        for (it, days) in gaps.outdated {
            reasons.push(Reason::Outdated { name: name(it), days });
        }
        for it in gaps.unassessed {
            let why = match &self.controls[it] {
                it if it.held => Unassessed::WasWorse,
                it if it.shows_too_little() => Unassessed::ShowsTooLittle,
                _ => Unassessed::Unseen,
            };
            reasons.push(Reason::Unassessed { name: name(it), why });
        }
        for (question, codes) in gaps.asked {
            let codes = codes.into_iter().map(str::to_owned).collect();
            reasons.push(Reason::Unanswered { question: question.to_owned(), codes });
        }
        reasons
    }

    fn gaps(&self, mappings: &[&Mapping]) -> RowGaps<'_> {
        let mut gaps = RowGaps::default();
        for mapping in mappings {
            let index = mapping.control;
            let (control, outcome) = (&self.catalog.controls[index], &self.controls[index]);
            match outcome.status {
                Status::NotApplicable => (),
                Status::Compliant => {
                    let term = mapping.within_days.zip(outcome.assessed_at);
                    let late = term.filter(|(days, at)| at.plus_days(i64::from(*days)) <= self.now);
                    gaps.outdated.extend(late.map(|(days, _)| (index, days)));
                }
                Status::Partial | Status::NonCompliant => gaps.failing.push(index),
                // Something passes there: the client uses it, and no answer takes it out of scope.
                Status::NotAssessed if outcome.shows_too_little() => gaps.unassessed.push(index),
                Status::NotAssessed => {
                    let open = self.open_questions_of(control);
                    if open.is_empty() {
                        gaps.unassessed.push(index);
                    }
                    for question in open {
                        gaps.asked.entry(question).or_default().push(&control.code);
                    }
                }
            }
        }
        gaps
    }

    /// The questions that may take a control out of scope: none if the client uses one of its platforms, or a source
    /// reported about it.
    fn open_questions_of<'a>(&self, control: &'a Control) -> Vec<&'a str> {
        let usage = |it: &String| self.profile.get(it);
        let is_used = |it: &String| usage(it) == Some(&Usage::Used) || self.seen.contains(it);
        if control.platforms.iter().any(is_used) {
            return Vec::new();
        }
        let is_open = |it: &&String| match usage(it) {
            None | Some(Usage::Unknown) => true,
            Some(Usage::Used) => false,
            Some(Usage::Unused { until, .. }) => *until <= self.now,
        };
        control.platforms.iter().filter(is_open).map(String::as_str).collect()
    }

    /// Returns the questions whose answers rows wait for: nothing else keeps these from being compliant.
    #[must_use]
    pub fn open_questions(&self, frameworks: &[(&Framework, &[RowOutcome])]) -> Vec<OpenQuestion> {
        let mut open: BTreeMap<&str, Vec<(FrameworkId, usize)>> = BTreeMap::new();
        for (framework, outcomes) in frameworks {
            let rows = framework.mappings().into_iter().zip(*outcomes);
            for (row, (mappings, outcome)) in rows.enumerate() {
                let is_requirement = framework.rows[row].level == Level::Requirement;
                if outcome.status.is_settled() || !is_requirement {
                    continue;
                }
                let gaps = self.gaps(&mappings);
                if gaps.waits_only_for_answers() {
                    for question in gaps.asked.into_keys() {
                        open.entry(question).or_default().push((framework.id, row));
                    }
                }
            }
        }
        let open = open.into_iter();
        open.map(|(question, rows)| OpenQuestion { question: question.to_owned(), rows }).collect()
    }
}

fn is_attested(decision: Option<&RowDecision>, now: Time) -> bool {
    decision.is_some_and(|it| {
        matches!(it.kind, RowDecisionKind::Attested { .. }) && it.until.is_none_or(|end| now < end)
    })
}
