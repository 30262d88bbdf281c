//! Files that come in, whole or not.

use serde_json::{Value, json};

use super::{NOBODY, now_s, refusal, some_checks};
use crate::harness::process::{Folder, Server};
use crate::harness::sample;
use crate::manage::{Finding, prowler};

/// What is known of a client, to be compared before and after.
fn known(folder: &Folder, server: &Server, key: &str, client: &str) -> (Value, Value, u64) {
    let scores = server.get(key, &format!("/clients/{client}/scores")).json();
    let imports = folder.json(&["import", "list", "--client", client]);
    let assets = server.get(key, &format!("/clients/{client}/assets")).json();
    (
        scores["data"].clone(),
        imports["data"].clone(),
        assets["pagination"]["total"].as_u64().unwrap(),
    )
}

#[test]
fn a_file_that_cannot_be_read_whole_is_one_clear_error_and_changes_nothing() {
    let folder = Folder::new();
    let server = folder.serve();
    let client = folder.client("Acme");
    let key = folder.key("100000");
    let file = some_checks(now_s());
    folder.write("whole.json", &file);
    folder.ok(&["import", "--client", &client, "whole.json"]);
    let before = known(&folder, &server, &key, &client);
    assert!(before.0["current"].is_object() && before.2 == 3, "three buckets");
    folder.write("torn.json", &some_checks(now_s() - 60)[..file.len() / 2]);
    folder.write("empty", b"");
    folder.write("garbage", &vec![0xfe; 100_000]);
    folder.write("page.html", b"<!doctype html><title>Sign in</title>");
    folder.write("old.json", &some_checks(now_s() - 90 * 86_400));
    for (name, says) in [
        ("torn.json", "torn.json: "),
        ("empty", "empty: the file is empty"),
        ("garbage", "--format"),
        ("page.html", "--format"),
        ("absent.json", "absent.json: cannot be read"),
        (".", "is a directory"),
        ("old.json", "--observed-at now"),
    ] {
        let done = folder.run(&["import", "--client", &client, name]);
        assert!(refusal(&done).contains(says), "{name}: {}", done.err);
        assert!(known(&folder, &server, &key, &client) == before, "{name} changed something");
    }
    let out = folder.ok(&["import", "--client", &client, "--observed-at", "now", "old.json"]);
    assert!(out.contains("imported as"), "{out}");
    let said = |text: &str| text.contains("(declared; the file says 20");
    assert!(said(&out), "{out}");
    assert!(said(&folder.ok(&["import", "list", "--client", &client])));
    let ago = |days: i64| {
        (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days)).to_string()
    };
    let facts = json!({
        "source": "rmm", "observedAt": ago(60),
        "observations": [
            {"control": "END-02", "status": "compliant", "validUntil": ago(-30)},
            {"control": "END-04", "status": "compliant", "validUntil": ago(59)},
        ],
    });
    folder.write("facts.json", facts.to_string().as_bytes());
    let out = folder.ok(&["import", "--client", &client, "--format", "facts", "facts.json"]);
    assert!(out.contains("  1 of 2 facts are older than their controls allow and do not"), "{out}");
    assert!(out.contains("repeat with --again --observed-at now"), "{out}");
}

#[test]
fn a_refusal_of_a_large_file_is_told_over_the_socket_too() {
    let folder = Folder::new();
    folder.write("large", &vec![b'x'; 8 << 20]);
    let check = || {
        let done = folder.run(&["import", "--client", NOBODY, "large"]);
        assert!(refusal(&done).contains("client not found"), "{}", done.err);
    };
    check();
    let _server = folder.serve();
    for _ in 0..5 {
        check();
    }
}

#[test]
fn the_same_file_again_is_a_no_op_that_says_so_and_an_import_can_be_undone() {
    let folder = Folder::new();
    let client = folder.client("Acme");
    folder.write("some.json", &some_checks(now_s()));
    let import = ["import", "--client", &client, "some.json"];
    let out = folder.ok(&import);
    assert!(out.contains("3 prowler-ocsf records -> 3 facts; assets: 3 new"), "{out}");
    let listed = || folder.json(&["import", "list", "--client", &client])["data"].clone();
    let id = listed()[0]["id"].as_str().unwrap().to_owned();
    let out = folder.ok(&import);
    assert!(out.contains(&format!("already imported as {id}")) && out.contains("--again"), "{out}");
    assert_eq!(listed().as_array().unwrap().len(), 1);
    folder.ok(&[&import[..], &["--again"]].concat());
    let all = listed();
    assert_eq!(all.as_array().unwrap().len(), 2);
    let again = all[0]["id"].as_str().unwrap();
    for id in [again, &id] {
        let out = folder.ok(&["import", "undo", "--client", &client, id]);
        assert!(out.starts_with(&format!("undid import {id}\n")), "{out}");
    }
    assert!(listed().as_array().unwrap().iter().all(|it| it["undoneAt"].is_string()));
    let done = folder.run(&["import", "undo", "--client", &client, &id]);
    assert!(refusal(&done).contains("already undone"), "{}", done.err);
    assert!(folder.ok(&import).contains("imported as"), "what was undone can come again");
}

#[test]
fn a_complete_file_that_is_far_shorter_is_said_to_be_held() {
    let folder = Folder::new();
    let client = folder.client("Acme");
    let names: Vec<String> = (0..40).map(|it| format!("check_{it:02}")).collect();
    let all: Vec<Finding<'_>> = names.iter().map(|it| (it.as_str(), "FAIL", "high", "x")).collect();
    folder.write("all.csv", &prowler(&all));
    folder.write("half.csv", &prowler(&all[..20]));
    let import = |file: &str| {
        let args =
            ["import", "--client", &client, "--complete", "--again", "--observed-at", "now", file];
        folder.ok(&args)
    };
    let says = "it has far fewer checks than before: what it lacks counts as gone once a second file agrees";
    assert!(!import("all.csv").contains(says));
    let held = import("half.csv");
    assert!(held.contains(says), "{held}");
}

#[test]
fn several_files_are_imported_until_one_is_refused() {
    let folder = Folder::new();
    let client = folder.client("Acme");
    folder.write("a.json", &some_checks(now_s()));
    folder.write("b.json", &some_checks(now_s() - 60));
    folder.write("bad", b"?");
    let done = folder.run(&["import", "--client", &client, "a.json", "bad", "b.json"]);
    assert_eq!(done.code, 1);
    assert!(done.out.starts_with("a.json: imported as"), "{}", done.out);
    assert!(done.err.starts_with("posture: bad: "), "{}", done.err);
    assert_eq!(done.err.lines().count(), 1);
    let out = folder.ok(&["import", "--client", &client, "a.json", "b.json"]);
    assert!(out.contains("a.json: already imported") && out.contains("b.json: imported"), "{out}");
}

#[test]
fn a_file_of_an_assessor_moves_the_posture() {
    let folder = Folder::new();
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("100000"));
    let file = sample::own_folder().join("prowler/aws.ocsf.json");
    let file = file.to_str().unwrap();
    let out = folder.ok(&["import", "--client", &client, "--observed-at", "now", file]);
    assert!(out.contains("123 prowler-ocsf records -> 76 facts; assets: 7 new"), "{out}");
    assert!(out.contains("changed: first score"), "{out}");
    let (scores, imports, n_assets) = known(&folder, &server, &key, &client);
    assert!(scores["current"]["overallScore"].is_u64());
    assert_eq!((imports[0]["facts"].as_u64(), n_assets), (Some(76), 7));
}

#[test]
fn a_file_comes_from_standard_input_and_the_score_is_said_with_how_far_it_can_be_trusted() {
    let check = |folder: &Folder| {
        folder.client("Acme");
        let facts = r#"{"source": "rmm", "observations": [{"control": "END-04", "passed": 1, "failed": 0}]}"#;
        let done = folder.feed(&["import", "--client", "Acme", "--format", "facts", "-"], facts);
        assert_eq!((done.code, &*done.err), (0, ""));
        let says = "standard input: imported as ";
        assert!(done.out.starts_with(says), "{}", done.out);
        assert!(done.out.contains("  1 facts record -> 1 fact; assets: "), "{}", done.out);
        let line = done.out.lines().find(|it| it.starts_with("score ")).unwrap();
        let says = "score 0 F, provisional, coverage 0 %; `posture show Acme` shows the rest";
        assert_eq!(line, says);
        assert_eq!(
            folder.json(&["import", "list", "--client", "Acme"])["data"][0]["fileName"],
            "stdin"
        );
        folder.write("-", facts.as_bytes());
        folder.ok(&["import", "--client", "Acme", "--format", "facts", "--again", "./-"]);
        assert_eq!(
            folder.json(&["import", "list", "--client", "Acme"])["data"][0]["fileName"],
            "-"
        );
        let empty = folder.feed(&["import", "--client", "Acme", "-"], "");
        assert!(refusal(&empty).contains("standard input: the file is empty"), "{}", empty.err);
    };
    let folder = Folder::new();
    check(&folder);
    let folder = Folder::new();
    let _server = folder.serve();
    check(&folder);
}
