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
#[derive(Clone, Copy)]
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
    /// A text in it that is made longer, if only so many records are taken. Zero: as many as there may be results.
    longer: &'static str,
    n_max: usize,
}

const fn json(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    id: &'static str,
) -> Repeated {
    Repeated { file, from, to, between: ",", id, n_ids: 40_000, n_results: 1, longer: "", n_max: 0 }
}

const fn text(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    id: &'static str,
) -> Repeated {
    Repeated { file, from, to, between: "", id, n_ids: 40_000, n_results: 1, longer: "", n_max: 0 }
}

/// Only so many of these are taken, and they are longer instead.
const fn few(it: Repeated, n_max: usize, longer: &'static str) -> Repeated {
    Repeated { longer, n_max, ..it }
}

/// Files of up to 200,000 of these are taken, or of their parts.
const fn bounded(it: Repeated, n_parts: usize) -> Repeated {
    Repeated { n_results: 5 * n_parts, ..it }
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
    few(
        json(
            "report/scuba.json",
            "{\"Control ID\": \"MS.AAD.3.1v1\"",
            "requirements.\"}",
            "MS.AAD.3.1v1",
        ),
        190,
        "meet(s) all",
    ),
    few(
        json("report/maester.json", "{\"Index\": 2,", "\"TestSkipped\": null}}", "CIS.M365.1.1.3"),
        9990,
        "global administrators",
    ),
    few(
        json(
            "report/securescore.json",
            "{\"controlCategory\": \"Apps\", \"controlName\": \"aad_pass",
            "\"on\": \"false\"}",
            "aad_password_protection",
        ),
        490,
        "Off.",
    ),
    few(
        json("report/zerotrust.json", "{\"TestId\": \"21804\"", "</ol>\"}", "21804"),
        9990,
        "Found weak",
    ),
    few(
        json(
            "report/scoutsuite.js",
            "\"iam-user-without-mfa\"",
            "\"iam.users.b\"]}",
            "iam-user-without-mfa",
        ),
        1990,
        "Enable MFA",
    ),
    few(
        json(
            "report/checklist.cklb",
            "{\n          \"group_id\": \"V-2\"",
            "\"finding_details\": \"\"\n        }",
            "SV-2r1_rule",
        ),
        1990,
        "The release must",
    ),
    few(
        json(
            "report/inspec.json",
            "{\"id\": \"SV-2\"",
            "\"start_time\": \"2026-11-20T10:00:02+00:00\"}]}",
            "SV-2",
        ),
        4990,
        "Idle sessions",
    ),
    json("report/kube-bench.json", "{\"test_number\": \"1.1.2\"", "\"scored\": true}", "1.1.2"),
    text(
        "report/wazuh-sca-alerts.json",
        "{\"timestamp\": \"2026-11-20T10:00:00.000+0000\"",
        "}}}}}\n",
        "28500",
    ),
    text("report/hardeningkitty.csv", "\"1.1.4\"", "\"Medium\"\n", "Minimum password length"),
    few(
        text(
            "report/pingcastle.xml",
            "<HealthcheckRiskRule><Points>50",
            "</HealthcheckRiskRule>",
            "P-AdminLogin",
        ),
        4980,
        "The native",
    ),
    bounded(
        text(
            "report/xccdf.xml",
            "<cdf:rule-result idref=\"xccdf_org.example_rule_lock\" severity=\"high\"><cdf:result>fail",
            "</cdf:rule-result>",
            "",
        ),
        1,
    ),
    few(
        json(
            "report/oscal.json",
            "{\n            \"uuid\": \"5d1f0f4e-0000-4000-8000-000000000012\"",
            "{\"state\": \"satisfied\"}}\n          }",
            "",
        ),
        49_900,
        "They are.",
    ),
    bounded(text("report/checklist.ckl", "<VULN>", "</VULN>", "SV-1r1_rule"), 1),
    // A host has a dozen checks.
    Repeated {
        n_ids: 3_000,
        n_results: 13,
        ..text("nmap/network.xml", "<host starttime=\"1795160010\"", "</host>", "192.0.2.1")
    },
    text("nmap/masscan.xml", "<host endtime=", "</host>", ""),
    bounded(
        text(
            "vulnerability/network.nessus",
            "<ReportItem port=\"445\"",
            "</ReportItem>",
            "CVE-2026-1001",
        ),
        2,
    ),
    bounded(text("vulnerability/nessus.csv", "\"100002\"", "\"6.5\"\n", "100002"), 1),
    bounded(
        text("vulnerability/openvas.xml", "<result id=\"1\">", "</result>", "CVE-2026-2001"),
        2,
    ),
    bounded(
        text("vulnerability/openvas.csv", "192.0.2.20,web-1.acme.example,22", "Z\n", "25623.1.0.2"),
        1,
    ),
    bounded(
        text(
            "vulnerability/qualys.xml",
            "<VULN_INFO><QID id=\"qid_2\">2</QID><TYPE>Practice",
            "</VULN_INFO>",
            "",
        ),
        1,
    ),
    bounded(
        json(
            "vulnerability/trivy.json",
            "{\"VulnerabilityID\": \"CVE-2026-4001\", \"PkgName\": \"libssl3\"",
            "\"https://acme.example\"]}",
            "CVE-2026-4001",
        ),
        1,
    ),
    bounded(
        json(
            "vulnerability/grype.json",
            "{\"vulnerability\": {\"id\": \"CVE-2026-5003\"",
            "\"type\": \"binary\"}}",
            "CVE-2026-5003",
        ),
        1,
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
        let mut done = None;
        let micros = micros(|| done = Some(folder.run(&import)));
        let done = done.unwrap();
        let at_most = memory_kib(server.id(), "VmHWM");
        assert!(server.stop().success());
        if done.code != 0 {
            // A report about one thing has bounds of its own.
            Report::note(it.file, done.err.trim());
            continue;
        }
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
    file.write_all(&sample.as_bytes()[..begin]).unwrap();
    let mut n_bytes = sample.len();
    let (n_records, padding) = match it.n_max {
        0 => (N_RESULTS / it.n_results, String::new()),
        n => (n, "x".repeat(FILE_BYTES / n - record.len() - 10)),
    };
    let record = match it.longer {
        "" => record.to_owned(),
        text => record.replacen(text, &format!("{padding} {text}"), 1),
    };
    for n in 0..n_records {
        let record = match it.id {
            "" => record.clone(),
            id => record.replace(id, &format!("{id}{}", n % it.n_ids)),
        };
        let between = if n == 0 { "" } else { it.between };
        n_bytes += between.len() + record.len();
        if FILE_BYTES < n_bytes {
            break;
        }
        write!(file, "{between}{record}").unwrap();
    }
    file.write_all(&sample.as_bytes()[end..]).unwrap();
    file.flush().unwrap();
    n_bytes
}
