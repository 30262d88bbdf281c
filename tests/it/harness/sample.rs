//! Sample files: our own, which are in the repository, and other people's, which are not.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The folder of the repository, whose package it may be that is tested.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|it| it.join("Cargo.lock").is_file()).unwrap()
}

/// The folder of our own samples.
pub fn own_folder() -> PathBuf {
    root().join("tests/data/samples")
}

/// The bytes of one of our own samples.
pub fn own(path: &str) -> Vec<u8> {
    read(&own_folder(), path)
}

/// The folder of other people's samples: what `POSTURE_SAMPLES` names, or one beside the repository.
///
/// # Panics
/// When it is not there. Only tests in a module named `needs_samples` ask for it.
pub fn foreign_folder() -> PathBuf {
    let named = std::env::var_os("POSTURE_SAMPLES").map(PathBuf::from);
    let beside = || root().join("../shared/samples");
    let folder = named.unwrap_or_else(beside);
    assert!(folder.is_dir(), "no samples in {}; set POSTURE_SAMPLES", folder.display());
    folder
}

/// The bytes of one of other people's samples.
pub fn foreign(path: &str) -> Vec<u8> {
    read(&foreign_folder(), path)
}

/// Of a compressed one, what is in it.
fn read(folder: &Path, path: &str) -> Vec<u8> {
    let bytes = fs::read(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    if Path::new(path).extension().is_none_or(|it| it != "gz") {
        return bytes;
    }
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut whole).unwrap();
    whole
}
