//! Live proof: a real assessor's file in which one serious check after the other fails, and what then moves.

mod needs_samples {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use posture_core::catalog::embedded;
    use posture_core::clock::Time;
    use posture_core::engine::assess;
    use posture_core::engine::catalog::Catalog;
    use posture_core::engine::estate::{EstateKind, KnownEstate, SaidWhole};
    use posture_core::engine::fact::{Facts, Observation, Profile, Verdict};
    use posture_core::engine::posture::Posture;
    use posture_core::engine::severity::Severity;
    use posture_core::import::Format;

    use crate::harness::sample::{foreign, root};

    /// A real run on an AWS account.
    const FILE: &str = "prowler/aws_moto_small.ocsf.json";
    /// A change is named by the first of so many rows.
    const N_NAMED: usize = 4;

    fn assessed(catalog: &Catalog, observations: &[Observation], now: Time) -> Posture {
        let all =
            SaidWhole { kind: EstateKind::CloudAccounts, n_known: 1, until: now.plus_days(1) };
        let estate = KnownEstate { said_whole: vec![all], ..KnownEstate::default() };
        let facts = Facts {
            observations,
            reads: &[],
            attestations: &[],
            parts: &[],
            decisions: &[],
            subjects: &[],
            profile: &Profile::new(),
            estate: &estate,
            critical_subjects: &[],
            base_loss: None,
            now,
        };
        assess(catalog, &facts)
    }

    /// The rows that came out otherwise, by framework.
    fn moved(
        catalog: &Catalog,
        before: &Posture,
        after: &Posture,
    ) -> BTreeMap<String, Vec<String>> {
        let mut moved = BTreeMap::new();
        for (framework, (before, after)) in
            catalog.frameworks.iter().zip(before.frameworks.iter().zip(&after.frameworks))
        {
            let rows = framework.rows.iter().zip(before.rows.iter().zip(&after.rows));
            let changed = rows.filter(|(_, (before, after))| before != after);
            let names: Vec<String> = changed.map(|(row, _)| row.reference.clone()).collect();
            moved.insert(framework.id.as_str().to_owned(), names);
        }
        moved
    }

    #[test]
    fn each_serious_check_that_fails_moves_rows_of_every_security_framework() {
        let catalog = embedded().unwrap();
        let run = crate::import::folded(Format::ProwlerOcsf, &foreign(FILE)).unwrap();
        let now = run.observed_to.unwrap();
        let passing = |it: &Observation| {
            let Verdict::Counted { passed, failed } = it.verdict else { panic!("counts") };
            let verdict = Verdict::Counted { passed: passed + failed, failed: 0 };
            Observation { verdict, failing: Vec::new(), findings: None, ..it.clone() }
        };
        let good: Vec<Observation> = run.observations.iter().map(passing).collect();
        let before = assessed(&catalog, &good, now);
        let mut table = String::new();
        for index in 0..good.len() {
            let check = &good[index].check;
            let controls = catalog.links_of_check("prowler", check);
            if good[index].severity < Severity::High || controls.is_empty() {
                continue;
            }
            let mut facts = good.clone();
            let Verdict::Counted { passed, .. } = facts[index].verdict else { panic!("counts") };
            facts[index].verdict = Verdict::Counted { passed: 0, failed: passed };
            let after = assessed(&catalog, &facts, now);
            let moved = moved(&catalog, &before, &after);
            let codes = controls.iter().map(|it| catalog.controls[it.control].code.as_str());
            let codes = codes.collect::<Vec<_>>().join(", ");
            writeln!(table, "{check} ({}, {codes})", good[index].severity.as_str()).unwrap();
            for (framework, rows) in &moved {
                let named = rows.iter().take(N_NAMED).cloned().collect::<Vec<_>>().join(", ");
                let more = if rows.len() <= N_NAMED { "" } else { ", ..." };
                writeln!(table, "    {framework:<10} {:>3}  {named}{more}", rows.len()).unwrap();
            }
            for id in super::super::content::SECURITY {
                assert!(!moved[id.as_str()].is_empty(), "{check} moves no row of {}", id.as_str());
            }
            let worse = |it: &Posture| it.score.overall;
            assert!(worse(&after) <= worse(&before), "{check}");
        }
        let mut settings = insta::Settings::new();
        settings.set_snapshot_path(root().join("tests/core/catalog"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("check-rows", &table));
    }
}
