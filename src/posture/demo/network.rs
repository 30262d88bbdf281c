//! What a scan of a client's main site sees.

use super::portfolio::DemoClient;
use super::view::Gap;
use crate::clock::Time;
use crate::engine::asset::AssetType;
use crate::engine::catalog::Catalog;
use crate::engine::network::host::{
    CertificateTerm, Extra, HostEvidence, HostService, PortEvidence, PortState,
};
use crate::engine::network::service::{Protocol, ProtocolPorts};
use crate::error::Result;
use crate::id::ImportId;
use crate::import::fold::{Fold, Folded, ImportOrigin};
use crate::import::host::records_of;

/// The tool's name in the catalog, and the source's.
pub(super) const TOOL: &str = "nmap";

/// A host: the last part of its address, its name, its type, and the port with its service that should not be open.
type Host = (u8, &'static str, AssetType, &'static str, (u16, &'static str));

const HOSTS: [Host; 6] = [
    (1, "fw-01", AssetType::NetworkDevice, "NET-02", (23, "telnet")),
    (10, "nas-01", AssetType::FileShare, "NET-02", (21, "ftp")),
    (12, "app-01", AssetType::Server, "NET-01", (3389, "ms-wbt-server")),
    (14, "erp-db", AssetType::Database, "NET-01", (1433, "ms-sql-s")),
    (31, "printer-lobby", AssetType::Device, "NET-02", (23, "telnet")),
    (77, "raspberrypi", AssetType::Device, "NET-01", (5900, "vnc")),
];
/// The host that someone plugs in one day.
const INTRUDER: &str = "raspberrypi";
const PORTS: &str = "1-10000";
/// How long certificates of devices are valid.
const CERTIFICATE_DAYS: i64 = 365;

/// The address of the client's main site.
pub(super) fn site(client: &DemoClient) -> String {
    format!("192.168.{}", 10 + client.chance("site", 200))
}

/// What one run of nmap finds.
pub(super) fn read(
    client: &DemoClient,
    catalog: &Catalog,
    (week, at): (u64, Time),
    import: ImportId,
) -> Result<Folded> {
    let mut fold = Fold::new(ImportOrigin::at(TOOL, TOOL, import, at));
    let mut covered = ProtocolPorts::default();
    covered.add(Protocol::Tcp, PORTS);
    let gap = |code: &str| {
        let control = &catalog.controls[catalog.find_control(code)?];
        Gap::of(client, control, week)
    };
    let hosts = HOSTS.iter().filter(|it| is_there(client, it.1, week));
    for (number, (part, name, asset_type, control, port)) in (1..).zip(hosts) {
        let exposed = gap(control)
            .is_some_and(|it| client.chance(&format!("host/{name}"), 1_000) < 250 + it.failing);
        let mut ports = vec![web(at, *part == 1 && gap("NET-03").is_some())];
        ports.extend(exposed.then(|| open(port.0, port.1)));
        let host = HostEvidence {
            state: Some("up".to_owned()),
            ipv4: Some(format!("{}.{part}", site(client))),
            ptr: Some(format!("{name}.{}", client.domain())),
            mac: Some(format!("00:1b:78:{:02x}:{:02x}:{part:02x}", client.employees % 256, 17)),
            ports,
            extras: vec![Extra { state: PortState::Shut, ports: ProtocolPorts::default() }],
            identified: Some(*asset_type),
            scanned_at: Some(at),
            ..HostEvidence::default()
        };
        records_of(&host, number, &covered, &mut |it| fold.add(it))?;
    }
    Ok(fold.finish())
}

/// Small sites have fewer hosts, and at some a computer appears that nobody knows.
fn is_there(client: &DemoClient, name: &str, week: u64) -> bool {
    match name {
        INTRUDER => client.chance("intruder", 4) == 0 && 9 + client.chance("plugged", 12) <= week,
        "app-01" | "erp-db" => client.has_servers(),
        _ => true,
    }
}

fn open(number: u16, service: &str) -> PortEvidence {
    PortEvidence {
        protocol: Protocol::Tcp,
        number,
        state: PortState::Open,
        service: HostService { name: service.to_owned(), probed: true, ..HostService::default() },
        certificate: None,
        tls: Vec::new(),
    }
}

/// The web interface of a device. Its certificate has expired, or is valid for some more months.
fn web(at: Time, has_expired: bool) -> PortEvidence {
    let until = at.plus_days(if has_expired { -9 } else { CERTIFICATE_DAYS / 2 });
    let term = CertificateTerm { from: Some(until.plus_days(-CERTIFICATE_DAYS)), until };
    let service =
        HostService { name: "https".to_owned(), encrypted: true, ..HostService::default() };
    PortEvidence { certificate: Some(term), tls: vec!["TLSv1.2"], service, ..open(443, "") }
}
