//! What each fault of AWS leaves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use posture::connect::reading::StreamState::{self, Denied, Failed, Partial};

use super::cloud::{Asked, Cloud, all, decided, refused, refused_by_ec2, stream, without, xml};
use super::healthy::{database, databases, group, groups};
use crate::connect::vendor::told;
use crate::harness::sink::Request;

type Say = fn(&Asked) -> Vec<u8>;
type Fault<'a> = (&'a str, &'a str, Say, &'a str, StreamState, &'a str, &'a [&'a str]);

const OF_REGIONS: &[&str] = &["CLD-07", "CLD-10", "CLD-12", "CLD-24", "CLD-25"];

fn no_action(_: &Asked) -> Vec<u8> {
    refused(
        403,
        "AccessDenied",
        "User: arn:x is not authorized to perform: iam:GetAccountSummary on resource: *",
    )
}

const FAULTS: [Fault<'static>; 15] = [
    (
        "a missing right",
        "iam us-east-1 GetAccountSummary",
        no_action,
        "account_summary",
        Denied,
        "not allowed; grant the action iam:GetAccountSummary",
        &["CLD-01", "CLD-02"],
    ),
    (
        "a right that AWS does not name",
        "ec2 eu-west-1 DescribeSecurityGroups",
        |_| refused_by_ec2(403, "UnauthorizedOperation", "You are not authorized."),
        "security_groups",
        Denied,
        "eu-west-1: not allowed; grant the action ec2:DescribeSecurityGroups",
        &["CLD-07", "CLD-10", "CLD-12"],
    ),
    (
        "a policy of the organization",
        "rds eu-west-1 DescribeDBInstances",
        |_| {
            refused(
                403,
                "AccessDenied",
                "not authorized to perform: rds:DescribeDBInstances on resource: * with an explicit deny in a service control policy",
            )
        },
        "databases",
        Denied,
        "eu-west-1: a service control policy of the organization denies rds:DescribeDBInstances",
        &["CLD-07", "CLD-12", "CLD-24", "CLD-25"],
    ),
    (
        "status 500",
        "cloudtrail us-east-1 DescribeTrails",
        |_| told(500, &[("Retry-After", "0")], "oops"),
        "trails",
        Failed,
        "us-east-1: AWS answered with status 500 and no reason",
        &["CLD-06"],
    ),
    (
        "XML that breaks off",
        "iam us-east-1 GetAccountSummary",
        |_| xml("<GetAccountSummaryResponse><GetAcc"),
        "account_summary",
        Failed,
        "the answer to iam:GetAccountSummary is not in the form that AWS documents",
        &["CLD-01", "CLD-02"],
    ),
    (
        "a body that breaks off",
        "iam us-east-1 GetAccountSummary",
        |_| b"HTTP/1.1 200 x\r\nContent-Length: 900\r\n\r\n<GetAccountSummaryResponse>".to_vec(),
        "account_summary",
        Failed,
        "AWS: ",
        &["CLD-01", "CLD-02"],
    ),
    (
        "HTML with 200",
        "ec2 us-east-1 DescribeRegions",
        |_| xml("<html><body>Sign in</body></html>"),
        "regions",
        Failed,
        "the answer to ec2:DescribeRegions is not in the form that AWS documents",
        OF_REGIONS,
    ),
    (
        "a list of regions that lacks one",
        "ec2 us-east-1 DescribeRegions",
        |_| xml("<R><regionInfo><item><regionName>eu-west-1</regionName></item></regionInfo></R>"),
        "regions",
        Failed,
        "the list of regions lacks us-east-1",
        OF_REGIONS,
    ),
    (
        "a report without a column",
        "iam us-east-1 GetCredentialReport",
        |_| xml(&super::healthy::report_xml("user,arn\n")),
        "credential_report",
        Failed,
        "the answer to iam:GetCredentialReport is not",
        &["CLD-03", "CLD-04"],
    ),
    (
        "a marker that repeats",
        "rds us-east-1 DescribeDBInstances",
        |_| xml(&databases(&database("a"), "<Marker>m</Marker>")),
        "databases",
        Partial,
        "us-east-1: rds:DescribeDBInstances: AWS sent the same page twice",
        &["CLD-07", "CLD-12", "CLD-24", "CLD-25"],
    ),
    (
        "rows that repeat under another marker",
        "rds us-east-1 DescribeDBInstances",
        |asked| {
            let n = asked.pairs.get("Marker").map_or(0, |it| it.parse::<u32>().unwrap());
            let marker = format!("<Marker>{}</Marker>", n + 1);
            xml(&databases(&database("a"), &marker))
        },
        "databases",
        Partial,
        "us-east-1: rds:DescribeDBInstances: AWS sent the same page twice",
        &["CLD-07", "CLD-12", "CLD-24", "CLD-25"],
    ),
    (
        "a list without an end",
        "ec2 us-east-1 DescribeSecurityGroups",
        endless,
        "security_groups",
        Partial,
        "us-east-1: ec2:DescribeSecurityGroups: more than 1000 pages are not read",
        &["CLD-07", "CLD-10", "CLD-12"],
    ),
    (
        "a region that was just enabled",
        "ec2 eu-west-1 GetEbsEncryptionByDefault",
        |_| refused_by_ec2(401, "AuthFailure", "AWS was not able to validate the credentials"),
        "volume_encryption",
        Partial,
        "eu-west-1: the region does not accept the session",
        &["CLD-12"],
    ),
    (
        "a region that is off",
        "ec2 eu-west-1 GetEbsEncryptionByDefault",
        |_| refused_by_ec2(401, "OptInRequired", "no"),
        "volume_encryption",
        Partial,
        "eu-west-1: the region is not enabled",
        &["CLD-12"],
    ),
    (
        "a detector of an unknown kind",
        "guardduty us-east-1 /detector/d1",
        |_| super::cloud::json("{}"),
        "guardduty_detectors",
        Partial,
        "us-east-1: the answer to guardduty:GetDetector is not",
        &["CLD-07"],
    ),
];

#[test]
fn what_is_not_read_decides_nothing_and_leaves_the_rest() {
    for (name, at, say, source, state, words, silent) in FAULTS {
        let cloud = Cloud::start();
        cloud.script.say(at, say);
        let reading = cloud.read();
        let found = stream(&reading, source);
        assert_eq!(found.state, state, "{name}: {found:?}");
        assert!(found.reason.starts_with(words), "{name}: {}", found.reason);
        assert_eq!(decided(&reading), without(silent), "{name}");
        let whole: Vec<bool> = reading.groups.iter().map(|it| it.is_whole).collect();
        assert_eq!(whole.iter().filter(|it| !**it).count(), 1, "{name}: {whole:?}");
    }
}

fn endless(asked: &Asked) -> Vec<u8> {
    let n: u64 = asked.pairs.get("NextToken").map_or(0, |it| it.parse().unwrap());
    xml(&groups(&group(&format!("sg-{n}"), 443), &format!("<nextToken>{}</nextToken>", n + 1)))
}

#[test]
fn what_asks_to_slow_down_is_asked_again() {
    let slow: [Say; 4] = [
        |_| told(429, &[("Retry-After", "1")], "{}"),
        |_| told(503, &[("Retry-After", "1")], "<Error><Code>SlowDown</Code></Error>"),
        |_| refused(400, "Throttling", "Rate exceeded"),
        |_| {
            told(400, &[("Retry-After", "1")], "{\"__type\":\"com.amazonaws#ThrottlingException\"}")
        },
    ];
    for (nth, say) in slow.into_iter().enumerate() {
        let cloud = Cloud::start();
        let n = AtomicUsize::new(0);
        cloud.script.say("iam us-east-1 GetAccountSummary", move |asked| {
            if n.fetch_add(1, Ordering::SeqCst) < 2 {
                return say(asked);
            }
            xml("<R><GetAccountSummaryResult><SummaryMap><entry><key>AccountMFAEnabled</key><value>1</value></entry>\
                 </SummaryMap></GetAccountSummaryResult></R>")
        });
        assert_eq!(decided(&cloud.read()), without(&["CLD-02"]), "{nth}");
        let is_it = |it: &Request| it.body.windows(17).any(|it| it == b"GetAccountSummary");
        let asked = cloud.sink.requests().into_iter().filter(is_it);
        let times: BTreeSet<String> =
            asked.map(|it| it.header("x-amz-date").unwrap().to_owned()).collect();
        assert_eq!(times.len(), 3, "each attempt is signed anew");
    }
}

#[test]
fn a_session_that_expires_between_two_pages_is_begun_anew_once() {
    let cloud = Cloud::start();
    let n = AtomicUsize::new(0);
    cloud.script.say("ec2 us-east-1 DescribeSecurityGroups", move |asked| {
        match asked.pairs.get("NextToken") {
            None => xml(&groups(&group("sg-1", 443), "<nextToken>2</nextToken>")),
            Some(_) if n.fetch_add(1, Ordering::SeqCst) == 0 => {
                refused_by_ec2(400, "ExpiredToken", "The token has expired")
            }
            Some(_) => xml(&groups(&group("sg-2", 443), "")),
        }
    });
    let reading = cloud.read();
    assert_eq!(stream(&reading, "security_groups").n_rows, 3);
    assert_eq!((decided(&reading), cloud.script.n_sessions()), (all(), 2));
    cloud
        .script
        .say("ec2 us-east-1 DescribeSecurityGroups", |_| refused_by_ec2(400, "ExpiredToken", "x"));
    let reading = cloud.read();
    assert_eq!(stream(&reading, "security_groups").reason, "us-east-1: the session has expired");
    assert_eq!(cloud.script.n_sessions(), 4);
}
