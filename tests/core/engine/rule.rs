//! What a control comes to, sentence by sentence of the rules.

use posture_core::engine::catalog::OpenFindings;
use posture_core::engine::control::valid_until;
use posture_core::engine::fact::Status::{
    Compliant, NonCompliant, NotApplicable, NotAssessed, Partial,
};
use posture_core::engine::fact::{Attestation, Observation, Status, Usage, Verdict};
use posture_core::engine::framework::{FrameworkId, ReadinessRule};
use posture_core::engine::severity::Severity;

use super::world::{
    Placed, TODAY, World, attested, control, day, decides, seen, stated, unused_since,
};

type Outcome = (Status, Option<u8>);

const SILENT: Outcome = (NotAssessed, None);
const OUT: Outcome = (NotApplicable, None);

/// What the one control comes to with these observations.
#[track_caller]
fn check(observations: &[Observation], expect: Outcome) {
    let mut world = World::of_one();
    world.observations = observations.to_vec();
    assert_eq!(world.outcome(), expect);
}

#[test]
fn subjects_that_pass_and_fail_make_a_status_and_a_score() {
    check(&[], SILENT);
    check(&[seen(0, 0)], SILENT);
    check(&[seen(4, 0)], (Compliant, Some(100)));
    check(&[seen(0, 4)], (NonCompliant, Some(0)));
    check(&[seen(1, 1)], (Partial, Some(50 + 24)));
    check(&[seen(9, 1)], (Partial, Some(50 + 44)));
    check(&[seen(6, 1)], (Partial, Some(50 + 42)));
    check(&[seen(1, 6)], (NonCompliant, Some(7)));
    check(&[seen(999_999, 1)], (Partial, Some(50 + 48)));
    check(&[seen(49, 51)], (NonCompliant, Some(24)));
    check(&[seen(u32::MAX, u32::MAX)], (Partial, Some(50 + 24)));
}

#[test]
fn a_mean_of_checks_is_exact_where_its_fractions_have_a_common_denominator() {
    let world = |all: &[(u32, u32)]| {
        let control = control("A-1", Severity::High);
        let mut world = World::new(vec![control]);
        for (index, (passed, failed)) in all.iter().enumerate() {
            let check = format!("c{index}");
            world.map(&check, &[0]);
            world = world.seen(seen(*passed, *failed).check(&check));
        }
        world.outcome()
    };
    // 1/7 + 2/7 + 4/7 is a third of three: 49/3 is 16.33, and 3 of 7 is 21 exactly.
    assert_eq!(world(&[(1, 6), (2, 5), (4, 3)]), (NonCompliant, Some(16)));
    assert_eq!(world(&[(1, 2), (2, 1), (3, 4)]), (NonCompliant, Some(23)));
    assert_eq!(world(&[(3, 4), (3, 4), (6, 8)]), (NonCompliant, Some(21)));
    // No 64 bits hold the product of these primes.
    let primes = [4_294_967_291, 4_294_967_279, 4_294_967_231, 4_294_967_197];
    let all = primes.map(|it| (it / 2, it - it / 2));
    assert_eq!(world(&all), (NonCompliant, Some(24)));
}

#[test]
fn of_a_check_that_shows_only_gaps_what_passes_decides_beside_others_alone() {
    let of = |observations: &[Observation]| {
        let mut world = World::of_one();
        world.map_gaps("g", &[0]);
        observations.iter().cloned().fold(world, World::seen).assess().controls.remove(0)
    };
    let check = |observations: &[Observation], expected| {
        let control = of(observations);
        assert_eq!((control.status, control.score), expected);
    };
    let (good, bad) = (seen(3, 0).check("g"), seen(2, 1).check("g"));
    check(std::slice::from_ref(&good), SILENT);
    check(std::slice::from_ref(&bad), (NonCompliant, Some(0)));
    check(&[bad.clone(), good.clone().scope("y")], (NonCompliant, Some(0)));
    check(&[good.clone(), seen(1, 0)], (Compliant, Some(100)));
    check(&[good.clone(), seen(0, 1)], (NonCompliant, Some(0)));
    check(&[good.clone(), seen(0, 1), seen(1, 0).check("c2")], (NonCompliant, Some(24)));
    check(&[bad.clone(), seen(1, 0)], (Partial, Some(50 + 40)));
    check(&[good.clone(), seen(1, 0).at(TODAY - 40)], SILENT);
    let silent = of(std::slice::from_ref(&good)).findings.unwrap();
    assert_eq!(silent, "\"Check\" passes. That is too little to show that the control is met.");
    // What failed and passes now is fixed, although nothing is shown to be met.
    let fixed = |observations: &[Observation]| {
        let mut world = World::of_one();
        world.map_gaps("g", &[0]);
        observations.iter().cloned().fold(world, World::seen).assess().fixed
    };
    assert_eq!(fixed(&[bad.at(TODAY - 1), good.clone()]).len(), 1);
    assert_eq!(fixed(&[good]).len(), 0);
}

#[test]
fn what_shows_too_little_ends_and_renews_nothing() {
    let world = || {
        let mut world = World::of_one().seen(seen(3, 0).check("g"));
        world.catalog.controls[0].platforms = vec!["p".into()];
        world.map_gaps("g", &[0]);
        world
    };
    // A stated failure whose term ended holds the control and its risk.
    let ended = Attestation { until: Some(day(TODAY - 1)), ..attested(NonCompliant) };
    let held = world().attested(Attestation { at: day(TODAY - 9), ..ended }).assess();
    assert!(held.controls[0].held && held.risks.len() == 1, "{held:?}");
    // A row that asks for a newer result than the attestation does not get one.
    let mut recent = decides("R", &[0]);
    recent.controls[0].within_days = Some(7);
    let mut stated = world();
    stated.framework(FrameworkId::Soc2, ReadinessRule::Mean, vec![recent]);
    let said = Attestation { evidence: Some("doc".into()), ..attested(Compliant) };
    let stated = stated.attested(Attestation { at: day(TODAY - 9), ..said });
    assert_eq!(stated.outcome(), (Compliant, Some(100)));
    assert_eq!(stated.rows(FrameworkId::Soc2)[0].status, NotAssessed);
    // An answer that lapsed says nothing about a platform on which something is seen.
    let lapsed = world().says("p", unused_since(TODAY - 400)).assess();
    assert!(!lapsed.controls[0].held && lapsed.controls[0].findings.is_some());
}

#[test]
fn a_status_without_counts_is_one_subject_that_passes_or_not() {
    check(&[stated(Compliant)], (Compliant, Some(100)));
    check(&[stated(Partial)], (Partial, Some(50)));
    check(&[stated(NonCompliant)], (NonCompliant, Some(0)));
    check(&[stated(Partial), stated(Compliant).check("c2")], (Partial, Some(50 + 24)));
    check(&[stated(NonCompliant), stated(Compliant).check("c2")], (NonCompliant, Some(24)));
    check(&[stated(Partial), seen(99, 1).check("c2")], (Partial, Some(50 + 24)));
    check(&[stated(NotAssessed)], SILENT);
    check(&[stated(NotApplicable), seen(1, 0).at(TODAY - 1)], (Compliant, Some(100)));
}

#[test]
fn a_critical_subject_that_fails_leaves_nothing_partial() {
    let mut world = World::of_one().seen(seen(9, 1).failing(&[5, 8]));
    assert_eq!(world.outcome(), (Partial, Some(94)));
    world.critical = vec![7, 9];
    assert_eq!(world.outcome(), (Partial, Some(94)));
    world.critical = vec![7, 8, 9, 10];
    assert_eq!(world.outcome(), (NonCompliant, Some(44)));
    world.critical = vec![8];
    assert_eq!(world.outcome(), (NonCompliant, Some(44)));
}

#[test]
fn the_newest_effective_observation_of_a_key_counts() {
    check(&[seen(1, 0), seen(0, 1).at(TODAY - 1)], (Compliant, Some(100)));
    check(&[seen(0, 1), seen(1, 0).at(TODAY - 1)], (NonCompliant, Some(0)));
    check(&[seen(0, 0), seen(0, 1).at(TODAY - 1)], (NonCompliant, Some(0)));
    let gone = Observation { verdict: Verdict::Gone, ..seen(0, 0) };
    check(&[gone.clone(), seen(0, 1).at(TODAY - 1)], SILENT);
    check(&[gone.at(TODAY - 2), seen(0, 1).at(TODAY - 1)], (NonCompliant, Some(0)));
}

#[test]
fn of_observations_made_at_the_same_moment_the_worst_counts() {
    let gone = Observation { verdict: Verdict::Gone, ..seen(0, 0) };
    check(&[seen(1, 0), seen(0, 1)], (NonCompliant, Some(0)));
    check(&[seen(9, 1), seen(1, 0)], (Partial, Some(50 + 24)));
    check(&[gone, seen(1, 0)], (Compliant, Some(100)));
}

#[test]
fn a_control_is_as_bad_as_its_worst_check_and_shares_are_means_over_checks() {
    let (many, few) = (seen(2_594, 0), seen(0, 4).check("c2"));
    check(&[many, few], (NonCompliant, Some(24)));
    let scopes = [seen(3, 0), seen(0, 1).scope("y")];
    check(&scopes, (NonCompliant, Some(36)));
    let sources = [seen(3, 0), seen(0, 1).source("r")];
    check(&sources, (NonCompliant, Some(36)));
    // Two sources that did the mapping themselves have two checks, whatever they call them.
    let own = [seen(3, 0).of_control("A-1"), seen(0, 1).of_control("A-1").source("r")];
    check(&own, (NonCompliant, Some(24)));
    check(&[seen(1, 0), seen(1, 1).check("c2")], (Partial, Some(50 + 36)));
}

#[test]
fn an_observation_counts_until_its_age_or_what_its_source_said() {
    check(&[seen(1, 0).at(TODAY - 34)], (Compliant, Some(100)));
    check(&[seen(1, 0).at(TODAY - 35)], SILENT);
    check(&[seen(1, 0).at(TODAY - 35).until(TODAY + 1)], (Compliant, Some(100)));
    check(&[seen(1, 0).until(TODAY)], SILENT);
    let mut world = World::of_one();
    world.catalog.controls[0].max_age_days = 90;
    assert_eq!(valid_until(&world.catalog, &seen(1, 0)), day(TODAY + 90));
    assert_eq!(valid_until(&world.catalog, &seen(1, 0).of_control("A-1")), day(TODAY + 90));
    assert_eq!(valid_until(&world.catalog, &seen(1, 0).check("unknown")), day(TODAY + 35));
    assert_eq!(valid_until(&world.catalog, &seen(1, 0).until(TODAY + 3)), day(TODAY + 3));
    let world = world.seen(seen(1, 0).at(TODAY - 80));
    assert_eq!(world.outcome(), (Compliant, Some(100)));
}

#[test]
fn a_compliant_observation_that_lapses_counts_for_nothing() {
    let lapsed = seen(1, 0).check("c2").until(TODAY);
    check(&[lapsed.clone(), seen(1, 1)], (Partial, Some(74)));
    check(std::slice::from_ref(&lapsed), SILENT);
    assert!(!World::of_one().seen(lapsed).control().held);
}

#[test]
fn a_failing_observation_that_lapses_holds_its_control_until_its_check_is_reported_again() {
    let lapsed = || World::of_one().seen(seen(1, 1).at(TODAY - 40)); // Lapsed five days ago.
    let held = |world: World, expect: bool| {
        let control = world.control();
        assert_eq!(control.held, expect, "{control:?}");
        assert_eq!(control.status == NotAssessed, expect);
        assert_eq!(control.score.is_none(), expect);
    };
    held(lapsed(), true);
    held(lapsed().seen(seen(1, 0).check("c2").source("r")), true);
    held(lapsed().seen(seen(1, 0).check("c2").scope("y")), true);
    held(lapsed().seen(seen(1, 0).check("c2").at(TODAY - 6)), true);
    held(lapsed().seen(seen(0, 0).check("c2")), true);
    held(lapsed().seen(seen(1, 0).check("c2").at(TODAY - 5)), true);
    held(lapsed().seen(seen(1, 0).check("c2").at(TODAY - 4)), true);
    held(lapsed().seen(seen(1, 0).scope("y")), true);
    held(lapsed().seen(seen(1, 0).source("r")), true);
    held(lapsed().seen(seen(1, 0)), false);
    held(lapsed().seen(seen(1, 0)).seen(seen(1, 0).check("c2")), false);
    held(lapsed().seen(seen(0, 0)), true);
    held(lapsed().seen(seen(0, 1).at(TODAY - 41)), true);
    let gone = Observation { verdict: Verdict::Gone, ..seen(0, 0) };
    assert!(!lapsed().seen(gone).control().held);
}

#[test]
fn a_hold_ends_when_a_person_decides_later_or_overrides() {
    let lapsed = || World::of_one().seen(seen(0, 1).at(TODAY - 40));
    let good = attested(Compliant);
    assert_eq!(lapsed().attested(good.clone()).outcome(), (Compliant, Some(100)));
    let early = Attestation { at: day(TODAY - 6), ..good.clone() };
    assert_eq!(lapsed().attested(early.clone()).outcome(), SILENT);
    let over = Attestation { overrides: true, ..early };
    assert_eq!(lapsed().attested(over).outcome(), (Compliant, Some(100)));
    let until = Attestation { at: day(TODAY - 5), until: Some(day(TODAY)), ..good.clone() };
    assert_eq!(lapsed().attested(until).outcome(), SILENT);
    // What another source sees counts beside it, if it is worse.
    let other = lapsed().seen(seen(1, 1).check("c2").source("r"));
    assert_eq!(other.attested(good).outcome(), (Partial, Some(74)));
    let other = lapsed().seen(seen(1, 0).check("c2").source("r"));
    assert_eq!(other.attested(attested(NonCompliant)).outcome(), (NonCompliant, Some(0)));
}

#[test]
fn an_attestation_decides_where_nothing_valid_was_seen() {
    let case = |attestation: Attestation, expect: Outcome| {
        assert_eq!(World::of_one().attested(attestation).outcome(), expect);
    };
    case(attested(Compliant), (Compliant, Some(100)));
    case(Attestation { evidence: None, ..attested(Compliant) }, (Partial, Some(50)));
    case(Attestation { evidence: Some(" ".into()), ..attested(Compliant) }, (Partial, Some(50)));
    case(attested(Partial), (Partial, Some(50)));
    case(attested(NonCompliant), (NonCompliant, Some(0)));
    case(attested(NotApplicable), OUT);
    case(attested(NotAssessed), SILENT);
    case(Attestation { until: None, ..attested(NotApplicable) }, OUT);
    case(Attestation { until: Some(day(TODAY)), ..attested(Compliant) }, SILENT);
    case(Attestation { control: "Z-9".into(), ..attested(Compliant) }, SILENT);
}

#[test]
fn an_attestation_beside_a_valid_observation_counts_if_it_overrides_or_is_out_of_scope() {
    let seen = || World::of_one().seen(seen(1, 1));
    for status in [Compliant, NonCompliant] {
        assert_eq!(seen().attested(attested(status)).outcome(), (Partial, Some(74)));
    }
    let out = seen().attested(attested(NotApplicable));
    assert_eq!(out.outcome(), OUT);
    let findings = out.control().findings.unwrap();
    let expect = "Observed all the same: Failed check: \"Check\" (1 of 2 fails)";
    assert!(findings.contains(expect), "{findings}");
    let over = |status| Attestation { overrides: true, ..attested(status) };
    assert_eq!(seen().attested(over(Compliant)).outcome(), (Compliant, Some(100)));
    assert_eq!(seen().attested(over(NonCompliant)).outcome(), (NonCompliant, Some(0)));
    assert_eq!(seen().attested(over(NotApplicable)).outcome(), OUT);
}

#[test]
fn the_newest_attestation_of_a_control_counts_and_of_twins_the_shortest_then_the_worst() {
    let older = Attestation { at: day(TODAY - 1), ..attested(NonCompliant) };
    let world = World::of_one().attested(attested(Compliant)).attested(older.clone());
    assert_eq!(world.outcome(), (Compliant, Some(100)));
    let twin = Attestation { at: day(TODAY), ..older.clone() };
    let world = World::of_one().attested(attested(Compliant)).attested(twin);
    assert_eq!(world.outcome(), (NonCompliant, Some(0)));
    let ended = Attestation { until: Some(day(TODAY)), ..attested(Compliant) };
    let world = World::of_one().attested(ended.clone()).attested(older);
    assert_eq!(world.outcome(), SILENT);
    let world = World::of_one().attested(attested(Partial)).attested(ended);
    assert_eq!(world.outcome(), SILENT, "of twins the shortest, whatever their evidence");
}

#[test]
fn what_an_expired_override_covered_comes_back_with_the_next_observation() {
    let expired = |status| Attestation {
        overrides: true,
        at: day(TODAY - 20),
        until: Some(day(TODAY - 10)),
        ..attested(status)
    };
    let seen_at = |at| World::of_one().seen(seen(1, 0).at(at));
    for status in [Partial, NonCompliant, NotApplicable] {
        let before = seen_at(TODAY - 15).attested(expired(status));
        assert_eq!(before.outcome(), SILENT, "{status:?}");
        assert!(before.control().held);
        let after = seen_at(TODAY - 9).attested(expired(status));
        assert_eq!(after.outcome(), (Compliant, Some(100)), "{status:?}");
    }
    let good = seen_at(TODAY - 15).attested(expired(Compliant));
    assert_eq!(good.outcome(), (Compliant, Some(100)));
    let bare = Attestation { evidence: None, ..expired(Compliant) };
    assert_eq!(seen_at(TODAY - 15).attested(bare).outcome(), SILENT);
    // It decided nothing, so nothing ends with it.
    let idle = Attestation { overrides: false, ..expired(Partial) };
    assert_eq!(seen_at(TODAY - 15).attested(idle).outcome(), (Compliant, Some(100)));
}

fn on_platforms() -> World {
    let mut world = World::of_one();
    world.catalog.controls[0].platforms = vec!["p".into(), "q".into()];
    world
}

#[test]
fn a_control_of_unused_platforms_does_not_apply_for_a_year() {
    let said = |p: Usage, q: Usage| on_platforms().says("p", p).says("q", q);
    let unused = |at| unused_since(at);
    assert_eq!(said(unused(TODAY), unused(TODAY - 1)).outcome(), OUT);
    assert_eq!(said(unused(TODAY), Usage::Used).outcome(), SILENT);
    assert_eq!(said(unused(TODAY), Usage::Unknown).outcome(), SILENT);
    assert_eq!(on_platforms().says("p", unused(TODAY)).outcome(), SILENT);
    assert_eq!(World::of_one().says("p", unused(TODAY)).outcome(), SILENT);
    assert_eq!(said(unused(TODAY), unused(TODAY - 364)).outcome(), OUT);
    let lapsed = said(unused(TODAY), unused(TODAY - 365)).control();
    assert_eq!((lapsed.status, lapsed.held), (NotAssessed, true));
}

#[test]
fn facts_contradict_an_unused_platform_at_once_and_until_it_is_said_again() {
    let unused = |at| on_platforms().says("p", unused_since(at)).says("q", unused_since(at));
    assert_eq!(unused(TODAY).seen(seen(1, 1)).outcome(), (Partial, Some(74)));
    assert_eq!(unused(TODAY - 9).seen(seen(1, 0).at(TODAY - 20)).outcome().0, Compliant);
    let lapsed = |passed, failed| seen(passed, failed).at(TODAY - 40); // Valid until five days ago.
    assert_eq!(unused(TODAY - 6).seen(lapsed(1, 0)).outcome(), SILENT);
    assert_eq!(unused(TODAY - 6).seen(lapsed(0, 1)).outcome(), SILENT);
    assert_eq!(unused(TODAY - 5).seen(lapsed(1, 0)).outcome(), OUT);
    assert_eq!(unused(TODAY - 5).seen(lapsed(0, 1)).outcome(), OUT);
    assert_eq!(unused(TODAY).attested(attested(NonCompliant)).outcome().0, NonCompliant);
    let ended = Attestation { until: Some(day(TODAY - 1)), ..attested(Partial) };
    assert_eq!(unused(TODAY - 2).attested(ended.clone()).outcome(), SILENT);
    assert_eq!(unused(TODAY - 1).attested(ended.clone()).outcome(), OUT);
    let scope = Attestation { status: NotApplicable, ..ended };
    assert_eq!(unused(TODAY - 2).attested(scope).outcome(), OUT);
}

#[test]
fn out_of_scope_stands_whatever_is_observed_and_ends_with_the_next_observation() {
    let scope = |at| Attestation { at: day(at), ..attested(NotApplicable) };
    // A failure that lapsed holds the control, and so it does beside a valid pass of another source.
    let lapsed = || World::of_one().seen(seen(0, 1).at(TODAY - 40));
    assert_eq!(lapsed().attested(scope(TODAY - 6)).outcome(), OUT);
    assert_eq!(lapsed().attested(scope(TODAY - 4)).outcome(), OUT);
    let beside = || lapsed().seen(seen(1, 0).source("r"));
    assert_eq!(beside().attested(scope(TODAY - 4)).outcome(), OUT);
    let ended = Attestation { until: Some(day(TODAY - 2)), ..scope(TODAY - 9) };
    let good = |at| World::of_one().seen(seen(1, 0).at(at)).attested(ended.clone());
    assert_eq!(good(TODAY - 3).outcome(), SILENT);
    assert_eq!(good(TODAY - 1).outcome(), (Compliant, Some(100)));
}

#[test]
fn a_wide_control_is_met_only_when_enough_different_checks_were_seen() {
    let of = |n_min, checks: &[(&str, Observation)]| {
        let mut world = World::of_one();
        world.map("c3", &[0]);
        world.map_gaps("narrow", &[0]);
        world.catalog.controls[0].n_checks_min = n_min;
        let all = checks.iter().map(|(check, it)| it.clone().check(check));
        all.fold(world, World::seen).outcome()
    };
    let (good, bad) = (|| seen(2, 0), || seen(1, 1));
    assert_eq!(of(1, &[("c1", good())]), (Compliant, Some(100)));
    assert_eq!(of(3, &[("c1", good()), ("c2", good())]), SILENT);
    assert_eq!(of(3, &[("c1", good()), ("c2", good()), ("narrow", good())]), SILENT);
    assert_eq!(of(3, &[("c1", good()), ("c1", good().scope("s")), ("c2", good())]), SILENT);
    assert_eq!(of(3, &[("c1", good()), ("c2", good()), ("c3", good())]), (Compliant, Some(100)));
    // A failure counts from the first on, and no better than what passes and decides nothing.
    assert_eq!(of(3, &[("c1", bad())]), (NonCompliant, Some(0)));
    assert_eq!(of(3, &[("c1", bad()), ("c2", good()), ("c3", good())]), (Partial, Some(90)));
    // What a source reports about the control itself is no check.
    assert_eq!(of(3, &[("own", good().of_control("A-1"))]), (Compliant, Some(100)));
    let old = good().at(TODAY - 40);
    assert_eq!(of(3, &[("c1", good()), ("c2", good()), ("c3", old)]), SILENT);
}

#[test]
fn a_control_of_open_findings_is_decided_by_every_serious_check_of_its_platforms() {
    let of = || {
        let mut world = World::new(vec![control("A-1", Severity::High)]);
        world.map("other", &[]);
        world.catalog.controls[0].platforms = vec!["p".into()];
        world.catalog.controls[0].open_findings =
            Some(OpenFindings { tools: vec!["t".into()], severity: Severity::High });
        world
    };
    let world = |observation| of().seen(observation).outcome();
    let found = |severity, scope: &str| Observation {
        severity,
        ..seen(0, 2).check("unmapped").scope(scope)
    };
    assert_eq!(world(found(Severity::High, "p/x")), (NonCompliant, Some(0)));
    assert_eq!(world(found(Severity::Critical, "p")), (NonCompliant, Some(0)));
    assert_eq!(world(found(Severity::Medium, "p/x")), SILENT);
    assert_eq!(world(found(Severity::High, "px/x")), SILENT, "of another platform");
    let good = Observation {
        verdict: Verdict::Counted { passed: 2, failed: 0 },
        ..found(Severity::High, "p/x")
    };
    assert_eq!(world(good.clone()), (Compliant, Some(100)));
    // A narrow look shows what is open, and never that nothing is.
    let three = |checks: &[(&str, &Observation)]| {
        let mut world = of();
        world.catalog.controls[0].n_checks_min = 3;
        let all = checks
            .iter()
            .map(|(check, it)| Observation { check: (*check).to_owned(), ..(*it).clone() });
        all.fold(world, World::seen).outcome()
    };
    let bad = found(Severity::High, "p/x");
    let twice = Observation { scope: "p/y".to_owned(), ..good.clone() };
    assert_eq!(three(&[("a", &good), ("b", &good), ("b", &twice)]), SILENT);
    assert_eq!(three(&[("a", &good), ("b", &good), ("c", &good)]), (Compliant, Some(100)));
    assert_eq!(three(&[("a", &good), ("b", &bad)]), (NonCompliant, Some(0)));
    assert_eq!(three(&[("a", &good), ("b", &bad), ("c", &good)]), (NonCompliant, Some(0)));
    let four = [("a", &good), ("b", &bad), ("c", &good), ("d", &good)];
    assert_eq!(three(&four), (NonCompliant, Some(36)));
    let mut unused = of();
    unused.catalog.controls[0].n_checks_min = 3;
    let unused = unused.says("p", unused_since(TODAY - 3));
    assert_eq!(unused.clone().outcome(), OUT);
    assert_eq!(unused.seen(good.clone()).outcome(), SILENT, "something was seen on it");
    let old = Observation { observed_at: day(TODAY - 40), ..good.clone() };
    assert_eq!(three(&[("a", &good), ("b", &good), ("c", &old)]), SILENT);
}
