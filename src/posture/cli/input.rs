//! Files that a command reads or sends. `-` is standard input.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{ErrorKind, stdin};
use std::os::fd::AsFd;
use std::path::Path;

use indicatif::ProgressBar;
use poem::Body;
use serde_json::Value;

use super::call::{Call, ServerSession};
use super::print;

use crate::bounded_file;
use crate::encoding;
use crate::error::{Error, Result};

/// Returns true if the file is standard input.
pub(super) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// What messages call the file.
pub(super) fn name(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

/// # Errors
/// `Invalid` if the file cannot be read or is longer.
pub(super) fn bytes(file: &Path, n_bytes_max: usize) -> Result<Vec<u8>> {
    let name = name(file);
    let read = if is_stdin(file) {
        bounded_file::read_from(stdin().lock(), n_bytes_max as u64)
    } else {
        bounded_file::read(file, n_bytes_max as u64)
    };
    read.map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return Error::invalid(format!("{name}: must have at most {n_bytes_max} bytes"));
        }
        Error::invalid(format!("cannot read {name}: {error}"))
    })
}

/// # Errors
/// As [`bytes`]; `Invalid` if the content is not UTF-8.
pub(super) fn text(file: &Path, n_bytes_max: usize) -> Result<String> {
    encoding::owned_text(bytes(file, n_bytes_max)?)
        .map_err(|why| Error::invalid(format!("{}: the file {why}", name(file))))
}

/// What the file is called where it is sent.
pub(super) fn file_name(file: &Path) -> Cow<'_, str> {
    let name =
        if is_stdin(file) { OsStr::new("stdin") } else { file.file_name().unwrap_or_default() };
    name.to_string_lossy()
}

/// Sends a file as the body of a request, and shows how far it is.
///
/// # Errors
/// `Invalid` if the file cannot be read; those of the call.
pub(super) async fn send(session: &ServerSession, file: &Path, target: String) -> Result<Value> {
    let (content, bar) = open(file).await?;
    let call = Call {
        method: "POST",
        path: target,
        content_type: "application/octet-stream",
        body: Body::from_async_read(bar.wrap_async_read(content)),
    };
    let answer = session.call(call).await;
    bar.finish_and_clear();
    answer
}

/// A file, or standard input, and how far it is read.
async fn open(path: &Path) -> Result<(tokio::fs::File, ProgressBar)> {
    let unreadable = |error: std::io::Error| Error::invalid(format!("cannot be read: {error}"));
    if is_stdin(path) {
        let input = stdin().as_fd().try_clone_to_owned().map_err(unreadable)?;
        return Ok((std::fs::File::from(input).into(), ProgressBar::hidden()));
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let metadata = file.metadata().await.map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Error::invalid("is a directory; pass a file"));
    }
    let style = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    Ok((file, print::progress(metadata.len(), style)))
}
