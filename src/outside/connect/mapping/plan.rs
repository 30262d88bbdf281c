//! What a mapping makes of rows, as it was read from its file.

use std::collections::{BTreeMap, BTreeSet};

use super::field::{Condition, Field, Flag, Moment, Pointer, Words};
use crate::clock::Time;
use crate::connect::device::{
    Device, Fact, Last, PatchSeverity, PatchState, PatchStatus, Patching,
};
use crate::engine::asset::AssetType;

#[derive(Clone, Debug)]
pub(super) struct OrganizationMap {
    pub(super) stream: String,
    pub(super) id: Pointer,
    pub(super) name: Field,
}

#[derive(Clone, Debug)]
pub(super) struct UserMap {
    pub(super) stream: String,
    pub(super) id: Pointer,
    pub(super) name: Field,
    pub(super) enabled: Flag,
    pub(super) mfa: Flag,
    /// `None`: all accounts sign in at the tool itself.
    pub(super) external: Option<Flag>,
}

/// Where a fact of a device goes.
pub(super) type Slot<T> = fn(&mut Device) -> &mut T;

#[derive(Clone, Debug)]
pub(super) struct DeviceMap {
    pub(super) stream: String,
    pub(super) id: Pointer,
    pub(super) org: Field,
    /// The devices name their organization by its name, not by its identifier.
    pub(super) is_org_name: bool,
    /// The list also has computers that the tool does not manage.
    pub(super) lists_unmanaged: bool,
    /// Other streams, with where a row of them has the identifier of its device.
    pub(super) joins: Vec<(String, Pointer)>,
    pub(super) name: Field,
    pub(super) macs: Option<Streamed<Field>>,
    pub(super) kind: Option<Streamed<Choice<AssetType>>>,
    pub(super) texts: Vec<(&'static Target<Option<String>>, Streamed<Field>)>,
    pub(super) flags: Vec<(&'static Target<Option<bool>>, Streamed<JoinedFlag>)>,
    pub(super) times: Vec<(&'static Target<Option<Last>>, Streamed<Latest>)>,
    pub(super) last_boot: Option<Streamed<Latest>>,
    pub(super) threats: Option<Streamed<Number>>,
    pub(super) antivirus: Option<Streamed<AntivirusMap>>,
    pub(super) patches: Vec<(&'static Target<Patching>, PatchMap)>,
}

/// Which stream something is read from.
#[derive(Clone, Debug)]
pub(super) struct Streamed<T> {
    pub(super) stream: String,
    pub(super) what: T,
}

#[derive(Clone, Debug)]
pub(super) struct Choice<T> {
    pub(super) field: Field,
    pub(super) words: Words<T>,
}

/// A flag of all rows of a device: yes if all say yes, or if any does.
#[derive(Clone, Debug)]
pub(super) struct JoinedFlag {
    pub(super) flag: Flag,
    pub(super) is_any: bool,
}

/// The latest moment of the rows of a device of which the flag holds. Never, if it holds of none.
#[derive(Clone, Debug)]
pub(super) struct Latest {
    pub(super) moment: Moment,
    pub(super) only: Option<Flag>,
}

#[derive(Clone, Debug)]
pub(super) enum Number {
    /// The sum of a field.
    Sum(Field),
    /// How many rows the flag holds of. No rows are none.
    Count(Flag),
}

/// One product for each row of a device.
#[derive(Clone, Debug)]
pub(super) struct AntivirusMap {
    pub(super) product: Option<Field>,
    pub(super) running: Flag,
    pub(super) current: Flag,
    /// A device of which one of these holds and that has no rows has no product. Otherwise it is unknown.
    pub(super) none_if: Vec<Condition>,
}

#[derive(Clone, Debug)]
pub(super) struct PatchMap {
    pub(super) state: Option<Streamed<Choice<PatchState>>>,
    pub(super) open: Option<Streamed<OpenMap>>,
    pub(super) installed: Option<Streamed<Latest>>,
}

/// One patch for each row of a device.
#[derive(Clone, Debug)]
pub(super) struct OpenMap {
    pub(super) severity: Choice<PatchSeverity>,
    pub(super) status: Choice<PatchStatus>,
    pub(super) since: Option<Moment>,
}

/// A fact of a device that a mapping may declare.
#[derive(Debug)]
pub(super) struct Target<T: 'static> {
    pub(super) name: &'static str,
    pub(super) slot: Slot<T>,
    pub(super) role: Role,
}

/// What depends on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Which devices are judged: every rule needs it.
    Scope,
    /// One rule.
    Fact(Fact),
    /// A rule, and which devices are judged by others.
    ScopeAndFact(Fact),
    /// No rule.
    Shown,
}

const fn target<T>(name: &'static str, role: Role, slot: Slot<T>) -> Target<T> {
    Target { name, slot, role }
}

pub(super) static TEXTS: [Target<Option<String>>; 6] = [
    target("hostname", Role::Shown, |it| &mut it.hostname),
    target("serial", Role::Shown, |it| &mut it.serial),
    target("ip", Role::Shown, |it| &mut it.ip),
    target("os_name", Role::Fact(Fact::Os), |it| &mut it.os.name),
    target("os_version", Role::Fact(Fact::Os), |it| &mut it.os.version),
    target("os_build", Role::Fact(Fact::Os), |it| &mut it.os.build),
];

pub(super) static FLAGS: [Target<Option<bool>>; 9] = [
    target("managed", Role::Scope, |it| &mut it.managed),
    target("agent", Role::Scope, |it| &mut it.agent),
    target("online", Role::Shown, |it| &mut it.online),
    target("needs_reboot", Role::Fact(Fact::Reboot), |it| &mut it.needs_reboot),
    target("encrypted", Role::Fact(Fact::Encryption), |it| &mut it.encrypted),
    target("firewall", Role::Fact(Fact::Firewall), |it| &mut it.firewall),
    target("edr", Role::Fact(Fact::Edr), |it| &mut it.edr),
    target("compliant", Role::Fact(Fact::Compliance), |it| &mut it.compliant),
    target("jailbroken", Role::Fact(Fact::Jailbreak), |it| &mut it.jailbroken),
];

pub(super) static TIMES: [Target<Option<Last>>; 2] = [
    target("last_seen", Role::ScopeAndFact(Fact::LastSeen), |it| &mut it.last_seen),
    target("backup", Role::Fact(Fact::Backup), |it| &mut it.backup),
];

pub(super) static PATCHES: [Target<Patching>; 2] = [
    target("os_patches", Role::Fact(Fact::OsPatches), |it| &mut it.os_patches),
    target("software_patches", Role::Fact(Fact::SoftwarePatches), |it| &mut it.software_patches),
];

/// A field that something depends on, and the stream that it is in.
pub(super) struct Use<'m> {
    pub(super) stream: &'m str,
    /// `None`: only the rows matter.
    pub(super) field: Option<&'m Field>,
    pub(super) role: Role,
}

impl DeviceMap {
    /// Everything that it reads.
    pub(super) fn uses(&self) -> Vec<Use<'_>> {
        let mut all = Vec::new();
        let mut add = |stream, field, role| all.push(Use { stream, field, role });
        add(&*self.stream, Some(&self.name), Role::Shown);
        add(&self.stream, Some(&self.org), Role::Scope);
        self.kind.iter().for_each(|it| add(&it.stream, Some(&it.what.field), Role::Scope));
        self.macs.iter().for_each(|it| add(&it.stream, Some(&it.what), Role::Shown));
        for (target, from) in &self.texts {
            add(&from.stream, Some(&from.what), target.role);
        }
        for (target, from) in &self.flags {
            add(&from.stream, Some(&from.what.flag.field), target.role);
        }
        for (target, from) in &self.times {
            latest(from, target.role, &mut add);
        }
        self.last_boot.iter().for_each(|it| latest(it, Role::Fact(Fact::Reboot), &mut add));
        if let Some(it) = &self.threats {
            let (Number::Sum(field) | Number::Count(Flag { field, .. })) = &it.what;
            add(&it.stream, Some(field), Role::Fact(Fact::Threats));
        }
        if let Some(it) = &self.antivirus {
            let role = Role::Fact(Fact::Antivirus);
            it.what.product.iter().for_each(|field| add(&it.stream, Some(field), Role::Shown));
            add(&it.stream, Some(&it.what.running.field), role);
            add(&it.stream, Some(&it.what.current.field), role);
            if self.threats.is_some() {
                // A product that is off reports no threats.
                add(&it.stream, Some(&it.what.running.field), Role::Fact(Fact::Threats));
            }
            it.what.none_if.iter().for_each(|it| add(&self.stream, Some(&it.field), role));
        }
        for (target, map) in &self.patches {
            map.state.iter().for_each(|it| add(&it.stream, Some(&it.what.field), target.role));
            map.installed.iter().for_each(|it| latest(it, target.role, &mut add));
            if let Some(it) = &map.open {
                add(&it.stream, Some(&it.what.severity.field), target.role);
                add(&it.stream, Some(&it.what.status.field), target.role);
                it.what.since.iter().for_each(|at| add(&it.stream, Some(&at.field), target.role));
            }
        }
        self.joins.iter().for_each(|(stream, _)| add(stream, None, Role::Shown));
        all
    }

    /// What its rows can tell.
    pub(super) fn facts(&self) -> BTreeSet<Fact> {
        let of_use = |it: &Use<'_>| match it.role {
            Role::Fact(fact) | Role::ScopeAndFact(fact) => Some(fact),
            Role::Scope | Role::Shown => None,
        };
        let mut facts: BTreeSet<Fact> = self.uses().iter().filter_map(of_use).collect();
        if !self.flags.iter().any(|(target, _)| target.role == Role::Fact(Fact::Reboot)) {
            facts.remove(&Fact::Reboot);
        }
        if self.lists_unmanaged {
            facts.insert(Fact::Unmanaged);
        }
        facts
    }
}

/// By the streams beside that of the devices, the facts that need all of them.
pub(super) type Needs<'m> = BTreeMap<BTreeSet<&'m str>, BTreeSet<Fact>>;

impl DeviceMap {
    /// Without other streams, there is an entry even if no fact needs it.
    pub(super) fn needs(&self) -> Needs<'_> {
        let uses = self.uses();
        let streams = |is_of: &dyn Fn(Role) -> bool| {
            let of = uses.iter().filter(|it| is_of(it.role)).map(|it| it.stream);
            of.filter(|it| *it != self.stream).collect::<BTreeSet<&str>>()
        };
        let scope = streams(&|it| matches!(it, Role::Scope | Role::ScopeAndFact(_)));
        let mut needs = Needs::from([(BTreeSet::new(), BTreeSet::new())]);
        // Of a list of managed computers too, this can be said of those in it that are not.
        needs.entry(scope.clone()).or_default().insert(Fact::Unmanaged);
        for fact in self.facts() {
            let mut own = streams(&|it| it == Role::Fact(fact) || it == Role::ScopeAndFact(fact));
            own.extend(&scope);
            needs.entry(own).or_default().insert(fact);
        }
        needs
    }
}

fn latest<'m>(
    from: &'m Streamed<Latest>,
    role: Role,
    add: &mut impl FnMut(&'m str, Option<&'m Field>, Role),
) {
    add(&from.stream, Some(&from.what.moment.field), role);
    from.what.only.iter().for_each(|it| add(&from.stream, Some(&it.field), role));
}

/// The moment of something that has happened.
pub(super) fn time_of(last: Option<Last>) -> Option<Time> {
    match last {
        Some(Last::At(time)) => Some(time),
        Some(Last::Never) | None => None,
    }
}
