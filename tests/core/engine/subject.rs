//! Decisions about single subjects of a control.

use posture_core::engine::change::{Before, Change, RiskEnding, difference};
use posture_core::engine::control::controls_of;
use posture_core::engine::fact::{Observation, Status, Verdict, subject_hash};
use posture_core::engine::memory::NamedSubject;
use posture_core::engine::posture::Posture;
use posture_core::engine::subject::{DecidedSubjects, SubjectDecision, SubjectRuling, matches};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::generate::{NOW, any_world};
use super::world::{Placed, TODAY, World, attested, day, seen};

const ALL: [u64; 3] = [1, 2, 3];

fn ruled(ruling: SubjectRuling, subjects: DecidedSubjects) -> SubjectDecision {
    let control = "A-1".to_owned();
    SubjectDecision { control, ruling, subjects, at: day(TODAY), until: day(TODAY + 30) }
}

fn named(ruling: SubjectRuling, hashes: &[u64]) -> SubjectDecision {
    ruled(ruling, DecidedSubjects::Named(hashes.to_vec()))
}

fn intended(hashes: &[u64]) -> SubjectDecision {
    named(SubjectRuling::Intended, hashes)
}

fn accepted(hashes: &[u64]) -> SubjectDecision {
    named(SubjectRuling::Accepted, hashes)
}

fn matching(ruling: SubjectRuling, pattern: &str) -> SubjectDecision {
    ruled(ruling, DecidedSubjects::Matching(pattern.to_owned()))
}

fn world(observation: Observation, subjects: &[SubjectDecision]) -> World {
    World { subjects: subjects.to_vec(), ..World::of_one().seen(observation) }
}

/// `passed` that pass, and these that fail.
fn failing(passed: u32, subjects: &[u64]) -> Observation {
    seen(passed, u32::try_from(subjects.len()).unwrap()).failing(subjects)
}

/// The subjects by their names.
fn known_as(it: Observation, names: &[(u64, &str)]) -> Observation {
    let names = names.iter().map(|(hash, name)| NamedSubject { hash: *hash, name: (*name).into() });
    let mut it = it;
    it.memory.names = names.collect();
    it
}

#[test]
fn a_pattern_is_matched_as_people_read_it() {
    let holds = |pattern: &str, name: &str| {
        assert!(matches(pattern, name), "{pattern} {name}");
    };
    let fails = |pattern: &str, name: &str| {
        assert!(!matches(pattern, name), "{pattern} {name}");
    };
    holds("breakglass-*", "breakglass-1@acme.example");
    holds("BreakGlass-?@*", "breakglass-1@ACME.example");
    holds("*.acme.example", "www.acme.example");
    holds("*a*b*c*", "xxaxxbxxbc");
    holds("a*a*a", "aaaa");
    holds("srv-??", "srv-01");
    holds("É*", "école");
    holds("plain", "Plain");
    fails("plain", "plainer");
    fails("srv-??", "srv-1");
    fails("srv-??", "srv-001");
    fails("a*a*a", "aa");
    fails("?", "");
    fails("*x", "xy");
    fails("", "a");
    holds("", "");
    holds("*", "");
}

#[test]
fn who_is_meant_so_is_no_member() {
    let one = world(failing(1, &[1, 2]), &[intended(&[1])]);
    assert_eq!(one.outcome(), world(failing(1, &[2]), &[]).outcome());
    let both = world(failing(1, &[1, 2]), &[intended(&[1, 2])]);
    assert_eq!(both.outcome(), (Status::Compliant, Some(100)));
    let findings = both.control().findings.unwrap();
    assert!(findings.ends_with("Not counted, because they are meant to be so: 2."), "{findings}");
}

#[test]
fn a_check_of_which_nothing_is_left_says_nothing() {
    let left = world(failing(0, &[1]), &[intended(&[1])]);
    let control = left.control();
    assert_eq!(control.status, Status::NotAssessed);
    let findings = control.findings.unwrap();
    assert_eq!(findings, "Not counted, because they are meant to be so: 1.");
    let other = left.seen(failing(2, &[]).check("c2"));
    assert_eq!(other.outcome(), (Status::Compliant, Some(100)), "the other check still decides");
}

#[test]
fn what_most_of_which_is_unseen_passes_nothing_by_a_decision() {
    let mut it = failing(1, &[1]);
    it.verdict = Verdict::Seen { passed: 1, failed: 1, unseen: 5 };
    assert_eq!(world(it, &[intended(&[1])]).control().status, Status::NotAssessed);
}

#[test]
fn an_accepted_subject_fails_and_the_risk_is_accepted_once_all_are() {
    let open = world(failing(1, &[1, 2]), &[]);
    let some = world(failing(1, &[1, 2]), &[accepted(&[1])]);
    let all = world(failing(1, &[1, 2]), &[accepted(&[1]), accepted(&[2])]);
    for it in [&some, &all] {
        assert_eq!(it.outcome(), open.outcome());
    }
    let is_muted = |it: &World| it.assess().risks[0].is_muted;
    assert_eq!([&open, &some, &all].map(is_muted), [false, false, true]);
    let findings = all.control().findings.unwrap();
    assert!(findings.ends_with("Accepted of those that fail: 2."), "{findings}");
}

#[test]
fn what_the_source_muted_is_not_counted_twice() {
    let mut it = failing(0, &[1, 2]);
    it.accepted = 1; // It is not known which.
    assert!(!world(it.clone(), &[accepted(&[1])]).assess().risks[0].is_muted);
    it.memory.muted = vec![1];
    assert!(!world(it.clone(), &[accepted(&[1])]).assess().risks[0].is_muted);
    assert!(world(it.clone(), &[accepted(&[2])]).assess().risks[0].is_muted);
    assert!(world(it.clone(), &[intended(&[2])]).assess().risks[0].is_muted);
    assert!(!world(it, &[intended(&[1])]).assess().risks[0].is_muted);
}

#[test]
fn a_pattern_decides_only_about_names_that_are_known() {
    let it = known_as(failing(1, &[1, 2, 3]), &[(1, "srv-01"), (2, "db-01")]);
    let one = world(it.clone(), &[matching(SubjectRuling::Intended, "srv-*")]);
    assert_eq!(one.outcome(), world(failing(1, &[2, 3]), &[]).outcome());
    let all = world(it, &[matching(SubjectRuling::Intended, "*-*")]);
    assert_eq!(all.outcome(), world(failing(1, &[3]), &[]).outcome(), "3 has no name");
}

#[test]
fn a_subject_is_found_by_its_name_as_by_its_id() {
    let it = known_as(failing(1, &[1, 2]), &[(1, "ann@acme.example")]);
    let by_name = world(it, &[intended(&[subject_hash("ann@acme.example")])]);
    assert_eq!(by_name.outcome(), world(failing(1, &[2]), &[]).outcome());
}

#[test]
fn names_that_are_apart_from_hashes_are_the_subjects() {
    // One system with two ids and one without: two fail.
    let mut it = known_as(seen(1, 2).failing(&[1, 2]), &[(77, "web"), (78, "db")]);
    let by_ids = world(it.clone(), &[intended(&[1, 2])]);
    assert_eq!(by_ids.outcome(), world(it.clone(), &[]).outcome(), "two ids are not two systems");
    let by_name = world(it.clone(), &[matching(SubjectRuling::Intended, "web")]);
    assert_eq!(by_name.outcome(), world(failing(1, &[1]), &[]).outcome());
    it.verdict = Verdict::Counted { passed: 1, failed: 1 };
    let no_more = world(it, &[matching(SubjectRuling::Intended, "*")]);
    assert_eq!(no_more.outcome(), (Status::Compliant, Some(100)), "no more than fail");
}

#[test]
fn the_newest_decision_about_a_subject_counts() {
    let it = || failing(1, &[1]);
    let later = |it: SubjectDecision| SubjectDecision { at: day(TODAY).plus_s(1), ..it };
    let fails = world(it(), &[]).outcome();
    assert_eq!(world(it(), &[intended(&[1]), later(accepted(&[1]))]).outcome(), fails);
    assert_ne!(world(it(), &[later(intended(&[1])), accepted(&[1])]).outcome(), fails);
    assert_eq!(world(it(), &[intended(&[1]), accepted(&[1])]).outcome(), fails, "of one moment");
}

#[test]
fn a_status_without_counts_stands() {
    let mut it = failing(0, &[1]);
    it.verdict = Verdict::Stated(Status::NonCompliant);
    let open = world(it.clone(), &[]);
    let decided = world(it, &[intended(&[1])]);
    assert_eq!(open.assess().risks, decided.assess().risks);
}

fn ending(before: &World, after: &World) -> RiskEnding {
    let (then, now) = (before.assess(), after.assess());
    let then = Before::of(&then, &before.catalog);
    let changes = difference(&after.catalog, Some(&then), &now, &[]);
    let ending = changes.iter().find_map(|it| {
        let Change::RiskClosed { resolution, .. } = it else { return None };
        Some(*resolution)
    });
    ending.unwrap()
}

#[test]
fn a_risk_whose_subjects_are_meant_so_is_overridden_and_not_fixed() {
    let open = world(failing(1, &[1]), &[]);
    let decided = world(failing(1, &[1]), &[intended(&[1])]);
    assert_eq!(ending(&open, &decided), RiskEnding::Overridden);
    let nothing_left = world(failing(0, &[1]), &[intended(&[1])]);
    assert_eq!(ending(&open, &nothing_left), RiskEnding::Overridden);
    let vouched = decided.attested(attested(Status::Compliant));
    assert_eq!(ending(&open, &vouched), RiskEnding::Overridden);
}

#[test]
fn what_is_left_is_fixed_by_being_seen_to_pass() {
    let open = world(failing(1, &[1, 2]).at(TODAY - 1), &[intended(&[1])]);
    let fixed = world(failing(2, &[1]), &[intended(&[1])]);
    let fixed = fixed.seen(failing(1, &[1, 2]).at(TODAY - 1));
    assert_eq!(ending(&open, &fixed), RiskEnding::Fixed);
}

#[test]
fn names_of_those_that_are_meant_so_are_not_shown_as_failing() {
    let mut it = known_as(failing(1, &[1, 2]), &[(1, "ann"), (2, "bob")]);
    it.findings = Some("ann, bob\nann has no phone.".to_owned());
    let findings = world(it, &[intended(&[1])]).control().findings.unwrap();
    assert!(findings.contains("bob") && !findings.contains("ann"), "{findings}");
}

fn any_subjects() -> impl Strategy<Value = DecidedSubjects> {
    let patterns = select(vec!["s1", "S?", "*3", "t*"]);
    prop_oneof![
        subsequence(ALL.to_vec(), 0..=3).prop_map(DecidedSubjects::Named),
        patterns.prop_map(|it| DecidedSubjects::Matching(it.to_owned())),
    ]
}

fn any_decision(ruling: SubjectRuling) -> impl Strategy<Value = SubjectDecision> {
    (0..6_usize, any_subjects(), 0..9_i64, -5..30_i64).prop_map(
        move |(control, subjects, age, days)| SubjectDecision {
            control: format!("A-{control}"),
            ruling,
            subjects,
            at: day(NOW - age),
            until: day(NOW + days),
        },
    )
}

fn any_decisions() -> impl Strategy<Value = Vec<SubjectDecision>> {
    let one =
        prop_oneof![any_decision(SubjectRuling::Intended), any_decision(SubjectRuling::Accepted),];
    vec(one, 0..6)
}

/// The same, in which each subject that fails is one of those that are known, and by its name. Some are muted.
fn one_by_one(mut world: World, muted: &[u64]) -> World {
    for it in &mut world.observations {
        let failed = u32::try_from(it.failing.len()).unwrap();
        it.verdict = match it.verdict {
            Verdict::Counted { passed, .. } => Verdict::Counted { passed: passed.max(1), failed },
            Verdict::Seen { passed, unseen, .. } => {
                Verdict::Seen { passed: passed.max(unseen), failed, unseen }
            }
            Verdict::Stated(_) | Verdict::Gone => it.verdict,
        };
        let names = it.failing.iter().map(|it| NamedSubject { hash: *it, name: format!("s{it}") });
        it.memory.names = names.collect();
        it.memory.muted = muted.iter().copied().filter(|hash| it.failing.contains(hash)).collect();
        it.accepted = u32::try_from(it.memory.muted.len()).unwrap();
    }
    world
}

/// The same without some subjects that fail, where a control is mapped to what saw them.
fn without(mut world: World, subjects: &[u64]) -> World {
    let World { catalog, observations, .. } = &mut world;
    for it in observations.iter_mut().filter(|it| !controls_of(catalog, it).is_empty()) {
        let is_counted = matches!(it.verdict, Verdict::Counted { .. } | Verdict::Seen { .. });
        if !is_counted {
            continue;
        }
        let is_left = |hash: &u64| !subjects.contains(hash);
        it.failing.retain(is_left);
        it.memory.names.retain(|it| is_left(&it.hash));
        it.memory.muted.retain(is_left);
        it.accepted = u32::try_from(it.memory.muted.len()).unwrap();
        let failed = u32::try_from(it.failing.len()).unwrap();
        it.verdict = match it.verdict {
            Verdict::Counted { passed, .. } => Verdict::Counted { passed, failed },
            Verdict::Seen { passed, unseen, .. } => Verdict::Seen { passed, failed, unseen },
            Verdict::Stated(_) | Verdict::Gone => it.verdict,
        };
    }
    world
}

/// Everything but the texts, and how risks ended.
fn outcome(it: Posture) -> impl PartialEq + std::fmt::Debug {
    let controls = it.controls.into_iter().map(|it| {
        (it.status, it.score, it.assessed_at, it.valid_until, it.held, it.partial_because)
    });
    let risks = it.risks.into_iter().map(|it| (it.condition, it.score, it.is_muted, it.extent));
    let controls: Vec<_> = controls.collect();
    (controls, risks.collect::<Vec<_>>(), it.frameworks, it.score, it.touched, it.loss)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn to_accept_subjects_changes_no_status_and_no_score(
        world in any_world(), decisions in vec(any_decision(SubjectRuling::Accepted), 1..6),
        is_one_by_one in any::<bool>(),
    ) {
        let mut open = if is_one_by_one { one_by_one(world, &[2]) } else { world };
        let before = open.assess();
        open.subjects = decisions;
        let mut after = open.assess();
        prop_assert_eq!(&before.fixed, &after.fixed);
        prop_assert_eq!(&before.overridden, &after.overridden);
        for (then, now) in before.risks.iter().zip(&mut after.risks) {
            prop_assert!(now.is_muted || !then.is_muted);
            now.is_muted = then.is_muted;
        }
        prop_assert_eq!(outcome(before), outcome(after));
    }

    #[test]
    fn subjects_that_are_meant_so_are_as_if_they_were_not_there(
        world in any_world(), subjects in subsequence(ALL.to_vec(), 0..=3),
        muted in subsequence(ALL.to_vec(), 0..=2),
    ) {
        let mut decided = one_by_one(world, &muted);
        let bare = without(decided.clone(), &subjects);
        for control in 0..6 {
            let control = format!("A-{control}");
            decided.subjects.push(SubjectDecision { control, ..intended(&subjects) });
        }
        prop_assert_eq!(outcome(decided.assess()), outcome(bare.assess()));
    }

    #[test]
    fn once_decisions_end_it_is_as_without_them(world in any_world(), decisions in any_decisions()) {
        let plain = one_by_one(world, &[]);
        let mut decided = plain.clone();
        decided.subjects = decisions;
        let end = decided.subjects.iter().map(|it| it.until).max().unwrap_or(plain.now);
        prop_assert_eq!(decided.assess_at(end), plain.assess_at(end));
        let is_of = |it: &&SubjectDecision| {
            plain.now < it.until && plain.catalog.find_control(&it.control).is_some()
        };
        let next = decided.subjects.iter().filter(is_of).map(|it| it.until).min();
        prop_assert!(next.is_none_or(|next| decided.assess().changes_at.unwrap() <= next));
    }

    #[test]
    fn the_order_of_decisions_is_irrelevant(world in any_world(), decisions in any_decisions()) {
        let mut world = one_by_one(world, &[3]);
        world.subjects = decisions;
        let posture = world.assess();
        world.subjects.reverse();
        prop_assert_eq!(posture, world.assess());
    }
}
