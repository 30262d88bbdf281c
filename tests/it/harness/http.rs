//! One HTTP request on a connection of its own, as bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// No answer takes longer.
const WAIT: Duration = Duration::from_mins(3);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, which must be compressed.
    pub fn unpacked(&self) -> Self {
        assert_eq!(self.header("content-encoding"), Some("gzip"));
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(self.body.as_slice()).read_to_end(&mut body).unwrap();
        Self { status: self.status, headers: self.headers.clone(), body }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The Error body's code and message; the whole shape is checked.
    pub fn problem(&self) -> (String, String) {
        let body = self.json();
        assert_eq!(body["success"], false, "{body}");
        assert!(self.header("content-type").unwrap().starts_with("application/json"));
        let field = |name: &str| body["error"][name].as_str().unwrap().to_owned();
        (field("code"), field("message"))
    }
}

pub fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    exchange(stream, method, path, headers, body)
}

pub fn send_socket(
    socket: &Path,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    exchange(stream, method, path, headers, body)
}

/// A GET whose answer is read only after `meanwhile`, from when it begins to arrive. An answer that is larger than what the
/// connection holds is then not complete.
pub fn get_slowly(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    meanwhile: impl FnOnce(),
) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    write_request(&mut stream, "GET", path, headers, &[]);
    stream.peek(&mut [0]).unwrap();
    meanwhile();
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    parse(&bytes)
}

/// One request on a stream, which is read to its end.
pub fn exchange(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    write_request(&mut stream, method, path, headers, body);
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    parse(&bytes)
}

fn write_request(
    stream: &mut impl Write,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) {
    let length = body.len().to_string();
    let mut lines = vec![format!("{method} {path} HTTP/1.1")];
    if headers.iter().all(|it| it.0 != "Host") {
        lines.push("Host: localhost".to_owned());
    }
    lines.push("Connection: close".to_owned());
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        lines.push(format!("Content-Length: {length}"));
    }
    let head = format!("{}\r\n\r\n", lines.join("\r\n"));
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses early may close before it took the whole body.
    drop(stream.write_all(body));
}

fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_lowercase(), value.trim().to_owned())
    };
    let mut answer = Answer { status, headers: lines.map(header).collect(), body: Vec::new() };
    let body = &bytes[end + 4..];
    let is_chunked = answer.header("transfer-encoding") == Some("chunked");
    answer.body = if is_chunked { chunks(body) } else { body.to_vec() };
    answer
}

/// What chunks hold. Panics when the last one is missing.
fn chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|it| it == b"\r\n").expect("a chunk's length");
        let length = std::str::from_utf8(&bytes[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 2 + length + 2..];
    }
}
