//! The list of accounts, from which the engine decides ID-02, ID-03, ID-10 and ID-11.

use std::collections::BTreeMap;

use super::row::{Moment, User};
use super::sign_in::factors;
use super::snapshot::{Snapshot, StreamKind};
use super::tenant::{Place, Tenant};
use crate::clock::Time;
use crate::engine::identity::{Identity, LastSignIn, UserType};

/// What the list needs. Without assignments of single sign-on, no one's lack of a second factor would be known: the list would
/// say less than before.
pub const ACCOUNTS_NEED: &[StreamKind] = &[
    StreamKind::Users,
    StreamKind::OrgUnits,
    StreamKind::Roles,
    StreamKind::RoleAssignments,
    StreamKind::SsoAssignments,
];

/// Returns all accounts. `None`: they were not read completely, or one has no identifier or name.
///
/// A role that a group has is not told of its members. Google says of each user whether it is an administrator, though.
#[must_use]
pub fn accounts(snapshot: &Snapshot, at: Time) -> Option<Vec<Identity>> {
    if !snapshot.has(ACCOUNTS_NEED) {
        return None;
    }
    let tenant = Tenant::new(snapshot, &[], at);
    let roles = roles(snapshot)?;
    let mut places: BTreeMap<(&str, bool, bool), &Place<'_>> = BTreeMap::new();
    for it in tenant.places.iter().flatten() {
        places.insert((it.path, it.is_admin, it.is_super), it);
    }
    let users = snapshot.users.as_ref()?;
    users.iter().map(|it| identity(it, &roles, &places, &tenant)).collect()
}

/// The names of the roles of each user, by the user's identifier.
fn roles(snapshot: &Snapshot) -> Option<BTreeMap<&str, Vec<&str>>> {
    let mut names = BTreeMap::new();
    for role in snapshot.roles.as_ref()? {
        names.insert(&role.role_id.as_ref()?.0, role.role_name.as_deref()?);
    }
    let mut of_users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in snapshot.role_assignments.as_ref()? {
        let (role, user) = (&it.role_id.as_ref()?.0, &it.assigned_to.as_ref()?.0);
        let name = names.get(role).copied().unwrap_or(role);
        of_users.entry(user).or_default().push(name);
    }
    Some(of_users)
}

fn identity(
    user: &User,
    roles: &BTreeMap<&str, Vec<&str>>,
    places: &BTreeMap<(&str, bool, bool), &Place<'_>>,
    tenant: &Tenant<'_>,
) -> Option<Identity> {
    let id = user.id.as_ref()?;
    let path = user.org_unit_path.as_deref().unwrap_or_default();
    let place = places.get(&(path, user.is_any_admin(), user.is_super()));
    let (mfa, mfa_enforced) = match place {
        Some(place) if user.is_active() => factors(tenant, place, user),
        // It cannot sign in.
        _ => (user.is_enrolled_in_2sv.filter(|it| *it), None),
    };
    let mut roles: Vec<String> =
        roles.get(&*id.0).into_iter().flatten().map(|it| (*it).to_owned()).collect();
    roles.sort_unstable();
    roles.dedup();
    let last_sign_in = match user.last_login_time {
        None => LastSignIn::Unknown,
        Some(Moment(Time::EPOCH)) => LastSignIn::Never,
        Some(Moment(time)) => LastSignIn::At(time),
    };
    let name = user.name.as_ref().and_then(|it| it.full_name.clone());
    Some(Identity {
        external_id: id.0.clone(),
        user: user.primary_email.clone()?,
        display_name: name.filter(|it| !it.trim().is_empty()),
        user_type: user.is_guest_user.map_or(UserType::Unknown, UserType::of),
        is_admin: user.is_any_admin(),
        roles,
        mfa,
        mfa_enforced,
        is_enabled: user.is_active(),
        created_at: user.creation_time.map(|it| it.0),
        last_sign_in,
        listed_at: None,
        mfa_known_at: None,
    })
}
