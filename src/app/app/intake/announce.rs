//! What is announced of a run itself and of the assets that it found.

use super::source::{self, Run};
use super::step::StepCounts;
use crate::app::event;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientBatch;
use crate::store::per_client::import::Import;

/// Announces new assets.
pub(super) fn announce_discovered(
    batch: &mut ClientBatch<'_>,
    run: ImportId,
    counts: &StepCounts,
    now: Time,
) -> Result<()> {
    let mut events = Vec::new();
    for id in &counts.discovered {
        events.extend(batch.find_asset(*id)?.map(|it| event::asset::discovered(&it, now)));
    }
    if event::summary::N_SINGLE_MAX < events.len() {
        let n = counts.n_discovered as usize;
        let kind = EventKind::AssetDiscovered;
        events = vec![event::summary::of_many(kind, run, n, &events, now)];
    }
    events.iter().try_for_each(|it| it.add(batch).map(|_| ()))
}

/// Records how the run went. Returns how many events announced it.
pub(super) fn announce_run(
    batch: &mut ClientBatch<'_>,
    import: &Import,
    run: &Run,
    now: Time,
) -> Result<u32> {
    match run {
        Run::Quiet => return Ok(0),
        Run::Completed => {
            event::source::sync_completed(import).add(batch)?;
        }
        Run::Degraded { message } => {
            event::source::sync_partial(import, message.as_deref()).add(batch)?;
        }
        Run::Failed { message } => {
            let scope = import.scopes.first().map_or("", String::as_str);
            let message = message.as_deref();
            event::source::sync_failed(&import.source, scope, message, now).add(batch)?;
        }
    }
    Ok(1 + u32::from(source::note_run(batch, &import.source, run, now)?))
}
