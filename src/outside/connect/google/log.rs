//! The audit log (LOG-01): sign-ins and administrative changes can be read, with the user and the time.

use super::row::{Activity, User};
use super::tenant::Tenant;
use crate::clock::Time;
use crate::connect::reading::JudgedStatus::NonCompliant;
use crate::connect::reading::{Judged, Sight};

/// Google may be so late with events.
const DELAY_DAYS: i64 = 3;
/// Google keeps them for 6 months. A sign-in a little before that may be gone.
const KEPT_DAYS: i64 = 150;

/// LOG-01. Whether 6 months are the agreed time has to be attested, so it is partly met at most.
pub(super) fn readable(tenant: &Tenant<'_>) -> Option<Judged> {
    let events = tenant.snapshot.audit_events.as_ref()?;
    let newest = |application: &str| {
        let of_application = events.iter().filter(|it| is_of(it, application));
        of_application.filter_map(when_and_who).max()
    };
    let judged =
        |status, findings: String| Some(Judged::whole("LOG-01", "audit_log", status, findings));
    match (newest("login"), newest("admin")) {
        (Some(sign_in), Some(change)) => Some(Judged::part(
            "LOG-01",
            "audit_log",
            Sight::Facets,
            format!(
                "Sign-ins (the newest at {sign_in}) and changes by administrators (the newest at {change}) are in the audit \
                 log, with user and time. Google keeps them for 6 months. Attest that this is as agreed, or where they \
                 are kept for longer."
            ),
        )),
        // Where somebody signed in, there must be an event.
        (None, _) => {
            let last = last_sign_in(tenant)?;
            judged(
                NonCompliant,
                format!(
                    "A user signed in at {last}, but the audit log shows no sign-in. Check Reporting > Audit and \
                     investigation > User log events."
                ),
            )
        }
        (Some(_), None) => None,
    }
}

fn is_of(activity: &Activity, application: &str) -> bool {
    let id = activity.id.as_ref();
    id.and_then(|it| it.application_name.as_deref()) == Some(application)
}

/// `None` if it does not say when or who.
fn when_and_who(activity: &Activity) -> Option<Time> {
    let who = activity.actor.as_ref()?.email.as_deref()?;
    let at = activity.id.as_ref()?.time?.0;
    (!who.is_empty()).then_some(at)
}

/// The last sign-in that the log must have.
fn last_sign_in(tenant: &Tenant<'_>) -> Option<Time> {
    let times = tenant.snapshot.users.iter().flatten().filter_map(|it: &User| it.last_login_time);
    let is_due =
        |it: &Time| it.plus_days(DELAY_DAYS) < tenant.at && tenant.at < it.plus_days(KEPT_DAYS);
    times.map(|it| it.0).filter(is_due).max()
}
