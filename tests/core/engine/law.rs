//! The laws of assessment, over catalogues and facts that nobody would think of.

use std::collections::{BTreeMap, BTreeSet};

use posture_core::clock::Time;
use posture_core::engine::change::{Before, difference};
use posture_core::engine::control::valid_until;
use posture_core::engine::fact::{
    Attestation, CompleteRead, Observation, RowDecisionKind, Status, Subject, Usage, Verdict,
};
use posture_core::engine::posture::Posture;
use posture_core::engine::severity::Severity;
use posture_core::id::ImportId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::generate::{BASE_LOSS, NOW, any_observation, any_read, any_world};
use super::world::{World, attested, control, day};

const CASES: u32 = 512;

pub(super) fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

/// Names of scores that are higher in `after` than in `before`.
fn raised(before: &Posture, after: &Posture) -> Vec<String> {
    let mut raised = Vec::new();
    let mut check = |name: String, before: i32, after: i32| {
        if before < after {
            raised.push(format!("{name}: {before} -> {after}"));
        }
    };
    check("overall".into(), before.score.overall.into(), after.score.overall.into());
    let categories: BTreeMap<_, _> = before.score.categories.iter().cloned().collect();
    for (name, score) in &after.score.categories {
        let before = categories.get(name).copied().unwrap_or(0);
        check(format!("category {name}"), before.into(), (*score).into());
    }
    for (before, after) in before.controls.iter().zip(&after.controls) {
        let score = |it: Option<u8>| i32::from(it.unwrap_or(0));
        check(after.code.clone(), score(before.score), score(after.score));
    }
    for (before, after) in before.frameworks.iter().zip(&after.frameworks) {
        let id = after.id.as_str();
        check(
            format!("{id} ready"),
            before.summary.readiness.into(),
            after.summary.readiness.into(),
        );
        let sprs = |it: Option<i16>| it.map_or(-1_000, i32::from);
        check(format!("{id} sprs"), sprs(before.summary.sprs), sprs(after.summary.sprs));
        for (index, (before, after)) in before.rows.iter().zip(&after.rows).enumerate() {
            check(format!("{id} R{index}"), before.score.into(), after.score.into());
            let met = |status| i32::from(status == Status::Compliant);
            check(format!("{id} R{index} met"), met(before.status), met(after.status));
        }
    }
    raised
}

fn loss(posture: &Posture) -> u64 {
    posture.loss.unwrap().now
}

fn key(it: &Observation) -> (&Subject, &str, &str, &str) {
    (&it.subject, &it.source, &it.scope, &it.check)
}

fn passes(it: &Observation) -> bool {
    match it.verdict {
        Verdict::Counted { passed, failed } => passed != 0 && failed == 0,
        Verdict::Stated(status) => status == Status::Compliant,
        Verdict::Gone | Verdict::Seen { .. } => false,
    }
}

/// Whether all that now counts of its key passes.
fn is_passing_key(world: &World, it: &Observation) -> bool {
    let same = || {
        let all = world.observations.iter();
        all.filter(|other| key(other) == key(it) && other.verdict.is_effective())
    };
    let newest = same().map(|it| it.observed_at).max();
    same().filter(|it| Some(it.observed_at) == newest).all(passes) && newest.is_some()
}

/// The same, a little worse.
fn worsened(it: &Observation, by: u32, subject: u64) -> Observation {
    let mut worse = it.clone();
    match &mut worse.verdict {
        Verdict::Counted { passed, failed } => {
            let moved = by.min(*passed);
            *passed -= moved;
            *failed += by.max(moved);
        }
        Verdict::Stated(status) => {
            *status = match (*status, by % 2) {
                (Status::Compliant, 1) => Status::Partial,
                (Status::Compliant | Status::Partial | Status::NonCompliant, _) => {
                    Status::NonCompliant
                }
                (other @ (Status::NotAssessed | Status::NotApplicable), _) => other,
            }
        }
        Verdict::Seen { passed, failed, unseen } => {
            // What was not seen turns out to fail, what passed fails, or what passed is not seen any more.
            let (of_passed, of_unseen) = (by.min(*passed), by.min(*unseen));
            let now = match by % 3 {
                0 => Verdict::of_population(*passed, *failed + of_unseen, *unseen - of_unseen),
                1 => Verdict::of_population(*passed - of_passed, *failed + of_passed, *unseen),
                _ => Verdict::of_population(*passed - of_passed, *failed, *unseen + of_passed),
            };
            // One of which most is unseen says nothing, and leaves what was known before.
            worse.verdict = if now.is_effective() { now } else { it.verdict };
        }
        Verdict::Gone => (),
    }
    let failing: BTreeSet<u64> = worse.failing.iter().copied().chain([subject]).collect();
    worse.failing = failing.into_iter().collect();
    worse
}

/// The same, with nothing that has lapsed: of what has, only what fails is still seen.
fn without_lapse(mut world: World) -> World {
    world.catalog.controls.iter_mut().for_each(|it| it.max_age_days = u16::MAX);
    world.observations.iter_mut().for_each(|it| it.valid_until = None);
    world.attestations.iter_mut().for_each(|it| it.until = None);
    world.parts.iter_mut().for_each(|it| it.said.until = None);
    world
}

fn is_scope_kept(before: &Posture, after: &Posture) -> bool {
    let out = |it: &Posture| -> Vec<bool> {
        it.controls.iter().map(|it| it.status == Status::NotApplicable).collect()
    };
    out(before) == out(after)
}

/// Whether something valid says that a control is met, found without the engine's rules of
/// precedence.
fn is_vouched_for(world: &World, index: usize) -> bool {
    let speaks = |it: &&Observation| match &it.subject {
        Subject::Control(code) => *code == world.catalog.controls[index].code,
        Subject::Check { tool } => {
            let links = world.catalog.links_of_check(tool, &it.check);
            links.iter().any(|it| it.control == index && !it.shows_only_gaps())
        }
    };
    let valid = |it: &Observation| world.now < valid_until(&world.catalog, it);
    let mut observations = world.observations.iter().filter(speaks);
    let mut attestations =
        world.attestations.iter().filter(|it| it.control == world.catalog.controls[index].code);
    let of_parts = world.parts.iter().map(|it| &it.said);
    let of_parts = of_parts.filter(|it| it.control == world.catalog.controls[index].code);
    observations.any(|it| passes(it) && valid(it))
        || attestations.by_ref().chain(of_parts).any(|it| {
            let valid = it.until.is_none_or(|until| world.now < until);
            it.status == Status::Compliant && it.evidence.is_some() && valid
        })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_facts_is_irrelevant(
        world in any_world(), twin in any_observation(1), seed in any::<Index>(),
    ) {
        let mut world = world;
        if let Some(it) = world.observations.first() {
            // Made at the same moment, and not the same.
            let Observation { subject, source, scope, check, observed_at, .. } = it.clone();
            let title = "Twin".to_owned();
            let twin = Observation { subject, source, scope, check, observed_at, title, ..twin };
            world.observations.push(twin);
        }
        let mut other = world.clone();
        other.observations.reverse();
        let n = other.observations.len().max(1);
        other.observations.rotate_left(seed.index(n) % n);
        other.reads.reverse();
        other.attestations.reverse();
        other.parts.reverse();
        other.decisions.reverse();
        prop_assert_eq!(world.assess(), other.assess());
    }

    #[test]
    fn what_a_complete_read_lacks_is_as_if_it_had_never_been_seen(
        world in any_world(), read in any_read(),
    ) {
        let read = CompleteRead { import: ImportId::from_bytes([9; 16]), ..read };
        let mut world = world;
        for it in world.observations.iter_mut().filter(|it| it.observed_at == read.at) {
            it.import = read.import; // It has what is seen at its time.
        }
        let mut unseen = world.clone();
        unseen.observations.retain(|it| {
            let is_here = (&it.source, &it.scope) == (&read.source, &read.scope);
            let mut all = world.observations.iter().filter(|other| key(other) == key(it));
            !is_here || read.at <= it.observed_at || all.any(|it| it.observed_at == read.at)
        });
        world.reads.push(read.clone());
        prop_assert_eq!(world.assess(), unseen.assess());
        let once = world.assess();
        world.reads.push(read);
        prop_assert_eq!(once, world.assess(), "twice is once");
    }

    #[test]
    fn assessing_twice_changes_nothing_and_nothing_differs_from_itself(world in any_world()) {
        let posture = world.assess();
        prop_assert_eq!(&posture, &world.assess());
        let before = Before::of(&posture, &world.catalog);
        let thresholds: Vec<u8> = (0..=100).collect();
        let changes = difference(&world.catalog, Some(&before), &posture, &thresholds);
        prop_assert_eq!(changes, []);
    }

    #[test]
    fn lapse_never_raises_any_score(world in any_world(), wait in vec(0..60i64, 1..3)) {
        let mut before = world.assess();
        let mut today = NOW;
        for days in wait {
            today += days;
            let after = world.assess_at(day(today));
            prop_assert_eq!(raised(&before, &after), Vec::<String>::new());
            before = after;
        }
        let after = world.assess_at(day(today + 400));
        prop_assert_eq!(raised(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn lapse_of_what_was_seen_opens_no_risk_and_closes_none(
        world in any_world(), days in 0..100i64,
    ) {
        let (mut world, later) = (world, day(NOW + days));
        // A person's word that ends uncovers what was seen to fail, and one that was covered comes
        // to count.
        let stays = |it: &Attestation| {
            let stays = it.until.is_none_or(|it| it <= world.now || later < it);
            let is_good = it.status == Status::Compliant && it.evidence.is_some();
            stays && (it.overrides || is_good || it.status == Status::NotApplicable)
        };
        world.attestations.retain(stays);
        world.parts.retain(|it| stays(&it.said));
        for usage in world.profile.values_mut() {
            match usage {
                Usage::Unused { until, .. } if world.now < *until && *until <= later => {
                    *usage = Usage::Unknown;
                }
                Usage::Unused { .. } | Usage::Used | Usage::Unknown => (),
            }
        }
        let open = |it: Posture| {
            it.risks.into_iter().map(|it| it.condition).collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(open(world.assess()), open(world.assess_at(later)));
    }

    #[test]
    fn what_another_check_passes_ends_no_hold_and_closes_no_risk(
        world in any_world(), other in any_observation(1), passed in 1..5u32,
    ) {
        let mut world = world;
        // An observation may well end what a person said.
        world.attestations.clear();
        world.parts.clear();
        world.profile.clear();
        let other = Observation { verdict: Verdict::Counted { passed, failed: 0 }, ..other };
        prop_assume!(world.observations.iter().all(|it| key(it) != key(&other)));
        let mut more = world.clone();
        more.observations.push(other);
        let (before, after) = (world.assess(), more.assess());
        for (before, after) in before.controls.iter().zip(&after.controls) {
            prop_assert!(!before.held || after.held, "{after:?}");
            prop_assert!(!after.held || after.status == Status::NotAssessed, "{after:?}");
        }
        let open = |it: Posture| {
            it.risks.into_iter().map(|it| it.condition).collect::<BTreeSet<_>>()
        };
        prop_assert!(open(before).is_subset(&open(after)));
    }

    #[test]
    fn less_passing_evidence_never_raises_any_score(
        world in any_world(), which in any::<Index>(), passed in 0..4u32, drop in any::<bool>(),
    ) {
        prop_assume!(!world.observations.is_empty());
        let mut less = world.clone();
        let it = &mut less.observations[which.index(world.observations.len())];
        if drop && is_passing_key(&world, it) {
            let gone = it.clone();
            less.observations.retain(|it| key(it) != key(&gone));
        } else if let Verdict::Counted { passed: all, failed } = &mut it.verdict {
            *all = passed.clamp(u32::from(*failed == 0), 4).min(*all);
        }
        let (before, after) = (world.assess(), less.assess());
        prop_assume!(is_scope_kept(&before, &after));
        prop_assert_eq!(raised(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn less_evidence_of_an_attestation_never_raises_any_score(
        world in any_world(), which in any::<Index>(),
    ) {
        prop_assume!(!world.attestations.is_empty());
        let mut world = world;
        let it = which.index(world.attestations.len());
        world.attestations[it].status = Status::Compliant;
        world.attestations[it].evidence = Some("doc".to_owned());
        let mut less = world.clone();
        less.attestations[it].evidence = None;
        let (before, after) = (world.assess(), less.assess());
        prop_assert_eq!(raised(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn a_worse_observation_never_raises_any_score(
        world in any_world(), which in any::<Index>(), by in 1..5u32, subject in 1..5u64,
    ) {
        prop_assume!(!world.observations.is_empty());
        let mut worse = world.clone();
        let it = &mut worse.observations[which.index(world.observations.len())];
        prop_assume!(it.verdict.is_effective());
        *it = worsened(it, by, subject);
        prop_assert_eq!(raised(&world.assess(), &worse.assess()), Vec::<String>::new());
    }

    #[test]
    fn a_worse_observation_never_lowers_the_loss_while_it_counts(
        world in any_world(), which in any::<Index>(), by in 1..5u32, subject in 1..5u64,
    ) {
        prop_assume!(!world.observations.is_empty());
        let world = without_lapse(world);
        let mut worse = world.clone();
        let it = &mut worse.observations[which.index(world.observations.len())];
        prop_assume!(it.verdict.is_effective());
        *it = worsened(it, by, subject);
        let (before, after) = (world.assess(), worse.assess());
        prop_assume!(is_scope_kept(&before, &after));
        prop_assert!(loss(&before) <= loss(&after));
    }

    #[test]
    fn one_more_check_that_fails_never_raises_a_score_or_lowers_the_loss(
        world in any_world(), other in any_observation(1), failed in 0..5u32,
    ) {
        let mut world = without_lapse(world);
        // One more check may be what the others were too few without.
        world.catalog.controls.iter_mut().for_each(|it| it.n_checks_min = 1);
        // It may well end what a person said, and be as new as a row asks.
        world.attestations.clear();
        world.parts.retain(|it| !it.said.overrides);
        world.decisions.clear();
        world.profile.clear();
        let rows = world.catalog.frameworks.iter_mut().flat_map(|it| &mut it.rows);
        rows.flat_map(|it| &mut it.controls).for_each(|it| it.within_days = None);
        let verdict = match failed {
            0 => Verdict::Stated(Status::NonCompliant),
            _ => Verdict::Counted { passed: 0, failed },
        };
        let other = Observation { verdict, valid_until: None, ..other };
        prop_assume!(world.observations.iter().all(|it| key(it) != key(&other)));
        let mut more = world.clone();
        more.observations.push(other);
        let (before, after) = (world.assess(), more.assess());
        prop_assert_eq!(raised(&before, &after), Vec::<String>::new());
        prop_assert!(loss(&before) <= loss(&after));
    }

    #[test]
    fn one_more_control_that_fails_raises_the_loss_and_no_dollar_impact(
        world in any_world(), severity in select(Severity::ALL.to_vec()), is_partial in any::<bool>(),
    ) {
        let mut more = world.clone();
        let failing = format!("A-{}", world.catalog.controls.len());
        more.catalog.controls.push(control(&failing, severity));
        let status = if is_partial { Status::Partial } else { Status::NonCompliant };
        more.attestations.push(Attestation { control: failing, ..attested(status) });
        let (before, after) = (world.assess(), more.assess());
        prop_assert!(loss(&before) < loss(&after));
        for risk in &before.risks {
            let same = after.risks.iter().find(|it| it.condition == risk.condition).unwrap();
            prop_assert!(same.dollar_impact <= risk.dollar_impact, "{risk:?} {same:?}");
        }
    }

    #[test]
    fn a_dollar_impact_is_what_the_loss_falls_by_without_the_risk(
        world in any_world(), which in any::<Index>(),
    ) {
        let before = world.assess();
        let priced: Vec<_> = before.risks.iter().filter(|it| it.dollar_impact.is_some()).collect();
        prop_assume!(!priced.is_empty());
        let risk = priced[which.index(priced.len())];
        let code = risk.condition.strip_prefix("control/").unwrap().to_owned();
        let mut fixed = world.clone();
        fixed.attestations.retain(|it| it.control != code);
        let it = attested(Status::NotApplicable);
        fixed.attestations.push(Attestation { control: code, overrides: true, ..it });
        let saved = loss(&before) - loss(&fixed.assess());
        let impact = risk.dollar_impact.unwrap();
        // Two digits are kept, and each loss is rounded to a dollar.
        prop_assert!(impact <= saved + 1 && saved <= impact + impact / 10 + 1, "{saved} {impact}");
    }

    #[test]
    fn no_row_is_compliant_without_something_valid_behind_it(world in any_world()) {
        let posture = world.assess();
        for (index, outcome) in posture.controls.iter().enumerate() {
            let is_met = outcome.status == Status::Compliant;
            prop_assert!(!is_met || is_vouched_for(&world, index), "{outcome:?}");
        }
        for (framework, outcome) in world.catalog.frameworks.iter().zip(&posture.frameworks) {
            for (index, row) in outcome.rows.iter().enumerate() {
                let below = |mut at: usize| loop {
                    match (at == index, framework.rows[at].parent) {
                        (true, _) => break true,
                        (false, Some(parent)) => at = parent,
                        (false, None) => break false,
                    }
                };
                let taken = (0..framework.rows.len()).filter(|it| below(*it));
                let taken: Vec<_> = taken.flat_map(|it| &framework.rows[it].controls).collect();
                let is_attested = world.decisions.iter().any(|it| {
                    it.is_about(framework.id, &framework.rows[index].reference)
                        && matches!(it.kind, RowDecisionKind::Attested { .. })
                        && it.until.is_none_or(|end| world.now < end)
                });
                let is_backed = taken.iter().any(|it| is_vouched_for(&world, it.control))
                    || taken.is_empty() && is_attested;
                prop_assert!(row.status != Status::Compliant || is_backed, "row {index}");
            }
        }
    }

    #[test]
    fn nothing_changes_before_the_moment_that_is_named(world in any_world()) {
        let posture = world.assess();
        let before = |it: Time| Time::from_micros(it.micros() - 1);
        let last = posture.changes_at.map_or(day(NOW + 9_999), before);
        prop_assert!(world.now <= last);
        prop_assert_eq!(posture, world.assess_at(last));
    }

    #[test]
    fn risks_are_in_bounds_and_never_cost_more_than_the_exposure(world in any_world()) {
        let posture = world.assess();
        let expected = posture.loss.unwrap();
        prop_assert_eq!(expected.base, BASE_LOSS);
        prop_assert!((BASE_LOSS..6 * BASE_LOSS).contains(&expected.now));
        let impacts = || posture.risks.iter().filter_map(|it| it.dollar_impact);
        prop_assert!(impacts().sum::<u64>() <= expected.exposure());
        let has_two_digits = |it: u64| it.to_string().chars().skip(2).all(|digit| digit == '0');
        prop_assert!(impacts().all(has_two_digits), "{:?}", impacts().collect::<Vec<_>>());
        for risk in &posture.risks {
            let is_of_control = risk.condition.starts_with("control/");
            prop_assert!(risk.dollar_impact.is_some() == is_of_control, "{risk:?}");
        }
        prop_assert!(posture.risks.iter().all(|it| it.score <= 100));
        prop_assert!(posture.risks.is_sorted_by_key(|it| (100 - it.score, it.condition.clone())));
        let conditions: BTreeSet<_> = posture.risks.iter().map(|it| &it.condition).collect();
        prop_assert_eq!(conditions.len(), posture.risks.len());
        let worst = posture.risks.iter().map(|it| it.score).max().unwrap_or(0);
        prop_assert!(posture.touched.values().all(|it| *it <= worst));
    }
}

#[test]
fn the_generated_worlds_reach_what_the_laws_speak_about() {
    let mut runner = TestRunner::deterministic();
    let mut met = BTreeMap::new();
    for _ in 0..400 {
        let world = any_world().new_tree(&mut runner).unwrap().current();
        let posture = world.assess();
        for it in &posture.controls {
            *met.entry(("control", it.status.as_str(), it.held)).or_insert(0) += 1;
        }
        for row in posture.frameworks.iter().flat_map(|it| &it.rows) {
            *met.entry(("row", row.status.as_str(), 99 <= row.score)).or_insert(0) += 1;
        }
    }
    assert!(met.len() == 12 && met.values().all(|it| 10 <= *it), "{met:?}");
}
