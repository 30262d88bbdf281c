//! The files in `tests/data/db`: a database and its account for each release.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use posture::clock::Clock;
use tempfile::TempDir;

use super::made::Account;
use crate::harness::Posture;
use crate::webhook::allow_loopback;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/db")
}

fn path(name: &str, extension: &str) -> PathBuf {
    folder().join(format!("{name}.{extension}"))
}

/// The releases that there are files of, in order of their names.
pub(super) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|it| it.unwrap().path());
    let databases = entries.filter(|it| it.extension().is_some_and(|it| it == "redb"));
    let mut names: Vec<String> =
        databases.map(|it| it.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// A data directory with the files of a release, and its account.
pub(super) fn unpack(name: &str) -> (TempDir, Account) {
    let text = fs::read_to_string(path(name, "json")).unwrap();
    let account: Account = serde_json::from_str(&text).unwrap();
    (folder_of(&fs::read(path(name, "redb")).unwrap(), &account.sealing_key), account)
}

/// A data directory with this database and this key.
pub(super) fn folder_of(database: &[u8], sealing_key: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in [("posture.redb", database), ("posture.key", sealing_key.as_bytes())] {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        options.open(folder.path().join(name)).unwrap().write_all(bytes).unwrap();
    }
    folder
}

/// Writes the pair of files of a release.
pub(super) fn keep(name: &str, database: &[u8], account: &Account) {
    fs::write(path(name, "redb"), database).unwrap();
    let text = serde_json::to_string_pretty(account).unwrap();
    fs::write(path(name, "json"), format!("{text}\n")).unwrap();
}

/// This build on a data directory, a minute after its last write.
pub(super) fn start(folder: TempDir, account: &Account) -> Posture {
    let now = account.made_at.parse::<posture::clock::Time>().unwrap().plus_s(60);
    Posture::start_on(folder, Clock::manual(now), |options| {
        options.app.msp_id = None;
        allow_loopback(options);
    })
}
