//! A disk of a size that a test chooses.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const DISK_MIB: u64 = 400;
const MIB: u64 = 1024 * 1024;

/// A small disk. Dropping it takes it away.
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    pub(crate) fn mount() -> Self {
        let folder = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m"), "posture-test"]);
        assert!(mount.arg(folder.path()).status().unwrap().success());
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves about so much free space.
    pub(crate) fn leave_mib(&self, free_mib: u64) {
        let file = self.path().join("filler");
        drop(std::fs::remove_file(&file));
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        let filled = (disk.f_bavail * disk.f_frsize).saturating_sub(free_mib * MIB);
        let file = File::create(file).unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, filled).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(self.path()).status());
    }
}
