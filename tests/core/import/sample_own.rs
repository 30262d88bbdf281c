//! What our own sample files come to.

use posture_core::engine::asset::AssetType;
use posture_core::import::Format;

use super::sample::{Expected, expected};
use super::{LOOPBACK, MANUAL};

/// Our own samples.
pub const OWN: &[Expected] = {
    use AssetType::{
        CloudResource, Container, Device, Identity, Mailbox, NetworkDevice, Server, VirtualMachine,
        Workstation,
    };
    use Format::{
        Asff, DefenderCloud, HardeningKitty, Inspec, Inventory, KubeBench, Leavers, Lynis, Maester,
        Masscan, Nmap, Oscal, PingCastle, Powerpipe, ProwlerCsv as Csv, ProwlerJson as Json,
        ProwlerOcsf as Ocsf, Sarif, ScoutSuite, Scuba, SecureScore, SecurityHubOcsf, StigChecklist,
        StigChecklist3, WazuhSca, Xccdf, ZeroTrust,
    };
    const AWS: &[&str] = &["aws/123456789012"];
    const LOCAL: &[&str] = &["127.0.0.1"];
    &[
        expected("inventory/assets.csv", Inventory, (5, 0), (0, 0, 0), INVENTORY)
            .skipped(&[
                ("no name", 1),
                ("serial left out: a spreadsheet rounded it", 1),
                ("the same asset again", 1),
            ])
            .assets(&[(Server, 1), (Workstation, 1)]),
        expected("inventory/leavers.csv", Leavers, (5, 0), (0, 0, 0), LEAVERS).skipped(&[
            ("no e-mail address, login or employee id", 1),
            ("no last day: the person has not left", 1),
            ("the last day is not a date such as 2026-11-20", 1),
        ]),
        expected("prowler/aws.ocsf.json", Ocsf, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(&[(CloudResource, 4), (Identity, 3)]),
        expected("prowler/aws.csv", Csv, (123, 76), (48, 68, 0), AWS)
            .skipped(&[(MANUAL, 7)])
            .assets(&[(CloudResource, 4), (Identity, 3)]),
        expected("prowler/m365.ocsf.json", Ocsf, (14, 8), (5, 6, 1), M365)
            .skipped(&[(MANUAL, 2)])
            .assets(&[(Identity, 4), (Mailbox, 2)]),
        expected("prowler/m365.csv", Csv, (14, 8), (5, 6, 1), M365)
            .skipped(&[(MANUAL, 2)])
            .assets(&[(Identity, 4), (Mailbox, 2)]),
        expected("prowler/azure.ocsf.json", Ocsf, (5, 5), (1, 3, 1), AZURE).assets(&[
            (CloudResource, 1),
            (Container, 1),
            (Identity, 1),
        ]),
        expected("prowler/azure.csv", Csv, (5, 5), (1, 3, 1), AZURE).assets(&[
            (CloudResource, 1),
            (Container, 1),
            (Identity, 1),
        ]),
        expected("prowler/gcp.csv", Csv, (4, 3), (2, 1, 0), &["gcp/example-project"])
            .skipped(&[(MANUAL, 1)])
            .assets(&[(VirtualMachine, 1)]),
        expected("prowler/kubernetes.ocsf.json", Ocsf, (4, 4), (1, 3, 0), KUBERNETES)
            .assets(&[(Server, 1)]),
        expected("prowler/kubernetes.csv", Csv, (4, 4), (1, 3, 0), KUBERNETES)
            .assets(&[(Server, 1)]),
        expected("prowler/v3.json", Json, (3, 3), (0, 3, 0), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/v4.2.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/v4.5.ocsf.json", Ocsf, (3, 3), (0, 2, 1), AWS)
            .assets(&[(CloudResource, 1), (Identity, 1)]),
        expected("prowler/none.ocsf.json", Ocsf, (0, 0), (0, 0, 0), &[]),
        expected("asff/prowler.json", Asff, (116, 76), (48, 68, 0), AWS)
            .assets(&[(CloudResource, 4), (Identity, 3)])
            .tools(&["prowler"]),
        expected("asff/prowler-v3.json", Asff, (5, 2), (1, 1, 1), &["aws/111122223333"])
            .skipped(&[("status INFOED: not a result", 1), (MANUAL, 1)])
            .assets(&[(Identity, 2)])
            .tools(&["prowler"]),
        expected("asff/securityhub.json", Asff, (14, 4), (1, 5, 2), &["aws/111122223333"])
            .skipped(&[
                ("archived: it is no longer the current state", 1),
                ("not a check: it has no Compliance", 1),
                ("status NOT_AVAILABLE: the tool could not check it", 1),
                ("status PASSED: nothing was evaluated", 1),
                ("status WARNING: the tool could not check it", 1),
            ])
            .assets(&[(CloudResource, 3), (Identity, 3)])
            .tools(&["prowler", "securityhub"]),
        expected(
            "asff/securityhub-ocsf.json",
            SecurityHubOcsf,
            (8, 3),
            (1, 1, 2),
            &["aws/111122223333"],
        )
        .skipped(&[
            ("archived: it is no longer the current state", 1),
            ("not a compliance finding (class 2003)", 1),
            ("not produced by AWS Security Hub", 1),
            ("status WARNING: the tool could not check it", 1),
        ])
        .assets(&[(CloudResource, 2)])
        .tools(&["securityhub"]),
        expected("nmap/localhost.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Server, 1)]),
        expected("nmap/udp.xml", Nmap, (1, 0), (0, 0, 0), LOCAL)
            .skipped(&[(LOOPBACK, 1)])
            .assets(&[(Device, 1)]),
        expected(
            "nmap/network.xml",
            Nmap,
            // Ten classes of TCP ports for each host, two certificates, TLS versions; and 22 hosts that are down.
            (65, 43),
            (37, 6, 0),
            &["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.5"],
        )
        .skipped(&[("host is down", 22)])
        .assets(&[(Device, 1), (NetworkDevice, 1), (Server, 1), (Workstation, 1)]),
        expected("nmap/masscan.xml", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan.json", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan-ndjson.json", Masscan, (4, 4), (0, 4, 0), MASSCAN)
            .assets(&[(Device, 2), (Server, 1)]),
        expected("nmap/masscan.txt", Masscan, (5, 4), (0, 4, 0), MASSCAN)
            .skipped(&[("no address", 1)])
            .assets(&[(Device, 2), (Server, 1)]),
        expected("report/scuba.json", Scuba, (6, 4), (1, 2, 1), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result N/A: needs a manual check", 1),
        ]),
        expected("report/goggles.json", Scuba, (3, 2), (1, 1, 0), &["googleworkspace/C01example"])
            .skipped(&[("result No events found: needs a manual check", 1)]),
        // Of the two tests of one id, the one that failed counts.
        expected("report/maester.json", Maester, (8, 3), (1, 2, 0), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result Investigate: needs a manual check", 1),
            ("result NotRun: the test did not run", 1),
            ("result Skipped: NotConnectedExchange", 1),
        ]),
        expected("report/securescore.json", SecureScore, (4, 3), (1, 1, 1), M365)
            .skipped(&[("missing scoreInPercentage", 1)]),
        expected("report/zerotrust.json", ZeroTrust, (8, 3), (1, 2, 0), M365).skipped(&[
            ("result Error: the tool could not check it", 1),
            ("result Investigate: needs a manual check", 1),
            ("result Passed: NotApplicable", 1),
            ("result Planned: UnderConstruction", 1),
            ("result Skipped: NoCompatibleLicenseFound", 1),
        ]),
        expected(
            "report/defender-cloud.csv",
            DefenderCloud,
            (9, 4),
            (2, 3, 1),
            &["azure/11111111-2222-4333-8444-555555555555"],
        )
        .skipped(&[
            ("recommendationName is no GUID", 1),
            ("result NotApplicable: does not apply to the resource", 1),
            ("result Unknown: not a result", 1),
        ])
        .assets(&[(CloudResource, 1), (VirtualMachine, 3)]),
        expected("report/scoutsuite.js", ScoutSuite, (5, 3), (1, 2, 0), AWS)
            .skipped(&[("missing checked_items or flagged_items", 1), ("nothing to check", 1)]),
        expected(
            "report/gitleaks.sarif",
            Sarif,
            (7, 4),
            (2, 1, 1),
            &["code/gitleaks", "code/semgrep-oss"],
        )
        .skipped(&[
            ("kind review: not a result", 1),
            ("level none: the rule only informs", 1),
            ("missing ruleId", 1),
        ]),
        expected("report/powerpipe.json", Powerpipe, (5, 2), (1, 1, 0), AWS)
            .skipped(&[
                ("missing account id", 1),
                ("status error: not a result", 1),
                ("status info: not a result", 1),
            ])
            .assets(&[(CloudResource, 1)]),
        expected(
            "report/checklist.cklb",
            StigChecklist3,
            (4, 2),
            (1, 1, 0),
            &["host/db-2/EXAMPLE_STIG"],
        )
        .skipped(&[
            ("result not_applicable: the rule does not apply to the host", 1),
            ("result not_reviewed: nobody has checked it yet", 1),
        ])
        .assets(&[(Server, 1)]),
        expected("report/inspec.json", Inspec, (9, 4), (1, 2, 1), &["host/web-7/example-baseline"])
            .skipped(&[
                ("result failed: the tool could not check it", 1),
                ("result impact 0: the control does not apply to the host", 1),
                ("result skipped: needs a manual check", 1),
                ("result skipped: the test did not run", 1),
                ("the control has no test", 1),
            ])
            .assets(&[(Server, 1)]),
        expected(
            "report/wazuh-sca.json",
            WazuhSca,
            (4, 2),
            (1, 1, 0),
            &["host/lap-1/cis_win11_enterprise", "host/web-1/cis_ubuntu22-04"],
        )
        .skipped(&[
            ("result Not applicable: the check does not apply to the host", 1),
            ("result not applicable: the check does not apply to the host", 1),
        ])
        .assets(&[(Workstation, 1)]),
        expected(
            "report/wazuh-sca-alerts.json",
            WazuhSca,
            (2, 2),
            (1, 1, 0),
            &["host/web-2/cis_ubuntu22-04"],
        )
        .assets(&[(Server, 1)]),
        expected(
            "report/hardeningkitty.csv",
            HardeningKitty,
            (10, 9),
            (7, 2, 0),
            &["host/hardeningkitty"],
        )
        .skipped(&[("missing Name", 1)]),
        expected(
            "report/kube-bench.json",
            KubeBench,
            (5, 2),
            (1, 1, 0),
            &["kubernetes/kube-bench"],
        )
        .skipped(&[
            ("missing test_number", 1),
            ("result INFO: the check only informs", 1),
            ("result WARN: needs a manual check", 1),
        ]),
        expected("report/oscal.json", Oscal, (5, 4), (2, 1, 1), &["oscal/system"])
            .skipped(&[("result pending: neither satisfied nor not-satisfied", 1)]),
        expected("report/oscal-scanner.json", Oscal, (3, 2), (1, 1, 0), &["oscal/system"])
            .skipped(&[("result notchecked: needs a manual check", 1)]),
        expected(
            "report/lynis.dat",
            Lynis,
            (88, 88),
            (49, 39, 0),
            &["host/web-1/0123456789abcdef0123456789abcdef01234567"],
        )
        .assets(&[(Server, 1)]),
        expected("report/pingcastle.xml", PingCastle, (3, 3), (0, 3, 0), &["ad/acme.example"]),
        // Of two results of one rule the worse counts, and of two runs by one profile the newer.
        expected("report/xccdf.xml", Xccdf, (5, 3), (1, 1, 1), &["host/web-2.acme.example/basic"])
            .skipped(&[
                ("result error: the tool could not check it", 1),
                ("result notapplicable: the rule does not apply to the host", 1),
            ])
            .assets(&[(Server, 1)]),
        expected(
            "report/checklist.ckl",
            StigChecklist,
            (4, 2),
            (1, 1, 0),
            &["host/db-1/EXAMPLE_STIG"],
        )
        .skipped(&[
            ("result Not_Applicable: the rule does not apply to the host", 1),
            ("result Not_Reviewed: nobody has checked it yet", 1),
        ])
        .assets(&[(Server, 1)]),
    ]
};
const M365: &[&str] = &["m365/5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11"];
const INVENTORY: &[&str] = &["inventory"];
const LEAVERS: &[&str] = &["leavers"];
const MASSCAN: &[&str] = &["192.0.2.1", "192.0.2.3", "2001:db8::5"];
const AZURE: &[&str] =
    &["azure/11111111-2222-4333-8444-555555555555", "azure/5c8d1f20-7f3e-4c0a-9a55-3b1f0e6d2a11"];
const KUBERNETES: &[&str] = &["kubernetes/cluster-1"];
