//! `lynis-report.dat` of Lynis, about one host.
//!
//! It has no list of what passed: a test passed if it ran and raised neither a warning nor a suggestion.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};
use std::net::Ipv4Addr;

use super::about::{About, Told};
use super::host::is_global;
use super::text::ID_CHARS_MAX;
use super::{CheckOutcome, RECORD_BYTES_MAX, Record, moment, unreadable};
use crate::engine::asset::{AssetType, Seen};
use crate::engine::severity::Severity;
use crate::error::{Error, Result};

/// A file with more tests or findings is refused. Lynis has 450 tests.
const N_TESTS_MAX: usize = 20_000;
/// Of a longer text, the rest is not kept.
const TEXT_CHARS_MAX: usize = 1_000;
/// A finding about the age of Lynis, which is no test.
const TOOL: &str = "LYNIS";

#[derive(Default)]
struct Report {
    hostname: String,
    host_id: String,
    os: String,
    ended_at: String,
    /// The first that is no loopback address, and the first that a manufacturer assigned.
    ip: Option<String>,
    mac: Option<String>,
    executed: BTreeSet<String>,
    /// Tests that did not go as Lynis expects.
    unexpected: BTreeSet<String>,
    n_reports: u32,
    /// What was found, by test: its severity, its text, and what to do.
    found: BTreeMap<String, (Severity, String, String)>,
    is_finished: bool,
}

/// See [`super::read`].
pub(super) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report = Report::of(input)?;
    if !report.is_finished {
        return Err(Error::invalid(
            "the file is truncated: Lynis writes `finish=true` at its end; let it finish, or copy the file again",
        ));
    }
    // Many hosts have the same name, such as `debian`.
    let parts = [&*report.hostname, &*report.host_id].into_iter().filter(|it| !it.is_empty());
    let id = parts.collect::<Vec<_>>().join("/").to_lowercase();
    let about = About::new("host", &id, &[&report.hostname], moment::of_text(&report.ended_at))?;
    records(Record::Asset(report.asset(&about)))?;
    let found = report.found.keys().filter(|it| !report.executed.contains(*it));
    for (at, test) in (1..).zip(report.executed.iter().chain(found)) {
        let result = match report.found.get(test) {
            Some((severity, detail, repair)) => {
                Ok((CheckOutcome::Fail, *severity, &**detail, &**repair))
            }
            None if report.unexpected.contains(test) => {
                Err("the test met something unexpected, so it is not known to pass".to_owned())
            }
            None => Ok((CheckOutcome::Pass, Severity::Low, "", "")),
        };
        let told = result.map(|(outcome, severity, detail, remediation)| Told {
            outcome,
            severity,
            title: detail,
            remediation,
            detail,
        });
        about.tell(at, test, told, records)?;
    }
    Ok(())
}

impl Report {
    fn of(input: &mut dyn BufRead) -> Result<Self> {
        let mut report = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = Read::take(&mut *input, RECORD_BYTES_MAX as u64 + 1);
            if bounded.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                return Ok(report);
            }
            if RECORD_BYTES_MAX < line.len() {
                let rule = format!("a line is longer than {} MiB", RECORD_BYTES_MAX >> 20);
                return Err(Error::invalid(format!("not a report of Lynis: {rule}")));
            }
            if let Some((key, value)) = String::from_utf8_lossy(&line).trim_end().split_once('=') {
                report.take(key, value)?;
            }
        }
    }

    fn take(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "hostname" => value.clone_into(&mut self.hostname),
            "hostid" => value.clone_into(&mut self.host_id),
            "os" => value.clone_into(&mut self.os),
            "report_datetime_end" => value.clone_into(&mut self.ended_at),
            "network_ipv4_address[]" if self.ip.is_none() => {
                let address = value.parse::<Ipv4Addr>().ok();
                self.ip = address.filter(|it| !it.is_loopback()).map(|it| it.to_string());
            }
            "network_mac_address[]" if self.mac.is_none() && is_global(value) => {
                self.mac = Some(value.to_lowercase());
            }
            "tests_executed" => {
                let tests =
                    value.split('|').filter(|it| !it.is_empty() && it.len() <= ID_CHARS_MAX);
                self.executed.extend(tests.take(N_TESTS_MAX + 1).map(str::to_owned));
            }
            "report_version_major" => {
                self.n_reports += 1;
                if 1 < self.n_reports {
                    let rule = "the file has the reports of several runs; import each of them";
                    return Err(Error::invalid(rule));
                }
            }
            "exception_event[]" => {
                let test = value.split([':', '|']).next().unwrap_or_default();
                if self.unexpected.len() < N_TESTS_MAX && test.len() <= ID_CHARS_MAX {
                    self.unexpected.insert(test.to_owned());
                }
            }
            "warning[]" => self.find(Severity::High, value),
            "suggestion[]" => self.find(Severity::Low, value),
            "finish" => self.is_finished = value == "true",
            _ => (),
        }
        if N_TESTS_MAX < self.executed.len().max(self.found.len()) {
            return Err(Error::invalid(format!(
                "not a report of Lynis: more than {N_TESTS_MAX} tests"
            )));
        }
        Ok(())
    }

    /// `test|text|details|solution|`, where `-` is nothing. Of several of one test, the most severe counts.
    fn find(&mut self, severity: Severity, value: &str) {
        let mut parts = value.split('|').map(|it| if it == "-" { "" } else { it });
        let mut next = || parts.next().unwrap_or_default();
        let (test, words, details, solution) = (next(), next(), next(), next());
        if test.is_empty() || test == TOOL || ID_CHARS_MAX < test.len() {
            return;
        }
        let words = [words, details].into_iter().filter(|it| !it.is_empty());
        let cut = |text: String| text.chars().take(TEXT_CHARS_MAX).collect::<String>();
        let words = cut(words.collect::<Vec<_>>().join(": "));
        let found = (severity, words, cut(solution.replace("text:", "")));
        let known = self.found.entry(test.to_owned()).or_insert_with(|| found.clone());
        if known.0 < severity {
            *known = found;
        }
    }

    fn asset(&self, about: &About) -> Seen {
        let hostname = self.hostname.to_lowercase();
        let hostname = Some(hostname).filter(|it| it.trim() != "localhost");
        let asset_type =
            if self.os == "macOS" { AssetType::Workstation } else { AssetType::Server };
        about.host(asset_type, hostname, self.ip.clone(), self.mac.clone())
    }
}
