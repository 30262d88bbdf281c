//! Makes room for the facts of a run: a client that reports often keeps less of what is outdated.

use super::step::N_ROWS_PER_COMMIT;
use crate::app::App;
use crate::clock::Time;
use crate::engine::fact::Observation;
use crate::error::Result;
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// How many rows the facts of one client may take before outdated observations are removed early.
pub const N_FACT_ROWS_MAX: u64 = 1_500_000;
/// From how many days on outdated observations are removed, until there is room.
const AGES_DAYS: [i64; 6] = [180, 90, 30, 7, 1, 0];

/// From how many outdated observations of a check on they are folded: a week of nightly runs.
const N_OUTDATED_FOLDED_MIN: usize = 7;

impl App {
    pub(super) async fn make_room(
        &self,
        rows: &ClientStore,
        n_new: usize,
        now: Time,
    ) -> Result<()> {
        for days in AGES_DAYS {
            let n = rows.read(ClientSnapshot::count_facts).await? + n_new as u64;
            if n <= N_FACT_ROWS_MAX {
                return Ok(());
            }
            forget_outdated(rows, now.plus_days(-days)).await?;
        }
        Ok(())
    }

    /// Moves observations back that will count again.
    pub(super) async fn unfold(&self, rows: &ClientStore, uncovered: &[Observation]) -> Result<()> {
        let rows = rows.unrecorded();
        for some in uncovered.chunks(N_ROWS_PER_COMMIT) {
            let some = some.to_vec();
            rows.write(move |batch| batch.replace_observations(&some)).await?;
        }
        Ok(())
    }
}

/// Removes observations from before `time` that no assessment reads. Returns how many.
pub(in crate::app) async fn forget_outdated(rows: &ClientStore, time: Time) -> Result<usize> {
    let rows = rows.unrecorded().reserved();
    let (mut from, mut n_removed) = (None, 0);
    loop {
        let list = move |it: &ClientSnapshot| {
            it.list_outdated_observations(time, from.as_ref(), N_ROWS_PER_COMMIT)
        };
        let old = rows.read(list).await?;
        let Some(end) = old.last() else { return Ok(n_removed) };
        from = Some(end.clone());
        n_removed += old.len();
        let forget = move |batch: &mut ClientBatch<'_>| {
            old.iter().try_for_each(|it| batch.forget_observation(it).map(|_| ()))
        };
        rows.write(forget).await?;
    }
}

/// Moves what newer observations took the place of to where equal ones cost little more than their times.
pub(in crate::app) async fn fold_outdated(rows: &ClientStore) -> Result<()> {
    let rows = rows.unrecorded().reserved();
    let mut from = None;
    loop {
        let list = move |it: &ClientSnapshot| {
            let n_rows = (N_OUTDATED_FOLDED_MIN, N_ROWS_PER_COMMIT);
            it.list_foldable_observations(from.as_ref(), n_rows)
        };
        let (outdated, next) = rows.read(list).await?;
        for some in outdated.chunks(N_ROWS_PER_COMMIT) {
            let some = some.to_vec();
            rows.write(move |batch| batch.fold_observations(&some)).await?;
        }
        from = next;
        if from.is_none() {
            return Ok(());
        }
    }
}

/// Removes what was folded from before `time`, and what one thing has more of than is kept. Returns how many.
pub(in crate::app) async fn forget_folded(rows: &ClientStore, time: Time) -> Result<usize> {
    let rows = rows.unrecorded().reserved();
    let mut n_removed = 0;
    loop {
        let old = rows.read(move |it| it.list_past_to_forget(time, N_ROWS_PER_COMMIT)).await?;
        if old.is_empty() {
            return Ok(n_removed);
        }
        n_removed += rows.write(move |batch| batch.forget_past(&old)).await?;
    }
}
