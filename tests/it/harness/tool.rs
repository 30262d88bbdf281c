//! Third-party tools, in the cache folder where `tests/tools` installs them.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// True where a missing tool must fail its test: `POSTURE_REQUIRE_TOOLS=1`.
pub fn are_required() -> bool {
    std::env::var_os("POSTURE_REQUIRE_TOOLS").is_some_and(|it| it == "1")
}

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    named.unwrap_or_else(home).join("posture-tests")
}

/// The folder of the Node packages that the lock file names.
pub fn npm() -> PathBuf {
    let digest = Sha256::digest(include_bytes!("../../data/npm/package-lock.json"));
    let first = u64::from_be_bytes(digest[..8].try_into().unwrap());
    let folder = cache().join(format!("npm-{:012x}", first >> 16));
    assert!(folder.is_dir(), "{} is missing; tests/tools installs it", folder.display());
    folder
}

/// A Python with the package standardwebhooks. `None`: it is not installed.
pub fn python() -> Option<PathBuf> {
    let python = cache().join("venv-standardwebhooks-1.0.1/bin/python");
    python.is_file().then_some(python)
}
