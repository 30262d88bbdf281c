//! Network scans and their results, as the wire shows them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::wire::reply::Null;
use crate::api::wire::view::{
    AnswersView, AssetStatusView, AssetTypeView, ScanStatusView, Uid, When,
};
use crate::app::scan::request::ScanWithProgress;
use crate::engine::asset::Asset;
use crate::engine::network::scan::{Certificate, FoundHost, FoundPort};
use crate::id::ClientId;
use crate::store::global::scan::Difference;

/// A network scan.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Scan")]
#[serde(rename_all = "camelCase")]
pub struct ScanView {
    id: Uid,
    /// The client that the assets belong to. Null: the scan is for no client.
    client_id: Null<Uid>,
    name: Null<String>,
    status: ScanStatusView,
    targets: Vec<String>,
    exclude: Vec<String>,
    /// As port ranges.
    ports: String,
    /// How many probes may be in progress at once.
    threads: u32,
    progress: ProgressView,
    created_at: When,
    started_at: Null<When>,
    finished_at: Null<When>,
    /// Why it failed.
    error: Null<String>,
    /// Additional information about the result, for example why the scan found nothing.
    note: Null<String>,
    /// What changed since the last completed scan of the same targets. Null: there was none.
    difference: Null<DifferenceView>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScanProgress")]
#[serde(rename_all = "camelCase")]
struct ProgressView {
    hosts_total: u64,
    hosts_done: u64,
    hosts_up: u64,
    ports_open: u64,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScanDifference")]
#[serde(rename_all = "camelCase")]
struct DifferenceView {
    previous_scan_id: Uid,
    hosts_new: u32,
    hosts_gone: u32,
    /// Counts only ports that both scans probed.
    ports_opened: u32,
    ports_closed: u32,
    /// The first 200 changes, as text.
    changes: Vec<String>,
}

impl ScanView {
    pub(in crate::api::manage) fn of(shown: ScanWithProgress) -> Self {
        let ScanWithProgress { scan, n_done, n_up, n_open } = shown;
        Self {
            id: Uid::of(scan.id.as_bytes()),
            client_id: scan.client.map(|it| Uid::of(it.as_bytes())).into(),
            name: scan.name.into(),
            status: ScanStatusView(scan.status),
            targets: scan.targets,
            exclude: scan.exclude,
            ports: scan.ports,
            threads: scan.n_threads,
            progress: ProgressView {
                hosts_total: scan.n_hosts,
                hosts_done: n_done,
                hosts_up: n_up,
                ports_open: n_open,
            },
            created_at: When(scan.created_at),
            started_at: scan.started_at.map(When).into(),
            finished_at: scan.finished_at.map(When).into(),
            error: scan.error.into(),
            note: scan.note.into(),
            difference: scan.difference.map(DifferenceView::of).into(),
        }
    }
}

impl DifferenceView {
    fn of(it: Difference) -> Self {
        Self {
            previous_scan_id: Uid::of(it.previous.as_bytes()),
            hosts_new: it.n_hosts_new,
            hosts_gone: it.n_hosts_gone,
            ports_opened: it.n_ports_opened,
            ports_closed: it.n_ports_closed,
            changes: it.changes,
        }
    }
}

/// An address that answered.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScannedHost")]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    address: String,
    hostname: Null<String>,
    mac: Null<String>,
    /// How the scan noticed the host.
    evidence: String,
    asset_type: AssetTypeView,
    /// Why the scan assumes this type.
    because: String,
    answers: AnswersView,
    open_ports: u32,
    closed_ports: u32,
    silent_ports: u32,
    /// The open ports, at most the first 256.
    ports: Vec<PortView>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScannedPort")]
#[serde(rename_all = "camelCase")]
struct PortView {
    port: u16,
    /// nmap's name of the service. Empty: unknown.
    service: String,
    /// What the service sent, at most 512 characters. Printable ASCII; other bytes as `\xNN`.
    banner: String,
    /// The service was identified by what it sent, not only by its port.
    identified: bool,
    encrypted: bool,
    /// The newest TLS version that it supports, and outdated versions that it accepts.
    tls: Vec<String>,
    certificate: Null<CertificateView>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScannedCertificate")]
#[serde(rename_all = "camelCase")]
struct CertificateView {
    subject: String,
    issuer: String,
    names: Vec<String>,
    not_before: When,
    not_after: When,
    self_signed: bool,
}

impl HostView {
    pub(in crate::api::manage) fn of(host: FoundHost) -> Self {
        Self {
            address: host.address.to_string(),
            hostname: host.hostname.into(),
            mac: host.mac.into(),
            evidence: host.evidence,
            asset_type: AssetTypeView(host.asset_type),
            because: host.because,
            answers: AnswersView(host.answers),
            open_ports: host.n_open,
            closed_ports: host.n_closed,
            silent_ports: host.n_silent,
            ports: host.ports.into_iter().map(PortView::of).collect(),
        }
    }
}

impl PortView {
    fn of(port: FoundPort) -> Self {
        Self {
            port: port.number,
            service: port.service,
            banner: port.banner,
            identified: port.is_identified,
            encrypted: port.is_encrypted,
            tls: port.tls,
            certificate: port.certificate.map(CertificateView::of).into(),
        }
    }
}

impl CertificateView {
    fn of(it: Certificate) -> Self {
        Self {
            subject: it.subject,
            issuer: it.issuer,
            names: it.names,
            not_before: When(it.from),
            not_after: When(it.until),
            self_signed: it.is_self_signed,
        }
    }
}

/// An asset that a scan found.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScannedAsset")]
#[serde(rename_all = "camelCase")]
pub struct FoundView {
    id: Uid,
    /// Null: a scan for no client found it.
    client_id: Null<Uid>,
    name: String,
    asset_type: AssetTypeView,
    status: AssetStatusView,
    is_managed: bool,
    is_critical: bool,
    hostname: Null<String>,
    ip: Null<String>,
    mac: Null<String>,
    first_discovered_at: When,
    last_seen_at: When,
}

impl FoundView {
    pub(in crate::api::manage) fn of((client, asset): (Option<ClientId>, Asset)) -> Self {
        Self {
            id: Uid::of(asset.id.as_bytes()),
            client_id: client.map(|it| Uid::of(it.as_bytes())).into(),
            name: asset.name,
            asset_type: AssetTypeView(asset.asset_type),
            status: AssetStatusView(asset.status),
            is_managed: asset.is_managed,
            is_critical: asset.is_critical,
            hostname: asset.hostname.into(),
            ip: asset.ip.into(),
            mac: asset.mac.into(),
            first_discovered_at: When(asset.first_discovered_at),
            last_seen_at: When(asset.last_seen_at),
        }
    }
}
