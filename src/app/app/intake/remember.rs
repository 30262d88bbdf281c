//! What a run's observations remember of those before them, and what newer ones remember once a run comes late or is undone.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::app::intake::run::{Intake, Remembering};
use crate::clock::Time;
use crate::engine::fact::{
    Absences, CompleteRead, N_FAILING_OF_CLIENT_MAX, Observation, ObservedThing, SourceFacts,
};
use crate::engine::memory::Extent;
use crate::engine::memory::remember::{of_nameless, replay};
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientSnapshot;
use crate::store::per_client::fact::ObservationKey;

/// Returns what the run's observations remember, and stored ones that remember something else from now on.
///
/// `known`: what was observed before. `reads`: the complete reads of the run that are accepted.
pub(super) fn remember(
    rows: &ClientSnapshot,
    intake: &Intake,
    known: &SourceFacts,
    reads: &[CompleteRead],
) -> Result<(Remembering, Vec<Observation>)> {
    if intake.is_undoing() {
        return Ok((Remembering::default(), without(rows, intake, &known.observations)?));
    }
    let source = intake.import.source.as_str();
    let is_ours = |it: &&Observation| it.source == source && it.is_effective();
    let mut newest: BTreeMap<ObservedThing<'_>, &Observation> = BTreeMap::new();
    for it in known.observations.iter().filter(is_ours) {
        let kept = newest.entry(it.thing()).or_insert(it);
        let order = kept.observed_at.cmp(&it.observed_at).then_with(|| kept.worst_last(it));
        if order == Ordering::Less {
            *kept = it;
        }
    }
    let absences = Absences::of(&known.reads, &known.observations);
    let whole: HashSet<&str> =
        reads.iter().filter(|it| !it.is_of_accounts).map(|it| it.scope.as_str()).collect();
    let mut n_room = N_FAILING_OF_CLIENT_MAX.saturating_sub(n_failing(intake, &known.observations));
    let (mut remembering, mut late) = (HashMap::new(), Vec::new());
    for (at, it) in intake.observations.iter().enumerate() {
        let n_kept = it.failing.len().min(n_room);
        n_room -= n_kept;
        if it.memory.extent == Extent::All && n_kept == it.failing.len() {
            continue;
        }
        let mut new = it.clone();
        new.failing.truncate(n_kept);
        let is_complete = intake.import.complete && new.memory.extent == Extent::Complete;
        if is_complete && !whole.contains(new.scope.as_str()) {
            new.memory.extent = match intake.extent_if_held {
                Some(extent) => extent,
                None if names_subjects(&new) => Extent::Named,
                None => of_nameless(new.verdict, false),
            };
        }
        match newest.get(&it.thing()) {
            Some(before) if new.observed_at <= before.observed_at => late.push((at, new.clone())),
            Some(before) if !absences.include(before) => {
                new = new.remembering(before, |subject| intake.outcomes.passes(it, subject));
            }
            Some(_) | None => (),
        }
        remembering.extend((new != *it).then_some((at, new)));
    }
    // A complete read that comes late may say that something was gone before it was seen again.
    let is_after_read = |it: &&&Observation| {
        let is_of = |read: &CompleteRead| read.scope == it.scope && read.at < it.observed_at;
        it.memory.n_carried() != 0 && reads.iter().any(is_of)
    };
    let silenced = newest.values().filter(is_after_read).map(|it| ObservationKey::from(*it));
    let corrected = take_late(rows, (late, silenced.collect()), reads, &mut remembering)?;
    Ok((Remembering::of(remembering), corrected))
}

/// How many failing subjects are known one by one, but for those of what a run speaks of.
fn n_failing(intake: &Intake, known: &[Observation]) -> usize {
    let again: HashSet<ObservedThing<'_>> =
        intake.observations.iter().map(Observation::thing).collect();
    let others = known.iter().filter(|it| !again.contains(&it.thing()));
    others.map(|it| it.failing.len()).sum()
}

fn names_subjects(it: &Observation) -> bool {
    !it.failing.is_empty() || !it.memory.healed.is_empty()
}

/// Observations that are not the newest of their thing: newer ones remember what they saw. And things whose newest observations
/// may remember less.
fn take_late(
    rows: &ClientSnapshot,
    (late, silenced): (Vec<(usize, Observation)>, Vec<ObservationKey>),
    reads: &[CompleteRead],
    remembering: &mut HashMap<usize, Observation>,
) -> Result<Vec<Observation>> {
    if late.is_empty() && silenced.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<_> = late.iter().map(|it| ObservationKey::from(&it.1)).chain(silenced).collect();
    let mut log = logs_of(rows, &keys)?;
    let places: HashMap<ObservationKey, usize> =
        late.iter().map(|(at, it)| (ObservationKey::from(it), *at)).collect();
    log.extend(late.into_iter().map(|it| it.1));
    let mut all_reads = rows.list_stored_reads()?;
    all_reads.extend(reads.iter().cloned());
    let mut corrected = Vec::new();
    for it in replayed(&log, &all_reads, None) {
        match places.get(&ObservationKey::from(&it)) {
            Some(at) => {
                remembering.insert(*at, it);
            }
            None => corrected.push(it),
        }
    }
    Ok(corrected)
}

/// Returns what the newest observations remember without those of a run that is undone, where that differs.
fn without(
    rows: &ClientSnapshot,
    intake: &Intake,
    known: &[Observation],
) -> Result<Vec<Observation>> {
    let silenced = |it: &&Observation| {
        let is_read = |read: &CompleteRead| read.source == it.source && read.scope == it.scope;
        it.memory.extent != Extent::All && intake.retracted_reads.iter().any(is_read)
    };
    let silenced = known.iter().filter(silenced).map(ObservationKey::from);
    let keys: Vec<ObservationKey> = intake.retracted.iter().cloned().chain(silenced).collect();
    let log = logs_of(rows, &keys)?;
    let undone = intake.import.id;
    let mut reads = rows.list_stored_reads()?;
    reads.retain(|it| it.import != undone);
    Ok(replayed(&log, &reads, Some(undone)))
}

/// All that was observed of these things.
fn logs_of(rows: &ClientSnapshot, keys: &[ObservationKey]) -> Result<Vec<Observation>> {
    let mut log = Vec::new();
    let mut done: HashSet<ObservedThing<'_>> = HashSet::new();
    for it in keys {
        if done.insert((&it.subject, &it.source, &it.scope, &it.check)) {
            log.extend(rows.list_observations_like(it)?);
        }
    }
    Ok(log)
}

/// Returns what the newest observations of each thing remember of the rest of its log, where that differs. `undone`: what this
/// run observed counts as if it had never been.
fn replayed(
    log: &[Observation],
    reads: &[CompleteRead],
    undone: Option<ImportId>,
) -> Vec<Observation> {
    let is_undone = |it: &Observation| Some(it.import) == undone;
    let mut by_thing: BTreeMap<ObservedThing<'_>, Vec<&Observation>> = BTreeMap::new();
    for it in log.iter().filter(|it| it.is_effective()) {
        by_thing.entry(it.thing()).or_default().push(it);
    }
    let absences = Absences::of(reads, log);
    let is_gone = |before: &Observation, next: Time| absences.include_between(before, Some(next));
    let mut changed = Vec::new();
    for mut log in by_thing.into_values() {
        log.sort_by_key(|it| (it.observed_at, it.import));
        log.dedup_by_key(|it| (it.observed_at, it.import));
        let newest_at = log.iter().rev().find(|it| !is_undone(it)).map(|it| it.observed_at);
        let n_older = log.partition_point(|it| Some(it.observed_at) < newest_at);
        for it in log[n_older..].iter().filter(|it| !is_undone(it)) {
            let known: Vec<&Observation> = log[..n_older].iter().chain([it]).copied().collect();
            let replayed = replay(&known, is_gone, is_undone);
            changed.extend(replayed.filter(|replayed| replayed != *it));
        }
    }
    changed
}
