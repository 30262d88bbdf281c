//! Other people's sample files, read in place.

use std::path::PathBuf;

/// The folder of samples. `None`: it is not there, and the test says that it was passed over.
///
/// `POSTURE_SAMPLES` names it; `POSTURE_REQUIRE_SAMPLES=1` makes its absence a failure.
pub fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("POSTURE_SAMPLES").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/samples");
    let folder = named.unwrap_or_else(beside);
    if folder.is_dir() {
        return Some(folder);
    }
    let required = std::env::var_os("POSTURE_REQUIRE_SAMPLES").is_some_and(|it| it == "1");
    assert!(!required, "the samples are required, and {} is not there", folder.display());
    eprintln!("passed over: no samples in {}", folder.display());
    None
}

/// The bytes of one sample file.
pub fn read(path: &str) -> Option<Vec<u8>> {
    let folder = folder()?;
    Some(std::fs::read(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}")))
}
