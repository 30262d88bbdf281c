//! A tenant of Microsoft 365 on loopback: tokens and Graph, as a test wants them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posture::connect::microsoft::registration::{GRAPH_APP, PERMISSIONS};
use serde_json::{Value, json};

use super::vendor::{parameter, told};
use crate::harness::process::Folder;
use crate::harness::sink::{Request, Sink};

pub const APP: &str = "00000000-1111-2222-3333-444444444444";
pub const TENANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const SECRET: &str = "Kx~7Q8sealed-client-secret";
/// Rows of a page, so that few rows take several.
pub const PAGE: usize = 2;

/// What Graph answers, by path below `/v1.0`, without the query.
#[derive(Clone)]
pub struct Answers(Arc<Mutex<BTreeMap<String, Told>>>);

#[derive(Clone)]
pub enum Told {
    /// A list, in pages.
    List(Vec<Value>),
    Object(Value),
    /// Status, headers, body.
    Raw(u16, Vec<(&'static str, String)>, String),
    /// An error, after this.
    #[allow(dead_code, reason = "for the load tests")]
    Late(Duration),
}

pub struct Graph {
    pub sink: Sink,
    pub answers: Answers,
}

impl Answers {
    pub fn set(&self, path: &str, told: Told) {
        self.0.lock().unwrap().insert(path.to_owned(), told);
    }

    /// Returns what it answered before.
    pub fn swap(&self, path: &str, told: Told) -> Option<Told> {
        self.0.lock().unwrap().insert(path.to_owned(), told)
    }

    /// An error as Graph writes it.
    pub fn fail(&self, path: &str, status: u16, code: &str, message: &str) {
        let body = json!({"error": {"code": code, "message": message}}).to_string();
        self.set(path, Told::Raw(status, Vec::new(), body));
    }

    fn find(&self, path: &str) -> Option<Told> {
        self.0.lock().unwrap().get(path).cloned()
    }
}

impl Graph {
    /// A small tenant in good order.
    pub fn start() -> Self {
        Self::start_with(PAGE)
    }

    /// With so many rows on a page.
    pub fn start_with(page: usize) -> Self {
        let answers = Answers(Arc::default());
        let known = answers.clone();
        let sink = Sink::scripted("127.0.0.1:0", move |request| answer(&known, page, request));
        healthy(&answers);
        Self { sink, answers }
    }

    /// A folder whose configuration leads to it.
    pub fn folder(&self) -> Folder {
        self.folder_with(self.sink.address)
    }

    /// As [`Graph::folder`], with tokens from elsewhere.
    pub fn folder_with(&self, login: SocketAddr) -> Folder {
        let folder = Folder::new();
        let mut text = String::from(
            "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\ndns_server = \"127.0.0.1:9\"\n\
             allow_http_networks = [\"127.0.0.0/8\"]\nallow_private_networks = [\"127.0.0.0/8\"]\nendpoints = { ",
        );
        let here = self.sink.address;
        for (host, at) in [
            ("login.microsoftonline.com", login),
            ("graph.microsoft.com", here),
            ("reports.office.com", here),
        ] {
            write!(text, "\"https://{host}\" = \"http://{at}\", ").unwrap();
        }
        folder.write("posture.toml", (text + "}\n").as_bytes());
        folder.write("secret", SECRET.as_bytes());
        folder
    }

    /// Requests to Graph and its files, as paths with queries.
    pub fn asked(&self) -> Vec<String> {
        let all = self.sink.requests().into_iter().map(|it| it.line);
        all.filter(|it| !it.contains("/oauth2/")).collect()
    }
}

fn answer(answers: &Answers, page: usize, request: &Request) -> Vec<u8> {
    let (method, target) = request.line.split_once(' ').unwrap();
    let (path, _) = target.split_once('?').unwrap_or((target, ""));
    if method == "POST" && path.ends_with("/oauth2/v2.0/token") {
        let tenant = path.split('/').nth(1).unwrap();
        return match answers.find(&format!("token of {tenant}")).or_else(|| answers.find("token")) {
            Some(told) => said(told, page, request),
            None => said(
                Told::Object(json!({"access_token": "tok", "expires_in": 3599})),
                page,
                request,
            ),
        };
    }
    if path == "/file" {
        assert_eq!(request.header("authorization"), None, "a file gets no token");
        return said(answers.find("/file").unwrap(), page, request);
    }
    let token = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    if token.is_none_or(str::is_empty) {
        return told(401, &[], r#"{"error":{"code":"InvalidAuthenticationToken","message":"x"}}"#);
    }
    let path = path.strip_prefix("/v1.0").unwrap();
    match answers.find(path) {
        Some(told) => said(told, page, request),
        None => told(404, &[], r#"{"error":{"code":"Request_ResourceNotFound","message":"none"}}"#),
    }
}

fn said(it: Told, page: usize, request: &Request) -> Vec<u8> {
    let json = [("Content-Type", "application/json")];
    match it {
        Told::Late(time) => {
            std::thread::sleep(time);
            told(503, &[], "")
        }
        Told::Object(object) => told(200, &json, &object.to_string()),
        Told::Raw(status, headers, body) => {
            let headers: Vec<_> = headers.iter().map(|(name, it)| (*name, it.as_str())).collect();
            told(status, &headers, &body)
        }
        Told::List(rows) => {
            let from: usize = parameter(request, "$skiptoken").parse().unwrap_or(0);
            let rows_of: Vec<_> = rows.iter().skip(from).take(page).collect();
            let mut body = json!({"@odata.context": "x", "value": rows_of});
            if from + page < rows.len() {
                let (_, target) = request.line.split_once(' ').unwrap();
                let path = target.split('?').next().unwrap();
                let next = format!("https://graph.microsoft.com{path}?$skiptoken={}", from + page);
                body["@odata.nextLink"] = next.into();
            }
            told(200, &json, &body.to_string())
        }
    }
}

pub fn user(id: &str, name: &str) -> Value {
    json!({
        "id": id, "userPrincipalName": format!("{name}@acme.example"), "displayName": name,
        "userType": "Member", "accountEnabled": true, "createdDateTime": "2024-01-01T00:00:00Z",
        "assignedLicenses": [], "onPremisesSyncEnabled": null, "isResourceAccount": null,
        "employeeHireDate": null,
        "signInActivity": {"lastSuccessfulSignInDateTime": jiff::Timestamp::now().to_string()},
    })
}

pub fn registration(id: &str, is_registered: bool) -> Value {
    json!({"id": id, "isMfaRegistered": is_registered, "methodsRegistered": ["fido2SecurityKey"]})
}

impl Answers {
    /// The app is registered with these permissions.
    pub fn register(&self, permissions: &[&str]) {
        let id = |n: usize| format!("AAAAAAAA-0000-4000-8000-{n:012}");
        let all: Vec<&str> = PERMISSIONS
            .iter()
            .map(|it| it.name)
            .chain(["Mail.Read", "Directory.ReadWrite.All", "Mail.Send"])
            .collect();
        let role = |(n, name): (usize, &&str)| json!({"id": id(n), "value": name});
        let roles: Vec<Value> = all.iter().enumerate().map(role).collect();
        self.object(
            &format!("/servicePrincipals(appId='{GRAPH_APP}')"),
            json!({"appRoles": roles}),
        );
        let at = |name: &&str| all.iter().position(|it| it == name).unwrap();
        let access = |name| json!({"id": id(at(name)).to_lowercase(), "type": "Role"});
        let access: Vec<Value> = permissions.iter().map(access).collect();
        let back = "https://login.microsoftonline.com/common/oauth2/nativeclient";
        self.object(
            &format!("/applications(appId='{APP}')"),
            json!({
                "signInAudience": "AzureADMultipleOrgs", "publicClient": {"redirectUris": [back]},
                "web": {"redirectUris": []}, "spa": {"redirectUris": []},
                "requiredResourceAccess": [{"resourceAppId": GRAPH_APP, "resourceAccess": access}],
            }),
        );
    }

    fn list(&self, path: &str, rows: Value) {
        self.set(path, Told::List(serde_json::from_value(rows).unwrap()));
    }

    fn object(&self, path: &str, it: Value) {
        self.set(path, Told::Object(it));
    }
}

/// For devices with this system.
pub fn compliance_policy(system: &str) -> Value {
    json!({"id": system, "@odata.type": format!("#microsoft.graph.{system}CompliancePolicy")})
}

fn healthy(answers: &Answers) {
    settings(answers);
    directory(answers);
    services(answers);
    answers.register(&PERMISSIONS.map(|it| it.name));
}

fn settings(answers: &Answers) {
    answers.list(
        "/organization",
        json!([{
            "id": TENANT, "displayName": "Acme", "verifiedDomains": [{"name": "acme.example"}],
        }]),
    );
    let plan = "41781fb2-bc02-4b7c-bd55-b576c07bb09d";
    answers.list(
        "/subscribedSkus",
        json!([{
            "skuId": "s", "capabilityStatus": "Enabled", "servicePlans": [
                {"servicePlanId": plan, "servicePlanName": "AAD_PREMIUM", "provisioningStatus": "Success"},
            ],
        }]),
    );
    answers
        .object("/policies/identitySecurityDefaultsEnforcementPolicy", json!({"isEnabled": true}));
    answers.list("/identity/conditionalAccess/policies", json!([]));
    answers.object(
        "/policies/authorizationPolicy",
        json!({
            "allowInvitesFrom": "adminsAndGuestInviters",
            "guestUserRoleId": "2af84b1e-32c8-42b7-82bc-daa82404023b",
            "defaultUserRolePermissions": {
                "allowedToCreateApps": false, "permissionGrantPoliciesAssigned": [],
            },
        }),
    );
    answers.object(
        "/policies/authenticationMethodsPolicy",
        json!({
            "policyMigrationState": "migrationComplete",
            "authenticationMethodConfigurations": [
                {"id": "Sms", "state": "disabled"}, {"id": "Voice", "state": "disabled"},
                {"id": "Email", "state": "disabled"}, {"id": "Fido2", "state": "enabled"},
            ],
        }),
    );
    answers.object("/policies/adminConsentRequestPolicy", json!({"isEnabled": true}));
    answers.object("/policies/defaultAppManagementPolicy", json!({"isEnabled": false}));
}

fn directory(answers: &Answers) {
    let people = [("u1", "ada"), ("u2", "bob"), ("u3", "cyd")];
    answers.list("/users", people.map(|(id, name)| user(id, name)).to_vec().into());
    answers.list(
        "/reports/authenticationMethods/userRegistrationDetails",
        people.map(|(id, _)| registration(id, true)).to_vec().into(),
    );
    let global = "62e90394-69f5-4237-9190-012177145e10";
    answers.list(
        "/roleManagement/directory/roleDefinitions",
        json!([
            {"id": global, "templateId": global, "displayName": "Global Administrator"},
        ]),
    );
    let holds = |id: &str| {
        json!({
            "id": format!("a-{id}"), "principalId": id, "roleDefinitionId": global,
            "directoryScopeId": "/",
            "principal": {"@odata.type": "#microsoft.graph.user", "displayName": id},
        })
    };
    answers.list("/roleManagement/directory/roleAssignments", json!([holds("u1"), holds("u2")]));
    answers.list(
        "/domains",
        json!([{
            "id": "acme.example", "isVerified": true, "isRoot": true, "authenticationType": "Managed",
            "passwordValidityPeriodInDays": 2_147_483_647,
        }]),
    );
}

fn services(answers: &Answers) {
    answers.list(
        "/security/secureScores",
        json!([{
            "createdDateTime": "2026-11-20T00:00:00Z", "currentScore": 80.5, "maxScore": 100.0,
            "controlScores": [],
        }]),
    );
    answers.list("/security/secureScoreControlProfiles", json!([]));
    answers.list(
        "/servicePrincipals",
        json!([{
            "id": "sp1", "appId": "00000003-0000-0000-c000-000000000000", "displayName": "Microsoft Graph",
            "appOwnerOrganizationId": "f8cdef31-a31e-4b4a-93e4-5f571e91255a", "accountEnabled": true,
            "servicePrincipalType": "Application", "appRoles": [],
        }]),
    );
    answers.list("/oauth2PermissionGrants", json!([]));
    let graph = "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')";
    answers.list(&format!("{graph}/appRoleAssignedTo"), json!([]));
    answers.list(&format!("{graph}/delegatedPermissionClassifications"), json!([]));
    answers.list("/applications", json!([]));
    let now = jiff::Timestamp::now().to_string();
    answers.list(
        "/deviceManagement/managedDevices",
        json!([
            {
                "id": "d1", "deviceName": "ACM-LT-1", "operatingSystem": "Windows",
                "osVersion": "10.0.26200.4460", "complianceState": "compliant", "isEncrypted": true,
                "jailBroken": "Unknown", "lastSyncDateTime": now, "serialNumber": "5CG1234XYZ",
            },
            {
                "id": "d2", "deviceName": "phone", "operatingSystem": "iOS", "osVersion": "26.1",
                "complianceState": "inGracePeriod", "isEncrypted": true, "jailBroken": "False",
                "lastSyncDateTime": now,
            },
        ]),
    );
    let policies = ["windows10", "ios"].map(compliance_policy);
    answers.list("/deviceManagement/deviceCompliancePolicies", json!(policies));
    answers.object("/admin/sharepoint/settings", json!({"sharingCapability": "disabled"}));
    answers.list(
        "/auditLogs/directoryAudits",
        json!([
            {"activityDateTime": jiff::Timestamp::now().to_string()},
        ]),
    );
    let report = "/reports/getMailboxUsageDetail(period='D30')";
    let to = vec![("Location", "https://reports.office.com/file".to_owned())];
    answers.set(report, Told::Raw(302, to, String::new()));
    let csv = "\u{feff}Report Refresh Date,User Principal Name,Display Name,Is Deleted,Recipient Type\r\n\
               2026-11-20,info@acme.example,Info,False,Shared\r\n";
    answers.set("/file", Told::Raw(200, Vec::new(), csv.to_owned()));
}
