//! What people decided about single subjects of controls.

use bincode::{Decode, Encode};

use super::{StatementNumber, Topic};
use crate::clock::Time;
use crate::engine::subject::SubjectRuling;
use crate::error::Result;
use crate::id::SubjectDecisionId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span, rising};
use crate::store::table::{FACT_SUBJECTS, FACTS};

/// A decision about subjects of a control, as it was made. It counts until it ends as long as its statement stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SubjectStatement {
    pub id: SubjectDecisionId,
    /// The control's code.
    pub control: String,
    pub ruling: SubjectRuling,
    pub subjects: StatedSubjects,
    pub reason: String,
    pub by: String,
    pub at: Time,
    pub until: Time,
}

/// The subjects, as a person named them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StatedSubjects {
    /// By ids or names.
    Named(Vec<String>),
    Matching(String),
}

impl SubjectStatement {
    #[must_use]
    pub fn topic(&self) -> Topic {
        Topic::Subjects { control: self.control.clone(), id: self.id }
    }
}

fn row_key(until: Time, id: SubjectDecisionId) -> RowKey {
    RowKey::of(FACT_SUBJECTS).bytes(&rising(until).to_be_bytes()).bytes(id.as_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// The decisions that stand and have not ended, with the numbers of their statements. The one that ends first comes first.
    pub fn list_subject_statements(
        &self,
        now: Time,
    ) -> Result<Vec<(StatementNumber, SubjectStatement)>> {
        let all: Vec<SubjectStatement> = self.list_subject_rows(now)?;
        let mut standing = Vec::with_capacity(all.len());
        for it in all {
            let number = self.find_standing_statement(&it.topic())?;
            standing.extend(number.map(|number| (number, it)));
        }
        Ok(standing)
    }

    fn list_subject_rows(&self, now: Time) -> Result<Vec<SubjectStatement>> {
        let start = RowKey::of(FACT_SUBJECTS).bytes(&rising(now.plus_s(1)).to_be_bytes());
        let span = Span::prefix(RowKey::of(FACT_SUBJECTS).as_slice()).starting(start.as_slice());
        self.rows.list_rows(&FACTS.name(self.client), &span, usize::MAX)
    }

    /// A decision that ends then, whether or not it stands.
    pub fn find_subject_statement(
        &self,
        until: Time,
        id: SubjectDecisionId,
    ) -> Result<Option<SubjectStatement>> {
        self.find(FACTS, &row_key(until, id))
    }
}

impl ClientBatch<'_> {
    pub fn put_subject_statement(&mut self, it: &SubjectStatement) -> Result<()> {
        self.put(FACTS, &row_key(it.until, it.id), it)
    }

    pub(super) fn remove_subject_statement(
        &mut self,
        until: Time,
        id: SubjectDecisionId,
    ) -> Result<()> {
        self.remove(FACTS, &row_key(until, id)).map(|_| ())
    }
}
