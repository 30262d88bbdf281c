//! Lists of accounts as they were sent, so that a late one counts once newer ones are undone.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::identity::Identity;
use crate::error::Result;
use crate::id::ImportId;
use crate::layout::read_by_layout;
use crate::store::ClientBatch;
use crate::store::kernel::envelope::Broken;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_LIST, FACTS};

/// How many lists of accounts of each source and scope are kept: the newest ones. What was known before them is kept as one
/// more.
pub const N_LISTS_KEPT: usize = 5;
/// How many accounts a row has at most.
const N_ROW_ACCOUNTS: usize = 500;
/// A row ends once its accounts have so many bytes.
const ROW_BYTES: usize = 64 * 1024;

/// Which list. Lists of a source and scope are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct ListMark {
    /// When the source looked.
    pub at: Time,
    /// Of lists with the same time, the later one counts.
    pub arrived_at: Time,
    /// [`ListMark::BEFORE`]: what was known before the lists that are kept.
    pub import: ImportId,
}

impl ListMark {
    pub const BEFORE: ImportId = ImportId::from_bytes([0; 16]);

    #[must_use]
    pub fn is_before_all(&self) -> bool {
        self.import == Self::BEFORE
    }
}

/// A list of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountList {
    pub mark: ListMark,
    /// It was complete and accepted.
    pub is_complete: bool,
    /// It was complete, and counts as such only if those before it bear it out: one that lost too many is held.
    pub is_doubted: bool,
    pub accounts: Vec<Identity>,
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct AccountRows {
    pub is_complete: bool,
    pub accounts: Vec<Identity>,
    pub is_doubted: bool,
}

read_by_layout!(AccountRows { is_complete, accounts } and then { is_doubted });

impl AccountList {
    /// The rows that store it: at least one.
    #[must_use]
    pub fn into_rows(self) -> Vec<AccountRows> {
        let lengths = row_lengths(&self.accounts);
        let Self { mark: _, is_complete, is_doubted, accounts } = self;
        let mut accounts = accounts.into_iter();
        let mut row = |n| {
            let accounts = accounts.by_ref().take(n).collect();
            AccountRows { is_complete, accounts, is_doubted }
        };
        lengths.into_iter().map(&mut row).collect()
    }

    #[must_use]
    pub fn n_rows(&self) -> usize {
        row_lengths(&self.accounts).len()
    }
}

/// How many accounts each row has.
fn row_lengths(accounts: &[Identity]) -> Vec<usize> {
    let (mut lengths, mut n, mut n_bytes) = (Vec::new(), 0, 0);
    for account in accounts {
        if N_ROW_ACCOUNTS <= n || ROW_BYTES <= n_bytes {
            lengths.push(n);
            (n, n_bytes) = (0, 0);
        }
        n += 1;
        n_bytes += account.n_text_bytes();
    }
    lengths.push(n);
    lengths
}

/// The last bytes of a key: two times, the import, and the number of the row.
const MARK_BYTES: usize = 8 + 8 + 16 + 4;

fn lists_key(source: &str, scope: &str) -> RowKey {
    RowKey::of(FACT_LIST).text(source).text(scope)
}

fn list_key((source, scope): (&str, &str), mark: ListMark) -> RowKey {
    let lists = lists_key(source, scope).falling(mark.at).falling(mark.arrived_at);
    lists.bytes(mark.import.as_bytes())
}

fn mark_of(key: &[u8]) -> Option<ListMark> {
    let tail: &[u8; MARK_BYTES] = key.last_chunk()?;
    let time = |start: usize| {
        let bytes: [u8; 8] = tail.get(start..start + 8)?.try_into().ok()?;
        Some(Time::from_micros(i64::try_from(!u64::from_be_bytes(bytes)).ok()?))
    };
    let import: [u8; 16] = tail.get(16..32)?.try_into().ok()?;
    Some(ListMark { at: time(0)?, arrived_at: time(8)?, import: ImportId::from_bytes(import) })
}

impl<R: Rows> ClientTransaction<R> {
    /// The lists of accounts that are kept, oldest first.
    pub fn list_account_lists(&self, source: &str, scope: &str) -> Result<Vec<ListMark>> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(lists_key(source, scope).as_slice());
        let mut marks: Vec<ListMark> = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, _| {
            let short = || self.rows.damaged(Broken::new(&table, "short key"));
            marks.push(mark_of(key).ok_or_else(short)?);
            Ok(ControlFlow::Continue(()))
        })?;
        marks.sort_unstable();
        marks.dedup();
        Ok(marks)
    }

    /// How many rows the lists of accounts take, over all sources and scopes.
    pub fn count_account_rows(&self) -> Result<usize> {
        let mut n = 0;
        let span = Span::prefix(RowKey::of(FACT_LIST).as_slice());
        self.rows.visit_rows(&FACTS.name(self.client), &span, &mut |_, _| {
            n += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(n)
    }

    pub fn count_rows_of_list(&self, place: (&str, &str), mark: ListMark) -> Result<usize> {
        let span = Span::prefix(list_key(place, mark).as_slice());
        Ok(self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?.len())
    }

    pub fn read_account_list(
        &self,
        (source, scope): (&str, &str),
        mark: ListMark,
    ) -> Result<AccountList> {
        let rows: Vec<AccountRows> = self.list(FACTS, &list_key((source, scope), mark))?;
        let is_complete = rows.iter().all(|it| it.is_complete);
        let is_doubted = rows.iter().any(|it| it.is_doubted);
        let accounts = rows.into_iter().flat_map(|it| it.accounts).collect();
        Ok(AccountList { mark, is_complete, is_doubted, accounts })
    }
}

impl ClientBatch<'_> {
    pub fn put_account_rows(
        &mut self,
        place: (&str, &str),
        mark: ListMark,
        (number, rows): (u32, &AccountRows),
    ) -> Result<()> {
        self.put(FACTS, &list_key(place, mark).bytes(&number.to_be_bytes()), rows)
    }

    pub fn remove_account_list(&mut self, place: (&str, &str), mark: ListMark) -> Result<()> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(list_key(place, mark).as_slice());
        for key in self.rows.list_keys_of(&table, &span, usize::MAX)? {
            self.rows.remove_row(&table, &key)?;
            self.moved(FACTS.part);
        }
        Ok(())
    }
}
