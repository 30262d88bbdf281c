//! The chapters, one after another.

use posture::connect::mapping::EXAMPLE;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::ParsedCertificate;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::chapter::CONNECT;
use super::walk::Walk;
use crate::connect::ad;
use crate::connect::ad::domain::{World, user};
use crate::connect::ad::server::Row;
use crate::connect::aws;
use crate::connect::aws::cloud::{Cloud, KEY_ID, SECRET as AWS_SECRET};
use crate::connect::azure::{self, Azure};
use crate::connect::connection::folder;
use crate::connect::fault_table::tool::{Declared, Huntress, Tactical};
use crate::connect::google::server::Google;
use crate::connect::graph::{Graph, Told};
use crate::connect::mapping::tool::{OWN, SECRET, Tool, datto, ninja, now_s, own};
use crate::connect::server::{Asked, MX, Reply, Server, TXT};
use crate::connect::zone::rsa_key;

#[test]
fn dns() {
    let key: &str = rsa_key(2_048).leak();
    let names = Server::start(move |Asked { name, kind, .. }| {
        let (host, domain) = name.rsplit_once("acme.").unwrap_or_default();
        match (host, domain, *kind) {
            ("", "example" | "test", MX) => Reply::Mx("acme.mail.protection.outlook.com"),
            ("", "example" | "test", TXT) => Reply::Txt("v=spf1 -all"),
            ("_dmarc.", "example" | "test", TXT) => Reply::Txt("v=DMARC1; p=reject"),
            ("selector1._domainkey.", "example" | "test", TXT) => Reply::Txt(key),
            ("", "example" | "test", _) => Reply::Nothing,
            _ => Reply::Code(3),
        }
    });
    let mut walk = Walk::start("dns", folder(names.address));
    let listed = walk.add();
    assert!(listed.contains(walk.connection()), "{listed}");
    let shown = walk.run("posture connect show ID");
    assert!(shown.contains("acme.example") && shown.contains("acme.test"), "{shown}");
    walk.assert_reads(&[], &[]);
}

#[test]
fn microsoft_365() {
    let graph = Graph::start();
    let refusal =
        json!({"error": "unauthorized_client", "error_codes": [700_016], "error_description": "x"});
    let refusal = Told::Raw(400, Vec::new(), refusal.to_string());
    graph.answers.set("token of globex.example", refusal.clone());
    graph.answers.set("token of acme.example", refusal);
    let mut walk = Walk::start("m365", graph.folder());
    let said = walk.run_block();
    assert!(said.contains("upload posture-app.cer"), "{said}");
    let pem = std::fs::read(walk.folder.path().join("posture-app.cer")).unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem).unwrap();
    ParsedCertificate::try_from(&certificate).unwrap();
    let app = walk.run("posture connect m365 show").replace(':', "").to_lowercase();
    assert!(app.contains(&hex::encode(Sha256::digest(&certificate))), "{app}");
    let tested = walk.run("posture connect m365 test");
    assert_eq!(tested.matches(" passed ").count(), 4, "{tested}");

    let link =
        "https://login.microsoftonline.com/acme.example/adminconsent?client_id=00000000-1111";
    let said = walk.add();
    assert!(said.contains(link), "{said}");
    let shown = walk.run("posture connect show ID");
    assert!(shown.contains(link) && shown.contains("pending"), "{shown}");
    let consented = Told::Object(json!({"access_token": "tok", "expires_in": 3599}));
    graph.answers.set("token of acme.example", consented);
    walk.run("posture connect sync ID");

    walk.folder.client("Globex");
    let onboarded = walk.run_block();
    let other = link.replace("acme", "globex");
    assert!(onboarded.contains(link) && onboarded.contains(&other), "{onboarded}");
    let all = walk.folder.ask("/api/connections")["data"].as_array().unwrap().len();
    assert_eq!(all, 2, "nobody is added twice");
    // The tenant has no Entra ID P2.
    let unlicensed = [
        ("roleAssignmentScheduleInstances", "unlicensed"),
        ("roleEligibilityScheduleInstances", "unlicensed"),
        ("roleManagementPolicyAssignments", "unlicensed"),
    ];
    // It has no guests, no policies, no secrets of apps and no shared mailbox that is an account, and its score says nothing of mail.
    let more = ["EML-04", "EML-05", "EML-07", "ID-09", "ID-13", "ID-16", "ID-17", "ID-18", "ID-19"];
    walk.assert_reads(&unlicensed, &more);
}

#[test]
fn google_workspace() {
    let google = Google::start();
    let mut walk = Walk::start("google", google.folder());
    let said = walk.add();
    let link = "https://admin.google.com/ac/owl/domainwidedelegation?clientIdToAdd=";
    assert!(said.contains(link), "{said}");
    let shown = walk.run("posture connect show ID");
    assert!(shown.contains(link), "{shown}");
    let asked = google.asked().into_iter().map(|it| it.line);
    walk.assert_calls(asked, &["2sv_disable", "authorize", "revoke"]);
    walk.assert_reads(&[], &[]);
}

/// What is said of every tool: its organization is mapped to the client, and read.
fn tool(kind: &'static str, file: &str, tool: &Tool) {
    let folder = tool.folder();
    folder.write(file, SECRET.as_bytes());
    let mut walk = Walk::start(kind, folder);
    walk.add();
    let orgs = walk.run("posture connect map ID");
    assert!(orgs.contains("Acme"), "{orgs}");
    walk.run("posture connect map ID 7 'Acme Ltd'");
    walk.assert_calls(tool.asked(), &[]);
    walk.assert_reads(&[], &[]);
}

#[test]
fn ninjaone() {
    tool("ninjaone", "secret.txt", &ninja());
}

#[test]
fn datto_rmm() {
    tool("datto", "secret.txt", &datto(3));
}

#[test]
fn tactical_rmm() {
    tool("tactical", "key.txt", &Tactical::start());
}

#[test]
fn huntress() {
    tool("huntress", "secret.txt", &Huntress::start());
}

#[test]
fn a_tool_of_ones_own() {
    let tool = own();
    let site = |id: i64, name: &str| json!({"id": id, "name": name});
    tool.set("/api/sites", json!([site(1, "ACME LTD"), site(8, "Own lab")]));
    let folder = tool.folder();
    folder.write("key.txt", SECRET.as_bytes());
    let mut walk = Walk::start("example_rmm", folder);
    walk.enter("https://rmm.example.com", OWN);
    walk.run("posture connect mapping example > my.toml");
    assert!(walk.run("posture connect mapping example ninjaone").contains("ninjarmm"));
    let mapping = std::fs::read_to_string(walk.folder.path().join("my.toml")).unwrap();
    assert_eq!(mapping, EXAMPLE);
    let checked = walk.run("posture connect check my.toml");
    walk.run("posture connect mapping add my.toml");
    let added = "posture connect add example_rmm --set origin=https://rmm.example.com --set-file key=key.txt";
    let out = walk.run(added);
    walk.added(&out);
    walk.run("posture connect map ID 8 --ignore");
    walk.run("posture connect map ID --by-name");
    let orgs = walk.run("posture connect map ID");
    assert!(!orgs.contains("not mapped"), "{orgs}");
    walk.assert_complete(&[]);
    let decided: Vec<String> = walk.decided().into_iter().collect();
    assert!(checked.contains(&decided.join(", ")) && !decided.is_empty(), "{decided:?}: {checked}");
    walk.run("posture connect remove ID");
    walk.run("posture connect mapping remove example_rmm");
    walk.assert_followed();
}

#[test]
fn azure_secure_score() {
    let azure = Azure::start();
    let mut walk = Walk::start("azure", azure::connection::folder(&azure));
    let app = CONNECT.below(&["Register the app, once"]).blocks("sh").remove(0);
    walk.run_text(&app);
    let said = walk.add();
    assert!(said.contains("/acme.example/adminconsent?client_id="), "{said}");
    walk.run("posture connect set ID --set subscriptions=");
    let asked = azure.sink.requests().into_iter().map(|it| it.line);
    let calls = asked.filter(|it| it.starts_with("GET "));
    walk.assert_calls(calls, &["/subscriptions/{id}"]);
    walk.assert_reads(&[], &["CLD-11"]); // What passes shows too little.
}

#[test]
fn active_directory() {
    // Its computers signed in today, and a service has had its password for long.
    let mut world = World::new();
    let ticks = |days: i64| ((now_s() + 11_644_473_600 - days * 86_400) * 10_000_000).to_string();
    let service = user("web", 1_108).with("servicePrincipalName", "http/web");
    world.users.push(service.with("pwdLastSet", ticks(400)));
    let seen = |it: Row| it.with("lastLogonTimestamp", ticks(0));
    world.computers = world.computers.into_iter().map(seen).collect();
    let server = ad::server::Server::start(move |asked| world.answer(asked));
    let mut walk = Walk::start("ad", ad::connection::folder("secret"));
    let here = format!("host=127.0.0.1 --set port={}", server.address.port());
    walk.enter("host=dc1.acme.example", &here);
    walk.add();
    let failed = walk.fail("posture connect sync ID").out;
    assert!(failed.contains("no trusted authority issued it"), "{failed}");
    assert!(server.asked().is_empty(), "no password was sent");
    let fingerprint = failed.split("fingerprint ").nth(1).unwrap().split('.').next().unwrap();
    walk.enter("AA:BB:...", fingerprint);
    walk.folder.write("acme-ca.pem", server.pem.as_bytes());
    let trust = walk.take_block();
    let [authority, pin] = trust.lines().collect::<Vec<_>>()[..] else { panic!("{trust}") };
    walk.run_text(pin);
    walk.run("posture connect sync ID");
    // The other way.
    walk.run_text(&pin.replace("AA:BB:...", ""));
    walk.fail("posture connect sync ID");
    walk.run_text(authority);
    walk.assert_reads(&[], &[]);
}

#[test]
fn aws_account() {
    let cloud = Cloud::start();
    let folder = aws::connection::folder(&cloud);
    folder.write("key_id", KEY_ID.as_bytes());
    folder.write("secret", AWS_SECRET.as_bytes());
    let mut walk = Walk::start("aws", folder);
    walk.add();
    let shown = walk.run("posture connect show ID");
    assert!(shown.contains("pending"), "{shown}");
    let note = shown.lines().find_map(|it| it.split("external_id: ").nth(1)).expect(&shown);
    cloud.script.trust(note.trim());
    assert_eq!(note.trim(), walk.connection(), "the ExternalId is the id of the connection");
    walk.run("posture connect sync ID");
    // They are read only where the account does not block public access.
    walk.assert_reads(&[("buckets", "absent")], &["CLD-12"]); // What passes shows too little.
}
