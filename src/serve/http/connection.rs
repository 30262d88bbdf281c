//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;

use crate::serve::http::exchange::ConnectionContext;
use crate::serve::http::slot::WatchedStream;

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
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let line = Arc::new(line);
    let limits = &line.limits;
    let stream = WatchedStream::new(stream, Arc::clone(&line.slot));
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limits.write_timeout));
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(limits.head_bytes_max.max(BUFFER_BYTES_MIN))
        .max_header_size(limits.head_bytes_max)
        .max_headers(limits.headers_max)
        .half_close(false);
    let service = service_fn(|request| {
        let line = Arc::clone(&line);
        async move { Ok::<_, Infallible>(line.answer(request).await) }
    });
    let mut connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let ended = tokio::select! {
        biased;
        ended = &mut connection => Ok(ended),
        () = called(line.stop.clone()) => Err(limits.overtime_max),
        () = sleep(limits.age_max) => Err(limits.overtime_max),
        () = line.slot.must_close() => Err(line.slot.time_left().unwrap_or(limits.overtime_max)),
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(time_left) => {
            Pin::new(&mut connection).graceful_shutdown();
            let Ok(ended) = timeout(time_left, &mut connection).await else { return };
            ended
        }
    };
    if let Err(error) = &ended {
        tracing::debug!(%error, "a connection ended early: {error}");
    }
    if line.cut.load(Ordering::Relaxed) || ended.is_err_and(|it| it.is_parse()) {
        linger(connection.into_parts().io.into_inner()).await;
    }
}

/// Returns shortly after the stop.
async fn called(mut stop: watch::Receiver<bool>) {
    // A dropped sender is a stop too.
    let _ = stop.wait_for(|stopping| *stopping).await;
    sleep(LAST_CALL).await;
}

async fn linger<S>(mut stream: S)
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
