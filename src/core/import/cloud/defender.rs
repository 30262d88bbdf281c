//! The recommendations of Microsoft Defender for Cloud, as its page exports them: CSV with a row for each recommendation and resource.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use crate::engine::asset::Seen;
use crate::engine::catalog::reference::{AZURE_SCORE, with_references};
use crate::engine::fact::REMEDIATION_CHARS_MAX;
use crate::error::Result;
use crate::import::about::{guid, no_result, severity};
use crate::import::prowler::finding::Finding;
use crate::import::prowler::resource;
use crate::import::sheet::{self, Cells};
use crate::import::text::{self, NAME_CHARS_MAX, OrSkipped, TITLE_CHARS_MAX};
use crate::import::{Check, CheckOutcome, CheckSubject, Record, markup, moment};

const WHAT: &str = "Microsoft Defender for Cloud";
/// The columns without which nothing is known.
pub(super) const COLUMNS: [&str; 4] =
    ["subscriptionId", "resourceId", "recommendationName", "state"];

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    sheet::each(input, WHAT, &COLUMNS, records, &mut |at, row, records| match understand(row) {
        Ok(Told { asset, check, outcome: Ok(outcome) }) => {
            if let Some(asset) = asset {
                records(Record::Asset(asset))?;
            }
            records(Record::Check(Check { outcome, ..check }))
        }
        Ok(Told { asset: _, check, outcome: Err(reason) }) => {
            let Check { scope, check, observed_at, .. } = check;
            records(Record::Silent { scope, tool: None, check, observed_at })?;
            records(Record::Skipped { at, reason })
        }
        Err(reason) => records(Record::Skipped { at, reason }),
    })
}

/// What a row says.
struct Told {
    asset: Option<Seen>,
    /// Its outcome is the other one.
    check: Check,
    outcome: OrSkipped<CheckOutcome>,
}

/// # Errors
/// The reason why the row is skipped.
fn understand(row: Cells<'_>) -> OrSkipped<Told> {
    let name = row.text("recommendationName")?;
    let recommendation = guid(name).ok_or_else(|| match name.trim() {
        "" => "missing recommendationName".to_owned(),
        _ => "recommendationName is no GUID".to_owned(),
    })?;
    let check = with_references(&recommendation, &score_controls(row.text("controls")?));
    let subscription = text::id(row.text("subscriptionId")?, "subscriptionId")?.to_lowercase();
    let scope = text::id(&format!("azure/{subscription}"), "scope")?;
    let uid = row.text("resourceId")?;
    let resource_name = row.text("resourceName")?;
    let id = text::id(&resource::external_id("azure", uid), "resourceId")?;
    let name = text::some_line(resource_name, NAME_CHARS_MAX);
    let name = name.unwrap_or_else(|| text::line(&id, NAME_CHARS_MAX));
    let observed_at = moment::of_text(row.text("exportedTimestamp")?);
    let subject = CheckSubject::of(id, name);
    let found = Finding {
        provider: "azure",
        service: row.text("resourceType").unwrap_or_default(),
        resource_uid: uid,
        observed_at,
        ..Finding::default()
    };
    let asset = resource::asset(&found, &subject, &scope);
    let title = text::some_line(row.text("recommendationDisplayName")?, TITLE_CHARS_MAX);
    let check = Check {
        scope,
        tool: None,
        title: title.unwrap_or(recommendation),
        check,
        outcome: CheckOutcome::Fail,
        severity: severity(row.text("severity")?),
        remediation: text::some_block(
            &markup::plain(row.text("remediationSteps")?),
            REMEDIATION_CHARS_MAX,
        ),
        detail: None,
        subject,
        observed_at,
    };
    let outcome = outcome(row.text("state")?, row.text("notApplicableReason")?);
    Ok(Told { asset, check, outcome })
}

fn outcome(state: &str, reason: &str) -> OrSkipped<CheckOutcome> {
    let is_exempt =
        reason.trim().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("exempt"));
    match state.trim() {
        "Healthy" => Ok(CheckOutcome::Pass),
        "Unhealthy" => Ok(CheckOutcome::Fail),
        "NotApplicable" if is_exempt => Ok(CheckOutcome::Accepted),
        it @ "NotApplicable" => Err(no_result(it, "does not apply to the resource")),
        it => Err(no_result(it, "not a result")),
    }
}

/// The controls of the secure score that a recommendation belongs to: an object from their names to their GUIDs.
fn score_controls(text: &str) -> BTreeSet<String> {
    let by_name: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
    by_name.values().filter_map(|it| guid(it)).map(|it| format!("{AZURE_SCORE}{it}")).collect()
}
