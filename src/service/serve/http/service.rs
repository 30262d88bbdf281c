//! The accept loop. Each connection has limits. On the stop no more are accepted, and open ones
//! finish.

use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16};
use std::time::Duration;

use poem::Addr;
use poem::web::{LocalAddr, RemoteAddr};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{connection, handshake};
use crate::api::SharedService;
use crate::peer::Peer;
use crate::serve::certificate::{ACME_TLS, HTTP_2};
use crate::serve::http::exchange::ConnectionContext;
use crate::serve::http::limit::ConnectionLimits;
use crate::serve::http::listen::{Listener, Stream};
use crate::serve::http::slot::Slots;
use crate::serve::http::task::note;

/// How long the loop pauses after the system failed to accept, for example for lack of files.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// How long connections that were in the kernel's queue are still accepted after the stop.
const LAST_CALL: Duration = Duration::from_millis(50);

/// Serves `app` on `listener` until the stop. A dropped sender is a stop too.
///
/// It then closes the listener, lets requests in progress finish within `limits.drain_timeout`,
/// drops the rest, and returns. The application finds the [`Peer`] in the data of each request.
pub async fn run(
    listener: Listener,
    app: SharedService,
    limits: &ConnectionLimits,
    stop: watch::Receiver<bool>,
) {
    let slots = Slots::new(limits);
    let mut door = Acceptor {
        local: LocalAddr(listener.local_addr().map_or_else(Addr::default, Addr::SocketAddr)),
        app,
        limits: Arc::new(limits.clone()),
        stop: stop.clone(),
        connections: JoinSet::new(),
    };
    door.receive(&listener, &slots, stop).await;
    let Acceptor { mut connections, .. } = door;
    drop(listener);
    let drained = timeout(limits.drain_timeout, async {
        while let Some(ended) = connections.join_next().await {
            note(ended);
        }
    });
    if drained.await.is_err() {
        let n_open = connections.len();
        tracing::warn!(n_open, "{n_open} connections did not finish in time and were dropped");
        connections.shutdown().await;
    }
}

struct Acceptor {
    app: SharedService,
    limits: Arc<ConnectionLimits>,
    local: LocalAddr,
    stop: watch::Receiver<bool>,
    connections: JoinSet<()>,
}

impl Acceptor {
    async fn receive(
        &mut self,
        listener: &Listener,
        slots: &Slots,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut failing = false;
        // It outlives the turns of the loop, because a connection that was accepted may wait in it for a slot.
        let mut arrival = pin!(next(listener, slots));
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => break,
                Some(ended) = self.connections.join_next() => {
                    note(ended);
                    continue;
                }
                accepted = &mut arrival => accepted,
            };
            arrival.set(next(listener, slots));
            match accepted {
                Ok(accepted) => {
                    failing = false;
                    self.start(slots, accepted);
                }
                Err(error) if concerns_peer(&error) => (),
                Err(error) => {
                    if !failing {
                        tracing::error!(%error, "connections cannot be accepted: {error}");
                    }
                    failing = true;
                    sleep(ACCEPT_REST).await;
                }
            }
        }
        let last = async {
            while let Ok(accepted) = arrival.as_mut().await {
                self.start(slots, accepted);
                arrival.set(next(listener, slots));
            }
        };
        let _ = timeout(LAST_CALL, last).await;
    }

    fn start(
        &mut self,
        slots: &Slots,
        (stream, peer, permit): (Stream, Peer, OwnedSemaphorePermit),
    ) {
        let Some(slot) = slots.admit(permit, peer) else {
            tracing::debug!(?peer, "closed a connection of a peer that has too many");
            return;
        };
        let remote = match peer {
            Peer::Tcp(address) => Addr::SocketAddr(address),
            Peer::Socket { .. } => Addr::default(),
        };
        let line = ConnectionContext {
            app: self.app.clone(),
            limits: self.limits.clone(),
            peer,
            is_tls: matches!(stream, Stream::Tcp(_, Some(_))),
            local: self.local.clone(),
            remote: RemoteAddr(remote),
            stop: self.stop.clone(),
            slot,
            begun: AtomicBool::new(false),
            refused: AtomicU16::new(0),
            cut: AtomicBool::new(false),
        };
        self.connections.spawn(async move {
            match stream {
                Stream::Tcp(stream, None) => connection::serve(stream, line).await,
                Stream::Tcp(stream, Some(tls)) => {
                    if let Some(stream) = handshake::complete(stream, tls, &line).await {
                        match stream.get_ref().1.alpn_protocol() {
                            Some(HTTP_2) => connection::serve_http2(stream, line).await,
                            // The certificate was the answer.
                            Some(ACME_TLS) => (),
                            _ => connection::serve(stream, line).await,
                        }
                    }
                }
                Stream::Socket(stream) => connection::serve(stream, line).await,
            }
        });
    }
}

/// Waits for a connection, then for a free slot.
async fn next(
    listener: &Listener,
    slots: &Slots,
) -> io::Result<(Stream, Peer, OwnedSemaphorePermit)> {
    let (stream, peer) = listener.accept().await?;
    let permit = slots.place().await;
    Ok((stream, peer, permit))
}

/// Returns true for an error that concerns only this peer, such as one that disconnected before it
/// was accepted.
fn concerns_peer(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected};
    [ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected].contains(&error.kind())
}
