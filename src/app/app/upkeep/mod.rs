//! Periodic and startup work: due assessments, staleness, retention, counters, erasures.

pub mod clock_watch;
pub mod preview;
mod release;
mod retention;

use std::ops::RangeInclusive;

use super::App;
use crate::app::assessment::estate;
use crate::app::client::settings::{NEW_MEMBER_DAYS, Settings};
use crate::app::event::cause::Cause;
use crate::app::intake::push::ANSWER_HOURS;
use crate::clock::Time;
use crate::engine::asset::AssetStatus;
use crate::error::{Chain, Code, Error, Result};
use crate::id::{AssetId, ClientId};
use crate::store::global::client::ClientState;
use crate::store::{Batch, ClientBatch, ClientSnapshot, ClientStore};
use retention::ENDED_DAYS;

/// How many due clients are listed at once.
const N_DUE_AT_ONCE: usize = 1_000;
/// Rows changed or removed in one commit, so that other writers do not wait long.
const N_ROWS_AT_ONCE: usize = 200;
/// Answers removed in one commit.
const N_ANSWERS_AT_ONCE: usize = 500;
/// A client that could not be assessed is tried again after this.
const RETRY_AFTER_S: i64 = 600;
/// How long events and changes of rows may be kept.
pub const EVENTS_DAYS: RangeInclusive<u32> = 7..=3_650;

impl App {
    /// Lists clients to sweep now, soonest due first, except those in `under_way`. The owner of assets without a client is
    /// among them once a day.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_due(&self, under_way: &[ClientId]) -> Result<Vec<ClientId>> {
        let now = self.clock.now();
        let due = self.store.read(move |it| it.list_due(now, N_DUE_AT_ONCE)).await?;
        let mut due: Vec<ClientId> = due.into_iter().map(|it| it.0).collect();
        // The erasure takes the due row with it.
        due.retain(|it| !self.is_erasing(*it));
        if !self.clients.is_maintained(ClientId::UNASSIGNED, now.day()) {
            due.push(ClientId::UNASSIGNED);
        }
        due.retain(|it| !under_way.contains(it));
        Ok(due)
    }

    fn is_erasing(&self, client: ClientId) -> bool {
        self.clients.directory.find(client).is_none_or(|it| it.state == ClientState::Erasing)
    }

    /// Does what is due at a client. If it cannot be assessed, that is logged and tried again later.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available. What was done stays done.
    pub async fn sweep(&self, client: ClientId) -> Result<()> {
        let now = self.clock.now();
        let rows = self.store.client_store(client);
        if client == ClientId::UNASSIGNED {
            if !self.clients.is_maintained(client, now.day()) {
                // Once a day. They are in one table for all clients.
                self.forget_tasks(now).await?;
                self.forget_erasures(now).await?;
                while self.forget_batches().await? {}
            }
            return self.maintain(&rows, now).await;
        }
        if self.is_erasing(client) {
            return Ok(());
        }
        let Err(error) = self.sweep_client(&rows, now).await else { return Ok(()) };
        tracing::error!(client.id = %client, error = %Chain(&error), "client `{client}` was not assessed: {}", Chain(&error));
        let later = now.plus_s(RETRY_AFTER_S);
        match rows.write(move |batch| batch.set_due(Some(later))).await {
            Err(error) if error.code == Code::NotFound => Ok(()), // It was erased meanwhile.
            other => other,
        }
    }

    /// Does nothing if the client was already maintained today.
    async fn maintain(&self, rows: &ClientStore, now: Time) -> Result<()> {
        if self.clients.is_maintained(rows.id(), now.day()) {
            return Ok(());
        }
        self.age_assets(rows, now).await?;
        let retention = self.settings_of(rows.id())?.retention(&self.options.settings);
        self.forget_old(rows, retention, now).await?;
        self.clients.set_maintained(rows.id(), now.day());
        Ok(())
    }

    async fn sweep_client(&self, rows: &ClientStore, now: Time) -> Result<()> {
        self.maintain(rows, now).await?;
        self.find_silence(rows, now).await?;
        let digest = self.catalog().digest;
        let cause_of = move |it: &ClientSnapshot| {
            let outdated = it.find_assessed()?.filter(|it| it.catalog_digest != digest);
            let n_asked = it.n_asked()?;
            Ok(if let Some(assessed) = outdated {
                release::cause_of_catalog(assessed.at, it.find_release()?.as_ref())
            } else if n_asked == 0 {
                Cause::Lapse
            } else {
                Cause::Assets
            })
        };
        let cause = rows.read(cause_of).await?;
        self.reassess(rows, cause).await?;
        let new_days = self.options.settings.new_member_days;
        let is_due = move |it: &ClientSnapshot| estate::is_due(it, &it.estate()?, new_days, now);
        if rows.read(is_due).await? {
            self.reassess(rows, Cause::Due).await?;
        }
        Ok(())
    }

    /// Continues erasures that a stop interrupted.
    pub async fn finish_erasures(&self) -> Result<()> {
        let clients = self.clients.directory.list();
        for client in clients.iter().filter(|it| it.state == ClientState::Erasing) {
            let _lock = self.clients.lock(client.id).await;
            self.erase_client(client.id).await?;
        }
        Ok(())
    }

    /// Stores the counters that changed, so that a restart does not reset them.
    pub async fn checkpoint_limits(&self) -> Result<()> {
        let moved = self.access.limiter.drain_moved();
        if moved.is_empty() {
            return Ok(());
        }
        self.store.write(move |batch| batch.put_windows(&moved)).await
    }

    /// Removes expired events and changes of rows. Returns true if more remain.
    pub async fn forget_events(&self) -> Result<bool> {
        let before = self.clock.now().plus_days(-i64::from(self.options.events_days));
        let remove = move |batch: &mut Batch| {
            let more = batch.remove_events_before(before, N_ROWS_AT_ONCE)?;
            Ok(batch.remove_changes_before(before, N_ROWS_AT_ONCE)? || more)
        };
        self.store.reserved().write(remove).await
    }

    /// Removes expired answers. Returns true if more remain.
    pub async fn forget_answers(&self) -> Result<bool> {
        let before = self.clock.now().plus_s(-ANSWER_HOURS * 3_600);
        let store = self.store.reserved();
        store.write(move |batch| batch.remove_answers_before(before, N_ANSWERS_AT_ONCE)).await
    }

    /// Marks assets as stale that were not seen for long, and removes those that were retired long ago.
    async fn age_assets(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let days = self.settings_of(rows.id())?.stale_asset_days(&self.options.settings);
        let is_held = rows.read(move |it| it.find_hold(now)).await?.is_some();
        let seen_before = now.plus_days(-i64::from(days));
        let retired_before = now.plus_days(-ENDED_DAYS);
        let new_before = now.day().saturating_sub(NEW_MEMBER_DAYS.end() + 1);
        while rows.write(move |it| it.forget_new_before(new_before, N_ROWS_AT_ONCE)).await? {}
        let mut after: Option<AssetId> = None;
        loop {
            let list = move |it: &ClientSnapshot| {
                it.list_aged_assets(seen_before, retired_before, after, N_ROWS_AT_ONCE)
            };
            let found = rows.read(list).await?;
            let stale: Vec<AssetId> = found.stale.iter().map(|it| it.id).collect();
            if !stale.is_empty() {
                rows.write(move |batch| put_stale(batch, &stale, seen_before)).await?;
            }
            if !is_held {
                retention::forget_assets(rows, found.retired).await?;
            }
            let Some(next) = found.next else { return Ok(()) };
            after = Some(next);
        }
    }

    /// Assets without a client have none.
    fn settings_of(&self, id: ClientId) -> Result<Settings> {
        if id == ClientId::UNASSIGNED {
            return Ok(Settings::of("{}"));
        }
        let absent = || Error::not_found("client not found");
        let client = self.clients.directory.find(id).ok_or_else(absent)?;
        Ok(Settings::of(&client.settings))
    }
}

/// Marks assets as stale, except those that were seen since.
fn put_stale(batch: &mut ClientBatch<'_>, ids: &[AssetId], seen_before: Time) -> Result<()> {
    for id in ids {
        let Some(mut asset) = batch.find_asset(*id)? else { continue };
        if asset.last_seen_at < seen_before && asset.status == AssetStatus::Active {
            asset.status = AssetStatus::Stale;
            batch.put_asset(&asset)?;
        } else if asset.status == AssetStatus::Stale {
            batch.mark_stale(*id)?;
        }
    }
    Ok(())
}
