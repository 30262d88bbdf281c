//! The page that leads from an empty installation to a client with a score and a key.

use serde_json::{Value, json};

use super::browser::{Browser, add_user};
use crate::harness::{Posture, send};
use crate::manage::{GOOD, prowler};

fn shows(browser: &Browser, said: &[&str]) -> String {
    let page = browser.get("/start");
    let text = page.text();
    assert_eq!(page.status, 200, "{text}");
    for it in said {
        assert!(text.contains(it), "{it}: {text}");
    }
    text
}

#[test]
fn four_steps_lead_to_a_score_and_a_key() {
    let posture = Posture::start_with(|options| {
        options.app.connect.dns_server = Some("127.0.0.1:9".parse().unwrap());
    });
    add_user(&posture, "ada", "admin", &[]);
    let mut browser = Browser::signed_in(posture.address, "ada");
    assert!(browser.get("/").text().contains("href=\"/start\""));
    shows(&browser, &["set up a second factor", "They are about a client. Add one first."]);
    let token = browser.token("/start");
    let nameless = browser.post("/start/client", &[("token", &token), ("name", "")]);
    assert_eq!(nameless.status, 400);
    assert!(nameless.text().contains("First steps") && nameless.text().contains("role=\"alert\""));
    let client = [("token", token.as_str()), ("name", "Acme"), ("employeeCount", "40")];
    let added = browser.post("/start/client", &client);
    assert_eq!(added.header("location"), Some("/start?done=first-client"), "{}", added.text());
    let clients = posture.operator("GET", "/api/clients", &Value::Null).json();
    let id = clients["data"][0]["id"].as_str().unwrap();
    assert_eq!(clients["data"][0]["employeeCount"], 40);
    shows(&browser, &["Domains of Acme", &format!("action=\"/start/{id}/import\"")]);
    assert!(browser.get("/").text().contains("No client has a score yet."));

    let dns = [("token", token.as_str()), ("domains", "acme.example\nacme.test")];
    let connected = browser.post(&format!("/start/{id}/dns"), &dns);
    assert_eq!(connected.header("location"), Some("/start?done=first-connection"));
    let connection = &posture.operator("GET", "/api/connections", &Value::Null).json()["data"][0];
    assert_eq!((&connection["kind"], &connection["clientId"]), (&json!("dns"), &json!(id)));
    shows(&browser, &["data-refresh=\"3\"", "Public DNS records are being read"]);

    let file = prowler(GOOD);
    let path = format!("/start/{id}/import");
    let refused = browser.upload(&path, &[("token", &token)], ("a.txt", b"no file of any tool"));
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("not recognized"), "{}", refused.text());
    let imported = browser.upload(&path, &[("token", &token)], ("prowler.csv", &file));
    assert_eq!(imported.header("location"), Some("/start?done=first-import"));
    shows(&browser, &["1 of 1 clients have a score"]);

    let key = browser.post("/start/key", &[("token", &token), ("name", "Dashboard")]);
    let page = key.text();
    assert_eq!(key.status, 201, "{page}");
    let secret = page.split("<pre>").nth(1).unwrap().split('<').next().unwrap();
    let headers = [("X-API-Key", secret)];
    let listed = send(posture.address, "GET", "/api/v1/clients", &headers, b"");
    assert_eq!(listed.json()["data"][0]["name"], "Acme", "{}", listed.text());
    let pushed = send(posture.address, "POST", "/api/v1/assets", &headers, b"{}");
    assert_eq!(pushed.status, 403, "the key only reads: {}", pushed.text());
    let after = shows(&browser, &["The first steps are done."]);
    assert!(!after.contains(secret), "the key is shown once");
    assert!(!browser.get("/").text().contains("href=\"/start\""));
}

#[test]
fn only_administrators_take_the_first_steps() {
    let posture = Posture::start();
    for role in ["analyst", "viewer"] {
        add_user(&posture, role, role, &[]);
        let mut browser = Browser::signed_in(posture.address, role);
        assert_eq!(browser.get("/start").status, 403, "{role}");
        assert!(!browser.get("/").text().contains("/start"), "{role}");
        let token = browser.token("/me");
        for path in ["/start/client", "/start/key"] {
            let refused = browser.post(path, &[("token", &token), ("name", "A")]);
            assert_eq!(refused.status, 403, "{role} {path}");
        }
    }
    assert_eq!(posture.operator("GET", "/api/keys", &Value::Null).json()["data"], json!([]));
}
