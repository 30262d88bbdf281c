//! Makes room for the facts of a run: a client that reports often keeps less of what is outdated.

use super::step::N_ROWS_PER_COMMIT;
use crate::app::App;
use crate::clock::Time;
use crate::error::Result;
use crate::store::{ClientSnapshot, ClientStore};

/// How many rows the facts of one client may take before outdated observations are removed early.
pub const N_FACT_ROWS_MAX: u64 = 1_500_000;
/// From how many days on outdated observations are removed, until there is room.
const AGES_DAYS: [i64; 6] = [180, 90, 30, 7, 1, 0];

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
            self.forget_outdated(rows, now.plus_days(-days)).await?;
        }
        Ok(())
    }

    /// Removes observations from before `time` that no assessment reads.
    pub(in crate::app) async fn forget_outdated(
        &self,
        rows: &ClientStore,
        time: Time,
    ) -> Result<()> {
        let rows = rows.unrecorded().reserved();
        let mut from = None;
        loop {
            let list = move |it: &ClientSnapshot| {
                it.list_outdated_observations(time, from.as_ref(), N_ROWS_PER_COMMIT)
            };
            let old = rows.read(list).await?;
            let Some(end) = old.last() else { return Ok(()) };
            from = Some(end.clone());
            rows.write(move |batch| batch.remove_observations(&old)).await?;
        }
    }
}
