//! The JSON results of kube-bench, about the nodes of a Kubernetes cluster. The file names neither.

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::engine::catalog::reference::with_references;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::import::about::{About, Told, no_result};
use crate::import::document::{Part, walk};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, CheckSubject, Record, plain};

const WHAT: &str = "kube-bench";
/// What all checks refer to: benchmarks of CIS for Kubernetes.
const BENCHMARK: &str = "cis-kubernetes";

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let subject = CheckSubject::of("kubernetes".to_owned(), "Kubernetes".to_owned());
    let scope = "kubernetes/kube-bench".to_owned();
    let about = About { scope, subject, observed_at: None };
    let mut item = Item::default();
    let (mut at, mut n_lists) = (0, 0);
    walk(input, WHAT, &mut |path, part| {
        let path = path.strip_prefix(&["Controls"]).unwrap_or(path);
        match (path, part) {
            (["tests"], Part::Open) => n_lists += 1,
            (["tests", "results"], Part::Open) => item = Item::default(),
            (["tests", "results"], Part::Close) => {
                at += 1;
                item.tell(&about, at, records)?;
            }
            (["tests", "results", name], Part::Text(text)) => item.take(name, text),
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    })?;
    if n_lists == 0 {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no tests")));
    }
    Ok(())
}

#[derive(Default)]
struct Item {
    number: String,
    title: String,
    status: String,
    remediation: String,
    actual: String,
    reason: String,
}

impl Item {
    fn take(&mut self, name: &str, text: &str) {
        let place = match name {
            "test_number" => &mut self.number,
            "test_desc" => &mut self.title,
            "status" => &mut self.status,
            "remediation" => &mut self.remediation,
            "actual_value" => &mut self.actual,
            "reason" => &mut self.reason,
            _ => return,
        };
        text.trim().clone_into(place);
    }

    fn tell(
        &self,
        about: &About,
        at: u64,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        if self.number.is_empty() {
            return records(Record::Skipped { at, reason: "missing test_number".to_owned() });
        }
        let title = plain::title(&self.title);
        let detail = if self.reason.is_empty() { &self.actual } else { &self.reason };
        let told = self.outcome().map(|outcome| Told {
            outcome,
            severity: Severity::Medium,
            title: &title,
            remediation: &self.remediation,
            detail,
        });
        let check = with_references(&self.number, &BTreeSet::from([BENCHMARK.to_owned()]));
        about.tell(at, &check, told, records)
    }

    fn outcome(&self) -> OrSkipped<CheckOutcome> {
        match self.status.as_str() {
            "PASS" => Ok(CheckOutcome::Pass),
            "FAIL" => Ok(CheckOutcome::Fail),
            it @ "WARN" => Err(no_result(it, "needs a manual check")),
            it @ "INFO" => Err(no_result(it, "the check only informs")),
            it => Err(no_result(it, "not a result")),
        }
    }
}
