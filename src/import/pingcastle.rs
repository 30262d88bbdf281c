//! The XML report of a PingCastle health check, about one domain of Active Directory.
//!
//! It lists the rules that were broken, and no others: a rule that is missing is not known to be kept.

use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::about::{About, Told};
use super::ration::{Ration, unread};
use super::{CheckOutcome, Record, moment, text};
use crate::engine::severity::Severity;
use crate::error::{Error, Result};

/// Elements nested deeper are refused. PingCastle nests a dozen.
const DEPTH_MAX: usize = 64;
/// Elements with longer names are refused.
const NAME_BYTES_MAX: usize = 200;
/// A report with more broken rules is refused. PingCastle has 200.
const N_RULES_MAX: usize = 5_000;
/// Of a longer text, the rest is not kept.
const TEXT_CHARS_MAX: usize = 2_000;

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
        let mut reader = Reader::from_reader(Ration::new(input));
        let (mut report, mut path, mut buffer) =
            (Self::default(), Vec::<String>::new(), Vec::new());
        loop {
            buffer.clear();
            reader.get_mut().renew();
            let event = match reader.read_event_into(&mut buffer) {
                Ok(event) => event,
                Err(error) => return Err(broken(error, reader.error_position())),
            };
            match event {
                Event::Start(tag) => {
                    if NAME_BYTES_MAX < tag.name().as_ref().len() {
                        return Err(not_a_report("a name of an XML element is too long"));
                    }
                    if DEPTH_MAX <= path.len() {
                        return Err(not_a_report("XML elements are nested too deeply"));
                    }
                    path.push(tag.name().as_ref().to_owned());
                    report.open(&path)?;
                }
                Event::End(_) => {
                    path.pop();
                    if path.is_empty() {
                        return Ok(report);
                    }
                }
                Event::Text(text) => report.take(&path, &text),
                Event::DocType(text) if text.contains('[') => {
                    return Err(not_a_report("the XML defines its own entities"));
                }
                Event::GeneralRef(name) => {
                    let known =
                        [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'")];
                    let found = known.into_iter().find(|it| *it.0 == *name);
                    report.take(&path, found.map_or("", |it| it.1));
                }
                Event::Eof => {
                    return Err(Error::invalid(
                        "the file is truncated: the report has no end; copy the file again",
                    ));
                }
                Event::Empty(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => (),
            }
        }
    }

    fn open(&mut self, path: &[String]) -> Result<()> {
        match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["HealthcheckData", "RiskRules", "HealthcheckRiskRule"] => {
                if self.rules.len() == N_RULES_MAX {
                    return Err(not_a_report(&format!("more than {N_RULES_MAX} rules")));
                }
                self.rules.push(Rule::default());
                Ok(())
            }
            [root] if root != "HealthcheckData" => {
                Err(not_a_report("the XML does not start with HealthcheckData"))
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, path: &[String], text: &str) {
        let place = match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [_, "DomainFQDN"] => &mut self.domain,
            [_, "GenerationDate"] => &mut self.generated_at,
            [_, "RiskRules", "HealthcheckRiskRule", name] => {
                let Some(rule) = self.rules.last_mut() else { return };
                match name {
                    "RiskId" => &mut rule.id,
                    "Points" => &mut rule.points,
                    "Rationale" => &mut rule.rationale,
                    _ => return,
                }
            }
            _ => return,
        };
        let n_left = TEXT_CHARS_MAX.saturating_sub(place.len());
        place.extend(text.chars().take(n_left));
    }
}

fn broken(error: quick_xml::Error, offset: u64) -> Error {
    if let quick_xml::Error::Io(cause) = error {
        return unread(cause, offset);
    }
    let why = text::line(&error.to_string(), text::WHY_CHARS_MAX);
    Error::invalid(format!("invalid XML at byte {offset}: {why}; export the report again"))
}

fn not_a_report(why: &str) -> Error {
    Error::invalid(format!("not a report of PingCastle: {why}"))
}
