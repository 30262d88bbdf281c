//! A database with rows of every kind, made by an executable through its front door, and what its API said of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use posture::clock::Clock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::harness::http::{self, Answer};
use crate::harness::process::{Folder, wait_until};
use crate::harness::{ALL_SCOPES, sample};

/// The endpoint of the webhook. Nothing listens there, so that its deliveries remain queued.
const ENDPOINT: &str = "http://127.0.0.1:9/hook";
const PASSWORD: &str = "ochre kettle, nine moths";
const USER: &str = "ada@example.com";
/// The control with an attestation.
const ATTESTED: &str = "GOV-14";
/// Lists of which only some members are stored.
const LISTS: [&str; 3] = ["conditions", "risks", "controls"];
/// The background work does what is due within this time, or never does it.
const SOON: Duration = Duration::from_mins(1);

/// What a test knows about a database file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    /// After the last write.
    pub(super) made_at: String,
    pub(super) client_id: String,
    pub(super) rule_id: String,
    pub(super) webhook_id: String,
    /// The text of `posture.key`.
    pub(super) sealing_key: String,
    pub(super) api_key: String,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) session_token: String,
    pub(super) webhook_secret: String,
    /// `data` of what the API answered, by path.
    pub(super) answers: BTreeMap<String, Value>,
    /// The bodies of all events, byte for byte.
    pub(super) events: Vec<String>,
}

struct Maker {
    folder: Folder,
}

impl Maker {
    fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let headers = [("Content-Type", "application/json")];
        http::send_socket(&self.folder.socket(), method, path, &headers, body)
    }

    /// What a request that succeeds returns.
    fn change(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.send(method, path, body.to_string().as_bytes());
        assert_eq!(answer.status / 100, 2, "{method} {path}: {}", answer.text());
        answer.json()["data"].clone()
    }

    /// Facts, decisions and tasks of a client: something of each is open.
    fn fill(&self, client_id: &str) {
        let of_client = |rest: &str| format!("/api/clients/{client_id}/{rest}");
        let import = |file: &str| {
            let path = of_client("imports?observedAt=now");
            let answer = self.send("POST", &path, &sample::own(file));
            assert_eq!(answer.status, 200, "{file}: {}", answer.text());
        };
        import("prowler/v4.5.ocsf.json");
        import("nmap/localhost.xml");
        self.change("POST", &of_client("facts"), &facts(true));
        self.change("POST", &of_client("facts"), &facts(false));
        let sync = json!({ "status": "failed", "message": "401" });
        let failed = json!({ "source": "everything", "scope": "all", "sync": sync });
        self.change("POST", &of_client("facts"), &failed);

        let attestation = json!({ "status": "compliant", "reason": "seen by me", "by": "Ada" });
        self.change("PUT", &of_client(&format!("controls/{ATTESTED}")), &attestation);
        let evidence = json!({
            "controlCode": "GOV-01", "title": "Training list", "reference": "dms://1", "by": "Ada",
        });
        self.change("POST", &of_client("evidence"), &evidence);
        let now = Clock::System.now();
        let overdue = json!({
            "clientId": client_id, "title": "Call the vendor", "dueAt": now.plus_s(-60).to_string(),
        });
        self.change("POST", "/api/tasks", &overdue);
        let done = json!({ "clientId": client_id, "title": "Restore the backup" });
        let done = self.change("POST", "/api/tasks", &done);
        let path = format!("/api/tasks/{}", text(&done, "id"));
        self.change("PATCH", &path, &json!({ "status": "done" }));
        let risks = self.read(&of_client("risks"));
        let risk = text(risks.as_array().unwrap().last().expect("an open risk"), "id");
        let acceptance = json!({
            "accepted": true, "until": now.plus_days(30).to_string(), "reason": "An old printer.",
        });
        self.change("PATCH", &of_client(&format!("risks/{risk}")), &acceptance);
    }

    fn read(&self, path: &str) -> Value {
        let answer = self.send("GET", path, b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()["data"].clone()
    }

    /// What the API says of everything that is stored, by path.
    fn answers(&self, client_id: &str) -> BTreeMap<String, Value> {
        let of_client = |rest: &str| format!("/api/clients/{client_id}/{rest}");
        let mut answers = BTreeMap::new();
        let of_all = ["keys", "users", "webhooks", "alert-rules", "alerts", "tasks", "conditions"];
        let of_one = ["evidence", "imports", "risks", "controls"];
        for path in of_all.map(|it| format!("/api/{it}?limit=100")).into_iter().chain(
            of_one.map(|it| of_client(&format!("{it}?limit=100"))).into_iter().chain([
                format!("/api/clients/{client_id}"),
                format!("/api/v1/clients/{client_id}/assets?limit=100"),
            ]),
        ) {
            let found = self.read(super::without_limit(&path));
            answers.insert(path.clone(), lasting(&path, found));
        }
        answers
    }
}

#[derive(Deserialize)]
struct Events<'a> {
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
}

/// The bodies of all events, as the event log of a running server holds them.
pub(super) fn events(socket: &Path) -> Vec<String> {
    let mut bodies: Vec<String> = Vec::new();
    loop {
        let path = format!("/api/events?limit=100&after={}", bodies.len());
        let page = http::send_socket(socket, "GET", &path, &[], b"").body;
        let page: Events<'_> = serde_json::from_slice(&page).unwrap();
        if page.data.is_empty() {
            return bodies;
        }
        bodies.extend(page.data.iter().map(|it| it.get().to_owned()));
    }
}

pub(super) fn parsed(bodies: &[String]) -> Vec<Value> {
    bodies.iter().map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn configuration(folder: &Folder) {
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[webhooks]\n\
                allow_http_networks = [\"127.0.0.0/8\"]\n\
                allow_private_networks = [\"127.0.0.0/8\"]\n";
    folder.write("posture.toml", text.as_bytes());
}

/// What one source tells: all is well, or a control fails and an account lacks MFA.
pub(super) fn facts(is_well: bool) -> Value {
    json!({
        "source": "everything", "scope": "all", "complete": true,
        "observations": [
            { "control": "DAT-01", "status": if is_well { "compliant" } else { "non_compliant" } },
            { "control": "CLD-02", "status": "compliant" },
        ],
        "identities": [
            { "user": "ann", "mfa": is_well, "admin": false, "enabled": true },
            { "user": "root", "mfa": true, "admin": true, "enabled": true },
        ],
        "apps": [{ "name": "Dropbox", "users": 3 }],
        "assets": [{ "externalId": "1", "name": "srv", "assetType": "server" }],
    })
}

/// What of an answer no later build changes. Texts of risks and results of controls come from the catalog.
pub(super) fn lasting(path: &str, mut data: Value) -> Value {
    let list = path.split(['/', '?']).find(|it| LISTS.contains(it));
    let names: &[&str] = match list {
        Some("conditions") => &["clientId", "dedupKey", "type", "occurrence", "openedAt"],
        Some("risks") => &["id", "acceptance", "createdAt", "openedAt", "occurrence"],
        Some("controls") => &["controlCode", "attestation"],
        _ => return data,
    };
    let rows = data.as_array_mut().expect("a list");
    rows.retain(|it| list != Some("controls") || it["controlCode"] == ATTESTED);
    for row in rows {
        row.as_object_mut().expect("a row").retain(|name, _| names.contains(&name.as_str()));
    }
    data
}

/// Makes a database with the executable under test. Returns its folder, which no process has open, and the account.
pub(super) fn make() -> (Folder, Account) {
    let folder = Folder::new();
    configuration(&folder);
    let server = folder.serve();
    let maker = Maker { folder };
    let webhook =
        maker.change("POST", "/api/webhooks", &json!({ "url": ENDPOINT, "events": ["all"] }));
    let user = json!({
        "email": USER, "username": "ada", "role": "admin", "password": PASSWORD,
    });
    maker.change("POST", "/api/users", &user);
    let login = json!({ "username_or_email": USER, "password": PASSWORD });
    let key = json!({ "name": "GRC platform", "scopes": ALL_SCOPES });
    let key = maker.change("POST", "/api/keys", &key);
    let client = json!({
        "name": "Riverside Dental", "industry": "Healthcare", "employeeCount": 40,
        "settings": { "frameworks": ["HIPAA", "SOC2"], "staleAssetDays": 14 },
    });
    let client_id = text(&maker.change("POST", "/api/clients", &client), "id");
    let rule = json!({
        "name": "Data at rest", "clientIds": [client_id],
        "condition": { "type": "control_failing", "controlCode": "DAT-01" },
    });
    let rule = maker.change("POST", "/api/alert-rules", &rule);

    maker.fill(&client_id);
    let session_token = text(&maker.change("POST", "/auth/login", &login), "token");

    let is_open = |kind: &str| {
        let all = maker.read("/api/conditions?limit=100");
        all.as_array().unwrap().iter().any(|it| it["type"] == kind)
    };
    for kind in ["alert_triggered", "remediation_task_overdue", "connector_health_changed"] {
        assert!(wait_until(SOON, || is_open(kind)), "no condition of type {kind} was opened");
    }
    let answers = maker.answers(&client_id);
    let events = events(&maker.folder.socket());
    assert!(server.stop().success());
    let sealing_key = std::fs::read_to_string(maker.folder.path().join("data/posture.key"));
    let account = Account {
        made_at: Clock::System.now().to_string(),
        client_id: client_id.clone(),
        rule_id: text(&rule, "id"),
        webhook_id: text(&webhook, "id"),
        sealing_key: sealing_key.unwrap(),
        api_key: text(&key, "key"),
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
        session_token,
        webhook_secret: text(&webhook, "secret"),
        answers,
        events,
    };
    (maker.folder, account)
}

fn text(it: &Value, name: &str) -> String {
    it[name].as_str().unwrap_or_else(|| panic!("no {name}: {it}")).to_owned()
}
