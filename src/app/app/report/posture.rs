//! Reads a client's posture as it was last assessed.

use std::cmp::Reverse;

use crate::app::App;
use crate::app::event::cause::Cause;
use crate::clock::Time;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::{ControlOutcome, FrameworkSummary, Risk};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::page::{Cut, Page};
use crate::store::ClientSnapshot;
use crate::store::per_client::history::score::ScoreMove;
use crate::store::per_client::posture::{OpenRisk, ScoreEntry};

/// Below this coverage a score is provisional.
pub const COVERAGE_MIN: u8 = 40;

/// The current score and the daily ones, newest first.
#[derive(Clone, Debug)]
pub struct ScoreHistory {
    /// `None` until the first valid observation or attestation.
    pub current: Option<ScoreEntry>,
    pub history: Vec<ScoreEntry>,
}

pub fn scores(rows: &ClientSnapshot, n_history: u32) -> Result<ScoreHistory> {
    Ok(ScoreHistory { current: rows.find_score()?, history: rows.list_days(n_history)? })
}

/// When the rules of assessment changed since `since`, oldest first, with the score by the new ones.
pub fn rule_changes(rows: &ClientSnapshot, since: Time) -> Result<Vec<ScoreMove>> {
    rows.list_moves_of(&Cause::Release.as_str(), since)
}

/// Open risks that are not accepted, highest score first, then by id.
pub fn page_risks(
    rows: &ClientSnapshot,
    severity: Option<Severity>,
    cut: Cut,
) -> Result<Page<OpenRisk>> {
    page_open_risks(rows, cut, RiskOrder::Score, |it| {
        !it.is_accepted() && severity.is_none_or(|wanted| it.risk.severity == wanted)
    })
}

/// What the open risks of a client are listed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RiskOrder {
    /// Their scores, highest first.
    #[default]
    Score,
    /// Their severity, most severe first, then their scores.
    Severity,
    /// What fixing them saves, most first, then their scores. Those of which it is unknown are last.
    Cost,
}

impl RiskOrder {
    pub const ALL: [Self; 3] = [Self::Score, Self::Severity, Self::Cost];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Severity => "severity",
            Self::Cost => "cost",
        }
    }

    /// What comes before the score of a risk. A higher one is listed first.
    fn rank(self, risk: &Risk) -> Option<u64> {
        match self {
            Self::Score => None,
            Self::Severity => Some(u64::from(risk.severity.weight())),
            Self::Cost => risk.dollar_impact,
        }
    }
}

/// Open risks that are wanted, in an order, then by id. There may be many: only those of the page are held.
pub fn page_open_risks(
    rows: &ClientSnapshot,
    cut: Cut,
    order: RiskOrder,
    is_wanted: impl Fn(&OpenRisk) -> bool,
) -> Result<Page<OpenRisk>> {
    let mut places = Vec::new();
    rows.visit_risks(|it| {
        if it.closed.is_none() && is_wanted(&it) {
            let place = Reverse((order.rank(&it.risk), it.risk.score));
            places.push((place, it.id, it.risk.condition));
        }
    })?;
    places.sort_unstable();
    let Page { items, total, cut } = Page::of(places.into_iter(), cut);
    let found = items.iter().filter_map(|(_, _, condition)| rows.find_risk(condition).transpose());
    Ok(Page { items: found.collect::<Result<_>>()?, total, cut })
}

impl App {
    /// One summary for each of the contract's frameworks, in its order.
    pub fn contract_summaries(
        &self,
        rows: &ClientSnapshot,
    ) -> Result<Vec<(FrameworkId, FrameworkSummary)>> {
        let catalog = self.catalog();
        let all = catalog.frameworks.iter().filter(|it| it.id.is_of_contract());
        all.map(|it| Ok((it.id, rows.framework_outcome(it)?.summary))).collect()
    }

    /// Returns the outcome of each control, in the catalog's order.
    pub fn control_outcomes(&self, rows: &ClientSnapshot) -> Result<Vec<ControlOutcome>> {
        let stored = rows.list_control_outcomes()?;
        let unassessed = self.unassessed.iter();
        let find = |code: &str| stored.iter().find(|it| it.code == code).cloned();
        Ok(unassessed.map(|it| find(&it.code).unwrap_or_else(|| it.clone())).collect())
    }
}
