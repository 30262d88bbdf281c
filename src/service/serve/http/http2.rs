//! HTTP/2: its limits, and an end for answers that their peer no longer takes.
//!
//! Hyper has no such end: a peer need not allow it to send.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioTimer;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::serve::http::limit::{ConnectionLimits, STREAMS_MAX};
use crate::serve::http::task::{lasted, note};

/// What may arrive of one request body before the application takes it.
const STREAM_WINDOW_BYTES: u32 = 128 * 1_024;
/// The same for all request bodies of one connection.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1_024;
/// What is kept of one answer for a peer that takes it slowly.
const SEND_BUFFER_BYTES: usize = 32 * 1_024;
/// An answer is handed over in pieces of this size.
const PIECE_BYTES: usize = 16 * 1_024;
/// Requests that the peer canceled before they were accepted. With more at the same time the connection is closed.
const N_CANCELED_MAX: usize = 20;
/// Requests of one connection that were refused, as malformed or as too many at once. With more it is closed. Clients begin
/// about 100 at once before they know the limit.
const N_REFUSED_MAX: usize = 256;

/// Requests of one connection that the peer canceled while they were handled. With more it is closed: what a request began
/// on another thread goes on without it, so they would not be bounded by those in progress.
const N_ABANDONED_MAX: usize = 100;

tokio::task_local! {
    static PROGRESS: Arc<Progress>;
}

/// Since when the peer has had to take a piece of the answer. `None`: it is waiting for the application.
#[derive(Default)]
struct Progress(Mutex<Option<Instant>>);

/// The tasks of a connection, one for each request. They end with it.
pub(super) type Tasks = Arc<Mutex<JoinSet<()>>>;

#[derive(Clone)]
pub(super) struct TaskStarter {
    tasks: Weak<Mutex<JoinSet<()>>>,
    write_timeout: Duration,
}

pub(super) fn builder(limits: &ConnectionLimits, tasks: &Tasks) -> Builder<TaskStarter> {
    let (tasks, write_timeout) = (Arc::downgrade(tasks), limits.write_timeout);
    let mut builder = Builder::new(TaskStarter { tasks, write_timeout });
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(N_CANCELED_MAX)
        .max_local_error_reset_streams(N_REFUSED_MAX);
    builder
}

impl<F> Executor<F> for TaskStarter
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, request: F) {
        let (progress, write_timeout) = (Arc::<Progress>::default(), self.write_timeout);
        let Some(tasks) = self.tasks.upgrade() else { return };
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = tasks.try_join_next() {
            note(ended);
        }
        tasks.spawn(async move {
            tokio::select! {
                () = PROGRESS.scope(Arc::clone(&progress), request) => (),
                // Dropped, it is canceled alone: the peer's other requests go on.
                () = progress.stalled(write_timeout) => tracing::debug!("a peer did not take an answer"),
            }
        });
    }
}

impl Progress {
    fn note(since: Option<Instant>) {
        let _ =
            PROGRESS.try_with(|it| *it.0.lock().unwrap_or_else(PoisonError::into_inner) = since);
    }

    /// Completes once the peer has left one piece for this time.
    async fn stalled(&self, max: Duration) {
        lasted(max, || {
            let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            since.map(|it| it.elapsed())
        })
        .await;
    }
}

/// Counts the requests of a connection that its peer abandons.
#[derive(Default)]
pub(super) struct Abandoned {
    n: AtomicUsize,
    too_many: Notify,
}

impl Abandoned {
    /// The answer of `handling`, which counts if it is dropped before.
    pub(super) async fn watch<T>(&self, handling: impl Future<Output = T>) -> T {
        let mut watched = Watched { abandoned: self, is_done: false };
        let answer = handling.await;
        watched.is_done = true;
        answer
    }

    pub(super) async fn too_many(&self) {
        self.too_many.notified().await;
    }
}

struct Watched<'a> {
    abandoned: &'a Abandoned,
    is_done: bool,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if !self.is_done && N_ABANDONED_MAX <= self.abandoned.n.fetch_add(1, Ordering::Relaxed) {
            self.abandoned.too_many.notify_one();
        }
    }
}

/// Lets an answer be handed over piece by piece, so that a peer that stops is noticed, and little of it is kept for a slow one.
pub(super) fn in_pieces(
    answer: Response<BoxBody<Bytes, io::Error>>,
) -> Response<BoxBody<Bytes, io::Error>> {
    answer.map(|body| BoxBody::new(Pieces { body, rest: Bytes::new() }))
}

struct Pieces {
    body: BoxBody<Bytes, io::Error>,
    rest: Bytes,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                Poll::Pending => {
                    Progress::note(None);
                    return Poll::Pending;
                }
                ended @ Poll::Ready(_) => return ended,
            }
        }
        let n_bytes = self.rest.len().min(PIECE_BYTES);
        Progress::note(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(n_bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    /// Asked for before the first piece.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Hyper does so by itself only for HTTP/1.1.
pub(super) fn omit_body(answer: &mut Response<BoxBody<Bytes, io::Error>>) {
    if let Some(n_bytes) = answer.body().size_hint().exact() {
        answer.headers_mut().entry(CONTENT_LENGTH).or_insert(HeaderValue::from(n_bytes));
    }
    *answer.body_mut() = BoxBody::new(Empty::new().map_err(|never| match never {}));
}
