//! Reverse look-ups: one question over UDP for each address that is there.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const WAIT: Duration = Duration::from_millis(1_500);
/// A server that is silent so often in a row is not asked any more.
const N_SILENT_MAX: u32 = 5;
const NAME_BYTES_MAX: usize = 253;
const TYPE_PTR: u16 = 12;
const CLASS_IN: u16 = 1;
/// A name with more pointers in it is a trap.
const N_JUMPS_MAX: u32 = 16;

/// Whom to ask.
#[derive(Debug)]
pub(super) struct Names {
    server: Option<SocketAddr>,
    n_silent: AtomicU32,
}

impl Names {
    /// `None`: the first of the system's.
    pub(super) fn of(server: Option<SocketAddr>) -> Self {
        let server = server
            .or_else(|| server_of(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default()));
        Self { server, n_silent: AtomicU32::new(0) }
    }

    /// In lower case. `None`: it has none, or nobody told in time.
    pub(super) fn find(&self, address: IpAddr) -> Option<String> {
        let server = self.server?;
        if address.is_loopback() || N_SILENT_MAX <= self.n_silent.load(Ordering::Relaxed) {
            return None;
        }
        let mut id = [0; 2];
        getrandom::fill(&mut id).ok()?;
        if let Some(answer) = ask(server, &question(id, address)) {
            self.n_silent.store(0, Ordering::Relaxed);
            name_of(id, &answer)
        } else {
            self.n_silent.fetch_add(1, Ordering::Relaxed);
            None
        }
    }
}

fn server_of(text: &str) -> Option<SocketAddr> {
    let server = |line: &str| {
        let address: IpAddr = line.trim().strip_prefix("nameserver")?.trim().parse().ok()?;
        Some(SocketAddr::new(address, 53))
    };
    text.lines().find_map(server)
}

/// The first answer to the question; whether it is one is for others to tell.
fn ask(server: SocketAddr, question: &[u8]) -> Option<Vec<u8>> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(server).ok()?;
    socket.send(question).ok()?;
    let until = Instant::now() + WAIT;
    let mut buffer = [0; 2_048];
    loop {
        let left = until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero())?;
        socket.set_read_timeout(Some(left)).ok()?;
        let n = socket.recv(&mut buffer).ok()?;
        if buffer[..n].starts_with(&question[..2]) {
            return Some(buffer[..n].to_vec());
        }
    }
}

fn question(id: [u8; 2], address: IpAddr) -> Vec<u8> {
    let labels: Vec<String> = match address {
        IpAddr::V4(it) => {
            let parts = it.octets().into_iter().rev().map(|it| it.to_string());
            parts.chain(["in-addr".to_owned(), "arpa".to_owned()]).collect()
        }
        IpAddr::V6(it) => {
            let nibbles = it.octets().into_iter().rev().flat_map(|it| [it & 15, it >> 4]);
            let parts = nibbles.map(|it| format!("{it:x}"));
            parts.chain(["ip6".to_owned(), "arpa".to_owned()]).collect()
        }
    };
    // One question, and recursion is desired.
    let mut packet = vec![id[0], id[1], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        packet.push(u8::try_from(label.len()).unwrap_or(0));
        packet.extend_from_slice(label.as_bytes());
    }
    packet.push(0);
    packet.extend_from_slice(&TYPE_PTR.to_be_bytes());
    packet.extend_from_slice(&CLASS_IN.to_be_bytes());
    packet
}

/// The first name of an answer. `None`: it has none, or is no answer.
fn name_of(id: [u8; 2], packet: &[u8]) -> Option<String> {
    let number = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let is_answer = packet.starts_with(&id) && number(2)? & 0x800f == 0x8000;
    if !is_answer {
        return None;
    }
    let (n_questions, n_answers) = (number(4)?, number(6)?);
    let mut at = 12;
    for _ in 0..n_questions {
        at = read_name(packet, at)?.1 + 4;
    }
    for _ in 0..n_answers {
        at = read_name(packet, at)?.1;
        let (kind, n_bytes) = (number(at)?, usize::from(number(at + 8)?));
        if kind == TYPE_PTR {
            let (name, _) = read_name(packet, at + 10)?;
            let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
            let is_name = !name.is_empty() && name.bytes().all(is_plain);
            return is_name.then(|| name.to_ascii_lowercase());
        }
        at += 10 + n_bytes;
    }
    None
}

/// A name without its last dot, and where what follows it begins.
fn read_name(packet: &[u8], mut at: usize) -> Option<(String, usize)> {
    let (mut name, mut end, mut n_jumps) = (Vec::new(), None, 0);
    loop {
        let length = usize::from(*packet.get(at)?);
        if length == 0 {
            let name = String::from_utf8_lossy(&name).into_owned();
            return Some((name, end.unwrap_or(at + 1)));
        }
        if length & 0xc0 == 0xc0 {
            n_jumps += 1;
            if N_JUMPS_MAX < n_jumps {
                return None;
            }
            end = end.or(Some(at + 2));
            at = (length & 0x3f) << 8 | usize::from(*packet.get(at + 1)?);
            continue;
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(packet.get(at + 1..at + 1 + length)?);
        if NAME_BYTES_MAX < name.len() {
            return None;
        }
        at += 1 + length;
    }
}
