//! The test that needs moto and the findings that Prowler made of the same state of moto.

use std::collections::{BTreeMap, BTreeSet};

use posture::connect::reading::StreamState::Complete;
use serde_json::Value;

use super::cloud::{decided, streams};
use super::moto::{Moto, config};
use crate::harness::sample;

/// The account whose findings are in the samples.
const SEED: &str = r"
iam = client('iam')
for name in ['alice', 'bob', 'svc-backup']:
    iam.create_user(UserName=name)
for name in ['alice', 'bob']:
    iam.create_login_profile(UserName=name, Password='Secret.123456')
    iam.create_access_key(UserName=name)
s3 = client('s3')
for name in ['client-files-us-east-1', 'logs-us-east-1']:
    s3.create_bucket(Bucket=name)
trail = client('cloudtrail')
trail.create_trail(Name='main', S3BucketName='logs-us-east-1', IsMultiRegionTrail=True)
trail.start_logging(Name='main')
client('guardduty').create_detector(Enable=True)
ec2 = client('ec2')
ec2.create_security_group(GroupName='web', Description='web', VpcId=ec2.describe_vpcs()['Vpcs'][0]['VpcId'])
regions = [it['RegionName'] for it in ec2.describe_regions()['Regions']]
print(json.dumps({'key': {'AccessKeyId': 'any', 'SecretAccessKey': 'any'}, 'regions': regions}))
";

/// Which of Prowler's checks are about the same as ours.
const SAME: [(&str, &[&str]); 4] = [
    ("CLD-03", &["iam_user_mfa_enabled_console_access"]),
    ("CLD-04", &["iam_rotate_access_key_90_days", "iam_user_accesskey_unused"]),
    ("CLD-06", &["cloudtrail_multi_region_enabled", "cloudtrail_log_file_validation_enabled"]),
    ("CLD-07", &["guardduty_is_enabled"]),
];

/// The resources that Prowler failed, and how many it passed, by check.
fn of_prowler() -> BTreeMap<String, (BTreeSet<String>, usize)> {
    let findings: Value =
        serde_json::from_slice(&sample::foreign("prowler/aws_moto_small.ocsf.json")).unwrap();
    let mut found: BTreeMap<String, (BTreeSet<String>, usize)> = BTreeMap::new();
    for it in findings.as_array().unwrap() {
        let check = it["metadata"]["event_code"].as_str().unwrap();
        let (failing, n_passed) = found.entry(check.to_owned()).or_default();
        match it["status_code"].as_str().unwrap() {
            "FAIL" => drop(failing.insert(it["resources"][0]["uid"].as_str().unwrap().to_owned())),
            "PASS" => *n_passed += 1,
            _ => (),
        }
    }
    found
}

#[test]
#[ignore = "needs moto and the samples"]
fn the_same_account_is_judged_as_by_prowler() {
    let moto = Moto::start();
    let seeded = moto.seed(SEED);
    let regions: Vec<&str> =
        seeded["regions"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let config = posture::connect::aws::AwsConfig {
        role_arn: None,
        ..config("123456789012", &seeded["key"], "")
    };
    let reading = moto.read(&config, &regions);
    assert!(streams(&reading).all(|it| it.state == Complete), "{reading:?}");
    let prowler = of_prowler();
    for (control, checks) in SAME {
        let theirs: Vec<&(BTreeSet<String>, usize)> =
            checks.iter().map(|it| &prowler[*it]).collect();
        let failing: BTreeSet<&String> = theirs.iter().flat_map(|it| &it.0).collect();
        let n_passed: usize = theirs.iter().map(|it| it.1).sum();
        let expected = match (control, failing.len(), n_passed) {
            // What these look at is less than the control asks for.
            ("CLD-05" | "CLD-07" | "CLD-12" | "CLD-24" | "CLD-25", 0, _) => "partial",
            (_, 0, _) => "compliant",
            // A trail that is not validated still records.
            ("CLD-06", _, 1..) => "partial",
            _ => "non_compliant",
        };
        assert!(
            decided(&reading).contains(&(control, expected)),
            "{control}: {:?}",
            decided(&reading)
        );
        let ours =
            reading.groups.iter().flat_map(|it| &it.observations).find(|it| it.control == control);
        if let Some(count) = &ours.unwrap().count {
            assert_eq!(count.failing.iter().collect::<BTreeSet<_>>(), failing, "{control}");
        }
    }
    // Prowler knows the access control lists of buckets, which are not read, so that nothing is said here.
    assert!(!decided(&reading).iter().any(|it| it.0 == "CLD-05"), "{:?}", decided(&reading));
    assert_eq!(prowler["s3_bucket_public_access"].0.len(), 0);
}
