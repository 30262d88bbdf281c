//! What was read, sorted into areas: facts of one area replace each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::connect::device::assets;
use crate::connect::google::account::{ACCOUNTS_NEED, accounts};
use crate::connect::google::app::apps;
use crate::connect::google::device::{DEVICES_NEED, devices, judge_devices};
use crate::connect::google::note::notes;
use crate::connect::google::rule::{RULES, judge};
use crate::connect::google::snapshot::{Snapshot, StreamKind};
use crate::connect::reading::{Group, Reading, Stream, StreamState};

const DIRECTORY: &str = "directory";
const SETTINGS: &str = "settings";
const APPS: &str = "apps";
const LOGS: &str = "logs";
const DEVICES: &str = "devices";
/// A check is of the last of these areas that it needs.
const AREAS: [&str; 5] = [DIRECTORY, SETTINGS, APPS, LOGS, DEVICES];

const fn area(kind: StreamKind) -> usize {
    match kind {
        StreamKind::Customer
        | StreamKind::Domains
        | StreamKind::Users
        | StreamKind::OrgUnits
        | StreamKind::Roles
        | StreamKind::RoleAssignments
        | StreamKind::SsoAssignments => 0,
        StreamKind::Policies => 1,
        StreamKind::TokenEvents => 2,
        StreamKind::TwoStepRemovals | StreamKind::AuditEvents => 3,
        StreamKind::MobileDevices | StreamKind::ChromeDevices => 4,
    }
}

fn area_of_check(needs: &[StreamKind]) -> &'static str {
    AREAS[needs.iter().map(|it| area(*it)).max().unwrap_or(0)]
}

/// `sanctioned_apps`: as [`judge`] takes them.
pub(super) fn reading(
    snapshot: &Snapshot,
    streams: BTreeMap<StreamKind, Stream>,
    sanctioned_apps: &[String],
    at: Time,
) -> Reading {
    let judged = judge(snapshot, sanctioned_apps, at);
    let is_known =
        |it: &StreamKind| streams.get(it).is_some_and(|it| it.state == StreamState::Complete);
    let group = |name: &'static str| {
        let rules = || RULES.iter().filter(|it| area_of_check(it.needs) == name);
        let checks: BTreeSet<&str> = rules().map(|it| it.check).collect();
        Group {
            scope: name.to_owned(),
            is_whole: rules().flat_map(|it| it.needs).all(is_known),
            observations: judged.iter().filter(|it| checks.contains(&*it.check)).cloned().collect(),
            ..Group::default()
        }
    };
    let mut groups = AREAS.map(group);
    let [directory, _, of_apps, _, of_devices] = &mut groups;
    directory.accounts = accounts(snapshot, at);
    directory.is_whole &= directory.accounts.is_some() && ACCOUNTS_NEED.iter().all(is_known);
    directory.notes = notes(snapshot);
    of_apps.apps = apps(snapshot);
    of_apps.is_whole &= of_apps.apps.is_some();
    let all = devices(snapshot);
    of_devices.is_whole = all.is_some() && DEVICES_NEED.iter().all(is_known);
    of_devices.observations = judge_devices(all.as_deref().unwrap_or_default(), at);
    of_devices.assets = all.map(|it| assets(&it, DEVICES));
    for (kind, stream) in streams {
        groups[area(kind)].streams.push(stream);
    }
    Reading { groups: groups.into(), ..Reading::default() }
}
