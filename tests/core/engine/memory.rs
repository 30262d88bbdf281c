//! A subject that failed fails until it was seen to pass, or is gone.

use posture_core::clock::Time;
use posture_core::engine::fact::{Observation, Status, Verdict};
use posture_core::engine::memory::remember::{of_nameless, replay};
use posture_core::engine::memory::sparse::SparseMemory;
use posture_core::engine::memory::{Extent, Memory, NamedSubject};

use proptest::collection::vec;
use proptest::prelude::*;

use super::world::{Placed, TODAY, day, seen};

fn of(extent: Extent, passed: u32, failing: &[u64], at: i64) -> Observation {
    let failed = u32::try_from(failing.len()).unwrap();
    let mut it = seen(passed, failed).failing(failing).at(at);
    it.memory.extent = extent;
    let name = |hash: &u64| NamedSubject { hash: *hash, name: format!("s{hash}") };
    it.memory.names = failing.iter().map(name).collect();
    it.findings =
        Some(it.memory.names.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(", "));
    it
}

fn never(_: &Observation, _: Time) -> bool {
    false
}

fn no_one(_: &Observation) -> bool {
    false
}

fn counted(it: &Observation) -> (u32, u32, u32) {
    let Verdict::Counted { passed, failed } = it.verdict else { panic!("{it:?}") };
    (passed, failed, it.memory.n_carried())
}

#[test]
fn what_a_narrower_run_does_not_name_still_fails() {
    let before = of(Extent::Named, 5, &[1, 2, 3], TODAY - 2);
    let next = of(Extent::Named, 4, &[2], TODAY - 1).remembering(&before, |it| it == 1);
    assert_eq!(counted(&next), (4, 2, 1));
    assert_eq!((next.failing.as_slice(), next.memory.healed.as_slice()), (&[2, 3][..], &[1][..]));
    assert_eq!(next.findings.as_deref(), Some("s2, s3"));
    let last = of(Extent::Named, 9, &[], TODAY).remembering(&next, |it| it != 3);
    assert_eq!(counted(&last), (9, 1, 1));
    assert_eq!(last.memory.carried[0].failed_on, day(TODAY - 2).day());
    let healed = of(Extent::Named, 9, &[], TODAY).remembering(&next, |_| true);
    assert_eq!(counted(&healed), (9, 0, 0));
}

#[test]
fn fewer_counts_heal_nothing_and_as_many_heal_all() {
    let before = of(Extent::Counted, 5, &[1, 2, 3], TODAY - 1);
    let fewer = of(Extent::Counted, 7, &[], TODAY).remembering(&before, |_| true);
    assert_eq!(counted(&fewer), (5, 3, 3), "no more than five can pass");
    let after = of(Extent::Counted, 8, &[], TODAY + 1).remembering(&fewer, |_| true);
    assert_eq!(counted(&after), (8, 0, 0), "all eight pass");
    let replayed = replay(&[&before, &fewer], never, no_one).unwrap();
    assert_eq!(replayed, fewer);
    let as_many = of(Extent::Counted, 8, &[], TODAY).remembering(&before, |_| false);
    assert_eq!(counted(&as_many), (8, 0, 0));
    let nameless = Observation { failing: Vec::new(), ..before };
    let fewer = of(Extent::Counted, 5, &[9], TODAY).remembering(&nameless, |_| true);
    assert_eq!(counted(&fewer), (5, 3, 2));
}

#[test]
fn a_complete_run_that_lost_much_is_believed_once_another_agrees() {
    let before = of(Extent::Complete, 7, &[1, 2, 3], TODAY - 1);
    let all = of(Extent::Complete, 8, &[], TODAY).remembering(&before, |_| false);
    assert_eq!(counted(&all), (8, 0, 0), "a fifth is gone");
    let few = of(Extent::Complete, 6, &[], TODAY).remembering(&before, |_| false);
    assert_eq!(counted(&few), (6, 3, 3));
    let soon = Observation {
        observed_at: day(TODAY).plus_s(3_600),
        ..of(Extent::Complete, 6, &[], TODAY)
    };
    assert_eq!(counted(&soon.remembering(&few, |_| false)), (6, 3, 3));
    let next = of(Extent::Complete, 6, &[], TODAY + 1).remembering(&few, |_| false);
    assert_eq!(counted(&next), (6, 0, 0));
    let sure = of(Extent::All, 1, &[], TODAY).remembering(&before, |_| false);
    assert_eq!(counted(&sure), (1, 0, 0));
}

#[test]
fn what_is_unseen_may_be_what_failed() {
    let before = of(Extent::Counted, 0, &[1, 2], TODAY - 1);
    let verdict = Verdict::Seen { passed: 1, failed: 0, unseen: 1 };
    let next = Observation { verdict, ..of(Extent::Counted, 0, &[], TODAY) };
    let next = next.remembering(&before, |_| false);
    assert_eq!(next.memory.n_carried(), 2, "{:?}", next.verdict);
}

#[test]
fn what_looked_at_nothing_leaves_what_was_before() {
    let before = of(Extent::Counted, 5, &[1], TODAY - 1);
    let nothing = of(Extent::Counted, 0, &[], TODAY);
    assert_eq!(nothing.clone().remembering(&before, |_| false), nothing);
}

#[test]
fn what_nobody_names_for_half_a_year_is_forgotten() {
    let before = of(Extent::Named, 1, &[1], TODAY - 180);
    let narrow = of(Extent::Named, 1, &[], TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&narrow), (1, 1, 1));
    let forgotten = of(Extent::Named, 1, &[], TODAY).remembering(&narrow, |_| false);
    assert_eq!(counted(&forgotten), (1, 0, 0));
}

#[test]
fn a_muted_subject_stays_muted_while_it_is_carried() {
    let mut before = of(Extent::Named, 1, &[1, 2], TODAY - 1);
    (before.accepted, before.memory.muted) = (1, vec![2]);
    let next = of(Extent::Named, 1, &[], TODAY).remembering(&before, |it| it == 1);
    assert_eq!((counted(&next), next.accepted), ((1, 1, 1), 1));
}

/// A tool that runs each hour lost half of its subjects: that is believed after six hours.
#[test]
fn what_is_lost_for_six_hours_is_gone_however_often_the_tool_runs() {
    let mut last = of(Extent::Complete, 7, &[1, 2, 3], TODAY - 1);
    let mut n_carried = Vec::new();
    for hour in 0..8 {
        let at = day(TODAY).plus_s(hour * 3_600);
        let next = Observation { observed_at: at, ..of(Extent::Complete, 5, &[], TODAY) };
        last = next.remembering(&last, |_| false);
        n_carried.push(last.memory.n_carried());
    }
    assert_eq!(n_carried, [3, 3, 3, 3, 3, 3, 0, 0]);
}

/// A narrow run between two complete ones: the second is compared with the first.
#[test]
fn a_narrow_run_makes_no_shrunk_one_look_whole() {
    let before = of(Extent::Complete, 7, &[1, 2, 3], TODAY - 2);
    let narrow = of(Extent::Named, 1, &[], TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&narrow), (1, 3, 3));
    let few = of(Extent::Complete, 3, &[], TODAY).remembering(&narrow, |_| false);
    assert_eq!(few.memory.n_carried(), 3, "ten were known, and three are left");
    let all = of(Extent::Complete, 10, &[], TODAY).remembering(&narrow, |_| false);
    assert_eq!(counted(&all), (10, 0, 0));
}

#[test]
fn what_is_only_counted_is_forgotten_as_well() {
    let nameless = |at| Observation { failing: Vec::new(), ..of(Extent::Counted, 5, &[1, 2], at) };
    let mut last = nameless(TODAY - 181);
    let mut n_carried = Vec::new();
    for at in [TODAY - 100, TODAY - 2, TODAY - 1] {
        last = of(Extent::Counted, 3, &[], at).remembering(&last, |_| false);
        n_carried.push(last.memory.n_carried());
    }
    assert_eq!(n_carried, [2, 2, 0]);
    let again = of(Extent::Counted, 3, &[], TODAY).remembering(&last, |_| false);
    assert_eq!(counted(&again), (3, 0, 0));
}

#[test]
fn a_log_is_replayed_to_the_same() {
    let first = of(Extent::Named, 5, &[1, 2, 3], TODAY - 3);
    let second = of(Extent::Named, 4, &[2], TODAY - 2).remembering(&first, |it| it == 1);
    let third = of(Extent::Named, 9, &[], TODAY - 1).remembering(&second, |it| it == 2);
    let log = [&first, &second, &third];
    assert_eq!(replay(&log, never, no_one).as_ref(), Some(&third));
    let without_second = replay(&log, never, |it| *it == second).unwrap();
    assert_eq!(without_second.failing, [1, 3]);
    let without_first = replay(&log, never, |it| *it == first).unwrap();
    assert_eq!(counted(&without_first), (9, 0, 0));
    let twice = [&first, &second, &second, &third];
    assert_eq!(replay(&twice, never, no_one), Some(third.clone()), "the same run came twice");
    // The first is removed by age: what it saw is remembered.
    assert_eq!(replay(&[&second, &third], never, no_one), Some(third.clone()));
    let gone = |_: &Observation, next: Time| next == day(TODAY - 1);
    assert_eq!(counted(&replay(&log, gone, no_one).unwrap()), (9, 0, 0));
}

fn numbers(passed: u32, failed: u32, at: i64) -> Observation {
    let mut it = of(Extent::All, passed, &[], at);
    it.verdict = Verdict::Counted { passed, failed };
    it.memory.extent = of_nameless(it.verdict, false);
    it
}

fn said(status: Status, at: i64) -> Observation {
    let mut it = numbers(0, 0, at);
    it.verdict = Verdict::Stated(status);
    it.memory.extent = of_nameless(it.verdict, false);
    it
}

#[test]
fn a_bare_word_heals_nothing_that_was_counted() {
    let before = numbers(2, 10, TODAY - 2);
    let word = said(Status::Compliant, TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&word), (2, 10, 10));
    let worse = said(Status::NonCompliant, TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&worse), (0, 10, 10));
    assert_eq!(replay(&[&before, &word], never, no_one).as_ref(), Some(&word));
    let alone = replay(&[&before, &word], never, |it| *it == before).unwrap();
    assert_eq!(alone.verdict, Verdict::Stated(Status::Compliant));
    let fewer = numbers(10, 0, TODAY).remembering(&word, |_| false);
    assert_eq!(counted(&fewer), (2, 10, 10));
    let as_many = numbers(12, 0, TODAY).remembering(&word, |_| false);
    assert_eq!(counted(&as_many), (12, 0, 0));
    let failed = said(Status::NonCompliant, TODAY - 1);
    let fine = said(Status::Compliant, TODAY).remembering(&failed, |_| false);
    assert_eq!(fine.verdict, Verdict::Stated(Status::Compliant), "a word replaces a word");
}

#[test]
fn numbers_heal_no_subject_that_is_known_by_name() {
    let before = of(Extent::Named, 1, &[1, 2], TODAY - 2);
    let fine = numbers(3, 0, TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&fine), (1, 2, 2), "three are known, and two of them fail");
    let same = numbers(1, 2, TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&same), (1, 2, 2), "those that fail may be the same ones");
    let alone = replay(&[&before, &same], never, |it| *it == before).unwrap();
    assert_eq!(counted(&alone), (1, 2, 0));
    let more = numbers(1, 3, TODAY - 1).remembering(&before, |_| false);
    assert_eq!(counted(&more), (1, 3, 2));
    let healed = of(Extent::Named, 2, &[], TODAY).remembering(&more, |_| true);
    assert_eq!(counted(&healed), (2, 1, 1), "one was only counted");
    let word = said(Status::Compliant, TODAY).remembering(&before, |_| false);
    assert_eq!((counted(&word), word.failing.as_slice()), ((1, 2, 2), &[1, 2][..]));
}

/// What a run says of each of eight subjects: it passes, it fails, or nothing.
fn narrow(outcomes: &[u8], at: i64) -> Observation {
    let which = |outcome: u8| {
        let all = (1_u64..).zip(outcomes).filter(move |it| *it.1 == outcome);
        all.map(|it| it.0).collect::<Vec<_>>()
    };
    let (passing, failing) = (which(1), which(2));
    let mut it = of(Extent::Named, u32::try_from(passing.len()).unwrap(), &failing, at);
    it.memory.healed = passing;
    it
}

proptest! {
    /// A log has all runs in order, in whatever order they came.
    #[test]
    fn a_subject_is_what_the_newest_run_says_that_names_it(
        runs in vec(vec(0_u8..3, 8), 1..6),
    ) {
        let runs = (TODAY..).zip(&runs).map(|(at, it)| narrow(it, at));
        let runs: Vec<Observation> = runs.filter(Observation::is_effective).collect();
        let says = |it: &Observation, subject: u64| {
            let fails = it.failing.binary_search(&subject).is_ok();
            (fails || it.memory.healed.binary_search(&subject).is_ok()).then_some(fails)
        };
        let fails = |it: &u64| runs.iter().rev().find_map(|run| says(run, *it)) == Some(true);
        let expect: Vec<u64> = (1..=8).filter(fails).collect();
        let last = replay(&runs.iter().collect::<Vec<_>>(), never, no_one);
        let failing = last.as_ref().map(|it| it.failing.clone());
        prop_assert_eq!(failing.unwrap_or_default(), expect);
        let in_order = runs.iter().cloned().reduce(|before, it| {
            let passing = it.memory.healed.clone();
            it.remembering(&before, |subject| passing.binary_search(&subject).is_ok())
        });
        prop_assert_eq!(in_order, last);
    }
}

#[test]
fn what_has_no_memory_has_the_default() {
    assert_eq!(*SparseMemory::default(), Memory::default());
    assert_eq!(SparseMemory::from(Memory::default()), SparseMemory::default());
    let mut touched = SparseMemory::default();
    touched.n_known = 0;
    assert_eq!(touched, SparseMemory::default());
    touched.n_known = 7;
    assert_ne!(touched, SparseMemory::default());
    let memory: Memory = touched.clone().into();
    assert_eq!(SparseMemory::from(memory), touched);
}
