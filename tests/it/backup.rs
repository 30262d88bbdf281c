//! Backups: complete, verified, made while the service runs, and restored.

pub mod check;
mod damage;
mod encryption;
mod interrupted;
mod restore;
mod schedule;
mod writes;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use posture::app::backup::BackupSettings;
use posture::clock::Clock;
use posture::store::backup::{Job, RestoreOptions, Restored};
use redb::{ReadableDatabase, TableHandle};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::process::{Folder, wait_until};
use crate::harness::{Answer, Posture, START, open_store};

const SOON: std::time::Duration = std::time::Duration::from_mins(1);

fn settings(dir: &Path) -> BackupSettings {
    BackupSettings { dir: Some(dir.to_owned()), every_h: 24, keep: 2, ..BackupSettings::default() }
}

/// All rows of a database file, by table and key, read without our own code.
type Dump = BTreeMap<(String, Vec<u8>), Vec<u8>>;

fn dump(file: &Path) -> Dump {
    let copy = tempfile::NamedTempFile::new().unwrap();
    let mut bytes = std::fs::read(file).unwrap();
    bytes.truncate(bytes.len() / 4_096 * 4_096); // Without the trailer of a backup.
    std::fs::write(copy.path(), bytes).unwrap();
    let db = redb::Database::open(copy.path()).unwrap();
    let tx = db.begin_read().unwrap();
    let mut rows = Dump::new();
    for handle in tx.list_tables().unwrap() {
        let name = handle.name().to_owned();
        let definition = redb::TableDefinition::<&[u8], &[u8]>::new(&name);
        let table = tx.open_table(definition).unwrap();
        for row in table.range::<&[u8]>(..).unwrap() {
            let (key, value) = row.unwrap();
            rows.insert((name.clone(), key.value().to_vec()), value.value().to_vec());
        }
    }
    rows
}

fn back_up(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/backups", body)
}

/// Makes a backup; what the API says of it.
fn made(posture: &Posture, file: &Path) -> Value {
    let answer = back_up(posture, &json!({ "file": file }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn restored(file: &Path, dir: &Path) -> posture::error::Result<Restored> {
    restored_with(file, dir, None)
}

fn restored_with(
    file: &Path,
    dir: &Path,
    identity: Option<&str>,
) -> posture::error::Result<Restored> {
    let options = RestoreOptions { file, dir, identity, replace: false };
    posture::store::backup::restore(&options, &Job::default(), START.parse().unwrap())
}

/// A service with some of everything.
fn world() -> Posture {
    let posture = Posture::start();
    fill(&posture);
    posture
}

fn fill(posture: &Posture) {
    let key = posture.key();
    for name in ["Acme", "Globex"] {
        let client = posture.client(name);
        posture.import(&client, "observedAt=now", &crate::manage::prowler(crate::manage::MIXED));
        for n in 0..20 {
            let asset = json!({
                "clientId": client, "name": format!("{name}-{n}"), "externalId": format!("{n}"),
                "assetType": "server",
            });
            assert_eq!(posture.send("POST", &key, "/assets", &asset).status, 201);
        }
    }
    posture.sweep();
    // Leaves a table without rows.
    let rule = json!({"name": "r", "condition": {"type": "score_below", "value": 50}});
    let rule = posture.operator("POST", "/api/alert-rules", &rule).json()["data"]["id"].clone();
    let path = format!("/api/alert-rules/{}", rule.as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
}

#[test]
fn a_backup_holds_every_row_and_restores_to_the_same() {
    let posture = world();
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let view = made(&posture, &file);
    let digest = view["contents"]["digest"].as_str().unwrap().to_owned();
    assert_eq!(view["fileName"], "one.redb");
    assert_eq!(view["encrypted"], false);
    assert_eq!(view["at"], "2026-03-10T09:00:00.000Z");
    assert_eq!(view["bytes"], file.metadata().unwrap().len());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    let n_events = posture.events().len() as u64;
    assert_eq!(view["contents"]["eventSequence"], n_events);
    let mut source = {
        let dir = posture.into_dir();
        let rows = dump(&dir.path().join("posture.redb"));
        drop(dir);
        rows
    };
    let mut copy = dump(&file);
    assert!(copy.remove(&("manifest".to_owned(), Vec::new())).is_some());
    assert_eq!(view["contents"]["rows"], copy.len());
    // What the service wrote after the snapshot: the report of the backup itself, and the log of that.
    for rows in [&mut source, &mut copy] {
        rows.retain(|(table, _), _| table != "audit" && table != "windows");
        rows.remove(&("meta".to_owned(), b"last_backup".to_vec()));
    }
    assert_eq!(source.keys().collect::<Vec<_>>(), copy.keys().collect::<Vec<_>>());
    assert!(source == copy, "the same values");

    let dir = place.path().join("data");
    let restored = restored(&file, &dir).unwrap();
    assert_eq!(restored.contents.digest.to_string(), digest);
    assert_eq!(restored.manifest.unwrap().release, "0.1.0");
    let store = open_store(&dir, START.parse().unwrap());
    assert_eq!(store.contents(&Job::default()).unwrap().digest.to_string(), digest);
    store.close();
    assert!(!dump(&dir.join("posture.redb")).keys().any(|it| it.0 == "manifest"));
}

#[test]
fn a_restored_database_serves_what_was_there() {
    let posture = world();
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let before: Vec<Value> = ["/api/clients", "/api/portfolio/scores", "/api/events?limit=100"]
        .map(|it| posture.operator("GET", it, &Value::Null).json()["data"].clone())
        .to_vec();
    made(&posture, &file);
    drop(posture);
    let dir = TempDir::new().unwrap();
    restored(&file, dir.path()).unwrap();
    let posture = Posture::start_on(dir, Clock::manual(START.parse().unwrap()), |_| ());
    let after: Vec<Value> = ["/api/clients", "/api/portfolio/scores", "/api/events?limit=100"]
        .map(|it| posture.operator("GET", it, &Value::Null).json()["data"].clone())
        .to_vec();
    assert_eq!(before, after);
}

#[test]
fn a_restored_database_still_sends_reports_on_schedule() {
    let mail = || crate::mail::at(crate::mail::NOBODY);
    let posture = Posture::start_with(mail());
    let client = posture.client("Acme");
    let when = json!({"every": "month", "day": 31, "hour": 8, "timeZone": "Europe/Paris"});
    let bodies = [
        json!({"clientId": client, "recipients": ["ada@example.com"], "when": when}),
        json!({"recipients": ["bo@example.com"], "language": "fr", "when": when}),
    ];
    for body in &bodies {
        let added = posture.operator("POST", "/api/report-schedules", body);
        assert_eq!(added.status, 201, "{}", added.text());
    }
    let list = |posture: &Posture| {
        let listed = posture.operator("GET", "/api/report-schedules", &Value::Null);
        listed.json()["data"].as_array().unwrap().clone()
    };
    let before = list(&posture);
    assert_eq!(before.len(), 2);
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    made(&posture, &file);
    drop(posture);
    let dir = TempDir::new().unwrap();
    restored(&file, dir.path()).unwrap();
    let clock = Clock::manual(START.parse().unwrap());
    let posture = Posture::start_on(dir, clock, mail());
    assert_eq!(list(&posture), before);
    // They are due as before: both are tried, at a server that is not there.
    posture.clock.set("2026-03-31T06:00:00Z".parse().unwrap());
    let is_tried =
        || list(&posture).iter().all(|it| it["last"]["failure"]["kind"] == "unreachable");
    assert!(wait_until(SOON, is_tried), "{:?}", list(&posture));
}

#[test]
fn a_backup_never_replaces_a_file() {
    let posture = Posture::start();
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let refused = |file: &Path| {
        let answer = back_up(&posture, &json!({ "file": file }));
        assert_eq!(answer.status, 400);
        answer.problem().1
    };
    std::fs::write(&file, "precious").unwrap();
    assert_eq!(refused(&file), "a file of that name exists; a backup never replaces one");
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    assert_eq!(refused(&file), "a file of that name exists; a backup never replaces one");
    std::fs::write(place.path().join("two.redb.partial"), "half").unwrap();
    let two = place.path().join("two.redb");
    assert!(refused(&two).starts_with("a backup of that name was interrupted"));
    let nowhere = place.path().join("none/one.redb");
    assert_eq!(refused(&nowhere), "the folder of the backup does not exist; create it first");
    assert!(refused(Path::new("relative.redb")).contains("must be an absolute path"));
}

#[test]
fn only_the_operator_names_a_file() {
    let posture = Posture::start();
    let place = TempDir::new().unwrap();
    let user = json!({"email": "a@example.com", "role": "admin", "password": crate::strangers::world::PASSWORD});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let token = posture.log_in("a@example.com", crate::strangers::world::PASSWORD);
    let file = place.path().join("one.redb");
    for path in ["/api/backups", "/api/backups/drill"] {
        let answer = posture.as_user(&token, "POST", path, &json!({ "file": file }));
        let said = "only the command line on the host of the service may name a file";
        assert_eq!((answer.status, answer.problem().1.as_str()), (403, said));
        let answer = posture.as_user(&token, "POST", path, &json!({}));
        let said = "backup.dir is not set in posture.toml; set it, choose a folder on the page Settings of the console, or name a file";
        assert_eq!((answer.status, answer.problem().1.as_str()), (409, said));
    }
    assert!(!file.exists());
}

#[test]
fn a_second_backup_at_the_same_time_is_refused() {
    let posture = world();
    let place = TempDir::new().unwrap();
    let socket = posture.socket();
    let send = |body: &Value| {
        let headers = [("Content-Type", "application/json")];
        let body = body.to_string();
        crate::harness::http::send_socket(
            &socket,
            "POST",
            "/api/backups",
            &headers,
            body.as_bytes(),
        )
    };
    // Both are there at once in some round.
    let mut n = 0;
    let met = wait_until(SOON, || {
        n += 1;
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let file = |it: &str| place.path().join(format!("{it}-{n}.redb"));
            let senders = ["a", "b", "c"].map(|it| {
                let body = json!({ "file": file(it) });
                scope.spawn(move || send(&body).status)
            });
            senders.map(|it| it.join().unwrap()).to_vec()
        });
        assert!(statuses.iter().all(|it| [200, 409].contains(it)), "{statuses:?}");
        assert!(statuses.contains(&200), "one of them is made");
        statuses.contains(&409)
    });
    assert!(met);
    let state = posture.operator("GET", "/api/backups", &Value::Null).json();
    assert_eq!(state["data"]["running"], Value::Null, "the place is free again");
}

#[test]
fn the_command_makes_a_backup_with_and_without_a_server() {
    let folder = Folder::new();
    folder.client("Acme");
    let said = folder.ok(&["backup", "cold.redb"]);
    assert!(said.starts_with("wrote and verified cold.redb\n  "), "{said}");
    assert!(
        said.ends_with("posture.key is not in it: keep a copy of that file in another place\n")
    );
    let server = folder.serve();
    let hot = folder.json(&["backup", "hot.redb"]);
    assert_eq!(hot["data"]["fileName"], "hot.redb");
    let status = folder.ask("/api/system");
    assert_eq!(status["data"]["lastBackup"], hot["data"]);
    assert!(folder.ok(&["status"]).contains("(hot.redb)\n"));
    let drill = folder.ok(&["backup", "drill", "cold.redb"]);
    assert!(
        drill.starts_with("cold.redb, made at ") && drill.contains("can be restored"),
        "{drill}"
    );
    assert_eq!(folder.ask("/api/system")["data"]["lastDrill"]["fileName"], "cold.redb");
    let names =
        ["last_success_timestamp_seconds", "last_bytes", "drill_last_success_timestamp_seconds"];
    for name in names {
        assert!(0 < server.metric(&format!("posture_backup_{name}")), "{name}");
    }
    assert_eq!(server.metric("posture_backup_failures_total"), 0);
    let log = folder.json(&["audit", "list"]);
    let actions: Vec<&str> =
        log["data"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert!(actions.contains(&"POST /api/backups"), "{actions:?}");
    assert!(actions.contains(&"POST /api/backups/drill"), "{actions:?}");
    let data: Vec<PathBuf> = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    assert!(!data.iter().any(|it| it.to_string_lossy().contains("backup-")), "{data:?}");
}
