//! The rules on applications: APP-02, APP-03, APP-04, ID-19, and the list of those in use.

use posture::connect::m365::Tenant;
use posture::connect::m365::rules::apps;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use serde_json::{Value, json};

use super::tenant::{check, find, merge, rows, whole};

const MICROSOFT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

fn app(id: &str, further: &Value) -> Value {
    let mut app = json!({"id": id, "displayName": id, "appOwnerOrganizationId": "other", "servicePrincipalType": "Application",
        "verifiedPublisher": {"displayName": null, "verifiedPublisherId": null}});
    merge(&mut app, further);
    app
}

fn grant(app: &str, principal: Option<&str>, scope: &str) -> Value {
    let kind = if principal.is_some() { "Principal" } else { "AllPrincipals" };
    json!({"clientId": app, "consentType": kind, "principalId": principal, "scope": scope})
}

fn with(apps: &[Value], grants: &[Value]) -> Tenant {
    let mut all = vec![json!({"id": "graph", "appId": "00000003-0000-0000-c000-000000000000",
        "appOwnerOrganizationId": MICROSOFT, "appRoles": [{"id": "r1", "value": "User.ReadWrite.All"}, {"id": "r2",
        "value": "Calendars.Read"}]})];
    all.extend_from_slice(apps);
    Tenant { service_principals: rows(json!(all)), grants: rows(json!(grants)), ..whole() }
}

#[test]
fn applications_of_others_that_have_access_are_listed() {
    let all = [
        app(
            "planner",
            &json!({"verifiedPublisher": {"displayName": "Planner Inc", "verifiedPublisherId": "1"}}),
        ),
        app("own", &json!({"appOwnerOrganizationId": "own"})),
        app("teams", &json!({"appOwnerOrganizationId": MICROSOFT})),
        app(
            "identity",
            &json!({"appOwnerOrganizationId": null, "servicePrincipalType": "ManagedIdentity"}),
        ),
        app("idle", &json!({})),
        app("notes", &json!({})),
    ];
    let mut grants =
        vec![grant("planner", Some("ada"), "openid"), grant("planner", Some("bob"), "openid")];
    grants.push(grant("planner", Some("ada"), "User.Read"));
    grants.push(grant("notes", None, "User.Read"));
    grants.extend(["own", "teams", "identity"].map(|it| grant(it, Some("ada"), "openid")));
    let tenant = with(&all, &grants);
    let found = apps(&tenant).unwrap();
    let found: Vec<_> =
        found.iter().map(|it| (it.name.as_str(), it.publisher.as_deref(), it.n_users)).collect();
    assert_eq!(
        found,
        [("planner", Some("Planner Inc"), 2), ("notes", None, 4)],
        "for the tenant: all its accounts"
    );
    for missing in [
        Tenant { organization: None, ..tenant.clone() },
        Tenant { users: None, ..tenant.clone() },
        Tenant { grants: None, ..tenant.clone() },
        Tenant { app_roles: None, ..tenant.clone() },
        Tenant { service_principals: None, ..tenant.clone() },
    ] {
        assert_eq!(apps(&missing), None);
    }
    assert_eq!(find(&tenant, "APP-03"), None, "whether they are approved is not known");
    check(
        &with(&all[1..5], &grants[4..]),
        "APP-03",
        Compliant,
        "No application of another organization",
    );
}

#[test]
fn permissions_for_the_whole_tenant_go_to_verified_publishers() {
    let verified = app(
        "planner",
        &json!({"verifiedPublisher": {"displayName": "Planner Inc", "verifiedPublisherId": "1"}}),
    );
    let unverified = app("notes", &json!({}));
    let grants = [grant("planner", None, "openid"), grant("notes", Some("ada"), "openid")];
    check(&with(&[verified.clone(), unverified.clone()], &grants), "APP-04", Compliant, "All 1");
    let wide = [grant("planner", None, "openid"), grant("notes", None, "openid")];
    let tenant = with(&[verified.clone(), unverified.clone()], &wide);
    check(&tenant, "APP-04", NonCompliant, "notes");
    let count = find(&tenant, "APP-04").unwrap().count.unwrap();
    assert_eq!((count.n_passed, count.failing), (1, vec!["notes".to_owned()]));
    let mut role = with(std::slice::from_ref(&unverified), &[]);
    role.app_roles = rows(json!([{"principalId": "notes", "appRoleId": "r2"}]));
    check(&role, "APP-04", NonCompliant, "notes");
    let null = app("notes", &json!({"verifiedPublisher": null}));
    check(&with(&[null], &wide), "APP-04", NonCompliant, "notes");
    let unread = app("notes", &json!({"verifiedPublisher": "?"}));
    check(&with(&[verified, unread], &wide), "APP-04", Partial, "Unknown for 1 more");
    check(&with(&[unverified], &[]), "APP-04", Compliant, "No application of another organization");
    let unsaid = json!({"clientId": "notes", "scope": "openid"});
    check(&with(&[app("notes", &json!({}))], &[unsaid]), "APP-04", NonCompliant, "notes");
}

#[test]
fn high_risk_permissions_are_named() {
    let of = |scope: &str| {
        with(
            &[app("planner", &json!({})), app("notes", &json!({}))],
            &[grant("planner", Some("ada"), scope), grant("notes", Some("ada"), "openid")],
        )
    };
    for scope in ["openid profile User.Read", "Calendars.ReadWrite", "Mail.ReadBasic", "Files.Read"]
    {
        check(&of(scope), "APP-02", Compliant, "No application but Microsoft's own");
    }
    for scope in [
        "openid Mail.Read",
        "Mail.Send",
        "Files.Read.All",
        "Sites.FullControl.All",
        "Directory.Read.All",
        "Directory.AccessAsUser.All",
        "RoleManagement.ReadWrite.Directory",
        "Application.ReadWrite.All",
        "EWS.AccessAsUser.All",
        "full_access_as_app",
        "IMAP.AccessAsUser.All",
    ] {
        check(&of(scope), "APP-02", Partial, "planner (");
    }
    let role = |id: &str| {
        let assigned = json!([{"principalId": "planner", "appRoleId": id}]);
        Tenant { app_roles: rows(assigned), ..of("openid") }
    };
    check(&role("r1"), "APP-02", Partial, "planner (User.ReadWrite.All)");
    check(&role("r2"), "APP-02", Compliant, "");
    check(&role("r9"), "APP-02", Partial, "planner (unknown)");
    let most = [
        grant("planner", None, "Mail.Read"),
        grant("other", None, "Mail.Read"),
        grant("notes", None, "openid"),
    ];
    let most = with(
        &[app("planner", &json!({})), app("other", &json!({})), app("notes", &json!({}))],
        &most,
    );
    assert_eq!(find(&most, "APP-02"), None, "of most nothing is known");
}

#[test]
fn credentials_of_applications_are_current() {
    let with = |start: Value, end: Value| {
        let key = json!({"startDateTime": start, "endDateTime": end});
        let apps =
            json!([{"id": "a1", "displayName": "Sync", "keyCredentials": [key]}, {"id": "a2"}]);
        Tenant { applications: rows(apps), ..whole() }
    };
    let start = json!("2026-01-01T00:00:00Z");
    check(&with(start.clone(), json!("2027-01-01T00:00:00Z")), "ID-19", Compliant, "All 1");
    check(&with(start.clone(), json!("2026-03-10T08:59:59Z")), "ID-19", NonCompliant, "Sync");
    check(
        &with(start.clone(), json!("2027-01-03T00:00:00Z")),
        "ID-19",
        NonCompliant,
        "longer than a year",
    );
    check(&with(Value::Null, json!("2026-03-01T00:00:00Z")), "ID-19", NonCompliant, "Sync");
    assert_eq!(find(&with(start, Value::Null), "ID-19"), None);
    assert_eq!(find(&with(Value::Null, json!("2027-01-01T00:00:00Z")), "ID-19"), None);
    let none =
        Tenant { applications: rows(json!([{"id": "a2", "passwordCredentials": []}])), ..whole() };
    check(&none, "ID-19", NotApplicable, "No application of the directory");
}
