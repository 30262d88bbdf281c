//! What differs between two postures.

use posture_core::engine::change::{Before, Change, Direction, RiskEnding, difference};
use posture_core::engine::fact::Status::{
    Compliant, NonCompliant, NotApplicable, NotAssessed, Partial,
};
use posture_core::engine::fact::{Attestation, Observation, Status, Verdict};
use posture_core::engine::framework::FrameworkId::Soc2;
use posture_core::engine::framework::{FrameworkRow, Level, ReadinessRule};
use posture_core::engine::posture::Posture;
use posture_core::engine::severity::Severity;
use posture_core::engine::severity::Severity::{Critical, High, Low};

use super::world::{Placed, TODAY, World, attested, control, decides, seen};

const THRESHOLDS: [u8; 4] = [60, 70, 80, 90];

fn between(world: &World, before: &Posture, after: &Posture) -> Vec<Change> {
    let before = Before::of(before, &world.catalog);
    difference(&world.catalog, Some(&before), after, &THRESHOLDS)
}

/// Controls `A-1` (high) and `A-2` (low) under rows `R`, `R.1` and a detail.
fn world() -> World {
    let mut world = World::new(vec![control("A-1", High), control("A-2", Low)]);
    world.map("c1", &[0]);
    let rows = vec![
        decides("R", &[1]),
        FrameworkRow { parent: Some(0), ..decides("R.1", &[0]) },
        FrameworkRow { level: Level::Detail, ..decides("D", &[0]) },
    ];
    world.framework(Soc2, ReadinessRule::Mean, rows);
    world.attested(Attestation { control: "A-2".into(), ..attested(Compliant) })
}

#[test]
fn nothing_differs_from_itself() {
    let world = world().seen(seen(1, 1)).seen(seen(0, 1).check("u"));
    let posture = world.assess();
    assert_eq!(between(&world, &posture, &posture), []);
    let nothing = World::new(Vec::new());
    assert_eq!(difference(&nothing.catalog, None, &nothing.assess(), &THRESHOLDS), []);
}

#[test]
fn a_control_that_starts_to_fail_moves_everything_above_it() {
    let (before, after) = (world().seen(seen(1, 0)), world().seen(seen(1, 1)));
    let (was, is) = (before.assess(), after.assess());
    let row = |row| Change::Row { framework: Soc2, row, from: Compliant, to: Partial };
    let expect = vec![
        Change::Control { code: "A-1".into(), from: Compliant, to: Partial },
        row(0),
        row(1),
        row(2),
        Change::Readiness { framework: Soc2, from: 100, to: 74 },
        Change::Drift { framework: Soc2, rows: vec![0, 1], because: vec!["A-1".into()] },
        Change::Score { from: Some(100), to: 78, controls: vec!["A-1".into()] },
        Change::Threshold { threshold: 80, direction: Direction::Down, from: 100, to: 78 },
        Change::Threshold { threshold: 90, direction: Direction::Down, from: 100, to: 78 },
        Change::RiskOpened { risk: is.risks[0].clone() },
    ];
    assert_eq!(between(&after, &was, &is), expect);
    let fixed = after.clone().seen(seen(1, 0).at(TODAY + 1));
    let back = between(&after, &is, &fixed.assess());
    let closed = Change::RiskClosed { risk: is.risks[0].clone(), resolution: RiskEnding::Fixed };
    let up = Change::Threshold { threshold: 80, direction: Direction::Up, from: 78, to: 100 };
    assert!(back.contains(&closed) && back.contains(&up), "{back:?}");
    assert!(!back.iter().any(|it| matches!(it, Change::Drift { .. })));
}

#[test]
fn a_threshold_is_crossed_when_it_is_reached() {
    let score = |severity, status| {
        let mut world = World::new(vec![control("A-1", severity), control("A-2", Low)]);
        let said = |code: &str, status| Attestation { control: code.into(), ..attested(status) };
        world.attestations = vec![said("A-1", Partial), said("A-2", status)];
        world
    };
    // 50 and 75 with two controls of equal weight.
    let (low, high) = (score(Low, Partial), score(Low, Compliant));
    let crossed = |thresholds: &[u8]| {
        let (before, after) = (low.assess(), high.assess());
        let before = Before::of(&before, &low.catalog);
        let all = difference(&low.catalog, Some(&before), &after, thresholds);
        all.into_iter().filter(|it| matches!(it, Change::Threshold { .. })).count()
    };
    assert_eq!(crossed(&[50]), 0);
    assert_eq!(crossed(&[51]), 1);
    assert_eq!(crossed(&[75]), 1);
    assert_eq!(crossed(&[76]), 0);
}

#[test]
fn a_first_assessment_has_no_score_before_it_and_crosses_nothing() {
    let world = world().seen(seen(1, 0));
    let changes = difference(&world.catalog, None, &world.assess(), &THRESHOLDS);
    let first = |it: &&Change| matches!(it, Change::Score { from: None, to: 100, .. });
    assert_eq!(changes.iter().filter(first).count(), 1);
    assert!(changes.contains(&Change::Readiness { framework: Soc2, from: 0, to: 100 }));
    let never = |it: &Change| matches!(it, Change::Threshold { .. } | Change::Drift { .. });
    assert!(!changes.iter().any(never), "{changes:?}");
}

#[test]
fn a_score_that_was_shown_stays_shown_without_evidence() {
    let world = World::of_one().seen(seen(1, 0));
    let (was, is) = (world.assess(), world.clone().on(TODAY + 35).assess());
    assert!(!is.has_evidence);
    let scores: Vec<_> = between(&world, &was, &is)
        .into_iter()
        .filter(|it| matches!(it, Change::Score { from: Some(100), to: 0, .. }))
        .collect();
    assert_eq!(scores.len(), 1);
    let empty = World::of_one().assess();
    assert_eq!(between(&world, &empty, &empty), []);
}

#[test]
fn rows_of_another_catalogue_are_not_compared() {
    let (before, mut after) = (world().seen(seen(1, 0)), world().seen(seen(1, 1)));
    after.catalog.frameworks.iter_mut().for_each(|it| it.digest += 1);
    let was = before.assess();
    let is = after.assess();
    let was = Before::of(&was, &before.catalog);
    let changes = difference(&after.catalog, Some(&was), &is, &THRESHOLDS);
    let rows = |it: &Change| matches!(it, Change::Row { .. } | Change::Drift { .. });
    assert!(!changes.iter().any(rows));
    assert!(changes.contains(&Change::Readiness { framework: Soc2, from: 100, to: 74 }));
}

#[test]
fn a_critical_risk_is_told_when_it_opens_or_becomes_critical() {
    let finding = |severity: Severity| {
        let finding = Observation { severity, ..seen(0, 1).check("u") };
        World::of_one().seen(finding).assess()
    };
    let world = World::of_one();
    let kinds = |before: &Posture, after: &Posture| {
        let kind = |it: &Change| match it {
            Change::RiskOpened { .. } => Some("opened"),
            Change::RiskCritical { .. } => Some("critical"),
            Change::RiskClosed { .. } => Some("closed"),
            Change::Control { .. }
            | Change::Row { .. }
            | Change::Readiness { .. }
            | Change::Drift { .. }
            | Change::Score { .. }
            | Change::Threshold { .. } => None,
        };
        between(&world, before, after).iter().filter_map(kind).collect::<Vec<_>>()
    };
    let none = world.assess();
    assert_eq!(kinds(&none, &finding(Critical)), ["opened", "critical"]);
    assert_eq!(kinds(&none, &finding(High)), ["opened"]);
    assert_eq!(kinds(&finding(High), &finding(Critical)), ["critical"]);
    assert_eq!(kinds(&finding(Critical), &finding(High)), [] as [&str; 0]);
    assert_eq!(kinds(&finding(Critical), &none), ["closed"]);
}

#[test]
fn a_risk_closes_fixed_scoped_out_or_gone() {
    let base = || World::of_one().seen(seen(0, 1)).seen(seen(0, 1).check("u"));
    let resolutions = |after: &World| {
        let all = between(after, &base().assess(), &after.assess());
        let closed = all.into_iter().filter_map(|it| match it {
            Change::RiskClosed { risk, resolution } => Some((risk.condition, resolution)),
            Change::Control { .. }
            | Change::Row { .. }
            | Change::Readiness { .. }
            | Change::Drift { .. }
            | Change::Score { .. }
            | Change::Threshold { .. }
            | Change::RiskOpened { .. }
            | Change::RiskCritical { .. } => None,
        });
        closed.collect::<Vec<_>>()
    };
    let (control, finding) = ("control/A-1".to_owned(), "finding/t/u/s/x".to_owned());
    let better = |check: &str| seen(1, 0).check(check).at(TODAY + 1);
    let fixed = base().seen(better("c1")).seen(better("u"));
    let expect = [(control.clone(), RiskEnding::Fixed), (finding.clone(), RiskEnding::Fixed)];
    assert_eq!(resolutions(&fixed), expect);
    let over = |status: Status| Attestation { overrides: true, ..attested(status) };
    let scoped = base().attested(over(NotApplicable));
    assert_eq!(resolutions(&scoped), [(control.clone(), RiskEnding::ScopedOut)]);
    let attested = base().attested(over(Compliant));
    assert_eq!(resolutions(&attested), [(control.clone(), RiskEnding::Overridden)]);
    let gone = |check: &str| {
        Observation { verdict: Verdict::Gone, ..seen(0, 0) }.check(check).at(TODAY + 1)
    };
    let other = base().seen(gone("c1")).seen(better("c2"));
    assert_eq!(other.control().status, Compliant);
    assert_eq!(resolutions(&other), [(control.clone(), RiskEnding::Gone)], "nobody saw `c1` pass");
    let gone = base().seen(gone("c1")).seen(gone("u"));
    let expect = [(control, RiskEnding::Gone), (finding, RiskEnding::Gone)];
    assert_eq!(resolutions(&gone), expect);
    assert_eq!(resolutions(&base().on(TODAY + 100)), []);
}

#[test]
fn a_row_that_leaves_compliant_by_lapse_names_the_controls_that_lapsed() {
    let world = world().seen(seen(1, 0));
    let (was, is) = (world.assess(), world.clone().on(TODAY + 35).assess());
    let changes = between(&world, &was, &is);
    let because = vec!["A-1".to_owned()];
    let drift = Change::Drift { framework: Soc2, rows: vec![0, 1], because };
    assert!(changes.contains(&drift), "{changes:?}");
    let lapsed = Change::Control { code: "A-1".into(), from: Compliant, to: NotAssessed };
    assert!(changes.contains(&lapsed));
    assert!(!changes.iter().any(|it| matches!(it, Change::RiskOpened { .. })));
    assert_eq!(is.controls[1].status, Compliant);
    assert_ne!(is.controls[0].status, NonCompliant);
}
