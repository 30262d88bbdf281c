//! Whether everything that showed something of a client was undone: then it is as if there had never been anything.

use std::collections::BTreeMap;

use crate::app::assessment::statement::Statements;
use crate::app::client::retention::Retention;
use crate::app::event::cause::{Cause, Undone};
use crate::clock::Time;
use crate::engine::fact::{Observation, SourceFacts};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::import::Import;
use crate::store::per_client::statement::{Deed, Fate, StatementRecord, Topic, fates};

/// How long releases before 2026-12 kept what sources saw.
const EARLIER_DAYS: i64 = 396;

/// Returns true if what is undone now was the last thing that ever showed evidence. Once something may have been removed
/// by retention it is false for good: nobody can say any more what it showed.
pub(super) fn was_all(
    rows: &ClientSnapshot,
    cause: &Cause,
    (seen, statements): (&SourceFacts, &Statements),
    (retention, now): (Retention, Time),
) -> Result<bool> {
    let Cause::Undo(undone) = cause else { return Ok(false) };
    let is_left = seen.observations.iter().any(Observation::is_effective)
        || !statements.attested.is_empty()
        || !statements.parts.is_empty();
    let earlier = now.plus_days(-EARLIER_DAYS);
    let kept_from = retention.observations_before(now).map_or(earlier, |it| it.max(earlier));
    if is_left || rows.find_day_before(kept_from)?.is_some() {
        return Ok(false);
    }
    let stands = |it: &Import| {
        it.n_facts != 0 && it.retracted_at.is_none() && *undone != Undone::Import(it.id)
    };
    let imports = rows.list_imports()?;
    let standing: Vec<&Import> = imports.iter().filter(|it| stands(it)).collect();
    Ok(!has_shown(rows, &standing)? && !was_attested(rows, *undone)?)
}

/// Whether one of these runs showed evidence, as far as is known: what is no longer kept may have been.
fn has_shown(rows: &ClientSnapshot, runs: &[&Import]) -> Result<bool> {
    if runs.is_empty() {
        return Ok(false);
    }
    let known = rows.list_all_observations()?;
    let showed = |run: &&Import| {
        let own = || known.iter().filter(|it| it.import == run.id);
        own().any(Observation::is_effective)
            || u32::try_from(own().count()).is_ok_and(|n_kept| n_kept < run.n_facts)
    };
    Ok(runs.iter().any(showed))
}

/// Whether the log has an attestation of a control that nobody undid, whatever became of it.
fn was_attested(rows: &ClientSnapshot, undone: Undone) -> Result<bool> {
    let is_of_control =
        |it: &StatementRecord| matches!(it.topic, Topic::Control(_) | Topic::Part { .. });
    let mut by_topic: BTreeMap<Topic, Vec<StatementRecord>> = BTreeMap::new();
    for it in rows.list_statements(None, usize::MAX, is_of_control)?.into_iter().rev() {
        by_topic.entry(it.topic.clone()).or_default().push(it);
    }
    let is_left = |(record, fate): (&StatementRecord, Fate)| {
        matches!(record.deed, Deed::State(_))
            && !matches!(fate, Fate::Undone(_))
            && undone != Undone::Statement(record.number)
    };
    Ok(by_topic.values().any(|all| all.iter().zip(fates(all)).any(is_left)))
}
