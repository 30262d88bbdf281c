//! The audit log: what stands in it, and that nobody can change it unseen.

use posture::clock::Time;
use posture::store::Store;
use posture::store::global::audit::{Act, AuditOutcome};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Posture, http, send};
use crate::openapi::operations;
use crate::strangers::world::{World, in_order};

const PASSWORD: &str = "ochre kettle, nine moths";

/// The log, oldest first.
fn log(posture: &Posture) -> Vec<Value> {
    posture.block_on(posture.app.checkpoint_audit()).unwrap();
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let mut all: Vec<Value> = Vec::new();
    let mut before = String::new();
    loop {
        let path = format!("/api/audit?limit=7{before}");
        let page = posture.operator("GET", &path, &Value::Null).json();
        let page = page["data"].as_array().unwrap().clone();
        let Some(last) = page.last() else { break };
        before = format!("&before={}", last["sequence"]);
        all.extend(page);
    }
    all.reverse();
    all
}

/// The entries about one operation.
fn about(posture: &Posture, action: &str) -> Vec<Value> {
    log(posture).into_iter().filter(|it| it["action"] == action).collect()
}

fn ada(posture: &Posture) -> String {
    let body = json!({"email": "ada@example.com", "role": "admin", "password": PASSWORD});
    assert_eq!(posture.operator("POST", "/api/users", &body).status, 201);
    posture.log_in("ada@example.com", PASSWORD)
}

#[test]
fn a_change_is_told_with_who_what_and_from_where() {
    let posture = Posture::start();
    let token = ada(&posture);
    let body = json!({"name": "first", "scopes": ["read:clients"]});
    let made = posture.as_user(&token, "POST", "/api/keys", &body).json();
    let key = made["data"]["id"].as_str().unwrap();
    posture.pass_s(60);
    let path = format!("/api/keys/{key}");
    assert_eq!(posture.operator("PATCH", &path, &json!({"name": "second"})).status, 200);
    let issued = about(&posture, "POST /api/keys").remove(0);
    assert_eq!(issued["by"], "user ada@example.com");
    assert_eq!(issued["address"], "127.0.0.1");
    assert_eq!(issued["about"], "/api/keys");
    assert_eq!(issued["object"], key);
    assert_eq!(issued["fields"], json!(["name", "scopes"]));
    assert_eq!((&issued["outcome"], &issued["count"]), (&json!("done"), &json!(1)));
    assert_eq!(issued["at"], "2026-03-10T09:00:00.000Z");
    let changed = about(&posture, "PATCH /api/keys/{keyId}").remove(0);
    assert!(changed["by"].as_str().unwrap().starts_with("operator uid "));
    assert_eq!(changed["about"], path.as_str());
    assert_eq!((&changed["address"], &changed["object"]), (&Value::Null, &json!(key)));
    assert_eq!(changed["at"], "2026-03-10T09:01:00.000Z");
    let added = about(&posture, "POST /api/users").remove(0);
    assert_eq!(added["fields"], json!(["email", "password", "role"]));
    let whole = json!(log(&posture)).to_string();
    assert!(!whole.contains(PASSWORD) && !whole.contains("second") && !whole.contains(&token));
}

#[test]
fn entries_are_found_by_who_what_whom_and_when() {
    let posture = Posture::start();
    ada(&posture);
    let first = posture.client("A");
    posture.pass_days(1);
    let second = posture.client("B");
    let key = posture.issue(&json!({"name": "PSA", "scopes": ["manage:clients"]}));
    let (secret, prefix) = (key["key"].as_str().unwrap(), key["prefix"].as_str().unwrap());
    for (client, name) in [(&first, "A1"), (&second, "B1")] {
        let path = format!("/api/clients/{client}");
        let headers = [("X-API-Key", secret), ("Content-Type", "application/json")];
        let body = json!({ "name": name }).to_string();
        let done = send(posture.address, "PATCH", &path, &headers, body.as_bytes());
        assert_eq!(done.status, 200, "{}", done.text());
    }
    posture.pass_days(1);
    let token = posture.log_in("ada@example.com", PASSWORD);
    assert_eq!(
        posture.as_user(&token, "DELETE", &format!("/api/clients/{first}"), &Value::Null).status,
        200
    );
    let found = |query: &str| {
        let answer = posture.operator("GET", &format!("/api/audit?{query}"), &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let all = answer.json()["data"].as_array().unwrap().clone();
        all.iter().map(|it| it["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (add, change, remove) =
        ("POST /api/clients", "PATCH /api/clients/{clientId}", "DELETE /api/clients/{clientId}");
    assert_eq!(found(&format!("by=KEY+{prefix}")), [change, change]);
    assert_eq!(found(&format!("clientId={first}")), [remove, change, add]);
    assert_eq!(found("action=POST+/api/clients"), [add, add]);
    assert_eq!(found(&format!("by=ada&clientId={first}")), [remove]);
    // A day stands for all of it, and a moment for itself: the start is at 09:00 on the 10th.
    assert_eq!(found("action=POST+/api/clients&from=2026-03-11"), [add]);
    assert_eq!(found("action=POST+/api/clients&until=2026-03-10"), [add]);
    assert_eq!(found("from=2026-03-12&until=2026-03-12"), [remove, "POST /auth/login"]);
    assert_eq!(found("until=2026-03-09").len(), 0);
    assert_eq!(found("action=POST+/api/clients&until=2026-03-11T09:00:00Z"), [add]);
    assert_eq!(found("action=POST+/api/clients&until=2026-03-11T09:00:01Z"), [add, add]);
    for query in ["from=1", "until=2026-13-01", "clientId=x"] {
        let refused = posture.operator("GET", &format!("/api/audit?{query}"), &Value::Null);
        assert_eq!(refused.status, 400, "{query}");
    }
    let one = posture.operator("GET", "/api/audit?limit=1&action=POST+/api/clients", &Value::Null);
    let next = one.json()["next"].as_str().unwrap().to_owned();
    assert_eq!(found(&format!("action=POST+/api/clients&before={next}")), [add]);
    let of_key = posture.operator("GET", &format!("/api/audit?by={prefix}"), &Value::Null).json();
    assert_eq!(of_key["data"][0]["keyName"], "PSA");
    let others = posture.operator("GET", "/api/audit?by=ada", &Value::Null).json();
    assert_eq!(others["data"][0]["keyName"], Value::Null);
}

#[test]
fn each_change_stands_there_once_and_reads_do_not() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let before = log(&posture).len();
    posture.operator("GET", "/api/clients", &Value::Null);
    posture.pass_days(2);
    assert_eq!(log(&posture).len(), before, "neither reads nor the clock change what people did");
    let file = crate::manage::prowler(crate::manage::MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let told = about(&posture, "POST /api/clients/{clientId}/imports");
    assert_eq!(told.len(), 1, "however many commits it took");
    assert_eq!(told[0]["about"], format!("/api/clients/{client}/imports"));
    assert_eq!(posture.operator("POST", "/api/clients", &json!({})).status, 400);
    assert_eq!(about(&posture, "POST /api/clients").len(), 1, "what changed nothing is no change");
}

#[test]
fn every_operation_that_changes_something_is_recorded_with_its_actor() {
    // A test and a recovery that finds nothing to send again change nothing. The operator has no session. A client's
    // connection has no organizations. The user has no second factor. The setting that is
    // removed is not set.
    const CHANGES_NOTHING: [&str; 16] = [
        "try_batch",
        "test_microsoft_app",
        "remove_setting",
        "enroll_mfa",
        "confirm_mfa",
        "replace_recovery_codes",
        "remove_mfa",
        "remove_passkey",
        "reset_mfa",
        "test_mail",
        "test_webhook",
        "test_connection",
        "map_connection_organizations",
        "recover_deliveries",
        "log_out",
        "change_own_password",
    ];
    let world = World::new();
    for operation in in_order(operations()).iter().filter(|it| it.method != "GET") {
        let action = format!("{} {}", operation.method, operation.path);
        let by = |it: &Value| it["by"].as_str().unwrap().to_owned();
        let done = || -> Vec<Value> {
            let told = about(&world.posture, &action).into_iter();
            told.filter(|it| it["outcome"] == "done").collect()
        };
        let n_before = done().len();
        let (path, body) = world.filled(operation, None, &world.client);
        world.operator(operation, &path, &body);
        let told = done();
        let n_new = usize::from(!CHANGES_NOTHING.contains(&operation.id.as_str()));
        assert_eq!(told.len(), n_before + n_new, "{action}");
        let is_known = |it: &String| it.starts_with("operator uid ") || it.starts_with("user ");
        assert!(n_new == 0 || told.last().map(by).as_ref().is_some_and(is_known), "{action}");
    }
}

#[test]
fn refusals_are_counted() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let key = posture.issue(&json!({"scopes": ["read:clients"]}));
    let text = key["key"].as_str().unwrap();
    for _ in 0..3 {
        assert_eq!(posture.get(text, &format!("/clients/{client}/risks")).status, 403);
    }
    assert_eq!(posture.get("garbage", "/clients").status, 401);
    let told = about(&posture, "GET /api/v1/clients/{clientId}/risks").remove(0);
    assert_eq!(told["by"], format!("key {}", key["prefix"].as_str().unwrap()));
    assert_eq!((&told["outcome"], &told["count"]), (&json!("refused 403"), &json!(3)));
    let told = about(&posture, "GET /api/v1/clients").remove(0);
    assert_eq!((&told["by"], &told["outcome"]), (&json!("nobody"), &json!("refused 401")));
    let elsewhere = posture.issue(&json!({"networks": ["10.0.0.0/8"]}));
    assert_eq!(posture.get(elsewhere["key"].as_str().unwrap(), "/clients").status, 403);
    let told = about(&posture, "GET /api/v1/clients").remove(1);
    let name = format!("key {}", elsewhere["prefix"].as_str().unwrap());
    assert_eq!((&told["by"], &told["outcome"]), (&json!(name), &json!("refused 403")));
}

#[test]
fn strangers_cannot_fill_the_log_whatever_they_ask_and_wherever_from() {
    let proxy = "127.0.0.0/8".parse().unwrap();
    let posture = Posture::start_with(|options| options.trusted_proxies = vec![proxy]);
    for n in 0..1_500 {
        let path = format!("/api/v1/assets/{n}");
        // A host has a whole /64 to come from.
        let from = format!("2001:db8::{n:x}");
        let headers = [("X-API-Key", "garbage"), ("X-Forwarded-For", from.as_str())];
        assert_eq!(send(posture.address, "PUT", &path, &headers, b"{}").status, 401);
    }
    // The service may have written some down by itself meanwhile, once.
    let count = |told: &[Value]| told.iter().map(|it| it["count"].as_u64().unwrap()).sum::<u64>();
    let told = about(&posture, "PUT /api/v1/assets/{assetId}");
    assert!(told.len() <= 2, "{}", told.len());
    assert_eq!((count(&told), &told[0]["address"]), (1_500, &json!("2001:db8::")));
    for n in 0..500 {
        let from = format!("2001:db8:{n:x}::1");
        let headers = [("X-API-Key", "garbage"), ("X-Forwarded-For", from.as_str())];
        assert_eq!(send(posture.address, "GET", "/api/v1/clients", &headers, b"").status, 401);
    }
    let told = about(&posture, "GET /api/v1/clients");
    assert!((51..=102).contains(&told.len()), "fifty networks, and one entry for the rest");
    let rest = told.iter().find(|it| it["by"] == "many").unwrap();
    assert_eq!((count(&told), &rest["address"]), (500, &Value::Null));
}

#[test]
fn pushed_assets_are_counted_for_each_key() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let key = posture.issue(&json!({}));
    for n in 0..5 {
        let body = json!({"clientId": client, "name": "a", "externalId": n.to_string(), "assetType": "server"});
        assert_eq!(
            posture.send("POST", key["key"].as_str().unwrap(), "/assets", &body).status,
            201
        );
    }
    let told = about(&posture, "POST /api/v1/assets");
    assert_eq!((told.len(), &told[0]["count"]), (1, &json!(5)));
    assert_eq!(told[0]["by"], format!("key {}", key["prefix"].as_str().unwrap()));
}

#[test]
fn logins_are_told_right_or_wrong() {
    let posture = Posture::start();
    ada(&posture);
    assert_eq!(posture.try_log_in("ada@example.com", "wrong").status, 401);
    assert_eq!(posture.try_log_in("hunter2", "wrong").status, 401);
    let told = about(&posture, "POST /auth/login");
    let shown: Vec<_> = told.iter().map(|it| (&it["by"], &it["about"], &it["outcome"])).collect();
    let text = |it: &str| json!(it);
    assert_eq!(
        shown,
        [
            (&text("user ada@example.com"), &text("user ada@example.com"), &text("done")),
            (&text("nobody"), &text(""), &text("refused 401")),
            (&text("nobody"), &text("user ada@example.com"), &text("refused 401")),
        ],
        "what is no user's name may be a password"
    );
}

#[test]
fn starts_stops_and_the_first_administrator_are_told() {
    let posture = Posture::start();
    posture.block_on(posture.app.add_first_admin()).unwrap();
    let posture = posture.restart();
    let told: Vec<_> = log(&posture).iter().map(|it| it["action"].clone()).collect();
    let start = concat!("start ", env!("CARGO_PKG_VERSION"));
    assert_eq!(json!(told), json!([start, "first administrator", "stop", start]));
}

/// As the API's document says it.
fn expected_hash(previous: &str, it: &Value) -> String {
    let fields: Vec<_> =
        it["fields"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let text = |name: &str| match it[name].as_str() {
        Some(text) => text.to_owned(),
        None if it[name].is_null() => String::new(),
        None => it[name].to_string(),
    };
    let before = ["sequence", "at", "by", "address", "action", "about", "object"].map(text);
    let texts = [&before[..], &[fields.join(","), text("outcome"), text("count")]].concat();
    let digest = Sha256::digest(format!("{previous}{}", json!(texts)));
    hex::encode(digest)
}

#[test]
fn anybody_can_verify_the_chain_from_what_the_api_tells() {
    let posture = Posture::start();
    posture.client("Acme <b>");
    let headers = [("Content-Type", "application/json")];
    http::send_socket(&posture.socket(), "PATCH", "/api/clients/x?\u{7f}", &headers, b"{}");
    posture.key();
    let mut previous = "0".repeat(64);
    let all = log(&posture);
    assert!(3 <= all.len());
    for (index, entry) in all.iter().enumerate() {
        assert_eq!(entry["sequence"], index + 1);
        assert!(!entry.to_string().contains('\u{7f}'), "{entry}");
        assert_eq!(entry["hash"], expected_hash(&previous, entry), "{entry}");
        previous = entry["hash"].as_str().unwrap().to_owned();
    }
    let verdict = posture.operator("GET", "/api/audit/verify", &Value::Null).json();
    assert_eq!(verdict["data"]["whole"], true);
    assert_eq!(verdict["data"]["lastHash"], previous);
    assert_eq!(verdict["data"]["entries"], all.len());
}

#[test]
fn what_is_past_its_time_goes_and_the_rest_still_verifies() {
    let posture = Posture::start();
    posture.client("Acme");
    posture.key();
    posture.pass_days(397);
    posture.client("Later");
    let last = log(&posture).last().unwrap().clone();
    assert!(!posture.block_on(posture.app.forget_audit()).unwrap());
    assert_eq!(log(&posture), std::slice::from_ref(&last));
    let verdict = posture.operator("GET", "/api/audit/verify", &Value::Null).json();
    assert_eq!((&verdict["data"]["whole"], &verdict["data"]["entries"]), (&json!(true), &json!(1)));
    let posture = posture.restart();
    let next = log(&posture)[1].clone();
    assert_eq!(next["sequence"], last["sequence"].as_u64().unwrap() + 1, "no number comes again");
    assert_eq!(next["hash"], expected_hash(last["hash"].as_str().unwrap(), &next));
}

#[test]
fn a_damaged_entry_is_named() {
    use redb::ReadableTable;

    let posture = Posture::start();
    for name in ["A", "B", "C", "D"] {
        posture.client(name);
    }
    let first = log(&posture)[0]["sequence"].as_u64().unwrap();
    let damaged = first + 1;
    let posture = posture.restart_after(
        |dir| {
            let file = redb::Database::open(dir.join("posture.redb")).unwrap();
            let write = file.begin_write().unwrap();
            {
                let mut table =
                    write.open_table(redb::TableDefinition::<&[u8], &[u8]>::new("audit")).unwrap();
                let key = damaged.to_be_bytes();
                let mut bytes = table.get(&key[..]).unwrap().unwrap().value().to_vec();
                *bytes.last_mut().unwrap() ^= 1;
                table.insert(&key[..], &bytes[..]).unwrap();
            }
            write.commit().unwrap();
        },
        |_| (),
    );
    let verdict = posture.operator("GET", "/api/audit/verify", &Value::Null);
    assert_eq!(verdict.status, 200, "{}", verdict.text());
    let verdict = verdict.json()["data"].clone();
    assert_eq!((&verdict["whole"], &verdict["brokenAt"]), (&json!(false), &json!(damaged)));
    assert_eq!(verdict["lastSequence"], json!(first), "those before it are sound");
}

#[test]
fn an_entry_that_was_changed_or_taken_out_is_found() {
    let backend = redb::backends::InMemoryBackend::new();
    let store = Store::on_backend(backend, 1 << 20).unwrap();
    let act = |n: i64| Act { at: Time::from_s(n), by: "user a".to_owned(), ..Act::default() };
    for n in 1..=5 {
        store.write_now(move |batch| batch.add_audit(&act(n), AuditOutcome::Done, 1)).unwrap();
    }
    let entries = store.snapshot().unwrap().list_audit(0, 10).unwrap();
    let zeros = [0; 32];
    assert!(entries[0].follows(&zeros));
    assert!((1..5).all(|it| entries[it].follows(&entries[it - 1].hash)));
    let changed = |change: fn(&mut posture::store::global::audit::AuditEntry)| {
        let mut entry = entries[2].clone();
        change(&mut entry);
        entry.follows(&entries[1].hash)
    };
    assert!(changed(|_| ()));
    assert!(!changed(|it| it.at = it.at.plus_s(1)));
    assert!(!changed(|it| it.by = "user b".to_owned()));
    assert!(!changed(|it| it.address = Some("192.0.2.1".to_owned())));
    assert!(!changed(|it| it.action = "x".to_owned()));
    assert!(!changed(|it| it.about = "x".to_owned()));
    assert!(!changed(|it| it.object = Some("x".to_owned())));
    assert!(!changed(|it| it.fields = vec!["x".to_owned()]));
    assert!(!changed(|it| it.outcome = AuditOutcome::Refused(403)));
    assert!(!changed(|it| it.count = 2));
    assert!(!changed(|it| it.sequence = 4));
    assert!(!entries[3].follows(&entries[1].hash), "one was taken out");
}
