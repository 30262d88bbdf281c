//! A client is named by its id or its name, wherever a command takes one.

use serde_json::json;

use super::{NOBODY, now_s, refusal, some_checks};
use crate::harness::process::{Folder, Server};

const NAME: &str = "Ålder & Söhne Dental";

/// Commands that take a client, with `CLIENT` in its place.
const TAKING: [&[&str]; 9] = [
    &["client", "show", "CLIENT"],
    &["client", "set", "CLIENT", "--employees", "7"],
    &["import", "--client", "CLIENT", "--again", "some.json"],
    &["import", "list", "--client", "CLIENT"],
    &["scan", "list", "--client", "CLIENT"],
    &["key", "issue", "--name", "k", "--scope", "read:clients", "--client", "CLIENT"],
    &["user", "set", "ada@example.com", "--client", "CLIENT"],
    &["webhook", "add", "--url", "https://x.example", "--event", "all", "--client", "CLIENT"],
    &["client", "remove", "CLIENT", "--yes"],
];

fn with(args: &[&'static str], client: &'static str) -> Vec<&'static str> {
    args.iter().map(|it| if *it == "CLIENT" { client } else { *it }).collect()
}

/// Those that are also tried without a server. All commands find the client with the same function.
fn alone() -> Vec<&'static [&'static str]> {
    let is_tried =
        |it: &&[&str]| matches!(it, ["client", "show" | "remove", ..] | ["import", "--client", ..]);
    TAKING.into_iter().filter(is_tried).collect()
}

/// A folder with a client and a user, and its server.
fn served() -> (Folder, Server) {
    let folder = Folder::new();
    let server = folder.serve();
    folder.write("some.json", &some_checks(now_s()));
    folder.client("Other");
    folder.ok(&["user", "add", "--email", "ada@example.com", "--role", "viewer"]);
    (folder, server)
}

#[test]
fn every_command_takes_a_client_by_its_name() {
    let (folder, server) = served();
    let check = |commands: &[&[&'static str]]| {
        folder.client(NAME);
        assert!(folder.ok(&["client", "list"]).contains(NAME));
        for args in commands {
            folder.ok(&with(args, "åLDER & söhne dental"));
        }
        let left = folder.ok(&["client", "list"]);
        assert!(!left.contains(NAME) && left.contains("Other"), "the last one removed it: {left}");
    };
    check(&TAKING);
    assert!(server.stop().success());
    check(&alone());
}

#[test]
fn a_name_of_no_client_is_refused_with_the_nearest_names() {
    let (folder, server) = served();
    for name in ["Alder Dental", "Adler Dental", "Birch Dental"] {
        folder.client(name);
    }
    let check = |commands: &[&[&'static str]]| {
        for args in commands {
            let done = folder.run(&with(args, "alder dentl"));
            let said =
                "no client is named `alder dentl`; did you mean `Alder Dental` or `Adler Dental`?";
            assert_eq!(refusal(&done), said, "{args:?}");
        }
    };
    check(&TAKING);
    for (name, hint) in [
        ("dental", "did you mean `Alder Dental`, `Adler Dental` or `Birch Dental`?"),
        ("zzzzzz", "`posture client list` shows all clients"),
    ] {
        let done = folder.run(&["client", "show", name]);
        assert_eq!(refusal(&done), format!("no client is named `{name}`; {hint}"));
    }
    assert_eq!(refusal(&folder.run(&["client", "show", NOBODY])), "client not found");
    assert!(server.stop().success());
    check(&alone());
}

#[test]
fn a_name_of_two_clients_is_refused_with_the_ids_of_both() {
    let (folder, server) = served();
    let first = folder.client("Twin");
    let add = |more: &[&str]| folder.run(&[&["client", "add", "--name", "TWIN"], more].concat());
    let said = format!(
        "the client Twin ({first}) has this name, or one that looks like it; choose another name, or repeat with \
         --allow-same-name (allowSameName=true)"
    );
    assert_eq!(refusal(&add(&[])), said);
    let added = add(&["--allow-same-name"]);
    let second = added.out.trim_end();
    assert_eq!(added.code, 0, "{}", added.err);
    let check = |commands: &[&[&'static str]]| {
        for args in commands {
            let said = format!(
                "2 clients are named `twin`, or look like it; pass the id of one of them: {first} (Twin), {second} (TWIN)"
            );
            assert_eq!(refusal(&folder.run(&with(args, "twin"))), said, "{args:?}");
        }
        for (id, name) in [(&*first, "Twin"), (second, "TWIN")] {
            let shown = folder.json(&["client", "show", id]);
            assert_eq!((&shown["data"]["id"], &shown["data"]["name"]), (&json!(id), &json!(name)));
            assert_ne!(folder.run(&["client", "show", name]).code, 0, "no one is preferred");
        }
    };
    check(&TAKING);
    let third = folder.client("Third");
    for (name, is_refused) in [("Third", false), ("tW\u{131}N", true), ("Third", false)] {
        let done = folder.run(&["client", "set", &third, "--name", name]);
        assert_eq!(done.code != 0, is_refused, "{}", done.err);
    }
    let page = folder.ask("/api/clients?name=tWiN&limit=1");
    assert_eq!(page["pagination"], json!({ "total": 2, "limit": 1, "offset": 0 }));
    assert!(server.stop().success());
    check(&alone());
}
