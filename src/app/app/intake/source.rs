//! The health of sources: their runs, and the silence of those that are overdue.

use bincode::{Decode, Encode};

use crate::app::App;
use crate::app::event;
use crate::clock::Time;
use crate::error::Result;
use crate::store::per_client::roster::{HealthState, N_GAPS_KEPT, SourceHealth};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

/// From this many failures in a row on, a source is failing rather than degraded.
const N_FAILING: u32 = 3;
/// A source has an interval once there were this many gaps between its runs.
const N_GAPS_MIN: usize = 2;
/// A source is silent after twice its longest gap, but never before this.
const SILENT_AFTER_S_MIN: i64 = 36 * 3_600;

/// How a run of a source went.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Run {
    Completed,
    /// It could not read everything.
    Degraded {
        message: Option<String>,
    },
    Failed {
        message: Option<String>,
    },
    /// An incidental push, which does not count as a run.
    Quiet,
}

/// Records a run, and announces it if it changes the source's health. Returns true if it did.
pub(in crate::app) fn note_run(
    batch: &mut ClientBatch<'_>,
    source: &str,
    run: &Run,
    now: Time,
) -> Result<bool> {
    let before = batch.find_source_health(source)?;
    let (state, n_failures, message) = match run {
        Run::Quiet => return Ok(false),
        Run::Completed => (HealthState::Healthy, 0, None),
        Run::Degraded { message } => (HealthState::Degraded, 0, message.clone()),
        Run::Failed { message } => {
            let n = before.as_ref().map_or(0, |it| it.n_failures) + 1;
            let state = if N_FAILING <= n { HealthState::Failing } else { HealthState::Degraded };
            (state, n, message.clone())
        }
    };
    let mut gaps_s = before.as_ref().map(|it| it.gaps_s.clone()).unwrap_or_default();
    gaps_s.extend(before.as_ref().map(|it| now.s_since(it.last_run_at)));
    let n_over = gaps_s.len().saturating_sub(N_GAPS_KEPT);
    gaps_s.drain(..n_over);
    let last_success_at = match run {
        Run::Completed => Some(now),
        Run::Degraded { .. } | Run::Failed { .. } | Run::Quiet => {
            before.as_ref().and_then(|it| it.last_success_at)
        }
    };
    let source = source.to_owned();
    let after = SourceHealth {
        source,
        state,
        n_failures,
        last_run_at: now,
        last_success_at,
        gaps_s,
        message,
    };
    move_to(batch, before.as_ref(), &after, now)
}

/// Forgets that a source reports, which is not announced: it was removed, and has not come back to health.
pub(in crate::app) fn forget_source(
    batch: &mut ClientBatch<'_>,
    source: &str,
    now: Time,
) -> Result<()> {
    let Some(health) = batch.find_source_health(source)? else { return Ok(()) };
    let key = event::source::health_changed(None, &health, 1, now).key().to_owned();
    batch.close_condition(&key, now)?;
    batch.remove_source_health(source)
}

/// Stores the health of a source and announces a change. The first run is announced only if it is not healthy.
fn move_to(
    batch: &mut ClientBatch<'_>,
    before: Option<&SourceHealth>,
    after: &SourceHealth,
    now: Time,
) -> Result<bool> {
    batch.put_source_health(after)?;
    let was = before.map_or(HealthState::Healthy, |it| it.state);
    if was == after.state {
        return Ok(false);
    }
    let was_known = before.map(|it| it.state);
    let changed = |n| event::source::health_changed(was_known, after, n, now);
    let key = changed(1).key().to_owned();
    let event = if after.state == HealthState::Healthy {
        let closed = batch.close_condition(&key, now)?;
        let opened_at = closed.as_ref().map_or(now, |it| it.opened_at);
        changed(closed.map_or(1, |it| it.occurrence)).opened_at(opened_at)
    } else {
        changed(1).open(batch, now)?;
        let open = batch.find_condition(&key)?;
        let opened_at = open.as_ref().map_or(now, |it| it.opened_at);
        let event = changed(open.map_or(1, |it| it.occurrence)).opened_at(opened_at);
        event.replace_condition(batch)?;
        event
    };
    event.add(batch)?;
    Ok(true)
}

/// Returns true if a source is overdue. A few runs within about a day are manual work, not an interval.
///
/// `first`: when it first reported.
fn is_silent(health: &SourceHealth, first: Option<Time>, now: Time) -> bool {
    let longest_s = health.gaps_s.iter().copied().max().unwrap_or(0);
    let wait_s = (2 * longest_s).max(SILENT_AFTER_S_MIN);
    let is_regular = first.is_none_or(|it| SILENT_AFTER_S_MIN <= health.last_run_at.s_since(it));
    N_GAPS_MIN <= health.gaps_s.len()
        && is_regular
        && health.state != HealthState::Silent
        && wait_s <= now.s_since(health.last_run_at)
}

impl App {
    /// Finds the client's sources that are overdue.
    pub(in crate::app) async fn find_silence(&self, rows: &ClientStore, now: Time) -> Result<()> {
        let read = move |snapshot: &ClientSnapshot| {
            let sources = snapshot.list_sources()?;
            let first = |name: &str| {
                sources.iter().filter(|it| it.source == name).map(|it| it.first_seen_at).min()
            };
            let mut all = snapshot.list_source_health()?;
            all.retain(|it| is_silent(it, first(&it.source), now));
            Ok(all)
        };
        for health in rows.read(read).await? {
            let write = move |batch: &mut ClientBatch<'_>| {
                let Some(before) = batch.find_source_health(&health.source)? else { return Ok(()) };
                if before != health {
                    return Ok(()); // It reported meanwhile.
                }
                let after = SourceHealth { state: HealthState::Silent, ..before.clone() };
                move_to(batch, Some(&before), &after, now).map(|_| ())
            };
            rows.write(write).await?;
        }
        Ok(())
    }
}
