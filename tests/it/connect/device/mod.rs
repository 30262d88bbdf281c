//! Devices: what a list of them says of controls, and the assets that they are.

mod asset;
mod rule;
mod support;
mod user;

use std::collections::BTreeSet;

use posture::clock::Time;
use posture::connect::device::{Device, Fact, Last, judge};
use posture::connect::reading::{Judged, JudgedStatus};
use posture::engine::asset::AssetType;

pub fn now() -> Time {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

pub fn days_ago(days: i64) -> Time {
    now().plus_days(-days)
}

/// A workstation that was seen an hour ago, and of which nothing more is known.
pub fn device(id: &str) -> Device {
    Device {
        id: id.to_owned(),
        name: id.to_uppercase(),
        kind: Some(AssetType::Workstation),
        managed: Some(true),
        last_seen: Some(Last::At(now().plus_s(-3_600))),
        ..Device::default()
    }
}

pub fn judge_by(fact: Fact, devices: &[Device]) -> Option<Judged> {
    let judged = judge(devices, &BTreeSet::from([fact]), now());
    judged.into_iter().find(|it| it.control == fact.control())
}

/// The status that a list comes to, by this fact alone.
pub fn status(fact: Fact, devices: &[Device]) -> Option<JudgedStatus> {
    judge_by(fact, devices).map(|it| it.status)
}
