//! What was read, sorted into areas: facts of one area replace each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::connect::device::{assets, judge};
use crate::connect::m365::device;
use crate::connect::m365::rules::{self, RULES};
use crate::connect::m365::tenant::{Source, Tenant};
use crate::connect::reading::{Group, Reading, Stream, StreamState};

const DIRECTORY: &str = "directory";
const POLICIES: &str = "policies";
const APPS: &str = "apps";
const SERVICES: &str = "services";
const DEVICES: &str = "devices";
const AREAS: [&str; 5] = [DIRECTORY, POLICIES, APPS, SERVICES, DEVICES];

/// Without one of these, the list of accounts would say less than before.
const ACCOUNTS_NEED: [Source; 8] = [
    Source::Users,
    Source::Registrations,
    Source::RoleDefinitions,
    Source::RoleAssignments,
    Source::RoleEligibilities,
    Source::GroupMembers,
    Source::SecurityDefaults,
    Source::Policies,
];

const fn area(source: Source) -> &'static str {
    match source {
        Source::Organization
        | Source::Skus
        | Source::Users
        | Source::Registrations
        | Source::RoleDefinitions
        | Source::RoleAssignments
        | Source::RoleEligibilities
        | Source::RoleSchedules
        | Source::RolePolicies
        | Source::GroupMembers
        | Source::Domains => DIRECTORY,
        Source::SecurityDefaults
        | Source::Policies
        | Source::Authorization
        | Source::Methods
        | Source::ConsentRequests
        | Source::Classifications
        | Source::AppManagement => POLICIES,
        Source::ServicePrincipals | Source::Grants | Source::AppRoles | Source::Applications => {
            APPS
        }
        Source::ManagedDevices | Source::CompliancePolicies => DEVICES,
        Source::Score
        | Source::ScoreProfiles
        | Source::Mailboxes
        | Source::SharePoint
        | Source::Audits => SERVICES,
    }
}

pub(super) fn reading(tenant: &Tenant, mut streams: BTreeMap<Source, Stream>, at: Time) -> Reading {
    let is_known = |it: &Source| {
        let state = streams.get(it).map(|it| it.state);
        matches!(state, Some(StreamState::Complete | StreamState::Unlicensed))
    };
    let is_whole = AREAS.map(|name| {
        let rules = RULES.iter().filter(|it| it.needs.first().is_some_and(|it| area(*it) == name));
        let needed: BTreeSet<Source> =
            rules.flat_map(|it| it.needs.iter().chain(it.may_need)).copied().collect();
        let own = Source::ALL.iter().filter(|it| name == DEVICES && area(**it) == DEVICES);
        needed.iter().chain(own).all(is_known)
    });
    let has_accounts = ACCOUNTS_NEED.iter().all(is_known);
    let judged = rules::judge(tenant, at);
    let group = |(name, is_whole): (&'static str, bool)| {
        let of_area = |code: &str| {
            let rule = RULES.iter().find(|it| it.control == code);
            rule.and_then(|it| it.needs.first()).is_some_and(|it| area(*it) == name)
        };
        let own: Vec<Source> = streams.keys().copied().filter(|it| area(*it) == name).collect();
        Group {
            scope: name.to_owned(),
            is_whole,
            streams: own.iter().filter_map(|it| streams.remove(it)).collect(),
            observations: judged.iter().filter(|it| of_area(it.control)).cloned().collect(),
            ..Group::default()
        }
    };
    let mut groups: Vec<Group> = AREAS.into_iter().zip(is_whole).map(group).collect();
    for group in &mut groups {
        match group.scope.as_str() {
            // What lacks its list does not say that the list is empty.
            DIRECTORY => {
                group.accounts = rules::accounts(tenant, at).filter(|_| has_accounts);
                group.is_whole &= group.accounts.is_some();
            }
            POLICIES => group.notes = rules::notes(tenant),
            APPS => {
                group.apps = rules::apps(tenant);
                group.is_whole &= group.apps.is_some();
            }
            DEVICES => {
                let devices = device::devices(tenant);
                let known = devices.as_deref().unwrap_or_default();
                group.observations = judge(known, &device::facts(tenant), at);
                group.assets = devices.map(|it| assets(&it, DEVICES));
                group.notes = device::notes(tenant);
            }
            _ => (),
        }
    }
    Reading { groups, ..Reading::default() }
}
