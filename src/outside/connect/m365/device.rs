//! Devices of Intune in the shape that the rules for devices judge.

use std::collections::BTreeSet;

use super::tenant::{CompliancePolicy, ManagedDevice, Moment, Tenant};
use crate::connect::device::{Device, Fact, Last, Os};
use crate::engine::asset::AssetType;

/// How the types of compliance policies begin, behind the namespace, and the names of the systems that they are for.
const POLICY_SYSTEMS: [(&str, &[&str]); 5] = [
    ("windows", &["windows"]),
    ("macos", &["macos"]),
    ("ios", &["ios", "ipados"]),
    ("android", &["android"]),
    ("aosp", &["android"]),
];

/// `None`: they were not read completely.
pub(super) fn devices(tenant: &Tenant) -> Option<Vec<Device>> {
    let systems = tenant.compliance_policies.iter().flatten().flat_map(systems);
    let systems: BTreeSet<&str> = systems.collect();
    let device = |it| device(it, &systems);
    Some(tenant.managed_devices.as_ref()?.iter().filter_map(device).collect())
}

fn systems(policy: &CompliancePolicy) -> impl Iterator<Item = &'static str> {
    let kind = policy.odata_type.as_deref().unwrap_or_default().to_lowercase();
    let kind = kind.strip_prefix("#microsoft.graph.").unwrap_or_default();
    let found = POLICY_SYSTEMS.into_iter().find(|it| kind.starts_with(it.0));
    found.into_iter().flat_map(|it| it.1).copied()
}

/// By what they may be judged.
pub(super) fn facts(tenant: &Tenant) -> BTreeSet<Fact> {
    if tenant.managed_devices.is_none() {
        return BTreeSet::new();
    }
    let has_policy = tenant.compliance_policies.as_ref().is_some_and(|it| !it.is_empty());
    let compliance = has_policy.then_some(Fact::Compliance);
    let always = [Fact::LastSeen, Fact::Encryption, Fact::Os, Fact::Jailbreak];
    always.into_iter().chain(compliance).collect()
}

pub(super) fn notes(tenant: &Tenant) -> Vec<(String, String)> {
    let policies = tenant.compliance_policies.as_ref();
    let note = policies.map(|it| ("compliance_policies".to_owned(), it.len().to_string()));
    note.into_iter().collect()
}

/// `systems`: those for which there is a compliance policy.
fn device(it: &ManagedDevice, systems: &BTreeSet<&str>) -> Option<Device> {
    let system = it.operating_system.clone().unwrap_or_default();
    let lower = system.to_lowercase();
    // Intune calls a device without a policy compliant.
    let has_policy = systems.iter().any(|it| lower.starts_with(it));
    let state = it.compliance_state.as_deref().filter(|_| has_policy);
    let version = it.os_version.clone().filter(|it| !it.is_empty());
    let macs = [&it.ethernet_mac_address, &it.wi_fi_mac_address];
    Some(Device {
        id: it.id.clone()?,
        name: it.device_name.clone().unwrap_or_default(),
        hostname: it.device_name.clone().filter(|it| !it.is_empty()),
        serial: it.serial_number.clone(),
        macs: macs.into_iter().flatten().filter(|it| !it.is_empty()).cloned().collect(),
        kind: kind(&lower),
        os: Os { name: Some(system).filter(|it| !it.is_empty()), version, build: None },
        managed: Some(true),
        last_seen: Moment::parse(it.last_sync_date_time.as_deref()).map(|it| match it {
            Moment::Never => Last::Never,
            Moment::At(time) => Last::At(time),
        }),
        encrypted: it.is_encrypted,
        compliant: state.and_then(compliant),
        jailbroken: jailbroken(it.jail_broken.as_deref().unwrap_or_default()),
        ..Device::default()
    })
}

fn kind(lower: &str) -> Option<AssetType> {
    let is_any = |words: &[&str]| words.iter().any(|it| lower.starts_with(it));
    if is_any(&["windows", "macos", "linux", "chromeos"]) {
        return Some(AssetType::Workstation);
    }
    is_any(&["ios", "ipados", "android"]).then_some(AssetType::Mobile)
}

/// A device in its time of grace may still come to comply, and others are not evaluated by Intune.
fn compliant(state: &str) -> Option<bool> {
    match state {
        "compliant" => Some(true),
        "noncompliant" | "error" | "conflict" => Some(false),
        _ => None,
    }
}

fn jailbroken(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
