//! `posture framework`, with and without a server.

use serde_json::json;

use super::refusal;
use crate::harness::http::send_socket;
use crate::harness::process::Folder;

const OURS: &str =
    "id = \"OURS\"\nname = \"Ours\"\n\n[[row]]\nreference = \"1\"\ntitle = \"Row one\"\n";

#[test]
fn a_framework_is_added_shown_replaced_and_removed() {
    let folder = Folder::new();
    folder.write("ours.toml", OURS.as_bytes());
    // Without a server, then beside one.
    let added = folder.ok(&["framework", "add", "ours.toml"]);
    assert!(added.contains("added OURS; `posture catalog show OURS`"), "{added}");
    assert_eq!(folder.ok(&["framework", "show", "ours"]), OURS);
    let _server = folder.serve();
    assert!(folder.ok(&["framework", "list"]).contains("in use"));
    assert!(folder.ok(&["catalog", "list"]).contains("OURS"));
    assert!(folder.ok(&["catalog", "show", "OURS"]).contains("Row one"));
    let asked = send_socket(&folder.socket(), "GET", "/api/own-frameworks", &[], b"").json();
    assert_eq!(folder.json(&["framework", "list"]), asked);
    let twice = folder.run(&["framework", "add", "ours.toml"]);
    assert!(refusal(&twice).contains("there is a framework OURS already"), "{}", twice.err);
    let fed = folder.feed(&["framework", "add", "-", "--replace"], &OURS.replace("one", "two"));
    assert_eq!((fed.code, &*fed.err), (0, ""));
    assert!(folder.ok(&["catalog", "show", "OURS"]).contains("Row two"));
    assert_eq!(folder.json(&["framework", "remove", "OURS"]), json!({"data": null}));
    let absent = folder.run(&["framework", "show", "OURS"]);
    assert!(refusal(&absent).contains("own framework not found"));
}

#[test]
fn a_file_that_is_no_framework_is_refused_in_a_line() {
    let folder = Folder::new();
    folder.write("wrong.toml", OURS.replace("Row one", "x").replace("name", "nome").as_bytes());
    folder.write("garbage.toml", &[0xff; 16]);
    folder.write("long.toml", &vec![b'#'; 240 * 1024 + 1]);
    for (file, says) in [
        (
            "wrong.toml",
            "toml: line 1: missing key \"name\"; line 2: unknown key \"nome\"; line 6: ",
        ),
        ("garbage.toml", "garbage.toml: the file is not UTF-8; save it as UTF-8"),
        ("long.toml", "long.toml: must have at most 245760 bytes"),
        ("absent.toml", "cannot read absent.toml: No such file"),
    ] {
        let done = folder.run(&["framework", "add", file]);
        assert!(refusal(&done).contains(says), "{file}: {}", done.err);
    }
    assert!(!folder.ok(&["framework", "list"]).contains("OURS"));
}
