//! The history of verdicts: what it says of each day that is kept is what was true at its end, however many changes a day
//! has and however much is removed.

use std::collections::BTreeMap;

use posture_core::clock::Time;
use posture_core::engine::basis::Basis;
use posture_core::engine::fact::Status;
use posture_core::id::ClientId;
use posture_store::store::per_client::history::verdict::{
    ChangePoint, N_CHANGE_POINTS_A_DAY_MAX, N_SOURCES_OF_GROUP_MAX, Verdict, VerdictGroup,
    limit_sources,
};
use posture_store::store::{ClientBatch, ClientStore};

use crate::harness::backend::Random;
use crate::{memory, noon, some_client};

const N_POSITIONS: usize = 300;
const GROUP: &str = "SOC2";
/// Verdicts stand in the order of their numbers in one outline, and the other way round in the other one.
const OUTLINES: [u64; 2] = [9, 10];

fn position(outline: u64, number: usize) -> usize {
    if outline == OUTLINES[0] { number } else { N_POSITIONS - 1 - number }
}

fn point(at: Time) -> ChangePoint {
    let cause = "prowler".to_owned();
    let (import, statement) = (None, None);
    ChangePoint { at, cause, import, statement, catalog: 1, rules: 1, n_added: 0 }
}

fn random_verdict(random: &mut Random) -> Verdict {
    let basis = random.pick(&Basis::ALL);
    let n = if basis == Basis::Observed { random.below(4) } else { 0 };
    Verdict {
        status: random.pick(&Status::ALL),
        basis,
        score: Some(random.below(101)).filter(|it| *it != 50).map(|it| u8::try_from(it).unwrap()),
        sources: (0..n).map(|it| format!("source {}", it * 3 + random.below(3))).collect(),
        n_sources: u32::try_from(n).unwrap() * 2,
        sprs: Some(i16::try_from(random.below(314)).unwrap() - 203).filter(|it| it % 2 == 0),
    }
}

fn add(
    rows: &ClientStore,
    (at, outline): (Time, u64),
    changed: &BTreeMap<usize, Verdict>,
    now: &[Verdict],
) {
    let group = |all: BTreeMap<usize, &Verdict>| vec![VerdictGroup::of(GROUP, outline, all)];
    let place = |number: usize| position(outline, number);
    let groups = group(now.iter().enumerate().map(|(it, one)| (place(it), one)).collect());
    let steps = group(changed.iter().map(|(it, one)| (place(*it), one)).collect());
    let write =
        move |batch: &mut ClientBatch<'_>| batch.add_verdict_changes(&point(at), &steps, &groups);
    rows.write_now(write).unwrap();
}

/// What a verdict was at the end of a day.
fn at_end_of(rows: &ClientStore, number: usize, day: u32) -> Verdict {
    let positions = OUTLINES.map(|it| (it, position(it, number))).into();
    let snapshot = rows.snapshot().unwrap();
    let all = snapshot.list_changes_of_verdict(GROUP, &positions).unwrap();
    let found = all.into_iter().find(|(id, _)| id.day() <= day);
    found.map_or_else(Verdict::default, |(_, verdict)| verdict)
}

#[test]
fn what_is_kept_says_what_was_true_at_the_end_of_each_day() {
    let store = memory();
    for seed in 1..=10_u64 {
        let rows = store.client_store(ClientId::from_bytes(u128::from(seed).to_be_bytes()));
        let mut random = Random::from_seed(seed);
        let mut now = vec![Verdict::default(); N_POSITIONS];
        let mut ends: BTreeMap<u32, Vec<Verdict>> = BTreeMap::new();
        for day in 0..12 {
            let outline = random.pick(&OUTLINES);
            for step in 0..random.below(9) {
                let at = noon().plus_days(day).plus_s(i64::try_from(step).unwrap());
                let mut changed = BTreeMap::new();
                for _ in 0..random.below(12) {
                    let position = usize::try_from(random.below(N_POSITIONS as u64)).unwrap();
                    now[position] = random_verdict(&mut random);
                    changed.insert(position, now[position].clone());
                }
                add(&rows, (at, outline), &changed, &now);
            }
            ends.insert(noon().plus_days(day).day(), now.clone());
        }
        for removed in [0, 5, 8] {
            let before = noon().plus_days(removed);
            let remove = move |it: &mut ClientBatch<'_>| it.remove_change_points_before(before, 7);
            while rows.write_now(remove).unwrap() == 7 {}
            for (day, verdicts) in ends.range(before.day()..) {
                for _ in 0..20 {
                    let position = usize::try_from(random.below(N_POSITIONS as u64)).unwrap();
                    let said = at_end_of(&rows, position, *day);
                    assert_eq!(said, verdicts[position], "seed {seed}, {removed} removed, {day}");
                }
            }
        }
        let stored = rows.snapshot().unwrap().list_verdict_groups().unwrap().pop().unwrap();
        let all: Vec<usize> = (0..N_POSITIONS).map(|it| position(stored.outline, it)).collect();
        let stored = stored.verdicts().unwrap();
        let stored: Vec<_> = all.iter().map(|it| stored.get(*it).cloned().unwrap()).collect();
        assert_eq!(stored, now, "seed {seed}");
    }
}

#[test]
fn a_day_has_a_limit_and_its_end_is_still_told() {
    let rows = memory().client_store(some_client(1));
    let n = u32::from(N_CHANGE_POINTS_A_DAY_MAX) + 50;
    let mut now = vec![Verdict::default(); 2];
    for step in 0..n {
        let position = usize::try_from(step % 2).unwrap();
        now[position].score = Some(u8::try_from(step % 101).unwrap());
        let at = noon().plus_s(i64::from(step));
        let changed = BTreeMap::from([(position, now[position].clone())]);
        add(&rows, (at, OUTLINES[0]), &changed, &now);
    }
    let snapshot = rows.snapshot().unwrap();
    let positions = BTreeMap::from([(OUTLINES[0], 0)]);
    let all = snapshot.list_changes_of_verdict(GROUP, &positions).unwrap();
    assert_eq!(all.len(), usize::from(N_CHANGE_POINTS_A_DAY_MAX) / 2 + 1, "the last one is shared");
    assert_eq!(at_end_of(&rows, 0, noon().day()), now[0]);
    assert_eq!(at_end_of(&rows, 1, noon().day()), now[1]);
    let last = snapshot.find_change_point(all[0].0).unwrap().unwrap();
    assert_eq!((last.at, last.n_added), (noon().plus_s(i64::from(n) - 1), 50));
}

#[test]
fn a_group_names_so_many_sources() {
    let verdict = |it: usize| Verdict {
        sources: vec![format!("source {it:04}")],
        n_sources: 1,
        ..Verdict::default()
    };
    for (n, wanted) in [(N_SOURCES_OF_GROUP_MAX, N_SOURCES_OF_GROUP_MAX), (250, 200)] {
        let mut all: Vec<Verdict> = (0..n).map(verdict).collect();
        limit_sources(&mut all);
        assert_eq!(all.iter().filter(|it| !it.sources.is_empty()).count(), wanted);
        assert!(all.iter().all(|it| it.n_sources == 1), "they are still counted");
    }
}
