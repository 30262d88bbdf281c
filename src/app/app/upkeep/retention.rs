//! Retention: what ended long ago is removed. What is open stays, however old it is.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use super::N_ROWS_AT_ONCE;
use crate::app::App;
use crate::app::client::retention::Retention;
use crate::app::decision::batch;
use crate::app::intake::room;
use crate::clock::Time;
use crate::engine::asset::Asset;
use crate::engine::catalog::Catalog;
use crate::engine::control::valid_until;
use crate::engine::fact::{Absences, Observation, SourceFacts};
use crate::error::Result;
use crate::id::{AssetId, ClientId, ImportId};
use crate::store::global::audit::{Act, AuditOutcome, SERVICE};
use crate::store::per_client::import::SourceScope;
use crate::store::{Batch, ClientBatch, ClientSnapshot, ClientStore, Snapshot};

/// How long things are kept that ended: scopes that no source reports, tasks that are done or cancelled, retired assets.
pub(super) const ENDED_DAYS: i64 = 396;

/// What an open condition is about, if it is about an account or an app.
#[derive(Deserialize)]
struct ConditionObject {
    source: Option<String>,
    scope: Option<String>,
}

/// The action of entries of the audit log that say what was removed.
const RETENTION_ACTION: &str = "remove by retention";

/// How much was removed of a client, by what it is.
#[derive(Debug, Default)]
struct Removed(BTreeMap<&'static str, usize>);

/// Imports and scopes to remove.
struct EndedRuns {
    imports: Vec<ImportId>,
    scopes: Vec<SourceScope>,
}

impl EndedRuns {
    /// Imports stay as long as what they showed.
    fn find(
        rows: &ClientSnapshot,
        catalog: &Catalog,
        retention: Retention,
        now: Time,
    ) -> Result<Self> {
        let before = retention.observations_before(now);
        let imports = before.map(|it| rows.list_imports_before(it)).transpose()?;
        let mut imports = imports.unwrap_or_default();
        let mut scopes = silent_scopes(rows, now.plus_days(-ENDED_DAYS))?;
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

/// Returns source and scope of the accounts and apps that a condition is open about, or set aside.
fn open_places(rows: &ClientSnapshot) -> Result<HashSet<(String, String)>> {
    let open = rows.list_conditions()?.into_iter().filter(|it| it.closed_at.is_none());
    let open = open.chain(rows.list_conditions_aside()?);
    let place = |object: String| {
        let object: ConditionObject = serde_json::from_str(&object).ok()?;
        Some((object.source?, object.scope?))
    };
    Ok(open.filter_map(|it| place(it.object)).collect())
}

impl App {
    /// Removes what ended of a client longer ago than its terms say. The audit log has how much. Under a hold, nothing is
    /// removed.
    pub(super) async fn forget_old(
        &self,
        rows: &ClientStore,
        retention: Retention,
        now: Time,
    ) -> Result<()> {
        let rows = rows.reserved();
        let mut removed = Removed::default();
        {
            // Undoing a run relies on what is outdated, and a hold waits for what is being removed.
            let _lock = self.clients.lock(rows.id()).await;
            room::fold_outdated(&rows).await?;
            forget_reads(&rows).await?;
            let is_held = rows.read(move |it| it.find_hold(now)).await?.is_some();
            let retention = if is_held { Retention::NONE } else { retention };
            let before = retention.observations_before(now);
            if let Some(before) = before {
                removed.add("observations", room::forget_outdated(&rows, before).await?);
            }
            // The times of one thing have a limit even where nothing is removed by age.
            let before = before.unwrap_or(Time::EPOCH);
            removed.add("observations", room::forget_folded(&rows, before).await?);
            if let Some(before) = retention.statements_before(now) {
                removed.forget_said(&rows, before).await?;
                removed.forget_history(&rows, before).await?;
            }
            if !is_held {
                removed.add("imports", self.forget_runs(&rows, retention, now).await?);
            }
        }
        let batches = now.plus_days(-batch::KEPT_DAYS);
        let forget = move |batch: &mut ClientBatch<'_>| {
            batch.remove_batch_entries_before(batches)?;
            batch.forget_conditions(now)
        };
        rows.write(forget).await?;
        self.record_removed(&rows, removed, now).await
    }

    async fn record_removed(&self, rows: &ClientStore, removed: Removed, now: Time) -> Result<()> {
        let fields = removed.fields();
        if fields.is_empty() {
            return Ok(());
        }
        let act = Act {
            at: now,
            by: SERVICE.to_owned(),
            action: RETENTION_ACTION.to_owned(),
            about: format!("/api/clients/{}", rows.id()),
            fields,
            ..Act::default()
        };
        let store = self.store.reserved();
        store.write(move |batch| batch.add_audit(&act, AuditOutcome::Done, 1)).await
    }

    async fn list_held(&self) -> Result<Vec<ClientId>> {
        let all: Vec<ClientId> = self.clients.directory.list().iter().map(|it| it.id).collect();
        let holds = self.find_holds(all).await?;
        Ok(holds.into_keys().collect())
    }

    /// Removes receipts of erasures, which are kept as long as statements.
    pub(super) async fn forget_erasures(&self, now: Time) -> Result<()> {
        let before = self.options.settings.retention.statements_before(now);
        let Some(before) = before else { return Ok(()) };
        let store = self.store.reserved();
        let remove = move |it: &mut Batch| it.remove_erasures_before(before, N_ROWS_AT_ONCE);
        while store.write(remove).await? == N_ROWS_AT_ONCE {}
        Ok(())
    }

    /// Removes tasks of all clients that ended long ago. Those of a client under a hold stay.
    pub(super) async fn forget_tasks(&self, now: Time) -> Result<()> {
        let store = self.store.reserved();
        let before = now.plus_days(-ENDED_DAYS);
        let held: Arc<[ClientId]> = self.list_held().await?.into();
        let mut after = None;
        loop {
            let except = Arc::clone(&held);
            let list =
                move |it: &Snapshot| it.list_ended_tasks((before, &except), after, N_ROWS_AT_ONCE);
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
    /// Returns how many records. Call it with the client locked: a run that is in progress relies on the lists that it has
    /// read.
    async fn forget_runs(
        &self,
        rows: &ClientStore,
        retention: Retention,
        now: Time,
    ) -> Result<usize> {
        let catalog = self.catalog();
        let ended = rows.read(move |it| EndedRuns::find(it, &catalog, retention, now)).await?;
        for id in ended.imports.iter().copied() {
            let remove = move |it: &mut ClientBatch<'_>| it.remove_undone(id, N_ROWS_AT_ONCE);
            while rows.write(remove).await? == N_ROWS_AT_ONCE {}
        }
        for some in ended.imports.chunks(N_ROWS_AT_ONCE) {
            let some = some.to_vec();
            let remove = move |batch: &mut ClientBatch<'_>| {
                some.iter().try_for_each(|it| batch.remove_import(*it).map(|_| ()))
            };
            rows.write(remove).await?;
        }
        if !ended.imports.is_empty() {
            rows.write(|it: &mut ClientBatch<'_>| it.forget_past_runs()).await?;
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
        Ok(ended.imports.len())
    }
}

impl Removed {
    fn add(&mut self, what: &'static str, n: usize) {
        *self.0.entry(what).or_default() += n;
    }

    /// Removes statements that no longer count, and evidence that expired.
    async fn forget_said(&mut self, rows: &ClientStore, before: Time) -> Result<()> {
        if rows.read(move |it| it.has_statement_before(before)).await? {
            let ended = rows.read(move |it| it.list_ended_statements(before)).await?;
            self.add("statements", ended.records.len());
            for some in ended.chunks(N_ROWS_AT_ONCE) {
                rows.write(move |batch| batch.remove_statements(&some)).await?;
            }
        }
        let evidence = rows.read(move |it| it.list_ended_evidence(before)).await?;
        self.add("evidence", evidence.len());
        for id in evidence {
            rows.write(move |batch| batch.remove_evidence(id).map(|_| ())).await?;
        }
        Ok(())
    }

    /// Removes what was true and when, and daily figures.
    async fn forget_history(&mut self, rows: &ClientStore, before: Time) -> Result<()> {
        loop {
            let remove = move |it: &mut ClientBatch<'_>| {
                Ok((
                    it.remove_history_before(before, N_ROWS_AT_ONCE)?,
                    it.remove_change_points_before(before, N_ROWS_AT_ONCE)?,
                ))
            };
            let (n_days, n_changes) = rows.write(remove).await?;
            if (n_days, n_changes) == (0, 0) {
                return Ok(());
            }
            self.add("days", n_days);
            self.add("changes", n_changes);
        }
    }

    /// As the audit log has it.
    fn fields(&self) -> Vec<String> {
        self.0.iter().filter(|(_, n)| **n != 0).map(|(what, n)| format!("{what}={n}")).collect()
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
