//! Operation 6.

use std::path::Path;

use serde_json::{Value, json};

use super::{assert_invalid, assert_problem, assert_shape, import_sample};
use crate::harness::{Posture, sample};

const SCORE: &[(&str, &str)] = &[
    ("id", "uuid"),
    ("overallScore", "percent"),
    ("grade", "string"),
    ("categoryScores", "object"),
    ("controlsTotal", "integer"),
    ("controlsCompliant", "integer"),
    ("controlsPartial", "integer"),
    ("controlsNonCompliant", "integer"),
    ("calculatedAt", "date-time"),
];

const SMALL: &str = "prowler/gcp.csv";

fn assert_score(score: &Value) {
    assert_shape(score, SCORE);
    let overall = score["overallScore"].as_u64().unwrap();
    let grade = match overall {
        90.. => "A",
        80..=89 => "B",
        70..=79 => "C",
        60..=69 => "D",
        _ => "F",
    };
    assert_eq!(score["grade"], grade, "{overall}");
    let categories = score["categoryScores"].as_object().unwrap();
    assert!(!categories.is_empty());
    assert!(categories.values().all(|it| it.as_u64().is_some_and(|it| it <= 100)));
    let count = |name: &str| score[name].as_u64().unwrap();
    let assessed =
        count("controlsCompliant") + count("controlsPartial") + count("controlsNonCompliant");
    assert!(0 < assessed && assessed <= count("controlsTotal"));
}

#[test]
fn a_new_client_has_no_score_and_no_history() {
    let posture = Posture::start();
    let client = posture.client("New");
    let body = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
    assert_eq!(body, json!({"data": {"current": null, "history": []}}));
}

#[test]
fn a_pushed_asset_alone_makes_no_score() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Inventory");
    super::push(&posture, &key, &client, "a", &json!({}));
    posture.pass_days(2);
    let body = posture.read(&key, &format!("/clients/{client}/scores"));
    assert_eq!(body, json!({"data": {"current": null, "history": []}}));
}

#[test]
fn an_import_makes_a_current_score_which_is_also_todays_history() {
    let posture = Posture::start();
    let client = posture.client("Scored");
    import_sample(&posture, &client, SMALL);
    let scores = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
    let data = scores["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["current", "history"]);
    assert_score(&data["current"]);
    assert_eq!(data["current"]["calculatedAt"], "2026-03-10T09:00:00.000Z");
    assert_eq!(data["history"], json!([data["current"]]));
}

#[test]
fn history_has_the_last_score_of_each_utc_day_newest_first() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Daily"));
    import_sample(&posture, &client, SMALL);
    let path = format!("/clients/{client}/scores");
    posture.pass_s(5 * 3_600);
    import_sample(&posture, &client, "prowler/v3.json");
    let first = posture.read(&key, &path)["data"].clone();
    assert_eq!(first["history"], json!([first["current"]]), "two imports of one day, one entry");
    assert_eq!(first["current"]["calculatedAt"], "2026-03-10T14:00:00.000Z");
    posture.pass_s(9 * 3_600 + 3_599);
    let same = posture.read(&key, &path)["data"].clone();
    assert_eq!(same, first, "nothing is due before the day ends");
    posture.pass_s(3_601);
    for _ in 0..3 {
        posture.pass_days(1);
    }
    let data = posture.read(&key, &path)["data"].clone();
    let history = data["history"].as_array().unwrap();
    let days: Vec<&str> =
        history.iter().map(|it| &it["calculatedAt"].as_str().unwrap()[..10]).collect();
    assert_eq!(days, ["2026-03-14", "2026-03-13", "2026-03-12", "2026-03-11", "2026-03-10"]);
    assert_eq!(history[0], data["current"]);
    assert_eq!(history[4], first["current"], "a day's last entry stays as it was");
    history.iter().for_each(assert_score);
}

#[test]
fn a_score_stays_when_everything_behind_it_has_lapsed() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Silent"));
    import_sample(&posture, &client, SMALL);
    let path = format!("/clients/{client}/scores?limit=1");
    let before = posture.read(&key, &path)["data"]["current"]["overallScore"].as_u64();
    posture.pass_days(40);
    let current = posture.read(&key, &path)["data"]["current"].clone();
    assert_shape(&current, SCORE);
    assert!(current["overallScore"].as_u64() <= before, "a lapse raises no score");
    assert_eq!(current["controlsCompliant"], 0);
}

#[test]
fn the_history_is_30_entries_long_unless_asked_for_1_to_100() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Long"));
    let path = format!("/clients/{client}/scores");
    for limit in ["101", "0", "-1", "x", "+5", "", "5.0", "1e1", "%205", "4294967297"] {
        let answer = posture.get(&key, &format!("{path}?limit={limit}"));
        let rule = assert_invalid(&answer, "limit");
        assert!(rule.contains("100"), "{limit}: {rule}");
    }
    import_sample(&posture, &client, SMALL);
    for _ in 0..101 {
        posture.pass_days(1);
    }
    let length = |query: &str| {
        let body = posture.read(&key, &format!("{path}{query}"));
        body["data"]["history"].as_array().unwrap().len()
    };
    assert_eq!(length(""), 30);
    assert_eq!(length("?limit=1"), 1);
    assert_eq!(length("?limit=31"), 31);
    assert_eq!(length("?limit=100"), 100);
    assert_eq!(length("?offset=x&limit=2"), 2, "offset is not a parameter of this operation");
}

/// A file with results.
struct File {
    path: &'static str,
    /// Its times are so old that none of it counts today.
    is_old: bool,
}

const fn file(path: &'static str, is_old: bool) -> File {
    File { path, is_old }
}

const OWN: &[File] = &[
    file("prowler/aws.csv", false),
    file("prowler/aws.ocsf.json", false),
    file("prowler/azure.csv", true),
    file("prowler/azure.ocsf.json", true),
    file("prowler/gcp.csv", true),
    file("prowler/kubernetes.csv", true),
    file("prowler/kubernetes.ocsf.json", true),
    file("prowler/m365.csv", false),
    file("prowler/m365.ocsf.json", false),
    file("prowler/v3.json", true),
    file("prowler/v4.2.ocsf.json", true),
    file("prowler/v4.5.ocsf.json", true),
];

const FOREIGN: &[File] = &[
    file("prowler/aws_moto_small.csv", false),
    file("prowler/aws_moto_small.ocsf.json", false),
    file("prowler/example_output_aws.csv", true),
    file("prowler/example_output_aws.ocsf.json", true),
    file("prowler/example_output_azure.csv", true),
    file("prowler/example_output_azure.ocsf.json", true),
    file("prowler/example_output_gcp.csv", true),
    file("prowler/example_output_kubernetes.csv", true),
    file("prowler/example_output_kubernetes.ocsf.json", true),
    file("prowler/v3_native_many_vuln.json", true),
    file("prowler/v4_after_4_5_0_many_vuln.ocsf.json", true),
    file("prowler/v4_pre450_many_vuln.ocsf.json", true),
    file("prowler_m365/m365_unit_fixture.csv", false),
    file("prowler_m365/m365_unit_fixture.ocsf.json", false),
];

/// Every file of these folders is in the list.
fn all_are_tried(folder: &Path, tools: &[&str], files: &[File]) {
    for tool in tools {
        for entry in std::fs::read_dir(folder.join(tool)).unwrap() {
            let name = format!("{tool}/{}", entry.unwrap().file_name().to_str().unwrap());
            let is_tried = files.iter().any(|it| it.path == name);
            let is_empty = ["prowler/zero_vul.json", "prowler/none.ocsf.json"].contains(&&*name);
            assert!(is_tried || is_empty, "{name}");
        }
    }
}

/// A file taken as of now gives facts, a score and ordered risks.
fn gives_facts(read: fn(&str) -> Vec<u8>, files: &[File]) {
    let posture = Posture::start();
    let key = posture.key();
    for File { path, .. } in files {
        let client = posture.client(path);
        let answer = posture.import(&client, "observedAt=now", &read(path));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let import = answer.json()["data"]["import"].clone();
        assert!(0 < import["facts"].as_u64().unwrap(), "{path}");
        let assets = posture.read(&key, &format!("/clients/{client}/assets"));
        assert_eq!(assets["pagination"]["total"], import["assetsAdded"], "{path}");
        let scores = posture.read(&key, &format!("/clients/{client}/scores"))["data"].clone();
        assert_score(&scores["current"]);
        scores["history"].as_array().unwrap().iter().for_each(assert_score);
        let risks = posture.read(&key, &format!("/clients/{client}/risks?limit=100"));
        let score = |it: &Value| it["riskScore"].as_u64().unwrap();
        let scores: Vec<u64> = super::rows(&risks).iter().map(score).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{path}: {scores:?}");
    }
}

/// A file that is too old is refused with the way out.
fn is_refused_when_old(read: fn(&str) -> Vec<u8>, files: &[File]) {
    let posture = Posture::start();
    let key = posture.key();
    for File { path, is_old, .. } in files {
        let client = posture.client(path);
        let answer = posture.import(&client, "", &read(path));
        if !is_old {
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            continue;
        }
        let message = assert_problem(&answer, 400, "VALIDATION_ERROR");
        assert!(message.contains("--observed-at now"), "{path}: {message}");
        let scores = posture.read(&key, &format!("/clients/{client}/scores"));
        assert_eq!(scores["data"]["current"], Value::Null, "{path}");
        let assets = posture.read(&key, &format!("/clients/{client}/assets"));
        assert_eq!(assets["pagination"]["total"], 0, "{path}: nothing of it was kept");
    }
}

#[test]
fn every_file_of_our_samples_that_holds_results_is_tried() {
    all_are_tried(&sample::own_folder(), &["prowler"], OWN);
}

#[test]
fn a_file_taken_as_of_now_gives_facts_a_score_and_ordered_risks() {
    gives_facts(sample::own, OWN);
}

#[test]
fn a_file_that_is_too_old_is_refused_with_the_way_out() {
    is_refused_when_old(sample::own, OWN);
}

mod needs_samples {
    use super::*;

    #[test]
    #[ignore = "needs other people's samples"]
    fn every_file_of_the_samples_that_holds_results_is_tried() {
        all_are_tried(&sample::foreign_folder(), &["prowler", "prowler_m365"], FOREIGN);
    }

    #[test]
    #[ignore = "needs other people's samples"]
    fn a_real_file_taken_as_of_now_gives_facts_a_score_and_ordered_risks() {
        gives_facts(sample::foreign, FOREIGN);
    }

    #[test]
    #[ignore = "needs other people's samples"]
    fn a_real_file_that_is_too_old_is_refused_with_the_way_out() {
        is_refused_when_old(sample::foreign, FOREIGN);
    }
}
