//! Reads a client's posture as it was last assessed.

use crate::app::App;
use crate::engine::catalog::FrameworkId;
use crate::engine::posture::{ControlOutcome, FrameworkOutcome, FrameworkSummary};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::page::{Cut, Page};
use crate::store::ClientSnapshot;
use crate::store::per_client::posture::{OpenRisk, ScoreEntry};

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

/// Open risks that are not accepted, highest score first, then by id.
pub fn page_risks(
    rows: &ClientSnapshot,
    severity: Option<Severity>,
    cut: Cut,
) -> Result<Page<OpenRisk>> {
    let mut risks = open_risks(rows)?;
    risks.retain(|it| {
        it.accepted.is_none() && severity.is_none_or(|wanted| it.risk.severity == wanted)
    });
    Ok(Page::of(risks.into_iter(), cut))
}

/// Open risks, including accepted ones; highest score first, then by id.
pub fn open_risks(rows: &ClientSnapshot) -> Result<Vec<OpenRisk>> {
    let mut risks = rows.list_risks()?;
    risks.retain(|it| it.closed.is_none());
    risks.sort_by_key(|it| (std::cmp::Reverse(it.risk.score), it.id));
    Ok(risks)
}

impl App {
    /// One summary for each framework, in the contract's order.
    pub fn summaries(&self, rows: &ClientSnapshot) -> Result<Vec<(FrameworkId, FrameworkSummary)>> {
        let all = FrameworkId::ALL.into_iter();
        all.map(|id| Ok((id, self.framework_outcome(rows, id)?.summary))).collect()
    }

    /// Returns the outcome of a framework. If it was never assessed, or was assessed with another number of rows, every
    /// row is shown as not assessed until the next assessment.
    pub fn framework_outcome(
        &self,
        rows: &ClientSnapshot,
        id: FrameworkId,
    ) -> Result<FrameworkOutcome> {
        let framework = self.catalog.framework(id);
        let stored = rows.find_framework(id)?;
        Ok(match stored {
            Some(outcome) if outcome.rows.len() == framework.rows.len() => outcome,
            _ => self.unassessed.frameworks[id as usize].clone(),
        })
    }

    /// Returns the outcome of each control, in the catalog's order.
    pub fn control_outcomes(&self, rows: &ClientSnapshot) -> Result<Vec<ControlOutcome>> {
        let stored = rows.list_control_outcomes()?;
        let fresh = self.unassessed.controls.iter();
        let find = |code: &str| stored.iter().find(|it| it.code == code).cloned();
        Ok(fresh.map(|it| find(&it.code).unwrap_or_else(|| it.clone())).collect())
    }
}
