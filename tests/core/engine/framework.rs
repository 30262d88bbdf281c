//! What rows, frameworks and the security score come to, sentence by sentence of the rules.

use posture_core::engine::fact::RowDecisionKind::{Attested, OutOfScope};
use posture_core::engine::fact::Status::{
    Compliant, NonCompliant, NotApplicable, NotAssessed, Partial,
};
use posture_core::engine::fact::{Attestation, RowDecision, RowDecisionKind, Status, Usage};
use posture_core::engine::framework::FrameworkId::{CmmcL1, CmmcL2, Soc2};
use posture_core::engine::framework::{ControlRole, FrameworkRow, Level, ReadinessRule, Sprs};
use posture_core::engine::posture::{FrameworkSummary, RowOutcome};
use posture_core::engine::readiness::{GroupReadiness, of_groups};
use posture_core::engine::severity::Severity::{Critical, High, Low, Medium};

use super::world::{
    Placed, TODAY, World, attested, control, day, decides, decision, practice, row, seen, supports,
};

/// Controls `A-0`, `A-1`, ... of these severities, each with what a person said about it today.
fn said(all: &[(posture_core::engine::severity::Severity, Option<Status>)]) -> World {
    let code = |index: usize| format!("A-{index}");
    let controls = all.iter().enumerate().map(|(index, it)| control(&code(index), it.0));
    let mut world = World::new(controls.collect());
    for (index, (_, status)) in all.iter().enumerate() {
        let attestation = |it| Attestation { control: code(index), ..attested(it) };
        world.attestations.extend(status.map(attestation));
    }
    world
}

fn with_rows(mut world: World, rows: Vec<FrameworkRow>) -> World {
    world.framework(Soc2, ReadinessRule::Mean, rows);
    world
}

#[track_caller]
fn check_rows(world: &World, expect: &[(Status, u8)]) {
    let expect: Vec<_> = expect
        .iter()
        .map(|(status, score)| RowOutcome { status: *status, score: *score })
        .collect();
    assert_eq!(world.rows(Soc2), expect);
}

#[test]
fn a_row_is_as_its_applicable_controls_are() {
    let case = |statuses: &[Option<Status>], expect| {
        let all: Vec<_> = statuses.iter().map(|it| (High, *it)).collect();
        let rows = vec![decides("R1", &(0..all.len()).collect::<Vec<_>>())];
        check_rows(&with_rows(said(&all), rows), &[expect]);
    };
    case(&[], (NotAssessed, 0)); // It waits for a person's word.
    case(&[Some(NotApplicable)], (NotApplicable, 0));
    case(&[None], (NotAssessed, 0));
    case(&[None, Some(NotApplicable)], (NotAssessed, 0));
    case(&[Some(Compliant)], (Compliant, 100));
    case(&[Some(Compliant), Some(NotApplicable)], (Compliant, 100));
    case(&[Some(Compliant), None], (Partial, 50));
    case(&[Some(Compliant), Some(NonCompliant)], (Partial, 50));
    case(&[Some(Partial), Some(NonCompliant)], (Partial, 25));
    case(&[Some(NonCompliant), None], (NonCompliant, 0));
}

#[test]
fn a_rows_score_is_a_mean_weighted_by_severity_and_rounded_down() {
    let world = said(&[
        (Critical, Some(Compliant)),
        (High, Some(NonCompliant)),
        (Medium, Some(Partial)),
        (Low, None),
    ]);
    let world = with_rows(world, vec![decides("R1", &[0, 1, 2, 3])]);
    check_rows(&world, &[(Partial, 60)]); // (10 x 100 + 3 x 50) / 19 = 60.5
}

#[test]
fn a_row_with_a_time_of_its_own_takes_only_what_was_assessed_within_it() {
    let rows = |days: u16| {
        let mut rows = vec![decides("R1", &[0]), decides("R2", &[0]), decides("R3", &[])];
        rows[0].controls[0].within_days = Some(days);
        // The row above takes the stricter of two.
        rows[1].controls[0].within_days = Some(days + 1);
        (rows[0].parent, rows[1].parent) = (Some(2), Some(2));
        rows
    };
    let aged = |rows| {
        let mut world = said(&[(High, None)]);
        world.attestations.push(Attestation {
            control: "A-0".to_owned(),
            at: day(TODAY - 14),
            ..attested(Compliant)
        });
        with_rows(world, rows)
    };
    let (met, old) = ((Compliant, 100), (NotAssessed, 0));
    check_rows(&aged(rows(15)), &[met, met, met]);
    check_rows(&aged(rows(14)), &[old, met, old]);
    check_rows(&aged(rows(13)), &[old, old, old]);
    let next = |days: u16| aged(rows(days)).assess().changes_at;
    assert_eq!(next(15), Some(day(TODAY + 1)), "the row changes when its time is over");
    assert_eq!(next(14), Some(day(TODAY + 1)));
}

#[test]
fn a_row_that_its_controls_only_support_is_at_best_partial_until_attested_with_evidence() {
    let rows = || vec![supports("R1", &[0])];
    let attest = |evidence: &str| decision("R1", Attested { evidence: evidence.to_owned() });
    let world = |status| with_rows(said(&[(High, Some(status))]), rows());
    check_rows(&world(Compliant), &[(Partial, 99)]);
    check_rows(&world(Compliant).decided(attest("doc-2")), &[(Compliant, 100)]);
    check_rows(&world(Compliant).decided(attest("")), &[(Partial, 99)]);
    check_rows(&world(Partial).decided(attest("doc-2")), &[(Partial, 50)]);
    let ended = RowDecision { until: Some(day(TODAY)), ..attest("doc-2") };
    check_rows(&world(Compliant).decided(ended), &[(Partial, 99)]);
    let other = RowDecision { framework: CmmcL1, ..attest("doc-2") };
    check_rows(&world(Compliant).decided(other), &[(Partial, 99)]);
    let both = with_rows(
        world(Compliant),
        vec![FrameworkRow {
            controls: [decides("", &[0]).controls, supports("", &[0]).controls].concat(),
            ..decides("R1", &[])
        }],
    );
    check_rows(&both, &[(Compliant, 100)]);
}

#[test]
fn a_row_takes_the_controls_of_the_rows_below_it_in_the_same_level() {
    let world = said(&[(High, Some(Compliant)), (High, Some(NonCompliant)), (High, None)]);
    let detail = FrameworkRow { level: Level::Detail, parent: Some(0), ..decides("D", &[1]) };
    let rows = vec![
        supports("R", &[0]),
        FrameworkRow { parent: Some(0), ..decides("R.1", &[0]) },
        FrameworkRow { parent: Some(1), ..decides("R.1.1", &[1, 0]) },
        decides("S", &[2]),
        detail,
    ];
    let world = with_rows(world, rows);
    let lower = (Partial, 50);
    check_rows(&world, &[lower, lower, lower, (NotAssessed, 0), (NonCompliant, 0)]);
    let summary = world.outcome_of(Soc2).summary;
    // Leaf rows of level requirement: R.1.1 with 50 and S with 0.
    assert_eq!(summary, FrameworkSummary { total: 4, partial: 3, readiness: 25, ..none() });
}

#[test]
fn a_circle_of_parents_ends() {
    let rows = vec![
        FrameworkRow { parent: Some(1), ..decides("R", &[0]) },
        FrameworkRow { parent: Some(0), ..decides("S", &[]) },
        FrameworkRow { parent: Some(2), ..decides("T", &[0]) },
    ];
    let world = with_rows(said(&[(High, Some(Compliant))]), rows);
    check_rows(&world, &[(Compliant, 100); 3]);
    assert_eq!(world.outcome_of(Soc2).summary.readiness, 0);
}

fn none() -> FrameworkSummary {
    FrameworkSummary { total: 0, passed: 0, partial: 0, failed: 0, readiness: 0, sprs: None }
}

#[test]
fn a_row_with_a_question_applies_only_when_the_client_says_used() {
    let rows = || {
        vec![
            decides("R", &[0]),
            FrameworkRow { parent: Some(0), applies: Some("pays".into()), ..decides("R.1", &[1]) },
        ]
    };
    let world = || with_rows(said(&[(High, Some(Compliant)), (High, Some(NonCompliant))]), rows());
    let out = [(Compliant, 100), (NotApplicable, 0)];
    check_rows(&world(), &out);
    check_rows(&world().says("pays", Usage::Unknown), &out);
    check_rows(&world().says("pays", super::world::unused_since(TODAY)), &out);
    check_rows(&world().says("pays", Usage::Used), &[(Partial, 50), (NonCompliant, 0)]);
}

#[test]
fn a_row_out_of_scope_does_not_apply_until_the_decision_expires() {
    let rows =
        || vec![decides("R", &[0]), FrameworkRow { parent: Some(0), ..decides("R.1", &[1]) }];
    let said = || said(&[(High, Some(Compliant)), (High, Some(NonCompliant))]);
    let world = |decision: RowDecision| with_rows(said(), rows()).decided(decision);
    let out = |reference: &str| decision(reference, OutOfScope);
    check_rows(&world(out("R.1")), &[(Compliant, 100), (NotApplicable, 0)]);
    check_rows(&world(out("R")), &[(NotApplicable, 0), (NonCompliant, 0)]);
    let newer = decision("R.1", Attested { evidence: "doc-2".into() });
    let newer = RowDecision { at: day(TODAY + 1), ..newer };
    check_rows(&world(out("R.1")).decided(newer), &[(Partial, 50), (NonCompliant, 0)]);
    let ended = |end| RowDecision { at: day(TODAY - 9), until: Some(day(end)), ..out("R.1") };
    // What is known of its controls is older than the end: it comes back with the next fact, not
    // with time.
    let held = world(ended(TODAY)).seen(seen(1, 0).of_control("A-0"));
    check_rows(&held, &[(NotAssessed, 0), (NotAssessed, 0)]);
    let heard = held.seen(seen(1, 0).of_control("A-1").at(TODAY + 1));
    check_rows(&heard, &[(Compliant, 100), (Compliant, 100)]);
    check_rows(&world(ended(TODAY - 1)), &[(Partial, 50), (NonCompliant, 0)]);
    // The newer word ends the hold, even where an older observation is what decides.
    let older = world(ended(TODAY - 1)).seen(seen(1, 0).of_control("A-1").at(TODAY - 5));
    check_rows(&older, &[(Compliant, 100), (Compliant, 100)]);
    let nothing = with_rows(World::new(Vec::new()), vec![decides("R.1", &[])]);
    check_rows(&nothing.clone().decided(ended(TODAY)), &[(NotAssessed, 0)]);
    let vouched = decision("R.1", Attested { evidence: "doc-3".into() });
    check_rows(&nothing.clone().decided(vouched.clone()), &[(Compliant, 100)]);
    let vouched = RowDecision { at: day(TODAY - 9), until: Some(day(TODAY)), ..vouched };
    check_rows(&nothing.decided(vouched), &[(NotAssessed, 0)]);
}

fn summary_of(rule: ReadinessRule, world: World, rows: Vec<FrameworkRow>) -> FrameworkSummary {
    let mut world = world;
    world.framework(CmmcL2, rule, rows);
    world.outcome_of(CmmcL2).summary
}

#[test]
fn readiness_is_the_mean_of_applicable_leaf_rows_rounded_down() {
    let all = [Compliant, Partial, NonCompliant, NotApplicable];
    let all: Vec<_> = all.into_iter().map(|it| (High, Some(it))).chain([(High, None)]).collect();
    let rows = (0..5).map(|it| decides("", &[it])).collect();
    let rows = summary_of(ReadinessRule::Mean, said(&all), rows);
    let expect =
        FrameworkSummary { total: 4, passed: 1, partial: 1, failed: 1, readiness: 37, sprs: None };
    assert_eq!(rows, expect);
    assert_eq!(summary_of(ReadinessRule::Mean, said(&[]), Vec::new()), none());
}

#[test]
fn readiness_is_capped_while_a_gate_row_is_not_compliant() {
    for rule in [ReadinessRule::Mean, ReadinessRule::CompliantShare] {
        let case = |status: Status| {
            let mut all = vec![(High, Some(Compliant)); 9];
            all.push((High, Some(status)));
            let mut rows: Vec<_> = (0..10).map(|it| decides("", &[it])).collect();
            rows[9].gate = true;
            summary_of(rule, said(&all), rows).readiness
        };
        assert_eq!(case(Compliant), 100);
        for status in [Partial, NonCompliant, NotApplicable] {
            assert_eq!(case(status), 69, "{rule:?} {status:?}");
        }
    }
}

#[test]
fn readiness_may_be_the_share_of_compliant_rows() {
    let all = [Compliant, Partial, NotApplicable, Compliant].map(|it| (High, Some(it)));
    let rows = (0..4).map(|it| decides("", &[it])).collect();
    assert_eq!(summary_of(ReadinessRule::CompliantShare, said(&all), rows).readiness, 66);
}

#[test]
fn a_group_is_judged_by_the_rule_and_the_gates_of_its_framework() {
    for rule in [ReadinessRule::Mean, ReadinessRule::CompliantShare] {
        for gate in [None, Some(Compliant), Some(Partial)] {
            let all = [Compliant, Partial, NonCompliant, NotApplicable, Compliant, Compliant];
            let all = all.map(|it| (High, Some(it))).into_iter();
            let mut world = said(&all.chain([(High, gate)]).collect::<Vec<_>>());
            let mut rows: Vec<_> = (0..7).map(|it| decides("", &[it])).collect();
            rows[6].gate = gate.is_some();
            // All rows are of the first group, and some of the second, which has no gate.
            for (index, row) in rows.iter_mut().enumerate() {
                row.groups = if (4..6).contains(&index) { vec![0, 1] } else { vec![0] };
            }
            world.framework(CmmcL2, rule, rows);
            let framework = world.catalog.frameworks.iter_mut().find(|it| it.id == CmmcL2);
            let framework = framework.unwrap();
            framework.groups = vec!["all".into(), "some".into()];
            let framework = framework.clone();
            let outcome = world.outcome_of(CmmcL2);
            let groups = of_groups(&framework, &outcome.rows);
            let summary = outcome.summary;
            let of_all = GroupReadiness {
                n_total: summary.total,
                n_compliant: summary.passed,
                readiness: summary.readiness,
            };
            assert_eq!(groups[0], of_all, "{rule:?} {gate:?}");
            let capped = if gate == Some(Partial) { 69 } else { 100 };
            assert_eq!((groups[1].n_total, groups[1].readiness), (2, capped), "{rule:?} {gate:?}");
        }
    }
}

#[test]
fn sprs_loses_the_points_of_what_is_not_met() {
    let case = |status: Option<Status>, gate: Status| {
        let rows = vec![
            practice("P", 0, 5, Some(3)),
            practice("Q", 1, 5, None),
            FrameworkRow { gate: true, ..decides("G", &[2]) },
        ];
        let all = [(High, status), (High, status), (High, Some(gate))];
        let summary = summary_of(ReadinessRule::Sprs, said(&all), rows);
        (summary.sprs, summary.readiness)
    };
    assert_eq!(case(Some(Compliant), Compliant), (Some(110), 100));
    assert_eq!(case(Some(NotApplicable), Compliant), (Some(110), 100));
    assert_eq!(case(Some(Partial), Compliant), (Some(102), 20));
    assert_eq!(case(Some(NonCompliant), Compliant), (Some(100), 0));
    assert_eq!(case(None, Compliant), (Some(100), 0));
    assert_eq!(case(Some(Compliant), Partial), (None, 69));
}

#[test]
fn practices_that_do_not_apply_earn_no_readiness() {
    let case = |other: Option<Status>| {
        let rows = vec![practice("P", 0, 5, None), practice("Q", 1, 5, None)];
        let all = [(High, Some(NotApplicable)), (High, other)];
        summary_of(ReadinessRule::Sprs, said(&all), rows).readiness
    };
    assert_eq!([None, Some(NonCompliant), Some(Compliant)].map(case), [0, 0, 100]);
}

#[test]
fn partial_credit_takes_the_controls_that_the_row_names_for_it() {
    let case = |named: Status, other: Status| {
        let mut practice = FrameworkRow {
            sprs: Some(Sprs { weight: 5, partial: Some(3) }),
            ..decides("P", &[0, 1])
        };
        practice.controls[0].earns_partial = true;
        let rows = vec![practice, FrameworkRow { gate: true, ..decides("G", &[2]) }];
        let all = [(High, Some(named)), (High, Some(other)), (High, Some(Compliant))];
        summary_of(ReadinessRule::Sprs, said(&all), rows).sprs
    };
    assert_eq!(case(Compliant, Compliant), Some(110));
    assert_eq!(case(Compliant, NonCompliant), Some(107));
    assert_eq!(case(Partial, Compliant), Some(105));
    assert_eq!(case(NonCompliant, Compliant), Some(105));
}

#[test]
fn a_decider_that_does_not_apply_decides_nothing() {
    let case = |decider: Status| {
        let rows = vec![row("R", &[(0, ControlRole::Decides), (1, ControlRole::Supports)])];
        let all = [(High, Some(decider)), (High, Some(Compliant))];
        summary_of(ReadinessRule::Mean, said(&all), rows).passed
    };
    assert_eq!((case(Compliant), case(NotApplicable)), (1, 0));
}

#[test]
fn a_new_client_is_nowhere_ready() {
    let rows = |weight| {
        let mut rows: Vec<_> = (0..62).map(|_| practice("P", 0, weight, None)).collect();
        rows.push(practice("P", 0, 3, None));
        rows
    };
    for rule in [ReadinessRule::Mean, ReadinessRule::CompliantShare, ReadinessRule::Sprs] {
        let nothing = summary_of(rule, said(&[(High, None)]), rows(5));
        assert_eq!(nothing, FrameworkSummary { total: 63, ..none() });
        assert_eq!(summary_of(rule, said(&[(High, None)]), rows(1)).readiness, 0);
    }
    let mut all = rows(5);
    all.push(FrameworkRow { gate: true, ..decides("G", &[1]) });
    let worst = said(&[(High, Some(NonCompliant)), (High, Some(Compliant))]);
    let worst = summary_of(ReadinessRule::Sprs, worst, all);
    assert_eq!((worst.sprs, worst.readiness), (Some(-203), 0));
    let world = said(&[(Critical, None), (Low, None)]);
    let posture = world.assess();
    assert!(!posture.has_evidence && posture.risks.is_empty());
    assert!(posture.controls.iter().all(|it| it.status == NotAssessed && !it.held));
    assert_eq!((posture.score.overall, posture.changes_at), (0, None));
}

#[test]
fn the_score_is_a_mean_weighted_by_severity_by_category_and_overall() {
    let mut world = said(&[
        (High, Some(Compliant)),
        (Medium, Some(Partial)),
        (Low, None),
        (Critical, Some(NotApplicable)),
    ]);
    world.catalog.controls[1].category = 1;
    world.catalog.controls[3].category = 1;
    let score = world.assess().score;
    assert_eq!(score.overall, 72); // (5 x 100 + 3 x 50) / 9 = 72.2
    assert_eq!(score.categories, [("Alpha".to_owned(), 83), ("Beta".to_owned(), 50)]);
    assert_eq!((score.n_total, score.n_compliant), (3, 1));
    assert_eq!((score.n_partial, score.n_non_compliant), (1, 0));
    assert_eq!(score.grade(), "C");
    world.attestations[1].status = NotApplicable;
    assert_eq!(world.assess().score.categories, [("Alpha".to_owned(), 83)]);
}

#[test]
fn the_score_has_no_a_while_a_critical_control_is_not_compliant() {
    let overall = |status: Status| {
        let mut all = vec![(Critical, Some(Compliant)); 30];
        all.push((Critical, Some(status)));
        let score = said(&all).assess().score;
        (score.overall, score.grade())
    };
    assert_eq!(overall(Compliant), (100, "A"));
    assert_eq!(overall(NotApplicable), (100, "A"));
    assert_eq!(overall(Partial), (89, "B"));
    assert_eq!(overall(NonCompliant), (89, "B"));
}

#[test]
fn evidence_is_a_valid_observation_of_a_control_or_a_valid_attestation() {
    let has = |world: World| world.assess().has_evidence;
    assert!(has(World::of_one().seen(seen(0, 1))));
    assert!(has(World::of_one().attested(attested(NotApplicable))));
    assert!(!has(World::of_one().seen(seen(0, 1).check("unmapped"))));
    assert!(!has(World::of_one().seen(seen(0, 1).until(TODAY))));
    assert!(!has(World::of_one().seen(seen(0, 0))));
}

#[test]
fn the_next_change_is_the_soonest_end_of_anything_that_counts() {
    let at = |world: &World| world.assess().changes_at;
    let mut world = World::of_one();
    world.catalog.controls[0].platforms = vec!["p".into()];
    let mut world = world.says("p", super::world::unused_since(TODAY - 300));
    assert_eq!(at(&world), Some(day(TODAY + 65)));
    world = world.attested(Attestation { until: Some(day(TODAY + 60)), ..attested(Partial) });
    assert_eq!(at(&world), Some(day(TODAY + 60)));
    let kind: RowDecisionKind = OutOfScope;
    world = world.decided(RowDecision { until: Some(day(TODAY + 50)), ..decision("R", kind) });
    assert_eq!(at(&world), Some(day(TODAY + 50)));
    world = world.seen(seen(1, 0));
    assert_eq!(at(&world), Some(day(TODAY + 35)));
    world = world.seen(seen(0, 1).check("unmapped").until(TODAY + 3));
    assert_eq!(at(&world), Some(day(TODAY + 3)));
    assert_eq!(at(&world.on(TODAY + 400)), None);
}
