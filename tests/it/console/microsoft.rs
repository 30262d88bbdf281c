//! The page that leads from nothing to a first read of a Microsoft tenant.

use std::time::Duration;

use posture::connect::microsoft::registration::PERMISSIONS;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::browser::{Browser, PASSWORD};
use crate::connect::graph::{APP, Graph, Told};
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server, wait_until};
use crate::harness::{Answer, Posture};

const WAIT: Duration = Duration::from_mins(1);
const TENANT: &str = "msp.example";

/// What the authority says of a certificate that it does not know.
fn unknown_certificate() -> Told {
    let refusal = json!({
        "error": "invalid_client", "error_codes": [700_027], "error_description": "AADSTS700027: x",
    });
    Told::Raw(401, Vec::new(), refusal.to_string())
}

fn refused(code: u32) -> Told {
    let refusal =
        json!({"error": "unauthorized_client", "error_codes": [code], "error_description": "x"});
    Told::Raw(400, Vec::new(), refusal.to_string())
}

fn token() -> Told {
    Told::Object(json!({"access_token": "tok", "expires_in": 3599}))
}

fn add_user(folder: &Folder, name: &str, role: &str) {
    let body = json!({
        "email": format!("{name}@example.com"), "username": name, "role": role,
        "password": PASSWORD, "clientIds": [],
    });
    let json = [("Content-Type", "application/json")];
    let made =
        send_socket(&folder.socket(), "POST", "/api/users", &json, body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
}

/// Sends a form of the page.
fn send(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Answer {
    let token = browser.token("/microsoft-app");
    browser.post(path, &[&[("token", &*token)], fields].concat())
}

fn shows(answer: &Answer, said: &[&str]) {
    let text = answer.text();
    for it in said {
        assert!(text.contains(it), "{it}: {text}");
    }
}

/// Adds a connection to the tenant of the client on its page; its id.
fn connect(browser: &mut Browser, client: &str) -> String {
    let path = "/connections/add/m365";
    let token = browser.token(path);
    let form = [("token", &*token), ("clientId", client), ("settings.tenant", "acme.example")];
    let added = browser.post(path, &form);
    let page = added.header("location").unwrap_or_else(|| panic!("{}", added.text()));
    page.split(['/', '?']).nth(2).unwrap().to_owned()
}

/// An engineer with a browser, whose one client has a connection to its tenant.
struct Desk {
    graph: Graph,
    folder: Folder,
    server: Server,
    browser: Browser,
    id: String,
}

impl Desk {
    /// Microsoft knows no certificate yet, and the client has not consented.
    fn new() -> Self {
        let graph = Graph::start();
        graph.answers.set("token", unknown_certificate());
        graph.answers.set("token of acme.example", refused(700_016));
        let folder = graph.folder();
        let server = folder.serve();
        let client = folder.client("Acme");
        add_user(&folder, "ada", "admin");
        let mut browser = Browser::signed_in(server.address, "ada");
        let id = connect(&mut browser, &client);
        Self { graph, folder, server, browser, id }
    }

    fn connection(&self) -> Value {
        self.folder.ask(&format!("/api/connections/{}", self.id))["data"].clone()
    }

    fn page(&self) -> Answer {
        self.browser.get(&format!("/connections/{}", self.id))
    }

    fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        send(&mut self.browser, path, fields)
    }

    fn set_app(&mut self) {
        let set = self.send("/microsoft-app", &[("appId", APP), ("tenant", TENANT)]);
        let page = Some("/microsoft-app?done=set-microsoft-app");
        assert_eq!(set.header("location"), page, "{}", set.text());
    }

    fn test(&mut self, said: &[&str]) {
        shows(&self.send("/microsoft-app/test", &[]), said);
    }
}

#[test]
fn that_there_is_no_app_is_said_before_and_after_a_connection_is_added() {
    let mut desk = Desk::new();
    shows(&desk.browser.get("/connections"), &["href=\"/microsoft-app\""]);
    shows(&desk.browser.get("/connections/add/azure"), &["there is no app of yours at Microsoft"]);
    let dns = desk.browser.get("/connections/add/dns").text();
    assert!(!dns.contains("there is no app of yours"), "{dns}");
    shows(&desk.page(), &["there is no app of yours at Microsoft", "href=\"/microsoft-app\""]);
    assert_eq!(desk.connection()["waitsFor"], "microsoft_app");
    let first = desk.browser.get("/microsoft-app");
    shows(&first, &["There is no app yet", "/common/oauth2/nativeclient", "It is made in step 2."]);
    for it in &PERMISSIONS {
        shows(&first, &[it.name, it.purpose.split(['\'', ',']).next().unwrap()]);
    }
    let early = desk.send("/microsoft-app/test", &[]);
    assert_eq!(early.status, 404);
    shows(&early, &["there is no Microsoft app yet"]);
    let wrong = desk.send("/microsoft-app", &[("appId", "msp"), ("tenant", TENANT)]);
    shows(&wrong, &["must be the application (client) id", "value=\"msp\""]);
    assert_eq!(desk.browser.get("/microsoft-app/certificate").status, 404);
    let china = desk.browser.get("/microsoft-app?cloud=china");
    shows(&china, &["https://login.chinacloudapi.cn/common/oauth2/nativeclient"]);
}

#[test]
fn a_browser_alone_leads_from_an_app_to_a_first_read() {
    let mut desk = Desk::new();
    desk.set_app();
    let file = desk.browser.get("/microsoft-app/certificate");
    let name = file.header("content-disposition").unwrap();
    assert!(!file.text().contains("PRIVATE KEY"));
    let certificate = CertificateDer::from_pem_slice(&file.body).unwrap();
    let fingerprint = hex::encode(Sha256::digest(&certificate));
    let named = format!("attachment; filename=\"posture-app-{}.cer\"", &fingerprint[..8]);
    assert!(name.starts_with(&named), "{name}");
    shows(&desk.browser.get("/microsoft-app"), &[&fingerprint, "expires", "Renew the certificate"]);
    let is_asked = wait_until(WAIT, || desk.connection()["waitsFor"] == "consent");
    assert!(is_asked, "it was tried at once: {}", desk.connection());
    let link =
        format!("https://login.microsoftonline.com/acme.example/adminconsent?client_id={APP}");
    shows(&desk.page(), &[&link, "To the administrator of Acme", "Read now"]);

    // The client consents, and the certificate is uploaded.
    desk.graph.answers.set("token", token());
    desk.graph.answers.set("token of acme.example", token());
    desk.test(&["The app is as it has to be", "1 connection that waited is being read now."]);
    let is_read = wait_until(WAIT, || desk.connection()["health"] == "healthy");
    assert!(is_read, "{}", desk.connection());
    assert_eq!(desk.connection()["waitsFor"], Value::Null);
    let page = desk.page().text();
    assert!(page.contains("Consent link") && !page.contains("A text to send"), "{page}");

    let log = desk.folder.ask("/api/audit?limit=100").to_string();
    for action in ["PUT /api/microsoft-app", "POST /api/microsoft-app/test"] {
        assert!(log.contains(action), "{action}: {log}");
    }
}

#[test]
fn a_new_certificate_replaces_the_old_one_when_microsoft_knows_it() {
    let mut desk = Desk::new();
    desk.set_app();
    desk.graph.answers.set("token", token());
    let app = |desk: &Desk| desk.folder.ask("/api/microsoft-app")["data"].clone();
    let old = app(&desk);
    let renewed = desk.send("/microsoft-app/renew", &[]);
    assert_eq!(renewed.header("location"), Some("/microsoft-app?done=renew-microsoft-app"));
    let both = app(&desk);
    let next = both["newCertificate"].clone();
    assert_eq!(
        (&both["fingerprint"], &both["expiresAt"]),
        (&old["fingerprint"], &old["expiresAt"])
    );
    assert_ne!(next["fingerprint"], old["fingerprint"]);
    let file = desk.browser.get("/microsoft-app/certificate").text();
    assert_eq!(file, next["certificatePem"].as_str().unwrap());
    let page = desk.browser.get("/microsoft-app");
    shows(&page, &["waits to be uploaded", next["fingerprint"].as_str().unwrap()]);

    desk.graph.answers.set("token", unknown_certificate());
    desk.test(&["until Microsoft knows the new certificate, the one before is used"]);
    assert_eq!(app(&desk), both);
    desk.graph.answers.set("token", token());
    desk.test(&["Microsoft lets the app in"]);
    let known = app(&desk);
    assert_eq!(known["fingerprint"], next["fingerprint"]);
    assert_eq!(known["expiresAt"], next["expiresAt"]);
    assert_eq!((&known["newCertificate"], &known["usable"]), (&Value::Null, &json!(true)));
    desk.test(&["Microsoft lets the app in"]);
    // Another app has no use for it.
    assert_eq!(desk.send("/microsoft-app/renew", &[]).status, 303);
    desk.set_app();
    assert_eq!(app(&desk)["newCertificate"], Value::Null);
}

#[test]
fn ids_are_corrected_without_a_new_certificate() {
    let mut desk = Desk::new();
    let early = desk.send("/microsoft-app/ids", &[("tenant", TENANT)]);
    assert_eq!(early.status, 404, "{}", early.text());
    desk.set_app();
    assert_eq!(desk.send("/microsoft-app/renew", &[]).status, 303);
    let before = desk.folder.ask("/api/microsoft-app")["data"].clone();
    let other = [("appId", "00000000-1111-2222-3333-555555555555"), ("tenant", "Other.example")];
    let done = desk.send("/microsoft-app/ids", &other);
    assert_eq!(done.header("location"), Some("/microsoft-app?done=change-microsoft-app"));
    let mut expected = before;
    let after = desk.folder.ask("/api/microsoft-app")["data"].clone();
    expected["appId"] = json!(other[0].1);
    expected["tenant"] = json!("other.example");
    expected["updatedAt"] = after["updatedAt"].clone();
    assert_eq!(after, expected);
    desk.graph.answers.set("token", token());
    desk.graph.answers.set("token of other.example", token());
    desk.test(&["Microsoft lets the app in to other.example"]);
    shows(&desk.send("/microsoft-app/ids", &[("appId", "x")]), &["application (client) id"]);
}

#[test]
fn an_optional_setting_is_cleared_in_the_browser() {
    let mut desk = Desk::new();
    let client = desk.folder.client("Birch");
    let token = desk.browser.token("/microsoft-app");
    let one = "00000000-1111-2222-3333-666666666666";
    let form = [
        ("token", &*token),
        ("clientId", &client),
        ("settings.tenant", "birch.example"),
        ("settings.subscriptions", one),
    ];
    let added = desk.browser.post("/connections/add/azure", &form);
    let id = added.header("location").unwrap().split(['/', '?']).nth(2).unwrap().to_owned();
    let settings = |desk: &Desk| {
        desk.folder.ask(&format!("/api/connections/{id}"))["data"]["settings"].clone()
    };
    assert_eq!(settings(&desk), json!({"tenant": "birch.example", "subscriptions": one}));
    let form =
        [("token", &*token), ("settings.tenant", "birch.example"), ("settings.subscriptions", "")];
    let changed = desk.browser.post(&format!("/connections/{id}/settings"), &form);
    assert_eq!(changed.status, 303, "{}", changed.text());
    assert_eq!(settings(&desk), json!({"tenant": "birch.example"}));
}

#[test]
fn a_new_certificate_is_used_when_the_old_one_has_expired() {
    let posture = Posture::start();
    let soon = (posture.now().plus_days(3)).to_string();
    posture.set_microsoft_app(&soon);
    let notice = |posture: &Posture| {
        posture.block_on(posture.app.note_connections()).unwrap();
        let system = posture.operator("GET", "/api/system", &Value::Null).json();
        system["data"]["notices"][0]["message"].as_str().unwrap().to_owned()
    };
    assert!(notice(&posture).contains("Renew it on the page Microsoft app"));
    let renew = posture.operator("POST", "/api/microsoft-app/renew", &json!({}));
    let next = renew.json()["data"]["newCertificate"]["fingerprint"].clone();
    assert!(notice(&posture).ends_with("A new certificate waits: upload it, and test the app"));
    posture.pass_days(4);
    let app = posture.operator("GET", "/api/microsoft-app", &Value::Null).json()["data"].clone();
    assert_eq!((&app["fingerprint"], &app["newCertificate"]), (&next, &Value::Null));
}

#[test]
fn a_wrong_tenant_is_seen_and_corrected() {
    let mut desk = Desk::new();
    let birch = desk.folder.client("Birch");
    let other = connect(&mut desk.browser, &birch);
    let own = desk.connection();
    let page = desk.browser.get(&format!("/connections/{other}"));
    shows(
        &page,
        &["A connection of another client reads the same", &format!("/connections/{}", desk.id)],
    );
    assert_eq!(own["twins"][0], json!({"connectionId": other, "clientId": birch}));
    let token = desk.browser.token("/microsoft-app");
    let path = format!("/connections/{other}/settings");
    let form = [("token", &*token), ("name", "Birch 365"), ("settings.tenant", "birch.example")];
    let changed = desk.browser.post(&path, &form);
    let there = format!("/connections/{other}?done=change-connection");
    assert_eq!(changed.header("location"), Some(&*there), "{}", changed.text());
    shows(&desk.browser.get(&there), &["birch.example", "Birch 365"]);
    assert_eq!(desk.connection()["twins"], json!([]));
    // Who may not see the other client does not learn that it reads the same.
    let form = [("token", &*token), ("settings.tenant", "acme.example")];
    assert_eq!(desk.browser.post(&path, &form).status, 303);
    let viewer = json!({
        "email": "vi@example.com", "username": "vi", "role": "viewer", "password": PASSWORD,
        "clientIds": [birch],
    });
    let json = [("Content-Type", "application/json")];
    let body = viewer.to_string();
    let made = send_socket(&desk.folder.socket(), "POST", "/api/users", &json, body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let browser = Browser::signed_in(desk.server.address, "vi");
    let page = browser.get(&format!("/connections/{other}")).text();
    assert!(page.contains("acme.example") && !page.contains("reads the same"), "{page}");
}

#[test]
fn a_test_of_the_app_says_of_each_step_what_to_do() {
    let mut desk = Desk::new();
    let secret = [("appId", APP), ("tenant", TENANT), ("clientSecret", "x")];
    assert_eq!(desk.send("/microsoft-app", &secret).status, 303);
    desk.test(&[
        "not yet as it has to be",
        "does not know the certificate of the app",
        "not reached",
    ]);
    desk.graph.answers.set("token", refused(700_016));
    desk.test(&["Microsoft knows no app 00000000-1111", "check both ids"]);
    for (code, said) in [
        (7_000_112, "the app is disabled in the tenant"),
        (500_011, "the tenant has no service principal of the API"),
        (530_004, "asks for a compliant device"),
        (1_002_016, "a proxy on the way must use TLS 1.2"),
    ] {
        desk.graph.answers.set("token", refused(code));
        desk.test(&[said]);
    }
    desk.graph.answers.set("token", token());
    desk.graph.answers.register(&PERMISSIONS[1..].iter().map(|it| it.name).collect::<Vec<_>>());
    desk.test(&["missing: Organization.Read.All;", "1 connection that waited is being read now."]);
    let path = format!("/applications(appId='{APP}')");
    desk.graph.answers.fail(&path, 403, "Authorization_RequestDenied", "Insufficient privileges.");
    desk.test(&["may not read its own registration: Application.Read.All is missing"]);
    for (registered, said) in [
        (json!({"signInAudience": "AzureADMyOrg"}), "choose Multiple Entra ID tenants"),
        (json!({"signInAudience": "AzureADMultipleOrgs"}), "nativeclient is missing"),
    ] {
        desk.graph.answers.set(&path, Told::Object(registered));
        desk.test(&[said]);
    }
    let all = PERMISSIONS.iter().filter(|it| !it.is_optional).map(|it| it.name);
    desk.graph.answers.register(&all.chain(["Mail.Read"]).collect::<Vec<_>>());
    desk.test(&[
        "The app is as it has to be",
        "but for UserAuthenticationMethod.Read.All, which is optional",
        "Mail.Read can be removed",
    ]);
    let all = PERMISSIONS.iter().map(|it| it.name);
    let writing = ["Directory.ReadWrite.All", "Mail.Send"];
    desk.graph.answers.register(&all.chain(writing).collect::<Vec<_>>());
    desk.test(&["Directory.ReadWrite.All, Mail.Send can do more than read", "remove it"]);
}

#[test]
fn others_than_administrators_see_the_app_and_change_nothing() {
    let (posture, _) = super::with_admin();
    posture.set_microsoft_app("2027-01-01T00:00:00Z");
    super::add_user(&posture, "vi", "viewer", &[]);
    let mut browser = Browser::signed_in(posture.address, "vi");
    let page = browser.get("/microsoft-app").text();
    assert!(page.contains("8a3b0c7e-5a11") && page.contains("Client secret"), "{page}");
    assert!(!page.contains("action=\"/microsoft-app"), "{page}");
    for path in ["/microsoft-app", "/microsoft-app/renew", "/microsoft-app/test"] {
        let token = browser.token("/me");
        let sent = [("token", &*token), ("appId", APP), ("tenant", TENANT)];
        assert_eq!(browser.post(path, &sent).status, 403, "{path}");
    }
    assert_eq!(browser.get("/microsoft-app/certificate").status, 404, "it has a client secret");
}
