//! Conditional Access: which policies do what a control asks for, and whom or what they leave out.

use std::collections::BTreeSet;

use serde_json::Value;

use super::admin;
use crate::connect::m365::tenant::{Conditions, GrantControls, Policy, PolicyUsers, Tenant};

/// As many accounts may be left out of a policy: those for emergencies.
pub(super) const N_EMERGENCY_MAX: usize = 2;

/// What a policy may be there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    MfaForAll,
    PhishingResistantForAll,
    /// By their roles.
    PhishingResistantForAdmins,
    LegacyBlocked,
    RiskyUsersBlocked,
    RiskyUsersChangePassword,
    RiskySignInsBlocked,
    RiskySignInsNeedMfa,
    RiskyAgentsBlocked,
    DeviceCodeBlocked,
    TransferBlocked,
    /// A device that is compliant or joined to the domain, to sign in.
    ManagedDevice,
    /// The same, to register a method.
    ManagedRegistration,
}

/// A policy that is on and does what is demanded, at least for some sign-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    pub policy: &'a Policy,
    pub excluded: Excluded<'a>,
    pub n_apps_excluded: usize,
    /// What else must be true before it applies, or is enough instead, as ends of a sentence.
    pub weaknesses: Vec<String>,
}

/// Whom a policy for everyone leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excluded<'a> {
    Nobody,
    /// At most [`N_EMERGENCY_MAX`] accounts that are enabled, by their ids.
    Few(BTreeSet<&'a str>),
    /// So many accounts.
    Many(usize),
    /// Roles or guests, however many that are.
    Kinds,
    /// A group whose members were not read.
    Unknown,
}

impl Match<'_> {
    /// Returns true if it holds for everyone and everything. `None`: unknown.
    #[must_use]
    pub fn is_full(&self) -> Option<bool> {
        if !self.weaknesses.is_empty() || self.n_apps_excluded != 0 {
            return Some(false);
        }
        match &self.excluded {
            Excluded::Nobody | Excluded::Few(_) => Some(true),
            Excluded::Many(_) | Excluded::Kinds => Some(false),
            Excluded::Unknown => None,
        }
    }

    pub(super) fn name(&self) -> &str {
        name(self.policy)
    }

    /// Returns what keeps it from being full, as the end of a sentence.
    pub(super) fn gaps(&self) -> String {
        let mut gaps = self.weaknesses.clone();
        match &self.excluded {
            Excluded::Nobody | Excluded::Few(_) => (),
            Excluded::Many(n) => gaps.push(format!("it leaves out {n} accounts")),
            Excluded::Kinds => gaps.push("it leaves out roles or guests".to_owned()),
            Excluded::Unknown => gaps.push("it leaves out a group that was not read".to_owned()),
        }
        match self.n_apps_excluded {
            0 => (),
            1 => gaps.push("it leaves out one application".to_owned()),
            n => gaps.push(format!("it leaves out {n} applications")),
        }
        gaps.join(", and ")
    }
}

/// What the policies together come to.
pub(super) enum Standing<'a> {
    Full(Match<'a>),
    Partly(Match<'a>),
    No,
    /// It depends on what was not read.
    Unknown,
}

/// Returns the best that any policy does for any of the demands. `None`: the policies were not read.
pub(super) fn standing<'a>(tenant: &'a Tenant, demands: &[Demand]) -> Option<Standing<'a>> {
    let mut all = Vec::new();
    for demand in demands {
        all.extend(matches(tenant, *demand)?);
    }
    if let Some(index) = all.iter().position(|it| it.is_full() == Some(true)) {
        return Some(Standing::Full(all.swap_remove(index)));
    }
    if all.iter().any(|it| it.is_full().is_none()) {
        return Some(Standing::Unknown);
    }
    Some(all.into_iter().next().map_or(Standing::No, Standing::Partly))
}

/// Returns the policies that are on and do what is demanded. `None`: they, or the roles they are about, were not read.
#[must_use]
pub fn matches(tenant: &Tenant, demand: Demand) -> Option<Vec<Match<'_>>> {
    let is_for_admins = demand == Demand::PhishingResistantForAdmins;
    let is_for_all_apps = demand != Demand::ManagedRegistration;
    let admins = if is_for_admins { admin::roles_to_protect(tenant)? } else { BTreeSet::new() };
    let on = tenant.policies.as_deref()?.iter().filter(|it| is_on(it));
    let meets = |it: &&Policy| {
        let Conditions { users, applications, .. } = &it.conditions;
        let for_whom = if is_for_admins {
            !admins.is_empty() && admins.iter().all(|it| users.include_roles.has(it))
        } else {
            demand == Demand::RiskyAgentsBlocked || users.include_users.has("All")
        };
        let to_what = !is_for_all_apps || applications.include_applications.has("All");
        for_whom && to_what && does(demand, &it.conditions, &grant(it))
    };
    let found = on.filter(meets).map(|policy| Match {
        policy,
        excluded: excluded(tenant, &policy.conditions.users),
        n_apps_excluded: if is_for_all_apps {
            policy.conditions.applications.exclude_applications.iter().count()
        } else {
            0
        },
        weaknesses: weaknesses(demand, &policy.conditions, &grant(policy)),
    });
    Some(found.collect())
}

pub(super) fn is_on(policy: &Policy) -> bool {
    policy.state.as_deref() == Some("enabled")
}

pub(super) fn name(policy: &Policy) -> &str {
    policy.display_name.as_deref().or(policy.id.as_deref()).unwrap_or("without a name")
}

fn grant(policy: &Policy) -> GrantControls {
    policy.grant_controls.clone().unwrap_or_default()
}

fn does(demand: Demand, conditions: &Conditions, grant: &GrantControls) -> bool {
    let controls = &grant.built_in_controls;
    let is_block = controls.has("block");
    let types = &conditions.client_app_types;
    match demand {
        Demand::MfaForAll => is_mfa(grant),
        Demand::PhishingResistantForAll | Demand::PhishingResistantForAdmins => {
            is_phishing_resistant(grant)
        }
        Demand::LegacyBlocked => is_block && types.has("other") && types.has("exchangeActiveSync"),
        Demand::RiskyUsersBlocked => is_block && conditions.user_risk_levels.has("high"),
        Demand::RiskyUsersChangePassword => {
            controls.has("passwordChange") && conditions.user_risk_levels.has("high")
        }
        Demand::RiskySignInsBlocked => is_block && conditions.sign_in_risk_levels.has("high"),
        Demand::RiskySignInsNeedMfa => {
            (is_mfa(grant) || is_phishing_resistant(grant))
                && conditions.sign_in_risk_levels.has("high")
        }
        Demand::RiskyAgentsBlocked => {
            let agents = &conditions.client_applications.include_agent_id_service_principals;
            let is_high = conditions.agent_id_risk_levels.has("high");
            is_block && is_high && agents.has("All") && types.has("all")
        }
        Demand::DeviceCodeBlocked => is_block && has_flow(conditions, "deviceCodeFlow"),
        Demand::TransferBlocked => is_block && has_flow(conditions, "authenticationTransfer"),
        Demand::ManagedDevice => is_managed(grant) && controls.iter().all(is_device),
        Demand::ManagedRegistration => {
            let actions = &conditions.applications.include_user_actions;
            is_managed(grant) && actions.has("urn:user:registersecurityinfo")
        }
    }
}

fn has_flow(conditions: &Conditions, flow: &str) -> bool {
    conditions.authentication_flows.transfer_methods.has(flow)
}

fn is_device(control: &str) -> bool {
    ["compliantDevice", "domainJoinedDevice"].contains(&control)
}

fn is_managed(grant: &GrantControls) -> bool {
    grant.built_in_controls.iter().any(is_device)
}

/// Methods that cannot be relayed by a fake page.
pub(super) const PHISHING_RESISTANT: [&str; 3] =
    ["windowsHelloForBusiness", "fido2", "x509CertificateMultiFactor"];

/// Single words for methods that are two factors by themselves.
const TWO_FACTORS: [&str; 4] = [
    "deviceBasedPush",
    "federatedMultiFactor",
    "temporaryAccessPassOneTime",
    "temporaryAccessPassMultiUse",
];

fn combinations(grant: &GrantControls) -> &[String] {
    grant.authentication_strength.as_ref().map_or(&[], |it| it.allowed_combinations.0.as_slice())
}

fn is_phishing_resistant(grant: &GrantControls) -> bool {
    let all = combinations(grant);
    !all.is_empty() && all.iter().all(|it| PHISHING_RESISTANT.contains(&it.as_str()))
}

/// Returns true if it needs two factors of any kind, not only of those that resist phishing.
fn is_mfa(grant: &GrantControls) -> bool {
    let is_two = |it: &String| {
        let it = it.as_str();
        it.contains(',') || TWO_FACTORS.contains(&it) || PHISHING_RESISTANT.contains(&it)
    };
    let all = combinations(grant);
    let by_strength = !all.is_empty() && all.iter().all(is_two) && !is_phishing_resistant(grant);
    grant.built_in_controls.has("mfa") || by_strength
}

/// Returns true if everybody whom it is about must pass a second factor.
pub(super) fn needs_second_factor(policy: &Policy) -> bool {
    let grant = grant(policy);
    is_on(policy)
        && (is_mfa(&grant) || is_phishing_resistant(&grant))
        && policy.conditions.applications.include_applications.has("All")
        && policy.conditions.applications.exclude_applications.is_empty()
        && weaknesses(Demand::MfaForAll, &policy.conditions, &grant).is_empty()
}

fn weaknesses(demand: Demand, conditions: &Conditions, grant: &GrantControls) -> Vec<String> {
    let mut found = Vec::new();
    let only = |what: &str| format!("it applies only {what}");
    let is_about_users =
        matches!(demand, Demand::RiskyUsersBlocked | Demand::RiskyUsersChangePassword);
    let is_about_sign_ins =
        matches!(demand, Demand::RiskySignInsBlocked | Demand::RiskySignInsNeedMfa);
    let is_about_flows = matches!(demand, Demand::DeviceCodeBlocked | Demand::TransferBlocked);
    let is_about_agents = demand == Demand::RiskyAgentsBlocked;
    let Conditions { users: _, applications, client_app_types: types, .. } = conditions;
    let has_modern = types.has("browser") && types.has("mobileAppsAndDesktopClients");
    if demand != Demand::LegacyBlocked && !types.is_empty() && !types.has("all") && !has_modern {
        found.push(only("to some kinds of client apps"));
    }
    if !is_about_users && !conditions.user_risk_levels.is_empty() {
        found.push(only("to users at risk"));
    }
    if !is_about_sign_ins && !conditions.sign_in_risk_levels.is_empty() {
        found.push(only("to sign-ins at risk"));
    }
    let flows = &conditions.authentication_flows.transfer_methods;
    if !is_about_flows && !flows.is_empty() && !flows.has("none") {
        found.push(only("to device code sign-in or transfer"));
    }
    if !is_about_agents {
        let clients = &conditions.client_applications;
        let is_set = !clients.include_service_principals.is_empty()
            || !clients.include_agent_id_service_principals.is_empty()
            || !conditions.agent_id_risk_levels.is_empty();
        if is_set {
            found.push(only("to applications or agents"));
        }
    }
    if is_set(&applications.application_filter) {
        found.push(only("to applications that match a filter"));
    }
    for (name, _) in conditions.others.iter().filter(|it| narrows(it.0, it.1)) {
        found.push(format!("it applies only under the condition \"{name}\""));
    }
    if !grant.built_in_controls.has("block") {
        found.extend(alternatives(demand, grant));
    }
    found
}

/// What is enough instead of what is demanded.
fn alternatives(demand: Demand, grant: &GrantControls) -> Option<String> {
    if grant.operator.as_deref() == Some("AND") {
        return None;
    }
    if !grant.custom_authentication_factors.is_empty() {
        return Some("a factor of another vendor is enough".to_owned());
    }
    let is_own = |it: &str| {
        if matches!(demand, Demand::ManagedDevice | Demand::ManagedRegistration) {
            is_device(it)
        } else {
            it == "mfa" || it == "passwordChange" && demand == Demand::RiskyUsersChangePassword
        }
    };
    let others: Vec<&str> = grant.built_in_controls.iter().filter(|it| !is_own(it)).collect();
    if let Some(other) = others.first() {
        return Some(format!("{other} is enough instead"));
    }
    let terms = !grant.terms_of_use.is_empty();
    terms.then(|| "accepting the terms of use is enough instead".to_owned())
}

/// Returns true if a condition that rules do not know keeps the policy from some sign-ins.
fn narrows(name: &str, value: &Value) -> bool {
    let (include, exclude) = match name {
        "platforms" => ("includePlatforms", "excludePlatforms"),
        "locations" => ("includeLocations", "excludeLocations"),
        _ => return !name.contains('@') && is_set(value),
    };
    let includes_all = value[include].as_array().is_some_and(|all| {
        all.iter().any(|it| it.as_str().is_some_and(|it| it.eq_ignore_ascii_case("all")))
    });
    is_set(value) && (!includes_all || is_set(&value[exclude]))
}

/// Returns true if anything is in it.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.iter().any(|it| !it.0.contains('@') && is_set(it.1)),
    }
}

fn excluded<'a>(tenant: &'a Tenant, users: &'a PolicyUsers) -> Excluded<'a> {
    let is_kind = users.exclude_users.has("GuestsOrExternalUsers")
        || !users.exclude_roles.is_empty()
        || is_set(&users.exclude_guests_or_external_users);
    if is_kind {
        return Excluded::Kinds;
    }
    if users.exclude_users.is_empty() && users.exclude_groups.is_empty() {
        return Excluded::Nobody;
    }
    let groups: Vec<_> =
        users.exclude_groups.iter().map(|it| tenant.group_members.as_ref()?.get(it)).collect();
    let members = groups.iter().flatten().flat_map(|it| it.iter().map(String::as_str));
    let mut ids: BTreeSet<&str> = users.exclude_users.iter().chain(members).collect();
    if let Some(all) = &tenant.users {
        let is_enabled = |id: &str| {
            let mut found = all.iter().filter(|it| it.id.as_deref() == Some(id));
            found.any(|it| it.account_enabled != Some(false))
        };
        ids.retain(|it| is_enabled(it));
    }
    match ids.len() {
        n if N_EMERGENCY_MAX < n => Excluded::Many(n),
        _ if groups.contains(&None) => Excluded::Unknown,
        _ => Excluded::Few(ids),
    }
}
