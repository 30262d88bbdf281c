//! Other people's files.

use posture_core::engine::asset::AssetType;
use posture_core::engine::fact::subject_hash;
use posture_core::import::{self, Format};

use super::sample::{
    Expected, comes_to_what_is_expected, expected, is_refused_when_cut_off, reads_the_same,
    say_the_same,
};
use super::{LOOPBACK, MANUAL, TENANT, counts, folded, skipped};
use crate::harness::sample::foreign;

/// Other people's samples, counted by other means.
const FOREIGN_PROWLER: &[Expected] = {
    use AssetType::{CloudResource, Container, Identity, Mailbox};
    use Format::{ProwlerCsv as Csv, ProwlerJson as Json, ProwlerOcsf as Ocsf};
    const MOTO: &[(AssetType, usize)] = &[(CloudResource, 4), (Identity, 3)];
    const AWS: &[&str] = &["aws/123456789012"];
    &[
        expected("prowler/aws_moto_small.ocsf.json", Ocsf, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(MOTO),
        expected("prowler/aws_moto_small.csv", Csv, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(MOTO),
        expected(
            "prowler/example_output_aws.ocsf.json",
            Ocsf,
            (5, 2),
            (0, 2, 0),
            &["aws/<account_uid>"],
        )
        .skipped(&[(MANUAL, 3)]),
        expected("prowler/example_output_aws.csv", Csv, (4, 2), (0, 2, 0), &["aws/<account_uid>"])
            .skipped(&[(MANUAL, 2)]),
        expected(
            "prowler/example_output_azure.ocsf.json",
            Ocsf,
            (5, 5),
            (0, 5, 0),
            &["azure/<subscription_uid>"],
        ),
        expected(
            "prowler/example_output_azure.csv",
            Csv,
            (4, 4),
            (3, 1, 0),
            &["azure/<account_uid>"],
        )
        .assets(&[(Container, 1)]),
        expected("prowler/example_output_gcp.csv", Csv, (4, 3), (2, 1, 0), &["gcp/<account_uid>"]),
        expected(
            "prowler/example_output_kubernetes.ocsf.json",
            Ocsf,
            (6, 6),
            (1, 5, 0),
            &["kubernetes"],
        ),
        expected(
            "prowler/example_output_kubernetes.csv",
            Csv,
            (4, 4),
            (1, 3, 0),
            &["kubernetes/<account_uid>"],
        ),
        expected(
            "prowler/v3_native_many_vuln.json",
            Json,
            // One says FAIL and "Manual check: ...".
            (3, 2),
            (0, 2, 0),
            &["aws/999999999999"],
        )
        .skipped(&[(MANUAL, 1)])
        .assets(&[(CloudResource, 1)]),
        expected("prowler/v4_pre450_many_vuln.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS),
        expected("prowler/v4_after_4_5_0_many_vuln.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS),
        expected("prowler/zero_vul.json", Ocsf, (0, 0), (0, 0, 0), &[]),
        expected(
            "ocsf/prowler_4.5.0_2004_v1.3.0.ocsf.json",
            Ocsf,
            (1, 1),
            (1, 0, 0),
            &["aws/111122223333"],
        )
        .assets(&[(CloudResource, 1)]),
        expected(
            "ocsf/sechub-pci_2003_v1.1.0.ocsf.json",
            Format::SecurityHubOcsf,
            (1, 1),
            (0, 1, 0),
            &["aws/111111111111"],
        )
        .tools(&["securityhub"]),
        expected(
            "prowler_m365/m365_unit_fixture.ocsf.json",
            Ocsf,
            (172, 83),
            (40, 82, 0),
            &[TENANT],
        )
        .skipped(&[(MANUAL, 7)])
        .assets(&[(Mailbox, 2)]),
        expected("prowler_m365/m365_unit_fixture.csv", Csv, (172, 83), (40, 82, 0), &[TENANT])
            .skipped(&[(MANUAL, 7)])
            .assets(&[(Mailbox, 2)]),
    ]
};

const FOREIGN_NMAP: &[Expected] = {
    use AssetType::{Device, NetworkDevice, Server, Workstation};
    use Format::Nmap;
    const LOCAL: &[&str] = &["127.0.0.1"];
    &[
        expected("nmap/nmap_localhost_full.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Server, 1)]),
        expected("nmap/nmap_udp.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Device, 1)]),
        expected("nmap/1_hosts_down.xml", Nmap, (7, 7), (7, 0, 0), &["10.1.1.1"])
            .assets(&[(Device, 1)]),
        expected("nmap/1_os_banner_scripts.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Server, 1)]),
        expected("nmap/dd_issue4406.xml", Nmap, (10, 10), (9, 1, 0), &["10.250.195.71"])
            .assets(&[(Device, 1)]),
        expected("nmap/dd_multiple_port.xml", Nmap, (8, 8), (6, 2, 0), &["198.38.82.159"])
            .assets(&[(Server, 1)]),
        expected("nmap/dd_script_vulners.xml", Nmap, (0, 0), (0, 0, 0), &["192.168.0.1"])
            .assets(&[(Device, 1)]),
        expected(
            "nmap/full_sudo6.xml",
            Nmap,
            (282, 30),
            (26, 4, 0),
            &["192.168.1.1", "192.168.1.2", "192.168.1.3", "192.168.1.5"],
        )
        .skipped(&[("host is down", 252)])
        .assets(&[(Device, 1), (NetworkDevice, 1), (Server, 1), (Workstation, 1)]),
    ]
};

const FOREIGN_ASFF: &[Expected] = {
    use AssetType::{CloudResource, Identity};
    use Format::Asff;
    const NO_CHECK: &str = "not a check: it has no Compliance";
    &[
        expected(
            "asff/prowler_5.46_small.asff.json",
            Asff,
            (116, 76),
            (48, 68, 0),
            &["aws/123456789012"],
        )
        .assets(&[(CloudResource, 4), (Identity, 3)])
        .tools(&["prowler"]),
        expected(
            "asff/securityhub_cis_fsbp_18.json",
            Asff,
            (18, 18),
            (1, 17, 0),
            &["aws/123456789123"],
        )
        .assets(&[(CloudResource, 1)]),
        expected("asff/securityhub_config_many.json", Asff, (3, 0), (0, 0, 0), &[])
            .skipped(&[("status PASSED: nothing was evaluated", 3)]),
        expected(
            "asff/securityhub_multi_resources.json",
            Asff,
            (5, 2),
            (0, 5, 0),
            &["aws/001122334455", "aws/012345678912"],
        )
        .assets(&[(CloudResource, 3)]),
        expected("asff/guardduty_many.json", Asff, (5, 0), (0, 0, 0), &[])
            .skipped(&[(NO_CHECK, 5)]),
    ]
};

/// Reports about one tenant, domain or host.
const FOREIGN_REPORTS: &[Expected] = {
    use AssetType::{CloudResource, Server};
    use Format::{
        DefenderCloud, KubeBench, Lynis, Maester, Oscal, PingCastle, Sarif, ScoutSuite, Scuba,
        SecureScore, Xccdf,
    };
    const NO_RESULT: &str = "result N/A: needs a manual check";
    const NOT_APPLICABLE: &str = "result Pass: does not apply";
    const NOTHING: &str = "nothing to check";
    const UNEXPECTED: &str = "the test met something unexpected, so it is not known to pass";
    const NOT_FITTING: &str = "result notapplicable: the rule does not apply to the host";
    const ROKS: &[&str] =
        &["host/kube-c18ler8d06m877hrn7jg-roks8-default-00000319.iks.mycorp/roks"];
    const NOT_RUN: &str = "result NotRun: the test did not run";
    const GEAR: &[&str] = &["m365/ca08493a-c9c8-4db0-a9e8-d3b4bafac269"];
    const PORA: &[&str] = &["m365/0817c655-a853-4d8f-9723-3a333b5b9235"];
    // Not a GUID: four characters too many, as others removed it.
    const SCORED: &[&str] = &["m365/12345678-1234-1234-1234-1234567890abcd"];
    const SYSTEM: &[&str] = &["oscal/system"];
    const CODE: &[&str] = &["code/flawfinder"];
    const CONTAINER: &[&str] = &["host/82103dde74c7"];
    &[
        expected("scubagear/ScubaResults_v1.6.0.json", Scuba, (126, 78), (57, 21, 0), GEAR)
            .skipped(&[(NO_RESULT, 47), (NOT_APPLICABLE, 1)]),
        expected("scubagear/ScubaResults_v1.8.0.json", Scuba, (92, 80), (54, 26, 0), GEAR)
            .skipped(&[(NO_RESULT, 9), (NOT_APPLICABLE, 3)]),
        expected(
            "scubagoggles/ScubaResults_v1.0.1.json",
            Scuba,
            (137, 113),
            (55, 58, 0),
            &["googleworkspace/ABCDEFG"],
        )
        .skipped(&[(NO_RESULT, 18), ("result No events found: needs a manual check", 6)]),
        expected(
            "maester/AD-TestResults-2026-04-26-125144.json",
            Maester,
            (180, 180),
            (179, 1, 0),
            &["ad/local"],
        ),
        expected("maester/TestResults_2025-11_v2.json", Maester, (317, 144), (74, 70, 0), PORA)
            .skipped(&[
                ("result Error: the tool could not check it", 2),
                ("result Investigate: needs a manual check", 3),
                (NOT_RUN, 19),
                ("result Skipped: Custom", 8),
                ("result Skipped: LicensedEntraIDPremium", 1),
                ("result Skipped: LimitedPermissions", 1),
                ("result Skipped: NotConnectedExchange", 128),
                ("result Skipped: NotConnectedTeams", 11),
            ]),
        expected("maester/test-results_2025-04_v1.json", Maester, (283, 258), (120, 138, 0), PORA)
            .skipped(&[
                (NOT_RUN, 7),
                ("result Skipped: Custom", 16),
                ("result Skipped: LicensedEntraIDPremium", 1),
                ("result Skipped: NotDotGovDomain", 1),
            ]),
        expected(
            "msgraph_securescore/secureScore.json",
            SecureScore,
            (68, 67),
            (27, 40, 0),
            SCORED,
        )
        .skipped(&[(NOTHING, 1)]),
        expected(
            "msgraph_securescore/combined_score_and_profiles.json",
            SecureScore,
            (68, 67),
            (27, 40, 0),
            SCORED,
        )
        .skipped(&[(NOTHING, 1)]),
        expected(
            "azure_defender/recommendations_many.csv",
            DefenderCloud,
            (4, 4),
            (1, 3, 0),
            &["azure/9cfbad7a-7369-42e4-bcce-7677c5b3a44b"],
        )
        .assets(&[(CloudResource, 2)]),
        // One rule looked at 16 regions, and the others at nothing.
        expected(
            "scoutsuite/scoutsuite_sample.js",
            ScoutSuite,
            (8, 1),
            (0, 1, 0),
            &["aws/916481805664"],
        )
        .skipped(&[("nothing to check", 7)]),
        expected(
            "kubebench/many.json",
            KubeBench,
            (24, 24),
            (20, 4, 0),
            &["kubernetes/kube-bench"],
        ),
        expected("oscal_ar/ifa_ar.json", Oscal, (1, 1), (0, 1, 0), SYSTEM),
        expected("oscal_ar/fedramp_sar_rev5.json", Oscal, (8, 8), (3, 5, 0), SYSTEM),
        expected("oscal_ar/trestle_xccdf_ocp4_cis.json", Oscal, (123, 76), (12, 64, 0), SYSTEM)
            .skipped(&[("result notchecked: needs a manual check", 47)]),
        expected("sarif/flawfinder_sarif_input.sarif", Sarif, (78, 22), (1, 42, 0), CODE),
        expected("lynis/dd_many.dat", Lynis, (233, 227), (196, 31, 0), CONTAINER)
            .skipped(&[(UNEXPECTED, 6)])
            .assets(&[(Server, 1)]),
        expected("lynis/dd_one.dat", Lynis, (1, 0), (0, 0, 0), CONTAINER)
            .skipped(&[(UNEXPECTED, 1)])
            .assets(&[(Server, 1)]),
        expected(
            "lynis/lynis_3.0.8_debian12_local.dat",
            Lynis,
            (235, 233),
            (194, 39, 0),
            &["host/vm/c949a87ea26fcee46fac7c2d963c9c8c110507fe"],
        )
        .skipped(&[(UNEXPECTED, 2)])
        .assets(&[(Server, 1)]),
        expected(
            "pingcastle/dd_many_3.2.0.1.xml",
            PingCastle,
            (28, 28),
            (0, 28, 0),
            &["ad/example.local"],
        ),
        expected(
            "xccdf/arf_simple_rule_fail.xml",
            Xccdf,
            (1, 1),
            (0, 1, 0),
            &["host/rh-hony/test_single_rule"],
        )
        .assets(&[(Server, 1)]),
        expected("xccdf/ocp4-check-result.xml", Xccdf, (28, 27), (24, 3, 0), ROKS)
            .skipped(&[(NOT_FITTING, 1)])
            .assets(&[(Server, 1)]),
        expected(
            "xccdf/openscap-rhel7-results.xml",
            Xccdf,
            (180, 180),
            (43, 137, 0),
            &["host/localhost.localdomain/00:15:5d:0e:92:0d/MAC-1_Sensitive"],
        )
        .assets(&[(Server, 1)]),
        expected(
            "xccdf/openscap-rhel8-stig-results.xml",
            Xccdf,
            (248, 227),
            (61, 166, 0),
            &["host/localhost/08:00:27:6d:f7:16/RHEL_8_STIG"],
        )
        .skipped(&[("result error: the tool could not check it", 21)])
        .assets(&[(Server, 1)]),
        expected(
            "xccdf/rhel7-standard-xccdf_report.xml",
            Xccdf,
            (74, 55),
            (14, 41, 0),
            &["host/lenovolobato.lobatolan.home/standard"],
        )
        .skipped(&[
            ("result error: the tool could not check it", 4),
            ("result notchecked: needs a manual check", 15),
        ])
        .assets(&[(Server, 1)]),
        expected(
            "xccdf/scc-rhel7-results.xml",
            Xccdf,
            (178, 178),
            (172, 6, 0),
            &["host/lockdown/MAC-1_Classified"],
        )
        .assets(&[(Server, 1)]),
        expected("xccdf/xccdf11-results.xml", Xccdf, (1, 1), (1, 0, 0), &["host/mars/default"])
            .assets(&[(Server, 1)]),
        expected(
            "xccdf/deb12-cis-l1-server-xccdf-results.xml.gz",
            Xccdf,
            (403, 135),
            (127, 8, 0),
            &["host/vm/cis_level1_server"],
        )
        .skipped(&[("result error: the tool could not check it", 1), (NOT_FITTING, 267)])
        .assets(&[(Server, 1)]),
    ]
};

#[test]
#[ignore = "needs other people's samples"]
fn every_sample_comes_to_what_was_counted_by_other_means() {
    comes_to_what_is_expected(foreign, FOREIGN_PROWLER);
    comes_to_what_is_expected(foreign, FOREIGN_ASFF);
    comes_to_what_is_expected(foreign, FOREIGN_NMAP);
    comes_to_what_is_expected(foreign, FOREIGN_REPORTS);
}

#[test]
#[ignore = "needs other people's samples"]
fn the_json_and_the_csv_of_one_run_say_the_same() {
    say_the_same(foreign, &["prowler/aws_moto_small", "prowler_m365/m365_unit_fixture"]);
}

#[test]
#[ignore = "needs other people's samples"]
fn the_hosts_of_a_sample_are_told_apart_by_their_macs() {
    let file = foreign("nmap/full_sudo6.xml");
    let run = folded(Format::Nmap, &file).unwrap();
    let hosts: Vec<(&str, &str, AssetType)> = run
        .assets
        .iter()
        .map(|it| (it.external_id.as_str(), it.ip.as_deref().unwrap(), it.asset_type))
        .collect();
    assert_eq!(
        hosts,
        [
            ("00:1f:3c:87:66:50", "192.168.1.5", AssetType::Server),
            ("192.168.1.3", "192.168.1.3", AssetType::Workstation),
            ("6c:2e:85:19:af:00", "192.168.1.1", AssetType::NetworkDevice),
            ("c0:63:94:05:01:03", "192.168.1.2", AssetType::Device),
        ]
    );
    let find = |scope: &str, check: &str| {
        run.observations.iter().find(|it| it.scope == scope && it.check == check).unwrap()
    };
    let telnet = find("192.168.1.1", "telnet");
    assert_eq!(telnet.failing, [subject_hash("6c:2e:85:19:af:00")]);
    assert!(telnet.findings.as_deref().unwrap().contains("tcp/23 open (telnet "), "{telnet:?}");
    assert_eq!(counts(find("192.168.1.1", "certificate")), (1, 0, 0), "it ended years later");
    assert_eq!(counts(find("192.168.1.1", "tls-version")), (0, 1, 0), "it takes SSL 2");
    assert_eq!(counts(find("192.168.1.3", "vnc")), (0, 1, 0));
    assert_eq!(counts(find("192.168.1.3", "rdp")), (0, 1, 0));
}

#[test]
#[ignore = "needs other people's samples"]
fn files_that_look_alike_are_not_taken() {
    for name in [
        "prowler_compliance/aws_comp_cmmc_2.0.ocsf.json",
        "prowler_compliance/aws_comp_hipaa_aws.csv",
        "prowler_compliance/aws_comp2_pci_4.0_aws.csv",
        "ocsf/okta_2004_v1.3.0.ocsf.json",
        "ocsf/sechub-guardduty_2004_v1.1.0.ocsf.json",
        "scubagear/TestResults_v1.8.0.json",
        "scubagear/ScubaResults_v1.8.0.csv",
    ] {
        assert_eq!(import::detect(&foreign(name)), None, "{name}");
    }
    let okta = foreign("ocsf/okta_2004_v1.3.0.ocsf.json");
    assert_eq!(
        skipped(&folded(Format::ProwlerOcsf, &okta).unwrap()),
        [("not produced by Prowler", 1)]
    );
    let report = foreign("prowler_compliance/aws_comp_cmmc_2.0.ocsf.json");
    let report = folded(Format::ProwlerOcsf, &report).unwrap();
    assert_eq!(skipped(&report), [("not a detection finding (class 2004)", 422)]);
}

#[test]
#[ignore = "needs other people's samples"]
fn a_sample_that_is_cut_off_is_refused() {
    is_refused_when_cut_off(foreign, FOREIGN_PROWLER);
    is_refused_when_cut_off(foreign, FOREIGN_ASFF);
    is_refused_when_cut_off(foreign, FOREIGN_NMAP);
    is_refused_when_cut_off(foreign, FOREIGN_REPORTS);
}

#[test]
#[ignore = "needs other people's samples"]
fn a_sample_reads_the_same_byte_by_byte() {
    reads_the_same(
        foreign,
        &[
            "prowler/v4_pre450_many_vuln.ocsf.json",
            "prowler/example_output_azure.csv",
            "asff/securityhub_cis_fsbp_18.json",
            "nmap/full_sudo6.xml",
        ],
    );
}
