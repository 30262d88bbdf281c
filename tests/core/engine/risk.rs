//! What is wrong at a client, in words and in money.

use posture_core::engine::fact::Status::{Compliant, NonCompliant, NotApplicable, Partial};
use posture_core::engine::fact::{Attestation, Observation, Verdict};
use posture_core::engine::posture::{Risk, SourceType};
use posture_core::engine::risk::split_remediation;
use posture_core::engine::severity::Severity;
use posture_core::engine::severity::Severity::{Critical, High, Low, Medium};

use super::world::{Placed, TODAY, World, attested, control, day, seen, stated};

fn only(world: &World) -> Risk {
    let mut risks = world.assess().risks;
    assert_eq!(risks.len(), 1, "{risks:?}");
    risks.swap_remove(0)
}

#[test]
fn a_failing_control_is_one_risk() {
    let risk = only(&World::of_one().seen(seen(1, 1)).seen(seen(0, 9).check("c2")));
    assert_eq!((risk.condition.as_str(), risk.severity), ("control/A-1", Critical));
    assert_eq!((risk.category.as_str(), risk.source_type), ("Alpha", SourceType::Control));
    assert!(risk.verified);
    assert!(World::of_one().seen(seen(1, 0)).assess().risks.is_empty());
    assert!(World::of_one().assess().risks.is_empty());
    assert!(World::of_one().attested(attested(NotApplicable)).assess().risks.is_empty());
    assert_eq!(only(&World::of_one().attested(attested(Partial))).condition, "control/A-1");
}

#[test]
fn the_score_of_a_risk_comes_from_severity_share_and_critical_assets() {
    let case = |severity: Severity, observation: Observation, expect: u8| {
        let mut world = World::of_one().seen(observation);
        world.catalog.controls[0].severity = severity;
        world.critical = vec![8];
        assert_eq!(only(&world).score, expect);
    };
    case(Critical, seen(0, 1), 90);
    case(Critical, seen(0, 1).failing(&[8]), 100);
    case(Critical, seen(1, 1), 80);
    case(High, seen(3, 1), 55);
    case(Medium, stated(Partial), 40);
    case(Low, stated(NonCompliant), 30);
    // One bad status of three does not cost less when it gets worse.
    let of_three = |status| {
        let compliant = |check: &str| stated(Compliant).check(check);
        let world = World::of_one().seen(stated(status)).seen(compliant("c2"));
        only(&world.seen(compliant("own").of_control("A-1"))).score
    };
    assert_eq!((of_three(Partial), of_three(NonCompliant)), (76, 76));
    // Seen twice at the same moment: as bad as either in every respect.
    let mut twins = World::of_one().seen(seen(0, 2)).seen(seen(1, 1).failing(&[8]));
    twins.critical = vec![8];
    assert_eq!(only(&twins).score, 100);
}

#[test]
fn a_risk_survives_lapse_unverified() {
    let lapsed = || World::of_one().seen(seen(1, 1).at(TODAY - 40).failing(&[5]));
    let (before, after) = (lapsed().on(TODAY - 10).assess(), lapsed().assess());
    assert!(before.risks[0].verified && !after.risks[0].verified);
    assert_eq!(before.risks[0].condition, after.risks[0].condition);
    assert_eq!(before.risks[0].score, after.risks[0].score);
    assert_eq!(after.touched.into_iter().collect::<Vec<_>>(), [(5, 80)]);
    let other = lapsed().seen(seen(0, 1).check("c2").source("r"));
    assert!(only(&other).verified, "another source still sees it fail");
    let expired = Attestation { until: Some(day(TODAY)), ..attested(NonCompliant) };
    assert!(!only(&World::of_one().attested(expired.clone())).verified);
    // Nobody ever saw anything wrong: time alone opens no risk.
    let scope = Attestation { status: NotApplicable, ..expired };
    assert!(World::of_one().attested(scope).assess().risks.is_empty());
}

#[test]
fn a_serious_finding_without_a_control_is_a_risk_for_each_check_source_and_scope() {
    let finding = |severity: Severity| Observation { severity, ..seen(2, 1).check("a/b%") };
    let risk = only(&World::of_one().seen(finding(High).failing(&[5])));
    assert_eq!(risk.condition, "finding/t/a%2Fb%25/s/x");
    assert_eq!((risk.title.as_str(), risk.category.as_str()), ("Check failed: \"Check\"", "Beta"));
    assert_eq!((risk.score, risk.dollar_impact), (56, None));
    assert_eq!(risk.source_type, SourceType::Finding);
    assert!(risk.description.contains("Check a/b% of t failed for 1 of 3"), "{}", risk.description);
    assert_eq!(split_remediation(&risk.description), None);
    let fixable = Observation { remediation: Some("Close it.".to_owned()), ..finding(High) };
    let fixable = only(&World::of_one().seen(fixable)).description;
    let found = fixable.strip_suffix(" To fix it: Close it.").unwrap();
    assert_eq!(split_remediation(&fixable), Some((found, "Close it.")));
    for severity in [Low, Medium] {
        assert!(World::of_one().seen(finding(severity)).assess().risks.is_empty());
    }
    let places = [finding(High), finding(High).scope("y"), finding(Critical).source("r")];
    let mut world = World::of_one();
    world.observations = places.to_vec();
    let scores: Vec<_> = world.assess().risks.iter().map(|it| it.score).collect();
    assert_eq!(scores, [76, 56, 56]);
    assert!(World::of_one().seen(seen(0, 1).of_control("Z-9")).assess().risks.len() == 1);
}

#[test]
fn a_finding_stays_until_it_is_seen_fixed_or_gone() {
    let failing = || World::of_one().seen(seen(0, 1).check("u").at(TODAY - 36));
    assert!(!only(&failing()).verified);
    // A later report of the same source that does not name the check is no absence from a complete
    // read.
    assert!(!only(&failing().seen(seen(1, 0).check("v"))).verified);
    let fixed = failing().seen(seen(1, 0).check("u")).assess();
    assert!(fixed.risks.is_empty());
    assert_eq!(fixed.fixed, ["finding/t/u/s/x"]);
    let gone = Observation { verdict: Verdict::Gone, ..seen(0, 0).check("u") };
    let gone = failing().seen(gone).assess();
    assert!(gone.risks.is_empty() && gone.fixed.is_empty());
}

fn impacts(world: &World) -> Vec<Option<u64>> {
    world.assess().risks.iter().map(|it| it.dollar_impact).collect()
}

#[test]
fn the_expected_loss_grows_with_what_fails_and_a_risk_costs_what_fixing_it_alone_saves() {
    let controls = [("A-1", Critical), ("A-2", High), ("A-3", Medium), ("A-4", Low)];
    let mut world = World::new(controls.map(|(code, severity)| control(code, severity)).to_vec());
    world.base_loss = Some(1_000_000);
    let loss = |world: &World| world.assess().loss.map(|it| (it.base, it.now, it.exposure()));
    assert_eq!(loss(&world), Some((1_000_000, 1_000_000, 0)));
    let said = |code: &str, status| Attestation { control: code.into(), ..attested(status) };
    world.attestations = vec![said("A-1", NonCompliant), said("A-3", Compliant)];
    // S = 1, so the loss grows by 5 x 1 / (1 + 4).
    assert_eq!(loss(&world), Some((1_000_000, 2_000_000, 1_000_000)));
    assert_eq!(impacts(&world), [Some(1_000_000)]);
    world.attestations.push(said("A-2", Partial));
    // S = 1 + 0.4 x sqrt(1 / 2) = 1.2828424. Alone, the first would add 1,000,000 and the second 330,204.
    assert_eq!(loss(&world), Some((1_000_000, 2_214_159, 1_214_159)));
    assert_eq!(impacts(&world), [Some(880_000), Some(210_000)]);
    world.attestations.extend([said("A-3", NonCompliant), said("A-4", NonCompliant)]);
    world.attestations.remove(1);
    // S = 1.4828424.
    assert_eq!(loss(&world), Some((1_000_000, 2_352_256, 1_352_256)));
    assert_eq!(impacts(&world), [Some(810_000), Some(190_000), Some(100_000), Some(33_000)]);
}

#[test]
fn a_critical_subject_that_fails_counts_like_all_of_them() {
    let mut world = World::of_one().seen(seen(999, 1).failing(&[8]));
    world.base_loss = Some(1_000_000);
    // S = sqrt(1 / 1,000) = 0.031622.
    assert_eq!(impacts(&world), [Some(39_000)]);
    world.critical = vec![8];
    assert_eq!(impacts(&world), [Some(1_000_000)]);
}

#[test]
fn without_a_known_base_nothing_is_estimated_and_findings_never_are() {
    let mut world = World::of_one().attested(attested(NonCompliant)).seen(seen(0, 1).check("u"));
    assert_eq!((world.assess().loss, impacts(&world)), (None, vec![None, None]));
    world.base_loss = Some(1_234);
    let loss = world.assess().loss.map(|it| (it.base, it.now));
    assert_eq!((loss, impacts(&world)), (Some((1_234, 2_468)), vec![Some(1_200), None]));
    for base in [0, 9, u64::MAX] {
        world.base_loss = Some(base);
        let loss = world.assess().loss.unwrap();
        assert!(loss.base <= loss.now && impacts(&world)[0] <= Some(loss.exposure()), "{loss:?}");
    }
}

#[test]
fn risks_come_worst_first_and_touch_the_subjects_that_fail() {
    let mut world = World::new(vec![control("A-1", Critical), control("A-2", Medium)]);
    world.map("c1", &[1]);
    world.map("c2", &[0, 1]);
    world = world
        .seen(seen(0, 2).failing(&[1, 2]))
        .seen(seen(0, 2).check("c2").failing(&[2, 3]))
        .seen(seen(1, 0).check("c2").scope("y").failing(&[9]));
    let posture = world.assess();
    let conditions: Vec<_> = posture.risks.iter().map(|it| it.condition.as_str()).collect();
    assert_eq!(conditions, ["control/A-1", "control/A-2"]);
    let (worst, other) = (posture.risks[0].score, posture.risks[1].score);
    let touched: Vec<_> = posture.touched.into_iter().collect();
    assert_eq!(touched, [(1, other), (2, worst), (3, worst)]);
}

#[test]
fn findings_beyond_the_most_that_are_listed_are_one_risk_for_each_tool() {
    use posture_core::engine::risk::N_FINDINGS_MAX;
    let of = |n: usize| {
        let mut world = World::of_one();
        for index in 0..n {
            let severity = if index < 3 { Critical } else { High };
            let check = format!("u{index:05}");
            world = world.seen(Observation { severity, ..seen(0, 1).check(&check) });
        }
        world.assess().risks
    };
    let most = of(N_FINDINGS_MAX);
    assert_eq!(most.len(), N_FINDINGS_MAX);
    assert!(most.iter().all(|it| it.condition.starts_with("finding/")));
    let more = of(N_FINDINGS_MAX + 2);
    assert_eq!(more.len(), N_FINDINGS_MAX + 1);
    let rest: Vec<_> = more.iter().filter(|it| it.condition == "findings/t").collect();
    assert_eq!((rest[0].title.as_str(), rest[0].severity), ("2 more findings of t", High));
    let is_critical = |it: &&Risk| it.severity == Critical;
    assert_eq!(more.iter().filter(is_critical).count(), 3, "the worst are listed");
}
