//! A request body with deadlines, and how it ended.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::serve::http::limit::ConnectionLimits;

/// The body of a refused request is read and discarded up to this length, so that the connection
/// stays usable.
const REST_BYTES_MAX: usize = 64 * 1_024;
/// How long the answer to a refused request waits for the rest of the body.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a body could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Fault {
    /// It did not arrive in time.
    Stalled,
    /// It is longer than any operation accepts.
    TooLarge,
    /// Its framing is wrong, or the peer disconnected.
    Broken,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum End {
    /// Read to its end.
    Whole,
    /// Parts of it may still arrive, so the connection cannot be used again.
    Unread,
    Failed(Fault),
}

/// Shared between the body and its [`Watch`]: the body reports here, and is returned here when it is no
/// longer read.
#[derive(Default)]
struct BodyProgress {
    fault: Option<Fault>,
    left: Option<Incoming>,
    begun: bool,
}

/// The other side of [`guard`].
pub(in crate::serve) struct Watch(Option<Arc<Mutex<BodyProgress>>>);

struct Guarded {
    /// `None` after a fault.
    incoming: Option<Incoming>,
    n_bytes: u64,
    bytes_max: u64,
    /// How long to wait for more bytes. Bytes that arrive extend it, up to `patience_max`.
    patience: Duration,
    patience_max: Duration,
    bytes_per_s_min: u32,
    wait: Option<Wait>,
    desk: Arc<Mutex<BodyProgress>>,
}

struct Wait {
    since: Instant,
    end: Pin<Box<Sleep>>,
}

/// Adds deadlines to a body. Only the time spent waiting for the peer counts.
pub(in crate::serve) fn guard(
    incoming: Incoming,
    limits: &ConnectionLimits,
) -> (poem::Body, Watch) {
    if incoming.is_end_stream() {
        return (poem::Body::empty(), Watch(None));
    }
    let desk = Arc::<Mutex<BodyProgress>>::default();
    let body = Guarded {
        incoming: Some(incoming),
        n_bytes: 0,
        bytes_max: limits.body_bytes_max,
        patience: limits.body_timeout,
        patience_max: limits.body_timeout,
        bytes_per_s_min: limits.body_bytes_per_s_min,
        wait: None,
        desk: Arc::clone(&desk),
    };
    (BoxBody::new(body).into(), Watch(Some(desk)))
}

impl Watch {
    /// Returns how the body ended, after reading a short rest that was not read before.
    ///
    /// A peer that waits for `100 Continue` is not asked for the rest.
    pub(in crate::serve) async fn end(self, expects_continue: bool) -> End {
        let Some(desk) = self.0 else { return End::Whole };
        let (fault, left, begun) = {
            let mut desk = lock(&desk);
            (desk.fault, desk.left.take(), desk.begun)
        };
        match (fault, left) {
            (Some(fault), _) => End::Failed(fault),
            // It is still in use: hyper finds out how it ends.
            (None, None) => End::Whole,
            (None, Some(left)) if left.is_end_stream() => End::Whole,
            (None, Some(_)) if expects_continue && !begun => End::Unread,
            (None, Some(left)) => match timeout(REST_TIMEOUT, skip(left)).await {
                Ok(true) => End::Whole,
                Ok(false) | Err(_) => End::Unread,
            },
        }
    }
}

/// Returns false if the rest is too long or broken.
async fn skip(mut left: Incoming) -> bool {
    if left.size_hint().lower() > REST_BYTES_MAX as u64 {
        return false;
    }
    let mut n_bytes = 0;
    while let Some(frame) = left.frame().await {
        let Ok(frame) = frame else { return false };
        n_bytes += frame.data_ref().map_or(0, Bytes::len);
        if n_bytes > REST_BYTES_MAX {
            return false;
        }
    }
    true
}

impl Guarded {
    fn fail(&mut self, fault: Fault, error: io::Error) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.incoming = None;
        lock(&self.desk).fault = Some(fault);
        Poll::Ready(Some(Err(error)))
    }

    fn arrived(&mut self, frame: Frame<Bytes>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let n_bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        self.n_bytes += n_bytes;
        if self.n_bytes > self.bytes_max {
            let error = io::Error::new(ErrorKind::FileTooLarge, "the body is too large");
            return self.fail(Fault::TooLarge, error);
        }
        if let Some(wait) = self.wait.take() {
            self.patience = self.patience.saturating_sub(wait.since.elapsed());
        }
        let earned_ms = n_bytes.saturating_mul(1_000) / u64::from(self.bytes_per_s_min.max(1));
        let patience = self.patience.saturating_add(Duration::from_millis(earned_ms));
        self.patience = patience.min(self.patience_max);
        Poll::Ready(Some(Ok(frame)))
    }

    fn waits(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let patience = self.patience;
        let wait = self
            .wait
            .get_or_insert_with(|| Wait { since: Instant::now(), end: Box::pin(sleep(patience)) });
        match wait.end.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let error = io::Error::new(ErrorKind::TimedOut, "the body did not arrive in time");
                self.fail(Fault::Stalled, error)
            }
        }
    }
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        let Some(incoming) = &mut this.incoming else { return Poll::Ready(None) };
        match Pin::new(incoming).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => this.arrived(frame),
            Poll::Ready(Some(Err(error))) => this.fail(Fault::Broken, io::Error::other(error)),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if this.wait.is_none() {
                    lock(&this.desk).begun = true;
                }
                this.waits(context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        lock(&self.desk).left = self.incoming.take();
    }
}

/// Each field is set in one step, so a panic elsewhere does not corrupt it.
fn lock(desk: &Mutex<BodyProgress>) -> MutexGuard<'_, BodyProgress> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}
