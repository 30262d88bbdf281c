//! The fuzz targets over their seeds: own samples, and mutations of them that are the same in every run.

#[path = "../fuzz/target.rs"]
mod target;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::backend::Random;
use crate::harness::long::is_long;
use crate::harness::sample::own_folder;

const SEED: u64 = 11;
const N_MUTATIONS_MAX: usize = 200;
/// Bytes that mean something in one of the formats.
const PIECES: [&[u8]; 14] = [
    b"\"",
    b"{",
    b"]",
    b";",
    b"<",
    b"&",
    b"\0",
    b"\n",
    b"\xff",
    b"\xc3",
    b"-1",
    b"1e99",
    b"null",
    b"\xe2\x80\xae",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|it| it.is_file()).map(|it| fs::read(it).unwrap()).collect()
}

/// The seeds of a target.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let of_samples = |folder: &str| files(&own_folder().join(folder));
    match name {
        "asff" | "nmap" | "report" | "vulnerability" => of_samples(name),
        "prowler" => [of_samples("prowler"), of_samples("other")].concat(),
        name => files(&root().join("seeds").join(name)),
    }
}

/// Cuts, flips, removes, repeats or inserts something somewhere.
fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let mut below = |n: usize| usize::try_from(random.below(n as u64)).unwrap();
    for _ in 0..=below(3) {
        let at = below(bytes.len() + 1);
        let end = (at + 1 + below(32)).min(bytes.len());
        match below(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            2 if at < end => drop(bytes.drain(at..end)),
            3 if at < end => bytes.extend_from_within(at..end),
            _ => drop(bytes.splice(at..at, PIECES[below(PIECES.len())].iter().copied())),
        }
    }
    bytes
}

/// Each seed, its beginnings, and mutations of it.
fn run(name: &str) {
    let target = target::named(name);
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    // All mutations of one seed together have about as many bytes, so that a large one does not take long.
    let n_bytes = if is_long() { 1 << 18 } else { 1 << 17 };
    let mut random = Random::from_seed(SEED);
    target(b"");
    for seed in seeds {
        target(&seed);
        let n = (n_bytes / seed.len().max(1)).clamp(4, N_MUTATIONS_MAX);
        for place in 1..=n / 2 {
            target(&seed[..seed.len() * place / (n / 2 + 1)]);
        }
        for _ in 0..n - n / 2 {
            target(&mutated(&seed, &mut random));
        }
    }
}

#[test]
fn any_report_of_prowler_is_read_or_refused_whole() {
    run("prowler");
}

#[test]
fn any_findings_of_aws_are_read_or_refused_whole() {
    run("asff");
}

#[test]
fn any_report_about_one_thing_is_read_or_refused_whole() {
    run("report");
}

#[test]
fn any_report_of_nmap_is_read_or_refused_whole() {
    run("nmap");
}

#[test]
fn any_report_of_a_vulnerability_scanner_is_read_or_refused_whole() {
    run("vulnerability");
}

#[test]
fn any_compressed_file_is_unpacked_or_refused_with_a_reason() {
    run("packed");
}

#[test]
fn any_facts_are_taken_once_or_refused_whole() {
    run("facts");
}

#[test]
fn only_keys_that_were_issued_are_accepted() {
    run("key");
}

#[test]
fn only_tokens_that_were_issued_are_accepted() {
    run("token");
}

#[test]
fn any_answer_of_a_name_server_is_a_plain_name_or_none() {
    run("dns");
}

#[test]
fn any_banner_is_kept_bounded_and_printable() {
    run("banner");
}

#[test]
fn any_certificate_is_kept_bounded_and_printable() {
    run("certificate");
}

#[test]
fn cargo_fuzz_has_the_same_targets() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let bins = manifest["bin"].as_array().unwrap();
    let names: BTreeSet<&str> = bins.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, target::ALL.map(|it| it.0).into());
}
