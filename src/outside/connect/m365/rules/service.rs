//! Mailboxes (EML-07), sharing of files (DAT-04) and the audit log (LOG-01).

use crate::clock::Time;
use crate::connect::m365::tenant::{Moment, Tenant};
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable};
use crate::connect::reading::{Judged, Member, Sight};

/// An audit log without an event for longer is not read as it is.
const QUIET_DAYS_MAX: i64 = 30;

/// EML-07.
pub(super) fn shared_mailboxes(tenant: &Tenant, _: Time) -> Option<Judged> {
    let users = tenant.users.as_deref()?;
    let mailboxes = tenant.mailboxes.as_deref()?.iter().filter(|it| it.is_deleted != Some(true));
    let mut shared = Vec::new();
    for it in mailboxes {
        // Without a kind, it could be a shared one.
        let kind = it.recipient_type.as_deref().filter(|it| !it.is_empty())?;
        if kind.to_ascii_lowercase().contains("shared") {
            shared.push(it);
        }
    }
    let (control, check) = ("EML-07", "shared_mailboxes");
    if shared.is_empty() {
        let findings = "There is no shared mailbox.";
        return Some(Judged::whole(control, check, NotApplicable, findings));
    }
    let members = shared.into_iter().map(|it| {
        let name = it.user_principal_name.as_deref().unwrap_or_default();
        let user = users.iter().find(|it| {
            it.user_principal_name.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(name))
        });
        let id = user.and_then(|it| it.id.as_deref()).unwrap_or(name);
        let passes = user.and_then(|it| it.account_enabled).map(|it| !it);
        Member { id, name: it.display_name.as_deref().unwrap_or(name), passes }
    });
    let what = "Their accounts can sign in. Block sign-in for each, reset the password, and give people access by delegation.";
    Judged::population(control, check, members, what)
}

/// DAT-04.
pub(super) fn sharing(tenant: &Tenant, _: Time) -> Option<Judged> {
    let settings = tenant.sharepoint.as_ref()?;
    let (status, says) = match settings.sharing_capability.as_deref()? {
        "disabled" => (Compliant, "Files and sites cannot be shared outside the organization."),
        "existingExternalUserSharingOnly" => {
            (Compliant, "Files and sites can be shared only with guests who are in the directory.")
        }
        "externalUserSharingOnly" => {
            (Compliant, "Files and sites can be shared only with people who sign in.")
        }
        "externalUserAndGuestSharing" => {
            let says = "Files and sites can be shared by links that are open to anyone. Set external sharing to new and existing guests, \
                        or less, in the SharePoint admin center.";
            (NonCompliant, says)
        }
        _ => return None,
    };
    let reshare = status == Compliant
        && settings.sharing_capability.as_deref() != Some("disabled")
        && settings.is_resharing_by_external_users_enabled == Some(true);
    let more = if reshare { " Guests can share what was shared with them." } else { "" };
    Some(Judged::whole("DAT-04", "sharepoint_sharing", status, format!("{says}{more}")))
}

/// LOG-01. How long the log is kept has to be attested, so it is partly met at most.
pub(super) fn audit_log(tenant: &Tenant, at: Time) -> Option<Judged> {
    let all = tenant.audits.as_deref()?.iter();
    let times = all.filter_map(|it| Moment::time(it.activity_date_time.as_deref()));
    let newest = times.max()?;
    if newest.plus_days(QUIET_DAYS_MAX) < at {
        return None;
    }
    let findings = format!(
        "The directory's audit log can be read; its newest event is of {newest}. Entra keeps it for 7 or 30 days. Attest where it is \
         kept for longer."
    );
    Some(Judged::part("LOG-01", "directory_audit_log", Sight::Facets, findings))
}
