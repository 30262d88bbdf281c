//! What sources saw of a client and what counts of it: per check, source and scope, the newest observation.

use std::collections::BTreeMap;

use crate::engine::catalog::Catalog;
use crate::engine::control::controls_of;
use crate::engine::fact::Observation;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientSnapshot;
use crate::store::per_client::fact::ObservationCursor;
use crate::store::per_client::import::Dating;

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

/// Returns of each observation that it is dated by who imported it, who declared that it shows the state at the time of
/// the import.
pub fn are_declared_current(
    rows: &ClientSnapshot,
    observations: &[(ObservationCursor, Observation)],
) -> Result<Vec<bool>> {
    let mut known: BTreeMap<ImportId, bool> = BTreeMap::new();
    let mut all = Vec::with_capacity(observations.len());
    for (_, it) in observations {
        let is_declared = match known.get(&it.import) {
            Some(is_declared) => *is_declared,
            None => rows.find_import_age(it.import)?.is_some_and(|it| it.dating == Dating::Now),
        };
        known.insert(it.import, is_declared);
        all.push(is_declared);
    }
    Ok(all)
}
