//! Warnings about statements that expire soon. Each is announced once, and is open until the statement is renewed or
//! withdrawn.

use std::collections::BTreeSet;

use super::estate::EstateStatement;
use super::part::AttestedPart;
use super::statement::Statements;
use super::subject::AssessmentInput;
use crate::app::event::condition::ConditionPlan;
use crate::app::event::envelope::NewEvent;
use crate::app::event::expiry::{ATTESTATION, DECISION, ESTATE, EVIDENCE, EvidenceExpiring};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Attestation, RowDecision};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::statement::Topic;

/// A warning is opened at the earliest when one fifth of the term is left.
const SHARE: i64 = 5;
const DAY_S: i64 = 86_400;

/// A statement with an end.
struct Term {
    warning: NewEvent,
    from: Time,
    end: Time,
}

impl Term {
    /// The term of evidence, an attestation or a decision. `key` names it among terms of the same kind.
    fn of(mut body: EvidenceExpiring<'_>, key: &str, from: Time, end: Time) -> Self {
        body.key = format!("{}/{key}", body.kind);
        body.valid_until = end.to_string();
        Self { warning: NewEvent::new(&body, from), from, end }
    }

    fn of_evidence(it: &Evidence) -> Option<Self> {
        let control_code = Some(it.control.as_str());
        let body =
            EvidenceExpiring { control_code, ..EvidenceExpiring::blank(EVIDENCE, &it.title) };
        Some(Self::of(body, &it.id.to_string(), it.added_at, it.valid_until?))
    }

    /// Also `None` for a control that is no longer in the catalog.
    fn of_attestation(it: &Attestation, catalog: &Catalog) -> Option<Self> {
        let title = &catalog.controls[catalog.find_control(&it.control)?].title;
        let control_code = Some(it.control.as_str());
        let body = EvidenceExpiring { control_code, ..EvidenceExpiring::blank(ATTESTATION, title) };
        Some(Self::of(body, &it.control, it.at, it.until?))
    }

    /// The same of a part of a control.
    fn of_part(it: &AttestedPart, catalog: &Catalog) -> Option<Self> {
        let Attestation { control: code, at, until, .. } = &it.attested.attestation;
        let control = &catalog.controls[catalog.find_control(code)?];
        let title = format!("{}: {}", control.title, it.part.name(control));
        let control_code = Some(code.as_str());
        let body =
            EvidenceExpiring { control_code, ..EvidenceExpiring::blank(ATTESTATION, &title) };
        Some(Self::of(body, &format!("{code}/{}", it.part), *at, (*until)?))
    }

    /// Also `None` for a requirement that is no longer in the catalog.
    fn of_decision(it: &RowDecision, catalog: &Catalog) -> Option<Self> {
        let (framework, reference) = (it.framework.as_str(), &it.reference);
        let found = catalog.find_framework(it.framework)?;
        let title = &found.rows[found.find_row(reference)?].title;
        let body = EvidenceExpiring {
            framework: Some(framework),
            requirement: Some(reference),
            ..EvidenceExpiring::blank(DECISION, title)
        };
        Some(Self::of(body, &format!("{framework}/{reference}"), it.at, it.until?))
    }

    /// One term for all kinds of which a person says that these are all: that of the first that ends. It names those that end soon
    /// after it.
    fn of_estate(said: &[EstateStatement], warning_days: u16) -> Option<Self> {
        let ends = said.iter().filter_map(|it| {
            let Topic::Whole(kind) = it.topic else { return None };
            Some((it.content.until?, it.content.from, kind.name()))
        });
        let mut ends: Vec<(Time, Time, &str)> = ends.collect();
        ends.sort_unstable();
        let (end, from, _) = *ends.first()?;
        let last = end.plus_days(i64::from(warning_days));
        let soon = ends.iter().take_while(|it| it.0 <= last);
        let names: Vec<&str> = soon.map(|it| it.2).collect();
        let title = format!("These are all: {}", names.join(", "));
        Some(Self::of(EvidenceExpiring::blank(ESTATE, &title), "all", from, end))
    }

    fn warned_at(&self, warning_days: u16) -> Time {
        let share_s = self.end.s_since(self.from) / SHARE;
        self.end.plus_s(-share_s.min(i64::from(warning_days) * DAY_S))
    }
}

/// Returns the keys of the open warnings.
fn open_keys(rows: &ClientSnapshot) -> Result<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    for start in [EVIDENCE, ATTESTATION, DECISION, ESTATE] {
        let all = rows.list_conditions_of(&format!("{start}/"))?.into_iter();
        keys.extend(all.filter(|it| it.closed_at.is_none()).map(|it| it.key));
    }
    Ok(keys)
}

/// The changes to the warnings of one client.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// Warnings to open.
    opened: Vec<NewEvent>,
    /// The keys of warnings to close.
    closed: Vec<String>,
    /// When the next warning is due or the next statement expires.
    pub next: Option<Time>,
}

impl Expiry {
    pub fn of(
        rows: &ClientSnapshot,
        statements: &Statements,
        subject: &AssessmentInput,
        now: Time,
    ) -> Result<Self> {
        let catalog = &subject.catalog;
        let evidence = statements.evidence.iter().filter_map(Term::of_evidence);
        let attested = statements.attested.iter();
        let attested = attested.filter_map(|it| Term::of_attestation(&it.attestation, catalog));
        let of_parts = statements.parts.iter().filter_map(|it| Term::of_part(it, catalog));
        let decided = statements.decisions.iter();
        let decided = decided.filter_map(|it| Term::of_decision(it, catalog));
        let estate = Term::of_estate(&statements.estate, subject.evidence_warning_days);
        let said = attested.chain(of_parts).chain(decided);
        let terms: Vec<Term> = evidence.chain(said).chain(estate).collect();
        let warned_at = |it: &Term| it.warned_at(subject.evidence_warning_days);
        let moments = terms.iter().flat_map(|it| [warned_at(it), it.end]);
        let next = moments.filter(|it| now < *it).min();
        let (warned, _): (Vec<Term>, Vec<Term>) =
            terms.into_iter().partition(|it| warned_at(it) <= now);
        let mut closed = open_keys(rows)?;
        let mut opened = Vec::new();
        for it in warned {
            if !closed.remove(it.warning.key()) {
                opened.push(it.warning);
            }
        }
        Ok(Self { opened, closed: closed.into_iter().collect(), next })
    }

    /// Adds the changes to those of a run.
    pub fn add_to(
        self,
        conditions: Option<ConditionPlan>,
        rows: &ClientSnapshot,
        now: Time,
    ) -> Result<Option<ConditionPlan>> {
        ConditionPlan::changed(conditions, rows, (self.closed, self.opened), true, now)
    }
}
