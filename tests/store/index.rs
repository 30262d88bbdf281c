//! Pages of assets, from the index in memory.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use posture_core::engine::asset::{Asset, AssetType};
use posture_core::id::AssetId;
use posture_core::page::Cut;
use posture_store::store::ClientStore;
use posture_store::store::per_client::asset::AssetFilter;

use super::{count_assets, memory, new_asset, some_client};
use crate::harness::backend::Random;

const CATEGORIES: [Option<&str>; 4] = [None, Some("Cloud"), Some("cloud"), Some("Büro")];

fn random_asset(name: &str, random: &mut Random) -> Asset {
    let pick = |random: &mut Random, n: usize| usize::try_from(random.below(n as u64)).unwrap_or(0);
    Asset {
        category: CATEGORIES[pick(random, CATEGORIES.len())].map(str::to_owned),
        asset_type: AssetType::ALL[pick(random, 3)],
        is_critical: random.below(4) == 0,
        ..new_asset(name)
    }
}

fn filters() -> Vec<AssetFilter> {
    let mut all = Vec::new();
    for category in [None, Some("CLOUD"), Some("bÜRO"), Some("none of these")] {
        for asset_type in [None, Some(AssetType::ALL[0]), Some(AssetType::ALL[1])] {
            for critical_only in [false, true] {
                let category = category.map(str::to_owned);
                all.push(AssetFilter { category, asset_type, critical_only });
            }
        }
    }
    all
}

fn passes(filter: &AssetFilter, asset: &Asset) -> bool {
    let lower = |it: &Option<String>| it.as_deref().map(str::to_lowercase);
    (filter.category.is_none() || lower(&filter.category) == lower(&asset.category))
        && filter.asset_type.is_none_or(|it| it == asset.asset_type)
        && (asset.is_critical || !filter.critical_only)
}

/// Every page of a list, one after the other.
fn walk(rows: &ClientStore, filter: &AssetFilter, limit: u32) -> Vec<Asset> {
    let mut all = Vec::new();
    loop {
        let page = rows.page_assets(filter, Cut { limit, offset: all.len() as u64 });
        let page = page.expect("the store is open");
        let is_last = page.items.len() < limit as usize;
        all.extend(page.items);
        if is_last {
            return all;
        }
    }
}

fn assert_equals_brute_force(rows: &ClientStore, known: &[AssetId]) {
    let snapshot = rows.snapshot().expect("sound");
    let mut assets = snapshot.get_assets(known).expect("sound");
    assert_eq!(assets.len(), known.len());
    assets.sort_by_key(|it| it.id);
    for filter in filters() {
        let expected: Vec<_> = assets.iter().filter(|it| passes(&filter, it)).cloned().collect();
        assert_eq!(walk(rows, &filter, 7), expected, "{filter:?}");
        assert_eq!(
            count_assets(rows, &filter).expect("sound"),
            expected.len() as u64,
            "{filter:?}"
        );
        let cut = Cut { limit: 5, offset: 3 };
        let page = rows.page_assets(&filter, cut).expect("sound");
        assert_eq!(page.total, expected.len() as u64);
        let window: Vec<_> = expected.into_iter().skip(3).take(5).collect();
        assert_eq!(page.items, window, "{filter:?}");
    }
}

#[test]
fn the_index_equals_a_brute_force_filter_under_concurrent_pushes() {
    const N_WRITERS: u64 = 4;
    const N_PUSHES: u64 = 60;
    let store = memory();
    let rows = store.client_store(some_client(1));
    let mut random = Random::from_seed(99);
    let mut known: Vec<AssetId> = Vec::new();
    for index in 0..50 {
        let asset = random_asset(&format!("before-{index}"), &mut random);
        known.push(rows.write_now(move |batch| batch.add_asset(asset.clone())).unwrap().id);
    }
    let before: BTreeSet<AssetId> = known.iter().copied().collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut n_walks = 0;
            let mut total = 0;
            while !is_over.load(Ordering::Relaxed) || n_walks == 0 {
                let ids: Vec<_> =
                    walk(&rows, &AssetFilter::default(), 9).iter().map(|it| it.id).collect();
                assert!(ids.is_sorted_by(|a, b| a < b), "in order, none twice");
                assert!(
                    before.iter().all(|it| ids.contains(it)),
                    "none of the old ones is missing"
                );
                let now = count_assets(&rows, &AssetFilter::default()).unwrap();
                assert!(total <= now, "none disappears");
                total = now;
                n_walks += 1;
            }
        });
        let writers: Vec<_> = (0..N_WRITERS)
            .map(|writer| {
                let (rows, store) = (&rows, &store);
                scope.spawn(move || push(store, rows, writer, N_PUSHES))
            })
            .collect();
        let pushed: Vec<_> = writers.into_iter().map(ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed); // Before anything here panics.
        reader.join().unwrap();
        for ids in pushed {
            known.extend(ids.unwrap());
        }
    });
    assert_equals_brute_force(&rows, &known);
}

/// Adds and changes assets; what was answered is counted at once.
fn push(
    store: &posture_store::store::Store,
    rows: &ClientStore,
    writer: u64,
    n_pushes: u64,
) -> Vec<AssetId> {
    let mut random = Random::from_seed(writer);
    let mut mine: Vec<AssetId> = Vec::new();
    for index in 0..n_pushes {
        let asset = random_asset(&format!("{writer}-{index}"), &mut random);
        let id = rows.write_now(move |batch| batch.add_asset(asset.clone())).expect("open").id;
        mine.push(id);
        let target = mine[usize::try_from(random.below(mine.len() as u64)).expect("small")];
        let look = random_asset("", &mut random);
        let changed = rows.write_now(move |batch| {
            let asset = batch.find_asset(target)?.expect("was added");
            let (category, asset_type) = (look.category.clone(), look.asset_type);
            let asset = Asset { category, asset_type, is_critical: look.is_critical, ..asset };
            batch.put_asset(&asset)?;
            Ok(asset)
        });
        let changed = changed.expect("open");
        let filter = AssetFilter {
            category: changed.category.clone(),
            asset_type: Some(changed.asset_type),
            critical_only: changed.is_critical,
        };
        // On one page: while others move in and out of the filter, offsets between pages shift.
        let page = rows.page_assets(&filter, Cut { limit: 1_000, offset: 0 }).expect("open");
        assert!(page.items.iter().any(|it| it.id == target), "an answered change is listed");
        // Other clients' indexes come and go beside it.
        let other = store.client_store(some_client(2 + u8::try_from(index % 3).expect("small")));
        count_assets(&other, &AssetFilter::default()).expect("open");
    }
    mine
}

#[test]
fn an_index_that_is_built_while_assets_are_pushed_misses_none() {
    for round in 0..30 {
        let store = memory();
        let rows = store.client_store(some_client(1));
        let known: Vec<AssetId> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let rows = &rows;
                    scope.spawn(move || {
                        let add = |index: i32| {
                            let mut random = Random::from_seed(round);
                            let asset = random_asset(&format!("{writer}-{index}"), &mut random);
                            rows.write_now(move |batch| batch.add_asset(asset.clone())).unwrap().id
                        };
                        (0..10).map(add).collect::<Vec<_>>()
                    })
                })
                .collect();
            // The first question builds the index, somewhere among the pushes.
            std::thread::sleep(std::time::Duration::from_micros(200 * round));
            count_assets(&rows, &AssetFilter::default()).unwrap();
            writers.into_iter().flat_map(|it| it.join().unwrap()).collect()
        });
        assert_equals_brute_force(&rows, &known);
    }
}
