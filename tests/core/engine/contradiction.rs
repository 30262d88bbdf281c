//! Decisions of people that are contradicted by what was seen.

use std::collections::BTreeSet;

use posture_core::clock::Time;
use posture_core::engine::contradiction::{
    Contradiction, DecidedThing, DecisionKind, N_SOURCES_NAMED,
};
use posture_core::engine::fact::{
    Attestation, Observation, RowDecision, RowDecisionKind, Status, Subject, Usage,
};
use posture_core::engine::framework::{ControlRole, FrameworkId, ReadinessRule};
use proptest::prelude::*;

use super::generate::{NOW, any_world};
use super::world::{
    Placed, TODAY, World, attested, control, day, decides, decision, seen, supports, unused_since,
};
use posture_core::engine::severity::Severity;

fn override_to(status: Status) -> Attestation {
    Attestation { overrides: true, ..attested(status) }
}

fn only(world: &World) -> Contradiction {
    let mut all = world.assess().contradictions;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn is_quiet(world: &World) -> bool {
    world.assess().contradictions.is_empty()
}

#[test]
fn an_override_over_a_failure_names_who_why_and_what_was_seen() {
    let world = World::of_one().seen(seen(1, 2)).seen(seen(0, 3).source("r").at(TODAY - 1));
    let found = only(&world.clone().attested(override_to(Status::Compliant)));
    assert_eq!(found.about, DecidedThing::Control("A-1".to_owned()));
    assert_eq!((found.kind, found.by.as_str()), (DecisionKind::Override, "ann"));
    assert_eq!((found.at, found.until), (day(TODAY), Some(day(TODAY + 365))));
    assert_eq!(found.reason.as_deref(), Some("looked at it"));
    assert_eq!((found.seen.n_failing, found.seen.at), (5, day(TODAY)));
    assert_eq!((found.seen.sources, found.seen.n_sources), (vec!["r".into(), "s".into()], 2));
    assert_eq!(found.seen.controls, ["A-1"]);
    for quiet in [override_to(Status::NonCompliant), attested(Status::Compliant)] {
        assert!(is_quiet(&world.clone().attested(quiet)), "it hides nothing");
    }
    let partly = only(&world.clone().attested(override_to(Status::Partial)));
    assert_eq!(partly.kind, DecisionKind::Override);
    assert!(is_quiet(&World::of_one().seen(seen(3, 0)).attested(override_to(Status::Compliant))));
}

#[test]
fn out_of_scope_is_contradicted_until_what_failed_passes() {
    let world = World::of_one().seen(seen(1, 2)).attested(attested(Status::NotApplicable));
    assert_eq!(only(&world).kind, DecisionKind::OutOfScope);
    assert!(is_quiet(&world.clone().seen(seen(3, 0).at(TODAY + 1)).on(TODAY + 1)));
    // Time alone does not make what failed pass.
    let later = world.on(TODAY + 60);
    assert_eq!(only(&later).seen.at, day(TODAY));
    // What was out of date when the decision was made is settled by it.
    let old = World::of_one().seen(seen(1, 2).at(TODAY - 40));
    assert!(is_quiet(&old.attested(attested(Status::NotApplicable))));
}

#[test]
fn a_row_out_of_scope_is_contradicted_by_what_decides_it_alone() {
    let of = |rows| {
        let mut world = World::of_one().seen(seen(1, 2));
        world.catalog.controls.push(control("A-2", Severity::Low));
        world.framework(FrameworkId::Soc2, ReadinessRule::Mean, rows);
        world.decided(decision("R", RowDecisionKind::OutOfScope))
    };
    let world = of(vec![decides("R", &[0, 1])]);
    let found = only(&world);
    let about = DecidedThing::Row { framework: FrameworkId::Soc2, reference: "R".to_owned() };
    assert_eq!((found.about, found.reason.as_deref()), (about, Some("because")));
    assert_eq!((found.seen.controls, found.seen.n_failing), (vec!["A-1".to_owned()], 2));
    assert!(is_quiet(&of(vec![supports("R", &[0]), decides("S", &[0])])));
    assert!(is_quiet(&of(vec![decides("R", &[1])])));
    // The control is out of scope too: both decisions hide the failure.
    let both = world.attested(attested(Status::NotApplicable)).assess().contradictions;
    assert_eq!(both.len(), 2, "{both:?}");
}

#[test]
fn an_unused_platform_of_which_something_is_seen_is_contradicted_while_the_answer_counts() {
    let aws = |source: &str| seen(1, 0).source(source).scope("aws/1");
    let world = World::of_one().says("aws", unused_since(TODAY - 9));
    let found = only(&world.clone().seen(aws("s")).seen(aws("r").at(TODAY - 2)));
    assert_eq!(found.about, DecidedThing::Platform("aws".to_owned()));
    assert_eq!((found.kind, found.at), (DecisionKind::Unused, day(TODAY - 9)));
    assert_eq!((found.reason, found.seen.n_failing, found.seen.n_sources), (None, 0, 2));
    assert!(is_quiet(&world.clone().seen(aws("s").at(TODAY - 10))));
    let expired = World::of_one().says("aws", unused_since(TODAY - 400)).seen(aws("s"));
    assert!(is_quiet(&expired));
    assert!(is_quiet(&World::of_one().says("aws", Usage::Used).seen(aws("s"))));
}

#[test]
fn sources_beyond_those_that_are_named_are_counted() {
    let mut world = World::of_one().attested(override_to(Status::Compliant));
    for it in 0..=N_SOURCES_NAMED {
        world = world.seen(seen(0, 1).source(&format!("s{it:02}")));
    }
    let found = only(&world).seen;
    assert_eq!((found.sources.len(), found.n_sources), (N_SOURCES_NAMED, 11));
}

/// Whether an observation that counts failed when the decision was made or later, found without the engine's own ways.
fn was_seen_failing(world: &World, control: usize, decided_at: Time) -> bool {
    let key = |it: &Observation| {
        (it.subject.clone(), it.source.clone(), it.scope.clone(), it.check.clone())
    };
    let code = &world.catalog.controls[control].code;
    let max_age_days = i64::from(world.catalog.controls[control].max_age_days);
    let counts = |it: &&Observation| it.is_effective();
    let all = || world.observations.iter().filter(counts);
    all().any(|it| {
        let is_of_control = match &it.subject {
            Subject::Control(named) => named == code,
            Subject::Check { tool } => {
                let links = world.catalog.links_of_check(tool, &it.check);
                links.iter().any(|it| it.control == control)
            }
        };
        let same = || all().filter(|other| key(other) == key(it));
        let newest = same().map(|it| it.observed_at).max();
        let ties = || same().filter(|other| Some(other.observed_at) == newest);
        let is_gone = world.reads.iter().any(|read| {
            // No read of the generated ones says that it had something.
            (&read.source, &read.scope) == (&it.source, &it.scope) && it.observed_at < read.at
        });
        let end = |it: &Observation| {
            it.valid_until.unwrap_or_else(|| it.observed_at.plus_days(max_age_days))
        };
        let present = ties().filter(|it| it.verdict != posture_core::engine::fact::Verdict::Gone);
        let end = present.map(end).min();
        Some(it.observed_at) == newest
            && it.verdict.is_failing()
            && is_of_control
            && !is_gone
            && end.is_some_and(|it| decided_at < it)
    })
}

fn is_in_force(until: Option<Time>, now: Time) -> bool {
    until.is_none_or(|it| now < it)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_contradiction_is_listed_if_and_only_if_a_decision_about_a_control_hides_a_failure(
        world in any_world(), at in prop::collection::vec(NOW - 60..=NOW, 4),
    ) {
        let mut world = world;
        // One attestation about each control, so that it is known which one counts.
        let mut codes = BTreeSet::new();
        world.parts.clear();
        world.attestations.retain(|it| codes.insert(it.control.clone()));
        for (it, at) in world.attestations.iter_mut().zip(at) {
            it.at = day(at);
        }
        let listed: BTreeSet<String> = world.assess().contradictions.into_iter().filter_map(|it| {
            match it.about {
                DecidedThing::Control(code) => Some(code),
                DecidedThing::Row { .. } | DecidedThing::Platform(_) => None,
            }
        }).collect();
        let hides = |it: &&Attestation| {
            let index = world.catalog.find_control(&it.control).unwrap();
            let says_good = it.status == Status::NotApplicable
                || it.overrides && matches!(it.status, Status::Compliant | Status::Partial);
            says_good && is_in_force(it.until, world.now) && was_seen_failing(&world, index, it.at)
        };
        let hidden: BTreeSet<String> =
            world.attestations.iter().filter(hides).map(|it| it.control.clone()).collect();
        prop_assert_eq!(listed, hidden);
    }

    #[test]
    fn every_row_that_is_listed_is_out_of_scope_and_has_a_control_that_decides_it_and_failed(
        world in any_world(),
    ) {
        for it in world.assess().contradictions {
            let DecidedThing::Row { framework, reference } = &it.about else { continue };
            let is_of = |it: &&RowDecision| it.is_about(*framework, reference);
            let decided = world.decisions.iter().filter(is_of);
            let is_out = |it: &RowDecision| {
                it.kind == RowDecisionKind::OutOfScope && is_in_force(it.until, world.now)
            };
            prop_assert!(decided.clone().any(is_out), "{it:?}");
            let rows = &world.catalog.find_framework(*framework).unwrap().rows;
            for code in &it.seen.controls {
                let index = world.catalog.find_control(code).unwrap();
                let maps = |it: &posture_core::engine::framework::Mapping| {
                    it.control == index && it.role == ControlRole::Decides
                };
                prop_assert!(rows.iter().any(|it| it.controls.iter().any(maps)));
                prop_assert!(was_seen_failing(&world, index, it.at), "{it:?}");
            }
        }
    }

    #[test]
    fn time_alone_ends_no_contradiction_while_its_decision_counts(
        world in any_world(), days in 0..60i64,
    ) {
        let later = day(NOW + days);
        let before = world.assess().contradictions;
        let after = world.assess_at(later).contradictions;
        for it in before.iter().filter(|it| is_in_force(it.until, later)) {
            let is_platform = matches!(it.about, DecidedThing::Platform(_));
            prop_assert!(is_platform || after.iter().any(|it2| it2.about == it.about), "{it:?}");
        }
    }
}
