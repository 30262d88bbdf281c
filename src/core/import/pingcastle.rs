//! The XML report of a PingCastle health check, about one domain of Active Directory.
//!
//! It lists the rules that were broken, and no others: a rule that is missing is not known to be kept.

use std::io::BufRead;

use super::about::{About, Told};
use super::xml::{self, Node, append, not_a_report};
use super::{CheckOutcome, Record, moment};
use crate::engine::severity::Severity;
use crate::error::Result;

const WHAT: &str = "PingCastle";
/// A report with more broken rules is refused. PingCastle has 200.
const N_RULES_MAX: usize = 5_000;
/// Of a longer text, the rest is not kept.
const TEXT_BYTES_MAX: usize = 2_000;

#[derive(Default)]
struct Report {
    domain: String,
    generated_at: String,
    rules: Vec<Rule>,
}

#[derive(Default)]
struct Rule {
    id: String,
    points: String,
    rationale: String,
}

/// See [`super::read`].
pub(super) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report = Report::of(input)?;
    let domain = report.domain.to_lowercase();
    let at = moment::of_text(&report.generated_at);
    let about = About::new("ad", &domain, &[&report.domain], at)?;
    for (at, rule) in (1..).zip(&report.rules) {
        let told = Told {
            outcome: CheckOutcome::Fail,
            severity: severity(&rule.points),
            title: &rule.rationale,
            remediation: "",
            detail: &rule.rationale,
        };
        about.tell(at, &rule.id, Ok(told), records)?;
    }
    Ok(())
}

/// The weight of a rule in a score of 100 points. A rule without points informs.
fn severity(points: &str) -> Severity {
    match points.trim().parse::<u32>() {
        Ok(50..) => Severity::Critical,
        Ok(15..) => Severity::High,
        Ok(1..) => Severity::Medium,
        Ok(0) | Err(_) => Severity::Low,
    }
}

impl Report {
    fn of(input: &mut dyn BufRead) -> Result<Self> {
        let mut report = Self::default();
        xml::walk(input, WHAT, &mut |path, node| match node {
            Node::Open(_) => report.open(path),
            Node::Text(text) => {
                report.take(path, text);
                Ok(())
            }
            Node::Close => Ok(()),
        })?;
        Ok(report)
    }

    fn open(&mut self, path: &[&str]) -> Result<()> {
        match path {
            ["HealthcheckData", "RiskRules", "HealthcheckRiskRule"] => {
                if self.rules.len() == N_RULES_MAX {
                    return Err(not_a_report(WHAT, &format!("more than {N_RULES_MAX} rules")));
                }
                self.rules.push(Rule::default());
                Ok(())
            }
            [root] if *root != "HealthcheckData" => {
                Err(not_a_report(WHAT, "the XML does not start with HealthcheckData"))
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, path: &[&str], text: &str) {
        let place = match path {
            [_, "DomainFQDN"] => &mut self.domain,
            [_, "GenerationDate"] => &mut self.generated_at,
            [_, "RiskRules", "HealthcheckRiskRule", name] => {
                let Some(rule) = self.rules.last_mut() else { return };
                match *name {
                    "RiskId" => &mut rule.id,
                    "Points" => &mut rule.points,
                    "Rationale" => &mut rule.rationale,
                    _ => return,
                }
            }
            _ => return,
        };
        append(place, text, TEXT_BYTES_MAX);
    }
}
