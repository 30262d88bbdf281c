//! The file that a command writes. It appears under its name when it is complete.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// `example`: the name of such a file.
///
/// # Errors
/// `Invalid` if there is something other than a file, which the export could not or should not replace.
pub(super) fn require_replaceable(target: &Path, example: &str) -> Result<()> {
    match std::fs::metadata(target) {
        Ok(it) if it.is_dir() => Err(Error::invalid(format!(
            "{} is a directory; name a file in it, such as {}",
            target.display(),
            target.join(example).display()
        ))),
        Ok(it) if !it.is_file() => Err(Error::invalid(format!(
            "{} is not a regular file; use --output - to write to standard output",
            target.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The file beside the final one that an export is written to. It is removed unless it is renamed.
pub(super) struct PartFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    is_renamed: bool,
}

impl PartFile {
    pub(super) fn create(target: &Path) -> Result<Self> {
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let path = target.with_file_name(name);
        let made = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = made.map_err(|it| unwritable(path.display(), &it))?;
        Ok(Self { path, file, is_renamed: false })
    }

    pub(super) fn rename(mut self, target: &Path) -> Result<()> {
        std::fs::rename(&self.path, target).map_err(|it| unwritable(target.display(), &it))?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            // The error that led here is reported.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

pub(super) fn unwritable(name: impl Display, error: &io::Error) -> Error {
    Error::invalid(format!("{name}: cannot be written: {error}"))
}
