//! Echo requests, where the system permits them: the cheapest way to find hosts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, bind, ipproto,
    recvfrom, sendto, socket_with, sockopt,
};

use super::rtt::Rtt;
use crate::scan::probe::Bounds;

/// How long to wait for replies after the last request.
const WAIT: Duration = Duration::from_millis(400);
/// Requests that are sent before replies are read.
const N_SENT_AT_ONCE: u32 = 64;
/// How long to pause when the system has no buffer space, and how often in a row.
const HOLD: Duration = Duration::from_millis(20);
const N_HOLDS_MAX: u32 = 500;
const PACKET_BYTES_MAX: usize = 2_048;
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// A socket for one family.
struct Pinger {
    fd: OwnedFd,
    is_v6: bool,
    /// The system delivers whole IP packets, including those of other processes.
    is_raw: bool,
    /// Random, so that an unsolicited reply is not accepted.
    cookie: [u8; 16],
}

/// The addresses that were pinged, and when. Those that replied have no time.
type PingedAddresses = BTreeMap<IpAddr, Option<Instant>>;

/// The addresses that replied. `rtt` learns the round-trip times. `None`: the system does not permit echo requests.
pub(super) fn ping(
    addresses: &[IpAddr],
    rtt: &mut Rtt,
    bounds: &Bounds<'_>,
) -> Option<Vec<IpAddr>> {
    let mut answered = Vec::new();
    let mut is_permitted = false;
    for is_v6 in [false, true] {
        let of_family: Vec<IpAddr> =
            addresses.iter().filter(|it| it.is_ipv6() == is_v6).copied().collect();
        if of_family.is_empty() {
            continue;
        }
        let Some(pinger) = Pinger::open(is_v6) else { continue };
        is_permitted = true;
        let asked = pinger.run(&of_family, rtt, bounds);
        answered.extend(asked.into_iter().filter(|it| it.1.is_none()).map(|it| it.0));
    }
    is_permitted.then_some(answered)
}

impl Pinger {
    /// `None`: the system does not permit it.
    fn open(is_v6: bool) -> Option<Self> {
        let (family, protocol) = if is_v6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let open = |kind| socket_with(family, kind, flags, Some(protocol));
        // The first needs net.ipv4.ping_group_range, the second CAP_NET_RAW. Most services have neither.
        let (fd, is_raw) = match open(SocketType::DGRAM) {
            Ok(fd) => (fd, false),
            Err(_) => (open(SocketType::RAW).ok()?, true),
        };
        let _ = sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER_BYTES); // Optional.
        if !is_raw {
            let any: IpAddr =
                if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
            bind(&fd, &SocketAddr::new(any, 0)).ok()?;
        }
        let mut cookie = [0; 16];
        getrandom::fill(&mut cookie).ok()?;
        Some(Self { fd, is_v6, is_raw, cookie })
    }

    fn run(&self, addresses: &[IpAddr], rtt: &mut Rtt, bounds: &Bounds<'_>) -> PingedAddresses {
        let mut asked = PingedAddresses::new();
        let mut n_answered = 0;
        let mut rest = addresses.iter().copied().peekable();
        let mut until = Instant::now() + WAIT;
        let mut n_holds = 0;
        while !(bounds.stop)() {
            let mut wait = until.saturating_duration_since(Instant::now());
            if rest.peek().is_none() && (wait.is_zero() || n_answered == asked.len()) {
                break;
            }
            for _ in 0..N_SENT_AT_ONCE {
                let Some(address) = rest.peek().copied() else { break };
                if let Err(at) = bounds.pace.take(1) {
                    wait = at.saturating_duration_since(Instant::now());
                    break;
                }
                match self.send(address) {
                    Err(Errno::NOBUFS | Errno::AGAIN | Errno::NOMEM) if n_holds < N_HOLDS_MAX => {
                        n_holds += 1;
                        wait = HOLD;
                        break;
                    }
                    Ok(()) | Err(_) => n_holds = 0,
                }
                rest.next();
                asked.insert(address, Some(Instant::now()));
                until = Instant::now() + WAIT;
                wait = Duration::ZERO;
            }
            self.wait(wait.min(WAIT));
            n_answered += self.receive(&mut asked, rtt);
        }
        asked
    }

    fn send(&self, to: IpAddr) -> Result<(), Errno> {
        let mut packet = [0_u8; 24];
        packet[0] = if self.is_v6 { 128 } else { 8 };
        packet[8..].copy_from_slice(&self.cookie);
        if !self.is_v6 {
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        sendto(&self.fd, &packet, SendFlags::empty(), &SocketAddr::new(to, 0)).map(|_| ())
    }

    fn wait(&self, at_most: Duration) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
        // An early wake-up finds nothing to read.
        let _ = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&timeout));
    }

    /// Returns the number of addresses that replied for the first time.
    fn receive(&self, asked: &mut PingedAddresses, rtt: &mut Rtt) -> usize {
        let mut n_answered = 0;
        let mut buffer = [0_u8; PACKET_BYTES_MAX];
        loop {
            let (n, from) = match recvfrom(&self.fd, &mut buffer, RecvFlags::empty()) {
                Ok((n, _, Some(from))) => (n, from),
                Ok((_, _, None)) | Err(Errno::INTR) => continue,
                Err(_) => return n_answered,
            };
            if !self.is_answer(&buffer[..n.min(PACKET_BYTES_MAX)]) {
                continue;
            }
            let Some(sent_at) = address_of(&from).and_then(|it| asked.get_mut(&it)) else {
                continue;
            };
            if let Some(at) = sent_at.take() {
                rtt.learn(at.elapsed());
                n_answered += 1;
            }
        }
    }

    fn is_answer(&self, packet: &[u8]) -> bool {
        let start = if self.is_raw && !self.is_v6 {
            packet.first().map_or(0, |it| usize::from(it & 0x0f) * 4)
        } else {
            0
        };
        let Some(message) = packet.get(start..) else { return false };
        let kind = if self.is_v6 { 129 } else { 0 };
        message.first() == Some(&kind) && message.get(8..24) == Some(&self.cookie)
    }
}

fn address_of(from: &SocketAddrAny) -> Option<IpAddr> {
    SocketAddr::try_from(from.clone()).ok().map(|it| it.ip())
}

/// RFC 1071.
fn checksum(packet: &[u8]) -> u16 {
    let words = packet
        .chunks(2)
        .map(|it| u32::from(u16::from_be_bytes([it[0], it.get(1).copied().unwrap_or(0)])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !u16::try_from(folded & 0xffff).unwrap_or(u16::MAX)
}
