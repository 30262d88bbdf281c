//! What is known to exist at a client, and what of it nobody looked at, as the last assessment saw it.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::asset::Asset;
use crate::engine::estate::{EstateMember, N_QUIET_MAX, Unseen};
use crate::error::Result;
use crate::id::AssetId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{
    EXTERNAL, EXTERNAL_NEW, EXTERNAL_SINCE, EXTERNAL_STALE, POSTURE, POSTURE_ESTATE,
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct EstateRecord {
    /// Platforms and accounts.
    pub members: Vec<EstateMember>,
    /// That of which most depends first.
    pub unseen: Vec<Unseen>,
    /// When each source looked first.
    pub sources: BTreeMap<String, Time>,
    /// What was new and was due by then counts. `None`: there was no assessment.
    pub counted_to: Option<Time>,
}

impl<R: Rows> ClientTransaction<R> {
    /// Empty before the first assessment.
    pub fn estate(&self) -> Result<EstateRecord> {
        Ok(self.find(POSTURE, &RowKey::of(POSTURE_ESTATE))?.unwrap_or_default())
    }
}

impl ClientBatch<'_> {
    pub fn put_estate(&mut self, estate: &EstateRecord) -> Result<()> {
        self.put(POSTURE, &RowKey::of(POSTURE_ESTATE), estate)
    }
}

fn new_key(asset: &Asset) -> RowKey {
    let day = asset.first_discovered_at.day().to_be_bytes();
    RowKey::of(EXTERNAL_NEW).bytes(&day).bytes(asset.id.as_bytes())
}

fn stale_key(id: AssetId) -> RowKey {
    RowKey::of(EXTERNAL_STALE).bytes(id.as_bytes())
}

/// The rows of assets that were seen first on this day or later.
fn new_since(day: u32) -> Span {
    Span::between(
        &RowKey::of(EXTERNAL_NEW).bytes(&day.to_be_bytes()),
        &RowKey::of(EXTERNAL_NEW).bytes(&[u8::MAX; 4]),
    )
}

impl<R: Rows> ClientTransaction<R> {
    /// The assets that were seen first on this day or later, in the order of their days: at most [`N_QUIET_MAX`].
    pub fn list_new_assets(&self, since: u32) -> Result<Vec<Asset>> {
        self.list_marked(&new_since(since))
    }

    /// The assets that were not seen for long, in the order of their ids: at most [`N_QUIET_MAX`].
    pub fn list_stale_assets(&self) -> Result<Vec<Asset>> {
        self.list_marked(&Span::prefix(RowKey::of(EXTERNAL_STALE).as_slice()))
    }

    fn list_marked(&self, span: &Span) -> Result<Vec<Asset>> {
        let keys = self.rows.list_keys_of(&EXTERNAL.name(self.client), span, N_QUIET_MAX)?;
        let id = |it: &Vec<u8>| {
            let id = it.last_chunk().expect("every key of these kinds ends with an asset id");
            AssetId::from_bytes(*id)
        };
        self.get_assets(&keys.iter().map(id).collect::<Vec<_>>())
    }

    /// Whether an asset that is new was seen first on one of these days.
    pub fn has_new_assets(&self, days: std::ops::Range<u32>) -> Result<bool> {
        let end = RowKey::of(EXTERNAL_NEW).bytes(&days.end.to_be_bytes());
        let found =
            self.rows.list_keys_of(&EXTERNAL.name(self.client), &new_since(days.start), 1)?;
        Ok(found.first().is_some_and(|it| it.as_slice() < end.as_slice()))
    }

    pub(in crate::store) fn is_marked_stale(&self, id: AssetId) -> Result<bool> {
        Ok(self.find::<()>(EXTERNAL, &stale_key(id))?.is_some())
    }

    /// When a source pushed an asset first. `None`: it did not, or not since this is kept.
    pub fn find_first_push(&self, source: &str) -> Result<Option<Time>> {
        self.find(EXTERNAL, &RowKey::of(EXTERNAL_SINCE).last_text(source))
    }
}

impl ClientBatch<'_> {
    pub fn put_first_push(&mut self, source: &str, at: Time) -> Result<()> {
        self.put(EXTERNAL, &RowKey::of(EXTERNAL_SINCE).last_text(source), &at)
    }

    /// Notes that an asset is new.
    pub fn mark_new(&mut self, asset: &Asset) -> Result<()> {
        self.put(EXTERNAL, &new_key(asset), &())
    }

    /// Notes that an asset is stale.
    pub fn mark_stale(&mut self, id: AssetId) -> Result<()> {
        self.put(EXTERNAL, &stale_key(id), &())
    }

    pub(in crate::store) fn unmark_stale(&mut self, id: AssetId) -> Result<()> {
        self.remove(EXTERNAL, &stale_key(id)).map(|_| ())
    }

    /// Forgets that the asset was new.
    pub(in crate::store) fn unmark_new(&mut self, asset: &Asset) -> Result<()> {
        self.remove(EXTERNAL, &new_key(asset)).map(|_| ())
    }

    /// Forgets what was new before this day. Returns true if more may remain.
    pub fn forget_new_before(&mut self, day: u32, n_rows_max: usize) -> Result<bool> {
        let table = EXTERNAL.name(self.client);
        let end = RowKey::of(EXTERNAL_NEW).bytes(&day.to_be_bytes());
        let mut keys = self.rows.list_keys_of(&table, &new_since(0), n_rows_max)?;
        keys.retain(|it| it.as_slice() < end.as_slice());
        for key in &keys {
            self.rows.remove_row(&table, key)?;
        }
        Ok(keys.len() == n_rows_max)
    }
}
