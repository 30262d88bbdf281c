//! Administrators: who holds which role, how many hold the highest (ID-07), and with what accounts (ID-08).

use std::collections::{BTreeMap, BTreeSet};

use super::license;
use crate::clock::Time;
use crate::connect::m365::tenant::{Field, Principal, RoleDefinition, RoleSchedule, Tenant, User};
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant};
use crate::connect::reading::{Judged, Member};
use crate::engine::fact::failing_line;

const GLOBAL_ADMINISTRATOR: &str = "62e90394-69f5-4237-9190-012177145e10";
pub(super) const SYNCHRONIZATION: &str = "d29b2b05-8046-44ba-8758-1e26182fcf32";
/// At least so many, or one lockout stops the business.
const N_GLOBAL_MIN: usize = 2;
const N_GLOBAL_MAX: usize = 4;

/// Template ids of roles with which a tenant can be taken over. A policy for administrators names all of them.
const HIGHEST: [&str; 8] = [
    GLOBAL_ADMINISTRATOR,
    "e8611ab8-c189-46e8-94e1-60213ab1f814", // Privileged Role Administrator
    "fe930be7-5e62-47db-91af-98c3a49a38b1", // User Administrator
    "f28a1f50-f6e7-4571-818b-6a12f2af6b6c", // SharePoint Administrator
    "29232cdf-9323-42fd-ade2-1d097af3e4de", // Exchange Administrator
    "8ac3fc64-6eca-42ea-9e69-59f4c7b60eb2", // Hybrid Identity Administrator
    "9b895d92-2cd3-44c7-9d02-a6ac2d5ea5c3", // Application Administrator
    "158c047a-c907-4556-b7ef-446551a6b5f7", // Cloud Application Administrator
];
/// Further privileged roles. A policy for administrators names those that someone holds.
const HIGH: [&str; 6] = [
    "194ae4cb-b126-40b2-bd5b-6091b380977d", // Security Administrator
    "b1be1c3e-b65d-4f19-8427-f6fa0d97feb9", // Conditional Access Administrator
    "c4e39bd9-1100-46d3-8c65-fb160da0071f", // Authentication Administrator
    "7be44c8a-adaf-4e2a-84d6-ab2649e08a13", // Privileged Authentication Administrator
    "729827e3-9c14-49f7-bb1b-9608f156bbb8", // Helpdesk Administrator
    "3a2c62db-5318-420d-8d74-23affee5d9d5", // Intune Administrator
];

/// By the id of an account or application: the template ids of the roles it holds, now or when it activates them.
pub(super) type Holders<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

pub(super) fn is_privileged(template: &str) -> bool {
    HIGHEST.contains(&template) || HIGH.contains(&template)
}

/// Returns who holds roles, also through groups. `None`: not all of it was read.
pub(super) fn holders(tenant: &Tenant) -> Option<Holders<'_>> {
    let definitions = tenant.role_definitions.as_deref()?;
    let is_group = |it: &Option<Principal>| it.as_ref().is_some_and(Principal::is_group);
    let assigned = tenant.role_assignments.as_deref()?.iter();
    let assigned = assigned.map(|it| (&it.principal_id, &it.role_definition_id, &it.principal));
    let eligible = eligible(tenant)?.iter();
    let eligible = eligible.map(|it| (&it.principal_id, &it.role_definition_id, &it.principal));
    let groups = tenant.group_members.as_ref()?;
    let mut holders = Holders::new();
    for (id, role, principal) in assigned.chain(eligible) {
        let (Some(id), Some(role)) = (id, role) else { continue };
        let template = template(definitions, role);
        match groups.get(id) {
            Some(members) => {
                for member in members {
                    holders.entry(member).or_default().insert(template);
                }
            }
            None if is_group(principal) => return None,
            None => {
                holders.entry(id).or_default().insert(template);
            }
        }
    }
    Some(holders)
}

/// Without Entra ID P2, nobody is eligible: roles are held or not.
fn eligible(tenant: &Tenant) -> Option<&[RoleSchedule]> {
    match &tenant.role_eligibilities {
        Some(all) => Some(all),
        None => (!license::has_p2(tenant)?).then_some(&[]),
    }
}

pub(super) fn template<'a>(definitions: &'a [RoleDefinition], role: &'a str) -> &'a str {
    let found = definitions.iter().find(|it| it.id.as_deref() == Some(role));
    found.and_then(|it| it.template_id.as_deref()).unwrap_or(role)
}

/// Returns a role's name for people.
pub(super) fn role_name<'a>(definitions: &'a [RoleDefinition], template: &'a str) -> &'a str {
    let is_it = |it: &&RoleDefinition| {
        [&it.template_id, &it.id].into_iter().flatten().any(|it| it == template)
    };
    let found = definitions.iter().find(is_it);
    found.and_then(|it| it.display_name.as_deref()).unwrap_or(template)
}

/// Returns the template ids of the roles that a policy for administrators must name.
pub(super) fn roles_to_protect(tenant: &Tenant) -> Option<BTreeSet<&str>> {
    let definitions = tenant.role_definitions.as_deref()?;
    let held: BTreeSet<&str> = holders(tenant)?.into_values().flatten().collect();
    let templates = definitions.iter().filter_map(|it| it.template_id.as_deref());
    let protects = |it: &&str| HIGHEST.contains(it) || HIGH.contains(it) && held.contains(it);
    Some(templates.filter(protects).collect())
}

/// Returns the enabled accounts that hold a privileged role, with its template ids.
pub(super) fn admins(tenant: &Tenant) -> Option<Vec<(&User, BTreeSet<&str>)>> {
    let mut holders = holders(tenant)?;
    let enabled = tenant.users.as_deref()?.iter().filter(|it| it.account_enabled != Some(false));
    let admins = enabled.filter_map(|user| {
        let mut roles = holders.remove(user.id.as_deref()?)?;
        if roles.contains(SYNCHRONIZATION) {
            return None;
        }
        roles.retain(|it| is_privileged(it));
        (!roles.is_empty()).then_some((user, roles))
    });
    Some(admins.collect())
}

pub(super) fn user_name(user: &User) -> &str {
    let names = [&user.user_principal_name, &user.display_name, &user.id];
    names.into_iter().flatten().next().map_or("without a name", String::as_str)
}

/// Returns the enabled accounts that are Global Administrator or may become it.
pub(super) fn global_administrators(tenant: &Tenant) -> Option<Vec<&User>> {
    let all = admins(tenant)?.into_iter();
    Some(all.filter(|it| it.1.contains(GLOBAL_ADMINISTRATOR)).map(|it| it.0).collect())
}

/// ID-07.
pub(super) fn number(tenant: &Tenant, _: Time) -> Option<Judged> {
    let all = global_administrators(tenant)?;
    let all: Vec<&str> = all.iter().map(|it| user_name(it)).collect();
    let n = all.len();
    let named = failing_line(&all, n);
    let (status, findings) = match n {
        0 => {
            let advice = "Find out who administers it, and give two accounts the role.";
            (NonCompliant, format!("No enabled account is Global Administrator. {advice}"))
        }
        1 => {
            let advice = "Give a second account the role, or a lockout stops the business.";
            (NonCompliant, format!("Only {named} is Global Administrator. {advice}"))
        }
        N_GLOBAL_MIN..=N_GLOBAL_MAX => {
            (Compliant, format!("{n} enabled accounts are Global Administrator: {named}."))
        }
        _ => {
            let advice = format!("Give all but {N_GLOBAL_MAX} of them a narrower role.");
            (NonCompliant, format!("{n} accounts are Global Administrator: {named}. {advice}"))
        }
    };
    Some(Judged::whole("ID-07", "global_administrators", status, findings))
}

/// Returns whether an account was never synchronized from a domain on premises. `None`: unknown.
pub(super) fn is_cloud_only(user: &User) -> Option<bool> {
    match user.on_premises_sync_enabled {
        Field::Absent => None,
        Field::Null => Some(true),
        Field::Is(is_synchronized) => Some(!is_synchronized),
    }
}

/// Returns whether no administrator's account is synchronized. `None`: unknown.
pub(super) fn admins_are_cloud_only(tenant: &Tenant) -> Option<bool> {
    let all: Vec<_> = admins(tenant)?.iter().map(|it| is_cloud_only(it.0)).collect();
    if all.contains(&Some(false)) { Some(false) } else { (!all.contains(&None)).then_some(true) }
}

/// ID-08.
pub(super) fn accounts(tenant: &Tenant, _: Time) -> Option<Judged> {
    let with_mailbox = license::with_mailbox(tenant)?;
    let admins = admins(tenant)?;
    let members = admins.iter().map(|(user, _)| {
        let mut licenses = user.assigned_licenses.0.iter().map(|it| it.sku_id.as_deref());
        let has_mailbox = licenses.any(|it| it.is_some_and(|it| with_mailbox.contains(&it)));
        let is_unknown = user.assigned_licenses.0.iter().any(|it| it.sku_id.is_none());
        let passes = match (is_cloud_only(user), has_mailbox) {
            (Some(false), _) | (_, true) => Some(false),
            (Some(true), false) if !is_unknown => Some(true),
            (Some(true) | None, false) => None,
        };
        Member { id: user.id.as_deref().unwrap_or_default(), name: user_name(user), passes }
    });
    let what = "They are synchronized from a domain, or have a license with a mailbox. Give each administrator a second account \
                that exists only in the cloud, without a mailbox, and move the roles to it.";
    Judged::population("ID-08", "administrator_accounts", members, what)
}

/// Returns whether at most half of the accounts with privileged roles are Global Administrator. `None`: unknown.
pub(super) fn is_least_privilege(tenant: &Tenant) -> Option<bool> {
    let n_global = global_administrators(tenant)?.len();
    let n_others = admins(tenant)?.len() - n_global;
    Some(N_GLOBAL_MIN <= n_global && n_global <= n_others)
}
