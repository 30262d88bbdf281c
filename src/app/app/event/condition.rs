//! Plans which conditions a run opens and closes, besides those of its risks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::envelope::NewEvent;
use crate::clock::Time;
use crate::engine::identity::aside::{AccountStandings, ConditionSubject, broken_by};
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
    /// Those that a person's word keeps from being open. None of them is among the open ones.
    aside: BTreeMap<String, Condition>,
    n_open: usize,
    changed: BTreeSet<String>,
    /// Those that this run opens.
    fresh: BTreeSet<String>,
    changed_aside: BTreeSet<String>,
    changes: ConditionChanges,
}

/// What a run changes about conditions.
#[derive(Clone, Debug, Default)]
pub struct ConditionChanges {
    put: Vec<Condition>,
    removed: Vec<String>,
    put_aside: Vec<Condition>,
    removed_aside: Vec<String>,
    /// What is announced.
    pub opened: Vec<NewEvent>,
    /// What would be announced if it were not beyond [`N_OPEN_MAX`].
    pub beyond: Vec<NewEvent>,
    /// Keys of those that are no longer open.
    pub closed: Vec<String>,
}

impl ConditionPlan {
    pub fn read(rows: &ClientSnapshot) -> Result<Self> {
        let by_key = |all: Vec<Condition>| -> BTreeMap<String, Condition> {
            all.into_iter().map(|it| (it.key.clone(), it)).collect()
        };
        let known = by_key(rows.list_conditions()?);
        let n_open = known.values().filter(|it| it.closed_at.is_none()).count();
        Ok(Self {
            known,
            aside: by_key(rows.list_conditions_aside()?),
            n_open,
            changed: BTreeSet::new(),
            fresh: BTreeSet::new(),
            changed_aside: BTreeSet::new(),
            changes: ConditionChanges::default(),
        })
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

    /// Opens the event's condition, unless it is open already or set aside. Announces it if `is_announced`.
    pub fn open(&mut self, event: NewEvent, is_announced: bool, now: Time) {
        if self.aside.contains_key(event.key()) {
            return;
        }
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
        self.fresh.insert(condition.key.clone());
        self.known.insert(condition.key.clone(), condition);
    }

    /// Closes a condition, if it is open or set aside.
    pub fn close(&mut self, key: &str, now: Time) {
        if let Some(closed) = self.aside.remove(key) {
            self.changed_aside.insert(key.to_owned());
            self.changed.insert(key.to_owned());
            self.known.insert(key.to_owned(), closed);
            return;
        }
        let Some(open) = self.known.get_mut(key).filter(|it| it.closed_at.is_none()) else {
            return;
        };
        open.closed_at = Some(now);
        self.n_open -= 1;
        self.changed.insert(key.to_owned());
    }

    /// Shows another name of the account that an open condition, or one that is set aside, is about.
    pub fn rename(&mut self, event: &NewEvent) {
        let key = event.key();
        let open = self.known.get_mut(key).filter(|it| it.closed_at.is_none());
        if let Some(open) = open {
            open.object = event.object_text();
            self.changed.insert(key.to_owned());
        } else if let Some(aside) = self.aside.get_mut(key) {
            aside.object = event.object_text();
            self.changed_aside.insert(key.to_owned());
        }
    }

    /// Makes conditions agree with what people and controls say of the accounts: sets those aside that are answered, and opens
    /// again what no longer is. They are read only if there may be any.
    ///
    /// `is_undo`: what set them aside may have been a mistake, so they are open since they were before.
    pub fn settled(
        conditions: Option<Self>,
        rows: &ClientSnapshot,
        accounts: &AccountStandings,
        (is_undo, now): (bool, Time),
    ) -> Result<Option<Self>> {
        if accounts.is_plain() && rows.list_conditions_aside()?.is_empty() {
            return Ok(conditions);
        }
        let mut conditions = conditions.map_or_else(|| Self::read(rows), Ok)?;
        conditions.settle(accounts, is_undo, now);
        Ok(Some(conditions))
    }

    fn settle(&mut self, accounts: &AccountStandings, is_undo: bool, now: Time) {
        let answers = |it: &Condition| {
            is_answered(accounts, &it.kind, || serde_json::from_str(&it.object).ok())
        };
        let open = self.known.values().filter(|it| it.closed_at.is_none());
        let answered: Vec<String> =
            open.filter(|it| answers(it)).map(|it| it.key.clone()).collect();
        let returned = self.aside.values().filter(|it| !answers(it));
        let returned: Vec<String> = returned.map(|it| it.key.clone()).collect();
        for it in &answered {
            self.set_aside(it, now);
        }
        for it in &returned {
            self.take_back(it, is_undo, now);
        }
        self.changes
            .beyond
            .retain(|it| !is_answered(accounts, it.kind().as_str(), || Some(it.members().clone())));
    }

    fn set_aside(&mut self, key: &str, now: Time) {
        let Some(mut aside) = self.known.remove(key) else { return };
        aside.closed_at = Some(now);
        if self.fresh.remove(key) {
            // Nobody ever saw it open.
            self.changes.opened.retain(|it| it.key() != key);
            aside.occurrence -= 1;
        }
        self.n_open -= 1;
        self.changed.insert(key.to_owned());
        self.changed_aside.insert(key.to_owned());
        self.aside.insert(key.to_owned(), aside);
    }

    /// It is announced, because whoever opened a ticket for it may have closed it.
    fn take_back(&mut self, key: &str, is_undo: bool, now: Time) {
        if N_OPEN_MAX <= self.n_open {
            return;
        }
        let Some(aside) = self.aside.remove(key) else { return };
        let opened_at = if is_undo { aside.opened_at } else { now };
        let Some(event) = NewEvent::of_condition(&aside, now) else { return };
        let Some(opened) = event.condition(Some(&aside), now) else { return };
        let event = event.with_occurrence(opened.occurrence).opened_at(opened_at);
        self.changes.opened.push(event);
        self.n_open += 1;
        self.changed.insert(key.to_owned());
        self.changed_aside.insert(key.to_owned());
        self.known.insert(key.to_owned(), Condition { opened_at, ..opened });
    }

    pub fn finish(mut self) -> ConditionChanges {
        for key in &self.changed_aside {
            match self.aside.get(key) {
                Some(aside) => self.changes.put_aside.push(aside.clone()),
                None => self.changes.removed_aside.push(key.clone()),
            }
        }
        let mut n_kept = self.known.len();
        for key in &self.changed {
            let Some(condition) = self.known.remove(key) else {
                self.changes.closed.push(key.clone());
                self.changes.removed.push(key.clone());
                continue;
            };
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

/// `members`: of the object. `None`: it cannot be read.
fn is_answered(
    accounts: &AccountStandings,
    kind: &str,
    members: impl FnOnce() -> Option<Map<String, Value>>,
) -> bool {
    if broken_by(kind).is_none() {
        return false;
    }
    let Some(members) = members() else { return false };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let (Some(source), Some(scope)) = (text("source"), text("scope")) else { return false };
    accounts.set_aside(kind, ConditionSubject { source, scope, user: text("user") })
}

impl ConditionChanges {
    pub fn apply(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        self.put.iter().try_for_each(|it| batch.put_condition(it))?;
        self.removed.iter().try_for_each(|it| batch.remove_condition(it))?;
        self.put_aside.iter().try_for_each(|it| batch.put_condition_aside(it))?;
        self.removed_aside.iter().try_for_each(|it| batch.remove_condition_aside(it))
    }
}
