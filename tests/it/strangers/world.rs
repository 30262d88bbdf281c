//! A posture in which everything is there that an operation names.

use std::ops::Add;

use serde_json::{Value, json};

use super::operation::{TRIED, Tried};
use crate::harness::{Answer, Posture, http, send};
use crate::openapi::{Operation, operations};

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:9/";

pub(crate) fn tried(operation: &Operation) -> Tried {
    *TRIED.iter().find(|it| it.0 == operation.id).unwrap()
}

/// All but the login, which is open to everybody.
pub(crate) fn closed() -> impl Iterator<Item = Operation> {
    operations().into_iter().filter(|it| it.takes_keys || it.role.is_some())
}

/// Those that a key opens.
pub(crate) fn keyed() -> impl Iterator<Item = Operation> {
    closed().filter(|it| it.takes_keys)
}

pub(crate) fn scoped() -> impl Iterator<Item = Operation> {
    keyed().filter(|it| it.scope.is_some())
}

/// Those of the contract's first group: for keys alone.
pub(crate) fn versioned() -> impl Iterator<Item = Operation> {
    keyed().filter(|it| it.role.is_none())
}

/// Those that a user's token opens.
pub(crate) fn managed() -> impl Iterator<Item = Operation> {
    closed().filter(|it| it.role.is_some())
}

/// Those that remove something come last.
pub(crate) fn in_order(mut operations: Vec<Operation>) -> Vec<Operation> {
    operations.sort_by_key(|it| match it.id.as_str() {
        "log_out" => 4,
        "remove_client" | "remove_own_framework" | "remove_connection_mapping" | "remove_mail" => 3,
        "revoke_key"
        | "remove_webhook"
        | "remove_alert_rule"
        | "remove_evidence"
        | "withdraw_control_subjects"
        | "remove_connection"
        | "remove_report_schedule" => 2,
        "undo_import" | "lift_hold" => 1,
        _ => 0,
    });
    operations
}

/// Those that are about the own session, which the operator has none of.
pub(crate) const OF_A_SESSION: [&str; 10] = [
    "log_out",
    "get_me",
    "change_own_password",
    "enroll_mfa",
    "confirm_mfa",
    "replace_recovery_codes",
    "remove_mfa",
    "list_passkeys",
    "remove_passkey",
    "list_console_sessions",
];

/// What they answer a user, whose password and code are wrong.
pub(crate) fn of_a_session(id: &str) -> Option<u16> {
    OF_A_SESSION.contains(&id).then_some(match id {
        "log_out" => 204,
        "get_me" | "list_passkeys" | "list_console_sessions" => 200,
        "confirm_mfa" => 409, // Nothing is to be confirmed.
        _ => 400,
    })
}

/// A password that is good enough.
pub(crate) const PASSWORD: &str = "ochre kettle, nine moths";

/// A posture with one client that has one of everything.
pub(crate) struct World {
    pub(crate) posture: Posture,
    pub(crate) client: String,
    pub(crate) asset: String,
    pub(crate) key: String,
    pub(crate) key_id: String,
    pub(crate) import: String,
    pub(crate) webhook: String,
    evidence: String,
    subject_decision: String,
    risk: String,
    task: String,
    batch: String,
    alert_rule: String,
    user: String,
    scan: String,
    connection: String,
    report_schedule: String,
}

/// Nobody answers there: see the configuration of the world.
fn connection(client: &str) -> Value {
    json!({"clientId": client, "kind": "dns", "domains": ["example.com"]})
}

fn mapping(client: &str) -> Value {
    json!({"organizations": [{"externalId": "7", "clientId": client}]})
}

/// Its secret has expired, so that a test of it asks nobody.
fn microsoft_app() -> Value {
    json!({
        "appId": "8a3b0c7e-5a11-4a0e-9c55-0d6a1b2c3d4e", "tenant": "msp.example", "clientSecret": "canary",
        "secretExpiresAt": "2026-01-01T00:00:00Z",
    })
}

fn batch(client: &str) -> Value {
    json!({
        "clientIds": [client], "attestation": {"controlCode": "GOV-14", "status": "partial"},
        "reason": "seen", "by": "Ada",
    })
}

const LOGO: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

/// The kind that the mapping of the world declares.
const KIND: &str = "example_rmm";

fn kind_mapping() -> Value {
    json!({"toml": include_str!("../../../assets/connect/example.toml")})
}

fn own_framework(id: &str) -> Value {
    let toml =
        format!("id = '{id}'\nname = 'Ours'\n[[row]]\nreference = '1'\ntitle = 'A first row'\n");
    json!({ "toml": toml })
}

impl World {
    pub(crate) fn new() -> Self {
        let posture = Posture::start_with(|options| {
            crate::webhook::allow_loopback(options);
            options.app.scan.allowed = vec!["127.0.0.0/8".parse().unwrap()];
            options.app.scan.per_s = 1; // A scan is still running whenever it is looked at.
            options.app.connect.dns_server = Some("127.0.0.1:9".parse().unwrap());
            options.app.mail = Some(crate::mail::options(9)); // Nobody listens there.
            // Backups that are asked for; none is due while the clock stands still.
            options.app.backup.dir = Some(options.dir.clone());
            (options.app.backup.every_h, options.app.backup.keep) = (24, 9);
        });
        let client = posture.client("Canary");
        let issued = posture.issue(&json!({}));
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        let (key, key_id) = (text(&issued["key"]), text(&issued["id"]));
        let asset = posture.send("POST", &key, "/assets", &asset(&client));
        let asset = text(&asset.json()["data"]["id"]);
        let file = crate::manage::prowler(crate::manage::MIXED);
        let import = posture.import(&client, "observedAt=now", &file);
        let import = text(&import.json()["data"]["import"]["id"]);
        let webhook = crate::webhook::add(&posture, NOBODY);
        let webhook = text(&webhook["id"]);
        let risks = posture.read(&key, &format!("/clients/{client}/risks"));
        let risk = text(&risks["data"][0]["id"]);
        let made = |path: &str, body: &Value| {
            text(&posture.operator("POST", path, body).json()["data"]["id"])
        };
        let profile = json!({"settings": {"profile": {"aws": "used"}}});
        posture.operator("PATCH", &format!("/api/clients/{client}"), &profile);
        let task = made("/api/tasks", &task(&client));
        let batch = made("/api/batches", &batch(&client));
        let alert_rule = made("/api/alert-rules", &alert_rule());
        let scan = made("/api/scan", &scan(&client));
        let query = "?controlCode=CLD-01&fileName=first.txt&by=Ada";
        let evidence = posture.bring_evidence(&client, query, b"Canary");
        let evidence = text(&evidence.json()["data"]["id"]);
        let subjects = format!("/api/clients/{client}/controls/CLD-01/subjects");
        let subject_decision = made(&subjects, &subject_decision());
        let connection = made("/api/connections", &connection(&client));
        let report_schedule = made("/api/report-schedules", &report_schedule(&client));
        posture.operator("PUT", "/api/microsoft-app", &microsoft_app());
        assert_eq!(posture.operator_bytes("PUT", "/api/logo", "image/svg+xml", LOGO).status, 200);
        let kind = format!("/api/connection-mappings/{KIND}");
        assert_eq!(posture.operator("PUT", &kind, &kind_mapping()).status, 201);
        let user = made("/api/users", &user("canary@example.com", "viewer"));
        posture.operator("POST", "/api/own-frameworks", &own_framework("MSP_BASE"));
        Self {
            posture,
            client,
            asset,
            key,
            key_id,
            import,
            webhook,
            evidence,
            subject_decision,
            risk,
            task,
            batch,
            alert_rule,
            user,
            scan,
            connection,
            report_schedule,
        }
    }

    /// The path with these ids in it.
    fn path(&self, operation: &Operation, id: Option<&str>, client: &str) -> String {
        let query = match operation.id.as_str() {
            "list_portfolio" => "?framework=SOC2",
            "add_evidence_file" => "?controlCode=CLD-01&fileName=second.txt&by=Ada",
            _ => "",
        };
        operation
            .path
            .clone()
            .add(query)
            .replace(
                "{clientId}",
                if ["importId", "riskId", "evidenceId", "decisionId"]
                    .iter()
                    .any(|it| operation.path.contains(it))
                {
                    &self.client
                } else {
                    id.unwrap_or(client)
                },
            )
            .replace("{assetId}", id.unwrap_or(&self.asset))
            .replace("{keyId}", id.unwrap_or(&self.key_id))
            .replace("{importId}", id.unwrap_or(&self.import))
            .replace("{evidenceId}", id.unwrap_or(&self.evidence))
            .replace("{decisionId}", id.unwrap_or(&self.subject_decision))
            .replace("{controlCode}", "CLD-01")
            .replace("{number}", "1")
            .replace("{requirement}", "CC6.1")
            .replace("{webhookId}", id.unwrap_or(&self.webhook))
            .replace("{riskId}", id.unwrap_or(&self.risk))
            .replace("{batchId}", id.unwrap_or(&self.batch))
            .replace("{taskId}", id.unwrap_or(&self.task))
            .replace("{alertRuleId}", id.unwrap_or(&self.alert_rule))
            .replace("{userId}", id.unwrap_or(&self.user))
            .replace("{passkeyId}", id.unwrap_or(&self.user))
            .replace("{connectionId}", id.unwrap_or(&self.connection))
            .replace("{reportScheduleId}", id.unwrap_or(&self.report_schedule))
            .replace("{kind}", KIND)
            .replace("{estateKind}", "computers")
            .replace("{key}", "msp.name")
            .replace("{scan_id}", id.unwrap_or(&self.scan))
            .replace("own-frameworks/{frameworkId}", "own-frameworks/MSP_BASE")
            .replace("{frameworkId}", "SOC2")
    }

    /// The path with these ids in it, and a body that is fine.
    pub(crate) fn filled(
        &self,
        operation: &Operation,
        id: Option<&str>,
        client: &str,
    ) -> (String, Vec<u8>) {
        let path = self.path(operation, id, client);
        let path = if operation.id == "lift_hold" { path + "?reason=over" } else { path };
        let body = match operation.id.as_str() {
            "create_asset" => asset(id.unwrap_or(client)),
            "update_asset" => json!({"owner": "Ada"}),
            "add_client" => json!({"name": "New"}),
            "change_client" => json!({"industry": "Legal"}),
            "issue_key" => json!({"name": "k", "scopes": ["read:clients"]}),
            "change_key" | "change_alert_rule" | "change_connection" => json!({"name": "renamed"}),
            "rotate_key" => json!({"graceS": 60}),
            "push_facts" => json!({"source": "test"}),
            "attest_control" => json!({"status": "partial", "reason": "seen", "by": "Ada"}),
            "say_estate_whole" => json!({"all": true, "reason": "counted", "by": "Ada"}),
            "decide_estate" => json!({
                "members": ["aws/111122223333"], "decision": "counted", "reason": "no sandbox", "by": "Ada",
            }),
            "decide_control_subjects" => subject_decision(),
            "place_hold" => json!({"reason": "a case"}),
            "try_batch" | "begin_batch" => batch(client),
            "undo_batch" | "undo_statement" => json!({"reason": "not this client"}),
            "decide_requirement" => {
                json!({"decision": "out_of_scope", "reason": "none here", "by": "Ada"})
            }
            "add_evidence" => evidence("second"),
            "change_risk" => {
                json!({"accepted": true, "until": "2026-04-01T00:00:00Z", "reason": "Replaced soon"})
            }
            "add_task" => task(client),
            "change_task" => json!({"title": "renamed"}),
            "add_alert_rule" => alert_rule(),
            "add_report_schedule" => report_schedule(client),
            "change_report_schedule" => json!({"recipients": ["grace@example.com"]}),
            "test_mail" => json!({"to": "ada@example.com"}),
            "add_own_framework" => own_framework("MSP_NEW"),
            "put_exploited_list" => json!({
                "catalogVersion": "1", "dateReleased": "2026-03-01T00:00:00.000Z", "count": 1,
                "vulnerabilities": [{"cveID": "CVE-2024-3094"}],
            }),
            "start_scan" => scan(client),
            "add_connection" => connection(client),
            "map_connection_organizations" => mapping(client),
            "set_microsoft_app" => microsoft_app(),
            "put_connection_mapping" => kind_mapping(),
            "set_setting" => json!({"value": "Canary"}),
            "change_microsoft_app" => json!({"tenant": "canary.example"}),
            "set_mail" => json!({"server": "127.77.0.1:25", "from": "canary@example.com"}),
            "set_logo" => return (path, LOGO.to_vec()),
            "add_webhook" => json!({"url": NOBODY, "events": ["all"]}),
            "change_webhook" => json!({"description": "renamed"}),
            "rotate_webhook" => json!({"overlapS": 60}),
            "test_webhook" | "test_microsoft_app" | "create_backup" | "drill_backup" => json!({}),
            "log_in" => login("canary@example.com", PASSWORD),
            "change_own_password" => {
                json!({"currentPassword": "wrong", "newPassword": "nine ochre moths, kettle"})
            }
            "enroll_mfa" | "remove_passkey" => json!({"currentPassword": "wrong"}),
            "confirm_mfa" => json!({"otp": "123456"}),
            "replace_recovery_codes" | "remove_mfa" => {
                json!({"currentPassword": "wrong", "otp": "123456"})
            }
            "add_user" => user("new@example.com", "viewer"),
            "change_user" => json!({"displayName": "renamed"}),
            "recover_deliveries" => json!({"since": "2026-03-10T00:00:00Z"}),
            "add_client_list" => return (path, b"name\nListed\n".to_vec()),
            "add_evidence_file" => return (path, b"Canary".to_vec()),
            "add_import" => return (path, crate::manage::prowler(crate::manage::GOOD)),
            _ => return (path, Vec::new()),
        };
        (path, body.to_string().into_bytes())
    }

    /// As [`World::filled`] asks it, over TCP, with these headers.
    pub(crate) fn knock(&self, operation: &Operation, headers: &[(&str, &str)]) -> Answer {
        let (path, body) = self.filled(operation, None, &self.client);
        let headers = [headers, &[("Content-Type", "application/json")]].concat();
        send(self.posture.address, &operation.method, &path, &headers, &body)
    }

    pub(crate) fn ask(&self, operation: &Operation, key: &str, id: Option<&str>) -> Answer {
        let (path, body) = self.filled(operation, id, &self.client);
        self.ask_with(operation, key, &path, &body)
    }

    pub(crate) fn ask_with(
        &self,
        operation: &Operation,
        key: &str,
        path: &str,
        body: &[u8],
    ) -> Answer {
        let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
        send(self.posture.address, &operation.method, path, &headers, body)
    }

    /// A token of a user with this role, who may see these clients (none: all).
    pub(crate) fn token(&self, role: &str, clients: &[&str]) -> String {
        let email = format!("{role}{}@example.com", clients.len());
        let mut body = user(&email, role);
        body["clientIds"] = json!(clients);
        let made = self.posture.operator("POST", "/api/users", &body);
        assert_eq!(made.status, 201, "{}", made.text());
        self.posture.log_in(&email, PASSWORD)
    }

    /// As [`World::filled`] asks it, over TCP, with a token.
    pub(crate) fn ask_as(&self, operation: &Operation, token: &str, id: Option<&str>) -> Answer {
        let (path, body) = self.filled(operation, id, &self.client);
        self.tell_as(operation, token, &path, &body)
    }

    /// Another body, over TCP, with a token.
    pub(crate) fn tell_as(
        &self,
        operation: &Operation,
        token: &str,
        path: &str,
        body: &[u8],
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        send(self.posture.address, &operation.method, path, &headers, body)
    }

    pub(crate) fn operator(&self, operation: &Operation, path: &str, body: &[u8]) -> Answer {
        let headers = [("Content-Type", "application/json")];
        http::send_socket(&self.posture.socket(), &operation.method, path, &headers, body)
    }
}

pub(crate) fn asset(client: &str) -> Value {
    json!({"clientId": client, "name": "Canary", "externalId": "c-1", "assetType": "server"})
}

pub(crate) fn user(email: &str, role: &str) -> Value {
    json!({"email": email, "role": role, "password": PASSWORD})
}

pub(crate) fn login(name: &str, password: &str) -> Value {
    json!({"username_or_email": name, "password": password})
}

fn evidence(reference: &str) -> Value {
    json!({"controlCode": "CLD-01", "title": "Canary", "reference": reference, "by": "Ada"})
}

fn subject_decision() -> Value {
    json!({"decision": "accepted", "ids": ["Canary"], "reason": "seen", "by": "Ada"})
}

fn task(client: &str) -> Value {
    json!({"clientId": client, "title": "Canary"})
}

fn scan(client: &str) -> Value {
    json!({"clientId": client, "targets": ["127.77.0.0/24"], "ports": "1-100"})
}

fn report_schedule(client: &str) -> Value {
    json!({
        "clientId": client, "recipients": ["canary@example.com"],
        "when": {"every": "month", "day": 1, "hour": 8, "timeZone": "Europe/Paris"},
    })
}

fn alert_rule() -> Value {
    json!({"name": "Canary", "condition": {"type": "score_below", "value": 50}})
}
