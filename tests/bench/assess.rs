//! The catalogue and the engine, alone.

use std::hint::black_box;

use posture::catalog::embedded;
use posture::clock::Clock;
use posture::engine::assess;
use posture::engine::catalog::{Catalog, Tool};
use posture::engine::estate::KnownEstate;
use posture::engine::fact::{Facts, Observation, Profile, Subject, Verdict};
use posture::engine::memory::sparse::SparseMemory;
use posture::engine::severity::Severity;
use posture::id::ImportId;

use super::figure::Report;
use super::{Bench, median_micros};

pub(super) fn bench(bench: &mut Bench) {
    Report::section("Catalogue and engine");
    let loading = median_micros(20, || drop(black_box(embedded().unwrap())));
    bench.goal("load the catalogue", loading, 50_000);
    let catalog = embedded().unwrap();
    for n_accounts in [1, 5, 20] {
        let observations = observations(&catalog, n_accounts);
        let n = observations.len();
        let profile = Profile::new();
        let facts = Facts {
            observations: &observations,
            reads: &[],
            attestations: &[],
            parts: &[],
            decisions: &[],
            subjects: &[],
            profile: &profile,
            estate: KnownEstate::NOTHING,
            critical_subjects: &[],
            base_loss: Some(1_000_000),
            now: Clock::System.now(),
        };
        let assessing = median_micros(100, || drop(black_box(assess(&catalog, black_box(&facts)))));
        let name = format!("assess, 11 frameworks, {n} checks of {n_accounts} accounts");
        if n_accounts == 1 {
            bench.goal(&name, assessing, 2_000);
        } else {
            bench.note(&name, assessing);
        }
    }
}

/// Every mapped check of every tool in each of so many accounts; some fail, some partly.
fn observations(catalog: &Catalog, n_accounts: u32) -> Vec<Observation> {
    let now = Clock::System.now();
    let mut all = Vec::new();
    for account in 0..n_accounts {
        for (tool, Tool { checks, .. }) in &catalog.tools {
            for (n, check) in checks.keys().enumerate() {
                let failed = [0, 0, 0, 1, 20][(n + account as usize) % 5];
                all.push(Observation {
                    subject: Subject::Check { tool: tool.clone() },
                    source: tool.clone(),
                    scope: format!("account {account}"),
                    check: check.clone(),
                    observed_at: now,
                    valid_until: None,
                    import: ImportId::from_bytes([1; 16]),
                    verdict: Verdict::Counted { passed: 20, failed },
                    accepted: 0,
                    severity: Severity::Medium,
                    title: format!("Check {check}"),
                    findings: (failed != 0).then(|| "It was not as it should be.".to_owned()),
                    remediation: Some("Make it as it should be.".to_owned()),
                    failing: (0..u64::from(failed)).collect(),
                    memory: SparseMemory::default(),
                    facets: Vec::new(),
                    platform: None,
                });
            }
        }
    }
    all
}
