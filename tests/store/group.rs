//! Closures that share a transaction do not notice each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use posture_core::error::{Code, Error};
use posture_core::id::ClientId;
use posture_store::store::Store;
use posture_store::store::per_client::asset::AssetFilter;

use super::{CACHE_BYTES, N_MIXED, count_assets, memory, mixed, n_mixed, new_asset, some_client};
use crate::harness::backend::Disk;

/// A store on which a sync takes long enough for callers to meet in one group.
fn slow(sync_wait: Duration) -> Store {
    Store::on_backend(Disk::default().slow(sync_wait), CACHE_BYTES).expect("a sound disk opens")
}

/// Runs `write` on so many threads at once.
fn at_once<T: Send>(n_threads: usize, write: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(n_threads);
    std::thread::scope(|scope| {
        let (start, write) = (&start, &write);
        let run = |index| {
            scope.spawn(move || {
                start.wait();
                write(index)
            })
        };
        let threads: Vec<_> = (0..n_threads).map(run).collect();
        threads.into_iter().map(|it| it.join().expect("the callers do not panic")).collect()
    })
}

#[test]
fn sixty_four_callers_share_commits() {
    let store = slow(Duration::from_millis(2));
    at_once(64, |caller| {
        for index in 0..20 {
            let name = format!("{caller}-{index}");
            let rows = store.client_store(some_client(1));
            rows.write_now(move |batch| mixed(batch, &name)).unwrap();
        }
    });
    let health = store.health();
    assert_eq!(health.n_writes, 64 * 20);
    assert!(health.n_commits * 10 <= health.n_writes, "{} commits", health.n_commits);
    assert_eq!(health.queue_len, 0);
    let assets =
        count_assets(&store.client_store(some_client(1)), &AssetFilter::default()).unwrap();
    assert_eq!(assets, 64 * 20);
}

#[test]
fn a_panicking_closure_does_not_hurt_its_group() {
    spoil_a_group(|batch, name| {
        mixed(batch, name)?;
        panic!("asked to panic");
    });
}

#[test]
fn a_closure_that_panics_before_it_writes_does_not_hurt_its_group() {
    spoil_a_group(|_, _| panic!("asked to panic"));
}

#[test]
fn a_closure_that_refuses_after_a_write_does_not_hurt_its_group() {
    spoil_a_group(|batch, name| {
        mixed(batch, name)?;
        Err(Error::conflict("asked to refuse"))
    });
}

type Write =
    fn(&mut posture_store::store::ClientBatch<'_>, &str) -> posture_core::error::Result<()>;

/// Every third of many callers spoils the transaction it shares.
fn spoil_a_group(spoil: Write) {
    let store = slow(Duration::from_millis(5));
    let client = some_client(1);
    let outcomes = at_once(48, |caller| {
        let name = caller.to_string();
        let rows = store.client_store(client);
        rows.write_now(move |batch| match caller % 3 {
            0 => spoil(batch, &name),
            _ => mixed(batch, &name).map(|_| ()),
        })
    });
    for (caller, outcome) in outcomes.into_iter().enumerate() {
        let is_spoiler = caller % 3 == 0;
        assert_eq!(outcome.is_err(), is_spoiler, "caller {caller}");
        let expected = if is_spoiler { 0 } else { N_MIXED };
        assert_eq!(n_mixed(&store, client, &caller.to_string()), expected, "caller {caller}");
    }
    let events = store.snapshot().expect("sound").list_events(0, 100, None).expect("sound");
    let sequences: Vec<u64> = events.iter().map(|it| it.sequence).collect();
    assert_eq!(sequences, (1..=32).collect::<Vec<u64>>(), "no gap where a closure was undone");
    assert!(store.health().ready);
    assert!(store.health().n_commits < 48, "most shared a transaction");
}

#[test]
fn the_public_sentence_of_a_panic_says_nothing_of_it() {
    let store = memory();
    let panicked = store.write_now(|_| -> posture_core::error::Result<()> { panic!("a secret") });
    let error = panicked.unwrap_err();
    assert_eq!((error.code, error.message()), (Code::Internal, "internal error"));
}

#[test]
fn twins_at_once_make_one_asset() {
    let store = slow(Duration::from_millis(2));
    let ids = at_once(32, |_| {
        let rows = store.client_store(some_client(1));
        let found = rows.write_now(|batch| match batch.find_asset_by_external("rmm", "twin")? {
            Some(known) => Ok(known),
            None => batch.add_asset(new_asset("twin")),
        });
        found.unwrap().id
    });
    assert!(ids.iter().all(|it| *it == ids[0]));
}

#[test]
fn a_closure_runs_once_whatever_its_group_does() {
    let store = slow(Duration::from_millis(5));
    let n_runs = Arc::new(AtomicUsize::new(0));
    let answers = at_once(16, |caller| {
        let n_runs = n_runs.clone();
        let rows = store.client_store(some_client(1));
        rows.write_now(move |batch| {
            n_runs.fetch_add(1, Ordering::Relaxed);
            let asset = batch.add_asset(new_asset(&caller.to_string()))?;
            if caller == 7 { Err(Error::conflict("asked to refuse")) } else { Ok(asset) }
        })
    });
    let snapshot = store.client_store(some_client(1)).snapshot().unwrap();
    for answer in answers.into_iter().filter_map(Result::ok) {
        assert_eq!(snapshot.find_asset(answer.id).unwrap(), Some(answer));
    }
    assert_eq!(n_runs.load(Ordering::Relaxed), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_caller_has_left_still_commits() {
    let disk = Disk::default();
    let store = Store::on_backend(disk.clone(), CACHE_BYTES).expect("a sound disk opens");
    let rows = store.client_store(ClientId::UNASSIGNED);
    disk.hold();
    {
        let write = rows.write(|batch| batch.add_asset(new_asset("one")));
        let is_syncing = async {
            while !disk.is_syncing() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            answer = write => panic!("answered before it was durable: {answer:?}"),
            () = is_syncing => (),
        }
    }
    disk.release();
    // Queued behind it, so answered behind it.
    let twin = rows.write(|batch| batch.add_asset(new_asset("one"))).await.unwrap_err();
    assert_eq!(twin.code, Code::Conflict);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_panics_is_an_error_and_the_store_lives_on() {
    let store = memory();
    let error = store.read(|_| -> posture_core::error::Result<()> { panic!("a secret") }).await;
    assert_eq!(error.unwrap_err().code, Code::Internal);
    store.write(|_| Ok(())).await.unwrap();
    assert!(
        store
            .read(|snapshot| snapshot.client(some_client(1)).find_profile())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_finishes_what_waits_and_refuses_what_comes() {
    let store = memory();
    let rows = store.client_store(ClientId::UNASSIGNED);
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let mut is_told = false;
    let mut running = Box::pin(rows.write(move |batch| {
        if !is_told {
            told.recv_timeout(Duration::from_mins(1)).expect("the test tells");
            is_told = true; // It may run again.
        }
        batch.add_asset(new_asset("one"))
    }));
    let mut waiting = Box::pin(rows.write(|batch| batch.add_asset(new_asset("two"))));
    // A write is in the queue once it was polled.
    let moment = Duration::from_millis(1);
    assert!(tokio::time::timeout(moment, &mut running).await.is_err(), "it is held");
    assert!(tokio::time::timeout(moment, &mut waiting).await.is_err(), "it stands behind");
    let closing = std::thread::spawn({
        let store = store.clone();
        move || store.close()
    });
    tell.send(()).unwrap();
    running.await.unwrap();
    waiting.await.unwrap();
    closing.join().unwrap();
    let late = rows.write(|batch| batch.add_asset(new_asset("three"))).await.unwrap_err();
    assert_eq!(late.code, Code::Unavailable);
    assert_eq!(rows.snapshot().map(|_| ()).unwrap_err().code, Code::Unavailable);
}
