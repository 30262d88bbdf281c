//! `posture upgrade preview`: what it says comes true, and it changes nothing.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::file;
use crate::harness::process::{Done, Folder};

fn scores(folder: &Folder) -> BTreeMap<String, Value> {
    let all = folder.json(&["portfolio"])["data"].as_array().unwrap().clone();
    let pair = |it: &Value| (it["clientName"].as_str().unwrap().to_owned(), it["score"].clone());
    all.iter().map(pair).collect()
}

fn check_refused(folder: &Folder, file: &str, message: &str) {
    let Done { code, out, err } = folder.run(&["upgrade", "preview", file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, format!("posture: {message}\n"));
}

#[test]
fn what_it_says_of_a_database_of_an_earlier_release_comes_true() {
    for name in file::names() {
        let (dir, _) = file::unpack(&name);
        let database = dir.path().join("posture.redb");
        let before = fs::read(&database).unwrap();
        let folder = Folder::new();
        let scratch = folder.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        let words = ["upgrade", "preview", database.to_str().unwrap(), "--scratch", "scratch"];
        let said = folder.json(&words)["data"].clone();
        assert_eq!(fs::read(&database).unwrap(), before, "it is only read");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "the copy is removed");
        assert!(!folder.path().join("data").exists(), "nothing is put into the data directory");
        assert_eq!((said["format"].as_u64(), said["newFormat"].as_u64()), (Some(1), Some(2)));
        assert_eq!(said["clients"], 1);

        folder.ok(&["restore", database.to_str().unwrap()]);
        let old = scores(&folder);
        folder.serve().stop();
        let new = scores(&folder);
        let changed = said["changedScores"].as_array().unwrap();
        assert!(!changed.is_empty(), "{name}: the catalog is another");
        for it in changed {
            let client = it["clientName"].as_str().unwrap();
            assert_eq!(it["score"], old[client]["overallScore"], "{name}");
            assert_eq!(it["newScore"], new[client]["overallScore"], "{name}");
            assert_eq!(
                (&it["grade"], &it["newGrade"]),
                (&old[client]["grade"], &new[client]["grade"])
            );
        }
        let n_changed = old.iter().filter(|(client, it)| new[*client] != **it).count();
        assert!(changed.len() <= n_changed, "{name}");
        verdicts_come_true(&folder, &said, &name);
    }
}

/// Each control that was said to change is what it was said to become.
fn verdicts_come_true(folder: &Folder, said: &Value, name: &str) {
    let rows = |it: &Value| it.as_array().unwrap().clone();
    assert!(!rows(&said["rules"]).is_empty(), "{name}: the catalog is another");
    for client in rows(&said["changes"]) {
        let listed = folder.json(&["control", "list", client["clientName"].as_str().unwrap()]);
        let moves = rows(&client["verdicts"]);
        for it in moves.iter().filter(|it| it["frameworkId"].is_null()) {
            let controls = rows(&listed["data"]);
            let now = controls.iter().find(|control| control["controlCode"] == it["name"]).unwrap();
            assert_eq!(
                (&now["status"], &now["score"]),
                (&it["newStatus"], &it["newScore"]),
                "{it}"
            );
        }
    }
}

#[test]
fn what_this_executable_cannot_take_over_is_told() {
    let folder = Folder::new();
    folder.client("Acme");
    folder.ok(&["backup", "one.redb"]);
    let said = folder.ok(&["upgrade", "preview", "one.redb"]);
    assert!(said.starts_with("one.redb: database of format 2, as it was at "), "{said}");
    assert!(said.ends_with("no score changes\n"), "{said}");

    let server = folder.serve();
    let running = "data/posture.redb: is in use by a running service; name a file that `posture backup FILE` wrote";
    check_refused(&folder, "data/posture.redb", running);
    server.stop();
    folder.ok(&["upgrade", "preview", "data/posture.redb"]);

    let mut bytes = fs::read(folder.path().join("one.redb")).unwrap();
    bytes[5_000] ^= 1;
    folder.write("flipped.redb", &bytes);
    let damaged = "flipped.redb: is damaged: it is not what was written; use another backup";
    check_refused(&folder, "flipped.redb", damaged);
    folder.write("text.redb", b"hello");
    check_refused(&folder, "text.redb", "text.redb: is not a backup or database of posture");

    crate::harness::newer::put_format(&folder.path().join("data/posture.redb"), 3);
    let newer =
        "data/posture.redb: was written by a newer release (format 3; this one reads up to 2)";
    check_refused(&folder, "data/posture.redb", newer);
    folder.write("posture.toml", b"[server]\nlisten = \"127.0.0.1:0\"\nlicense_key = \"a\"\n");
    let Done { code, err, .. } = folder.run(&["upgrade", "preview", "one.redb"]);
    assert!(code == 1 && err.contains("license_key"), "{err}");
}
