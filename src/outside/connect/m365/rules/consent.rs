//! Consent (APP-01): whether users can let applications in on their own.

use super::app::is_high_risk;
use crate::clock::Time;
use crate::connect::m365::tenant::Tenant;
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};

const FOR_SELF: &str = "ManagePermissionGrantsForSelf.";
/// Permissions that open nothing but who the user is.
const HARMLESS: [&str; 6] =
    ["openid", "profile", "email", "offline_access", "User.Read", "User.ReadBasic.All"];

/// Returns whether users can consent to nothing, or only to low-risk permissions. `None`: unknown.
pub(super) fn is_restricted(tenant: &Tenant) -> Option<bool> {
    let permissions = &tenant.authorization.as_ref()?.default_user_role_permissions;
    let assigned = permissions.permission_grant_policies_assigned.as_ref()?;
    let of_users = assigned.iter().filter_map(|it| {
        let (prefix, id) = it.split_at_checked(FOR_SELF.len())?;
        prefix.eq_ignore_ascii_case(FOR_SELF).then_some(id)
    });
    let states: Vec<_> = of_users.map(|it| is_low_risk(tenant, it)).collect();
    if states.contains(&Some(false)) {
        return Some(false);
    }
    (!states.contains(&None)).then_some(true)
}

/// Of one of Entra's own policies on consent. `None`: it is the tenant's own, or the permissions were not read.
fn is_low_risk(tenant: &Tenant, policy: &str) -> Option<bool> {
    match policy {
        "microsoft-user-default-legacy" | "microsoft-user-default-recommended" => Some(false),
        "microsoft-user-default-low" => {
            let all = tenant.classifications.as_deref()?.iter();
            let mut low = all.filter(|it| it.classification.as_deref() == Some("low"));
            let is_harmless = |it: &str| {
                let is_risky = is_high_risk(it) != Some(false);
                HARMLESS.contains(&it) || !is_risky && it.ends_with(".Read")
            };
            Some(low.all(|it| it.permission_name.as_deref().is_some_and(is_harmless)))
        }
        _ => None,
    }
}

/// Returns whether users can ask an administrator to let an application in. `None`: unknown.
pub(super) fn are_requests_on(tenant: &Tenant) -> Option<bool> {
    tenant.consent_requests.as_ref()?.is_enabled
}

/// Returns whether only administrators can register applications. `None`: unknown.
pub(super) fn is_registration_closed(tenant: &Tenant) -> Option<bool> {
    let permissions = &tenant.authorization.as_ref()?.default_user_role_permissions;
    permissions.allowed_to_create_apps.map(|it| !it)
}

/// APP-01.
pub(super) fn rule(tenant: &Tenant, _: Time) -> Option<Judged> {
    let facts = [is_restricted(tenant)?, are_requests_on(tenant)?, is_registration_closed(tenant)?];
    let gaps = [
        "Users can consent to applications on their own. Turn this off, or limit it to low-risk permissions of verified publishers.",
        "Users cannot ask an administrator to approve an application. Turn on admin consent requests, and name reviewers.",
        "Users can register applications. Leave this to administrators.",
    ];
    let status = match facts {
        [false, ..] => NonCompliant,
        [true, true, true] => Compliant,
        [true, ..] => Partial,
    };
    let gaps: Vec<&str> = gaps.into_iter().zip(facts).filter(|it| !it.1).map(|it| it.0).collect();
    let findings = if gaps.is_empty() {
        "Users cannot let applications in or register them, and can ask an administrator."
            .to_owned()
    } else {
        gaps.join(" ")
    };
    Some(Judged::whole("APP-01", "user_consent", status, findings))
}
