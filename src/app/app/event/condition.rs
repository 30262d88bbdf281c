//! Plans which conditions a run opens and closes, besides those of its risks.

use std::collections::{BTreeMap, BTreeSet};

use super::envelope::NewEvent;
use crate::clock::Time;
use crate::error::Result;
use crate::store::per_client::condition::Condition;
use crate::store::{ClientBatch, ClientSnapshot};

/// How many conditions of a client, besides its risks, may be open at the same time. Further ones are counted in the
/// summary of their run; the risk of their control stands for them.
pub const N_OPEN_MAX: usize = 50_000;
/// How many are stored, including closed ones. Beyond, one that closes is forgotten at once.
const N_KEPT_MAX: usize = 2 * N_OPEN_MAX;

/// The stored conditions of a client, and what a run makes of them.
pub struct ConditionPlan {
    known: BTreeMap<String, Condition>,
    n_open: usize,
    changed: BTreeSet<String>,
    changes: ConditionChanges,
}

/// What a run changes about conditions.
#[derive(Clone, Debug, Default)]
pub struct ConditionChanges {
    put: Vec<Condition>,
    removed: Vec<String>,
    /// What is announced.
    pub opened: Vec<NewEvent>,
    /// What would be announced if it were not beyond [`N_OPEN_MAX`].
    pub beyond: Vec<NewEvent>,
    /// Keys of those that are no longer open.
    pub closed: Vec<String>,
}

impl ConditionPlan {
    pub fn read(rows: &ClientSnapshot) -> Result<Self> {
        let all = rows.list_conditions()?.into_iter();
        let known: BTreeMap<_, _> = all.map(|it| (it.key.clone(), it)).collect();
        let n_open = known.values().filter(|it| it.closed_at.is_none()).count();
        let changes = ConditionChanges::default();
        Ok(Self { known, n_open, changed: BTreeSet::new(), changes })
    }

    /// Returns the conditions of a run with these closed and opened. They are read only if something changes.
    pub fn changed(
        conditions: Option<Self>,
        rows: &ClientSnapshot,
        (closed, opened): (Vec<String>, Vec<NewEvent>),
        is_announced: bool,
        now: Time,
    ) -> Result<Option<Self>> {
        if closed.is_empty() && opened.is_empty() {
            return Ok(conditions);
        }
        let mut conditions = conditions.map_or_else(|| Self::read(rows), Ok)?;
        for it in closed {
            conditions.close(&it, now);
        }
        for it in opened {
            conditions.open(it, is_announced, now);
        }
        Ok(Some(conditions))
    }

    /// Opens the event's condition, unless it is open already. Announces it if `is_announced`.
    pub fn open(&mut self, event: NewEvent, is_announced: bool, now: Time) {
        let Some(condition) = event.condition(self.known.get(event.key()), now) else { return };
        if N_OPEN_MAX <= self.n_open {
            self.changes.beyond.extend(is_announced.then_some(event));
            return;
        }
        if is_announced {
            let event = event.with_occurrence(condition.occurrence).at(now);
            self.changes.opened.push(event);
        }
        self.n_open += 1;
        self.changed.insert(condition.key.clone());
        self.known.insert(condition.key.clone(), condition);
    }

    /// Closes a condition, if it is open.
    pub fn close(&mut self, key: &str, now: Time) {
        let Some(open) = self.known.get_mut(key).filter(|it| it.closed_at.is_none()) else {
            return;
        };
        open.closed_at = Some(now);
        self.n_open -= 1;
        self.changed.insert(key.to_owned());
    }

    pub fn finish(mut self) -> ConditionChanges {
        let mut n_kept = self.known.len();
        for key in &self.changed {
            let Some(condition) = self.known.remove(key) else { continue };
            if condition.closed_at.is_some() {
                self.changes.closed.push(key.clone());
                if N_KEPT_MAX < n_kept {
                    n_kept -= 1;
                    self.changes.removed.push(key.clone());
                    continue;
                }
            }
            self.changes.put.push(condition);
        }
        self.changes
    }
}

impl ConditionChanges {
    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        self.put.iter().try_for_each(|it| batch.put_condition(it))?;
        self.removed.iter().try_for_each(|it| batch.remove_condition(it))
    }
}
