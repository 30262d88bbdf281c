//! Other people's files that say nothing of anybody, and what they come to when they do.

use posture_core::import::{self, Format};

use super::super::{folded, refusal, skipped, total};
use crate::harness::sample::foreign;

#[test]
#[ignore = "needs other people's samples"]
fn results_without_their_host_or_of_a_part_are_refused() {
    for name in
        ["api_policy_checks.json", "api_policy_checks_failed.json", "api_policy_checks_na.json"]
    {
        let file = String::from_utf8(foreign(&format!("wazuh_sca/{name}"))).unwrap();
        assert_eq!(import::detect(file.as_bytes()), Some(Format::WazuhSca), "{name}");
        assert!(refusal(Format::WazuhSca, file.as_bytes()).contains("of 191 results"), "{name}");
    }
    let file = String::from_utf8(foreign("wazuh_sca/api_policy_checks.json")).unwrap();
    let whole = file.replace("\"total_affected_items\": 191", "\"total_affected_items\": 3");
    assert!(refusal(Format::WazuhSca, whole.as_bytes()).contains("does not name its agent"));
    let named = whole.replace("\"rationale\"", "\"agent_name\": \"web-1\", \"rationale\"");
    let run = folded(Format::WazuhSca, named.as_bytes()).unwrap();
    assert_eq!((run.n_records, total(&run)), (3, (1, 1, 0)));
    assert_eq!(skipped(&run), [("result not applicable: the check does not apply to the host", 1)]);

    let file = String::from_utf8(foreign("inspec_hdf/cis-aws-foundations-baseline.json")).unwrap();
    assert_eq!(import::detect(&file.as_bytes()[..import::HEAD_BYTES_MAX]), Some(Format::Inspec));
    assert!(refusal(Format::Inspec, file.as_bytes()).contains("the platform aws"));
    let host = file.replacen("\"aws\"", "\"ubuntu\",\"target_id\":\"web-1\"", 1);
    let run = folded(Format::Inspec, host.as_bytes()).unwrap();
    assert_eq!(run.n_records, 52);
    assert!(run.observations.iter().all(|it| !it.check.contains('[')), "tags of CIS are not used");
}

#[test]
#[ignore = "needs other people's samples"]
fn a_demonstration_decides_nothing() {
    let file = foreign("zerotrustassessment/ZeroTrustAssessmentReport_sample.json");
    assert_eq!(import::detect(&file[..import::HEAD_BYTES_MAX]), Some(Format::ZeroTrust));
    assert!(refusal(Format::ZeroTrust, &file).contains("is a demonstration"));
    let real = String::from_utf8(file).unwrap().replace("\"IsDemo\"", "\"Was\"");
    let run = folded(Format::ZeroTrust, real.as_bytes()).unwrap();
    assert_eq!((run.n_records, run.observations.len(), total(&run)), (295, 183, (87, 96, 0)));
    assert_eq!(run.scopes, ["m365/aaaabbbb-0000-cccc-1111-dddd2222eeee"]);
    assert_eq!(
        skipped(&run),
        [
            ("result Error: the tool could not check it", 1),
            ("result Investigate: needs a manual check", 1),
            ("result Planned: UnderConstruction", 37),
            ("result Skipped: NoCompatibleLicenseFound", 33),
            ("result Skipped: NotApplicable", 30),
            ("result Skipped: NotConnectedToService", 5),
            ("result Skipped: NotLicensedEntraWorkloadID", 4),
            ("result Skipped: NotSupported", 1),
        ]
    );
}

#[test]
#[ignore = "needs other people's samples"]
fn what_is_not_taken_is_named_for_what_it_looks_like() {
    for (name, words) in [
        ("csv_inventory/snipeit_assets.csv", "a list of assets"),
        ("csv_inventory/snipeit_users.csv", "a list of people"),
        ("hardeningkitty/finding_list_cis_win11_23h2.csv", "a list of HardeningKitty"),
        ("oscal_ar/ifa_poam.json", "a plan of action in OSCAL"),
        ("powerpipe/check.csv", "a table of Powerpipe"),
        ("scubagear/ScubaResults_v1.8.0.csv", "a table of ScubaGear or ScubaGoggles"),
        ("scubagear/TestResults_v1.8.0.json", "the raw results of ScubaGear or ScubaGoggles"),
        ("prowler_compliance/aws_comp_hipaa_aws.csv", "a compliance report of Prowler"),
        ("ocsf/okta_2004_v1.3.0.ocsf.json", "OCSF of another product than Prowler"),
    ] {
        let file = foreign(name);
        let head = &file[..file.len().min(import::HEAD_BYTES_MAX)];
        assert_eq!(import::detect(head), None, "{name}");
        assert_eq!(import::guess::look(head).map(|it| it.0), Some(words), "{name}");
    }
}
