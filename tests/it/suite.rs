//! What holds for the tests themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of a folder, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// The names that begin with `needs_` in a text.
fn needs(text: &str) -> BTreeSet<&str> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.filter(|it| it.strip_prefix("needs_").is_some_and(|it| !it.is_empty())).collect()
}

/// A test that is ignored says what it needs, is in a module named after that, and `tests/run` runs it where the thing is
/// there. The exception is a part of another test, which runs it.
#[test]
fn every_ignored_test_is_run_where_what_it_needs_is_there() {
    let script = fs::read_to_string(root().join("tests/run")).unwrap();
    let known = needs(&script);
    let mut used = BTreeSet::new();
    for (path, text) in ["tests/core", "tests/it", "tests/store"].into_iter().flat_map(sources) {
        if path.ends_with("suite.rs") {
            continue;
        }
        // The module itself, or the folder of its parts.
        let parts = [path.file_stem(), path.parent().and_then(Path::file_stem)];
        let mut of_needs = parts.into_iter().flatten().filter_map(|it| it.to_str());
        let mut module = of_needs.find(|it| it.starts_with("needs_"));
        let is_module_of_needs = module.is_some();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("mod ").and_then(|it| it.strip_suffix(" {")) {
                module = Some(name);
            } else if line == "}" && !is_module_of_needs {
                module = None;
            } else if let Some(reason) = line.trim_start().strip_prefix("#[ignore") {
                let at = path.display();
                if reason.starts_with(" = \"a part of") {
                    continue;
                }
                assert!(reason.starts_with(" = \"needs "), "{at}: {line}");
                let name = module.unwrap_or_else(|| panic!("{at}: {line}: in no module"));
                assert!(known.contains(name), "{at}: tests/run does not know `{name}`");
                used.insert(name.to_owned());
            }
        }
    }
    let known: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
    assert_eq!(used, known, "tests/run asks for nothing else");
}

#[test]
fn no_snapshot_is_left_over() {
    let is_known = |it: &String| it == "help" || it == "check-rows" || it.starts_with("event-");
    let all = crate::harness::snapshot::names("");
    assert!(all.iter().all(is_known), "add what checks the new one: {all:?}");
}
