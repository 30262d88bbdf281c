//! Findings of Security Hub through the front door.

use crate::harness::process::Folder;
use crate::harness::sample::own_folder;

/// The status of each control of the client.
fn statuses(folder: &Folder, client: &str) -> Vec<(String, String)> {
    let all = folder.json(&["control", "list", client])["data"].clone();
    let text = |it: &serde_json::Value| it.as_str().unwrap().to_owned();
    all.as_array()
        .unwrap()
        .iter()
        .map(|it| (text(&it["controlCode"]), text(&it["status"])))
        .collect()
}

#[test]
fn two_files_of_one_run_decide_the_same_controls() {
    let folder = Folder::new();
    let _server = folder.serve();
    let mut seen = Vec::new();
    for (client, sample) in [("Acme", "prowler/aws.ocsf.json"), ("Other", "asff/prowler.json")] {
        folder.client(client);
        let path = own_folder().join(sample);
        let path = path.to_str().unwrap();
        let import = ["import", "--client", client, "--bind", "--observed-at", "now", path];
        let import = folder.json(&import)["data"]["import"].clone();
        assert_eq!(import["source"], "prowler", "{sample}");
        seen.push(statuses(&folder, client));
    }
    assert!(seen[0].iter().any(|it| it.1 == "non_compliant"));
    assert_eq!(seen[0], seen[1]);

    // An export of Security Hub is a source of its own.
    folder.client("Third");
    let path = own_folder().join("asff/securityhub.json");
    let path = path.to_str().unwrap();
    let import = ["import", "--client", "Third", "--bind", "--observed-at", "now", path];
    assert_eq!(folder.json(&import)["data"]["import"]["source"], "securityhub");
    let all = statuses(&folder, "Third");
    let decided = all.iter().filter(|it| it.1 != "not_assessed").map(|it| it.0.as_str());
    let decided: Vec<&str> = decided.collect();
    assert_eq!(decided, ["CLD-03", "CLD-08"], "also by what Prowler sent to Security Hub");
    folder.client("Fourth");
    let path = own_folder().join("asff/securityhub-ocsf.json");
    let path = path.to_str().unwrap();
    let import = ["import", "--client", "Fourth", "--bind", "--observed-at", "now", path];
    assert_eq!(folder.json(&import)["data"]["import"]["source"], "securityhub");
    let all = statuses(&folder, "Fourth");
    let status = |code: &str| all.iter().find(|it| it.0 == code).map(|it| it.1.as_str());
    assert_eq!(status("CLD-01"), Some("non_compliant"), "IAM.9");
    assert_eq!(status("CLD-06"), Some("partial"), "CloudTrail.1 shows one part");
}
