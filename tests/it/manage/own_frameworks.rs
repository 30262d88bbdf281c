//! Frameworks that the managed service provider writes.

use posture::app::framework::{N_OWN_MAX, OWN_BYTES_MAX};
use posture::catalog::N_OWN_ROWS_MAX;
use posture::engine::catalog::Catalog;
use serde_json::{Value, json};

use super::controls::attest;
use super::{MIXED, import, read};
use crate::harness::http::Answer;
use crate::harness::{Posture, catalog};

const PATH: &str = "/api/own-frameworks";

fn add(posture: &Posture, toml: &str) -> Answer {
    posture.operator("POST", PATH, &json!({ "toml": toml }))
}

fn replace(posture: &Posture, toml: &str) {
    let answer = posture.operator("POST", PATH, &json!({"toml": toml, "replace": true}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

pub(super) fn add_kept(posture: &Posture, toml: &str) {
    let body = json!({"toml": toml, "replace": true, "keepDecisions": true});
    let answer = posture.operator("POST", PATH, &body);
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
}

fn remove(posture: &Posture, id: &str) -> Answer {
    posture.operator("DELETE", &format!("{PATH}/{id}"), &Value::Null)
}

/// A framework whose rows each have one control that decides them, or none.
pub(super) fn framework(id: &str, rows: &[(&str, &str)]) -> String {
    let row = |(reference, control): &(&str, &str)| {
        let controls = match *control {
            "" => String::new(),
            code => format!("[[row.controls]]\ncode = '{code}'\nrole = 'decides'\nalone = true\n"),
        };
        format!("[[row]]\nreference = '{reference}'\ntitle = 'Row {reference}'\n{controls}")
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!("id = '{id}'\nname = 'Ours'\n{}", rows.concat())
}

/// The example of the guide.
fn example() -> String {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/docs/assessment.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, behind) = guide.split_once("```toml\nid = \"BASELINE\"").unwrap();
    let (rest, _) = behind.split_once("```").unwrap();
    format!("id = \"BASELINE\"{rest}")
}

fn statuses(posture: &Posture, client: &str, id: &str) -> Vec<String> {
    let shown = read(posture, &format!("/api/clients/{client}/compliance/{id}"));
    let rows = shown["requirements"].as_array().unwrap().iter();
    rows.map(|it| it["overallStatus"].as_str().unwrap().to_owned()).collect()
}

fn set_frameworks(posture: &Posture, client: &str, ids: &Value) -> Answer {
    let body = json!({"settings": {"frameworks": ids}});
    posture.operator("PATCH", &format!("/api/clients/{client}"), &body)
}

/// The answers of the contract's operations 6 to 9.
fn versioned(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let paths = ["scores", "risks", "compliance", "compliance/SOC2", "compliance/CMMC_L2"];
    paths.iter().map(|it| posture.get(key, &format!("/clients/{client}/{it}")).text()).collect()
}

/// A release in which a control has another code, and says so or not.
fn renamed(from: &str, to: &str, says_so: bool) -> Catalog {
    let mut catalog = catalog().clone();
    let index = catalog.find_control(from).unwrap();
    to.clone_into(&mut catalog.controls[index].code);
    if says_so {
        catalog.controls[index].formerly.push(from.to_owned());
    }
    catalog.seal();
    catalog
}

#[test]
fn the_guides_example_is_assessed_wherever_the_others_are() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let key = posture.key();
    attest(&posture, &client, "ID-02", &json!({"status": "partial"}));
    let before = versioned(&posture, &key, &client);
    let added = add(&posture, &example());
    assert_eq!(added.status, 201, "{}", added.text());
    assert_eq!(statuses(&posture, &client, "baseline")[0], "not_assessed");
    posture.sweep();
    assert_eq!(statuses(&posture, &client, "baseline")[0], "partial");
    let shown = read(&posture, &format!("/api/clients/{client}/compliance/BASELINE"));
    let group = |it: usize| (&shown["groups"][it]["group"], &shown["groups"][it]["totalControls"]);
    assert_eq!(group(0), (&json!("Essential"), &json!(2)));
    assert_eq!(group(1), (&json!("Plus"), &json!(2)));
    let because = shown["requirements"][2]["because"][0].as_str().unwrap();
    assert!(because.starts_with("no control is mapped to this requirement"), "{because}");
    assert_eq!(shown["requirements"][0]["description"], shown["requirements"][0]["title"]);
    let row = read(&posture, "/api/frameworks/BASELINE")["rows"][0].clone();
    assert!(!row["controls"][0]["why"].as_str().unwrap().is_empty());
    let path = format!("/api/clients/{client}/compliance/BASELINE/B.3");
    let attested = json!({
        "decision": "attested", "reason": "seen", "by": "Ada", "evidence": "contract, page 2",
    });
    let answer = posture.operator("PUT", &path, &attested);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shown = statuses(&posture, &client, "BASELINE");
    assert_eq!((shown.len(), shown[2].as_str()), (3, "compliant"));
    // Whose settings name it has it in the key figures.
    assert_eq!(set_frameworks(&posture, &client, &json!(["BASELINE"])).status, 200);
    let kpis = read(&posture, "/api/dashboard/kpis");
    assert!(kpis.to_string().contains("BASELINE"), "{kpis}");
    let portfolio = "/api/portfolio/compliance?framework=baseline&requirement=B.1";
    assert_eq!(read(&posture, portfolio)[0]["overallStatus"], "partial");
    let export = posture.operator("GET", &format!("/api/clients/{client}/export"), &Value::Null);
    assert!(export.text().contains("\"frameworkId\":\"BASELINE\""));
    // The contract's operations show nothing of it.
    let v1 = posture.get(&key, &format!("/clients/{client}/compliance/BASELINE"));
    assert_eq!(v1.status, 404);
    assert_eq!(versioned(&posture, &key, &client), before);
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_nothing_is_stored() {
    let posture = Posture::start();
    let text = "id = 'soc2'\nname = 'Ours'\ncolor = 'red'\n[[row]]\nreference = '1'\ntitle = 'A row'\n\
                [[row.controls]]\ncode = 'ID-99'\nrole = 'decides'\n[[row]]\nreference = '1'\ntitle = 'B'\n";
    let answer = add(&posture, text);
    assert_eq!(answer.status, 400);
    let details = answer.json()["error"]["details"].clone();
    let messages: Vec<&str> =
        details.as_array().unwrap().iter().map(|it| it["message"].as_str().unwrap()).collect();
    let expected = [
        "line 1: id: \"soc2\" is part of this release",
        "line 3: unknown key \"color\"",
        "line 8: row \"1\": unknown control \"ID-99\"",
        "line 11: row \"1\": another row has this reference",
        "line 12: row \"1\": title: must have 2 to 240 characters, not 1",
    ];
    assert_eq!(messages, expected);
    for (text, rule) in [
        ("id = 'all'\nname = 'Ours'\n", "has a meaning of its own"),
        ("id = '1A'\nname = 'Ours'\n", "start with a letter"),
        ("id = 'OURS'\nname = 'Ours'\n", "no rows"),
        (
            "id = 'OURS'\nname = 'Ours'\n[[row]]\nreference = 'a'\ntitle = 'Row a'\nparent = 'a'\n",
            "a row with a parent must have a control",
        ),
        ("id = ", "line 1: "),
        ("", "missing key \"id\""),
    ] {
        let message = add(&posture, text).problem().1;
        assert!(message.contains(rule), "{text}: {message}");
    }
    assert_eq!(read(&posture, PATH), json!([]));
}

#[test]
fn limits_hold_at_their_edges() {
    let posture = Posture::start();
    let rows: Vec<String> = (0..=N_OWN_ROWS_MAX).map(|it| it.to_string()).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|it| (it.as_str(), "")).collect();
    assert_eq!(add(&posture, &framework("OWN_0", &rows[1..])).status, 201);
    let message = add(&posture, &framework("OWN_X", &rows)).problem().1;
    assert!(message.contains("at most 500 rows are allowed, not 501"), "{message}");
    let mut long = framework("OWN_1", &rows[..1]);
    long.push('#');
    long.extend(std::iter::repeat_n('x', OWN_BYTES_MAX - long.len()));
    let whole = add(&posture, &long);
    assert_eq!(whole.status, 201, "{}", whole.text());
    long.push('x');
    let message = add(&posture, &long.replace("OWN_1", "OWN_X")).problem().1;
    assert!(message.contains("must have at most 245760 bytes"), "{message}");
    for number in 2..N_OWN_MAX {
        assert_eq!(add(&posture, &framework(&format!("OWN_{number}"), &rows[..1])).status, 201);
    }
    let more = add(&posture, &framework("OWN_X", &rows[..1]));
    assert_eq!(more.status, 409);
    assert!(more.problem().1.contains("there are already 32 own frameworks"));
    replace(&posture, &framework("OWN_1", &rows[..1]));
    assert_eq!(remove(&posture, "OWN_0").status, 204);
    assert_eq!(add(&posture, &framework("OWN_X", &rows[..1])).status, 201);
}

#[test]
fn a_new_version_shows_nothing_that_was_assessed_for_the_old_one() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-06", &json!({"status": "non_compliant"}));
    attest(&posture, &client, "GOV-09", &json!({"status": "compliant", "evidence": "here"}));
    add(&posture, &framework("OURS", &[("a", "GOV-06"), ("b", "GOV-09")]));
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_assessed", "not_assessed"]);
    posture.sweep();
    assert_eq!(statuses(&posture, &client, "OURS"), ["non_compliant", "compliant"]);
    let again = add(&posture, &framework("OURS", &[("a", "GOV-06")]));
    assert_eq!(again.status, 409);
    assert!(again.problem().1.contains("set `replace`"));
    replace(&posture, &framework("OURS", &[("b", "GOV-09"), ("a", "GOV-06")]));
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_assessed", "not_assessed"]);
    let n_events = posture.events().len();
    posture.sweep();
    assert_eq!(statuses(&posture, &client, "OURS"), ["compliant", "non_compliant"]);
    let about = |it: &Value| it.to_string().contains("OURS");
    assert!(!posture.events()[n_events..].iter().any(about), "nobody must meet it");
    let changes = read(&posture, "/api/changes?limit=100");
    assert!(!about(&changes), "a new version is no change of the client");
}

#[test]
fn a_decision_follows_its_row_and_outlives_the_framework() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &framework("OURS", &[("a", "GOV-06"), ("b", "GOV-09")]));
    let decided = json!({"decision": "out_of_scope", "reason": "seen", "by": "Ada"});
    let path = format!("/api/clients/{client}/compliance/ours/a");
    let answer = posture.operator("PUT", &path, &decided);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let next = framework("OURS", &[("c", "GOV-06"), ("b", "GOV-09")]);
    replace(&posture, &next.replace("reference = 'c'", "reference = 'c'\nformerly = ['a']"));
    posture.sweep();
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_applicable", "not_assessed"]);
    assert_eq!(remove(&posture, "OURS").status, 204);
    posture.sweep();
    assert_eq!(read(&posture, "/api/system")["orphans"][0]["about"], "OURS a");
    let refused = add(&posture, &framework("OURS", &[("a", "GOV-06")]));
    assert_eq!(refused.status, 409, "nobody knows whether it asks the same");
    add_kept(&posture, &framework("OURS", &[("a", "GOV-06")]));
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_assessed"], "results are not kept");
    posture.sweep();
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_applicable"]);
}

#[test]
fn a_decision_does_not_count_for_another_text_unless_somebody_says_so() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ours = framework("OURS", &[("a", ""), ("b", ""), ("c", "")]);
    add(&posture, &ours);
    for reference in ["a", "b"] {
        let attested =
            json!({"decision": "attested", "evidence": "here", "reason": "seen", "by": "Ada"});
        let path = format!("/api/clients/{client}/compliance/ours/{reference}");
        let answer = posture.operator("PUT", &path, &attested);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let try_replace =
        |toml: &str| posture.operator("POST", PATH, &json!({"toml": toml, "replace": true}));
    let reworded = ours.replace("'Row a'", "'Row A'").replace("'Row c'", "'Row C'");
    let refused = try_replace(&reworded);
    assert_eq!(refused.status, 409);
    assert_eq!(
        refused.problem().1,
        "decisions about a were made for a different text; use a new reference for a requirement that asks for something \
         else, or set `keepDecisions` (`--keep-decisions`) if it asks the same"
    );
    let shown = || {
        posture.sweep();
        statuses(&posture, &client, "OURS")
    };
    assert_eq!(shown(), ["compliant", "compliant", "not_assessed"]);
    let other =
        ours.replace("reference = 'a'\ntitle = 'Row a'", "reference = 'd'\ntitle = 'Row A'");
    assert_eq!(try_replace(&other).status, 200);
    assert_eq!(shown(), ["not_assessed", "compliant", "not_assessed"]);
    let back = try_replace(&ours);
    assert_eq!(back.status, 409, "the reference was gone: {}", back.text());
    assert_eq!(
        try_replace(&other.replace("reference = 'd'", "reference = 'd'\nformerly = ['a']")).status,
        200
    );
    assert_eq!(shown(), ["compliant", "compliant", "not_assessed"]);
    add_kept(&posture, &reworded);
    assert_eq!(shown(), ["compliant", "compliant", "not_assessed"]);
}

#[test]
fn what_names_a_framework_keeps_it() {
    let posture = Posture::start_with(crate::webhook::allow_loopback);
    let client = posture.client("Acme");
    add(&posture, &framework("OURS", &[("a", "GOV-06")]));
    assert_eq!(set_frameworks(&posture, &client, &json!(["OURS"])).status, 200);
    let rule = json!({
        "name": "Low", "condition": {"type": "readiness_below", "framework": "OURS", "value": 50},
    });
    let rule = posture.operator("POST", "/api/alert-rules", &rule);
    assert_eq!(rule.status, 201, "{}", rule.text());
    let hook = json!({
        "url": "http://127.0.0.1:9/", "events": ["all"], "frameworks": ["OURS"],
    });
    let hook = posture.operator("POST", "/api/webhooks", &hook);
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let hook = text(&hook.json()["data"]["id"]);
    let refused = remove(&posture, "OURS");
    assert_eq!(refused.status, 409);
    let expected = format!(
        "OURS is still named by client \"Acme\", webhook {hook}, alert rule \"Low\"; remove it there first"
    );
    assert_eq!(refused.problem().1, expected);
    assert_eq!(set_frameworks(&posture, &client, &Value::Null).status, 200);
    let path = format!("/api/webhooks/{hook}");
    let change = json!({"frameworks": ["contract"]});
    assert_eq!(posture.operator("PATCH", &path, &change).status, 200);
    let path = format!("/api/alert-rules/{}", text(&rule.json()["data"]["id"]));
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert_eq!(remove(&posture, "OURS").status, 204);
    assert_eq!(set_frameworks(&posture, &client, &json!(["OURS"])).status, 400);
    assert_eq!(remove(&posture, "OURS").status, 404);
}

#[test]
fn a_later_release_reads_it_or_starts_without_it() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-06", &json!({"status": "compliant", "evidence": "here"}));
    add(&posture, &framework("OURS", &[("a", "GOV-06")]));
    let posture = posture.restart();
    assert_eq!(statuses(&posture, &client, "OURS"), ["compliant"]);
    // A control that was renamed is found by its old code.
    let posture = posture.restart_with(renamed("GOV-06", "GOV-99", true));
    let row = read(&posture, "/api/frameworks/OURS")["rows"][0].clone();
    assert_eq!(row["controls"][0]["controlCode"], "GOV-99");
    assert_eq!(statuses(&posture, &client, "OURS"), ["compliant"]);
    // A control that is gone: the service starts, and says what is missing.
    let posture = posture.restart_with(renamed("GOV-06", "GOV-99", false));
    assert_eq!(read(&posture, "/api/system")["frameworksNotInUse"], json!(["OURS"]));
    let listed = read(&posture, PATH);
    assert_eq!(listed[0]["problems"], json!(["line 7: row \"a\": unknown control \"GOV-06\""]));
    let gone = format!("/api/clients/{client}/compliance/OURS");
    assert_eq!(posture.operator("GET", &gone, &Value::Null).status, 404);
    replace(&posture, &framework("OURS", &[("a", "GOV-09")]));
    assert_eq!(read(&posture, "/api/system")["frameworksNotInUse"], json!([]));
    let posture = posture.restart();
    assert_eq!(statuses(&posture, &client, "OURS"), ["not_assessed"]);
}
