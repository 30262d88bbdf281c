//! Every change of a verdict about a client: what it was, from when, and why. Written by the assessment that found it.
//!
//! A client has one group of verdicts for its controls and one for each framework. Where a verdict stands in its group is
//! said by the group's outline, which is kept once for all clients.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use bincode::{Decode, Encode};

use super::pack::PackedVerdicts;
pub use super::pack::Verdict;
use crate::clock::Time;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::statement::StatementNumber;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{HISTORY, HISTORY_CHANGE, HISTORY_CHANGE_POINT, HISTORY_VERDICTS};

/// How many assessments of one UTC day keep their changes apart. What later ones change is added to the last.
pub const N_CHANGE_POINTS_A_DAY_MAX: u16 = 200;

/// From how many bytes on a row of changes takes no more of them.
const CHANGES_BYTES_MIN: usize = 1_500;

/// How many sources one group of verdicts names.
pub const N_SOURCES_OF_GROUP_MAX: usize = 200;

/// Verdicts of one group: of its controls, or of a framework and its rows.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct VerdictGroup {
    /// Empty: the controls. Otherwise the id of a framework.
    pub name: String,
    /// The digest of the outline.
    pub outline: u64,
    verdicts: PackedVerdicts,
}

/// Changes of one group, oldest first.
#[derive(Debug, Encode, Decode)]
struct ChangesRecord {
    outline: u64,
    changes: Vec<(ChangePointId, PackedVerdicts)>,
}

impl ChangesRecord {
    fn is_full(&self) -> bool {
        let bytes = self.changes.iter().map(|(_, it)| it.approximate_bytes());
        CHANGES_BYTES_MIN <= bytes.sum()
    }
}

/// The assessment that changed verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChangePoint {
    pub at: Time,
    /// The label of a source, `attestation`, `scope`, `lapse`, `assets`, `catalogue`, `undo`, or `upgrade`: known
    /// before the history began.
    pub cause: String,
    /// The run of the source.
    pub import: Option<ImportId>,
    /// The last statement before it, if people's word is the cause.
    pub statement: Option<StatementNumber>,
    /// The digest of the catalog.
    pub catalog: u64,
    /// The version of the rules. 0: not known.
    pub rules: u16,
    /// How many more assessments of the day it stands for.
    pub n_added: u32,
}

/// The place of a change point among those of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct ChangePointId {
    day: u32,
    number: u16,
}

const ENDS_WITH_POINT: &str = "every key of a change ends with day and number";

impl fmt::Display for ChangePointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.day, self.number)
    }
}

impl FromStr for ChangePointId {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (day, number) = text.split_once('.').ok_or(())?;
        Ok(Self { day: day.parse().map_err(|_| ())?, number: number.parse().map_err(|_| ())? })
    }
}

impl ChangePointId {
    fn key(self, start: RowKey) -> RowKey {
        start.bytes(&(!self.day).to_be_bytes()).bytes(&(!self.number).to_be_bytes())
    }

    #[must_use]
    pub const fn day(self) -> u32 {
        self.day
    }

    fn of_key(key: &[u8]) -> Self {
        let (rest, number) = key.split_last_chunk().expect(ENDS_WITH_POINT);
        let day = rest.last_chunk().expect(ENDS_WITH_POINT);
        let (day, number) = (u32::from_be_bytes(*day), u16::from_be_bytes(*number));
        Self { day: !day, number: !number }
    }
}

impl VerdictGroup {
    /// Verdicts by their position in the outline, in order. Others are as before; of all, as if never looked at.
    pub fn of<'a>(
        name: &str,
        outline: u64,
        verdicts: impl IntoIterator<Item = (usize, &'a Verdict)>,
    ) -> Self {
        Self { name: name.to_owned(), outline, verdicts: PackedVerdicts::of(verdicts) }
    }

    /// All up to the last one that it has.
    ///
    /// # Errors
    /// `Internal` if it cannot be read.
    pub fn verdicts(&self) -> Result<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        for (position, verdict) in self.verdicts.list()? {
            verdicts.resize(position, Verdict::default());
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }
}

/// Names the first sources only if the verdicts of a group have very many.
pub fn limit_sources(verdicts: &mut [Verdict]) {
    let mut named: Vec<&String> = verdicts.iter().flat_map(|it| &it.sources).collect();
    if named.len() <= N_SOURCES_OF_GROUP_MAX {
        return;
    }
    named.sort_unstable();
    named.dedup();
    if let Some(first_unnamed) = named.get(N_SOURCES_OF_GROUP_MAX).map(|it| (*it).clone()) {
        for it in verdicts {
            it.sources.retain(|it| *it < first_unnamed);
        }
    }
}

fn changes_of(group: &str) -> RowKey {
    RowKey::of(HISTORY_CHANGE).text(group)
}

fn verdicts_key(group: &str) -> RowKey {
    RowKey::of(HISTORY_VERDICTS).last_text(group)
}

fn point_key(id: ChangePointId) -> RowKey {
    id.key(RowKey::of(HISTORY_CHANGE_POINT))
}

impl<R: Rows> ClientTransaction<R> {
    /// The verdicts of each group as the last change left them.
    pub fn list_verdict_groups(&self) -> Result<Vec<VerdictGroup>> {
        self.list(HISTORY, &RowKey::of(HISTORY_VERDICTS))
    }

    /// The changes of one verdict, newest first, and what it became each time; the last is what it was when the history of
    /// its group began. `positions`: where it is in each outline that has it.
    pub fn list_changes_of_verdict(
        &self,
        group: &str,
        positions: &BTreeMap<u64, usize>,
    ) -> Result<Vec<(ChangePointId, Verdict)>> {
        let (table, mut found) = (HISTORY.name(self.client), Vec::new());
        let mut oldest = None;
        let span = Span::prefix(changes_of(group).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let record: ChangesRecord = self.rows.open_row(&table, key, bytes)?;
            for (id, verdicts) in record.changes.iter().rev() {
                let verdict = match positions.get(&record.outline) {
                    Some(position) => verdicts.find(*position)?,
                    None => Some(Verdict::default()),
                };
                oldest = Some(*id);
                found.extend(verdict.map(|it| (*id, it)));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let last = found.last().map(|(id, _)| *id);
        found.extend(oldest.filter(|it| Some(*it) != last).map(|it| (it, Verdict::default())));
        Ok(found)
    }

    fn find_newest_changes(&self, group: &str) -> Result<Option<(RowKey, ChangesRecord)>> {
        let span = Span::prefix(changes_of(group).as_slice());
        let newest = self.rows.list_keys_of(&HISTORY.name(self.client), &span, 1)?.pop();
        let Some(key) = newest.map(|it| RowKey::empty().bytes(&it)) else { return Ok(None) };
        Ok(self.find(HISTORY, &key)?.map(|it| (key, it)))
    }

    /// `None`: it is older than what is kept.
    pub fn find_change_point(&self, id: ChangePointId) -> Result<Option<ChangePoint>> {
        self.find(HISTORY, &point_key(id))
    }
}

impl ClientBatch<'_> {
    /// Records changes of verdicts. `groups`: those that changed, as they are now.
    pub fn add_verdict_changes(
        &mut self,
        point: &ChangePoint,
        changes: &[VerdictGroup],
        groups: &[VerdictGroup],
    ) -> Result<()> {
        let (id, before) = self.next_change_point(point.at, changes)?;
        let n_added = before.map_or(0, |it| it.n_added + 1);
        self.put(HISTORY, &point_key(id), &ChangePoint { n_added, ..point.clone() })?;
        changes.iter().try_for_each(|it| self.add_change(id, it))?;
        groups.iter().try_for_each(|it| self.put(HISTORY, &verdicts_key(&it.name), it))
    }

    fn add_change(&mut self, id: ChangePointId, change: &VerdictGroup) -> Result<()> {
        let newest = self.find_newest_changes(&change.name)?;
        if let Some((key, mut record)) = newest.filter(|(_, it)| it.outline == change.outline) {
            let is_full = record.is_full();
            match record.changes.last_mut() {
                Some((last, verdicts)) if *last == id => {
                    *verdicts = verdicts.merge(&change.verdicts)?;
                    return self.put(HISTORY, &key, &record);
                }
                _ if !is_full => {
                    record.changes.push((id, change.verdicts.clone()));
                    return self.put(HISTORY, &key, &record);
                }
                _ => {}
            }
        }
        let changes = vec![(id, change.verdicts.clone())];
        let record = ChangesRecord { outline: change.outline, changes };
        self.put(HISTORY, &id.key(changes_of(&change.name)), &record)
    }

    /// Where to record a change, and what is there already: the last point of a day that has as many as it may.
    fn next_change_point(
        &self,
        at: Time,
        changes: &[VerdictGroup],
    ) -> Result<(ChangePointId, Option<ChangePoint>)> {
        let day = at.day();
        let start = RowKey::of(HISTORY_CHANGE_POINT).bytes(&(!day).to_be_bytes());
        let span = Span::prefix(start.as_slice());
        let newest = self.rows.list_keys_of(&HISTORY.name(self.client), &span, 1)?.pop();
        let Some(newest) = newest.map(|it| ChangePointId::of_key(&it)) else {
            return Ok((ChangePointId { day, number: 0 }, None));
        };
        let next = ChangePointId { day, number: newest.number + 1 };
        if next.number < N_CHANGE_POINTS_A_DAY_MAX {
            return Ok((next, None));
        }
        for change in changes {
            let known = self.find_newest_changes(&change.name)?.map(|(_, it)| it);
            let is_of_newest =
                |it: &ChangesRecord| it.changes.last().is_some_and(|(id, _)| *id == newest);
            // Their positions are not the same ones. That takes an administrator's change of a framework each time.
            let is_other = |it: &ChangesRecord| is_of_newest(it) && it.outline != change.outline;
            if known.as_ref().is_some_and(is_other) && next.number != u16::MAX {
                return Ok((next, None));
            }
        }
        Ok((newest, self.find_change_point(newest)?))
    }

    /// Removes up to `n_max` change points of days before that of `time`, with what changed then: what was true last before
    /// that day stays. Returns how many. If it is `n_max`, more may remain.
    pub fn remove_change_points_before(&mut self, time: Time, n_max: usize) -> Result<usize> {
        let table = HISTORY.name(self.client);
        let first_kept = ChangePointId { day: time.day(), number: 0 };
        let points = Span::prefix(RowKey::of(HISTORY_CHANGE_POINT).as_slice());
        let points = points.after(point_key(first_kept).as_slice());
        let keys = self.rows.list_keys_of(&table, &points, usize::MAX)?;
        let oldest = &keys[keys.len().saturating_sub(n_max)..];
        let Some(newest) = oldest.first().map(|it| ChangePointId::of_key(it)) else {
            return Ok(0);
        };
        let groups: Vec<VerdictGroup> = self.list(HISTORY, &RowKey::of(HISTORY_VERDICTS))?;
        for group in groups {
            self.merge_changes_until(&group.name, newest)?;
        }
        for key in oldest {
            self.remove(HISTORY, &RowKey::empty().bytes(key))?;
        }
        Ok(oldest.len())
    }

    /// Makes one of all changes of a group up to a point that have the same outline.
    fn merge_changes_until(&mut self, group: &str, newest: ChangePointId) -> Result<()> {
        let table = HISTORY.name(self.client);
        let span = Span::prefix(changes_of(group).as_slice());
        let span = span.starting(newest.key(changes_of(group)).as_slice());
        // Newest first.
        let mut kept: Option<(RowKey, ChangesRecord)> = None;
        for key in self.rows.list_keys_of(&table, &span, usize::MAX)? {
            let key = RowKey::empty().bytes(&key);
            let Some(mut record) = self.find::<ChangesRecord>(HISTORY, &key)? else { continue };
            let n = record.changes.partition_point(|(id, _)| *id <= newest);
            let older: Vec<(ChangePointId, PackedVerdicts)> = record.changes.drain(..n).collect();
            let Some((last, _)) = older.last() else { continue };
            let (last, mut verdicts) = (*last, PackedVerdicts::default());
            for (_, it) in &older {
                verdicts = verdicts.merge(it)?;
            }
            match &mut kept {
                Some((_, newer)) if newer.outline == record.outline => {
                    self.remove(HISTORY, &key)?;
                    if let Some((_, it)) = newer.changes.first_mut() {
                        *it = verdicts.merge(it)?;
                    }
                }
                _ => {
                    record.changes.insert(0, (last, verdicts));
                    self.put_changes(kept.replace((key, record)))?;
                }
            }
        }
        self.put_changes(kept)
    }

    fn put_changes(&mut self, row: Option<(RowKey, ChangesRecord)>) -> Result<()> {
        row.map_or(Ok(()), |(key, record)| self.put(HISTORY, &key, &record))
    }
}
