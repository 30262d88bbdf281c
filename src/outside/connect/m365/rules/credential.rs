//! Secrets and certificates of the tenant's own applications (ID-19), and what the tenant allows of them.

use crate::clock::Time;
use crate::connect::m365::tenant::{
    Application, Credential, CredentialRestriction, Moment, Tenant,
};
use crate::connect::reading::JudgedStatus::NotApplicable;
use crate::connect::reading::{Judged, Member};

/// A year, and a day of a leap year.
const LIFETIME_DAYS_MAX: i64 = 366;

/// ID-19.
pub(super) fn current(tenant: &Tenant, at: Time) -> Option<Judged> {
    let all = tenant.applications.as_deref()?;
    let (control, check) = ("ID-19", "application_credentials");
    let with: Vec<&Application> =
        all.iter().filter(|it| it.credentials().next().is_some()).collect();
    if with.is_empty() {
        let findings = "No application of the directory has a secret or certificate.";
        return Some(Judged::whole(control, check, NotApplicable, findings));
    }
    let members = with.into_iter().map(|it| {
        let states: Vec<_> = it.credentials().map(|it| is_current(it, at)).collect();
        let passes = if states.contains(&Some(false)) {
            Some(false)
        } else {
            (!states.contains(&None)).then_some(true)
        };
        let names = [&it.display_name, &it.app_id, &it.id];
        let name = names.into_iter().flatten().next().map_or("without a name", String::as_str);
        Member { id: it.id.as_deref().unwrap_or_default(), name, passes }
    });
    let what = "They have a secret or certificate that has expired or is valid for longer than a year. Remove what has expired, and \
                replace the others with shorter-lived ones.";
    Judged::population(control, check, members, what)
}

/// `None`: a date is missing.
fn is_current(it: &Credential, at: Time) -> Option<bool> {
    let end = Moment::time(it.end_date_time.as_deref())?;
    if end < at {
        return Some(false);
    }
    let start = Moment::time(it.start_date_time.as_deref())?;
    Some(end <= start.plus_days(LIFETIME_DAYS_MAX))
}

/// Returns whether new passwords of applications are refused. `None`: unknown.
pub(super) fn are_passwords_refused(tenant: &Tenant) -> Option<bool> {
    let policy = tenant.app_management.as_ref()?;
    Some(policy.on_passwords().iter().all(|it| restricts(it, "passwordAddition")))
}

/// Returns whether passwords of applications must end. `None`: unknown.
pub(super) fn are_passwords_limited(tenant: &Tenant) -> Option<bool> {
    let policy = tenant.app_management.as_ref()?;
    Some(policy.on_passwords().iter().all(|it| restricts(it, "passwordLifetime")))
}

/// Returns whether certificates of applications must end. `None`: unknown.
pub(super) fn are_certificates_limited(tenant: &Tenant) -> Option<bool> {
    let policy = tenant.app_management.as_ref()?;
    Some(policy.on_keys().iter().all(|it| restricts(it, "asymmetricKeyLifetime")))
}

/// Returns true if a restriction is on and holds for applications of every age.
fn restricts(all: &[CredentialRestriction], kind: &str) -> bool {
    all.iter().any(|it| {
        let since = it.restrict_for_apps_created_after_date_time.as_deref();
        it.restriction_type.as_deref() == Some(kind)
            && it.state.as_deref() == Some("enabled")
            && (since.is_none() || Moment::parse(since) == Some(Moment::Never))
    })
}
