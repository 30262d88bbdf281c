//! Checks whether the disk has space for another write. A full disk would stop redb in the middle of one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// This much free space is reserved for the system.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// A larger database reserves this fraction of its size, because a commit may grow the file by a lot
/// at once.
const FREE_SHARE: u64 = 10;
/// How long an answer of the file system is used.
const PERIOD: Duration = Duration::from_secs(1);

/// Checks the free space periodically.
#[derive(Debug)]
pub(in crate::store) struct DiskSpace {
    /// `None`: the database is not on a disk.
    file: Option<PathBuf>,
    looked_at: Option<Instant>,
    is_enough: bool,
}

impl DiskSpace {
    pub(in crate::store) fn around(file: Option<PathBuf>) -> Self {
        Self { file, looked_at: None, is_enough: true }
    }

    /// A file system that does not answer counts as one with space: the write itself will show it.
    pub(in crate::store) fn is_enough(&mut self) -> bool {
        let Some(file) = &self.file else { return true };
        if self.looked_at.is_none_or(|at| PERIOD <= at.elapsed()) {
            self.looked_at = Some(Instant::now());
            self.is_enough = match (rustix::fs::statvfs(file), std::fs::metadata(file)) {
                (Ok(disk), Ok(file)) => {
                    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
                    FREE_BYTES_MIN.max(file.len() / FREE_SHARE) <= free_bytes
                }
                (Ok(_) | Err(_), _) => true,
            };
        }
        self.is_enough
    }
}
