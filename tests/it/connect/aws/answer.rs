//! Answers of AWS, in the forms that it documents.

use posture::connect::aws::answer::{
    ListedBucket, credential_report, databases, encrypts_volumes, is_detecting, is_logging,
    is_policy_public, listed_buckets, public_access, region_names, security_groups, summary,
    trails,
};
use posture::connect::aws::{Database, IngressRule, LastUse, PublicAccess, SecurityGroup, Summary};
use proptest::prelude::*;

const REPORT: &str = "\
user,arn,user_creation_time,password_enabled,password_last_used,password_last_changed,password_next_rotation,mfa_active,\
access_key_1_active,access_key_1_last_rotated,access_key_1_last_used_date,access_key_1_last_used_region,\
access_key_1_last_used_service,access_key_2_active,access_key_2_last_rotated,access_key_2_last_used_date,\
access_key_2_last_used_region,access_key_2_last_used_service,cert_1_active,cert_1_last_rotated,cert_2_active,\
cert_2_last_rotated
<root_account>,arn:aws:iam::123456789012:root,2020-01-01T00:00:00+00:00,not_supported,2026-01-01T00:00:00+00:00,\
not_supported,not_supported,true,false,N/A,N/A,N/A,N/A,false,N/A,N/A,N/A,N/A,false,N/A,false,N/A
ann,arn:aws:iam::123456789012:user/ann,2020-01-01T00:00:00+00:00,true,no_information,2020-01-01T00:00:00+00:00,N/A,false,\
true,2026-10-01T00:00:00+00:00,2026-11-20T00:00:00+00:00,us-east-1,s3,true,2026-10-02T00:00:00+00:00,no_information,N/A,\
N/A,false,N/A,false,N/A
";

#[test]
fn the_credential_report_is_read() {
    let users = credential_report(REPORT).unwrap();
    let [root, ann] = &users[..] else { panic!("{users:?}") };
    assert_eq!(
        (root.name.as_str(), root.has_password, root.has_mfa),
        ("<root_account>", None, Some(true))
    );
    assert_eq!(root.keys[0].is_active, Some(false));
    assert_eq!(root.keys[0].last_used, LastUse::Never);
    assert_eq!((ann.has_password, ann.has_mfa), (Some(true), Some(false)));
    assert_eq!(ann.keys[0].made_at, Some("2026-10-01T00:00:00Z".parse().unwrap()));
    assert_eq!(ann.keys[0].last_used, LastUse::At("2026-11-20T00:00:00Z".parse().unwrap()));
    assert_eq!(ann.keys[1].last_used, LastUse::Unknown);
    assert_eq!(
        credential_report(&REPORT.replace("mfa_active", "mfa")),
        None,
        "a column is not there"
    );
    assert_eq!(
        credential_report(&REPORT.replace(",cert_2_last_rotated", "")),
        None,
        "rows are longer"
    );
    assert_eq!(credential_report(""), None);
}

#[test]
fn answers_in_xml_are_read() {
    let text = "<GetAccountSummaryResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><GetAccountSummaryResult>\
                <SummaryMap><entry><key>AccountMFAEnabled</key><value>1</value></entry>\
                <entry><key>AccountAccessKeysPresent</key><value>2</value></entry></SummaryMap>\
                </GetAccountSummaryResult></GetAccountSummaryResponse>";
    assert_eq!(summary(text), Some(Summary { has_mfa: Some(true), n_access_keys: Some(2) }));
    let less = text.replace("AccountMFAEnabled", "Other");
    assert_eq!(summary(&less).unwrap().has_mfa, None);
    let block = "<?xml version=\"1.0\"?><PublicAccessBlockConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                 <BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true</IgnorePublicAcls>\
                 <BlockPublicPolicy>false</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets>\
                 </PublicAccessBlockConfiguration>";
    let expected = PublicAccess {
        block_acls: true,
        ignore_acls: true,
        block_policy: false,
        restrict_buckets: true,
    };
    assert_eq!(public_access(block), Some(expected));
    assert_eq!(public_access(&block.replace("IgnorePublicAcls", "Other")), None);
    assert_eq!(public_access("<Error><Code>AccessDenied</Code></Error>"), None);
    let public = "<PolicyStatus xmlns=\"x\"><IsPublic>TRUE</IsPublic></PolicyStatus>";
    assert_eq!(is_policy_public(public), Some(true));
    assert_eq!(is_policy_public(&public.replace("TRUE", "false")), Some(false));
    let buckets = "<ListAllMyBucketsResult><Buckets><Bucket><Name>a&amp;&#98;</Name></Bucket><Bucket><Name>c</Name>\
                   <BucketRegion>eu-west-1</BucketRegion></Bucket></Buckets></ListAllMyBucketsResult>";
    let bucket = |name: &str, region: Option<&str>| ListedBucket {
        name: name.to_owned(),
        region: region.map(str::to_owned),
    };
    let expected = vec![bucket("a&b", None), bucket("c", Some("eu-west-1"))];
    assert_eq!(listed_buckets(buckets), Some(expected));
    let none = "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>";
    assert_eq!(listed_buckets(none), Some(vec![]));
    assert_eq!(listed_buckets("<html><body>busy</body></html>"), None);
    let regions = "<DescribeRegionsResponse><regionInfo><item><regionName>eu-west-1</regionName></item></regionInfo>\
                   </DescribeRegionsResponse>";
    assert_eq!(region_names(regions), Some(vec!["eu-west-1".to_owned()]));
    let odd = regions.replace("eu-west-1", "evil.example/");
    assert_eq!(region_names(&odd), None, "it becomes a part of host names");
    let volumes = "<R><ebsEncryptionByDefault>true</ebsEncryptionByDefault></R>";
    assert_eq!(encrypts_volumes(volumes), Some(true));
}

#[test]
fn security_groups_and_databases_are_read() {
    let groups = "<DescribeSecurityGroupsResponse><securityGroupInfo><item><groupId>sg-1</groupId><groupName>web</groupName>\
        <ipPermissions><item><ipProtocol>tcp</ipProtocol><fromPort>22</fromPort><toPort>22</toPort><groups/>\
        <ipRanges><item><cidrIp>0.0.0.0/0</cidrIp></item></ipRanges>\
        <ipv6Ranges><item><cidrIpv6>::/0</cidrIpv6></item></ipv6Ranges></item>\
        <item><ipProtocol>-1</ipProtocol><ipRanges/></item></ipPermissions>\
        <ipPermissionsEgress><item><ipProtocol>-1</ipProtocol></item></ipPermissionsEgress></item></securityGroupInfo>\
        </DescribeSecurityGroupsResponse>";
    let rules = vec![
        IngressRule {
            protocol: "tcp".to_owned(),
            ports: Some((22, 22)),
            ranges: vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()],
        },
        IngressRule { protocol: "-1".to_owned(), ports: None, ranges: vec![] },
    ];
    let group = SecurityGroup { id: "sg-1".to_owned(), name: "web".to_owned(), rules };
    assert_eq!(security_groups(groups), Some(vec![group]));
    for odd in [
        ("fromPort>22<", "fromPort>ssh<"),
        ("cidrIp>", "cidr>"),
        ("groupId", "id"),
        ("<toPort>22</toPort>", ""),
    ] {
        assert_eq!(security_groups(&groups.replace(odd.0, odd.1)), None, "{odd:?}");
    }
    let text = "<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances><DBInstance>\
        <DBInstanceIdentifier>shop</DBInstanceIdentifier><DBInstanceArn>arn:shop</DBInstanceArn>\
        <PubliclyAccessible>true</PubliclyAccessible><StorageEncrypted>false</StorageEncrypted></DBInstance></DBInstances>\
        </DescribeDBInstancesResult></DescribeDBInstancesResponse>";
    let database = Database {
        arn: "arn:shop".to_owned(),
        name: "shop".to_owned(),
        is_public: Some(true),
        is_encrypted: Some(false),
    };
    assert_eq!(databases(text), Some(vec![database]));
}

#[test]
fn answers_in_json_are_read() {
    let text = r#"{"trailList": [{"Name": "all", "TrailARN": "arn:all", "IsMultiRegionTrail": true,
                   "LogFileValidationEnabled": true}, {"Name": "all", "TrailARN": "arn:all",
                   "IsMultiRegionTrail": true, "LogFileValidationEnabled": true}]}"#;
    let trails = trails(text).unwrap();
    assert_eq!(trails.len(), 1, "a trail is listed in each region that it records");
    assert_eq!(
        (trails[0].is_multi_region, trails[0].is_validated, trails[0].is_logging),
        (Some(true), Some(true), None)
    );
    assert_eq!(is_logging(r#"{"IsLogging": false}"#), Some(false));
    assert_eq!(is_logging(r#"{"IsLogging": "no"}"#), None);
    assert_eq!(is_detecting(r#"{"status": "ENABLED"}"#), Some(true));
    assert_eq!(is_detecting(r#"{"status": "DISABLED"}"#), Some(false));
    assert_eq!(is_detecting(r#"{"status": "LATER"}"#), None);
}

#[test]
fn an_answer_that_is_too_deep_or_names_entities_is_refused() {
    let nested = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
    assert_eq!(encrypts_volumes(&nested(100_000)), None);
    for text in [
        "<!DOCTYPE a [<!ENTITY b \"c\">]><R><ebsEncryptionByDefault>true</ebsEncryptionByDefault></R>",
        "<R><ebsEncryptionByDefault>&b;true</ebsEncryptionByDefault></R>",
        "<R><ebsEncryptionByDefault>true</ebsEncryptionByDefault>",
        "<R><ebsEncryptionByDefault>true</ebsEncryptionByDefault></R><R/>",
    ] {
        assert_eq!(encrypts_volumes(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in "[<>/&;a-zA-Z0-9\"={}:,\\[\\] \n!?-]{0,200}") {
        let _ = (summary(&text), credential_report(&text), public_access(&text), is_policy_public(&text));
        let _ = (listed_buckets(&text), trails(&text), is_logging(&text), is_detecting(&text));
        let _ = (region_names(&text), security_groups(&text), encrypts_volumes(&text), databases(&text));
    }
}
