//! The frameworks that the contract does not name change nothing of what it does.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use posture_core::catalog::embedded;
use posture_core::clock::Time;
use posture_core::engine::assess;
use posture_core::engine::catalog::Catalog;
use posture_core::engine::fact::{Facts, Observation, Profile, Subject, Usage, Verdict};
use posture_core::engine::memory::sparse::SparseMemory;
use posture_core::engine::severity::Severity;
use posture_core::id::ImportId;
use proptest::collection::vec;
use proptest::prelude::*;

/// One check of Prowler with its counts.
fn observed(check: &str, (passed, failed): (u32, u32), now: Time) -> Observation {
    Observation {
        subject: Subject::Check { tool: "prowler".to_owned() },
        source: "prowler".to_owned(),
        scope: "aws/1".to_owned(),
        check: check.to_owned(),
        observed_at: now,
        valid_until: None,
        import: ImportId::from_bytes([1; 16]),
        verdict: Verdict::Counted { passed, failed },
        accepted: 0,
        severity: Severity::High,
        title: check.to_owned(),
        findings: None,
        remediation: None,
        failing: Vec::new(),
        memory: SparseMemory::default(),
        facets: Vec::new(),
        platform: None,
    }
}

/// With and without the other frameworks.
static CATALOGS: LazyLock<(Catalog, Catalog)> = LazyLock::new(|| {
    let all = embedded().unwrap();
    let mut few = all.clone();
    few.frameworks.retain(|it| it.id.is_of_contract());
    few.seal();
    (all, few)
});

fn config() -> ProptestConfig {
    ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn other_frameworks_change_nothing_of_the_contract_s(
        counts in vec(prop::option::weighted(0.4, (0..3_u32, 0..3_u32)), 400),
        unused in vec(any::<bool>(), 4),
    ) {
        let (all, few) = &*CATALOGS;
        let now = Time::EPOCH.plus_days(20_000);
        let checks = all.tools["prowler"].checks.keys().step_by(2).zip(&counts);
        let counted = checks.filter_map(|(check, counts)| Some((check, (*counts)?)));
        let counted = counted.filter(|(_, (passed, failed))| 0 < passed + failed);
        let observations: Vec<_> =
            counted.map(|(check, counts)| observed(check, counts, now)).collect();
        let answer = |is_unused: bool| if is_unused {
            Usage::Unused { by: "Ada".to_owned(), until: now.plus_days(30) }
        } else {
            Usage::Used
        };
        let questions = ["aws", "azure", "m365", "creditReports"].map(str::to_owned);
        let profile: Profile =
            questions.into_iter().zip(unused.iter().map(|it| answer(*it))).collect::<BTreeMap<_, _>>();
        let facts = Facts { observations: &observations, now, ..Facts::none(&profile) };
        let (mut with, without) = (assess(all, &facts), assess(few, &facts));
        let bases = with.frameworks.iter().zip(std::mem::take(&mut with.row_bases));
        let bases = bases.filter(|(it, _)| it.id.is_of_contract()).map(|(_, bases)| bases);
        with.row_bases = bases.collect();
        with.frameworks.retain(|it| it.id.is_of_contract());
        // A row of another framework may want to be looked at earlier.
        prop_assert!(with.changes_at <= without.changes_at || without.changes_at.is_none());
        with.changes_at = without.changes_at;
        prop_assert!(with == without);
    }
}
