//! Reports about one tenant, domain or host: what becomes of their texts, and files that are wrong.

use posture_core::engine::severity::Severity;
use posture_core::import::{Check, CheckOutcome, Format, Record};

use super::{records, refusal};
use crate::harness::report::REPORTS;
use crate::harness::sample::own;

pub(super) fn check(format: Format, name: &str, id: &str) -> Check {
    let all = records(format, &mut own(name).as_slice()).unwrap();
    let mut checks = all.into_iter().filter_map(|it| match it {
        Record::Check(check) => Some(check),
        Record::Asset(_)
        | Record::System(_)
        | Record::Vulnerability(_)
        | Record::Leaver(_)
        | Record::Skipped { .. }
        | Record::Silent { .. } => None,
    });
    checks.rfind(|it| it.check == id).unwrap()
}

#[test]
fn texts_lose_their_markup_and_keep_what_they_say() {
    let it = check(Format::Scuba, "report/scuba.json", "MS.AAD.1.1v1");
    assert_eq!(it.title, "Legacy authentication SHALL be blocked.");
    let detail =
        "1 conditional access policy(s) found: Block legacy & basic. View all CA policies.";
    assert_eq!(it.detail.as_deref(), Some(detail));
    assert_eq!((it.subject.name.as_str(), it.severity), ("Acme Ltd", Severity::High));
    let recommended = check(Format::Scuba, "report/scuba.json", "MS.AAD.3.7v1");
    assert_eq!(recommended.severity, Severity::Medium);

    let it = check(Format::Maester, "report/maester.json", "CIS.M365.1.1.3");
    assert_eq!(it.title, "Between two and four global admins are designated");
    assert_eq!(it.detail.as_deref(), Some("There are 7 global administrators."));
    assert_eq!((it.remediation.as_deref(), it.severity), (Some("Remove some."), Severity::Low));
    assert_eq!(it.observed_at.unwrap().to_string(), "2026-11-20T10:29:02.460Z");

    let it = check(Format::SecureScore, "report/securescore.json", "BlockLegacyAuthentication");
    let detail = "50 % of the points. 1 of 2 users are not protected.";
    assert_eq!(it.detail.as_deref(), Some(detail));
    let it = check(Format::SecureScore, "report/securescore.json", "AdminMFAV2");
    assert_eq!((it.remediation.as_deref(), it.severity), (Some("Require MFA."), Severity::High));

    let it = check(Format::ZeroTrust, "report/zerotrust.json", "21808");
    assert_eq!(it.detail.as_deref(), Some("Device code flow is restricted."), "and no user");
    assert_eq!(it.remediation.as_deref(), Some("Block it (https://learn.example/block)"));
    let it = check(Format::ZeroTrust, "report/zerotrust.json", "21804");
    assert_eq!(it.detail.as_deref(), Some("Found weak authentication methods."));
    assert_eq!(it.remediation.as_deref(), Some("Open the Entra admin center."));
    let it = check(Format::ZeroTrust, "report/zerotrust.json", "21814");
    assert_eq!((it.detail, it.remediation, it.severity), (None, None, Severity::Medium));

    let ports =
        "bc303248-3d14-44c2-96a0-55f5c326b5fe [azure-score:52901099-235c-4971-b9d5-a33fca3a936e]";
    let it = check(Format::DefenderCloud, "report/defender-cloud.csv", ports);
    assert_eq!(it.title, "Management ports should be closed on your virtual machines");
    assert_eq!(it.remediation.as_deref(), Some("1. Open the port list.\n2. Close it."));
    assert_eq!((it.outcome, it.subject.name.as_str()), (CheckOutcome::Accepted, "web-3"));
    assert_eq!(it.observed_at.unwrap().to_string(), "2026-11-20T10:00:00.123Z");

    let it = check(Format::PingCastle, "report/pingcastle.xml", "A-MinPwdLen");
    let detail = "Policy where the password length is less than 8 & \"weak\"";
    assert_eq!((it.detail.as_deref(), it.severity), (Some(detail), Severity::High));

    let all = records(Format::Lynis, &mut own("report/lynis.dat").as_slice()).unwrap();
    let Some(Record::Asset(host)) = all.first() else { panic!("no host") };
    let seen = [&host.hostname, &host.ip, &host.mac].map(Option::as_deref);
    assert_eq!(seen, [Some("web-1"), Some("192.0.2.2"), Some("00:1b:2c:00:00:09")]);
}

#[test]
fn texts_of_baselines_say_what_was_found_and_what_to_do() {
    let it = check(Format::ScoutSuite, "report/scoutsuite.js", "iam-user-without-mfa");
    assert_eq!(it.detail.as_deref(), Some("2 of 9 items that were checked are flagged."));
    assert_eq!((it.severity, it.title.as_str()), (Severity::High, "User without MFA"));
    assert_eq!(it.subject.name, "Amazon Web Services 123456789012");
    assert_eq!(it.observed_at.unwrap().to_string(), "2026-11-20T10:00:00.000Z");

    let it = check(Format::KubeBench, "report/kube-bench.json", "1.1.1 [cis-kubernetes]");
    assert_eq!(it.detail.as_deref(), Some("permissions=644"));
    assert_eq!((it.remediation.as_deref(), it.observed_at), (Some("Run chmod 600."), None));

    let locks = "15503 [cis_win11_enterprise cis_win11_enterprise:15503]";
    let it = check(Format::WazuhSca, "report/wazuh-sca.json", locks);
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::Medium));
    assert_eq!(
        (it.detail.as_deref(), it.remediation.as_deref()),
        (Some("It is 0."), Some("Set it to 5."))
    );
    assert_eq!(
        (it.scope.as_str(), it.subject.id.as_str()),
        ("host/lap-1/cis_win11_enterprise", "lap-1")
    );
    let newest = "28500 [cis_ubuntu22-04 cis_ubuntu22-04:28500]";
    let it = check(Format::WazuhSca, "report/wazuh-sca-alerts.json", newest);
    assert_eq!(it.outcome, CheckOutcome::Pass, "the newest alert counts");

    let it = check(Format::Inspec, "report/inspec.json", "SV-1 [nist-800-53:AC-7]");
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::High));
    assert_eq!(it.detail.as_deref(), Some("deny is expected to eq 3 expected: 3, got: 10"));
    assert_eq!(it.observed_at.unwrap().to_string(), "2026-11-20T10:00:03.000Z");
    let it = check(Format::Inspec, "report/inspec.json", "SV-4");
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::Critical));

    let it =
        check(Format::StigChecklist3, "report/checklist.cklb", "SV-1r1_rule [nist-800-53:AC-7]");
    assert_eq!((it.outcome, it.severity), (CheckOutcome::Fail, Severity::Low));
    assert_eq!(
        (it.detail.as_deref(), it.remediation.as_deref()),
        (Some("deny is 10"), Some("Set deny = 3."))
    );
}

#[test]
fn a_file_that_is_wrong_is_refused_with_what_is_wrong() {
    let deep = "[".repeat(200);
    let long = format!("{{\"MetaData\": {{\"Tool\": \"{}\"}}}}", "x".repeat(5 << 20));
    for (format, name) in REPORTS {
        let good = own(name);
        let mut utf_16 = vec![0xff, 0xfe];
        utf_16.extend(good.iter().flat_map(|it| [*it, 0]));
        for (file, words) in [
            (&b""[..], "the file is empty"),
            (&utf_16, "UTF-16"),
            (&[0x1f, 0x8b, 8, 0][..], "compressed"),
        ] {
            assert!(refusal(format, file).contains(words), "{name}: {words}");
        }
        let marked = [b"\xef\xbb\xbf", good.as_slice()].concat();
        assert_eq!(
            records(format, &mut marked.as_slice()).unwrap(),
            records(format, &mut good.as_slice()).unwrap(),
            "{name}"
        );
        for (other, other_name) in REPORTS.into_iter().filter(|it| it.0 != format) {
            let message = refusal(format, &own(other_name));
            assert!(!message.is_empty(), "{name} as {other}");
        }
    }
    for format in [
        Format::Scuba,
        Format::Maester,
        Format::SecureScore,
        Format::ZeroTrust,
        Format::StigChecklist3,
        Format::Inspec,
    ] {
        let nested = format!("{{\"x\": {deep}");
        assert!(refusal(format, nested.as_bytes()).contains("nested too deeply"), "{format}");
        assert!(refusal(format, long.as_bytes()).contains("longer than 4 MiB"), "{format}");
        let twice = [own("report/scuba.json"), own("report/scuba.json")].concat();
        assert!(refusal(format, &twice).starts_with("invalid JSON"), "{format}");
    }
    let bytes = b"{\"MetaData\": {\"Tool\": \"\xff\xfe\"}}";
    assert!(refusal(Format::Scuba, bytes).starts_with("invalid JSON"));
    let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]><HealthcheckData><DomainFQDN>&b;</DomainFQDN></HealthcheckData>";
    assert!(refusal(Format::PingCastle, laughs.as_bytes()).contains("its own entities"));
    let deep = format!("<HealthcheckData>{}", "<a>".repeat(100));
    assert!(refusal(Format::PingCastle, deep.as_bytes()).contains("nested too deeply"));
    let long = format!("<HealthcheckData><DomainFQDN>{}", "x".repeat(5 << 20));
    assert!(refusal(Format::PingCastle, long.as_bytes()).contains("longer than 4 MiB"));
    let long = format!("hostname={}", "x".repeat(5 << 20));
    assert!(refusal(Format::Lynis, long.as_bytes()).contains("longer than 4 MiB"));
}

/// Files that are whole and say too little, with the words that say so.
const REFUSED: &[(Format, &str, &str)] = &[
    (
        Format::Maester,
        r#"{"Tenants": [{"TenantId": "a", "PassedCount": 1}]}"#,
        "several tenants are merged",
    ),
    (Format::Maester, r#"{"TenantId": "a"}"#, "it has no list of tests"),
    (Format::Maester, r#"{"TenantId": "a", "Tests": []}"#, "does not name its tenant"),
    (Format::ZeroTrust, r#"{"TenantId": "a"}"#, "it has no list of tests"),
    (Format::ZeroTrust, r#"{"TenantId": "a", "Tests": []}"#, "does not name its tenant"),
    (
        Format::ZeroTrust,
        r#"{"TenantId": "a", "IsDemo": "true", "Tests": []}"#,
        "the report is a demonstration",
    ),
    (
        Format::ScoutSuite,
        "{\"services\": {}}",
        "does not start with scoutsuite_results; import scoutsuite_results_*.js",
    ),
    (Format::ScoutSuite, "scoutsuite_results =\n{}", "it has no services"),
    (Format::ScoutSuite, "scoutsuite_results =\n{\"services\": {}}", "it has no provider_code"),
    (
        Format::ScoutSuite,
        "scoutsuite_results =\n{\"services\": {}, \"provider_code\": \"aws\"}",
        "missing id",
    ),
    (Format::StigChecklist3, r#"{"target_data": {"host_name": "a"}}"#, "it has no stigs"),
    (
        Format::StigChecklist3,
        r#"{"stigs": [{"stig_id": "a", "rules": [{"rule_id": "b", "status": "open"}]}]}"#,
        "it is not known which host the results are about",
    ),
    (Format::Inspec, r#"{"platform": {"name": "ubuntu"}}"#, "it has no profiles"),
    (
        Format::Inspec,
        r#"{"platform": {"name": "aws"}, "profiles": []}"#,
        "not about a host, but of the platform aws",
    ),
    (Format::Inspec, r#"{"platform": {"name": "ubuntu"}, "profiles": []}"#, "with --target-id"),
    (Format::WazuhSca, "{}", "not a list of results of the configuration assessment"),
    (
        Format::WazuhSca,
        r#"{"data": {"affected_items": [{"id": 1, "policy_id": "p", "result": "passed"}], "total_affected_items": 1}}"#,
        "does not name its agent; add agent_name to each item",
    ),
    (
        Format::WazuhSca,
        r#"{"data": {"affected_items": [{"agent_name": "a", "id": 1, "policy_id": "p", "result": "passed"}], "total_affected_items": 2}}"#,
        "the file has 1 of 2 results",
    ),
    (Format::KubeBench, r#"{"Controls": []}"#, "it has no tests"),
    (Format::Oscal, r#"{"assessment-results": {"uuid": "x"}}"#, "have no result"),
    (
        Format::Oscal,
        r#"{"results": [{"uuid": "x", "observations": [{"uuid": "y", "description": "z"}]}]}"#,
        "nothing in them was decided",
    ),
    (
        Format::Oscal,
        r#"{"results": [{"findings": [{"props": [{"ns": "urn:posture:oscal"}]}]}]}"#,
        "this service made the file from what it knows",
    ),
    (Format::DefenderCloud, "subscriptionId,state\n", "the header has no column resourceId"),
    (
        Format::DefenderCloud,
        "subscriptionId,resourceId,recommendationName,state\nsubscriptionId,resourceId,recommendationName,state\n",
        "more than one table (row 1 repeats the header)",
    ),
    (Format::SecureScore, r#"[{"azureTenantId": "a"}]"#, "expected an object"),
    (
        Format::SecureScore,
        r#"{"value": [{"controlScores": [{"controlName": "x"}]}, {"controlScores": [{"controlName": "x"}]}]}"#,
        "not all of them have a createdDateTime",
    ),
    (
        Format::Lynis,
        "report_version_major=1\nfinish=true\nreport_version_major=1\n",
        "the reports of several runs",
    ),
    (
        Format::SecureScore,
        r#"{"value": [{"azureTenantId": "a", "controlScores": [{"controlName": "x"}]}, {"azureTenantId": "b", "controlScores": [{"controlName": "x"}]}]}"#,
        "the scores of several tenants",
    ),
    (
        Format::SecureScore,
        r#"{"value": [{"id": "AdminMFAV2", "title": "x"}]}"#,
        "not the control profiles alone",
    ),
    (Format::Scuba, r#"{"MetaData": {"Tool": "Other"}}"#, "MetaData does not name the tool"),
    (
        Format::Scuba,
        r#"{"MetaData": {"Tool": "ScubaGear"}}"#,
        "it is not known what the report is about: missing id",
    ),
    (Format::Lynis, "hostname=a\ntests_executed=A-1|\n", "Lynis writes `finish=true` at its end"),
    (Format::Lynis, "tests_executed=A-1|\nfinish=true\n", "missing id"),
];

#[test]
fn files_of_several_tenants_or_without_results_are_refused_with_what_to_do() {
    for (format, file, words) in REFUSED {
        let message = refusal(*format, file.as_bytes());
        assert!(message.contains(words), "{message}");
    }
}

/// What a file passes, and why it skips the rest.
fn passes(format: Format, file: &str) -> (Vec<String>, Vec<String>) {
    let (mut passed, mut skipped) = (Vec::new(), Vec::new());
    for it in records(format, &mut file.as_bytes()).unwrap() {
        match it {
            Record::Check(it) if it.outcome == CheckOutcome::Pass => passed.push(it.check),
            Record::Skipped { reason, .. } => skipped.push(reason),
            Record::Check(_)
            | Record::Asset(_)
            | Record::System(_)
            | Record::Vulnerability(_)
            | Record::Leaver(_)
            | Record::Silent { .. } => (),
        }
    }
    (passed, skipped)
}

const TENANT: &str = "5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11";

#[test]
fn what_nobody_saw_does_not_pass() {
    for details in ["This policy is not applicable to GCC.", "<b>N/A</b>: unavailable in GCC"] {
        let file = format!(
            r#"{{"MetaData": {{"Tool": "ScubaGear", "TenantId": "{TENANT}"}}, "Results": {{"Teams": [{{"Controls": [
            {{"Control ID": "MS.TEAMS.4.1v1", "Result": "Pass", "Details": "{details}"}}]}}]}}}}"#
        );
        let expected = (vec![], vec!["result Pass: does not apply".to_owned()]);
        assert_eq!(passes(Format::Scuba, &file), expected);
    }
    for other in ["NotRun", "Error", "Skipped", "Investigate"] {
        let file = format!(
            r#"{{"TenantId": "{TENANT}", "Tests": [{{"Id": "MT.1033", "Result": "Passed"}}, {{"Id": "MT.1033", "Result": "{other}"}},
            {{"Id": "MT.1", "Result": "Passed"}}]}}"#
        );
        assert_eq!(passes(Format::Maester, &file).0, ["MT.1"], "{other}");
    }
    let lynis = "report_version_major=1\nhostname=a\nexception_event[]=AUTH-9328:01|no umask|\n\
                 tests_executed=AUTH-9328|AUTH-9262|\nfinish=true\n";
    assert_eq!(passes(Format::Lynis, lynis).0, ["AUTH-9262"]);
}

#[test]
fn full_points_for_what_somebody_said_do_not_pass() {
    let score = |more: &str, state: &str| {
        format!(
            r#"{{"secureScore": {{"value": [{{"azureTenantId": "{TENANT}", "controlScores": [{{"controlName": "x", "scoreInPercentage": 100{more}}}]}}]}},
            "profiles": {{"value": [{{"id": "x", "controlStateUpdates": [{{"state": "{state}"}}]}}]}}}}"#
        )
    };
    assert_eq!(passes(Format::SecureScore, &score("", "Default")).0, ["x"]);
    assert_eq!(passes(Format::SecureScore, &score("", "ThirdParty")).0, [""; 0]);
    let nothing = passes(Format::SecureScore, &score(r#", "total": "0""#, "Default"));
    assert_eq!(nothing, (vec![], vec!["nothing to check".to_owned()]));
}

#[test]
fn a_suppression_counts_if_nobody_disputes_one() {
    for (suppressions, outcome) in [
        ("[]", CheckOutcome::Fail),
        ("null", CheckOutcome::Fail),
        (r#"[{"kind": "inSource"}]"#, CheckOutcome::Accepted),
        (r#"[{"status": "accepted"}, {"kind": "inSource"}]"#, CheckOutcome::Accepted),
        (r#"[{"status": "rejected"}]"#, CheckOutcome::Fail),
        (r#"[{"status": "underReview"}, {"status": "accepted"}]"#, CheckOutcome::Fail),
        (r#"[{"status": "accepted"}, {"status": "underReview"}]"#, CheckOutcome::Fail),
    ] {
        let result = format!(r#"{{"ruleId": "a", "suppressions": {suppressions}}}"#);
        let run = format!(r#"{{"tool": {{"driver": {{"name": "x"}}}}, "results": [{result}]}}"#);
        let file = format!(r#"{{"runs": [{run}]}}"#);
        let all = records(Format::Sarif, &mut file.as_bytes()).unwrap();
        let Record::Check(check) = &all[1] else { panic!("{all:?}") };
        assert_eq!(check.outcome, outcome, "{suppressions}");
    }
}
