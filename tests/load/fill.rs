//! A client with many assets, written past the service: the service is what is measured, not the filling.

use std::path::Path;

use posture::clock::Clock;
use posture::engine::asset::{Asset, AssetStatus, AssetType, Kept};
use posture::id::{AssetId, ClientId};
use posture::store::global::client::{Client, ClientState};
use posture::store::{ClientBatch, EngineOptions, Store, StoreOptions};

const N_PER_COMMIT: u32 = 5_000;
/// Every so many an asset has this category.
pub(crate) const N_CATEGORIES: u32 = 10;

/// Adds an active client with so many assets to the database of this data directory; its id.
pub(crate) fn client(data: &Path, engine: EngineOptions, n_assets: u32) -> String {
    let now = Clock::System.now();
    let options = StoreOptions { dir: data.to_path_buf(), cache_bytes: 512 * 1024 * 1024, engine };
    let store = Store::open(&options, now).expect("the folder is ours");
    let id = ClientId::random();
    let client = Client {
        id,
        name: "Large".to_owned(),
        industry: None,
        employee_count: None,
        settings: "{}".to_owned(),
        state: ClientState::Active,
        created_at: now,
        updated_at: now,
    };
    store.write_now(move |batch| batch.put_client(&client)).expect("the disk takes it");
    let rows = store.client_store(id);
    for start in (0..n_assets).step_by(N_PER_COMMIT as usize) {
        let end = (start + N_PER_COMMIT).min(n_assets);
        let write = move |batch: &mut ClientBatch<'_>| {
            (start..end).try_for_each(|n| batch.add_asset(asset(n)).map(drop))
        };
        rows.write_now(write).expect("the disk takes it");
    }
    drop(rows);
    store.close();
    id.to_string()
}

fn asset(n: u32) -> Asset {
    let now = Clock::System.now();
    let types = AssetType::ALL;
    Asset {
        id: AssetId::from_bytes([0; 16]),
        source: "load".to_owned(),
        external_id: format!("external-{n:07}"),
        aliases: Vec::new(),
        name: format!("asset-{n:07}"),
        display_name: Some(format!("Asset number {n}")),
        category: Some(format!("category-{}", n % N_CATEGORIES)),
        asset_type: types[n as usize % types.len()],
        status: AssetStatus::Active,
        is_critical: n.is_multiple_of(20),
        is_managed: true,
        owner: Some("somebody@example.com".to_owned()),
        description: None,
        tags: Vec::new(),
        kept: Kept::default(),
        hostname: None,
        ip: None,
        mac: None,
        serial: None,
        first_discovered_at: now,
        last_updated_at: now,
        last_seen_at: now,
    }
}
