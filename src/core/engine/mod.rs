//! From the catalog and facts to a posture. Pure: no I/O, no clock, no randomness, no floats.

pub mod asset;
pub mod basis;
pub mod catalog;
pub mod change;
pub mod contradiction;
pub mod control;
pub mod estate;
pub mod event;
pub mod fact;
pub mod framework;
pub mod identity;
pub mod memory;
pub mod network;
pub mod posture;
pub mod readiness;
pub mod severity;
pub mod subject;
pub mod vulnerability;

mod digest;
mod evidence;
mod finding;
mod horizon;
mod requirement;
pub mod risk;
mod score;
mod statement;

use std::cmp::Reverse;
use std::collections::BTreeMap;

pub use self::evidence::stated::{ControlPart, StatedPart};
pub use self::evidence::subject::{covers, known_failing};
pub use self::statement::platform_name;
use catalog::Catalog;
use estate::{N_UNSEEN_MAX, Unseen, UnseenKind};
use evidence::estate::Estate;
use evidence::left::Left;
use evidence::sight::Sights;
use fact::Facts;
use horizon::Horizon;
use identity::aside::AccountStandings;
use posture::{FrameworkOutcome, Posture};
use statement::RowStatements;

/// The version of the rules by which [`assess`] decides. It rises with each release that may decide the same facts otherwise.
pub const RULES_VERSION: u16 = 2;

/// Assesses one client. The same facts in any order give the same posture.
#[must_use]
pub fn assess(catalog: &Catalog, facts: &Facts<'_>) -> Posture {
    let mut horizon = Horizon::after(facts.now);
    let said = evidence::stated::observations(catalog, facts.parts);
    let sorted = evidence::current::sorted(facts, &said);
    let mut current = evidence::current::of_each_key(&sorted, facts);
    let sights = Sights::of(&current, &mut horizon);
    let left = Left::of(facts, &sights, &mut horizon);
    let places_left = left.places_in(&current);
    left.drop_from(&mut current);
    let estate = Estate::of(facts, &sights, &left, &mut horizon);
    let rulings = evidence::subject::by_control(catalog, facts, &mut horizon);
    let (mut controls, unmapped) =
        control::assess(catalog, facts, (&current, &rulings), &estate, &mut horizon);
    let hidden = controls.iter().filter_map(|it| Some((it, it.hidden.as_ref()?)));
    let mut contradictions: Vec<_> =
        hidden.map(|(control, it)| it.contradiction(&control.outcome.code)).collect();
    let statements = RowStatements::of(facts.decisions, &mut horizon);
    let frameworks = catalog.frameworks.iter().map(|framework| {
        let (rows, contradicted) =
            requirement::assess(catalog, framework, &controls, &statements, facts, &mut horizon);
        contradictions.extend(contradicted);
        let (rows, bases): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let summary = readiness::summarize(framework, &rows, &controls);
        (FrameworkOutcome { id: framework.id, summary, rows }, bases)
    });
    let (frameworks, row_bases) = frameworks.unzip();
    contradictions.extend(contradiction::of_platforms(facts.profile, &estate, &mut horizon));
    let score = score::score(catalog, &controls);
    let status_of = |it: usize| controls[it].outcome.status;
    let accounts = AccountStandings::of(catalog, places_left, (&current, &rulings), status_of);
    let risks = risk::risks(catalog, &controls, &unmapped, facts.base_loss, &mut horizon);
    Posture {
        frameworks,
        score,
        has_evidence: controls.iter().any(|it| it.has_evidence),
        risks: risks.open,
        fixed: risks.fixed,
        overridden: risks.overridden,
        contradictions,
        touched: risks.touched,
        loss: risks.loss,
        changes_at: horizon.soonest(),
        row_bases,
        estate: sights.seen(&facts.estate.sights),
        unseen: unseen(catalog, &controls),
        accounts,
        grounds: controls.iter_mut().map(|it| std::mem::take(&mut it.ground)).collect(),
        controls: controls.into_iter().map(|it| it.outcome).collect(),
    }
}

/// What nobody looked at, over all controls: that of which most depends first.
fn unseen(catalog: &Catalog, controls: &[control::AssessedControl<'_>]) -> Vec<Unseen> {
    let mut all: BTreeMap<(UnseenKind, &str), (u32, Vec<String>)> = BTreeMap::new();
    for (control, assessed) in catalog.controls.iter().zip(controls) {
        for (kind, what) in &assessed.unseen {
            let (weight, codes) = all.entry((*kind, what)).or_default();
            *weight += control.severity.weight();
            codes.push(control.code.clone());
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(_, (weight, _))| Reverse(*weight));
    all.truncate(N_UNSEEN_MAX);
    let of = |((kind, what), (_, controls)): ((UnseenKind, &str), (u32, Vec<String>))| Unseen {
        kind,
        what: what.to_owned(),
        controls,
    };
    all.into_iter().map(of).collect()
}
