//! Fair shares: large bodies, uploads, reads and assessments of one caller do not stop those of others.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use posture::auth::caller::{Caller, Principal};
use posture::id::ClientId;
use posture::store::ClientStore;
use serde_json::{Value, json};

use crate::harness::Posture;
use crate::harness::process::wait_until;

/// More than an answer takes that waits for nothing.
const SOON: Duration = Duration::from_secs(5);
/// What waits longer waits for ever.
const PATIENCE: Duration = Duration::from_mins(2);

/// Occupies reads of a caller until the returned sender is dropped.
fn occupy(posture: &Posture, rows: &ClientStore, n_reads: usize) -> std::sync::mpsc::Sender<()> {
    let (release, released) = channel::<()>();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    let (started, starts) = channel();
    for _ in 0..n_reads {
        let (rows, released, started) = (rows.clone(), released.clone(), started.clone());
        let read = async move {
            let wait = move |_: &_| {
                started.send(()).unwrap();
                drop(released.lock().unwrap().recv());
                Ok(())
            };
            rows.read(wait).await
        };
        posture.spawn(async move { drop(read.await) });
    }
    for _ in 0..n_reads {
        starts.recv_timeout(PATIENCE).unwrap();
    }
    release
}

#[test]
fn one_account_cannot_have_all_reads() {
    let posture = Posture::start();
    let client = posture.client("A");
    let id: ClientId = client.parse().unwrap();
    let (key, other) = (posture.key(), posture.key());
    let warm = format!("/clients/{client}/scores");
    assert_eq!(posture.get(&key, &warm).status, 200);
    let held = posture.app.access.keyring.verify(&key, posture.now()).unwrap();
    let caller = Caller::new(Principal::Key(held));
    let (_, rows) = posture.app.reach_any(&caller, id).unwrap();
    let release = occupy(&posture, &rows, 8);
    let begin = Instant::now();
    assert_eq!(posture.get(&key, &warm).status, 200, "a page in memory needs no read");
    let cold = format!("/clients/{client}/risks");
    assert_eq!(posture.get(&other, &cold).status, 200, "another account");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    let refused = posture.get(&key, &format!("/clients/{client}/assets"));
    let (code, message) = refused.problem();
    assert_eq!((refused.status, code.as_str()), (429, "RATE_LIMITED"), "{message}");
    assert!(message.contains("more than 8 reads of this account"), "{message}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(release);
    assert_eq!(posture.get(&key, &format!("/clients/{client}/assets")).status, 200);
}

#[test]
fn a_client_whose_assessment_takes_long_does_not_keep_others_waiting() {
    let posture = Posture::start();
    let key = posture.key();
    let mut clients = ["A", "B", "C"].map(|it| posture.client(it));
    clients.sort_unstable(); // They are due in this order.
    for client in &clients {
        let facts = json!({"source": "test", "observations": [{"control": "DAT-01", "status": "compliant"}]});
        let path = format!("/api/clients/{client}/facts");
        assert_eq!(posture.operator("POST", &path, &facts).status, 200);
    }
    let score = |client: &str| {
        posture.read(&key, &format!("/clients/{client}/scores"))["data"]["current"]["overallScore"]
            .clone()
    };
    assert_ne!(score(&clients[2]), 0);
    let slow: Vec<_> = clients[..2]
        .iter()
        .map(|it| posture.block_on(posture.app.clients.lock(it.parse().unwrap())))
        .collect();
    // Everything has lapsed, and all are due.
    posture.clock.set(posture.now().plus_days(400));
    let has_lapsed = || score(&clients[2]) == Value::from(0);
    assert!(wait_until(Duration::from_secs(20), has_lapsed), "it waited for the others");
    assert_ne!(score(&clients[0]), 0, "which are still being assessed");
    drop(slow);
    assert!(wait_until(Duration::from_secs(20), || score(&clients[0]) == Value::from(0)));
}
