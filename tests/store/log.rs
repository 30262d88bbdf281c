//! Reading the log of observations.

use std::collections::BTreeMap;

use posture_core::engine::fact::{Observation, Verdict};
use posture_core::id::ImportId;
use posture_store::store::per_client::fact::ObservationKey;
use posture_store::store::per_client::import::Import;
use posture_store::store::per_client::past::N_PAST_MAX;
use posture_store::store::{ClientBatch, Store};

use super::{CACHE_BYTES, PASSED, SILENT, memory, noon, observation, some_client};
use crate::harness::backend::{Disk, Random};
use crate::rows::import;

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
    rows.write_now(move |batch| batch.remove_observations(&found)).unwrap();
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
            rows.write_now(move |batch| batch.remove_observations(&old)).unwrap();
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

/// Folds what is outdated, as the daily maintenance does it. How many observations.
fn fold(store: &Store, n_min: usize) -> usize {
    let rows = store.client_store(some_client(1));
    let (mut from, mut n) = (None, 0);
    loop {
        let snapshot = rows.snapshot().unwrap();
        let (some, next) = snapshot.list_foldable_observations(from.as_ref(), (n_min, 30)).unwrap();
        n += some.len();
        rows.write_now(move |batch| batch.fold_observations(&some)).unwrap();
        if next.is_none() {
            return n;
        }
        from = next;
    }
}

#[test]
fn what_is_folded_is_there_and_counts_again_once_what_is_newer_is_gone() {
    let mut n_folded = 0;
    for seed in 0..12 {
        let store = memory();
        let rows = store.client_store(some_client(1));
        let mut random = Random::from_seed(seed);
        let mut all = random_log(seed);
        for it in &mut all {
            // Some end a while after they were made, some before.
            let after_s = [60, -60][usize::try_from(random.below(2)).unwrap()];
            it.valid_until = Some(it.observed_at.plus_s(after_s)).filter(|_| random.below(3) != 0);
        }
        let late = all.split_off(all.len() / 2);
        add_all(&store, &all);
        n_folded += fold(&store, 1);
        add_all(&store, &late);
        all.extend(late);
        n_folded += fold(&store, 2);
        while !all.is_empty() {
            let snapshot = rows.snapshot().unwrap();
            let listed = snapshot.list_observations().unwrap();
            let (listed, wanted) = (sorted(listed), sorted(current(&all)));
            let extra = listed.iter().find(|it| !wanted.contains(it));
            let missing = wanted.iter().find(|it| !listed.contains(it));
            assert_eq!((extra, missing), (None, None), "seed {seed}, {} left", all.len());
            let whole = snapshot.list_all_observations().unwrap();
            assert_eq!(sorted(whole), sorted(all.clone()), "seed {seed}");
            let import = ImportId::from_bytes([1; 16]);
            let mut found = snapshot.find_observations_of_import(import).unwrap();
            found.sort();
            let of_import = all.iter().filter(|it| it.import == import);
            let mut wanted: Vec<_> = of_import.map(ObservationKey::from).collect();
            wanted.sort();
            assert_eq!(found, wanted, "seed {seed}");
            let gone = (0..all.len().min(17)).map(|_| {
                let n = random.below(all.len() as u64);
                ObservationKey::from(&all.swap_remove(usize::try_from(n).unwrap()))
            });
            let gone: Vec<ObservationKey> = gone.collect();
            let uncovered = snapshot.list_uncovered(&gone).unwrap();
            let remove = move |batch: &mut ClientBatch<'_>| {
                batch.replace_observations(&uncovered)?;
                batch.remove_observations(&gone)
            };
            rows.write_now(remove).unwrap();
            n_folded += fold(&store, 1 + usize::try_from(random.below(4)).unwrap());
        }
    }
    assert!(1_500 < n_folded, "{n_folded}");
}

#[test]
fn equal_observations_cost_their_times_and_not_their_bodies() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let n = 1_000;
    let long = |at_s: i64| Observation {
        findings: Some("x".repeat(2_000)),
        ..observation("check", at_s, PASSED)
    };
    add_all(&store, &(0..n).map(long).collect::<Vec<_>>());
    assert_eq!(fold(&store, 7), usize::try_from(n).unwrap() - 1);
    let snapshot = rows.snapshot().unwrap();
    assert_eq!(snapshot.count_facts().unwrap(), 1 + 2 + 1, "the newest, 512 times a row, the run");
    let before = noon().plus_s(500);
    let old = snapshot.list_past_to_forget(before, 100).unwrap();
    assert_eq!(old.len(), 2);
    rows.write_now(move |batch| batch.forget_past(&old)).unwrap();
    let left = rows.snapshot().unwrap().list_all_observations().unwrap();
    assert_eq!(left.len(), 500);
    assert!(left.iter().all(|it| before <= it.observed_at && it.findings.is_some()));
}

#[test]
fn of_each_thing_the_newest_times_are_kept() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let n = i64::try_from(N_PAST_MAX).unwrap() + 100;
    let flood = (0..=n).map(|at_s| {
        let failed = u32::try_from(at_s % 3).unwrap();
        observation("flood", at_s, Verdict::Counted { passed: 9, failed })
    });
    let other = (0..50).map(|at_s| observation("other", at_s, PASSED));
    add_all(&store, &flood.chain(other).collect::<Vec<_>>());
    fold(&store, 1);
    loop {
        let old = rows.snapshot().unwrap().list_past_to_forget(noon(), 2).unwrap();
        if old.is_empty() {
            break;
        }
        rows.write_now(move |batch| batch.forget_past(&old)).unwrap();
    }
    let left = rows.snapshot().unwrap().list_all_observations().unwrap();
    let of = |check: &str| left.iter().filter(|it| it.check == check).collect::<Vec<_>>();
    assert_eq!((of("flood").len(), of("other").len()), (N_PAST_MAX + 1, 50));
    assert!(of("flood").iter().all(|it| noon().plus_s(100) <= it.observed_at));
}

#[test]
fn what_is_past_names_its_run_until_the_run_is_gone() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let run = |n: u16| ImportId::from_bytes(u128::from(n).to_be_bytes());
    let seen = |n: u16| {
        let at_s = i64::from(n) * 86_400;
        Observation { import: run(n), ..observation("check", at_s, PASSED) }
    };
    let n = 600;
    add_all(&store, &(0..n).map(seen).collect::<Vec<_>>());
    assert_eq!(fold(&store, 7), usize::from(n) - 1);
    let known = |n: u16| {
        let found = rows.snapshot().unwrap().find_observations_of_import(run(n)).unwrap();
        found == [ObservationKey::from(&seen(n))]
    };
    assert!((0..n).all(known));
    let kept = import(0, 0, 0);
    let id = run(300);
    rows.write_now(move |it| it.add_import(&Import { id, ..kept.clone() })).unwrap();
    let n_before = rows.snapshot().unwrap().count_facts().unwrap();
    rows.write_now(|it: &mut ClientBatch<'_>| it.forget_past_runs()).unwrap();
    let n_gone = n_before - rows.snapshot().unwrap().count_facts().unwrap();
    assert_eq!(n_gone, 3, "of five parts, one has run 300, and the newest stays");
    let left: Vec<u16> = (0..n).filter(|it| known(*it)).collect();
    assert!(left.contains(&300) && left.contains(&0) && left.contains(&(n - 1)));
    assert_eq!(left.len(), 128 + 87 + 1, "a part in full, the newest part, and what is in the log");
    // A new run takes the number of none.
    add_all(&store, &[seen(n), seen(n + 1)]);
    assert_eq!(fold(&store, 1), 2);
    assert!(known(n - 1) && known(n) && known(n + 1));
    let all = rows.snapshot().unwrap().list_all_observations().unwrap();
    assert_eq!(all.len(), left.len() + 2);
}
