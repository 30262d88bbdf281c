//! Backups with bits that flipped on the way.

use std::path::Path;

use tempfile::TempDir;

use super::{Job, made, open_store, restored, world};
use crate::harness::START;
use crate::harness::backend::Random;

/// `POSTURE_BIT_FLIPS` names another number.
const N_FLIPS: u64 = 200;
const PAGE_BYTES: usize = 4_096;

/// Restores the bytes; the digest of what is then there. `None`: they are refused.
fn digest_of(bytes: &[u8], place: &Path) -> Option<String> {
    let (file, dir) = (place.join("flipped.redb"), place.join("data"));
    std::fs::write(&file, bytes).unwrap();
    let restored = restored(&file, &dir);
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

#[test]
fn a_flipped_bit_is_refused_or_changes_nothing() {
    let posture = world();
    let place = TempDir::new().unwrap();
    let file = place.path().join("one.redb");
    let view = made(&posture, &file);
    drop(posture);
    let whole = std::fs::read(&file).unwrap();
    let right = view["contents"]["digest"].as_str().unwrap();
    assert_eq!(digest_of(&whole, place.path()).unwrap(), right);
    let used: Vec<usize> = whole
        .chunks(PAGE_BYTES)
        .enumerate()
        .filter(|(_, it)| it.iter().any(|it| *it != 0))
        .map(|(index, _)| index * PAGE_BYTES)
        .collect();
    let named = std::env::var_os("POSTURE_BIT_FLIPS").map(|it| it.into_string().unwrap());
    let n_flips = named.map_or(N_FLIPS, |it| it.parse().unwrap());
    let mut random = Random::from_seed(20_261_123);
    let (mut n_refused, mut n_harmless) = (0, 0);
    for n in 0..n_flips {
        let page = used[usize::try_from(random.below(used.len() as u64)).unwrap()];
        // The first page says where everything is.
        let page = if n % 10 == 0 { 0 } else { page };
        let at = page + usize::try_from(random.below(PAGE_BYTES as u64)).unwrap();
        let at = at.min(whole.len() - 1);
        let bit = random.below(8);
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        match digest_of(&bytes, place.path()) {
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
