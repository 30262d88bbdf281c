//! The one file of a ZIP archive.

use std::io::{BufReader, Read, Seek};

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
};

use super::{DAMAGED, Failure, Fault, Unpacked};
use crate::blocking::Cancellation;
use crate::error::{Error, Result};

/// What macOS adds of its own to an archive.
const MACOS_FOLDER: &[u8] = b"__MACOSX/";

/// An archive with one file of results in it. Folders are not counted, and neither is what macOS adds.
pub struct Archive<A> {
    inner: ZipArchive<A>,
    entry: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// Finds the file in an archive.
///
/// # Errors
/// `Invalid` if the archive is damaged, if it does not have exactly one file, or if that cannot be read. The message says
/// what to do.
pub fn open(file: impl Read + Seek, cancellation: &Cancellation) -> Result<Archive<impl ReaderAt>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let inner = ZipArchive::from_seekable(file, &mut buffer).map_err(|it| damaged(&it))?;
    let mut entries = inner.entries(&mut buffer);
    let mut found = None;
    while let Some(entry) = entries.next_entry().map_err(|it| damaged(&it))? {
        cancellation.check()?;
        if entry.is_dir() || entry.file_path().as_bytes().starts_with(MACOS_FOLDER) {
            continue;
        }
        if found.is_some() {
            return refused("the archive has more than one file in it; unpack it and import each");
        }
        found = Some((entry.wayfinder(), entry.compression_method(), entry.flags()));
    }
    let Some((entry, method, flags)) = found else {
        return refused("the archive has no file in it");
    };
    if flags.is_encrypted() {
        return refused("the file in the archive is encrypted; unpack it first");
    }
    if method != CompressionMethod::STORE && method != CompressionMethod::DEFLATE {
        return refused("the file in the archive is not compressed with deflate; unpack it first");
    }
    Ok(Archive { inner, entry, method })
}

impl<A: ReaderAt> Archive<A> {
    /// What is in its file.
    ///
    /// # Errors
    /// `Invalid` if the archive is damaged.
    pub fn unpacked<'a>(&'a self, fault: &'a Fault) -> Result<impl Read + 'a> {
        let entry = self.inner.get_entry(self.entry).map_err(|it| damaged(&it))?;
        let packed = BufReader::new(entry.reader());
        let inner: Box<dyn Read + 'a> = if self.method == CompressionMethod::STORE {
            Box::new(packed)
        } else {
            Box::new(DeflateDecoder::new(packed))
        };
        let inner = entry.verifying_reader(inner);
        Ok(Unpacked { inner, failure: Failure::default(), n_bytes: 0, fault })
    }
}

fn refused<T>(reason: &'static str) -> Result<T> {
    Err(Error::invalid(reason))
}

fn damaged(_: &rawzip::Error) -> Error {
    Error::invalid(DAMAGED)
}
