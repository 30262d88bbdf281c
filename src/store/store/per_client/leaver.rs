//! Lists of people who left, as they were imported, so that older ones count again once newer ones are undone.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::engine::identity::Identity;
use crate::engine::identity::leaver::Leaver;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::account_list::ListMark;
use crate::store::per_client::roster::ListKind;
use crate::store::row_key::{RowKey, Span, after_text};
use crate::store::table::{FACT_LEAVER, FACT_MEMBER, FACTS};

/// How many people a row has at most.
const N_ROW_LEAVERS: usize = 500;

/// A list of people who left.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LeaverList {
    pub source: String,
    pub mark: ListMark,
    /// It names everybody who left.
    pub is_complete: bool,
    pub leavers: Vec<Leaver>,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LeaverRow {
    part: LeaverList,
    number: u32,
}

impl LeaverRow {
    #[must_use]
    pub fn n_leavers(&self) -> usize {
        self.part.leavers.len()
    }
}

impl LeaverList {
    /// Splits it into rows: at least one, also if it is empty.
    pub fn into_rows(mut self) -> impl Iterator<Item = LeaverRow> {
        let leavers = std::mem::take(&mut self.leavers);
        let mut parts: Vec<Vec<Leaver>> =
            leavers.chunks(N_ROW_LEAVERS).map(<[Leaver]>::to_vec).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let row =
            move |(number, leavers)| LeaverRow { part: Self { leavers, ..self.clone() }, number };
        (0..).zip(parts).map(row)
    }
}

/// Names a list.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LeaverKey {
    pub source: String,
    pub mark: ListMark,
}

impl From<&LeaverList> for LeaverKey {
    fn from(it: &LeaverList) -> Self {
        Self { source: it.source.clone(), mark: it.mark }
    }
}

fn list_key(LeaverKey { source, mark }: &LeaverKey) -> RowKey {
    let lists = RowKey::of(FACT_LEAVER).text(source).falling(mark.at).falling(mark.arrived_at);
    lists.bytes(mark.import.as_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// All lists, by source, oldest first.
    pub fn list_leaver_lists(&self) -> Result<Vec<LeaverList>> {
        let rows: Vec<LeaverRow> = self.list(FACTS, &RowKey::of(FACT_LEAVER))?;
        let mut lists: Vec<LeaverList> = Vec::new();
        for LeaverRow { part, .. } in rows {
            match lists.last_mut().filter(|it| it.mark == part.mark && it.source == part.source) {
                Some(list) => list.leavers.extend(part.leavers),
                None => lists.push(part),
            }
        }
        lists.sort_by(|a, b| (&a.source, a.mark).cmp(&(&b.source, b.mark)));
        Ok(lists)
    }

    /// Visits the accounts of the client as last read, over all sources and scopes.
    pub fn visit_accounts(&self, visit: &mut dyn FnMut(Identity)) -> Result<()> {
        let table = FACTS.name(self.client);
        let accounts = RowKey::empty().text(ListKind::Identities.as_str());
        let span = Span::prefix(RowKey::of(FACT_MEMBER).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if accounts.is_start_of(after_text(after_text(&key[1..]))) {
                visit(self.rows.open_row(&table, key, bytes)?);
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl ClientBatch<'_> {
    pub fn put_leaver_row(&mut self, row: &LeaverRow) -> Result<()> {
        let key = list_key(&LeaverKey::from(&row.part)).bytes(&row.number.to_be_bytes());
        self.put(FACTS, &key, row)
    }

    pub fn remove_leaver_list(&mut self, key: &LeaverKey) -> Result<()> {
        let mut number = 0_u32;
        while self.remove(FACTS, &list_key(key).bytes(&number.to_be_bytes()))? {
            number += 1;
        }
        Ok(())
    }
}
