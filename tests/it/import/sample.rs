//! Our own sample files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use posture::clock::Time;
use posture::engine::asset::{AssetType, Seen};
use posture::engine::fact::{Observation, Subject as Of, subject_hash};
use posture::import::fold::Folded;
use posture::import::{self, Format, HEAD_BYTES_MAX};

use super::{LOOPBACK, MANUAL, NOW_S, counts, folded, records, skipped, total};
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

/// Our own samples.
const OWN: &[Expected] = {
    use AssetType::{
        CloudResource, Container, Device, Identity, Mailbox, NetworkDevice, Server, VirtualMachine,
        Workstation,
    };
    use Format::{
        Asff, DefenderCloud, HardeningKitty, Inspec, KubeBench, Lynis, Maester, Masscan, Nmap,
        PingCastle, ProwlerCsv as Csv, ProwlerJson as Json, ProwlerOcsf as Ocsf, ScoutSuite, Scuba,
        SecureScore, SecurityHubOcsf, StigChecklist, StigChecklist3, WazuhSca, Xccdf, ZeroTrust,
    };
    const AWS: &[&str] = &["aws/123456789012"];
    const LOCAL: &[&str] = &["127.0.0.1"];
    &[
        expected("prowler/aws.ocsf.json", Ocsf, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(&[(CloudResource, 4), (Identity, 3)]),
        expected("prowler/aws.csv", Csv, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(&[(CloudResource, 4), (Identity, 3)]),
        expected("prowler/m365.ocsf.json", Ocsf, (14, 8), (5, 6, 1), M365)
            .skipped(&[(MANUAL, 2)])
            .assets(&[(Identity, 4), (Mailbox, 2)]),
        expected("prowler/m365.csv", Csv, (14, 8), (5, 6, 1), M365)
            .skipped(&[(MANUAL, 2)])
            .assets(&[(Identity, 4), (Mailbox, 2)]),
        expected("prowler/azure.ocsf.json", Ocsf, (5, 5), (1, 3, 1), AZURE).assets(&[
            (CloudResource, 1),
            (Container, 1),
            (Identity, 1),
        ]),
        expected("prowler/azure.csv", Csv, (5, 5), (1, 3, 1), AZURE).assets(&[
            (CloudResource, 1),
            (Container, 1),
            (Identity, 1),
        ]),
        expected("prowler/gcp.csv", Csv, (4, 3), (2, 1, 0), &["gcp/example-project"])
            .skipped(&[(MANUAL, 1)])
            .assets(&[(VirtualMachine, 1)]),
        expected("prowler/kubernetes.ocsf.json", Ocsf, (4, 4), (1, 3, 0), KUBERNETES)
            .assets(&[(Server, 1)]),
        expected("prowler/kubernetes.csv", Csv, (4, 4), (1, 3, 0), KUBERNETES)
            .assets(&[(Server, 1)]),
        expected("prowler/v3.json", Json, (3, 3), (0, 3, 0), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/v4.2.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/v4.5.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/none.ocsf.json", Ocsf, (0, 0), (0, 0, 0), &[]),
        expected("asff/prowler.json", Asff, (116, 76), (48, 68, 0), AWS)
            .assets(&[(CloudResource, 4), (Identity, 3)])
            .tools(&["prowler"]),
        expected("asff/prowler-v3.json", Asff, (5, 2), (1, 1, 1), &["aws/111122223333"])
            .skipped(&[("status INFOED: not a result", 1), (MANUAL, 1)])
            .assets(&[(Identity, 2)])
            .tools(&["prowler"]),
        expected("asff/securityhub.json", Asff, (14, 4), (1, 5, 2), &["aws/111122223333"])
            .skipped(&[
                ("archived: it is no longer the current state", 1),
                ("not a check: it has no Compliance", 1),
                ("status NOT_AVAILABLE: the tool could not check it", 1),
                ("status PASSED: nothing was evaluated", 1),
                ("status WARNING: the tool could not check it", 1),
            ])
            .assets(&[(CloudResource, 3), (Identity, 3)])
            .tools(&["prowler", "securityhub"]),
        expected(
            "asff/securityhub-ocsf.json",
            SecurityHubOcsf,
            (8, 3),
            (1, 1, 2),
            &["aws/111122223333"],
        )
        .skipped(&[
            ("archived: it is no longer the current state", 1),
            ("not a compliance finding (class 2003)", 1),
            ("not produced by AWS Security Hub", 1),
            ("status WARNING: the tool could not check it", 1),
        ])
        .assets(&[(CloudResource, 2)])
        .tools(&["securityhub"]),
        expected("nmap/localhost.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Server, 1)]),
        expected("nmap/udp.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Device, 1)]),
        expected(
            "nmap/network.xml",
            Nmap,
            // Ten classes of TCP ports for each host, two certificates, TLS versions; and 22 hosts that are down.
            (65, 43),
            (37, 6, 0),
            &["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.5"],
        )
        .skipped(&[("host is down", 22)])
        .assets(&[(Device, 1), (NetworkDevice, 1), (Server, 1), (Workstation, 1)]),
        expected("nmap/masscan.xml", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan.json", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan-ndjson.json", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan.txt", Masscan, (5, 4), (0, 4, 0), MASSCAN)
            .skipped(&[("no address", 1)])
            .assets(&[(Device, 2), (Server, 1)]),
        expected("report/scuba.json", Scuba, (6, 4), (1, 2, 1), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result N/A: needs a manual check", 1),
        ]),
        expected("report/goggles.json", Scuba, (3, 2), (1, 1, 0), &["googleworkspace/C01example"])
            .skipped(&[("result No events found: needs a manual check", 1)]),
        // Of the two tests of one id, the one that failed counts.
        expected("report/maester.json", Maester, (8, 3), (1, 2, 0), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result Investigate: needs a manual check", 1),
            ("result NotRun: the test did not run", 1),
            ("result Skipped: NotConnectedExchange", 1),
        ]),
        expected("report/securescore.json", SecureScore, (4, 3), (1, 1, 1), M365)
            .skipped(&[("missing scoreInPercentage", 1)]),
        expected("report/zerotrust.json", ZeroTrust, (8, 3), (1, 2, 0), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result Investigate: needs a manual check", 1),
            ("result Passed: NotApplicable", 1),
            ("result Planned: UnderConstruction", 1),
            ("result Skipped: NoCompatibleLicenseFound", 1),
        ]),
        expected(
            "report/defender-cloud.csv",
            DefenderCloud,
            (9, 4),
            (2, 3, 1),
            &["azure/11111111-2222-4333-8444-555555555555"],
        )
        .skipped(&[
            ("recommendationName is no GUID", 1),
            ("result NotApplicable: does not apply to the resource", 1),
            ("result Unknown: not a result", 1),
        ])
        .assets(&[(CloudResource, 1), (VirtualMachine, 3)]),
        expected("report/scoutsuite.js", ScoutSuite, (5, 3), (1, 2, 0), AWS)
            .skipped(&[("missing checked_items or flagged_items", 1), ("nothing to check", 1)]),
        expected(
            "report/checklist.cklb",
            StigChecklist3,
            (4, 2),
            (1, 1, 0),
            &["host/db-2/EXAMPLE_STIG"],
        )
        .skipped(&[
            ("result not_applicable: the rule does not apply to the host", 1),
            ("result not_reviewed: nobody has checked it yet", 1),
        ])
        .assets(&[(Server, 1)]),
        expected("report/inspec.json", Inspec, (9, 4), (1, 2, 1), &["host/web-7/example-baseline"])
            .skipped(&[
                ("result failed: the tool could not check it", 1),
                ("result impact 0: the control does not apply to the host", 1),
                ("result skipped: needs a manual check", 1),
                ("result skipped: the test did not run", 1),
                ("the control has no test", 1),
            ])
            .assets(&[(Server, 1)]),
        expected(
            "report/wazuh-sca.json",
            WazuhSca,
            (4, 2),
            (1, 1, 0),
            &["host/lap-1/cis_win11_enterprise", "host/web-1/cis_ubuntu22-04"],
        )
        .skipped(&[
            ("result Not applicable: the check does not apply to the host", 1),
            ("result not applicable: the check does not apply to the host", 1),
        ])
        .assets(&[(Workstation, 1)]),
        expected(
            "report/wazuh-sca-alerts.json",
            WazuhSca,
            (2, 2),
            (1, 1, 0),
            &["host/web-2/cis_ubuntu22-04"],
        )
        .assets(&[(Server, 1)]),
        expected(
            "report/hardeningkitty.csv",
            HardeningKitty,
            (10, 9),
            (7, 2, 0),
            &["host/hardeningkitty"],
        )
        .skipped(&[("missing Name", 1)]),
        expected(
            "report/kube-bench.json",
            KubeBench,
            (5, 2),
            (1, 1, 0),
            &["kubernetes/kube-bench"],
        )
        .skipped(&[
            ("missing test_number", 1),
            ("result INFO: the check only informs", 1),
            ("result WARN: needs a manual check", 1),
        ]),
        expected(
            "report/lynis.dat",
            Lynis,
            (88, 88),
            (49, 39, 0),
            &["host/web-1/0123456789abcdef0123456789abcdef01234567"],
        )
        .assets(&[(Server, 1)]),
        expected("report/pingcastle.xml", PingCastle, (3, 3), (0, 3, 0), &["ad/acme.example"]),
        // Of two results of one rule the worse counts, and of two runs by one profile the newer.
        expected("report/xccdf.xml", Xccdf, (5, 3), (1, 1, 1), &["host/web-2.acme.example/basic"])
            .skipped(&[
                ("result error: the tool could not check it", 1),
                ("result notapplicable: the rule does not apply to the host", 1),
            ])
            .assets(&[(Server, 1)]),
        expected(
            "report/checklist.ckl",
            StigChecklist,
            (4, 2),
            (1, 1, 0),
            &["host/db-1/EXAMPLE_STIG"],
        )
        .skipped(&[
            ("result Not_Applicable: the rule does not apply to the host", 1),
            ("result Not_Reviewed: nobody has checked it yet", 1),
        ])
        .assets(&[(Server, 1)]),
    ]
};
const M365: &[&str] = &["m365/5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11"];
const MASSCAN: &[&str] = &["192.0.2.1", "192.0.2.3", "2001:db8::5"];
const AZURE: &[&str] =
    &["azure/11111111-2222-4333-8444-555555555555", "azure/5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11"];
const KUBERNETES: &[&str] = &["kubernetes/cluster-1"];

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
            assert_eq!(observation.failing.len(), counts(observation).1 as usize);
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

/// Each sample is cut at so many places, and at as many bytes before its end.
const N_CUTS: usize = 25;

/// Each sample is refused when its end is missing.
pub fn is_refused_when_cut_off(read: Read, all: &[Expected]) {
    for it in all {
        let file = read(it.file);
        let whole = file.trim_ascii_end().len();
        let step = (whole / N_CUTS).max(1);
        let positions = (0..whole).step_by(step).chain(whole.saturating_sub(N_CUTS)..whole);
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
