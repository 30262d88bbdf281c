//! The audit log as people read it.

use serde_json::Value;

use super::with_admin;
use crate::harness::send;

#[test]
fn entries_of_the_audit_log_are_in_words() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("Acme <b>");
    let token = browser.token("/clients/add");
    assert_eq!(browser.post("/clients/add", &[("token", &token), ("name", "B")]).status, 303);
    let path = format!("/api/clients/{client}/controls/GOV-04");
    let attested = serde_json::json!({"status": "compliant", "reason": "read and signed", "by": "Ada", "evidence": "policies/2026.pdf"});
    let answer = posture.operator("PUT", &path, &attested);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(posture.try_log_in("ada@example.com", "wrong").status, 401);
    let page = browser.get("/audit").text();
    for (name, words) in [
        ("POST /api/clients", "Add a client"),
        ("POST /sign-in", "Sign in to the console"),
        ("PUT /api/clients/{clientId}/controls/{controlCode}", "Attest a control"),
    ] {
        let cell = format!("<td title=\"{name}\">{words}");
        assert!(page.contains(&cell), "{cell}: {page}");
    }
    // Whom it is about, by name, and as text.
    let link = format!("<a href=\"/clients/{client}\">Acme &lt;b&gt;</a> controls/GOV-04");
    assert!(page.contains(&link), "{link}: {page}");
    // Every operation has words: none is shown by its name. Acts of the service, such as its start, are in words already.
    for it in posture.operator("GET", "/api/audit?limit=100", &Value::Null).json()["data"]
        .as_array()
        .unwrap()
    {
        let name = it["action"].as_str().unwrap();
        if !name.contains(" /") {
            continue;
        }
        assert!(!page.contains(&format!(">{name}</td>")), "{name}");
    }
}

#[test]
fn entries_of_the_audit_log_are_filtered_on_its_page_and_name_keys() {
    let (posture, browser) = with_admin();
    let (first, second) = (posture.client("First"), posture.client("Second"));
    let key = posture.issue(&serde_json::json!({"name": "PSA <b>", "scopes": ["manage:clients"]}));
    let (secret, prefix) = (key["key"].as_str().unwrap(), key["prefix"].as_str().unwrap());
    let headers = [("X-API-Key", secret), ("Content-Type", "application/json")];
    let path = format!("/api/clients/{first}");
    let done = send(posture.address, "PATCH", &path, &headers, br#"{"industry": "Retail"}"#);
    assert_eq!(done.status, 200, "{}", done.text());
    let page = browser.get("/audit").text();
    let named =
        format!("<a href=\"/keys#key-{prefix}\">PSA &lt;b&gt;</a> <small>key {prefix}</small>");
    assert!(page.contains(&named), "{named}: {page}");
    // What is done to a key names it, too, and the filter offers what changes something.
    let issued = format!("\"/api/keys\"><a href=\"/keys#key-{prefix}\">PSA &lt;b&gt;</a>");
    assert!(page.contains(&issued), "{issued}: {page}");
    assert!(page.contains("<option value=\"POST /api/keys\">") && !page.contains("\"GET /api"));
    let keys = browser.get("/keys").text();
    assert!(keys.contains(&format!("id=\"key-{prefix}\"")), "{keys}");
    let n_rows = |query: &str| {
        let page = browser.get(&format!("/audit?{query}")).text();
        let file = browser.get(&format!("/audit/csv/audit?{query}")).text();
        let n_rows = page.matches("<tr><td class=\"n\">").count();
        assert_eq!(n_rows, file.lines().count().saturating_sub(1), "{query}: {file}");
        (n_rows, page)
    };
    assert_eq!(n_rows(&format!("by=key+{prefix}")).0, 1);
    assert_eq!(n_rows("action=POST+%2Fapi%2Fclients").0, 2);
    let (n, page) = n_rows(&format!("clientId={second}"));
    assert!(
        n == 1
            && page.contains(&format!("Only what names <a href=\"/clients/{second}\">Second</a>.")),
        "{page}"
    );
    assert!(page.contains(&format!("type=\"hidden\" name=\"clientId\" value=\"{second}\"")));
    assert!(page.contains("<a href=\"/audit\">All entries</a>"), "{page}");
    assert_eq!(n_rows("from=2026-03-11").0, 0);
    let (n, page) = n_rows("from=2026-03-10&until=2026-03-10&action=POST+%2Fapi%2Fclients");
    assert!(n == 2 && page.contains("name=\"from\" value=\"2026-03-10\""), "{page}");
    let chosen = "<option value=\"POST /api/clients\" selected>Add a client</option>";
    assert!(page.contains(chosen), "{page}");
    let none = browser.get("/audit?by=nobody+else").text();
    assert!(none.contains("No entries match."), "{none}");
    assert_eq!(browser.get("/audit?from=1").status, 400);
    let settings = browser.get(&format!("/clients/{second}/settings")).text();
    assert!(settings.contains(&format!("href=\"/audit?clientId={second}\"")), "{settings}");
}
