//! How privileged roles are given: for a limited time (ID-09), and what Privileged Identity Management asks for.

use std::collections::BTreeMap;

use super::admin::{is_privileged, role_name, template, user_name};
use super::{emergency, license};
use crate::clock::Time;
use crate::connect::m365::tenant::{Field, RolePolicy, RoleRule, RoleSchedule, Tenant};
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant};
use crate::engine::fact::failing_line;

const GLOBAL_ADMINISTRATOR: &str = "62e90394-69f5-4237-9190-012177145e10";

/// The assignments of privileged roles. `None`: they were not read, or there is no license for Privileged Identity Management.
fn schedules(tenant: &Tenant) -> Option<Vec<(&RoleSchedule, &str)>> {
    if !license::has_p2(tenant)? {
        return None;
    }
    let definitions = tenant.role_definitions.as_deref()?;
    let all = tenant.role_schedules.as_deref()?.iter().filter_map(|it| {
        let role = it.role_definition_id.as_deref().map(|it| template(definitions, it))?;
        is_privileged(role).then_some((it, role))
    });
    Some(all.collect())
}

/// Permanent assignments, by the id of the principal and the template id of the role, but for emergency access accounts.
/// Whether an assignment ends may be unknown: then nothing is known of all.
fn permanent(tenant: &Tenant) -> Option<BTreeMap<(&str, &str), &RoleSchedule>> {
    let emergency = emergency::accounts(tenant);
    let mut found = BTreeMap::new();
    let mut is_unknown = false;
    for (it, role) in schedules(tenant)? {
        let principal = it.principal_id.as_deref().unwrap_or_default();
        let is_activated = it.assignment_type.as_deref() == Some("Activated");
        match &it.end_date_time {
            Field::Null if !is_activated && !emergency.contains(principal) => {
                found.insert((principal, role), it);
            }
            Field::Null | Field::Is(_) => (),
            Field::Absent => is_unknown = true,
        }
    }
    if found.is_empty() && is_unknown { None } else { Some(found) }
}

/// Returns whether no privileged role is held for good. `None`: unknown, or not licensed.
pub(super) fn are_roles_time_bound(tenant: &Tenant) -> Option<bool> {
    permanent(tenant).map(|it| it.is_empty())
}

/// Returns whether every privileged role is given by Privileged Identity Management. `None`: unknown, or not licensed.
pub(super) fn are_roles_managed(tenant: &Tenant) -> Option<bool> {
    let starts: Vec<_> = schedules(tenant)?.iter().map(|it| &it.0.start_date_time).collect();
    Some(!starts.contains(&&Field::Null))
}

/// ID-09.
pub(super) fn time_bound(tenant: &Tenant, _: Time) -> Option<Judged> {
    let definitions = tenant.role_definitions.as_deref()?;
    let users = tenant.users.as_deref()?;
    let found = permanent(tenant)?;
    if found.is_empty() {
        let findings =
            "No account holds a privileged role for good, but for emergency access accounts.";
        return Some(Judged::whole("ID-09", "permanent_roles", Compliant, findings));
    }
    let named: Vec<String> = found
        .iter()
        .map(|((principal, role), it)| {
            let user = users.iter().find(|it| it.id.as_deref() == Some(principal));
            let other = it.principal.as_ref().and_then(|it| it.display_name.as_deref());
            let name = user.map_or(other.unwrap_or(principal), user_name);
            format!("{name} ({})", role_name(definitions, role))
        })
        .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let findings = format!(
        "Held for good: {}. Change these assignments to eligible ones in Privileged Identity Management. Emergency access accounts \
         are those that a policy for everyone leaves out.",
        failing_line(&named, named.len())
    );
    Some(Judged::whole("ID-09", "permanent_roles", NonCompliant, findings))
}

fn rules(tenant: &Tenant) -> Option<Vec<(&RoleRule, bool)>> {
    if !license::has_p2(tenant)? {
        return None;
    }
    let definitions = tenant.role_definitions.as_deref()?;
    let of_privileged = |it: &&RolePolicy| {
        let role = it.role_definition_id.as_deref().unwrap_or_default();
        is_privileged(template(definitions, role))
    };
    let rules = tenant.role_policies.as_deref()?.iter().filter(of_privileged).flat_map(|it| {
        let role = it.role_definition_id.as_deref().unwrap_or_default();
        let is_global = template(definitions, role) == GLOBAL_ADMINISTRATOR;
        it.policy.rules.0.iter().map(move |rule| (rule, is_global))
    });
    Some(rules.collect())
}

fn is_named(rule: &RoleRule, name: &str) -> bool {
    rule.id.as_deref() == Some(name)
}

/// Returns whether another person approves before someone becomes Global Administrator. `None`: unknown, or not licensed.
pub(super) fn is_activation_approved(tenant: &Tenant) -> Option<bool> {
    let is_open = |(rule, is_global): &(&RoleRule, bool)| {
        let needs = rule.setting.as_ref().and_then(|it| it.is_approval_required);
        *is_global && is_named(rule, "Approval_EndUser_Assignment") && needs == Some(false)
    };
    Some(!rules(tenant)?.iter().any(is_open))
}

/// Returns whether someone is told when a privileged role is given. `None`: unknown, or not licensed.
pub(super) fn are_assignments_announced(tenant: &Tenant) -> Option<bool> {
    let is_silent = |(rule, _): &(&RoleRule, bool)| {
        let is_it = is_named(rule, "Notification_Admin_Admin_Assignment")
            || is_named(rule, "Notification_Admin_Admin_Eligibility");
        is_it && rule.notification_recipients.is_empty()
    };
    Some(!rules(tenant)?.iter().any(is_silent))
}

/// Returns whether someone is told when an account becomes Global Administrator. `None`: unknown, or not licensed.
pub(super) fn is_global_activation_announced(tenant: &Tenant) -> Option<bool> {
    Some(!rules(tenant)?.iter().any(|it| it.1 && is_silent_activation(it.0)))
}

/// The same of the other privileged roles.
pub(super) fn are_other_activations_announced(tenant: &Tenant) -> Option<bool> {
    Some(!rules(tenant)?.iter().any(|it| !it.1 && is_silent_activation(it.0)))
}

fn is_silent_activation(rule: &RoleRule) -> bool {
    is_named(rule, "Notification_Admin_EndUser_Assignment")
        && rule.notification_type.as_deref() == Some("Email")
        && rule.notification_recipients.is_empty()
}
