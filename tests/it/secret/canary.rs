//! Every kind of secret is used, and then looked for wherever it must not be.

use std::fs;

use posture::api::edge::metrics_token::MetricsToken;
use posture::clock::Clock;
use serde_json::{Value, json};

use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server, wait_until};
use crate::harness::{options, send};
use crate::webhook::Receiver;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
metrics_token_file = "metrics.token"
[data]
dir = "data"
[backup]
dir = "backups"
[webhooks]
retry_gaps_s = [0, 0]
allow_http_networks = ["127.0.0.0/8"]
allow_private_networks = ["127.0.0.0/8"]
[log]
level = "debug"
"#;
const METRICS_TOKEN: &str = "canary-metrics-9f1c27a4d8e34b6fa0c5";
const PASSWORD: &str = "canary password, six kettles";
const NEXT_PASSWORD: &str = "canary password, seven kettles";
const WRONG_PASSWORD: &str = "canary password, mistyped";
const WRONG_KEY: &str = "service_canaryabcd_canaryMistypedKeyCanaryMistypedKey123";
const IN_QUERY: &str = "canary-in-a-query";
const IN_BROKEN_BODY: &str = "canary-in-a-broken-body";
const HEADER: &str = "canary-header-5d1e";
const IN_URL: &str = "canary-path-of-a-receiver";
const IDENTITY: &str = "AGE-SECRET-KEY-1CANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARY";

/// What was used, and what it is.
type Secrets = Vec<(&'static str, String)>;

fn text(it: &Value, name: &str) -> String {
    it[name].as_str().unwrap_or_else(|| panic!("no {name}: {it}")).to_owned()
}

/// A management request as the operator.
fn operate(folder: &Folder, method: &str, path: &str, body: &str) -> (u16, Value) {
    let kind = [("Content-Type", "application/json")];
    let answer = send_socket(&folder.socket(), method, path, &kind, body.as_bytes());
    let status = answer.status;
    (status, if answer.body.is_empty() { Value::Null } else { answer.json()["data"].clone() })
}

fn keys(folder: &Folder, server: &Server, secrets: &mut Secrets) {
    let issued = folder.json(&["key", "issue", "--name", "one", "--scope", "read:clients"]);
    let key = text(&issued["data"], "key");
    let rotated = folder.json(&["key", "rotate", &text(&issued["data"], "id")]);
    let next = text(&rotated["data"], "key");
    for it in [&key, &next] {
        assert_eq!(server.get(it, "/clients").status, 200);
        secrets.push(("an API key", it.rsplit('_').next().unwrap().to_owned()));
    }
    assert_eq!(server.get(WRONG_KEY, "/clients").status, 401);
    assert_eq!(server.get(&key, &format!("/clients?limit={IN_QUERY}")).status, 400);
    secrets.push(("a mistyped key", WRONG_KEY.rsplit('_').next().unwrap().to_owned()));
    secrets.push(("a query", IN_QUERY.to_owned()));
}

fn people(folder: &Folder, server: &Server, secrets: &mut Secrets) {
    let user = json!({"email": "ada@example.com", "role": "admin", "password": PASSWORD});
    assert_eq!(operate(folder, "POST", "/api/users", &user.to_string()).0, 201);
    let broken = format!("{{\"email\": 7, \"password\": \"{IN_BROKEN_BODY}\"");
    assert_eq!(operate(folder, "POST", "/api/users", &broken).0, 400);
    let kind = [("Content-Type", "application/json")];
    let log_in = |password: &str| {
        let body =
            json!({"username_or_email": "ada@example.com", "password": password}).to_string();
        send(server.address, "POST", "/auth/login", &kind, body.as_bytes())
    };
    assert_eq!(log_in(WRONG_PASSWORD).status, 401);
    let token = text(&log_in(PASSWORD).json()["data"], "token");
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), kind[0]];
    let change = json!({"currentPassword": PASSWORD, "newPassword": NEXT_PASSWORD}).to_string();
    let changed = send(server.address, "PUT", "/api/me/password", &headers, change.as_bytes());
    assert_eq!(changed.status / 100, 2, "{}", changed.text());
    secrets.push(("a session token", token.rsplit('.').next().unwrap().to_owned()));
    let token = text(&changed.json()["data"], "token");
    let post = |path: &str, body: &Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), kind[0]];
        let answer = send(server.address, "POST", path, &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"].clone()
    };
    let factor = text(&post("/api/me/mfa", &json!({"currentPassword": NEXT_PASSWORD})), "secret");
    let code = crate::mfa::code(&factor, Clock::System.now());
    let confirmed = post("/api/me/mfa/confirm", &json!({ "otp": code }));
    for it in confirmed["recoveryCodes"].as_array().unwrap() {
        secrets.push(("a recovery code", it.as_str().unwrap().to_owned()));
    }
    secrets.push(("the secret of a second factor", factor));
    for it in [PASSWORD, NEXT_PASSWORD, WRONG_PASSWORD, IN_BROKEN_BODY] {
        secrets.push(("a password", it.to_owned()));
    }
}

fn webhooks(folder: &Folder, receiver: &Receiver, secrets: &mut Secrets) {
    let url = format!("{}/{IN_URL}", receiver.sink.url());
    let header = format!("X-Token: {HEADER}");
    let made =
        folder.json(&["webhook", "add", "--url", &url, "--event", "all", "--header", &header]);
    let id = text(&made["data"], "id");
    let rotated = folder.json(&["webhook", "rotate", &id]);
    for it in [&made, &rotated] {
        let secret = text(&it["data"], "secret");
        secrets.push(("a signing secret", secret.trim_start_matches("whsec_").to_owned()));
    }
    secrets.push(("a header", HEADER.to_owned()));
    receiver.answer_with(500);
    folder.run(&["webhook", "test", &id]);
    assert!(wait_until(std::time::Duration::from_mins(1), || !receiver.requests().is_empty()));
}

#[test]
fn no_secret_is_in_a_log_an_answer_the_database_or_a_backup() {
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    folder.write("metrics.token", METRICS_TOKEN.as_bytes());
    fs::create_dir(folder.path().join("backups")).unwrap();
    let metrics = folder.path().join("metrics.token");
    fs::set_permissions(&metrics, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = folder.serve();
    let receiver = Receiver::start();
    let mut secrets: Secrets = vec![("the metrics token", METRICS_TOKEN.to_owned())];
    keys(&folder, &server, &mut secrets);
    people(&folder, &server, &mut secrets);
    webhooks(&folder, &receiver, &mut secrets);
    let bearer = format!("Bearer {METRICS_TOKEN}");
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(send(server.address, "GET", "/metrics", &headers, &[]).status, 200);
    folder.ok(&["backup", "backups/one.redb"]);
    folder.write("identity.txt", IDENTITY.as_bytes());
    folder.run(&["backup", "drill", "backups/one.redb", "--identity", "identity.txt"]);
    secrets.push(("a secret key of age", IDENTITY.to_owned()));
    let sealing = fs::read_to_string(folder.path().join("data/posture.key")).unwrap();
    secrets.push(("the key file", sealing.trim().to_owned()));

    let mut places: Vec<(String, Vec<u8>)> = Vec::new();
    for path in [
        "/api/keys",
        "/api/users",
        "/api/webhooks",
        "/api/audit?limit=100",
        "/api/events?limit=100",
        "/api/system",
        "/api/backups",
        "/api/export",
        "/metrics",
    ] {
        let answer = send_socket(&folder.socket(), "GET", path, &[], &[]);
        assert_eq!(answer.status, 200, "{path}");
        places.push((path.to_owned(), answer.body));
    }
    for words in [&["config", "show"][..], &["status"], &["webhook", "list"], &["user", "list"]] {
        places.push((words.join(" "), folder.ok(words).into_bytes()));
    }
    server.stop();
    for name in ["serve.log", "data/posture.redb", "backups/one.redb"] {
        places.push((name.to_owned(), fs::read(folder.path().join(name)).unwrap()));
    }
    let mut shown = options(folder.path());
    shown.metrics_token = Some(MetricsToken::read(&metrics).unwrap());
    places.push(("Debug".to_owned(), format!("{shown:?}").into_bytes()));
    for (place, bytes) in &places {
        for (what, secret) in &secrets {
            let found = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!found, "{what} is in {place}");
        }
    }
    // Some receivers have a token in their address: those who manage webhooks see it, and nobody else.
    let log = &places.iter().find(|it| it.0 == "serve.log").unwrap().1;
    assert!(!log.windows(IN_URL.len()).any(|it| it == IN_URL.as_bytes()), "the path of a receiver");
    assert!(log.windows(7).any(|it| it == b"webhook"), "the log says what happened");
}
