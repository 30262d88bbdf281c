//! Asks an open port what it is: a banner, the heading of a page, a certificate. Everything is read with a limit and kept as
//! printable ASCII.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::port::{is_http, is_raw_printer, is_tls, usual_service};
use super::stream::{Timed, Until, escaped, read_some};
use super::tls;
use crate::engine::network::scan::FoundPort;

/// A service that has not spoken first within this time does not.
const GREETING_WAIT: Duration = Duration::from_millis(1_200);
/// More ports of one host are reported by number only.
const N_PORTS_MAX: usize = 64;
/// For all ports of one host. A hostile host occupies a thread for at most this long.
const HOST_WAIT: Duration = Duration::from_secs(20);

/// Asks the open ports of one host, a few at once. Services that speak first are awaited while others are asked.
pub(super) fn ask(
    address: IpAddr,
    numbers: &[u16],
    n_at_once: usize,
    pace: &Pace,
    stop: &dyn Fn() -> bool,
) -> Vec<FoundPort> {
    let until = Until { host: Instant::now() + HOST_WAIT, pace };
    let mut ports: Vec<FoundPort> = numbers.iter().map(|it| blank(*it)).collect();
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
    }
    ports
}

/// A port that was not asked.
pub(super) fn blank(number: u16) -> FoundPort {
    FoundPort {
        number,
        service: usual_service(number).to_owned(),
        banner: String::new(),
        is_identified: false,
        is_encrypted: false,
        certificate: None,
        tls: Vec::new(),
    }
}

fn ask_page(to: SocketAddr, until: &Until<'_>, port: &mut FoundPort) {
    let Ok(mut stream) = Timed::connect(to, until) else { return };
    if stream.write_all(page_request(to).as_bytes()).is_ok() {
        let until = stream.until;
        hear(port, &stream.read_some(until));
    }
}

fn ask_tls(to: SocketAddr, until: &Until<'_>, port: &mut FoundPort) {
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

/// Notes what a port said, and what service it is by that.
pub fn hear(port: &mut FoundPort, said: &[u8]) {
    port.banner = match heading(said) {
        Some(heading) => escaped(heading.as_bytes()),
        None => escaped(said),
    };
    name(port);
}

/// Status, server and title of an HTTP response. `None`: it is not one.
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

/// Beginnings of banners, and nmap's names of the services that send them.
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

/// Names the service by its banner, if the banner identifies it.
fn name(port: &mut FoundPort) {
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
    port.is_identified = true;
}
