//! An account in good order, in the forms that AWS documents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::cloud::Script;

/// The credential report of the root user and Ann, who made a key a month ago.
pub fn report() -> String {
    let now = jiff::Timestamp::now();
    let month_ago =
        (now - jiff::SignedDuration::from_hours(24 * 30)).strftime("%Y-%m-%dT%H:%M:%S+00:00");
    let today = now.strftime("%Y-%m-%dT%H:%M:%S+00:00");
    let head = "user,arn,user_creation_time,password_enabled,password_last_used,mfa_active,access_key_1_active,\
                access_key_1_last_rotated,access_key_1_last_used_date,access_key_2_active,access_key_2_last_rotated,\
                access_key_2_last_used_date";
    let root = "<root_account>,arn:aws:iam::222222222222:root,2020-01-01T00:00:00+00:00,not_supported,N/A,true,false,N/A,N/A,\
                false,N/A,N/A";
    let ann = format!(
        "ann,arn:aws:iam::222222222222:user/ann,2020-01-01T00:00:00+00:00,true,N/A,true,true,{month_ago},{today},false,N/A,N/A"
    );
    format!("{head}\n{root}\n{ann}\n")
}

pub fn report_xml(report: &str) -> String {
    format!(
        "<GetCredentialReportResponse><GetCredentialReportResult><Content>{}</Content>\
         <ReportFormat>text/csv</ReportFormat></GetCredentialReportResult></GetCredentialReportResponse>",
        BASE64_STANDARD.encode(report)
    )
}

/// A security group with this id that opens a port to everyone.
pub fn group(id: &str, port: u16) -> String {
    format!(
        "<item><groupId>{id}</groupId><groupName>web</groupName><ipPermissions><item><ipProtocol>tcp</ipProtocol>\
         <fromPort>{port}</fromPort><toPort>{port}</toPort><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp></item></ipRanges></item>\
         </ipPermissions></item>"
    )
}

pub fn groups(items: &str, next: &str) -> String {
    format!(
        "<DescribeSecurityGroupsResponse><securityGroupInfo>{items}</securityGroupInfo>{next}</DescribeSecurityGroupsResponse>"
    )
}

pub fn database(name: &str) -> String {
    format!(
        "<DBInstance><DBInstanceArn>arn:{name}</DBInstanceArn><DBInstanceIdentifier>{name}</DBInstanceIdentifier>\
         <PubliclyAccessible>false</PubliclyAccessible><StorageEncrypted>true</StorageEncrypted></DBInstance>"
    )
}

pub fn databases(items: &str, next: &str) -> String {
    format!(
        "<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances>{items}</DBInstances>{next}\
         </DescribeDBInstancesResult></DescribeDBInstancesResponse>"
    )
}

pub fn block(is_on: bool) -> String {
    let each =
        ["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"];
    let each = each.map(|it| format!("<{it}>{is_on}</{it}>")).concat();
    format!("<PublicAccessBlockConfiguration>{each}</PublicAccessBlockConfiguration>")
}

pub fn trails(home: &str, is_everywhere: bool) -> String {
    format!(
        "{{\"trailList\":[{{\"Name\":\"main\",\"TrailARN\":\"arn:aws:cloudtrail:{home}:222222222222:trail/main\",\
         \"IsMultiRegionTrail\":{is_everywhere},\"LogFileValidationEnabled\":true,\"HomeRegion\":\"{home}\"}}]}}"
    )
}

pub fn say(script: &Script) {
    script.say_xml(
        "iam us-east-1 GetAccountSummary",
        "<GetAccountSummaryResponse><GetAccountSummaryResult><SummaryMap>\
         <entry><key>AccountMFAEnabled</key><value>1</value></entry>\
         <entry><key>AccountAccessKeysPresent</key><value>0</value></entry></SummaryMap>\
         </GetAccountSummaryResult></GetAccountSummaryResponse>",
    );
    script.say_xml(
        "iam us-east-1 GenerateCredentialReport",
        "<GenerateCredentialReportResponse><GenerateCredentialReportResult><State>COMPLETE</State>\
         </GenerateCredentialReportResult></GenerateCredentialReportResponse>",
    );
    script.say_xml("iam us-east-1 GetCredentialReport", &report_xml(&report()));
    script.say_xml("s3 us-east-1 /v20180820/configuration/publicAccessBlock", &block(true));
    script.say_xml(
        "ec2 us-east-1 DescribeRegions",
        "<DescribeRegionsResponse><regionInfo><item><regionName>us-east-1</regionName></item>\
         <item><regionName>eu-west-1</regionName></item></regionInfo></DescribeRegionsResponse>",
    );
    script.say_json_everywhere("cloudtrail", "DescribeTrails", &trails("us-east-1", true));
    script.say_json_everywhere("cloudtrail", "GetTrailStatus", "{\"IsLogging\":true}");
    script.say_xml_everywhere("ec2", "DescribeSecurityGroups", &groups(&group("sg-1", 443), ""));
    script.say_xml_everywhere("rds", "DescribeDBInstances", &databases(&database("shop"), ""));
    script.say_xml_everywhere(
        "ec2",
        "GetEbsEncryptionByDefault",
        "<R><ebsEncryptionByDefault>true</ebsEncryptionByDefault></R>",
    );
    script.say_json_everywhere("guardduty", "/detector", "{\"detectorIds\":[\"d1\"]}");
    script.say_json_everywhere("guardduty", "/detector/d1", "{\"status\":\"ENABLED\"}");
}
