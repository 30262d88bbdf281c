//! The JSON results of Microsoft's Zero Trust Assessment.

use std::io::BufRead;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::import::about::{About, Told, guid, no_result, severity};
use crate::import::document::{Brief, Rows, parse};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, markup, moment, plain};

const WHAT: &str = "Microsoft's Zero Trust Assessment";
/// Before what a description says to do.
const REPAIR: &str = "**Remediation action**";
/// Marks before the sentence that says what was found.
const MARKS: [char; 4] = ['✅', '❌', '⚠', '\u{fe0f}'];

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Report {
    tenant_id: Brief,
    tenant_name: Brief,
    domain: Brief,
    executed_at: Brief,
    is_demo: Brief,
    /// `None`: there is no list of tests.
    tests: Option<Rows<Test, 10_000>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Test {
    #[serde(rename = "TestId")]
    id: Brief,
    #[serde(rename = "TestTitle")]
    title: Brief,
    #[serde(rename = "TestStatus")]
    status: Brief,
    /// Why the test was skipped.
    #[serde(rename = "TestSkipped")]
    skipped: Brief,
    #[serde(rename = "TestRisk")]
    risk: Brief,
    #[serde(rename = "TestResult")]
    result: Brief,
    #[serde(rename = "TestDescription")]
    description: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report: Report = parse(input, WHAT)?;
    let Some(tests) = report.tests else {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no list of tests")));
    };
    if !tests.0.is_empty() && tests.0.iter().all(|it| it.id.0.is_empty()) {
        return Err(Error::invalid(format!("not a report of {WHAT}: its tests have no TestId")));
    }
    if report.is_demo.0.eq_ignore_ascii_case("true") {
        let rule = "the report is a demonstration: its results are made up; run the assessment in the tenant of the client";
        return Err(Error::invalid(rule));
    }
    let Some(tenant) = guid(&report.tenant_id.0) else {
        let rule = "the file does not name its tenant: TenantId is no GUID; sign in to Microsoft Graph and run the assessment again";
        return Err(Error::invalid(rule));
    };
    let names = [&*report.tenant_name.0, &*report.domain.0];
    let about = About::new("m365", &tenant, &names, moment::of_text(&report.executed_at.0))?;
    for (at, test) in (1..).zip(tests.0) {
        let title = plain::title(&test.title.0);
        let repair = test.description.0.split_once(REPAIR).map_or("", |it| it.1);
        let repair = plain::paragraph(&markup::plain(repair));
        let told = outcome(&test.status.0, &test.skipped.0).map(|outcome| Told {
            outcome,
            severity: severity(&test.risk.0),
            title: &title,
            remediation: &repair,
            detail: finding(&test.result.0),
        });
        about.tell(at, &test.id.0, told, records)?;
    }
    Ok(())
}

fn outcome(status: &str, skipped: &str) -> OrSkipped<CheckOutcome> {
    match status.trim() {
        it if !skipped.trim().is_empty() => Err(no_result(it, skipped)),
        "Passed" => Ok(CheckOutcome::Pass),
        "Failed" => Ok(CheckOutcome::Fail),
        it @ "Skipped" => Err(no_result(it, "the test did not run")),
        it @ "Planned" => Err(no_result(it, "the tool has no such test yet")),
        it @ "Investigate" => Err(no_result(it, "needs a manual check")),
        it @ "Error" => Err(no_result(it, "the tool could not check it")),
        it => Err(no_result(it, "not a result")),
    }
}

/// The sentence that a result begins with. What follows are tables of users and devices.
fn finding(result: &str) -> &str {
    let first = result.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    let sentence = first.trim_start_matches(MARKS).trim_start();
    if sentence.starts_with(['#', '|']) { "" } else { sentence }
}
