//! The commands with which people decide, with a server and without.

use serde_json::{Value, json};

use super::refusal;
use crate::harness::process::Folder;

const NAME: &str = "Acme Ltd";

fn prepare(folder: &Folder) {
    folder.client(NAME);
    let facts = json!({
        "source": "rmm",
        "observations": [{"control": "END-04", "passed": 1, "failed": 1, "findings": "pc-7"}],
    });
    folder.write("facts.json", facts.to_string().as_bytes());
    folder.ok(&["import", "--client", NAME, "--format", "facts", "facts.json"]);
}

/// Runs the same with a server and without.
fn both(check: impl Fn(&Folder)) {
    let folder = Folder::new();
    prepare(&folder);
    check(&folder);
    let folder = Folder::new();
    let _server = folder.serve();
    prepare(&folder);
    check(&folder);
}

fn data(folder: &Folder, args: &[&str]) -> Value {
    folder.json(args)["data"].clone()
}

#[test]
fn a_risk_is_accepted_and_opened_again() {
    both(|folder| {
        let id = data(folder, &["risk", "list", NAME])[0]["id"].as_str().unwrap().to_owned();
        let accept = ["risk", "accept", NAME, &id, "--reason", "Replaced soon", "--until"];
        let until = "2027-03-31";
        let out = folder.ok(&[&accept[..], &[until]].concat());
        assert!(out.starts_with("accepted until 2027-03-31: "), "{out}");
        let told = folder.ok(&["event", "list", "--type", "risk_item_resolved"]);
        assert!(told.contains("(accepted)"), "{told}");
        let none = "no open risks; --all includes accepted ones\n";
        assert_eq!(folder.ok(&["risk", "list", NAME]), none);
        let shown = data(folder, &["risk", "show", NAME, &id]);
        assert_eq!(shown["acceptance"]["reason"], "Replaced soon");
        assert_eq!(shown["acceptance"]["until"], "2027-03-31T23:59:59.000Z");
        assert!(folder.ok(&["risk", "show", NAME, &id]).contains("accepted by operator uid "));
        let text = folder.ok(&["risk", "show", NAME, &id]);
        assert!(text.contains("\nremediation ") && text.contains("\nwhat fails:"), "{text}");
        let all = folder.ok(&["risk", "list", NAME, "--all"]);
        assert!(all.contains("accepted until 2027-03-31  END-04 "), "{all}");
        assert!(folder.ok(&["show", NAME]).contains("no open risks; 1 accepted"));
        let out = folder.ok(&["risk", "revoke", NAME, &id]);
        assert!(out.starts_with("open again: "), "{out}");
        assert_eq!(data(folder, &["risk", "list", NAME])[0]["acceptance"], Value::Null);
        folder.ok(&["risk", "set", NAME, &id, "--reference", "halo=4711"]);
        assert!(folder.ok(&["risk", "show", NAME, &id]).contains("halo=4711"));
        folder.ok(&["risk", "set", NAME, &id, "--reference", ""]);
        assert_eq!(data(folder, &["risk", "show", NAME, &id])["externalReferences"], json!([]));
        for (args, says) in [
            (&["--until", "soon"][..], "`soon` is not a date; use 2026-12-31"),
            (&["--until", "2020-01-01"], "until: "),
        ] {
            let done = folder.run(&[&accept[..6], args].concat());
            assert!(refusal(&done).contains(says), "{}", done.err);
        }
        let bad = folder.run(&["risk", "set", NAME, &id, "--reference", "4711"]);
        assert_eq!(refusal(&bad), "--reference 4711: must have the form SYSTEM=ID");
    });
}

#[test]
fn what_is_said_of_a_part_is_listed_with_it() {
    both(|folder| {
        let attest =
            ["control", "attest", NAME, "ID-15", "--status", "compliant", "--note", "Seen"];
        let of = |part: &[&str]| folder.ok(&[&attest[..], &["--by", "Ada"], part].concat());
        of(&["--facet", "length", "--platform", "m365"]);
        of(&["--platform", "google"]);
        let listed = folder.ok(&["statement", "list", NAME]);
        assert!(listed.contains(" ID-15 (length, m365)  compliant"), "{listed}");
        assert!(listed.contains(" ID-15 (google)  "), "{listed}");
    });
}

#[test]
fn a_control_and_a_requirement_are_attested_and_withdrawn() {
    both(|folder| {
        let by = ["--note", "Tested", "--by", "Ada", "--evidence", "Shelf 3"];
        let attest = ["control", "attest", NAME, "gov-14", "--status", "compliant"];
        let until = ["--valid-until", "2027-06-30"];
        let out = folder.ok(&[&attest[..], &by, &until].concat());
        let said = "compliant by Ada on ";
        assert!(
            out.contains(said) && out.contains(" until 2027-06-30: Tested; evidence: Shelf 3"),
            "{out}"
        );
        let shown = data(folder, &["control", "show", NAME, "GOV-14"]);
        assert_eq!(
            (&shown["status"], &shown["attestation"]["by"]),
            (&json!("compliant"), &json!("Ada"))
        );
        folder.ok(&["control", "withdraw", NAME, "GOV-14"]);
        let shown = data(folder, &["control", "show", NAME, "GOV-14"]);
        assert_eq!(
            (&shown["status"], &shown["attestation"]),
            (&json!("not_assessed"), &Value::Null)
        );
        let silent = folder.ok(&["control", "show", NAME, "GOV-14"]);
        assert!(silent.contains("No source has reported on it. It is decided by: "), "{silent}");
        let seen = ["control", "attest", NAME, "END-04", "--status", "compliant"];
        let out_voted = folder.ok(&[&seen[..], &by].concat());
        assert!(out_voted.contains("the attestation does not decide: what was observed does"));
        folder.ok(&["control", "withdraw", NAME, "END-04"]);
        let bare = folder.ok(&[&attest[..], &by[..4]].concat());
        let hint = "without evidence it is said, not shown, and not compliant: attest it again";
        assert!(bare.contains(hint) && bare.contains(" said, not shown\n"), "{bare}");
        assert!(!out.contains("without evidence"), "{out}");
        folder.ok(&["control", "withdraw", NAME, "GOV-14"]);
        let decide = ["requirement", "decide", NAME, "soc2", "cc6.4", "--decision"];
        let no_office = ["out_of_scope", "--note", "No office", "--by", "Ada"];
        let out = folder.ok(&[&decide[..], &no_office].concat());
        assert!(out.starts_with("SOC2 CC6.4 is not applicable, score 0\n"), "{out}");
        assert!(
            folder
                .ok(&["requirement", "show", NAME, "SOC2", "CC6.4"])
                .contains("out_of_scope by Ada on ")
        );
        let out = folder.ok(&["requirement", "withdraw", NAME, "SOC2", "CC6.4"]);
        assert!(out.starts_with("SOC2 CC6.4 is not assessed"), "{out}");
        let done = folder.run(&[&decide[..], &["attested", "--note", "x", "--by", "Ada"]].concat());
        assert_eq!(refusal(&done), "evidence: is required");
        assert_eq!(folder.run(&attest).code, 2, "a note and a name are required");
    });
}

#[test]
fn evidence_is_added_and_removed() {
    both(|folder| {
        let add = ["evidence", "add", NAME, "GOV-14", "--title", "Plan", "--location", "Shelf 3"];
        let id = folder.ok(&[&add[..], &["--by", "Ada", "--valid-until", "2027-06-30"]].concat());
        let id = id.trim_end();
        let list = folder.ok(&["evidence", "list", NAME]);
        assert!(
            list.contains(id) && list.contains("2027-06-30") && list.contains("Plan, Shelf 3"),
            "{list}"
        );
        let remove = ["evidence", "remove", NAME, id];
        assert_eq!(folder.ok(&remove), format!("removed evidence {id}\n"));
        assert_eq!(folder.ok(&["evidence", "list", NAME]), "no evidence\n");
        assert_eq!(refusal(&folder.run(&remove)), "evidence not found");
        assert!(
            refusal(&folder.run(&["evidence", "remove", NAME, "x"])).contains("not an evidence id")
        );
    });
}

#[test]
fn a_task_is_added_changed_and_closed() {
    both(|folder| {
        let add = ["task", "add", NAME, "--title", "Encrypt pc-7", "--due", "2027-01-15"];
        let id = folder.ok(&[&add[..], &["--assignee", "ada", "--reference", "halo=1"]].concat());
        let id = id.trim_end();
        let list = folder.ok(&["task", "list"]);
        for says in [id, NAME, "open", "2027-01-15", "ada", "Encrypt pc-7"] {
            assert!(list.contains(says), "{says}: {list}");
        }
        let shown = folder.ok(&["task", "set", id, "--status", "done", "--assignee", ""]);
        assert!(shown.contains("done") && shown.contains("halo=1"), "{shown}");
        let none = "no open tasks; --all includes the others\n";
        assert_eq!(folder.ok(&["task", "list"]), none);
        let done = data(folder, &["task", "list", "--status", "done"]);
        assert_eq!((&done[0]["status"], &done[0]["assignee"]), (&json!("done"), &Value::Null));
        assert_eq!(
            refusal(&folder.run(&["task", "set", id])),
            "nothing to change; pass at least one option"
        );
        assert!(refusal(&folder.run(&["task", "set", "x"])).contains("`x` is not a task id"));
    });
}

#[test]
fn an_alert_rule_is_added_changed_and_removed() {
    both(|folder| {
        let add = ["alert", "rule", "add", "--name", "Low", "--client", NAME];
        let id = folder.ok(&[&add[..], &["--score-below", "60"]].concat());
        let id = id.trim_end();
        let list = folder.ok(&["alert", "rule", "list"]);
        assert!(list.contains(NAME) && list.contains("the score is below 60"), "{list}");
        for (args, says) in [
            (&["--readiness-below", "SOC2=50"][..], "the readiness for SOC2 is below 50"),
            (&["--open-risks", "high=2"], "at least 2 open risks, high or worse"),
            (&["--open-risks", "critical=1"], "at least 1 open risk, critical or worse"),
            (&["--control-failing", "end-04"], "control END-04 fails"),
            (&["--source-silent", "48"], "a source is silent for 48 hours"),
            (&["--source-silent", "1"], "a source is silent for 1 hour\n"),
            (&["--tasks-overdue", "1"], "at least 1 overdue task\n"),
            (&["--tasks-overdue", "2"], "clients        Acme Ltd\n"),
            (&["--tasks-overdue", "3"], "at least 3 overdue tasks"),
            (&["--enabled", "false", "--client", "all"], "clients        all"),
        ] {
            let shown = folder.ok(&[&["alert", "rule", "set", id], args].concat());
            assert!(shown.contains(says), "{says}: {shown}");
        }
        assert_eq!(
            folder.ok(&["alert", "rule", "remove", id]),
            format!("removed alert rule {id}\n")
        );
        let left = folder.ok(&["alert", "rule", "list"]);
        assert!(left.lines().count() == 2 && left.contains("contradicted"), "{left}");
        let none = folder.run(&add);
        assert_eq!(refusal(&none), "pass what triggers the alert, such as --score-below 60");
        let form = folder.run(&[&add[..], &["--open-risks", "critical"]].concat());
        assert_eq!(refusal(&form), "--open-risks critical: must have the form SEVERITY=N");
        let two = folder.run(&[&add[..], &["--score-below", "1", "--tasks-overdue", "1"]].concat());
        assert_eq!(two.code, 2, "one condition for a rule");
    });
}

#[test]
fn a_file_is_evidence_and_comes_back_as_it_is() {
    both(|folder| {
        let content: Vec<u8> = (0..400_000u32).map(|it| (it % 251) as u8).collect();
        folder.write("plan.pdf", &content);
        let add = ["evidence", "add", NAME, "GOV-14", "--title", "Plan 2026", "--by", "Ada"];
        let with = ["--file", "plan.pdf", "--valid-until", "2030-06-30"];
        let id = folder.ok(&[&add[..], &with].concat()).trim().to_owned();
        let entry = data(folder, &["evidence", "list", NAME])[0].clone();
        assert_eq!(entry["file"], json!({"name": "plan.pdf", "sizeBytes": 400_000}));
        assert_eq!(
            (&entry["reference"], &entry["title"]),
            (&json!("plan.pdf"), &json!("Plan 2026"))
        );
        let listed = folder.ok(&["evidence", "list", NAME]);
        assert!(listed.contains("plan.pdf (file plan.pdf, 391 KiB)"), "{listed}");
        let said = folder.ok(&["evidence", "save", NAME, &id, "--output", "back.pdf"]);
        assert_eq!(said, "back.pdf: written\n");
        assert!(std::fs::read(folder.path().join("back.pdf")).unwrap() == content);
        let neither = folder.run(&add).err;
        assert!(neither.contains("--location"), "{neither}");
        let absent = folder.run(&[&add[..], &["--file", "none.pdf"]].concat());
        assert!(refusal(&absent).contains("none.pdf: cannot be read"), "{}", absent.err);
        let wrong =
            ["evidence", "save", NAME, "0195a000-0000-7000-8000-000000000000", "--output", "x"];
        assert_eq!(refusal(&folder.run(&wrong)), "evidence file not found");
        assert!(!folder.path().join("x").exists());
    });
}

#[test]
fn a_decision_that_is_contradicted_is_on_the_screen_of_the_client() {
    let folder = Folder::new();
    let _server = folder.serve();
    prepare(&folder);
    assert!(!folder.ok(&["show", NAME]).contains("contradicted"));
    let out_of_scope = ["control", "attest", NAME, "END-04", "--status", "not_applicable"];
    folder.ok(&[&out_of_scope[..], &["--note", "Old laptops", "--by", "Ada"]].concat());
    let shown = folder.ok(&["show", NAME]);
    assert!(shown.contains("1 decision is contradicted by what was seen\n"), "{shown}");
    let line = shown.lines().find(|it| it.starts_with("END-04 out of scope")).unwrap();
    assert!(line.contains("Ada") && line.contains("Old laptops"), "{line}");
    assert!(line.contains(" failing, by "), "{line}");
    let alerts = folder.ok(&["alert", "list"]);
    assert!(alerts.contains("contradicted by what was seen END-04 out of scope"), "{alerts}");
}
