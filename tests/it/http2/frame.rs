//! A peer that writes and reads frames itself.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::edge::PATIENCE;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GO_AWAY: u8 = 7;
pub(super) const WINDOW: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// Error codes.
pub(super) const REFUSED: u32 = 7;
pub(super) const CALM_DOWN: u32 = 11;

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Why a request was reset.
    pub(super) fn code(&self) -> u32 {
        u32::from_be_bytes(self.payload[..4].try_into().unwrap())
    }

    /// Why the connection ends.
    pub(super) fn goodbye(&self) -> u32 {
        u32::from_be_bytes(self.payload[4..8].try_into().unwrap())
    }
}

pub(super) fn bytes(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A header, neither indexed nor compressed.
pub(super) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.push(u8::try_from(text.len()).ok().filter(|it| *it < 0x7f).expect("a short text"));
        field.extend(text.as_bytes());
    }
    field
}

pub(super) fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "https"), (":path", path)];
    pseudo.iter().chain(headers).flat_map(|(name, value)| field(name, value)).collect()
}

pub(super) struct FrameWire {
    stream: StreamOwned<ClientConnection, TcpStream>,
    begin: Instant,
    ahead: Vec<u8>,
}

impl FrameWire {
    /// After the preface and the settings.
    pub(super) fn connect(
        address: SocketAddr,
        trust: Arc<ClientConfig>,
        name: &'static str,
    ) -> Self {
        let mut wire = Self::silent(address, trust, name);
        wire.send_bytes(PREFACE);
        wire.send(SETTINGS, 0, 0, &[]);
        wire.until(|it| it.kind == SETTINGS);
        wire
    }

    /// After the handshake of TLS.
    pub(super) fn silent(
        address: SocketAddr,
        trust: Arc<ClientConfig>,
        name: &'static str,
    ) -> Self {
        let connection = ClientConnection::new(trust, ServerName::try_from(name).unwrap()).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        stream.conn.complete_io(&mut stream.sock).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(b"h2".as_slice()));
        Self { stream, begin: Instant::now(), ahead: Vec::new() }
    }

    pub(super) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.send_bytes(&bytes(kind, flags, stream, payload));
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        assert!(self.try_send_bytes(bytes), "the edge closed");
    }

    /// Returns false once the edge has closed.
    pub(super) fn try_send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        self.try_send_bytes(&bytes(kind, flags, stream, payload))
    }

    pub(super) fn try_send_bytes(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.inspect_err(|error| {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "the edge does not close");
        })
        .is_ok()
    }

    pub(super) fn request(
        &mut self,
        stream: u32,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) {
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, &head(method, path, headers));
    }

    /// A request whose body is still to come.
    pub(super) fn begin(
        &mut self,
        stream: u32,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) {
        self.send(HEADERS, END_HEADERS, stream, &head(method, path, headers));
    }

    /// The next frame of this kind.
    pub(super) fn until(&mut self, is_wanted: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.next().expect("the edge closed");
            if is_wanted(&frame) {
                return frame;
            }
        }
    }

    fn next(&mut self) -> Option<Frame> {
        while self.ahead.len() < HEAD_BYTES || self.ahead.len() < HEAD_BYTES + self.length() {
            let mut piece = [0; 8 * 1_024];
            let n_bytes = match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(n_bytes) => n_bytes,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::WouldBlock, "the edge does not answer");
                    return None;
                }
            };
            self.ahead.extend(&piece[..n_bytes]);
        }
        let rest = self.ahead.split_off(HEAD_BYTES + self.length());
        let whole = std::mem::replace(&mut self.ahead, rest);
        let stream = u32::from_be_bytes(whole[5..HEAD_BYTES].try_into().unwrap());
        Some(Frame { kind: whole[3], stream, payload: whole[HEAD_BYTES..].to_vec() })
    }

    fn length(&self) -> usize {
        self.ahead[..3].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
    }

    /// Waits for the edge to close.
    pub(super) fn closes(&mut self) {
        while self.next().is_some() {}
    }

    /// Checks that the connection is at least `least` old, and did not hang.
    pub(super) fn lasted(&self, least: Duration) {
        let age = self.begin.elapsed();
        assert!(least <= age && age < 2 * PATIENCE, "{age:?}");
    }
}
