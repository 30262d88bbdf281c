//! AWS's answers, read. `None`: not in the form that AWS documents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::account::{
    AccessKey, Database, IngressRule, LastUse, PublicAccess, SecurityGroup, Summary, Trail, User,
};
use super::sign::Credentials;
use super::xml::Element;

/// Where a page says how the next one is found.
#[derive(Clone, Copy, Debug)]
pub enum NextPage {
    /// The names of elements, from the root down.
    Xml(&'static [&'static str]),
    /// A member of an object.
    Json(&'static str),
}

/// What finds the next page. Empty: it was the last one.
#[must_use]
pub fn next_page(text: &str, at: &NextPage) -> Option<String> {
    match at {
        NextPage::Xml(path) => {
            let root = Element::parse(text)?;
            Some(root.at(path).map(|it| it.text.clone()).unwrap_or_default())
        }
        NextPage::Json(name) => match serde_json::from_str::<Value>(text).ok()?.get(name) {
            None | Some(Value::Null) => Some(String::new()),
            Some(it) => it.as_str().map(str::to_owned),
        },
    }
}

/// The account in `GetCallerIdentity` of STS.
#[must_use]
pub fn caller_account(xml: &str) -> Option<String> {
    let root = Element::parse(xml)?;
    root.child("GetCallerIdentityResult")?.text_of("Account").map(str::to_owned)
}

/// `AssumeRole` of STS.
#[must_use]
pub fn session(xml: &str) -> Option<Credentials> {
    let root = Element::parse(xml)?;
    let found = root.at(&["AssumeRoleResult", "Credentials"])?;
    Some(Credentials {
        key_id: found.text_of("AccessKeyId")?.to_owned(),
        secret: found.text_of("SecretAccessKey")?.to_owned(),
        session_token: Some(found.text_of("SessionToken")?.to_owned()),
    })
}

/// `GenerateCredentialReport` of IAM: whether the report can be fetched.
#[must_use]
pub fn is_report_ready(xml: &str) -> Option<bool> {
    let root = Element::parse(xml)?;
    let state = root.child("GenerateCredentialReportResult")?.text_of("State")?;
    ["STARTED", "INPROGRESS", "COMPLETE"].contains(&state).then_some(state == "COMPLETE")
}

/// `GetCredentialReport` of IAM: the report as CSV.
#[must_use]
pub fn report_csv(xml: &str) -> Option<String> {
    let root = Element::parse(xml)?;
    let content = root.child("GetCredentialReportResult")?.text_of("Content")?;
    let content: String = content.split_whitespace().collect();
    String::from_utf8(BASE64_STANDARD.decode(content).ok()?).ok()
}

/// `GetAccountSummary` of IAM.
#[must_use]
pub fn summary(xml: &str) -> Option<Summary> {
    let root = Element::parse(xml)?;
    let map = root.at(&["GetAccountSummaryResult", "SummaryMap"])?;
    let number = |key: &str| {
        let entry = map.children.iter().find(|it| it.text_of("key") == Some(key))?;
        entry.text_of("value")?.parse::<u32>().ok()
    };
    let has_mfa = number("AccountMFAEnabled").map(|it| it != 0);
    Some(Summary { has_mfa, n_access_keys: number("AccountAccessKeysPresent") })
}

/// The credential report of IAM, as CSV. A row that lacks a column makes it unreadable, and so does the lack of all rows: it
/// always has one for the root user.
#[must_use]
pub fn credential_report(csv: &str) -> Option<Vec<User>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headers = reader.headers().ok()?.clone();
    let column = |name: &str| headers.iter().position(|it| it == name);
    let [name, arn] = [column("user")?, column("arn")?];
    let [password, mfa] = [column("password_enabled")?, column("mfa_active")?];
    let key = |n: u8| {
        Some([
            column(&format!("access_key_{n}_active"))?,
            column(&format!("access_key_{n}_last_rotated"))?,
            column(&format!("access_key_{n}_last_used_date"))?,
        ])
    };
    let keys = [key(1)?, key(2)?];
    let mut users = Vec::new();
    for row in reader.records() {
        let row = row.ok()?;
        let flag = |at: usize| match row.get(at)? {
            "true" | "TRUE" => Some(true),
            "false" | "FALSE" => Some(false),
            _ => None,
        };
        let key = |[active, made, used]: [usize; 3]| AccessKey {
            is_active: flag(active),
            made_at: row.get(made).and_then(|it| it.parse().ok()),
            last_used: match row.get(used) {
                Some("N/A") => LastUse::Never,
                other => {
                    let time = other.and_then(|it| it.parse().ok());
                    time.map_or(LastUse::Unknown, LastUse::At)
                }
            },
        };
        users.push(User {
            name: row.get(name)?.to_owned(),
            arn: row.get(arn)?.to_owned(),
            has_password: flag(password),
            has_mfa: flag(mfa),
            keys: keys.map(key).to_vec(),
        });
    }
    (!users.is_empty()).then_some(users)
}

/// `GetPublicAccessBlock` of S3, of an account or a bucket.
#[must_use]
pub fn public_access(xml: &str) -> Option<PublicAccess> {
    let root = Element::parse(xml)?;
    if root.name != "PublicAccessBlockConfiguration" {
        return None;
    }
    Some(PublicAccess {
        block_acls: root.flag("BlockPublicAcls")?,
        ignore_acls: root.flag("IgnorePublicAcls")?,
        block_policy: root.flag("BlockPublicPolicy")?,
        restrict_buckets: root.flag("RestrictPublicBuckets")?,
    })
}

/// `GetBucketPolicyStatus` of S3.
#[must_use]
pub fn is_policy_public(xml: &str) -> Option<bool> {
    let root = Element::parse(xml)?;
    root.flag("IsPublic").filter(|_| root.name == "PolicyStatus")
}

/// A bucket as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBucket {
    pub name: String,
    /// `None`: S3 does not say.
    pub region: Option<String>,
}

/// `ListBuckets` of S3.
#[must_use]
pub fn listed_buckets(xml: &str) -> Option<Vec<ListedBucket>> {
    let root = Element::parse(xml)?;
    let bucket = |it: &Element| {
        let region = it.text_of("BucketRegion").filter(|it| is_region(it)).map(str::to_owned);
        Some(ListedBucket { name: it.text_of("Name")?.to_owned(), region })
    };
    root.child("Buckets")?.children.iter().map(bucket).collect()
}

/// `DescribeTrails` of `CloudTrail`, each once. Whether it is logging is asked apart.
#[must_use]
pub fn trails(json: &str) -> Option<Vec<Trail>> {
    let answer: Value = serde_json::from_str(json).ok()?;
    let rows = answer.get("trailList")?.as_array()?;
    let mut trails = Vec::new();
    for row in rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let flag = |name: &str| row.get(name).and_then(Value::as_bool);
        let trail = Trail {
            name: text("Name")?,
            arn: text("TrailARN")?,
            is_multi_region: flag("IsMultiRegionTrail"),
            is_validated: flag("LogFileValidationEnabled"),
            is_logging: None,
        };
        if !trails.contains(&trail) {
            trails.push(trail);
        }
    }
    Some(trails)
}

/// `GetTrailStatus` of `CloudTrail`.
#[must_use]
pub fn is_logging(json: &str) -> Option<bool> {
    let answer: Value = serde_json::from_str(json).ok()?;
    answer.get("IsLogging")?.as_bool()
}

/// `GetDetector` of `GuardDuty`.
#[must_use]
pub fn is_detecting(json: &str) -> Option<bool> {
    let answer: Value = serde_json::from_str(json).ok()?;
    match answer.get("status")?.as_str()? {
        "ENABLED" => Some(true),
        "DISABLED" => Some(false),
        _ => None,
    }
}

/// The ids in `ListDetectors` of `GuardDuty`.
#[must_use]
pub fn detector_ids(json: &str) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_str(json).ok()?;
    let ids = answer.get("detectorIds")?.as_array()?;
    ids.iter().map(|it| Some(it.as_str()?.to_owned())).collect()
}

/// The names in `DescribeRegions` of EC2.
#[must_use]
pub fn region_names(xml: &str) -> Option<Vec<String>> {
    let root = Element::parse(xml)?;
    let name =
        |it: &Element| it.text_of("regionName").filter(|it| is_region(it)).map(str::to_owned);
    root.child("regionInfo")?.children.iter().map(name).collect()
}

/// It can be a part of a host name.
#[must_use]
pub fn is_region(text: &str) -> bool {
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(plain)
}

/// `DescribeSecurityGroups` of EC2.
#[must_use]
pub fn security_groups(xml: &str) -> Option<Vec<SecurityGroup>> {
    let root = Element::parse(xml)?;
    let groups = root.child("securityGroupInfo")?;
    groups.children.iter().map(security_group).collect()
}

fn security_group(group: &Element) -> Option<SecurityGroup> {
    Some(SecurityGroup {
        id: group.text_of("groupId")?.to_owned(),
        name: group.text_of("groupName")?.to_owned(),
        rules: group.items("ipPermissions").iter().map(ingress_rule).collect::<Option<_>>()?,
    })
}

fn ingress_rule(rule: &Element) -> Option<IngressRule> {
    let port = |name: &str| rule.text_of(name).map(str::parse::<i32>);
    let ports = match (port("fromPort"), port("toPort")) {
        (None, None) => None,
        (Some(from), Some(to)) => Some((from.ok()?, to.ok()?)),
        (Some(_), None) | (None, Some(_)) => return None,
    };
    let ranges = [("ipRanges", "cidrIp"), ("ipv6Ranges", "cidrIpv6")];
    let ranges = ranges.iter().flat_map(|(list, name)| {
        rule.items(list).iter().map(|it| it.text_of(name).map(str::to_owned))
    });
    Some(IngressRule {
        protocol: rule.text_of("ipProtocol")?.to_owned(),
        ports,
        ranges: ranges.collect::<Option<_>>()?,
    })
}

/// `GetEbsEncryptionByDefault` of EC2.
#[must_use]
pub fn encrypts_volumes(xml: &str) -> Option<bool> {
    Element::parse(xml)?.flag("ebsEncryptionByDefault")
}

/// `DescribeDBInstances` of RDS.
#[must_use]
pub fn databases(xml: &str) -> Option<Vec<Database>> {
    let root = Element::parse(xml)?;
    let list = root.at(&["DescribeDBInstancesResult", "DBInstances"])?;
    let database = |it: &Element| {
        Some(Database {
            arn: it.text_of("DBInstanceArn")?.to_owned(),
            name: it.text_of("DBInstanceIdentifier")?.to_owned(),
            is_public: it.flag("PubliclyAccessible"),
            is_encrypted: it.flag("StorageEncrypted"),
        })
    };
    list.children.iter().map(database).collect()
}
