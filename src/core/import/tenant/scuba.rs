//! `ScubaResults*.json` of CISA's ScubaGear (Microsoft 365) and ScubaGoggles (Google Workspace).

use std::io::BufRead;

use serde::Deserialize;

use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::import::about::{About, Told, guid, no_result};
use crate::import::document::{Brief, Named, Rows, parse};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, markup, moment};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    #[serde(rename = "MetaData")]
    meta: MetaData,
    /// By product.
    #[serde(rename = "Results")]
    results: Named<Rows<Policies, 100>, 30>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct MetaData {
    tool: Brief,
    tenant_id: Brief,
    display_name: Brief,
    domain_name: Brief,
    timestamp_zulu: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Policies {
    controls: Rows<Control, 200>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Control {
    #[serde(rename = "Control ID")]
    id: Brief,
    requirement: Brief,
    result: Brief,
    criticality: Brief,
    details: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report: Report = parse(input, "ScubaGear or ScubaGoggles")?;
    let meta = &report.meta;
    let (kind, id) = match &*meta.tool.0 {
        "ScubaGear" => {
            let named = guid(&meta.tenant_id.0);
            ("m365", named.unwrap_or_else(|| meta.domain_name.0.to_lowercase()))
        }
        "ScubaGoggles" => ("googleworkspace", meta.tenant_id.0.clone()),
        _ => {
            return Err(Error::invalid(
                "not a report of ScubaGear or ScubaGoggles: MetaData does not name the tool; import ScubaResults*.json",
            ));
        }
    };
    let names = [&*meta.display_name.0, &*meta.domain_name.0];
    let about = About::new(kind, &id, &names, moment::of_text(&meta.timestamp_zulu.0))?;
    let groups = report.results.0.into_iter().flat_map(|it| it.1.0);
    for (at, control) in (1..).zip(groups.flat_map(|it| it.controls.0)) {
        let requirement = control.requirement.0.split("<div").next().unwrap_or_default();
        let title = markup::plain(requirement);
        let detail = markup::plain(&control.details.0);
        let told = outcome(&control.result.0, &detail).map(|outcome| Told {
            outcome,
            severity: severity(&control.criticality.0),
            title: &title,
            remediation: "",
            detail: &detail,
        });
        about.tell(at, &control.id.0, told, records)?;
    }
    Ok(())
}

/// How the details of a policy begin that ScubaGear passes because the cloud of the tenant has nothing to check.
const NOT_APPLICABLE: [&str; 2] = ["N/A", "This policy is not applicable"];

/// `Warning` is a recommendation that is not followed.
fn outcome(result: &str, detail: &str) -> OrSkipped<CheckOutcome> {
    match result.trim() {
        it @ "Pass" if NOT_APPLICABLE.iter().any(|start| detail.trim().starts_with(start)) => {
            Err(no_result(it, "does not apply"))
        }
        "Pass" => Ok(CheckOutcome::Pass),
        "Fail" | "Warning" => Ok(CheckOutcome::Fail),
        "Omitted" | "Incorrect result" => Ok(CheckOutcome::Accepted),
        it @ ("N/A" | "No events found") => Err(no_result(it, "needs a manual check")),
        it @ "Error" => Err(no_result(it, "the tool could not check it")),
        it => Err(no_result(it, "not a result")),
    }
}

fn severity(criticality: &str) -> Severity {
    let is_required = criticality.to_ascii_lowercase().starts_with("shall");
    if is_required { Severity::High } else { Severity::Medium }
}
