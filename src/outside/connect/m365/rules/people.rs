//! The list of accounts: members and guests, their roles, and what is known of their second factor and last sign-in.

use std::collections::BTreeSet;

use super::admin::{self, Holders, SYNCHRONIZATION, is_privileged, role_name, user_name};
use super::conditional_access::needs_second_factor;
use super::mfa;
use crate::clock::Time;
use crate::connect::m365::tenant::{Moment, Policy, PolicyUsers, Tenant, User, Words};
use crate::engine::identity::{Identity, LastSignIn, UserType};

const AGENT: &str = "#microsoft.graph.agentUser";
const SYNCHRONIZATION_NAME: &str = "On-Premises Directory Synchronization Service Account";

/// Returns all accounts that people use. `None`: the users, or the roles they hold, were not read completely.
#[must_use]
pub fn accounts(tenant: &Tenant, at: Time) -> Option<Vec<Identity>> {
    let users = tenant.users.as_deref()?;
    let definitions = tenant.role_definitions.as_deref()?;
    let holders = admin::holders(tenant)?;
    let has_sign_ins = users.iter().any(|it| it.sign_in_activity.is_some());
    let none = BTreeSet::new();
    let people = users.iter().filter(|it| is_person(it, &holders, at));
    let identities = people.map(|user| {
        let id = user.id.as_deref().unwrap_or_default();
        let held = holders.get(id).unwrap_or(&none);
        let mut roles: Vec<String> =
            held.iter().map(|it| role_name(definitions, it).to_owned()).collect();
        roles.sort_unstable();
        roles.dedup();
        let mut registrations = tenant.registrations.iter().flatten();
        let registration = registrations.find(|it| it.id.as_deref() == Some(id));
        Identity {
            external_id: id.to_owned(),
            user: user_name(user).to_owned(),
            display_name: user.display_name.clone(),
            // Accounts from before there were guests have no type.
            user_type: UserType::of(is_guest(user)),
            is_admin: held.iter().any(|it| is_privileged(it)),
            roles,
            mfa: registration.and_then(|it| it.is_mfa_registered),
            mfa_enforced: is_mfa_enforced(tenant, user, &holders),
            is_enabled: user.account_enabled != Some(false),
            created_at: Moment::time(user.created_date_time.as_deref()),
            last_sign_in: last_sign_in(user, has_sign_ins),
            listed_at: None,
            mfa_known_at: None,
        }
    });
    Some(identities.collect())
}

/// Agents, rooms and devices, the account of the directory synchronization and people who have yet to start do not sign in
/// as people do.
fn is_person(user: &User, holders: &Holders, at: Time) -> bool {
    let Some(id) = user.id.as_deref() else { return false };
    let synchronizes = user.display_name.as_deref() == Some(SYNCHRONIZATION_NAME)
        || holders.get(id).is_some_and(|it| it.contains(SYNCHRONIZATION));
    let hired = Moment::time(user.employee_hire_date.as_deref());
    user.odata_type.as_deref() != Some(AGENT)
        && user.is_resource_account != Some(true)
        && !synchronizes
        && hired.is_none_or(|it| it <= at)
}

pub(super) fn is_guest(user: &User) -> bool {
    user.user_type.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("guest"))
}

/// The newest successful sign-in. Where it is absent, the newest of any, which counts those that failed too.
///
/// `has_sign_ins`: whether sign-ins were read of any user, so that their absence says something.
pub(super) fn last_sign_in(user: &User, has_sign_ins: bool) -> LastSignIn {
    let Some(activity) = &user.sign_in_activity else {
        return if has_sign_ins { LastSignIn::Never } else { LastSignIn::Unknown };
    };
    match Moment::parse(activity.last_successful_sign_in_date_time.as_deref()) {
        Some(Moment::At(time)) => return LastSignIn::At(time),
        Some(Moment::Never) => return LastSignIn::Never,
        None => (),
    }
    let others =
        [&activity.last_sign_in_date_time, &activity.last_non_interactive_sign_in_date_time]
            .map(|it| Moment::parse(it.as_deref()));
    let times = others.iter().filter_map(|it| match it {
        Some(Moment::At(time)) => Some(*time),
        Some(Moment::Never) | None => None,
    });
    match times.max() {
        Some(time) => LastSignIn::At(time),
        None if others.contains(&Some(Moment::Never)) => LastSignIn::Never,
        None => LastSignIn::Unknown,
    }
}

/// Returns true if security defaults or a policy make the user pass a second factor for every application. What was set for
/// single users is not in Graph's v1.0 and is not counted. `None`: unknown.
fn is_mfa_enforced(tenant: &Tenant, user: &User, holders: &Holders) -> Option<bool> {
    let by_defaults = mfa::are_defaults_on(tenant);
    if by_defaults == Some(true) {
        return Some(true);
    }
    let policies = tenant.policies.as_deref()?.iter().filter(|it| needs_second_factor(it));
    let covered: Vec<_> = policies.map(|it| covers(tenant, it, user, holders)).collect();
    if covered.contains(&Some(true)) {
        return Some(true);
    }
    if covered.contains(&None) { None } else { by_defaults }
}

/// Returns true if a policy is about the user. `None`: it depends on a group or a kind of guest that is not known.
fn covers(tenant: &Tenant, policy: &Policy, user: &User, holders: &Holders) -> Option<bool> {
    let PolicyUsers {
        include_users,
        exclude_users,
        include_groups,
        exclude_groups,
        include_roles,
        exclude_roles,
        include_guests_or_external_users: some_guests,
        exclude_guests_or_external_users: not_some_guests,
    } = &policy.conditions.users;
    let id = user.id.as_deref()?;
    let is_guest = is_guest(user);
    let is_named = |words: &Words| words.has(id) || is_guest && words.has("GuestsOrExternalUsers");
    let has_role =
        |words: &Words| holders.get(id).is_some_and(|held| held.iter().any(|it| words.has(it)));
    let in_groups = |words: &Words| {
        let members = |it| tenant.group_members.as_ref()?.get(it);
        let known: Vec<_> = words.iter().map(members).collect();
        let is_in = known.iter().flatten().any(|it| it.iter().any(|it| it == id));
        if is_in { Some(true) } else { (!known.contains(&None)).then_some(false) }
    };
    let kinds = |value: &serde_json::Value| {
        if is_guest && !value.is_null() { None } else { Some(false) }
    };
    let is_out = any([
        Some(is_named(exclude_users) || has_role(exclude_roles)),
        in_groups(exclude_groups),
        kinds(not_some_guests),
    ]);
    let is_in = any([
        Some(include_users.has("All") || is_named(include_users) || has_role(include_roles)),
        in_groups(include_groups),
        kinds(some_guests),
    ]);
    match (is_in, is_out) {
        (Some(false), _) | (_, Some(true)) => Some(false),
        (Some(true), Some(false)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

fn any(all: [Option<bool>; 3]) -> Option<bool> {
    if all.contains(&Some(true)) { Some(true) } else { (!all.contains(&None)).then_some(false) }
}
