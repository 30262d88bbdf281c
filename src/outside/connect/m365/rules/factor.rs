//! The methods that a second factor may be (ID-05).

use crate::clock::Time;
use crate::connect::m365::tenant::{Field, MethodConfiguration, MethodsPolicy, Tenant};
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};

const WEAK: [(&str, &str); 3] =
    [("Sms", "text messages"), ("Voice", "voice calls"), ("Email", "email codes")];
const EVERYONE: &str = "all_users";

/// Returns whether the policy on methods alone decides, no older setting beside it. `None`: unknown.
pub(super) fn is_migrated(tenant: &Tenant) -> Option<bool> {
    match &tenant.methods.as_ref()?.policy_migration_state {
        Field::Absent => None,
        Field::Null => Some(true),
        Field::Is(state) => Some(state == "migrationComplete"),
    }
}

/// Returns whether text messages, voice calls and email codes are off in the policy on methods. `None`: unknown.
pub(super) fn are_weak_methods_off(tenant: &Tenant) -> Option<bool> {
    let states = WEAK.map(|it| is_enabled(tenant.methods.as_ref()?, it.0));
    if states.contains(&Some(true)) {
        return Some(false);
    }
    (!states.contains(&None)).then_some(true)
}

/// Returns whether requests in Microsoft Authenticator show everyone which application and place they come from, and codes
/// are off. True as well if it is not used. `None`: unknown.
pub(super) fn authenticator_shows_context(tenant: &Tenant) -> Option<bool> {
    let policy = tenant.methods.as_ref()?;
    if !is_enabled(policy, "MicrosoftAuthenticator")? {
        return Some(true);
    }
    let it = configuration(policy, "MicrosoftAuthenticator")?;
    let features = &it.feature_settings;
    let features = [
        &features.display_app_information_required_state,
        &features.display_location_information_required_state,
    ];
    let is_shown = features.iter().all(|it| {
        let is_on = it.state.as_deref() == Some("enabled");
        is_on && it.include_target.id.as_deref() == Some(EVERYONE)
    });
    Some(is_shown && it.is_software_oath_enabled == Some(false))
}

fn configuration<'a>(policy: &'a MethodsPolicy, id: &str) -> Option<&'a MethodConfiguration> {
    let all = &policy.authentication_method_configurations.0;
    all.iter().find(|it| it.id.as_deref() == Some(id))
}

fn is_enabled(policy: &MethodsPolicy, id: &str) -> Option<bool> {
    match configuration(policy, id)?.state.as_deref()? {
        "enabled" => Some(true),
        "disabled" => Some(false),
        _ => None,
    }
}

/// ID-05.
pub(super) fn weak(tenant: &Tenant, _: Time) -> Option<Judged> {
    let policy = tenant.methods.as_ref()?;
    let on = WEAK.iter().filter(|it| is_enabled(policy, it.0) == Some(true));
    let names: Vec<&str> = on.map(|it| it.1).collect();
    let (status, findings) = if !are_weak_methods_off(tenant)? {
        let advice =
            "Move users to an app, a passkey or a security key, then turn these methods off.";
        (NonCompliant, format!("Accepted as a method: {}. {advice}", names.join(", ")))
    } else if is_migrated(tenant)? {
        let findings = "Text messages, voice calls and email codes are not accepted.";
        (Compliant, findings.to_owned())
    } else {
        let findings = "Text messages, voice calls and email codes are off in the authentication methods policy. But the older MFA and \
                        password reset settings still count beside it, and may accept them. Complete the migration.";
        (Partial, findings.to_owned())
    };
    Some(Judged::whole("ID-05", "authentication_methods", status, findings))
}
