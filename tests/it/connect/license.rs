//! Tenants of Microsoft 365 with more and with fewer licenses.

use serde_json::{Value, json};

use super::graph::{Graph, Told, user};
use super::tenant::{add, init, n_events, ran, read_once, shown, status, stream};

const REPORT: &str = "/reports/authenticationMethods/userRegistrationDetails";

fn no_license(graph: &Graph, path: &str) {
    let code = "Authentication_RequestFromNonPremiumTenantOrB2CTenant";
    let said = "Neither tenant is B2C or tenant doesn't have premium license";
    graph.answers.fail(path, 403, code, said);
}

#[test]
fn a_tenant_without_p1_is_healthy_and_says_less() {
    let graph = Graph::start();
    for path in [REPORT, "/auditLogs/directoryAudits", "/users"] {
        no_license(&graph, path);
    }
    let methods = "/users/u1/authentication/methods";
    graph.answers.fail(methods, 403, "Authorization_RequestDenied", "Insufficient privileges.");
    let folder = graph.folder();
    let _server = folder.serve();
    let client = folder.client("Acme");
    init(&folder);
    let id = add(&folder);
    let now = ran(&folder, &id, &Value::Null);
    // This stand-in refuses users whatever is selected.
    assert_eq!(stream(&now, "users").0, "unlicensed");
    let without = "$select=id,userPrincipalName,displayName,userType,accountEnabled,createdDateTime,assignedLicenses,onPremisesSyncEnabled,isResourceAccount,employeeHireDate&$top=100";
    let asked = graph.asked();
    assert!(asked.iter().any(|it| it.ends_with(without)), "{asked:?}");
    let mut user = user("u1", "ada");
    user.as_object_mut().unwrap().remove("signInActivity");
    graph.answers.set("/users", Told::List(vec![user]));
    folder.ok(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    assert_eq!(now["health"], "healthy", "{now}");
    let (state, reason) = stream(&now, "userRegistrationDetails");
    assert_eq!(state, "unlicensed");
    assert_eq!(
        reason,
        "the client has no license for this: it needs Microsoft Entra ID P1; without it, grant the app \
         UserAuthenticationMethod.Read.All and consent again"
    );
    for code in ["ID-02", "ID-11", "LOG-01"] {
        assert_eq!(status(&folder, &client, code), "not_assessed", "{code}");
    }
    assert_eq!(status(&folder, &client, "ID-01"), "compliant");
}

fn methods(types: &[&str]) -> Told {
    let method =
        |it: &&str| json!({"@odata.type": format!("#microsoft.graph.{it}AuthenticationMethod")});
    Told::List(types.iter().map(method).collect())
}

#[test]
fn without_p1_each_person_is_asked_for_what_they_registered() {
    let graph = Graph::start();
    no_license(&graph, REPORT);
    let of = |id: &str, types: &[&str]| {
        graph.answers.set(&format!("/users/{id}/authentication/methods"), methods(types));
    };
    of("u1", &["password", "fido2"]);
    of("u2", &["password", "microsoftAuthenticator", "windowsHelloForBusiness"]);
    of("u3", &["password", "newKind"]); // It may be a second factor.
    let (folder, _server, client, id) = read_once(&graph);
    assert_eq!(stream(&shown(&folder, &id), "userRegistrationDetails").0, "complete");
    // Both administrators can pass a phishing-resistant demand that nobody makes yet.
    for (code, expected) in [("ID-02", "partial"), ("ID-03", "compliant"), ("ID-04", "partial")] {
        assert_eq!(status(&folder, &client, code), expected, "{code}");
    }
    for (types, expected) in [
        (&["password", "phone"][..], "compliant"),
        (&["password", "email", "temporaryAccessPass", "qrCodePin"], "partial"),
        (&["password", "newKind", "phone"], "compliant"),
        (&[], "partial"),
    ] {
        of("u3", types);
        folder.ok(&["connect", "sync", &id]);
        assert_eq!(status(&folder, &client, "ID-02"), expected, "{types:?}");
    }
    assert_eq!(n_events(&folder, "mfa_disabled"), 2);

    // Guests and those who cannot sign in are not asked for, and who is gone meanwhile is not known.
    let (mut guest, mut disabled) = (user("u4", "guest"), user("u5", "former"));
    guest["userType"] = "Guest".into();
    disabled["accountEnabled"] = false.into();
    let people = ["u1", "u2", "u3"].map(|it| user(it, it)).into_iter().chain([guest, disabled]);
    graph.answers.set("/users", Told::List(people.collect()));
    graph.answers.fail("/users/u3/authentication/methods", 404, "ResourceNotFound", "gone");
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(status(&folder, &client, "ID-02"), "partial");
    let asked = graph.asked();
    assert!(!asked.iter().any(|it| it.contains("/users/u4") || it.contains("/users/u5")));

    // What breaks keeps what was known.
    graph.answers.fail("/users/u2/authentication/methods", 500, "UnknownError", "oops");
    of("u3", &["password", "phone"]);
    folder.run(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    assert_eq!(
        (&now["health"], stream(&now, "userRegistrationDetails").0.as_str()),
        (&"degraded".into(), "failed")
    );
    assert_eq!(status(&folder, &client, "ID-02"), "partial");

    let many = (0..501).map(|it| user(&format!("m{it}"), "x")).collect();
    graph.answers.set("/users", Told::List(many));
    folder.ok(&["connect", "sync", &id]);
    let (state, reason) = stream(&shown(&folder, &id), "userRegistrationDetails");
    assert!(
        state == "unlicensed"
            && reason.ends_with("and 501 people are too many to ask for one by one"),
        "{reason}"
    );
}

#[test]
fn members_of_groups_that_hold_or_may_activate_roles_are_administrators() {
    let graph = Graph::start();
    no_license(&graph, "/identity/conditionalAccess/policies");
    let global = "62e90394-69f5-4237-9190-012177145e10";
    let holds = |id: &str| {
        json!({
            "principalId": id, "roleDefinitionId": global, "directoryScopeId": "/",
            "principal": {"@odata.type": "#microsoft.graph.group", "displayName": id},
        })
    };
    let members = |ids: &[&str]| Told::List(ids.iter().map(|it| json!({"id": it})).collect());
    graph.answers.set("/roleManagement/directory/roleAssignments", Told::List(vec![holds("g1")]));
    graph.answers.set("/groups/g1/transitiveMembers", members(&["u1", "u2"]));
    let (folder, _server, client, id) = read_once(&graph);
    assert_eq!(stream(&shown(&folder, &id), "conditionalAccessPolicies").0, "unlicensed");
    assert_eq!(stream(&shown(&folder, &id), "transitiveMembers").0, "complete");
    assert_eq!(status(&folder, &client, "ID-07"), "compliant");

    // A fifth member is one administrator too many, and may only activate the role.
    let plan = json!({"servicePlanName": "AAD_PREMIUM_P2", "provisioningStatus": "Success"});
    let sku = json!({"skuId": "s", "capabilityStatus": "Enabled", "servicePlans": [plan]});
    graph.answers.set("/subscribedSkus", Told::List(vec![sku]));
    let eligible = "/roleManagement/directory/roleEligibilityScheduleInstances";
    graph.answers.set(eligible, Told::List(vec![holds("g2")]));
    let people = ["u1", "u2", "u3", "u4", "u5"];
    graph.answers.set("/users", Told::List(people.map(|it| user(it, it)).to_vec()));
    graph.answers.set("/groups/g2/transitiveMembers", members(&["u3", "u4", "u5"]));
    folder.run(&["connect", "sync", &id]);
    assert_eq!(status(&folder, &client, "ID-07"), "non_compliant");
}
