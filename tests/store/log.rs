//! Reading the log of observations.

use std::collections::BTreeMap;

use posture_core::engine::fact::{Observation, Verdict};
use posture_core::id::ImportId;
use posture_store::store::Store;
use posture_store::store::per_client::fact::ObservationKey;

use super::{CACHE_BYTES, PASSED, SILENT, memory, noon, observation, some_client};
use crate::harness::backend::{Disk, Random};

/// What [`list_observations`] promises, the slow way.
///
/// [`list_observations`]: posture_store::store::ClientSnapshot::list_observations
fn current(all: &[Observation]) -> Vec<Observation> {
    let mut by_key: BTreeMap<_, Vec<&Observation>> = BTreeMap::new();
    for it in all {
        let key = (&it.subject, &it.source, &it.scope, &it.check);
        by_key.entry(key).or_default().push(it);
    }
    let mut found = Vec::new();
    for mut rows in by_key.into_values() {
        rows.sort_by_key(|it| std::cmp::Reverse(it.observed_at));
        let newest = rows.iter().find(|it| it.verdict.is_effective()).map(|it| it.observed_at);
        let kept = rows.into_iter().filter(|it| newest.is_none_or(|at| at <= it.observed_at));
        found.extend(kept.cloned());
    }
    found
}

fn sorted(mut all: Vec<Observation>) -> Vec<Observation> {
    all.sort_by_cached_key(|it| ObservationKey::from(it));
    all
}

/// A random log: few keys, many moments, some of them shared, some verdicts silent.
fn random_log(seed: u64) -> Vec<Observation> {
    let mut random = Random::from_seed(seed);
    let mut all = BTreeMap::new();
    for _ in 0..400 {
        let at_s = i64::try_from(random.below(40)).expect("sound");
        let verdict = match random.below(4) {
            0 => PASSED,
            1 => Verdict::Gone,
            _ => SILENT,
        };
        let mut it = observation(&format!("check-{}", random.below(12)), at_s, verdict);
        it.scope = "x".repeat(usize::try_from(random.below(3)).expect("small"));
        it.import = ImportId::from_bytes([u8::try_from(random.below(3)).expect("sound"); 16]);
        all.insert(ObservationKey::from(&it), it);
    }
    all.into_values().collect()
}

fn add_all(store: &Store, all: &[Observation]) {
    for some in all.chunks(100) {
        let some = some.to_vec();
        let rows = store.client_store(some_client(1));
        rows.write_now(move |batch| some.iter().try_for_each(|it| batch.add_observation(it)))
            .expect("sound");
    }
}

#[test]
fn the_newest_effective_observations_are_listed_with_their_ties() {
    for seed in 0..20 {
        let store = memory();
        let all = random_log(seed);
        add_all(&store, &all);
        let snapshot = store.client_store(some_client(1)).snapshot().unwrap();
        let listed = snapshot.list_observations().unwrap();
        assert_eq!(sorted(listed), sorted(current(&all)), "seed {seed}");
        assert_eq!(sorted(snapshot.list_all_observations().unwrap()), sorted(all), "seed {seed}");
    }
}

#[test]
fn listing_costs_what_the_keys_cost_and_not_the_log() {
    let reads = |n_rows: i64| {
        let disk = Disk::default();
        let store = Store::on_backend(disk.clone(), CACHE_BYTES).unwrap();
        for check in 0..40 {
            let rows = (0..n_rows).map(|at_s| observation(&format!("{check}"), at_s, PASSED));
            add_all(&store, &rows.collect::<Vec<_>>());
        }
        store.close();
        let disk = Disk::of(disk.bytes());
        let store = Store::on_backend(disk.clone(), 0).unwrap();
        let rows = store.client_store(some_client(1)).snapshot().unwrap();
        let before = disk.n_reads();
        assert_eq!(rows.list_observations().unwrap().len(), 40);
        disk.n_reads() - before
    };
    let (short, long) = (reads(3), reads(600));
    assert!(long < short * 8, "{short} reads of a short log, {long} of one 200 times as long");
}

#[test]
fn an_import_finds_what_it_brought_and_a_retraction_uncovers_what_was_before() {
    let store = memory();
    let old = observation("check", 0, PASSED);
    let new = Observation {
        import: ImportId::from_bytes([8; 16]),
        ..observation("check", 60, Verdict::Counted { passed: 0, failed: 1 })
    };
    add_all(&store, &[old.clone(), new.clone()]);
    let rows = store.client_store(some_client(1));
    let listed = || rows.snapshot().unwrap().list_observations().unwrap();
    assert_eq!(listed(), std::slice::from_ref(&new));
    let found = rows.snapshot().unwrap().find_observations_of_import(new.import).unwrap();
    assert_eq!(found, [ObservationKey::from(&new)]);
    let key = found[0].clone();
    assert!(rows.write_now(move |batch| batch.remove_observation(&key)).unwrap());
    assert_eq!(listed(), [old]);
}

#[test]
fn retention_never_takes_what_an_assessment_reads() {
    for seed in 0..20 {
        let store = memory();
        let all = random_log(seed);
        add_all(&store, &all);
        let rows = store.client_store(some_client(1));
        let before = rows.snapshot().unwrap().list_observations().unwrap();
        let limit = noon().plus_s(25);
        let mut n_steps = 0;
        // As the daily maintenance does it.
        loop {
            let old = rows.snapshot().unwrap().list_outdated_observations(limit, None, 7).unwrap();
            if old.is_empty() {
                break;
            }
            rows.write_now(move |batch| {
                old.iter().try_for_each(|it| batch.remove_observation(it).map(|_| ()))
            })
            .unwrap();
            n_steps += 1;
            assert!(n_steps < 200, "it ends");
        }
        let snapshot = rows.snapshot().unwrap();
        let effective = |all: Vec<Observation>| -> Vec<Observation> {
            all.into_iter().filter(|it| it.verdict.is_effective()).collect()
        };
        let after = snapshot.list_observations().unwrap();
        assert_eq!(effective(after.clone()), effective(before.clone()), "seed {seed}");
        assert!(after.iter().all(|it| before.contains(it)));
        let left = snapshot.list_all_observations().unwrap();
        let needless = left.iter().filter(|it| it.observed_at < limit && !before.contains(it));
        assert_eq!(needless.count(), 0, "seed {seed}");
        assert!(all.iter().filter(|it| limit <= it.observed_at).all(|it| left.contains(it)));
    }
}
