//! Whose file it is: a tenant of a vendor belongs to one client.

use posture::app::intake::file::binding::N_TENANTS_MAX;
use serde_json::{Value, json};

use crate::harness::http::send;
use crate::harness::process::Folder;
use crate::harness::sample::own;
use crate::harness::{Answer, Posture};

fn message(done: &Answer) -> String {
    done.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// A report of ScubaGear about this tenant.
fn scuba(tenant: &str) -> Vec<u8> {
    let text = String::from_utf8(own("report/scuba.json")).unwrap();
    text.replace("5C8D1F20-7f3e-4c0a-9a55-3b1f0e6d2a11", tenant).into_bytes()
}

const ONE: &str = "5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11";
const TWO: &str = "11111111-2222-4333-8444-555555555555";
const NOW: &str = "observedAt=now";
const BIND: &str = "observedAt=now&bind=true";

#[test]
fn a_tenant_belongs_to_the_client_of_its_first_file() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let n_imports = |client: &str| {
        let all = posture.operator("GET", &format!("/api/clients/{client}/imports"), &Value::Null);
        all.json()["data"].as_array().unwrap().len()
    };
    assert_eq!(posture.import_own(&acme, NOW, &scuba(ONE)).status, 200);
    assert_eq!(
        posture.import_own(&acme, NOW, &own("report/maester.json")).status,
        200,
        "the same tenant"
    );
    let refused = posture.import_own(&beta, NOW, &scuba(ONE));
    assert_eq!(refused.status, 409);
    let why = format!(
        "the file is about m365/{ONE}, which belongs to the client Acme; check whose file it is"
    );
    assert!(message(&refused).starts_with(&why), "{}", message(&refused));
    let refused = posture.import_own(&acme, NOW, &scuba(TWO));
    assert_eq!(refused.status, 409, "{}", refused.text());
    let why = format!("the file is about m365/{TWO}, and the client has m365/{ONE} so far");
    assert!(refused.status == 409 && message(&refused).starts_with(&why), "{}", message(&refused));
    assert_eq!((n_imports(&acme), n_imports(&beta)), (2, 0));
    // Other vendors, and what is no tenant of one.
    for name in ["prowler/aws.csv", "report/pingcastle.xml", "report/lynis.dat", "report/xccdf.xml"]
    {
        assert_eq!(posture.import_own(&acme, NOW, &own(name)).status, 200, "{name}");
    }
    for name in ["report/lynis.dat", "report/xccdf.xml", "nmap/network.xml"] {
        assert_eq!(posture.import_own(&beta, NOW, &own(name)).status, 200, "{name}");
    }
    // It is right.
    assert_eq!(posture.import_own(&acme, BIND, &scuba(TWO)).status, 200);
    let again = "observedAt=now&again=true";
    assert_eq!(posture.import_own(&acme, again, &scuba(TWO)).status, 200);
    assert_eq!(posture.import_own(&beta, BIND, &scuba(ONE)).status, 200);
    assert_eq!(posture.import_own(&acme, again, &scuba(ONE)).status, 409, "now it is Beta's");
    let posture = posture.restart();
    assert_eq!(posture.import_own(&acme, again, &scuba(ONE)).status, 409);
}

#[test]
fn an_import_that_is_undone_or_fails_binds_nothing_and_a_client_that_is_erased_frees_its_tenants() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    assert_eq!(posture.import_own(&acme, "", &own("report/scuba.json")).status, 200);
    let list = format!("/api/clients/{acme}/imports");
    let id = posture.operator("GET", &list, &Value::Null).json()["data"][0]["id"].clone();
    assert_eq!(posture.import_own(&beta, NOW, &scuba(ONE)).status, 409);
    let undone =
        posture.operator("DELETE", &format!("{list}/{}", id.as_str().unwrap()), &Value::Null);
    assert_eq!(undone.status, 200);
    let old = String::from_utf8(scuba(ONE)).unwrap().replace("2026-11", "2016-11").into_bytes();
    assert_eq!(posture.import_own(&acme, "", &old).status, 400, "too old to count");
    assert_eq!(posture.import_own(&beta, NOW, &scuba(ONE)).status, 200);
    let erased = posture.operator("DELETE", &format!("/api/clients/{beta}"), &Value::Null);
    assert_eq!(erased.status, 200);
    posture.sweep();
    assert_eq!(posture.import_own(&acme, NOW, &scuba(ONE)).status, 200);
}

#[test]
fn who_may_not_know_of_the_other_client_does_not_learn_its_name() {
    let posture = Posture::start();
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    assert_eq!(posture.import_own(&acme, NOW, &scuba(ONE)).status, 200);
    let (email, password) = ("ann@example.com", "ochre kettle, nine moths");
    let user =
        json!({"email": email, "role": "analyst", "password": password, "clientIds": [beta]});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let bearer = format!("Bearer {}", posture.log_in(email, password));
    let path = format!("/api/clients/{beta}/imports?observedAt=now");
    let headers = [("Authorization", bearer.as_str())];
    for path in [path.clone(), format!("{path}&bind=true")] {
        let refused = send(posture.address, "POST", &path, &headers, &scuba(ONE));
        assert_eq!(refused.status, 403, "{}", refused.text());
        let message = message(&refused);
        assert!(message.contains("you may not import for this client"), "{message}");
        assert!(!message.contains("Acme") && !message.contains("belongs"), "{message}");
    }
}

/// An analyst who is limited to these clients.
fn analyst(posture: &Posture, name: &str, clients: &[&str]) -> String {
    let (email, password) = (format!("{name}@example.com"), "ochre kettle, nine moths");
    let user =
        json!({"email": email, "role": "analyst", "password": password, "clientIds": clients});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    format!("Bearer {}", posture.log_in(&email, password))
}

fn import_as(posture: &Posture, bearer: &str, client: &str, query: &str, file: &[u8]) -> Answer {
    let path = format!("/api/clients/{client}/imports?{query}");
    send(posture.address, "POST", &path, &[("Authorization", bearer)], file)
}

fn moves(posture: &Posture) -> Vec<String> {
    let log = posture.operator("GET", "/api/audit?action=move%20tenant", &Value::Null).json();
    let about = |it: &Value| it["about"].as_str().unwrap().to_owned();
    log["data"].as_array().unwrap().iter().rev().map(about).collect()
}

#[test]
fn what_a_limited_caller_claims_decides_nothing_for_others() {
    let posture = Posture::start();
    let [acme, beta, gamma] = ["Acme", "Beta", "Gamma"].map(|it| posture.client(it));
    let of_acme = analyst(&posture, "a", &[&acme]);
    let of_beta = analyst(&posture, "b", &[&beta]);
    let of_both = analyst(&posture, "ab", &[&acme, &beta]);
    let import = |by: &str, client: &str, query: &str| {
        import_as(&posture, by, client, query, &scuba(ONE)).status
    };
    // Both say that it is their client's, and neither hears of the other.
    assert_eq!(import(&of_acme, &acme, NOW), 200);
    assert_eq!(import(&of_beta, &beta, NOW), 200);
    assert_eq!(import(&of_beta, &beta, "observedAt=now&again=true"), 200);
    // Who may reach them is asked, and Gamma has nothing of it yet.
    let refused = posture.import_own(&gamma, NOW, &scuba(ONE));
    let why = format!("the file is about m365/{ONE}, of which a file was imported for the client ");
    assert!(refused.status == 409 && message(&refused).starts_with(&why), "{}", refused.text());
    assert_eq!(posture.import_own(&beta, "observedAt=now&again=true", &scuba(ONE)).status, 200);
    assert_eq!(import(&of_acme, &acme, "observedAt=now&again=true"), 403, "Beta has it for all");
    assert_eq!(import(&of_acme, &acme, "observedAt=now&again=true&bind=true"), 403);
    assert!(moves(&posture).is_empty(), "nothing went from one client to another");
    // Who may reach both may move it, and undoing gives it back.
    assert_eq!(import(&of_both, &acme, "observedAt=now&again=true"), 409);
    let moved =
        import_as(&posture, &of_both, &acme, "observedAt=now&again=true&bind=true", &scuba(ONE));
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert_eq!(import(&of_beta, &beta, "observedAt=now&again=true"), 403);
    let id = moved.json()["data"]["import"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/clients/{acme}/imports/{id}");
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    assert_eq!(import(&of_beta, &beta, "observedAt=now&again=true"), 200);
    assert_eq!(import(&of_acme, &acme, "observedAt=now&again=true"), 403);
    let there = format!("m365/{ONE} from client {beta} to client {acme}");
    let back = format!("m365/{ONE} from client {acme} to client {beta}");
    // Beta had claimed it as well, as its own analyst had said.
    assert_eq!(moves(&posture), [there.clone(), there, back.clone(), back]);
    // An erased client leaves nothing, and nothing goes back to it.
    for client in [&beta, &acme] {
        let erased = posture.operator("DELETE", &format!("/api/clients/{client}"), &Value::Null);
        assert_eq!(erased.status, 200);
        posture.sweep();
    }
    assert_eq!(posture.import_own(&gamma, NOW, &scuba(ONE)).status, 200);
}

#[test]
fn the_command_says_how_to_bind() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    folder.client("Beta");
    folder.write("scuba.json", &scuba(ONE));
    let import = |client: &str, more: &[&str]| {
        let args = ["import", "--client", client, "--observed-at", "now", "scuba.json"];
        folder.run(&[&args[..], more].concat())
    };
    assert_eq!(import("Acme", &[]).code, 0);
    let refused = import("Beta", &[]);
    assert!(refused.code == 1 && refused.err.contains("repeat with --bind"), "{}", refused.err);
    assert_eq!(import("Beta", &["--bind"]).code, 0);
}

#[test]
fn a_file_is_about_a_thousand_accounts_at_most() {
    let posture = Posture::start();
    let acme = posture.client("Acme");
    let analyst = analyst(&posture, "a", &[&acme]);
    let file = |n: usize| {
        let one = crate::manage::prowler(&[("iam_root_mfa_enabled", "FAIL", "high", "root")]);
        let one = String::from_utf8(one).unwrap();
        let (head, row) = one.split_once('\n').unwrap();
        let rows = (0..n).map(|it| row.replace("111122223333", &format!("{it:012}")));
        format!("{head}\n{}", rows.collect::<String>()).into_bytes()
    };
    let refused = import_as(&posture, &analyst, &acme, NOW, &file(N_TENANTS_MAX + 1));
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert!(message(&refused).contains("1001 accounts, more than 1000"), "{}", message(&refused));
    let taken = import_as(&posture, &analyst, &acme, NOW, &file(N_TENANTS_MAX));
    assert_eq!(taken.status, 200, "{}", taken.text());
}
