//! Records that ended long ago, which retention removes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Deed, Fate, StatementNumber, StatementRecord, Topic, fates, row_key, topic_key, wording_key,
};
use crate::clock::Time;
use crate::error::Result;
use crate::id::SubjectDecisionId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_STATEMENT, FACTS};

/// Returns how many of the first records can be removed: all that they say ended before `time`. `records`: as in [`fates`].
#[must_use]
pub fn n_ended(records: &[StatementRecord], time: Time) -> usize {
    let recorded_at = |number| {
        let at = records.binary_search_by_key(&number, |it| it.number);
        at.map_or(Time::EPOCH, |at| records[at].recorded_at)
    };
    let is_ended = |(it, fate): &(&StatementRecord, Fate)| {
        let ended_at = match (*fate, &it.deed) {
            (Fate::Superseded(by) | Fate::Withdrawn(by) | Fate::Undone(by), _) => recorded_at(by),
            (Fate::Stands, Deed::State(_)) => return false,
            (Fate::Stands, Deed::Withdraw { .. } | Deed::Undo { .. }) => it.recorded_at,
        };
        ended_at.max(it.recorded_at) < time
    };
    records.iter().zip(fates(records)).take_while(is_ended).count()
}

/// Records of a log to remove, and the wordings to which no other refers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedStatements {
    pub records: Vec<(StatementNumber, Topic)>,
    pub wordings: Vec<[u8; 32]>,
    /// Decisions about subjects: when they ended, and which.
    pub subjects: Vec<(Time, SubjectDecisionId)>,
}

impl EndedStatements {
    /// In parts of up to `n_max` records, the wordings and decisions about subjects with the last.
    #[must_use]
    pub fn chunks(self, n_max: usize) -> Vec<Self> {
        let part =
            |some: &[(StatementNumber, Topic)]| Self { records: some.to_vec(), ..Self::default() };
        let mut parts: Vec<Self> = self.records.chunks(n_max).map(part).collect();
        if let Some(last) = parts.last_mut() {
            last.wordings = self.wordings;
            last.subjects = self.subjects;
        }
        parts
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// Whether the log has a record from before `time`. Reads no record but the oldest.
    pub fn has_statement_before(&self, time: Time) -> Result<bool> {
        let span = Span::prefix(RowKey::of(FACT_STATEMENT).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?;
        let number = keys.last().and_then(|it| it.last_chunk());
        let number = number.map(|it| !StatementNumber::from_be_bytes(*it));
        let oldest = number.map(|it| self.find_statement(it)).transpose()?.flatten();
        Ok(oldest.is_some_and(|it| it.recorded_at < time))
    }

    /// What ended before `time`. Reads the whole log: call it on a snapshot.
    pub fn list_ended_statements(&self, time: Time) -> Result<EndedStatements> {
        let mut by_topic: BTreeMap<Topic, Vec<StatementRecord>> = BTreeMap::new();
        for it in self.list_statements(None, usize::MAX, |_| true)?.into_iter().rev() {
            by_topic.entry(it.topic.clone()).or_default().push(it);
        }
        let mut ended = EndedStatements::default();
        let (mut unused, mut used) = (BTreeSet::new(), BTreeSet::new());
        for records in by_topic.values() {
            let (old, kept) = records.split_at(n_ended(records, time));
            let wordings = |all: &[StatementRecord]| -> Vec<[u8; 32]> {
                all.iter().filter_map(|it| it.content()?.wording).collect()
            };
            unused.extend(wordings(old));
            used.extend(wordings(kept));
            ended.records.extend(old.iter().map(|it| (it.number, it.topic.clone())));
            ended.subjects.extend(old.iter().filter_map(|it| {
                let Topic::Subjects { id, .. } = it.topic else { return None };
                Some((it.content()?.until?, id))
            }));
        }
        ended.wordings = unused.difference(&used).copied().collect();
        Ok(ended)
    }
}

impl ClientBatch<'_> {
    /// Removes records that no longer count, and what nothing else refers to.
    pub fn remove_statements(&mut self, ended: &EndedStatements) -> Result<()> {
        for (number, topic) in &ended.records {
            self.remove(FACTS, &row_key(*number))?;
            self.remove(FACTS, &topic_key(topic).bytes(&(!number).to_be_bytes()))?;
        }
        for (until, id) in &ended.subjects {
            self.remove_subject_statement(*until, *id)?;
        }
        for digest in &ended.wordings {
            self.remove(FACTS, &wording_key(*digest))?;
        }
        Ok(())
    }
}
