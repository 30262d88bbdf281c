//! An account that is read: what is asked, and what each fault leaves.

use std::sync::atomic::{AtomicUsize, Ordering};

use posture::clock::Clock;
use posture::connect::aws::AwsConfig;
use posture::connect::reading::Reading;
use posture::connect::reading::StreamState::{Complete, Denied};

use super::cloud::{
    ACCOUNT, Asked, Cloud, KEY_ID, SECRET, all, config, decided, refused_by_s3, stream, streams,
    without, xml,
};
use super::healthy::{block, database, databases, group, groups, trails};
use crate::connect::vendor::told;

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
        let mut encrypted = reading.groups[3].observations.iter();
        let encrypted = encrypted.find(|it| it.control == "CLD-25").unwrap();
        let words = format!("All {} that are known pass.", n + 1);
        assert!(encrypted.findings.starts_with(&words), "{}", encrypted.findings);
    }
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
