//! Results of SCAP: rules, their references, and what they decide.

use posture_core::engine::severity::Severity;
use posture_core::import::{Check, CheckOutcome, Format, Record};

use super::{records, refusal};
use crate::harness::sample::own;

fn checks(format: Format, file: &[u8]) -> Vec<Check> {
    let all = records(format, &mut &*file).unwrap().into_iter();
    let check = |it| match it {
        Record::Check(check) => Some(check),
        Record::Asset(_)
        | Record::System(_)
        | Record::Vulnerability(_)
        | Record::Leaver(_)
        | Record::Skipped { .. }
        | Record::Silent { .. } => None,
    };
    all.filter_map(check).collect()
}

#[test]
fn a_rule_is_named_with_its_references_and_its_worst_result_counts() {
    let [audit, idle, lock] = &checks(Format::Xccdf, &own("report/xccdf.xml"))[..] else {
        panic!("three have a result")
    };
    assert_eq!(lock.check, "lock [nist-800-171:3.1.8 nist-800-53:AC-7]");
    assert_eq!((lock.outcome, lock.severity), (CheckOutcome::Fail, Severity::High));
    assert_eq!(lock.title, "Lock accounts after failed attempts & for 15 minutes");
    assert_eq!(lock.remediation.as_deref(), Some("Set deny = 5 in faillock.conf."));
    assert_eq!(lock.detail.as_deref(), Some("deny is 10"));
    assert_eq!(lock.observed_at.unwrap().to_string(), "2026-11-20T09:05:00.000Z");
    assert_eq!(idle.check, "idle [nist-800-53:AC-11]", "by its CCI");
    assert_eq!((idle.title.as_str(), idle.severity), ("Idle sessions end", Severity::Low));
    assert_eq!(audit.check, "audit [nist-800-53:AU-12]");
    assert_eq!(audit.outcome, CheckOutcome::Accepted, "a person replaced the result");
    let [accounts, release] = &checks(Format::StigChecklist, &own("report/checklist.ckl"))[..]
    else {
        panic!("two have a result")
    };
    assert_eq!(accounts.check, "SV-1r1_rule [nist-800-53:AC-7]");
    assert_eq!((accounts.outcome, accounts.severity), (CheckOutcome::Fail, Severity::Low));
    assert_eq!(accounts.remediation.as_deref(), Some("Set deny = 3."));
    assert_eq!((release.check.as_str(), release.outcome), ("SV-2r1_rule", CheckOutcome::Pass));
    assert_eq!(release.observed_at, None);
}

fn file(results: &str) -> String {
    format!(
        "<TestResult xmlns=\"http://checklists.nist.gov/xccdf/1.2\" end-time=\"2026-11-20T10:00:00\"><target>a</target>{results}</TestResult>"
    )
}

#[test]
fn references_are_read_as_the_catalog_knows_them() {
    let of = |element: &str| {
        let rule = format!("<Rule id=\"r\">{element}</Rule>");
        let result = "<rule-result idref=\"r\"><result>pass</result></rule-result>";
        let file = format!("<Benchmark>{rule}{}</Benchmark>", file(result));
        checks(Format::Xccdf, file.as_bytes()).remove(0).check
    };
    let nist = |text: &str| of(&format!("<reference href=\"x/sp800-53r4.pdf\">{text}</reference>"));
    for (text, key) in [
        ("AC-7(a)", "AC-7"),
        ("AC-7 (a)", "AC-7"),
        ("AC-7 a", "AC-7"),
        ("AC-2(7)(b)", "AC-2(7)"),
        ("AC-6 (1)", "AC-6(1)"),
        ("AU-12.1(iv)", "AU-12"),
        ("IA-5(1).1(v)", "IA-5(1)"),
    ] {
        assert_eq!(nist(text), format!("r [nist-800-53:{key}]"), "{text}");
    }
    assert_eq!(nist("AC-7, IA-2 (1)"), "r [nist-800-53:AC-7 nist-800-53:IA-2(1)]");
    for nothing in ["", "AC", "AC-", "ac-7", "AC-x", "AC-12345", "é-7", "ÄC-7"] {
        assert_eq!(nist(nothing), "r", "{nothing}");
    }
    let requirement =
        |text: &str| of(&format!("<reference href=\"NIST.SP.800-171.pdf\">{text}</reference>"));
    assert_eq!(requirement("3.1.8"), "r [nist-800-171:3.1.8]");
    for nothing in ["3.1", "4.1.8", "3.1.8.1", "3.x.8"] {
        assert_eq!(requirement(nothing), "r", "{nothing}");
    }
    assert_eq!(of("<ident system=\"x\">CCI-000044</ident>"), "r [nist-800-53:AC-7]");
    assert_eq!(of("<ident system=\"x\">CCI-999999</ident><ident>CCE-44</ident>"), "r");
}

#[test]
fn what_is_no_result_is_refused() {
    for (text, words) in [
        ("<Benchmark><Rule id=\"r\"/></Benchmark>", "has rules and no results"),
        (
            &file("<rule-result idref=\"r\"><result>notselected</result></rule-result>"),
            "no rule was selected",
        ),
        ("<html><body/></html>", "starts with neither a benchmark nor results"),
        (
            "<TestResult><rule-result idref=\"r\"><result>pass</result></rule-result></TestResult>",
            "which host",
        ),
        ("<TestResult><target>a</target>", "the file is truncated"),
        (
            "<!DOCTYPE x [<!ENTITY a \"ha\">]><TestResult><target>&a;</target></TestResult>",
            "its own entities",
        ),
        (&format!("<TestResult>{}", "<a>".repeat(100)), "nested too deeply"),
        (&format!("<TestResult><target>{}", "x".repeat(5 << 20)), "longer than 4 MiB"),
    ] {
        let message = refusal(Format::Xccdf, text.as_bytes());
        assert!(message.contains(words), "{words}: {message}");
    }
    let message = refusal(
        Format::StigChecklist,
        b"<CHECKLIST><STIGS><iSTIG><VULN><STATUS>Open</STATUS></VULN></iSTIG></STIGS></CHECKLIST>",
    );
    assert!(message.contains("which host"), "{message}");
}
