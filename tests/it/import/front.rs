//! Files through the front door: compressed ones, unknown ones, and those that say nothing.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::harness::process::Folder;
use crate::harness::sample::own;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What the import of a file says that is refused. It leaves no import.
fn refused(folder: &Folder, name: &str, bytes: &[u8]) -> String {
    folder.write(name, bytes);
    let done = folder.run(&["import", "--client", "Acme", "--observed-at", "now", name]);
    assert_eq!(done.code, 1, "{}", done.out);
    let all = folder.json(&["import", "list", "--client", "Acme"])["data"].clone();
    assert_eq!(all.as_array().unwrap().len(), 0, "{all}");
    done.err
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_what_to_do_and_leaves_no_import() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let manual = r#"[{"metadata": {"event_code": "x", "product": {"name": "Prowler"}}, "status_code": "MANUAL"}]"#;
    let packed = gzip(&own("report/scuba.json"));
    let mut flipped = packed.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let end = packed.len() - 9;
    for (name, bytes, words) in [
        (
            "a.csv",
            &own("other/prowler-compliance.csv")[..],
            "looks like a compliance report of Prowler",
        ),
        (
            "a.json",
            br#"{"source": "x", "observations": []}"#,
            "looks like facts, which cannot be imported as it is: pass --format facts. The formats are prowler-ocsf, ",
        ),
        ("a.html", b"<!DOCTYPE html>\n<html><body>Sign in", "looks like a web page"),
        ("a.txt", b"hello", "the file's format was not recognized; pass --format with one of"),
        ("a.csv", b"\xff\xfea\0", "UTF-16"),
        ("a.zip", b"PK\x03\x04abcd", "the file is compressed; decompress it first"),
        (
            "a.json",
            manual.as_bytes(),
            "every record of the file was skipped, so nothing was imported: status MANUAL: needs a manual check (1)",
        ),
        ("a.gz", &packed[..end], "the compressed file is truncated or damaged"),
        ("a.gz", &flipped, "the compressed file is truncated or damaged"),
        ("a.gz", &gzip(b"hello"), "the file's format was not recognized"),
        ("a.gz", &gzip(&packed), "the file is compressed; decompress it first"),
    ] {
        let message = refused(&folder, name, bytes);
        assert!(message.contains(words), "{name}: {words}: {message}");
    }
    // A kilobyte for each megabyte of one text.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(b"# Lynis Report\nreport_version_major=1\n").unwrap();
    let line = [b"x=".as_slice(), &vec![b'y'; 1 << 20], b"\n"].concat();
    for _ in 0..257 {
        bomb.write_all(&line).unwrap();
    }
    let message = refused(&folder, "a.gz", &bomb.finish().unwrap());
    assert!(message.contains("unpacks to more than 256 MiB"), "{message}");
}

#[test]
fn a_compressed_file_is_the_same_as_the_file() {
    let folder = Folder::new();
    let _server = folder.serve();
    let mut seen = Vec::new();
    for (client, name, bytes) in [
        ("Acme", "scuba.json", own("report/scuba.json")),
        ("Other", "scuba.json.gz", gzip(&own("report/scuba.json"))),
    ] {
        folder.client(client);
        folder.write(name, &bytes);
        let import = ["import", "--client", client, "--bind", "--observed-at", "now", name];
        let imported = folder.json(&import)["data"].clone();
        let known = folder.json(&import)["data"]["alreadyImported"].clone();
        assert_eq!(known, true, "{name}");
        let import = &imported["import"];
        seen.push((import["records"].clone(), import["facts"].clone(), import["scopes"].clone()));
    }
    assert_eq!(seen[0], seen[1]);
}
