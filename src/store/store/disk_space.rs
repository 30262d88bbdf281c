//! Checks whether the disk has space for another write. A full disk would stop the engine in the middle of one.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// This much free space is reserved for the system, and for writes that must not wait for space.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// A larger database reserves this fraction of its size, because a commit may grow the file by a lot
/// at once.
const FREE_SHARE: u64 = 10;
/// With less, even writes that may use the reserve are refused.
const RESERVE_BYTES_MIN: u64 = 32 * 1024 * 1024;
/// How long an answer of the file system is used.
const PERIOD: Duration = Duration::from_secs(1);

/// How much space there is for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Space {
    Enough,
    /// Only for those that may use the reserve: revocations, removals, and the results of what was done already.
    ReserveOnly,
    Exhausted,
}

/// The free space, and how much of it must stay free for writes to be accepted.
pub(in crate::store) struct Measure {
    pub(in crate::store) free_bytes: u64,
    pub(in crate::store) needed_bytes: u64,
}

/// The free space around a file or folder. `None`: the file system does not answer.
pub(in crate::store) fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Less space than is needed.
pub(in crate::store) struct Shortage {
    pub(in crate::store) free_mib: u64,
    pub(in crate::store) needed_mib: u64,
}

/// What is missing for so many bytes in a folder. On the disk of the database, the space that its writes need stays free. A
/// file system that does not answer counts as one with space: the writing will show it.
pub(in crate::store) fn find_shortage(
    folder: &Path,
    n_bytes: u64,
    database: Option<&Path>,
) -> Option<Shortage> {
    let free_bytes = free_bytes(folder)?;
    let disk = |it: &Path| std::fs::metadata(it).ok().map(|it| it.dev());
    let reserved = database.filter(|it| disk(it) == disk(folder)).and_then(measure);
    let needed_bytes = n_bytes + reserved.map_or(0, |it| it.needed_bytes);
    (free_bytes < needed_bytes).then(|| Shortage {
        free_mib: free_bytes >> 20,
        needed_mib: needed_bytes.div_ceil(1 << 20),
    })
}

/// `None`: the file system does not answer.
pub(in crate::store) fn measure(file: &Path) -> Option<Measure> {
    let data = std::fs::metadata(file).ok()?;
    Some(Measure {
        free_bytes: free_bytes(file)?,
        needed_bytes: FREE_BYTES_MIN.max(data.len() / FREE_SHARE),
    })
}

/// Checks the free space periodically.
#[derive(Debug)]
pub(in crate::store) struct DiskSpace {
    /// `None`: the database is not on a disk.
    file: Option<PathBuf>,
    looked_at: Option<Instant>,
    space: Space,
}

impl DiskSpace {
    pub(in crate::store) fn around(file: Option<PathBuf>) -> Self {
        Self { file, looked_at: None, space: Space::Enough }
    }

    /// A file system that does not answer counts as one with space: the write itself will show it.
    pub(in crate::store) fn check(&mut self) -> Space {
        let Some(file) = &self.file else { return Space::Enough };
        if self.looked_at.is_some_and(|at| at.elapsed() < PERIOD) {
            return self.space;
        }
        self.looked_at = Some(Instant::now());
        let Some(Measure { free_bytes, needed_bytes }) = measure(file) else {
            self.space = Space::Enough;
            return self.space;
        };
        let before = self.space;
        self.space = match free_bytes {
            _ if needed_bytes <= free_bytes => Space::Enough,
            _ if RESERVE_BYTES_MIN <= free_bytes => Space::ReserveOnly,
            _ => Space::Exhausted,
        };
        let folder = file.parent().unwrap_or(file).display();
        let (free_mib, needed_mib) = (free_bytes >> 20, needed_bytes.div_ceil(1 << 20));
        match self.space {
            now if now == before => (),
            Space::Enough => tracing::info!(
                free_mib,
                needed_mib,
                "the disk has space again ({free_mib} MiB in {folder}): all writes are accepted"
            ),
            Space::ReserveOnly => tracing::warn!(
                free_mib,
                needed_mib,
                "the disk is nearly full: {free_mib} MiB are free in {folder}, {needed_mib} MiB are \
                needed. Until then only revocations, removals and results of deliveries are written"
            ),
            Space::Exhausted => tracing::warn!(
                free_mib,
                needed_mib,
                "the disk is full: {free_mib} MiB are free in {folder}, {needed_mib} MiB are needed. \
                Until then nothing is written"
            ),
        }
        self.space
    }
}
