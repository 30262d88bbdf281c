//! `posture check` and `posture compact`: what is damaged is named.

use std::fs;
use std::path::Path;

use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use serde_json::json;

use crate::harness::process::{Done, Folder};

/// Changes the last byte of the first value in the first table whose name ends so. Returns the name.
pub fn damage(file: &Path, table: &str) -> String {
    let db = redb::Database::open(file).unwrap();
    let tables = db.begin_read().unwrap();
    let name = tables.list_tables().unwrap().map(|it| it.name().to_owned());
    let name = name.into_iter().find(|it| it.ends_with(table)).unwrap();
    drop(tables);
    let tx = db.begin_write().unwrap();
    {
        let definition = TableDefinition::<&[u8], &[u8]>::new(&name);
        let mut rows = tx.open_table(definition).unwrap();
        let (key, mut value) = {
            let (key, value) = rows.first().unwrap().unwrap();
            (key.value().to_vec(), value.value().to_vec())
        };
        *value.last_mut().unwrap() ^= 1;
        rows.insert(key.as_slice(), value.as_slice()).unwrap();
    }
    tx.commit().unwrap();
    name
}

#[test]
fn a_check_names_every_damaged_record() {
    let folder = Folder::new();
    let client = folder.client("Acme");
    let server = folder.serve();
    let key = folder.key("1000");
    for n in 0..3 {
        let asset = json!({"clientId": client, "name": format!("a{n}"), "externalId": format!("{n}"), "assetType": "server"});
        assert_eq!(server.send("POST", &key, "/assets", &asset).status, 201);
    }
    server.stop();
    let sound = folder.ok(&["check"]);
    assert!(sound.ends_with("the pages of the file are intact\nno record is damaged\n"), "{sound}");
    let file = folder.path().join("data/posture.redb");
    damage(&file, "/assets");
    damage(&file, "/external");
    let Done { code, out, err } = folder.run(&["check", "--json"]);
    assert_eq!((code, err.as_str()), (1, "posture: 2 records are damaged; restore a backup\n"));
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = found["data"]["damaged"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["table"], "assets");
    assert_eq!(rows[0]["clientName"], "Acme");
    assert_eq!(rows[0]["clientId"], client.as_str());
    assert_eq!(rows[0]["key"].as_str().unwrap().len(), 36, "an asset id");
    assert_eq!(rows[0]["reason"], "wrong checksum");
    assert_eq!(rows[1]["table"], "external: name");
    assert_eq!(found["data"]["pagesIntact"], true);

    // The same while the service runs, and a backup names the first.
    let server = folder.serve();
    let Done { code, out, err } = folder.run(&["check"]);
    assert_eq!((code, err.as_str()), (1, "posture: 2 records are damaged; restore a backup\n"));
    assert!(out.contains("the pages of the file were not verified"), "{out}");
    assert!(out.lines().any(|it| it.starts_with("assets ") && it.contains(" Acme ")), "{out}");
    let Done { code, err, .. } = folder.run(&["backup", "one.redb"]);
    assert_eq!(code, 1);
    let words = "posture: a record is damaged (wrong checksum): table `assets` of client `Acme` (";
    assert!(err.starts_with(words), "{err}");
    assert!(!folder.path().join("one.redb").exists());
    assert!(!folder.path().join("one.redb.partial").exists());
    assert_eq!(server.metric("posture_ready"), 1, "all else goes on");
}

#[test]
fn a_check_needs_a_database() {
    let folder = Folder::new();
    for command in ["check", "compact"] {
        let Done { code, err, .. } = folder.run(&[command]);
        assert_eq!(code, 1);
        assert!(err.ends_with("data: there is no posture.redb\n"), "{err}");
        assert!(!folder.path().join("data").exists());
    }
}

#[test]
fn a_compaction_keeps_everything() {
    let folder = Folder::new();
    let names: Vec<String> = (0..20).map(|n| format!("Client {n}")).collect();
    for name in &names {
        folder.client(name);
    }
    let before = folder.path().join("data/posture.redb").metadata().unwrap().len();
    let said = folder.json(&["compact"]);
    let after = folder.path().join("data/posture.redb").metadata().unwrap().len();
    assert_eq!(said["data"], json!({ "bytesBefore": before, "bytesAfter": after }));
    assert!(after < before, "{after} < {before}");
    assert_eq!(folder.json(&["client", "list"])["data"].as_array().unwrap().len(), names.len());
}

/// Nothing that was said about a client is left in the file of a database that was compacted after its erasure.
#[test]
fn of_an_erased_client_no_word_is_left_in_the_file() {
    const WORDS: [&str; 9] = [
        "Huitzilopochtli",
        "Quetzalcoatl",
        "Tezcatlipoca",
        "Xochiquetzal",
        "Mictlantecuhtli",
        "Tlaloc",
        "Chalchiuhtlicue",
        "Coatlicue",
        "Itzpapalotl",
    ];
    let folder = Folder::new();
    let [name, said, by, evidence, withdrawn, undone, together, held, scope] = WORDS;
    folder.client(name);
    folder.client("Kept Ltd");
    let attest = ["control", "attest", name, "GOV-14", "--status", "partial", "--note", said];
    folder.ok(&[&attest[..], &["--by", by, "--evidence", evidence]].concat());
    folder.ok(&["control", "withdraw", name, "GOV-14", "--note", withdrawn]);
    folder.ok(&["statement", "undo", name, "2", "--note", undone]);
    let batch = ["batch", "attest", "GOV-15", "--status", "partial", "--client", name];
    folder.ok(&[&batch[..], &["--note", together, "--by", by]].concat());
    folder.ok(&["client", "hold", name, "--note", held]);
    folder.ok(&["client", "release", name, "--note", held]);
    let facts = format!(
        r#"{{"source": "script", "scope": "{scope}", "observations": [{{"control": "END-04", "passed": 1, "failed": 0}}]}}"#
    );
    folder.write("facts.json", facts.as_bytes());
    let facts = ["import", "--client", name, "--format", "facts", "facts.json"];
    let import = folder.json(&facts)["data"]["import"]["id"].as_str().unwrap().to_owned();
    folder.ok(&["import", "undo", "--client", name, &import]);
    assert!(folder.ok(&["import", "undone", "--client", name, &import]).contains(scope));
    let left = || {
        let file = fs::read(folder.path().join("data/posture.redb")).unwrap();
        let has = |word: &&str| file.windows(word.len()).any(|it| it == word.as_bytes());
        WORDS.into_iter().filter(has).collect::<Vec<_>>()
    };
    assert_eq!(left(), WORDS, "they are not packed");
    folder.ok(&["client", "remove", name, "--yes"]);
    folder.ok(&["compact"]);
    assert_eq!(left(), Vec::<&str>::new());
    assert_eq!(folder.json(&["client", "list"])["data"].as_array().unwrap().len(), 1);
}
