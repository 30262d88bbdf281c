//! Open ports that masscan found: XML (`-oX`), JSON (`-oJ`, `-oD`) or a list (`-oL`).
//!
//! masscan lists what is open and nothing else: a port that is not listed was closed, filtered, not probed, or its answer was lost.
//! So what is listed is held against a host, and nothing counts as closed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};
use std::net::IpAddr;

use crate::clock::Time;
use crate::engine::network::host::{HostEvidence, HostService, PortEvidence, PortState};
use crate::engine::network::service::{Protocol, ProtocolPorts};
use crate::error::{Error, Result};
use crate::import::document::{self, Part};
use crate::import::fold::{N_ASSETS_MAX, N_RECORDS_MAX};
use crate::import::host::records_of;
use crate::import::ration::refuse_beyond;
use crate::import::xml::{self, Node, not_a_report};
use crate::import::{RECORD_BYTES_MAX, Record, contains, has_members, moment, unreadable};

const WHAT: &str = "masscan";
/// How a list begins and ends.
const LIST_START: &[u8] = b"#masscan";
const LIST_END: &str = "# end";

/// Returns true for the start of what masscan writes.
pub(in crate::import) fn is_report(head: &[u8]) -> bool {
    let is_json = || {
        let of_host = has_members(head, &["ip", "timestamp", "ports", "proto"]);
        of_host || has_members(head, &["ip", "timestamp", "rec_type", "proto"])
    };
    match head.first() {
        Some(b'<') => contains(head, b"<nmaprun") && contains(head, b"scanner=\"masscan\""),
        Some(b'[' | b'{') => is_json(),
        Some(_) | None => head.starts_with(LIST_START),
    }
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut found = Found::default();
    match input.fill_buf().map_err(unreadable)?.first() {
        Some(b'<') => read_xml(input, &mut found)?,
        Some(b'[' | b'{') => read_json(input, &mut found)?,
        Some(_) | None => read_list(input, &mut found)?,
    }
    found.tell(records)
}

/// What is told of one port. Texts are empty where the file does not say.
#[derive(Default)]
struct Told {
    address: String,
    protocol: String,
    port: String,
    state: String,
    at: Option<Time>,
}

#[derive(Default)]
struct Host {
    at: Option<Time>,
    tcp: BTreeSet<u16>,
    udp: BTreeSet<u16>,
}

#[derive(Default)]
struct Found {
    hosts: BTreeMap<IpAddr, Host>,
    n_open: u64,
    /// With their numbers.
    skipped: Vec<(u64, &'static str)>,
}

impl Found {
    fn take(&mut self, told: &Told) -> Result<()> {
        if told.state != "open" {
            return Ok(());
        }
        self.n_open += 1;
        refuse_beyond(self.n_open <= N_RECORDS_MAX, N_RECORDS_MAX, "records")?;
        let Ok(address) = told.address.trim().parse() else {
            self.skipped.push((self.n_open, "no address"));
            return Ok(());
        };
        // Other protocols are not assessed.
        let (protocol, port) = (Protocol::find(&told.protocol), told.port.trim().parse());
        let (Some(protocol), Ok(port)) = (protocol, port) else { return Ok(()) };
        let host = self.hosts.entry(address).or_default();
        host.at = host.at.max(told.at);
        let ports = match protocol {
            Protocol::Tcp => &mut host.tcp,
            Protocol::Udp => &mut host.udp,
        };
        ports.insert(port);
        refuse_beyond(self.hosts.len() <= N_ASSETS_MAX, N_ASSETS_MAX as u64, "hosts")
    }

    fn tell(self, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        for (at, reason) in self.skipped {
            records(Record::Skipped { at, reason: reason.to_owned() })?;
        }
        let mut n_hosts = 0;
        for (address, host) in self.hosts {
            n_hosts += 1;
            records_of(&host.evidence(address), n_hosts, &ProtocolPorts::default(), records)?;
        }
        Ok(())
    }
}

impl Host {
    fn evidence(self, address: IpAddr) -> HostEvidence {
        let open = |protocol: Protocol, number: u16| PortEvidence {
            protocol,
            number,
            state: PortState::Open,
            service: HostService::default(),
            certificate: None,
            tls: Vec::new(),
        };
        let tcp = self.tcp.into_iter().map(|it| open(Protocol::Tcp, it));
        let udp = self.udp.into_iter().map(|it| open(Protocol::Udp, it));
        let shown = Some(address.to_string());
        HostEvidence {
            state: Some("up".to_owned()),
            ipv4: shown.clone().filter(|_| address.is_ipv4()),
            ipv6: shown.filter(|_| address.is_ipv6()),
            scanned_at: self.at,
            is_loopback: address.is_loopback(),
            ports: tcp.chain(udp).collect(),
            ..HostEvidence::default()
        }
    }
}

fn read_xml(input: &mut dyn BufRead, found: &mut Found) -> Result<()> {
    let mut told = Told::default();
    xml::walk(input, WHAT, &mut |path, node| {
        match (path, node) {
            (["nmaprun"], Node::Open(tag)) if tag.attribute("scanner") != "masscan" => {
                return Err(not_a_report(WHAT, "the XML is from another scanner"));
            }
            ([root], Node::Open(_)) if *root != "nmaprun" => {
                return Err(not_a_report(WHAT, "the XML does not start with nmaprun"));
            }
            ([_, "host"], Node::Open(tag)) => {
                told = Told { at: moment::of_text(&tag.attribute("endtime")), ..Told::default() };
            }
            ([_, "host", "address"], Node::Open(tag)) if tag.attribute("addrtype") != "mac" => {
                told.address = tag.attribute("addr");
            }
            ([_, "host", "ports", "port"], Node::Open(tag)) => {
                told.protocol = tag.attribute("protocol");
                told.port = tag.attribute("portid");
                told.state.clear();
            }
            ([_, "host", "ports", "port", "state"], Node::Open(tag)) => {
                told.state = tag.attribute("state");
            }
            ([_, "host", "ports", "port"], Node::Close) => return found.take(&told),
            (_, Node::Open(_) | Node::Text(_) | Node::Close) => {}
        }
        Ok(())
    })
}

fn read_json(input: &mut dyn BufRead, found: &mut Found) -> Result<()> {
    let (mut host, mut port, mut ports) = (Told::default(), Told::default(), Vec::new());
    document::walk(input, WHAT, &mut |path, part| {
        match (path, part) {
            (["ip"], Part::Text(text)) => text.clone_into(&mut host.address),
            (["timestamp"], Part::Text(text)) => host.at = moment::of_text(text),
            (["ports", "port"] | ["port"], Part::Text(text)) => text.clone_into(&mut port.port),
            (["ports", "proto"] | ["proto"], Part::Text(text)) => {
                text.clone_into(&mut port.protocol);
            }
            (["ports" | "data", "status"], Part::Text(text)) => text.clone_into(&mut port.state),
            (["ports"], Part::Close) => {
                ports.push(std::mem::take(&mut port));
                refuse_beyond(ports.len() as u64 <= N_RECORDS_MAX, N_RECORDS_MAX, "records")?;
            }
            ([], Part::Close) => {
                // With -oD, each document is about one port.
                ports.push(std::mem::take(&mut port));
                let host = std::mem::take(&mut host);
                for it in ports.drain(..) {
                    found.take(&Told { address: host.address.clone(), at: host.at, ..it })?;
                }
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => {}
        }
        Ok(())
    })
}

fn read_list(input: &mut dyn BufRead, found: &mut Found) -> Result<()> {
    let mut line = Vec::new();
    let (mut n_lines, mut is_whole) = (0_u64, false);
    loop {
        line.clear();
        let mut input = Read::take(&mut *input, RECORD_BYTES_MAX as u64);
        if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        if n_lines == 0 && !line.starts_with(LIST_START) {
            return Err(not_a_report(WHAT, "the list does not start with #masscan"));
        }
        n_lines += 1;
        let Ok(text) = str::from_utf8(&line) else {
            found.skipped.push((n_lines, "not UTF-8"));
            continue;
        };
        is_whole = text.trim_end() == LIST_END;
        let words: Vec<&str> = text.split_whitespace().collect();
        let [state, protocol, port, address, at] = words[..] else { continue };
        found.take(&Told {
            address: address.to_owned(),
            protocol: protocol.to_owned(),
            port: port.to_owned(),
            state: state.to_owned(),
            at: moment::of_text(at),
        })?;
    }
    if is_whole {
        return Ok(());
    }
    Err(Error::invalid(
        "the list is truncated: its last line is not \"# end\"; let masscan finish, or copy the file again",
    ))
}
