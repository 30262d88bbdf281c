//! What was observed before, once newer observations took its place: each different one once, with all times at which it
//! was seen. No assessment reads it. It counts again when everything newer is undone.

pub(in crate::store::per_client) mod run;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use bincode::{Decode, Encode};
use xxhash_rust::xxh3::xxh3_64;

use crate::clock::Time;
use crate::engine::fact::Observation;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::layout::Layout;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::fact::key::{ObservationKey, group_key};
use crate::store::per_client::past::run::{Runs, Sighting, Step};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_PAST, FACTS};

/// How many times one row has at most.
const N_SIGHTINGS_MAX: usize = 512;
/// How many times are kept of one thing, the newest: one a day for six years.
pub const N_PAST_MAX: usize = 2_200;
const DIGEST_BYTES: usize = 8;
const NUMBER_BYTES: usize = 2;

/// An observation, and when it was made.
#[derive(Encode, Decode)]
#[bincode(decode_context = "Layout")]
struct PastRecord {
    what: PastBody,
    oldest: Time,
    steps: Vec<Step>,
}

/// The part of an observation that does not say when it was made.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
#[bincode(decode_context = "Layout")]
struct PastBody {
    /// Without an end, and as if the first import of all had made it in 1970.
    observation: Observation,
    /// How long after it was made it ends, in microseconds. `None`: it has no end of its own.
    ends_after_micros: Option<i64>,
}

impl PastBody {
    fn of(it: &Observation) -> Self {
        let after = |end: Time| end.micros() - it.observed_at.micros();
        let import = ImportId::from_bytes([0; 16]);
        Self {
            observation: Observation {
                observed_at: Time::EPOCH,
                import,
                valid_until: None,
                ..it.clone()
            },
            ends_after_micros: it.valid_until.map(after),
        }
    }

    fn digest(&self) -> Result<u64> {
        let bytes = bincode::encode_to_vec(self, bincode::config::standard());
        Ok(xxh3_64(&bytes.map_err(Error::internal)?))
    }

    fn key(&self, sighting: Sighting) -> ObservationKey {
        let mut key = ObservationKey::from(&self.observation);
        (key.observed_at, key.import) = (sighting.at, sighting.import);
        key
    }

    fn at(&self, sighting: Sighting) -> Observation {
        let end = |after: i64| Time::from_micros(sighting.at.micros() + after);
        Observation {
            observed_at: sighting.at,
            import: sighting.import,
            valid_until: self.ends_after_micros.map(end),
            ..self.observation.clone()
        }
    }
}

/// The start of the keys of what was observed before of the same thing.
fn past_of(key: &ObservationKey) -> RowKey {
    let group = group_key(key);
    RowKey::of(FACT_PAST).bytes(&group.as_slice()[1..])
}

impl<R: Rows> ClientTransaction<R> {
    fn visit_past(
        &self,
        start: &RowKey,
        visit: &mut dyn FnMut(&[u8], PastRecord) -> Result<()>,
    ) -> Result<()> {
        let table = FACTS.name(self.client);
        self.rows.visit_rows(&table, &Span::prefix(start.as_slice()), &mut |key, bytes| {
            visit(key, self.rows.open_row(&table, key, bytes)?)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// What was observed before of the same thing, in any order. `None`: of all things.
    pub(super) fn list_past(
        &self,
        of: Option<&ObservationKey>,
        runs: &Runs,
    ) -> Result<Vec<Observation>> {
        let (uncounted, mut found) = (self.list_uncounted()?, Vec::new());
        let start = of.map_or_else(|| RowKey::of(FACT_PAST), past_of);
        self.visit_past(&start, &mut |_, record| {
            let mut sightings = runs.unpack(&record.steps);
            sightings.retain(|it| !uncounted.contains(&it.import));
            found.extend(sightings.into_iter().map(|it| record.what.at(it)));
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn list_past_of_import(&self, import: ImportId) -> Result<Vec<ObservationKey>> {
        let (runs, mut found) = (self.list_past_runs()?, Vec::new());
        self.visit_past(&RowKey::of(FACT_PAST), &mut |_, record| {
            let mut sightings = runs.unpack(&record.steps);
            sightings.retain(|it| it.import == import);
            found.extend(sightings.into_iter().map(|it| record.what.key(it)));
            Ok(())
        })?;
        Ok(found)
    }

    /// What an assessment reads again once these are removed: of each thing what was observed last that says something, and
    /// what came with it and after it. Reads much: call it on a snapshot.
    pub fn list_uncovered(&self, removed: &[ObservationKey]) -> Result<Vec<Observation>> {
        let removed: BTreeSet<&ObservationKey> = removed.iter().collect();
        let groups = removed.iter().map(|it| (past_of(it).as_slice().to_vec(), *it));
        let groups: BTreeMap<Vec<u8>, &ObservationKey> = groups.collect();
        let (runs, mut found) = (self.list_past_runs()?, Vec::new());
        for key in groups.into_values() {
            let mut past = self.list_past(Some(key), &runs)?;
            past.retain(|it| !removed.contains(&ObservationKey::from(it)));
            if past.is_empty() {
                continue;
            }
            let effective = past.iter().filter(|it| it.verdict.is_effective());
            let in_log = self.newest_effective_without(key, &removed)?;
            let newest = effective.map(|it| it.observed_at).max().max(in_log);
            past.retain(|it| newest.is_none_or(|newest| newest <= it.observed_at));
            found.extend(past);
        }
        Ok(found)
    }

    /// About `n_max` rows that have times which are too old: from before `time`, or beyond the newest [`N_PAST_MAX`] of a thing.
    /// Of each, from when on its times stay.
    pub fn list_past_to_forget(&self, time: Time, n_max: usize) -> Result<Vec<(Vec<u8>, Time)>> {
        let (table, mut found) = (FACTS.name(self.client), Vec::new());
        let runs = self.list_past_runs()?;
        let span = Span::prefix(RowKey::of(FACT_PAST).as_slice());
        let mut group: Vec<(Vec<u8>, PastRecord)> = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let is_same = group.last().is_none_or(|(last, _)| group_of(last) == group_of(key));
            if !is_same {
                found.extend(to_forget(std::mem::take(&mut group), time, &runs));
            }
            if n_max <= found.len() {
                return Ok(ControlFlow::Break(()));
            }
            group.push((key.to_vec(), self.rows.open_row(&table, key, bytes)?));
            Ok(ControlFlow::Continue(()))
        })?;
        found.extend(to_forget(group, time, &runs));
        Ok(found)
    }
}

/// The part of a key that names what was observed.
fn group_of(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(DIGEST_BYTES + NUMBER_BYTES)]
}

/// `rows`: all of one thing.
fn to_forget(
    rows: Vec<(Vec<u8>, PastRecord)>,
    mut time: Time,
    runs: &Runs,
) -> Vec<(Vec<u8>, Time)> {
    if N_PAST_MAX < rows.iter().map(|(_, it)| it.steps.len()).sum() {
        let sightings = rows.iter().flat_map(|(_, it)| runs.unpack(&it.steps));
        let mut times: Vec<Time> = sightings.map(|it| it.at).collect();
        times.sort_unstable_by_key(|it| Reverse(*it));
        time = times.get(N_PAST_MAX - 1).map_or(time, |it| time.max(*it));
    }
    rows.into_iter().filter(|(_, it)| it.oldest < time).map(|(key, _)| (key, time)).collect()
}

impl ClientBatch<'_> {
    /// Moves observations out of the log, if they are still there.
    pub fn fold_observations(&mut self, outdated: &[Observation]) -> Result<()> {
        let mut folded: BTreeMap<Vec<u8>, (PastBody, Vec<Sighting>)> = BTreeMap::new();
        for it in outdated {
            let key = ObservationKey::from(it);
            if self.forget_observation(&key)? {
                let what = PastBody::of(it);
                let start = past_of(&key).bytes(&what.digest()?.to_be_bytes());
                let of_body = folded.entry(start.as_slice().to_vec());
                of_body.or_insert_with(|| (what, Vec::new())).1.push(Sighting::of(&key));
            }
        }
        let runs = self.add_past_runs(folded.values().flat_map(|(_, it)| it).copied())?;
        folded.into_iter().try_for_each(|(start, it)| self.add_past(&start, it, &runs))
    }

    /// Adds sightings to the newest row of the same observation that has room, or else to new rows.
    fn add_past(
        &mut self,
        start: &[u8],
        (what, mut left): (PastBody, Vec<Sighting>),
        runs: &Runs,
    ) -> Result<()> {
        let table = FACTS.name(self.client);
        // The newest first.
        let newest = self.rows.list_keys_of(&table, &Span::prefix(start), 1)?.pop();
        let mut number = 0;
        if let Some(newest) = newest {
            let row_key = RowKey::empty().bytes(&newest);
            let last = newest.last_chunk().expect("every key of this kind ends with a number");
            number = (!u16::from_be_bytes(*last)).saturating_add(1);
            let known = self.find::<PastRecord>(FACTS, &row_key)?;
            if let Some(known) = known.filter(|it| it.what == what) {
                let mut sightings = runs.unpack(&known.steps);
                let n_room = N_SIGHTINGS_MAX.saturating_sub(sightings.len());
                sightings.extend(left.drain(..n_room.min(left.len())));
                self.put_past(&newest, known.what, &sightings, runs)?;
            }
        }
        for some in left.chunks(N_SIGHTINGS_MAX) {
            let key = [start, &(!number).to_be_bytes()].concat();
            self.put_past(&key, what.clone(), some, runs)?;
            number = number.saturating_add(1);
        }
        Ok(())
    }

    /// Whether it was there.
    pub(super) fn remove_past(&mut self, key: &ObservationKey, runs: &Runs) -> Result<bool> {
        let mut rows = Vec::new();
        self.visit_past(&past_of(key), &mut |row_key, record| {
            let mut sightings = runs.unpack(&record.steps);
            if sightings.contains(&Sighting::of(key)) {
                sightings.retain(|it| *it != Sighting::of(key));
                rows.push((row_key.to_vec(), record.what, sightings));
            }
            Ok(())
        })?;
        let was_there = !rows.is_empty();
        for (row_key, what, sightings) in rows {
            self.put_past(&row_key, what, &sightings, runs)?;
        }
        Ok(was_there)
    }

    fn put_past(
        &mut self,
        key: &[u8],
        what: PastBody,
        sightings: &[Sighting],
        runs: &Runs,
    ) -> Result<()> {
        let key = RowKey::empty().bytes(key);
        let Some(oldest) = sightings.iter().map(|it| it.at).min() else {
            return self.remove(FACTS, &key).map(|_| ());
        };
        self.put(FACTS, &key, &PastRecord { what, oldest, steps: runs.pack(sightings) })
    }

    /// Removes the times that are too old from rows that [`ClientTransaction::list_past_to_forget`] found.
    /// Returns how many.
    pub fn forget_past(&mut self, rows: &[(Vec<u8>, Time)]) -> Result<usize> {
        let (runs, mut n_removed) = (self.list_past_runs()?, 0);
        for (key, time) in rows {
            let row_key = RowKey::empty().bytes(key);
            if let Some(record) = self.find::<PastRecord>(FACTS, &row_key)? {
                let mut sightings = runs.unpack(&record.steps);
                sightings.retain(|it| *time <= it.at);
                n_removed += record.steps.len() - sightings.len();
                self.put_past(key, record.what, &sightings, &runs)?;
            }
        }
        Ok(n_removed)
    }
}
