//! The JSON results of Maester, about Microsoft 365 or an Active Directory.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::import::about::{About, Told, guid, no_result, severity};
use crate::import::document::{Brief, Rows, parse};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, moment, plain};

const WHAT: &str = "Maester";
/// In place of a tenant's id.
const NOT_CONNECTED: &str = "not connected to Graph";

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Report {
    tenant_id: Brief,
    tenant_name: Brief,
    executed_at: Brief,
    /// `None`: there is no list of tests.
    tests: Option<Rows<Test, 10_000>>,
    /// Of results that were merged.
    tenants: Rows<serde::de::IgnoredAny, 1_000>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Test {
    id: Brief,
    title: Brief,
    severity: Brief,
    result: Brief,
    result_detail: Option<Detail>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Detail {
    severity: Brief,
    test_description: Brief,
    test_result: Brief,
    test_skipped: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report: Report = parse(input, WHAT)?;
    if !report.tenants.0.is_empty() {
        let rule = "the results of several tenants are merged; import the file of each tenant for its client";
        return Err(Error::invalid(rule));
    }
    let Some(tests) = report.tests else {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no list of tests")));
    };
    if !tests.0.is_empty() && tests.0.iter().all(|it| it.id.0.is_empty()) {
        return Err(Error::invalid(format!("not a report of {WHAT}: its tests have no Id")));
    }
    let observed_at = moment::of_text(&report.executed_at.0);
    let about = match guid(&report.tenant_id.0) {
        Some(id) => About::new("m365", &id, &[&report.tenant_name.0], observed_at)?,
        // Without a sign-in to Microsoft Graph, there are tests of the local domain alone.
        None if !report.tenant_id.0.contains(NOT_CONNECTED) => {
            let rule = "the file does not name its tenant: TenantId is no GUID; connect Maester to Microsoft Graph and run it again";
            return Err(Error::invalid(rule));
        }
        None => About::new("ad", "local", &["Active Directory"], observed_at)?,
    };
    // A check that has several tests is passed by all of them or not at all.
    let has_result = |it: &Test| ["Passed", "Failed"].contains(&it.result.0.trim());
    let open: BTreeSet<String> =
        tests.0.iter().filter(|it| !has_result(it)).map(|it| it.id.0.clone()).collect();
    for (at, test) in (1..).zip(tests.0) {
        let detail = test.result_detail.unwrap_or_default();
        let title = plain::title(without_level(&test.title.0));
        let seen = plain::paragraph(&detail.test_result.0);
        let repair = plain::paragraph(repair(&detail.test_description.0));
        let rated = if test.severity.0.is_empty() { &detail.severity } else { &test.severity };
        let outcome = match outcome(&test.result.0, &detail.test_skipped.0) {
            Ok(CheckOutcome::Pass) if open.contains(&test.id.0) => {
                Err(no_result("Passed", "another test of this check has no result"))
            }
            outcome => outcome,
        };
        let told = outcome.map(|outcome| Told {
            outcome,
            severity: severity(&rated.0),
            title: &title,
            remediation: &repair,
            detail: &seen,
        });
        about.tell(at, &test.id.0, told, records)?;
    }
    Ok(())
}

fn outcome(result: &str, skipped: &str) -> OrSkipped<CheckOutcome> {
    match result.trim() {
        "Passed" => Ok(CheckOutcome::Pass),
        "Failed" => Ok(CheckOutcome::Fail),
        "Skipped" if !skipped.is_empty() => Err(no_result("Skipped", skipped)),
        it @ ("Skipped" | "NotRun") => Err(no_result(it, "the test did not run")),
        it @ "Investigate" => Err(no_result(it, "needs a manual check")),
        it @ "Error" => Err(no_result(it, "the tool could not check it")),
        it => Err(no_result(it, "not a result")),
    }
}

/// A title without the level of a CIS benchmark, such as `(L1)`.
fn without_level(title: &str) -> &str {
    ["(L1)", "(L2)"].iter().find_map(|it| title.trim_start().strip_prefix(it)).unwrap_or(title)
}

/// What a description says to do.
fn repair(description: &str) -> &str {
    let at = ["Remediation action", "How to fix"].iter().find_map(|it| description.find(it));
    let Some(at) = at else { return "" };
    description[at..].split_once('\n').map_or("", |(_, rest)| rest)
}
