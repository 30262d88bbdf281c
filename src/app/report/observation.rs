//! What sources saw of a client and what counts of it: per check, source and scope, the newest observation.

use crate::engine::catalog::Catalog;
use crate::engine::fact::{Observation, Subject};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::fact::ObservationCursor;

/// Which observations are wanted. `None`: all.
#[derive(Clone, Debug, Default)]
pub struct ObservationFilter {
    /// Indices of controls: those that count for one of them.
    pub controls: Option<Vec<usize>>,
    pub check: Option<String>,
    pub source: Option<String>,
    pub failing_only: bool,
}

impl ObservationFilter {
    fn matches(&self, catalog: &Catalog, it: &Observation) -> bool {
        let is_of = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|it| it == is);
        is_of(&self.source, &it.source)
            && is_of(&self.check, &it.check)
            && (!self.failing_only || it.verdict.is_failing())
            && self.controls.as_ref().is_none_or(|wanted| {
                controls_of(catalog, it).iter().any(|control| wanted.contains(control))
            })
    }
}

/// The indices of the controls that an observation counts for. Empty: none is mapped to its check.
#[must_use]
pub fn controls_of(catalog: &Catalog, it: &Observation) -> Vec<usize> {
    let of_check =
        |tool: &str| catalog.links_of_check(tool, &it.check).iter().map(|it| it.control).collect();
    match &it.subject {
        Subject::Control(code) => catalog.controls_named(code),
        Subject::Check { tool } => of_check(tool),
    }
}

/// Up to `limit` observations that count, also when they have expired, after one of them.
pub fn list_observations(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    filter: &ObservationFilter,
    after: Option<&ObservationCursor>,
    limit: usize,
) -> Result<Vec<(ObservationCursor, Observation)>> {
    rows.list_current_observations(after, limit, |it| filter.matches(catalog, it))
}
