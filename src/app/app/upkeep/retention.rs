//! Retention: what ended long ago is removed. What is open stays, however old it is.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use super::N_ROWS_AT_ONCE;
use crate::app::App;
use crate::app::assessment::undone::OBSERVATION_DAYS;
use crate::clock::Time;
use crate::engine::asset::Asset;
use crate::engine::catalog::Catalog;
use crate::engine::control::valid_until;
use crate::engine::fact::{Absences, Observation, SourceFacts};
use crate::error::Result;
use crate::id::{AssetId, ImportId};
use crate::store::per_client::import::SourceScope;
use crate::store::{Batch, ClientBatch, ClientSnapshot, ClientStore, Snapshot};

/// How long daily scores are kept.
const HISTORY_DAYS: i64 = 7 * 366;
/// How long things are kept that ended: imports whose results were all replaced, scopes that no source reports, tasks that
/// are done or cancelled, retired assets.
pub(super) const ENDED_DAYS: i64 = 396;

/// What an open condition is about, if it is about an account or an app.
#[derive(Deserialize)]
struct ConditionObject {
    source: Option<String>,
    scope: Option<String>,
}

/// Imports and scopes to remove.
struct EndedRuns {
    imports: Vec<ImportId>,
    scopes: Vec<SourceScope>,
}

impl EndedRuns {
    fn find(rows: &ClientSnapshot, catalog: &Catalog, before: Time, now: Time) -> Result<Self> {
        let mut imports = rows.list_imports_before(before)?;
        let mut scopes = silent_scopes(rows, before)?;
        if imports.is_empty() && scopes.is_empty() {
            return Ok(Self { imports, scopes });
        }
        let SourceFacts { observations, reads } = rows.read_source_facts()?;
        // As long as one of its observations is the newest, or its complete read counts, an import can be undone.
        let mut newest: HashSet<ImportId> = observations.iter().map(|it| it.import).collect();
        newest.extend(reads.iter().map(|it| it.import));
        imports.retain(|it| !newest.contains(it));
        if !scopes.is_empty() {
            let absences = Absences::of(&reads, &observations);
            let counts = |it: &&Observation| {
                let is_of_interest = it.verdict.is_failing() || now < valid_until(catalog, it);
                is_of_interest && !absences.include(it)
            };
            let counting = observations.iter().filter(counts);
            let mut places: HashSet<(String, String)> = open_places(rows)?;
            places.extend(counting.map(|it| (it.source.clone(), it.scope.clone())));
            scopes.retain(|it| !places.contains(&(it.source.clone(), it.scope.clone())));
        }
        Ok(Self { imports, scopes })
    }
}

/// Returns the scopes that were last reported before `before`. The last scope of a source is not among them, so that the
/// source's silence is not forgotten.
fn silent_scopes(rows: &ClientSnapshot, before: Time) -> Result<Vec<SourceScope>> {
    let mut all = rows.list_sources()?;
    let mut last: BTreeMap<String, (Time, String)> = BTreeMap::new();
    for it in &all {
        let seen = (it.last_seen_at, it.scope.clone());
        let known = last.entry(it.source.clone()).or_insert_with(|| seen.clone());
        *known = seen.max(known.clone());
    }
    all.retain(|it| it.last_seen_at < before && last[&it.source].1 != it.scope);
    Ok(all)
}

/// Returns source and scope of the accounts and apps that a condition is open about.
fn open_places(rows: &ClientSnapshot) -> Result<HashSet<(String, String)>> {
    let open = rows.list_conditions()?.into_iter().filter(|it| it.closed_at.is_none());
    let place = |object: String| {
        let object: ConditionObject = serde_json::from_str(&object).ok()?;
        Some((object.source?, object.scope?))
    };
    Ok(open.filter_map(|it| place(it.object)).collect())
}

impl App {
    /// Removes facts and daily scores that are older than their retention, and what ended that long ago.
    pub(super) async fn forget_old(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let rows = rows.reserved();
        {
            // Undoing a run relies on what is outdated.
            let _lock = self.clients.lock(rows.id()).await;
            self.forget_outdated(&rows, now.plus_days(-OBSERVATION_DAYS)).await?;
            self.fold_outdated(&rows, now.plus_days(-OBSERVATION_DAYS)).await?;
            forget_reads(&rows).await?;
        }
        rows.write(move |batch| batch.forget_conditions(now)).await?;
        let history = now.plus_days(-HISTORY_DAYS);
        while rows.write(move |it| it.remove_history_before(history, N_ROWS_AT_ONCE)).await? {}
        let remove =
            move |it: &mut ClientBatch<'_>| it.remove_change_points_before(history, N_ROWS_AT_ONCE);
        while rows.write(remove).await? {}
        self.forget_runs(&rows, now).await
    }

    /// Removes tasks of all clients that ended long ago.
    pub(super) async fn forget_tasks(&self, now: Time) -> Result<()> {
        let store = self.store.reserved();
        let before = now.plus_days(-ENDED_DAYS);
        let mut after = None;
        loop {
            let list = move |it: &Snapshot| it.list_ended_tasks(before, after, N_ROWS_AT_ONCE);
            let found = store.read(list).await?;
            if !found.ids.is_empty() {
                let remove = move |batch: &mut Batch| {
                    found.ids.iter().try_for_each(|it| batch.remove_ended_task(*it, before))
                };
                store.write(remove).await?;
            }
            let Some(next) = found.next else { return Ok(()) };
            after = Some(next);
        }
    }

    /// Removes records of imports whose results were all replaced, and the lists of scopes that no source reports.
    async fn forget_runs(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let before = now.plus_days(-ENDED_DAYS);
        // A run that is in progress relies on the lists that it has read.
        let _lock = self.clients.lock(rows.id()).await;
        let catalog = self.catalog();
        let ended = rows.read(move |it| EndedRuns::find(it, &catalog, before, now)).await?;
        for some in ended.imports.chunks(N_ROWS_AT_ONCE) {
            let some = some.to_vec();
            let remove = move |batch: &mut ClientBatch<'_>| {
                some.iter().try_for_each(|it| batch.remove_import(*it).map(|_| ()))
            };
            rows.write(remove).await?;
        }
        for some in ended.scopes.chunks(N_ROWS_AT_ONCE) {
            let some: Arc<[SourceScope]> = some.into();
            loop {
                let some = Arc::clone(&some);
                let remove = move |batch: &mut ClientBatch<'_>| remove_scopes(batch, &some);
                if !rows.write(remove).await? {
                    break;
                }
            }
        }
        Ok(())
    }
}

async fn forget_reads(rows: &ClientStore) -> Result<()> {
    let outdated = rows.read(ClientSnapshot::list_outdated_reads).await?;
    for some in outdated.chunks(N_ROWS_AT_ONCE) {
        let some = some.to_vec();
        rows.write(move |batch| batch.remove_complete_reads(&some)).await?;
    }
    Ok(())
}

/// Removes up to [`N_ROWS_AT_ONCE`] rows of these scopes. Returns true if more may remain.
fn remove_scopes(batch: &mut ClientBatch<'_>, scopes: &[SourceScope]) -> Result<bool> {
    let mut left = N_ROWS_AT_ONCE;
    for it in scopes {
        left -= batch.remove_scope(&it.source, &it.scope, left)?;
        if left == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes retired assets. Those that an open risk touches stay.
pub(super) async fn forget_assets(rows: &ClientStore, mut retired: Vec<Asset>) -> Result<()> {
    if retired.is_empty() {
        return Ok(());
    }
    let find = move |snapshot: &ClientSnapshot| {
        let mut touched = Vec::new();
        for asset in &retired {
            let scores = snapshot.touched_scores(&asset.subjects())?;
            touched.push(scores.into_iter().flatten().next().is_some());
        }
        let mut touched = touched.into_iter();
        retired.retain(|_| touched.next() == Some(false));
        let ids: HashSet<AssetId> = retired.iter().map(|it| it.id).collect();
        let names = snapshot.list_names_of(&ids)?;
        Ok((retired, names))
    };
    let (retired, names) = rows.read(find).await?;
    let remove = move |batch: &mut ClientBatch<'_>| {
        retired.iter().try_for_each(|it| batch.remove_retired_asset(it, &names))
    };
    rows.reserved().write(remove).await
}
