//! Computers of a domain as devices and assets.
//!
//! A domain does not manage its computers: it says which there are, when they were last there, and what they run.

use std::collections::BTreeSet;

use super::account::Computer;
use crate::clock::Time;
use crate::connect::device::{self, Device, Fact, Last, Os};
use crate::connect::reading::Judged;
use crate::engine::asset::{AssetType, Seen};
use crate::engine::identity::LastSignIn;

/// END-09. Computers that have certainly been away for long count for nothing, because what they run is not known.
pub(super) fn judge(computers: &[Computer], at: Time) -> Vec<Judged> {
    device::judge(&devices(computers, at), &BTreeSet::from([Fact::Os]), at)
}

/// Those whose accounts are enabled and have been used.
pub(super) fn assets(computers: &[Computer], at: Time, scope: &str) -> Vec<Seen> {
    let used = || enabled(computers).filter(|it| it.seen_at.is_some());
    let devices: Vec<Device> = used().map(|it| device(it, at)).collect();
    let assets = device::assets(&devices, scope).into_iter().zip(used());
    let seen = assets.map(|(asset, it)| Seen { seen_at: it.seen_at.map(|it| it.min(at)), ..asset });
    seen.collect()
}

fn enabled(computers: &[Computer]) -> impl Iterator<Item = &Computer> {
    computers.iter().filter(|it| !it.flags.is_disabled())
}

fn devices(computers: &[Computer], at: Time) -> Vec<Device> {
    enabled(computers).map(|it| device(it, at)).collect()
}

fn device(it: &Computer, at: Time) -> Device {
    Device {
        id: it.id.clone(),
        name: it.name.clone(),
        hostname: it.host.clone(),
        kind: kind(it),
        os: os(it),
        last_seen: match it.last_seen {
            LastSignIn::At(time) => Some(Last::At(time.min(at))),
            LastSignIn::Never => Some(Last::Never),
            LastSignIn::Unknown => None,
        },
        ..Device::default()
    }
}

/// Only Windows says what it is.
fn kind(it: &Computer) -> Option<AssetType> {
    if it.flags.is_domain_controller() {
        return Some(AssetType::Server);
    }
    let os = it.os.as_deref()?.to_lowercase();
    match (os.contains("windows"), os.contains("server")) {
        (true, true) => Some(AssetType::Server),
        (true, false) => Some(AssetType::Workstation),
        (false, _) => None,
    }
}

/// The build stands in parentheses: `10.0 (19045)`.
fn os(it: &Computer) -> Os {
    let version = it.os_version.as_deref().map(|text| {
        text.split_once(" (").map_or((text, None), |(version, build)| (version, Some(build)))
    });
    Os {
        name: it.os.clone(),
        version: version.map(|it| it.0.to_owned()),
        build: version.and_then(|it| it.1).map(|it| it.trim_end_matches(')').to_owned()),
    }
}
