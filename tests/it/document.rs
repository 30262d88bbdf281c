//! What the documents say is true: their links lead somewhere, and their examples are those of this program.

mod command;
mod markdown;
mod request;
mod sample;
mod shell;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use markdown::{document, documents, root};

/// Metrics that are there only on PostgreSQL, where its tests read them.
pub(super) const NODE_METRICS: [&str; 5] = [
    "posture_node_active",
    "posture_node_epoch",
    "posture_node_lease_age_seconds",
    "posture_node_lost_commits_total",
    "posture_node_can_take_over",
];

#[test]
fn the_readme_fits_on_a_few_screens() {
    let n_bytes = document("README.md").text.len();
    assert!(n_bytes <= 8_192, "README.md has {n_bytes} bytes");
}

/// A path with `..` taken out.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest passes as it is")]
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{}", path.display()),
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn every_link_between_documents_resolves() {
    let documents = documents();
    let anchors: BTreeMap<&Path, &Vec<String>> =
        documents.iter().map(|it| (it.path.as_path(), &it.anchors)).collect();
    let mut n_links = 0;
    for document in &documents {
        for link in document.links.iter().filter(|it| !it.starts_with("https://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = match path {
                "" => document.path.clone(),
                path => normal(&document.path.parent().unwrap().join(path)),
            };
            let place = format!("{} links to {link}", document.name());
            assert!(root().join(&path).is_file(), "{place}");
            if !anchor.is_empty() {
                let known = anchors.get(path.as_path()).unwrap_or_else(|| panic!("{place}"));
                assert!(known.iter().any(|it| it == anchor), "{place}, which has {known:?}");
            }
            n_links += 1;
        }
    }
    assert!(100 < n_links, "{n_links}");
}

#[test]
fn every_example_is_well_formed() {
    for document in documents() {
        for text in document.blocks_in("json") {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            assert!(parsed.is_ok(), "{}: {}: {text}", document.name(), parsed.unwrap_err());
        }
        for text in document.blocks_in("toml") {
            let parsed: Result<toml::Table, _> = toml::from_str(text);
            assert!(parsed.is_ok(), "{}: {}: {text}", document.name(), parsed.unwrap_err());
        }
        let known = ["sh", "json", "toml", "text", "ini", "nginx", "powershell", "sql", "yaml"];
        for (language, text) in &document.blocks {
            assert!(
                known.contains(&language.as_str()),
                "{}: `{language}`: {text}",
                document.name()
            );
        }
    }
}

/// All files below a folder, with their texts if they have any.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn every_file_and_every_test_that_a_document_names_exists() {
    let tests: BTreeSet<String> = files("tests")
        .iter()
        .flat_map(|(_, text)| text.split("fn ").skip(1))
        .filter_map(|it| it.split('(').next().map(str::to_owned))
        .collect();
    let (mut n_files, mut n_tests) = (0, 0);
    for document in documents() {
        let contributors = ["architecture.md", "SECURITY.md", "CONTRIBUTING.md"];
        let is_for_contributors = contributors.iter().any(|it| document.name().ends_with(it));
        for span in document.spans.iter().filter(|_| is_for_contributors) {
            let place = format!("{} names {span}", document.name());
            let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
            if span.chars().all(is_name) && 3 < span.split('_').count() {
                assert!(tests.contains(span), "{place}");
                n_tests += 1;
            }
            let folders = [".cargo/", ".ci/", "assets/", "packaging/", "src/", "tests/"];
            let is_path = folders.iter().any(|it| span.starts_with(it));
            if is_path && !span.contains(['<', '*', ' ']) {
                assert!(root().join(span).exists(), "{place}");
                n_files += 1;
            }
        }
    }
    assert!(20 < n_files && 40 < n_tests, "{n_files} files, {n_tests} tests");
}
