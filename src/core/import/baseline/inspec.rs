//! The JSON results of Chef `InSpec` and of CINC Auditor, about one host: what each control of some profiles found.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::import::about::no_result;
use crate::import::document::{Brief, Rows, parse};
use crate::import::scap::{Host, Rule, RuleResult, Run, of_cci};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, moment};

const WHAT: &str = "InSpec";
/// Platforms that are no hosts. The last one is what converters of other tools' reports write.
const CLOUDS: [&str; 8] =
    ["aws", "azure", "gcp", "vmware", "kubernetes", "alicloud", "k8s", "Heimdall Tools"];

#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    platform: Platform,
    /// `None`: it has none.
    profiles: Option<Rows<Profile, 200>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Platform {
    name: Brief,
    target_id: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Profile {
    name: Brief,
    controls: Rows<Control, 5_000>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Control {
    id: Brief,
    title: Brief,
    impact: Option<f64>,
    tags: Tags,
    results: Rows<TestResult, 10_000>,
    waiver_data: Option<Waiver>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tags {
    /// A list of texts, or one text.
    cci: Value,
    fix: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TestResult {
    status: Brief,
    code_desc: Brief,
    message: Brief,
    skip_message: Brief,
    /// Of a test that could not run.
    exception: Brief,
    start_time: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Waiver {
    justification: Brief,
    expiration_date: Brief,
    /// Of a waiver that has expired.
    message: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report: Report = parse(input, WHAT)?;
    let Some(profiles) = report.profiles else {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no profiles")));
    };
    let platform = report.platform.name.0.trim();
    if CLOUDS.iter().any(|it| it.eq_ignore_ascii_case(platform)) {
        return Err(Error::invalid(format!(
            "the results are not about a host, but of the platform {}; import the report of a tool for clouds, such as Prowler",
            crate::import::text::line(platform, 40)
        )));
    }
    if report.platform.target_id.0.trim().is_empty() {
        return Err(Error::invalid(
            "it is not known which host the results are about; run `inspec exec` again with --target-id and the name of the host",
        ));
    }
    let is_workstation = ["mac_os_x", "macos"].contains(&platform);
    let mut at = 0;
    for profile in profiles.0 {
        let name = report.platform.target_id.0.trim().to_owned();
        let host = Host { name, is_workstation, ..Host::default() };
        let by = profile.name.0.trim();
        let by = if by.is_empty() { "inspec" } else { by };
        let mut run = Run { host, by: by.to_owned(), ..Run::default() };
        let mut rules = BTreeMap::new();
        for control in profile.controls.0 {
            let started =
                control.results.0.iter().filter_map(|it| moment::of_text(&it.start_time.0));
            run.at = run.at.max(started.max());
            control.put(&mut run, &mut rules);
        }
        run.tell(&rules, &mut at, records)?;
    }
    Ok(())
}

impl Control {
    fn put(self, run: &mut Run, rules: &mut BTreeMap<String, Rule>) {
        let outcome = self.outcome();
        let failed = self.results.0.iter().find(|it| it.status.0 == "failed");
        let detail = failed.map(|it| format!("{} {}", it.code_desc.0, it.message.0));
        let severity = severity(self.impact).to_owned();
        let references: BTreeSet<String> = match &self.tags.cci {
            Value::String(text) => of_cci(text).into_iter().collect(),
            Value::Array(all) => all.iter().filter_map(|it| of_cci(it.as_str()?)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => BTreeSet::new(),
        };
        let rule = Rule { title: self.title.0, severity, repair: self.tags.fix.0, references };
        let result = RuleResult {
            outcome,
            severity: String::new(),
            references: BTreeSet::new(),
            detail: detail.unwrap_or_default(),
        };
        run.add(self.id.0.clone(), result);
        rules.insert(self.id.0, rule);
    }

    /// One test that fails is enough, and one that says nothing leaves it open.
    fn outcome(&self) -> OrSkipped<CheckOutcome> {
        let results = &self.results.0;
        let is_waived = self.waiver_data.as_ref().is_some_and(Waiver::is_in_force);
        if self.impact == Some(0.0) {
            return Err(no_result("impact 0", "the control does not apply to the host"));
        }
        if results.is_empty() {
            return Err("the control has no test".to_owned());
        }
        let is_broken = |it: &&TestResult| !it.exception.0.is_empty();
        if results.iter().any(|it| it.status.0 == "failed" && !is_broken(&it)) {
            return Ok(if is_waived { CheckOutcome::Accepted } else { CheckOutcome::Fail });
        }
        match results.iter().find(|it| it.status.0 != "passed" || is_broken(it)) {
            None => Ok(CheckOutcome::Pass),
            Some(it) if is_broken(&it) => {
                Err(no_result(&it.status.0, "the tool could not check it"))
            }
            Some(it) if it.status.0 == "skipped" && it.skip_message.0.contains("manual") => {
                Err(no_result("skipped", "needs a manual check"))
            }
            Some(it) if it.status.0 == "skipped" => {
                Err(no_result("skipped", "the test did not run"))
            }
            Some(it) => Err(no_result(&it.status.0, "not a result")),
        }
    }
}

impl Waiver {
    fn is_in_force(&self) -> bool {
        let is_expired = self.message.0.to_lowercase().contains("expired");
        let is_some = !self.justification.0.is_empty() || !self.expiration_date.0.is_empty();
        is_some && !is_expired
    }
}

/// The word of `InSpec` for an impact.
fn severity(impact: Option<f64>) -> &'static str {
    match impact {
        Some(it) if 0.9 <= it => "critical",
        Some(it) if 0.7 <= it => "high",
        Some(it) if it < 0.4 => "low",
        Some(_) | None => "medium",
    }
}
