//! The same statement about many clients, undone as one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use posture::app::ClientLock;
use serde_json::{Value, json};

use super::controls::{attest, in_days, try_attest};
use super::undo::{differences, shown as shown_of_client};
use super::{MIXED, by_key, import, patched, read, refused_field};
use crate::harness::backend::Random;
use crate::harness::long::is_long;
use crate::harness::wait::wait_until;
use crate::harness::{Answer, Posture};

const CODE: &str = "GOV-14";
const PATIENCE: Duration = Duration::from_mins(2);

/// In the order of their ids.
fn clients(posture: &Posture, n: usize) -> Vec<String> {
    let add = |it: usize| {
        posture.clock.set(posture.now().plus_s(1));
        posture.client(&format!("Client {it:04}"))
    };
    (0..n).map(add).collect()
}

/// Attests a control at these clients.
fn attesting(clients: &[String]) -> Value {
    json!({
        "clientIds": clients, "reason": "One plan for all", "by": "Ada",
        "attestation": {"controlCode": CODE, "status": "compliant", "evidence": "dms://plan"},
    })
}

fn try_begin(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/batches", body)
}

/// Its id.
fn begin(posture: &Posture, body: &Value) -> String {
    let answer = try_begin(posture, body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn try_undo(posture: &Posture, id: &str) -> Answer {
    let body = json!({"reason": "It was for other clients"});
    posture.operator("POST", &format!("/api/batches/{id}/undo"), &body)
}

fn undo(posture: &Posture, id: &str) {
    let answer = try_undo(posture, id);
    assert_eq!(answer.status, 202, "{}", answer.text());
    finish(posture);
}

/// Until no batch is in progress. The service works on them too.
fn finish(posture: &Posture) {
    let is_open = |it: &Value| it["state"] == "running" || it["state"] == "undoing";
    let is_over = || {
        while posture.block_on(posture.app.advance_batches()).unwrap() {}
        !read(posture, "/api/batches").as_array().unwrap().iter().any(is_open)
    };
    assert!(wait_until(PATIENCE, is_over));
}

fn shown(posture: &Posture, id: &str) -> Value {
    read(posture, &format!("/api/batches/{id}"))
}

/// State, and at how many clients it was stated, refused and undone.
fn brief(posture: &Posture, id: &str) -> (String, [u64; 3]) {
    let it = shown(posture, id);
    let counts = ["statedCount", "refusedCount", "undoneCount"];
    (it["state"].as_str().unwrap().to_owned(), counts.map(|name| it[name].as_u64().unwrap()))
}

fn members(posture: &Posture, id: &str) -> Vec<(String, String)> {
    let all = read(posture, &format!("/api/batches/{id}/clients?limit=100"));
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    all.as_array().unwrap().iter().map(|it| (text(it, "state"), text(it, "message"))).collect()
}

fn said(posture: &Posture, client: &str) -> Vec<Value> {
    let all = read(posture, &format!("/api/clients/{client}/statements?limit=100"));
    all.as_array().unwrap().clone()
}

/// Holds a client, as an import does, so that no batch comes to it.
fn busy(posture: &Posture, client: &str) -> ClientLock {
    posture.block_on(posture.app.clients.lock(client.parse().unwrap()))
}

/// What everybody reads of each client.
fn everything(posture: &Posture, key: &str, clients: &[String]) -> BTreeMap<String, Value> {
    let of = |(n, client): (usize, &String)| {
        let all = shown_of_client(posture, key, client).into_iter();
        all.map(move |(name, it)| (format!("{n}/{name}"), it))
    };
    clients.iter().enumerate().flat_map(of).collect()
}

#[test]
fn all_clients_say_it_each_in_its_own_log() {
    let posture = Posture::start();
    let all = clients(&posture, 3);
    attest(&posture, &all[1], CODE, &json!({"evidence": "dms://own", "by": "Bob"}));
    let trial = posture.operator("POST", "/api/batches/trial", &attesting(&all)).json();
    let trial: Vec<_> =
        trial["data"].as_array().unwrap().iter().map(|it| it["replaces"].clone()).collect();
    assert_eq!(trial, [false, true, false]);
    assert_eq!(read(&posture, "/api/batches"), json!([]), "a trial states nothing");

    let first = busy(&posture, &all[0]);
    let id = begin(&posture, &attesting(&all));
    let is_stuck = || brief(&posture, &id) == ("running".to_owned(), [2, 0, 0]);
    assert!(wait_until(PATIENCE, is_stuck), "the others do not wait for a busy one");
    let states: Vec<String> = members(&posture, &id).into_iter().map(|it| it.0).collect();
    assert_eq!(states, ["waiting", "stated", "stated"]);
    drop(first);
    finish(&posture);
    assert_eq!(brief(&posture, &id), ("finished".to_owned(), [3, 0, 0]));
    let listed = read(&posture, "/api/batches");
    assert_eq!(listed[0]["title"], format!("{CODE} compliant"));
    for client in &all {
        let newest = said(&posture, client)[0].clone();
        assert_eq!(newest["batchId"], id, "{newest}");
        let kept = ["by", "account", "reason", "evidence"].map(|it| newest[it].clone());
        assert_eq!(kept, ["Ada", "operator uid 0", "One plan for all", "dms://plan"]);
        let audit =
            read(&posture, &format!("/api/audit?clientId={client}&action=state%20in%20a%20batch"));
        assert_eq!(audit.as_array().unwrap().len(), 1, "{audit}");
    }
    // What somebody says later stays.
    posture.pass_days(1);
    attest(&posture, &all[2], CODE, &json!({"evidence": "dms://later", "by": "Eve"}));
    undo(&posture, &id);
    assert_eq!(brief(&posture, &id), ("undone".to_owned(), [3, 0, 3]));
    let states = |client: &String| {
        let all = said(&posture, client);
        all.iter().map(|it| it["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(&all[0]), ["recorded", "undone"]);
    assert_eq!(states(&all[1]), ["recorded", "undone", "in_force"]);
    assert_eq!(states(&all[2]), ["recorded", "in_force", "undone"]);
    assert_eq!(said(&posture, &all[0])[0]["reason"], "It was for other clients");
    let again = try_undo(&posture, &id);
    assert_eq!(again.status, 409, "{}", again.text());
}

#[test]
fn undone_it_is_as_if_it_had_never_been_said() {
    let posture = Posture::start();
    let all = clients(&posture, 3);
    for client in &all {
        import(&posture, client, "", MIXED);
    }
    attest(&posture, &all[1], CODE, &json!({"evidence": "dms://own", "by": "Bob"}));
    let risks = read(&posture, &format!("/api/clients/{}/risks", all[0]));
    let code = risks.as_array().unwrap().iter().find_map(|it| it["controlCode"].as_str()).unwrap();
    let key = posture.key();
    let before = everything(&posture, &key, &all);
    let none: Vec<String> = Vec::new();
    let until = in_days(&posture, 90);
    let row = json!({"frameworkId": "soc2", "requirement": "cc6.1", "decision": "out_of_scope"});
    for (kind, what, until) in [
        ("attestation", json!({"controlCode": CODE, "status": "non_compliant"}), None),
        ("decision", row, None),
        ("acceptance", json!({"controlCode": code}), Some(until)),
    ] {
        let mut body = json!({"clientIds": all, "reason": "r", "by": "Ada"});
        body[kind] = what;
        if let Some(until) = until {
            body["until"] = json!(until);
        }
        let id = begin(&posture, &body);
        finish(&posture);
        assert_eq!(brief(&posture, &id), ("finished".to_owned(), [3, 0, 0]), "{kind}");
        assert_ne!(differences(&everything(&posture, &key, &all), &before), none, "{kind}");
        undo(&posture, &id);
        assert_eq!(differences(&everything(&posture, &key, &all), &before), none, "{kind}");
    }
}

#[test]
fn it_goes_on_after_a_stop_and_states_nothing_twice() {
    let posture = Posture::start();
    let all = clients(&posture, 5);
    let last = busy(&posture, &all[4]);
    let id = begin(&posture, &attesting(&all));
    let is_stuck = || brief(&posture, &id) == ("running".to_owned(), [4, 0, 0]);
    assert!(wait_until(PATIENCE, is_stuck));
    let gone = format!("/api/clients/{}", all[3]);
    assert_eq!(posture.operator("DELETE", &gone, &Value::Null).status, 200);
    drop(last);
    let posture = posture.restart();
    finish(&posture);
    assert_eq!(brief(&posture, &id), ("finished".to_owned(), [4, 0, 0]), "one is gone");
    let left = [&all[..3], &all[4..]].concat();
    assert!(left.iter().all(|it| said(&posture, it).len() == 1));
    let last = busy(&posture, &all[4]);
    let answer = try_undo(&posture, &id);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let is_stuck = || brief(&posture, &id) == ("undoing".to_owned(), [4, 0, 3]);
    assert!(wait_until(PATIENCE, is_stuck));
    drop(last);
    let posture = posture.restart();
    finish(&posture);
    assert_eq!(brief(&posture, &id), ("undone".to_owned(), [4, 0, 4]));
    assert!(left.iter().all(|it| said(&posture, it).len() == 2));
    // One that is undone while it is in progress ends.
    let last = busy(&posture, &all[4]);
    let id = begin(&posture, &attesting(&left));
    let is_stuck = || brief(&posture, &id) == ("running".to_owned(), [3, 0, 0]);
    assert!(wait_until(PATIENCE, is_stuck));
    let answer = try_undo(&posture, &id);
    assert_eq!(answer.status, 202, "{}", answer.text());
    finish(&posture);
    drop(last);
    assert_eq!(brief(&posture, &id), ("undone".to_owned(), [3, 0, 3]));
    // It goes with the last of its clients.
    assert_eq!(read(&posture, "/api/batches").as_array().unwrap().len(), 2);
    for client in &left {
        let path = format!("/api/clients/{client}");
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    }
    assert_eq!(read(&posture, "/api/batches"), json!([]));
}

#[test]
fn what_a_client_refuses_is_noted_and_the_others_go_on() {
    let posture = Posture::start();
    let all = clients(&posture, 2);
    import(&posture, &all[1], "", MIXED);
    let risks = read(&posture, &format!("/api/clients/{}/risks", all[1]));
    let code = risks.as_array().unwrap().iter().find_map(|it| it["controlCode"].as_str()).unwrap();
    let body = json!({
        "clientIds": all, "reason": "r", "by": "Ada", "until": in_days(&posture, 30),
        "acceptance": {"controlCode": code},
    });
    let trial = posture.operator("POST", "/api/batches/trial", &body).json()["data"].clone();
    let none = format!("no risk about {code} is open");
    assert_eq!([&trial[0]["message"], &trial[1]["message"]], [&json!(none), &Value::Null]);
    let id = begin(&posture, &body);
    finish(&posture);
    assert_eq!(brief(&posture, &id), ("finished".to_owned(), [1, 1, 0]));
    let expected = [("refused".to_owned(), none), ("stated".to_owned(), String::new())];
    assert_eq!(members(&posture, &id), expected);
    let audit = |client: &str| {
        let path = format!("/api/audit?clientId={client}&action=state%20in%20a%20batch");
        read(&posture, &path).as_array().unwrap().len()
    };
    assert_eq!([audit(&all[0]), audit(&all[1])], [0, 1], "nothing was done at the first");
    // What was undone by hand is left.
    let number = said(&posture, &all[1])[0]["number"].clone();
    let path = format!("/api/clients/{}/statements/{number}/undo", all[1]);
    assert_eq!(posture.operator("POST", &path, &json!({"reason": "r"})).status, 200);
    undo(&posture, &id);
    assert_eq!(brief(&posture, &id), ("undone".to_owned(), [1, 2, 0]));
    let (state, message) = members(&posture, &id)[1].clone();
    assert!(state == "not_undone" && message.contains("undone already"), "{state}: {message}");
}

#[test]
fn who_may_not_reach_all_clients_chooses_its_own_and_sees_its_own() {
    let posture = Posture::start();
    let all = clients(&posture, 3);
    for client in &all[..2] {
        patched(
            &posture,
            &format!("/api/clients/{client}"),
            &json!({"settings": {"tags": ["gold"]}}),
        );
    }
    let scopes = json!(["manage:decisions", "read:compliance"]);
    let key = posture.key_with(&json!({"clientIds": [all[0]], "scopes": scopes}));
    let ask = |method: &str, path: &str, body: &Value| by_key(&posture, &key, method, path, body);
    let mut body = attesting(&all[..2]);
    assert_eq!(ask("POST", "/api/batches", &body).status, 403);
    assert_eq!(ask("POST", "/api/batches/trial", &body).status, 403);
    let of_all = begin(&posture, &body);
    finish(&posture);
    assert_eq!(ask("GET", &format!("/api/batches/{of_all}"), &Value::Null).status, 404);
    let path = format!("/api/batches/{of_all}/clients");
    assert_eq!(ask("GET", &path, &Value::Null).status, 404);
    let path = format!("/api/batches/{of_all}/undo");
    assert_eq!(ask("POST", &path, &json!({"reason": "r"})).status, 404);
    // Of the tag, those that it may reach.
    body["tag"] = json!("gold");
    body.as_object_mut().unwrap().remove("clientIds");
    let answer = ask("POST", "/api/batches", &body);
    assert_eq!((answer.status, &answer.json()["data"]["clientCount"]), (202, &json!(1)));
    finish(&posture);
    let listed = ask("GET", "/api/batches", &Value::Null).json();
    assert_eq!(listed["pagination"]["total"], 1);
    assert_eq!(said(&posture, &all[1]).len(), 1);
    assert_eq!(said(&posture, &all[0]).len(), 2);
    assert_eq!(read(&posture, "/api/batches").as_array().unwrap().len(), 2);
}

#[test]
fn its_rules_are_told_by_their_fields_and_limits_hold_at_their_edge() {
    let posture = Posture::start();
    let all = clients(&posture, 2);
    let fields: &[(&str, Value, &str)] = &[
        ("clientIds", json!([]), "clientIds"),
        ("tag", json!("gold"), "tag"),
        ("reason", json!(""), "reason"),
        ("by", json!(" "), "by"),
        ("until", json!(posture.now().to_string()), "until"),
        (
            "decision",
            json!({"frameworkId": "SOC2", "requirement": "CC6.1", "decision": "out_of_scope"}),
            "attestation",
        ),
        (
            "attestation",
            json!({"controlCode": "X-1", "status": "compliant"}),
            "attestation.controlCode",
        ),
        (
            "attestation",
            json!({"controlCode": CODE, "status": "compliant", "override": true}),
            "until",
        ),
    ];
    for (name, value, field) in fields {
        let mut body = attesting(&all);
        body[name] = value.clone();
        for path in ["/api/batches", "/api/batches/trial"] {
            let answer = posture.operator("POST", path, &body);
            assert_eq!(refused_field(&answer).0, *field, "{body}");
        }
    }
    let nobody = json!(["019b8d1e-0000-7000-8000-000000000000"]);
    let mut body = attesting(&all);
    body["clientIds"] = nobody;
    assert_eq!(try_begin(&posture, &body).status, 404);
    let first = busy(&posture, &all[0]);
    let open: Vec<String> = (0..5).map(|_| begin(&posture, &attesting(&all))).collect();
    let refused = try_begin(&posture, &attesting(&all));
    assert!(refused.status == 409 && refused.text().contains("5 batches"), "{}", refused.text());
    drop(first);
    finish(&posture);
    let late = begin(&posture, &attesting(&all));
    finish(&posture);
    posture.pass_days(30);
    assert_eq!(try_undo(&posture, &late).status, 202);
    finish(&posture);
    posture.pass_s(1);
    let refused = try_undo(&posture, &open[0]);
    assert!(refused.status == 409 && refused.text().contains("30 days"), "{}", refused.text());
    posture.pass_days(59);
    assert_eq!(read(&posture, "/api/batches").as_array().unwrap().len(), 6);
    posture.pass_days(2);
    assert_eq!(read(&posture, "/api/batches"), json!([]), "they are forgotten, and the log is not");
    assert_eq!(said(&posture, &all[0]).len(), 7);
}

/// 1,000 clients in the long form.
#[test]
fn many_clients_are_stated_and_undone_while_others_write() {
    let posture = Posture::start();
    let n = if is_long() { 1_000 } else { 40 };
    let all = clients(&posture, n);
    let mut random = Random::from_seed(1);
    // Some said something before, some say something while it is made or undone.
    let of_writer: Vec<u64> = all.iter().map(|_| random.below(4)).collect();
    for (client, it) in all.iter().zip(&of_writer) {
        if *it == 0 {
            attest(&posture, client, CODE, &json!({"evidence": "dms://before", "by": "Bob"}));
        }
    }
    let is_over = AtomicBool::new(false);
    let id = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for (client, it) in all.iter().zip(&of_writer) {
                if *it == 1 {
                    let said = json!({
                        "status": "compliant", "reason": "seen", "evidence": "dms://beside", "by": "Eve",
                    });
                    assert_eq!(try_attest(&posture, client, CODE, &said).status, 200);
                }
                let seen = json!([{"control": "END-04", "passed": 1, "failed": 0}]);
                let body = json!({"source": "script", "observations": seen});
                let path = format!("/api/clients/{client}/facts");
                assert_eq!(posture.operator("POST", &path, &body).status, 200);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let id = begin(&posture, &attesting(&all));
        finish(&posture);
        let answer = try_undo(&posture, &id);
        assert_eq!(answer.status, 202, "{}", answer.text());
        finish(&posture);
        writer.join().unwrap();
        id
    });
    assert!(is_over.load(Ordering::Relaxed));
    let n = n as u64;
    assert_eq!(brief(&posture, &id), ("undone".to_owned(), [n, 0, n]));
    for (client, it) in all.iter().zip(&of_writer) {
        let control = read(&posture, &format!("/api/clients/{client}/controls/{CODE}"));
        let evidence = control["attestation"]["evidence"].clone();
        let expected = match it {
            0 => json!("dms://before"),
            1 => json!("dms://beside"),
            _ => Value::Null,
        };
        assert_eq!(evidence, expected, "{control}");
    }
}

#[test]
fn what_exists_is_said_at_the_clients_of_a_tag_and_undone_as_one() {
    let posture = Posture::start();
    let clients = clients(&posture, 2);
    for it in &clients {
        patched(&posture, &format!("/api/clients/{it}"), &json!({"settings": {"tags": ["gold"]}}));
    }
    import(&posture, &clients[0], "", MIXED);
    let read_estate = |client: &str| read(&posture, &format!("/api/clients/{client}/estate"));
    let before = clients.iter().map(|it| read_estate(it)).collect::<Vec<_>>();
    let said = |estate: Value| json!({"tag": "gold", "estate": estate, "reason": "Confirmed in the review", "by": "Ada"});
    let all = said(json!({"kind": "cloud_accounts"}));
    let answer = posture.operator("POST", "/api/batches/trial", &all);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tried = &answer.json()["data"];
    assert_eq!((&tried[0]["known"], &tried[1]["known"]), (&json!(1), &json!(0)));
    assert_eq!(clients.iter().map(|it| read_estate(it)).collect::<Vec<_>>(), before);

    let batch = begin(&posture, &all);
    finish(&posture);
    assert_eq!(brief(&posture, &batch), ("finished".to_owned(), [2, 0, 0]));
    let answer_of = |client: &str| {
        let kinds = read_estate(client)["kinds"].clone();
        kinds.as_array().unwrap().iter().find(|it| it["kind"] == "cloud_accounts").unwrap()["all"]
            .clone()
    };
    assert_eq!(answer_of(&clients[0])["reason"], "Confirmed in the review");
    undo(&posture, &batch);
    assert_eq!(clients.iter().map(|it| read_estate(it)).collect::<Vec<_>>(), before);

    let member = before[0]["members"][1]["id"].clone();
    let out = begin(&posture, &said(json!({"member": member, "decision": "excluded"})));
    finish(&posture);
    assert_eq!(
        brief(&posture, &out),
        ("finished".to_owned(), [1, 1, 0]),
        "the other has no such account"
    );
    assert_eq!(read_estate(&clients[0])["members"][1]["state"], "excluded");
    let refused = refused_field(&try_begin(&posture, &said(json!({"kind": "scopes"}))));
    assert_eq!(refused.0, "kind");
    let refused = refused_field(&try_begin(&posture, &said(json!({"member": member}))));
    assert_eq!(refused.0, "estate");
}
