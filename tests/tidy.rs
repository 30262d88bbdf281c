//! The house rules that no lint knows: floors, owned words, lengths, a doc on every module.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;

use source::{Module, code, module_of, paths, root, sources, uses, words};

#[path = "tidy/reader.rs"]
mod reader;
#[path = "tidy/source.rs"]
mod source;

/// A package: its folder, the packages that it is built on, and the floors inside, lowest first.
type Package = (&'static str, &'static [&'static str], &'static [&'static [&'static str]]);

/// The order of packages is Cargo's to hold. Inside, a module uses lower floors only; siblings do not know each other.
const PACKAGES: &[Package] = &[
    (
        "core",
        &[],
        &[
            &["error"],
            &[
                "id",
                "clock",
                "secret",
                "origin",
                "page",
                "peer",
                "poll",
                "request",
                "text",
                "encoding",
                "layout",
                "toml_reader",
                "blocking",
                "fair_limit",
                "bounded_file",
            ],
            &["engine", "paper"],
            &["import", "catalog"],
        ],
    ),
    ("store", &["core"], &[&["store"]]),
    (
        "outside",
        &["core"],
        &[&["egress"], &["connect", "mail", "oidc", "passkey", "scan", "webhook"]],
    ),
    ("app", &["core", "outside", "store"], &[&["background"], &["auth"], &["app"], &["work"]]),
    ("service", &["app", "core", "outside", "store"], &[&["api", "web"], &["serve"]]),
    (
        "posture",
        &["app", "core", "outside", "service", "store"],
        &[&["demo"], &["config"], &["cli"]],
    ),
];

/// Modules of one floor of which one builds on the other, and why.
const WITHIN_FLOOR: &[(&str, &str)] = &[
    ("id", "clock"),              // An id may be made at a time.
    ("poll", "clock"),            // A poll is measured.
    ("bounded_file", "encoding"), // A line is text.
    ("secret", "encoding"),       // So is the key in its file.
];

/// The floors inside a module, lowest first, by the folder or file below it. Files of one folder may use each other.
/// `mod.rs` holds what they share.
const FLOORS_INSIDE: &[(&str, &[&[&str]])] = &[
    (
        "app",
        &[
            &["input", "notice"],
            &["client"],
            &["event"],
            &["inventory", "exploited"],
            &["assessment"],
            &["intake"],
            &[
                "decision",
                "framework",
                "report",
                "access",
                "scan",
                "webhook",
                "connect",
                "ingestion",
            ],
            &["upkeep", "backup", "certificate"],
            &["reseal", "setting"],
        ],
    ),
    (
        "store",
        &[
            &["table", "row_key"],
            &["engine"],
            &["kernel", "disk_space"],
            &["spool", "node"],
            &["per_client"],
            &["global"],
            &["migration"],
            &["open"],
            &["backup", "takeover"],
            &["writer"],
        ],
    ),
];

/// Words that belong to some modules alone.
const OWNED_WORDS: &[(&str, &[&str])] = &[
    ("use age::", &["store"]),
    ("bincode::decode", &["store"]),
    ("poem::", &["api", "web", "serve", "cli"]),
    ("poem_openapi::", &["api", "web", "cli"]),
    ("hyper::", &["api", "serve", "cli"]),
    ("krilla::", &["paper"]),
    ("lettre::", &["mail"]),
    ("ttf_parser::", &["paper"]),
    ("webauthn_rp::", &["passkey"]),
    ("SystemTime::", &["clock"]),
    ("Timestamp::now", &["clock"]),
    ("env::var", &["config"]),
    ("process::exit", &["main"]),
    ("spawn_blocking", &["blocking", "egress"]),
    ("ureq::", &["egress"]),
    ("rustix::net", &["scan"]),
    ("hickory_resolver::", &["connect", "scan"]),
    ("idna::", &["connect"]),
    ("TcpStream::connect", &["egress", "scan"]),
    (".client_store(", &["auth", "app", "work", "store"]),
];

/// Libraries of which only one folder may say the name.
const OWNED_LIBRARIES: &[(&str, &[&str])] =
    &[("redb", &["store", "engine", "redb"]), ("tokio_postgres", &["store", "engine", "postgres"])];

/// Words that a module must not use, and why.
const BARRED_WORDS: &[(&str, &str, &str)] =
    &[("engine", "HashMap", "its order differs from run to run, and an assessment must not")];

/// What lies beside the dotfiles.
const TOP_LEVEL: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "assets",
    "packaging",
    "posture.toml.example",
    "rustfmt.toml",
    "src",
    "tests",
];

/// Public functions that only tests call, and why they may.
const CALLED_FROM_TESTS: &[&str] = &[
    "list_all_observations", // The law of the log is about the whole log.
    "contents",              // What all rows are together, to compare databases.
    "on_backend",            // Disks that fail, lie and are slow.
    "on_backends",
];

const FILES_MAX: usize = 20;
const LINES_MAX: usize = 500;
/// rustfmt cannot break a long text or comment; nobody should have to scroll for one either.
const LINE_CHARS_MAX: usize = 140;

fn floor_of(floors: &[&[&str]], name: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&name))
}

/// The package and the floor of a module of the top level.
fn place_of(name: &str) -> (&'static str, usize) {
    let mut places = PACKAGES
        .iter()
        .filter_map(|(package, _, floors)| floor_of(floors, name).map(|floor| (*package, floor)));
    places.next().unwrap_or_else(|| panic!("`{name}` has no floor"))
}

#[test]
fn modules_use_only_lower_floors() {
    for (here, used) in uses() {
        let Some(top) = here.first().filter(|it| *it != "main") else { continue };
        let (package, floor) = place_of(top);
        for target in used.iter().map(|it| &it[0]).filter(|it| *it != top) {
            let (of, lower) = place_of(target);
            let allowed = of != package || lower < floor || WITHIN_FLOOR.contains(&(top, target));
            assert!(allowed, "{}: `{top}` may not use `{target}`", here.join("::"));
        }
    }
}

/// What a package may use is what it depends on. One that depends on more than it should would compile.
#[test]
fn packages_are_built_on_lower_ones_alone() {
    for (package, lower, floors) in PACKAGES {
        let used = dependencies(package, "dependencies").into_iter();
        let own: Vec<String> =
            used.filter_map(|it| Some(it.strip_prefix("posture-")?.to_owned())).collect();
        assert_eq!(own, *lower, "src/{package}");
        let mut rooms: Vec<String> = sources(&format!("src/{package}"))
            .iter()
            .filter_map(|(path, _)| module_of(path).first().cloned())
            .filter(|it| it != "main")
            .collect();
        rooms.dedup();
        let mut listed = floors.concat();
        listed.sort_unstable();
        assert_eq!(rooms, listed, "src/{package}");
    }
}

/// What lies beside the rooms of a package would be on no floor.
#[test]
fn the_file_of_a_package_names_its_rooms_and_no_more() {
    for (package, ..) in PACKAGES {
        let path = root().join("src").join(package).join("lib.rs");
        for statement in code(&fs::read_to_string(&path).unwrap()).split_inclusive(';') {
            let statement = statement.trim();
            let is_name = statement.strip_prefix("pub mod ").is_some_and(|it| !it.contains('{'))
                || statement.trim_start_matches("pub ").starts_with("use posture_");
            assert!(is_name || statement.is_empty(), "{}: {statement}", path.display());
        }
    }
}

#[test]
fn folders_use_only_lower_floors_of_their_module() {
    for (module, floors) in FLOORS_INSIDE {
        for (here, used) in uses() {
            let (true, Some(inside)) =
                (here[..].first().is_some_and(|it| it == module), here.get(1))
            else {
                continue;
            };
            let floor = floor_of(floors, inside);
            let floor = floor.unwrap_or_else(|| panic!("`{module}::{inside}` has no floor"));
            for target in used.iter().filter(|it| it[0] == *module) {
                let Some(target) = target.get(1).filter(|it| *it != inside) else { continue };
                let lower = floor_of(floors, target);
                assert!(
                    lower.is_some_and(|it| it < floor),
                    "{}: `{module}::{inside}` may not use `{module}::{target}`",
                    here.join("::")
                );
            }
        }
    }
}

/// A file may use the `mod.rs` of a folder that it is in: what the folder shares is there.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let uses = uses();
    let mut done = BTreeSet::new();
    for start in uses.keys() {
        walk(start, &uses, &mut Vec::new(), &mut done);
    }
}

fn walk(
    here: &Module,
    uses: &BTreeMap<Module, BTreeSet<Module>>,
    way: &mut Vec<Module>,
    done: &mut BTreeSet<Module>,
) {
    if let Some(at) = way.iter().position(|it| it == here) {
        let circle: Vec<String> = way[at..].iter().map(|it| it.join("::")).collect();
        panic!("a circle of files: {}", circle.join(" -> "));
    }
    if done.contains(here) {
        return;
    }
    way.push(here.clone());
    for next in uses[here].iter().filter(|it| !here.starts_with(it)) {
        walk(next, uses, way, done);
    }
    way.pop();
    done.insert(here.clone());
}

#[test]
fn the_braces_of_a_use_are_read() {
    let text = "use crate::{app::{self, App}, web as page, work};\npub use super::error::Error;\n\
                fn a() { crate::id::now(); }";
    let read: Vec<String> = paths(text).iter().map(|it| it.join("::")).collect();
    let expected = [
        "crate::app",
        "crate::app::App",
        "crate::web",
        "crate::work",
        "super::error::Error",
        "crate::id::now",
    ];
    assert_eq!(read, expected);
}

/// `pub` keeps the compiler from saying that nothing calls a function.
#[test]
fn every_public_function_has_a_caller_outside_tests() {
    let code: Vec<String> = sources("src").iter().map(|(_, text)| code(text)).collect();
    let mut n_said: BTreeMap<&str, usize> = BTreeMap::new();
    for word in code.iter().flat_map(|it| words(it)) {
        *n_said.entry(word).or_default() += 1;
    }
    let mut unused = BTreeSet::new();
    for line in code.iter().flat_map(|it| it.lines()) {
        let Some(rest) = line.trim_start().strip_prefix("pub") else { continue };
        let mut all = words(rest).skip_while(|it| *it != "fn").skip(1);
        let is_function = rest.split('(').next().is_some_and(|it| it.contains("fn "))
            || rest.starts_with('(') && rest.contains(" fn ");
        if let (true, Some(name)) = (is_function, all.next())
            && n_said[name] < 2
            && !CALLED_FROM_TESTS.contains(&name)
        {
            unused.insert(name);
        }
    }
    assert!(unused.is_empty(), "nothing in src calls these: {unused:?}");
}

fn manifest(package: &str) -> toml::Table {
    let folder = if package == "posture" { root() } else { root().join("src").join(package) };
    fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// The names in a section of a package's manifest.
fn dependencies(package: &str, section: &str) -> Vec<String> {
    let all = manifest(package);
    let all = all.get(section).and_then(|it| it.as_table());
    all.map(|it| it.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn every_dependency_is_used() {
    let said = |folder: &str| -> HashSet<String> {
        let texts = sources(folder).into_iter().map(|(_, text)| code(&text));
        texts.flat_map(|text| words(&text).map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let in_tests = said("tests");
    for (package, ..) in PACKAGES {
        let in_src = said(&format!("src/{package}"));
        for (section, said) in [("dependencies", &in_src), ("dev-dependencies", &in_tests)] {
            for name in dependencies(package, section) {
                let name = name.replace('-', "_");
                assert!(said.contains(&name), "src/{package}: [{section}] nothing uses {name}");
            }
        }
    }
}

/// Versions, features and lints stand once, in the manifest at the top.
#[test]
fn packages_say_what_the_workspace_says() {
    let is_of_workspace = |it: &toml::Value| it.get("workspace") == Some(&toml::Value::from(true));
    for (package, ..) in PACKAGES {
        let manifest = manifest(package);
        assert!(manifest.get("lints").is_some_and(is_of_workspace), "src/{package}: lints");
        for (name, it) in manifest["dependencies"].as_table().unwrap() {
            assert!(is_of_workspace(it), "src/{package}: {name}");
        }
    }
    let used = PACKAGES.iter().flat_map(|(package, ..)| {
        let mut names = dependencies(package, "dependencies");
        names.extend(dependencies(package, "dev-dependencies"));
        names
    });
    let used: BTreeSet<String> = used.collect();
    for name in manifest("posture")["workspace"]["dependencies"].as_table().unwrap().keys() {
        assert!(used.contains(name), "[workspace.dependencies] no package names {name}");
    }
}

#[test]
fn the_top_level_stays_as_it_is() {
    let mut names: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|it| it.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|it| !it.starts_with('.') && !["target", "data"].contains(&it.as_str()))
        .collect();
    names.sort();
    assert_eq!(names, TOP_LEVEL);
}

#[test]
fn folders_are_small() {
    let mut n_files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (path, _) in sources("src") {
        *n_files.entry(path.parent().unwrap().to_owned()).or_default() += 1;
    }
    for (folder, n) in n_files {
        assert!(n <= FILES_MAX, "{}: {n} files", folder.display());
    }
}

#[test]
fn words_stay_with_their_owners() {
    for (path, text) in sources("src") {
        let here = module_of(&path).first().cloned().unwrap_or_default();
        let code = code(&text);
        for (word, owners) in OWNED_WORDS {
            let allowed = !code.contains(word) || owners.contains(&here.as_str());
            assert!(allowed, "{}: only {owners:?} may say `{word}`", path.display());
        }
        for (module, word, why) in BARRED_WORDS {
            let barred = here == *module && words(&code).any(|it| it == *word);
            assert!(!barred, "{}: {module} must not say `{word}`: {why}", path.display());
        }
    }
}

#[test]
fn libraries_stay_in_their_folders() {
    for (path, text) in sources("src") {
        let here = module_of(&path);
        for (library, owner) in OWNED_LIBRARIES {
            let named = paths(&text).iter().any(|it| it.first().is_some_and(|it| it == library));
            let allowed = !named
                || here.iter().zip(*owner).all(|(it, owned)| it == owned)
                    && owner.len() <= here.len();
            assert!(allowed, "{}: only {} may say `{library}`", path.display(), owner.join("::"));
        }
    }
}

#[test]
fn handlers_cannot_name_the_store_of_all_clients() {
    for (path, text) in sources("src/service/api") {
        let names = words(&code(&text)).any(|it| it == "Store");
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
