//! AWS, read from an account that breaks a call in one region at a time.

use std::collections::BTreeSet;

use posture::connect::reading::Group;

use super::{Fault, body, drive, faults, groups};
use crate::connect::aws::cloud::{Cloud, Script, json, read, refused, xml};
use crate::connect::aws::healthy::{
    block, group, groups as security_groups, report, report_xml, trails,
};
use crate::connect::vendor::told;

/// A name, and how it differs from an account in good order.
type Change = (&'static str, fn(&Script));

const WORLDS: [Change; 3] = [
    ("everything is wrong", |script| {
        weaken_identity(script);
        open_buckets(script);
        for region in ["us-east-1", "eu-west-1"] {
            weaken_region(script, region);
        }
    }),
    ("one region is wrong, and one of two buckets", |script| {
        weaken_region(script, "eu-west-1");
        open_buckets(script);
    }),
    ("in good order", |_| ()),
];

fn weaken_identity(script: &Script) {
    script.say_xml(
        "iam us-east-1 GetAccountSummary",
        "<GetAccountSummaryResponse><GetAccountSummaryResult><SummaryMap>\
         <entry><key>AccountMFAEnabled</key><value>0</value></entry>\
         <entry><key>AccountAccessKeysPresent</key><value>1</value></entry></SummaryMap>\
         </GetAccountSummaryResult></GetAccountSummaryResponse>",
    );
    let old = "bob,arn:aws:iam::222222222222:user/bob,2020-01-01T00:00:00+00:00,true,N/A,false,true,2020-01-01T00:00:00+00:00,N/A,\
               false,N/A,N/A";
    let all = format!("{}{old}\n", report());
    script.say_xml("iam us-east-1 GetCredentialReport", &report_xml(&all));
}

fn open_buckets(script: &Script) {
    script.say_xml("s3 us-east-1 /v20180820/configuration/publicAccessBlock", &block(false));
    let bucket = |name: &str| {
        format!("<Bucket><Name>{name}</Name><BucketRegion>us-east-1</BucketRegion></Bucket>")
    };
    let all = [bucket("closed"), bucket("open")].concat();
    script.say_xml(
        "s3 us-east-1 /",
        &format!("<ListAllMyBucketsResult><Buckets>{all}</Buckets></ListAllMyBucketsResult>"),
    );
    script.say_xml("s3 us-east-1 /closed publicAccessBlock", &block(true));
    script.say_xml("s3 us-east-1 /open publicAccessBlock", &block(false));
    let is_public = "<PolicyStatus><IsPublic>TRUE</IsPublic></PolicyStatus>";
    script.say_xml("s3 us-east-1 /open policyStatus", is_public);
}

fn weaken_region(script: &Script, region: &str) {
    let at = |service: &str, action: &str| format!("{service} {region} {action}");
    script
        .say_xml(&at("ec2", "DescribeSecurityGroups"), &security_groups(&group("sg-9", 3389), ""));
    let database = "<DBInstance><DBInstanceArn>arn:open</DBInstanceArn><DBInstanceIdentifier>open</DBInstanceIdentifier>\
                    <PubliclyAccessible>true</PubliclyAccessible><StorageEncrypted>false</StorageEncrypted></DBInstance>";
    let all = format!(
        "<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances>{database}</DBInstances>\
         </DescribeDBInstancesResult></DescribeDBInstancesResponse>"
    );
    script.say_xml(&at("rds", "DescribeDBInstances"), &all);
    let off = "<R><ebsEncryptionByDefault>false</ebsEncryptionByDefault></R>";
    script.say_xml(&at("ec2", "GetEbsEncryptionByDefault"), off);
    script.say(&at("guardduty", "/detector"), |_| json("{\"detectorIds\":[]}"));
    let here = region.to_owned();
    script.say(&at("cloudtrail", "DescribeTrails"), move |_| json(&trails(&here, false)));
    script.say(&at("cloudtrail", "GetTrailStatus"), |_| json("{\"IsLogging\":false}"));
}

/// `name`: of the call that fails.
fn read_world(change: fn(&Script), fault: Option<(&str, Fault)>) -> (Vec<Group>, BTreeSet<String>) {
    let cloud = Cloud::start();
    change(&cloud.script);
    if let Some((name, fault)) = fault {
        let name = name.to_owned();
        cloud.sink.put_before(move |request, server| {
            if read(request).0.name != name {
                return server(request);
            }
            match fault {
                Fault::Denied => refused(403, "AccessDenied", "You may not."),
                Fault::Failing => told(501, &[], "oops"),
                Fault::Cut => {
                    let whole = server(request);
                    let text = std::str::from_utf8(body(&whole)).unwrap();
                    let half = &text[..text.len() / 2];
                    if text.starts_with('{') { json(half) } else { xml(half) }
                }
            }
        });
    }
    let read = groups(cloud.read());
    let names = cloud.script.names().into_iter().filter(|it| !it.starts_with("sts "));
    (read, names.collect())
}

const CONTROLS: [&str; 11] = [
    "CLD-01", "CLD-02", "CLD-03", "CLD-04", "CLD-05", "CLD-06", "CLD-07", "CLD-10", "CLD-12",
    "CLD-24", "CLD-25",
];

#[test]
fn a_call_less_shows_no_more() {
    let names: BTreeSet<String> = WORLDS.iter().flat_map(|it| read_world(it.1, None).1).collect();
    let names: Vec<String> = names.into_iter().collect();
    let faults = faults(&names, String::clone);
    let law = drive("AWS", &WORLDS, &faults, |change, fault| {
        read_world(*change, fault.map(|(name, fault)| (name.as_str(), *fault))).0
    });
    law.end(CONTROLS);
}
