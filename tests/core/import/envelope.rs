//! Whole files: broken, doubled, wrapped, and one bad record among good ones.

use std::io::{self, BufReader, Read};

use posture_core::error::{Code, Error};
use posture_core::import::{self, Format, Record};
use proptest::prelude::*;

use super::table::table;
use super::{array, counts, finding, folded, folded_from, records, refusal, resource, skipped};

#[test]
fn one_bad_record_loses_only_itself() {
    let good = |name: &str| finding(&[("resources", &resource(name))]);
    let wrong = finding(&[("resources", r#""none""#)]);
    let no_check = finding(&[("metadata", r#"{"product": {"name": "Prowler"}}"#)]);
    let foreign = finding(&[("metadata", r#"{"product": {"name": "Other"}}"#)]);
    let other_class = finding(&[("class_uid", "2003")]);
    let unquoted = finding(&[("status", "New")]);
    let file = array(&[
        good("a"),
        unquoted,
        good("b"),
        wrong,
        String::from("17"),
        String::from(r#""}]""#),
        no_check,
        foreign,
        other_class,
        good("c"),
    ]);
    let run = folded(Format::ProwlerOcsf, &file).unwrap();

    assert_eq!(counts(&run.observations[0]), (0, 3, 0));
    assert_eq!(
        skipped(&run),
        [
            ("invalid JSON", 1),
            ("missing check id", 1),
            ("not a detection finding (class 2004)", 1),
            ("not a finding", 3),
            ("not produced by Prowler", 1),
        ]
    );
    assert_eq!(run.n_records, 10);
    let all = records(Format::ProwlerOcsf, &mut file.as_slice()).unwrap();
    assert!(matches!(all[1], Record::Skipped { at: 2, .. }), "{:?}", all[1]);
}

#[test]
fn objects_behind_each_other_are_read_like_an_array() {
    let findings = [
        finding(&[("resources", &resource("a"))]),
        finding(&[("resources", &resource("b"))]).replace(", ", ",\r\n"),
    ];
    let of_array = folded(Format::ProwlerOcsf, &array(&findings)).unwrap();
    for between in ["\n", "\r\n\r\n", ""] {
        let lines = findings.join(between) + "\n";
        assert_eq!(import::detect(lines.as_bytes()), Some(Format::ProwlerOcsf));
        let run = folded(Format::ProwlerOcsf, lines.as_bytes()).unwrap();
        assert_eq!(run.observations, of_array.observations);
    }
    let text = [findings[0].clone(), findings[1].clone()].join("\n") + "]";
    assert!(refusal(Format::ProwlerOcsf, text.as_bytes()).starts_with("invalid JSON"));
}

#[test]
fn version_3_has_a_json_of_its_own() {
    let finding = r#"{"AssessmentStartTime": "2023-04-25T23:49:42.744599", "FindingUniqueId": "f",
        "Provider": "aws", "CheckID": "c", "CheckTitle": "C", "Status": "FAIL", "Severity": "high",
        "StatusExtended": "d", "Remediation": {"Recommendation": {"Text": "r"}}, "AccountId": "1",
        "ServiceName": "iam", "ResourceId": "alice", "ResourceArn": "arn:aws:iam::1:user/alice"}"#;
    for file in [format!("[{finding}]"), format!("{finding}\n{finding}\n")] {
        assert_eq!(import::detect(file.as_bytes()), Some(Format::ProwlerJson));
        let all = records(Format::ProwlerJson, &mut file.as_bytes()).unwrap();
        let [Record::Asset(asset), Record::Check(check), ..] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!(asset.external_id, "arn:aws:iam::1:user/alice");
        assert_eq!(
            (check.subject.id.as_str(), check.subject.name.as_str()),
            (&*asset.external_id, "alice")
        );
        assert_eq!((check.detail.as_deref(), check.remediation.as_deref()), (Some("d"), Some("r")));
    }
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let file = array(&[finding(&[])]);
    let marked = [b"\xef\xbb\xbf".as_slice(), &file].concat();
    assert_eq!(import::detect(&marked), Some(Format::ProwlerOcsf));
    let run = folded(Format::ProwlerOcsf, &marked).unwrap();
    assert_eq!(run.observations, folded(Format::ProwlerOcsf, &file).unwrap().observations);
}

#[test]
fn two_runs_in_one_file_are_refused_with_what_to_do() {
    let run = String::from_utf8(array(&[finding(&[])])).unwrap();
    // What a second run with the same output name leaves behind.
    for file in [format!("{run}{}]", finding(&[])), format!("{run}\n{run}"), format!("{run},{run}")]
    {
        let message = refusal(Format::ProwlerOcsf, file.as_bytes());
        assert!(message.contains("more than one run"), "{message}");
        assert!(message.contains("-F"), "{message}");
        let begins = [run.len(), run.len() + 1].map(|it| format!("byte {it})"));
        assert!(begins.iter().any(|it| message.contains(it)), "{message}");
    }
    let twice = table(&[&[]]).repeat(2);
    let message = refusal(Format::ProwlerCsv, twice.as_bytes());
    assert!(message.contains("more than one run") && message.contains("row 2"), "{message}");
}

#[test]
fn an_empty_array_is_a_run_without_findings() {
    for file in ["[]", "[ \n ]\n", "\u{feff}[\r\n]"] {
        assert_eq!(import::detect(file.as_bytes()), Some(Format::ProwlerOcsf));
        let run = folded(Format::ProwlerOcsf, file.as_bytes()).unwrap();
        assert_eq!((run.n_records, run.observations.len()), (0, 0));
        assert_eq!((run.observed_from, run.observed_to), (None, None));
    }
}

#[test]
fn a_file_that_is_cut_off_is_refused_wherever_it_is_cut() {
    let hard = finding(&[("status_detail", r#""a \" }], { \\""#), ("message", "[[], {}]")]);
    let json = array(&[hard.clone(), hard.clone()]);
    let run = folded(Format::ProwlerOcsf, &json).unwrap();
    assert_eq!((run.n_records, skipped(&run).len()), (2, 0), "a list in place of a text is none");
    for end in 0..json.len() {
        let message = refusal(Format::ProwlerOcsf, &json[..end]);
        let at_byte = message.contains(&format!("truncated: it ends at byte {end} "));
        assert!(at_byte || end == 0, "{end}: {message}");
    }
    for end in 0..hard.len() {
        assert!(folded(Format::ProwlerOcsf, &hard.as_bytes()[..end]).is_err(), "{end}");
    }
    let rows = table(&[&[], &[]]);
    assert_eq!(folded(Format::ProwlerCsv, rows.as_bytes()).unwrap().n_records, 2);
    let ends: Vec<usize> = (0..rows.len())
        .filter(|end| folded(Format::ProwlerCsv, &rows.as_bytes()[..*end]).is_ok())
        .collect();
    let header = rows.find('\n').unwrap() + 1;
    let row = (rows.len() - header) / 2;
    assert_eq!(ends, [header, header + row], "only between rows, which no table can tell");
}

#[test]
fn a_file_in_a_wrapping_is_told_so() {
    for (file, word) in [
        (b"".as_slice(), "empty"),
        (b"  ", "only whitespace"),
        (b"\xff\xfe[\0]\0", "UTF-16"),
        (b"\x1f\x8b\x08\0\0", "decompress"),
        (b"PK\x03\x04", "decompress"),
        (b"hello", "does not start with [ or {"),
        (b"\"text\"", "does not start with [ or {"),
    ] {
        assert!(refusal(Format::ProwlerOcsf, file).contains(word), "{word}");
    }
    assert_eq!(import::detect(b""), None);
    assert_eq!(import::detect(b"hello; world"), None);
    assert_eq!(import::detect(b"<html>"), None);
    assert_eq!(import::detect(br#"{"a": 1}"#), None);
}

#[test]
fn a_failing_read_is_not_the_files_fault() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    for format in Format::ALL {
        let start: &[u8] = match format {
            Format::Nessus => b"<NessusClientData_v2>",
            Format::OpenVas => b"<report>",
            Format::Qualys => b"<ASSET_DATA_REPORT>",
            Format::Trivy
            | Format::Grype
            | Format::DefenderVulnerabilities
            | Format::WazuhVulnerabilities
            | Format::Scuba
            | Format::Maester
            | Format::SecureScore
            | Format::ZeroTrust
            | Format::StigChecklist3
            | Format::Oscal
            | Format::Inspec
            | Format::WazuhSca
            | Format::Powerpipe
            | Format::Sarif
            | Format::KubeBench => b"{\"a\": [",
            Format::PingCastle => b"<HealthcheckData>",
            Format::Xccdf => b"<Benchmark>",
            Format::StigChecklist => b"<CHECKLIST>",
            Format::Lynis => b"# Lynis Report\n",
            Format::ScoutSuite => b"scoutsuite_results =\n{",
            Format::ProwlerOcsf
            | Format::ProwlerCsv
            | Format::ProwlerJson
            | Format::Asff
            | Format::SecurityHubOcsf
            | Format::DefenderCloud
            | Format::HardeningKitty
            | Format::NessusCsv
            | Format::OpenVasCsv
            | Format::Nmap => b"[{;<nmaprun",
            Format::Masscan => b"#masscan\n",
            Format::Inventory => b"name,serial\n",
            Format::Leavers => b"email,last day\n",
        };
        let mut input = BufReader::new(start.chain(Broken));
        let error = folded_from(format, &mut input).unwrap_err();
        assert_eq!(error.code, Code::Unavailable, "{format}");
    }
}

#[test]
fn an_error_of_the_taker_ends_the_reading() {
    let file = array(&[finding(&[]), finding(&[])]);
    let mut n_taken = 0;
    let error = import::read(Format::ProwlerOcsf, &mut file.as_slice(), &mut |_| {
        n_taken += 1;
        Err(Error::conflict("enough"))
    });
    assert_eq!((error.unwrap_err().message(), n_taken), ("enough", 1));
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = import::detect(&bytes);
        for format in Format::ALL {
            let _ = folded(format, &bytes);
        }
    }

    #[test]
    fn a_changed_byte_never_makes_a_reader_panic(at in any::<prop::sample::Index>(), byte: u8) {
        let xml = super::nmap::report(&super::nmap::host("", ""));
        let files = [
            (Format::ProwlerOcsf, array(&[finding(&[]), finding(&[])])),
            (Format::ProwlerCsv, table(&[&[], &[]]).into_bytes()),
            (Format::Asff, super::asff::file(&["", ""]).into_bytes()),
            (Format::Nmap, xml.into_bytes()),
        ];
        for (format, mut file) in files {
            let at = at.index(file.len());
            file[at] = byte;
            let _ = folded(format, &file);
        }
    }
}
