//! Files of known tools: what they come to, and what becomes of broken ones.

use std::collections::BTreeMap;
use std::io::BufRead;

use posture_core::clock::Time;
use posture_core::engine::fact::{Observation, Verdict};
use posture_core::engine::severity::Severity;
use posture_core::error::{Code, Result};
use posture_core::id::ImportId;
use posture_core::import::fold::{Fold, Folded, ImportOrigin, Observed};
use posture_core::import::{self, Check, CheckOutcome, CheckSubject, Format, Record};

mod asff;
mod envelope;
mod fold;
mod inventory;
mod leavers;
mod needs_samples;
mod nmap;
mod oscal;
mod prowler;
mod refused {
    mod needs_samples;
}
mod report;
mod sample;
mod sample_own;
mod scap;
mod table;
mod text;
mod vulnerability;

const MANUAL: &str = "status MANUAL: needs a manual check";
const LOOPBACK: &str = "loopback address: its open ports are not exposed to a network";
const TENANT: &str = "m365/0d3bdcf4-9f1b-4b62-9d1c-6d2c0ef6a111";

/// 2026-12-01, later than every sample.
const NOW_S: i64 = 1_796_083_200;

fn origin(format: Format) -> ImportOrigin {
    ImportOrigin {
        tool: format.tool(),
        source: format.tool().to_owned(),
        import: ImportId::from_bytes([7; 16]),
        valid_until: None,
        observed: Observed::File { now: Time::from_s(NOW_S) },
    }
}

fn folded_from(format: Format, input: &mut dyn BufRead) -> Result<Folded> {
    let mut fold = Fold::new(origin(format));
    import::read(format, input, &mut |record| fold.add(record))?;
    Ok(fold.finish())
}

pub(crate) fn folded(format: Format, mut file: &[u8]) -> Result<Folded> {
    folded_from(format, &mut file)
}

fn records(format: Format, input: &mut dyn BufRead) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    import::read(format, input, &mut |record| {
        all.push(record);
        Ok(())
    })?;
    Ok(all)
}

/// The message with which a file is refused.
fn refusal(format: Format, file: &[u8]) -> String {
    let error = folded(format, file).expect_err("the file must be refused");
    assert_eq!(error.code, Code::Invalid);
    error.message().to_owned()
}

fn skipped(folded: &Folded) -> Vec<(&str, u32)> {
    folded.skipped.iter().map(|(reason, n)| (reason.as_str(), *n)).collect()
}

/// How many pass, fail, and fail but are muted.
fn counts(observation: &Observation) -> (u32, u32, u32) {
    let Verdict::Counted { passed, failed } = observation.verdict else {
        panic!("the importers count: {observation:?}")
    };
    (passed, failed - observation.accepted, observation.accepted)
}

fn total(folded: &Folded) -> (u32, u32, u32) {
    folded
        .observations
        .iter()
        .map(counts)
        .fold((0, 0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1, sum.2 + it.2))
}

/// A finding with the given members over the usual ones.
fn finding(changes: &[(&str, &str)]) -> String {
    let mut members = BTreeMap::from([
        ("metadata", r#"{"event_code": "iam_mfa", "product": {"name": "Prowler"}}"#),
        ("class_uid", "2004"),
        ("severity", r#""High""#),
        ("status", r#""New""#),
        ("status_code", r#""FAIL""#),
        ("status_detail", r#""User alice has no MFA.""#),
        ("finding_info", r#"{"title": "MFA is on"}"#),
        (
            "resources",
            r#"[{
                "uid": "arn:aws:iam::111122223333:user/alice",
                "name": "alice",
                "group": {"name": "iam"}
            }]"#,
        ),
        ("cloud", r#"{"provider": "aws", "account": {"uid": "111122223333"}}"#),
        ("time", "1795167937"),
    ]);
    members.extend(changes.iter().copied());
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

fn array(findings: &[String]) -> Vec<u8> {
    format!("[{}]", findings.join(",\n")).into_bytes()
}

fn resource(uid: &str) -> String {
    format!(r#"[{{"uid": "{uid}", "name": "{uid}"}}]"#)
}

/// The only record of one finding, or its check behind its asset.
fn told(changes: &[(&str, &str)]) -> Record {
    let file = array(&[finding(changes)]);
    let mut all = records(Format::ProwlerOcsf, &mut file.as_slice()).expect("a whole file");
    all.pop().expect("each finding is told or skipped")
}

fn told_check(changes: &[(&str, &str)]) -> Check {
    let told = told(changes);
    let Record::Check(check) = told else { panic!("no check: {told:?}") };
    check
}

fn told_reason(changes: &[(&str, &str)]) -> String {
    let told = told(changes);
    let Record::Skipped { at: 1, reason } = told else { panic!("not skipped: {told:?}") };
    reason
}

/// A check of one kind in one scope, for one subject.
fn check_of(name: &str, outcome: CheckOutcome) -> Check {
    Check {
        scope: "aws/1".to_owned(),
        tool: None,
        check: "c".to_owned(),
        outcome,
        severity: Severity::Low,
        title: "C".to_owned(),
        remediation: None,
        detail: None,
        subject: CheckSubject::of(name.to_owned(), name.to_owned()),
        observed_at: None,
    }
}
