//! A connection to an open port, every call of which ends in time, and the escape for what the port sends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::pace::Pace;

/// No more is read of what a port sends.
const BANNER_BYTES_MAX: usize = 512;
/// No more is kept of it. An escape counts with all its characters.
const BANNER_CHARS_MAX: usize = 512;
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// For everything with one port.
const PORT_WAIT: Duration = Duration::from_secs(5);

/// Printable ASCII as it is, anything else as `\xNN`, line ends as spaces; at most [`BANNER_CHARS_MAX`].
///
/// Unlike [`crate::text::visible`], it takes bytes of an unknown encoding and escapes the backslash too, so that the
/// bytes that a port sent can be read back.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes.trim_ascii() {
        let piece = match byte {
            b'\r' => continue,
            b'\n' | b'\t' => " ".to_owned(),
            b'\\' => "\\\\".to_owned(),
            b' '..=b'~' => char::from(*byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        };
        if BANNER_CHARS_MAX < text.len() + piece.len() {
            break;
        }
        text.push_str(&piece);
    }
    text
}

/// What a stream sends, up to [`BANNER_BYTES_MAX`] or until it pauses. Silence is not an error.
pub(super) fn read_some<R: Read + ?Sized>(
    stream: &mut R,
    mut begun: impl FnMut(&mut R),
) -> io::Result<Vec<u8>> {
    let mut said = vec![0; BANNER_BYTES_MAX];
    let mut n_bytes = 0;
    while n_bytes < BANNER_BYTES_MAX {
        match stream.read(&mut said[n_bytes..]) {
            Ok(0) => break,
            Ok(n) => {
                n_bytes += n;
                begun(stream);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) if n_bytes == 0 && error.kind() == ErrorKind::InvalidData => {
                return Err(error);
            }
            Err(_) => break,
        }
    }
    said.truncate(n_bytes);
    Ok(said)
}

/// What bounds all connections to one host.
pub(super) struct Until<'a> {
    /// The deadline of the host.
    pub(super) host: Instant,
    pub(super) pace: &'a Pace,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.host.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// A connection with a deadline for each call and for all calls together.
pub(super) struct Timed {
    stream: TcpStream,
    pub(super) until: Instant,
}

impl Timed {
    pub(super) fn connect(to: SocketAddr, until: &Until<'_>) -> io::Result<Self> {
        let wait = until.pace.reserve().saturating_duration_since(Instant::now());
        sleep(wait.min(until.left()?));
        let stream = TcpStream::connect_timeout(&to, CONNECT_WAIT.min(until.left()?))?;
        // Resets instead of lingering. It works without, too.
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
        Ok(Self { stream, until: until.host.min(Instant::now() + PORT_WAIT) })
    }

    /// What the port sends if it begins before `until`. What has arrived already is always read.
    pub(super) fn read_some(&mut self, until: Instant) -> Vec<u8> {
        const PAUSE: Duration = Duration::from_millis(150);
        const LEAST: Duration = Duration::from_millis(5);
        let all = self.until.max(Instant::now() + LEAST);
        self.until = all.min(until.max(Instant::now() + LEAST));
        // The pieces of a message follow each other soon.
        read_some(self, |it| it.until = all.min(Instant::now() + PAUSE)).unwrap_or_default()
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
