//! The frames of a Zstandard file, one after the other.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};

use super::StreamBudget;
use ruzstd::decoding::errors::{FrameDecoderError, FrameHeaderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// How far back a frame may refer, which is kept in memory. It is what `zstd` needs up to level 19.
pub(super) const WINDOW_BYTES_MAX: u64 = 8 << 20;

/// A frame that needs more memory than [`WINDOW_BYTES_MAX`].
#[derive(Debug)]
pub(super) struct WindowTooLarge;

impl fmt::Display for WindowTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = WINDOW_BYTES_MAX >> 20;
        write!(
            f,
            "the compressed file needs a window of more than {mib} MiB; compress it without --ultra and --long"
        )
    }
}

impl std::error::Error for WindowTooLarge {}

pub(super) struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
    budget: StreamBudget,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(packed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self { packed, decoder, is_in_frame: false, budget: StreamBudget::default() }
    }

    /// Begins the next frame. Returns false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            self.budget.begin()?;
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length)?,
                Err(
                    FrameDecoderError::WindowSizeTooBig { .. }
                    | FrameDecoderError::FrameHeaderError(FrameHeaderError::WindowTooBig { .. }),
                ) => return Err(io::Error::new(ErrorKind::InvalidData, WindowTooLarge)),
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u32) -> io::Result<()> {
        let mut skipped = Read::by_ref(&mut self.packed).take(length.into());
        match io::copy(&mut skipped, &mut io::sink())? {
            n if n == u64::from(length) => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn check_sum(&self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        match stated {
            Some(_) if stated != self.decoder.get_calculated_checksum() => {
                Err(io::Error::new(ErrorKind::InvalidData, "the checksum is another"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame {
                if !self.begin()? {
                    return Ok(0);
                }
                self.is_in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.packed, one);
                decoded.map_err(|it| io::Error::new(ErrorKind::InvalidData, it))?;
            }
            let n = self.decoder.read(buffer)?;
            if n != 0 {
                self.budget.give(n);
                return Ok(n);
            }
            self.check_sum()?;
            self.is_in_frame = false;
        }
    }
}
