//! The same about many clients on pages, and holds.

use serde_json::Value;

use super::forms::api;
use super::with_admin;

#[test]
fn the_same_is_tried_stated_and_undone_at_many_clients() {
    let (posture, mut browser) = with_admin();
    let [acme, _beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let token = browser.token("/me");
    let said = [
        ("token", token.as_str()),
        ("clientIds", "Acme\nBeta"),
        ("attestation.controlCode", "GOV-14"),
        ("attestation.status", "compliant"),
        ("attestation.evidence", "dms://plan"),
        ("reason", "One plan for all"),
    ];
    let tried = browser.post("/batches/attest/try", &said);
    let text = tried.text();
    assert_eq!(tried.status, 200, "{text}");
    assert!(text.contains("at 2 of 2 clients") && text.contains("value=\"dms://plan\""), "{text}");
    assert_eq!(api(&posture, "/api/batches"), Value::Array(Vec::new()));
    // What is wrong is said on the page, with what was filled in.
    let wrong = browser.post("/batches/attest", &[&said[..], &[("tag", "gold")]].concat());
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.text().contains("either clientIds or tag") && wrong.text().contains("dms://plan")
    );
    let begun = browser.post("/batches/attest", &said);
    assert_eq!(begun.status, 303, "{}", begun.text());
    let page = begun.header("location").unwrap().to_owned();
    while posture.block_on(posture.app.advance_batches()).unwrap() {}
    let path = page.split('?').next().unwrap().to_owned();
    let text = browser.get(&page).text();
    for part in
        ["It is being stated", "GOV-14 compliant", "Acme", "One plan for all", "Undo all of it"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let why = [("token", token.as_str()), ("reason", "Other clients were meant")];
    assert_eq!(browser.post(&format!("{path}/undo"), &why).status, 303);
    while api(&posture, &format!("/api{path}"))["state"] != "undone" {
        posture.block_on(posture.app.advance_batches()).unwrap();
    }
    let text = browser.get(&path).text();
    assert!(
        text.contains("Other clients were meant") && !text.contains("Undo all of it"),
        "{text}"
    );
    assert!(browser.get("/batches").text().contains("GOV-14 compliant"));
    let control = api(&posture, &format!("/api/clients/{acme}/controls/GOV-14"));
    assert_eq!(control["attestation"], Value::Null);
}

#[test]
fn a_hold_is_placed_and_lifted_and_a_receipt_is_shown() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("Acme");
    let token = browser.token("/me");
    let settings = format!("/clients/{client}/settings");
    assert!(browser.get(&settings).text().contains("32 CFR 170.17"), "CMMC_L2 is in scope");
    let hold = [("token", token.as_str()), ("reason", "Case 4711"), ("until", "2030-01-01")];
    let placed = browser.post(&format!("/clients/{client}/hold"), &hold);
    assert_eq!(placed.status, 303, "{}", placed.text());
    let text = browser.get(&settings).text();
    assert!(text.contains("Case 4711") && text.contains("Lift the hold"), "{text}");
    let erase = browser.post(&format!("{settings}/remove"), &[("token", token.as_str())]);
    assert_eq!(erase.status, 409, "{}", erase.text());
    let why = [("token", token.as_str()), ("reason", "Settled")];
    assert_eq!(browser.post(&format!("/clients/{client}/release"), &why).status, 303);
    assert_eq!(api(&posture, &format!("/api/clients/{client}"))["hold"], Value::Null);
    let erased = browser.post(&format!("{settings}/remove"), &[("token", token.as_str())]);
    assert_eq!(erased.status, 303, "{}", erased.text());
    let receipt = api(&posture, "/api/erasures")[0].clone();
    let text = browser.get("/audit").text();
    assert!(text.contains(receipt["clientSha256"].as_str().unwrap()), "{text}");
}
