//! The records of a Prowler finding: a check and maybe an asset.

use super::finding::Finding;
use super::{region, resource};
use crate::engine::asset::Seen;
use crate::engine::fact::REMEDIATION_CHARS_MAX;
use crate::error::Result;
use crate::import::about::{guid, severity};
use crate::import::text::{DETAIL_CHARS_MAX, NAME_CHARS_MAX, OrSkipped, TITLE_CHARS_MAX};
use crate::import::{Check, CheckOutcome, CheckSubject, Record};
use crate::import::{plain, text};

/// Hands out the records of the finding with number `at`: its asset first, if it is one, then its check.
pub(in crate::import) fn tell(
    at: u64,
    finding: &Finding,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let outcome = match outcome(finding) {
        Ok(outcome) => outcome,
        Err(reason) => {
            let named = text::id(finding.check, "check id").ok().zip(scope(finding).ok());
            if let Some((check, scope)) = named {
                let observed_at = finding.observed_at;
                records(Record::Silent { scope, tool: None, check, observed_at })?;
            }
            return records(Record::Skipped { at, reason });
        }
    };
    match understand(finding, outcome) {
        Ok((asset, check)) => {
            if let Some(asset) = asset {
                records(Record::Asset(asset))?;
            }
            records(Record::Check(check))
        }
        Err(reason) => records(Record::Skipped { at, reason }),
    }
}

/// # Errors
/// The reason why the finding is skipped.
fn understand(finding: &Finding, outcome: CheckOutcome) -> OrSkipped<(Option<Seen>, Check)> {
    let check = text::id(finding.check, "check id")?;
    let scope = scope(finding)?;
    let subject = subject(finding)?;
    let asset = resource::asset(finding, &subject, &scope);
    let region = region::of(finding).filter(|_| asset.is_none());
    let subject = match region {
        None => subject,
        Some(region) => in_region(subject, region),
    };
    let check = Check {
        title: text::some_line(&plain::title(finding.title), TITLE_CHARS_MAX)
            .unwrap_or_else(|| check.clone()),
        scope,
        tool: None,
        check,
        outcome,
        severity: severity(finding.severity),
        remediation: text::some_block(
            &plain::paragraph(finding.remediation),
            REMEDIATION_CHARS_MAX,
        ),
        detail: text::some_line(finding.detail, DETAIL_CHARS_MAX),
        subject,
        observed_at: finding.observed_at,
    };
    Ok((asset, check))
}

fn outcome(finding: &Finding) -> OrSkipped<CheckOutcome> {
    let status = match finding.status.trim() {
        // Prowler 3 has no status for them.
        "FAIL" if finding.detail.trim_start().starts_with(MANUAL_DETAIL) => "MANUAL",
        status => status,
    };
    match status {
        "PASS" => Ok(CheckOutcome::Pass),
        "FAIL" if finding.muted => Ok(CheckOutcome::Accepted),
        "FAIL" => Ok(CheckOutcome::Fail),
        "MANUAL" => Err("status MANUAL: needs a manual check".to_owned()),
        other => Err(no_status(other)),
    }
}

/// The reason to skip a word that is no status.
pub(in crate::import) fn no_status(word: &str) -> String {
    match text::some_line(word, STATUS_CHARS_MAX) {
        None => "missing status".to_owned(),
        Some(word) => format!("status {word}: not a result"),
    }
}

const MANUAL_DETAIL: &str = "Manual check";

/// Longer words in place of a status are cut.
const STATUS_CHARS_MAX: usize = 20;

/// `<provider>/<account>`, in lower case where the provider ignores case.
///
/// A tenant of m365 is named by its GUID if the file has it, as in other tools. A Kubernetes cluster without a name in the
/// file is `kubernetes`.
fn scope(finding: &Finding) -> OrSkipped<String> {
    let provider = text::id(finding.provider, "provider")?.to_lowercase();
    let account = match provider.as_str() {
        "m365" if guid(finding.organization).is_some() => finding.organization,
        "kubernetes" if finding.account.trim().is_empty() => return Ok(provider),
        _ => finding.account,
    };
    let account = text::id(account, "account id")?;
    let account = if matches!(provider.as_str(), "m365" | "azure") {
        account.to_lowercase()
    } else {
        account
    };
    text::id(&format!("{provider}/{account}"), "scope")
}

/// The resource, by its id or else by its name. Without both, the account.
fn subject(finding: &Finding) -> OrSkipped<CheckSubject> {
    let named = [finding.resource_uid, finding.resource_name, finding.account, finding.provider];
    let id = named.into_iter().find(|it| !it.trim().is_empty()).unwrap_or_default();
    let id = text::id(&resource::external_id(finding.provider, id), "resource id")?;
    let name = text::some_line(finding.resource_name, NAME_CHARS_MAX)
        .unwrap_or_else(|| text::line(&id, NAME_CHARS_MAX));
    Ok(CheckSubject::of(id, name))
}

fn in_region(subject: CheckSubject, region: &str) -> CheckSubject {
    let name = text::line(&format!("{} ({region})", subject.name), NAME_CHARS_MAX);
    CheckSubject { name, region: Some(region.to_owned()), ..subject }
}
