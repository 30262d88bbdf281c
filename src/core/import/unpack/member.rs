//! The streams of a gzip or bzip2 file, one after the other.

use std::io::{self, BufRead, Read};
use std::marker::PhantomData;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;

use super::StreamBudget;

/// Unpacks one stream, and then gives back what follows it.
pub(super) trait Decoder<R>: Read {
    fn of(packed: R) -> Self;
    fn into_packed(self) -> R;
}

impl<R: BufRead> Decoder<R> for GzDecoder<R> {
    fn of(packed: R) -> Self {
        Self::new(packed)
    }

    fn into_packed(self) -> R {
        self.into_inner()
    }
}

impl<R: BufRead> Decoder<R> for BzDecoder<R> {
    fn of(packed: R) -> Self {
        Self::new(packed)
    }

    fn into_packed(self) -> R {
        self.into_inner()
    }
}

pub(super) struct Members<R, D> {
    /// `None`: the file ended, or it failed.
    decoder: Option<D>,
    budget: StreamBudget,
    packed: PhantomData<R>,
}

impl<R: BufRead, D: Decoder<R>> Members<R, D> {
    pub(super) fn new(packed: R) -> Self {
        let decoder = Some(D::of(packed));
        Self { decoder, budget: StreamBudget::default(), packed: PhantomData }
    }
}

impl<R: BufRead, D: Decoder<R>> Read for Members<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(mut decoder) = self.decoder.take() {
            let read = decoder.read(buffer);
            if !matches!(read, Ok(0)) {
                self.decoder = Some(decoder);
                return read.inspect(|it| self.budget.give(*it));
            }
            let mut packed = decoder.into_packed();
            if packed.fill_buf()?.is_empty() {
                break;
            }
            self.budget.begin()?;
            self.decoder = Some(D::of(packed));
        }
        Ok(0)
    }
}
