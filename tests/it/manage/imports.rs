//! Imports: taken in once, whole or not at all, and taken back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::estate::say_all;
use super::{
    CONSOLE_MFA, Finding, GOOD, MIXED, ROOT_KEY, ROOT_MFA, all_answers, assert_same_answers,
    import, prowler, prowler_of, read, refused_field,
};
use crate::harness::Posture;

fn undo(posture: &Posture, client: &str, outcome: &Value) -> crate::harness::Answer {
    let import = outcome["import"]["id"].as_str().unwrap();
    posture.operator("DELETE", &format!("/api/clients/{client}/imports/{import}"), &Value::Null)
}

#[test]
fn an_outcome_counts_what_came_and_what_changed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let mut findings = MIXED.to_vec();
    findings.push(("iam_unknown_to_us", "FAIL", "low", "carol"));
    findings.push((CONSOLE_MFA, "MANUAL", "high", "dave"));
    let outcome = import(&posture, &client, "fileName=report.csv&source=weekly", &findings);
    let shown = &outcome["import"];
    let expected = json!({
        "id": shown["id"], "fileName": "report.csv", "format": "prowler-csv", "source": "weekly",
        "scopes": ["aws/111122223333"], "scopeCount": 1,
        "observedFrom": "2026-03-10T09:00:00.000Z", "observedTo": "2026-03-10T09:00:00.000Z",
        "observedAtGiven": true, "fileObservedAt": "2026-03-10T08:00:00.000Z",
        "records": 6, "facts": 4, "factsOutdated": 0, "assetsAdded": 4, "assetsUpdated": 0,
        "skipped": [{"reason": "status MANUAL: needs a manual check", "count": 1}],
        "complete": false, "by": shown["by"], "at": "2026-03-10T09:00:00.000Z", "undoneAt": null,
    });
    assert_eq!(shown, &expected);
    assert!(shown["by"].as_str().unwrap().starts_with("operator uid "));
    assert_eq!(outcome["alreadyImported"], false);
    let changed = &outcome["changed"];
    assert_eq!((&changed["controls"], &changed["scoreBefore"]), (&json!(4), &Value::Null));
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks"));
    assert_eq!(changed["risksOpened"], risks["pagination"]["total"]);
    assert_eq!(changed["risksClosed"], 0);
    let score = read(&posture, &format!("/api/clients/{client}/posture"))["score"].clone();
    assert_eq!(changed["scoreAfter"], score["overallScore"]);
    let list = read(&posture, &format!("/api/clients/{client}/imports"));
    assert_eq!(list, json!([expected]));
}

#[test]
fn an_import_still_says_what_it_changed_when_it_is_undone() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "observedAt=now", &[(ROOT_MFA, "PASS", "critical", "root")]);
    say_all(&posture, &client, "cloud_accounts");
    posture.pass_s(60);
    let findings = [(ROOT_MFA, "FAIL", "critical", "root"), (CONSOLE_MFA, "PASS", "high", "bob")];
    let outcome = import(&posture, &client, "observedAt=now", &findings);
    let path = |client: &str| {
        format!("/api/clients/{client}/imports/{}", outcome["import"]["id"].as_str().unwrap())
    };
    let shown = read(&posture, &path(&client));
    assert_eq!((&shown["import"], &shown["changed"]), (&outcome["import"], &outcome["changed"]));
    let controls = shown["controls"].as_array().unwrap();
    assert_eq!(outcome["changed"]["controls"], controls.len());
    let moves: Vec<_> = controls
        .iter()
        .map(|it| {
            ["controlCode", "statusBefore", "statusAfter"].map(|name| it[name].as_str().unwrap())
        })
        .collect();
    let expected = [
        ["CLD-01", "compliant", "non_compliant"],
        ["CLD-03", "not_assessed", "compliant"],
        ["CLD-08", "not_assessed", "non_compliant"],
    ];
    assert_eq!(moves, expected);
    let titles = controls.iter().map(|it| it["title"].as_str().unwrap());
    assert!(titles.into_iter().all(|it| !it.is_empty()), "{shown}");
    posture.pass_s(60);
    assert_eq!(undo(&posture, &client, &outcome).status, 200);
    let undone = read(&posture, &path(&client));
    assert_eq!(undone["import"]["undoneAt"], posture.now().to_string());
    assert_eq!((&undone["changed"], &undone["controls"]), (&shown["changed"], &shown["controls"]));
    let other = posture.operator("GET", &path(&posture.client("B")), &Value::Null);
    assert_eq!(other.status, 404, "{}", other.text());
}

#[test]
fn the_same_bytes_again_are_a_no_op_that_says_so() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key();
    let first = import(&posture, &client, "", MIXED);
    let before = all_answers(&posture, &key, &client);
    posture.clock.set(posture.now().plus_s(60));
    for query in ["", "source=other&fileName=other&complete=true"] {
        let again = import(&posture, &client, query, MIXED);
        assert_eq!(again["alreadyImported"], true);
        assert_eq!(again["import"], first["import"], "the one that it came in");
        let nothing = json!({
            "controls": 0, "frameworks": 0, "risksOpened": 0, "risksClosed": 0,
            "scoreBefore": null, "scoreAfter": null, "events": 0,
        });
        assert_eq!(again["changed"], nothing);
    }
    assert_same_answers(&before, &all_answers(&posture, &key, &client));
    let other = posture.client("B");
    assert_eq!(import(&posture, &other, "", MIXED)["alreadyImported"], false, "another client");
    let again = import(&posture, &client, "again=true", MIXED);
    assert_eq!(again["alreadyImported"], false);
    assert_ne!(again["import"]["id"], first["import"]["id"]);
    let list = posture.operator("GET", &format!("/api/clients/{client}/imports"), &Value::Null);
    let list = list.json();
    assert_eq!(list["pagination"]["total"], 2);
    assert_eq!(list["data"][0]["id"], again["import"]["id"], "newest first");
}

/// Status and score of each control that has one.
fn controls(posture: &Posture, client: &str) -> BTreeMap<String, (String, Value)> {
    let shown = read(posture, &format!("/api/clients/{client}/posture"))["controls"].clone();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let all = shown.as_array().unwrap().iter();
    let assessed = all.filter(|it| it["status"] != "not_assessed");
    assessed
        .map(|it| (text(&it["controlCode"]), (text(&it["status"]), it["score"].clone())))
        .collect()
}

#[test]
fn a_complete_import_makes_a_missing_check_gone() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let elsewhere = prowler_of("444455556666", &[(ROOT_KEY, "PASS", "critical", "root")]);
    assert_eq!(posture.import(&client, "observedAt=now", &elsewhere).status, 200);
    posture.pass_s(60);
    let rest: &[Finding<'_>] = &[(ROOT_KEY, "FAIL", "critical", "root")];
    import(&posture, &client, "", rest);
    let codes = |posture: &Posture| controls(posture, &client).into_keys().collect::<Vec<_>>();
    assert_eq!(
        codes(&posture),
        ["CLD-01", "CLD-02", "CLD-03", "CLD-08"],
        "absence alone says nothing"
    );
    posture.pass_s(60);
    import(&posture, &client, "complete=true&again=true", rest);
    assert_eq!(codes(&posture), ["CLD-02", "CLD-08"]);
    let resolved = posture.events();
    let resolved = resolved.iter().filter(|it| it["type"] == "risk_item_resolved");
    let how: Vec<_> = resolved.map(|it| it["data"]["object"]["resolution"].clone()).collect();
    assert_eq!(how, [json!("gone"), json!("gone")]);
    assert_eq!(controls(&posture, &client)["CLD-02"].0, "non_compliant");
    say_all(&posture, &client, "cloud_accounts");
    posture.pass_s(60);
    import(&posture, &client, "complete=true", &[(ROOT_KEY, "PASS", "critical", "root")]);
    assert_eq!(controls(&posture, &client)["CLD-02"].0, "compliant", "both accounts pass");
}

#[test]
fn a_complete_import_that_is_held_says_so() {
    let posture = Posture::start();
    let client = posture.client("A");
    let names: Vec<String> = (0..40).map(|it| format!("check_{it:02}")).collect();
    let all: Vec<Finding<'_>> = names.iter().map(|it| (it.as_str(), "FAIL", "high", "x")).collect();
    let held = |query: &str, n: usize| {
        posture.pass_s(60);
        let answer = import(&posture, &client, query, &all[..n]);
        let path = format!("/api/clients/{client}/risks");
        (answer["held"].clone(), read(&posture, &path).as_array().unwrap().len())
    };
    assert_eq!(held("complete=true", 40), (json!(false), 40));
    assert_eq!(held("complete=true", 20), (json!(true), 40), "what it lacks is kept");
    assert_eq!(held("complete=true&again=true", 20), (json!(false), 20), "a second one agrees");
}

#[test]
fn a_complete_import_leaves_what_it_could_not_check() {
    let posture = Posture::start();
    let client = posture.client("A");
    let failing: &[Finding<'_>] =
        &[(ROOT_KEY, "FAIL", "critical", "root"), (ROOT_MFA, "FAIL", "critical", "root")];
    import(&posture, &client, "complete=true", failing);
    let before = controls(&posture, &client);
    for unknown in ["MANUAL", "ODD", ""] {
        posture.pass_s(60);
        let now: &[Finding<'_>] =
            &[(ROOT_KEY, unknown, "critical", "root"), (ROOT_MFA, "FAIL", "critical", "root")];
        import(&posture, &client, "complete=true", now);
        assert_eq!(controls(&posture, &client), before, "{unknown}");
    }
    posture.pass_s(60);
    import(&posture, &client, "complete=true", &[(ROOT_MFA, "FAIL", "critical", "root")]);
    assert!(!controls(&posture, &client).contains_key("CLD-02"), "it has no such check");
}

/// Scores without their ids and times, compliance with all requirements, and controls.
fn standing(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let of = |rest: &str| posture.read(key, &format!("/clients/{client}{rest}"))["data"].clone();
    let mut score = of("/scores")["current"].clone();
    score["id"].take();
    score["calculatedAt"].take();
    let compliance = of("/compliance");
    let frameworks = compliance.as_array().unwrap().iter();
    let frameworks =
        frameworks.map(|it| of(&format!("/compliance/{}", it["framework"].as_str().unwrap())));
    let mut all: Vec<_> = frameworks.map(|it| it.to_string()).collect();
    let risks = of("/risks");
    let mut risks: Vec<_> = risks
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["title"], it["severity"], it["riskScore"]))
        .collect();
    risks.sort_unstable();
    all.extend([score.to_string(), compliance.to_string(), risks.join("\n")]);
    all
}

fn assert_same_standing(before: &[String], after: &[String]) {
    let same = before.iter().zip(after).filter(|(a, b)| a == b).count();
    assert_eq!((same, after.len()), (before.len(), before.len()));
}

#[test]
fn undoing_an_import_restores_the_posture() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    import(&posture, &client, "", GOOD);
    let before = standing(&posture, &key, &client);
    for (seconds, query) in [(0, ""), (3_600, ""), (0, "complete=true"), (60, "source=other")] {
        posture.pass_s(seconds);
        let query = format!("again=true&{query}");
        let worse: &[Finding<'_>] = if query.contains("complete") {
            &[(ROOT_MFA, "FAIL", "critical", "root")]
        } else {
            MIXED
        };
        let outcome = import(&posture, &client, &query, worse);
        assert!(standing(&posture, &key, &client) != before, "it is worse: {query}");
        posture.pass_s(seconds);
        let undone = undo(&posture, &client, &outcome);
        assert_eq!(undone.status, 200);
        let undone = undone.json()["data"].clone();
        assert_eq!(undone["changed"]["scoreAfter"], outcome["changed"]["scoreBefore"]);
        assert_eq!(undone["changed"]["risksClosed"], outcome["changed"]["risksOpened"]);
        assert_eq!(undone["import"]["id"], outcome["import"]["id"]);
        assert!(undone["import"]["undoneAt"].is_string());
        assert_same_standing(&before, &standing(&posture, &key, &client));
    }
    let posture = posture.restart();
    assert_same_standing(&before, &standing(&posture, &key, &client));
}

#[test]
fn undoing_the_first_import_leaves_nothing_assessed() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let empty = standing(&posture, &key, &client);
    let outcome = import(&posture, &client, "", MIXED);
    assert_eq!(undo(&posture, &client, &outcome).status, 200);
    let after = standing(&posture, &key, &client);
    assert_eq!(after.len(), empty.len());
    assert_same_standing(&empty[..11], &after[..11]);
    assert_eq!(after.last(), empty.last(), "no risks");
    assert!(controls(&posture, &client).is_empty());
    let assets = posture.read(&key, &format!("/clients/{client}/assets"));
    assert_eq!(assets["pagination"]["total"], 3, "the assets that it found stay");
    let current =
        posture.read(&key, &format!("/clients/{client}/scores"))["data"]["current"].clone();
    assert_eq!(current, serde_json::Value::Null, "everything that showed a score was undone");
}

#[test]
fn an_older_import_may_be_undone_under_a_newer_one() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let first = import(&posture, &client, "", MIXED);
    posture.pass_s(60);
    import(&posture, &client, "", GOOD);
    let before = standing(&posture, &key, &client);
    let undone = undo(&posture, &client, &first).json()["data"].clone();
    assert_eq!(
        (&undone["changed"]["controls"], &undone["changed"]["risksOpened"]),
        (&json!(0), &json!(0))
    );
    assert_same_standing(&before, &standing(&posture, &key, &client));
}

#[test]
fn an_undone_import_may_be_taken_in_again() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let outcome = import(&posture, &client, "", MIXED);
    let before = standing(&posture, &key, &client);
    undo(&posture, &client, &outcome);
    posture.pass_s(60);
    let again = import(&posture, &client, "", MIXED);
    assert_eq!(again["alreadyImported"], false, "what was undone is not there");
    let lines = |it: &[String]| it[..11].join("\n").replace("09:01:00", "09:00:00");
    assert!(lines(&before) == lines(&standing(&posture, &key, &client)));
}

#[test]
fn an_import_is_undone_once() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let outcome = import(&posture, &client, "", MIXED);
    assert_eq!(undo(&posture, &client, &outcome).status, 200);
    let before = all_answers(&posture, &key, &client);
    let twice = undo(&posture, &client, &outcome);
    assert_eq!(twice.problem(), ("CONFLICT".into(), "the import was already undone".into()));
    assert_eq!(twice.status, 409);
    assert_same_answers(&before, &all_answers(&posture, &key, &client));
    let other = posture.client("B");
    let elsewhere = undo(&posture, &other, &outcome);
    assert_eq!(elsewhere.problem(), ("NOT_FOUND".into(), "import not found".into()));
}

#[test]
fn a_broken_file_changes_nothing() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    import(&posture, &client, "", GOOD);
    let before = all_answers(&posture, &key, &client);
    let whole = prowler(MIXED);
    let cut = &whole[..whole.len() - 20];
    let twice = [whole.as_slice(), &whole].concat();
    let ocsf = br#"[{"class_uid": 2004, "status_code": "FAIL"}, {"class"#;
    for (name, file) in [
        ("empty", &b""[..]),
        ("garbage", b"hello"),
        ("cut", cut),
        ("two runs", &twice),
        ("cut OCSF", ocsf),
        ("cut nmap", b"<?xml version=\"1.0\"?><nmaprun scanner=\"nmap\"><host>"),
        ("zeros", &[0; 4_096]),
    ] {
        for query in ["observedAt=now", "observedAt=now&complete=true"] {
            let answer = posture.import(&client, query, file);
            let (code, message) = answer.problem();
            assert_eq!((answer.status, code.as_str()), (400, "VALIDATION_ERROR"), "{name}");
            assert!(!message.is_empty(), "{name}");
        }
    }
    assert_same_answers(&before, &all_answers(&posture, &key, &client));
}

#[test]
fn each_parameter_is_told_by_its_name() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (name, value) in [
        ("format", "excel"),
        ("source", ""),
        ("source", "%20"),
        ("source", &"x".repeat(201)),
        ("observedAt", "yesterday"),
        ("again", "false"),
        ("complete", "1"),
    ] {
        let answer = posture.import(&client, &format!("{name}={value}"), &prowler(GOOD));
        assert_eq!(refused_field(&answer).0, name);
    }
}

#[test]
fn a_file_that_is_too_old_is_refused_and_says_what_to_do() {
    let posture = Posture::start();
    let client = posture.client("A");
    posture.pass_days(40);
    let answer = posture.import(&client, "", &prowler(GOOD));
    let (_, message) = answer.problem();
    assert_eq!(answer.status, 400);
    assert!(message.contains("2026-03-10T08:00:00.000Z") && message.contains("--observed-at now"));
    assert_eq!(posture.events().len(), 0);
    let given = "observedAt=2026-04-18T00:00:00Z";
    let answer = posture.import(&client, given, &prowler(GOOD));
    assert_eq!(answer.json()["data"]["import"]["observedTo"], "2026-04-18T00:00:00.000Z");
}

#[test]
fn the_file_says_when_unless_told_otherwise() {
    let posture = Posture::start();
    let client = posture.client("A");
    let answer = posture.import(&client, "", &prowler(GOOD)).json();
    assert_eq!(answer["data"]["import"]["observedFrom"], "2026-03-10T08:00:00.000Z");
    assert_eq!(answer["data"]["import"]["source"], "prowler", "the tool is the default");
    let ahead =
        posture.import(&client, "observedAt=2030-01-01T00:00:00Z&again=true", &prowler(GOOD));
    let shown = ahead.json()["data"]["import"]["observedTo"].clone();
    assert_eq!(shown, "2026-03-10T09:00:00.000Z", "nothing is observed in the future");
}

#[test]
fn the_same_file_of_facts_sent_twice_at_once_is_taken_once() {
    let posture = Posture::start();
    let client = posture.client("A");
    for round in 0..20 {
        let facts = json!({
            "source": "rmm", "scope": format!("round-{round}"),
            "observations": [{"control": "DAT-01", "status": "compliant"}],
        });
        let file = facts.to_string().into_bytes();
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let send = || posture.import(&client, "format=facts", &file);
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
            threads.into_iter().map(|it| it.join().unwrap().json()["data"].clone()).collect()
        });
        let n_taken = answers.iter().filter(|it| it["alreadyImported"] == false).count();
        assert_eq!(n_taken, 1, "round {round}");
        assert!(answers.iter().all(|it| it["import"]["id"] == answers[0]["import"]["id"]));
    }
    let path = format!("/api/clients/{client}/imports");
    let imports = posture.operator("GET", &path, &Value::Null).json();
    assert_eq!(imports["pagination"]["total"], 20);
}

/// The report for people, and what of each observation is said to be declared current.
fn shown_as_current(posture: &Posture, client: &str) -> (String, Vec<bool>) {
    let path = format!("/api/clients/{client}/reports/posture?format=html&language=en");
    let report = posture.operator("GET", &path, &Value::Null).text();
    let observations = read(posture, &format!("/api/clients/{client}/observations"));
    let all = observations.as_array().unwrap().iter();
    (report, all.map(|it| it["declaredCurrent"].as_bool().unwrap()).collect())
}

#[test]
fn what_is_declared_current_says_so_and_keeps_the_date_of_the_file() {
    let posture = Posture::start();
    let client = posture.client("A");
    let file = posture.import(&client, "", &prowler(MIXED)).json()["data"].clone();
    let dates = ["observedAtGiven", "fileObservedAt", "observedTo"];
    let dates_of = |import: &Value| dates.map(|it| import[it].clone());
    let of_file = json!("2026-03-10T08:00:00.000Z");
    assert_eq!(dates_of(&file["import"]), [json!(false), of_file.clone(), of_file.clone()]);
    let (report, declared) = shown_as_current(&posture, &client);
    assert!(!report.contains("declared current") && !declared.contains(&true), "{declared:?}");
    posture.pass_days(200);
    let outcome = import(&posture, &client, "again=true", MIXED);
    let id = outcome["import"]["id"].as_str().unwrap();
    let one = read(&posture, &format!("/api/clients/{client}/imports/{id}"))["import"].clone();
    let list = read(&posture, &format!("/api/clients/{client}/imports"));
    for import in [&outcome["import"], &one, &list[0]] {
        let now = json!(posture.now().to_string());
        assert_eq!(dates_of(import), [json!(true), of_file.clone(), now], "{import}");
    }
    let (report, declared) = shown_as_current(&posture, &client);
    assert!(report.contains("declared current; the file is of March 10, 2026"), "{report}");
    assert!(!declared.is_empty() && !declared.contains(&false), "{declared:?}");
    let facts = json!({
        "source": "rmm", "observedAt": "2026-03-09T00:00:00Z",
        "observations": [{"control": "DAT-01", "status": "compliant"}],
    });
    let facts = facts.to_string().into_bytes();
    let answer = posture.import(&client, "format=facts&observedAt=now", &facts).json();
    let expected =
        [json!(true), json!("2026-03-09T00:00:00.000Z"), json!(posture.now().to_string())];
    assert_eq!(dates_of(&answer["data"]["import"]), expected);
}

#[test]
fn an_import_counts_the_facts_that_are_already_too_old() {
    let posture = Posture::start();
    let client = posture.client("A");
    posture.pass_days(50);
    let text = String::from_utf8(prowler(MIXED)).unwrap();
    // Of the four findings, those of the root account are new: two facts of three.
    let renewed = text.lines().map(|line| {
        let is_root = line.contains("user/root");
        if is_root { line.replace("2026-03-10", "2026-04-28") } else { line.to_owned() }
    });
    let file: String = renewed.map(|line| line + "\n").collect();
    let outcome = posture.import(&client, "", file.as_bytes()).json()["data"].clone();
    let counts = |import: &Value| (import["facts"].clone(), import["factsOutdated"].clone());
    assert_eq!(counts(&outcome["import"]), (json!(3), json!(1)));
    let observations = read(&posture, &format!("/api/clients/{client}/observations"));
    let outdated = observations.as_array().unwrap().iter().filter(|it| it["valid"] == false);
    assert_eq!(outdated.count(), 1, "the same that does not count");
    let declared = posture.import(&client, "again=true&observedAt=now", file.as_bytes()).json();
    assert_eq!(counts(&declared["data"]["import"]), (json!(3), json!(0)));
}
