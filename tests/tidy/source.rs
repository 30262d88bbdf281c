//! The sources as tidy reads them: files, module paths, and which file uses which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module's path below the crate, such as `["store", "kernel", "meta"]`.
pub(crate) type Module = Vec<String>;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its text.
pub(crate) fn sources(folder: &str) -> Vec<(PathBuf, String)> {
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

/// A file of `src` below the folder of its package.
pub(crate) fn below_package(path: &Path) -> PathBuf {
    let below = path.strip_prefix(root().join("src")).unwrap();
    below.components().skip(1).collect()
}

/// The module that a file of `src` is. A `lib.rs` is the empty path.
pub(crate) fn module_of(path: &Path) -> Module {
    let below = below_package(path).with_extension("");
    let mut parts: Module =
        below.components().map(|it| it.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|it| it == "mod" || it == "lib") {
        parts.pop();
    }
    parts
}

/// The text without comment lines.
pub(crate) fn code(text: &str) -> String {
    let lines = text.lines().filter(|it| !it.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Every word of a text, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it| !is_word(it)).filter(|it| !it.is_empty())
}

/// The paths that a use tree names: `a::{b, c::d}` -> `a::b`, `a::c::d`.
fn expand(tree: &str, before: &[String], found: &mut Vec<Module>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let parts = path.split("::").map(|it| it.trim().to_owned());
        let mut whole = before.to_vec();
        whole.extend(parts.filter(|it| !it.is_empty() && it != "self" && it != "*"));
        found.push(whole);
        return;
    };
    let mut whole = before.to_vec();
    whole.extend(head.split("::").map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()));
    let inside = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    let (mut depth, mut from) = (0, 0);
    for (at, it) in inside.char_indices().chain([(inside.len(), ',')]) {
        match it {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[from..at].trim().is_empty() {
                    expand(&inside[from..at], &whole, found);
                }
                from = at + 1;
            }
            _ => (),
        }
    }
}

/// The paths that a file names: in `use` declarations, and in its code after `crate::`, `super::` or a child's name.
pub(crate) fn paths(text: &str) -> Vec<Module> {
    let code = code(text);
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut pending = String::new();
    for line in code.lines() {
        let trimmed = line.trim_start();
        let declared = trimmed.strip_prefix("pub ").unwrap_or(trimmed);
        if pending.is_empty() && !declared.starts_with("use ") {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        pending.push_str(if pending.is_empty() { &declared["use ".len()..] } else { line });
        if let Some(tree) = pending.trim_end().strip_suffix(';') {
            expand(tree, &[], &mut found);
            pending.clear();
        }
    }
    let is_path = |it: char| is_word(it) || it == ':';
    for piece in rest.split(|it| !is_path(it)).filter(|it| it.contains("::")) {
        found.push(piece.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect());
    }
    found
}

/// Each module with the modules that it uses, by name from the crate's root.
pub(crate) fn uses() -> BTreeMap<Module, BTreeSet<Module>> {
    let files = sources("src").into_iter().map(|(path, text)| (module_of(&path), text));
    let files: BTreeMap<Module, String> = files.filter(|(here, _)| !here.is_empty()).collect();
    let used = |here: &Module, text: &str| -> BTreeSet<Module> {
        let targets = paths(text).into_iter().filter_map(|path| {
            let first = path.first()?.as_str();
            let is_child = || {
                let child: Module = here.iter().cloned().chain([first.to_owned()]).collect();
                files.contains_key(&child)
            };
            let whole: Module = match first {
                "crate" => path[1..].to_vec(),
                "super" => {
                    let n_up = path.iter().take_while(|it| *it == "super").count();
                    let stem = &here[..here.len().saturating_sub(n_up)];
                    stem.iter().chain(&path[n_up..]).cloned().collect()
                }
                _ if is_child() => here.iter().chain(&path).cloned().collect(),
                _ => return None,
            };
            let longest = (1..=whole.len()).rev().map(|it| whole[..it].to_vec());
            longest.into_iter().find(|it| files.contains_key(it))
        });
        targets.filter(|it| it != here).collect()
    };
    files.iter().map(|(here, text)| (here.clone(), used(here, text))).collect()
}
