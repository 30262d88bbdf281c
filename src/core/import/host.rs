//! The records of a scanned host: an asset, and one record for each check. What a name or an address says about a host.

use super::text::{self, DETAIL_CHARS_MAX, NAME_CHARS_MAX, OrSkipped};
use super::{Check, CheckOutcome, CheckSubject, Record};
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::network::host::HostEvidence;
use crate::engine::network::service::ProtocolPorts;
use crate::error::Result;

/// What an operating system runs on, by a word of its name: the first that fits.
const OF_SYSTEMS: &[(&str, AssetType)] = &[
    ("windows server", AssetType::Server),
    ("windowsserver", AssetType::Server),
    ("windows 200", AssetType::Server),
    ("windows 201", AssetType::Server),
    ("windows 202", AssetType::Server),
    ("windows", AssetType::Workstation),
    ("mac os", AssetType::Workstation),
    ("macos", AssetType::Workstation),
    // Before OS X, which is in the name of IOS XE.
    ("cisco", AssetType::NetworkDevice),
    ("os x", AssetType::Workstation),
    ("embedded", AssetType::Device),
    ("android", AssetType::Mobile),
    ("iphone", AssetType::Mobile),
    ("ipad", AssetType::Mobile),
    ("fortios", AssetType::NetworkDevice),
    ("fortinet", AssetType::NetworkDevice),
    ("junos", AssetType::NetworkDevice),
    ("pan-os", AssetType::NetworkDevice),
    ("routeros", AssetType::NetworkDevice),
    ("big-ip", AssetType::NetworkDevice),
    ("linux", AssetType::Server),
    ("ubuntu", AssetType::Server),
    ("debian", AssetType::Server),
    ("centos", AssetType::Server),
    ("red hat", AssetType::Server),
    ("rhel", AssetType::Server),
    ("suse", AssetType::Server),
    ("bsd", AssetType::Server),
    ("solaris", AssetType::Server),
    ("esxi", AssetType::Server),
    ("aix", AssetType::Server),
];

/// Hands out the records of the host with number `at`. `covered` are the ports that the scan asked.
///
/// # Errors
/// Whatever `records` returns.
pub fn records_of(
    host: &HostEvidence,
    at: u64,
    covered: &ProtocolPorts,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut skip = |reason: &str| records(Record::Skipped { at, reason: reason.to_owned() });
    match host.state.as_deref() {
        Some("up") => {}
        Some("down") => return skip("host is down"),
        Some(_) => return skip("host is neither up nor down"),
        None => return skip("host without a status"),
    }
    let Some(address) = host.ipv4.as_deref().or(host.ipv6.as_deref()) else {
        return skip("host without an address");
    };
    let seen = match seen(host, address) {
        Ok(seen) => seen,
        Err(reason) => return skip(&reason),
    };
    if host.is_loopback {
        skip("loopback address: its open ports are not exposed to a network")?;
    }
    records(Record::Asset(seen.clone()))?;
    for it in host.checks(covered) {
        let outcome = if it.failing.is_some() { CheckOutcome::Fail } else { CheckOutcome::Pass };
        records(Record::Check(Check {
            scope: seen.scope.clone(),
            tool: None,
            check: it.check.to_owned(),
            outcome,
            severity: it.severity,
            title: it.title.to_owned(),
            remediation: Some(it.remediation.to_owned()),
            detail: it.failing.map(|detail| text::line(&detail, DETAIL_CHARS_MAX)),
            subject: CheckSubject::of(seen.external_id.clone(), seen.name.clone()),
            observed_at: host.scanned_at,
        }))?;
    }
    Ok(())
}

/// # Errors
/// The reason why the host is not an asset.
fn seen(host: &HostEvidence, address: &str) -> OrSkipped<Seen> {
    let scope = text::id(address, "address")?.to_lowercase();
    let mac = host.mac.as_deref().filter(|it| is_global(it)).map(str::to_lowercase);
    let hostname = host.ptr.as_deref().or(host.typed.as_deref()).and_then(hostname);
    // As assets are merged: a MAC address of the manufacturer stays with the device, and a name outlives an address.
    let external_id = mac.clone().or(hostname.clone()).unwrap_or_else(|| scope.clone());
    Ok(Seen {
        external_id: text::id(&external_id, "host name")?,
        name: text::line(hostname.as_deref().unwrap_or(&scope), NAME_CHARS_MAX),
        category: Some("host".to_owned()),
        asset_type: host.asset_type(),
        is_managed: false,
        hostname,
        ip: Some(scope.clone()),
        mac,
        serial: None,
        scope,
        seen_at: host.scanned_at,
        reported: ReportedFields::default(),
    })
}

/// An address of a network card that its manufacturer assigned, however it is written, in lower case with colons.
#[must_use]
pub fn mac(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|it| !matches!(it, ':' | '-' | '.' | ' ')).collect();
    let octets = hex::decode(&digits).ok().filter(|it| it.len() == 6)?;
    let mac = octets.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().join(":");
    is_global(&mac).then_some(mac)
}

/// Returns true if the manufacturer assigned the MAC address. One of the last two bits of its first byte is set if software
/// assigned it, or if it is the address of a group.
pub(super) fn is_global(mac: &str) -> bool {
    let bytes: Option<Vec<u8>> = mac.split(':').map(|it| u8::from_str_radix(it, 16).ok()).collect();
    bytes.is_some_and(|it| {
        mac.len() == 17
            && it.len() == 6
            && 2 <= it[0].trailing_zeros()
            && it.iter().any(|it| *it != 0)
    })
}

/// The name in lower case, without the last dot. `None` for names that every host has.
pub(super) fn hostname(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches('.').to_lowercase();
    let common = name == "localhost" || name.starts_with("localhost.");
    (!name.is_empty() && !common).then_some(name)
}

/// What an operating system runs on, by its name in lower case. `None`: the name says nothing of it.
pub(super) fn type_of_os(name: &str) -> Option<AssetType> {
    OF_SYSTEMS.iter().find(|it| name.contains(it.0)).map(|it| it.1)
}
