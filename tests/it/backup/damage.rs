//! Backups with bits that flipped on the way.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use posture::error::Code;
use posture::store::backup::compact_file;
use tempfile::TempDir;

use super::{Job, Restored, made, open_store, restored, world};
use crate::harness::START;
use crate::harness::backend::Random;

/// Flips of each kind of file. `POSTURE_BIT_FLIPS` names another number.
const N_FLIPS: u64 = 200;
const PAGE_BYTES: usize = 4_096;
/// What a backup ends with, after the pages of the database.
const TRAILER_BYTES: usize = 40;
const CACHE_BYTES: usize = 1 << 20;
const N_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

fn n_flips() -> u64 {
    let named = std::env::var_os("POSTURE_BIT_FLIPS").map(|it| it.into_string().unwrap());
    named.map_or(N_FLIPS, |it| it.parse().unwrap())
}

fn flipped(whole: &[u8], at: usize, bit: u64) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 1 << bit;
    bytes
}

/// Restores a backup into a folder that is not there yet. As the harness does, it tries again while a process that another
/// test starts holds the lock of a file that was just closed.
fn tried(file: &Path, dir: &Path) -> posture::error::Result<Restored> {
    for _ in 0..N_TRIES {
        match restored(file, dir) {
            Err(error) if error.code == Code::Conflict => sleep(PAUSE),
            done => return done,
        }
    }
    restored(file, dir)
}

/// Restores the bytes; the digest of what is then there. `None`: they are refused.
fn digest_of(bytes: &[u8], place: &Path) -> Option<String> {
    let (file, dir) = (place.join("flipped.redb"), place.join("data"));
    std::fs::write(&file, bytes).unwrap();
    let restored = tried(&file, &dir);
    let digest = restored.ok().map(|restored| {
        let store = open_store(&dir, START.parse().unwrap());
        let contents = store.contents(&Job::default()).unwrap();
        store.close();
        assert_eq!(contents, restored.contents);
        contents.digest.to_string()
    });
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    digest
}

/// Why these bytes cannot be restored.
fn refusal(bytes: &[u8], place: &Path) -> String {
    let (file, dir) = (place.join("flipped.redb"), place.join("data"));
    std::fs::write(&file, bytes).unwrap();
    let refused = tried(&file, &dir).expect_err("no byte of a backup may differ");
    assert!(!dir.join("posture.redb").exists());
    let message = refused.message().to_owned();
    message.strip_prefix(&format!("{}: ", file.display())).unwrap().to_owned()
}

#[test]
fn a_backup_with_a_flipped_bit_is_refused() {
    let posture = world();
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let view = made(&posture, &file);
    drop(posture);
    let whole = std::fs::read(&file).unwrap();
    assert_eq!(whole.len() % PAGE_BYTES, TRAILER_BYTES);
    let right = view["contents"]["digest"].as_str().unwrap();
    assert_eq!(digest_of(&whole, place.path()).unwrap(), right);
    let mut random = Random::from_seed(20_261_123);
    let changed = "is damaged: it is not what was written; use another backup";
    for _ in 0..n_flips() {
        let at = usize::try_from(random.below(whole.len() as u64)).unwrap();
        let bit = random.below(8);
        let said = refusal(&flipped(&whole, at, bit), place.path());
        assert!(said == changed || whole.len() - TRAILER_BYTES <= at, "byte {at}: {said}");
    }
    for at in whole.len() - TRAILER_BYTES..whole.len() {
        let said = refusal(&flipped(&whole, at, at as u64 % 8), place.path());
        assert!(said.starts_with("is damaged") && said.ends_with("; use another backup"), "{said}");
    }
    for n_missing in [1, TRAILER_BYTES, TRAILER_BYTES + 1, PAGE_BYTES, whole.len() / 2] {
        let said = refusal(&whole[..whole.len() - n_missing], place.path());
        assert!(said.starts_with("is damaged"), "{n_missing} bytes fewer: {said}");
    }
    let said = refusal(&whole[..whole.len() - TRAILER_BYTES], place.path());
    assert_eq!(said, "is damaged: its end is missing; use another backup");
}

#[test]
fn a_flipped_bit_in_a_copy_of_a_database_is_refused_or_changes_nothing() {
    let dir = world().into_dir();
    let place = TempDir::new().unwrap();
    // Without pages of earlier states, in which a flip changes nothing.
    compact_file(dir.path(), CACHE_BYTES).unwrap();
    let whole = std::fs::read(dir.path().join("posture.redb")).unwrap();
    let right = digest_of(&whole, place.path()).unwrap();
    let used: Vec<usize> = whole
        .chunks(PAGE_BYTES)
        .enumerate()
        .filter(|(_, it)| it.iter().any(|it| *it != 0))
        .map(|(index, _)| index * PAGE_BYTES)
        .collect();
    let n_flips = n_flips();
    let mut random = Random::from_seed(20_261_123);
    let (mut n_refused, mut n_harmless) = (0, 0);
    for n in 0..n_flips {
        let page = used[usize::try_from(random.below(used.len() as u64)).unwrap()];
        // The first page says where everything is.
        let page = if n % 10 == 0 { 0 } else { page };
        let at = page + usize::try_from(random.below(PAGE_BYTES as u64)).unwrap();
        let at = at.min(whole.len() - 1);
        let bit = random.below(8);
        match digest_of(&flipped(&whole, at, bit), place.path()) {
            None => n_refused += 1,
            Some(digest) => {
                assert_eq!(digest, right, "bit {bit} of byte {at}");
                n_harmless += 1;
            }
        }
    }
    println!("{n_refused} refused, {n_harmless} harmless");
    assert!(n_flips / 4 < n_refused, "{n_refused} refused, {n_harmless} harmless");
}
