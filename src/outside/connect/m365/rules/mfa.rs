//! Multi-factor authentication: for everyone (ID-01), and for administrators by methods that resist phishing (ID-04).

use super::admin::{self, user_name};
use super::conditional_access::{Demand, Excluded, PHISHING_RESISTANT, Standing, standing};
use crate::clock::Time;
use crate::connect::m365::tenant::{Registration, Tenant, User};
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use crate::connect::reading::{Judged, Member};

/// As the report on registration calls them.
const RESISTANT_METHODS: [&str; 7] = [
    "fido2",
    "fido2SecurityKey",
    "passKeyDeviceBound",
    "passKeyDeviceBoundAuthenticator",
    "passKeyDeviceBoundWindowsHello",
    "passKeySynced",
    "windowsHelloForBusiness",
];

/// ID-01, where security defaults are on.
pub(super) fn by_defaults(tenant: &Tenant, _: Time) -> Option<Judged> {
    let findings = "Security defaults are on: they require a second factor of every user.";
    are_defaults_on(tenant)?
        .then(|| Judged::whole("ID-01", "security_defaults", Compliant, findings))
}

pub(super) fn are_defaults_on(tenant: &Tenant) -> Option<bool> {
    tenant.security_defaults.as_ref()?.is_enabled
}

/// ID-01, where security defaults are off.
pub(super) fn by_policy(tenant: &Tenant, _: Time) -> Option<Judged> {
    if are_defaults_on(tenant)? {
        return None;
    }
    let (status, findings) = match standing(
        tenant,
        &[Demand::PhishingResistantForAll, Demand::MfaForAll],
    )? {
        Standing::Full(it) => {
            let left_out = left_out(tenant, &it.excluded);
            let says = "requires a second factor of every user for every application";
            (Compliant, format!("The policy \"{}\" {says}.{left_out}", it.name()))
        }
        Standing::Partly(it) => {
            let says = "requires a second factor of all users for all applications, but";
            let advice = "Close the gap, or add a policy without it.";
            (Partial, format!("The policy \"{}\" {says} {}. {advice}", it.name(), it.gaps()))
        }
        Standing::Unknown => return None,
        Standing::No => {
            let advice = "Turn on security defaults, or enforce a policy for all users and all applications. MFA that was set \
                              for single users is not counted.";
            let says = "Security defaults are off, and no enforced policy requires a second factor of every user for every \
                            application.";
            (NonCompliant, format!("{says} {advice}"))
        }
    };
    Some(Judged::whole("ID-01", "conditional_access", status, findings))
}

/// Names the accounts that a policy leaves out, as a sentence after a space.
pub(super) fn left_out(tenant: &Tenant, excluded: &Excluded) -> String {
    let Excluded::Few(ids) = excluded else { return String::new() };
    let name = |id: &&str| {
        let mut users = tenant.users.iter().flatten();
        users
            .find(|it| it.id.as_deref() == Some(id))
            .map_or((*id).to_owned(), |it| user_name(it).to_owned())
    };
    let names: Vec<String> = ids.iter().map(name).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        " It leaves out {}. Check that each is an emergency access account.",
        names.join(" and ")
    )
}

/// ID-04.
pub(super) fn of_administrators(tenant: &Tenant, _: Time) -> Option<Judged> {
    let check = "phishing_resistant_mfa";
    let demands = [Demand::PhishingResistantForAdmins, Demand::PhishingResistantForAll];
    match standing(tenant, &demands)? {
        Standing::Full(it) => {
            let left_out = left_out(tenant, &it.excluded);
            let says = "requires a phishing-resistant method of every administrator";
            let findings = format!("The policy \"{}\" {says}.{left_out}", it.name());
            return Some(Judged::whole("ID-04", check, Compliant, findings));
        }
        Standing::Unknown => return None,
        Standing::Partly(_) | Standing::No => (),
    }
    let registrations = tenant.registrations.as_deref()?;
    let admins = admin::admins(tenant)?;
    let members: Vec<Member> = admins
        .iter()
        .map(|(user, _)| {
            let passes = has_resistant(registrations, user);
            Member { id: user.id.as_deref().unwrap_or_default(), name: user_name(user), passes }
        })
        .collect();
    let is_all = !members.is_empty() && members.iter().all(|it| it.passes == Some(true));
    if is_all {
        let findings = "Every administrator has registered a phishing-resistant method, but no enforced policy requires it. Require \
                        the phishing-resistant authentication strength for privileged roles.";
        return Some(Judged::whole("ID-04", check, Partial, findings));
    }
    let what = "They have registered no security key, passkey or Windows Hello. Give each of them two, then require the \
                phishing-resistant authentication strength for privileged roles.";
    Judged::population("ID-04", check, members, what)
}

/// `None`: not in the report, which lags behind and leaves out disabled accounts.
fn has_resistant(registrations: &[Registration], user: &User) -> Option<bool> {
    let id = user.id.as_deref()?;
    let row = registrations.iter().find(|it| it.id.as_deref() == Some(id))?;
    let methods = row.methods_registered.as_ref()?;
    let all = RESISTANT_METHODS.iter().chain(&PHISHING_RESISTANT);
    Some(all.into_iter().any(|it| methods.has(it)))
}
