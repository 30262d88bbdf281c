//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::StatusCode;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use poem::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;

use super::http2::{self, Abandoned, Tasks};
use crate::api::wire::kind::{HEADERS_TOO_LARGE, INVALID, URI_TOO_LONG};
use crate::api::wire::reply::JSON;
use crate::request::RequestId;
use crate::serve::http::exchange::ConnectionContext;
use crate::serve::http::slot::LAST_BYTES_TIMEOUT;
use crate::serve::http::stream::WatchedStream;

/// How long requests that are already on their way are still answered after the stop.
const LAST_CALL: Duration = Duration::from_millis(250);
/// How long a peer may continue to send after the answer. Closing at once would send a reset, which
/// can overtake the answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// Hyper accepts no smaller buffer.
const BUFFER_BYTES_MIN: usize = 8 * 1_024;

/// Answers requests until the peer disconnects or exceeds a limit, another connection needs the slot, or the service stops.
pub(in crate::serve) async fn serve<S>(stream: S, line: ConnectionContext)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let line = Arc::new(line);
    let limits = &line.limits;
    let stream = WatchedStream::new(stream, Arc::clone(&line));
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limits.write_timeout));
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout(line.peer))
        .max_buf_size(limits.head_bytes_max.max(BUFFER_BYTES_MIN))
        .max_header_size(limits.head_bytes_max)
        .max_headers(limits.headers_max)
        .half_close(false);
    let service = service_fn(|request| {
        let line = Arc::clone(&line);
        async move { Ok::<_, Infallible>(line.answer(request).await) }
    });
    let mut connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    // Hyper ends it itself when the next head is late.
    let Some(ended) = run(Pin::new(&mut connection), &line, pending()).await else { return };
    if line.cut.load(Ordering::Relaxed) || ended.is_err_and(|it| it.is_parse()) {
        let mut stream = connection.into_parts().io.into_inner();
        if let Ok(status) = StatusCode::from_u16(line.refused.load(Ordering::Relaxed)) {
            line.begun.store(true, Ordering::Relaxed);
            // A peer that does not take it gets nothing else either.
            let _ = stream.write_all(&whole(refusal(status), &line).await).await;
        }
        linger(stream).await;
    }
}

/// [`serve`] for a peer that asked for HTTP/2 in the TLS handshake.
pub(in crate::serve) async fn serve_http2<S>(stream: S, line: ConnectionContext)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let line = Arc::new(line);
    let stream = WatchedStream::new(stream, Arc::clone(&line));
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(line.limits.write_timeout));
    let (abandoned, tasks) = (Arc::<Abandoned>::default(), Tasks::default());
    let service = service_fn(|request| {
        let (line, abandoned) = (Arc::clone(&line), Arc::clone(&abandoned));
        async move {
            let answer = abandoned.watch(line.answer(request)).await;
            Ok::<_, Infallible>(http2::in_pieces(answer))
        }
    });
    let connection = http2::builder(&line.limits, &tasks)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let unwanted = async {
        tokio::select! {
            // Frames without a request do not keep it open.
            () = line.slot.idle(line.limits.idle_timeout(line.peer)) => line.limits.overtime_max,
            () = abandoned.too_many() => line.limits.head_timeout,
        }
    };
    run(pin!(connection), &line, unwanted).await;
}

/// `None`: it was dropped, because it was not done in time after it was told to close.
///
/// `unwanted` ends when it is to close for a reason of its own, with how long requests in progress may still take.
async fn run<C>(
    mut connection: Pin<&mut C>,
    line: &ConnectionContext,
    unwanted: impl Future<Output = Duration>,
) -> Option<hyper::Result<()>>
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let limits = &line.limits;
    let ended = tokio::select! {
        biased;
        ended = &mut connection => Ok(ended),
        () = called(line.stop.clone()) => Err(limits.overtime_max),
        () = sleep(limits.age_max) => Err(limits.overtime_max),
        () = line.slot.must_close() => Err(line.slot.time_left().unwrap_or(limits.overtime_max)),
        time_left = unwanted => Err(time_left),
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(time_left) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection => ended,
                () = sleep(time_left) => return None,
                // The peer has its answers, and does not close.
                () = async {
                    sleep(LAST_BYTES_TIMEOUT).await;
                    line.slot.idle(LAST_BYTES_TIMEOUT).await;
                } => return None,
            }
        }
    };
    if let Err(error) = &ended {
        tracing::debug!(%error, "a connection ended early: {error}");
    }
    Some(ended)
}

/// The answer to what hyper could not read as a request.
fn refusal(status: StatusCode) -> Response {
    match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            HEADERS_TOO_LARGE.respond("the request line and the headers are too large")
        }
        StatusCode::URI_TOO_LONG => URI_TOO_LONG.respond("the request target is too long"),
        _ => INVALID.respond("the request is not valid HTTP/1.1"),
    }
}

/// The bytes of an answer after which the connection is closed, and which no request led to. It is counted here.
pub(super) async fn whole(response: Response, line: &ConnectionContext) -> Vec<u8> {
    line.app.traffic.count(None, response.status(), Duration::ZERO);
    let id = RequestId::fresh();
    let (status, body) = (response.status(), response.into_body().into_vec().await);
    let body = body.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {JSON}\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\
         x-request-id: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        &*id,
        body.len()
    );
    [head.into_bytes(), body].concat()
}

/// Returns shortly after the stop.
pub(super) async fn called(mut stop: watch::Receiver<bool>) {
    // A dropped sender is a stop too.
    let _ = stop.wait_for(|stopping| *stopping).await;
    sleep(LAST_CALL).await;
}

pub(super) async fn linger<S>(mut stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let skip = async {
        stream.shutdown().await?;
        let mut scrap = [0; 8 * 1_024];
        let mut n_bytes = 0;
        while n_bytes < LINGER_BYTES_MAX {
            match stream.read(&mut scrap).await? {
                0 => break,
                n => n_bytes += n,
            }
        }
        std::io::Result::Ok(())
    };
    // It does not matter how this ends.
    let _ = timeout(LINGER_TIMEOUT, skip).await;
}
