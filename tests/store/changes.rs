//! Changes of rows: numbered in commit order, cut in pieces, forgotten.

use posture_core::engine::fact::Status;
use posture_core::engine::framework::{FrameworkId, Level};
use posture_store::store::Store;
use posture_store::store::global::change::{NewChanges, Placed, RowChange};

use super::{CACHE_BYTES, memory, noon, some_client};
use crate::harness::backend::Disk;

/// More rows than one record holds twice over.
const N_MANY: usize = 2_500;

fn changes(n_rows: usize, at_s: i64) -> NewChanges {
    let row = |n: usize| RowChange {
        reference: format!("row {n}"),
        level: Level::Requirement,
        from: Status::NotAssessed,
        to: Status::Compliant,
    };
    NewChanges {
        framework: FrameworkId::Soc2,
        at: noon().plus_s(at_s),
        cause: "test".to_owned(),
        rows: (0..n_rows).map(row).collect(),
    }
}

fn add(store: &Store, client: u8, n_rows: usize, at_s: i64) {
    let rows = store.client_store(some_client(client));
    rows.write_now(move |batch| batch.add_changes(&changes(n_rows, at_s))).unwrap();
}

fn list(store: &Store, after: u64, limit: usize) -> Vec<Placed> {
    store.snapshot().unwrap().list_changes(after, limit, None).unwrap()
}

fn sequences(all: &[Placed]) -> Vec<u64> {
    all.iter().map(|it| it.sequence).collect()
}

#[test]
fn many_rows_of_one_commit_are_numbered_one_by_one() {
    let store = memory();
    add(&store, 1, N_MANY, 0);
    add(&store, 2, 3, 0);
    let all = list(&store, 0, 10_000);
    assert_eq!(sequences(&all), (1..=2_503).collect::<Vec<u64>>());
    assert!(
        all[..N_MANY].iter().enumerate().all(|(n, it)| {
            it.client == some_client(1) && it.row.reference == format!("row {n}")
        })
    );
    assert!(all[N_MANY..].iter().all(|it| it.client == some_client(2)));
    for after in [0, 1, 999, 1_000, 1_001, 2_499, 2_500, 2_502] {
        let some = list(&store, after, 2);
        let n_left = usize::try_from(2_503 - after).unwrap();
        assert_eq!(some, all[all.len() - n_left..][..n_left.min(2)], "after {after}");
    }
    assert!(list(&store, 2_503, 10).is_empty() && list(&store, u64::MAX, 10).is_empty());
}

#[test]
fn old_changes_are_forgotten_in_bounded_steps_and_the_count_goes_on() {
    let disk = Disk::default();
    let store = Store::on_backend(disk.clone(), CACHE_BYTES).unwrap();
    add(&store, 1, N_MANY, 0);
    add(&store, 1, 2, 60);
    let forget = |at_s| {
        let before = noon().plus_s(at_s);
        store.write_now(move |batch| batch.remove_changes_before(before, 2)).unwrap()
    };
    assert!(forget(60), "two records of three");
    assert_eq!(sequences(&list(&store, 0, 1)), [2_001]);
    assert!(!forget(60));
    assert_eq!(sequences(&list(&store, 0, 10)), [2_501, 2_502], "those of that moment stay");
    assert!(!forget(61));
    assert!(list(&store, 0, 10).is_empty());
    store.close();
    let store = Store::on_backend(Disk::of(disk.bytes()), CACHE_BYTES).unwrap();
    add(&store, 1, 1, 120);
    assert_eq!(sequences(&list(&store, 0, 10)), [2_503]);
}
