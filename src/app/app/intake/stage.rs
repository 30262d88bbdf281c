//! Runs that are too large for one commit. Their observations are stored in commits that others' writes pass between,
//! and count from one short commit on, which decides. A run that is refused or killed before it leaves nothing. What is
//! left to do after it are steps, which are finished in the same way, also after a restart.

use std::collections::HashSet;
use std::sync::Arc;

use bincode::{Decode, Encode};

use super::announce::{announce_discovered, announce_run};
use super::run::IntakePlan;
use super::source::Run;
use super::step::{
    N_ASSETS_PER_COMMIT, N_ROWS_PER_COMMIT, Step, StepContext, StepCounts, fits_in_commit,
};
use crate::app::{App, ClientLock};
use crate::clock::Time;
use crate::error::{Chain, Error, Result};
use crate::id::{AssetId, ClientId, ImportId};
use crate::request;
use crate::store::per_client::import::Import;
use crate::store::{ClientBatch, ClientSnapshot, ClientStore, Snapshot};

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
enum Phase {
    /// Its observations are being stored and do not count.
    Staged,
    /// It counts. Its steps are being done.
    Decided,
    /// It was undone. Its observations do not count and are being removed, once the steps are done.
    Undone,
    /// It counts. The steps that undo it are being stored.
    Undoing,
}

/// A run that takes more than one commit.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) struct RunRecord {
    phase: Phase,
    context: StepContext,
    run: Run,
    counts: StepCounts,
}

impl RunRecord {
    fn new(phase: Phase, context: StepContext, run: Run) -> Self {
        Self { phase, context, run, counts: StepCounts::default() }
    }
}

/// Marks a staged run as one that counts, in the commit that decides.
pub(super) fn decide(
    batch: &mut ClientBatch<'_>,
    id: ImportId,
    context: &StepContext,
    run: &Run,
) -> Result<()> {
    batch.set_counted(id, true)?;
    batch.put_run(id, &RunRecord::new(Phase::Decided, context.clone(), run.clone()))
}

/// Makes the observations of a run count no longer, in the commit that decides.
pub(super) fn undo(batch: &mut ClientBatch<'_>, id: ImportId, context: &StepContext) -> Result<()> {
    batch.set_counted(id, false)?;
    batch.put_run(id, &RunRecord::new(Phase::Undone, context.clone(), Run::Quiet))
}

impl App {
    /// Stores what a run brings so that nobody sees it.
    pub(super) async fn stage(&self, rows: &ClientStore, plan: &Arc<IntakePlan>) -> Result<()> {
        let (rows, id) = (rows.unrecorded(), plan.import.id);
        let record = RunRecord::new(Phase::Staged, plan.context.clone(), Run::Quiet);
        let begin = move |batch: &mut ClientBatch<'_>| {
            batch.set_counted(id, false)?;
            batch.put_run(id, &record)
        };
        rows.write(begin).await?;
        for start in (0..plan.n_observations()).step_by(N_ROWS_PER_COMMIT) {
            let plan = Arc::clone(plan);
            let write = move |batch: &mut ClientBatch<'_>| {
                let mut some = plan.observations().skip(start).take(N_ROWS_PER_COMMIT);
                some.try_for_each(|it| batch.add_observation(it))
            };
            rows.write(write).await?;
        }
        for start in (0..plan.reads.len()).step_by(N_ROWS_PER_COMMIT) {
            let plan = Arc::clone(plan);
            let write = move |batch: &mut ClientBatch<'_>| {
                let mut some = plan.reads.iter().skip(start).take(N_ROWS_PER_COMMIT);
                some.try_for_each(|it| batch.add_complete_read(it))
            };
            rows.write(write).await?;
        }
        store_steps(&rows, plan).await
    }

    /// Stores what undoing a run changes so that nobody sees it.
    pub(super) async fn stage_undo(
        &self,
        rows: &ClientStore,
        plan: &Arc<IntakePlan>,
    ) -> Result<()> {
        let (rows, id) = (rows.unrecorded(), plan.import.id);
        let record = RunRecord::new(Phase::Undoing, plan.context.clone(), Run::Quiet);
        rows.write(move |batch| batch.put_run(id, &record)).await?;
        store_steps(&rows, plan).await
    }

    /// [`App::settle_runs`], where what fails is done before the client's next run, or at the next start.
    pub(super) async fn try_settle_runs(&self, rows: &ClientStore, lock: &ClientLock) {
        if let Err(error) = self.settle_runs(rows, lock).await {
            tracing::warn!(
                client.id = %rows.id(), error = %Chain(&error), request_id = request::id().as_deref(),
                "runs are still to be finished or removed: {}", Chain(&error)
            );
        }
    }

    /// Finishes or discards the client's runs that an error or a stop interrupted.
    pub(in crate::app) async fn settle_runs(
        &self,
        rows: &ClientStore,
        _: &ClientLock,
    ) -> Result<()> {
        for (id, record) in rows.read(ClientSnapshot::list_runs::<RunRecord>).await? {
            match record.phase {
                Phase::Staged => self.discard(rows, id, false).await?,
                Phase::Undone => {
                    self.do_steps(&rows.unrecorded().reserved(), id).await?;
                    self.discard(rows, id, true).await?;
                }
                Phase::Undoing => {
                    let rows = rows.unrecorded().reserved();
                    remove_steps(&rows, id).await?;
                    rows.write(move |batch| batch.remove_run(id)).await?;
                }
                Phase::Decided => {
                    self.finish(rows, id).await?;
                }
            }
        }
        Ok(())
    }

    /// [`App::settle_runs`] of all clients. A client for which that fails is logged, and the others continue.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn settle_all_runs(&self) -> Result<()> {
        let clients = self.clients.directory.list();
        let find = move |snapshot: &Snapshot| {
            // What cannot be read is tried too, so that it is logged for its client.
            let has_runs = |id: ClientId| {
                let runs = snapshot.client(id).list_runs::<RunRecord>();
                runs.map_or(true, |it| !it.is_empty())
            };
            Ok(clients.iter().map(|it| it.id).filter(|it| has_runs(*it)).collect::<Vec<_>>())
        };
        for id in self.store.read(find).await? {
            let lock = self.clients.lock(id).await;
            let settled = self.settle_runs(&self.store.client_store(id), &lock).await;
            if let Err(error) = settled {
                tracing::error!(
                    client.id = %id, error = %Chain(&error),
                    "a run of client `{id}` that a stop interrupted is not finished: {}", Chain(&error)
                );
            }
        }
        Ok(())
    }

    /// Removes the observations, complete reads and steps of a run. `is_undone`: it counted, and what it showed is kept.
    async fn discard(&self, rows: &ClientStore, id: ImportId, is_undone: bool) -> Result<()> {
        let rows = rows.unrecorded().reserved();
        let keys = rows.read(move |it| it.find_observations_of_import(id)).await?;
        for some in keys.chunks(N_ROWS_PER_COMMIT) {
            let some = some.to_vec();
            let remove = move |batch: &mut ClientBatch<'_>| {
                if is_undone {
                    batch.undo_observations(&some)
                } else {
                    batch.remove_observations(&some)
                }
            };
            rows.write(remove).await?;
        }
        let reads = rows.read(move |it| it.find_reads_of_import(id)).await?;
        for some in reads.chunks(N_ROWS_PER_COMMIT) {
            let some = some.to_vec();
            rows.write(move |batch| batch.remove_complete_reads(&some)).await?;
        }
        remove_steps(&rows, id).await?;
        let end = move |batch: &mut ClientBatch<'_>| {
            batch.set_counted(id, true)?;
            batch.remove_run(id)
        };
        rows.write(end).await
    }

    /// Does the steps of a run that counts. Returns its record with the final counts, how many assets were retired, and
    /// how many events were announced.
    pub(super) async fn finish(
        &self,
        rows: &ClientStore,
        id: ImportId,
    ) -> Result<Option<(Import, u32, u32)>> {
        let rows = rows.unrecorded();
        self.do_steps(&rows, id).await?;
        remove_steps(&rows, id).await?;
        let now = self.clock.now();
        rows.write(move |batch| end(batch, id, now)).await
    }

    /// Does the steps of a run, and leaves only those that say which assets were met.
    async fn do_steps(&self, rows: &ClientStore, id: ImportId) -> Result<()> {
        let (mut from, mut met) = (0, Arc::new(HashSet::new()));
        loop {
            let read = move |it: &ClientSnapshot| {
                it.list_steps(id, from, fits_in_commit(N_ASSETS_PER_COMMIT))
            };
            let some: Vec<(u32, Step)> = rows.read(read).await?;
            let Some((last, _)) = some.last() else { return Ok(()) };
            from = *last + 1;
            let (some, before, now) = (Arc::new(some), Arc::clone(&met), self.clock.now());
            let write = move |batch: &mut ClientBatch<'_>| take(batch, id, &some, &before, now);
            Arc::make_mut(&mut met).extend(rows.write(write).await?);
        }
    }
}

/// Stores the steps of a plan.
async fn store_steps(rows: &ClientStore, plan: &Arc<IntakePlan>) -> Result<()> {
    let id = plan.import.id;
    let mut start = 0;
    while start < plan.steps.len() {
        let mut fits = fits_in_commit(N_ROWS_PER_COMMIT);
        let end = start + plan.steps[start..].iter().take_while(|it| fits(it)).count().max(1);
        let plan = Arc::clone(plan);
        let write = move |batch: &mut ClientBatch<'_>| {
            let mut some = (0..).zip(&plan.steps).take(end).skip(start);
            some.try_for_each(|(number, step)| batch.put_step(id, number, step))
        };
        rows.write(write).await?;
        start = end;
    }
    Ok(())
}

async fn remove_steps(rows: &ClientStore, id: ImportId) -> Result<()> {
    loop {
        let some = rows.read(move |it| it.list_step_numbers(id, N_ROWS_PER_COMMIT)).await?;
        if some.is_empty() {
            return Ok(());
        }
        let remove = move |batch: &mut ClientBatch<'_>| {
            some.iter().try_for_each(|number| batch.remove_step(id, *number))
        };
        rows.write(remove).await?;
    }
}

/// Does some steps of a run, and leaves of each asset that it was met. Returns these assets.
fn take(
    batch: &mut ClientBatch<'_>,
    id: ImportId,
    steps: &[(u32, Step)],
    before: &HashSet<AssetId>,
    now: Time,
) -> Result<HashSet<AssetId>> {
    let mut record = find(batch, id)?;
    let mut met = HashSet::new();
    for (number, step) in steps {
        if let Step::Met(asset) = step {
            met.insert(*asset); // Before a stop.
            continue;
        }
        let is_met = |it: &AssetId| met.contains(it) || before.contains(it);
        match record.context.take(batch, step, is_met, &mut record.counts, now)? {
            Some(asset) => {
                met.insert(asset);
                batch.put_step(id, *number, &Step::Met(asset))?;
            }
            None => batch.remove_step(id, *number)?,
        }
    }
    batch.put_run(id, &record)?;
    Ok(met)
}

fn find(batch: &ClientBatch<'_>, id: ImportId) -> Result<RunRecord> {
    let found = batch.find_run(id)?;
    found.ok_or_else(|| Error::internal("a run that is being finished is not stored"))
}

/// The last commit of a run: its final counts, and the events that say them.
fn end(batch: &mut ClientBatch<'_>, id: ImportId, now: Time) -> Result<Option<(Import, u32, u32)>> {
    let RunRecord { run, counts, .. } = find(batch, id)?;
    batch.remove_run(id)?;
    let Some(import) = batch.find_import(id)? else { return Ok(None) };
    let import =
        Import { n_assets_new: counts.n_new, n_assets_updated: counts.n_updated, ..import };
    batch.put_import(&import)?;
    announce_discovered(batch, id, &counts, now)?;
    let n_events = announce_run(batch, &import, &run, now)?;
    if let Some(mut change) = batch.find_import_change(id)? {
        change.n_events += n_events;
        batch.put_import_change(id, &change)?;
    }
    Ok(Some((import, counts.n_retired, n_events)))
}
