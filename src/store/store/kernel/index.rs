//! An index in memory that filters lists of assets: ids and a few columns of each client whose list
//! was requested.
//!
//! It is built from a snapshot at the first request and then updated by the writer in commit order.
//! While a client's index is built, the writer's changes are queued and applied after the snapshot.
//! A change that the snapshot already contains is applied twice, which changes nothing. So no row is
//! ever missing or duplicate.

use super::delta::Delta;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::engine::asset::{Asset, AssetType};
use crate::error::Result;
use crate::id::{AssetId, ClientId};
use crate::page::Cut;
use crate::store::kernel::transaction::{ClientTransaction, Reading, Rows};
use crate::store::row_key::Span;
use crate::store::table::ASSETS;

/// The maximum number of rows of all clients together, at 24 bytes each. Beyond it, the least recently
/// used clients are evicted. A single client with more rows is kept alone.
const N_ROWS_MAX: usize = 2_500_000;

/// A filter for assets. The default matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssetFilter {
    /// Compared without regard to case.
    pub category: Option<String>,
    pub asset_type: Option<AssetType>,
    pub critical_only: bool,
}

/// The ids of a page's rows.
#[derive(Debug)]
pub(in crate::store) struct FoundAssetIds {
    pub(in crate::store) ids: Vec<AssetId>,
    pub(in crate::store) total: u64,
}

/// Number of the name in [`AssetColumns::categories`]; [`NO_CATEGORY`] for none.
type CategoryNumber = u32;
const NO_CATEGORY: CategoryNumber = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct AssetRow {
    id: AssetId,
    category: CategoryNumber,
    asset_type: AssetType,
    is_critical: bool,
}

/// One client's assets, in id order.
#[derive(Debug, Default)]
struct AssetColumns {
    rows: Vec<AssetRow>,
    /// Names in lower case. Never shrinks: a client has few, and an eviction starts over.
    categories: HashMap<String, CategoryNumber>,
}

impl AssetColumns {
    fn apply(&mut self, delta: Delta) {
        let (id, category, asset_type, is_critical) = match delta {
            Delta::Put { id, category, asset_type, is_critical } => {
                (id, category, asset_type, is_critical)
            }
            Delta::Remove { id } => {
                if let Ok(index) = self.rows.binary_search_by_key(&id, |it| it.id) {
                    self.rows.remove(index);
                }
                return;
            }
            Delta::Forget => return,
        };
        let n_categories = CategoryNumber::try_from(self.categories.len()).unwrap_or(NO_CATEGORY);
        let category = category
            .map_or(NO_CATEGORY, |name| *self.categories.entry(name).or_insert(n_categories));
        let row = AssetRow { id, category, asset_type, is_critical };
        // New ids are higher, so this almost always appends.
        match self.rows.last().map(|last| last.id.cmp(&id)) {
            None | Some(std::cmp::Ordering::Less) => self.rows.push(row),
            Some(_) => match self.rows.binary_search_by_key(&id, |it| it.id) {
                Ok(index) => self.rows[index] = row,
                Err(index) => self.rows.insert(index, row),
            },
        }
    }

    fn find(&self, filter: &AssetFilter, cut: Cut) -> FoundAssetIds {
        let skip = usize::try_from(cut.offset).unwrap_or(usize::MAX);
        let limit = cut.limit as usize;
        if *filter == AssetFilter::default() {
            let ids = self.rows.iter().skip(skip).take(limit).map(|it| it.id).collect();
            return FoundAssetIds { ids, total: self.rows.len() as u64 };
        }
        let category = match &filter.category {
            None => None,
            Some(name) => match self.categories.get(&name.to_lowercase()) {
                Some(category) => Some(*category),
                None => return FoundAssetIds { ids: Vec::new(), total: 0 },
            },
        };
        let wanted = |row: &&AssetRow| {
            category.is_none_or(|it| row.category == it)
                && filter.asset_type.is_none_or(|it| row.asset_type == it)
                && (row.is_critical || !filter.critical_only)
        };
        let mut found = FoundAssetIds { ids: Vec::new(), total: 0 };
        let end = skip.saturating_add(limit) as u64;
        for row in self.rows.iter().filter(wanted) {
            if (skip as u64..end).contains(&found.total) {
                found.ids.push(row.id);
            }
            found.total += 1;
        }
        found
    }
}

#[derive(Debug, Default)]
enum IndexState {
    #[default]
    Empty,
    /// Changes that were committed since before the snapshot that is being read.
    Building(Vec<Delta>),
    Ready(AssetColumns),
}

#[derive(Debug, Default)]
struct IndexSlot {
    state: RwLock<IndexState>,
    /// Locked while the index is built.
    builder: Mutex<()>,
}

#[derive(Debug, Default)]
struct CachedIndex {
    slot: Arc<IndexSlot>,
    n_rows: usize,
    asked_at: u64,
}

/// All clients' indexes.
#[derive(Debug, Default)]
pub(in crate::store) struct Indexes {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    clients: HashMap<ClientId, CachedIndex>,
    n_asked: u64,
}

impl Indexes {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, client: ClientId) -> Arc<IndexSlot> {
        let mut known = self.lock();
        known.n_asked += 1;
        let now = known.n_asked;
        let entry = known.clients.entry(client).or_default();
        entry.asked_at = now;
        entry.slot.clone()
    }

    /// Finds a page's ids. `snapshot` is called after the writer began to queue its changes.
    pub(in crate::store) fn find(
        &self,
        client: ClientId,
        filter: &AssetFilter,
        cut: Cut,
        snapshot: impl FnOnce() -> Result<ClientTransaction<Reading>>,
    ) -> Result<FoundAssetIds> {
        let slot = self.ask(client);
        if let IndexState::Ready(columns) = &*slot.read() {
            return Ok(columns.find(filter, cut));
        }
        let _builder = slot.builder.lock().unwrap_or_else(PoisonError::into_inner);
        if let IndexState::Ready(columns) = &*slot.read() {
            return Ok(columns.find(filter, cut)); // Another request built it meanwhile.
        }
        *slot.write() = IndexState::Building(Vec::new());
        let built = snapshot().and_then(|snapshot| build(&snapshot));
        let mut state = slot.write();
        let IndexState::Building(deltas) = std::mem::take(&mut *state) else {
            unreachable!("only the holder of `builder` ends a building")
        };
        let mut columns = built?;
        let is_whole = !deltas.iter().any(|it| matches!(it, Delta::Forget));
        for delta in deltas {
            columns.apply(delta);
        }
        let found = columns.find(filter, cut);
        let n_rows = columns.rows.len();
        if is_whole {
            *state = IndexState::Ready(columns);
        }
        drop(state);
        self.make_room(client, n_rows);
        Ok(found)
    }

    /// Evicts the least recently used clients until the rest fits beside `newest`.
    fn make_room(&self, newest: ClientId, n_rows: usize) {
        let mut known = self.lock();
        if let Some(entry) = known.clients.get_mut(&newest) {
            entry.n_rows = n_rows;
        }
        let mut total: usize = known.clients.values().map(|it| it.n_rows).sum();
        if total <= N_ROWS_MAX {
            return;
        }
        let mut by_age: Vec<_> = known.clients.iter().map(|(id, it)| (it.asked_at, *id)).collect();
        by_age.sort_unstable();
        for (_, client) in by_age {
            if total <= N_ROWS_MAX {
                break;
            }
            let is_idle = client != newest && known.clients[&client].slot.is_ready();
            if is_idle && let Some(entry) = known.clients.remove(&client) {
                total -= entry.n_rows;
            }
        }
    }

    /// Called only by the writer, in commit order, before it answers.
    pub(in crate::store) fn apply(&self, deltas: Vec<(ClientId, Delta)>) {
        for (client, delta) in deltas {
            let slot = self.lock().clients.get(&client).map(|it| it.slot.clone());
            let Some(slot) = slot else { continue };
            let mut state = slot.write();
            match (&mut *state, delta) {
                (IndexState::Empty, _) => (),
                (IndexState::Building(deltas), delta) => deltas.push(delta),
                (IndexState::Ready(_), Delta::Forget) => *state = IndexState::Empty,
                (IndexState::Ready(columns), delta) => columns.apply(delta),
            }
        }
    }

    /// The memory of all rows.
    pub(in crate::store) fn n_bytes(&self) -> u64 {
        let n_rows: usize = self.lock().clients.values().map(|it| it.n_rows).sum();
        (n_rows * size_of::<AssetRow>()) as u64
    }

    /// Clears everything, for when it is unknown what was committed.
    pub(in crate::store) fn forget_all(&self) {
        let mut known = self.lock();
        for entry in known.clients.values() {
            entry.slot.forget();
        }
        known.clients.retain(|_, it| !it.slot.is_empty());
    }
}

impl IndexSlot {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, IndexState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, IndexState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ready(&self) -> bool {
        matches!(*self.read(), IndexState::Ready(_))
    }

    fn is_empty(&self) -> bool {
        matches!(*self.read(), IndexState::Empty)
    }

    fn forget(&self) {
        let mut state = self.write();
        match &mut *state {
            IndexState::Empty => (),
            IndexState::Building(deltas) => deltas.push(Delta::Forget),
            IndexState::Ready(_) => *state = IndexState::Empty,
        }
    }
}

fn build(snapshot: &ClientTransaction<Reading>) -> Result<AssetColumns> {
    let mut columns = AssetColumns::default();
    let table = ASSETS.name(snapshot.client);
    snapshot.rows.visit_rows(&table, &Span::all(), &mut |key, bytes| {
        let asset = snapshot.rows.open_row::<Asset>(&table, key, bytes)?;
        columns.apply(Delta::put(&asset));
        Ok(ControlFlow::Continue(()))
    })?;
    columns.rows.shrink_to_fit();
    Ok(columns)
}
