//! What time and restarts leave to do: due assessments, staleness, retention, counters, erasures.

use super::App;
use super::assessment::Cause;
use crate::clock::Time;
use crate::engine::asset::AssetStatus;
use crate::error::{Error, Result};
use crate::id::{AssetId, ClientId};
use crate::store::client::ClientState;
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// Clients assessed in one sweep.
const N_DUE_AT_ONCE: usize = 64;
/// Rows changed or removed in one commit, so that writers beside it wait little.
const N_ROWS_AT_ONCE: usize = 200;
/// How long facts, daily scores and events are kept.
pub const FACT_DAYS: i64 = 396;
pub const HISTORY_DAYS: i64 = 7 * 366;
pub const EVENT_DAYS: i64 = 90;

impl App {
    /// Reassesses clients whose time has come; whether more are waiting.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it. What was done stays done.
    pub async fn sweep(&self) -> Result<bool> {
        let now = self.clock.now();
        let due = self.store.read(move |it| it.list_due(now, N_DUE_AT_ONCE)).await?;
        let more = due.len() == N_DUE_AT_ONCE;
        for (client, _) in due {
            let rows = self.store.client_store(client);
            if self.directory.find(client).is_none_or(|it| it.state == ClientState::Erasing) {
                continue; // The erasure takes the due row with it.
            }
            let assessed = rows.read(ClientSnapshot::find_assessed).await?;
            if assessed.is_none_or(|it| it.at.day() != now.day()) {
                self.mark_stale(&rows, now).await?;
                self.forget_old(&rows, now).await?;
            }
            self.reassess(&rows, Cause::Lapse).await?;
        }
        Ok(more)
    }

    /// Reassesses every client that was assessed with another catalogue. For the start, before anybody reads: stored
    /// rows are by position in the catalogue.
    pub async fn reassess_outdated(&self) -> Result<()> {
        let digest = self.catalog.digest;
        for client in self.directory.list() {
            let rows = self.store.client_store(client.id);
            let assessed = rows.read(ClientSnapshot::find_assessed).await?;
            if assessed.is_some_and(|it| it.catalog_digest != digest) {
                self.reassess(&rows, Cause::Catalogue).await?;
            }
        }
        Ok(())
    }

    /// Goes on with erasures that a stop cut off.
    pub async fn finish_erasures(&self) -> Result<()> {
        let clients = self.directory.list();
        for client in clients.iter().filter(|it| it.state == ClientState::Erasing) {
            self.erase_client(client.id).await?;
        }
        Ok(())
    }

    /// Stores the counters that moved, so that a restart does not refill them.
    pub async fn checkpoint_limits(&self) -> Result<()> {
        let moved = self.limiter.drain_moved();
        if moved.is_empty() {
            return Ok(());
        }
        self.store.write(move |batch| batch.put_windows(&moved)).await
    }

    /// Removes events that are past their time; whether there are more.
    pub async fn forget_events(&self) -> Result<bool> {
        let before = self.clock.now().plus_days(-EVENT_DAYS);
        self.store.write(move |batch| batch.remove_events_before(before, N_ROWS_AT_ONCE)).await
    }

    /// When the next client is due. `None`: none is.
    pub async fn next_due(&self) -> Result<Option<Time>> {
        let due = self.store.read(|it| it.list_due(Time::MAX, 1)).await?;
        Ok(due.first().map(|(_, at)| *at))
    }

    async fn mark_stale(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let days = self.stale_days(rows.id())?;
        let seen_before = now.plus_days(-i64::from(days));
        let mut after: Option<AssetId> = None;
        loop {
            let found = rows
                .read(move |it| it.list_stale_candidates(seen_before, after, N_ROWS_AT_ONCE))
                .await?;
            let stale: Vec<AssetId> = found.assets.iter().map(|it| it.id).collect();
            if !stale.is_empty() {
                rows.write(move |batch| put_stale(batch, &stale, seen_before)).await?;
            }
            let Some(next) = found.next else { return Ok(()) };
            after = Some(next);
        }
    }

    fn stale_days(&self, id: ClientId) -> Result<u16> {
        let absent = || Error::not_found("client not found");
        let client = self.directory.find(id).ok_or_else(absent)?;
        let settings = super::settings::Settings::of(&client.settings);
        Ok(settings.stale_asset_days(&self.options.settings))
    }

    async fn forget_old(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let facts = now.plus_days(-FACT_DAYS);
        while rows.write(move |it| it.remove_observations_before(facts, N_ROWS_AT_ONCE)).await? {}
        let history = now.plus_days(-HISTORY_DAYS);
        while rows.write(move |it| it.remove_history_before(history, N_ROWS_AT_ONCE)).await? {}
        Ok(())
    }
}

/// An asset may have been seen since it was found.
fn put_stale(batch: &mut ClientBatch<'_>, ids: &[AssetId], seen_before: Time) -> Result<()> {
    for id in ids {
        let Some(mut asset) = batch.find_asset(*id)? else { continue };
        if asset.last_seen_at < seen_before && asset.status == AssetStatus::Active {
            asset.status = AssetStatus::Stale;
            batch.put_asset(&asset)?;
        }
    }
    Ok(())
}
