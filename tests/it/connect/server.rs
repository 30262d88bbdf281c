//! A name server that answers as a test says, over UDP and TCP on one port.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

use posture::connect::dns::{DnsLimits, DnsResolver, Domain, read};
use posture::connect::reading::Reading;
use tokio::runtime::Builder;

pub const MX: u16 = 15;
pub const TXT: u16 = 16;
const CNAME: u16 = 5;
const SOA: u16 = 6;
const NS: u16 = 2;

#[derive(Clone, Debug)]
pub enum Reply {
    Txt(&'static str),
    /// The data of an MX record as a name: `0 .` is the empty one.
    Mx(&'static str),
    Cname(&'static str),
    /// An error, by its code: 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED.
    Code(u8),
    /// The name exists and has no such record.
    Nothing,
    /// Other name servers, instead of an answer.
    Referral,
    Truncated,
    Garbage,
    Silence,
}

pub struct Asked {
    pub name: String,
    pub kind: u16,
    pub is_tcp: bool,
}

type Script = Box<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// Its threads end with the process.
pub struct Server {
    pub address: SocketAddr,
    /// What was asked, in order: the name and whether it was over TCP.
    pub asked: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Server {
    pub fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let script: Arc<Script> = Arc::new(Box::new(script));
        let asked: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().unwrap();
        let shared = (Arc::clone(&script), Arc::clone(&asked));
        std::thread::spawn(move || {
            let mut bytes = [0; 2_048];
            while let Ok((n, from)) = udp.recv_from(&mut bytes) {
                if let Some(answer) = answer(&bytes[..n], false, &shared.0, &shared.1) {
                    udp.send_to(&answer, from).unwrap();
                }
            }
        });
        let shared = (script, Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let (mut stream, shared) = (stream.unwrap(), shared.clone());
                std::thread::spawn(move || {
                    let mut length = [0; 2];
                    while stream.read_exact(&mut length).is_ok() {
                        let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
                        stream.read_exact(&mut bytes).unwrap();
                        let Some(answer) = answer(&bytes, true, &shared.0, &shared.1) else {
                            continue;
                        };
                        let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                        stream.write_all(&[&length[..], &answer].concat()).unwrap();
                    }
                });
            }
        });
        Self { address, asked }
    }

    pub fn read(&self, domains: &[&str], limits: DnsLimits) -> Reading {
        read_at(self.address, domains, limits)
    }
}

/// The state of the reader is sent between threads, as a scheduler does.
pub fn read_at(address: SocketAddr, domains: &[&str], limits: DnsLimits) -> Reading {
    let domains: Vec<Domain> = domains.iter().map(|it| Domain::parse(it).unwrap()).collect();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async move {
        let mut resolver = DnsResolver::at(address).unwrap();
        resolver.limits = limits;
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move { read(&domains, &resolver).await });
        tasks.join_next().await.unwrap().unwrap()
    })
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|it| !it.is_empty());
    let mut bytes: Vec<u8> = labels
        .flat_map(|it| [&[u8::try_from(it.len()).unwrap()], it.as_bytes()].concat())
        .collect();
    bytes.push(0);
    bytes
}

fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    [owner, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &length, data].concat()
}

/// `None` for silence.
fn answer(
    query: &[u8],
    is_tcp: bool,
    script: &Script,
    asked: &Mutex<Vec<(String, bool)>>,
) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] != 0 {
        let n = usize::from(query[at]);
        labels.push(String::from_utf8(query[at + 1..=at + n].to_vec()).unwrap().to_lowercase());
        at += n + 1;
    }
    let question = &query[12..at + 5];
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    let this = Asked { name: labels.join("."), kind, is_tcp };
    asked.lock().unwrap().push((this.name.clone(), is_tcp));
    let owner = [0xc0, 12];
    let soa = [&name("ns.")[..], &name("admin."), &[0; 20]].concat();
    let (flags, records, others) = match script(&this) {
        Reply::Silence => return None,
        Reply::Garbage => return Some([&query[..2], &[0xff; 30]].concat()),
        Reply::Txt(text) => {
            let parts = text.as_bytes().chunks(255);
            let data: Vec<u8> =
                parts.flat_map(|it| [&[u8::try_from(it.len()).unwrap()], it].concat()).collect();
            (0, record(&owner, TXT, &data), Vec::new())
        }
        Reply::Mx(host) => {
            (0, record(&owner, MX, &[&[0, 0], &name(host)[..]].concat()), Vec::new())
        }
        Reply::Cname(target) => (0, record(&owner, CNAME, &name(target)), Vec::new()),
        Reply::Code(3) => (3, Vec::new(), record(&[0], SOA, &soa)),
        Reply::Code(code) => (u16::from(code), Vec::new(), Vec::new()),
        Reply::Nothing => (0, Vec::new(), record(&[0], SOA, &soa)),
        Reply::Referral => (0, Vec::new(), record(&[0], NS, &name("a.root-servers.net"))),
        Reply::Truncated => (0x200, Vec::new(), Vec::new()),
    };
    let n = |it: &[u8]| [0, u8::from(!it.is_empty())];
    let flags = (0x8180 | flags).to_be_bytes();
    let counts = [&[0, 1][..], &n(&records), &n(&others), &[0, 0]].concat();
    Some([&query[..2], &flags, &counts, question, &records, &others].concat())
}
