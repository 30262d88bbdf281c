//! Backups while others write.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tempfile::TempDir;

use super::{dump, made, restored};
use crate::harness::Posture;
use crate::harness::process::Line;

/// Assets that are pushed before the backup begins, and at least in all.
const N_BEFORE: usize = 100;
const N_PUSHERS: usize = 4;

#[test]
fn a_backup_among_writes_is_the_state_at_one_moment() {
    let posture = Posture::start();
    let (client, key) = (posture.client("Acme"), posture.key());
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let push = |line: &mut Line, name: String| {
        let asset =
            json!({"clientId": client, "name": name, "externalId": name, "assetType": "server"});
        let (status, body) = line.push(&key, &asset).unwrap();
        assert_eq!(status, 201, "{body}");
        body["data"]["id"].as_str().unwrap().to_owned()
    };
    let mut line = Line::to(posture.address).unwrap();
    let mut before: Vec<String> = (0..N_BEFORE).map(|n| push(&mut line, format!("b{n}"))).collect();
    before.sort();
    let done = AtomicBool::new(false);
    let view = std::thread::scope(|scope| {
        for pusher in 0..N_PUSHERS {
            let (done, push, address) = (&done, &push, posture.address);
            scope.spawn(move || {
                let mut line = Line::to(address).unwrap();
                for n in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    push(&mut line, format!("p{pusher}-{n}"));
                }
            });
        }
        let views: Vec<_> =
            (0..5).map(|n| made(&posture, &file.with_extension(n.to_string()))).collect();
        let view = made(&posture, &file);
        done.store(true, Ordering::Relaxed);
        assert!(views[0]["contents"]["rows"].as_u64() < view["contents"]["rows"].as_u64());
        view
    });
    let sequence = view["contents"]["eventSequence"].as_u64().unwrap();
    let source = dump(&posture.into_dir().path().join("posture.redb"));
    let dir = place.path().join("data");
    restored(&file, &dir).unwrap();
    let copy = dump(&dir.join("posture.redb"));

    let ids = |rows: &super::Dump| -> BTreeSet<Vec<u8>> {
        rows.keys().filter(|it| it.0 == "asset_clients").map(|it| it.1.clone()).collect()
    };
    let (of_source, of_copy) = (ids(&source), ids(&copy));
    assert!(N_BEFORE <= of_copy.len() && of_copy.len() < of_source.len());
    // Ids rise with the commits: what was committed until the last one in the copy is in it, and nothing else.
    let last = of_copy.iter().next_back().unwrap();
    assert_eq!(of_source.range(..=last.clone()).cloned().collect::<BTreeSet<_>>(), of_copy);
    for id in &of_copy {
        let key = (format!("{client}/assets"), id.clone());
        assert!(copy.contains_key(&key), "an asset without its row");
    }
    let events = |rows: &super::Dump| -> Vec<(Vec<u8>, Vec<u8>)> {
        let of_table = rows.iter().filter(|it| it.0.0 == "events");
        let until = of_table.filter(|it| it.0.1.as_slice() <= sequence.to_be_bytes().as_slice());
        until.map(|((_, key), value)| (key.clone(), value.clone())).collect()
    };
    assert_eq!(events(&copy).len() as u64, sequence);
    assert_eq!(events(&source), events(&copy));
}
