//! Records -> observations and assets.

use std::collections::BTreeMap;

use posture_core::clock::Time;
use posture_core::engine::asset::{AssetType, Seen};
use posture_core::engine::fact::{N_FAILING_MAX, Subject as Of, Verdict, subject_hash};
use posture_core::engine::severity::Severity;
use posture_core::error::Code;
use posture_core::id::ImportId;
use posture_core::import::fold::{
    Fold, Folded, ImportOrigin, N_ASSETS_MAX, N_OBSERVATIONS_MAX, N_REASONS_MAX, N_RECORDS_MAX,
    OTHER_REASONS, Observed,
};
use posture_core::import::{Check, CheckOutcome, Format, Record};

use super::{NOW_S, check_of, counts, origin};

fn folded_all(origin: ImportOrigin, records: impl IntoIterator<Item = Record>) -> Folded {
    let mut fold = Fold::new(origin);
    for record in records {
        fold.add(record).expect("within the limits");
    }
    fold.finish()
}

fn seen(external_id: &str) -> Seen {
    Seen {
        external_id: external_id.to_owned(),
        name: external_id.to_owned(),
        category: None,
        asset_type: AssetType::Device,
        is_managed: false,
        hostname: None,
        ip: None,
        mac: None,
        serial: None,
        scope: "aws/1".to_owned(),
        seen_at: None,
        reported: posture_core::engine::asset::ReportedFields::default(),
    }
}

#[test]
fn a_subject_seen_more_than_once_counts_once_at_its_worst() {
    use CheckOutcome::{Accepted, Fail, Pass};
    for (outcomes, wanted) in [
        ([Pass, Pass, Pass], (1, 0, 0)),
        ([Pass, Fail, Pass], (0, 1, 0)),
        ([Fail, Fail, Pass], (0, 1, 0)),
        ([Pass, Accepted, Pass], (0, 0, 1)),
        ([Accepted, Fail, Accepted], (0, 1, 0)),
        ([Pass, Accepted, Fail], (0, 1, 0)),
    ] {
        for turn in 0..3 {
            let mut turned = outcomes;
            turned.rotate_left(turn);
            let checks = turned.map(|it| Record::Check(check_of("alice", it)));
            let run = folded_all(origin(Format::ProwlerOcsf), checks);
            assert_eq!(run.observations.len(), 1);
            assert_eq!(counts(&run.observations[0]), wanted, "{turned:?}");
            let failing =
                if wanted.1 + wanted.2 == 1 { vec![subject_hash("alice")] } else { Vec::new() };
            assert_eq!(run.observations[0].failing, failing);
            assert_eq!(run.n_records, 3);
        }
    }
}

#[test]
fn subjects_checks_and_scopes_are_kept_apart() {
    let check = |scope: &str, check: &str, subject: &str| {
        let it = check_of(subject, CheckOutcome::Pass);
        Record::Check(Check { scope: scope.to_owned(), check: check.to_owned(), ..it })
    };
    let run = folded_all(
        origin(Format::ProwlerOcsf),
        [check("b", "y", "1"), check("a", "y", "1"), check("a", "x", "1"), check("a", "x", "2")],
    );
    let keys: Vec<_> = run
        .observations
        .iter()
        .map(|it| (it.scope.as_str(), it.check.as_str(), counts(it).0))
        .collect();
    assert_eq!(keys, [("a", "x", 2), ("a", "y", 1), ("b", "y", 1)]);
    assert_eq!(run.scopes, ["a", "b"]);
}

#[test]
fn an_observation_carries_what_was_given_and_what_was_seen() {
    let given = ImportOrigin {
        tool: "prowler",
        source: "nightly".to_owned(),
        import: ImportId::from_bytes([9; 16]),
        valid_until: Some(Time::from_s(5)),
        observed: Observed::File { now: Time::from_s(NOW_S) },
    };
    let text = |it: &str| Some(it.to_owned());
    let mut failed = check_of("bob", CheckOutcome::Fail);
    failed.detail = text("No MFA.");
    failed.severity = Severity::Critical;
    failed.remediation = text("Turn it on.");
    let mut passed = check_of("alice", CheckOutcome::Pass);
    passed.detail = text("Has MFA.");
    let muted = check_of("carol", CheckOutcome::Accepted);
    let run = folded_all(given, [passed, failed, muted].map(Record::Check));
    let it = &run.observations[0];

    assert_eq!(it.subject, Of::Check { tool: "prowler".to_owned() });
    assert_eq!((it.source.as_str(), it.import), ("nightly", ImportId::from_bytes([9; 16])));
    assert_eq!(it.valid_until, Some(Time::from_s(5)));
    assert_eq!(it.verdict, Verdict::Counted { passed: 1, failed: 2 });
    assert_eq!((it.accepted, it.severity), (1, Severity::Critical));
    assert_eq!(it.remediation.as_deref(), Some("Turn it on."));
    let findings = "bob, carol\n1 failed and muted at the source.\nNo MFA.";
    assert_eq!(it.findings.as_deref(), Some(findings));
}

#[test]
fn what_was_only_muted_fails_and_is_accepted() {
    let muted = Record::Check(check_of("a", CheckOutcome::Accepted));
    let run = folded_all(origin(Format::ProwlerOcsf), [muted]);
    assert_eq!(counts(&run.observations[0]), (0, 0, 1));
    assert_eq!(run.observations[0].verdict, Verdict::Counted { passed: 0, failed: 1 });
}

#[test]
fn the_newest_time_counts_unless_another_is_wanted() {
    let at = |name: &str, s: Option<i64>| {
        let observed_at = s.map(Time::from_s);
        Record::Check(Check { observed_at, ..check_of(name, CheckOutcome::Pass) })
    };
    let run = |observed: Observed, records: &[Record]| {
        let origin = ImportOrigin { observed, ..origin(Format::ProwlerOcsf) };
        let run = folded_all(origin, records.to_vec());
        (run.observations[0].observed_at, run.observed_from, run.observed_to)
    };
    let now = Time::from_s(1_000);
    let file = Observed::File { now };
    let (early, late) = (Time::from_s(300), Time::from_s(500));
    let both = [at("a", Some(300)), at("b", Some(500)), at("c", None)];
    assert_eq!(run(file, &both), (late, Some(early), Some(late)));
    assert_eq!(run(file, &[at("a", None)]), (now, None, None));
    assert_eq!(run(file, &[at("a", Some(2_000))]), (now, Some(now), Some(now)));
    let wanted = Time::from_s(7);
    assert_eq!(run(Observed::At(wanted), &both), (wanted, Some(wanted), Some(wanted)));
}

#[test]
fn an_asset_is_one_per_external_id_and_last_seen_when_it_was() {
    let at =
        |name: &str, s: i64| Record::Asset(Seen { seen_at: Some(Time::from_s(s)), ..seen(name) });
    let run = folded_all(origin(Format::Nmap), [at("b", 5), at("a", 2), at("b", 9), at("b", 1)]);
    let seen: Vec<_> =
        run.assets.iter().map(|it| (it.external_id.as_str(), it.seen_at.unwrap().s())).collect();
    assert_eq!(seen, [("a", 2), ("b", 9)]);
    assert_eq!((run.n_records, run.scopes.as_slice()), (0, ["aws/1".to_owned()].as_slice()));
}

#[test]
fn more_failing_subjects_than_are_linked_are_still_counted() {
    let n = u32::try_from(N_FAILING_MAX).unwrap() + 1;
    let checks = (0..n).map(|it| Record::Check(check_of(&it.to_string(), CheckOutcome::Fail)));
    let run = folded_all(origin(Format::ProwlerOcsf), checks);
    assert_eq!(counts(&run.observations[0]), (0, n, 0));
    assert_eq!(run.observations[0].failing.len(), N_FAILING_MAX);
    assert!(run.observations[0].failing.is_sorted());
}

#[test]
fn reasons_beyond_the_limit_are_counted_together() {
    let skip = |n: usize| Record::Skipped { at: 1, reason: format!("reason {n:03}") };
    let all = (0..N_REASONS_MAX + 5).chain([0, 0]).map(skip);
    let run = folded_all(origin(Format::ProwlerOcsf), all);
    let mut wanted: BTreeMap<String, u32> =
        (0..N_REASONS_MAX).map(|n| (format!("reason {n:03}"), 1)).collect();
    wanted.insert("reason 000".to_owned(), 3);
    wanted.insert(OTHER_REASONS.to_owned(), 5);
    assert_eq!(run.skipped, wanted);
}

/// Adds `n_max` records that are taken, and one more that is refused.
fn refuses_beyond(n_max: usize, what: &str, record: impl Fn(usize) -> Record) {
    let mut fold = Fold::new(origin(Format::ProwlerOcsf));
    for n in 0..n_max {
        fold.add(record(n)).expect("within the limits");
    }
    let error = fold.add(record(n_max)).expect_err("one too many");
    assert_eq!(error.code, Code::Invalid);
    let message = error.message();
    assert!(message.starts_with(&format!("more than {n_max} {what} in one file")), "{message}");
}

#[test]
fn each_limit_refuses_the_file() {
    let n_records_max = usize::try_from(N_RECORDS_MAX).unwrap();
    refuses_beyond(n_records_max, "records", |_| Record::Skipped { at: 1, reason: "r".to_owned() });
    refuses_beyond(N_ASSETS_MAX, "assets", |n| Record::Asset(seen(&n.to_string())));
    refuses_beyond(N_OBSERVATIONS_MAX, "pairs of check and scope", |n| {
        Record::Check(Check { check: n.to_string(), ..check_of("a", CheckOutcome::Pass) })
    });
}
