//! Makes records of a host that our own scan found, with the same names and checks as for a host in nmap's files, so
//! that both are about the same assets.

use crate::clock::Time;
use crate::engine::network::host::{
    CertificateTerm, Extra, HostEvidence, HostService, PortEvidence, PortState, tls_versions,
};
use crate::engine::network::scan::{Answers, FoundHost, FoundPort};
use crate::engine::network::service::{PortSet, Protocol, ProtocolPorts};
use crate::error::Result;
use crate::import::Record;
use crate::import::host::records_of;

/// What a scan probed on every host.
#[derive(Clone, Copy, Debug)]
pub struct ScannedPorts<'a> {
    /// Such as `22,80-90`.
    pub ports: &'a str,
    /// Ports where TLS is usual. Each scan tries TLS on them.
    pub usual_tls: &'a [u16],
    pub at: Time,
}

/// Passes the records of the host with number `at` to `records`.
///
/// A check passes only if everything that it needs was probed. A scan of few ports, or of a host that went away
/// meanwhile, shows what is open, but does not cover what an earlier scan saw.
///
/// A host with almost every port open is an asset without checks. A host that answers like all others of its block is
/// not an asset and is left out.
///
/// # Errors
/// Those of `records`.
pub fn records(
    found: &FoundHost,
    at: u64,
    asked: &ScannedPorts<'_>,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let probed = PortSet::of(asked.ports);
    let mut covered = ProtocolPorts::default();
    match found.answers {
        Answers::Own => covered.add(Protocol::Tcp, asked.ports),
        Answers::OnEveryPort => (),
        Answers::OnEveryAddress => {
            let reason = "address that answers like almost all others of its block".to_owned();
            return records(Record::Skipped { at, reason });
        }
    }
    let address = Some(found.address.to_string());
    let (ipv4, ipv6) = if found.address.is_ipv4() { (address, None) } else { (None, address) };
    let is_own = found.answers == Answers::Own;
    // A host with very many open ports does not list all of them. Our own listeners, and ports that no packet reached,
    // are not counted.
    let n_probed = u64::from(found.n_open) + u64::from(found.n_closed) + u64::from(found.n_silent);
    let is_whole = found.ports.len() as u64 == u64::from(found.n_open)
        && n_probed == probed.n_ports()
        && found.n_open + found.n_closed != 0;
    let rest = if is_whole { PortState::Shut } else { PortState::Unclear };
    let is_tls_known = |it: &FoundPort| !asked.usual_tls.contains(&it.number) || !it.tls.is_empty();
    let sees_all_tls = is_whole
        && asked.usual_tls.iter().all(|it| probed.contains(*it))
        && found.ports.iter().all(is_tls_known);
    let host = HostEvidence {
        state: Some("up".to_owned()),
        ipv4,
        ipv6,
        mac: found.mac.clone(),
        ptr: found.hostname.clone(),
        typed: None,
        ports: if is_own { found.ports.iter().map(port).collect() } else { Vec::new() },
        // Ports that are not open were closed or silent.
        extras: vec![Extra { state: rest, ports: ProtocolPorts::default() }],
        os: None,
        identified: Some(found.asset_type),
        scanned_at: Some(asked.at),
        is_loopback: false,
        hides_tls: !sees_all_tls,
    };
    records_of(&host, at, &covered, records)
}

fn port(found: &FoundPort) -> PortEvidence {
    PortEvidence {
        protocol: Protocol::Tcp,
        number: found.number,
        state: PortState::Open,
        service: HostService {
            name: found.service.clone(),
            banner: found.banner.clone(),
            probed: found.is_identified,
            encrypted: found.is_encrypted,
        },
        certificate: found
            .certificate
            .as_ref()
            .map(|it| CertificateTerm { from: Some(it.from), until: it.until }),
        tls: tls_versions(&found.tls),
    }
}
