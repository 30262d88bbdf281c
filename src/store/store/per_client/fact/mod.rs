//! Facts: the log of observations, and the statements of people.

pub(super) mod key;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::fact::{Absences, Attestation, CompleteRead, Observation, RowDecision, Verdict};
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::{EvidenceId, ImportId};
use crate::store::kernel::envelope::Broken;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
pub use crate::store::per_client::fact::key::ObservationKey;
use crate::store::per_client::fact::key::{group_key, is_of, log_key, log_start};
use crate::store::per_client::past::run::Runs;
use crate::store::row_key::{RowKey, Span, falling};
use crate::store::table::{FACT_ATTESTATION, FACT_DECISION, FACT_VERSION, FACTS};
use crate::store::{ClientBatch, ClientSnapshot};

/// A person's statement about a control, as it was made.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attested {
    /// Its `evidence` is the text that was sent.
    pub attestation: Attestation,
    /// The entry of the evidence register that it refers to instead. It counts as long as the entry
    /// exists and is valid.
    pub evidence_id: Option<EvidenceId>,
}

/// Names an observation in a list, to continue after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationCursor(Vec<u8>);

impl ObservationCursor {
    /// Reads what [`fmt::Display`] writes. `None`: it is something else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let key = hex::decode(text).ok()?;
        let is_key = log_start().is_start_of(&key) && TAIL_BYTES < key.len();
        (is_key && key.len() <= KEY_BYTES_MAX).then_some(Self(key))
    }
}

impl fmt::Display for ObservationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

type Visit<'a> = dyn FnMut(&[u8], Observation) -> ControlFlow<()> + 'a;

/// No key of an observation is longer.
const KEY_BYTES_MAX: usize = 2 * 1_024;

/// The last bytes of a key, after the part that names what was observed: the time and the import.
const TAIL_BYTES: usize = 8 + 16;
/// Sorts after every tail.
const BEHIND_TAILS: [u8; TAIL_BYTES + 1] = [u8::MAX; TAIL_BYTES + 1];

fn attestation_key(control: &str) -> RowKey {
    RowKey::of(FACT_ATTESTATION).last_text(control)
}

fn decision_key(framework: FrameworkId, reference: &str) -> RowKey {
    RowKey::of(FACT_DECISION).text(framework.as_str()).last_text(reference)
}

impl<R: Rows> ClientTransaction<R> {
    /// For each (subject, source, scope, check), all observations from the newest down to the newest
    /// effective one, including those of the same time. The cost depends on the number of keys, not
    /// on the length of the log.
    pub fn list_observations(&self) -> Result<Vec<Observation>> {
        let mut found = Vec::new();
        self.visit_current(&log_start(), &mut |_, observation| {
            found.push(observation);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Up to `limit` observations that count and are wanted, by key, after a cursor. Of each (subject, source, scope, check)
    /// the newest effective ones, unless a complete read after them lacks it.
    pub fn list_current_observations(
        &self,
        after: Option<&ObservationCursor>,
        limit: usize,
        is_wanted: impl Fn(&Observation) -> bool,
    ) -> Result<Vec<(ObservationCursor, Observation)>> {
        let mut found = Vec::new();
        // From the first row of the key, so that the newest effective one is known.
        let group =
            |it: &ObservationCursor| RowKey::empty().bytes(&it.0[..it.0.len() - TAIL_BYTES]);
        let from = after.map_or_else(log_start, group);
        let mut reads: BTreeMap<(String, String), Vec<CompleteRead>> = BTreeMap::new();
        for it in self.list_complete_reads()? {
            reads.entry((it.source.clone(), it.scope.clone())).or_default().push(it);
        }
        // Newer rows of the same key that only show that a read had the check.
        let mut silent: Vec<Observation> = Vec::new();
        self.visit_current(&from, &mut |key, observation| {
            silent.retain(|it| it.thing() == observation.thing());
            if !observation.is_effective() {
                silent.push(observation);
                return ControlFlow::Continue(());
            }
            let scope = (observation.source.clone(), observation.scope.clone());
            let reads = reads.get(&scope).map_or(&[][..], Vec::as_slice);
            let is_present = observation.verdict != Verdict::Gone
                && !Absences::of(reads, &silent).include(&observation);
            let is_next = after.is_none_or(|it| it.0.as_slice() < key);
            if is_next && is_present && is_wanted(&observation) {
                found.push((ObservationCursor(key.to_vec()), observation));
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }

    /// Visits what [`Self::list_observations`] lists, from a key on.
    fn visit_current(&self, from: &RowKey, visit: &mut Visit<'_>) -> Result<()> {
        let uncounted = self.list_uncounted()?;
        let mut from = from.as_slice().to_vec();
        while let Some(next) = self.visit_up_to_outdated(&from, &uncounted, visit)? {
            from = next;
        }
        Ok(())
    }

    /// Visits from `from` up to the first outdated row, and returns where the next key begins. `None`: it came to the end, or
    /// `visit` needs no more.
    fn visit_up_to_outdated(
        &self,
        from: &[u8],
        uncounted: &[ImportId],
        visit: &mut Visit<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(log_start().as_slice()).starting(from);
        let mut group: Vec<u8> = Vec::new();
        let mut effective_at: Option<Time> = None;
        let mut next = None;
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let key_group = self.group_of(&table, key)?;
            if key_group != group {
                group.clear();
                group.extend_from_slice(key_group);
                effective_at = None;
            }
            if let Some(time) = effective_at
                && key[key_group.len()..][..8] != falling(time).to_be_bytes()
            {
                next = Some([key_group, &BEHIND_TAILS].concat());
                return Ok(ControlFlow::Break(()));
            }
            if is_of(uncounted, key) {
                return Ok(ControlFlow::Continue(()));
            }
            let observation = self.rows.open_row::<Observation>(&table, key, bytes)?;
            if observation.verdict.is_effective() {
                effective_at = Some(observation.observed_at);
            }
            Ok(visit(key, observation))
        })?;
        Ok(next)
    }

    /// The part of an observation's key that names what was observed.
    fn group_of<'k>(&self, table: &str, key: &'k [u8]) -> Result<&'k [u8]> {
        match key.len().checked_sub(TAIL_BYTES) {
            Some(length) => Ok(&key[..length]),
            None => Err(self.rows.damaged(Broken::new(table, "short key"))),
        }
    }

    /// The complete log, by key, newest first, and then what newer ones took the place of long ago.
    pub fn list_all_observations(&self) -> Result<Vec<Observation>> {
        let mut all = self.list_counted(&log_start())?;
        all.extend(self.list_past(None, &self.list_past_runs()?)?);
        Ok(all)
    }

    fn list_counted(&self, start: &RowKey) -> Result<Vec<Observation>> {
        let (table, uncounted) = (FACTS.name(self.client), self.list_uncounted()?);
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &Span::prefix(start.as_slice()), &mut |key, bytes| {
            if !is_of(&uncounted, key) {
                found.push(self.rows.open_row(&table, key, bytes)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// All observations of what this key names, newest first.
    pub fn list_observations_like(&self, key: &ObservationKey) -> Result<Vec<Observation>> {
        let mut all = self.list_counted(&group_key(key))?;
        all.extend(self.list_past(Some(key), &self.list_past_runs()?)?);
        all.sort_unstable_by_key(|it| (Reverse(it.observed_at), it.import));
        Ok(all)
    }

    /// When something was observed last of what this key names that says something, by the log without some of it.
    pub(super) fn newest_effective_without(
        &self,
        key: &ObservationKey,
        removed: &BTreeSet<&ObservationKey>,
    ) -> Result<Option<Time>> {
        let all = self.list_counted(&group_key(key))?;
        let left = all.iter().filter(|it| !removed.contains(&ObservationKey::from(*it)));
        Ok(left.filter(|it| it.verdict.is_effective()).map(|it| it.observed_at).max())
    }

    /// The observations of an import that still exist. Reads all keys of the log: call it on a
    /// snapshot.
    pub fn find_observations_of_import(&self, import: ImportId) -> Result<Vec<ObservationKey>> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(log_start().as_slice());
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if key.ends_with(import.as_bytes()) {
                let observation = self.rows.open_row::<Observation>(&table, key, bytes)?;
                found.push(ObservationKey::from(&observation));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        found.extend(self.list_past_of_import(import)?);
        Ok(found)
    }

    /// The observations that are outdated where a check has at least `n_min` of them: up to about `n_max`, from a key on, and
    /// where to go on. `None`: these are the last.
    pub fn list_foldable_observations(
        &self,
        from: Option<&ObservationKey>,
        (n_min, n_max): (usize, usize),
    ) -> Result<(Vec<Observation>, Option<ObservationKey>)> {
        let (table, uncounted) = (FACTS.name(self.client), self.list_uncounted()?);
        let mut span = Span::prefix(log_start().as_slice());
        if let Some(from) = from {
            span = span.starting(group_key(from).as_slice());
        }
        let (mut found, mut group): (Vec<Observation>, Vec<u8>) = (Vec::new(), Vec::new());
        let (mut effective_at, mut n_before, mut n_read, mut next) = (None, 0, 0, None);
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let key_group = self.group_of(&table, key)?;
            let is_new = key_group != group;
            if is_new {
                if found.len() - n_before < n_min {
                    found.truncate(n_before);
                }
                (n_before, effective_at) = (found.len(), None);
                group.clear();
                group.extend_from_slice(key_group);
            }
            if is_of(&uncounted, key) {
                return Ok(ControlFlow::Continue(()));
            }
            let observation = self.rows.open_row::<Observation>(&table, key, bytes)?;
            // What is left of this check is read again once the rest of it is folded.
            if (is_new && n_max <= n_read) || n_max <= found.len() {
                next = Some(ObservationKey::from(&observation));
                return Ok(ControlFlow::Break(()));
            }
            n_read += 1;
            if effective_at.is_some_and(|it| observation.observed_at < it) {
                found.push(observation);
            } else if effective_at.is_none() && observation.verdict.is_effective() {
                effective_at = Some(observation.observed_at);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if found.len() - n_before < n_min {
            found.truncate(n_before);
        }
        Ok((found, next))
    }

    /// Up to `n_max` observations from before `time` that no assessment reads, because there is a newer
    /// effective one of the same key or because they were never effective. From the key of `from` on.
    pub fn list_outdated_observations(
        &self,
        time: Time,
        from: Option<&ObservationKey>,
        n_max: usize,
    ) -> Result<Vec<ObservationKey>> {
        let table = FACTS.name(self.client);
        let whole = Span::prefix(log_start().as_slice());
        let uncounted = self.list_uncounted()?;
        let mut found = Vec::new();
        let mut span = whole.clone();
        if let Some(from) = from {
            span = span.starting(group_key(from).as_slice());
        }
        while found.len() < n_max
            && let Some(first) = self.rows.list_keys_of(&table, &span, 1)?.pop()
        {
            let group = self.group_of(&table, &first)?;
            let effective_at = self.newest_effective(&table, group, &uncounted)?;
            // Rows of the same time stay: they decide, or are not old enough.
            let kept_until = effective_at.map_or(time, |it| it.min(time));
            let old = [group, &falling(kept_until).to_be_bytes(), &BEHIND_TAILS[..]].concat();
            let old = Span::prefix(group).starting(&old);
            let left = n_max - found.len();
            let rows = self.rows.list_rows::<Observation>(&table, &old, left)?;
            found.extend(rows.iter().map(ObservationKey::from));
            span = whole.clone().starting(&[group, &BEHIND_TAILS[..]].concat());
        }
        Ok(found)
    }

    fn newest_effective(
        &self,
        table: &str,
        group: &[u8],
        uncounted: &[ImportId],
    ) -> Result<Option<Time>> {
        let mut found = None;
        self.rows.visit_rows(table, &Span::prefix(group), &mut |key, bytes| {
            if is_of(uncounted, key) {
                return Ok(ControlFlow::Continue(()));
            }
            let observation = self.rows.open_row::<Observation>(table, key, bytes)?;
            if !observation.verdict.is_effective() {
                return Ok(ControlFlow::Continue(()));
            }
            found = Some(observation.observed_at);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// In the order of the controls' codes.
    pub fn list_attested(&self) -> Result<Vec<Attested>> {
        self.list(FACTS, &RowKey::of(FACT_ATTESTATION))
    }

    pub fn list_row_decisions(&self) -> Result<Vec<RowDecision>> {
        self.list(FACTS, &RowKey::of(FACT_DECISION))
    }

    /// Changes with everything that an assessment reads of this client's facts; zero at first. A plan
    /// that was made at one version is valid only at that version.
    pub fn facts_version(&self) -> Result<u64> {
        Ok(self.find(FACTS, &RowKey::of(FACT_VERSION))?.unwrap_or(0))
    }
}

impl ClientSnapshot {
    /// How many rows the client's facts take: observations, including outdated ones, lists, evidence, imports.
    pub fn count_facts(&self) -> Result<u64> {
        self.rows.count_rows(&FACTS.name(self.client))
    }
}

impl ClientBatch<'_> {
    /// Replaces an observation of the same key, time and import.
    pub fn add_observation(&mut self, observation: &Observation) -> Result<()> {
        self.put(FACTS, &log_key(&ObservationKey::from(observation)), observation)
    }

    /// Replaces observations of the same key, time and import, wherever they are: those that are past count again.
    pub fn replace_observations(&mut self, observations: &[Observation]) -> Result<()> {
        if observations.is_empty() {
            return Ok(());
        }
        let runs = self.list_past_runs()?;
        observations.iter().try_for_each(|it| {
            self.remove_past(&ObservationKey::from(it), &runs)?;
            self.add_observation(it)
        })
    }

    /// [`ClientTransaction::list_uncovered`] says what counts then.
    pub fn remove_observations(&mut self, keys: &[ObservationKey]) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let runs = self.list_past_runs()?;
        keys.iter().try_for_each(|it| self.remove_observation(it, &runs).map(|_| ()))
    }

    /// Whether it was there.
    pub(super) fn remove_observation(&mut self, key: &ObservationKey, runs: &Runs) -> Result<bool> {
        Ok(self.remove(FACTS, &log_key(key))? || self.remove_past(key, runs)?)
    }

    /// Removes an observation that no assessment reads. Whether it was there.
    pub fn forget_observation(&mut self, key: &ObservationKey) -> Result<bool> {
        self.remove(FACTS, &log_key(key))
    }

    /// Replaces an earlier one about the same control.
    pub fn put_attested(&mut self, attested: &Attested) -> Result<()> {
        self.put(FACTS, &attestation_key(&attested.attestation.control), attested)
    }

    /// Whether it was there.
    pub fn remove_attested(&mut self, control: &str) -> Result<bool> {
        self.remove(FACTS, &attestation_key(control))
    }

    /// Replaces an earlier one about the same row.
    pub fn put_row_decision(&mut self, decision: &RowDecision) -> Result<()> {
        self.put(FACTS, &decision_key(decision.framework, &decision.reference), decision)
    }

    /// Whether it was there.
    pub fn remove_row_decision(&mut self, framework: FrameworkId, reference: &str) -> Result<bool> {
        self.remove(FACTS, &decision_key(framework, reference))
    }

    /// Increments the version and returns it.
    pub fn bump_facts_version(&mut self) -> Result<u64> {
        let version = self.facts_version()? + 1;
        self.put(FACTS, &RowKey::of(FACT_VERSION), &version)?;
        Ok(version)
    }
}
