//! Unpacks a compressed file while it is read, and never more than [`UNPACKED_BYTES_MAX`] of it.
//!
//! What is unpacked is not unpacked again.

mod member;
mod zip;
mod zstd;

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};
use std::rc::Rc;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;

use crate::error::Error;
use member::Members;

pub use zip::{Archive, open};

/// A file that unpacks to more is refused.
pub const UNPACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Streams that a compressed file may consist of, however little they give. Each takes time to begin.
pub const N_STREAMS_FREE: u64 = 1_000;
/// A further stream is allowed for each of these bytes that were unpacked.
pub const STREAM_BYTES_MIN: u64 = 4 * 1024;

const DAMAGED: &str = "the compressed file is truncated or damaged; copy it again";

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Stream(StreamPacking),
    /// An archive with one file in it.
    Zip,
}

/// What is unpacked from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPacking {
    Gzip,
    Bzip2,
    Zstd,
}

/// How a file that starts so is compressed. `None`: it is not.
#[must_use]
pub const fn detect(start: &[u8]) -> Option<Packing> {
    match start {
        [0x1f, 0x8b, ..] => Some(Packing::Stream(StreamPacking::Gzip)),
        [b'B', b'Z', b'h', ..] => Some(Packing::Stream(StreamPacking::Bzip2)),
        // A frame, or one that is skipped.
        [0x28, 0xb5, 0x2f, ..] | [0x50..=0x5f, 0x2a, 0x4d, ..] => {
            Some(Packing::Stream(StreamPacking::Zstd))
        }
        // An entry, or the end of an archive that has none.
        [b'P', b'K', 3 | 5, ..] => Some(Packing::Zip),
        _ => None,
    }
}

/// Why a compressed file cannot be read on. A reader of it gets only an error of its input, and says something else.
#[derive(Default)]
pub struct Fault(Cell<Option<Error>>);

impl Fault {
    /// The reason for which reading failed, if it is this.
    #[must_use]
    pub fn take(&self) -> Option<Error> {
        self.0.take()
    }

    fn set(&self, error: Error) -> io::Error {
        let failure = io::Error::new(ErrorKind::InvalidData, error.message().to_owned());
        self.0.set(Some(error));
        failure
    }
}

/// What is in a compressed stream.
pub fn stream<'a>(
    packing: StreamPacking,
    packed: impl BufRead + 'a,
    fault: &'a Fault,
) -> impl Read + 'a {
    let failure = Failure::default();
    let packed = Packed { inner: packed, failure: Rc::clone(&failure) };
    let inner: Box<dyn Read + 'a> = match packing {
        StreamPacking::Gzip => Box::new(Members::<_, GzDecoder<_>>::new(packed)),
        StreamPacking::Bzip2 => Box::new(Members::<_, BzDecoder<_>>::new(packed)),
        StreamPacking::Zstd => Box::new(zstd::Frames::new(packed)),
    };
    Unpacked { inner, failure, n_bytes: 0, fault }
}

/// How many streams a file began, and how much they gave.
#[derive(Debug, Default)]
struct StreamBudget {
    n_streams: u64,
    n_bytes: u64,
}

impl StreamBudget {
    fn give(&mut self, n_bytes: usize) {
        self.n_bytes += n_bytes as u64;
    }

    /// # Errors
    /// [`TooManyStreams`].
    fn begin(&mut self) -> io::Result<()> {
        self.n_streams += 1;
        if N_STREAMS_FREE + self.n_bytes / STREAM_BYTES_MIN < self.n_streams {
            return Err(io::Error::new(ErrorKind::InvalidData, TooManyStreams));
        }
        Ok(())
    }
}

/// A file that gives too little for what it takes to unpack it.
#[derive(Debug)]
struct TooManyStreams;

impl fmt::Display for TooManyStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the compressed file consists of more than {N_STREAMS_FREE} streams of less than {} KiB; unpack it and compress it as a \
             whole",
            STREAM_BYTES_MIN >> 10
        )
    }
}

impl std::error::Error for TooManyStreams {}

/// Why the compressed bytes themselves could not be read.
type Failure = Rc<Cell<Option<io::Error>>>;

/// Keeps the first failure to read the compressed bytes, which a decoder may give another name.
struct Packed<R> {
    inner: R,
    failure: Failure,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|it| noted(&self.failure, it))
    }
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.inner.fill_buf() {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(noted(&self.failure, error)),
        }
    }

    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
    }
}

fn noted(failure: &Failure, error: io::Error) -> io::Error {
    let same = io::Error::new(error.kind(), error.to_string());
    failure.set(Some(error));
    same
}

/// Refuses more than [`UNPACKED_BYTES_MAX`], and says what is wrong with a file that cannot be unpacked.
struct Unpacked<'a, R> {
    inner: R,
    failure: Failure,
    n_bytes: u64,
    fault: &'a Fault,
}

impl<R: Read> Read for Unpacked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer).map_err(|error| match self.failure.take() {
            Some(failure) => failure,
            None if error.kind() == ErrorKind::Interrupted => error,
            None => self.fault.set(damaged(&error)),
        })?;
        self.n_bytes += n as u64;
        if UNPACKED_BYTES_MAX < self.n_bytes {
            return Err(self.fault.set(too_large()));
        }
        Ok(n)
    }
}

fn damaged(cause: &io::Error) -> Error {
    let own = cause.get_ref().and_then(|it| {
        let window = it.downcast_ref::<zstd::WindowTooLarge>().map(ToString::to_string);
        window.or_else(|| it.downcast_ref::<TooManyStreams>().map(ToString::to_string))
    });
    Error::invalid(own.unwrap_or_else(|| DAMAGED.to_owned()))
}

fn too_large() -> Error {
    Error::too_large(format!("the file unpacks to more than {} MiB", UNPACKED_BYTES_MAX >> 20))
}
