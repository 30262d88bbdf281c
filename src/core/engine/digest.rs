//! What identifies the content of a catalog, with the rules that it is assessed by. Comments and the layout of its files do
//! not count.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

use super::RULES_VERSION;
use super::catalog::{Catalog, Control, ControlCheck};
use super::framework::{Framework, FrameworkRow};

impl Catalog {
    /// Computes the digests of the catalog and of each framework. Call it after every change.
    pub fn seal(&mut self) {
        let checks = self.checks_of_controls();
        let digests = self.frameworks.iter().map(|it| self.digest_of(it, &checks));
        let digests: Vec<u64> = digests.collect();
        for (framework, digest) in self.frameworks.iter_mut().zip(digests) {
            framework.digest = digest;
        }
        let mut hash = Xxh3::new();
        RULES_VERSION.hash(&mut hash);
        (&self.categories, &self.controls, &self.frameworks, &self.tools).hash(&mut hash);
        self.shown_by_sources.hash(&mut hash);
        self.digest = hash.finish();
    }

    /// Everything that decides the outcome of the framework's rows. Texts do not.
    fn digest_of(&self, framework: &Framework, checks: &[Vec<ControlCheck<'_>>]) -> u64 {
        let mut hash = Xxh3::new();
        RULES_VERSION.hash(&mut hash);
        framework.readiness.hash(&mut hash);
        let mut used = BTreeSet::new();
        for row in &framework.rows {
            let FrameworkRow { reference, level, parent, gate, applies, sprs, controls, .. } = row;
            (reference, level, parent, gate, applies, sprs).hash(&mut hash);
            for it in controls {
                let code = &self.controls[it.control].code;
                (code, it.role, it.earns_partial, it.within_days).hash(&mut hash);
                used.insert(it.control);
            }
        }
        for index in used {
            let Control { code, severity, decided_by, platforms, max_age_days, .. } =
                &self.controls[index];
            let Control { open_findings, n_checks_min, over, facets, .. } = &self.controls[index];
            (code, severity, decided_by, platforms, max_age_days).hash(&mut hash);
            (open_findings, n_checks_min, over).hash(&mut hash);
            for it in facets {
                (&it.name, it.is_any, &it.platforms).hash(&mut hash);
            }
            for it in self.shown_by_sources.values() {
                it.get(&index).hash(&mut hash);
            }
            checks[index].hash(&mut hash);
        }
        hash.finish()
    }
}
