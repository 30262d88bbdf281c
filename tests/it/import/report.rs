//! Reports of assessors through the front door.

use crate::harness::process::Folder;
use crate::harness::report::REPORTS;
use crate::harness::sample::{own, own_folder};

/// Status of a control of the client.
fn status(folder: &Folder, code: &str) -> String {
    folder.json(&["control", "show", "Acme", code])["data"]["status"].as_str().unwrap().to_owned()
}

#[test]
fn reports_decide_controls_and_a_rule_that_is_gone_is_not_held_against_a_domain() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    for (format, name) in REPORTS {
        let path = own_folder().join(name);
        let path = path.to_str().unwrap();
        let (args, named) = (["import", "--client", "Acme", "--observed-at", "now"], ["--source"]);
        let nameless = [&args[..], &named, &["cluster-1", path]].concat();
        let args = if format.needs_source() { nameless } else { [&args[..], &[path]].concat() };
        folder.ok(&args);
    }
    assert_eq!(status(&folder, "ID-11"), "non_compliant", "S-Inactive of PingCastle");
    assert_eq!(status(&folder, "ID-05"), "non_compliant", "21804 of the Zero Trust Assessment");
    assert_eq!(
        status(&folder, "CLD-10"),
        "non_compliant",
        "a control of the secure score of Azure"
    );
    assert_eq!(status(&folder, "CLD-13"), "not_assessed", "one check that passes is too little");
    assert_eq!(
        status(&folder, "CLD-01"),
        "partial",
        "a rule of ScoutSuite, and Azure was not seen"
    );
    assert_eq!(status(&folder, "CLD-03"), "non_compliant", "another one");
    assert_eq!(status(&folder, "CLD-20"), "non_compliant", "a check of kube-bench");
    assert_eq!(status(&folder, "CLD-06"), "partial", "a control of Powerpipe");
    assert_eq!(status(&folder, "DEV-07"), "non_compliant", "a secret in SARIF");
    assert_eq!(status(&folder, "END-14"), "partial", "on in all profiles; one of three blocks");
    assert_eq!(status(&folder, "END-13"), "non_compliant", "another one");
    let report = String::from_utf8(own("report/pingcastle.xml")).unwrap();
    let repaired = report.replace("S-Inactive", "S-Other").replace("2026-11-20", "2026-11-21");
    folder.write("again.xml", repaired.as_bytes());
    folder.ok(&["import", "--client", "Acme", "--observed-at", "now", "again.xml"]);
    assert_eq!(
        status(&folder, "ID-11"),
        "not_assessed",
        "a rule that is not listed is not proven to be kept"
    );
}

#[test]
fn what_a_report_does_not_name_is_called_as_its_source() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let path = own_folder().join("report/hardeningkitty.csv");
    let import = ["import", "--client", "Acme", "--observed-at", "now", path.to_str().unwrap()];
    let refusal = folder.run(&import).err;
    assert!(
        refusal.contains("does not say which host, cluster, system or repository"),
        "{refusal}"
    );
    folder.ok(&[&import[..], &["--source", "pc-1"]].concat());
    folder.ok(&[&import[..], &["--source", "pc-2", "--again"]].concat());
    let seen = folder.ok(&["observation", "list", "Acme", "--control", "END-13", "--json"]);
    for name in ["pc-1", "pc-2"] {
        assert!(seen.contains(&format!("\"findings\": \"{name}\\n")), "{seen}");
    }
}
