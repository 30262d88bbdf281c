//! From a file to a server and back, by backups.

use serde_json::Value;

use super::{CONFIG, push};
use crate::harness::postgres::shared;
use crate::harness::process::Folder;

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
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
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
