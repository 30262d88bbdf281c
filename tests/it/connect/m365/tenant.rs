//! Tenants for tests, as Graph writes them.

use posture::clock::Time;
use posture::connect::m365::Tenant;
use posture::connect::m365::rules::judge;
use posture::connect::m365::tenant::Source;
use posture::connect::reading::{Judged, JudgedStatus};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub const GLOBAL_ADMINISTRATOR: &str = "62e90394-69f5-4237-9190-012177145e10";
pub const USER_ADMINISTRATOR: &str = "fe930be7-5e62-47db-91af-98c3a49a38b1";
const P2: &str = "eec0eb4f-6444-4f95-aba0-50c24d67f998";

pub fn at() -> Time {
    "2026-03-10T09:00:00Z".parse().unwrap()
}

#[allow(clippy::unnecessary_wraps, reason = "a field that was read is Some")]
pub fn rows<T: DeserializeOwned>(value: Value) -> Option<T> {
    Some(serde_json::from_value(value).unwrap())
}

/// A policy for all users and all applications that grants this under these further conditions.
pub fn policy(grant: &Value, further: &Value) -> Value {
    let mut policy = json!({
        "id": "p1", "displayName": "Policy", "state": "enabled", "createdDateTime": "2025-01-01T00:00:00Z", "modifiedDateTime": null,
        "conditions": {
            "users": {"includeUsers": ["All"], "excludeUsers": [], "includeGroups": [], "excludeGroups": [],
                "includeRoles": [], "excludeRoles": []},
            "applications": {"includeApplications": ["All"], "excludeApplications": [], "includeUserActions": []},
            "clientAppTypes": ["all"], "platforms": null, "locations": null,
            "signInRiskLevels": [], "userRiskLevels": [],
        },
        "grantControls": grant,
    });
    merge(&mut policy, further);
    policy
}

/// Puts fields of the second into the first, at their depth.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

pub fn mfa() -> Value {
    json!({"operator": "OR", "builtInControls": ["mfa"]})
}

pub fn block() -> Value {
    json!({"operator": "OR", "builtInControls": ["block"]})
}

pub fn strength(combinations: &[&str]) -> Value {
    let strength = json!({"allowedCombinations": combinations});
    json!({"operator": "OR", "builtInControls": [], "authenticationStrength": strength})
}

pub fn user(id: &str) -> Value {
    json!({
        "id": id, "userPrincipalName": format!("{id}@example.com"), "displayName": id, "userType": "Member", "accountEnabled": true,
        "createdDateTime": "2024-01-01T00:00:00Z", "assignedLicenses": [], "onPremisesSyncEnabled": null,
        "signInActivity": {"lastSuccessfulSignInDateTime": "2026-03-01T00:00:00Z"},
    })
}

/// A tenant of which everything was read, and in which every control is met as far as can be seen.
pub fn whole() -> Tenant {
    let resistant = ["fido2", "windowsHelloForBusiness"];
    let except = json!({"conditions": {"users": {"excludeUsers": ["glass1", "glass2"]}}});
    let with = |mut further: Value| {
        merge(&mut further, &except);
        further
    };
    let policies = json!([
        policy(&mfa(), &except),
        policy(
            &strength(&resistant),
            &with(json!({"id": "p2", "conditions": {"users": {"includeUsers": [],
            "includeRoles": [GLOBAL_ADMINISTRATOR, USER_ADMINISTRATOR]}}}))
        ),
        policy(
            &block(),
            &with(
                json!({"id": "p3", "conditions": {"clientAppTypes": ["exchangeActiveSync", "other"]}})
            )
        ),
        policy(&block(), &with(json!({"id": "p4", "conditions": {"userRiskLevels": ["high"]}}))),
        policy(&block(), &with(json!({"id": "p5", "conditions": {"signInRiskLevels": ["high"]}}))),
        policy(
            &block(),
            &with(json!({"id": "p6", "conditions": {"authenticationFlows":
            {"transferMethods": "deviceCodeFlow,authenticationTransfer"}}}))
        ),
    ]);
    let states = ["Sms", "Voice", "Email"].map(|it| json!({"id": it, "state": "disabled"}));
    Tenant {
        group_members: rows(json!({})),
        security_defaults: rows(json!({"isEnabled": false})),
        policies: rows(policies),
        authorization: rows(json!({"allowInvitesFrom": "adminsAndGuestInviters",
            "guestUserRoleId": "10dae51f-b6af-4016-8d66-8c2a99b929b3",
            "defaultUserRolePermissions": {"allowedToCreateApps": false, "permissionGrantPoliciesAssigned": []}})),
        methods: rows(
            json!({"policyMigrationState": "migrationComplete", "authenticationMethodConfigurations": states}),
        ),
        consent_requests: rows(json!({"isEnabled": true})),
        classifications: rows(json!([])),
        app_management: rows(json!({"isEnabled": false})),
        score: rows(
            json!({"createdDateTime": "2026-03-09T00:00:00Z", "currentScore": 387.0, "maxScore": 640, "controlScores": [
            {"controlName": "mdo_autoforwardingmode", "score": 1.0}, {"controlName": "mdo_safeattachments", "score": 8},
            {"controlName": "mdo_antiphishingpolicies", "score": 5}, {"controlName": "mdo_safelinksforemail", "score": 9}]}),
        ),
        score_profiles: rows(
            json!([{"id": "mdo_autoforwardingmode", "title": "Forwarding", "maxScore": 1},
            {"id": "mdo_safeattachments", "title": "Attachments", "maxScore": 8.00}, {"id": "mdo_antiphishingpolicies", "maxScore": 5},
            {"id": "mdo_safelinksforemail", "title": "Links", "maxScore": 9}]),
        ),
        service_principals: rows(json!([
            {"id": "graph", "appId": "00000003-0000-0000-c000-000000000000", "displayName": "Microsoft Graph",
                "appOwnerOrganizationId": "f8cdef31-a31e-4b4a-93e4-5f571e91255a", "appRoles": [{"id": "r1", "value": "User.Read.All"}]},
            {"id": "planner", "displayName": "Planner", "appOwnerOrganizationId": "other", "servicePrincipalType": "Application",
                "verifiedPublisher": {"displayName": "Planner Inc", "verifiedPublisherId": "1"}},
        ])),
        grants: rows(
            json!([{"clientId": "planner", "consentType": "AllPrincipals", "principalId": null, "scope": "openid User.Read"}]),
        ),
        app_roles: rows(json!([])),
        applications: rows(json!([{"id": "a1", "displayName": "Sync", "passwordCredentials": [
            {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2027-01-01T00:00:00Z"}], "keyCredentials": []}])),
        domains: rows(
            json!([{"id": "example.com", "isVerified": true, "isRoot": true, "authenticationType": "Managed",
            "passwordValidityPeriodInDays": 2_147_483_647}]),
        ),
        mailboxes: rows(json!([{"userPrincipalName": "ada@example.com", "recipientType": "User"}])),
        ..directory()
    }
}

/// Its users and the roles that they hold, and more.
fn directory() -> Tenant {
    let assignment =
        |principal: &str, role: &str| json!({"principalId": principal, "roleDefinitionId": role});
    Tenant {
        organization: rows(json!({"id": "own", "displayName": "Example"})),
        skus: rows(json!([{"skuId": "e5", "capabilityStatus": "Enabled", "servicePlans": [
            {"servicePlanId": P2, "servicePlanName": "AAD_PREMIUM_P2", "provisioningStatus": "Success"},
            {"servicePlanId": "x", "servicePlanName": "EXCHANGE_S_ENTERPRISE", "provisioningStatus": "Success"}]}])),
        users: rows(json!([user("ada"), user("bob"), user("glass1"), user("glass2")])),
        registrations: rows(json!([
            {"id": "ada", "isMfaRegistered": true, "methodsRegistered": ["fido2"]},
            {"id": "bob", "isMfaRegistered": true, "methodsRegistered": ["microsoftAuthenticatorPush"]},
        ])),
        role_definitions: rows(json!([
            {"id": GLOBAL_ADMINISTRATOR, "templateId": GLOBAL_ADMINISTRATOR, "displayName": "Global Administrator"},
            {"id": USER_ADMINISTRATOR, "templateId": USER_ADMINISTRATOR, "displayName": "User Administrator"},
        ])),
        role_assignments: rows(json!([
            assignment("glass1", GLOBAL_ADMINISTRATOR),
            assignment("glass2", GLOBAL_ADMINISTRATOR),
        ])),
        role_eligibilities: rows(json!([assignment("ada", USER_ADMINISTRATOR)])),
        role_schedules: rows(
            json!([{"principalId": "glass1", "roleDefinitionId": GLOBAL_ADMINISTRATOR,
            "assignmentType": "Assigned", "startDateTime": "2025-01-01T00:00:00Z", "endDateTime": null}]),
        ),
        role_policies: rows(json!([])),
        sharepoint: rows(json!({"sharingCapability": "externalUserSharingOnly"})),
        audits: rows(json!([{"activityDateTime": "2026-03-08T00:00:00.1234567Z"}])),
        ..Tenant::default()
    }
}

/// The tenant without what one source gave.
pub fn without(mut tenant: Tenant, source: Source) -> Tenant {
    match source {
        Source::Organization => tenant.organization = None,
        Source::Skus => tenant.skus = None,
        Source::Users => tenant.users = None,
        Source::Registrations => tenant.registrations = None,
        Source::RoleDefinitions => tenant.role_definitions = None,
        Source::RoleAssignments => tenant.role_assignments = None,
        Source::RoleEligibilities => tenant.role_eligibilities = None,
        Source::RoleSchedules => tenant.role_schedules = None,
        Source::RolePolicies => tenant.role_policies = None,
        Source::GroupMembers => tenant.group_members = None,
        Source::SecurityDefaults => tenant.security_defaults = None,
        Source::Policies => tenant.policies = None,
        Source::Authorization => tenant.authorization = None,
        Source::Methods => tenant.methods = None,
        Source::ConsentRequests => tenant.consent_requests = None,
        Source::Classifications => tenant.classifications = None,
        Source::AppManagement => tenant.app_management = None,
        Source::Score => tenant.score = None,
        Source::ScoreProfiles => tenant.score_profiles = None,
        Source::ServicePrincipals => tenant.service_principals = None,
        Source::Grants => tenant.grants = None,
        Source::AppRoles => tenant.app_roles = None,
        Source::Applications => tenant.applications = None,
        Source::Domains => tenant.domains = None,
        Source::Mailboxes => tenant.mailboxes = None,
        Source::ManagedDevices => tenant.managed_devices = None,
        Source::CompliancePolicies => tenant.compliance_policies = None,
        Source::SharePoint => tenant.sharepoint = None,
        Source::Audits => tenant.audits = None,
    }
    tenant
}

pub fn find(tenant: &Tenant, control: &str) -> Option<Judged> {
    let mut found = judge(tenant, at()).into_iter().filter(|it| it.control == control);
    let first = found.next();
    assert!(found.next().is_none(), "{control} is judged once");
    first
}

/// Asserts the verdict on a control, and that its findings hold these words.
pub fn check(tenant: &Tenant, control: &str, status: JudgedStatus, words: &str) {
    let judged = find(tenant, control).unwrap_or_else(|| panic!("{control}: no verdict: {words}"));
    assert_eq!(judged.status, status, "{control}: {}", judged.findings);
    assert!(judged.findings.contains(words), "{control}: {words}: {}", judged.findings);
}
