//! The watch folder: whose files are taken and when, where they go, and that a crash imports nothing twice.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use posture::clock::Clock;
use serde_json::Value;

use crate::harness::process::{Folder, Server, finish, prowler_file, wait_until};
use crate::harness::sample::own;

const PATIENCE: Duration = Duration::from_mins(2);

/// With a watch folder that has these folders.
fn watching(folders: &[&str]) -> Folder {
    let folder = Folder::new();
    let text =
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[import]\nwatch = \"watch\"\n";
    folder.write("posture.toml", text.as_bytes());
    fs::create_dir(folder.path().join("watch")).unwrap();
    for it in folders {
        fs::create_dir(at(&folder, it)).unwrap();
    }
    folder
}

/// A path in the watch folder.
fn at(folder: &Folder, path: &str) -> PathBuf {
    folder.path().join("watch").join(path)
}

fn put(folder: &Folder, path: &str, bytes: &[u8]) {
    fs::write(at(folder, path), bytes).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn await_file(folder: &Folder, path: &str) {
    let there = wait_until(PATIENCE, || at(folder, path).exists());
    assert!(there, "{path} did not come: {}", read(&folder.path().join("serve.log")));
}

/// A report of today.
fn report() -> Vec<u8> {
    let today = &Clock::System.now().to_string()[..10];
    let text = String::from_utf8(own("report/scuba.json")).unwrap();
    text.replace("2026-11-20T09:00:00", &format!("{today}T00:00:00")).into_bytes()
}

/// Another report for each name.
fn small_report(name: &str) -> Vec<u8> {
    prowler_file(Clock::System.now().s(), &[(name, true)])
}

/// The same of the account of another client.
fn others_report(name: &str) -> Vec<u8> {
    let text = String::from_utf8(small_report(name)).unwrap();
    text.replace("123456789012", "444455556666").into_bytes()
}

fn imports(folder: &Folder, client: &str) -> Vec<Value> {
    let list = folder.json(&["import", "list", "--client", client]);
    list["data"].as_array().unwrap().clone()
}

/// The notice about the watch folder. Empty if there is none.
fn notice(folder: &Folder) -> String {
    let system = folder.ask("/api/system");
    let all = system["data"]["notices"].as_array().unwrap();
    let found = all.iter().find(|it| it["kind"] == "watch_folder");
    found.map_or(String::new(), |it| it["message"].as_str().unwrap().to_owned())
}

#[track_caller]
fn await_notice(folder: &Folder, words: &str) {
    let mut said = String::new();
    let is_so = wait_until(PATIENCE, || {
        said = notice(folder);
        if words.is_empty() { said.is_empty() } else { said.contains(words) }
    });
    assert!(is_so, "not `{words}`: {said}");
}

fn files_taken(server: &Server, outcome: &str) -> u64 {
    server.metric(&format!("posture_watch_files_total{{outcome=\"{outcome}\"}}"))
}

#[test]
fn a_finished_file_is_imported_for_its_client_and_moved_to_done() {
    let folder = watching(&["aCME"]);
    let server = folder.serve();
    let id = folder.client("Acme");
    put(&folder, "aCME/scuba.json", &report());
    await_file(&folder, "aCME/done/scuba.json");
    assert_eq!(fs::read(at(&folder, "aCME/done/scuba.json")).unwrap(), report());
    assert!(!at(&folder, "aCME/scuba.json").exists());
    let all = imports(&folder, "Acme");
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        (&all[0]["by"], &all[0]["fileName"]),
        (&"watch folder".into(), &"scuba.json".into())
    );
    assert!(0 < all[0]["facts"].as_u64().unwrap());
    let posture = folder.ask(&format!("/api/clients/{id}/posture"));
    assert_eq!(posture["data"]["score"]["controlsCompliant"], 1);
    let audit = folder.json(&["audit", "list"])["data"].clone();
    let mut acts = audit.as_array().unwrap().iter().filter(|it| it["by"] == "watch folder");
    let act = acts.next().expect("the import is recorded");
    assert_eq!(
        (&act["action"], &act["about"]),
        (&"import a file".into(), &"aCME/scuba.json".into())
    );
    assert!(acts.next().is_none(), "{audit}");
    let waits = || server.metric("posture_watch_waiting");
    assert!(wait_until(PATIENCE, || (files_taken(&server, "done"), waits()) == (1, 0)));

    // The same bytes again, in a folder that is named by the id.
    fs::create_dir(at(&folder, &id)).unwrap();
    put(&folder, &format!("{id}/again.json"), &report());
    await_file(&folder, &format!("{id}/done/again.json"));
    assert_eq!(imports(&folder, "Acme").len(), 1);
}

#[test]
fn a_refused_file_goes_to_failed_with_the_sentence_of_its_error() {
    let folder = watching(&["Acme", "Acme/done", "Acme/failed"]);
    let server = folder.serve();
    folder.client("Acme");
    // Neither a file nor a reason that is there is replaced.
    put(&folder, "Acme/failed/bad.json", b"old");
    put(&folder, "Acme/failed/bad-2.json.reason.txt", b"old reason");
    put(&folder, "Acme/done/good.json", b"old");
    put(&folder, "Acme/good.json", &report());
    let long = format!("{}.json", "x".repeat(250));
    put(&folder, &format!("Acme/{long}"), b"");
    put(&folder, "Acme/bad.json", b"hello");
    await_file(&folder, "Acme/failed/bad-3.json");
    await_file(&folder, "Acme/done/good-2.json");
    let text = |path: &str| read(&at(&folder, path));
    assert_eq!(text("Acme/failed/bad-3.json"), "hello");
    assert_eq!(text("Acme/failed/bad.json"), "old");
    assert_eq!(text("Acme/failed/bad-2.json.reason.txt"), "old reason");
    assert!(!at(&folder, "Acme/failed/bad-2.json").exists());
    assert_eq!(text("Acme/done/good.json"), "old");
    folder.write("bad.json", b"hello");
    let refusal = folder.run(&["import", "--client", "Acme", "bad.json"]).err;
    let reason = text("Acme/failed/bad-3.json.reason.txt");
    assert_eq!(format!("posture: bad.json: {reason}"), refusal);
    assert_eq!(imports(&folder, "Acme").len(), 1);
    let short = format!("Acme/failed/{}", "x".repeat(230));
    await_file(&folder, &short);
    assert_eq!(text(&format!("{short}.reason.txt")), "the file is empty\n");
    assert!(wait_until(PATIENCE, || files_taken(&server, "failed") == 2));
    assert_eq!(files_taken(&server, "done"), 1);

    // Back again with the reason, as somebody does who has mended the file.
    for name in ["bad-3.json", "bad-3.json.reason.txt"] {
        let (from, to) = (format!("Acme/failed/{name}"), format!("Acme/{name}"));
        fs::rename(at(&folder, &from), at(&folder, &to)).unwrap();
    }
    put(&folder, "Acme/bad-3.json", &small_report("mended"));
    await_file(&folder, "Acme/done/bad-3.json");
    assert!(at(&folder, "Acme/bad-3.json.reason.txt").exists());
}

#[test]
fn what_still_grows_and_what_is_no_file_to_take_stays() {
    let folder = watching(&["Acme", "Acme/sub"]);
    let _server = folder.serve();
    folder.client("Acme");
    let stay =
        [".hidden.json", "up.json.part", "UP.TMP", "up.filepart", "sub/x.json", "a.reason.txt"];
    for name in stay {
        put(&folder, &format!("Acme/{name}"), &small_report(name));
    }
    folder.write("elsewhere.json", &small_report("elsewhere"));
    symlink(folder.path().join("elsewhere.json"), at(&folder, "Acme/link.json")).unwrap();
    fs::create_dir(folder.path().join("other")).unwrap();
    folder.write("other/x.json", &small_report("other"));
    folder.client("Linked");
    symlink(folder.path().join("other"), at(&folder, "Linked")).unwrap();
    let report = report();
    let mut file = fs::File::create(at(&folder, "Acme/growing.json")).unwrap();
    let pieces = report.chunks(report.len().div_ceil(10));
    for piece in pieces {
        file.write_all(piece).unwrap();
        sleep(Duration::from_secs(1));
        assert!(at(&folder, "Acme/growing.json").exists(), "it still grows");
    }
    await_file(&folder, "Acme/done/growing.json");
    for name in stay {
        assert!(at(&folder, &format!("Acme/{name}")).exists(), "{name}");
    }
    assert!(at(&folder, "Acme/link.json").is_symlink());
    assert!(folder.path().join("elsewhere.json").exists());
    assert!(folder.path().join("other/x.json").exists());
    assert_eq!(imports(&folder, "Acme").len(), 1);
    assert_eq!(imports(&folder, "Linked").len(), 0);
    assert_eq!(notice(&folder), "");
}

#[test]
fn files_of_no_known_client_stay_and_a_notice_says_so_once() {
    let folder = watching(&["Acne", "Twin", "Gone", "unused", "Acme"]);
    let server = folder.serve();
    let id = folder.client("Acme");
    let twins = ["TWIN", "twin"].map(|name| {
        let body = serde_json::json!({ "name": name, "allowSameName": true });
        let body = body.to_string();
        let sent = crate::harness::http::send_socket(
            &folder.socket(),
            "POST",
            "/api/clients",
            &[("Content-Type", "application/json")],
            body.as_bytes(),
        );
        sent.json()["data"]["id"].as_str().unwrap().to_owned()
    });
    folder.client("Gone");
    folder.ok(&["client", "set", "Gone", "--active", "false"]);
    for name in ["Acne", "Gone"] {
        put(&folder, &format!("{name}/x.json"), &small_report(name));
    }
    put(&folder, "Twin/x.json", &others_report("Twin"));
    await_notice(
        &folder,
        "`Acne`: no client has this id or name; rename the folder, or add the client",
    );
    await_notice(&folder, "`Gone`: the client is inactive");
    await_notice(
        &folder,
        "`Twin`: 2 clients have this name, or one that looks like it; give the folder the id of one: ",
    );
    let said = notice(&folder);
    assert!(twins.iter().all(|it| said.contains(it)) && !said.contains("unused"), "{said}");
    put(&folder, "stray.json", &others_report("stray"));
    await_notice(&folder, "files lie directly in the watch folder");
    put(&folder, "Acme/x.json", &small_report("Acme"));
    await_file(&folder, "Acme/done/x.json");
    for name in ["Acne", "Twin", "Gone"] {
        assert!(at(&folder, &format!("{name}/x.json")).exists(), "{name}");
    }
    assert!(at(&folder, "stray.json").exists());
    assert!(wait_until(PATIENCE, || server.metric("posture_watch_waiting") == 3));
    let log = read(&folder.path().join("serve.log"));
    assert_eq!(log.matches("`Acne`: no client has this id").count(), 1, "{log}");

    // Mended while the service runs.
    fs::rename(at(&folder, "Acne/x.json"), at(&folder, "Acme/y.json")).unwrap();
    fs::rename(at(&folder, "Twin"), at(&folder, &twins[1])).unwrap();
    fs::rename(at(&folder, "stray.json"), at(&folder, &format!("{}/z.json", twins[1]))).unwrap();
    fs::remove_file(at(&folder, "Gone/x.json")).unwrap();
    await_file(&folder, &format!("{}/done/x.json", twins[1]));
    await_file(&folder, &format!("{}/done/z.json", twins[1]));
    await_file(&folder, "Acme/done/y.json");
    await_notice(&folder, "");
    assert_eq!(imports(&folder, &id).len(), 2);
}

#[test]
fn a_file_that_was_imported_but_not_moved_is_only_moved_later() {
    let folder = watching(&["Acme"]);
    let server = folder.serve();
    folder.client("Acme");
    // It cannot be moved: the link would lead it away.
    fs::create_dir(folder.path().join("away")).unwrap();
    symlink(folder.path().join("away"), at(&folder, "Acme/done")).unwrap();
    put(&folder, "Acme/x.json", &report());
    await_notice(
        &folder,
        "`Acme`: a file waits and is tried again: a file cannot be moved to `done`",
    );
    assert_eq!(imports(&folder, "Acme").len(), 1);
    assert!(at(&folder, "Acme/x.json").exists());
    let known = |server: &Server| server.metric("posture_imports_total{outcome=\"known\"}");
    assert_eq!(known(&server), 0);
    server.kill();
    let server = folder.serve();
    await_notice(&folder, "a file cannot be moved to `done`");
    assert!(at(&folder, "Acme/x.json").exists());
    fs::remove_file(at(&folder, "Acme/done")).unwrap();
    await_file(&folder, "Acme/done/x.json");
    await_notice(&folder, "");
    assert_eq!(imports(&folder, "Acme").len(), 1);
    assert_eq!((known(&server), files_taken(&server, "done")), (1, 1), "only the move is repeated");
}

#[test]
fn kills_at_any_moment_import_each_file_once() {
    const N_FILES: usize = 40;
    let folder = watching(&["Acme"]);
    let mut server = Some(folder.serve());
    folder.client("Acme");
    for index in 0..N_FILES {
        put(&folder, &format!("Acme/{index}.json"), &small_report(&index.to_string()));
    }
    put(&folder, "Acme/bad.json", b"bad");
    // At the first kill some are imported, and none is moved.
    symlink(folder.path(), at(&folder, "Acme/done")).unwrap();
    assert!(wait_until(PATIENCE, || 5 < imports(&folder, "Acme").len()));
    server.take().expect("it was started").kill();
    fs::remove_file(at(&folder, "Acme/done")).unwrap();
    server = Some(folder.serve());
    let n_there = |name: &str| fs::read_dir(at(&folder, name)).map_or(0, Iterator::count);
    for n_kills in 1..=3 {
        let is_under_way = || N_FILES * n_kills / 5 <= n_there("Acme/done");
        assert!(wait_until(PATIENCE, is_under_way), "{} are done", n_there("Acme/done"));
        server.take().expect("it was started").kill();
        server = Some(folder.serve());
    }
    assert!(wait_until(PATIENCE, || n_there("Acme/done") == N_FILES));
    await_file(&folder, "Acme/failed/bad.json");
    let mut names: Vec<String> = imports(&folder, "Acme")
        .iter()
        .map(|it| it["fileName"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut expected: Vec<String> = (0..N_FILES).map(|it| format!("{it}.json")).collect();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!((n_there("Acme/done"), n_there("Acme/failed")), (N_FILES, 2));
}

#[test]
fn a_client_with_many_files_does_not_keep_others_waiting() {
    const N_FILES: usize = 120;
    let folder = watching(&["A", "B"]);
    let server = folder.serve();
    folder.client("A");
    folder.client("B");
    for index in 0..N_FILES {
        put(&folder, &format!("A/{index}.json"), &small_report(&index.to_string()));
    }
    put(&folder, "B/x.json", &others_report("x"));
    await_file(&folder, "B/done/x.json");
    let n_waiting = fs::read_dir(at(&folder, "A")).unwrap().count();
    assert!(N_FILES / 2 < n_waiting, "only {n_waiting} of {N_FILES} still waited");
    assert!(server.stop().success(), "it stops with files waiting");
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_at_the_start_with_what_to_do() {
    let folder = watching(&[]);
    assert!(folder.run(&["config", "check"]).out.contains("is valid"));
    let refusals = |folder: &Folder| {
        // Root may write everywhere.
        let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
        ["config check", "serve"].map(|it| {
            let mut command = folder.command(&it.split(' ').collect::<Vec<_>>());
            if is_root {
                command.uid(65_534).gid(65_534);
            }
            let done = finish(&mut command);
            assert_eq!(done.code, 1, "{done:?}");
            done.out + &done.err
        })
    };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(at(&folder, ""), fs::Permissions::from_mode(0o555)).unwrap();
    for said in refusals(&folder) {
        let rule = "import.watch: watch cannot be read and written: Permission denied (os error 13); give the user of the \
                    service access to it";
        assert!(said.contains(rule), "{said}");
    }
    fs::remove_dir(at(&folder, "")).unwrap();
    for said in refusals(&folder) {
        assert!(said.contains("import.watch: watch is not a folder; create it"), "{said}");
    }
    assert!(!folder.path().join("data").exists(), "nothing was made");
    assert_eq!(folder.run(&["client", "list"]).code, 0, "commands do without it");
}
