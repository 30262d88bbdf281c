//! The rules for devices. Each exists once, for every tool that reports them.

use std::collections::BTreeSet;

use super::{Antivirus, Device, Fact, Last, patch, support};
use crate::clock::Time;
use crate::connect::reading::{Judged, JudgedStatus, Member, Sight};
use crate::engine::asset::AssetType;

const S_PER_DAY: i64 = 86_400;
/// A device that was not seen for longer fails END-02. What it last reported is too old to judge anything else by.
const SILENT_DAYS_MAX: i64 = 30;
const REBOOT_DAYS_MAX: i64 = 7;
const BACKUP_HOURS_MAX: i64 = 48;

struct Rule {
    fact: Fact,
    check: &'static str,
    /// Which devices the control is about.
    is_member: fn(&Device) -> bool,
    passes: fn(&Device, Time) -> Option<bool>,
    /// What the failing members do wrong and what to do.
    what: &'static str,
    /// Said where the list has no member.
    none: &'static str,
}

const NO_COMPUTERS: &str = "The list has no computers.";
const NO_DEVICES: &str = "The list has no computers, phones or tablets.";

const RULES: [Rule; 14] = [
    Rule {
        fact: Fact::Unmanaged,
        check: "management",
        is_member: is_any_computer,
        passes: |it, _| it.managed,
        what: "No tool manages these computers. Enroll them, or retire those that are gone.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::LastSeen,
        check: "check_in",
        is_member: is_endpoint,
        passes: |it, at| it.last_seen.map(|last| is_within(last, at, SILENT_DAYS_MAX * S_PER_DAY)),
        what: "They have not reported for more than 30 days. Find them and repair the agent, or retire them.",
        none: NO_DEVICES,
    },
    Rule {
        fact: Fact::Compliance,
        check: "compliance",
        is_member: is_endpoint,
        passes: |it, _| it.compliant,
        what: "They do not meet their compliance policy. Work through the settings that fail.",
        none: NO_DEVICES,
    },
    Rule {
        fact: Fact::Encryption,
        check: "encryption",
        is_member: is_computer,
        passes: |it, _| it.encrypted,
        what: "A disk is not fully encrypted, or its protection is suspended. Turn on BitLocker or FileVault by policy.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Antivirus,
        check: "antivirus",
        is_member: is_computer,
        passes: |it, _| is_protected(it),
        what: "Anti-malware is missing, off or out of date. Install or repair it.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Threats,
        check: "threats",
        is_member: is_computer,
        passes: |it, _| is_clean(it),
        what: "They report active malware. Isolate them from the network, then clean or reimage them.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::OsPatches,
        check: "os_patches",
        is_member: is_computer,
        passes: |it, at| patch::os(&it.os_patches, at),
        what: "Operating system patches are overdue, failed to install, or no policy installs them. \
               Repair patching, then install what is missing.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::SoftwarePatches,
        check: "software_patches",
        is_member: is_computer,
        passes: |it, at| patch::software(&it.software_patches, at),
        what: "Critical updates of third-party programs are overdue or failed to install. Install them, or remove the \
               programs.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Os,
        check: "os_support",
        is_member: is_computer,
        passes: |it, at| support::is_supported(&it.os, at),
        what: "The vendor publishes no more security updates for their operating system. Upgrade or replace them.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Reboot,
        check: "reboot",
        is_member: is_computer,
        passes: is_rebooted,
        what: "A restart is pending, and the last one was more than 7 days ago. Restart them.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Jailbreak,
        check: "jailbreak",
        is_member: |it| is_kind(it, &[AssetType::Mobile]),
        passes: |it, _| it.jailbroken.map(|it| !it),
        what: "They are jailbroken or rooted. Remove company data from them, then reset or replace them.",
        none: "The list has no phones or tablets.",
    },
    Rule {
        fact: Fact::Firewall,
        check: "firewall",
        is_member: is_computer,
        passes: |it, _| it.firewall,
        what: "The host firewall is off. Turn it on for all profiles by policy.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Edr,
        check: "edr",
        is_member: is_computer,
        passes: |it, _| it.edr,
        what: "No detection and response agent reports from them. Install it.",
        none: NO_COMPUTERS,
    },
    Rule {
        fact: Fact::Backup,
        check: "backup",
        is_member: |it| is_kind(it, &[AssetType::Server]) && it.agent != Some(false),
        passes: |it, at| it.backup.map(|last| is_within(last, at, BACKUP_HOURS_MAX * 3_600)),
        what: "The last successful backup of these servers is more than 48 hours old, or there is none. Repair the job.",
        none: "The list has no servers.",
    },
];

/// Judges all devices of one client.
///
/// `known`: the facts that the source can tell and that were read completely. By others, nothing is judged.
#[must_use]
pub fn judge(devices: &[Device], known: &BTreeSet<Fact>, at: Time) -> Vec<Judged> {
    RULES.iter().filter_map(|rule| apply(rule, devices, known, at)).collect()
}

fn apply(rule: &Rule, devices: &[Device], known: &BTreeSet<Fact>, at: Time) -> Option<Judged> {
    let control = rule.fact.control();
    // A list of managed computers alone still shows those in it that are not managed.
    let is_known = known.contains(&rule.fact) || rule.fact == Fact::Unmanaged;
    if !is_known {
        return None;
    }
    let members: Vec<&Device> = devices.iter().filter(|it| (rule.is_member)(it)).collect();
    let is_whole = known.contains(&Fact::Unmanaged);
    if members.is_empty() {
        let is_told = known.contains(&rule.fact) && devices.iter().all(|it| it.kind.is_some());
        let status = JudgedStatus::NotApplicable;
        return is_told.then(|| Judged::whole(control, rule.check, status, rule.none));
    }
    let is_in_scope =
        |it: &Device| matches!(rule.fact, Fact::LastSeen | Fact::Unmanaged) || !is_silent(it, at);
    let members = members.into_iter().map(|it| (it, (rule.passes)(it, at)));
    // What may be a member is unknown, whatever it reports.
    let unsure = devices.iter().filter(|it| may_be_member(rule, it)).map(|it| (it, None));
    let judged: Vec<Member<'_>> = members
        .chain(unsure)
        .filter(|(it, _)| is_in_scope(it))
        .map(|(it, passes)| Member { id: &it.id, name: &it.name, passes })
        .collect();
    let is_all_well = judged.iter().all(|it| it.passes != Some(false));
    let n_passed = judged.iter().filter(|it| it.passes == Some(true)).count();
    if rule.fact == Fact::Unmanaged && is_all_well && !is_whole {
        return None;
    }
    // That every computer with the agent has the agent does not show that every computer has it.
    if rule.fact == Fact::Edr && is_all_well && !is_whole && 0 < n_passed {
        let findings = format!(
            "Agents that report to the service: {n_passed}. It cannot tell whether there are computers without one. \
             Compare them with the inventory."
        );
        return Some(Judged::part(control, rule.check, Sight::Short, findings));
    }
    Judged::population(control, rule.check, judged, rule.what)
}

/// It would be a member if it were of one of the kinds that the rules are about.
fn may_be_member(rule: &Rule, it: &Device) -> bool {
    let kinds = COMPUTERS.into_iter().chain([AssetType::Mobile]);
    let as_kind = |kind| Device { kind: Some(kind), ..it.clone() };
    it.kind.is_none() && kinds.map(as_kind).any(|it| (rule.is_member)(&it))
}

fn is_kind(it: &Device, kinds: &[AssetType]) -> bool {
    it.managed != Some(false) && it.kind.is_some_and(|kind| kinds.contains(&kind))
}

const COMPUTERS: [AssetType; 3] =
    [AssetType::Server, AssetType::Workstation, AssetType::VirtualMachine];

/// A computer, managed or not. What is not known to have an agent by design, such as a guest that its host reports, is none.
fn is_any_computer(it: &Device) -> bool {
    it.kind.is_some_and(|kind| COMPUTERS.contains(&kind)) && it.agent != Some(false)
}

fn is_computer(it: &Device) -> bool {
    is_any_computer(it) && it.managed != Some(false)
}

fn is_endpoint(it: &Device) -> bool {
    is_computer(it) || is_kind(it, &[AssetType::Mobile])
}

fn is_within(last: Last, at: Time, s_max: i64) -> bool {
    match last {
        Last::Never => false,
        Last::At(time) => at.s_since(time) <= s_max,
    }
}

fn is_silent(it: &Device, at: Time) -> bool {
    it.last_seen.is_some_and(|last| !is_within(last, at, SILENT_DAYS_MAX * S_PER_DAY))
}

/// One product that runs and is current is enough. What a device that is offline does not report decides nothing.
fn is_protected(it: &Device) -> Option<bool> {
    let products = it.antivirus.as_ref()?;
    if products.is_empty() && it.online == Some(false) {
        return None;
    }
    any(products.iter().map(|product| all([product.running, product.current])))
}

/// A device without a product that runs has nothing to report a threat with.
fn is_clean(it: &Device) -> Option<bool> {
    let n_threats = it.threats?;
    if 0 < n_threats {
        return Some(false);
    }
    let is_off = |products: &Vec<Antivirus>| products.iter().all(|it| it.running == Some(false));
    (!it.antivirus.as_ref().is_some_and(is_off)).then_some(true)
}

/// Tools do not say since when a restart is pending: not for longer than since the last one.
fn is_rebooted(it: &Device, at: Time) -> Option<bool> {
    if !it.needs_reboot? {
        return Some(true);
    }
    it.last_boot.map(|boot| at.s_since(boot) <= REBOOT_DAYS_MAX * S_PER_DAY)
}

/// True if one is true, false if each is false.
fn any(parts: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    all(parts.into_iter().map(|it| it.map(|it| !it))).map(|it| !it)
}

/// True if each is true, false if one is false.
fn all(parts: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_known = true;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => (),
            None => is_known = false,
        }
    }
    is_known.then_some(true)
}
