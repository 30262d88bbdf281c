//! Assets, and the names and identifiers by which they are found.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::clock::Time;
use crate::engine::asset::{Asset, AssetStatus};
use crate::error::{Error, Result};
use crate::id::{AssetId, ClientId};
use crate::page::{Cut, Page};
use crate::store::kernel::delta::Delta;
pub use crate::store::kernel::index::AssetFilter;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{
    ASSET_CLIENTS, ASSETS, EXTERNAL, EXTERNAL_HOSTNAME, EXTERNAL_IP, EXTERNAL_MAC, EXTERNAL_NAME,
    EXTERNAL_SERIAL,
};
use crate::store::{ClientBatch, ClientStore};

/// If more assets have the same identifier, only the first ones by id are considered.
const N_TWINS_MAX: usize = 64;
/// How many assets are in memory at once while all are visited.
const N_VISITED_AT_ONCE: usize = 500;

/// An identifier by which different sources mean the same asset, without regard to case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityKey<'a> {
    Serial(&'a str),
    Mac(&'a str),
    Hostname(&'a str),
    Ip(&'a str),
}

impl IdentityKey<'_> {
    /// The prefix of the keys of all assets with that identifier. `None` if it is blank.
    fn start(self) -> Option<RowKey> {
        let (kind, text) = match self {
            Self::Serial(text) => (EXTERNAL_SERIAL, text),
            Self::Mac(text) => (EXTERNAL_MAC, text),
            Self::Hostname(text) => (EXTERNAL_HOSTNAME, text),
            Self::Ip(text) => (EXTERNAL_IP, text),
        };
        (!text.is_empty()).then(|| RowKey::of(kind).text(&text.to_lowercase()))
    }
}

/// Some of the assets of which nothing was heard for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgedAssets {
    /// Active assets that were last seen before the given time, and those that are stale and not noted as such.
    pub stale: Vec<Asset>,
    /// Retired assets that were last changed before the given time.
    pub retired: Vec<Asset>,
    /// Where to continue. `None`: all were visited.
    pub next: Option<AssetId>,
}

/// The keys of all names that lead to assets.
pub type AssetNames = HashMap<AssetId, Vec<Vec<u8>>>;

fn asset_key(id: AssetId) -> RowKey {
    RowKey::empty().bytes(id.as_bytes())
}

fn name_key(source: &str, external_id: &str) -> RowKey {
    RowKey::of(EXTERNAL_NAME).text(source).last_text(external_id)
}

/// The keys of the rows that lead from an asset's identifiers to it.
fn mark_keys(asset: &Asset) -> Vec<RowKey> {
    let marks = [
        asset.serial.as_deref().map(IdentityKey::Serial),
        asset.mac.as_deref().map(IdentityKey::Mac),
        asset.hostname.as_deref().map(IdentityKey::Hostname),
        asset.ip.as_deref().map(IdentityKey::Ip),
    ];
    let starts = marks.into_iter().flatten().filter_map(IdentityKey::start);
    starts.map(|it| it.bytes(asset.id.as_bytes())).collect()
}

impl<R: Rows> Transaction<R> {
    /// The client that an asset belongs to.
    pub fn find_asset_client(&self, id: AssetId) -> Result<Option<ClientId>> {
        self.rows.find_row(ASSET_CLIENTS, id.as_bytes())
    }
}

impl<R: Rows> ClientTransaction<R> {
    pub fn find_asset(&self, id: AssetId) -> Result<Option<Asset>> {
        self.find(ASSETS, &asset_key(id))
    }

    /// In the given order. Assets that do not exist are left out.
    pub fn get_assets(&self, ids: &[AssetId]) -> Result<Vec<Asset>> {
        let keys: Vec<RowKey> = ids.iter().map(|it| asset_key(*it)).collect();
        Ok(self.find_all(ASSETS, &keys)?.into_iter().flatten().collect())
    }

    /// Up to `limit` assets after one of them, in id order.
    pub fn list_assets_after(&self, after: Option<AssetId>, limit: usize) -> Result<Vec<Asset>> {
        let span = after.map_or_else(Span::all, |it| Span::all().after(it.as_bytes()));
        self.rows.list_rows(&ASSETS.name(self.client), &span, limit)
    }

    /// Like [`Self::get_assets`], for assets that follow each other. Reading them in one pass is faster than finding each.
    fn get_neighbours(&self, ids: &[AssetId]) -> Result<Vec<Asset>> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
        let span = Span::between(&asset_key(*first), &asset_key(*last));
        let assets: Vec<Asset> =
            self.rows.list_rows(&ASSETS.name(self.client), &span, ids.len())?;
        if assets.iter().map(|it| it.id).eq(ids.iter().copied()) {
            return Ok(assets);
        }
        self.get_assets(ids)
    }

    /// The asset that a source calls by this name.
    pub fn find_asset_by_external(&self, source: &str, external_id: &str) -> Result<Option<Asset>> {
        match self.find(EXTERNAL, &name_key(source, external_id))? {
            Some(id) => self.find_asset(id),
            None => Ok(None),
        }
    }

    /// The asset with this identifier. Of several, the one that was seen last, then the oldest.
    pub fn find_asset_by(&self, mark: IdentityKey<'_>) -> Result<Option<Asset>> {
        let Some(start) = mark.start() else { return Ok(None) };
        let table = EXTERNAL.name(self.client);
        let span = Span::prefix(start.as_slice());
        let mut found: Option<Asset> = None;
        for key in self.rows.list_keys_of(&table, &span, N_TWINS_MAX)? {
            let () = self.rows.find_row(&table, &key)?.unwrap_or(());
            let id = key.last_chunk().expect("every key of this kind ends with an asset id");
            let Some(asset) = self.find_asset(AssetId::from_bytes(*id))? else { continue };
            if found.as_ref().is_none_or(|it| it.last_seen_at < asset.last_seen_at) {
                found = Some(asset);
            }
        }
        Ok(found)
    }

    /// Visits up to `n_rows_max` assets after `after`, in id order.
    pub fn list_aged_assets(
        &self,
        seen_before: Time,
        retired_before: Time,
        after: Option<AssetId>,
        n_rows_max: usize,
    ) -> Result<AgedAssets> {
        let table = ASSETS.name(self.client);
        let span = match after {
            Some(id) => Span::all().after(id.as_bytes()),
            None => Span::all(),
        };
        let mut found = AgedAssets { stale: Vec::new(), retired: Vec::new(), next: None };
        let mut n_rows = 0;
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let asset = self.rows.open_row::<Asset>(&table, key, bytes)?;
            n_rows += 1;
            let id = asset.id;
            match asset.status {
                AssetStatus::Active if asset.last_seen_at < seen_before => found.stale.push(asset),
                AssetStatus::Retired if asset.last_updated_at < retired_before => {
                    found.retired.push(asset);
                }
                // Those of releases up to 0.1.
                AssetStatus::Stale if !self.is_marked_stale(id)? => found.stale.push(asset),
                AssetStatus::Active | AssetStatus::Stale | AssetStatus::Retired => (),
            }
            if n_rows < n_rows_max {
                return Ok(ControlFlow::Continue(()));
            }
            found.next = Some(id);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// The names that lead to these assets. Visits all names of the client: call it on a snapshot.
    pub fn list_names_of(&self, assets: &HashSet<AssetId>) -> Result<AssetNames> {
        let table = EXTERNAL.name(self.client);
        let span = Span::prefix(RowKey::of(EXTERNAL_NAME).as_slice());
        let mut names = AssetNames::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let id = self.rows.open_row::<AssetId>(&table, key, bytes)?;
            if assets.contains(&id) {
                names.entry(id).or_default().push(key.to_vec());
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(names)
    }
}

impl ClientBatch<'_> {
    /// Removes a retired asset and what leads to it, if it is as it was read. `names`: as they were read with it.
    pub fn remove_retired_asset(&mut self, asset: &Asset, names: &AssetNames) -> Result<()> {
        if self.find_asset(asset.id)?.as_ref() != Some(asset) {
            return Ok(()); // It was seen again.
        }
        let table = EXTERNAL.name(self.client);
        for key in names.get(&asset.id).into_iter().flatten() {
            if self.rows.find_row::<AssetId>(&table, key)? == Some(asset.id) {
                self.rows.remove_row(&table, key)?;
            }
        }
        for key in mark_keys(asset) {
            self.remove(EXTERNAL, &key)?;
        }
        self.unmark_new(asset)?;
        self.rows.remove_row(ASSET_CLIENTS, asset.id.as_bytes())?;
        self.remove(ASSETS, &asset_key(asset.id))?;
        self.rows.effects.deltas.push((self.client, Delta::Remove { id: asset.id }));
        Ok(())
    }

    /// Stores a new asset under a new id: its id is replaced by a `UUIDv7` for its `last_updated_at`
    /// that is higher than all ids before.
    ///
    /// # Errors
    /// `Conflict` if its source calls another asset by that name.
    pub fn add_asset(&mut self, asset: Asset) -> Result<Asset> {
        let name = name_key(&asset.source, &asset.external_id);
        if self.find::<AssetId>(EXTERNAL, &name)?.is_some() {
            return Err(Error::conflict("an asset with this external id already exists"));
        }
        let id = next_id(self.rows.counts.asset, asset.last_updated_at);
        self.rows.counts.asset = id;
        let asset = Asset { id: AssetId::from_bytes(id), ..asset };
        self.rows.put_row(ASSET_CLIENTS, &id, &self.client)?;
        self.put(EXTERNAL, &name, &asset.id)?;
        self.put_marks(None, &asset)?;
        self.put_row(None, &asset)?;
        Ok(asset)
    }

    /// Replaces an existing asset, and updates the rows that lead to it.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if its source now calls another asset by its name.
    pub fn put_asset(&mut self, asset: &Asset) -> Result<()> {
        let before = self.find_asset(asset.id)?.ok_or_else(absent)?;
        let old_name = name_key(&before.source, &before.external_id);
        let new_name = name_key(&asset.source, &asset.external_id);
        if old_name != new_name {
            self.link_external(&asset.source, &asset.external_id, asset.id)?;
            self.remove(EXTERNAL, &old_name)?;
        }
        self.put_marks(Some(&before), asset)?;
        self.put_row(Some(&before), asset)
    }

    /// Lets another source's name lead to an asset.
    ///
    /// # Errors
    /// `NotFound` if the asset does not exist; `Conflict` if the name leads to another one.
    pub fn link_external(&mut self, source: &str, external_id: &str, id: AssetId) -> Result<()> {
        let name = name_key(source, external_id);
        match self.find::<AssetId>(EXTERNAL, &name)? {
            Some(known) if known == id => return Ok(()),
            Some(_) => {
                return Err(Error::conflict("an asset with this external id already exists"));
            }
            None => (),
        }
        self.find_asset(id)?.ok_or_else(absent)?;
        self.put(EXTERNAL, &name, &id)
    }

    fn put_row(&mut self, before: Option<&Asset>, asset: &Asset) -> Result<()> {
        self.count_asset(before, asset)?;
        let is_stale = |it: &Asset| it.status == AssetStatus::Stale;
        match (before.is_some_and(is_stale), is_stale(asset)) {
            (false, true) => self.mark_stale(asset.id)?,
            (true, false) => self.unmark_stale(asset.id)?,
            (true, true) | (false, false) => (),
        }
        self.put(ASSETS, &asset_key(asset.id), asset)?;
        self.rows.effects.deltas.push((self.client, Delta::put(asset)));
        Ok(())
    }

    fn put_marks(&mut self, before: Option<&Asset>, after: &Asset) -> Result<()> {
        let old = before.map(mark_keys).unwrap_or_default();
        let new = mark_keys(after);
        for key in old.iter().filter(|it| !new.contains(it)) {
            self.remove(EXTERNAL, key)?;
        }
        for key in new.iter().filter(|it| !old.contains(it)) {
            self.put(EXTERNAL, key, &())?;
        }
        Ok(())
    }
}

impl ClientStore {
    /// A page of the client's assets, in id order. Blocks: call it off the async threads.
    pub fn page_assets(&self, filter: &AssetFilter, cut: Cut) -> Result<Page<Asset>> {
        let found = self.store.shared().indexes.find(self.id(), filter, cut, || self.snapshot())?;
        // Opened after the ids were found, so that it contains all of them.
        let snapshot = self.snapshot()?;
        let items = if *filter == AssetFilter::default() {
            snapshot.get_neighbours(&found.ids)?
        } else {
            snapshot.get_assets(&found.ids)?
        };
        Ok(Page { items, total: found.total, cut })
    }

    /// Visits each of the client's assets that match, in id order, with few of them in memory at a time. Blocks: call it off
    /// the async threads.
    pub fn visit_assets(&self, filter: &AssetFilter, mut each: impl FnMut(Asset)) -> Result<()> {
        let all = Cut { limit: u32::MAX, offset: 0 };
        let found = self.store.shared().indexes.find(self.id(), filter, all, || self.snapshot())?;
        let snapshot = self.snapshot()?;
        for ids in found.ids.chunks(N_VISITED_AT_ONCE) {
            snapshot.get_assets(ids)?.into_iter().for_each(&mut each);
        }
        Ok(())
    }
}

fn absent() -> Error {
    Error::not_found("asset not found")
}

/// Steps between ids of one millisecond are random and up to this large, so that the next id cannot
/// be guessed.
const STEP_BITS: u32 = 40;
/// Random bits of a `UUIDv7`: 12 after the version, 62 after the variant.
const LOW_BITS: u32 = 62;
const HIGH_BITS: u32 = 12;

/// A `UUIDv7` for `now` that is higher than `last`, even if `now` is not later.
fn next_id(last: [u8; 16], now: Time) -> [u8; 16] {
    let fresh = *AssetId::made_at(now).as_bytes();
    if last < fresh {
        return fresh;
    }
    let noise = u128::from_be_bytes(*AssetId::random().as_bytes());
    let step = 1 + (noise & ((1 << STEP_BITS) - 1));
    let last = u128::from_be_bytes(last);
    // Time and random bits as one number, without the six fixed bits that would interrupt a carry.
    let (time, high, low) = (last >> 80, (last >> 64) & 0xfff, last & ((1 << LOW_BITS) - 1));
    let number = (time << (HIGH_BITS + LOW_BITS)) + (high << LOW_BITS) + low + step;
    let low = number & ((1 << LOW_BITS) - 1);
    let high = (number >> LOW_BITS) & ((1 << HIGH_BITS) - 1);
    let time = number >> (HIGH_BITS + LOW_BITS);
    ((time << 80) | (0x7 << 76) | (high << 64) | (0b10 << 62) | low).to_be_bytes()
}
