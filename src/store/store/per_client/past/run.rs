//! The runs that past observations are of. Each has a number, so that a time at which something was seen takes two bytes
//! in place of 25.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::fact::key::ObservationKey;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_PAST_RUNS, FACTS};

/// How many runs one row has.
const N_RUNS_OF_PART: u32 = 128;

/// When something was seen, and by which run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sighting {
    pub(super) at: Time,
    pub(super) import: ImportId,
}

impl Sighting {
    pub(super) fn of(it: &ObservationKey) -> Self {
        Self { at: it.observed_at, import: it.import }
    }
}

/// A sighting in few bytes.
#[derive(Clone, Copy, Encode, Decode)]
pub(super) struct Step {
    /// How far the number of its run is from that of the step before. From zero at first.
    n_runs: u32,
    /// How far its time is from that of its run.
    micros: i64,
}

#[derive(Clone, Copy, Encode, Decode)]
struct Run {
    import: ImportId,
    /// When the first of its observations was made that became past. Most have this time.
    at: Time,
}

/// The runs of one client by their numbers.
pub(in crate::store::per_client) struct Runs {
    /// By the number of the first run, divided by [`N_RUNS_OF_PART`].
    parts: BTreeMap<u32, Vec<Run>>,
    numbers: HashMap<ImportId, u32>,
}

fn part_key(part: u32) -> RowKey {
    RowKey::of(FACT_PAST_RUNS).bytes(&part.to_be_bytes())
}

fn part_of_key(key: &[u8]) -> u32 {
    u32::from_be_bytes(*key.last_chunk().expect("every key of this kind ends with a number"))
}

impl Runs {
    fn find(&self, number: u32) -> Option<&Run> {
        self.parts.get(&(number / N_RUNS_OF_PART))?.get((number % N_RUNS_OF_PART) as usize)
    }

    /// In any order. Those of runs that are gone are left out.
    pub(super) fn unpack(&self, steps: &[Step]) -> Vec<Sighting> {
        let mut number = 0_u32;
        let sighting = |it: &Step| {
            number = number.saturating_add(it.n_runs);
            let run = self.find(number)?;
            let at = Time::from_micros(run.at.micros() + it.micros);
            Some(Sighting { at, import: run.import })
        };
        steps.iter().filter_map(sighting).collect()
    }

    /// Each run has a number.
    pub(super) fn pack(&self, sightings: &[Sighting]) -> Vec<Step> {
        let numbered = |it: &Sighting| Some((*self.numbers.get(&it.import)?, it.at));
        let mut numbered: Vec<(u32, Time)> = sightings.iter().filter_map(numbered).collect();
        numbered.sort_unstable();
        let mut before = 0;
        let step = |(number, at): (u32, Time)| {
            let n_runs = number - before;
            before = number;
            Some(Step { n_runs, micros: at.micros() - self.find(number)?.at.micros() })
        };
        numbered.into_iter().filter_map(step).collect()
    }

    /// Gives numbers to runs that have none. Returns the parts that changed.
    fn add(&mut self, sightings: impl Iterator<Item = Sighting>) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        for Sighting { at, import } in sightings {
            if self.numbers.contains_key(&import) {
                continue;
            }
            let (last, n_used) =
                self.parts.last_key_value().map_or((0, 0), |(part, runs)| (*part, runs.len()));
            let part = if n_used == N_RUNS_OF_PART as usize { last + 1 } else { last };
            let runs = self.parts.entry(part).or_default();
            let number = part * N_RUNS_OF_PART + u32::try_from(runs.len()).unwrap_or(u32::MAX);
            runs.push(Run { import, at });
            self.numbers.insert(import, number);
            changed.insert(part);
        }
        changed
    }
}

impl<R: Rows> ClientTransaction<R> {
    pub(in crate::store::per_client) fn list_past_runs(&self) -> Result<Runs> {
        let table = FACTS.name(self.client);
        let mut runs = Runs { parts: BTreeMap::new(), numbers: HashMap::new() };
        let span = Span::prefix(RowKey::of(FACT_PAST_RUNS).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let part = part_of_key(key);
            let of_part: Vec<Run> = self.rows.open_row(&table, key, bytes)?;
            let numbers = part * N_RUNS_OF_PART..;
            runs.numbers.extend(of_part.iter().map(|it| it.import).zip(numbers));
            runs.parts.insert(part, of_part);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(runs)
    }
}

impl ClientBatch<'_> {
    /// The runs, among them those of these sightings.
    pub(super) fn add_past_runs(
        &mut self,
        sightings: impl Iterator<Item = Sighting>,
    ) -> Result<Runs> {
        let mut runs = self.list_past_runs()?;
        for part in runs.add(sightings) {
            self.put(FACTS, &part_key(part), &runs.parts[&part])?;
        }
        Ok(runs)
    }

    /// Removes the numbers of runs that are gone. The newest stay, so that no number is given twice.
    pub fn forget_past_runs(&mut self) -> Result<()> {
        let mut parts = self.list_past_runs()?.parts;
        parts.pop_last();
        for (part, runs) in parts {
            let mut is_gone = true;
            for run in runs {
                is_gone = is_gone && self.find_import(run.import)?.is_none();
            }
            if is_gone {
                self.remove(FACTS, &part_key(part))?;
            }
        }
        Ok(())
    }
}
