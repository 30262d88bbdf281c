//! What ends soon of what persons said: announced once, open until it is renewed or taken back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::app::assessment::assess::Subject;
use crate::app::assessment::statement::Statements;
use crate::app::event::announce;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::event::EventKind;
use crate::engine::fact::{Attestation, RowDecision};
use crate::error::Result;
use crate::store::per_client::evidence::Evidence;
use crate::store::{ClientBatch, ClientSnapshot};

const KIND: EventKind = EventKind::EvidenceExpiring;
/// What a warning is about; its key begins with it.
const EVIDENCE: &str = "evidence";
const ATTESTATION: &str = "attestation";
const DECISION: &str = "decision";
/// A warning comes at most this share of a term before its end.
const SHARE: i64 = 5;
const DAY_S: i64 = 86_400;

/// Something that was said until a certain moment.
struct Term {
    /// The `dedupKey`.
    key: String,
    object: Value,
    from: Time,
    end: Time,
}

impl Term {
    fn of(key: String, mut object: Value, from: Time, end: Time) -> Self {
        object["validUntil"] = json!(end.to_string());
        object["dedupKey"] = json!(key);
        Self { key, object, from, end }
    }

    fn of_evidence(it: &Evidence) -> Option<Self> {
        let object = json!({"kind": EVIDENCE, "controlCode": it.control, "title": it.title});
        let key = format!("{EVIDENCE}/{}", it.id);
        Some(Self::of(key, object, it.added_at, it.valid_until?))
    }

    /// `None` too for a control that the catalogue has no more.
    fn of_attestation(it: &Attestation, catalog: &Catalog) -> Option<Self> {
        let title = &catalog.controls[catalog.find_control(&it.control)?].title;
        let object = json!({"kind": ATTESTATION, "controlCode": it.control, "title": title});
        let key = format!("{ATTESTATION}/{}", it.control);
        Some(Self::of(key, object, it.at, it.until?))
    }

    /// `None` too for a row that the catalogue has no more.
    fn of_decision(it: &RowDecision, catalog: &Catalog) -> Option<Self> {
        let (framework, reference) = (it.framework.as_str(), &it.reference);
        let row = catalog.framework(it.framework).find_row(reference)?;
        let title = &catalog.framework(it.framework).rows[row].title;
        let object = json!({
            "kind": DECISION,
            "framework": framework,
            "requirement": reference,
            "title": title,
        });
        let key = format!("{DECISION}/{framework}/{reference}");
        Some(Self::of(key, object, it.at, it.until?))
    }

    fn warned_at(&self, warning_days: u16) -> Time {
        let share_s = self.end.s_since(self.from) / SHARE;
        self.end.plus_s(-share_s.min(i64::from(warning_days) * DAY_S))
    }
}

/// Keys of the warnings that are open.
fn open_keys(rows: &ClientSnapshot) -> Result<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    for start in [EVIDENCE, ATTESTATION, DECISION] {
        let all = rows.list_conditions_of(&format!("{start}/"))?.into_iter();
        keys.extend(all.filter(|it| it.closed_at.is_none()).map(|it| it.key));
    }
    Ok(keys)
}

/// What becomes of the warnings of one client.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// Keys and objects of those to open.
    opened: Vec<(String, Value)>,
    /// Keys of those to close.
    closed: Vec<String>,
    /// When time alone brings the next one, or evidence stops to count.
    pub next: Option<Time>,
}

impl Expiry {
    pub fn of(
        rows: &ClientSnapshot,
        statements: &Statements,
        subject: &Subject,
        now: Time,
    ) -> Result<Self> {
        let catalog = &subject.catalog;
        let evidence = statements.evidence.iter().filter_map(Term::of_evidence);
        let attested = statements.attested.iter();
        let attested = attested.filter_map(|it| Term::of_attestation(&it.attestation, catalog));
        let decided = statements.decisions.iter();
        let decided = decided.filter_map(|it| Term::of_decision(it, catalog));
        let terms: Vec<Term> = evidence.chain(attested).chain(decided).collect();
        let warned_at = |it: &Term| it.warned_at(subject.evidence_warning_days);
        let moments = terms.iter().flat_map(|it| [warned_at(it), it.end]);
        let next = moments.filter(|it| now < *it).min();
        let (warned, _): (Vec<Term>, Vec<Term>) =
            terms.into_iter().partition(|it| warned_at(it) <= now);
        let mut closed = open_keys(rows)?;
        let mut opened = Vec::new();
        for it in warned {
            if !closed.remove(&it.key) {
                opened.push((it.key, it.object));
            }
        }
        Ok(Self { opened, closed: closed.into_iter().collect(), next })
    }

    /// How many events told of it.
    pub fn apply(&self, batch: &mut ClientBatch<'_>, now: Time) -> Result<u32> {
        for key in &self.closed {
            batch.close_condition(key, now)?;
        }
        let mut n_events = 0;
        for (key, object) in &self.opened {
            let opened = batch.open_condition(key, KIND.as_str(), object.to_string(), now)?;
            let Some(occurrence) = opened else { continue };
            let mut object = object.clone();
            object["occurrence"] = json!(occurrence);
            batch.add_event(announce::event(KIND, now, object, None))?;
            n_events += 1;
        }
        Ok(n_events)
    }
}
