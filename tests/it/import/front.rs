//! Files through the front door: compressed ones, unknown ones, and those that say nothing.

use std::io::Write;

use bzip2::write::BzEncoder;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use posture::import::unpack::N_STREAMS_FREE;

use crate::harness::process::Folder;
use crate::harness::sample::own;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// An archive with these files in it. A name that ends with `/` is a folder.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut packed);
    for (name, bytes) in files {
        if name.ends_with('/') {
            archive.new_dir(name).create().unwrap();
            continue;
        }
        let entry = archive.new_file(name).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = entry.start().unwrap();
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::best()));
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    packed
}

/// The archive with something else in the header of its first file, in both places.
fn with_header(packed: &[u8], after_version: usize, value: u8) -> Vec<u8> {
    let mut changed = packed.to_vec();
    let local = 6 + after_version;
    let central = packed.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    changed[local] = value;
    changed[central + 8 + after_version] = value;
    changed
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
        ("a.zip", b"PK\x03\x04abcd", DAMAGED),
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
}

const DAMAGED: &str = "the compressed file is truncated or damaged; copy it again";

#[test]
fn what_is_wrong_with_a_compressed_file_is_said_and_leaves_no_import() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let report = own("report/scuba.json");
    let packings = [
        ("a.bz2", bzip2 as fn(&[u8]) -> Vec<u8>),
        ("a.zst", zstd),
        ("a.zip", |bytes| zip(&[("a.json", bytes)])),
    ];
    for (name, pack) in packings {
        let packed = pack(&report);
        for end in [4, packed.len() / 2, packed.len() - 1] {
            let message = refused(&folder, name, &packed[..end]);
            assert!(message.contains(DAMAGED), "{name}: {end}: {message}");
        }
        let mut flipped = packed.clone();
        flipped[packed.len() / 2] ^= 0x55;
        for (bytes, words) in [
            (&flipped, DAMAGED),
            (&pack(b"hello"), "the file's format was not recognized"),
            (&pack(b""), "the file is empty"),
            (&pack(&packed), "the file is compressed; decompress it first"),
            (&pack(&gzip(&report)), "the file is compressed; decompress it first"),
            (&pack(b"\xff\xfea\0"), "UTF-16"),
        ] {
            let message = refused(&folder, name, bytes);
            assert!(message.contains(words), "{name}: {words}: {message}");
        }
    }
    let one = zip(&[("a.json", &report)]);
    let two = zip(&[("a.json", &report), ("b.json", &report)]);
    let mut other_checksum = zstd(&report);
    *other_checksum.last_mut().unwrap() ^= 1;
    for (name, bytes, words) in [
        ("a.zip", &two[..], "the archive has more than one file in it; unpack it and import each"),
        ("a.zip", &zip(&[]), "the archive has no file in it"),
        ("a.zip", &zip(&[("folder/", b"")]), "the archive has no file in it"),
        ("a.zip", &with_header(&one, 0, 9), "the file in the archive is encrypted"),
        (
            "a.zip",
            &with_header(&one, 2, 12),
            "the file in the archive is not compressed with deflate",
        ),
        ("a.zst", &other_checksum, DAMAGED),
        // A frame with a window of 16 MiB.
        ("a.zst", b"\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00", "a window of more than 8 MiB"),
    ] {
        let message = refused(&folder, name, bytes);
        assert!(message.contains(words), "{name}: {words}: {message}");
    }
}

#[test]
fn a_file_that_unpacks_to_too_much_is_refused() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    // A kilobyte for each megabyte of one text.
    let line = [b"x=".as_slice(), &vec![b'y'; 1 << 20], b"\n"].concat();
    let mut bomb = b"# Lynis Report\nreport_version_major=1\n".to_vec();
    (0..257).for_each(|_| bomb.extend_from_slice(&line));
    for (name, packed) in [
        ("a.gz", gzip(&bomb)),
        ("a.bz2", bzip2(&bomb)),
        ("a.zst", zstd(&bomb)),
        ("a.zip", zip(&[("lynis-report.dat", &bomb)])),
    ] {
        let message = refused(&folder, name, &packed);
        assert!(message.contains("unpacks to more than 256 MiB"), "{name}: {message}");
    }
}

#[test]
fn a_file_of_many_streams_that_give_nothing_is_refused() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let few = usize::try_from(N_STREAMS_FREE).unwrap();
    let report = own("report/scuba.json");
    for (name, pack) in [
        ("a.gz", gzip as fn(&[u8]) -> Vec<u8>),
        ("a.bz2", bzip2 as fn(&[u8]) -> Vec<u8>),
        ("a.zst", zstd as fn(&[u8]) -> Vec<u8>),
    ] {
        for part in [&b""[..], b" "] {
            let bytes = [pack(part).repeat(few + 2), pack(&report)].concat();
            let message = refused(&folder, name, &bytes);
            assert!(message.contains("more than 1000 streams of less than 4 KiB"), "{message}");
        }
    }
    for (name, pack) in [
        ("a.gz", gzip as fn(&[u8]) -> Vec<u8>),
        ("a.bz2", bzip2 as fn(&[u8]) -> Vec<u8>),
        ("a.zst", zstd as fn(&[u8]) -> Vec<u8>),
    ] {
        // As many as parallel compressors make of a large file.
        let bytes = [pack(b" ").repeat(few - 1), pack(&report)].concat();
        folder.write(name, &bytes);
        folder.ok(&["import", "--client", "Acme", "--observed-at", "now", "--again", name]);
    }
}

#[test]
fn a_compressed_file_is_the_same_as_the_file() {
    let folder = Folder::new();
    let _server = folder.serve();
    let mut seen = Vec::new();
    let report = own("report/scuba.json");
    let (start, end) = report.split_at(report.len() / 2);
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let mac = [("a/", &b""[..]), ("a/scuba.json", &report), ("__MACOSX/a/._scuba.json", b"x")];
    for (client, name, bytes) in [
        ("A", "scuba.json", report.clone()),
        ("B", "scuba.json.gz", gzip(&report)),
        ("C", "scuba.json.bz2", bzip2(&report)),
        ("D", "two.json.bz2", [bzip2(start), bzip2(end)].concat()),
        ("E", "scuba.json.zst", zstd(&report)),
        ("F", "two.json.zst", [skipped, zstd(start), zstd(end)].concat()),
        ("G", "scuba.zip", zip(&[("scuba.json", &report)])),
        ("H", "mac.zip", zip(&mac)),
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
    assert!(seen.iter().all(|it| *it == seen[0]), "{seen:?}");
}
