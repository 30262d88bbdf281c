//! The socket of a probe: nonblocking, and reused while its connects are refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt,
};

use crate::scan::probe::Ending;

pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    is_v6: bool,
    /// Registered with epoll.
    pub(super) is_awaited: bool,
}

/// The state of a connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectState {
    UnderWay,
    Ended(Ending),
    /// The system lacks the resources now.
    NoRoom,
}

impl Socket {
    /// Opens a socket of the family of this address.
    pub(super) fn open(to: IpAddr) -> Result<Self, Errno> {
        let (family, any): (_, IpAddr) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
            IpAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_socket_linger(&fd, Some(Duration::ZERO))?; // Closing resets.
        // With a local port bound, no connect has to search for one. It works without, too.
        let _ = bind(&fd, &SocketAddr::new(any, 0));
        Ok(Self { fd, is_v6: to.is_ipv6(), is_awaited: false })
    }

    pub(super) const fn fits(&self, to: IpAddr) -> bool {
        self.is_v6 == to.is_ipv6()
    }
}

/// Begins a connect, or asks for the state of one that was begun. With `is_eager`, does both.
pub(super) fn attempt(socket: &Socket, to: SocketAddr, is_eager: bool) -> ConnectState {
    match connect(&socket.fd, &to) {
        Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) if is_eager => {
            attempt(socket, to, false)
        }
        Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => ConnectState::UnderWay,
        Ok(()) | Err(Errno::ISCONN) => ConnectState::Ended(Ending::Open),
        Err(Errno::CONNREFUSED | Errno::CONNRESET | Errno::CONNABORTED | Errno::PIPE) => {
            ConnectState::Ended(Ending::Closed)
        }
        Err(Errno::TIMEDOUT) => ConnectState::Ended(Ending::Silent),
        Err(Errno::NOBUFS | Errno::NOMEM | Errno::AGAIN | Errno::ADDRNOTAVAIL) => {
            ConnectState::NoRoom
        }
        Err(_) => ConnectState::Ended(Ending::Unreachable),
    }
}
