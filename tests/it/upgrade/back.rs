//! Going back to the release before: by the copy that the first start keeps.

use std::collections::BTreeMap;
use std::path::Path;

use super::file;
use crate::harness::process::{Done, Folder};
use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

type Rows = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

/// Every row of a database that nobody has open, by table.
fn rows(file: &Path) -> Rows {
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_read().unwrap();
    let tables = tx.list_tables().unwrap();
    let read = |name: &str| {
        let table: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(name);
        let table = tx.open_table(table).unwrap();
        let row = |it: (redb::AccessGuard<'_, &[u8]>, redb::AccessGuard<'_, &[u8]>)| {
            (it.0.value().to_vec(), it.1.value().to_vec())
        };
        table.iter().unwrap().map(|it| row(it.unwrap())).collect::<Vec<_>>()
    };
    tables.map(|it| (it.name().to_owned(), read(it.name()))).collect()
}

#[test]
fn the_copy_of_before_an_upgrade_leads_back() {
    for name in file::names() {
        let (dir, _) = file::unpack(&name);
        let folder = Folder::new();
        let data = folder.path().join("data");
        folder.ok(&["restore", dir.path().join("posture.redb").to_str().unwrap()]);
        let (database, copy) = (data.join("posture.redb"), data.join("posture.redb.format-1"));
        let mut before = rows(&database);
        let server = folder.serve();
        assert_eq!(rows(&copy), before, "{name}");
        folder.client("Added since");
        server.stop();
        assert_ne!(rows(&database), before, "{name}");
        // A later start makes no other copy.
        folder.serve().stop();
        assert_eq!(rows(&copy), before, "{name}");

        let words = ["restore", "data/posture.redb.format-1", "--replace"];
        let said = folder.ok(&words);
        assert!(said.contains("the database that was there is now "), "{said}");
        // Forward once more keeps both copies, and what an interrupted one left is gone.
        let left = data.join("posture.redb.format.new");
        std::fs::write(&left, "half").unwrap();
        let mut after = rows(&database);
        let again = after.clone();
        folder.serve().stop();
        assert_eq!(rows(&data.join("posture.redb.format-1-2")), again, "{name}");
        assert_eq!(rows(&copy), before, "{name}");
        assert!(!left.exists(), "{name}");
        // A restore says so in the audit log and the first rows.
        let said_by_restore = ["audit", "meta"];
        for table in said_by_restore {
            before.remove(table);
            after.remove(table);
        }
        assert_eq!(after, before, "{name}");
    }
}

/// Needs the right to mount a file system in memory.
mod needs_mount {
    use super::*;
    use crate::harness::small_disk::SmallDisk;

    #[test]
    #[ignore = "needs the right to mount"]
    fn a_first_start_without_room_for_the_copy_changes_nothing() {
        let name = file::names().pop().unwrap();
        let (dir, _) = file::unpack(&name);
        let disk = SmallDisk::mount();
        let folder = Folder::new();
        folder.write(
            "posture.toml",
            format!(
                "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = {:?}\n",
                disk.path().join("data")
            )
            .as_bytes(),
        );
        folder.ok(&["restore", dir.path().join("posture.redb").to_str().unwrap()]);
        let database = disk.path().join("data/posture.redb");
        let before = rows(&database);
        disk.leave_mib(200);
        for _ in 0..2 {
            let Done { code, err, .. } = folder.run(&["serve"]);
            assert_eq!(code, 1);
            for said in ["posture.redb.format-1", "needs 257 MiB free", "nothing was changed"] {
                assert!(err.contains(said), "{said}: {err}");
            }
            assert_eq!(rows(&database), before);
            assert!(!disk.path().join("data/posture.redb.format-1").exists());
        }
        disk.leave_mib(300);
        folder.ok(&["client", "list"]);
        assert_eq!(rows(&disk.path().join("data/posture.redb.format-1")), before);
    }
}
