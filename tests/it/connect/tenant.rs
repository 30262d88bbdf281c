//! Microsoft 365 through the front door: one app, consents, and what each fault leaves.

use std::time::Duration;

use serde_json::{Value, json};

use super::graph::{APP, Graph, SECRET, TENANT, Told, compliance_policy, registration};
use crate::harness::process::{Folder, wait_until};

const WAIT: Duration = Duration::from_mins(1);

pub fn init(folder: &Folder) {
    folder.ok(&[
        "connect",
        "m365",
        "init",
        "--app-id",
        APP,
        "--tenant",
        "msp.example",
        "--secret-file",
        "secret",
        "--secret-expires-at",
        "2027-06-01T00:00:00Z",
    ]);
}

pub fn add(folder: &Folder) -> String {
    let out = folder.ok(&[
        "connect",
        "add",
        "--no-wait",
        "m365",
        "--client",
        "Acme",
        "--set",
        "tenant=acme.example",
    ]);
    out.lines().next().unwrap().to_owned()
}

pub fn shown(folder: &Folder, id: &str) -> Value {
    folder.ask(&format!("/api/connections/{id}"))["data"].clone()
}

pub fn controls(folder: &Folder, client: &str) -> Vec<(String, String)> {
    let posture = folder.ask(&format!("/api/clients/{client}/posture"));
    let all = posture["data"]["controls"].as_array().unwrap().iter();
    all.map(|it| {
        let text = |name: &str| it[name].as_str().unwrap().to_owned();
        (text("controlCode"), text("status"))
    })
    .collect()
}

pub fn status(folder: &Folder, client: &str, code: &str) -> String {
    let all = controls(folder, client);
    all.into_iter().find(|it| it.0 == code).unwrap().1
}

/// The client's cloud accounts that are known are all.
pub fn say_all(folder: &Folder, client: &str) {
    let said = ["estate", "all", client, "cloud-accounts", "--note", "counted", "--by", "Ada"];
    folder.ok(&said);
}

pub fn streams(shown: &Value) -> Vec<(String, String, String)> {
    let parts = shown["parts"].as_array().unwrap().iter();
    let all = parts.flat_map(|it| it["streams"].as_array().unwrap());
    all.map(|it| {
        let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("state"), text("reason"))
    })
    .collect()
}

pub fn stream(shown: &Value, name: &str) -> (String, String) {
    let (_, state, reason) =
        streams(shown).into_iter().find(|it| it.0 == name).unwrap_or_else(|| panic!("{shown}"));
    (state, reason)
}

pub fn ran(folder: &Folder, id: &str, before: &Value) -> Value {
    let mut last = Value::Null;
    let came = wait_until(WAIT, || {
        last = shown(folder, id);
        last["lastRunAt"] != *before
    });
    assert!(came, "{last}");
    last
}

/// How many assets the client has, and how many of them are gone.
pub fn assets(folder: &Folder, client: &str) -> (usize, usize) {
    let all = folder.ask(&format!("/api/v1/clients/{client}/assets?limit=100"));
    let all = all["data"].as_array().unwrap();
    (all.len(), all.iter().filter(|it| it["status"] != "active").count())
}

pub fn n_events(folder: &Folder, kind: &str) -> usize {
    let events = folder.ask(&format!("/api/events?type={kind}&limit=100"));
    events["data"].as_array().unwrap().len()
}

/// Controls and their statuses, as a test of a connection says them.
fn foreseen(folder: &Folder, id: &str) -> Vec<(String, String)> {
    let tested = folder.json(&["connect", "test", id])["data"].clone();
    let parts = tested["parts"].as_array().unwrap().iter();
    let all = parts.flat_map(|it| it["controls"].as_array().unwrap());
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    all.map(|it| (text(it, "controlCode"), text(it, "status"))).collect()
}

/// What the authority says of a secret whose end has passed.
fn expired() -> Told {
    let refusal = json!({
        "error": "invalid_client", "error_codes": [7_000_222],
        "error_description": "AADSTS7000222: The provided client secret keys are expired.",
    });
    Told::Raw(401, Vec::new(), refusal.to_string())
}

/// A client whose tenant was read once, in good order.
pub fn read_once(graph: &Graph) -> (Folder, crate::harness::process::Server, String, String) {
    let folder = graph.folder();
    let server = folder.serve();
    let client = folder.client("Acme");
    init(&folder);
    let id = add(&folder);
    let now = ran(&folder, &id, &Value::Null);
    assert_eq!(now["health"], "healthy", "{now}");
    (folder, server, client, id)
}

#[test]
fn a_tenant_is_read_by_one_app_and_decides_controls() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    for (code, expected) in [
        ("ID-01", "compliant"),
        ("ID-02", "compliant"),
        ("ID-03", "compliant"),
        ("ID-05", "compliant"),
        ("ID-06", "compliant"),
        ("ID-07", "compliant"),
        ("APP-01", "compliant"),
        ("DAT-04", "compliant"),
        ("LOG-01", "partial"),
    ] {
        assert_eq!(status(&folder, &client, code), expected, "{code}");
    }
    let now = shown(&folder, &id);
    let link =
        "https://login.microsoftonline.com/acme.example/adminconsent?client_id=00000000-1111";
    assert!(now["consentUrl"].as_str().unwrap().starts_with(link), "{now}");
    assert_eq!((&now["kind"], &now["source"]), (&json!("m365"), &json!("m365")));
    assert_eq!(stream(&now, "users"), ("complete".to_owned(), String::new()));
    assert_eq!(stream(&now, "roleEligibilityScheduleInstances").0, "unlicensed");
    assert_eq!(n_events(&folder, "integration_sync_completed"), 1);
    let tested = folder.ok(&["connect", "test", &id]);
    assert!(tested.contains("ID-01") && tested.contains("userRegistrationDetails"), "{tested}");
    let foreseen = foreseen(&folder, &id);
    for code in ["ID-01", "ID-02", "ID-03", "ID-11", "END-04"] {
        assert!(foreseen.iter().any(|it| it.0 == code), "{code}: {foreseen:?}");
    }
    // Data disks are a facet that Intune does not see.
    let is_whole = |it: &(String, String)| it.1 != "not_applicable" && it.0 != "END-04";
    for (code, expected) in foreseen.into_iter().filter(is_whole) {
        assert_eq!(status(&folder, &client, &code), expected, "{code}: as a test says it");
    }
    let asked = graph.asked();
    assert!(asked.iter().all(|it| it.starts_with("GET /v1.0/") || it == "GET /file"), "{asked:?}");
}

#[test]
fn an_administrator_without_mfa_is_announced_and_then_forgotten_with_the_connection() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let registered = |id: &str| registration(id, id != "u2");
    let rows = ["u1", "u2", "u3"].map(registered).to_vec();
    graph.answers.set("/reports/authenticationMethods/userRegistrationDetails", Told::List(rows));
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(status(&folder, &client, "ID-03"), "partial");
    for kind in ["mfa_disabled", "admin_mfa_missing"] {
        assert_eq!(n_events(&folder, kind), 1, "{kind}");
    }
    folder.ok(&["connect", "remove", &id]);
    let is_retracted =
        || controls(&folder, &client).iter().all(|(_, status)| status == "not_assessed");
    assert!(wait_until(WAIT, is_retracted), "{:?}", controls(&folder, &client));
}

#[test]
fn a_connection_that_fails_is_still_removed_with_what_it_found() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    assert!(before.iter().any(|it| it.1 == "compliant"));
    graph.answers.set("token", expired());
    for _ in 0..2 {
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1);
    }
    let now = shown(&folder, &id);
    assert_eq!(now["parts"].as_array().unwrap().len(), 1, "what was not read is not shown: {now}");
    assert_eq!(controls(&folder, &client), before);
    folder.ok(&["connect", "remove", &id]);
    let is_retracted =
        || controls(&folder, &client).iter().all(|(_, status)| status == "not_assessed");
    assert!(wait_until(WAIT, is_retracted), "{:?}", controls(&folder, &client));
}

#[test]
fn an_app_that_may_read_all_mailboxes_is_seen() {
    let graph = Graph::start();
    let exchange = "00000002-0000-0ff1-ce00-000000000000";
    let microsoft = "f8cdef31-a31e-4b4a-93e4-5f571e91255a";
    graph.answers.set(
        "/servicePrincipals",
        Told::List(vec![
            json!({"id": "sp1", "appId": "00000003-0000-0000-c000-000000000000", "displayName": "Microsoft Graph",
                "appOwnerOrganizationId": microsoft, "accountEnabled": true, "appRoles": []}),
            json!({"id": "sp2", "appId": exchange, "displayName": "Office 365 Exchange Online",
                "appOwnerOrganizationId": microsoft, "accountEnabled": true,
                "appRoles": [{"id": "r1", "value": "full_access_as_app"}]}),
            json!({"id": "sp3", "appId": "b0", "displayName": "Mail Backup", "servicePrincipalType": "Application",
                "appOwnerOrganizationId": "other", "accountEnabled": true, "appRoles": []}),
            json!({"id": "sp4", "appId": "b1", "displayName": "Planner", "servicePrincipalType": "Application",
                "appOwnerOrganizationId": "other", "accountEnabled": true, "appRoles": []}),
        ]),
    );
    let harmless = json!({"clientId": "sp4", "consentType": "AllPrincipals", "scope": "User.Read"});
    graph.answers.set("/oauth2PermissionGrants", Told::List(vec![harmless]));
    let assigned = format!("/servicePrincipals(appId='{exchange}')/appRoleAssignedTo");
    let holds = json!({"principalId": "sp3", "resourceId": "sp2", "appRoleId": "r1"});
    graph.answers.set(&assigned, Told::List(vec![holds]));
    let (folder, _server, client, id) = read_once(&graph);
    let because = folder.json(&["control", "show", "Acme", "APP-02"]).to_string();
    assert_eq!(status(&folder, &client, "APP-02"), "partial", "whether it is approved is unknown");
    assert!(because.contains("Mail Backup (full_access_as_app)"), "{because}");
    graph.answers.fail(&assigned, 500, "UnknownError", "oops");
    folder.run(&["connect", "sync", &id]);
    assert_eq!(stream(&shown(&folder, &id), "appRoleAssignedTo").0, "failed");
    assert_eq!(status(&folder, &client, "APP-02"), "partial");
}

#[test]
fn until_the_client_consents_nothing_has_failed() {
    let graph = Graph::start();
    let refusal = json!({
        "error": "unauthorized_client", "error_codes": [700_016],
        "error_description": "AADSTS700016: Application was not found in the directory.",
    });
    graph.answers.set("token", Told::Raw(400, Vec::new(), refusal.to_string()));
    let folder = graph.folder();
    let _server = folder.serve();
    folder.client("Acme");
    init(&folder);
    let id = add(&folder);
    let now = ran(&folder, &id, &Value::Null);
    assert_eq!(now["health"], "pending", "{now}");
    let (state, reason) = stream(&now, "sign_in");
    assert_eq!(state, "failed");
    assert!(reason.contains("has not consented yet"), "{reason}");
    assert_eq!(n_events(&folder, "integration_sync_failed"), 0);
    let soon = now["nextRunAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let wait = soon.duration_since(jiff::Timestamp::now());
    assert!(wait < jiff::SignedDuration::from_mins(16), "{now}");
    graph.answers.set("token", Told::Object(json!({"access_token": "tok", "expires_in": 3599})));
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
    assert_eq!(n_events(&folder, "connector_health_changed"), 0);
}

#[test]
fn a_missing_permission_is_named_once_and_changes_no_control() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    let sharing = "/admin/sharepoint/settings";
    for (path, name, permission) in [
        (
            "/reports/authenticationMethods/userRegistrationDetails",
            "userRegistrationDetails",
            "AuditLog.Read.All",
        ),
        ("/users", "users", "User.Read.All and AuditLog.Read.All"),
        (
            "/roleManagement/directory/roleAssignments",
            "roleAssignments",
            "RoleManagement.Read.Directory",
        ),
        (sharing, "sharepointSettings", "SharePointTenantSettings.Read.All"),
    ] {
        let denied = json!({"error": {
            "code": "Authorization_RequestDenied", "message": "Insufficient privileges.",
        }});
        let denied = Told::Raw(403, Vec::new(), denied.to_string());
        let good = graph.answers.swap(path, denied).unwrap();
        let synced = folder.run(&["connect", "sync", &id]);
        assert_eq!(synced.code, 1, "{name}");
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "{name}");
        let (state, reason) = stream(&now, name);
        assert_eq!(state, "denied", "{name}");
        assert_eq!(reason, format!("not allowed; grant the app {permission} and consent again"));
        let all = streams(&now);
        let n_denied = all.iter().filter(|it| it.1 == "denied").count();
        assert_eq!(n_denied, 1, "{name}: {all:?}");
        assert_eq!(controls(&folder, &client), before, "{name}");
        graph.answers.set(path, good);
    }
    assert_eq!(n_events(&folder, "mfa_disabled"), 0);
    let intune = "Forbidden - must have one of the following scopes: Audit.Some.Read, Other";
    graph.answers.fail(sharing, 403, "Forbidden", intune);
    folder.run(&["connect", "sync", &id]);
    assert!(stream(&shown(&folder, &id), "sharepointSettings").1.contains("Audit.Some.Read"));
}

#[test]
fn devices_of_intune_are_assets_and_decide_by_policies_that_exist() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let assets = || {
        let all = folder.ask(&format!("/api/v1/clients/{client}/assets"))["data"].clone();
        all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let names: Vec<String> = assets();
    assert_eq!(names.len(), 2, "{names:?}");
    for (code, expected) in [
        ("END-02", "compliant"),
        ("END-03", "partial"), // One of them is not known to comply.
        ("END-04", "partial"), // Data disks were not seen.
        ("END-11", "compliant"),
        ("END-01", "not_assessed"),
    ] {
        assert_eq!(status(&folder, &client, code), expected, "{code}");
    }
    for (policies, why) in [
        (vec![compliance_policy("ios")], "Intune calls the computer compliant without a policy"),
        (Vec::new(), "nothing holds them to it"),
    ] {
        graph.answers.set("/deviceManagement/deviceCompliancePolicies", Told::List(policies));
        folder.ok(&["connect", "sync", &id]);
        assert_eq!(status(&folder, &client, "END-03"), "not_assessed", "{why}");
    }
    let no_intune = "Request not applicable to target tenant.";
    for list in ["managedDevices", "deviceCompliancePolicies"] {
        graph.answers.fail(&format!("/deviceManagement/{list}"), 403, "Forbidden", no_intune);
    }
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(stream(&shown(&folder, &id), "managedDevices").0, "unlicensed");
}

#[test]
fn another_tenant_than_the_one_that_is_meant_is_not_read() {
    let graph = Graph::start();
    graph.answers.set(
        "/organization",
        Told::List(vec![json!({
            "id": TENANT, "verifiedDomains": [{"name": "stranger.example"}],
        })]),
    );
    let folder = graph.folder();
    let _server = folder.serve();
    let client = folder.client("Acme");
    init(&folder);
    let id = add(&folder);
    let now = ran(&folder, &id, &Value::Null);
    assert_eq!(now["health"], "failing");
    let (_, reason) = stream(&now, "sign_in");
    assert!(reason.contains(TENANT) && reason.contains("does not have acme.example"), "{reason}");
    assert_eq!(graph.asked().len(), 1);
    assert!(controls(&folder, &client).iter().all(|it| it.1 == "not_assessed"));
}

#[test]
fn a_list_of_something_else_keeps_what_was_known() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    let users = "/users";
    let renamed = Told::List(vec![json!({"id": "u1", "enabled": true}), json!({"id": "u2"})]);
    let others = Told::List(vec![json!("u1"), json!(2)]);
    for (told, words) in [
        (others, "2 of 2 rows are not records"),
        (renamed, "the field accountEnabled is absent from 2 of 2 rows"),
    ] {
        let good = graph.answers.swap(users, told).unwrap();
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1, "{words}");
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "{words}");
        assert_eq!(stream(&now, "users"), ("partial".to_owned(), words.to_owned()));
        assert_eq!(controls(&folder, &client), before, "{words}");
        graph.answers.set(users, good);
    }
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(
        n_events(&folder, "mfa_disabled") + n_events(&folder, "dormant_account_detected"),
        0
    );
}

#[test]
fn a_credential_that_expired_is_said_with_what_to_do_and_a_new_one_keeps_the_connection() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    graph.answers.set("token", expired());
    let synced = folder.run(&["connect", "sync", &id]);
    assert_eq!(synced.code, 1);
    let now = shown(&folder, &id);
    assert_eq!(now["health"], "failing");
    let (_, reason) = stream(&now, "sign_in");
    assert_eq!(
        reason,
        "the client secret of the Microsoft app has expired; enter a new one on the page Microsoft app of \
         the console, or with `posture connect m365 init`"
    );
    assert_eq!(controls(&folder, &client), before);
    graph.answers.set("token", Told::Object(json!({"access_token": "tok", "expires_in": 3599})));
    init(&folder);
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
}

#[test]
fn the_secret_is_nowhere_in_the_clear() {
    let graph = Graph::start();
    let (folder, server, _, id) = read_once(&graph);
    let told = [
        folder.ok(&["connect", "m365", "show", "--json"]),
        folder.ok(&["connect", "show", &id, "--json"]),
        folder.ok(&["audit", "list", "--json"]),
        folder.ask("/api/microsoft-app").to_string(),
    ];
    assert!(told.iter().all(|it| !it.contains(SECRET)));
    folder.ok(&["backup", "backup.redb"]);
    assert!(server.stop().success());
    for file in ["data/posture.redb", "backup.redb"] {
        let bytes = std::fs::read(folder.path().join(file)).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()), "{file}");
    }
    let sent = graph.sink.requests().into_iter().find(|it| it.line.contains("/oauth2/")).unwrap();
    let body = String::from_utf8(sent.body).unwrap();
    assert!(body.contains("client_secret=Kx~7Q8sealed-client-secret"), "{body}");
    assert!(body.contains("scope=https%3A%2F%2Fgraph.microsoft.com%2F.default"), "{body}");
}

#[test]
fn many_clients_are_added_from_a_list() {
    let graph = Graph::start();
    let folder = graph.folder();
    let _server = folder.serve();
    init(&folder);
    for name in ["Acme", "Other"] {
        folder.client(name);
    }
    folder.write(
        "list.csv",
        b"client,tenant\nAcme,acme.example\nNobody,nobody.example\nOther,acme.example\n",
    );
    let added = folder.run(&["connect", "m365", "onboard", "list.csv"]);
    assert_eq!(added.code, 1);
    assert!(added.err.contains("1 of 3 clients were not added"), "{}", added.err);
    assert_eq!(added.out.matches("/adminconsent?").count(), 2, "{}", added.out);
    let again = folder.run(&["connect", "m365", "onboard", "list.csv"]);
    assert_eq!(again.code, 1);
    assert_eq!(folder.ask("/api/connections")["data"].as_array().unwrap().len(), 2);
    for (text, why) in
        [("name,tenant\na,b\n", "columns client and tenant"), ("client,tenant\nAcme,\n", "row 2")]
    {
        folder.write("list.csv", text.as_bytes());
        let refused = folder.run(&["connect", "m365", "onboard", "list.csv"]);
        assert!(refused.err.contains(why), "{}", refused.err);
    }
}
