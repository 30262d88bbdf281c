//! The network scan, against hosts that the tests make on loopback and in namespaces of their own.

mod crash;
mod host;
mod hostile;
mod name;
mod needs_netns;
mod plan;
pub mod world;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

use crate::harness::sink::Sink;
use posture::engine::network::scan::{FoundHost, FoundPort, ProbeCounts};
use posture::error::Error;
use posture::scan::plan::{ScanPlan, ScanPolicy, ScanRequest};
use posture::scan::{Done, Pace, ScanProgress, ScanSettings, run};

/// Probes a second: as good as without a limit.
const PER_S: u32 = 100_000;

pub fn order(targets: &[&str], ports: &str) -> ScanRequest {
    ScanRequest {
        targets: targets.iter().map(|it| (*it).to_owned()).collect(),
        exclude: Vec::new(),
        ports: Some(ports.to_owned()),
    }
}

/// Everything of IPv4 and IPv6 may be scanned.
pub fn anything() -> ScanPolicy {
    let all = ["0.0.0.0/0", "::/0"].map(|it| it.parse().unwrap());
    ScanPolicy { allowed: all.to_vec(), ..ScanPolicy::default() }
}

pub fn plan(targets: &[&str], ports: &str) -> ScanPlan {
    ScanPlan::of(&order(targets, ports), &anything()).unwrap()
}

/// Nobody is asked for names: the tests' addresses have none.
pub fn settings() -> ScanSettings {
    let resolver = Some("127.0.0.1:9".parse().unwrap());
    ScanSettings { n_sockets: 256, per_host: 64, own: Vec::new(), asks: true, resolver }
}

/// Answers whoever asks with these bytes; a probe that only connects asks nothing.
pub fn page(at: &str, bytes: &'static [u8]) -> Sink {
    Sink::raw(at, move |mut stream| {
        if stream.read(&mut [0; 512]).is_ok_and(|it| it != 0) {
            let _ = stream.write_all(bytes);
        }
    })
}

pub struct Scanned {
    pub hosts: Vec<FoundHost>,
    pub tally: ProbeCounts,
}

impl Scanned {
    pub fn host(&self, address: &str) -> &FoundHost {
        let address: IpAddr = address.parse().unwrap();
        let found = self.hosts.iter().find(|it| it.address == address);
        found.unwrap_or_else(|| panic!("{address} was not found"))
    }

    pub fn port(&self, at: SocketAddr) -> &FoundPort {
        let ports = &self.host(&at.ip().to_string()).ports;
        ports.iter().find(|it| it.number == at.port()).unwrap_or_else(|| panic!("{at} is not open"))
    }

    pub fn open(&self, address: &str) -> Vec<u16> {
        self.host(address).ports.iter().map(|it| it.number).collect()
    }
}

/// Scans to the end, at a rate that no test waits for.
pub fn scan(plan: &ScanPlan, settings: &ScanSettings) -> Scanned {
    scan_at(PER_S, plan, settings)
}

pub fn scan_at(per_s: u32, plan: &ScanPlan, settings: &ScanSettings) -> Scanned {
    let pace = Pace::of(per_s);
    let found = Mutex::new(Scanned { hosts: Vec::new(), tally: ProbeCounts::default() });
    let mut sink = |done: Done| -> Result<(), Error> {
        let mut found = found.lock().unwrap();
        found.hosts.extend(done.hosts);
        found.tally.add(&done.tally);
        Ok(())
    };
    let how = (&pace, &ScanProgress::default());
    run(plan, &BTreeSet::new(), settings, how, &|| false, &mut sink).unwrap();
    found.into_inner().unwrap()
}
