//! Results in OSCAL through the front door.

use crate::harness::process::Folder;
use crate::harness::sample::own_folder;

#[test]
fn what_an_assessor_found_unsatisfied_fails_a_control_and_what_is_satisfied_meets_none() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let import = |name: &str| {
        let path = own_folder().join(name);
        let import = ["import", "--client", "Acme", "--observed-at", "now", "--source", "crm"];
        folder.ok(&[&import[..], &[path.to_str().unwrap()]].concat());
    };
    let decided = || {
        let all = folder.json(&["control", "list", "Acme"])["data"].clone();
        let decided = all.as_array().unwrap().iter().filter(|it| it["status"] != "not_assessed");
        decided
            .map(|it| (it["controlCode"].to_string(), it["status"].to_string()))
            .collect::<Vec<_>>()
    };
    import("report/oscal.json");
    assert_eq!(decided(), [("\"ID-25\"".to_owned(), "\"non_compliant\"".to_owned())]);
    let satisfied = std::fs::read_to_string(own_folder().join("report/oscal.json")).unwrap();
    folder.write("satisfied.json", satisfied.replace("not-satisfied", "satisfied").as_bytes());
    folder.ok(&[
        "import",
        "--client",
        "Acme",
        "--observed-at",
        "now",
        "--source",
        "crm",
        "satisfied.json",
    ]);
    assert!(decided().is_empty(), "{:?}", decided());
}
