//! The audit log as people read it.

use serde_json::Value;

use super::with_admin;

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
