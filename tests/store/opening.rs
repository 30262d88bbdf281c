//! Opening files: ours, somebody else's, and none.

use std::path::Path;
use std::time::{Duration, Instant};

use posture_core::error::{Code, Error};
use posture_core::id::AssetId;
use posture_store::store::Store;
use posture_store::store::per_client::asset::AssetFilter;

use super::{count_assets, new_asset, noon, open_in, some_client};

fn refusal(dir: &Path) -> Error {
    match open_in(dir) {
        Ok(_) => panic!("this does not open"),
        Err(error) => error,
    }
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("the system has a place for temporary files")
}

#[test]
fn a_new_directory_gets_a_whole_database_that_nobody_else_may_read() {
    use std::os::unix::fs::PermissionsExt;

    let place = dir();
    let data = place.path().join("deep").join("data");
    let store = open_in(&data).unwrap();
    let created_at = store.snapshot().unwrap().created_at().unwrap();
    let msp = store.snapshot().unwrap().installation().unwrap().msp_id;
    store.close();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("posture.redb")), 0o600);
    assert!(!data.join("posture.redb.new").exists());
    let store = open_in(&data).unwrap();
    assert_eq!(
        (created_at, msp),
        (noon(), store.snapshot().unwrap().installation().unwrap().msp_id)
    );
}

#[test]
fn a_database_that_was_never_finished_is_made_anew() {
    let place = dir();
    std::fs::write(place.path().join("posture.redb.new"), b"half a database").unwrap();
    open_in(place.path()).unwrap().close();
    assert!(!place.path().join("posture.redb.new").exists());
    assert!(place.path().join("posture.redb").exists());
}

#[test]
fn a_second_process_is_told_that_there_is_a_first() {
    let place = dir();
    let first = open_in(place.path()).unwrap();
    let error = refusal(place.path());
    assert_eq!(error.code, Code::Conflict);
    assert_eq!(error.message(), "another posture process has the database open");
    first.close();
    open_in(place.path()).unwrap();
}

#[test]
fn the_last_handle_closes_the_database() {
    let place = dir();
    let store = open_in(place.path()).unwrap();
    let rows = store.client_store(some_client(1));
    drop(store);
    rows.write_now(|batch| batch.add_asset(new_asset("one"))).unwrap();
    drop(rows);
    let rows = open_in(place.path()).unwrap().client_store(some_client(1));
    assert_eq!(count_assets(&rows, &AssetFilter::default()).unwrap(), 1);
}

#[test]
fn what_is_not_our_database_is_refused_and_left_alone() {
    let page = vec![7; 64 * 1024];
    let cases: [(&[u8], &str); 3] = [
        (b"", "posture.redb is empty and not a database; move it away"),
        (b"hello", "posture.redb is not a posture database; move it away"),
        (&page, "posture.redb is not a posture database; move it away"),
    ];
    for (bytes, message) in cases {
        let place = dir();
        let file = place.path().join("posture.redb");
        std::fs::write(&file, bytes).unwrap();
        let error = refusal(place.path());
        assert_eq!((error.code, error.message()), (Code::Invalid, message));
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "left as it was");
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    let place = dir();
    let db = redb::Database::create(place.path().join("posture.redb")).unwrap();
    drop(db);
    let error = refusal(place.path());
    assert_eq!(error.message(), "posture.redb is not a posture database; move it away");
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let place = dir();
    let file = place.path().join("posture.redb");
    open_in(place.path()).unwrap().close();
    let whole = std::fs::read(&file).unwrap();
    for length in [1, 100, 4_096, whole.len() / 2] {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(refusal(place.path()).code, Code::Invalid, "{length} bytes");
    }
    std::fs::write(&file, &whole).unwrap();
    open_in(place.path()).unwrap();
}

#[test]
fn a_file_of_a_newer_release_is_refused() {
    let place = dir();
    open_in(place.path()).unwrap().close();
    crate::harness::newer::put_format(&place.path().join("posture.redb"), 3);
    let error = refusal(place.path());
    assert_eq!(error.code, Code::Invalid);
    let message = "posture.redb was written by a newer release (format 3; this one reads up to 2)";
    assert_eq!(error.message(), message);
}

#[test]
fn a_place_that_is_no_directory_is_refused() {
    let place = dir();
    let file = place.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    assert_eq!(refusal(&file).message(), "the data directory is not a directory");
    assert_eq!(refusal(&file.join("data")).message(), "the data directory is not a directory");
}

#[test]
fn asset_ids_rise_across_reopening_and_a_clock_that_steps_back() {
    let place = dir();
    let mut last: Option<AssetId> = None;
    for opening in 0..4_u8 {
        let store: Store = open_in(place.path()).unwrap();
        for index in 0..100_i64 {
            let rows = store.client_store(some_client(1 + u8::try_from(index % 3).unwrap()));
            let asset = posture_core::engine::asset::Asset {
                last_updated_at: noon().plus_days(-i64::from(opening)).plus_s(index / 10),
                ..new_asset(&format!("{opening}-{index}"))
            };
            let id = rows.write_now(move |batch| batch.add_asset(asset.clone())).unwrap().id;
            assert!(last < Some(id), "opening {opening}, asset {index}");
            assert_eq!(id.to_string().as_bytes()[14], b'7', "of version 7");
            assert!(b"89ab".contains(&id.to_string().as_bytes()[19]), "of the right variant");
            last = Some(id);
        }
        store.close();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_handle_may_go_with_a_closure() {
    let place = dir();
    let store = open_in(place.path()).unwrap();
    let held = store.clone();
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let write = store.write(move |_| {
        let _held = &held;
        told.recv_timeout(Duration::from_mins(1)).expect("the test tells");
        Ok(())
    });
    let left = tokio::time::timeout(Duration::from_millis(5), write).await;
    assert!(left.is_err(), "the caller left before the answer");
    drop(store);
    tell.send(()).unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while open_in(place.path()).is_err() {
        assert!(Instant::now() < until, "it closes in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
