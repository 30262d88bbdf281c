//! What people say about a client stays said.

use posture::app::assessment::log::N_STATEMENTS_MAX;
use posture::id::ClientId;
use posture::store::per_client::statement::StatementRecord;
use serde_json::{Value, json};

use super::controls::{attest, in_days, try_attest};
use super::{MIXED, import, patched, read, refused_field};
use crate::harness::backend::Random;
use crate::harness::{Answer, Posture, open_store};

/// All records, newest first.
fn log(posture: &Posture, client: &str, query: &str) -> Vec<Value> {
    let all = read(posture, &format!("/api/clients/{client}/statements?{query}"));
    all.as_array().unwrap().clone()
}

/// Number, what was said, its state, and by which record it ended.
fn brief(it: &Value) -> (u64, Option<&str>, &str, Option<u64>) {
    let (answer, state) = (it["answer"].as_str(), it["state"].as_str().unwrap());
    (it["number"].as_u64().unwrap(), answer, state, it["endedBy"].as_u64())
}

fn decide(posture: &Posture, client: &str, requirement: &str, body: &Value) {
    let path = format!("/api/clients/{client}/compliance/{requirement}");
    let answer = posture.operator("PUT", &path, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn withdraw(posture: &Posture, client: &str, code: &str, reason: &str) {
    let answer = try_attest(posture, client, code, &json!({"status": null, "reason": reason}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn both_texts_about_a_control_are_there_with_who_and_when() {
    let posture = Posture::start();
    let client = posture.client("A");
    assert_eq!(log(&posture, &client, ""), Vec::<Value>::new());
    let first = posture.now();
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://14", "by": "Ada"}));
    posture.pass_days(1);
    let said = json!({"status": "non_compliant", "reason": "It was another plan", "by": "Bob"});
    attest(&posture, &client, "GOV-14", &said);
    posture.pass_days(1);
    withdraw(&posture, &client, "GOV-14", "Nobody knows");

    let all = log(&posture, &client, "kind=control&subject=gov-14");
    let states: Vec<_> = all.iter().map(brief).collect();
    assert_eq!(
        states,
        [
            (3, None, "recorded", None),
            (2, Some("non_compliant"), "withdrawn", Some(3)),
            (1, Some("compliant"), "superseded", Some(2)),
        ]
    );
    let wording = all[2]["wording"].as_str().unwrap();
    assert!(wording.contains('\n'), "title and question: {wording}");
    assert_eq!(
        all[2],
        json!({
            "number": 1, "kind": "control", "subject": "GOV-14", "frameworkId": null, "part": null,
            "answer": "compliant", "withdraws": null, "undoes": null, "supersedes": null,
            "reason": "seen by me", "evidence": "dms://14", "evidenceId": null,
            "evidenceSha256": null, "override": false, "validFrom": first.to_string(),
            "validUntil": first.plus_days(365).to_string(), "wording": wording, "by": "Ada",
            "account": "operator uid 0", "channel": "cli", "recordedAt": first.to_string(), "batchId": null,
            "state": "superseded", "endedBy": 2,
        })
    );
    assert_eq!(all[1]["supersedes"], 1);
    assert_eq!((&all[0]["withdraws"], &all[0]["reason"]), (&json!(2), &json!("Nobody knows")));
    assert_eq!(all[0]["recordedAt"], posture.now().to_string());
    let posture = posture.restart();
    assert_eq!(log(&posture, &client, ""), all, "they are on the disk");
}

#[test]
fn rows_risks_and_the_profile_have_the_same_log() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let row = "HIPAA/164.308(a)(2)";
    let decision = json!({"decision": "attested", "reason": "r", "evidence": "e", "by": "Ada"});
    decide(&posture, &client, row, &decision);
    decide(&posture, &client, row, &json!({"decision": null, "reason": "She left"}));
    let all = log(&posture, &client, "framework=HIPAA");
    let states: Vec<_> = all.iter().map(brief).collect();
    let expected = [(2, None, "recorded", None), (1, Some("attested"), "withdrawn", Some(2))];
    assert_eq!(states, expected);
    assert_eq!((&all[1]["subject"], &all[1]["evidence"]), (&json!("164.308(a)(2)"), &json!("e")));

    let risks = read(&posture, &format!("/api/clients/{client}/risks"));
    let risk = format!("/api/clients/{client}/risks/{}", risks[0]["id"].as_str().unwrap());
    let until = in_days(&posture, 30);
    let accepted = json!({"accepted": true, "until": until, "reason": "no budget", "by": "Ada"});
    patched(&posture, &risk, &accepted);
    patched(&posture, &risk, &json!({"accepted": false, "reason": "There is one"}));
    patched(&posture, &risk, &accepted);
    let all = log(&posture, &client, "kind=risk");
    let states: Vec<_> = all.iter().map(brief).collect();
    let expected = [
        (5, Some("accepted"), "in_force", None),
        (4, None, "recorded", None),
        (3, Some("accepted"), "withdrawn", Some(4)),
    ];
    assert_eq!(states, expected);
    let wording = all[0]["wording"].as_str().unwrap();
    assert!(wording.starts_with(risks[0]["title"].as_str().unwrap()), "{wording}");
    posture.pass_days(31);
    assert_eq!(log(&posture, &client, "kind=risk")[0]["state"], "expired");

    let profile = |answers: &Value| {
        let body = json!({"settings": {"profile": answers}});
        patched(&posture, &format!("/api/clients/{client}"), &body);
    };
    profile(&json!({"aws": "used", "gcp": "unused"}));
    profile(&json!({"aws": "unused", "gcp": "unknown"}));
    let all = log(&posture, &client, "kind=profile&subject=aws");
    let states: Vec<_> = all.iter().map(brief).collect();
    let expected =
        [(8, Some("unused"), "in_force", None), (6, Some("used"), "superseded", Some(8))];
    assert_eq!(states, expected);
    assert_eq!(log(&posture, &client, "subject=GCP")[0]["answer"], "unknown");
    patched(&posture, &format!("/api/clients/{client}"), &json!({"settings": {"profile": null}}));
    assert_eq!(log(&posture, &client, "subject=aws")[0]["withdraws"], 8);
}

#[test]
fn an_acceptance_ends_with_its_risk() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let risks = read(&posture, &format!("/api/clients/{client}/risks"));
    let until = in_days(&posture, 300);
    for it in risks.as_array().unwrap() {
        let risk = format!("/api/clients/{client}/risks/{}", it["id"].as_str().unwrap());
        patched(&posture, &risk, &json!({"accepted": true, "until": until, "reason": "r"}));
    }
    posture.pass_s(60);
    import(&posture, &client, "", super::GOOD);
    let all = log(&posture, &client, "kind=risk");
    assert_eq!(all.len(), risks.as_array().unwrap().len());
    assert!(all.iter().any(|it| it["state"] == "ended"), "{all:?}");
}

#[test]
fn the_log_is_read_in_pages() {
    let posture = Posture::start();
    let client = posture.client("A");
    for n in 0..5 {
        attest(&posture, &client, "GOV-14", &json!({"reason": format!("visit {n}")}));
    }
    let path = format!("/api/clients/{client}/statements?limit=2");
    let page = |after: &str| posture.operator("GET", &format!("{path}{after}"), &Value::Null);
    let mut numbers = Vec::new();
    let mut next = String::new();
    loop {
        let body = page(&next).json();
        let all = body["data"].as_array().unwrap().clone();
        assert!(all.len() <= 2);
        numbers.extend(all.iter().map(|it| it["number"].as_u64().unwrap()));
        let Some(after) = body["next"].as_str() else { break };
        next = format!("&after={after}");
    }
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    let (field, rule) = refused_field(&page("&after=x"));
    assert_eq!((field.as_str(), rule.as_str()), ("after", "must be `next` of the previous page"));
    assert_eq!(refused_field(&page("&kind=x")).0, "kind");
}

#[test]
fn who_undid_an_import_and_why_is_in_the_log() {
    let posture = Posture::start();
    let client = posture.client("A");
    let outcome = import(&posture, &client, "", MIXED);
    let id = outcome["import"]["id"].as_str().unwrap();
    let path = format!("/api/clients/{client}/imports/{id}");
    let long = "x".repeat(1_001);
    let answer = posture.operator("DELETE", &format!("{path}?reason={long}"), &Value::Null);
    assert_eq!(refused_field(&answer).0, "reason");
    assert_eq!(log(&posture, &client, ""), Vec::<Value>::new(), "nothing was done");
    let reason = "It%20is%20another%20client%27s";
    let answer = posture.operator("DELETE", &format!("{path}?reason={reason}"), &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let [said] = &log(&posture, &client, "kind=import")[..] else { panic!("one record") };
    assert_eq!(brief(said), (1, Some("undone"), "in_force", None));
    assert_eq!((&said["subject"], &said["reason"]), (&json!(id), &json!("It is another client's")));
    assert_eq!((&said["by"], &said["channel"]), (&json!("operator uid 0"), &json!("cli")));
    let wording = said["wording"].as_str().unwrap();
    assert!(wording.contains("a file (prowler-csv) of prowler, imported on 20"), "{wording}");
    let answer = try_undo(&posture, &client, 1);
    let message = "an import that was undone does not come back: import the file again";
    assert_eq!((answer.status, answer.problem().1.as_str()), (409, message));
    let again = posture.operator("DELETE", &path, &Value::Null);
    assert_eq!((again.status, log(&posture, &client, "").len()), (409, 1));
}

#[test]
fn a_log_that_is_full_takes_no_more_and_says_so() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({}));
    let (now, id) = (posture.now(), client.parse::<ClientId>().unwrap());
    let fill = |dir: &std::path::Path| {
        let store = open_store(dir, now);
        let write = store.client_store(id).write_now(|batch| {
            let first = batch.find_statement(1)?.unwrap();
            let last = StatementRecord { number: N_STATEMENTS_MAX - 1, ..first };
            batch.add_statement(&last, None)
        });
        write.unwrap();
    };
    let posture = posture.restart_after(fill, |_| ());
    attest(&posture, &client, "GOV-14", &json!({"reason": "the last"}));
    let before = super::controls::control(&posture, &client, "GOV-14");
    let body = json!({"status": "partial", "reason": "one more", "by": "Ada"});
    let answer = try_attest(&posture, &client, "GOV-14", &body);
    let message = "the client has 100000 statements; no more are recorded";
    assert_eq!((answer.status, answer.problem().1.as_str()), (409, message));
    assert_eq!(super::controls::control(&posture, &client, "GOV-14"), before);
}

fn try_undo(posture: &Posture, client: &str, number: u64) -> Answer {
    let path = format!("/api/clients/{client}/statements/{number}/undo");
    posture.operator("POST", &path, &json!({"reason": "A mistake"}))
}

fn undo(posture: &Posture, client: &str, number: u64) -> Value {
    let answer = try_undo(posture, client, number);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn what_a_mistake_took_the_place_of_counts_again() {
    let posture = Posture::start();
    let client = posture.client("A");
    let shown = || super::controls::control(&posture, &client, "GOV-14");
    let nothing = shown();
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://14"}));
    let first = shown();
    attest(&posture, &client, "GOV-14", &json!({"status": "partial", "reason": "hm"}));
    let undone = undo(&posture, &client, 2);
    assert_eq!((&undone["number"], &undone["state"]), (&json!(2), &json!("undone")));
    assert_eq!(shown(), first);
    withdraw(&posture, &client, "GOV-14", "gone");
    assert_eq!(shown()["attestation"], Value::Null);
    undo(&posture, &client, 4);
    assert_eq!(shown(), first, "a withdrawal is undone too");
    undo(&posture, &client, 1);
    assert_eq!(shown(), nothing, "as if nothing had ever been said");
    let states: Vec<_> = log(&posture, &client, "").iter().map(|it| it["state"].clone()).collect();
    let (undone, recorded) = ("undone", "recorded");
    assert_eq!(states, [recorded, recorded, undone, recorded, undone, undone]);

    let (_, message) = try_undo(&posture, &client, 1).problem();
    assert_eq!(message, "statement 1 is undone already, by 6");
    let (_, message) = try_undo(&posture, &client, 6).problem();
    assert_eq!(message, "statement 6 undoes 1: say again what is true");
    assert_eq!(try_undo(&posture, &client, 7).status, 404);
    attest(&posture, &client, "GOV-14", &json!({}));
    posture.pass_days(30);
    attest(&posture, &client, "GOV-02", &json!({}));
    posture.pass_s(1);
    let answer = try_undo(&posture, &client, 7);
    assert_eq!(answer.status, 409);
    assert_eq!(
        answer.problem().1,
        "statement 7 was recorded more than 30 days ago: withdraw it, or say what is true now"
    );
    undo(&posture, &client, 8);
}

#[test]
fn acceptances_and_answers_are_undone_too() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let settings =
        || read(&posture, &format!("/api/clients/{client}"))["settings"]["profile"].clone();
    let profile = |answers: &Value| {
        let body = json!({"settings": {"profile": answers}});
        patched(&posture, &format!("/api/clients/{client}"), &body);
    };
    profile(&json!({"aws": "unused"}));
    let before = settings();
    profile(&json!({"aws": "used"}));
    undo(&posture, &client, 2);
    assert_eq!(settings(), before);
    undo(&posture, &client, 1);
    assert_eq!(settings(), json!({}));

    let path = format!("/api/clients/{client}/risks");
    let risk = read(&posture, &path)[0].clone();
    let path = format!("{path}/{}", risk["id"].as_str().unwrap());
    let until = in_days(&posture, 30);
    let accepted = json!({"accepted": true, "until": until, "reason": "no budget", "by": "Ada"});
    let accepted = patched(&posture, &path, &accepted);
    let later = json!({"accepted": true, "until": in_days(&posture, 60), "reason": "still none"});
    patched(&posture, &path, &later);
    undo(&posture, &client, 6);
    assert_eq!(read(&posture, &path), accepted, "as it was accepted first");
    patched(&posture, &path, &json!({"accepted": false}));
    let occurrence = read(&posture, &path)["occurrence"].clone();
    undo(&posture, &client, 8);
    let again = read(&posture, &path);
    assert_eq!(again["acceptance"], accepted["acceptance"]);
    assert_eq!(again["occurrence"], occurrence);
    let n_told = || {
        let told = super::told(&posture, "risk_item_created").into_iter();
        told.filter(|it| it["object"]["id"] == risk["id"]).count()
    };
    let n_before = n_told();
    undo(&posture, &client, 5);
    let open = read(&posture, &path);
    assert_eq!(open["acceptance"], Value::Null);
    assert_eq!(open["occurrence"], occurrence.as_u64().unwrap() + 1, "it is told again");
    assert_eq!(n_told(), n_before + 1);
}

/// Of each subject, what counts by the log.
fn in_force(posture: &Posture, client: &str, kind: &str) -> Vec<(String, Value, Value)> {
    let all = log(posture, client, &format!("kind={kind}&limit=1000")).into_iter();
    let counts = all.filter(|it| it["state"] == "in_force");
    let mut all: Vec<_> = counts
        .map(|it| {
            let subject = it["subject"].as_str().unwrap().to_owned();
            (subject, it["answer"].clone(), it["reason"].clone())
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn what_counts_is_what_the_log_says_that_counts() {
    const CODES: [&str; 3] = ["GOV-02", "GOV-08", "GOV-14"];
    const ROWS: [&str; 2] = ["164.308(a)(2)", "164.312(a)(1)"];
    let posture = Posture::start();
    let client = posture.client("A");
    let mut random = Random::from_seed(7);
    for step in 0..40_usize {
        let (code, row) = (random.pick(&CODES), random.pick(&ROWS));
        let reason = format!("step {step}");
        match random.below(5) {
            4 => {
                let number =
                    1 + random.below(log(&posture, &client, "limit=1000").len() as u64 + 1);
                try_undo(&posture, &client, number);
            }
            0 => withdraw(&posture, &client, code, &reason),
            1 => {
                let body = json!({"decision": "out_of_scope", "reason": reason, "by": "Ada"});
                decide(&posture, &client, &format!("HIPAA/{row}"), &body);
            }
            2 => {
                let body = json!({"decision": null});
                decide(&posture, &client, &format!("HIPAA/{row}"), &body);
            }
            _ => {
                let status = random.pick(&["compliant", "partial", "not_applicable"]);
                let body = json!({"status": status, "reason": reason});
                attest(&posture, &client, code, &body);
            }
        }
        posture.pass_s(60);
        let shown = super::controls::controls(&posture, &client).into_iter();
        let shown = shown.filter(|it| !it["attestation"].is_null());
        let mut shown: Vec<_> = shown
            .map(|it| {
                let said = &it["attestation"];
                let code = it["controlCode"].as_str().unwrap().to_owned();
                (code, said["status"].clone(), said["reason"].clone())
            })
            .collect();
        shown.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(in_force(&posture, &client, "control"), shown, "after {step}");
        let rows = in_force(&posture, &client, "requirement");
        for reference in ROWS {
            let path = format!("/api/clients/{client}/compliance/HIPAA/{reference}");
            let said = read(&posture, &path)["decision"]["reason"].clone();
            let logged = rows.iter().find(|it| it.0 == reference).map(|it| it.2.clone());
            assert_eq!(logged.unwrap_or(Value::Null), said, "{reference} after {step}");
        }
    }
}
