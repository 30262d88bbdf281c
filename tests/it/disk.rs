//! A disk that is nearly full: what is refused, what is not, and how the service goes on when there is space again.

use std::time::Duration;

use posture::store::Store;
use serde_json::{Value, json};

use crate::harness::Posture;
use crate::harness::backend::Disk;
use crate::harness::process::wait_until;

#[test]
fn memory_follows_the_disk_after_a_commit_of_unknown_outcome() {
    const WAIT: Duration = Duration::from_secs(10);
    let disk = Disk::default();
    let posture = Posture::start_on_disk(&disk, |_| ());
    let mut n_refused = 0;
    for n in 1..=24 {
        let client = posture.client(&format!("{n}"));
        let issued = posture.issue(&json!({}));
        let (key, id) = (issued["key"].as_str().unwrap(), issued["id"].as_str().unwrap());
        disk.fail_once(n);
        for path in [format!("/api/clients/{client}"), format!("/api/keys/{id}")] {
            let status = posture.operator("DELETE", &path, &Value::Null).status;
            assert!([200, 204, 503].contains(&status), "{status}");
            n_refused += u32::from(status == 503);
        }
        let path = format!("/api/clients/{client}");
        let shown = |it: &str| posture.operator("GET", it, &Value::Null).status;
        assert!(wait_until(WAIT, || posture.app.health().ready && shown("/api/clients") == 200));
        let task = json!({"clientId": client, "title": "t"});
        let on_disk = posture.operator("POST", "/api/tasks", &task).status;
        assert_eq!(shown(&path) == 200, on_disk == 201, "call {n} failed, then {on_disk}");
        let works = posture.get(key, "/clients").status == 200;
        let stored = Store::on_backend(Disk::of(disk.bytes()), 1 << 20).unwrap();
        let keys = stored.snapshot().unwrap().list_keys().unwrap();
        let stored = keys.into_iter().find(|it| it.id.to_string() == id).unwrap();
        assert_eq!(works, stored.revoked_at.is_none(), "call {n} failed");
    }
    assert!(2 < n_refused, "{n_refused} failed");
}

/// Needs the right to mount a file system in memory.
mod needs_mount {
    use std::fs::File;
    use std::path::Path;
    use std::time::Duration;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use crate::harness::Posture;
    use crate::harness::process::wait_until;
    use crate::harness::small_disk::SmallDisk;

    const MIB: u64 = 1024 * 1024;
    /// How soon the service notices that space was freed or taken.
    const SOON: Duration = Duration::from_secs(5);

    fn add_client(posture: &Posture) -> u16 {
        posture
            .operator("POST", "/api/clients", &json!({"name": "A", "allowSameName": true}))
            .status
    }

    fn issue(posture: &Posture) -> String {
        let key = posture.issue(&json!({}));
        format!("/api/keys/{}", key["id"].as_str().unwrap())
    }

    fn health(posture: &Posture) -> Value {
        posture.operator("GET", "/api/system", &Value::Null).json()["data"].clone()
    }

    #[test]
    #[ignore = "needs the right to mount"]
    fn on_a_disk_that_is_nearly_full_keys_are_revoked_and_clients_erased_and_it_goes_on_by_itself()
    {
        let disk = SmallDisk::mount();
        let posture = Posture::start_below(disk.path());
        let client = posture.client("A");
        let (first, second) = (issue(&posture), issue(&posture));
        let user = json!({"email": "ada@example.com", "role": "admin", "password": "ochre kettle, nine moths"});
        assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
        let token = posture.log_in("ada@example.com", "ochre kettle, nine moths");

        disk.leave_mib(200);
        assert!(wait_until(SOON, || add_client(&posture) == 503), "below the floor");
        assert_eq!(health(&posture)["diskFull"], true);
        assert_eq!(posture.operator("DELETE", &first, &Value::Null).status, 204);
        assert_eq!(posture.as_user(&token, "POST", "/auth/logout", &Value::Null).status, 204);
        assert_eq!(posture.as_user(&token, "GET", "/api/me", &Value::Null).status, 401);
        let path = format!("/api/clients/{client}");
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);

        disk.leave_mib(10);
        let is_refused =
            || posture.operator("PATCH", &second, &json!({ "name": "B" })).status == 503;
        assert!(wait_until(SOON, is_refused), "below the reserve");
        let tested = posture.block_on(posture.app.self_test());
        assert!(tested.is_ok(), "a restart frees no space: {tested:?}");

        disk.leave_mib(350);
        assert!(wait_until(SOON, || add_client(&posture) == 201), "it goes on without a restart");
        let client = posture.client("C");
        for (n_bytes, status) in [(MIB - 1, 400), (MIB, 503)] {
            let file = vec![b'x'; usize::try_from(n_bytes).unwrap()];
            let answer = posture.import(&client, "", &file);
            assert_eq!(answer.status, status, "{}", answer.text());
        }
        assert_eq!(posture.operator("DELETE", &second, &Value::Null).status, 204);
        assert_eq!(health(&posture)["diskFull"], false);
    }

    #[test]
    #[ignore = "needs the right to mount"]
    fn a_backup_or_drill_leaves_the_space_that_writes_need() {
        let disk = SmallDisk::mount();
        let posture = Posture::start_below(disk.path());
        let elsewhere = TempDir::new().unwrap();
        let backup = |file: &Path| posture.operator("POST", "/api/backups", &json!({"file": file}));
        let file = elsewhere.path().join("one.redb");
        assert_eq!(backup(&file).status, 200);
        // Writes are accepted, and the copy alone would fit.
        disk.leave_mib(257);
        let padding = File::options().append(true).open(&file).unwrap();
        padding.set_len(8 * MIB).unwrap();
        let drill = posture.operator("POST", "/api/backups/drill", &json!({"file": file}));
        assert_eq!(drill.status, 503, "{}", drill.text());
        assert!(drill.problem().1.starts_with("there is not enough space: 25"), "{}", drill.text());
        assert_eq!(add_client(&posture), 201);
        disk.leave_mib(256);
        let here = backup(&disk.path().join("two.redb"));
        assert_eq!(here.status, 503, "{}", here.text());
        assert!(here.problem().1.starts_with("there is not enough space: 25"), "{}", here.text());
    }

    #[test]
    #[ignore = "needs the right to mount"]
    fn a_large_run_that_finds_no_space_is_refused_before_the_disk_is_full() {
        const FLOOR_MIB: u64 = 256;
        let disk = SmallDisk::mount();
        let posture = Posture::start_below(disk.path());
        let (client, key) = (posture.client("A"), issue(&posture));
        disk.leave_mib(FLOOR_MIB + 20);
        let findings = "f".repeat(900);
        let facts = |scope: usize| {
            let observation = |i| {
                json!({"control": "ID-01", "check": format!("c{i}"), "passed": 1, "failed": 0,
                    "findings": findings})
            };
            let all: Vec<Value> = (0..15_000).map(observation).collect();
            json!({"source": "s", "scope": scope.to_string(), "observations": all})
        };
        let path = format!("/api/clients/{client}/facts");
        let refused = (0..8).find_map(|scope| {
            let answer = posture.operator("POST", &path, &facts(scope));
            (answer.status != 200).then_some((scope, answer))
        });
        let (scope, answer) = refused.expect("there is no space for all");
        assert_eq!(answer.status, 503, "{}", answer.text());
        let free = rustix::fs::statvfs(disk.path()).unwrap();
        let free_mib = free.f_bavail * free.f_frsize / MIB;
        assert!(FLOOR_MIB - 60 < free_mib, "only {free_mib} MiB are left");
        let imports =
            posture.operator("GET", &format!("/api/clients/{client}/imports"), &Value::Null);
        assert_eq!(imports.json()["data"].as_array().unwrap().len(), scope, "none of it counts");
        assert_eq!(posture.operator("DELETE", &key, &Value::Null).status, 204);
        disk.leave_mib(340);
        assert!(wait_until(SOON, || add_client(&posture) == 201), "it goes on without a restart");
    }
}
