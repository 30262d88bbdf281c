//! A Google Workspace on loopback: tokens, and the APIs as a test wants them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use posture::clock::{Clock, Time};
use posture::connect::call::{Api, Endpoints};
use posture::connect::google::{DIALECT, ServiceAccount, StreamKind, Workspace, read};
use posture::connect::microsoft::generate;
use posture::connect::reading::Reading;
use posture::egress::Egress;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::{Duration, Instant};

use super::workspace::good_wire;
use crate::connect::vendor::{local, parameter, told};
use crate::harness::process::Folder;
use crate::harness::sink::{Request, Sink};

pub const ADMIN: &str = "root@example.com";
pub const EMAIL: &str = "posture@project.iam.gserviceaccount.com";
const CLIENT_ID: &str = "115712261629077226469";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// The key of the service account, in PEM.
static KEY: LazyLock<String> = LazyLock::new(|| generate(Clock::System.now()).unwrap().key_pem);

/// Path, stream, and where its rows are.
pub const LISTS: [(&str, StreamKind, &str); 14] = [
    ("/admin/directory/v1/customers/my_customer", StreamKind::Customer, ""),
    ("/admin/directory/v1/customer/my_customer/domains", StreamKind::Domains, "domains"),
    ("/admin/directory/v1/users", StreamKind::Users, "users"),
    (
        "/admin/directory/v1/customer/my_customer/orgunits",
        StreamKind::OrgUnits,
        "organizationUnits",
    ),
    ("/admin/directory/v1/customer/my_customer/roles", StreamKind::Roles, "items"),
    (
        "/admin/directory/v1/customer/my_customer/roleassignments",
        StreamKind::RoleAssignments,
        "items",
    ),
    ("/v1/inboundSsoAssignments", StreamKind::SsoAssignments, "inboundSsoAssignments"),
    ("/v1/policies", StreamKind::Policies, "policies"),
    (
        "/admin/directory/v1/customer/my_customer/devices/mobile",
        StreamKind::MobileDevices,
        "mobiledevices",
    ),
    (
        "/admin/directory/v1/customer/my_customer/devices/chromeos",
        StreamKind::ChromeDevices,
        "chromeosdevices",
    ),
    ("/admin/reports/v1/activity/users/all/applications/token", StreamKind::TokenEvents, "items"),
    (
        "/admin/reports/v1/activity/users/all/applications/user_accounts",
        StreamKind::TwoStepRemovals,
        "items",
    ),
    ("/admin/reports/v1/activity/users/all/applications/login", StreamKind::AuditEvents, "items"),
    ("/admin/reports/v1/activity/users/all/applications/admin", StreamKind::AuditEvents, "items"),
];

/// What is answered instead.
pub type Told = Vec<u8>;

#[derive(Clone)]
struct Fault {
    kind: StreamKind,
    /// The token of the page. `*`: each page.
    page: &'static str,
    n: usize,
    told: Told,
}

struct State {
    wire: Value,
    faults: Vec<Fault>,
    /// Instead of a token.
    no_token: Option<Vec<u8>>,
    /// Scopes that the client did not let the service account use.
    unauthorized: BTreeSet<&'static str>,
    /// The scope of each token.
    tokens: BTreeMap<String, String>,
    /// Rows of a page of this stream, if fewer than asked for.
    page_max: Option<(StreamKind, usize)>,
}

#[derive(Clone)]
pub struct Script(Arc<Mutex<State>>);

pub struct Google {
    pub sink: Sink,
    pub script: Script,
}

impl Script {
    /// Changes what Google knows.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.0.lock().unwrap().wire);
    }

    /// Answers the next `n` requests for this page of a stream like this.
    pub fn fail(&self, kind: StreamKind, page: &'static str, n: usize, told: Told) {
        self.0.lock().unwrap().faults.push(Fault { kind, page, n, told });
    }

    pub fn mend(&self) {
        let mut state = self.0.lock().unwrap();
        state.faults.clear();
        state.no_token = None;
        state.unauthorized.clear();
        state.wire = now_wire();
    }

    pub fn set_page_max(&self, kind: StreamKind, n: usize) {
        self.0.lock().unwrap().page_max = Some((kind, n));
    }

    pub fn refuse_tokens(&self, told: Vec<u8>) {
        self.0.lock().unwrap().no_token = Some(told);
    }

    pub fn unauthorize(&self, scopes: &[&'static str]) {
        self.0.lock().unwrap().unauthorized.extend(scopes);
    }
}

/// An error as the older APIs write it.
pub fn error(status: u16, reason: &str, message: &str) -> Told {
    let errors = json!([{"domain": "global", "reason": reason, "message": message}]);
    let body = json!({"error": {"code": status, "message": message, "errors": errors}});
    told(status, &[("Content-Type", "application/json")], &body.to_string())
}

pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Told {
    told(status, headers, body)
}

/// The organization in which everything is as it should be, now.
fn now_wire() -> Value {
    let mut wire = good_wire();
    let now = jiff::Timestamp::now().to_string();
    for user in wire["users"].as_array_mut().unwrap() {
        user["lastLoginTime"] = now.as_str().into();
    }
    for event in wire["audit_events"].as_array_mut().unwrap() {
        event["id"]["time"] = now.as_str().into();
    }
    wire["customer"]["kind"] = "admin#directory#customer".into();
    wire["mobile_devices"] = json!([
        {"resourceId": "m1", "model": "Pixel 8", "os": "Android 15", "status": "APPROVED",
         "serialNumber": "PX8-000123", "deviceCompromisedStatus": "No compromise detected",
         "lastSync": now, "email": ["ben@example.com"]},
        {"resourceId": "m2", "model": "Pixel 3", "status": "ACCOUNT_WIPED", "lastSync": "2019-01-01T00:00:00Z"},
    ]);
    wire["chrome_devices"] = json!([
        {"deviceId": "c1", "model": "HP Chromebook", "serialNumber": "5CD0001X", "status": "ACTIVE",
         "osVersion": "131.0", "lastSync": now, "macAddress": "a4bb6d000001"},
    ]);
    wire
}

/// A key file with these members changed. Null: it lacks them.
pub fn key_file(changes: Value) -> String {
    let mut file = json!({
        "type": "service_account", "project_id": "project", "private_key_id": "0123456789abcdef",
        "private_key": *KEY, "client_email": EMAIL, "client_id": CLIENT_ID,
        "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": TOKEN_URI,
    });
    let Value::Object(changes) = changes else { panic!("members") };
    for (name, value) in changes {
        if value.is_null() {
            file.as_object_mut().unwrap().remove(&name);
        } else {
            file[&name] = value;
        }
    }
    serde_json::to_string_pretty(&file).unwrap()
}

impl Google {
    pub fn start() -> Self {
        let script = Script(Arc::new(Mutex::new(State {
            wire: now_wire(),
            faults: Vec::new(),
            no_token: None,
            unauthorized: BTreeSet::new(),
            tokens: BTreeMap::new(),
            page_max: None,
        })));
        let known = script.clone();
        let sink = Sink::scripted("127.0.0.1:0", move |request| {
            let mut state = known.0.lock().unwrap();
            if request.line == "POST /token" {
                return token(&mut state, request);
            }
            data(&mut state, request)
        });
        Self { sink, script }
    }

    pub fn endpoints(&self) -> BTreeMap<String, String> {
        let at = format!("http://{}", self.sink.address);
        let origins =
            ["oauth2.googleapis.com", "admin.googleapis.com", "cloudidentity.googleapis.com"];
        origins.map(|it| (format!("https://{it}"), at.clone())).into()
    }

    /// A folder whose configuration leads to it, with the key file `key.json`.
    pub fn folder(&self) -> Folder {
        let folder = Folder::new();
        let endpoints: Vec<String> =
            self.endpoints().iter().map(|(from, to)| format!("\"{from}\" = \"{to}\"")).collect();
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\ndns_server = \"127.0.0.1:9\"\n\
             allow_http_networks = [\"127.0.0.0/8\"]\nallow_private_networks = [\"127.0.0.0/8\"]\nendpoints = {{ {} }}\n",
            endpoints.join(", ")
        );
        folder.write("posture.toml", text.as_bytes());
        folder.write("key.json", key_file(json!({})).as_bytes());
        folder
    }

    /// Reads it without a server.
    pub fn read(&self) -> Reading {
        let account = Arc::new(ServiceAccount::parse(&key_file(json!({}))).unwrap());
        let egress = Egress::new(local(), Duration::from_secs(20), 8).unwrap();
        let endpoints = Arc::new(Endpoints(self.endpoints()));
        let workspace = Workspace { domain: "example.com", admin: ADMIN, sanctioned_apps: &[] };
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let deadline = Instant::now() + Duration::from_mins(2);
            let api = Api::new(Arc::new(egress), endpoints, &DIALECT, Clock::System, deadline);
            read(&api, &account, workspace).await
        })
    }

    /// Requests for data.
    pub fn asked(&self) -> Vec<Request> {
        let all = self.sink.requests().into_iter();
        all.filter(|it| it.line != "POST /token").collect()
    }

    /// How many tokens were asked for.
    pub fn n_tokens(&self) -> usize {
        self.sink.requests().iter().filter(|it| it.line == "POST /token").count()
    }
}

fn refused(status: u16, error: &str, description: &str) -> Vec<u8> {
    let body = json!({"error": error, "error_description": description});
    told(status, &[("Content-Type", "application/json")], &body.to_string())
}

fn token(state: &mut State, request: &Request) -> Vec<u8> {
    if let Some(told) = &state.no_token {
        return told.clone();
    }
    let body = String::from_utf8(request.body.clone()).unwrap();
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let assertion = body.strip_prefix(grant).unwrap();
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let decode = |it: &str| BASE64_URL_SAFE_NO_PAD.decode(it).unwrap();
    let der = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public().as_ref());
    if key.verify(signed.as_bytes(), &decode(signature)).is_err() {
        return refused(400, "invalid_grant", "Invalid JWT Signature.");
    }
    let (head, claims) = signed.split_once('.').unwrap();
    let [head, claims] =
        [head, claims].map(|it| serde_json::from_slice::<Value>(&decode(it)).unwrap());
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT", "kid": "0123456789abcdef"}));
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(EMAIL), &json!(TOKEN_URI)));
    let (from, until) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    let now: Time = Clock::System.now();
    assert!(from <= now.s() && now.s() < until && until - from <= 3_600, "{claims}");
    if claims["sub"] != ADMIN {
        return refused(400, "invalid_grant", "Invalid email or User ID");
    }
    let scope = claims["scope"].as_str().unwrap();
    if !StreamKind::oauth_scopes().contains(&scope) || state.unauthorized.contains(scope) {
        let why = "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.";
        return refused(401, "unauthorized_client", why);
    }
    let token = format!("ya29.{}", state.tokens.len());
    state.tokens.insert(token.clone(), scope.to_owned());
    let body = json!({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"});
    told(200, &[("Content-Type", "application/json")], &body.to_string())
}

fn data(state: &mut State, request: &Request) -> Vec<u8> {
    let json = [("Content-Type", "application/json; charset=UTF-8")];
    let target = request.line.strip_prefix("GET ").unwrap();
    let path = target.split('?').next().unwrap();
    let Some((_, kind, member)) = LISTS.iter().find(|it| it.0 == path) else {
        return told(404, &json, "{}");
    };
    let bearer = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    let scope = state.tokens.get(bearer.unwrap_or_default());
    assert_eq!(scope.map(String::as_str), Some(kind.oauth_scope()), "{target}");
    let page = parameter(request, "pageToken");
    let from: usize = page.strip_prefix('p').map_or(0, |it| it.parse().unwrap());
    let is_due =
        |it: &&mut Fault| it.kind == *kind && 0 < it.n && (it.page == page || it.page == "*");
    if let Some(fault) = state.faults.iter_mut().find(is_due) {
        fault.n -= 1;
        return fault.told.clone();
    }
    if member.is_empty() {
        return told(200, &json, &state.wire["customer"].to_string());
    }
    let application = path.strip_prefix("/admin/reports/v1/activity/users/all/applications/");
    let event = parameter(request, "eventName");
    let is_asked = |it: &&Value| {
        application.is_none_or(|name| it["id"]["applicationName"] == name)
            && (event.is_empty() || it["events"][0]["name"] == event.as_str())
    };
    let rows: Vec<&Value> =
        state.wire[kind.as_str()].as_array().unwrap().iter().filter(is_asked).collect();
    let sizes = ["maxResults", "pageSize"].map(|it| parameter(request, it));
    let size: usize = sizes.iter().find_map(|it| it.parse().ok()).unwrap_or(100);
    let size = state.page_max.filter(|it| it.0 == *kind).map_or(size, |it| it.1);
    let mut body = json!({"kind": "a list", "etag": "\"x\""});
    let found: Vec<&Value> = rows.iter().skip(from).take(size).copied().collect();
    if !found.is_empty() {
        body[*member] = json!(found);
    }
    if from + size < rows.len() {
        body["nextPageToken"] = format!("p{}", from + size).into();
    }
    told(200, &json, &body.to_string())
}
