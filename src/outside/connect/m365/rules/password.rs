//! Passwords (ID-15): whether domains make users change them for no reason.

use crate::clock::Time;
use crate::connect::m365::tenant::{Domain, Field, Tenant};
use crate::connect::reading::JudgedStatus::NonCompliant;
use crate::connect::reading::{Judged, Sight};
use crate::engine::fact::failing_line;

/// In days: what Entra writes for passwords that do not expire.
const NEVER: i64 = 2_147_483_647;

/// Returns the verified domains whose passwords Entra keeps. `None`: unknown of one.
fn managed(tenant: &Tenant) -> Option<Vec<&Domain>> {
    let verified = tenant.domains.as_deref()?.iter().filter(|it| it.is_verified != Some(false));
    let mut managed = Vec::new();
    for it in verified {
        if it.authentication_type.as_deref()? == "Managed" {
            managed.push(it);
        }
    }
    Some(managed)
}

/// Returns the managed domains whose passwords expire. `None`: unknown, or there is no managed domain.
fn expiring(tenant: &Tenant) -> Option<Vec<&str>> {
    let all = managed(tenant)?;
    let mut found = Vec::new();
    for it in &all {
        let id = it.id.as_deref()?;
        let is_below = |root: &&&Domain| {
            let above = root.id.as_deref().unwrap_or_default();
            root.is_root == Some(true) && id.strip_suffix(above).is_some_and(|it| it.ends_with('.'))
        };
        // A domain below another takes what that one has.
        let root = if it.is_root? { it } else { all.iter().find(is_below)? };
        match root.password_validity_period_in_days {
            Field::Is(NEVER) => (),
            Field::Is(_) | Field::Null => found.push(id),
            Field::Absent => return None,
        }
    }
    (!all.is_empty()).then_some(found)
}

/// Returns whether passwords expire in no managed domain. `None`: unknown, or there is no managed domain.
pub(super) fn never_expire(tenant: &Tenant) -> Option<bool> {
    expiring(tenant).map(|it| it.is_empty())
}

/// ID-15. Entra asks for 8 characters, and this cannot be changed, so it is partly met at most.
pub(super) fn policy(tenant: &Tenant, _: Time) -> Option<Judged> {
    let found = expiring(tenant)?;
    if found.is_empty() {
        let findings = "Passwords do not expire, and Entra rejects common ones. But it accepts 8 characters, and this cannot be changed. \
                        Attest what else makes passwords longer.";
        return Some(Judged::part("ID-15", "password_expiry", Sight::Facets, findings));
    }
    let named = failing_line(&found, found.len());
    let advice = "Entra rejects common passwords, so set them to never expire.";
    let findings = format!("Passwords expire for no reason in {named}. {advice}");
    Some(Judged::whole("ID-15", "password_expiry", NonCompliant, findings))
}
