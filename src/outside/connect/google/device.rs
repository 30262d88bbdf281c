//! Phones, tablets and Chromebooks (END-02, END-11).

use std::collections::BTreeSet;

use super::row::{ChromeDevice, MobileDevice, Moment};
use super::snapshot::{Snapshot, StreamKind};
use crate::clock::Time;
use crate::connect::device::{Device, Fact, Last, Os, judge};
use crate::connect::reading::Judged;
use crate::engine::asset::AssetType;
use crate::text::line;

pub(super) const DEVICES_NEED: &[StreamKind] =
    &[StreamKind::MobileDevices, StreamKind::ChromeDevices];

/// What the status of a device has in it that the client no longer has.
const GONE: [&str; 3] = ["DEPROVISIONED", "UNPROVISIONED", "WIPED"];
const NAME_CHARS_MAX: usize = 120;

/// Returns all devices that accounts use. `None`: they were not read completely, or one has no identifier.
#[must_use]
pub fn devices(snapshot: &Snapshot) -> Option<Vec<Device>> {
    let mobile = snapshot.mobile_devices.as_ref()?.iter().filter(|it| !is_gone(it.status.as_ref()));
    let chrome = snapshot.chrome_devices.as_ref()?.iter().filter(|it| !is_gone(it.status.as_ref()));
    mobile.map(phone).chain(chrome.map(chromebook)).collect()
}

/// Judges all devices. Google does not tell the rest of what is asked of devices.
#[must_use]
pub fn judge_devices(devices: &[Device], at: Time) -> Vec<Judged> {
    judge(devices, &BTreeSet::from([Fact::LastSeen, Fact::Jailbreak]), at)
}

fn is_gone(status: Option<&String>) -> bool {
    let status = status.map(|it| it.to_uppercase()).unwrap_or_default();
    GONE.iter().any(|it| status.contains(it))
}

fn phone(it: &MobileDevice) -> Option<Device> {
    let model = it.model.as_deref().unwrap_or("Phone or tablet");
    let user = it.email.iter().flatten().next();
    let name = user.map_or_else(|| model.to_owned(), |user| format!("{model} of {user}"));
    Some(Device {
        id: it.resource_id.clone()?,
        name: line(&name, NAME_CHARS_MAX),
        serial: it.serial_number.clone(),
        macs: it.wifi_mac_address.iter().cloned().collect(),
        kind: Some(AssetType::Mobile),
        os: Os { name: it.os.clone(), ..Os::default() },
        managed: Some(true),
        last_seen: it.last_sync.map(last),
        jailbroken: it.device_compromised_status.as_deref().and_then(is_compromised),
        ..Device::default()
    })
}

/// `None`: Google does not know. Only some devices tell it.
fn is_compromised(status: &str) -> Option<bool> {
    match status.to_lowercase().as_str() {
        "compromised" => Some(true),
        "no compromise detected" | "not compromised" => Some(false),
        _ => None,
    }
}

fn chromebook(it: &ChromeDevice) -> Option<Device> {
    let model = it.model.as_deref().unwrap_or("Chrome device");
    let serial = it.serial_number.as_deref();
    let name = serial.map_or_else(|| model.to_owned(), |serial| format!("{model} {serial}"));
    Some(Device {
        id: it.device_id.clone()?,
        name: line(&name, NAME_CHARS_MAX),
        serial: it.serial_number.clone(),
        macs: it.mac_address.iter().chain(&it.ethernet_mac_address).cloned().collect(),
        kind: Some(AssetType::Workstation),
        os: Os { name: Some("ChromeOS".to_owned()), version: it.os_version.clone(), build: None },
        managed: Some(true),
        last_seen: it.last_sync.map(last),
        ..Device::default()
    })
}

fn last(Moment(time): Moment) -> Last {
    if time == Time::EPOCH { Last::Never } else { Last::At(time) }
}
