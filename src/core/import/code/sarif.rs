//! SARIF 2.1: what a scanner of source code, secrets or components found in a repository, which the file does not name.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use crate::engine::catalog::reference::with_references;
use crate::engine::fact::REMEDIATION_CHARS_MAX;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::import::document::{Part, walk};
use crate::import::ration::refuse_beyond;
use crate::import::text::{self, DETAIL_CHARS_MAX, NAME_CHARS_MAX, OrSkipped, TITLE_CHARS_MAX};
use crate::import::vulnerability::by_score;
use crate::import::{Check, CheckOutcome, CheckSubject, Record, contains, has_members};

const WHAT: &str = "SARIF";
/// A file with more results or rules in one run is refused: they are kept until the tool is known, which may come after them.
const N_RESULTS_MAX: usize = 100_000;
const N_RULES_MAX: usize = 20_000;

/// Returns true for the start of such a file.
pub(in crate::import) fn is_report(head: &[u8]) -> bool {
    has_members(head, &["runs"]) && (contains(head, b"sarif") || has_members(head, &["driver"]))
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut run = Run::default();
    let (mut at, mut n_runs) = (0, 0_u64);
    walk(input, WHAT, &mut |path, part| {
        let ["runs", path @ ..] = path else { return Ok(()) };
        match (path, part) {
            ([], Part::Open) => {
                n_runs += 1;
                run = Run::default();
            }
            ([], Part::Close) => return std::mem::take(&mut run).tell(&mut at, records),
            (["results", inner @ ..], part) => return run.take_result(inner, &part),
            (["tool", "driver", "name"], Part::Text(text)) => text.clone_into(&mut run.tool),
            (["tool", "driver" | "extensions", "rules", inner @ ..], part) => {
                return run.take_rule(inner, &part);
            }
            (["invocations", "executionSuccessful"], Part::Text("false")) => run.has_failed = true,
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    })?;
    if n_runs == 0 {
        return Err(Error::invalid(
            "the file has no runs: the tool did not run, or did not finish",
        ));
    }
    Ok(())
}

#[derive(Default)]
struct Run {
    tool: String,
    has_failed: bool,
    rules: HashMap<String, Rule>,
    results: Vec<Found>,
    /// The rule and the result that are read.
    rule: (String, Rule),
    result: Found,
}

#[derive(Default)]
struct Rule {
    title: String,
    help: String,
    level: String,
    score: String,
}

#[derive(Default)]
struct Found {
    rule: String,
    level: String,
    kind: String,
    message: String,
    file: String,
    has_suppression: bool,
    /// One of its suppressions is rejected or under review.
    is_disputed: bool,
}

impl Run {
    fn take_rule(&mut self, path: &[&str], part: &Part<'_>) -> Result<()> {
        match (path, part) {
            ([], Part::Open) => self.rule = Default::default(),
            ([], Part::Close) => {
                let (id, rule) = std::mem::take(&mut self.rule);
                self.rules.insert(id, rule);
                let is_within = self.rules.len() <= N_RULES_MAX;
                refuse_beyond(is_within, N_RULES_MAX as u64, "rules of one run")?;
            }
            (["id"], Part::Text(text)) => (*text).clone_into(&mut self.rule.0),
            (["shortDescription", "text"], Part::Text(text)) => {
                (*text).clone_into(&mut self.rule.1.title);
            }
            (["help", "text"], Part::Text(text)) => (*text).clone_into(&mut self.rule.1.help),
            (["defaultConfiguration", "level"], Part::Text(text)) => {
                (*text).clone_into(&mut self.rule.1.level);
            }
            (["properties", "security-severity"], Part::Text(text)) => {
                (*text).clone_into(&mut self.rule.1.score);
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    }

    fn take_result(&mut self, path: &[&str], part: &Part<'_>) -> Result<()> {
        let it = &mut self.result;
        let place = match path {
            ["ruleId"] | ["rule", "id"] => &mut it.rule,
            ["level"] => &mut it.level,
            ["kind"] => &mut it.kind,
            ["message", "text"] => &mut it.message,
            ["locations", "physicalLocation", "artifactLocation", "uri"] if it.file.is_empty() => {
                &mut it.file
            }
            ["suppressions"] => {
                it.has_suppression |= matches!(part, Part::Open);
                return Ok(());
            }
            ["suppressions", "status"] => {
                it.is_disputed |= !matches!(part, Part::Text("accepted"));
                return Ok(());
            }
            [] => {
                if matches!(part, Part::Close) {
                    self.results.push(std::mem::take(it));
                    let is_within = self.results.len() <= N_RESULTS_MAX;
                    refuse_beyond(is_within, N_RESULTS_MAX as u64, "results of one run")?;
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let Part::Text(text) = part {
            (*text).clone_into(place);
        }
        Ok(())
    }

    fn tell(self, at: &mut u64, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        if self.has_failed {
            return Err(Error::invalid("the tool says that its run failed; run it again"));
        }
        let tool = text::id(&self.tool, "name of the tool");
        let tool =
            tool.map_err(|reason| Error::invalid(format!("not a report of {WHAT}: {reason}")))?;
        let slug = text::slug(&tool);
        let of_tool = BTreeSet::from([format!("sarif:{slug}")]);
        let scope = format!("code/{slug}");
        let scope = text::id(&scope, "scope").map_err(Error::invalid)?;
        // That it ran, which a run without results shows, too.
        records(Record::Check(Check {
            scope: scope.clone(),
            tool: None,
            check: "run".to_owned(),
            outcome: CheckOutcome::Pass,
            severity: Severity::Low,
            title: text::line(&format!("{tool} looked at the code"), TITLE_CHARS_MAX),
            remediation: None,
            detail: None,
            subject: CheckSubject::of(slug, text::line(&tool, NAME_CHARS_MAX)),
            observed_at: None,
        }))?;
        for found in &self.results {
            *at += 1;
            match self.check(found, &scope, &of_tool) {
                Ok(check) => records(Record::Check(check))?,
                Err(reason) => records(Record::Skipped { at: *at, reason })?,
            }
        }
        Ok(())
    }

    fn check(&self, found: &Found, scope: &str, of_tool: &BTreeSet<String>) -> OrSkipped<Check> {
        let rule = text::id(&found.rule, "ruleId")?;
        let known = self.rules.get(&rule);
        let level = Some(&found.level).filter(|it| !it.is_empty());
        let level = level.or(known.map(|it| &it.level)).map_or("", String::as_str);
        let outcome = match (found.kind.as_str(), level) {
            ("pass", _) => CheckOutcome::Pass,
            ("" | "fail", "none") => return Err("level none: the rule only informs".to_owned()),
            ("" | "fail", _) if found.has_suppression && !found.is_disputed => {
                CheckOutcome::Accepted
            }
            ("" | "fail", _) => CheckOutcome::Fail,
            (kind, _) => return Err(format!("kind {}: not a result", text::line(kind, 40))),
        };
        let file = if found.file.trim().is_empty() { "code" } else { &found.file };
        let title = known.and_then(|it| text::some_line(&it.title, TITLE_CHARS_MAX));
        let help = known.and_then(|it| text::some_block(&it.help, REMEDIATION_CHARS_MAX));
        Ok(Check {
            scope: scope.to_owned(),
            tool: None,
            title: title.unwrap_or_else(|| rule.clone()),
            check: text::id(&with_references(&rule, of_tool), "ruleId")?,
            outcome,
            severity: severity(known.map_or("", |it| &it.score), level),
            remediation: help,
            detail: text::some_line(&found.message, DETAIL_CHARS_MAX),
            subject: CheckSubject::of(text::id(file, "file")?, text::line(file, NAME_CHARS_MAX)),
            observed_at: None,
        })
    }
}

/// By the score that a rule has for security, or else by the level, which is `warning` if the file does not say.
fn severity(score: &str, level: &str) -> Severity {
    by_score(score).unwrap_or(match level {
        "error" => Severity::High,
        "note" => Severity::Low,
        _ => Severity::Medium,
    })
}
