//! AWS's security finding format: whose checks its findings are, what they mean, and in what they are wrapped.

use std::io::BufReader;

use posture_core::clock::Time;
use posture_core::engine::fact::{Observation, Subject};
use posture_core::engine::severity::Severity;
use posture_core::import::fold::Folded;
use posture_core::import::{self, Check, CheckOutcome, Format, RECORD_BYTES_MAX, Record};

use super::{MANUAL, folded, folded_from, records, refusal, skipped};
use crate::harness::sample::own;

/// A finding of a control. `members` replace or add to the usual ones, and end in a comma.
fn finding(members: &str) -> String {
    let usual = [
        ("GeneratorId", r#""security-control/IAM.5""#),
        ("AwsAccountId", r#""111122223333""#),
        ("Title", r#""MFA is on""#),
        ("Severity", r#"{"Label": "HIGH"}"#),
        ("Compliance", r#"{"Status": "FAILED", "SecurityControlId": "IAM.5"}"#),
        ("Resources", r#"[{"Type": "AwsIamUser", "Id": "arn:aws:iam::111122223333:user/a"}]"#),
        ("UpdatedAt", r#""2026-11-20T09:45:37Z""#),
    ];
    let is_given = |name: &str| members.contains(&format!("\"{name}\":"));
    let rest = usual.iter().filter(|it| !is_given(it.0));
    let rest: Vec<String> = rest.map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!(r#"{{{members} "SchemaVersion": "2018-10-08", {}}}"#, rest.join(", "))
}

pub(super) fn file(findings: &[&str]) -> String {
    let all: Vec<String> = findings.iter().map(|it| finding(it)).collect();
    format!("[{}]", all.join(",\n"))
}

/// The only check of a finding.
fn told(members: &str) -> Check {
    let file = file(&[members]);
    let all = records(Format::Asff, &mut file.as_bytes()).unwrap();
    let Some(Record::Check(check)) = all.into_iter().next_back() else { panic!("{members}") };
    check
}

fn reason(members: &str) -> String {
    let run = folded(Format::Asff, file(&[members]).as_bytes()).unwrap();
    assert!(run.observations.is_empty(), "{members}");
    skipped(&run)[0].0.to_owned()
}

#[test]
fn a_finding_of_security_hub_is_a_check_of_its_control() {
    let members = r#""Description": "This control checks.", "LastObservedAt": "2026-11-19T00:00:00Z",
        "Remediation": {"Recommendation": {"Text": "See", "Url": "https://example.com/IAM.5"}},
        "Compliance": {"Status": "FAILED", "SecurityControlId": "IAM.5",
            "StatusReasons": [{"ReasonCode": "X", "Description": "No MFA."}]},"#;
    let it = told(members);
    assert_eq!((it.tool, it.check.as_str()), (Some("securityhub"), "IAM.5"));
    assert_eq!((it.scope.as_str(), it.outcome), ("aws/111122223333", CheckOutcome::Fail));
    assert_eq!((it.title.as_str(), it.severity), ("MFA is on", Severity::High));
    assert_eq!(it.detail.as_deref(), Some("No MFA."));
    assert_eq!(it.remediation.as_deref(), Some("See https://example.com/IAM.5"));
    assert_eq!(it.observed_at, Some("2026-11-19T00:00:00Z".parse::<Time>().unwrap()));
    assert_eq!(it.subject.id, "arn:aws:iam::111122223333:user/a");
    assert_eq!(it.subject.name, "a");

    let check = |members: &str| told(members).check;
    let no_control = r#""Compliance": {"Status": "PASSED"},"#;
    let of_standard = r#""GeneratorId": "pci-dss/v/3.2.1/PCI.IAM.1", "ProductFields": {"ControlId": "PCI.IAM.1"},"#;
    assert_eq!(check(&(no_control.to_owned() + of_standard)), "PCI.IAM.1");
    let numbered = r#""GeneratorId": "cis-aws-foundations-benchmark/v/1.4.0/1.1", "ProductFields": {"ControlId": "1.1"},"#;
    assert_eq!(
        check(&(no_control.to_owned() + numbered)),
        "cis-aws-foundations-benchmark/v/1.4.0/1.1"
    );
    let old = r#""GeneratorId": "arn:aws:securityhub:::ruleset/cis-aws-foundations-benchmark/v/1.2.0/rule/1.1","#;
    assert_eq!(
        check(&(no_control.to_owned() + old)),
        "cis-aws-foundations-benchmark/v/1.2.0/rule/1.1"
    );
}

#[test]
fn a_status_of_security_hub_is_a_result_or_a_reason() {
    let status = |word: &str, more: &str| {
        format!(r#""Compliance": {{"Status": "{word}", "SecurityControlId": "IAM.5"}}, {more}"#)
    };
    let suppressed = r#""Workflow": {"Status": "SUPPRESSED"},"#;
    for (word, more, outcome) in [
        ("PASSED", "", CheckOutcome::Pass),
        ("FAILED", "", CheckOutcome::Fail),
        ("FAILED", suppressed, CheckOutcome::Accepted),
        ("PASSED", suppressed, CheckOutcome::Pass),
        ("FAILED", r#""Workflow": {"Status": "RESOLVED"},"#, CheckOutcome::Fail),
        ("FAILED", r#""RecordState": "ACTIVE","#, CheckOutcome::Fail),
    ] {
        assert_eq!(told(&status(word, more)).outcome, outcome, "{word} {more}");
    }
    for (members, words) in [
        (status("WARNING", ""), "status WARNING: the tool could not check it"),
        (status("NOT_AVAILABLE", ""), "status NOT_AVAILABLE: the tool could not check it"),
        (status("SURE", ""), "status SURE: not a result"),
        (status("", ""), "missing status"),
        (
            r#""Compliance": {"Status": "PASSED", "StatusReasons": [{"ReasonCode": "CONFIG_EVALUATIONS_EMPTY"}]},"#.to_owned(),
            "status PASSED: nothing was evaluated",
        ),
        (r#""Compliance": null,"#.to_owned(), "not a check: it has no Compliance"),
        (status("FAILED", r#""RecordState": "ARCHIVED","#), "archived: it is no longer the current state"),
        (r#""AwsAccountId": null,"#.to_owned(), "missing account id"),
        (r#""Resources": "none","#.to_owned(), "not a finding"),
    ] {
        assert_eq!(reason(&members), words);
    }
    let other = folded(Format::Asff, br#"[{"a": 1}, 7, {"GeneratorId": 1"#.as_slice());
    assert!(other.is_err(), "it is cut off");
    let other = folded(Format::Asff, br#"[{"a": 1}, 7, nothing]"#).unwrap();
    assert_eq!(skipped(&other), [("invalid JSON", 1), ("not a finding", 2)]);
}

#[test]
fn a_status_of_prowler_is_what_it_was_before_it_was_translated() {
    let prowler = |word: &str, more: &str| {
        format!(
            r#""GeneratorId": "prowler-iam_mfa", "Description": "User a has no MFA.", "Compliance": {{"Status": "{word}"}}, {more}"#
        )
    };
    let it = told(&prowler("FAILED", ""));
    assert_eq!((it.tool, it.check.as_str()), (Some("prowler"), "iam_mfa"));
    assert_eq!(it.detail.as_deref(), Some("User a has no MFA."));
    assert_eq!(it.outcome, CheckOutcome::Fail);
    assert_eq!(told(&prowler("PASSED", "")).outcome, CheckOutcome::Pass);
    assert_eq!(told(&prowler("WARNING", "")).outcome, CheckOutcome::Accepted, "it is muted");
    let suppressed = prowler("FAILED", r#""Workflow": {"Status": "SUPPRESSED"},"#);
    assert_eq!(told(&suppressed).outcome, CheckOutcome::Accepted);
    assert_eq!(reason(&prowler("NOT_AVAILABLE", "")), MANUAL);
    assert_eq!(reason(&prowler("INFOED", "")), "status INFOED: not a result");
    let archived = prowler("FAILED", r#""RecordState": "ARCHIVED","#);
    assert_eq!(reason(&archived), "archived: it is no longer the current state");
}

#[test]
fn one_check_of_two_tools_is_two_observations() {
    let same = r#""GeneratorId": "x", "Compliance": {"Status": "FAILED"},"#;
    let of_prowler = r#""GeneratorId": "prowler-x", "Compliance": {"Status": "PASSED"},"#;
    let run = folded(Format::Asff, file(&[same, of_prowler, same]).as_bytes()).unwrap();
    let tools: Vec<&Subject> = run.observations.iter().map(|it| &it.subject).collect();
    let named = |tool: &str| Subject::Check { tool: tool.to_owned() };
    assert_eq!(tools, [&named("prowler"), &named("securityhub")]);
    assert_eq!(super::counts(&run.observations[0]), (1, 0, 0));
    assert_eq!(super::counts(&run.observations[1]), (0, 1, 0));
}

#[test]
fn findings_may_be_wrapped() {
    let [a, b] = ["arn:aws:s3:::a", "arn:aws:s3:::b"]
        .map(|id| finding(&format!(r#""Resources": [{{"Id": "{id}"}}],"#)));
    let plain = folded(Format::Asff, format!("[{a}, {b}]").as_bytes()).unwrap();
    assert_eq!(super::total(&plain), (0, 2, 0));
    for wrapped in [
        format!(r#"{{"Findings": [{a}, {b}]}}"#),
        format!("\u{feff} {{ \n\"findings\"\t: [ {a},{b} ]\r\n}}\n"),
        format!(r#"{{"Findings":[{a},{b}],"NextToken":"x]}}"}}"#),
        format!(r#"{{"Findings": [{a}], "NextToken": null}} {{"Findings": [{b}]}}"#),
        format!(r#"{{"Findings": []}} {a} {{"Findings": [{b}]}}"#),
        format!("{a}\n{b}\n"),
    ] {
        assert_eq!(import::detect(wrapped.as_bytes()), Some(Format::Asff), "{wrapped}");
        for capacity in [1, 7, 1 << 20] {
            let mut input = BufReader::with_capacity(capacity, wrapped.as_bytes());
            let run = folded_from(Format::Asff, &mut input).unwrap();
            assert_eq!(run.observations, plain.observations, "{wrapped}");
        }
        if wrapped.matches("indings").count() == 1 {
            let whole = wrapped.trim_end().as_bytes();
            for end in 0..whole.len() {
                assert!(folded(Format::Asff, &whole[..end]).is_err(), "{wrapped} up to {end}");
            }
        }
    }
    for empty in [r#"{"Findings": []}"#, "[]", r#"{"findings":[ ] , "NextToken": ""}"#] {
        assert_eq!(folded(Format::Asff, empty.as_bytes()).unwrap().n_records, 0, "{empty}");
    }
}

#[test]
fn a_wrapper_that_is_broken_is_refused() {
    let it = finding("");
    for broken in [
        format!(r#"{{"Findings": [{it}] "NextToken": 1}}"#),
        format!(r#"{{"Findings": [{it}], }}"#),
        format!(r#"{{"Findings": [{it}]]"#),
        format!(r#"{{"Findings": [{it}]}} }}"#),
        format!(r#"{{"Findings": [{it}]}}, {it}"#),
    ] {
        let message = refusal(Format::Asff, broken.as_bytes());
        assert!(message.starts_with("invalid JSON at byte"), "{broken}: {message}");
    }
    let long = format!(r#"{{"Findings": [{it}], "x": "{}"}}"#, "y".repeat(RECORD_BYTES_MAX));
    assert!(refusal(Format::Asff, long.as_bytes()).starts_with("invalid JSON at byte"));
    // An object that wraps something else is a record.
    for other in
        [r#"{"Findings": {}}"#, r#"{"Findingz": [1]}"#, "{}", r#"{"a b": "{\"Findings\":["}"#]
    {
        let run = folded(Format::Asff, other.as_bytes()).unwrap();
        assert_eq!((run.n_records, skipped(&run)), (1, vec![("not a finding", 1)]), "{other}");
    }
    // Neither spaces nor a long name may be kept or looked at again and again.
    let spaces = format!("{{{}\"Findings\": [{it}]}}", " ".repeat(16 << 20));
    assert_eq!(folded(Format::Asff, spaces.as_bytes()).unwrap().n_records, 1);
}

/// What must be the same in all files of one run. A name and a remediation are cut or missing in this format.
fn facts(run: &Folded) -> Vec<Observation> {
    let fact = |it: &Observation| {
        let mut fact = it.clone();
        fact.observed_at = Time::from_s(it.observed_at.s());
        (fact.findings, fact.remediation) = (None, None);
        fact.memory.names.clear();
        fact
    };
    run.observations.iter().map(fact).collect()
}

#[test]
fn the_asff_and_the_ocsf_of_one_run_agree() {
    let asff = folded(Format::Asff, &own("asff/prowler.json")).unwrap();
    let ocsf = folded(Format::ProwlerOcsf, &own("prowler/aws.ocsf.json")).unwrap();
    let [of_asff, of_ocsf] = [facts(&asff), facts(&ocsf)];
    assert_eq!(of_asff.len(), of_ocsf.len());
    for (of_asff, of_ocsf) in of_asff.into_iter().zip(of_ocsf) {
        // The label of the source is the importer's choice.
        assert_eq!(Observation { source: of_ocsf.source.clone(), ..of_asff }, of_ocsf);
    }
    let assets = |it: &Folded| -> Vec<_> {
        let asset = |it: &posture_core::engine::asset::Seen| {
            (it.external_id.clone(), it.asset_type, it.category.clone())
        };
        it.assets.iter().map(asset).collect()
    };
    assert_eq!(assets(&asff), assets(&ocsf));
}
