//! Generated catalogues and facts.

use posture_core::engine::catalog::Control;
use posture_core::engine::catalog::facet::FacetSet;
use posture_core::engine::fact::{
    Attestation, CompleteRead, Observation, Profile, RowDecision, RowDecisionKind, Status, Usage,
    Verdict,
};
use posture_core::engine::framework::{
    ControlRole, FrameworkId, FrameworkRow, Level, Mapping, ReadinessRule, Sprs,
};
use posture_core::engine::severity::Severity;
use posture_core::engine::{ControlPart, StatedPart};
use posture_core::id::ImportId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::world::{
    Placed, World, attested, control, day, decides, decision, facets, seen, unused_since,
};

/// Nothing that a world knows was made after this day.
pub(super) const NOW: i64 = 1_000;
pub(super) const BASE_LOSS: u64 = 1_000_003;
/// Facts are at most this old, so that some have lapsed and some have not.
const AGE_DAYS: i64 = 60;

const RULES: [(FrameworkId, ReadinessRule); 3] = [
    (FrameworkId::Soc2, ReadinessRule::Mean),
    (FrameworkId::CmmcL1, ReadinessRule::CompliantShare),
    (FrameworkId::CmmcL2, ReadinessRule::Sprs),
];
const QUESTIONS: [&str; 3] = ["p", "q", "pays"];
const CHECKS: [&str; 4] = ["c1", "c2", "c3", "u"];

fn any_day() -> impl Strategy<Value = i64> {
    NOW - AGE_DAYS..=NOW
}

fn any_severity() -> impl Strategy<Value = Severity> {
    select(Severity::ALL.to_vec())
}

fn any_controls() -> impl Strategy<Value = Vec<Control>> {
    let platforms = subsequence(vec!["p".to_owned(), "q".to_owned()], 0..=2);
    let n_checks_min = select(vec![1, 1, 2, 3]);
    let one = (any_severity(), any::<bool>(), select(vec![5, 20, 35]), platforms, n_checks_min);
    let one = (one, select(vec![1, 1, 1, 2, 3]));
    vec(one, 1..6).prop_map(|all| {
        let each = all.into_iter().enumerate();
        each.map(|(index, (one, n_facets))| {
            let (severity, is_beta, max_age_days, platforms, n_checks_min) = one;
            let category = usize::from(is_beta);
            let facets = facets(n_facets);
            let control = control(&code(index), severity);
            Control { category, max_age_days, platforms, n_checks_min, facets, ..control }
        })
        .collect()
    })
}

fn code(index: usize) -> String {
    format!("A-{index}")
}

fn any_row(n_controls: usize) -> impl Strategy<Value = FrameworkRow> {
    let role = select(vec![ControlRole::Decides, ControlRole::Supports]);
    let mapping = (0..n_controls, role);
    let mapping = mapping.prop_map(|(control, role)| Mapping {
        control,
        role,
        why: String::new(),
        earns_partial: control % 2 == 0,
        within_days: (control % 3 == 0).then_some(7),
        alone: false,
    });
    let asked = prop::option::weighted(0.2, Just("pays".to_owned()));
    let sprs = (1..=5u8, prop::option::of(1..=3u8));
    let sprs = sprs.prop_map(|(weight, partial)| Sprs { weight, partial });
    let rest = (prop::bool::weighted(0.1), asked, prop::option::weighted(0.9, sprs));
    (vec(mapping, 0..4), rest).prop_map(|(controls, (gate, applies, sprs))| FrameworkRow {
        controls,
        gate,
        applies,
        sprs,
        ..decides("", &[])
    })
}

/// Rows of level requirement, then of level detail; a parent is an earlier row of the same level.
fn any_rows(n_controls: usize) -> impl Strategy<Value = Vec<FrameworkRow>> {
    let row = (any_row(n_controls), prop::option::of(any::<Index>()));
    (vec(row, 1..8), 0..3_usize).prop_map(|(rows, n_details)| {
        let first_detail = rows.len().saturating_sub(n_details);
        let each = rows.into_iter().enumerate();
        each.map(|(index, (row, parent))| {
            let is_detail = first_detail <= index;
            let first = if is_detail { first_detail } else { 0 };
            let parent = parent.filter(|_| first < index).map(|it| first + it.index(index - first));
            let level = if is_detail { Level::Detail } else { Level::Requirement };
            FrameworkRow { reference: format!("R{index}"), level, parent, ..row }
        })
        .collect()
    })
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    let counted = (0..5u32, 0..5u32);
    let status = select(vec![Status::Compliant, Status::Partial, Status::NonCompliant]);
    prop_oneof![
        8 => counted.prop_map(|(passed, failed)| Verdict::Counted { passed, failed }),
        4 => (1..5u32).prop_map(|passed| Verdict::Counted { passed, failed: 0 }),
        4 => (0..9u32, 0..5u32, 1..5u32)
            .prop_map(|(passed, failed, unseen)| Verdict::of_population(passed, failed, unseen)),
        3 => status.prop_map(Verdict::Stated),
        1 => Just(Verdict::Gone),
    ]
}

pub(super) fn any_observation(n_controls: usize) -> impl Strategy<Value = Observation> {
    let subject = prop::option::weighted(0.3, 0..n_controls);
    let place = (select(vec!["s", "r"]), select(vec!["x", "y"]), select(CHECKS.to_vec()));
    let validity = prop::option::weighted(0.3, 0..50i64);
    let failing = subsequence(vec![1, 2, 3_u64], 0..=3);
    (subject, place, any_day(), validity, any_verdict(), any_severity(), failing).prop_map(
        |(control, (source, scope, check), at, validity, verdict, severity, failing)| {
            let it = seen(0, 0).source(source).scope(scope).check(check).at(at);
            let it = control.into_iter().fold(it, |it, index| it.of_control(&code(index)));
            let it = validity.into_iter().fold(it, |it, days| it.until(at + days));
            Observation { verdict, severity, failing, ..it }
        },
    )
}

/// Of source `s` or `r`. Some are of the import that all observations are of.
pub(super) fn any_read() -> impl Strategy<Value = CompleteRead> {
    let place = (select(vec!["s", "r"]), select(vec!["x", "y"]));
    (place, any_day(), select(vec![7, 8])).prop_map(|((source, scope), at, import)| CompleteRead {
        source: source.to_owned(),
        scope: scope.to_owned(),
        is_of_accounts: false,
        at: day(at),
        import: ImportId::from_bytes([import; 16]),
        n: 0,
    })
}

fn any_attestation(n_controls: usize) -> impl Strategy<Value = Attestation> {
    let statuses =
        vec![Status::Compliant, Status::Partial, Status::NonCompliant, Status::NotApplicable];
    let evidence = prop::option::of(Just("doc".to_owned()));
    let until = prop::option::weighted(0.8, 0..80i64);
    (0..n_controls, select(statuses), evidence, any_day(), until, any::<bool>()).prop_map(
        |(control, status, evidence, at, days, overrides)| Attestation {
            control: code(control),
            evidence,
            at: day(at),
            until: days.map(|it| day(at + it)),
            overrides,
            ..attested(status)
        },
    )
}

/// What a person says of a part. Some controls do not have the facet.
pub(super) fn any_part(n_controls: usize) -> impl Strategy<Value = StatedPart> {
    let facet = prop::option::of(select(vec!["f0", "f1"]));
    let platform = prop::option::of(select(vec!["p", "q"]));
    (any_attestation(n_controls), facet, platform).prop_filter_map(
        "all of a control",
        |(said, facet, platform)| {
            let (facet, platform) = (facet.map(str::to_owned), platform.map(str::to_owned));
            let part = ControlPart { facet, platform, scope: None };
            let is_one = !part.is_whole() && said.status != Status::NotApplicable;
            is_one.then_some(StatedPart { part, said })
        },
    )
}

fn any_decision() -> impl Strategy<Value = RowDecision> {
    let evidence = "doc".to_owned();
    let kinds = vec![RowDecisionKind::OutOfScope, RowDecisionKind::Attested { evidence }];
    let until = prop::option::weighted(0.8, 0..80i64);
    (select(RULES.to_vec()), 0..7, select(kinds), any_day(), until).prop_map(
        |((framework, _), row, kind, at, days)| RowDecision {
            framework,
            at: day(at),
            until: days.map(|it| day(at + it)),
            ..decision(&format!("R{row}"), kind)
        },
    )
}

/// What a check shows of a control, of the facets that it has.
fn any_shown() -> impl Strategy<Value = FacetSet> {
    let one = |it: usize| Just(FacetSet::one(it));
    prop_oneof![3 => Just(FacetSet::NONE), 5 => Just(FacetSet::all(3)), 1 => one(0), 1 => one(1)]
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let usage = prop_oneof![
        1 => Just(Usage::Used),
        1 => Just(Usage::Unknown),
        3 => (NOW - 400..=NOW).prop_map(unused_since),
    ];
    let questions = subsequence(QUESTIONS.to_vec(), 0..=QUESTIONS.len());
    (questions, vec(usage, QUESTIONS.len())).prop_map(|(questions, usages)| {
        questions.into_iter().map(str::to_owned).zip(usages).collect()
    })
}

/// What a person and the catalogue bring, before any tool has spoken.
fn any_ground(controls: Vec<Control>) -> impl Strategy<Value = World> {
    let n = controls.len();
    let frameworks = vec(any_rows(n), RULES.len());
    let mapped = (subsequence((0..n).collect::<Vec<_>>(), 0..=n), any_shown());
    let mapped = vec(mapped, CHECKS.len() - 1);
    let attestations = vec(any_attestation(n), 0..4);
    let critical = subsequence(vec![2, 3, 4_u64], 0..=1);
    let parts = vec(any_part(n), 0..3).prop_map(|mut all| {
        all.sort_by(|a, b| (&a.said.control, &a.part).cmp(&(&b.said.control, &b.part)));
        all.dedup_by(|a, b| (&a.said.control, &a.part) == (&b.said.control, &b.part));
        all
    });
    let said = (attestations, vec(any_decision(), 0..3), any_profile(), critical, parts);
    (frameworks, mapped, said).prop_map(move |(frameworks, mapped, said)| {
        let mut world = World::new(controls.clone()).on(NOW);
        for ((id, rule), rows) in RULES.into_iter().zip(frameworks) {
            world.framework(id, rule, rows);
        }
        for (check, (controls, shown)) in CHECKS.into_iter().zip(mapped) {
            for control in controls {
                let all = world.catalog.controls[control].all_facets();
                world.show(check, control, all.without(all.without(shown)));
            }
        }
        (world.attestations, world.decisions, world.profile, world.critical, world.parts) = said;
        world.base_loss = Some(BASE_LOSS);
        world
    })
}

pub(super) fn any_world() -> impl Strategy<Value = World> {
    any_controls().prop_flat_map(|controls| {
        let observations = vec(any_observation(controls.len()), 0..14);
        (any_ground(controls), observations, vec(any_read(), 0..3))
            .prop_map(|(ground, observations, reads)| World { observations, reads, ..ground })
    })
}
