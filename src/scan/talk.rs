//! What an open port says of itself: a banner, a page's heading, a certificate. Read with a limit on everything, and kept
//! as printable ASCII.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::port::{is_http, is_raw_printer, is_tls, usual_service};
use super::tls;
use crate::engine::scan::Port;

/// Of what a port says, no more is read.
const BANNER_BYTES_MAX: usize = 512;
/// Of what it says, no more is kept; escapes count as what they are written as.
const BANNER_CHARS_MAX: usize = 512;
/// Whoever does not speak first within this does not.
const GREETING_WAIT: Duration = Duration::from_millis(1_200);
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// For everything with one port.
const PORT_WAIT: Duration = Duration::from_secs(5);
/// More ports of one host are told by their number alone.
const N_PORTS_MAX: usize = 64;
/// For all ports of one host: what is hostile holds one thread for so long.
const HOST_WAIT: Duration = Duration::from_secs(20);

/// Asks the open ports of one host, a few at once: whoever speaks first is listened to while others are asked.
pub(super) fn ask(
    address: IpAddr,
    numbers: &[u16],
    n_at_once: usize,
    pace: &Pace,
    stop: &dyn Fn() -> bool,
) -> Vec<Port> {
    let until = Until { host: Instant::now() + HOST_WAIT, pace };
    let mut ports: Vec<Port> = numbers.iter().map(|it| blank(*it)).collect();
    let n_asked = ports.len().min(N_PORTS_MAX);
    for some in ports[..n_asked].chunks_mut(n_at_once.max(1)) {
        if stop() || until.host < Instant::now() {
            break;
        }
        let is_greeting = |it: u16| !is_tls(it) && !is_http(it) && !is_raw_printer(it);
        let begun: Vec<Option<Timed>> = some
            .iter()
            .map(|it| {
                let to = SocketAddr::new(address, it.number);
                is_greeting(it.number).then(|| Timed::connect(to, &until).ok()).flatten()
            })
            .collect();
        let greeted_until = Instant::now() + GREETING_WAIT;
        for port in some.iter_mut() {
            let to = SocketAddr::new(address, port.number);
            if is_tls(port.number) {
                ask_tls(to, &until, port);
            } else if is_http(port.number) {
                ask_page(to, &until, port);
            }
        }
        for (port, stream) in some.iter_mut().zip(begun) {
            if let Some(mut stream) = stream {
                hear(port, &stream.read_some(greeted_until));
            }
        }
        some.iter_mut().for_each(name);
    }
    ports
}

/// A port that nobody asked.
pub(super) fn blank(number: u16) -> Port {
    Port {
        number,
        service: usual_service(number).to_owned(),
        banner: String::new(),
        is_told: false,
        is_encrypted: false,
        certificate: None,
        tls: Vec::new(),
    }
}

fn ask_page(to: SocketAddr, until: &Until<'_>, port: &mut Port) {
    let Ok(mut stream) = Timed::connect(to, until) else { return };
    if stream.write_all(page_request(to).as_bytes()).is_ok() {
        let until = stream.until;
        hear(port, &stream.read_some(until));
    }
}

fn ask_tls(to: SocketAddr, until: &Until<'_>, port: &mut Port) {
    let Ok(stream) = Timed::connect(to, until) else { return };
    let Some(spoken) = tls::speak(stream, to.ip(), |tls| {
        let asks = is_http(to.port());
        if asks {
            tls.write_all(page_request(to).as_bytes())?;
        }
        read_some(tls, |_| ())
    }) else {
        return;
    };
    port.is_encrypted = true;
    port.tls.push(spoken.version.to_owned());
    port.certificate = spoken.certificate;
    hear(port, &spoken.said);
    let outdated = Timed::connect(to, until).ok().and_then(tls::outdated_version);
    port.tls.extend(outdated.map(str::to_owned));
}

fn page_request(to: SocketAddr) -> String {
    format!(
        "GET / HTTP/1.0\r\nHost: {}\r\nUser-Agent: posture-scan\r\nAccept: */*\r\n\r\n",
        to.ip()
    )
}

fn hear(port: &mut Port, said: &[u8]) {
    port.banner = match heading(said) {
        Some(heading) => escaped(heading.as_bytes()),
        None => escaped(said),
    };
}

/// Status, server and title of an HTTP answer. `None`: it is none.
fn heading(said: &[u8]) -> Option<String> {
    if !said.starts_with(b"HTTP/") {
        return None;
    }
    let text = String::from_utf8_lossy(said);
    let status = text.lines().next().unwrap_or_default().trim_end();
    let field = |name: &str| {
        let mut lines = text.lines().take_while(|it| !it.trim_end().is_empty());
        lines.find_map(|it| {
            let (key, value) = it.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let title = text.split_once("<title>").map(|(_, rest)| {
        rest.split_once("</title>").map_or(rest, |(title, _)| title).trim().to_owned()
    });
    let parts = [Some(status.to_owned()), field("server"), field("www-authenticate"), title];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

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

/// Beginnings of banners, and nmap's names of the services that speak so.
const GREETINGS: [(&str, &str); 13] = [
    ("SSH-", "ssh"),
    ("HTTP/", "http"),
    ("RFB ", "vnc"),
    ("* OK", "imap"),
    ("+OK", "pop3"),
    ("RTSP/", "rtsp"),
    ("-ERR wrong number", "redis"),
    ("-DENIED Redis", "redis"),
    ("AMQP", "amqp"),
    ("@RSYNCD:", "rsync"),
    ("LPD ", "printer"),
    ("\\xff\\xfb", "telnet"),
    ("\\xff\\xfd", "telnet"),
];

/// Names the service by what it said, where that tells.
fn name(port: &mut Port) {
    let said = port.banner.as_str();
    let lower = said.to_ascii_lowercase();
    let greeting = GREETINGS.iter().find(|(start, _)| said.starts_with(start)).map(|it| it.1);
    let service = match greeting {
        Some(service) => service,
        None if said.starts_with("220") && lower.contains("smtp") => "smtp",
        None if said.starts_with("220") && lower.contains("ftp") => "ftp",
        None if said.starts_with("220") && port.service == "ftp" => "ftp",
        None if said.starts_with("220") && port.service == "smtp" => "smtp",
        None if lower.contains("mysql") || lower.contains("mariadb") => "mysql",
        None if lower.starts_with("login:") || lower.ends_with("login:") => "telnet",
        None => return,
    };
    port.service = service.to_owned();
    port.is_told = true;
}

/// What a stream says, up to [`BANNER_BYTES_MAX`] or until it pauses. A silence is no error.
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
struct Until<'a> {
    /// When its time is over.
    host: Instant,
    pace: &'a Pace,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.host.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// A connection whose every call ends in time, and all calls together too.
pub(super) struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn connect(to: SocketAddr, until: &Until<'_>) -> io::Result<Self> {
        let wait = until.pace.reserve().saturating_duration_since(Instant::now());
        sleep(wait.min(until.left()?));
        let stream = TcpStream::connect_timeout(&to, CONNECT_WAIT.min(until.left()?))?;
        // Resets instead of lingering; a service that does not know it works as well.
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
        Ok(Self { stream, until: until.host.min(Instant::now() + PORT_WAIT) })
    }

    /// What it says when it begins before `until`; what it said already is always read.
    fn read_some(&mut self, until: Instant) -> Vec<u8> {
        const PAUSE: Duration = Duration::from_millis(150);
        const LEAST: Duration = Duration::from_millis(5);
        let all = self.until.max(Instant::now() + LEAST);
        self.until = all.min(until.max(Instant::now() + LEAST));
        // What comes in pieces comes soon.
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
