//! Reverse lookups: one question over UDP for each address that answered.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hickory_resolver::proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

const WAIT: Duration = Duration::from_millis(1_500);
/// A server that does not answer this many questions in a row is not asked again.
const N_SILENT_MAX: u32 = 5;

/// The name server to ask.
#[derive(Debug)]
pub(super) struct Names {
    server: Option<SocketAddr>,
    n_silent: AtomicU32,
}

impl Names {
    /// With `None`, the first server that the system is configured to ask.
    pub(super) fn of(server: Option<SocketAddr>) -> Self {
        let server = server
            .or_else(|| server_of(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default()));
        Self { server, n_silent: AtomicU32::new(0) }
    }

    /// The name of an address, in lower case. `None`: it has none, or the server did not answer in time.
    pub(super) fn find(&self, address: IpAddr) -> Option<String> {
        let server = self.server?;
        if address.is_loopback() || N_SILENT_MAX <= self.n_silent.load(Ordering::Relaxed) {
            return None;
        }
        let mut id = [0; 2];
        getrandom::fill(&mut id).ok()?;
        let id = u16::from_be_bytes(id);
        if let Some(answer) = ask(server, &question(id, address)?) {
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

/// The first packet of the server with the question's id. `None`: none came in time.
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

/// The packet that asks for the name of an address. `None`: it could not be built.
#[must_use]
pub fn question(id: u16, address: IpAddr) -> Option<Vec<u8>> {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from(address), RecordType::PTR));
    message.to_vec().ok()
}

/// The name in a server's answer to the question with this id, in lower case. `None`: it has none, or is not an answer.
#[must_use]
pub fn name_of(id: u16, packet: &[u8]) -> Option<String> {
    let Message { metadata, answers, .. } = Message::from_vec(packet).ok()?;
    let is_response = metadata.message_type == MessageType::Response;
    if metadata.id != id || !is_response || metadata.response_code != ResponseCode::NoError {
        return None;
    }
    let pointed_to = |it: Record| if let RData::PTR(name) = it.data { Some(name.0) } else { None };
    let name = answers.into_iter().find_map(pointed_to)?;
    let labels: Option<Vec<&str>> = name.iter().map(plain).collect();
    labels.map(|it| it.join(".").to_ascii_lowercase()).filter(|it| !it.is_empty())
}

/// A label that a host may have.
fn plain(label: &[u8]) -> Option<&str> {
    let is_plain = label.iter().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(it));
    std::str::from_utf8(label).ok().filter(|_| is_plain)
}
