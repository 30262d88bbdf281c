//! `posture restore`: what it refuses, what it keeps, and what it says.

use std::path::Path;

use super::restored;
use crate::harness::newer::put_format;
use crate::harness::process::{Done, Folder};

fn refused(folder: &Folder, args: &[&str], message: &str) {
    let Done { code, out, err } = folder.run(args);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (1, "", format!("posture: {message}\n").as_str())
    );
}

#[test]
fn a_restore_replaces_nothing_unless_it_is_told_to() {
    let folder = Folder::new();
    folder.client("Acme");
    folder.ok(&["backup", "one.redb"]);
    folder.client("Globex");
    let exists = "data/posture.redb exists; pass --replace to put the backup in its place (it is kept under another name)";
    refused(&folder, &["restore", "one.redb"], exists);
    let server = folder.serve();
    let running = "data: another posture process has the database open; stop the service first";
    refused(&folder, &["restore", "one.redb", "--replace"], running);
    refused(&folder, &["compact"], running);
    server.stop();
    let said = folder.json(&["restore", "one.redb", "--replace"]);
    assert_eq!(folder.json(&["client", "list"])["data"].as_array().unwrap().len(), 1);
    let kept = said["data"]["keptAs"].as_str().unwrap();
    assert!(kept.starts_with("data/posture.redb.before-restore-"), "{kept}");
    std::fs::rename(folder.path().join(kept), folder.path().join("data/posture.redb")).unwrap();
    assert_eq!(folder.json(&["client", "list"])["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_backup_in_the_data_directory_is_no_leftover() {
    let folder = Folder::new();
    folder.client("Acme");
    std::fs::create_dir(folder.path().join("data/backup-daily")).unwrap();
    for name in ["backup-2026.redb", "scratch-1.redb", "upload-of-acme", "backup-daily/one.redb"] {
        let file = format!("data/{name}");
        folder.ok(&["backup", &file]);
        folder.ok(&["client", "list"]); // Opens the database as a start does.
        folder.ok(&["restore", &file, "--replace"]);
        assert!(folder.path().join(&file).exists(), "{name}");
    }
    // What a killed process leaves is removed.
    let left = [format!("upload-{}", "0".repeat(32)), format!("scratch-{}", "a".repeat(16))];
    for name in &left {
        folder.write(&format!("data/{name}"), b"");
    }
    folder.ok(&["client", "list"]);
    assert!(left.iter().all(|it| !folder.path().join("data").join(it).exists()));
}

#[test]
fn a_backup_that_is_copied_over_the_database_is_told_from_damage() {
    let folder = Folder::new();
    folder.client("Acme");
    folder.ok(&["backup", "one.redb"]);
    std::fs::copy(folder.path().join("one.redb"), folder.path().join("data/posture.redb")).unwrap();
    let said =
        "data: posture.redb is a backup; move it away and put it in place by `posture restore`";
    refused(&folder, &["client", "list"], said);
    std::fs::remove_file(folder.path().join("data/posture.redb")).unwrap();
    folder.ok(&["restore", "one.redb"]);
    assert_eq!(folder.json(&["client", "list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn a_restore_on_a_new_machine_names_the_missing_key_file() {
    let old = Folder::new();
    old.client("Acme");
    old.serve().stop();
    old.ok(&["backup", "one.redb"]);
    let new = Folder::new();
    let file = old.path().join("one.redb");
    let file = file.to_str().unwrap();
    let said = new.ok(&["restore", file]);
    assert!(said.contains("posture.key is not there, and no backup contains it"), "{said}");
    std::fs::copy(old.path().join("data/posture.key"), new.path().join("data/posture.key"))
        .unwrap();
    let said = new.json(&["restore", file, "--replace"]);
    assert_eq!(said["data"]["keyFile"], "same");
    new.write("data/posture.key", b"");
    std::fs::remove_file(new.path().join("data/posture.key")).unwrap();
    new.ok(&["client", "list"]); // Makes another key file.
    let said = new.json(&["restore", file, "--replace"]);
    assert_eq!(said["data"]["keyFile"], "other");
    assert_eq!(new.json(&["client", "list"])["data"][0]["name"], "Acme");
}

#[test]
fn a_copy_of_a_database_is_restored_too() {
    let folder = Folder::new();
    folder.client("Acme");
    std::fs::copy(folder.path().join("data/posture.redb"), folder.path().join("copy.redb"))
        .unwrap();
    let said = folder.json(&["restore", "copy.redb", "--replace"]);
    assert_eq!(said["data"]["backupAt"], serde_json::Value::Null);
    assert_eq!(folder.json(&["client", "list"])["data"][0]["name"], "Acme");
}

#[test]
fn databases_of_earlier_releases_are_restored() {
    let place = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/db");
    for name in ["1f14cc6", "832e0b9"] {
        let dir = place.path().join(name);
        let restored = restored(&data.join(format!("{name}.redb")), &dir).unwrap();
        assert!(restored.manifest.is_none() && 0 < restored.contents.n_rows);
    }
}

#[test]
fn what_is_no_backup_is_refused() {
    let folder = Folder::new();
    folder.client("Acme");
    folder.ok(&["backup", "one.redb"]);
    std::fs::remove_file(folder.path().join("data/posture.redb")).unwrap();
    let whole = std::fs::read(folder.path().join("one.redb")).unwrap();
    folder.write("empty", b"");
    folder.write("words", b"these are words and no database");
    folder.write("half", &whole[..whole.len() / 2]);
    drop(redb::Database::create(folder.path().join("foreign")).unwrap());
    for name in ["empty", "words", "half", "foreign"] {
        let Done { code, err, .. } = folder.run(&["restore", name]);
        assert_eq!(code, 1, "{name}");
        assert!(err.starts_with(&format!("posture: {name}: is ")), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    refused(&folder, &["restore", "data"], "data: is not a file");
    let Done { err, .. } = folder.run(&["restore", "none"]);
    assert!(err.starts_with("posture: none: cannot be read: "), "{err}");
    assert!(!folder.path().join("data/posture.redb").exists());
    let left: Vec<_> = std::fs::read_dir(folder.path().join("data")).unwrap().collect();
    assert_eq!(left.len(), 1, "only the key file: {left:?}");
}

#[test]
fn a_backup_of_a_newer_release_is_refused() {
    let folder = Folder::new();
    folder.client("Acme");
    let file = folder.path().join("data/posture.redb");
    put_format(&file, 9);
    std::fs::rename(&file, folder.path().join("newer.redb")).unwrap();
    let message = "newer.redb: was written by a newer release (format 9; this one reads up to 2)";
    refused(&folder, &["restore", "newer.redb"], message);
}
