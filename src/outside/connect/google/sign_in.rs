//! Who signs in with Google, and who with another identity provider, which then asks for the second factor.

use super::row::{SsoAssignment, User};
use super::tenant::{Place, Tenant, bare};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignIn {
    Google,
    Elsewhere,
    Unknown,
}

/// Where those at a place sign in: as the nearest unit says to which single sign-on is assigned.
///
/// Members of groups are not read. So where a group has it, it is unknown of all.
pub(super) fn sign_in(tenant: &Tenant<'_>, place: &Place<'_>) -> SignIn {
    let Some(assignments) = &tenant.snapshot.sso_assignments else { return SignIn::Unknown };
    let Some(units) = &place.units else { return SignIn::Unknown };
    let is_of_unit =
        |it: &SsoAssignment| it.target_org_unit.as_deref().is_some_and(|it| !it.is_empty());
    if assignments.iter().any(|it| !is_of_unit(it) && mode(it) != SignIn::Google) {
        return SignIn::Unknown;
    }
    let of_unit = |unit: &str| {
        assignments.iter().find(|it| it.target_org_unit.as_deref().map(bare) == Some(unit))
    };
    units.iter().rev().find_map(|it| of_unit(it)).map_or(SignIn::Google, mode)
}

fn mode(assignment: &SsoAssignment) -> SignIn {
    match assignment.sso_mode.as_deref() {
        Some("SSO_OFF") => SignIn::Google,
        Some("SAML_SSO" | "OIDC_SSO") => SignIn::Elsewhere,
        _ => SignIn::Unknown,
    }
}

/// Whether Google's second factor protects those at a place. Super administrators can always sign in with Google's password.
pub(super) fn is_by_google(tenant: &Tenant<'_>, place: &Place<'_>) -> bool {
    place.is_super || sign_in(tenant, place) == SignIn::Google
}

/// Whether a user has a second factor, and whether it is required. `None`: unknown.
pub(super) fn factors(
    tenant: &Tenant<'_>,
    place: &Place<'_>,
    user: &User,
) -> (Option<bool>, Option<bool>) {
    let (enrolled, enforced) = (user.is_enrolled_in_2sv, user.is_enforced_in_2sv);
    if place.is_super {
        return (enrolled, enforced);
    }
    match sign_in(tenant, place) {
        SignIn::Google => (enrolled, enforced),
        SignIn::Elsewhere => (None, None),
        SignIn::Unknown => (enrolled.filter(|it| *it), enforced.filter(|it| *it)),
    }
}
