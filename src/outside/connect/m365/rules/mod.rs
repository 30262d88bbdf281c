//! What a tenant shows of controls. Pure: the same tenant and time always give the same verdicts.

mod admin;
mod app;
mod conditional_access;
mod consent;
mod credential;
mod emergency;
mod factor;
mod guest;
mod license;
mod mfa;
mod password;
mod people;
mod privilege;
mod score;
mod service;
mod sign_in;

use super::tenant::Source::{
    self, AppRoles, Applications, Audits, Authorization, Classifications, ConsentRequests, Domains,
    Grants, GroupMembers, Mailboxes, Methods, Organization, Policies, Registrations,
    RoleAssignments, RoleDefinitions, RoleEligibilities, RoleSchedules, Score, ScoreProfiles,
    SecurityDefaults, ServicePrincipals, SharePoint, Skus, Users,
};
use super::tenant::Tenant;
use crate::clock::Time;
use crate::connect::reading::Judged;

pub use app::apps;
pub use conditional_access::{Demand, Excluded, Match, matches};
pub use license::has_p2;
pub use people::accounts;

/// What decides a control.
pub struct Rule {
    pub control: &'static str,
    /// Of which all must have been read, or there is no verdict.
    pub needs: &'static [Source],
    /// Those that it needs of some tenants alone, by their licenses or settings.
    pub may_need: &'static [Source],
    judge: fn(&Tenant, Time) -> Option<Judged>,
}

const fn rule(
    control: &'static str,
    needs: &'static [Source],
    may_need: &'static [Source],
    judge: fn(&Tenant, Time) -> Option<Judged>,
) -> Rule {
    Rule { control, needs, may_need, judge }
}

/// A control may have two, of which each tenant has at most one verdict. ID-02, ID-03, ID-10 and ID-11 follow from [`accounts`].
pub const RULES: &[Rule] = &[
    rule("ID-01", &[SecurityDefaults], &[], mfa::by_defaults),
    rule("ID-01", &[SecurityDefaults, Policies, Users, GroupMembers], &[], mfa::by_policy),
    rule(
        "ID-04",
        &[Policies, Users, GroupMembers, RoleDefinitions, RoleAssignments],
        &[Registrations, RoleEligibilities, Skus],
        mfa::of_administrators,
    ),
    rule("ID-05", &[Methods], &[], factor::weak),
    rule("ID-06", &[SecurityDefaults], &[], sign_in::legacy_by_defaults),
    rule(
        "ID-06",
        &[SecurityDefaults, Policies, Users, GroupMembers],
        &[],
        sign_in::legacy_by_policy,
    ),
    rule(
        "ID-07",
        &[Users, RoleDefinitions, RoleAssignments, GroupMembers],
        &[RoleEligibilities, Skus],
        admin::number,
    ),
    rule(
        "ID-08",
        &[Users, Skus, RoleDefinitions, RoleAssignments, GroupMembers],
        &[RoleEligibilities],
        admin::accounts,
    ),
    rule(
        "ID-09",
        &[Users, Skus, RoleDefinitions, RoleSchedules, Policies, GroupMembers],
        &[],
        privilege::time_bound,
    ),
    rule("ID-13", &[Users], &[], guest::in_use),
    rule("ID-14", &[Authorization], &[], guest::invitations),
    rule("ID-15", &[Domains], &[], password::policy),
    rule("ID-16", &[Policies], &[], sign_in::report_only),
    rule("ID-17", &[Skus, Policies, Users, GroupMembers], &[], sign_in::risk),
    rule("ID-18", &[Policies, Users, GroupMembers], &[], emergency::exist),
    rule("ID-19", &[Applications], &[], credential::current),
    rule("ID-39", &[Policies, Users, GroupMembers], &[], sign_in::token_theft),
    rule("APP-01", &[Authorization, ConsentRequests], &[Classifications], consent::rule),
    rule("APP-02", &[ServicePrincipals, Grants, AppRoles, Organization], &[], app::high_risk),
    rule("APP-03", &[ServicePrincipals, Grants, AppRoles, Organization], &[], app::unsanctioned),
    rule("APP-04", &[ServicePrincipals, Grants, AppRoles, Organization], &[], app::publishers),
    rule("EML-04", &[Score, ScoreProfiles], &[], score::forwarding),
    rule("EML-05", &[Score, ScoreProfiles], &[], score::protection),
    rule("EML-07", &[Users, Mailboxes], &[], service::shared_mailboxes),
    rule("DAT-04", &[SharePoint], &[], service::sharing),
    rule("LOG-01", &[Audits], &[], service::audit_log),
    rule("LOG-03", &[Score], &[], score::whole),
];

/// Judges what was read. A control without a verdict is left out.
#[must_use]
pub fn judge(tenant: &Tenant, at: Time) -> Vec<Judged> {
    let decided = RULES.iter().filter(|rule| rule.needs.iter().all(|it| tenant.has(*it)));
    decided.filter_map(|rule| (rule.judge)(tenant, at)).collect()
}

/// A single fact about a tenant's settings.
pub struct Fact {
    /// Also the name of its note.
    pub name: &'static str,
    /// `None`: unknown.
    pub is_true: fn(&Tenant) -> Option<bool>,
}

const fn fact(name: &'static str, is_true: fn(&Tenant) -> Option<bool>) -> Fact {
    Fact { name, is_true }
}

/// What controls rest on, and hardening that no control asks for.
pub const FACTS: &[Fact] = &[
    fact("methods_migration_complete", factor::is_migrated),
    fact("weak_methods_off", factor::are_weak_methods_off),
    fact("authenticator_shows_context", factor::authenticator_shows_context),
    fact("app_registration_closed", consent::is_registration_closed),
    fact("user_consent_restricted", consent::is_restricted),
    fact("consent_requests_on", consent::are_requests_on),
    fact("app_passwords_refused", credential::are_passwords_refused),
    fact("app_passwords_limited", credential::are_passwords_limited),
    fact("app_certificates_limited", credential::are_certificates_limited),
    fact("passwords_never_expire", password::never_expire),
    fact("least_privilege", admin::is_least_privilege),
    fact("admins_cloud_only", admin::admins_are_cloud_only),
    fact("roles_time_bound", privilege::are_roles_time_bound),
    fact("roles_managed", privilege::are_roles_managed),
    fact("global_admin_activation_approved", privilege::is_activation_approved),
    fact("role_assignments_announced", privilege::are_assignments_announced),
    fact("global_admin_activation_announced", privilege::is_global_activation_announced),
    fact("other_activations_announced", privilege::are_other_activations_announced),
    fact("guest_view_limited", guest::is_view_limited),
    fact("guest_invitations_limited", guest::are_invitations_limited),
];

/// Returns the facts that are known, for [`crate::connect::reading::Group::notes`].
#[must_use]
pub fn notes(tenant: &Tenant) -> Vec<(String, String)> {
    let demands = [
        ("managed_device_required", Demand::ManagedDevice),
        ("managed_registration_required", Demand::ManagedRegistration),
        ("risky_agents_blocked", Demand::RiskyAgentsBlocked),
    ];
    let by_policy = demands.into_iter().map(|(name, demand)| {
        let is_full = |all: Vec<Match>| all.iter().any(|it| it.is_full() == Some(true));
        (name, matches(tenant, demand).map(is_full))
    });
    let known = FACTS.iter().map(|it| (it.name, (it.is_true)(tenant))).chain(by_policy);
    let noted = known.filter_map(|(name, is_true)| {
        let text = if is_true? { "yes" } else { "no" };
        Some((name.to_owned(), text.to_owned()))
    });
    noted.collect()
}
