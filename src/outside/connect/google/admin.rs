//! Administrators: how many (ID-07), with which accounts (ID-08), and how they get back in (ID-22).

use super::row::User;
use super::setting::{SUPER_ADMIN_RECOVERY, USER_RECOVERY};
use super::sign_in::{SignIn, sign_in};
use super::survey::{Question, Who};
use super::tenant::Tenant;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant};
use crate::connect::reading::{Judged, Member};

const N_SUPER_ADMINS: std::ops::RangeInclusive<usize> = 2..=4;
/// Findings name so many accounts.
const N_NAMED_MAX: usize = 10;

pub(super) const SUPER_ADMINS_RECOVER: Question = Question {
    control: "ID-22",
    check: "super_admin_recovery",
    who: Who::SuperAdmins,
    service: None,
    kinds: &[SUPER_ADMIN_RECOVERY.kind],
    passes: |here| here.flag(&SUPER_ADMIN_RECOVERY).map(|it| !it),
    gap: "Super administrators can recover their accounts by phone or email",
    remedy: "Turn this off under Security > Authentication > Account recovery, and have two super administrators recover \
             each other's accounts.",
};

pub(super) const USERS_RECOVER: Question = Question {
    control: "ID-22",
    check: "user_recovery",
    who: Who::Others,
    service: None,
    kinds: &[USER_RECOVERY.kind],
    passes: |here| here.flag(&USER_RECOVERY).map(|it| !it),
    gap: "Users and other administrators can recover their accounts by phone or email",
    remedy: "Turn this off under Security > Authentication > Account recovery, at least for administrators.",
};

/// ID-07.
pub(super) fn number(tenant: &Tenant<'_>) -> Option<Judged> {
    let places = tenant.places.as_ref()?;
    let users = || places.iter().flat_map(|it| &it.users);
    let supers: Vec<&str> = users().filter(|it| it.is_super()).map(|it| it.email()).collect();
    let n = supers.len();
    let is_known = users().all(|it| it.is_admin.is_some());
    // Somebody always is one, and more than the limit are too many whatever the others are.
    if n == 0 || (!is_known && n <= *N_SUPER_ADMINS.end()) {
        return None;
    }
    let status = if N_SUPER_ADMINS.contains(&n) { Compliant } else { NonCompliant };
    let advice = match n {
        0 | 1 => {
            "Give a second person an account of a super administrator, so that one lockout does not stop everything."
        }
        2..=4 => "Two to four are recommended.",
        _ => "Keep two to four, and give the others a role with fewer rights.",
    };
    let more = n.saturating_sub(N_NAMED_MAX);
    let names = supers[..n.min(N_NAMED_MAX)].join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let noun = if n == 1 { "super administrator" } else { "super administrators" };
    let findings = format!("{n} active {noun}: {names}{more}. {advice}");
    Some(Judged::whole("ID-07", "super_admin_count", status, findings))
}

/// ID-08: an administrator's account signs in with Google and has no mailbox.
pub(super) fn separate(tenant: &Tenant<'_>) -> Option<Judged> {
    let places = tenant.places.as_ref()?.iter().filter(|it| it.is_admin);
    let members = places.flat_map(|place| {
        let sign_in = sign_in(tenant, place);
        place.users.iter().map(move |it| Member {
            id: it.id.as_ref().map_or("", |it| &it.0),
            name: it.email(),
            passes: is_separate(sign_in, it),
        })
    });
    Judged::population(
        "ID-08",
        "admin_accounts",
        members,
        "These administrators use accounts with a mailbox, or accounts that sign in with another identity provider. Give \
         each a separate account with the role, without a Gmail license and without single sign-on.",
    )
}

fn is_separate(sign_in: SignIn, user: &User) -> Option<bool> {
    match (sign_in, user.is_mailbox_setup) {
        (SignIn::Elsewhere, _) | (_, Some(true)) => Some(false),
        (SignIn::Google, Some(false)) => Some(true),
        (SignIn::Google | SignIn::Unknown, None) | (SignIn::Unknown, Some(false)) => None,
    }
}
