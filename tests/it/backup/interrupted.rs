//! What a stop interrupts: the command of the operator runs again after the start, and notices stay open.

use std::path::{Path, PathBuf};

use posture::app::backup::BackupSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{SOON, settings};
use crate::harness::Posture;
use crate::harness::process::{Folder, signal, wait_until};

fn notices(posture: &Posture) -> Value {
    posture.operator("GET", "/api/system", &Value::Null).json()["data"]["notices"].clone()
}

/// The lines of a file. None if it does not exist.
fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_command_that_a_stop_interrupted_runs_again_for_the_same_backup() {
    for end in ["-KILL", "-TERM"] {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("backups")).unwrap();
        // It ends once there is a file `go`; after a kill nobody ends the first one.
        let script = "echo \"$1\" >> log; while [ -e log ] && [ ! -e go ]; do sleep 0.1; done";
        let text = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
        let command = json!(["sh", "-c", script, "sh", "{file}"]);
        let text = format!("{text}[backup]\ndir = \"backups\"\nafter_command = {command}\n");
        folder.write("posture.toml", text.as_bytes());
        let ran = || lines(&folder.path().join("log"));
        let server = folder.serve();
        assert!(wait_until(SOON, || ran().len() == 1), "{end}: the first run");
        signal(server.id(), end);
        drop(server);

        folder.write("go", b"");
        let server = folder.serve();
        assert!(wait_until(SOON, || ran().len() == 2), "{end}: the second run");
        let file = PathBuf::from(&ran()[0]);
        assert_eq!(ran()[1], ran()[0], "{end}");
        assert!(file.is_file(), "{end}");
        let made = std::fs::read_dir(folder.path().join("backups")).unwrap().count();
        assert_eq!(made, 1, "{end}: no other backup is made for it");
        assert_eq!(folder.ask("/api/system")["data"]["notices"], json!([]), "{end}: no failure");
        // The end of the command is stored after it.
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(server.stop().success());

        // It came to its end: it does not run a third time.
        let server = folder.serve();
        folder.ok(&["backup"]);
        assert_eq!(ran().len(), 3, "{end}: {:?}", ran());
        assert_ne!(ran()[2], ran()[0], "{end}: it is of the new backup");
        assert!(server.stop().success());
    }
}

#[test]
fn notices_stay_open_over_restarts_until_their_cause_is_gone() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("backups");
    std::fs::create_dir(&dir).unwrap();
    let script = format!("[ ! -e '{}/fail' ]", place.path().display());
    let command = ["sh", "-c", script.as_str()].map(str::to_owned).to_vec();
    let settings = BackupSettings { after_command: command, ..settings(&dir) };
    std::fs::write(place.path().join("fail"), "").unwrap();
    let posture = Posture::start_with(|it| it.app.backup = settings.clone());
    let kinds = |posture: &Posture| -> Vec<String> {
        let open = notices(posture);
        let kinds = open.as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap());
        kinds.map(str::to_owned).collect()
    };
    assert!(wait_until(SOON, || kinds(&posture) == ["backup_command_failed"]));
    let newest = dir.join("posture-20260310T090000Z.redb");
    let whole = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &whole[..whole.len() / 2]).unwrap();
    let drill = |posture: &Posture| posture.operator("POST", "/api/backups/drill", &json!({}));
    assert_eq!(drill(&posture).status, 400);
    assert_eq!(kinds(&posture), ["backup_command_failed", "backup_drill_failed"]);
    let before = notices(&posture);

    posture.clock.set(posture.clock.now().plus_s(600));
    let posture = posture.restart_after(|_| (), |it| it.app.backup = settings.clone());
    assert_eq!(notices(&posture), before, "with their times and messages");
    std::fs::write(&newest, &whole).unwrap();
    assert_eq!(drill(&posture).status, 200);
    assert_eq!(kinds(&posture), ["backup_command_failed"]);
    let posture = posture.restart_after(|_| (), |it| it.app.backup = settings.clone());
    assert_eq!(kinds(&posture), ["backup_command_failed"], "that one stays closed");
    // Nobody asks for the command any more.
    let without = BackupSettings { after_command: Vec::new(), ..settings.clone() };
    let posture = posture.restart_after(|_| (), |it| it.app.backup = without);
    assert_eq!(kinds(&posture), [] as [&str; 0]);
}

#[test]
fn only_a_drill_of_the_newest_backup_closes_its_notice() {
    let place = TempDir::new().unwrap();
    let posture = Posture::start_with(|it| it.app.backup = settings(place.path()));
    let newest = place.path().join("posture-20260310T090000Z.redb");
    assert!(wait_until(SOON, || newest.exists()));
    let state = || posture.operator("GET", "/api/backups", &Value::Null).json()["data"].clone();
    assert!(wait_until(SOON, || state()["nextAt"] == "2026-03-11T09:00:00.000Z"));
    let copies = TempDir::new().unwrap();
    let copy = copies.path().join("posture-20260310T090000Z.redb");
    std::fs::copy(&newest, &copy).unwrap();
    let whole = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &whole[..whole.len() / 2]).unwrap();
    let drill = |body: &Value| posture.operator("POST", "/api/backups/drill", body).status;
    assert_eq!(drill(&json!({})), 400);
    assert_eq!(notices(&posture)[0]["kind"], "backup_drill_failed");
    assert_eq!(drill(&json!({ "file": copy })), 200);
    assert_eq!(notices(&posture)[0]["kind"], "backup_drill_failed", "the newest is still damaged");
    std::fs::write(&newest, &whole).unwrap();
    let link = copies.path().join("link.redb");
    std::os::unix::fs::symlink(&newest, &link).unwrap();
    assert_eq!(drill(&json!({ "file": link })), 200);
    assert_eq!(notices(&posture), json!([]), "by whatever path");
}
