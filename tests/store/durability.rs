//! What was answered is on the disk, whatever the disk does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use posture_core::engine::asset::Asset;
use posture_core::error::Code;
use posture_core::id::{AssetId, ClientId};
use posture_store::store::Store;
use posture_store::store::per_client::asset::AssetFilter;

use super::{CACHE_BYTES, N_MIXED, count_assets, mixed, n_mixed, new_asset, some_client};
use crate::harness::backend::{Disk, Random};

/// Runs of the power loss. The same seeds lose the power at the same places.
/// Losses of power. `POSTURE_POWER_LOSSES` names another number.
const N_SEEDS: u64 = 500;
/// Flipped bits. `POSTURE_BIT_FLIPS` names another number.
const N_FLIPS: u64 = 200;

fn n_rounds(variable: &str, default: u64) -> u64 {
    let named = std::env::var_os(variable).map(|it| it.into_string().unwrap());
    named.map_or(default, |it| it.parse().unwrap())
}
/// The longest wait for a reopening.
const REOPEN_WAIT: Duration = Duration::from_mins(1);

/// Writes until the disk fails; says which writes were answered, and which one was not.
fn write_until_failure(store: &Store) -> (Vec<String>, String) {
    let rows = store.client_store(some_client(1));
    let mut answered = Vec::new();
    for index in 0.. {
        let name = format!("n{index}");
        let written = name.clone();
        match rows.write_now(move |batch| mixed(batch, &written)) {
            Ok(_) => answered.push(name),
            Err(_) => return (answered, name),
        }
    }
    unreachable!("the disk fails at some time")
}

/// What was answered is whole; what was not is whole or not there.
fn assert_sound(store: &Store, answered: &[String], unanswered: &str, context: &str) {
    let client = some_client(1);
    for name in answered {
        assert_eq!(n_mixed(store, client, name), N_MIXED, "{context}: {name} was lost");
    }
    let n_rows = n_mixed(store, client, unanswered);
    assert!(n_rows == 0 || n_rows == N_MIXED, "{context}: {unanswered} was torn");
    assert!(store.health().ready, "{context}");
    store.client_store(client).write_now(|batch| mixed(batch, "after")).expect("sound");
}

#[test]
fn a_power_loss_loses_nothing_that_was_answered() {
    let n_seeds = n_rounds("POSTURE_POWER_LOSSES", N_SEEDS);
    let mut n_created = 0;
    for seed in 1..=n_seeds {
        let mut random = Random::from_seed(seed);
        let disk = Disk::default();
        disk.lose_power(1 + random.below(400), seed);
        // A database that is not finished has not got its name yet, so nothing is lost with it.
        let Ok(store) = Store::on_backend(disk.clone(), CACHE_BYTES) else { continue };
        n_created += 1;
        let (answered, unanswered) = write_until_failure(&store);
        store.close();
        let disk = disk.after_power_loss().expect("it went");
        // The power goes again while the database is being repaired.
        disk.lose_power(1 + random.below(12), seed + 1);
        let again = Store::on_backend(disk.clone(), CACHE_BYTES).is_ok();
        let disk = disk.after_power_loss().unwrap_or_else(|| Disk::of(disk.bytes()));
        let context = format!("seed {seed}, repaired at once: {again}");
        let store = match Store::on_backend(disk, CACHE_BYTES) {
            Ok(store) => store,
            Err(error) => panic!("{context}: {error:?}"),
        };
        assert_sound(&store, &answered, &unanswered, &context);
    }
    assert!(n_seeds * 3 / 4 < n_created, "most runs get as far as writing: {n_created}");
}

#[test]
fn every_call_that_fails_is_told_and_leaves_a_sound_database() {
    let sound = Disk::default();
    let store = Store::on_backend(sound.clone(), CACHE_BYTES).unwrap();
    let rows = store.client_store(some_client(1));
    for name in ["a", "b", "c"] {
        rows.write_now(move |batch| mixed(batch, name)).unwrap();
    }
    store.close();
    let before = ["a", "b", "c"].map(str::to_owned);
    for is_forever in [false, true] {
        let mut n_faults = 0;
        for n in 1.. {
            let disk = Disk::of(sound.bytes());
            // No cache: reads reach the disk too.
            let store = Store::on_backend(disk.clone(), 0).unwrap();
            if is_forever {
                disk.fail_from(n);
            } else {
                disk.fail_once(n);
            }
            let rows = store.client_store(some_client(1));
            let written = rows.write_now(|batch| mixed(batch, "d"));
            if !disk.has_failed() {
                written.unwrap();
                break;
            }
            n_faults += 1;
            let context = format!("call {n} fails, forever: {is_forever}");
            let mut answered = before.to_vec();
            match written {
                Ok(_) => answered.push("d".to_owned()),
                Err(error) => assert_eq!(error.code, Code::Unavailable, "{context}"),
            }
            store.close();
            for remains in [Disk::of(disk.bytes()), disk.without_power(n)] {
                let store = Store::on_backend(remains, CACHE_BYTES).unwrap();
                assert_sound(&store, &answered, "d", &context);
            }
        }
        assert!(10 < n_faults, "a write makes more than {n_faults} calls");
    }
}

#[test]
fn after_a_storage_error_the_database_is_reopened() {
    let disk = Disk::default();
    let again = disk.clone();
    let store = Store::on_backends(move || again.clone(), CACHE_BYTES).unwrap();
    let rows = store.client_store(some_client(1));
    rows.write_now(|batch| mixed(batch, "before")).unwrap();
    count_assets(&rows, &AssetFilter::default()).unwrap();
    let versions = rows.versions();
    disk.fail_once(3);
    let failed = rows.write_now(|batch| mixed(batch, "during")).unwrap_err();
    assert_eq!(failed.code, Code::Unavailable);
    let until = Instant::now() + REOPEN_WAIT;
    while !store.health().ready {
        let refused = rows.snapshot().map(|_| ());
        assert!(refused.map_or_else(|it| it.code == Code::Unavailable, |()| true));
        assert!(Instant::now() < until, "it reopens in time");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_sound(&store, &["before".to_owned()], "during", "reopened");
    assert_eq!(store.health().n_failures, 1);
    assert!(versions.inventory < rows.versions().inventory, "what was shown may be out of date");
    let n_assets = rows.snapshot().unwrap().list_observations().unwrap().len() as u64;
    assert_eq!(count_assets(&rows, &AssetFilter::default()).unwrap(), n_assets);
}

#[test]
fn a_reader_that_meets_a_storage_error_has_the_database_reopened() {
    let disk = Disk::default();
    let again = disk.clone();
    let store = Store::on_backends(move || again.clone(), 0).unwrap();
    let rows = store.client_store(some_client(1));
    rows.write_now(|batch| mixed(batch, "before")).unwrap();
    disk.fail_once(1);
    let failed = rows.snapshot().and_then(|it| it.list_all_observations()).unwrap_err();
    assert_eq!(failed.code, Code::Unavailable);
    let until = Instant::now() + REOPEN_WAIT;
    while !store.health().ready {
        assert!(Instant::now() < until, "it reopens in time");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(n_mixed(&store, some_client(1), "before"), N_MIXED);
}

#[test]
fn a_disk_that_stays_broken_refuses_at_once_and_closes() {
    let disk = Disk::default();
    let store = Store::on_backend(disk.clone(), CACHE_BYTES).unwrap();
    let rows = store.client_store(some_client(1));
    disk.fail_from(1);
    for _ in 0..20 {
        let refused = rows.write_now(|batch| mixed(batch, "never")).unwrap_err();
        assert_eq!(refused.code, Code::Unavailable);
    }
    assert!(!store.health().ready);
    let start = Instant::now();
    store.close();
    assert!(start.elapsed() < REOPEN_WAIT, "closing does not wait for the disk");
}

/// A database with some rows, as it is before and after it is closed, and what they are.
async fn written() -> ([Vec<u8>; 2], BTreeMap<AssetId, Asset>) {
    let disk = Disk::default();
    let store = Store::on_backend(disk.clone(), CACHE_BYTES).expect("a sound disk");
    let rows = store.client_store(ClientId::UNASSIGNED);
    let mut assets = BTreeMap::new();
    for part in 0..40 {
        let add = move |batch: &mut posture_store::store::ClientBatch<'_>| {
            let names = (0..10).map(|index| format!("{part}-{index}"));
            names.map(|it| batch.add_asset(new_asset(&it))).collect::<Result<Vec<_>, _>>()
        };
        assets
            .extend(rows.write(add).await.expect("a sound disk").into_iter().map(|it| (it.id, it)));
    }
    let open = disk.bytes();
    store.close();
    ([open, disk.bytes()], assets)
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bits_are_never_served() {
    let (states, assets) = written().await;
    let mut random = Random::from_seed(5);
    let (mut n_refused, mut n_found) = (0, 0);
    let n_flips = n_rounds("POSTURE_BIT_FLIPS", N_FLIPS);
    for round in 0..n_flips {
        let bytes = &states[usize::from(round % 2 == 0)];
        let mut flipped = bytes.clone();
        let place = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        flipped[place] ^= 1 << random.below(8);
        let Ok(store) = Store::on_backend(Disk::of(flipped), CACHE_BYTES) else {
            n_refused += 1;
            continue;
        };
        let rows = store.client_store(ClientId::UNASSIGNED);
        let mut n_damaged = 0;
        for (id, asset) in &assets {
            let (id, name) = (*id, asset.external_id.clone());
            match rows.read(move |it| it.find_asset(id)).await {
                Ok(found) => assert!(found.is_none_or(|it| it == *asset), "round {round}"),
                Err(error) => {
                    assert_eq!(error.message(), "internal error");
                    n_damaged += 1;
                }
            }
            match rows.read(move |it| it.find_asset_by_external("rmm", &name)).await {
                Ok(found) => assert!(found.is_none_or(|it| it == *asset), "round {round}"),
                Err(_) => n_damaged += 1,
            }
        }
        let pages = rows.clone();
        let whole = rows.read(move |_| {
            pages.page_assets(
                &AssetFilter::default(),
                posture_core::page::Cut { limit: 100, offset: 0 },
            )
        });
        if let Ok(page) = whole.await {
            assert!(page.items.iter().all(|it| assets.get(&it.id) == Some(it)), "round {round}");
        }
        n_found += usize::from(0 < n_damaged);
    }
    println!("{n_flips} flips: {n_refused} databases refused, {n_found} with damaged rows");
    assert!(10 < n_found + n_refused, "some flips hit something: {n_found}, {n_refused}");
}
