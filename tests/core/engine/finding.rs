//! What is said about what was seen.

use posture_core::catalog::PLATFORM_QUESTIONS;
use posture_core::engine::fact::Status::{Compliant, NonCompliant, Partial};
use posture_core::engine::fact::{Observation, Subject};

use super::world::{Placed, TODAY, World, attested, day, seen, stated, unused_since};

fn named(title: &str, it: Observation) -> Observation {
    Observation { title: title.into(), ..it }
}

/// With these findings, as an importer stores them.
fn says(findings: &str, it: Observation) -> Observation {
    Observation { findings: Some(findings.into()), ..it }
}

fn text(world: &World) -> String {
    world.control().findings.unwrap_or_default()
}

fn text_of(observations: &[Observation]) -> String {
    let mut world = World::of_one();
    world.map("c3", &[0]);
    world.observations = observations.to_vec();
    text(&world)
}

/// What a source says about the control itself.
fn reported(source: &str, it: Observation) -> Observation {
    let subject = Subject::Control("A-1".into());
    Observation { subject, check: "reported".into(), ..it.source(source) }
}

#[test]
fn findings_say_what_was_seen_in_plain_words() {
    let buckets = named("Buckets are private", seen(1, 3).scope("acme"));
    let buckets = Observation {
        remediation: Some("Block public access.".into()),
        ..says("b-1, b-2 and 1 more\nPolicy allows everyone", buckets)
    };
    let world = World::of_one().seen(buckets).seen(named("Keys rotate", seen(8, 0).check("c2")));
    let control = world.control();
    let expect = "1 of 2 checks failed: \"Buckets are private\" (3 of 4 fail: b-1, b-2 and 1 more). \
                  One of them: Policy allows everyone.";
    assert_eq!(control.findings.as_deref(), Some(expect));
    assert_eq!(control.remediation.as_deref(), Some("Block public access."));
    assert_eq!(control.assessed_at, Some(day(TODAY)));
    let description =
        format!("{expect} Seen by s: acme. What can happen: Something bad can happen.");
    assert_eq!(world.assess().risks[0].description, description);
    let said = World::of_one().attested(attested(Compliant));
    assert_eq!(text(&said), "Attested as met by ann on 1972-09-27: looked at it");
}

#[test]
fn what_passes_is_counted_in_checks_and_one_check_is_named() {
    let first = named("The audit log is on", seen(8, 0));
    let (second, third) = (seen(1, 0).check("c2"), seen(9, 0).check("c3"));
    assert_eq!(text_of(std::slice::from_ref(&first)), "\"The audit log is on\" passes.");
    assert_eq!(text_of(&[first.clone(), second.clone()]), "Both checks pass.");
    assert_eq!(text_of(&[first.clone(), second, third]), "All 3 checks pass.");
    let other_place = first.clone().scope("y");
    assert_eq!(text_of(&[first, other_place]), "\"The audit log is on\" passes.");
    assert_eq!(text_of(&[reported("rmm", seen(22, 0))]), "22 of 22 pass.");
    assert_eq!(text_of(&[reported("rmm", seen(1, 0))]), "1 of 1 passes.");
    assert_eq!(text_of(&[reported("rmm", stated(Compliant))]), "Reported as met.");
    assert_eq!(World::of_one().seen(seen(8, 0)).control().remediation, None);
}

#[test]
fn a_failed_check_of_one_subject_is_quoted_and_names_the_subject() {
    let log = named("The audit log is on", seen(0, 1));
    let alone = says("example.com\nIt is off", log.clone());
    assert_eq!(
        text_of(&[alone]),
        "Failed check: \"The audit log is on\" (example.com). It is off."
    );
    assert_eq!(text_of(&[log]), "Failed check: \"The audit log is on\".");
}

#[test]
fn expired_findings_say_when_they_were_last_confirmed() {
    let log = named("The audit log is on", says("example.com", seen(0, 1)).at(TODAY - 40));
    let since = "Last confirmed on 1972-08-18, out of date since 1972-09-22. At that time: ";
    let lapsed = World::of_one().seen(log);
    let expect = format!("{since}failed check \"The audit log is on\" (example.com).");
    assert_eq!(text(&lapsed), expect);
    assert_eq!(lapsed.control().remediation.as_deref(), Some("Do it."));
    let lapsed = reported("rmm", stated(NonCompliant)).at(TODAY - 40);
    assert_eq!(text_of(&[lapsed]), format!("{since}reported as not met."));
    let lapsed = reported("rmm", seen(3, 3)).at(TODAY - 40);
    assert_eq!(text_of(&[lapsed]), format!("{since}3 of 6 fail."));
}

#[test]
fn failing_subjects_of_all_scopes_are_named_and_only_they_are_counted() {
    let telnet = |scope: &str, failed: u32| {
        let it = named("Telnet is not offered", seen(1 - failed, failed)).scope(scope);
        if failed == 0 { it } else { says(&format!("{scope}\ntcp/23 open (telnet)"), it) }
    };
    let hosts = [telnet("fw", 1), telnet("nas", 0), telnet("printer", 1), telnet("web", 0)];
    let expect = "Failed check: \"Telnet is not offered\" (2 of 4 fail: fw, printer). \
                  fw: tcp/23 open (telnet).";
    assert_eq!(text_of(&hosts), expect);
    let more: Vec<_> = (0..8).map(|it| telnet(&format!("h{it}"), 1)).collect();
    let expect = "(8 of 8 fail: h0, h1, h2, h3, h4 and 3 more). h0: tcp/23 open (telnet).";
    assert!(text_of(&more).ends_with(expect), "{}", text_of(&more));
    // Of which of several subjects the detail is, no one knows.
    let many =
        |scope: &str, names: &str, n| says(&format!("{names}\nIt is on"), seen(0, n)).scope(scope);
    let two = [many("x", "a, b, c and 2 more", 5), many("y", "d, e, f", 3)];
    assert_eq!(text_of(&two), "Failed check: \"Check\" (8 of 8 fail: a, b, c, d, e and 3 more).");
    let comma = [many("x", "a, b, c", 3), many("y", "d, jr., e, f", 3)];
    assert_eq!(text_of(&comma), "Failed check: \"Check\" (6 of 6 fail: a, b, c and 3 more).");
}

#[test]
fn details_say_of_which_subject_they_are() {
    let telnet = named("Telnet is not offered", says("printer\ntcp/23 open", seen(0, 1)));
    let ftp = named("FTP is not offered", says("nas\ntcp/21 open", seen(0, 1)).check("c2"));
    let expect = "2 of 2 checks failed: \"Telnet is not offered\" (printer); \"FTP is not offered\" (nas). \
                  printer: tcp/23 open.";
    assert_eq!(text_of(&[telnet, ftp.clone()]), expect);
    let says_itself = says("bob\nUser bob has no MFA", seen(0, 1));
    let expect =
        "2 of 2 checks failed: \"Check\" (bob); \"FTP is not offered\" (nas). User bob has no MFA.";
    assert_eq!(text_of(&[says_itself, ftp]), expect);
    let muted = says("bob\n2 failed and muted at the source.\nIt is on", seen(0, 1));
    let expect = "Failed check: \"Check\" (bob). 2 failed and muted at the source. It is on.";
    assert_eq!(text_of(&[muted]), expect);
}

#[test]
fn many_failing_checks_are_counted_not_hidden() {
    let mut world = World::of_one();
    for index in 0..9 {
        let check = format!("n{index}");
        world.map(&check, &[0]);
        let step = Some(format!("Step {index}."));
        world = world.seen(Observation { remediation: step, ..seen(0, 1).check(&check) });
    }
    let text = text(&world);
    assert!(text.starts_with("9 of 9 checks failed: \"Check\"; \"Check\"; "), "{text}");
    assert!(text.ends_with("; and 4 more."), "{text}");
    let remediation = world.control().remediation.unwrap();
    let end = "\nStep 4.\nAnd 4 more checks failed: see the report of s.";
    assert!(remediation.ends_with(end), "{remediation}");
}

#[test]
fn a_source_that_reports_a_control_itself_is_not_said_to_fail_a_check_of_its_name() {
    let of_control = |check: &str, it: Observation| Observation {
        check: check.into(),
        ..says("two servers have no backup", reported("s", it))
    };
    let text = |it| text_of(&[it]);
    let counted = of_control("reported", seen(1, 2));
    assert_eq!(text(counted), "2 of 3 fail. two servers have no backup.");
    let partly = of_control("reported", stated(Partial));
    assert_eq!(text(partly), "Reported as partly met. two servers have no backup.");
    let nightly = of_control("nightly", stated(NonCompliant));
    assert_eq!(text(nightly), "Failed check: \"nightly\". two servers have no backup.");
    let listed = of_control("identities", seen(3, 1));
    assert_eq!(text(listed), "1 of 4 fails: two servers have no backup.");
    // As releases before wrote it.
    let old = says("1 of 2 failed: a, b.", seen(1, 1));
    assert_eq!(text(old), "Failed check: \"Check\" (1 of 2 fails: a, b).");
}

#[test]
fn a_report_of_the_control_itself_is_no_check() {
    let review = || reported("review", stated(NonCompliant));
    let failing = named("Logs are signed", says("main", seen(0, 1)));
    let (second, third) = (seen(0, 1).check("c2"), seen(1, 0).check("c3"));
    let expect = "Failed check: \"Logs are signed\" (main); also reported as not met by review.";
    assert_eq!(text_of(&[failing.clone(), review()]), expect);
    let expect = "2 of 3 checks failed: \"Logs are signed\" (main); \"Check\"; also reported as not met by review.";
    assert_eq!(text_of(&[failing, second, third.clone(), review()]), expect);
    let expect = "Reported as not met by review; but \"Check\" passes.";
    assert_eq!(text_of(&[third, review()]), expect);
    let rmm = says("See the list", reported("rmm", seen(1, 2)));
    let expect = "Reported as not met by review; 2 of 3 fail according to rmm.";
    assert!(text_of(&[review(), rmm.clone()]).starts_with(expect), "{}", text_of(&[review(), rmm]));
}

#[test]
fn remediation_covers_every_failing_check() {
    let says = |check: &str, text: Option<&str>| Observation {
        remediation: text.map(Into::into),
        ..seen(0, 1).check(check)
    };
    let world = World::of_one().seen(says("c1", Some("Close it."))).seen(says("c2", None));
    assert_eq!(world.control().remediation.as_deref(), Some("Close it.\nDo it."));
    let twice = World::of_one().seen(says("c1", Some("Close."))).seen(says("c2", Some("Close.")));
    assert_eq!(twice.control().remediation.as_deref(), Some("Close."));
}

#[test]
fn a_control_that_does_not_apply_says_what_the_client_does_not_have() {
    let unused = |platforms: &[&str]| {
        let mut world = World::of_one();
        world.catalog.controls[0].platforms = platforms.iter().map(|it| (*it).to_owned()).collect();
        text(&platforms.iter().fold(world, |it, name| it.says(name, unused_since(TODAY - 3))))
    };
    let clause = "Not applicable: according to its profile, the client ";
    let says = |platforms: &[&str], rest: &str| {
        assert_eq!(unused(platforms), format!("{clause}{rest}."));
    };
    says(&["aws"], "uses no AWS");
    says(&["aws", "azure", "gcp"], "uses no AWS, Azure or Google Cloud");
    says(&["educationRecords"], "keeps no education records");
    says(&["m365", "softwareDevelopment"], "uses no Microsoft 365 and develops no software");
    for question in PLATFORM_QUESTIONS.into_iter().filter(|it| *it != "servers") {
        assert!(!unused(&[question]).contains(question), "{question} has no name for people");
    }
}

#[test]
fn checks_that_pass_elsewhere_failed_in_part() {
    let of = |first: Observation| {
        text_of(&[named("First", first), named("Second", seen(1, 1)).check("c2")])
    };
    assert!(of(seen(1, 1)).starts_with("2 of 2 checks failed in part: "), "{}", of(seen(1, 1)));
    assert!(of(seen(0, 2)).starts_with("2 of 2 checks failed: "), "{}", of(seen(0, 2)));
    let second = named("Second", seen(1, 1)).check("c2");
    let hosts = [named("First", seen(0, 1).scope("a")), named("First", seen(1, 0).scope("b"))];
    let text = text_of(&[&hosts[..], &[second]].concat());
    assert!(text.starts_with("2 of 2 checks failed in part: "), "{text}");
}
