//! What callers send that is too large to be kept in memory while it arrives, and the places to read it.
//!
//! It arrives on disk, as slowly as the caller sends it, and takes a place only once it is there completely.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking::{self, Cancellation};
use crate::error::{Error, Result};
use crate::fair_limit::{Exhausted, FairLimit, FairPermit, permit};
use crate::id::IngestionId;
use crate::store::{AccountKey, NamedFile, SpoolFile};

/// Uploads at the same time, of all accounts together.
pub const N_UPLOADS_MAX: usize = 256;
/// An account has one upload at a time, from its first byte to the end of its request.
const N_UPLOADS_PER_ACCOUNT: usize = 1;
/// How long an upload waits until the account's other one is done.
const UPLOAD_WAIT: Duration = Duration::from_secs(10);
/// When the caller may try again after that.
const UPLOAD_RETRY_S: u32 = 10;
/// Uploaded files that are read at the same time.
pub const N_FILES_MAX: usize = 4;
/// Uploaded facts that are read at the same time. They are in memory as a whole meanwhile.
pub const N_FACTS_MAX: usize = 4;
/// A file that takes longer to read is refused, so that a place is free again in time.
pub const READ_TIME_MAX: Duration = Duration::from_mins(5);
/// How long a complete upload waits for a place to be read.
const READ_WAIT: Duration = Duration::from_secs(30);

/// Limits on what is received and read at the same time.
pub struct UploadLimits {
    uploads: FairLimit<AccountKey>,
    files: Arc<Semaphore>,
    facts: Arc<Semaphore>,
    service: Cancellation,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self {
            uploads: FairLimit::new(N_UPLOADS_MAX, N_UPLOADS_PER_ACCOUNT),
            files: Arc::new(Semaphore::new(N_FILES_MAX)),
            facts: Arc::new(Semaphore::new(N_FACTS_MAX)),
            service: Cancellation::default(),
        }
    }
}

/// An upload that is arriving. Dropping it removes what has arrived.
pub struct ArrivingUpload {
    file: SpoolFile,
    bytes_max: u64,
    permit: FairPermit,
}

/// An upload that is there completely. The account's next one starts when it is dropped.
pub struct Upload {
    file: File,
    n_bytes: u64,
    named: Option<NamedFile>,
    _permit: FairPermit,
}

impl ArrivingUpload {
    /// # Errors
    /// `TooLarge`; `Unavailable` if the disk is nearly full.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.bytes_max < self.file.n_bytes() + bytes.len() as u64 {
            return Err(too_large(self.bytes_max));
        }
        self.file.write(bytes).await
    }

    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    pub async fn finish(self) -> Result<Upload> {
        let n_bytes = self.file.n_bytes();
        let (file, named) = self.file.finish().await?;
        Ok(Upload { file, n_bytes, named, _permit: self.permit })
    }
}

impl Upload {
    /// The file, for one reader.
    ///
    /// # Errors
    /// `Internal` if the process has too many files open.
    pub fn reader(&self) -> Result<File> {
        self.file.try_clone().map_err(Error::internal)
    }

    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Leaves the file on disk, if it has a name.
    pub(in crate::app) fn keep(self) {
        if let Some(named) = self.named {
            named.keep();
        }
    }
}

/// The error of a file that is larger than `bytes_max`.
#[must_use]
pub fn too_large(bytes_max: u64) -> Error {
    let (n, unit) =
        if bytes_max < 1 << 20 { (bytes_max >> 10, "KiB") } else { (bytes_max >> 20, "MiB") };
    Error::too_large(format!("the file is larger than {n} {unit}"))
}

impl App {
    /// Begins an upload of at most `bytes_max` bytes, once the account has no other in progress.
    ///
    /// # Errors
    /// `RateLimited` if the account's other upload is not done in time; `Unavailable` if there are too many uploads, or if
    /// the disk does not accept it.
    pub async fn begin_upload(&self, by: &Caller, bytes_max: u64) -> Result<ArrivingUpload> {
        let permit = self.upload_permit(by).await?;
        Ok(ArrivingUpload { file: self.store.create_spool_file().await?, bytes_max, permit })
    }

    /// [`App::begin_upload`] of a file that can be kept.
    ///
    /// # Errors
    /// As there.
    pub(in crate::app) async fn begin_ingestion_upload(
        &self,
        by: &Caller,
        bytes_max: u64,
        id: IngestionId,
    ) -> Result<ArrivingUpload> {
        let permit = self.upload_permit(by).await?;
        let file = self.store.create_ingestion_file(id).await?;
        Ok(ArrivingUpload { file, bytes_max, permit })
    }

    async fn upload_permit(&self, by: &Caller) -> Result<FairPermit> {
        let permit = self.uploads.uploads.acquire(by.account().key(), UPLOAD_WAIT).await;
        permit.map_err(|exhausted| match exhausted {
            Exhausted::ByHolder => Error::too_many(
                format!(
                    "another upload of this account is in progress; send imports, and facts above 64 KiB, one after \
                     the other (retry after {UPLOAD_RETRY_S} s)"
                ),
                UPLOAD_RETRY_S,
            ),
            Exhausted::ByAll => Error::unavailable("too many uploads are in progress; try again later"),
        })
    }

    /// Reads an uploaded file on a thread that may block. The work is canceled when its caller disconnects.
    ///
    /// # Errors
    /// Those of `work`; `Unavailable` if too many files are waiting, or if the work is canceled.
    pub async fn read_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancellation) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let busy = "too many imports are in progress; try again later";
        self.read_upload(&self.uploads.files, busy, work).await
    }

    /// [`App::read_file`] for uploaded facts.
    ///
    /// # Errors
    /// As there.
    pub async fn read_facts<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancellation) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let busy = "too many bodies above 64 KiB are being read; try again later";
        self.read_upload(&self.uploads.facts, busy, work).await
    }

    async fn read_upload<T: Send + 'static>(
        &self,
        places: &Arc<Semaphore>,
        busy: &'static str,
        work: impl FnOnce(&Cancellation) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = permit(places, Instant::now() + READ_WAIT).await;
        let place = place.ok_or_else(|| Error::unavailable(busy))?;
        blocking::run_cancelable(place, self.long_work().within_time(READ_TIME_MAX), work).await
    }

    /// Of long work for one caller, or of the service itself. It is canceled when the service stops.
    pub(in crate::app) fn long_work(&self) -> Cancellation {
        Cancellation::within(&self.uploads.service)
    }

    /// Cancels the reading of uploads and other long work, because the service stops.
    pub fn cancel_long_work(&self) {
        self.uploads.service.cancel_all();
    }
}
