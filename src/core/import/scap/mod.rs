//! Results in formats of NIST: XCCDF of OpenSCAP and DISA SCC, also inside of ARF, checklists of STIG Viewer 2 and 3, and OSCAL.
//!
//! The rules come before the results in a file, or in another file. A file with results alone has no titles and references.

mod checklist;
mod cklb;
mod host;
mod oscal;
mod reference;
mod result;

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

pub(super) use checklist::read as read_checklist;
pub(super) use cklb::read as read_cklb;
pub(super) use host::Host;
pub(super) use oscal::read as read_oscal;
pub(super) use reference::of_cci;
use reference::{of_nist_800_53, of_nist_800_171};
use result::outcome;
pub(super) use result::{Rule, RuleResult, Run};

use super::text::ID_CHARS_MAX;
use super::xml::{self, Node, Tag, append, not_a_report};
use super::{Format, Record, contains, has_members, moment};
use crate::error::{Error, Result};

const WHAT: &str = "OpenSCAP or DISA SCC";
/// The elements that a file with results begins with.
const ROOTS: [&str; 3] = ["Benchmark", "TestResult", "asset-report-collection"];
/// A file with more rules or results is refused. A benchmark has up to 2,000 rules.
const N_RULES_MAX: usize = 50_000;
const N_RESULTS_MAX: usize = 200_000;
/// Of a longer text, the rest is not kept.
const TEXT_BYTES_MAX: usize = 1_500;

/// The format of a JSON file that starts so.
pub(super) fn detect_json(head: &[u8]) -> Option<Format> {
    let is_checklist =
        has_members(head, &["stigs", "rules", "rule_id"]) || contains(head, b"\"cklb_version\"");
    if is_checklist {
        return Some(Format::StigChecklist3);
    }
    oscal::is_report(head).then_some(Format::Oscal)
}

/// See [`super::read`].
pub(super) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut document = Document::default();
    xml::walk(input, WHAT, &mut |path, node| match node {
        Node::Open(tag) => document.open(path, tag),
        Node::Text(text) => {
            append(&mut document.text, text, TEXT_BYTES_MAX);
            Ok(())
        }
        Node::Close => document.close(path),
    })?;
    if document.runs.is_empty() {
        return Err(Error::invalid(
            "the file has rules and no results; import what `oscap xccdf eval --results FILE` or SCC writes",
        ));
    }
    if document.runs.values().all(|it| it.results.is_empty()) {
        return Err(Error::invalid(
            "no rule was selected, so there is no result; run the scan with a profile of the benchmark",
        ));
    }
    let mut at = 0;
    for run in document.runs.values() {
        run.tell(&document.rules, &mut at, records)?;
    }
    Ok(())
}

/// What comes after `_rule_`, `_profile_` or `_benchmark_` in an id of XCCDF 1.2.
fn short(id: &str) -> &str {
    let starts = ["_rule_", "_profile_", "_benchmark_"];
    let rest = starts.iter().find_map(|it| id.split_once(it)).map(|it| it.1);
    rest.filter(|it| id.starts_with("xccdf_") && !it.is_empty()).unwrap_or(id)
}

#[derive(Default)]
struct Document {
    rules: BTreeMap<String, Rule>,
    /// The newest run of each host and profile.
    runs: BTreeMap<String, Run>,
    n_results: usize,
    /// The rule or run that is read, and the length of its path.
    rule: Option<(usize, String, Rule)>,
    run: Option<(usize, Run)>,
    /// The result that is read.
    result: Option<Found>,
    /// Of the element that was opened last, and of what is in it.
    text: String,
    /// What the tag of that element says.
    about: String,
}

/// A result, as it is written.
#[derive(Default)]
struct Found {
    rule: String,
    word: String,
    is_waived: bool,
    severity: String,
    references: BTreeSet<String>,
    detail: String,
}

impl Document {
    fn open(&mut self, path: &[&str], tag: &Tag<'_>) -> Result<()> {
        let n = path.len();
        if n == 1 && !ROOTS.contains(&path[0]) {
            return Err(not_a_report(WHAT, "the XML starts with neither a benchmark nor results"));
        }
        match (&self.rule, &self.run, path[n - 1]) {
            (None, None, "Rule") => {
                if self.rules.len() == N_RULES_MAX {
                    return Err(not_a_report(WHAT, &format!("more than {N_RULES_MAX} rules")));
                }
                let rule = Rule { severity: tag.attribute("severity"), ..Rule::default() };
                self.rule = Some((n, tag.attribute("id"), rule));
            }
            (None, None, "TestResult") => {
                let [end, start] = ["end-time", "start-time"].map(|it| tag.attribute(it));
                let at = moment::of_text(&end).or_else(|| moment::of_text(&start));
                self.run = Some((n, Run { at, ..Run::default() }));
            }
            (Some((depth, ..)), ..) if n == depth + 1 => {
                self.text.clear();
                self.about = ["href", "system"].map(|it| tag.attribute(it)).concat();
            }
            (None, Some((depth, _)), _) => self.open_in_run(&path[*depth..], tag)?,
            _ => (),
        }
        Ok(())
    }

    fn open_in_run(&mut self, path: &[&str], tag: &Tag<'_>) -> Result<()> {
        let Some((_, run)) = &mut self.run else { return Ok(()) };
        match path {
            ["profile"] => short(&tag.attribute("idref")).clone_into(&mut run.by),
            ["benchmark"] => {
                let (id, href) = (tag.attribute("id"), tag.attribute("href"));
                let id = if id.is_empty() { href } else { id };
                let words = ["windows_10", "windows_11", "windows_client", "macos"];
                let id = short(&id);
                run.host.is_workstation = words.iter().any(|it| id.to_lowercase().contains(it));
                if run.by.is_empty() {
                    id.clone_into(&mut run.by);
                }
            }
            ["rule-result"] => {
                self.n_results += 1;
                if N_RESULTS_MAX < self.n_results {
                    return Err(not_a_report(WHAT, &format!("more than {N_RESULTS_MAX} results")));
                }
                let [rule, severity] = ["idref", "severity"].map(|it| tag.attribute(it));
                self.result = Some(Found { rule, severity, ..Found::default() });
            }
            _ => (),
        }
        self.text.clear();
        self.about = tag.attribute("name");
        Ok(())
    }

    fn close(&mut self, path: &[&str]) -> Result<()> {
        let n = path.len();
        if let Some((depth, ..)) = &self.rule {
            match n - depth {
                0 => {
                    let (_, id, rule) = self.rule.take().expect("it was there");
                    if id.len() <= ID_CHARS_MAX {
                        self.rules.insert(id, rule);
                    }
                }
                1 => self.close_in_rule(path[n - 1]),
                _ => (),
            }
        } else if let Some((depth, _)) = &self.run {
            if n == *depth {
                let (_, run) = self.run.take().expect("it was there");
                return self.keep(run);
            }
            self.close_in_run(&path[*depth..]);
        }
        Ok(())
    }

    fn close_in_rule(&mut self, name: &str) {
        let Some((_, _, rule)) = &mut self.rule else { return };
        let text = self.text.trim();
        match name {
            "title" => text.clone_into(&mut rule.title),
            "fixtext" => text.clone_into(&mut rule.repair),
            "reference" if self.about.contains("800-171") => {
                rule.references.extend(text.split(',').filter_map(of_nist_800_171));
            }
            "reference" if self.about.contains("800-53") => {
                rule.references.extend(text.split(',').filter_map(of_nist_800_53));
            }
            "reference" | "ident" => rule.references.extend(of_cci(text)),
            _ => (),
        }
    }

    fn close_in_run(&mut self, path: &[&str]) {
        let Some((_, run)) = &mut self.run else { return };
        let text = self.text.trim();
        match (path, &mut self.result) {
            (["target"], _) => text.clone_into(&mut run.host.target),
            (["target-address"], _) => run.host.take_ip(text),
            (["target-facts", "fact"], _) => match self.about.rsplit(':').next() {
                Some("fqdn") => text.clone_into(&mut run.host.fqdn),
                Some("host_name") => text.clone_into(&mut run.host.name),
                Some("mac" | "MAC") => run.host.take_mac(text),
                Some("ipv4" | "ipv6") => run.host.take_ip(text),
                Some(_) | None => (),
            },
            (["rule-result", "result"], Some(found)) => text.clone_into(&mut found.word),
            (["rule-result", "ident"], Some(found)) => found.references.extend(of_cci(text)),
            (["rule-result", "message"], Some(found)) => text.clone_into(&mut found.detail),
            (["rule-result", "override", "old-result"], Some(found)) => {
                found.is_waived = text == "fail";
            }
            (["rule-result"], found) => {
                let Some(found) = found.take() else { return };
                let Found { rule, word, is_waived, severity, references, detail } = found;
                if let Some(outcome) = outcome(&word, is_waived) {
                    run.add(rule, RuleResult { outcome, severity, references, detail });
                }
            }
            _ => (),
        }
    }

    /// Of several runs of one host by one profile, the newest counts.
    fn keep(&mut self, mut run: Run) -> Result<()> {
        if run.by.is_empty() {
            "default".clone_into(&mut run.by);
        }
        let scope = run.host.about(&run.by, run.at)?.scope;
        let is_older = self.runs.get(&scope).is_some_and(|known| run.at < known.at);
        if !is_older {
            self.runs.insert(scope, run);
        }
        Ok(())
    }
}
