//! Holds, and what an erasure leaves.

use posture::clock::Time;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::controls::{attest, in_days};
use super::{MIXED, evidence, import, patched, read, refused_field};
use crate::harness::{Answer, Posture};

fn hold(posture: &Posture, client: &str, body: &Value) -> Answer {
    posture.operator("PUT", &format!("/api/clients/{client}/hold"), body)
}

fn lift(posture: &Posture, client: &str, query: &str) -> Answer {
    posture.operator("DELETE", &format!("/api/clients/{client}/hold{query}"), &Value::Null)
}

fn erase(posture: &Posture, client: &str) -> Answer {
    posture.operator("DELETE", &format!("/api/clients/{client}"), &Value::Null)
}

fn held_for(posture: &Posture, client: &str) -> Value {
    read(posture, &format!("/api/clients/{client}"))["hold"].clone()
}

#[track_caller]
fn refused(answer: &Answer, begins: &str) {
    assert_eq!(answer.status, 409, "{}", answer.text());
    let message = answer.problem().1;
    assert!(message.starts_with(begins) && message.contains("Case 4711"), "{message}");
}

#[test]
fn nothing_about_a_client_under_a_hold_is_removed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let kept = evidence::add(&posture, &client, &json!({}));
    assert_eq!(hold(&posture, &client, &json!({"reason": "Case 4711"})).status, 200);
    let since = posture.now().to_string();
    let shown =
        json!({"reason": "Case 4711", "by": "operator uid 0", "since": since, "until": null});
    assert_eq!(held_for(&posture, &client), shown);
    let listed = read(&posture, "/api/clients");
    assert_eq!(listed[0]["hold"], shown);
    refused(&erase(&posture, &client), "the client is not erased: ");
    let path = format!("/api/clients/{client}/evidence/{kept}");
    refused(&posture.operator("DELETE", &path, &Value::Null), "evidence is not removed: ");
    // Terms become longer, and not shorter.
    let path = format!("/api/clients/{client}");
    let terms = |days: u32| json!({"settings": {"retention": {"observationsDays": days}}});
    patched(&posture, &path, &terms(731));
    refused(&posture.operator("PATCH", &path, &terms(730)), "settings.retention: ");
    patched(&posture, &path, &terms(0));
    refused(&posture.operator("PATCH", &path, &terms(36_500)), "settings.retention: ");
    let none = json!({"settings": {"retention": null}});
    refused(&posture.operator("PATCH", &path, &none), "settings.retention: ");
    assert_eq!(read(&posture, &path)["settings"]["retention"]["observationsDays"], 0);
    // It says why it ends.
    assert_eq!(refused_field(&lift(&posture, &client, "")).0, "reason");
    assert_eq!(lift(&posture, &client, "?reason=Settled").status, 200);
    assert_eq!(held_for(&posture, &client), Value::Null);
    assert_eq!(lift(&posture, &client, "?reason=Settled").status, 404);
    patched(&posture, &path, &none);
    let said = read(&posture, &format!("{path}/statements?kind=hold"));
    let brief = |it: &Value| (it["answer"].clone(), it["state"].clone(), it["reason"].clone());
    let said: Vec<_> = said.as_array().unwrap().iter().map(brief).collect();
    assert_eq!(
        said,
        [
            (json!(null), json!("recorded"), json!("Settled")),
            (json!("held"), json!("withdrawn"), json!("Case 4711")),
        ]
    );
    let undo =
        posture.operator("POST", &format!("{path}/statements/1/undo"), &json!({"reason": "r"}));
    assert_eq!(undo.status, 409, "{}", undo.text());
    assert_eq!(erase(&posture, &client).status, 200);
}

#[test]
fn a_hold_ends_by_itself_and_keeps_its_rules() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (body, field) in [
        (json!({"reason": ""}), "reason"),
        (json!({"reason": "x".repeat(1_001)}), "reason"),
        (json!({"reason": "r", "until": posture.now().to_string()}), "until"),
    ] {
        assert_eq!(refused_field(&hold(&posture, &client, &body)).0, field, "{body}");
    }
    let until = in_days(&posture, 10);
    let body = json!({"reason": "Case 4711", "until": until});
    assert_eq!(hold(&posture, &client, &body).status, 200);
    posture.pass_days(9);
    refused(
        &erase(&posture, &client),
        "the client is not erased: the client is under a hold until ",
    );
    posture.pass_days(1);
    assert_eq!(held_for(&posture, &client), Value::Null, "it ended");
    assert_eq!(erase(&posture, &client).status, 200);
}

#[test]
fn only_who_may_reach_all_clients_changes_terms() {
    let posture = Posture::start();
    let client = posture.client("A");
    let scopes = json!(["manage:clients", "read:clients"]);
    let key = posture.key_with(&json!({"clientIds": [client], "scopes": scopes}));
    let path = format!("/api/clients/{client}");
    let change = |body: &Value| super::by_key(&posture, &key, "PATCH", &path, body);
    let shown = read(&posture, &path)["settings"]["retention"].clone();
    assert_eq!(change(&json!({"settings": {"retention": shown}})).status, 200, "nothing changes");
    let own = json!({"settings": {"retention": {"observationsDays": 30}}});
    let answer = change(&own);
    assert!(answer.status == 403 && answer.text().contains("retention"), "{}", answer.text());
    for wrong in [
        json!({"observationsDays": 29}),
        json!({"observationsDays": 36_501}),
        json!({"statementsDays": 364}),
        json!({"statementsDays": -1}),
        json!({"eventsDays": 90}),
        json!(30),
    ] {
        let body = json!({"settings": {"retention": wrong}});
        let answer = posture.operator("PATCH", &path, &body);
        assert_eq!(refused_field(&answer).0, "settings.retention", "{body}");
    }
    let edges = json!({"observationsDays": 30, "statementsDays": 365});
    patched(&posture, &path, &json!({"settings": {"retention": edges}}));
}

#[test]
fn an_erased_client_leaves_a_receipt_with_digests_only() {
    let backups = tempfile::tempdir().unwrap();
    let dir = backups.path().to_path_buf();
    let posture = Posture::start_with(|it| {
        it.app.backup.dir = Some(dir.clone());
        (it.app.backup.every_h, it.app.backup.keep) = (24, 14);
    });
    let [gone, stays] = ["Canary Ltd", "B"].map(|it| posture.client(it));
    import(&posture, &gone, "", MIXED);
    let digest = "ab".repeat(32);
    evidence::add(&posture, &gone, &json!({"sha256": digest}));
    attest(&posture, &gone, "GOV-14", &json!({"evidence": "dms://canary", "by": "Canary"}));
    let now = posture.now();
    let receipt = erase(&posture, &gone).json()["data"].clone();
    assert_eq!(receipt["clientSha256"], hex::encode(Sha256::digest(&gone)));
    assert_eq!([&receipt["begunAt"], &receipt["finishedAt"]], [&now.to_string(); 2]);
    assert_eq!(receipt["by"], "operator uid 0");
    assert_eq!(receipt["backupsUntil"], now.plus_days(14).to_string());
    assert_eq!(receipt["evidenceSha256"], json!([digest]));
    let counts = ["statements", "evidence", "imports"].map(|it| receipt["counts"][it].clone());
    assert_eq!(counts, [1, 1, 1]);
    let line = json!([
        "1",
        now.to_string(),
        "control",
        "",
        "GOV-14",
        "compliant",
        "seen by me",
        "Canary",
        "operator uid 0",
    ]);
    let said = hex::encode(Sha256::digest(format!("{line}\n")));
    assert_eq!(receipt["statementsSha256"], said);
    let text = receipt.to_string().to_lowercase();
    assert!(!text.contains("canary") && !text.contains(&gone), "{text}");
    posture.clock.set(now.plus_s(1));
    erase(&posture, &stays);
    let all = read(&posture, "/api/erasures");
    assert_eq!((&all[1], all.as_array().unwrap().len()), (&receipt, 2));
    let posture = posture.restart();
    assert_eq!(read(&posture, "/api/erasures"), all);
    // As long as statements, to the day.
    posture.pass_s(2_557 * 86_400 - 1);
    assert_eq!(read(&posture, "/api/erasures"), all);
    posture.pass_days(1);
    assert_eq!(read(&posture, "/api/erasures"), json!([]));
}

#[test]
fn a_hold_outlasts_all_terms() {
    let posture = Posture::start_with(|it| {
        it.app.settings.retention.statements_days = 365;
        it.app.settings.retention.observations_days = 30;
    });
    let [held, free] = ["Held", "Free"].map(|it| posture.client(it));
    let start: Time = posture.now();
    for client in [&held, &free] {
        attest(&posture, client, "GOV-14", &json!({"evidence": "dms://1", "by": "Ada"}));
        attest(&posture, client, "GOV-15", &json!({"evidence": "dms://1", "by": "Ada"}));
        evidence::add(&posture, client, &json!({"validUntil": in_days(&posture, 1)}));
    }
    let push = |client: &str| {
        let seen = json!({"control": "END-04", "passed": 1, "failed": 0});
        let body = json!({"source": "script", "observations": [seen]});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    assert_eq!(hold(&posture, &held, &json!({"reason": "Case 4711"})).status, 200);
    for client in [&held, &free] {
        push(client);
        posture.pass_days(1);
        push(client);
        attest(&posture, client, "GOV-14", &json!({"evidence": "dms://2", "by": "Bob"}));
    }
    let sizes = |client: &str| {
        ["imports", "statements?kind=control", "evidence", "days?limit=1000"].map(|it| {
            let path = format!("/api/clients/{client}/{it}");
            read(&posture, &path).as_array().unwrap().len()
        })
    };
    posture.pass_days(30);
    assert_eq!(sizes(&free)[0], 1, "what the second replaced is too old");
    assert_eq!(sizes(&held)[0], 2);
    posture.pass_days(400);
    let (of_held, of_free) = (sizes(&held), sizes(&free));
    assert_eq!(of_held[..3], [2, 3, 1]);
    assert_eq!(of_free[..3], [1, 2, 0], "what was superseded ended, what stands stays");
    assert!(of_free[3] < of_held[3], "{of_free:?} {of_held:?}");
    let days = read(&posture, &format!("/api/clients/{held}/days?limit=1000"));
    let first = days.as_array().unwrap().last().unwrap()["day"].as_str().unwrap().to_owned();
    assert!(start.to_string().starts_with(&first), "{first}");
    let entries = read(&posture, "/api/audit?action=remove%20by%20retention");
    let entries = entries.as_array().unwrap().clone();
    let about =
        |id: &str| entries.iter().filter(|it| it["about"] == format!("/api/clients/{id}")).count();
    assert_eq!(about(&held), 0);
    assert!(1 < about(&free));
    let fields: String = entries.iter().map(|it| it["fields"].to_string()).collect();
    for what in ["observations=1", "imports=1", "statements=1", "evidence=1", "days=", "changes="] {
        assert!(fields.contains(what), "{what} {fields}");
    }
    assert_eq!(read(&posture, "/api/audit/verify")["whole"], true);
    // Once it is lifted, all goes.
    assert_eq!(lift(&posture, &held, "?reason=Settled").status, 200);
    posture.pass_days(1);
    assert_eq!(sizes(&held)[..3], [1, 2, 0]);
}
