//! Connections of the service: added, run, paused, removed, and what they leave in controls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::google::server::key_file;
use super::server::{Asked, MX, Reply, Server, TXT};
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, wait_until};
use crate::harness::tls::authority;

const WAIT: Duration = Duration::from_mins(1);

/// A name server that knows two domains, until it is broken.
struct Names {
    server: Server,
    is_broken: Arc<AtomicBool>,
}

fn answer(asked: &Asked) -> Reply {
    match (asked.name.as_str(), asked.kind) {
        ("good.example" | "weak.example", MX) => Reply::Mx("10 mail.example."),
        ("good.example", TXT) => Reply::Txt("v=spf1 ip4:192.0.2.1 -all"),
        ("_dmarc.good.example", TXT) => Reply::Txt("v=DMARC1; p=reject"),
        ("weak.example", TXT) => Reply::Txt("v=spf1 +all"),
        ("good.example" | "weak.example", _) => Reply::Nothing,
        _ => Reply::Code(3),
    }
}

impl Names {
    fn start() -> Self {
        let is_broken = Arc::new(AtomicBool::new(false));
        let broken = Arc::clone(&is_broken);
        let server = Server::start(move |asked| {
            if broken.load(Ordering::Relaxed) { Reply::Code(2) } else { answer(asked) }
        });
        Self { server, is_broken }
    }
}

/// A folder whose configuration asks this name server.
pub fn folder(dns: SocketAddr) -> Folder {
    let folder = Folder::new();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\ndns_server = \"{dns}\"\n"
    );
    folder.write("posture.toml", text.as_bytes());
    folder
}

fn status(folder: &Folder, client: &str, code: &str) -> String {
    let posture = folder.ask(&format!("/api/clients/{client}/posture"));
    let controls = posture["data"]["controls"].as_array().unwrap();
    let control = controls.iter().find(|it| it["controlCode"] == code).unwrap();
    control["status"].as_str().unwrap().to_owned()
}

fn connections(folder: &Folder) -> Vec<Value> {
    folder.ask("/api/connections")["data"].as_array().unwrap().clone()
}

pub fn add(folder: &Folder, domains: &[&str]) -> String {
    let mut args = vec!["connect", "add", "dns", "--client", "Acme", "--no-wait"];
    args.extend(domains.iter().flat_map(|it| ["--domain", it]));
    folder.ok(&args).trim_end().to_owned()
}

fn waits_for(folder: &Folder, what: &str, is_so: impl Fn(&Value) -> bool) {
    let mut last = Value::Null;
    let came = wait_until(WAIT, || {
        last = connections(folder).first().cloned().unwrap_or_default();
        is_so(&last)
    });
    assert!(came, "{what}: {last}");
}

fn n_events(folder: &Folder, kind: &str) -> usize {
    let events = folder.ask(&format!("/api/events?type={kind}&limit=100"));
    events["data"].as_array().unwrap().len()
}

#[test]
fn a_connection_reads_at_once_and_what_it_finds_decides_controls() {
    let names = Names::start();
    let folder = folder(names.server.address);
    let _server = folder.serve();
    let client = folder.client("Acme");
    let id = add(&folder, &["Good.Example."]);
    waits_for(&folder, "the first run", |it| it["health"] == "healthy");
    assert_eq!(status(&folder, &client, "EML-01"), "compliant");
    assert_eq!(status(&folder, &client, "EML-03"), "compliant");
    assert_eq!(n_events(&folder, "integration_sync_completed"), 1);
    let shown = folder.ok(&["connect", "show", &id]);
    assert!(shown.contains("good.example") && shown.contains("healthy"), "{shown}");
    let listed = &connections(&folder)[0];
    assert_eq!(listed["source"], "dns");
    assert_eq!(listed["domains"], json!(["good.example"]));
    assert!(listed["nextRunAt"].as_str() > listed["lastRunAt"].as_str(), "{listed}");

    folder.ok(&["connect", "set", &id, "--domain", "good.example", "--domain", "weak.example"]);
    waits_for(&folder, "both domains", |it| it["parts"].as_array().unwrap().len() == 2);
    assert_ne!(status(&folder, &client, "EML-01"), "compliant", "one domain has +all");
    folder.ok(&["connect", "set", &id, "--domain", "good.example"]);
    waits_for(&folder, "one domain", |it| it["parts"].as_array().unwrap().len() == 1);
    assert_eq!(status(&folder, &client, "EML-01"), "compliant", "the other is retracted");
}

#[test]
fn what_cannot_be_read_changes_no_control_and_is_named() {
    let names = Names::start();
    let folder = folder(names.server.address);
    let _server = folder.serve();
    let client = folder.client("Acme");
    let id = add(&folder, &["good.example", "weak.example"]);
    waits_for(&folder, "the first run", |it| it["health"] == "healthy");
    let before = ["EML-01", "EML-03"].map(|it| status(&folder, &client, it));
    names.is_broken.store(true, Ordering::Relaxed);
    let synced = folder.run(&["connect", "sync", &id]);
    assert_eq!(synced.code, 1, "{synced:?}");
    assert!(synced.err.contains("not everything could be read"), "{}", synced.err);
    assert!(synced.out.contains("good.example"), "{}", synced.out);
    let now = &connections(&folder)[0];
    assert_eq!((&now["health"], &now["failures"]), (&json!("failing"), &json!(1)));
    assert_ne!(now["lastSuccessAt"], now["lastRunAt"]);
    assert_eq!(["EML-01", "EML-03"].map(|it| status(&folder, &client, it)), before);
    assert_eq!(n_events(&folder, "integration_sync_failed"), 1);
    assert_eq!(n_events(&folder, "connector_health_changed"), 1);
    let tested = folder.run(&["connect", "test", &id]);
    assert_eq!(tested.code, 1, "{tested:?}");
    assert!(tested.out.ends_with("it would decide no control\n"), "{}", tested.out);
    names.is_broken.store(false, Ordering::Relaxed);
    let tested = folder.ok(&["connect", "test", &id]);
    assert!(tested.contains("EML-01") && tested.contains("non_compliant"), "{tested}");
    assert_eq!(connections(&folder)[0]["health"], "failing", "a test changes nothing");
    folder.ok(&["connect", "sync", &id, "--json"]);
    assert_eq!(n_events(&folder, "connector_health_changed"), 2);
}

#[test]
fn a_connection_is_paused_resumed_and_removed_with_what_it_found() {
    let names = Names::start();
    let folder = folder(names.server.address);
    let server = folder.serve();
    let client = folder.client("Acme");
    let id = add(&folder, &["good.example"]);
    waits_for(&folder, "the first run", |it| it["health"] == "healthy");
    folder.ok(&["connect", "set", &id, "--pause"]);
    assert_eq!(connections(&folder)[0]["nextRunAt"], Value::Null);
    let refused = folder.run(&["connect", "sync", &id]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains("is paused; resume it first"), "{}", refused.err);
    assert!(server.stop().success());
    let _server = folder.serve();
    assert_eq!(status(&folder, &client, "EML-01"), "compliant", "paused is not removed");
    let before = connections(&folder)[0]["lastRunAt"].clone();
    folder.ok(&["connect", "set", &id, "--resume"]);
    waits_for(&folder, "another run", |it| it["lastRunAt"] != before);
    folder.ok(&["connect", "remove", &id]);
    assert_eq!(connections(&folder), Vec::<Value>::new());
    let is_retracted = || status(&folder, &client, "EML-01") == "not_assessed";
    assert!(wait_until(WAIT, is_retracted), "what it found is retracted");
    let absent = folder.run(&["connect", "show", &id]);
    assert!(absent.err.contains("connection not found"), "{}", absent.err);
    let sources = folder.json(&["show", "Acme"])["data"]["sources"].clone();
    assert!(!sources.to_string().contains("\"dns\""), "it is expected no longer: {sources}");
}

#[test]
fn what_is_wrong_with_a_connection_is_said() {
    let folder = folder("127.0.0.1:9".parse().unwrap());
    let _server = folder.serve();
    folder.client("Acme");
    for (domain, why) in [("acme", "domain"), ("192.0.2.1", "address"), ("*.acme.example", "*")] {
        let refused =
            folder.run(&["connect", "add", "dns", "--client", "Acme", "--domain", domain]);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{domain}");
        assert!(refused.err.contains("domains") && refused.err.contains(why), "{}", refused.err);
    }
    for n in 1..=20 {
        add(&folder, &[&format!("d{n}.example")]);
    }
    let refused =
        folder.run(&["connect", "add", "dns", "--client", "Acme", "--domain", "a.example"]);
    assert!(refused.err.contains("the client has 20 connections"), "{}", refused.err);
    let sources: Vec<Value> = connections(&folder).iter().map(|it| it["source"].clone()).collect();
    assert_eq!(
        (&sources[0], &sources[1], &sources[19]),
        (&json!("dns"), &json!("dns-2"), &json!("dns-20"))
    );
}

#[test]
fn of_two_changes_at_once_none_is_lost() {
    let folder = folder("127.0.0.1:9".parse().unwrap());
    let _server = folder.serve();
    folder.client("Acme");
    let add =
        ["connect", "add", "--no-wait", "google", "--client", "Acme", "--set", "domain=a.example"];
    folder.write("key", key_file(json!({})).as_bytes());
    let more = ["--set", "admin=a@a.example", "--set-file", "service_account_key=key"];
    let added = folder.ok(&[&add[..], &more[..]].concat());
    let path = format!("/api/connections/{}", added.lines().next().unwrap());
    let json = [("Content-Type", "application/json")];
    let change = |body: &Value| {
        send_socket(&folder.socket(), "PATCH", &path, &json, body.to_string().as_bytes()).status
    };
    let mut n_taken = 0;
    for n in 0..100 {
        let changes = [
            json!({"settings": {"domain": format!("d{n}.example")}}),
            json!({"settings": {"admin": format!("a{n}@a.example")}}),
            json!({"name": format!("name {n}")}),
        ];
        let codes = std::thread::scope(|scope| {
            let all = changes.each_ref().map(|it| scope.spawn(|| change(it)));
            all.map(|it| it.join().unwrap())
        });
        let now = folder.ask(&path)["data"].clone();
        let seen = [&now["settings"]["domain"], &now["settings"]["admin"], &now["name"]];
        let sent = [
            &changes[0]["settings"]["domain"],
            &changes[1]["settings"]["admin"],
            &changes[2]["name"],
        ];
        for ((code, seen), sent) in codes.iter().zip(seen).zip(sent) {
            assert!([200, 409].contains(code), "{codes:?}");
            assert_eq!(*code == 200, seen == sent, "{codes:?} {now}");
        }
        n_taken += codes.iter().filter(|it| **it == 200).count();
    }
    assert!(100 <= n_taken, "one of them at least is taken each time");
}

#[test]
fn one_client_has_two_places_and_leaves_the_others_to_the_rest() {
    // Nobody answers there, so that a run lasts.
    let silent = Server::start(|_| Reply::Silence);
    let folder = folder(silent.address);
    let _server = folder.serve();
    folder.client("Acme");
    let add_silent = |client: &str, domain: &str| {
        let add = ["connect", "add", "dns", "--client", client, "--domain", domain, "--no-wait"];
        let done = folder.run(&add);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
        done.out.trim_end().to_owned()
    };
    let domain = |n: usize| format!("d{n}.example");
    let ids: Vec<String> = (1..=3).map(|n| add_silent("Acme", &domain(n))).collect();
    let asked = |domain: &str| silent.asked.lock().unwrap().iter().any(|it| it.0 == domain);
    assert!(wait_until(WAIT, || asked("d1.example") && asked("d2.example")), "two run");
    folder.client("Other");
    let waited =
        folder.run(&["connect", "add", "dns", "--client", "Other", "--domain", "other.example"]);
    assert!(waited.err.contains("the first read is under way"), "{waited:?}");
    assert!(wait_until(WAIT, || asked("other.example")), "the other client's runs beside them");
    assert!(!asked("d3.example"), "the third waits");
    let test = ["connect", "test", ids[2].as_str()];
    std::thread::scope(|scope| {
        scope.spawn(|| folder.run(&test));
        assert!(wait_until(WAIT, || asked("d3.example")), "a test has its own place");
        let refused = folder.run(&test);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        assert!(refused.err.contains("it is being tested"), "{}", refused.err);
    });
}

#[test]
fn a_first_read_that_failed_is_said_at_once() {
    let names = Names::start();
    let folder = folder(names.server.address);
    let _server = folder.serve();
    folder.client("Acme");
    let add = |kind: &str, more: [&str; 2]| {
        let done = folder.run(&[&["connect", "add", kind, "--client", "Acme"], &more[..]].concat());
        assert_eq!((done.code, done.out.lines().count()), (0, 1), "the id alone: {done:?}");
        done.err
    };
    assert_eq!(add("dns", ["--domain", "good.example"]), "");
    let said = add("dns", ["--domain", "dead.example"]);
    assert!(said.contains("the first read failed: the domain does not exist"), "{said}");
    for kind in ["m365", "azure"] {
        let said = add(kind, ["--set", "tenant=acme.example"]);
        assert!(said.contains("no Microsoft app yet") && said.contains("m365 init"), "{said}");
        let last = connections(&folder).pop().unwrap();
        let shown = [&last["waitsFor"], &last["health"], &last["consentUrl"]];
        assert_eq!(shown, [&json!("microsoft_app"), &json!("pending"), &Value::Null]);
    }
    folder.write("list.csv", b"client,tenant\nAcme,other.example\n");
    let onboarded = folder.run(&["connect", "m365", "onboard", "list.csv"]);
    assert!(onboarded.err.contains("no Microsoft app yet"), "{onboarded:?}");
    assert_eq!(n_events(&folder, "integration_sync_failed"), 1, "of the dead domain alone");
}

#[test]
fn an_engineer_is_told_what_is_to_be_entered() {
    let folder = folder("127.0.0.1:9".parse().unwrap());
    folder.client("Acme");
    let kinds = folder.ok(&["connect", "kinds"]);
    let dns = kinds.lines().find(|it| it.starts_with("dns ")).unwrap();
    assert!(dns.contains("(--domain)"), "{dns}");
    let add = |kind: &str, entered: &[&str]| {
        folder.run(&[&["connect", "add", kind, "--client", "Acme"], entered].concat())
    };
    let added = add("dns", &["--domain", "acme.example"]);
    assert_eq!((added.code, added.out.lines().count()), (0, 1), "{added:?}");
    assert!(added.err.contains("the connection runs once `posture serve` does"), "{}", added.err);
    folder.write("key", b"x");
    let keys = ["--set-file", "access_key_id=key", "--set-file", "secret_access_key=key"];
    for (kind, entered, why) in [
        ("dns", &["--set", "domain=acme.example"][..], "dns has only `domains` (`--domain`)"),
        ("aws", &keys, "settings.role_arn: is required: the role in the client's account, or"),
        ("dns", &["--domain", "https://a.example"], "domains: \"https://a.example\": enter the"),
    ] {
        let refused = add(kind, entered);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{kind}");
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    assert_eq!(folder.json(&["connect", "list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn an_optional_setting_is_removed_and_a_certificate_is_not_printed() {
    let folder = folder("127.0.0.1:9".parse().unwrap());
    let _server = folder.serve();
    folder.client("Acme");
    folder.write("password", b"secret");
    folder.write("ca.pem", authority().pem().as_bytes());
    let fingerprint = format!("fingerprint={}", "00ff".repeat(16));
    let add = [
        "connect",
        "add",
        "--no-wait",
        "ad",
        "--client",
        "Acme",
        "--set",
        "host=127.0.0.1",
        "--set",
        "user=a@acme.test",
    ];
    let more = [
        "--set",
        "port=1",
        "--set",
        &fingerprint,
        "--set-file",
        "ca=ca.pem",
        "--set-file",
        "password=password",
    ];
    let id = folder.ok(&[&add[..], &more].concat()).trim_end().to_owned();
    let shown = folder.ok(&["connect", "show", &id]);
    assert!(shown.contains(" host=127.0.0.1 port=1 user=a@acme.test\n"), "{shown}");
    assert!(shown.contains("ca=(") && !shown.contains("BEGIN CERTIFICATE"), "{shown}");
    let set = |name: &str| folder.run(&["connect", "set", &id, "--set", name]);
    for (name, why) in [
        ("host=", "settings.host: must be 1 to"),
        ("port=", "settings.password: is required again"),
        ("prot=", "settings.prot: is not known"),
    ] {
        let refused = set(name);
        assert_eq!(refused.code, 1, "{name}");
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    assert_eq!(connections(&folder)[0]["settings"]["port"], "1");
    for name in ["fingerprint=", "ca="] {
        let refused = set(name);
        assert!(refused.err.contains("settings.password: is required again"), "{}", refused.err);
        let again = ["--set-file", "password=password"];
        folder.ok(&[&["connect", "set", &id, "--set", name][..], &again].concat());
    }
    let settings = json!({"host": "127.0.0.1", "port": "1", "user": "a@acme.test"});
    assert_eq!(connections(&folder)[0]["settings"], settings);
}

#[test]
fn an_app_that_cannot_be_right_replaces_none() {
    let folder = folder("127.0.0.1:9".parse().unwrap());
    let init = |app: &str, out: &str| {
        let init = ["connect", "m365", "init", "--app-id", app, "--tenant", "msp.example"];
        folder.run(&[&init[..], &["--out", out]].concat())
    };
    let app = "00000000-1111-2222-3333-444444444444";
    assert_eq!(init(app, "app.cer").code, 0);
    let certificate = std::fs::read_to_string(folder.path().join("app.cer")).unwrap();
    for (app, out, why) in [
        ("msp.example", "new.cer", "appId: must be the application (client) id, like 00000000"),
        (app, "nowhere/app.cer", "cannot write nowhere/app.cer"),
    ] {
        let refused = init(app, out);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{app}");
        assert!(refused.err.contains(why), "{}", refused.err);
        assert!(!folder.path().join(out).exists(), "{out}");
    }
    let kept = folder.json(&["connect", "m365", "show"])["data"]["certificatePem"].clone();
    assert_eq!(kept, certificate.as_str());
}
