//! Microsoft 365, read from a server that breaks a collection at a time, and judged without any two of them.

use std::sync::Arc;
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::call::{Api, Endpoints};
use posture::connect::m365::rules::{RULES, judge};
use posture::connect::m365::{Source, Tenant, read};
use posture::connect::microsoft::{AppKey, Cloud, DIALECT, MicrosoftApp};
use posture::connect::reading::{Group, StreamState};
use posture::egress::Egress;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::{Fault, Law, World, body, drive, each, faults, groups};
use crate::connect::graph::{APP, Graph, SECRET, Told, registration, user};
use crate::connect::m365::tenant::{at, mfa, policy, rows, user as tenant_user, whole, without};
use crate::connect::vendor::{json as page, local, told};
use crate::harness::long::is_long;

const ORIGINS: [&str; 3] = [
    "https://login.microsoftonline.com",
    "https://graph.microsoft.com",
    "https://reports.office.com",
];
const GRAPH_APP: &str = "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')";
const ROLES: &str = "/roleManagement/directory";

/// What is asked for below `/v1.0`, without queries.
const PATHS: [&str; 29] = [
    "/organization",
    "/subscribedSkus",
    "/policies/identitySecurityDefaultsEnforcementPolicy",
    "/identity/conditionalAccess/policies",
    "/policies/authorizationPolicy",
    "/policies/authenticationMethodsPolicy",
    "/policies/adminConsentRequestPolicy",
    "/policies/defaultAppManagementPolicy",
    "/roleManagement/directory/roleDefinitions",
    "/roleManagement/directory/roleAssignments",
    "/roleManagement/directory/roleEligibilityScheduleInstances",
    "/roleManagement/directory/roleAssignmentScheduleInstances",
    "/policies/roleManagementPolicyAssignments",
    "/domains",
    "/security/secureScores",
    "/security/secureScoreControlProfiles",
    "/servicePrincipals",
    "/oauth2PermissionGrants",
    "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')/delegatedPermissionClassifications",
    "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')/appRoleAssignedTo",
    "/applications",
    "/deviceManagement/managedDevices",
    "/deviceManagement/deviceCompliancePolicies",
    "/admin/sharepoint/settings",
    "/auditLogs/directoryAudits",
    "/users",
    "/reports/authenticationMethods/userRegistrationDetails",
    "/groups/g1/transitiveMembers",
    "/reports/getMailboxUsageDetail(period='D30')",
];

fn list(graph: &Graph, path: &str, rows: Value) {
    graph.answers.set(path, Told::List(serde_json::from_value(rows).unwrap()));
}

fn object(graph: &Graph, path: &str, it: Value) {
    graph.answers.set(path, Told::Object(it));
}

/// With Entra ID P2 and a group that holds a role, which the tenant of other tests has not.
fn licensed(graph: &Graph) {
    let plan = |id: &str, name: &str| json!({"servicePlanId": id, "servicePlanName": name, "provisioningStatus": "Success"});
    let plans = [
        plan("eec0eb4f-6444-4f95-aba0-50c24d67f998", "AAD_PREMIUM_P2"),
        plan("x", "EXCHANGE_S_ENTERPRISE"),
    ];
    let sku = json!({"skuId": "s", "capabilityStatus": "Enabled", "servicePlans": plans});
    list(graph, "/subscribedSkus", json!([sku]));
    let holds = |id: &str, kind: &str| {
        json!({
            "id": format!("a-{id}"), "principalId": id,
            "roleDefinitionId": "62e90394-69f5-4237-9190-012177145e10", "directoryScopeId": "/",
            "principal": {"@odata.type": format!("#microsoft.graph.{kind}"), "displayName": id},
        })
    };
    list(
        graph,
        &format!("{ROLES}/roleAssignments"),
        json!([holds("u1", "user"), holds("g1", "group")]),
    );
    list(graph, &format!("{ROLES}/roleEligibilityScheduleInstances"), json!([]));
    list(graph, &format!("{ROLES}/roleAssignmentScheduleInstances"), json!([]));
    list(graph, "/policies/roleManagementPolicyAssignments", json!([]));
    list(graph, "/groups/g1/transitiveMembers", json!([{"id": "u2"}]));
}

/// Nothing is as it should be.
fn weaken(graph: &Graph) {
    licensed(graph);
    let holds = |id: String| {
        json!({"principalId": id, "roleDefinitionId": "62e90394-69f5-4237-9190-012177145e10",
        "assignmentType": "Assigned", "startDateTime": "2025-01-01T00:00:00Z", "endDateTime": null,
        "principal": {"@odata.type": "#microsoft.graph.user"}})
    };
    let all = (1..=6).map(|nth| holds(format!("u{nth}"))).collect::<Value>();
    list(graph, &format!("{ROLES}/roleAssignmentScheduleInstances"), all.clone());
    list(graph, &format!("{ROLES}/roleEligibilityScheduleInstances"), all);
    object(
        graph,
        "/policies/identitySecurityDefaultsEnforcementPolicy",
        json!({"isEnabled": false}),
    );
    let reports = json!({"id": "p", "state": "enabledForReportingButNotEnforced"});
    list(graph, "/identity/conditionalAccess/policies", json!([policy(&mfa(), &reports)]));
    object(
        graph,
        "/policies/authorizationPolicy",
        json!({
            "allowInvitesFrom": "everyone", "guestUserRoleId": "a0b1b346-4d3e-4e8b-98f8-753987be4970",
            "defaultUserRolePermissions": {
                "allowedToCreateApps": true,
                "permissionGrantPoliciesAssigned": ["ManagePermissionGrantsForSelf.microsoft-user-default-legacy"],
            },
        }),
    );
    object(
        graph,
        "/policies/authenticationMethodsPolicy",
        json!({
            "policyMigrationState": "migrationComplete",
            "authenticationMethodConfigurations": [{"id": "Sms", "state": "enabled"}, {"id": "Voice", "state": "enabled"}],
        }),
    );
    object(graph, "/policies/adminConsentRequestPolicy", json!({"isEnabled": false}));
    weaken_people(graph);
    weaken_services(graph);
}

fn weaken_people(graph: &Graph) {
    let people = (1..=6).map(|nth| {
        let mut it = user(&format!("u{nth}"), &format!("user{nth}"));
        it["onPremisesSyncEnabled"] = true.into();
        it["assignedLicenses"] = json!([{"skuId": "s"}]);
        it["signInActivity"]["lastSuccessfulSignInDateTime"] = "2024-01-01T00:00:00Z".into();
        it["userType"] = if nth == 6 { "Guest" } else { "Member" }.into();
        it
    });
    let mut people: Vec<Value> = people.collect();
    people.push(user("u7", "info"));
    list(graph, "/users", people.into());
    let registered = (1..=7).map(|nth| {
        let mut it = registration(&format!("u{nth}"), false);
        it["methodsRegistered"] = json!(["mobilePhone"]);
        it
    });
    list(graph, "/reports/authenticationMethods/userRegistrationDetails", registered.collect());
    list(
        graph,
        "/domains",
        json!([{"id": "acme.example", "isVerified": true, "isRoot": true, "authenticationType": "Managed",
            "passwordValidityPeriodInDays": 30}]),
    );
    let csv = "Report Refresh Date,User Principal Name,Display Name,Is Deleted,Recipient Type\r\n\
               2026-11-20,info@acme.example,Info,False,Shared\r\n";
    graph.answers.set("/file", Told::Raw(200, Vec::new(), csv.to_owned()));
}

fn weaken_services(graph: &Graph) {
    let names = [
        "mdo_autoforwardingmode",
        "mdo_safeattachments",
        "mdo_antiphishingpolicies",
        "mdo_safelinksforemail",
    ];
    let scores = names.map(|it| json!({"controlName": it, "score": 0}));
    let now = jiff::Timestamp::now().to_string();
    list(
        graph,
        "/security/secureScores",
        json!([{"createdDateTime": now, "currentScore": 10.0, "maxScore": 100.0, "controlScores": scores}]),
    );
    let profiles = names.map(|it| json!({"id": it, "title": it, "maxScore": 5}));
    list(graph, "/security/secureScoreControlProfiles", json!(profiles));
    let service = json!({
        "id": "sp1", "appId": "00000003-0000-0000-c000-000000000000", "displayName": "Microsoft Graph",
        "appOwnerOrganizationId": "f8cdef31-a31e-4b4a-93e4-5f571e91255a", "accountEnabled": true,
        "servicePrincipalType": "Application", "appRoles": [{"id": "r1", "value": "Mail.ReadWrite"}],
    });
    let other = |id: &str| {
        json!({
            "id": id, "appId": id, "displayName": id, "appOwnerOrganizationId": "elsewhere", "accountEnabled": true,
            "servicePrincipalType": "Application", "verifiedPublisher": {}, "appRoles": [],
        })
    };
    list(graph, "/servicePrincipals", json!([service, other("sp2"), other("harmless")]));
    let grant = |id: &str, scope: &str| json!({"clientId": id, "consentType": "AllPrincipals", "principalId": null, "scope": scope});
    list(
        graph,
        "/oauth2PermissionGrants",
        json!([grant("sp2", "Mail.ReadWrite"), grant("harmless", "openid")]),
    );
    let role = json!({"principalId": "sp2", "resourceId": "sp1", "appRoleId": "r1"});
    list(graph, &format!("{GRAPH_APP}/appRoleAssignedTo"), json!([role]));
    let old =
        json!({"startDateTime": "2020-01-01T00:00:00Z", "endDateTime": "2021-01-01T00:00:00Z"});
    list(
        graph,
        "/applications",
        json!([{"id": "a1", "displayName": "Sync", "passwordCredentials": [old], "keyCredentials": []}]),
    );
    list(
        graph,
        "/deviceManagement/managedDevices",
        json!([
            {"id": "d1", "deviceName": "PC-1", "operatingSystem": "Windows", "osVersion": "10.0.10240.1",
                "complianceState": "noncompliant", "isEncrypted": false, "jailBroken": "Unknown", "lastSyncDateTime": now},
            {"id": "d2", "deviceName": "phone", "operatingSystem": "iOS", "osVersion": "26.1",
                "complianceState": "noncompliant", "isEncrypted": true, "jailBroken": "True", "lastSyncDateTime": now},
            {"id": "d3", "deviceName": "lost", "operatingSystem": "iOS", "osVersion": "26.1",
                "complianceState": "noncompliant", "isEncrypted": true, "jailBroken": "False",
                "lastSyncDateTime": "2024-01-01T00:00:00Z"},
        ]),
    );
    object(
        graph,
        "/admin/sharepoint/settings",
        json!({"sharingCapability": "externalUserAndGuestSharing"}),
    );
}

/// A name, and how it differs from the tenant of other tests.
type Change = (&'static str, fn(&Graph));

const WORLDS: [Change; 3] = [
    ("everything is wrong", weaken),
    ("policies lock everyone out", |graph| {
        licensed(graph);
        object(
            graph,
            "/policies/identitySecurityDefaultsEnforcementPolicy",
            json!({"isEnabled": false}),
        );
        list(graph, "/identity/conditionalAccess/policies", json!([policy(&mfa(), &json!({}))]));
    }),
    ("in good order", licensed),
];

fn read_from(graph: &Graph) -> Vec<Group> {
    let at = format!("http://{}", graph.sink.address);
    let endpoints = Endpoints(ORIGINS.map(|it| (it.to_owned(), at.clone())).into());
    let egress = Egress::new(local(), Duration::from_secs(20), 8).unwrap();
    let app = MicrosoftApp {
        app_id: APP.to_owned(),
        tenant: "msp.example".to_owned(),
        cloud: Cloud::Global,
        certificate_pem: None,
        fingerprint: None,
    };
    let key = Arc::new(AppKey::Secret(SECRET.to_owned()));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let reading = runtime.block_on(async {
        let deadline = Instant::now() + Duration::from_mins(2);
        let (egress, endpoints) = (Arc::new(egress), Arc::new(endpoints));
        let api = Api::new(egress, endpoints, &DIALECT, Clock::System, deadline);
        read(&api, &app, &key, "acme.example").await
    });
    groups(reading)
}

fn read_world(change: fn(&Graph), fault: Option<(&'static str, Fault)>) -> Vec<Group> {
    let graph = Graph::start_with(100);
    change(&graph);
    let Some((path, fault)) = fault else { return read_from(&graph) };
    graph.sink.put_before(move |request, server| {
        let (target, query) = request
            .line
            .split_once(' ')
            .unwrap()
            .1
            .split_once('?')
            .unwrap_or_else(|| (request.line.split_once(' ').unwrap().1, ""));
        if target.strip_prefix("/v1.0") != Some(path) {
            return server(request);
        }
        let refused = |status, code: &str| {
            told(status, &[], &json!({"error": {"code": code, "message": "x"}}).to_string())
        };
        match fault {
            Fault::Denied => refused(403, "Authorization_RequestDenied"),
            Fault::Failing => refused(501, "notImplemented"),
            Fault::Cut if query.contains("cut") => refused(400, "badRequest"),
            Fault::Cut => {
                let whole = server(request);
                let Ok(mut first) = serde_json::from_slice::<Value>(body(&whole)) else {
                    return refused(400, "badRequest");
                };
                let is_list = first["value"].is_array();
                if is_list {
                    first["@odata.nextLink"] =
                        format!("https://graph.microsoft.com{target}?$skiptoken=cut").into();
                    return page(&first);
                }
                let half = first.to_string();
                told(200, &[("Content-Type", "application/json")], &half[..half.len() / 2])
            }
        }
    });
    read_from(&graph)
}

/// What the rules decide, and what follows from accounts and devices.
const OF_LISTS: [&str; 9] =
    ["ID-02", "ID-03", "ID-10", "ID-11", "END-02", "END-03", "END-04", "END-09", "END-11"];

#[test]
fn a_collection_less_shows_no_more() {
    let mut faults = faults(&PATHS, |it| (*it).to_owned());
    if !is_long() {
        // All faults leave the same of a collection but its state.
        let mut nth = 0;
        faults.retain(|_| {
            nth += 1;
            (nth - 1) / 3 % 3 == (nth - 1) % 3
        });
    }
    let law = drive("Microsoft 365", &WORLDS, &faults, |change, fault| {
        read_world(*change, fault.copied())
    });
    law.end(decided().chain(OF_LISTS));
}

/// The controls of its rules. Of LOG-01 it sees one facet, which never fails.
fn decided() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|it| it.control).filter(|it| *it != "LOG-01")
}

/// What is judged without a server, in one part.
fn parts(tenant: &Tenant) -> Vec<Group> {
    let observations = judge(tenant, at());
    vec![Group { scope: "all".to_owned(), observations, ..Group::default() }]
}

fn weak() -> Tenant {
    let reports = json!({"id": "p", "state": "enabledForReportingButNotEnforced"});
    Tenant {
        policies: rows(json!([policy(&mfa(), &reports)])),
        methods: rows(json!({"policyMigrationState": "migrationComplete",
            "authenticationMethodConfigurations": [{"id": "Sms", "state": "enabled"}]})),
        authorization: rows(
            json!({"allowInvitesFrom": "everyone", "guestUserRoleId": "a0b1b346-4d3e-4e8b-98f8-753987be4970",
            "defaultUserRolePermissions": {"allowedToCreateApps": true,
                "permissionGrantPoliciesAssigned": ["ManagePermissionGrantsForSelf.microsoft-user-default-legacy"]}}),
        ),
        consent_requests: rows(json!({"isEnabled": false})),
        sharepoint: rows(json!({"sharingCapability": "externalUserAndGuestSharing"})),
        users: rows(json!([
            user_of("ada", "Member"),
            user_of("bob", "Member"),
            user_of("guest", "Guest"),
        ])),
        mailboxes: rows(
            json!([{"userPrincipalName": "ada@example.com", "recipientType": "Shared"}]),
        ),
        domains: rows(
            json!([{"id": "example.com", "isVerified": true, "isRoot": true, "authenticationType": "Managed",
            "passwordValidityPeriodInDays": 30}]),
        ),
        applications: rows(
            json!([{"id": "a1", "displayName": "Sync", "keyCredentials": [], "passwordCredentials": [
            {"startDateTime": "2020-01-01T00:00:00Z", "endDateTime": "2021-01-01T00:00:00Z"}]}]),
        ),
        grants: rows(
            json!([{"clientId": "planner", "consentType": "AllPrincipals", "principalId": null, "scope": "Mail.ReadWrite"},
            {"clientId": "harmless", "consentType": "AllPrincipals", "principalId": null, "scope": "openid"}]),
        ),
        service_principals: rows(
            json!([{"id": "planner", "displayName": "Planner", "appOwnerOrganizationId": "other", "verifiedPublisher": {},
            "servicePrincipalType": "Application"},
            {"id": "harmless", "displayName": "Harmless", "appOwnerOrganizationId": "other", "verifiedPublisher": {},
            "servicePrincipalType": "Application"}]),
        ),
        score: rows(
            json!({"createdDateTime": "2026-03-09T00:00:00Z", "currentScore": 1.0, "maxScore": 640, "controlScores": [
            {"controlName": "mdo_autoforwardingmode", "score": 0}, {"controlName": "mdo_safeattachments", "score": 0}]}),
        ),
        role_assignments: rows(json!([
            {"principalId": "bob", "roleDefinitionId": "62e90394-69f5-4237-9190-012177145e10"}])),
        ..whole()
    }
}

/// One that has not been seen for long.
fn user_of(id: &str, kind: &str) -> Value {
    let mut it = tenant_user(id);
    it["userType"] = kind.into();
    it["onPremisesSyncEnabled"] = true.into();
    it["signInActivity"]["lastSuccessfulSignInDateTime"] = "2024-01-01T00:00:00Z".into();
    it
}

/// No app of others has access.
fn alone() -> Tenant {
    Tenant { grants: rows(json!([])), ..whole() }
}

/// Policies leave out nobody.
fn locked() -> Tenant {
    Tenant { policies: rows(json!([policy(&mfa(), &json!({}))])), ..whole() }
}

#[test]
fn no_two_collections_less_show_more() {
    let mut law = Law::of("M365, every pair");
    for (name, tenant) in [
        ("much is wrong", weak()),
        ("policies lock everyone out", locked()),
        ("in good order", whole()),
        ("without apps of others", alone()),
    ] {
        let mut all = parts(&tenant);
        all[0].streams = Source::ALL
            .iter()
            .map(|it| posture::connect::reading::Stream {
                name: it.as_str().to_owned(),
                state: StreamState::Complete,
                reason: String::new(),
                n_rows: 0,
            })
            .collect();
        law.add(World::new(name, all, at()));
        let pairs: Vec<(Source, Source)> = Source::ALL
            .iter()
            .enumerate()
            .flat_map(|(nth, first)| Source::ALL[nth..].iter().map(|second| (*first, *second)))
            .collect();
        let found = each(&pairs, |(first, second)| {
            parts(&without(without(tenant.clone(), *first), *second))
        });
        for ((first, second), groups) in pairs.iter().zip(found) {
            law.hold_first(&format!("without {} and {}", first.as_str(), second.as_str()), &groups);
        }
    }
    law.end(decided());
}
