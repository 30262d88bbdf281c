//! The test that needs Chromium, selenium and axe-core: every page of the demonstration in a browser, at two widths.

use std::path::Path;
use std::process::Command;

use super::browser::PASSWORD;
use super::pages::demonstration;
use crate::harness::tool;

#[test]
#[ignore = "needs Chromium"]
fn a_browser_finds_nothing_wrong_with_any_page() {
    let (_folder, server, users) = demonstration();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/browser/walk.py");
    let axe = tool::npm().join("node_modules/axe-core/axe.min.js");
    let names: Vec<_> = users.iter().map(|it| it["username"].as_str().unwrap()).collect();
    let done = Command::new(tool::selenium())
        .arg(script)
        .arg(format!("http://{}", server.address))
        .arg(axe)
        .args([names.join(",").as_str(), PASSWORD])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.matches(" kinds of pages").count(), users.len(), "{said}");
}
