//! Results of Wazuh's security configuration assessment: an answer of its API with the agent in each item, a search in the index
//! `wazuh-states-sca-*` or in its alerts, or the file of its alerts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::import::about::no_result;
use crate::import::document::{Part, walk};
use crate::import::page::{Missing, Pages};
use crate::import::ration::refuse_beyond;
use crate::import::scap::{Rule, RuleResult, Run};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, moment};

const WHAT: &str = "Wazuh";
/// A file with more results is refused. A policy has up to 500 checks.
const N_RESULTS_MAX: usize = 200_000;
/// Policies of workstations have one of these words in their names.
const WORKSTATIONS: [&str; 3] = ["win10", "win11", "macos"];

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut list = List::default();
    walk(input, WHAT, &mut |path, part| {
        match (path, part) {
            (["data", "affected_items"] | ["hits", "hits"], Part::Open) => {
                list.item = Item::default();
            }
            (["data", "affected_items"] | ["hits", "hits"], Part::Close) => list.add()?,
            (["data", "affected_items", field @ ..], Part::Text(text)) => {
                list.item.take(field, text);
            }
            (["hits", "hits", "_source", field @ ..], Part::Text(text)) => {
                list.item.take_document(field, text);
            }
            (["data", "total_affected_items"] | ["hits", "total", "value"], Part::Text(text)) => {
                list.pages.take_total(text);
            }
            ([], Part::Open) => list.item = Item::default(),
            ([], Part::Close) => list.end()?,
            // A line of the file of alerts.
            (field, Part::Text(text)) => list.item.take_document(field, text),
            (_, Part::Open | Part::Close) => (),
        }
        Ok(())
    })?;
    list.tell(records)
}

#[derive(Default)]
struct List {
    pages: Pages,
    /// Items that are the result of a check, and those of them that say of which host, policy and check.
    n_results: usize,
    n_named: usize,
    /// The newest result by host, policy and check.
    results: BTreeMap<(String, String, String), Item>,
    /// The one that is read.
    item: Item,
}

#[derive(Default)]
struct Item {
    agent: String,
    address: String,
    policy: String,
    check: String,
    title: String,
    result: String,
    /// Of release 4.4 and earlier, in place of a result.
    status: String,
    reason: String,
    remediation: String,
    at: Option<Time>,
}

impl List {
    fn add(&mut self) -> Result<()> {
        self.pages.add_item();
        let mut item = std::mem::take(&mut self.item);
        // A name of a check ends with its references, which spaces separate.
        item.policy = item.policy.split_whitespace().collect::<Vec<_>>().join("_");
        // Other alerts, and the sums of a scan.
        if item.result.is_empty() && item.status.is_empty() && item.check.is_empty() {
            return Ok(());
        }
        self.n_results += 1;
        if item.policy.is_empty() || item.check.is_empty() {
            return Ok(());
        }
        let host = if item.agent.is_empty() { &item.address } else { &item.agent };
        if host.is_empty() {
            return Ok(());
        }
        self.n_named += 1;
        let key = (host.to_lowercase(), item.policy.clone(), item.check.clone());
        let is_newer = self
            .results
            .get(&key)
            .is_none_or(|known| (known.at, known.rank()) <= (item.at, item.rank()));
        if is_newer {
            self.results.insert(key, item);
        }
        let (n, n_max) = (self.results.len(), N_RESULTS_MAX);
        refuse_beyond(n <= n_max, n_max as u64, "results")
    }

    /// Takes note of the end of an answer, or of an alert.
    fn end(&mut self) -> Result<()> {
        if !self.item.check.is_empty() {
            self.add()?;
        }
        self.pages.end().map_err(incomplete)
    }

    fn tell(self, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        if self.n_results == 0 {
            return Err(Error::invalid(format!(
                "not a list of results of the configuration assessment of {WHAT}"
            )));
        }
        self.pages.finish().map_err(incomplete)?;
        if self.n_named < self.n_results {
            return Err(Error::invalid(
                "it is not known which host each result is about, or of which policy and check: an answer of the API does not name \
                 its agent; add agent_name to each item, or export the index wazuh-states-sca",
            ));
        }
        let mut runs = BTreeMap::<(String, String), (Run, BTreeMap<String, Rule>)>::new();
        for ((host, policy, _), item) in self.results {
            let (run, rules) = runs.entry((host, policy)).or_default();
            item.put(run, rules);
        }
        let mut at = 0;
        for (run, rules) in runs.into_values() {
            run.tell(&rules, &mut at, records)?;
        }
        Ok(())
    }
}

fn incomplete(Missing { n_read, n_total }: Missing) -> Error {
    Error::invalid(format!(
        "the file has {n_read} of {n_total} results; save all pages in one file, one after the other"
    ))
}

impl Item {
    /// A member of an item of the API.
    fn take(&mut self, field: &[&str], text: &str) {
        let place = match field {
            ["agent_name"] | ["agent", "name"] => &mut self.agent,
            ["agent_ip"] | ["agent", "ip"] => &mut self.address,
            ["policy_id"] => &mut self.policy,
            ["id"] => &mut self.check,
            ["title"] => &mut self.title,
            ["result"] => &mut self.result,
            ["status"] => &mut self.status,
            ["reason"] => &mut self.reason,
            ["remediation"] => &mut self.remediation,
            _ => return,
        };
        text.trim().clone_into(place);
    }

    /// A member of a document of an index, or of an alert.
    fn take_document(&mut self, field: &[&str], text: &str) {
        let field = field.strip_prefix(&["data", "sca"]).unwrap_or(field);
        let place = match field {
            ["agent", "name"] => &mut self.agent,
            ["agent", "ip"] | ["agent", "host", "ip"] => &mut self.address,
            ["policy_id"] | ["policy", "id"] => &mut self.policy,
            ["check", "id"] => &mut self.check,
            ["check", "title" | "name"] => &mut self.title,
            ["check", "result"] => &mut self.result,
            ["check", "status"] => &mut self.status,
            ["check", "reason"] => &mut self.reason,
            ["check", "remediation"] => &mut self.remediation,
            ["timestamp" | "@timestamp"] => {
                self.at = moment::of_text(text);
                return;
            }
            _ => return,
        };
        if place.is_empty() {
            text.trim().clone_into(place);
        }
    }

    fn outcome(&self) -> OrSkipped<CheckOutcome> {
        let word = if self.result.is_empty() { &self.status } else { &self.result };
        match word.to_ascii_lowercase().as_str() {
            "passed" => Ok(CheckOutcome::Pass),
            "failed" => Ok(CheckOutcome::Fail),
            "not applicable" => Err(no_result(word, "the check does not apply to the host")),
            "not run" => Err(no_result(word, "the check did not run")),
            _ => Err(no_result(word, "not a result")),
        }
    }

    /// Of results of one time, the worst counts: one that is unknown is worse than one that passes.
    fn rank(&self) -> u8 {
        match self.outcome() {
            Ok(CheckOutcome::Pass) => 0,
            Ok(CheckOutcome::Accepted) | Err(_) => 1,
            Ok(CheckOutcome::Fail) => 2,
        }
    }

    /// Adds it to what is known of its host by its policy.
    fn put(self, run: &mut Run, rules: &mut BTreeMap<String, Rule>) {
        let outcome = self.outcome();
        let Self { agent, address, policy, check, title, reason, remediation, at, .. } = self;
        run.host.take_ip(&address);
        let is_workstation = WORKSTATIONS.iter().any(|it| policy.to_lowercase().contains(it));
        run.host.name = agent;
        run.host.is_workstation = is_workstation;
        run.at = run.at.max(at);
        let references = BTreeSet::from([policy.clone(), format!("{policy}:{check}")]);
        let rule = Rule { title, repair: remediation, ..Rule::default() };
        rules.insert(check.clone(), rule);
        let severity = String::new();
        run.add(check, RuleResult { outcome, severity, references, detail: reason });
        run.by = policy;
    }
}
