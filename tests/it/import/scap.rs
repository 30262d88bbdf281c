//! SCAP results and checklists through the front door.

use crate::harness::process::Folder;
use crate::harness::sample::own;

fn status(folder: &Folder, code: &str) -> String {
    folder.json(&["control", "show", "Acme", code])["data"]["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_checklist_needs_the_time_that_it_lacks() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    folder.write("a.ckl", &own("report/checklist.ckl"));
    let refused = folder.run(&["import", "--client", "Acme", "a.ckl"]);
    assert!(refused.err.contains("repeat with --observed-at and that time"), "{}", refused.err);
    folder.ok(&["import", "--client", "Acme", "--observed-at", "now", "a.ckl"]);
    assert_eq!(status(&folder, "ID-25"), "non_compliant");
}

#[test]
fn a_later_run_by_the_same_profile_replaces_the_one_before() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let bring = |name: &str, text: &str| {
        folder.write(name, text.as_bytes());
        folder.ok(&["import", "--client", "Acme", "--observed-at", "now", name]);
    };
    let first = String::from_utf8(own("report/xccdf.xml")).unwrap();
    bring("first.xml", &first);
    assert_eq!(status(&folder, "ID-25"), "non_compliant", "3.1.8, AC-7");
    // Not checked this time: what is known stands.
    let unknown = first.replace(
        "<cdf:result>fail</cdf:result><cdf:message",
        "<cdf:result>error</cdf:result><cdf:message",
    );
    bring("unknown.xml", &unknown.replace("2026-11-20T10:05", "2026-11-20T11:05"));
    assert_eq!(status(&folder, "ID-25"), "non_compliant");
    let repaired = unknown.replace(
        "<cdf:result>error</cdf:result><cdf:message",
        "<cdf:result>pass</cdf:result><cdf:message",
    );
    bring("repaired.xml", &repaired.replace("2026-11-20T10:05", "2026-11-20T12:05"));
    assert_eq!(status(&folder, "ID-25"), "not_assessed", "what passes shows too little");
    // The profile has the rule no more.
    let gone = repaired
        .replace("idref=\"xccdf_org.example_rule_lock\"", "idref=\"xccdf_org.example_rule_idle\"");
    bring("gone.xml", &gone.replace("2026-11-20T10:05", "2026-11-20T13:05"));
    assert_eq!(status(&folder, "ID-25"), "not_assessed");
}
