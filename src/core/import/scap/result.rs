//! What a run found of each rule.

use std::collections::{BTreeMap, BTreeSet};

use super::host::Host;
use super::short;
use crate::clock::Time;
use crate::engine::catalog::reference::with_references;
use crate::error::Result;
use crate::import::about::{Told, no_result, severity};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, plain};

/// A rule, as its publisher describes it. Texts are empty where the file has none.
#[derive(Debug, Default)]
pub(in crate::import) struct Rule {
    pub(in crate::import) title: String,
    pub(in crate::import) severity: String,
    pub(in crate::import) repair: String,
    pub(in crate::import) references: BTreeSet<String>,
}

/// The results of one host by one profile.
#[derive(Debug, Default)]
pub(in crate::import) struct Run {
    pub(in crate::import) host: Host,
    /// The profile or the benchmark.
    pub(in crate::import) by: String,
    pub(in crate::import) at: Option<Time>,
    /// By the id of the rule.
    pub(in crate::import) results: BTreeMap<String, RuleResult>,
}

#[derive(Debug)]
pub(in crate::import) struct RuleResult {
    pub(in crate::import) outcome: OrSkipped<CheckOutcome>,
    pub(in crate::import) severity: String,
    pub(in crate::import) references: BTreeSet<String>,
    pub(in crate::import) detail: String,
}

impl Run {
    /// Of several results of one rule, such as those of its checks, the worst counts: one that is unknown is worse than one
    /// that passes.
    pub(in crate::import) fn add(&mut self, rule: String, result: RuleResult) {
        match self.results.get_mut(&rule) {
            None => {
                self.results.insert(rule, result);
            }
            Some(known) => {
                known.references.extend(result.references);
                if rank(&known.outcome) < rank(&result.outcome) {
                    (known.outcome, known.detail) = (result.outcome, result.detail);
                }
            }
        }
    }

    /// Hands out the records. `at` counts them.
    ///
    /// # Errors
    /// `Invalid` if nothing names the host. Whatever `records` returns.
    pub(in crate::import) fn tell(
        &self,
        rules: &BTreeMap<String, Rule>,
        at: &mut u64,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let about = self.host.about(&self.by, self.at)?;
        let applies = self.results.values().any(|it| it.outcome.is_ok());
        if applies {
            records(Record::Asset(self.host.asset(&about)))?;
        }
        let none = Rule::default();
        for (id, result) in &self.results {
            *at += 1;
            let rule = rules.get(id).unwrap_or(&none);
            let references = rule.references.union(&result.references).cloned().collect();
            let check = with_references(short(id), &references);
            let rated = if result.severity.is_empty() { &rule.severity } else { &result.severity };
            let title = plain::title(&rule.title);
            let told = result.outcome.clone().map(|outcome| Told {
                outcome,
                severity: severity(rated),
                title: if title.is_empty() { short(id) } else { &title },
                remediation: &rule.repair,
                detail: &result.detail,
            });
            about.tell(*at, &check, told, records)?;
        }
        Ok(())
    }
}

fn rank(outcome: &OrSkipped<CheckOutcome>) -> u8 {
    match outcome {
        Ok(CheckOutcome::Pass) => 0,
        Ok(CheckOutcome::Accepted) => 1,
        Err(_) => 2,
        Ok(CheckOutcome::Fail) => 3,
    }
}

/// `None`: the profile does not select the rule. `is_waived`: a person replaced a result that failed.
pub(super) fn outcome(word: &str, is_waived: bool) -> Option<OrSkipped<CheckOutcome>> {
    Some(match word.trim() {
        "pass" | "fixed" | "notapplicable" if is_waived => Ok(CheckOutcome::Accepted),
        "pass" | "fixed" => Ok(CheckOutcome::Pass),
        "fail" => Ok(CheckOutcome::Fail),
        "notselected" => return None,
        it @ "notapplicable" => Err(no_result(it, "the rule does not apply to the host")),
        it @ "notchecked" => Err(no_result(it, "needs a manual check")),
        it @ ("error" | "unknown") => Err(no_result(it, "the tool could not check it")),
        it @ "informational" => Err(no_result(it, "the rule only informs")),
        it => Err(no_result(it, "not a result")),
    })
}
