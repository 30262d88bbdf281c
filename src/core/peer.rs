//! The other end of a connection.

use std::net::SocketAddr;

/// Who opened the connection that a request came on, as the kernel says. No header changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An IPv4 address is never written in its IPv6 form (`::ffff:192.0.2.1`).
    Tcp(SocketAddr),
    /// The control socket; `uid` is the user who opened it.
    Socket { uid: u32 },
}
