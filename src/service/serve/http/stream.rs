//! The stream of a connection. It sees what the peer has not taken yet, and what hyper answers by itself.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::serve::http::exchange::ConnectionContext;

/// How the first line of an answer begins, before its status.
const VERSION: &[u8] = b"HTTP/1.1 ";

pub(in crate::serve) struct WatchedStream<S> {
    stream: S,
    line: Arc<ConnectionContext>,
    /// The peer has not taken all that was written.
    sending: bool,
    /// From the first bytes of an answer until the peer has taken all of it.
    answering: bool,
}

impl<S: Unpin> WatchedStream<S> {
    pub(in crate::serve) fn new(stream: S, line: Arc<ConnectionContext>) -> Self {
        Self { stream, line, sending: false, answering: false }
    }

    fn set_sending(&mut self, sending: bool) {
        if self.sending != sending {
            self.sending = sending;
            self.line.slot.set_sending(sending);
        }
    }

    /// Returns true for an answer that no request led to: hyper refuses by itself what it cannot read as HTTP, without a
    /// body. It is dropped, and [`super::connection`] answers in its place.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        if self.answering || self.line.begun.swap(false, Ordering::Relaxed) {
            self.answering = true;
            return false;
        }
        let status = bytes.strip_prefix(VERSION).and_then(|it| it.get(..3));
        let status = status.and_then(|it| str::from_utf8(it).ok()).and_then(|it| it.parse().ok());
        if let Some(status) = status {
            self.line.refused.store(status, Ordering::Relaxed);
        }
        status.is_some()
    }

    fn written(&mut self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if result.is_pending() {
            self.set_sending(true);
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_refusal(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = pieces.first()
            && self.is_refusal(first)
        {
            return Poll::Ready(Ok(pieces.iter().map(|it| it.len()).sum()));
        }
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Hyper calls it once all bytes are written. TLS may still hold some.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(context);
        self.set_sending(result.is_pending());
        if result.is_ready() && !self.line.slot.is_in_progress() {
            self.answering = false;
        }
        result
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.answering && self.line.refused.load(Ordering::Relaxed) != 0 {
            // The answer in place of hyper's is still to be written.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
