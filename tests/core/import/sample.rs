//! Sample files: what one comes to, and our own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use posture_core::clock::Time;
use posture_core::engine::asset::{AssetType, Seen};
use posture_core::engine::fact::{Observation, Subject as Of, subject_hash};
use posture_core::import::fold::Folded;
use posture_core::import::{self, Format, HEAD_BYTES_MAX};

use super::sample_own::OWN;
use super::{NOW_S, counts, folded, records, skipped, total};
use crate::harness::long::is_long;
use crate::harness::sample::{own, own_folder};

/// Reads a sample by its path.
pub type Read = fn(&str) -> Vec<u8>;

/// What a sample comes to, counted by other means.
pub struct Expected {
    file: &'static str,
    format: Format,
    n_records: u64,
    n_observations: usize,
    /// Passed, failed, accepted.
    counts: (u32, u32, u32),
    skipped: &'static [(&'static str, u32)],
    scopes: &'static [&'static str],
    assets: &'static [(AssetType, usize)],
    /// Whose checks they are. Empty: the format's.
    tools: &'static [&'static str],
}

pub const fn expected(
    file: &'static str,
    format: Format,
    (n_records, n_observations): (u64, usize),
    counts: (u32, u32, u32),
    scopes: &'static [&'static str],
) -> Expected {
    let (skipped, assets, tools): (&[_], &[_], &[_]) = (&[], &[], &[]);
    Expected { file, format, n_records, n_observations, counts, skipped, scopes, assets, tools }
}

impl Expected {
    pub const fn skipped(self, skipped: &'static [(&'static str, u32)]) -> Self {
        Self { skipped, ..self }
    }

    pub const fn assets(self, assets: &'static [(AssetType, usize)]) -> Self {
        Self { assets, ..self }
    }

    pub const fn tools(self, tools: &'static [&'static str]) -> Self {
        Self { tools, ..self }
    }
}

/// Each sample is told by its beginning and comes to what is expected of it.
pub fn comes_to_what_is_expected(read: Read, all: &[Expected]) {
    for it in all {
        let file = read(it.file);
        let head = &file[..file.len().min(HEAD_BYTES_MAX)];
        assert_eq!(import::detect(head), Some(it.format), "{}", it.file);
        let run = folded(it.format, &file).unwrap_or_else(|error| panic!("{}: {error}", it.file));

        assert_eq!(run.n_records, it.n_records, "{}", it.file);
        assert_eq!(run.observations.len(), it.n_observations, "{}", it.file);
        assert_eq!(total(&run), it.counts, "{}", it.file);
        assert_eq!(skipped(&run), it.skipped, "{}", it.file);
        assert_eq!(run.scopes, it.scopes, "{}", it.file);
        let mut assets = BTreeMap::<&str, usize>::new();
        for asset in &run.assets {
            *assets.entry(asset.asset_type.as_str()).or_default() += 1;
        }
        let wanted: BTreeMap<&str, usize> =
            it.assets.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        assert_eq!(assets, wanted, "{}", it.file);
        let tools: BTreeSet<&str> = run.observations.iter().map(tool).collect();
        let own = if run.observations.is_empty() { vec![] } else { vec![it.format.tool()] };
        let wanted = if it.tools.is_empty() { own } else { it.tools.to_vec() };
        assert_eq!(tools.into_iter().collect::<Vec<_>>(), wanted, "{}", it.file);
        for observation in &run.observations {
            let (_, failed, muted) = counts(observation);
            assert_eq!(observation.failing.len(), (failed + muted) as usize);
            assert!(observation.failing.is_sorted());
            let has_time = observation.observed_at < Time::from_s(NOW_S);
            // Of Wazuh's files, the alerts have times.
            let is_told = it.format.has_times() || it.file.ends_with("alerts.json");
            assert_eq!(has_time, is_told, "{}: time", it.file);
        }
    }
}

fn tool(observation: &Observation) -> &str {
    let Of::Check { tool } = &observation.subject else { panic!("{observation:?}") };
    tool
}

/// The JSON and the CSV of one run say the same.
pub fn say_the_same(read: Read, names: &[&str]) {
    for name in names {
        let json = read(&format!("{name}.ocsf.json"));
        let csv = read(&format!("{name}.csv"));
        let json = folded(Format::ProwlerOcsf, &json).unwrap();
        let csv = folded(Format::ProwlerCsv, &csv).unwrap();

        let seconds = |it: Time| Time::from_s(it.s());
        let facts = |folded: &Folded| -> Vec<Observation> {
            let at = |it: &Observation| Observation {
                observed_at: seconds(it.observed_at),
                ..it.clone()
            };
            folded.observations.iter().map(at).collect()
        };
        let (json_facts, csv_facts) = (facts(&json), facts(&csv));
        assert_eq!(json_facts.len(), csv_facts.len());
        for (of_json, of_csv) in json_facts.iter().zip(&csv_facts) {
            assert_eq!(of_json, of_csv);
        }
        let assets = |folded: &Folded| -> Vec<Seen> {
            let at = |it: &Seen| Seen { seen_at: it.seen_at.map(seconds), ..it.clone() };
            folded.assets.iter().map(at).collect()
        };
        assert_eq!(assets(&json), assets(&csv));
    }
}

/// Each sample is refused when its end is missing. It is cut at some places, and at the last bytes.
pub fn is_refused_when_cut_off(read: Read, all: &[Expected]) {
    let (n_cuts, n_last) = if is_long() { (25, 25) } else { (12, 4) };
    for it in all {
        let file = read(it.file);
        // Its last row may be cut.
        if it.format.list_kind().is_some() {
            continue;
        }
        let whole = file.trim_ascii_end().len();
        let step = (whole / n_cuts).max(1);
        let positions = (0..whole).step_by(step).chain(whole.saturating_sub(n_last)..whole);
        for end in positions.filter(|end| *end < whole) {
            let Ok(run) = folded(it.format, &file[..end]) else { continue };
            // A table says nowhere how many rows it has.
            let is_table = matches!(
                it.format,
                Format::ProwlerCsv | Format::DefenderCloud | Format::HardeningKitty
            );
            // And a file of alerts, how many alerts.
            let is_table = is_table || it.file.ends_with("alerts.json");
            let is_table = is_table || it.file.ends_with("ndjson.json");
            let is_between = file[..end].ends_with(b"\n") || file[..end].ends_with(b"}");
            let between_rows = is_table && is_between;
            assert!(between_rows, "{} up to byte {end} of {whole}: {run:?}", it.file);
        }
    }
}

/// A sample reads the same byte by byte.
pub fn reads_the_same(read: Read, names: &[&str]) {
    for name in names {
        let file = read(name);
        let format = import::detect(&file[..file.len().min(HEAD_BYTES_MAX)]).unwrap();
        let mut slowly = BufReader::with_capacity(1, file.as_slice());
        let slow = records(format, &mut slowly).unwrap();
        assert_eq!(slow, records(format, &mut file.as_slice()).unwrap());
    }
}

#[test]
fn each_sample_is_told_by_its_beginning_and_comes_to_what_is_expected() {
    comes_to_what_is_expected(own, OWN);
}

#[test]
fn each_of_our_samples_is_expected() {
    for folder in ["prowler", "asff", "nmap", "report"] {
        for entry in std::fs::read_dir(own_folder().join(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap());
            assert!(OWN.iter().any(|it| it.file == name), "{name}");
        }
    }
}

#[test]
fn the_json_and_the_csv_of_one_run_say_the_same() {
    say_the_same(own, &["prowler/aws", "prowler/m365", "prowler/azure", "prowler/kubernetes"]);
}

#[test]
fn the_findings_of_a_sample_name_who_failed() {
    let file = own("prowler/aws.ocsf.json");
    let run = folded(Format::ProwlerOcsf, &file).unwrap();

    let check = "iam_user_hardware_mfa_enabled";
    let it = run.observations.iter().find(|it| it.check == check).unwrap();
    assert_eq!(counts(it), (0, 3, 0));
    let findings = it.findings.as_deref().unwrap();
    assert!(findings.starts_with("alice, bob, svc-backup\n"), "{findings}");
    let alice = "arn:aws:iam::123456789012:user/alice";
    assert!(it.failing.contains(&subject_hash(alice)));
    let asset = run.assets.iter().find(|it| it.external_id == alice).unwrap();
    assert_eq!((asset.name.as_str(), asset.category.as_deref()), ("alice", Some("iam")));
    assert_eq!(asset.asset_type, AssetType::Identity);
    assert_eq!(it.observed_at, Time::from_s(1_795_167_937));
    assert_eq!(run.observed_from, Some(Time::from_s(1_795_167_937)));
    assert_eq!(run.observed_to, run.observed_from);
}

#[test]
fn the_hosts_of_a_sample_are_told_apart_by_their_macs() {
    let run = folded(Format::Nmap, &own("nmap/network.xml")).unwrap();

    let hosts: Vec<(&str, &str, AssetType)> = run
        .assets
        .iter()
        .map(|it| (it.external_id.as_str(), it.ip.as_deref().unwrap(), it.asset_type))
        .collect();
    assert_eq!(
        hosts,
        [
            ("00:1b:2c:00:00:01", "192.0.2.1", AssetType::NetworkDevice),
            ("00:1b:2c:00:00:02", "192.0.2.2", AssetType::Device),
            ("00:1b:2c:00:00:05", "192.0.2.5", AssetType::Server),
            // Its MAC was made up by software.
            ("192.0.2.3", "192.0.2.3", AssetType::Workstation),
        ]
    );
    let find = |scope: &str, check: &str| {
        run.observations.iter().find(|it| it.scope == scope && it.check == check).unwrap()
    };
    let telnet = find("192.0.2.1", "telnet");
    assert_eq!(telnet.failing, [subject_hash("00:1b:2c:00:00:01")]);
    assert!(telnet.findings.as_deref().unwrap().contains("tcp/23 open (telnet "), "{telnet:?}");
    assert_eq!(counts(find("192.0.2.1", "certificate")), (1, 0, 0), "it ends years later");
    assert_eq!(counts(find("192.0.2.1", "tls-version")), (0, 1, 0), "it takes SSL 2");
    assert_eq!(counts(find("192.0.2.5", "certificate")), (0, 1, 0), "it ends within days");
    assert_eq!(counts(find("192.0.2.3", "vnc")), (0, 1, 0));
    assert_eq!(counts(find("192.0.2.3", "rdp")), (0, 1, 0));
}

#[test]
fn files_that_look_alike_are_not_taken() {
    for name in [
        "other/not-prowler.ocsf.json",
        "other/prowler-compliance.csv",
        "other/prowler-compliance.ocsf.json",
    ] {
        assert_eq!(import::detect(&own(name)), None, "{name}");
    }
    let other = folded(Format::ProwlerOcsf, &own("other/not-prowler.ocsf.json")).unwrap();
    assert_eq!(skipped(&other), [("not produced by Prowler", 1)]);
    let report = folded(Format::ProwlerOcsf, &own("other/prowler-compliance.ocsf.json")).unwrap();
    assert_eq!(skipped(&report), [("not a detection finding (class 2004)", 3)]);
}

#[test]
fn a_sample_that_is_cut_off_is_refused() {
    is_refused_when_cut_off(own, OWN);
}

#[test]
fn a_sample_reads_the_same_byte_by_byte() {
    reads_the_same(
        own,
        &[
            "prowler/v4.2.ocsf.json",
            "prowler/azure.csv",
            "asff/securityhub.json",
            "nmap/network.xml",
        ],
    );
}
