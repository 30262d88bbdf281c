//! Files that arrive from callers, kept on disk until they are there completely.
//!
//! A file has no name from its first byte on, so that the system takes its space back whatever happens to the process. A
//! file that is to outlive the process has the name of what it is for.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncWriteExt, BufWriter};

use crate::blocking;
use crate::error::{Error, Result};
use crate::id::IngestionId;
use crate::secret;
use crate::store::{Store, disk_space};

/// A file leaves this much more free space than writes to the database need.
const MARGIN_BYTES: u64 = 256 * 1024 * 1024;
/// The free space is looked at whenever so much of a file has arrived. A smaller file is not refused for lack of it.
const CHECK_EVERY_BYTES: u64 = 1024 * 1024;
/// Bytes that are written to disk at once.
const BUFFER_BYTES: usize = 256 * 1024;
const PREFIX: &str = "upload-";
/// Begins the names of files that wait for their ingestion.
const KEPT_PREFIX: &str = "ingest-";
/// Begins the names of databases that are being written to or read from a backup.
pub(in crate::store) const SCRATCH_PREFIX: &str = "scratch-";
/// Random bytes in the name of an arriving file.
const NAME_BYTES: usize = 16;
/// Random bytes in the name of a database that begins with [`SCRATCH_PREFIX`].
pub(in crate::store) const SCRATCH_NAME_BYTES: usize = 8;

/// Where arriving files are kept.
#[derive(Debug)]
pub(in crate::store) struct Spool {
    folder: PathBuf,
    /// The folder is the data directory.
    is_own: bool,
    /// `None`: the database is not on a disk of this host.
    database: Option<PathBuf>,
}

/// A file that is arriving. Dropping it removes it.
#[derive(Debug)]
pub struct SpoolFile {
    file: BufWriter<tokio::fs::File>,
    n_bytes: u64,
    database: Option<PathBuf>,
    /// `None`: it has no name.
    named: Option<NamedFile>,
}

/// The name of a file. Dropping it removes the file, unless it is kept.
#[derive(Debug)]
pub struct NamedFile {
    path: PathBuf,
    is_kept: bool,
}

impl NamedFile {
    /// Leaves the file where it is.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for NamedFile {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

impl Spool {
    /// In the data directory; a database without one has its files in the system's folder for them.
    pub(in crate::store) fn of(dir: Option<&Path>, database: Option<PathBuf>) -> Self {
        let folder = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { folder, is_own: dir.is_some(), database }
    }

    /// Where files of this process may be.
    pub(in crate::store) fn folder(&self) -> &Path {
        &self.folder
    }

    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    pub(in crate::store) fn create(&self) -> Result<SpoolFile> {
        let file = create_unnamed(&self.folder).map_err(refused)?;
        Ok(self.spool_file(file, None))
    }

    /// A file that stays until the ingestion is done.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    fn create_for(&self, id: IngestionId) -> Result<SpoolFile> {
        let path = self.path_of(id);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(refused)?;
        Ok(self.spool_file(file, Some(NamedFile { path, is_kept: false })))
    }

    fn spool_file(&self, file: File, named: Option<NamedFile>) -> SpoolFile {
        let file = BufWriter::with_capacity(BUFFER_BYTES, tokio::fs::File::from_std(file));
        SpoolFile { file, n_bytes: 0, database: self.database.clone(), named }
    }

    fn path_of(&self, id: IngestionId) -> PathBuf {
        self.folder.join(format!("{KEPT_PREFIX}{}", hex::encode(id.as_bytes())))
    }

    /// The ingestions that have a file. None without a data directory: the folder is everybody's.
    fn list_kept(&self) -> io::Result<Vec<IngestionId>> {
        let mut ids = Vec::new();
        if !self.is_own {
            return Ok(ids);
        }
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let digits = name.to_str().and_then(|it| it.strip_prefix(KEPT_PREFIX));
            let mut id = [0; 16];
            if digits.is_some_and(|it| hex::decode_to_slice(it, &mut id).is_ok()) {
                ids.push(IngestionId::from_bytes(id));
            }
        }
        Ok(ids)
    }
}

impl Store {
    /// Makes a file for the findings of an ingestion.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    pub async fn create_ingestion_file(&self, id: IngestionId) -> Result<SpoolFile> {
        let store = self.clone();
        blocking::run((), move || store.inner.spool.create_for(id)).await
    }

    /// `None`: it is not there.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be opened.
    pub async fn open_ingestion_file(&self, id: IngestionId) -> Result<Option<File>> {
        let store = self.clone();
        let open = move || match File::open(store.inner.spool.path_of(id)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(error)),
        };
        blocking::run((), open).await
    }

    /// # Errors
    /// `Unavailable` if it cannot be removed.
    pub async fn remove_ingestion_file(&self, id: IngestionId) -> Result<()> {
        let store = self.clone();
        let remove = move || match std::fs::remove_file(store.inner.spool.path_of(id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(refused(error)),
            Ok(()) | Err(_) => Ok(()),
        };
        blocking::run((), remove).await
    }

    /// The ingestions that have a file.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be read.
    pub async fn list_ingestion_files(&self) -> Result<Vec<IngestionId>> {
        let store = self.clone();
        blocking::run((), move || store.inner.spool.list_kept().map_err(refused)).await
    }
}

/// Removes files and folders whose process ended before it removed them.
pub(in crate::store) fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_leftover) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Only whole names: other files that begin like them belong to people.
fn is_leftover(name: &str) -> bool {
    let names = [(PREFIX, NAME_BYTES), (SCRATCH_PREFIX, SCRATCH_NAME_BYTES)];
    names.iter().any(|(prefix, n_bytes)| {
        name.strip_prefix(prefix).is_some_and(|it| {
            it.len() == 2 * n_bytes
                && it.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
        })
    })
}

fn create_unnamed(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("{PREFIX}{}", hex::encode(secret::random::<NAME_BYTES>())));
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

impl SpoolFile {
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// # Errors
    /// `Unavailable` if the disk is nearly full or does not accept it.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let n_bytes = self.n_bytes + bytes.len() as u64;
        let is_due = self.n_bytes / CHECK_EVERY_BYTES < n_bytes / CHECK_EVERY_BYTES;
        if is_due && let Some(database) = &self.database {
            let space = disk_space::measure(database);
            if space.is_some_and(|it| it.free_bytes < it.needed_bytes + MARGIN_BYTES) {
                return Err(full());
            }
        }
        self.file.write_all(bytes).await.map_err(refused)?;
        self.n_bytes = n_bytes;
        Ok(())
    }

    /// Returns the file, to be read from its start, and its name if it has one. A file with a name survives a power failure.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    pub async fn finish(mut self) -> Result<(File, Option<NamedFile>)> {
        self.file.flush().await.map_err(refused)?;
        let mut file = self.file.into_inner().into_std().await;
        file.rewind().map_err(refused)?;
        let Some(named) = self.named else { return Ok((file, None)) };
        let sync = move || {
            file.sync_all().map_err(refused)?;
            let folder = named.path.parent().map_or(Ok(()), |it| File::open(it)?.sync_all());
            folder.map_err(refused)?;
            Ok((file, Some(named)))
        };
        blocking::run((), sync).await
    }
}

fn refused(error: io::Error) -> Error {
    if error.kind() == ErrorKind::StorageFull {
        return full();
    }
    Error::unavailable("the upload cannot be stored; try again later").caused_by(error)
}

fn full() -> Error {
    Error::unavailable("the disk is nearly full; uploads are refused until space is free")
}
