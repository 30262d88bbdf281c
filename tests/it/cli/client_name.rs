//! A client is named by its id or its name, wherever a command takes one.

use serde_json::json;

use super::{NOBODY, now_s, refusal, some_checks};
use crate::harness::http::send_socket;
use crate::harness::process::Folder;

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

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("some.json", &some_checks(now_s()));
    folder.client("Other");
    let add = ["user", "add", "--email", "ada@example.com", "--role", "viewer"];
    folder.ok(&add);
    folder
}

#[test]
fn every_command_takes_a_client_by_its_name() {
    let check = |folder: &Folder| {
        folder.client(NAME);
        for args in TAKING {
            folder.ok(&with(args, "åLDER & söhne dental"));
        }
        assert!(!folder.ok(&["client", "list"]).contains(NAME), "the last one removed it");
    };
    let folder = prepared();
    check(&folder);
    let _server = folder.serve();
    check(&folder);
}

#[test]
fn a_name_of_no_client_is_refused_with_the_nearest_names() {
    let folder = prepared();
    for name in ["Alder Dental", "Adler Dental", "Birch Dental"] {
        folder.client(name);
    }
    let check = || {
        for args in TAKING {
            let done = folder.run(&with(args, "alder dentl"));
            let said =
                "no client is named `alder dentl`; did you mean `Alder Dental` or `Adler Dental`?";
            assert_eq!(refusal(&done), said, "{args:?}");
        }
        for (name, hint) in [
            ("dental", "did you mean `Alder Dental`, `Adler Dental` or `Birch Dental`?"),
            ("zzzzzz", "`posture client list` shows all clients"),
        ] {
            let done = folder.run(&["client", "show", name]);
            assert_eq!(refusal(&done), format!("no client is named `{name}`; {hint}"));
        }
        assert_eq!(refusal(&folder.run(&["client", "show", NOBODY])), "client not found");
    };
    check();
    let _server = folder.serve();
    check();
}

#[test]
fn a_name_of_two_clients_is_refused_with_the_ids_of_both() {
    let folder = prepared();
    let first = folder.client("Twin");
    let added = folder.run(&["client", "add", "--name", "TWIN"]);
    let second = added.out.trim_end();
    assert_eq!(added.code, 0);
    let said = format!("posture: warning: client {first} is also named `Twin`; from now on, ");
    assert!(added.err.starts_with(&said), "{}", added.err);
    let check = || {
        for args in TAKING {
            let said = format!(
                "2 clients are named `twin`; pass the id of one of them: {first}, {second}"
            );
            assert_eq!(refusal(&folder.run(&with(args, "twin"))), said, "{args:?}");
        }
        for (id, name) in [(&*first, "Twin"), (second, "TWIN")] {
            assert_eq!(folder.json(&["client", "show", id])["data"]["name"], name);
        }
    };
    check();
    let _server = folder.serve();
    check();
    let path = "/api/clients?name=tWiN&limit=1";
    let page = send_socket(&folder.socket(), "GET", path, &[], b"").json();
    assert_eq!(page["pagination"], json!({ "total": 2, "limit": 1, "offset": 0 }));
}
