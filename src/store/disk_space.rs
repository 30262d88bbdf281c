//! Whether the disk has room for another write. A full disk would stop redb in the middle of one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Free space below this is kept for what the machine needs itself.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// A larger database keeps one part of its size free in this many: a commit may grow the file by
/// much at once.
const FREE_SHARE: u64 = 10;
/// How long an answer of the file system counts.
const PERIOD: Duration = Duration::from_secs(1);

/// Looks at the file system now and then.
#[derive(Debug)]
pub(in crate::store) struct Room {
    /// `None`: not on a disk.
    file: Option<PathBuf>,
    looked_at: Option<Instant>,
    is_enough: bool,
}

impl Room {
    pub(in crate::store) fn around(file: Option<PathBuf>) -> Self {
        Self { file, looked_at: None, is_enough: true }
    }

    /// A file system that does not answer counts as one with room: the write itself will tell.
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
