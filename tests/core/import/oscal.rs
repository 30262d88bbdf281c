//! Assessment results in OSCAL: what counts for and against controls.

use posture_core::engine::severity::Severity;
use posture_core::import::{CheckOutcome, Format};

use super::report::check;
use super::{records, refusal};

#[test]
fn findings_in_oscal_are_about_parts_of_controls() {
    let it = check(Format::Oscal, "report/oscal.json", "ac-7_obj.a [nist-800-53:AC-7]");
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::High));
    assert_eq!(it.title, "Accounts are not locked");
    assert_eq!(it.detail.as_deref(), Some("Fifty wrong passwords in a row were taken."));
    let newest = "2026-11-13T09:00:00.000Z";
    assert_eq!(it.observed_at.unwrap().to_string(), newest, "that of its newest observation");
    let it = check(Format::Oscal, "report/oscal.json", "ac-2.3_smt.a [nist-800-53:AC-2(3)]");
    assert_eq!(it.outcome, CheckOutcome::Accepted, "a deviation was approved");
    assert_eq!(it.observed_at.unwrap().to_string(), "2026-11-20T10:00:00.000Z");
    let it = check(Format::Oscal, "report/oscal-scanner.json", "no_empty_passwords");
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::High));
}

#[test]
fn a_result_in_oscal_has_so_many_parts_and_no_more() {
    let file = |n: usize| {
        let one =
            r#"{"uuid": "u", "description": "r", "props": [{"name": "result", "value": "pass"}]}"#;
        let all = vec![one; n].join(",");
        format!(
            r#"{{"results": [{{"uuid": "x", "end": "2026-11-20T10:00:00Z", "observations": [{all}]}}]}}"#
        )
    };
    let most = records(Format::Oscal, &mut file(50_000).as_bytes()).unwrap();
    assert_eq!(most.len(), 50_000);
    let refused = refusal(Format::Oscal, file(50_001).as_bytes());
    assert!(refused.contains("more than 50000 parts of one result"), "{refused}");
}
