//! The TLS handshake of a connection.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection::{called, linger, whole};
use crate::api::wire::kind::INVALID;
use crate::serve::http::exchange::ConnectionContext;

/// `None`: the peer did not complete it in the time for a request's head, speaks something else, or the slot is needed.
pub(super) async fn complete(
    stream: TcpStream,
    tls: Arc<ServerConfig>,
    line: &ConnectionContext,
) -> Option<TlsStream<TcpStream>> {
    let shaken = tokio::select! {
        biased;
        () = line.slot.must_close() => return None,
        () = called(line.stop.clone()) => return None,
        shaken = timeout(line.limits.head_timeout, shake(stream, tls, line)) => shaken.ok()?,
    };
    shaken.unwrap_or_else(|error| {
        tracing::debug!(%error, peer = ?line.peer, "a TLS handshake failed: {error}");
        None
    })
}

/// `None`: the peer spoke HTTP without TLS, and was told so.
async fn shake(
    mut stream: TcpStream,
    tls: Arc<ServerConfig>,
    line: &ConnectionContext,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        let refusal = INVALID.respond("this port speaks HTTPS only; use https://");
        stream.write_all(&whole(refusal, line).await).await?;
        linger(stream).await;
        return Ok(None);
    }
    TlsAcceptor::from(tls).accept(stream).await.map(Some)
}
