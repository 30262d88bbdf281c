//! Assessment results in OSCAL, JSON: findings of an assessor about parts of controls of NIST SP 800-53, or observations of a
//! scanner whose results were converted.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use super::reference::of_oscal;
use super::result::outcome;
use super::{contains, has_members, moment, short};
use crate::clock::Time;
use crate::engine::catalog::reference::with_references;
use crate::error::{Error, Result};
use crate::import::about::{About, Told, no_result, severity};
use crate::import::document::{Part, walk};
use crate::import::ration::refuse_beyond;
use crate::import::text::{self, DETAIL_CHARS_MAX, OrSkipped, TITLE_CHARS_MAX};
use crate::import::{CheckOutcome, Record, plain};

const WHAT: &str = "OSCAL";
/// A result with more observations, risks and findings is refused: findings refer to the others, which may come after them.
const N_PARTS_MAX: usize = 50_000;
/// What the results of this service have in their properties.
const OWN: &str = "urn:posture:oscal";

/// Returns true for the start of such a file.
pub(super) fn is_report(head: &[u8]) -> bool {
    has_members(head, &["assessment-results"])
        || (has_members(head, &["results", "uuid"])
            && (contains(head, b"\"reviewed-controls\"")
                || contains(head, b"\"local-definitions\"")))
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut result = Assessed::default();
    let (mut at, mut n_results) = (0, 0_u64);
    walk(input, WHAT, &mut |path, part| {
        if let ([.., "props", "ns"], Part::Text(OWN)) = (path, &part) {
            return Err(Error::invalid(
                "this service made the file from what it knows; importing it would make results their own evidence",
            ));
        }
        // Some tools leave the outermost member out.
        let path = path.strip_prefix(&["assessment-results"]).unwrap_or(path);
        let ["results", path @ ..] = path else { return Ok(()) };
        match (path, &part) {
            ([], Part::Open) => {
                n_results += 1;
                result = Assessed::default();
            }
            ([], Part::Close) => return std::mem::take(&mut result).tell(&mut at, records),
            (["start"], Part::Text(text)) => result.started_at = moment::of_text(text),
            (["end"], Part::Text(text)) => result.ended_at = moment::of_text(text),
            (["observations", inner @ ..], part) => return result.take_observation(inner, part),
            (["risks", inner @ ..], part) => return result.take_risk(inner, part),
            (["findings", inner @ ..], part) => return result.take_finding(inner, part),
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    })?;
    if n_results == 0 {
        return Err(Error::invalid("the assessment results have no result"));
    }
    if at == 0 {
        return Err(Error::invalid(
            "the assessment results have no findings, and no observations with a result: nothing in them was decided",
        ));
    }
    Ok(())
}

/// One result: an assessment with a beginning and an end.
#[derive(Default)]
struct Assessed {
    started_at: Option<Time>,
    ended_at: Option<Time>,
    observations: Vec<Observation>,
    /// When each observation was made, by its id, which tools repeat.
    collected_at: HashMap<String, Option<Time>>,
    risks: HashMap<String, Risk>,
    findings: Vec<Finding>,
    /// What is being read.
    observation: (String, Observation),
    risk: (String, Risk),
    finding: Finding,
    /// A name and a value that belong together, of what is being read.
    pair: (String, String),
}

#[derive(Default)]
struct Observation {
    title: String,
    description: String,
    collected_at: Option<Time>,
    /// Of a scanner's rule.
    rule: String,
    result: String,
    severity: String,
}

#[derive(Default)]
struct Risk {
    status: String,
    severity: String,
}

#[derive(Default)]
struct Finding {
    title: String,
    description: String,
    target: String,
    state: String,
    observations: Vec<String>,
    risks: Vec<String>,
}

impl Assessed {
    fn refuse_more(&self) -> Result<()> {
        let n = self.observations.len() + self.risks.len() + self.findings.len();
        refuse_beyond(n <= N_PARTS_MAX, N_PARTS_MAX as u64, "parts of one result")
    }

    fn take_observation(&mut self, path: &[&str], part: &Part<'_>) -> Result<()> {
        let (id, it) = &mut self.observation;
        match (path, part) {
            ([], Part::Open) => self.observation = Default::default(),
            ([], Part::Close) => {
                let (id, it) = std::mem::take(&mut self.observation);
                self.collected_at.insert(id, it.collected_at);
                self.observations.push(it);
                return self.refuse_more();
            }
            (["uuid"], Part::Text(text)) => (*text).clone_into(id),
            (["title"], Part::Text(text)) => it.title = text::line(text, TITLE_CHARS_MAX),
            (["description"], Part::Text(text)) => {
                it.description = text::line(text, DETAIL_CHARS_MAX);
            }
            (["collected"], Part::Text(text)) => it.collected_at = moment::of_text(text),
            (["props", "name"], Part::Text(text)) => (*text).clone_into(&mut self.pair.0),
            (["props", "value"], Part::Text(text)) => (*text).clone_into(&mut self.pair.1),
            (["props"], Part::Close) => {
                let (name, value) = std::mem::take(&mut self.pair);
                match name.as_str() {
                    "idref" => it.rule = value,
                    "result" => it.result = value,
                    "severity" => it.severity = value,
                    _ => (),
                }
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    }

    fn take_risk(&mut self, path: &[&str], part: &Part<'_>) -> Result<()> {
        let (id, it) = &mut self.risk;
        match (path, part) {
            ([], Part::Open) => self.risk = Default::default(),
            ([], Part::Close) => {
                let (id, it) = std::mem::take(&mut self.risk);
                self.risks.insert(id, it);
                return self.refuse_more();
            }
            (["uuid"], Part::Text(text)) => (*text).clone_into(id),
            (["status"], Part::Text(text)) => (*text).clone_into(&mut it.status),
            (["characterizations", "facets", "name"], Part::Text(text)) => {
                (*text).clone_into(&mut self.pair.0);
            }
            (["characterizations", "facets", "value"], Part::Text(text)) => {
                (*text).clone_into(&mut self.pair.1);
            }
            (["characterizations", "facets"], Part::Close) => {
                let (name, value) = std::mem::take(&mut self.pair);
                if matches!(name.as_str(), "risk" | "impact" | "severity") {
                    it.severity = value;
                }
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    }

    fn take_finding(&mut self, path: &[&str], part: &Part<'_>) -> Result<()> {
        let it = &mut self.finding;
        match (path, part) {
            ([], Part::Open) => self.finding = Finding::default(),
            ([], Part::Close) => {
                self.findings.push(std::mem::take(&mut self.finding));
                return self.refuse_more();
            }
            (["title"], Part::Text(text)) => it.title = text::line(text, TITLE_CHARS_MAX),
            (["description"], Part::Text(text)) => {
                it.description = text::line(text, DETAIL_CHARS_MAX);
            }
            (["target", "target-id"], Part::Text(text)) => (*text).clone_into(&mut it.target),
            (["target", "status", "state"], Part::Text(text)) => (*text).clone_into(&mut it.state),
            (["related-observations", "observation-uuid"], Part::Text(text)) => {
                it.observations.push((*text).to_owned());
                return refuse_beyond(
                    it.observations.len() <= N_PARTS_MAX,
                    N_PARTS_MAX as u64,
                    "observations of one finding",
                );
            }
            (["related-risks" | "associated-risks", "risk-uuid"], Part::Text(text)) => {
                it.risks.push((*text).to_owned());
                return refuse_beyond(
                    it.risks.len() <= N_PARTS_MAX,
                    N_PARTS_MAX as u64,
                    "risks of one finding",
                );
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    }

    fn tell(self, at: &mut u64, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        let of_result = self.ended_at.or(self.started_at);
        for it in &self.findings {
            *at += 1;
            let observed = it.observations.iter().filter_map(|it| *self.collected_at.get(it)?);
            let about = about(observed.max().or(of_result))?;
            let risks: Vec<&Risk> = it.risks.iter().filter_map(|it| self.risks.get(it)).collect();
            let references: BTreeSet<String> = of_oscal(&it.target).into_iter().collect();
            let worst = risks.iter().map(|it| severity(&it.severity)).max();
            let title = plain::title(&it.title);
            let told = it.outcome(&risks).map(|outcome| Told {
                outcome,
                severity: worst.unwrap_or_else(|| severity("")),
                title: if title.is_empty() { &it.target } else { &title },
                remediation: "",
                detail: &it.description,
            });
            about.tell(*at, &with_references(&it.target, &references), told, records)?;
        }
        // Observations that findings are about say no more than these.
        if !self.findings.is_empty() {
            return Ok(());
        }
        for it in self.observations.iter().filter(|it| !it.result.is_empty()) {
            let Some(outcome) = outcome(&it.result, false) else { continue };
            *at += 1;
            let rule = short(if it.rule.is_empty() { &it.description } else { &it.rule });
            let title = plain::title(&it.title);
            let told = outcome.map(|outcome| Told {
                outcome,
                severity: severity(&it.severity),
                title: if title.is_empty() { rule } else { &title },
                remediation: "",
                detail: "",
            });
            about(it.collected_at.or(of_result))?.tell(*at, rule, told, records)?;
        }
        Ok(())
    }
}

/// The system, which the file does not name: the name of its source does.
fn about(observed_at: Option<Time>) -> Result<About> {
    About::new("oscal", "system", &[], observed_at)
}

impl Finding {
    /// A risk that the authorizing official accepted is a deviation.
    fn outcome(&self, risks: &[&Risk]) -> OrSkipped<CheckOutcome> {
        let is_accepted =
            !risks.is_empty() && risks.iter().all(|it| it.status == "deviation-approved");
        match self.state.as_str() {
            "satisfied" => Ok(CheckOutcome::Pass),
            "not-satisfied" if is_accepted => Ok(CheckOutcome::Accepted),
            "not-satisfied" => Ok(CheckOutcome::Fail),
            it => Err(no_result(it, "neither satisfied nor not-satisfied")),
        }
    }
}
