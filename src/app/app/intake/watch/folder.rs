//! The watch folder on disk.
//!
//! Others may write to it. Therefore no symbolic link in it is followed, also not one that takes the place of a folder
//! or file between two calls, and only regular files are opened.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, access, fstat, mkdirat, open,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::name::{self, Place, REASON_END};
use crate::error::{Error, Result};

/// A watch folder with more folders is refused.
const N_FOLDERS_MAX: usize = 20_000;
/// Files of all folders together that are looked at in one go, ...
const N_FILES_MAX: usize = 100_000;
/// ... and of one folder: those whose names come first. The others follow as these are moved.
const N_FILES_PER_FOLDER: [usize; 2] = [4, 256];
/// A file is not moved if so many of its name are there already.
const N_NUMBERS_MAX: u32 = 100_000;

const DONE: &str = "done";
const FAILED: &str = "failed";

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);
/// Opening a pipe without a writer does not block.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
/// The umask of the process, or the access list of the folder, decides what of it remains.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// Changes whenever the file is written to, replaced, or given other attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: [i128; 2],
    n_bytes: i128,
    written_at: [i128; 2],
    changed_at: [i128; 2],
}

impl Stamp {
    fn of(it: &Stat) -> Self {
        Self {
            file: [it.st_dev.into(), it.st_ino.into()],
            n_bytes: it.st_size.into(),
            written_at: [it.st_mtime.into(), it.st_mtime_nsec.into()],
            changed_at: [it.st_ctime.into(), it.st_ctime_nsec.into()],
        }
    }
}

/// What waits in the watch folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub folders: Vec<FolderListing>,
    /// Files that are in no folder.
    pub n_strays: u64,
}

#[derive(Debug)]
pub(super) struct FolderListing {
    pub name: OsString,
    /// The first ones by name.
    pub files: Vec<(OsString, Stamp)>,
    /// All of them.
    pub n_files: u64,
    /// Why the folder cannot be read.
    pub error: Option<Errno>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Imported,
    Refused { reason: String },
}

/// An attempt to open a file.
pub(super) enum Opened {
    File(File),
    /// The service may not read it.
    Unreadable {
        reason: String,
    },
    /// It is gone or was changed.
    Changed,
}

/// Checks that the service can use the folder.
///
/// # Errors
/// `Invalid` if it is no folder, or this process may not read and write it.
pub fn check(path: &Path) -> Result<()> {
    let shown = path.display();
    if !path.is_dir() {
        return Err(Error::invalid(format!("import.watch: {shown} is not a folder; create it")));
    }
    access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        Error::invalid(format!(
            "import.watch: {shown} cannot be read and written: {error}; give the user of the service access to it and to \
             the folders in it, and with systemd name it in ReadWritePaths="
        ))
    })
}

pub(super) struct WatchFolder(OwnedFd);

impl WatchFolder {
    /// # Errors
    /// `Unavailable` if it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self> {
        open(path, FOLDER, Mode::empty()).map(Self).map_err(unreadable)
    }

    /// # Errors
    /// `Unavailable` if it cannot be read; `Invalid` if it has too many folders.
    pub(super) fn list(&self) -> Result<Listing> {
        let (mut names, mut n_strays) = (BTreeSet::new(), 0);
        each_entry(&self.0, |name, kind| {
            if kind == FileType::Directory && !name::is_hidden(name) {
                names.insert(name.to_owned());
            } else if kind == FileType::RegularFile && name::is_taken(name) {
                n_strays += 1;
            }
            names.len() <= N_FOLDERS_MAX
        })
        .map_err(unreadable)?;
        if N_FOLDERS_MAX < names.len() {
            let rule = format!("the watch folder has more than {N_FOLDERS_MAX} folders");
            return Err(Error::invalid(format!("{rule}; remove those that no client needs")));
        }
        let [n_min, n_max] = N_FILES_PER_FOLDER;
        let n_files = (N_FILES_MAX / names.len().max(1)).clamp(n_min, n_max);
        let folders = names.into_iter().map(|it| self.list_folder(it, n_files)).collect();
        Ok(Listing { folders, n_strays })
    }

    fn list_folder(&self, name: OsString, n_max: usize) -> FolderListing {
        let mut listing = FolderListing { name, files: Vec::new(), n_files: 0, error: None };
        let read = self.folder(&listing.name).and_then(|folder| {
            let mut first = BTreeSet::new();
            each_entry(&folder, |name, kind| {
                if kind == FileType::RegularFile && name::is_taken(name) {
                    listing.n_files += 1;
                    first.insert(name.to_owned());
                }
                if n_max < first.len() {
                    first.pop_last();
                }
                true
            })?;
            for name in first {
                match statat(&folder, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if is_file(&stat) => listing.files.push((name, Stamp::of(&stat))),
                    Ok(_) | Err(Errno::NOENT) => (), // It was replaced or removed meanwhile.
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        listing.error = read.err();
        listing
    }

    fn folder(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
    }

    /// Opens a file, if it is still as it was.
    ///
    /// # Errors
    /// `Unavailable` if the disk fails.
    pub(super) fn open_file(&self, place: &Place, stamp: Stamp) -> Result<Opened> {
        let opened = self.folder(&place.folder).and_then(|folder| {
            openat(folder, &*place.file, FILE | OFlags::NOFOLLOW, Mode::empty())
        });
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(Opened::Changed),
            Err(error @ (Errno::ACCESS | Errno::PERM)) => {
                let reason = format!(
                    "the file cannot be read: {error}; let the user of the service read it"
                );
                return Ok(Opened::Unreadable { reason });
            }
            Err(error) => {
                return Err(Error::unavailable(format!("the file cannot be opened: {error}")));
            }
        };
        let stat = fstat(&file).map_err(Error::internal)?;
        let is_same = is_file(&stat) && Stamp::of(&stat) == stamp;
        Ok(if is_same { Opened::File(file.into()) } else { Opened::Changed })
    }

    /// Moves a file to where it belongs now, and puts the reason beside one that was refused. Returns its new name. `None`:
    /// it was changed or removed meanwhile, and stays.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be moved.
    pub(super) fn settle(
        &self,
        place: &Place,
        stamp: Stamp,
        verdict: &Verdict,
    ) -> Result<Option<OsString>> {
        let (to, reason) = match verdict {
            Verdict::Imported => (DONE, None),
            Verdict::Refused { reason } => (FAILED, Some(format!("{reason}\n"))),
        };
        let from = match self.folder(&place.folder) {
            Ok(it) => it,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(immovable(to, error)),
        };
        match statat(&from, &*place.file, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if Stamp::of(&stat) == stamp => (),
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(immovable(to, error)),
        }
        let moved = inner_folder(&from, to).and_then(|folder| {
            for number in 1..=N_NUMBERS_MAX {
                let name = name::numbered(&place.file, number);
                match put(&from, &place.file, &folder, &name, reason.as_deref()) {
                    Err(Errno::EXIST) => (),
                    put => return put.map(|()| name),
                }
            }
            Err(Errno::EXIST)
        });
        moved.map(Some).map_err(|error| immovable(to, error))
    }
}

/// Moves a file, and writes the reason first: if the process is killed between the two, the next start finds the same
/// reason again.
///
/// # Errors
/// `EXIST` if one of the names is taken.
fn put(
    from: &OwnedFd,
    file: &OsStr,
    to: &OwnedFd,
    name: &OsStr,
    reason: Option<&str>,
) -> Result<(), Errno> {
    if is_there(to, name)? {
        return Err(Errno::EXIST);
    }
    let Some(reason) = reason else { return rename_new(from, file, to, name) };
    let mut reason_name = name.to_owned();
    reason_name.push(REASON_END);
    let is_new = write_new(to, &reason_name, reason)?;
    let moved = rename_new(from, file, to, name);
    if moved.is_err() && is_new {
        // Without its file it would only mislead. The error of the move is what matters.
        let _ = unlinkat(to, &*reason_name, AtFlags::empty());
    }
    moved
}

fn rename_new(from: &OwnedFd, file: &OsStr, to: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match renameat_with(from, file, to, name, RenameFlags::NOREPLACE) {
        // This file system cannot do both at once. Nobody else is meant to write to the folder.
        Err(Errno::INVAL | Errno::NOSYS) if !is_there(to, name)? => renameat(from, file, to, name),
        Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST),
        renamed => renamed,
    }
}

/// Returns true if it wrote the file, false if one with this text was there.
fn write_new(folder: &OwnedFd, name: &OsStr, text: &str) -> Result<bool, Errno> {
    let error_of = |error: &std::io::Error| Errno::from_io_error(error).unwrap_or(Errno::IO);
    match openat(folder, name, NEW_FILE, FILE_MODE) {
        Ok(file) => {
            let mut file = File::from(file);
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            if written.is_err() {
                let _ = unlinkat(folder, name, AtFlags::empty());
            }
            written.map(|()| true).map_err(|it| error_of(&it))
        }
        Err(Errno::EXIST) => {
            let known = openat(folder, name, FILE | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|_| Errno::EXIST)?;
            let mut before = Vec::new();
            let n_bytes_max = text.len() as u64 + 1;
            let read = File::from(known).take(n_bytes_max).read_to_end(&mut before);
            let is_same = read.is_ok() && before == text.as_bytes();
            if is_same { Ok(false) } else { Err(Errno::EXIST) }
        }
        Err(error) => Err(error),
    }
}

/// The folder of this name, which is made if it is missing.
fn inner_folder(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(folder, name, FOLDER_MODE) {
        Ok(()) | Err(Errno::EXIST) => (),
        Err(error) => return Err(error),
    }
    openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
}

fn is_there(folder: &OwnedFd, name: &OsStr) -> Result<bool, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Calls `look` for each entry of a folder, until it returns false.
fn each_entry(
    folder: impl AsFd,
    mut look: impl FnMut(&OsStr, FileType) -> bool,
) -> Result<(), Errno> {
    let folder = folder.as_fd();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // It is gone if that fails.
            let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        if !look(name, kind) {
            break;
        }
    }
    Ok(())
}

fn unreadable(error: Errno) -> Error {
    Error::unavailable(format!("the watch folder cannot be read: {error}"))
}

fn immovable(to: &str, error: Errno) -> Error {
    Error::unavailable(format!("a file cannot be moved to `{to}`: {error}"))
}
