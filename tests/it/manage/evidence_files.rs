//! Files in the evidence register: kept whole, given back as they came, bounded.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::controls::{PERSONS, attest, control};
use super::refused_field;
use crate::harness::{Answer, Posture};

const MIB: usize = 1024 * 1024;

fn query(name: &str, more: &str) -> String {
    format!("?controlCode={PERSONS}&fileName={name}&by=Ada{more}")
}

/// Adds or renews; the entry.
fn bring(posture: &Posture, client: &str, name: &str, file: &[u8]) -> (u16, Value) {
    let answer = posture.bring_evidence(client, &query(name, ""), file);
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    (answer.status, answer.json()["data"].clone())
}

fn get(posture: &Posture, client: &str, entry: &Value) -> Answer {
    let id = entry["id"].as_str().unwrap();
    let path = format!("/api/clients/{client}/evidence/{id}/file");
    posture.operator("GET", &path, &Value::Null)
}

/// Bytes that do not repeat.
fn noise(n_bytes: usize) -> Vec<u8> {
    let blocks = (0u64..).flat_map(|it| Sha256::digest(it.to_le_bytes()));
    blocks.take(n_bytes).collect()
}

fn list(posture: &Posture, client: &str) -> Value {
    posture.operator("GET", &format!("/api/clients/{client}/evidence"), &Value::Null).json()
}

#[test]
fn a_file_is_given_back_as_it_came_also_after_a_restart() {
    let posture = Posture::start();
    let client = posture.client("A");
    // One part, the edge of a part, and one byte more; parts of several commits.
    let part = 192 * 1024;
    for n_bytes in [1, part, part + 1, 5 * part + 7, 20 * MIB] {
        let file = noise(n_bytes);
        let (status, entry) = bring(&posture, &client, &format!("{n_bytes}.bin"), &file);
        assert_eq!(status, 201);
        assert_eq!(entry["sha256"], hex::encode(Sha256::digest(&file)));
        assert_eq!(entry["file"], json!({"name": format!("{n_bytes}.bin"), "sizeBytes": n_bytes}));
        let answer = get(&posture, &client, &entry);
        assert_eq!((answer.status, answer.body == file), (200, true), "{n_bytes}");
    }
    let posture = posture.restart();
    let all = list(&posture, &client)["data"].as_array().unwrap().clone();
    let entry = all.iter().find(|it| it["file"]["sizeBytes"] == 20 * MIB).unwrap();
    assert!(get(&posture, &client, entry).body == noise(20 * MIB));
}

#[test]
fn a_browser_saves_it_and_never_shows_it() {
    let posture = Posture::start();
    let client = posture.client("A");
    let name = "Pl%C3%A4ne%20%22%C3%A0%20jour%22%3B.html";
    let (_, entry) = bring(&posture, &client, name, b"<script>alert(1)</script>");
    assert_eq!(entry["title"], "Pläne \"à jour\";.html");
    let answer = get(&posture, &client, &entry);
    let header = |it: &str| answer.header(it).unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(
        header("content-disposition"),
        "attachment; filename=\"Pl_ne____jour__.html\"; \
         filename*=UTF-8''Pl%C3%A4ne%20%22%C3%A0%20jour%22%3B.html"
    );
}

#[test]
fn the_same_file_renews_its_entry_and_another_is_another() {
    let posture = Posture::start();
    let client = posture.client("A");
    let (_, first) = bring(&posture, &client, "plan.pdf", b"of 2025");
    posture.pass_s(1);
    let until = "&validUntil=2031-05-31";
    let again = posture.bring_evidence(&client, &query("plan.pdf", until), b"of 2025");
    assert_eq!(again.status, 200);
    let again = &again.json()["data"];
    assert_eq!((&again["id"], &again["file"]), (&first["id"], &first["file"]));
    assert_eq!(again["validUntil"], "2031-05-31T23:59:59.000Z");
    let (status, second) = bring(&posture, &client, "plan.pdf", b"of 2026");
    assert_eq!(status, 201);
    assert_eq!(get(&posture, &client, &first).body, b"of 2025", "what was shown then stays");
    assert_eq!(get(&posture, &client, &second).body, b"of 2026");
    // A renewal without the file keeps it, and does not say that it is another.
    let body =
        json!({"controlCode": PERSONS, "title": "Plan", "reference": "plan.pdf", "by": "Ada"});
    let path = format!("/api/clients/{client}/evidence");
    let renewed = posture.operator("POST", &path, &body).json()["data"].clone();
    assert_eq!((&renewed["id"], &renewed["sha256"]), (&first["id"], &first["sha256"]));
    assert_eq!(renewed["file"], first["file"]);
    let mut other = body.clone();
    other["sha256"] = json!("ab".repeat(32));
    let refused = refused_field(&posture.operator("POST", &path, &other));
    assert_eq!(refused, ("sha256".into(), "must be that of the entry's file".into()));
}

#[test]
fn an_attestation_rests_on_a_file_until_it_is_removed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let (_, entry) = bring(&posture, &client, "plan.pdf", b"plan");
    attest(&posture, &client, PERSONS, &json!({"evidenceId": entry["id"]}));
    assert_eq!(control(&posture, &client, PERSONS)["status"], "compliant");
    let path = format!("/api/clients/{client}/evidence/{}", entry["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert_eq!(control(&posture, &client, PERSONS)["status"], "partial");
    let gone = get(&posture, &client, &entry);
    assert_eq!(gone.problem(), ("NOT_FOUND".into(), "evidence file not found".into()));
}

#[test]
fn what_is_not_taken_leaves_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let large = vec![7; 20 * MIB + 1];
    let long = format!("{}.pdf", "a".repeat(197));
    for (query, file, status, said) in [
        (query("a.pdf", ""), &b""[..], 400, "the file is empty"),
        (query("a.pdf", ""), &large, 413, "the file is larger than 20 MiB"),
        (query(&long, ""), b"x", 400, "must be 1 to 200 characters"),
        (query("a%2Fb.pdf", ""), b"x", 400, "without its folder"),
        (query("a%00.pdf", ""), b"x", 400, "control characters"),
        (query("a.pdf", "&validUntil=2020-01-01"), b"x", 400, "must be in the future"),
        (query("a.pdf", "&validUntil=soon"), b"x", 400, "must be a date such as 2026-12-31"),
        (query("a.pdf", "&title="), b"x", 400, "must be 1 to 200 characters"),
        ("?controlCode=XX-99&fileName=a&by=Ada".into(), b"x", 400, "control code of the catalog"),
        (format!("?controlCode={PERSONS}&fileName=a"), b"x", 400, "is required"),
    ] {
        let answer = posture.bring_evidence(&client, &query, file);
        assert_eq!(answer.status, status, "{query} {}", answer.text());
        assert!(answer.text().contains(said), "{query} {}", answer.text());
    }
    assert_eq!(list(&posture, &client)["pagination"]["total"], 0);
    assert_eq!(bring(&posture, &client, &long[1..], b"x").0, 201);
}

#[test]
fn the_files_of_a_client_have_a_limit_of_their_own() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    // 51 files of 20 MiB are 1,020 MiB.
    let mut file = noise(20 * MIB);
    let mut last = Value::Null;
    for n in 0..51u8 {
        file[0] = n;
        last = bring(&posture, &client, &format!("{n}.bin"), &file).1;
    }
    assert_eq!(bring(&posture, &client, "rest.bin", &file[..4 * MIB]).0, 201);
    let full = posture.bring_evidence(&client, &query("more.bin", ""), b"x");
    let said = "the files of the client's evidence have 1024 of at most 1024 MiB; remove evidence that is no longer needed";
    assert_eq!(full.problem(), ("CONFLICT".into(), said.into()));
    assert_eq!(bring(&posture, &other, "more.bin", b"x").0, 201, "of another client");
    assert_eq!(bring(&posture, &client, "50.bin", &file).0, 200, "a renewal takes no room");
    let path = format!("/api/clients/{client}/evidence/{}", last["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert_eq!(bring(&posture, &client, "more.bin", b"x").0, 201);
}
