//! `posture report`: documents, and the check of one on another computer.

use serde_json::json;

use super::refusal;
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, finish};

const CONFIG: &str = "
[server]
listen = \"127.0.0.1:0\"
[data]
dir = \"data\"
[msp]
name = \"Northwind\"
language = \"fr\"
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    folder.client("Acme Ltd");
    folder
}

fn report(folder: &Folder, args: &[&str]) -> String {
    folder.ok(&[&["report", "client", "acme ltd"], args].concat())
}

#[test]
fn a_report_is_what_the_api_answers_and_verifies_on_any_computer() {
    let folder = folder();
    assert_eq!(report(&folder, &["-o", "a.pdf"]), "a.pdf: written\n");
    let server = folder.serve();
    let page = report(&folder, &["--format", "html"]);
    assert!(page.contains("<html lang=\"fr\">"), "the language of the configuration");
    report(&folder, &["--format", "html", "--language", "en", "-o", "a.html"]);
    folder.ok(&["report", "framework", "acme ltd", "iso_27001", "-o", "iso.pdf"]);
    folder.ok(&["report", "portfolio", "-o", "all.pdf"]);
    let all = folder.ok(&["report", "portfolio", "--format", "html", "--language", "en"]);
    assert!(all.contains("<p class=\"subject\">1 client</p>"));
    let listed = folder.json(&["client", "list"]);
    let id = listed["data"][0]["id"].as_str().unwrap();
    let path = format!("/api/clients/{id}/reports/posture?format=pdf");
    let answer = send_socket(&folder.socket(), "GET", &path, &[], b"");
    assert!(answer.body.starts_with(b"%PDF-"));
    let keys = folder.json(&["report", "key"]);
    assert_eq!(keys["data"], folder.ask("/api/system")["data"]["reportKeys"]);
    let key = keys["data"][0]["publicKey"].as_str().unwrap();
    let fingerprint = keys["data"][0]["fingerprint"].as_str().unwrap();
    assert!(folder.ok(&["report", "key"]).contains(fingerprint));
    drop(server);

    let elsewhere = tempfile::tempdir().unwrap();
    let verify = |file: &str, args: &[&str]| {
        let mut command = folder.command(&[&["report", "verify", file], args].concat());
        finish(command.current_dir(elsewhere.path()))
    };
    for name in ["a.pdf", "a.html", "iso.pdf", "all.pdf"] {
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        let done = verify(file, &[]);
        assert_eq!((done.code, &*done.err), (0, ""));
        for wanted in ["unchanged since Northwind signed it", key, fingerprint, "compare the key"] {
            assert!(done.out.contains(wanted), "{wanted}: {}", done.out);
        }
        let done = verify(file, &["--key", key]);
        assert!(done.out.ends_with("the key is the given one\n"), "{}", done.out);
        let done = verify(file, &["--json", "--key", &key.to_uppercase()]);
        let told: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        let shown =
            ["signedBy", "publicKey", "fingerprint", "keyMatches"].map(|it| &told["data"][it]);
        assert_eq!(json!(shown), json!(["Northwind", key, fingerprint, true]));

        let other = format!("00{}", &key[2..]);
        let said = verify(file, &["--key", &other]);
        assert!(refusal(&said).contains("is signed with another key"), "{}", said.err);
        let said = verify(file, &["--key", "00"]);
        assert!(refusal(&said).starts_with("--key: must be 64 hexadecimal digits"), "{}", said.err);

        let mut bytes = std::fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(elsewhere.path().join("changed"), &bytes).unwrap();
        let said = verify("changed", &[]);
        assert_eq!(refusal(&said), "changed was changed after it was signed; do not rely on it");
    }
    std::fs::write(elsewhere.path().join("none"), "a text\n").unwrap();
    let said = verify("none", &[]);
    assert!(refusal(&said).starts_with("none has no signature"), "{}", said.err);
    assert!(refusal(&verify("absent", &[])).starts_with("absent cannot be read: "));
    let nothing = std::fs::read_dir(elsewhere.path()).unwrap().count();
    assert_eq!(nothing, 2, "nothing else was made");
}

#[test]
fn a_new_key_file_and_a_restored_backup_keep_the_key() {
    let folder = folder();
    let key = || folder.json(&["report", "key"])["data"].clone();
    let first = key();
    assert_eq!(first.as_array().unwrap().len(), 1);
    folder.ok(&["secrets", "rotate"]);
    assert_eq!(key(), first);
    report(&folder, &["-o", "before.pdf"]);
    folder.ok(&["backup", "all.backup"]);
    std::fs::remove_file(folder.path().join("data/posture.redb")).unwrap();
    folder.ok(&["restore", "all.backup"]);
    assert_eq!(key(), first);
    let public = first[0]["publicKey"].as_str().unwrap();
    folder.ok(&["report", "verify", "before.pdf", "--key", public]);
}

#[test]
fn a_logo_that_is_none_is_refused_at_start() {
    let folder = folder();
    let with = |logo: &str| {
        let config = format!("{CONFIG}logo = \"{logo}\"\n");
        folder.write("posture.toml", config.as_bytes());
        folder.run(&["client", "list"])
    };
    folder.write("text.png", b"no picture");
    folder.write("cut.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    folder.write("large.svg", &vec![b' '; 256 * 1024 + 1]);
    folder
        .write("logo.svg", b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    folder.write("page.svg", b"<html/>");
    for (logo, rule) in [
        ("absent.png", "cannot be read: "),
        ("text.png", "must be a PNG or an SVG file"),
        ("cut.png", "is not a valid PNG file: "),
        ("large.svg", "must be at most 256 KiB"),
        ("page.svg", "must be a PNG or an SVG file"),
    ] {
        let done = with(logo);
        let said = refusal(&done);
        assert!(said.starts_with(&format!("msp.logo: {logo} {rule}")), "{said}");
        let checked = folder.run(&["config", "check"]);
        assert_eq!(checked.code, 1, "{logo}");
        assert!(checked.out.contains("msp.logo: "), "{}", checked.out);
    }
    assert_eq!(with("logo.svg").code, 0);
    let page = report(&folder, &["--format", "html"]);
    assert!(page.contains("<img src=\"data:image/svg+xml;base64,"), "{page}");
}
