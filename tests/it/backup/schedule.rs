//! Scheduled backups: when, which are kept, and what is said if they fail.

use std::path::Path;

use posture::app::backup::BackupSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{SOON, settings};
use crate::harness::Posture;
use crate::harness::process::wait_until;

fn start(settings: BackupSettings) -> Posture {
    Posture::start_with(|it| it.app.backup = settings)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn system(posture: &Posture) -> Value {
    posture.operator("GET", "/api/system", &Value::Null).json()["data"].clone()
}

fn state(posture: &Posture) -> Value {
    posture.operator("GET", "/api/backups", &Value::Null).json()["data"].clone()
}

/// Makes the backup that is due, unless the service has made or tried it.
fn make_due(posture: &Posture) {
    posture.block_on(posture.app.run_due_backup()).unwrap();
}

fn pass_h(posture: &Posture, hours: i64) {
    posture.clock.set(posture.clock.now().plus_s(hours * 3_600));
    make_due(posture);
}

#[test]
fn backups_are_made_when_they_are_due_and_the_newest_are_kept() {
    let place = TempDir::new().unwrap();
    let foreign = ["posture-old.redb", "posture-20200101T000000Z.redb.txt", "notes"];
    for name in foreign {
        std::fs::write(place.path().join(name), "mine").unwrap();
    }
    let interrupted = place.path().join("posture-20200101T000000Z.redb.partial");
    std::fs::write(&interrupted, "half").unwrap();
    let posture = start(settings(place.path()));
    make_due(&posture);
    assert!(!interrupted.exists());
    let made = || -> Vec<String> {
        names(place.path()).into_iter().filter(|it| !foreign.contains(&it.as_str())).collect()
    };
    assert_eq!(made(), ["posture-20260310T090000Z.redb"]);
    pass_h(&posture, 23);
    assert_eq!(made().len(), 1, "none is due yet");
    pass_h(&posture, 1);
    assert_eq!(made(), ["posture-20260310T090000Z.redb", "posture-20260311T090000Z.redb"]);
    pass_h(&posture, 30);
    assert_eq!(made(), ["posture-20260311T090000Z.redb", "posture-20260312T150000Z.redb"]);
    assert_eq!(names(place.path()).len(), 2 + foreign.len(), "other files stay");
    assert_eq!(state(&posture)["nextAt"], "2026-03-13T15:00:00.000Z");
    assert_eq!(system(&posture)["lastBackup"]["fileName"], "posture-20260312T150000Z.redb");
    // The service may be trying one by itself.
    let drill = || posture.operator("POST", "/api/backups/drill", &json!({})).json();
    let newest = "posture-20260312T150000Z.redb";
    assert!(wait_until(SOON, || drill()["data"]["fileName"] == newest), "{}", drill());
}

#[test]
fn a_schedule_goes_on_after_a_restart_and_after_a_clock_that_went_back() {
    let place = TempDir::new().unwrap();
    let posture = start(settings(place.path()));
    make_due(&posture);
    let posture = posture.restart_after(|_| (), |it| it.app.backup = settings(place.path()));
    make_due(&posture);
    assert_eq!(names(place.path()).len(), 1);
    pass_h(&posture, -30 * 24);
    let both = ["posture-20260208T090000Z.redb", "posture-20260310T090000Z.redb"];
    assert_eq!(names(place.path()), both);
}

#[test]
fn the_backup_just_made_is_kept_whatever_the_names_of_others_say() {
    let place = TempDir::new().unwrap();
    for name in ["posture-20990101T000000Z.redb", "posture-20980101T000000Z.redb"] {
        std::fs::write(place.path().join(name), "of a clock that was ahead").unwrap();
    }
    let posture = start(settings(place.path()));
    make_due(&posture);
    let kept = ["posture-20260310T090000Z.redb", "posture-20990101T000000Z.redb"];
    assert_eq!(names(place.path()), kept);
}

#[test]
fn a_failure_is_a_notice_until_a_backup_succeeds() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("missing");
    let posture = start(settings(&dir));
    make_due(&posture);
    assert_eq!(state(&posture)["failures"], 1);
    let notice = &system(&posture)["notices"][0];
    assert_eq!(notice["kind"], "backup_failed");
    assert_eq!(notice["at"], "2026-03-10T09:00:00.000Z");
    let said = notice["message"].as_str().unwrap();
    assert!(said.starts_with("the folder of the backups cannot be read"), "{said}");
    make_due(&posture);
    assert_eq!(state(&posture)["failures"], 1, "it is tried again after an hour");
    pass_h(&posture, 1);
    assert_eq!(state(&posture)["failures"], 2);
    assert_eq!(system(&posture)["notices"][0]["at"], "2026-03-10T09:00:00.000Z", "since when");
    std::fs::create_dir(&dir).unwrap();
    pass_h(&posture, 1);
    assert_eq!(system(&posture)["notices"], json!([]));
    assert_eq!(names(&dir), ["posture-20260310T110000Z.redb"]);
}

#[test]
fn the_command_gets_the_file_and_its_failure_is_a_notice() {
    let place = TempDir::new().unwrap();
    let (dir, log) = (place.path().join("backups"), place.path().join("log"));
    std::fs::create_dir(&dir).unwrap();
    let script = format!(
        "echo \"$1\" >> '{}'; [ ! -e '{}/fail' ] || {{ echo first; echo no space >&2; exit 3; }}",
        log.display(),
        place.path().display()
    );
    let command = ["sh", "-c", script.as_str(), "sh", "{file}; rm"].map(str::to_owned).to_vec();
    let posture = start(BackupSettings { after_command: command, ..settings(&dir) });
    let ran = || std::fs::read_to_string(&log).unwrap_or_default();
    make_due(&posture);
    let file = dir.join("posture-20260310T090000Z.redb");
    assert_eq!(ran(), format!("{}; rm\n", file.display()), "one word, and no shell");
    assert_eq!(system(&posture)["notices"], json!([]));
    std::fs::write(place.path().join("fail"), "").unwrap();
    pass_h(&posture, 24);
    let notice = &system(&posture)["notices"][0];
    assert_eq!(notice["kind"], "backup_command_failed");
    let said =
        "backup.after_command for posture-20260311T090000Z.redb: exit status: 3; it said: no space";
    assert_eq!(notice["message"], said);
    assert_eq!(state(&posture)["failures"], 0, "the backup itself is there");
    let metrics = posture.operator("GET", "/metrics", &serde_json::Value::Null).text();
    for line in ["posture_backup_command_failures_total 1", "posture_backup_failures_total 0"] {
        assert!(metrics.lines().any(|it| it == line), "{metrics}");
    }
    std::fs::remove_file(place.path().join("fail")).unwrap();
    pass_h(&posture, 24);
    assert_eq!(system(&posture)["notices"], json!([]));
}

#[test]
fn a_damaged_newest_backup_is_noticed_by_a_drill() {
    let place = TempDir::new().unwrap();
    let posture = start(settings(place.path()));
    make_due(&posture);
    let file = place.path().join("posture-20260310T090000Z.redb");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    // The service looks whether something is due at any time, and then other work on the whole database is refused.
    let drill = || loop {
        let answer = posture.operator("POST", "/api/backups/drill", &json!({}));
        if answer.status != 409 {
            return answer;
        }
    };
    assert_eq!(drill().status, 400);
    assert_eq!(system(&posture)["notices"][0]["kind"], "backup_drill_failed");
    let log = posture.operator("GET", "/api/audit?limit=10", &Value::Null).text();
    assert!(log.contains("backup drill of posture-20260310T090000Z.redb failed"), "{log}");
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(drill().status, 200);
    assert_eq!(system(&posture)["notices"], json!([]));
}

#[test]
fn a_stop_ends_the_command_and_what_it_started() {
    let place = TempDir::new().unwrap();
    let (dir, log) = (place.path().join("backups"), place.path().join("log"));
    std::fs::create_dir(&dir).unwrap();
    let script =
        format!("sleep 1000 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", log.display());
    let command = ["sh", "-c", script.as_str()].map(str::to_owned).to_vec();
    let posture = start(BackupSettings { after_command: command, ..settings(&dir) });
    assert!(wait_until(SOON, || log.exists()));
    let id = std::fs::read_to_string(&log).unwrap();
    // A process that ended and that nobody asked about is a zombie, without a command line.
    let line = Path::new("/proc").join(id.trim()).join("cmdline");
    let is_running = || std::fs::read(&line).is_ok_and(|it| !it.is_empty());
    // While it starts, it has no command line yet.
    assert!(wait_until(SOON, is_running));
    drop(posture);
    assert!(wait_until(SOON, || !is_running()));
}
