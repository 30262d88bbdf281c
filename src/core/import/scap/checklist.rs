//! `.ckl` checklists of STIG Viewer, about one host: what a person or a scan found of each rule of some guides.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::reference::of_cci;
use super::result::{Rule, RuleResult, Run};
use super::{N_RESULTS_MAX, TEXT_BYTES_MAX};
use crate::error::Result;
use crate::import::about::no_result;
use crate::import::text::OrSkipped;
use crate::import::xml::{self, Node, append, not_a_report};
use crate::import::{CheckOutcome, Record};

const WHAT: &str = "STIG Viewer";

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut list = Checklist::default();
    xml::walk(input, WHAT, &mut |path, node| match node {
        Node::Open(_) => list.open(path),
        Node::Text(text) => {
            append(&mut list.text, text, TEXT_BYTES_MAX);
            Ok(())
        }
        Node::Close => {
            list.close(path);
            Ok(())
        }
    })?;
    let mut at = 0;
    for (by, results) in list.guides {
        let host = std::mem::take(&mut list.asset.host);
        let run = Run { host, by, at: None, results };
        run.tell(&list.rules, &mut at, records)?;
        list.asset.host = run.host;
    }
    Ok(())
}

#[derive(Default)]
struct Checklist {
    asset: Run,
    rules: BTreeMap<String, Rule>,
    /// By guide, what was found of its rules.
    guides: BTreeMap<String, BTreeMap<String, RuleResult>>,
    n_results: usize,
    guide: String,
    /// The name of the value that comes next.
    name: String,
    row: Row,
    text: String,
}

/// A rule with its result, as it is written.
#[derive(Default)]
struct Row {
    id: String,
    rule: Rule,
    status: String,
    override_to: String,
    detail: String,
}

impl Checklist {
    fn open(&mut self, path: &[&str]) -> Result<()> {
        self.text.clear();
        match path {
            [root] if *root != "CHECKLIST" => {
                Err(not_a_report(WHAT, "the XML does not start with CHECKLIST"))
            }
            [_, "STIGS", "iSTIG"] => {
                self.guide.clear();
                Ok(())
            }
            [_, "STIGS", "iSTIG", "VULN"] => {
                self.row = Row::default();
                self.n_results += 1;
                if N_RESULTS_MAX < self.n_results {
                    return Err(not_a_report(WHAT, &format!("more than {N_RESULTS_MAX} results")));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn close(&mut self, path: &[&str]) {
        let text = self.text.trim();
        let host = &mut self.asset.host;
        match path {
            [_, "ASSET", "HOST_NAME"] => text.clone_into(&mut host.name),
            [_, "ASSET", "HOST_FQDN"] => text.clone_into(&mut host.fqdn),
            [_, "ASSET", "HOST_IP"] => host.take_ip(text),
            [_, "ASSET", "HOST_MAC"] => host.take_mac(text),
            [.., "SI_DATA", "SID_NAME"] | [.., "STIG_DATA", "VULN_ATTRIBUTE"] => {
                text.clone_into(&mut self.name);
            }
            [.., "SI_DATA", "SID_DATA"] if self.name == "stigid" => {
                text.clone_into(&mut self.guide);
            }
            [.., "STIG_DATA", "ATTRIBUTE_DATA"] => self.row.take(&self.name, text),
            [.., "VULN", "STATUS"] => text.clone_into(&mut self.row.status),
            [.., "VULN", "FINDING_DETAILS"] => text.clone_into(&mut self.row.detail),
            [.., "VULN", "SEVERITY_OVERRIDE"] => text.clone_into(&mut self.row.override_to),
            [_, "STIGS", "iSTIG", "VULN"] => self.keep(),
            _ => (),
        }
    }

    fn keep(&mut self) {
        let Row { id, rule, status, override_to, detail } = std::mem::take(&mut self.row);
        let result = RuleResult {
            outcome: outcome(&status),
            severity: override_to,
            references: BTreeSet::new(),
            detail,
        };
        let guide = if self.guide.is_empty() { "stig" } else { &self.guide };
        self.guides.entry(guide.to_owned()).or_default().insert(id.clone(), result);
        self.rules.insert(id, rule);
    }
}

impl Row {
    fn take(&mut self, name: &str, text: &str) {
        match name {
            "Rule_ID" => text.clone_into(&mut self.id),
            "Rule_Title" => text.clone_into(&mut self.rule.title),
            "Severity" => text.clone_into(&mut self.rule.severity),
            "Fix_Text" => text.clone_into(&mut self.rule.repair),
            "CCI_REF" => self.rule.references.extend(of_cci(text)),
            _ => (),
        }
    }
}

fn outcome(status: &str) -> OrSkipped<CheckOutcome> {
    match status {
        "NotAFinding" => Ok(CheckOutcome::Pass),
        "Open" => Ok(CheckOutcome::Fail),
        it @ "Not_Applicable" => Err(no_result(it, "the rule does not apply to the host")),
        it @ "Not_Reviewed" => Err(no_result(it, "nobody has checked it yet")),
        it => Err(no_result(it, "not a result")),
    }
}
