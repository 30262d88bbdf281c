//! The house rules that no lint knows: floors, owned words, lengths, a doc on every module.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first. A module uses lower floors only; siblings do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error"],
    &["id", "clock", "secret", "page", "peer", "text", "toml_reader"],
    &["engine"],
    &["store", "import", "catalog", "egress", "task"],
    &["auth", "scan", "webhook"],
    &["app"],
    &["work"],
    &["api", "web"],
    &["serve"],
    &["config"],
    &["cli"],
];

/// Modules of one floor of which one builds on the other, and why.
const WITHIN_FLOOR: &[(&str, &str)] = &[
    ("clock", "error"), // The floor below.
    ("id", "clock"),    // An id may be made at a time.
];

/// Words that belong to some modules alone.
const OWNED_WORDS: &[(&str, &[&str])] = &[
    ("redb::", &["store"]),
    ("bincode::decode", &["store"]),
    ("poem::", &["api", "web", "serve", "cli"]),
    ("poem_openapi::", &["api", "web", "cli"]),
    ("hyper::", &["api", "serve", "cli"]),
    ("SystemTime::", &["clock"]),
    ("Timestamp::now", &["clock"]),
    ("env::var", &["config"]),
    ("process::exit", &["main"]),
    ("spawn_blocking", &["store", "egress", "auth"]),
    ("ureq::", &["egress"]),
    ("rustix::net", &["scan"]),
    ("TcpStream::connect", &["scan"]),
    (".client_store(", &["auth", "app", "work", "store"]),
    ("HashMap", &["api", "app", "auth", "catalog", "import", "serve", "store"]),
];

const LINES_MAX: usize = 500;
/// rustfmt cannot break a long text or comment; nobody should have to scroll for one either.
const LINE_CHARS_MAX: usize = 140;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found.sort();
    found
}

/// The top-level module that a file of `src` belongs to.
fn module_of(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let first = below.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// The modules that a text names after `crate::`, braces included.
fn uses(text: &str) -> Vec<String> {
    let name = |it: &str| -> String {
        it.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
    };
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let Some(inside) = rest.strip_prefix('{') else {
            found.push(name(rest));
            continue;
        };
        let mut depth = 0;
        let mut part_at = 0;
        for (index, it) in inside.char_indices() {
            match it {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    found.push(name(&inside[part_at..index]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.push(name(&inside[part_at..index]));
                    part_at = index + 1;
                }
                _ => (),
            }
        }
    }
    found.retain(|it| !it.is_empty());
    found
}

#[test]
fn modules_use_only_lower_floors() {
    for (path, text) in sources("src") {
        let here = module_of(&path);
        if here == "main" || here == "lib" {
            continue;
        }
        let floor = floor_of(&here).unwrap_or_else(|| panic!("`{here}` has no floor"));
        for used in uses(&text).iter().filter(|it| **it != here) {
            let Some(used_floor) = floor_of(used) else {
                panic!("{}: `{used}` has no floor", path.display());
            };
            let allowed =
                used_floor < floor || WITHIN_FLOOR.contains(&(here.as_str(), used.as_str()));
            assert!(allowed, "{}: `{here}` may not use `{used}`", path.display());
        }
    }
}

#[test]
fn the_braces_of_a_use_are_read() {
    let text = "use crate::{app::{self, App}, web, work};\nuse crate::error::Error;";
    assert_eq!(uses(text), ["app", "web", "work", "error"]);
}

#[test]
fn words_stay_with_their_owners() {
    for (path, text) in sources("src") {
        let here = module_of(&path);
        for (word, owners) in OWNED_WORDS {
            let code = text.lines().filter(|it| !it.trim_start().starts_with("//"));
            let used = code.into_iter().any(|it| it.contains(word));
            assert!(
                !used || owners.contains(&here.as_str()),
                "{}: only {owners:?} may say `{word}`",
                path.display()
            );
        }
    }
}

#[test]
fn handlers_cannot_name_the_store_of_all_clients() {
    for (path, text) in sources("src/api") {
        let names = text.contains("store::Store;") || text.contains("{Store");
        assert!(!names, "{}: a handler reaches rows through its caller", path.display());
    }
}

#[test]
fn no_payload_is_xml() {
    for (path, text) in sources("src") {
        assert!(!text.contains("Xml<"), "{}: see .cargo/deny.toml", path.display());
    }
}

#[test]
fn files_are_short() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        let n_lines = text.lines().count();
        assert!(n_lines <= LINES_MAX, "{}: {n_lines} lines", path.display());
    }
}

#[test]
fn lines_are_short() {
    for (path, text) in sources("src") {
        for (index, line) in text.lines().enumerate() {
            let n_chars = line.chars().count();
            assert!(n_chars <= LINE_CHARS_MAX, "{}:{}: {n_chars}", path.display(), index + 1);
        }
    }
}

#[test]
fn every_module_says_what_it_is() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        assert!(text.starts_with("//!"), "{}: begin with a `//!` line", path.display());
    }
}
