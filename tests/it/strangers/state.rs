//! What a caller who is limited to one client writes changes nothing for others: neither what they see, nor what they can do.
//! In the long form.

use std::time::Duration;

use serde_json::{Value, json};

use super::operation::Names;
use super::world::{OF_A_SESSION, World, in_order, keyed, managed, tried};
use crate::harness::long::is_long;
use crate::harness::process::wait_until;
use crate::harness::{ALL_SCOPES, send};
use crate::openapi::{Operation, operations};

/// How often each operation is repeated: more than what any share of one client holds, but for large ones.
const N_REPEATED: usize = 25;
/// Their answers count what everybody does.
const COUNTING: [&str; 6] =
    ["get_system", "list_audit", "verify_audit", "get_kpis", "check_database", "list_webhooks"];

/// One who may reach the client `own` alone, who has of everything what the world's client has.
struct Attacker {
    own: String,
    headers: [(&'static str, String); 2],
}

impl Attacker {
    /// Both that there are: by key, and by token.
    fn all(world: &World, own: &str) -> [Self; 2] {
        let key = world.posture.key_with(&json!({"clientIds": [own], "scopes": ALL_SCOPES}));
        let bearer = format!("Bearer {}", world.token("analyst", &[own]));
        let kind = ("Content-Type", "application/json".to_owned());
        [("X-API-Key", key), ("Authorization", bearer)]
            .map(|by| Self { own: own.to_owned(), headers: [by, kind.clone()] })
    }

    fn send(&self, world: &World, method: &str, path: &str, body: &[u8]) -> Value {
        let headers = self.headers.each_ref().map(|it| (it.0, it.1.as_str()));
        let answer = send(world.posture.address, method, path, &headers, body);
        assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// Calls every operation that changes something, for the own client and with the world's ids, many times.
    fn attack(&self, world: &World, changing: &[Operation]) {
        for operation in changing {
            let (path, body) = world.filled(operation, None, &self.own);
            let n = if operation.method == "POST" { N_REPEATED } else { 1 };
            let mut made = None;
            for index in 0..n {
                let body = own(&self.own, &world.client, &body, index);
                let id = self.send(world, &operation.method, &path, &body)["data"]["id"].clone();
                made = made.or_else(|| id.as_str().map(str::to_owned));
            }
            // What it made itself can be changed and removed.
            for other in made
                .iter()
                .flat_map(|_| changing.iter().filter(|it| tried(it).1 == tried(operation).1))
            {
                let (path, body) = world.filled(other, made.as_deref(), &self.own);
                let body = own(&self.own, &world.client, &body, 0);
                self.send(world, &other.method, &path, &body);
            }
        }
        self.take_what_is_shared(world);
    }

    /// What belongs to all clients by its nature: names, accounts of vendors, networks.
    fn take_what_is_shared(&self, world: &World) {
        let path = format!("/api/clients/{}", self.own);
        for change in [
            json!({"name": "Canary"}),
            json!({"name": "canary", "allowSameName": true}),
            json!({"settings": {"scanNetworks": ["127.77.0.0/24"]}}),
        ] {
            self.send(world, "PATCH", &path, change.to_string().as_bytes());
        }
        for file in [
            crate::manage::prowler(crate::manage::GOOD),
            crate::manage::prowler_of("999999999999", crate::manage::GOOD),
        ] {
            for query in ["observedAt=now", "observedAt=now&bind=true&again=true"] {
                let imported = self.send(world, "POST", &format!("{path}/imports?{query}"), &file);
                if let Some(id) = imported["data"]["import"]["id"].as_str() {
                    self.send(world, "DELETE", &format!("{path}/imports/{id}"), b"");
                    self.send(world, "POST", &format!("{path}/imports?{query}"), &file);
                }
            }
        }
    }
}

/// The body with the client `own` in place of the world's; of several that are made, each is another one.
fn own(own: &str, worlds: &str, body: &[u8], index: usize) -> Vec<u8> {
    let Ok(text) = str::from_utf8(body) else { return body.to_vec() };
    let text = text.replace(worlds, own).replace("\"c-1\"", &format!("\"c-{index}\""));
    let Ok(mut body) = serde_json::from_str::<Value>(&text) else { return text.into_bytes() };
    if body["condition"].is_object() {
        body["clientIds"] = json!([own]);
    }
    body.to_string().into_bytes()
}

/// All answers that those see who may reach the world's client, without what is the attackers' own.
fn seen(world: &World, reading: &[Operation], key: &str, attackers: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for operation in reading.iter().filter(|it| !COUNTING.contains(&it.id.as_str())) {
        let (path, body) = world.filled(operation, None, &world.client);
        let path = whole(operation, path);
        let answers = [
            operation.takes_keys.then(|| world.ask_with(operation, key, &path, &body)),
            // Lists over all clients, as the operator sees them, have the attackers' rows.
            operation.role.as_ref().map(|_| world.operator(operation, &path, &body)),
        ];
        for answer in answers.into_iter().flatten() {
            let mut body = serde_json::from_slice(&answer.body).unwrap_or_default();
            without(&mut body, attackers);
            all.push((operation.id.clone(), json!([answer.status, body])));
        }
    }
    all
}

/// The path with as many rows as a page may have: what attackers add shifts no row of others out of it.
fn whole(operation: &Operation, path: String) -> String {
    let mut parameters = operation.described["parameters"].as_array().into_iter().flatten();
    let Some(limit) = parameters.find(|it| it["name"] == "limit") else { return path };
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}limit={}", limit["schema"]["maximum"].as_f64().unwrap())
}

/// Takes out rows that are about the attackers' client, and what counts rows.
fn without(value: &mut Value, client: &str) {
    match value {
        Value::Array(rows) => {
            rows.retain(|it| !it.to_string().contains(client));
            for row in rows {
                without(row, client);
            }
        }
        Value::Object(members) => {
            for count in ["pagination", "next", "lastUsedAt", "requestId"] {
                members.remove(count);
            }
            for member in members.values_mut() {
                without(member, client);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[test]
fn nothing_of_others_changes_whatever_a_limited_caller_writes() {
    // It takes half a minute.
    if !is_long() {
        return;
    }
    let world = World::new();
    let evil = world.posture.client("Evil");
    let attackers = Attacker::all(&world, &evil);
    let key = world.posture.key_with(&json!({"clientIds": [world.client], "scopes": ALL_SCOPES}));
    let is_tried = |it: &Operation| !OF_A_SESSION.contains(&it.id.as_str()) && it.id != "log_in";
    let all: Vec<_> = operations().into_iter().filter(is_tried).collect();
    let (reading, changing): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.method == "GET");
    // What the world began goes on for a moment: its connection is read for the first time, its scan begins.
    let connection = reading.iter().find(|it| it.id == "get_connection").unwrap();
    let (path, _) = world.filled(connection, None, &world.client);
    let is_read = || !world.operator(connection, &path, b"").json()["data"]["lastRunAt"].is_null();
    assert!(wait_until(Duration::from_mins(1), is_read));
    let mut before = seen(&world, &reading, &key, &evil);
    let settled = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let now = seen(&world, &reading, &key, &evil);
        std::mem::replace(&mut before, now.clone()) == now
    });
    assert!(settled);

    for attacker in &attackers {
        attacker.attack(&world, &changing);
    }

    let after = seen(&world, &reading, &key, &evil);
    let differences: Vec<_> =
        before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    assert!(differences.is_empty(), "{} answers differ: {differences:#?}", differences.len());
    // And they can do what they could.
    let user = world.token("analyst", &[world.client.as_str(); 2]);
    for operation in in_order(keyed().chain(managed()).filter(|it| it.method != "GET").collect()) {
        if !is_tried(&operation)
            || tried(&operation).1 == Names::Nothing && operation.role.as_deref() == Some("admin")
        {
            continue;
        }
        let (path, body) = world.filled(&operation, None, &world.client);
        let body = own(&world.client, &world.client, &body, 900);
        let answer = match operation.role.as_deref() {
            Some("analyst") if !operation.takes_keys => {
                world.tell_as(&operation, &user, &path, &body)
            }
            Some(_) if !operation.takes_keys => world.operator(&operation, &path, &body),
            _ => world.ask_with(&operation, &key, &path, &body),
        };
        assert!(
            ![409, 429, 503].contains(&answer.status) || answer.status == tried(&operation).3,
            "{}: {}",
            operation.id,
            answer.text()
        );
    }
}
