//! Guests: whether they are still in use (ID-13), who may invite them (ID-14), and what they may see.

use super::admin::user_name;
use super::people::{is_guest, last_sign_in};
use crate::clock::Time;
use crate::connect::m365::tenant::{Moment, Tenant};
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable};
use crate::connect::reading::{Judged, Member, Sight};
use crate::engine::identity::LastSignIn;

const DORMANT_DAYS: i64 = 90;
/// The ids of what a guest may see: less than a member, or only its own entry.
const LIMITED: [&str; 2] =
    ["10dae51f-b6af-4016-8d66-8c2a99b929b3", "2af84b1e-32c8-42b7-82bc-daa82404023b"];

/// ID-13. Whether someone has confirmed each guest has to be attested, so it is partly met at most.
pub(super) fn in_use(tenant: &Tenant, at: Time) -> Option<Judged> {
    let users = tenant.users.as_deref()?;
    let has_sign_ins = users.iter().any(|it| it.sign_in_activity.is_some());
    let guests = users.iter().filter(|it| is_guest(it) && it.account_enabled != Some(false));
    let members: Vec<Member> = guests
        .map(|user| {
            let last = match last_sign_in(user, has_sign_ins) {
                LastSignIn::At(time) => Some(time),
                LastSignIn::Never => Moment::time(user.created_date_time.as_deref()),
                LastSignIn::Unknown => None,
            };
            let passes = last.map(|it| at < it.plus_days(DORMANT_DAYS));
            Member { id: user.id.as_deref().unwrap_or_default(), name: user_name(user), passes }
        })
        .collect();
    let (control, check) = ("ID-13", "guests_in_use");
    if members.is_empty() {
        let findings = "The directory has no enabled guest.";
        return Some(Judged::whole(control, check, NotApplicable, findings));
    }
    if members.iter().all(|it| it.passes == Some(true)) {
        let findings = format!(
            "All {} guests have signed in within {DORMANT_DAYS} days. Attest when each was last confirmed as still needed.",
            members.len()
        );
        return Some(Judged::part(control, check, Sight::Facets, findings));
    }
    let what = "They have not signed in for 90 days. Ask whoever invited each of them, and remove those that are no longer needed.";
    Judged::population(control, check, members, what)
}

/// Returns whether only administrators and named inviters can invite guests, or no one. `None`: unknown.
pub(super) fn are_invitations_limited(tenant: &Tenant) -> Option<bool> {
    match tenant.authorization.as_ref()?.allow_invites_from.as_deref()? {
        "none" | "adminsAndGuestInviters" => Some(true),
        "adminsGuestInvitersAndAllMembers" | "everyone" => Some(false),
        _ => None,
    }
}

/// ID-14.
pub(super) fn invitations(tenant: &Tenant, _: Time) -> Option<Judged> {
    let (status, findings) = if are_invitations_limited(tenant)? {
        (Compliant, "Only administrators and named inviters can invite guests, or no one can.")
    } else {
        let findings = "Ordinary users can invite guests. Limit invitations to administrators and the Guest Inviter role, in the external \
                        collaboration settings.";
        (NonCompliant, findings)
    };
    Some(Judged::whole("ID-14", "guest_invitations", status, findings))
}

/// Returns whether guests see less of the directory than members do. `None`: unknown.
pub(super) fn is_view_limited(tenant: &Tenant) -> Option<bool> {
    let role = tenant.authorization.as_ref()?.guest_user_role_id.as_deref()?;
    Some(LIMITED.contains(&role))
}
