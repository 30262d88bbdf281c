//! An account that is read: what is asked, and what each fault leaves.

use std::sync::atomic::{AtomicUsize, Ordering};

use posture::clock::Clock;
use posture::connect::aws::AwsConfig;
use posture::connect::reading::StreamState::{Complete, Denied, Failed, Partial};
use posture::connect::reading::{Reading, StreamState};

use super::cloud::{
    ACCOUNT, Asked, Cloud, KEY_ID, SECRET, config, decided, refused, refused_by_ec2, refused_by_s3,
    stream, streams, xml,
};
use super::healthy::{block, database, databases, group, groups, trails};
use crate::connect::vendor::told;

const ALL: [(&str, &str); 10] = [
    ("CLD-01", "compliant"),
    ("CLD-02", "compliant"),
    ("CLD-03", "compliant"),
    ("CLD-04", "compliant"),
    ("CLD-05", "compliant"),
    ("CLD-06", "compliant"),
    ("CLD-07", "compliant"),
    ("CLD-10", "compliant"),
    ("CLD-12", "compliant"),
    ("CLD-24", "compliant"),
];

fn all() -> Vec<(&'static str, &'static str)> {
    ALL.into_iter().chain([("CLD-25", "compliant")]).collect()
}

fn without(controls: &[&str]) -> Vec<(&'static str, &'static str)> {
    all().into_iter().filter(|it| !controls.contains(&it.0)).collect()
}

/// Why nothing was read.
fn refusal(reading: &Reading) -> &str {
    assert_eq!(streams(reading).count(), 1, "{reading:?}");
    assert_eq!(decided(reading), []);
    &stream(reading, "sign_in").reason
}

#[test]
fn an_account_in_good_order_decides_eleven_controls() {
    let cloud = Cloud::start();
    let reading = cloud.read();
    assert!(streams(&reading).all(|it| it.state == Complete), "{reading:?}");
    assert!(reading.groups.iter().all(|it| it.is_whole));
    assert_eq!(decided(&reading), all());
    let asked = cloud.script.asked();
    let is_session = |it: &&Asked| !it.token.is_empty();
    assert_eq!(
        asked.iter().filter(|it| !is_session(it)).count(),
        1,
        "the role is assumed with the key"
    );
    let change = asked.iter().find(|it| {
        let action = it.name.rsplit(' ').next().unwrap();
        !["Get", "Describe", "GenerateCredentialReport", "AssumeRole", "/"]
            .iter()
            .any(|it| action.starts_with(it))
    });
    assert!(change.is_none(), "{change:?}");
    let notes = &reading.groups[0].notes;
    assert_eq!(notes[0], ("account".to_owned(), ACCOUNT.to_owned()));
    assert_eq!(notes[1], ("external_id".to_owned(), "e-1".to_owned()));
}

#[test]
fn a_key_or_role_that_is_not_accepted_is_said_with_what_to_do() {
    let cloud = Cloud::start();
    let with = |change: fn(&mut AwsConfig)| {
        let mut config = config();
        change(&mut config);
        cloud.read_with(&config, Clock::System)
    };
    for (name, change, words) in [
        (
            "an unknown key",
            (|it| it.key.key_id = "AKIAOTHER".to_owned()) as fn(&mut AwsConfig),
            "AWS does not know the access key",
        ),
        (
            "a wrong secret",
            |it| it.key.secret = "other".to_owned(),
            "the secret access key does not belong to the access key id",
        ),
        (
            "another account",
            |it| it.role_arn = None,
            "the access key belongs to the account 111111111111, not to 222222222222",
        ),
    ] {
        let reading = with(change);
        assert!(refusal(&reading).starts_with(words), "{name}: {}", refusal(&reading));
        assert!(!reading.awaits_consent, "{name}");
    }
    let other = |it: &mut AwsConfig| it.role_arn = it.role_arn.as_ref().map(|it| format!("{it}2"));
    for (name, change) in [
        ("a wrong ExternalId", (|it| it.external_id = "e-2".to_owned()) as fn(&mut AwsConfig)),
        ("an unknown role", other),
    ] {
        let reading = with(change);
        let why = refusal(&reading);
        assert!(
            why.contains("with the ExternalId e-") && why.contains("create the role"),
            "{name}: {why}"
        );
        assert!(why.contains("user/posture is not authorized to perform: sts:AssumeRole"), "{why}");
        assert!(reading.awaits_consent, "{name}");
        assert_eq!(reading.groups[0].notes[1].0, "external_id");
    }
}

#[test]
fn a_key_of_the_account_itself_needs_no_role() {
    let cloud = Cloud::start();
    let direct = AwsConfig { account: "111111111111".to_owned(), role_arn: None, ..config() };
    let mut endpoints = cloud.endpoints();
    let at = endpoints.values().next().unwrap().clone();
    endpoints.insert("https://111111111111.s3-control.us-east-1.amazonaws.com".to_owned(), at);
    cloud.script.say_xml("s3 us-east-1 /v20180820/configuration/publicAccessBlock", &block(true));
    let reading = super::cloud::read_through(endpoints, &direct, Clock::System);
    assert_eq!(decided(&reading), all(), "{reading:?}");
    assert_eq!(cloud.script.n_sessions(), 0);
}

#[test]
fn a_clock_that_is_off_is_told_from_a_wrong_secret() {
    let cloud = Cloud::start();
    let now = Clock::System.now();
    for (off_s, words) in [(3_600, "60 minutes ahead"), (-3_600, "60 minutes behind")] {
        let reading = cloud.read_with(&config(), Clock::manual(now.plus_s(off_s)));
        let why = refusal(&reading).replace("59 minutes", "60 minutes");
        assert!(why.contains(words) && why.contains("set it"), "{why}");
    }
    cloud.script.set_clock(now.plus_s(3_600));
    let later = cloud.read_with(&config(), Clock::manual(now.plus_s(3_600)));
    assert_eq!(decided(&later), all());
}

type Say = fn(&Asked) -> Vec<u8>;
type Fault<'a> = (&'a str, &'a str, Say, &'a str, StreamState, &'a str, &'a [&'a str]);

const OF_REGIONS: &[&str] = &["CLD-07", "CLD-10", "CLD-12", "CLD-24", "CLD-25"];

#[test]
fn what_is_not_read_decides_nothing_and_leaves_the_rest() {
    let no_action = |_: &Asked| {
        refused(
            403,
            "AccessDenied",
            "User: arn:x is not authorized to perform: iam:GetAccountSummary on resource: *",
        )
    };
    let faults: [Fault<'_>; 14] = [
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
            |_| {
                b"HTTP/1.1 200 x\r\nContent-Length: 900\r\n\r\n<GetAccountSummaryResponse>".to_vec()
            },
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
            |_| {
                xml(
                    "<R><regionInfo><item><regionName>eu-west-1</regionName></item></regionInfo></R>",
                )
            },
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
            "a list without an end",
            "ec2 us-east-1 DescribeSecurityGroups",
            endless,
            "security_groups",
            Partial,
            "us-east-1: ec2:DescribeSecurityGroups: the list has no end after 1000 rows",
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
    for (name, at, say, source, state, words, silent) in faults {
        let cloud = Cloud::start();
        cloud.script.say(at, say);
        let reading = cloud.read();
        let found = stream(&reading, source);
        assert_eq!(found.state, state, "{name}: {found:?}");
        assert!(found.reason.starts_with(words), "{name}: {}", found.reason);
        let mut left = decided(&reading);
        // One verdict fewer is none that is better.
        left.retain(|it| !silent.contains(&it.0));
        assert_eq!(decided(&reading), left, "{name}");
        assert_eq!(left, without(silent), "{name}");
        let whole: Vec<bool> = reading.groups.iter().map(|it| it.is_whole).collect();
        assert_eq!(whole.iter().filter(|it| !**it).count(), 1, "{name}: {whole:?}");
    }
}

fn endless(asked: &Asked) -> Vec<u8> {
    let n: u64 = asked.pairs.get("NextToken").map_or(0, |it| it.parse().unwrap());
    xml(&groups(&group("sg", 443), &format!("<nextToken>{}</nextToken>", n + 1)))
}

#[test]
fn each_page_of_a_list_is_read() {
    for n in [0_u64, 99, 100, 101, 201] {
        let cloud = Cloud::start();
        cloud.script.say("rds eu-west-1 DescribeDBInstances", move |asked| {
            assert_eq!(asked.pairs["MaxRecords"], "100");
            let from: u64 = asked.pairs.get("Marker").map_or(0, |it| it.parse().unwrap());
            let rows: String =
                (from..n.min(from + 100)).map(|it| database(&it.to_string())).collect();
            let next = if from + 100 < n {
                format!("<Marker>{}</Marker>", from + 100)
            } else {
                String::new()
            };
            xml(&databases(&rows, &next))
        });
        let reading = cloud.read();
        let found = stream(&reading, "databases");
        assert_eq!((found.state, found.n_rows), (Complete, n + 1), "and one in the other region");
        let count = reading.groups[3]
            .observations
            .iter()
            .find(|it| it.control == "CLD-25")
            .unwrap()
            .count
            .clone();
        assert_eq!(u64::from(count.unwrap().n_passed), n + 1);
    }
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

#[test]
fn buckets_are_asked_in_their_regions_if_the_account_does_not_block() {
    let cloud = Cloud::start();
    let block_of_account = "s3 us-east-1 /v20180820/configuration/publicAccessBlock";
    cloud
        .script
        .say(block_of_account, |_| refused_by_s3(404, "NoSuchPublicAccessBlockConfiguration"));
    cloud.script.say("s3 us-east-1 /", |asked| {
        assert_eq!(asked.pairs["max-buckets"], "1000");
        let (names, next) = match asked.pairs.get("continuation-token") {
            None => (["here", "there"], "<ContinuationToken>t+/=</ContinuationToken>"),
            Some(token) => {
                assert_eq!(token, "t+/=");
                (["moved", "gone"], "")
            }
        };
        let bucket = |it: &str| {
            let region = if it == "there" { "<BucketRegion>eu-west-1</BucketRegion>" } else { "" };
            format!("<Bucket><Name>{it}</Name>{region}</Bucket>")
        };
        xml(&format!("<R><Buckets>{}</Buckets>{next}</R>", names.map(bucket).concat()))
    });
    cloud.script.say_xml("s3 us-east-1 /here publicAccessBlock", &block(true));
    cloud.script.say("s3 eu-west-1 /there publicAccessBlock", |_| {
        refused_by_s3(404, "NoSuchPublicAccessBlockConfiguration")
    });
    cloud.script.say_xml(
        "s3 eu-west-1 /there policyStatus",
        "<PolicyStatus><IsPublic>TRUE</IsPublic></PolicyStatus>",
    );
    cloud.script.say("s3 us-east-1 /moved publicAccessBlock", |_| {
        let elsewhere = [("x-amz-bucket-region", "eu-west-1")];
        told(301, &elsewhere, "<Error><Code>PermanentRedirect</Code></Error>")
    });
    cloud.script.say_xml("s3 eu-west-1 /moved publicAccessBlock", &block(true));
    cloud
        .script
        .say("s3 us-east-1 /gone publicAccessBlock", |_| refused_by_s3(404, "NoSuchBucket"));
    let reading = cloud.read();
    assert_eq!(
        (stream(&reading, "buckets").state, stream(&reading, "buckets").n_rows),
        (Complete, 3)
    );
    let found = reading.groups[1].observations[0].clone();
    assert_eq!((found.control, found.status.as_str()), ("CLD-05", "non_compliant"));
    assert_eq!(found.count.unwrap().failing, ["there"]);
    cloud
        .script
        .say("s3 us-east-1 /here publicAccessBlock", |_| refused_by_s3(403, "AccessDenied"));
    let reading = cloud.read();
    let found = stream(&reading, "buckets");
    assert_eq!(found.state, Denied);
    assert_eq!(found.reason, "here: not allowed; grant the action s3:GetBucketPublicAccessBlock");
    assert_eq!(decided(&reading), without(&["CLD-05"]));
}

#[test]
fn trails_of_other_regions_are_looked_for_if_none_records_all() {
    let cloud = Cloud::start();
    cloud
        .script
        .say("cloudtrail us-east-1 DescribeTrails", |_| super::cloud::json("{\"trailList\":[]}"));
    cloud.script.say("cloudtrail eu-west-1 DescribeTrails", |_| {
        super::cloud::json(&trails("eu-west-1", false))
    });
    let reading = cloud.read();
    let found = &reading.groups[2];
    assert_eq!((found.is_whole, found.observations[0].status.as_str()), (true, "partial"));
    cloud.script.say("cloudtrail eu-west-1 DescribeTrails", |_| {
        told(400, &[], "{\"__type\":\"AccessDeniedException\",\"Message\":\"no\"}")
    });
    let reading = cloud.read();
    let found = stream(&reading, "trails");
    assert_eq!(found.reason, "eu-west-1: not allowed; grant the action cloudtrail:DescribeTrails");
    assert_eq!(decided(&reading), without(&["CLD-06"]));
}

#[test]
fn a_region_that_nobody_uses_is_not_asked_further() {
    let cloud = Cloud::start();
    let plain = groups(&group("sg-0", 443), "").replace("<groupName>web<", "<groupName>default<");
    cloud.script.say_xml("ec2 eu-west-1 DescribeSecurityGroups", &plain);
    cloud.script.say_xml("rds eu-west-1 DescribeDBInstances", &databases("", ""));
    let reading = cloud.read();
    assert_eq!(decided(&reading), all());
    let names = cloud.script.names();
    assert!(!names.iter().any(|it| it == "guardduty eu-west-1 /detector"), "{names:?}");
}

#[test]
fn a_report_that_is_being_made_is_waited_for() {
    let cloud = Cloud::start();
    let n = AtomicUsize::new(0);
    cloud.script.say("iam us-east-1 GenerateCredentialReport", move |_| {
        let state = if n.fetch_add(1, Ordering::SeqCst) == 0 { "STARTED" } else { "COMPLETE" };
        xml(&format!("<R><GenerateCredentialReportResult><State>{state}</State></GenerateCredentialReportResult></R>"))
    });
    assert_eq!(decided(&cloud.read()), all());
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let values = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let key = [("access_key_id", KEY_ID), ("secret_access_key", SECRET)];
    let role = ("role_arn", "arn:aws:iam::222222222222:role/Posture");
    for (shown, secrets, words) in [
        (&[][..], &key[..], "set role_arn"),
        (
            &[role, ("account_id", "111111111111")][..],
            &key[..],
            "the role is of the account 222222222222",
        ),
        (&[role][..], &key[..1], "secret_access_key is missing"),
    ] {
        let refused = AwsConfig::of(&values(shown), &values(secrets), "e").unwrap_err();
        assert!(refused.reason.starts_with(words), "{}", refused.reason);
    }
    let config = AwsConfig::of(&values(&[role]), &values(&key), "e").unwrap();
    assert_eq!((config.account.as_str(), config.external_id.as_str()), (ACCOUNT, "e"));
}
