//! Devices as assets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Device, Last};
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::import::host::mac;

/// What makers and hypervisors write where a serial number belongs, in lower case.
const JUNK_SERIALS: [&str; 19] = [
    "0123456789",
    "123456789",
    "1234567890",
    "chassis serial number",
    "default string",
    "empty",
    "invalid",
    "n/a",
    "no asset tag",
    "none",
    "not applicable",
    "not available",
    "not specified",
    "null",
    "o.e.m.",
    "serial number",
    "system serial number",
    "to be filled by o.e.m.",
    "unknown",
];
/// What hypervisors make up begins with one of these.
const JUNK_SERIAL_STARTS: [&str; 2] = ["vmware-", "parallels-"];
const SERIAL_CHARS_MIN: usize = 4;

/// The devices as assets of a scope. A serial number or MAC address that several of them have identifies none.
#[must_use]
pub fn assets(devices: &[Device], scope: &str) -> Vec<Seen> {
    let serials: Vec<Option<String>> =
        devices.iter().map(|it| it.serial.as_deref().and_then(serial)).collect();
    let macs: Vec<Vec<String>> =
        devices.iter().map(|it| it.macs.iter().filter_map(|it| mac(it)).collect()).collect();
    let n_serials = counts(serials.iter().flatten().map(|it| it.to_lowercase()));
    let n_macs = counts(macs.iter().flat_map(|all| {
        let mut all = all.clone();
        all.sort_unstable();
        all.dedup();
        all
    }));
    let keys = serials.iter().zip(&macs);
    let seen = devices.iter().zip(keys).map(|(device, (serial, macs))| Seen {
        external_id: device.id.clone(),
        name: device.name.clone(),
        category: None,
        asset_type: device.kind.unwrap_or(AssetType::Device),
        is_managed: device.managed == Some(true),
        hostname: device.hostname.clone(),
        ip: device.ip.as_deref().and_then(address),
        mac: macs.iter().find(|it| n_macs[*it] == 1).cloned(),
        serial: serial.clone().filter(|it| n_serials[&it.to_lowercase()] == 1),
        scope: scope.to_owned(),
        seen_at: match device.last_seen {
            Some(Last::At(time)) => Some(time),
            Some(Last::Never) | None => None,
        },
        reported: ReportedFields::default(),
    });
    seen.collect()
}

fn counts(all: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for it in all {
        *counts.entry(it).or_default() += 1;
    }
    counts
}

/// `None`: it is junk.
fn serial(text: &str) -> Option<String> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let first = lower.chars().next()?;
    let is_junk = lower.chars().count() < SERIAL_CHARS_MIN
        || lower.chars().all(|it| it == first || it == '-' || it == ' ')
        || JUNK_SERIALS.contains(&&*lower)
        || JUNK_SERIAL_STARTS.iter().any(|it| lower.starts_with(it));
    (!is_junk).then(|| text.to_owned())
}

/// The first address that others can reach it by.
fn address(text: &str) -> Option<String> {
    let all = text.split([',', ';', ' ']).map(|it| it.split('/').next().unwrap_or_default());
    let mut all = all.filter_map(|it| it.parse::<IpAddr>().ok());
    all.find(|it| !is_local(*it)).map(|it| it.to_string())
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => it.is_loopback() || it.is_link_local() || it.is_unspecified(),
        IpAddr::V6(it) => it.is_loopback() || it.is_unicast_link_local() || it.is_unspecified(),
    }
}
