//! Text as Windows programs write it: with a byte order mark, in UTF-16, in ISO-8859-1, with `40.0` for 40.

use std::fs;

use posture::bounded_file::read_line;
use posture::encoding::{NotPem, NotText, owned_text, pem, text};
use serde_json::{Value, json};

use crate::harness::process::Folder;
use crate::harness::{Answer, Posture};

const MARK: &[u8] = b"\xef\xbb\xbf";

fn marked(text: &str) -> Vec<u8> {
    [MARK, text.as_bytes()].concat()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_mark_is_no_part_of_a_text_and_other_encodings_are_told_apart() {
    for bytes in ["".as_bytes(), b"a", "Büro 世界".as_bytes(), b"0\n", b"\n\n"] {
        let wanted = str::from_utf8(bytes).unwrap();
        assert_eq!(text(bytes), Ok(wanted));
        assert_eq!(owned_text([MARK, bytes].concat()).as_deref(), Ok(wanted));
    }
    assert_eq!(text(b"a\xfcb"), Err(NotText::NotUtf8 { valid_up_to: 1 }));
    for bytes in [utf16("\u{feff}{}"), utf16("{}"), b"\xfe\xff\0{".to_vec(), b"\0{\0}".to_vec()] {
        assert_eq!(text(&bytes), Err(NotText::Utf16));
        assert_eq!(pem(&bytes), Err(NotPem::Utf16));
    }
    assert_eq!(pem(&marked("-----BEGIN X-----")), Ok(&b"-----BEGIN X-----"[..]));
    assert_eq!(pem(b"0 is text too"), Ok(&b"0 is text too"[..]));
    for length in [0x2e, 0x59, 0x77, 0x81, 0x82, 0x83] {
        assert_eq!(pem(&[0x30, length, 0x02, 0x01, 0x01, 0x04]), Err(NotPem::Der), "{length}");
    }
    assert_eq!(pem(&[0x30, 0x82, 0x0a, 0x3f, 0x02, 0x01, 0x03]), Err(NotPem::Pkcs12));
}

#[test]
fn a_secret_is_the_line_without_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    for content in [marked("s3cret\r\n"), b"s3cret".to_vec()] {
        fs::write(&path, content).unwrap();
        assert_eq!(read_line(&path).unwrap(), "s3cret");
    }
    for (content, why) in [
        (
            utf16("\u{feff}s3cret\r\n"),
            "it is UTF-16, as PowerShell redirection writes it; save it as UTF-8",
        ),
        (b"s\xe9cret".to_vec(), "it is not UTF-8; save it as UTF-8"),
    ] {
        fs::write(&path, content).unwrap();
        assert_eq!(read_line(&path).unwrap_err().to_string(), why);
    }
}

fn add(posture: &Posture, kind: &str, body: &[u8]) -> Answer {
    posture.operator_bytes("POST", "/api/clients", kind, body)
}

#[test]
fn bodies_are_utf_8_with_or_without_a_mark() {
    let posture = Posture::start();
    let body = |name: &str| json!({ "name": name }).to_string();
    for (kind, body) in [
        ("application/json", marked(&body("A"))),
        ("application/json; charset=utf-8", marked(&body("Bü"))),
        ("application/json;charset=\"UTF-8\"", body("C").into_bytes()),
        ("application/json; profile=x; Charset = utf8", body("D").into_bytes()),
    ] {
        let answer = add(&posture, kind, &body);
        assert_eq!(answer.status, 201, "{kind}: {}", answer.text());
    }
    let to_send = "in Windows PowerShell with -Body ([Text.Encoding]::UTF8.GetBytes($json))";
    let latin = b"{\"name\": \"B\xfcro\"}";
    for body in [&latin[..], &utf16(&body("E")), &utf16("\u{feff}{}")] {
        let answer = add(&posture, "application/json", body);
        assert_eq!(answer.status, 400);
        let said = answer.problem().1;
        assert!(said.starts_with("body: is not UTF-8; ") && said.ends_with(to_send), "{said}");
    }
    for charset in ["iso-8859-1", "\"UTF-16\"", "x".repeat(100).as_str()] {
        let answer = add(&posture, &format!("application/json; charset={charset}"), latin);
        assert_eq!(answer.status, 415, "{charset}: {}", answer.text());
        assert!(answer.problem().1.ends_with(to_send), "{}", answer.text());
    }
}

#[test]
fn whole_numbers_may_have_a_point() {
    let posture = Posture::start();
    let made = |count: &str| {
        let body =
            format!("{{\"name\": \"a\\\\ 1.0, \\\"2.0\\\" {count}\", \"employeeCount\": {count}}}");
        add(&posture, "application/json", body.as_bytes())
    };
    for count in ["40.0", "40.000", "40", "0.0"] {
        let answer = made(count);
        assert_eq!(answer.status, 201, "{count}: {}", answer.text());
        let client = answer.json()["data"].clone();
        let whole: u64 = count.split('.').next().unwrap().parse().unwrap();
        assert_eq!(client["employeeCount"], whole, "{count}");
        assert_eq!(client["name"], format!("a\\ 1.0, \"2.0\" {count}"), "a text stays as it is");
    }
    for count in ["40.5", "40.01", "4e1", "40.", "-1.0", "1.0.0", "\"40.0\"", ".0", "40.0e1"] {
        assert_eq!(made(count).status, 400, "{count}");
    }
}

#[test]
fn a_plus_that_is_not_escaped_is_named() {
    let posture = Posture::start();
    let told = |path: &str| posture.operator("GET", path, &Value::Null).problem();
    let said = "since: write + as %2B in a URL: 2026-03-10T08:00:00%2B02:00";
    for time in ["2026-03-10T08:00:00+02:00", "2026-03-10T08:00:00%2002:00"] {
        let (_, message) = told(&format!("/api/events?newest=true&since={time}"));
        assert_eq!(message, said);
    }
    let escaped = "/api/events?newest=true&since=2026-03-10T08:00:00%2B02:00";
    assert_eq!(posture.operator("GET", escaped, &Value::Null).status, 200);
    let (_, message) = told("/api/events?newest=true&since=10+March");
    assert!(message.contains("such as 2026-11-20T08:00:00Z"), "{message}");
}

#[test]
fn commands_read_files_with_a_mark() {
    let folder = Folder::new();
    let _server = folder.serve();
    let client = folder.client("Acme");
    let facts = r#"{"source": "rmm", "observations": [{"control": "END-04", "passed": 38.0, "failed": 2}]}"#;
    folder.write("facts.json", &marked(facts));
    folder.ok(&["import", "--client", &client, "--format", "facts", "facts.json"]);
    folder.write("facts.json", &utf16(&format!("\u{feff}{facts}")));
    let done = folder.run(&["import", "--client", &client, "--format", "facts", "facts.json"]);
    assert_eq!(done.code, 1);
    assert!(done.err.contains("is not UTF-8"), "{}", done.err);
}
