//! Large files of each format, through the command line into a running server: rate, and the memory of the server.
//!
//! A file is one of our samples in which one record stands many times, with identifiers that differ.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::figure::{Report, memory_kib, time};
use super::harness::process::Folder;
use super::harness::sample::own;
use super::{Bench, micros};

const MIB: usize = 1024 * 1024;
/// Files of up to 256 MiB are taken.
const FILE_BYTES: usize = 250 * MIB;
/// Files of up to a million results are taken.
const N_RESULTS: usize = 900_000;
/// What the server may hold at most.
const MEMORY_KIB_MAX: u64 = 200 * 1024;

/// The record of a sample that is repeated: from where it begins to the first end after it.
struct Repeated {
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// Between two records.
    between: &'static str,
    /// The identifier in it to which a number is added, and how many different numbers.
    id: &'static str,
    n_ids: usize,
    /// How many results it has.
    n_results: usize,
}

const fn json(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    id: &'static str,
) -> Repeated {
    Repeated { file, from, to, between: ",", id, n_ids: 40_000, n_results: 1 }
}

const fn text(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    id: &'static str,
) -> Repeated {
    Repeated { file, from, to, between: "", id, n_ids: 40_000, n_results: 1 }
}

const ALL: &[Repeated] = &[
    Repeated {
        n_results: 2,
        ..json(
            "asff/securityhub-ocsf.json",
            "{\"activity_id\": 1, \"class_uid\": 2003, \"cloud\": {\"account\": {\"uid\": \"111122223333\"}}, \"compliance\": {\"control\": \"S3.8\"",
            "1795169999000}",
            "public-site",
        )
    },
    json(
        "report/scuba.json",
        "{\"Control ID\": \"MS.AAD.3.1v1\"",
        "requirements.\"}",
        "MS.AAD.3.1v1",
    ),
    json("report/maester.json", "{\"Index\": 2,", "\"TestSkipped\": null}}", "CIS.M365.1.1.3"),
    json(
        "report/securescore.json",
        "{\"controlCategory\": \"Apps\", \"controlName\": \"aad_pass",
        "\"on\": \"false\"}",
        "aad_password_protection",
    ),
    json("report/zerotrust.json", "{\"TestId\": \"21804\"", "</ol>\"}", "21804"),
    json(
        "report/scoutsuite.js",
        "\"iam-user-without-mfa\"",
        "\"iam.users.b\"]}",
        "iam-user-without-mfa",
    ),
    json(
        "report/checklist.cklb",
        "{\n          \"group_id\": \"V-2\"",
        "\"finding_details\": \"\"\n        }",
        "SV-2r1_rule",
    ),
    json(
        "report/inspec.json",
        "{\"id\": \"SV-2\"",
        "\"start_time\": \"2026-11-20T10:00:02+00:00\"}]}",
        "SV-2",
    ),
    json("report/kube-bench.json", "{\"test_number\": \"1.1.2\"", "\"scored\": true}", "1.1.2"),
    text(
        "report/wazuh-sca-alerts.json",
        "{\"timestamp\": \"2026-11-20T10:00:00.000+0000\"",
        "}}}}}\n",
        "28500",
    ),
    text("report/hardeningkitty.csv", "\"1.1.4\"", "\"Medium\"\n", "Minimum password length"),
    text(
        "report/pingcastle.xml",
        "<HealthcheckRiskRule><Points>50",
        "</HealthcheckRiskRule>",
        "P-AdminLogin",
    ),
    text(
        "report/xccdf.xml",
        "<cdf:rule-result idref=\"xccdf_org.example_rule_lock\" severity=\"high\"><cdf:result>fail",
        "</cdf:rule-result>",
        "",
    ),
    text("report/checklist.ckl", "<VULN>", "</VULN>", "SV-1r1_rule"),
    // A host has a dozen checks.
    Repeated {
        n_ids: 3_000,
        n_results: 13,
        ..text("nmap/network.xml", "<host starttime=\"1795160010\"", "</host>", "192.0.2.1")
    },
    text("nmap/masscan.xml", "<host endtime=", "</host>", ""),
    text(
        "vulnerability/network.nessus",
        "<ReportItem port=\"445\"",
        "</ReportItem>",
        "CVE-2026-1001",
    ),
    text("vulnerability/nessus.csv", "\"100002\"", "\"6.5\"\n", "100002"),
    text("vulnerability/openvas.xml", "<result id=\"1\">", "</result>", "CVE-2026-2001"),
    text("vulnerability/openvas.csv", "192.0.2.20,web-1.acme.example,22", "Z\n", "25623.1.0.2"),
    text(
        "vulnerability/qualys.xml",
        "<VULN_INFO><QID id=\"qid_2\">2</QID><TYPE>Practice",
        "</VULN_INFO>",
        "",
    ),
    json(
        "vulnerability/trivy.json",
        "{\"VulnerabilityID\": \"CVE-2026-4001\", \"PkgName\": \"libssl3\"",
        "\"https://acme.example\"]}",
        "CVE-2026-4001",
    ),
    json(
        "vulnerability/grype.json",
        "{\"vulnerability\": {\"id\": \"CVE-2026-5003\"",
        "\"type\": \"binary\"}}",
        "CVE-2026-5003",
    ),
    json(
        "vulnerability/defender.json",
        "{\"id\": \"m1-_-CVE-2026-6001\"",
        "\"Critical\"}",
        "CVE-2026-6001",
    ),
];

pub(super) fn bench(bench: &mut Bench) {
    Report::section("Import of large files (command line and server, to the commit)");
    for it in ALL {
        let folder = Folder::new();
        let server = folder.serve();
        let client = folder.client("Acme");
        let n_bytes = write(&folder, it);
        let import =
            ["import", "--client", &client, "--observed-at", "now", "--source", "a", "large"];
        let micros = micros(|| assert!(folder.ok(&import).contains("imported as"), "{}", it.file));
        let at_most = memory_kib(server.id(), "VmHWM");
        assert!(server.stop().success());
        let rate = n_bytes as u64 * 1_000_000 / micros / MIB as u64;
        let value = format!(
            "{} MiB in {}, {rate} MiB/s, at most {} MiB of memory",
            n_bytes / MIB,
            time(micros),
            at_most / 1024
        );
        let goal = format!("< {} MiB", MEMORY_KIB_MAX / 1024);
        bench.report.goal(it.file, value, &goal, at_most < MEMORY_KIB_MAX);
    }
}

/// Writes the file, and returns its size.
fn write(folder: &Folder, it: &Repeated) -> usize {
    let sample = String::from_utf8(own(it.file)).unwrap();
    let begin = sample.find(it.from).unwrap_or_else(|| panic!("{}: {}", it.file, it.from));
    let length = sample[begin..].find(it.to).unwrap_or_else(|| panic!("{}: {}", it.file, it.to));
    let end = begin + length + it.to.len();
    let record = &sample[begin..end];
    let mut file = BufWriter::new(File::create(folder.path().join("large")).unwrap());
    file.write_all(sample[..begin].as_bytes()).unwrap();
    let mut n_bytes = sample.len();
    for n in 0..N_RESULTS / it.n_results {
        let record = match it.id {
            "" => record.to_owned(),
            id => record.replace(id, &format!("{id}{}", n % it.n_ids)),
        };
        let between = if n == 0 { "" } else { it.between };
        n_bytes += between.len() + record.len();
        if FILE_BYTES < n_bytes {
            break;
        }
        write!(file, "{between}{record}").unwrap();
    }
    file.write_all(sample[end..].as_bytes()).unwrap();
    file.flush().unwrap();
    n_bytes
}
