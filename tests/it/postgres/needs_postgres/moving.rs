//! From a file to a server and back: by backups, and moved.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{CONFIG, name, push};
use crate::harness::postgres::{Cluster, shared};
use crate::harness::process::{Folder, binary, wait_until};

const REDB: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n";

/// What all records of a backup are together.
fn contents(folder: &Folder, file: &str) -> Value {
    folder.json(&["backup", file])["data"]["contents"].clone()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_backup_of_either_engine_is_restored_on_the_other() {
    let folder = Folder::new();
    folder.write("posture.toml", REDB.as_bytes());
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    for index in 0..50 {
        assert_eq!(push(&server, &key, &client, &format!("asset {index}")), 201);
    }
    server.stop();
    folder.ok(&["backup", "one.redb"]);
    let url = shared().new_database();
    folder.write("database.url", url.as_bytes());
    folder.write("posture.toml", CONFIG.as_bytes());
    let restored = folder.json(&["restore", "one.redb"]);
    assert_eq!(restored["data"]["keyFile"], "same");
    assert!(folder.ok(&["check"]).contains("no record is damaged"));
    let server = folder.serve();
    assert_eq!(super::assets(&server, &key, &client).len(), 50);
    assert_eq!(push(&server, &key, &client, "another"), 201);
    server.stop();
    let on_server = contents(&folder, "two.redb");
    assert!(restored["data"]["contents"]["rows"].as_u64() < on_server["rows"].as_u64());
    folder.write("posture.toml", REDB.as_bytes());
    let back = folder.json(&["restore", "two.redb", "--replace"]);
    assert_eq!(back["data"]["contents"], on_server);
    let server = folder.serve();
    assert_eq!(super::assets(&server, &key, &client).len(), 51);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restore_keeps_what_was_on_the_server_and_only_if_it_is_told_to_replace_it() {
    let url = shared().new_database();
    let name = name(&url);
    let folder = super::folder(&url);
    folder.client("Acme");
    folder.ok(&["backup", "acme.redb"]);
    folder.client("Later");
    let n_before = shared().sql(name, "SELECT count(*) FROM posture_rows");
    let done = folder.run(&["restore", "acme.redb"]);
    assert!(
        done.err.contains("the database on the server has records; pass --replace"),
        "{done:?}"
    );
    let restored = folder.json(&["restore", "acme.redb", "--replace"]);
    let kept =
        restored["data"]["keptAs"].as_str().unwrap().strip_prefix("table ").unwrap().to_owned();
    assert_eq!(shared().sql(name, &format!("SELECT count(*) FROM {kept}")), n_before);
    let clients = folder.ok(&["client", "list"]);
    assert!(clients.contains("Acme") && !clients.contains("Later"), "{clients}");
    let server = folder.serve();
    let done = folder.run(&["restore", "acme.redb", "--replace"]);
    assert!(done.err.contains("stop the service first"), "{done:?}");
    server.stop();
    let done = folder.run(&["compact"]);
    assert!(done.err.contains("autovacuum"), "{done:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restore_whose_last_answer_is_lost_is_done() {
    let cluster = Cluster::start(&[]);
    let url = cluster.new_database();
    let name = name(&url);
    let folder = super::folder(&url);
    folder.client("Acme");
    folder.ok(&["backup", "acme.redb"]);
    folder.client("Later");
    let held = cluster.hold(name, "LOCK TABLE posture_rows IN ACCESS SHARE MODE");
    let is_reached = |sql: &str| {
        wait_until(Duration::from_mins(1), || cluster.sql("postgres", sql).trim() == "t")
    };
    let replicas = |names: &str| {
        cluster.sql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        cluster.sql("postgres", "SELECT pg_reload_conf()");
    };
    std::thread::scope(|scope| {
        let restoring = scope.spawn(|| folder.json(&["restore", "acme.redb", "--replace"]));
        assert!(is_reached("SELECT bool_or(not granted) FROM pg_locks"), "it waits for the lock");
        // The commit is done on the server, and its answer waits for a replica that there is not.
        replicas("nobody");
        // The server has understood that once another commit waits.
        let probe = scope.spawn(|| cluster.sql("postgres", "CREATE TABLE probe ()"));
        let waits = "SELECT bool_or(wait_event = 'SyncRep') FROM pg_stat_activity";
        assert!(is_reached(waits), "commits wait for a replica");
        drop(held);
        let ended = "SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
        assert!(is_reached(ended), "it commits");
        replicas("");
        probe.join().unwrap();
        assert!(restoring.join().unwrap()["data"]["keptAs"].is_string());
    });
    let clients = folder.ok(&["client", "list"]);
    assert!(clients.contains("Acme") && !clients.contains("Later"), "{clients}");
}

/// A service on a file, with so many bytes of evidence.
fn on_file(n_bytes: usize) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("posture.toml", REDB.as_bytes());
    let client = folder.client("Acme");
    if 0 < n_bytes {
        add_file(&folder, n_bytes);
    }
    (folder, client)
}

/// Adds evidence with a file whose bytes do not repeat.
fn add_file(folder: &Folder, n_bytes: usize) {
    let blocks = (0u64..).flat_map(|it| Sha256::digest(it.to_le_bytes()));
    folder.write("scan.pdf", &blocks.take(n_bytes).collect::<Vec<_>>());
    let add = ["evidence", "add", "Acme", "GOV-14", "--title", "Scan", "--by", "Ada"];
    folder.ok(&[&add[..], &["--file", "scan.pdf"]].concat());
}

fn number(answer: &Value, name: &str) -> u64 {
    answer["data"][name].as_u64().unwrap()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_is_moved_there_and_back_and_opened_only_where_it_is() {
    let url = shared().new_database();
    let (folder, client) = on_file(0);
    let key = folder.key("1000000");
    let server = folder.serve();
    for index in 0..50 {
        assert_eq!(push(&server, &key, &client, &format!("asset {index}")), 201);
    }
    let to_server = ["move", "--to", "postgres", "--url-file", "database.url"];
    folder.write("database.url", url.as_bytes());
    let refused = folder.run(&to_server);
    assert!(refused.err.contains("stop the service first"), "{refused:?}");
    server.stop();
    let refused = folder.run(&["move", "--to", "postgres"]);
    assert!(refused.err.contains("--url-file FILE"), "{refused:?}");
    let said = folder.ok(&to_server);
    let lines = "\n[database]\nengine = \"postgres\"\nurl_file = \"/";
    assert!(said.contains(lines) && said.contains("/database.url\"\n"), "{said}");
    assert!(said.contains("all were read again"), "{said}");
    let refused = folder.run(&["client", "list"]);
    assert!(refused.err.contains("was moved to a PostgreSQL server at"), "{refused:?}");
    let refused = folder.run(&to_server);
    assert!(refused.err.contains("was moved to a PostgreSQL server at"), "{refused:?}");
    folder.write("posture.toml", CONFIG.as_bytes());
    let server = folder.serve();
    assert_eq!(push(&server, &key, &client, "another"), 201);
    assert_eq!(super::assets(&server, &key, &client).len(), 51);
    server.stop();

    let said = folder.ok(&["move", "--to", "redb"]);
    assert!(said.contains("\n[database]\nengine = \"redb\"\n"), "{said}");
    let kept = said.split_once("the database that was there is now ").unwrap().1;
    let kept = kept.lines().next().unwrap().to_owned();
    let refused = folder.run(&["client", "list"]);
    assert!(refused.err.contains("was moved to a file at"), "{refused:?}");
    folder.write("posture.toml", REDB.as_bytes());
    let server = folder.serve();
    assert_eq!(super::assets(&server, &key, &client).len(), 51);
    let all = super::events(&folder);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
    server.stop();
    assert!(folder.ok(&["audit", "verify"]).contains("intact"));
    // Whoever wants the state before the move can have it, on either.
    folder.ok(&["restore", &kept, "--replace"]);
    let server = folder.serve();
    assert_eq!(super::assets(&server, &key, &client).len(), 50);
    server.stop();
    folder.write("posture.toml", CONFIG.as_bytes());
    folder.ok(&["restore", &kept, "--replace"]);
    let server = folder.serve();
    assert_eq!(super::assets(&server, &key, &client).len(), 50);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn at_no_moment_of_a_move_do_both_open() {
    let url = shared().new_database();
    let name = name(&url);
    let (folder, _) = on_file(0);
    folder.write("database.url", url.as_bytes());
    let to_server = ["move", "--to", "postgres", "--url-file", "database.url"];
    let opens = |config: &str| {
        folder.write("posture.toml", config.as_bytes());
        let done = folder.run(&["client", "list"]);
        assert!(done.code == 0 || done.err.contains("move"), "{done:?}");
        done.code == 0
    };
    // What the last step removes, as if it had not come to that.
    let arriving =
        "SELECT encode(v, 'hex') FROM posture_rows WHERE t = 'meta' AND k = 'relocation'";
    let keep = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF OLD.k = 'relocation' THEN RAISE EXCEPTION 'kept'; END IF; RETURN OLD; END $$; \
        CREATE FUNCTION watch() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF EXISTS (SELECT FROM pg_class WHERE relname = 'posture_rows_new') AND NOT EXISTS \
        (SELECT FROM pg_trigger WHERE tgname = 'keep') THEN CREATE TRIGGER keep BEFORE DELETE ON posture_rows_new \
        FOR EACH ROW EXECUTE FUNCTION keep(); END IF; END $$; \
        CREATE EVENT TRIGGER watch ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION watch()";
    shared().sql(name, keep);
    let refused = folder.run(&to_server);
    assert!(refused.code != 0, "{refused:?}");
    assert!(!shared().sql(name, arriving).trim().is_empty());
    assert!(!opens(CONFIG) && !opens(REDB), "the file is left, and the copy has not arrived");
    shared().sql(name, "DROP EVENT TRIGGER watch; DROP FUNCTION keep CASCADE");
    let moved = folder.json(&to_server);
    assert_eq!(moved["data"]["resumedRows"], moved["data"]["contents"]["rows"]);
    assert!(opens(CONFIG) && !opens(REDB));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_move_to_a_server_that_was_interrupted_goes_on_unless_something_changed() {
    let url = shared().new_database();
    let name = name(&url);
    let (folder, _) = on_file(12 * 1024 * 1024);
    folder.write("database.url", url.as_bytes());
    let to_server = ["move", "--to", "postgres", "--url-file", "database.url"];
    // Makes the tables.
    folder.write("posture.toml", CONFIG.as_bytes());
    folder.run(&["move", "--to", "redb"]);
    folder.write("posture.toml", REDB.as_bytes());
    // The last step has to wait for this lock, and gives up.
    let lock = shared().hold(name, "LOCK TABLE posture_rows IN SHARE MODE");
    let refused = folder.run(&to_server);
    assert!(refused.err.contains("lock timeout"), "{refused:?}");
    let n_loaded = shared().sql(name, "SELECT count(*) FROM posture_rows_new");
    let n_loaded: u64 = n_loaded.trim().parse::<u64>().unwrap() - 1; // It says itself that it is not complete.
    assert!(60 < n_loaded, "{n_loaded}");
    assert!(folder.ok(&["client", "list"]).contains("Acme"), "the service could go on here");
    drop(lock);
    let moved = folder.json(&to_server);
    assert_eq!(number(&moved, "resumedRows"), n_loaded);
    assert_eq!(moved["data"]["contents"]["rows"], n_loaded);
    let back = folder.json(&["move", "--to", "redb", "--url-file", "database.url"]);
    assert_eq!(back["data"]["contents"]["digest"], moved["data"]["contents"]["digest"]);

    let lock = shared().hold(name, "LOCK TABLE posture_rows IN SHARE MODE");
    folder.run(&to_server);
    drop(lock);
    folder.client("Later");
    let moved = folder.json(&to_server);
    assert_eq!(number(&moved, "resumedRows"), 0, "what was loaded is of an older state");
    folder.write("posture.toml", CONFIG.as_bytes());
    assert!(folder.ok(&["client", "list"]).contains("Later"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_move_to_a_file_that_was_interrupted_goes_on() {
    let url = shared().new_database();
    let folder = super::folder(&url);
    folder.client("Acme");
    add_file(&folder, 20 * 1024 * 1024);
    add_file(&folder, 19 * 1024 * 1024);
    let mut limited = Command::new("bash");
    let limit = "ulimit -f 36864; exec \"$0\" move --to redb"; // KiB
    limited.current_dir(folder.path()).args(["-c", limit]).arg(binary());
    assert!(!limited.output().unwrap().status.success(), "the file must not be so long");
    assert!(folder.ok(&["client", "list"]).contains("Acme"), "nothing has changed");
    let moved = folder.json(&["move", "--to", "redb"]);
    let (n_resumed, n_rows) = (number(&moved, "resumedRows"), &moved["data"]["contents"]["rows"]);
    assert!(0 < n_resumed && n_resumed < n_rows.as_u64().unwrap(), "{moved}");
    folder.write("posture.toml", REDB.as_bytes());
    assert!(folder.ok(&["check"]).contains("the pages of the file are intact"));
    assert_eq!(folder.json(&["client", "list"])["data"][0]["name"], "Acme");
    let left = std::fs::read_dir(folder.path().join("data")).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|it| it.contains("moving")), "{left:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_move_replaces_other_records_only_if_it_is_told_to_and_keeps_them() {
    let url = shared().new_database();
    let name = name(&url);
    let other = super::folder(&url);
    other.client("Other");
    let (folder, _) = on_file(0);
    folder.write("database.url", url.as_bytes());
    let to_server = ["move", "--to", "postgres", "--url-file", "database.url"];
    let refused = folder.run(&to_server);
    assert!(refused.err.contains("has records; pass --replace"), "{refused:?}");
    let to_file = ["move", "--to", "redb", "--url-file", "database.url"];
    let refused = folder.run(&to_file);
    assert!(refused.err.contains("exists; pass --replace"), "{refused:?}");
    assert!(folder.ok(&["client", "list"]).contains("Acme"), "nothing has changed");
    let n_before = shared().sql(name, "SELECT count(*) FROM posture_rows");
    let moved = folder.json(&[&to_server[..], &["--replace"]].concat());
    let kept = moved["data"]["keptAs"].as_str().unwrap().strip_prefix("table ").unwrap();
    assert_eq!(shared().sql(name, &format!("SELECT count(*) FROM {kept}")), n_before);
}
