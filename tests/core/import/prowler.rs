//! What Prowler's findings mean.

use posture_core::clock::Time;
use posture_core::engine::asset::{AssetType, Seen};
use posture_core::engine::fact::{anywhere, regional_hash, subject_hash};
use posture_core::engine::severity::Severity;
use posture_core::import::{Check, CheckOutcome, CheckSubject, Format, Record};

use super::{
    MANUAL, TENANT, array, counts, finding, folded, records, resource, told_check, told_reason,
};

#[test]
fn a_finding_is_an_asset_and_a_check() {
    let file = array(&[finding(&[])]);
    let alice = "arn:aws:iam::111122223333:user/alice".to_owned();
    let observed_at = Some(Time::from_s(1_795_167_937));
    assert_eq!(
        records(Format::ProwlerOcsf, &mut file.as_slice()).unwrap(),
        [
            Record::Asset(Seen {
                external_id: alice.clone(),
                name: "alice".to_owned(),
                category: Some("iam".to_owned()),
                asset_type: AssetType::Identity,
                is_managed: false,
                hostname: None,
                ip: None,
                mac: None,
                serial: None,
                scope: "aws/111122223333".to_owned(),
                seen_at: observed_at,
                reported: posture_core::engine::asset::ReportedFields::default(),
            }),
            Record::Check(Check {
                scope: "aws/111122223333".to_owned(),
                tool: None,
                check: "iam_mfa".to_owned(),
                outcome: CheckOutcome::Fail,
                severity: Severity::High,
                title: "MFA is on".to_owned(),
                remediation: None,
                detail: Some("User alice has no MFA.".to_owned()),
                subject: CheckSubject::of(alice, "alice".to_owned()),
                observed_at,
            }),
        ]
    );
}

#[test]
fn only_pass_and_fail_are_evidence() {
    let muted = ("status", r#""Suppressed""#);
    let outcome = |status: &str, more: &[(&str, &str)]| {
        let status = format!("\"{status}\"");
        let mut changes = vec![("status_code", status.as_str())];
        changes.extend(more);
        told_check(&changes).outcome
    };
    assert_eq!(outcome("PASS", &[]), CheckOutcome::Pass);
    assert_eq!(outcome("FAIL", &[]), CheckOutcome::Fail);
    assert_eq!(outcome("FAIL", &[muted]), CheckOutcome::Accepted);
    assert_eq!(outcome("PASS", &[muted]), CheckOutcome::Pass);

    assert_eq!(told_reason(&[("status_code", r#""MANUAL""#)]), MANUAL);
    let manual = ("status_detail", r#""Manual check: Login to the AWS Console.""#);
    assert_eq!(told_reason(&[manual]), MANUAL, "as Prowler 3 writes it");
    assert_eq!(outcome("PASS", &[manual]), CheckOutcome::Pass);
    assert_eq!(told_reason(&[("status_code", r#""INFO""#)]), "status INFO: not a result");
    assert_eq!(told_reason(&[("status_code", "null")]), "missing status");
}

#[test]
fn a_title_is_a_statement() {
    for (title, expect) in [
        ("MFA is on", "MFA is on"),
        ("[DEPRECATED] S3 bucket has encryption", "S3 bucket has encryption"),
        (
            "Ensure that the --audit-log-path argument is set",
            "The --audit-log-path argument is set",
        ),
        ("Ensure That Microsoft Defender Is Set To 'On' ", "Microsoft Defender Is Set To 'On'"),
        ("Ensure Application Insights are Configured.", "Application Insights are Configured"),
        ("Check if ACM Certificates are about to expire", "ACM Certificates are about to expire"),
        ("Check that no key is old", "No key is old"),
        ("[DEPRECATED] Ensure no user has a key.", "No user has a key"),
        ("Ensured rotation", "Ensured rotation"),
        ("Ensure ", "Ensure"),
    ] {
        let info = format!(r#"{{"title": "{title}"}}"#);
        assert_eq!(told_check(&[("finding_info", &info)]).title, expect);
    }
}

#[test]
fn a_remediation_is_plain_text() {
    for (text, expect) in [
        ("Set the **minimum length** to `>= 14`.", "Set the minimum length to >= 14."),
        (
            r"Do:\n\n- Require **mixed** types\n  * Enforce MFA",
            "Do:\nRequire mixed types\nEnforce MFA",
        ),
        ("Deny `s3:*` and `a**`, not s3:Get* or [x]", "Deny s3:* and a**, not s3:Get* or [x]"),
        ("See [the guide](https://example.com/a).", "See the guide (https://example.com/a)."),
        ("One ` and [a](b", "One ` and [a](b"),
    ] {
        let remediation = format!(r#"{{"desc": "{text}"}}"#);
        let check = told_check(&[("remediation", &remediation)]);
        assert_eq!(check.remediation.as_deref(), Some(expect));
    }
}

#[test]
fn a_severity_of_prowler_is_one_of_ours() {
    for (word, severity) in [
        ("Critical", Severity::Critical),
        ("high", Severity::High),
        ("Medium", Severity::Medium),
        ("Low", Severity::Low),
        ("Informational", Severity::Low),
        ("Fatal", Severity::Medium),
    ] {
        assert_eq!(
            told_check(&[("severity", &format!("\"{word}\""))]).severity,
            severity,
            "{word}"
        );
    }
}

#[test]
fn a_scope_is_the_provider_and_its_account() {
    let scope = |changes: &[(&str, &str)]| told_check(changes).scope;
    let tenant = "0D3BDCF4-9F1B-4B62-9D1C-6D2C0EF6A111";
    let m365 = ("cloud", r#"{"provider": "m365", "account": {"uid": "Contoso.onmicrosoft.com"}}"#);
    assert_eq!(scope(&[m365]), "m365/contoso.onmicrosoft.com");
    let metadata = format!(
        r#"{{"event_code": "x", "product": {{"name": "Prowler"}}, "tenant_uid": "{tenant}"}}"#
    );
    assert_eq!(scope(&[m365, ("metadata", &metadata)]), TENANT);

    let container =
        r#"{"event_code": "x", "product": {"name": "Prowler"}, "profiles": ["container"]}"#;
    let pod = r#"[{"uid": "u-1", "name": "api-0", "namespace": "kube-system"}]"#;
    let cluster = [("cloud", "null"), ("metadata", container), ("resources", pod)];
    assert_eq!(scope(&cluster), "kubernetes");
    let uid = r#"{"uid": "prowler-kubernetes-x-prod-1-namespace: kube-system-api-0"}"#;
    assert_eq!(
        scope(&[cluster.as_slice(), &[("finding_info", uid)]].concat()),
        "kubernetes/prod-1"
    );
    let unmapped = r#"{"provider": "kubernetes", "provider_uid": "prod-2"}"#;
    assert_eq!(
        scope(&[cluster.as_slice(), &[("unmapped", unmapped)]].concat()),
        "kubernetes/prod-2"
    );

    assert_eq!(told_reason(&[("cloud", "null")]), "missing provider");
    assert_eq!(told_reason(&[("cloud", r#"{"provider": "aws"}"#)]), "missing account id");
}

#[test]
fn a_time_is_read_however_it_is_written() {
    let at = |changes: &[(&str, &str)]| told_check(changes).observed_at;
    let time: Time = "2026-11-20T09:45:37.775Z".parse().unwrap();
    assert_eq!(at(&[("time", "1795167937")]), Some(Time::from_s(time.s())));
    assert_eq!(at(&[("time", "1795167937775")]), Some(time));
    assert_eq!(at(&[("time", r#""1795167937""#)]), Some(Time::from_s(time.s())));
    let none = ("time", "null");
    assert_eq!(at(&[none]), None);
    assert_eq!(at(&[none, ("time_dt", r#""2026-11-20T09:45:37.775""#)]), Some(time));
    assert_eq!(at(&[none, ("event_time", r#""2026-11-20 09:45:37.775""#)]), Some(time));
    assert_eq!(at(&[none, ("time_dt", r#""2026-11-20T10:45:37.775+01:00""#)]), Some(time));
    assert_eq!(at(&[none, ("time_dt", r#""yesterday""#)]), None);
    assert_eq!(at(&[none, ("time_dt", r#""0001-01-01T00:00:00""#)]), None);
}

#[test]
fn what_comes_and_goes_or_only_grants_is_no_asset() {
    let is_asset = |provider: &str, uid: &str, kind: &str| {
        let cloud =
            format!(r#"{{"provider": "{provider}", "account": {{"uid": "111122223333"}}}}"#);
        let resources = format!(r#"[{{"uid": "{uid}", "name": "n", "type": "{kind}"}}]"#);
        let file = array(&[finding(&[("cloud", &cloud), ("resources", &resources)])]);
        let found = records(Format::ProwlerOcsf, &mut file.as_slice()).unwrap();
        found.into_iter().find_map(|it| match it {
            Record::Asset(seen) => Some(seen.asset_type),
            Record::Check(_)
            | Record::System(_)
            | Record::Vulnerability(_)
            | Record::Leaver(_)
            | Record::Skipped { .. }
            | Record::Silent { .. } => None,
        })
    };
    let arn = |rest: &str| is_asset("aws", &format!("arn:aws:{rest}"), "Other");
    assert_eq!(arn("ec2:eu-west-1:111122223333:instance/i-1"), Some(AssetType::VirtualMachine));
    assert_eq!(arn("rds:eu-west-1:111122223333:db:orders"), Some(AssetType::Database));
    assert_eq!(arn("elasticfilesystem:eu-west-1:1:file-system/fs-1"), Some(AssetType::FileShare));
    assert_eq!(arn("eks:eu-west-1:111122223333:cluster/prod"), Some(AssetType::Container));
    assert_eq!(arn("lambda:eu-west-1:111122223333:function:f"), Some(AssetType::CloudResource));
    assert_eq!(arn("s3:::files"), Some(AssetType::CloudResource));
    assert_eq!(arn("apigateway:eu-west-1::/restapis/a1"), Some(AssetType::CloudResource));
    for nothing in [
        "iam::111122223333:root",
        "iam::111122223333:role/admin",
        "iam::aws:policy/SecurityAudit",
        "iam:us-east-1:111122223333:password-policy",
        "ec2:eu-west-1:111122223333:snapshot/snap-1",
        "ec2:eu-west-1::image/ami-1",
        "ec2:eu-west-1:111122223333:security-group/sg-1",
        "rds:eu-west-1:111122223333:snapshot:nightly",
        "rds:eu-west-1:111122223333:db",
        "s3:us-east-1:111122223333:account",
        "apigateway:eu-west-1::/restapis/a1/stages/prod",
        "backup:eu-west-1:111122223333:recovery-point:r-1",
    ] {
        assert_eq!(arn(nothing), None, "{nothing}");
    }
    let group = "/subscriptions/s/resourceGroups/g/providers";
    let azure = |rest: &str| is_asset("azure", &format!("{group}/{rest}"), "Other");
    assert_eq!(azure("Microsoft.Compute/virtualMachines/vm1"), Some(AssetType::VirtualMachine));
    assert_eq!(azure("Microsoft.Sql/servers/s1/databases/d1"), Some(AssetType::Database));
    assert_eq!(azure("Microsoft.Compute/snapshots/s1"), None);
    assert_eq!(azure("Microsoft.Network/networkSecurityGroups/n1"), None);
    assert_eq!(is_asset("azure", "AppInsights", "Microsoft.Compute/virtualMachines"), None);
    let machine = "compute.googleapis.com/Instance";
    assert_eq!(is_asset("gcp", "7312", machine), Some(AssetType::VirtualMachine));
    assert_eq!(is_asset("gcp", "111122223333", machine), None, "the project itself");
    assert_eq!(is_asset("gcp", "img", "compute.googleapis.com/Image"), None);
    assert_eq!(is_asset("kubernetes", "n-1", "Node"), Some(AssetType::Server));
    assert_eq!(is_asset("kubernetes", "p-1", "Pod"), None);
    assert_eq!(is_asset("m365", "p-1", "NotDefined"), None);
}

#[test]
fn an_azure_resource_is_one_however_its_id_is_written() {
    let cloud = r#"{"provider": "azure", "account": {"uid": "S"}}"#;
    let vm = |group: &str, machine: &str| {
        resource(&format!("/subscriptions/s/{group}/g/providers/Microsoft.Compute/{machine}/VM1"))
    };
    let file = array(&[
        finding(&[("cloud", cloud), ("resources", &vm("resourceGroups", "virtualMachines"))]),
        finding(&[("cloud", cloud), ("resources", &vm("resourcegroups", "VirtualMachines"))]),
    ]);
    let run = folded(Format::ProwlerOcsf, &file).unwrap();

    assert_eq!(run.scopes, ["azure/s"]);
    assert_eq!(run.assets.len(), 1);
    assert_eq!(counts(&run.observations[0]), (0, 1, 0));
    assert_eq!(run.observations[0].failing, [subject_hash(&run.assets[0].external_id)]);
}

#[test]
fn a_format_is_known_by_its_name() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse::<Format>().unwrap(), format);
        let is_own = format.tool() == format.as_str();
        let others =
            ["prowler", "securityhub", "xccdf", "nmap", "nessus", "openvas", "defender", "wazuh"];
        assert!(is_own || others.contains(&format.tool()), "{format}");
    }
    let message = "no-such-format".parse::<Format>().unwrap_err().to_string();
    assert!(
        message.contains("prowler-ocsf, prowler-csv, prowler-json, asff, securityhub-ocsf"),
        "{message}"
    );
}

/// One finding about one resource, in the three formats of one run.
fn in_all_formats(check: &str, uid: &str, region: &str) -> [(Format, Vec<u8>); 3] {
    let event = format!(r#"{{"event_code": "{check}", "product": {{"name": "Prowler"}}}}"#);
    let resources = format!(r#"[{{"uid": "{uid}", "name": "r", "region": "{region}"}}]"#);
    let ocsf = array(&[finding(&[("metadata", &event), ("resources", &resources)])]);
    let csv = format!(
        "PROVIDER;ACCOUNT_UID;CHECK_ID;STATUS;RESOURCE_UID;RESOURCE_NAME;REGION\n\
         aws;111122223333;{check};FAIL;{uid};r;{region}\n"
    );
    let asff = super::asff::file(&[&format!(
        r#""GeneratorId": "prowler-{check}", "Compliance": {{"Status": "FAILED"}},
           "Resources": [{{"Type": "X", "Id": "{uid}", "Region": "{region}"}}],"#
    )]);
    [
        (Format::ProwlerOcsf, ocsf),
        (Format::ProwlerCsv, csv.into_bytes()),
        (Format::Asff, asff.into_bytes()),
    ]
}

#[test]
fn what_there_is_once_in_each_region_is_known_by_its_region() {
    let root = "arn:aws:iam::111122223333:root";
    let group = "arn:aws:ec2:eu-west-1:111122223333:security-group/sg-1";
    let user = "arn:aws:iam::111122223333:user/alice";
    let recorder = "config_recorder_all_regions_enabled";
    let plain = |uid: &str| subject_hash(uid);
    for (check, uid, region, expect) in [
        (recorder, root, "us-east-1", regional_hash(root, "us-east-1")),
        (recorder, root, "eu-west-1", regional_hash(root, "eu-west-1")),
        (recorder, root, "global", plain(root)),
        ("ec2_x", group, "eu-west-1", plain(group)),
        ("ec2_x", group, "us-east-1", regional_hash(group, "us-east-1")),
        ("iam_root_mfa_enabled", root, "us-east-1", plain(root)),
        (recorder, user, "us-east-1", plain(user)),
    ] {
        for (format, file) in in_all_formats(check, uid, region) {
            let run = folded(format, file.as_slice()).unwrap();
            assert_eq!(run.observations[0].failing, [expect], "{format} {check} {uid} {region}");
        }
    }
}

#[test]
fn no_two_regions_of_a_resource_are_the_same_subject() {
    let regions = "us-east-1 us-east-2 us-west-1 us-west-2 af-south-1 ap-east-1 ap-east-2 ap-south-1 ap-south-2 \
                   ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 \
                   ap-southeast-7 ap-northeast-1 ap-northeast-2 ap-northeast-3 ca-central-1 ca-west-1 eu-central-1 \
                   eu-central-2 eu-west-1 eu-west-2 eu-west-3 eu-south-1 eu-south-2 eu-north-1 il-central-1 \
                   me-south-1 me-central-1 mx-central-1 sa-east-1 us-gov-east-1 us-gov-west-1 cn-north-1 \
                   cn-northwest-1";
    let id = "arn:aws:iam::111122223333:root";
    let mut all: Vec<u64> = regions.split(' ').map(|it| regional_hash(id, it)).collect();
    all.push(subject_hash(id));
    assert!(all.iter().all(|it| anywhere(*it) == anywhere(subject_hash(id))));
    let n = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), n);
}
