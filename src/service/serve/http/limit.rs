//! Limits for connections and requests.

use std::time::Duration;

use ipnetwork::IpNetwork;

use crate::auth::network::holds;
use crate::peer::Peer;

/// Open connections of one listener. For another one the longest idle is closed; if none is idle, it waits in the kernel's
/// queue.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Open connections of one IPv4 address or one IPv6 /64. For another one the longest idle is closed; if none is idle, it is
/// closed itself.
pub const CONNECTIONS_PER_IP_MAX: usize = 128;
/// The same for all loopback addresses together. A proxy on this host that is not configured as trusted carries all callers,
/// but no local program takes all slots.
pub const CONNECTIONS_LOOPBACK_MAX: usize = CONNECTIONS_MAX / 2;
/// Requests of one HTTP/2 connection that may be in progress at once.
pub const STREAMS_MAX: u32 = 32;
/// From the start of waiting for a request to the end of its head. An idle connection is closed
/// after this time too.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection of a trusted proxy may be idle, unless the configuration says otherwise: longer than the proxies keep
/// one, of which AWS' balancers do so for 60 seconds. A proxy that sends a request while its connection is being closed answers
/// its caller with an error.
pub const PROXY_IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Request line and headers together.
pub const HEAD_BYTES_MAX: usize = 16 * 1_024;
/// Headers of one request.
pub const HEADERS_MAX: usize = 64;
/// The target of the request line, as sent.
pub const URI_BYTES_MAX: usize = 8 * 1_024;
/// How long a request body may be waited for.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(15);
/// A body that arrives more slowly than this gradually uses up [`BODY_TIMEOUT`].
pub const BODY_BYTES_PER_S_MIN: u32 = 512;
/// The largest body that any operation accepts (an import). Most operations accept far less.
pub const BODY_BYTES_MAX: u64 = 256 * 1_024 * 1_024;
/// How long a peer may read nothing of an answer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// An older connection is closed after its current request.
pub const AGE_MAX: Duration = Duration::from_mins(10);
/// How long the current request may still take at [`AGE_MAX`], for example a large import over a
/// slow line.
pub const OVERTIME_MAX: Duration = Duration::from_hours(1);
/// How long the stop waits for requests in progress.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

/// The limits of one listener. `Default` has the documented values; tests use shorter times.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    pub connections_max: usize,
    pub connections_per_ip_max: usize,
    pub connections_loopback_max: usize,
    /// Peers that have no limit of their own, and keep idle connections for longer: the trusted proxies.
    pub exempt: Vec<IpNetwork>,
    pub head_timeout: Duration,
    /// In the place of `head_timeout` for peers that are exempt.
    pub proxy_idle_timeout: Duration,
    pub head_bytes_max: usize,
    pub headers_max: usize,
    pub uri_bytes_max: usize,
    pub body_timeout: Duration,
    /// At least 1.
    pub body_bytes_per_s_min: u32,
    pub body_bytes_max: u64,
    pub write_timeout: Duration,
    pub age_max: Duration,
    pub overtime_max: Duration,
    pub drain_timeout: Duration,
}

impl ConnectionLimits {
    /// How long a connection of this peer may wait for the end of a request's head.
    #[must_use]
    pub(super) fn idle_timeout(&self, peer: Peer) -> Duration {
        match peer {
            Peer::Tcp(address) if holds(&self.exempt, address.ip()) => self.proxy_idle_timeout,
            Peer::Tcp(_) | Peer::Socket { .. } => self.head_timeout,
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            connections_per_ip_max: CONNECTIONS_PER_IP_MAX,
            connections_loopback_max: CONNECTIONS_LOOPBACK_MAX,
            exempt: Vec::new(),
            head_timeout: HEAD_TIMEOUT,
            proxy_idle_timeout: PROXY_IDLE_TIMEOUT,
            head_bytes_max: HEAD_BYTES_MAX,
            headers_max: HEADERS_MAX,
            uri_bytes_max: URI_BYTES_MAX,
            body_timeout: BODY_TIMEOUT,
            body_bytes_per_s_min: BODY_BYTES_PER_S_MIN,
            body_bytes_max: BODY_BYTES_MAX,
            write_timeout: WRITE_TIMEOUT,
            age_max: AGE_MAX,
            overtime_max: OVERTIME_MAX,
            drain_timeout: DRAIN_TIMEOUT,
        }
    }
}
