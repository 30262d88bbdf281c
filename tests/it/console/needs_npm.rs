//! Signing in at an identity provider that others wrote, through all its redirects, with the real executable.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::process::{Beside, Folder, Server};
use crate::harness::{Answer, http, port, tool};

/// Redirects of one sign-in.
const N_STEPS_MAX: usize = 12;

struct Provider {
    process: Beside,
    port: u16,
    back: String,
}

impl Provider {
    fn start(port: u16, back: &str, key: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oidc/people.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(tool::npm()).arg(port.to_string()).args([back, key]);
        let mut process = Beside::start(&mut command);
        let line = process.line();
        assert!(line.contains("port"), "{line}");
        Self { process, port, back: back.to_owned() }
    }

    /// Another process, with other keys.
    fn restart(mut self, key: &str) -> Self {
        self.process.kill();
        Self::start(self.port, &self.back, key)
    }

    fn seat(&self, person: &Value) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let answer = http::send(address, "POST", "/person", &[], person.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

fn ada() -> Value {
    json!({
        "id": "ada-1", "amr": ["pwd", "mfa"],
        "claims": { "email": "ada@msp.example", "name": "Ada Lovelace", "roles": ["posture-admin"] },
    })
}

/// A browser that keeps the cookies of each site.
#[derive(Default)]
struct Browser(BTreeMap<String, BTreeMap<String, String>>);

impl Browser {
    fn get(&mut self, url: &str) -> Answer {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) =
            rest.split_once('/').map_or((rest, String::new()), |it| (it.0, it.1.to_owned()));
        let cookies = self.0.entry(host.to_owned()).or_default();
        let shown = cookies.iter().map(|it| format!("{}={}", it.0, it.1));
        let shown = shown.collect::<Vec<_>>().join("; ");
        let headers = [("Host", host), ("Cookie", shown.as_str()), ("Accept", "text/html")];
        let answer = http::send(host.parse().unwrap(), "GET", &format!("/{path}"), &headers, b"");
        for (_, cookie) in answer.headers.iter().filter(|it| it.0 == "set-cookie") {
            let (name, rest) = cookie.split_once('=').unwrap();
            match rest.split(';').next().unwrap() {
                "" => cookies.remove(name),
                value => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    /// Follows redirects to a page: its address, and what came on the way.
    fn follow(&mut self, url: &str) -> (String, Answer, Vec<String>) {
        let (mut url, mut way) = (url.to_owned(), Vec::new());
        for _ in 0..N_STEPS_MAX {
            let answer = self.get(&url);
            let Some(to) = answer.header("location").map(str::to_owned) else {
                return (url, answer, way);
            };
            way.push(url.clone());
            let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            url = if to.starts_with('/') { format!("{origin}{to}") } else { to };
        }
        panic!("it leads nowhere: {way:?}");
    }
}

/// A folder whose posture leads to a provider; `more` of its section.
fn folder(provider: u16, own: u16, more: &str) -> Folder {
    let folder = Folder::new();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:{own}\"\npublic_url = \"http://127.0.0.1:{own}\"\n[data]\ndir = \"data\"\n\
         [auth]\nrequire_mfa = [\"admin\"]\n[oidc]\nissuer = \"http://127.0.0.1:{provider}\"\nname = \"Acme ID\"\n{more}"
    );
    folder.write("posture.toml", text.as_bytes());
    folder
}

fn start(more: &str, secret: Option<&str>) -> (Folder, Server, Provider, String) {
    let (port, own) = (port::free_port(), port::free_port());
    let folder = folder(port, own, more);
    if let Some(secret) = secret {
        folder.write("secret", format!("{secret}\n").as_bytes());
    }
    // The provider starts later, which is a note alone.
    assert!(folder.ok(&["config", "check"]).trim().ends_with("the configuration is valid"));
    let server = folder.serve();
    let base = format!("http://127.0.0.1:{own}");
    let provider = Provider::start(port, &format!("{base}/sign-in/oidc/callback"), "1");
    provider.seat(&ada());
    (folder, server, provider, base)
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn clients_of_every_kind_sign_people_in() {
    for (more, secret) in [
        (
            "client_id = \"confidential\"\nclient_secret_file = \"secret\"\n",
            Some("a-secret+of/a=client"),
        ),
        ("client_id = \"posted\"\nclient_secret_file = \"secret\"\n", Some("another-secret")),
        ("client_id = \"public\"\n", None),
    ] {
        let (folder, _server, _provider, base) = start(more, secret);
        let mut browser = Browser::default();
        let (url, page, way) = browser.follow(&format!("{base}/sign-in/oidc?next=/risks"));
        assert_eq!((url, page.status), (format!("{base}/risks"), 200), "{way:?}: {}", page.text());
        assert!(way.iter().any(|it| it.contains("/interaction/")), "{way:?}");
        let list = folder.ok(&["user", "list"]);
        let line = list.lines().find(|it| it.contains("ada@msp.example")).expect("the user");
        assert!(line.contains("http://127.0.0.1:") && line.contains(" on "), "{list}");
        let admin = list.lines().find(|it| it.contains("admin@localhost")).unwrap();
        assert!(admin.contains("password"), "{list}");
        // The provider remembers the person, and the way back is the same person.
        browser.0.retain(|host, _| !base.ends_with(host));
        let (url, page, way) = browser.follow(&format!("{base}/sign-in/oidc"));
        assert_eq!((url, page.status), (format!("{base}/"), 200), "{}", page.text());
        assert!(!way.iter().any(|it| it.contains("/interaction/")), "{way:?}");
        let users = folder.ask("/api/users");
        assert_eq!(users["data"].as_array().unwrap().len(), 2, "{users}");
        // The answer that was used cannot be used again, not even in the same browser.
        let back = way.iter().find(|it| it.contains("/callback?")).unwrap();
        let again = browser.get(back);
        assert_eq!(again.status, 401, "{}", again.text());
    }
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn a_wrong_secret_a_person_who_says_no_and_a_stolen_code_sign_nobody_in() {
    let more = "client_id = \"posted\"\nclient_secret_file = \"secret\"\n";
    let (_folder, _server, _provider, base) = start(more, Some("wrong"));
    let (_, page, _) = Browser::default().follow(&format!("{base}/sign-in/oidc"));
    assert_eq!(page.status, 503);
    assert!(page.text().contains("oidc.client_secret_file"), "{}", page.text());

    let (folder, _server, provider, base) = start(more, Some("another-secret"));
    let denying = json!({"id": "ada-1", "denies": true, "claims": {}});
    provider.seat(&denying);
    let (_, page, _) = Browser::default().follow(&format!("{base}/sign-in/oidc"));
    assert_eq!(page.status, 401);
    assert!(page.text().contains("Acme ID did not let you in"), "{}", page.text());

    // Somebody reads the code of a person on its way, and brings it to a flow of their own.
    provider.seat(&ada());
    let (mut victim, mut thief) = (Browser::default(), Browser::default());
    let (_, _, way) = victim.follow(&format!("{base}/sign-in/oidc"));
    let stolen = way.iter().find(|it| it.contains("/callback?")).unwrap();
    let code = stolen.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let led = thief.get(&format!("{base}/sign-in/oidc"));
    let led = led.header("location").unwrap().to_owned();
    let state = led.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let issuer = led.split("/auth").next().unwrap();
    let refused =
        thief.get(&format!("{base}/sign-in/oidc/callback?code={code}&state={state}&iss={issuer}"));
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("was used already"), "{}", refused.text());
    assert_eq!(thief.get(&format!("{base}/risks")).status, 303);
    assert_eq!(folder.ask("/api/users")["data"].as_array().unwrap().len(), 2);
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn a_provider_with_new_keys_is_believed_and_one_that_is_down_is_said() {
    let (folder, _server, provider, base) = start("client_id = \"public\"\n", None);
    let sign_in = |browser: &mut Browser| browser.follow(&format!("{base}/sign-in/oidc"));
    assert_eq!(sign_in(&mut Browser::default()).1.status, 200);
    let provider = provider.restart("2");
    provider.seat(&ada());
    let (url, page, _) = sign_in(&mut Browser::default());
    assert_eq!((url, page.status), (format!("{base}/"), 200), "{}", page.text());
    // A role that is taken away at the provider, and none at all.
    let mut person = ada();
    person["claims"]["roles"] = json!(["posture-viewer"]);
    provider.seat(&person);
    assert_eq!(sign_in(&mut Browser::default()).1.status, 200);
    let list = folder.ok(&["user", "list"]);
    assert!(
        list.lines().any(|it| it.contains("ada@msp.example") && it.contains("viewer")),
        "{list}"
    );
    person["claims"]["roles"] = json!([]);
    provider.seat(&person);
    let (_, page, _) = sign_in(&mut Browser::default());
    assert_eq!(page.status, 403);
    assert!(page.text().contains("its claim `roles`"), "{}", page.text());
    // An administrator without a second factor.
    let mut person = ada();
    person["amr"] = json!(["pwd"]);
    provider.seat(&person);
    let (_, page, _) = sign_in(&mut Browser::default());
    assert_eq!(page.status, 403);
    assert!(page.text().contains("requires a second factor"), "{}", page.text());

    let mut browser = Browser::default();
    let led = browser.get(&format!("{base}/sign-in/oidc"));
    let state = led.header("location").unwrap().split("state=").nth(1).unwrap();
    let state = state.split('&').next().unwrap().to_owned();
    let issuer = format!("http://127.0.0.1:{}", provider.port);
    drop(provider);
    let back = format!("{base}/sign-in/oidc/callback?code=c&state={state}&iss={issuer}");
    let page = browser.get(&back);
    assert_eq!(page.status, 503);
    assert!(page.text().contains("does not answer as it should"), "{}", page.text());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(
        log.contains("a sign-in with Acme ID failed") && log.contains("the connection failed"),
        "{log}"
    );
}

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn who_is_asked_again_signs_in_again() {
    let (_folder, _server, provider, base) = start("client_id = \"public\"\n", None);
    let mut browser = Browser::default();
    browser.follow(&format!("{base}/sign-in/oidc"));
    let (url, page, way) = browser.follow(&format!("{base}/confirm/oidc?next=/keys"));
    assert_eq!((url, page.status), (format!("{base}/keys"), 200), "{way:?}: {}", page.text());
    assert!(way.iter().any(|it| it.contains("/interaction/")), "it asked again: {way:?}");
    // Somebody else sits in front of it by now.
    let mut eve = ada();
    eve["id"] = json!("eve-1");
    provider.seat(&eve);
    browser.0.retain(|host, _| base.ends_with(host));
    let (_, page, _) = browser.follow(&format!("{base}/confirm/oidc?next=/keys"));
    assert_eq!(page.status, 403, "{}", page.text());
    assert!(page.text().contains("as somebody else"), "{}", page.text());
}
