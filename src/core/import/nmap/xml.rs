//! nmap's XML, read as a stream. Its document type is not resolved.

use std::io::BufRead;
use std::net::IpAddr;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::clock::Time;
use crate::engine::network::host::{
    CertificateTerm, Extra, HostEvidence, HostService, Os, PortEvidence, PortState, TLS_VERSIONS,
};
use crate::engine::network::service::{Protocol, ProtocolPorts};
use crate::error::{Error, Result};
use crate::import::host::records_of;
use crate::import::ration::{Ration, unread};
use crate::import::xml::value;
use crate::import::{Record, moment};

/// A file with a host of more listed ports (all of TCP and UDP) is refused.
const N_PORTS_MAX: usize = 2 * 65_536;
/// A file with elements nested deeper is refused. nmap nests a dozen.
const DEPTH_MAX: u32 = 64;
/// A file with more lists of ports in a scan, or more groups of ports in a host, is refused.
const N_LISTS_MAX: usize = 1_024;

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::from_reader(Ration::new(input));
    let mut buffer = Vec::new();
    let mut scan = NmapRun::default();
    let mut depth = 0;
    loop {
        buffer.clear();
        reader.get_mut().renew();
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => return Err(scan.broken(error, reader.error_position())),
        };
        match event {
            Event::Start(tag) => {
                depth += 1;
                if DEPTH_MAX < depth {
                    return Err(Error::invalid(
                        "not an nmap report: XML elements are nested too deeply",
                    ));
                }
                scan.open(&tag)?;
            }
            Event::Empty(tag) => {
                scan.open(&tag)?;
                scan.close(tag.name().as_ref(), records)?;
            }
            Event::End(tag) => {
                depth -= 1; // The reader refuses an end without a start.
                scan.close(tag.name().as_ref(), records)?;
            }
            Event::DocType(text) if text.contains('[') => {
                return Err(Error::invalid("not an nmap report: the XML defines its own entities"));
            }
            Event::Eof => return scan.end(),
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
}

#[derive(Default)]
struct NmapRun {
    place: XmlPlace,
    started_at: Option<Time>,
    covered: ProtocolPorts,
    n_lists: usize,
    n_hosts: u64,
    /// The one being read.
    host: Option<HostEvidence>,
    port: Option<PortEvidence>,
    /// nmap wrote its closing line.
    finished: bool,
}

/// How far the file has been read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum XmlPlace {
    #[default]
    Before,
    Inside,
    After,
}

impl NmapRun {
    fn open(&mut self, tag: &BytesStart) -> Result<()> {
        match (self.place, tag.name().as_ref()) {
            (XmlPlace::Before, "nmaprun") => self.root(tag),
            (XmlPlace::Before, _) => {
                Err(Error::invalid("not an nmap report: the XML does not start with nmaprun"))
            }
            (XmlPlace::After, _) => Err(Error::invalid(
                "the file contains more than one scan; import each as a separate file",
            )),
            (XmlPlace::Inside, name) => self.inside(name, tag),
        }
    }

    fn root(&mut self, tag: &BytesStart) -> Result<()> {
        self.place = XmlPlace::Inside;
        self.started_at = time(tag, "start");
        match attribute(tag, "scanner").as_deref() {
            Some("nmap") => Ok(()),
            other => Err(Error::invalid(format!(
                "the report is from {}, which does not distinguish closed ports from ports that it did not probe; scan \
                 with nmap -oX",
                other.map_or_else(
                    || "an unnamed scanner".to_owned(),
                    |it| crate::import::text::line(it, 40)
                )
            ))),
        }
    }

    fn inside(&mut self, name: &str, tag: &BytesStart) -> Result<()> {
        match name {
            "scaninfo" => {
                if let Some(protocol) = Protocol::find(&word(tag, "protocol")) {
                    self.covered.add(protocol, &word(tag, "services"));
                    self.n_lists += 1;
                }
                refuse_beyond(self.n_lists, N_LISTS_MAX, "lists of ports")?;
            }
            "host" => {
                self.n_hosts += 1;
                let scanned_at =
                    time(tag, "endtime").or(time(tag, "starttime")).or(self.started_at);
                self.host = Some(HostEvidence { scanned_at, ..HostEvidence::default() });
            }
            "finished" => {
                self.finished = true;
                if attribute(tag, "exit").is_some_and(|it| it != "success") {
                    let message = crate::import::text::line(&word(tag, "errormsg"), 200);
                    return Err(Error::invalid(format!(
                        "nmap stopped before the end of the scan ({message}); run the scan again"
                    )));
                }
            }
            // A hosthint, outside of hosts, announces a host that follows later.
            _ => {
                if let Some(host) = &mut self.host {
                    describe(host, &mut self.port, name, tag)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, name: &str, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        match name {
            "port" => {
                if let (Some(port), Some(host)) = (self.port.take(), &mut self.host) {
                    host.ports.push(port);
                    refuse_beyond(host.ports.len(), N_PORTS_MAX, "ports of one host")?;
                }
            }
            "host" => {
                if let Some(mut host) = self.host.take() {
                    let address = host.ipv4.as_ref().or(host.ipv6.as_ref());
                    let address = address.and_then(|it| it.parse::<IpAddr>().ok());
                    host.is_loopback = address.is_some_and(|it| it.is_loopback());
                    records_of(&host, self.n_hosts, &self.covered, records)?;
                }
            }
            "nmaprun" if self.finished => self.place = XmlPlace::After,
            "nmaprun" => return Err(self.interrupted()),
            _ => {}
        }
        Ok(())
    }

    fn end(&self) -> Result<()> {
        match self.place {
            XmlPlace::After => Ok(()),
            XmlPlace::Before => {
                Err(Error::invalid("not an nmap report, or truncated before nmaprun"))
            }
            XmlPlace::Inside => Err(self.interrupted()),
        }
    }

    fn interrupted(&self) -> Error {
        Error::invalid(format!(
            "the scan was interrupted: the report ends after {} {}, without nmap's closing line; let nmap finish (nmap \
             --resume works only with -oN and -oG logs), or scan fewer hosts at once",
            self.n_hosts,
            if self.n_hosts == 1 { "host" } else { "hosts" }
        ))
    }

    /// The syntax errors of the XML reader are all "ended before something was closed".
    fn broken(&self, error: quick_xml::Error, offset: u64) -> Error {
        match error {
            quick_xml::Error::Io(cause) => unread(cause, offset),
            quick_xml::Error::Syntax(_) if self.place != XmlPlace::Before => self.interrupted(),
            quick_xml::Error::Syntax(_)
            | quick_xml::Error::IllFormed(_)
            | quick_xml::Error::InvalidAttr(_)
            | quick_xml::Error::Encoding(_)
            | quick_xml::Error::Escape(_)
            | quick_xml::Error::Namespace(_) => {
                Error::invalid(format!("invalid XML at byte {offset}; run the scan again"))
                    .caused_by(error)
            }
        }
    }
}

/// Reads a tag inside of a host.
fn describe(
    host: &mut HostEvidence,
    port: &mut Option<PortEvidence>,
    name: &str,
    tag: &BytesStart,
) -> Result<()> {
    match (name, port) {
        ("status", _) => host.state = attribute(tag, "state"),
        ("address", _) => {
            let address = attribute(tag, "addr");
            match word(tag, "addrtype").as_str() {
                "ipv4" => host.ipv4 = address,
                "ipv6" => host.ipv6 = address,
                "mac" => host.mac = address,
                _ => {}
            }
        }
        ("hostname", _) => {
            let hostname = attribute(tag, "name");
            let place = if word(tag, "type") == "PTR" { &mut host.ptr } else { &mut host.typed };
            *place = place.take().or(hostname);
        }
        ("extraports", _) => {
            let state = PortState::of(&word(tag, "state"));
            host.extras.push(Extra { state, ports: ProtocolPorts::default() });
            refuse_beyond(host.extras.len(), N_LISTS_MAX, "lists of ports")?;
        }
        ("extrareasons", _) => {
            if let (Some(extra), Some(protocol)) =
                (host.extras.last_mut(), Protocol::find(&word(tag, "proto")))
            {
                extra.ports.add(protocol, &word(tag, "ports"));
            }
        }
        ("port", port) => *port = begun(tag),
        ("state", Some(port)) => port.state = PortState::of(&word(tag, "state")),
        ("service", Some(port)) => port.service = service(tag),
        ("script", Some(port)) => learn(port, &word(tag, "id"), &word(tag, "output")),
        ("osclass", _) => {
            let accuracy = word(tag, "accuracy").parse().unwrap_or(0);
            let (class, family) = (word(tag, "type"), word(tag, "osfamily"));
            let os = host.os.get_or_insert_default();
            // Of equal guesses the general one: a system of many machines also runs on some access points.
            let usual = |class: &str| class == "general purpose";
            if (os.accuracy, usual(&os.class)) < (accuracy, usual(&class)) {
                *os = Os { accuracy, class, family, ..std::mem::take(os) };
            }
        }
        ("osmatch", _) => {
            let accuracy = word(tag, "accuracy").parse().unwrap_or(0);
            let os = host.os.get_or_insert_default();
            if os.name_accuracy < accuracy {
                (os.name_accuracy, os.name) = (accuracy, word(tag, "name"));
            }
        }
        _ => {}
    }
    Ok(())
}

/// `None`: a port of a protocol that is not assessed.
fn begun(tag: &BytesStart) -> Option<PortEvidence> {
    Some(PortEvidence {
        protocol: Protocol::find(&word(tag, "protocol"))?,
        number: word(tag, "portid").parse().ok()?,
        state: PortState::Unclear,
        service: HostService::default(),
        certificate: None,
        tls: Vec::new(),
    })
}

fn service(tag: &BytesStart) -> HostService {
    let banner = ["product", "version", "extrainfo"].map(|it| word(tag, it));
    let banner: Vec<&str> = banner.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    HostService {
        name: word(tag, "name"),
        banner: banner.join(" "),
        probed: word(tag, "method") == "probed",
        encrypted: word(tag, "tunnel") == "ssl",
    }
}

/// `None`: the tag does not have it.
fn attribute(tag: &BytesStart, name: &str) -> Option<String> {
    Some(value(&tag.try_get_attribute(name).ok()??))
}

/// Empty: the tag does not have it.
fn word(tag: &BytesStart, name: &str) -> String {
    attribute(tag, name).unwrap_or_default()
}

fn time(tag: &BytesStart, name: &str) -> Option<Time> {
    moment::of_text(&attribute(tag, name)?)
}

fn refuse_beyond(n: usize, n_max: usize, what: &str) -> Result<()> {
    if n <= n_max { Ok(()) } else { Err(Error::invalid(format!("more than {n_max} {what}"))) }
}

/// Takes the output of one of nmap's scripts for this port.
fn learn(port: &mut PortEvidence, script: &str, output: &str) {
    match script {
        "ssl-cert" => {
            let time = |label: &str| {
                let text = output.split_once(label)?.1.split_whitespace().next()?;
                crate::import::moment::of_text(text)
            };
            let from = time("Not valid before:");
            port.certificate =
                time("Not valid after:").map(|until| CertificateTerm { from, until });
        }
        "ssl-enum-ciphers" => {
            // A version that is not offered says so on its line, or has none.
            for line in output.lines().map(|it| it.trim().trim_end_matches(':')) {
                port.tls.extend(TLS_VERSIONS.iter().filter(|it| **it == line));
            }
        }
        "sslv2" if output.contains("supported") || output.contains("supports") => {
            port.tls.push("SSLv2");
        }
        _ => {}
    }
}
