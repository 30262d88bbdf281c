//! Prowler's CSV (version 3 and later), read by its header.

use std::io::BufRead;

use csv::ByteRecord;

use super::record;
use crate::error::{Error, Result};
use crate::import::Record;
use crate::import::moment;
use crate::import::prowler::finding::Finding;
use crate::import::sheet::Sheet;
use crate::import::text::OrSkipped;

/// Returns true if a file that starts so has the header of Prowler's findings.
///
/// Also for the header of version 2, so that [`read`] can say what to do about it.
pub(in crate::import) fn is_header(head: &[u8]) -> bool {
    let line = head.split(|it| *it == b'\n').next().unwrap_or_default();
    let Ok(line) = str::from_utf8(line) else { return false };
    if is_version_2(line) {
        return true;
    }
    let row = ByteRecord::from(line.split(';').map(unquoted).collect::<Vec<_>>());
    CsvColumns::of(&row).is_ok()
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches('"')
}

/// The text without the apostrophe that recent releases put before a possible spreadsheet formula.
fn unguarded(text: &str) -> &str {
    let bare =
        text.strip_prefix('\'').filter(|it| it.starts_with(['=', '+', '-', '@', '\t', '\r']));
    bare.unwrap_or(text)
}

fn is_version_2(header: &str) -> bool {
    header.contains("TITLE_ID") && header.contains("CHECK_RESULT")
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut sheet = Sheet::open(input, b';')?;
    let header = sheet.header().clone();
    let columns = CsvColumns::of(&header)?;
    while let Some((at, row)) = sheet.next_row()? {
        if *row == header {
            return Err(Error::invalid(format!(
                "the file contains more than one run (row {at} repeats the header): delete the file and run Prowler \
                 again, or use another output name (-F)"
            )));
        }
        if row.len() < header.len() {
            let reason = "fewer columns than the header".to_owned();
            records(Record::Skipped { at, reason })?;
            continue;
        }
        match columns.finding(row) {
            Ok(finding) => record::tell(at, &finding, records)?,
            Err(reason) => records(Record::Skipped { at, reason })?,
        }
    }
    Ok(())
}

/// The columns of the header. `None`: the release of Prowler does not write it.
struct CsvColumns {
    provider: usize,
    check: usize,
    status: usize,
    account: Option<usize>,
    organization: Option<usize>,
    muted: Option<usize>,
    severity: Option<usize>,
    title: Option<usize>,
    remediation: Option<usize>,
    detail: Option<usize>,
    service: Option<usize>,
    resource_type: Option<usize>,
    resource_uid: Option<usize>,
    resource_name: Option<usize>,
    region: Option<usize>,
    time: Option<usize>,
}

impl CsvColumns {
    /// # Errors
    /// `Invalid` when the header is not that of Prowler's findings.
    fn of(header: &ByteRecord) -> Result<Self> {
        let find = |names: &[&str]| {
            names.iter().find_map(|name| {
                header.iter().position(|it| it.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
            })
        };
        if header.iter().any(|it| str::from_utf8(it).is_ok_and(is_version_2)) {
            return Err(Error::invalid(
                "this is a report of Prowler 2, whose checks have different names; run Prowler 4 or later",
            ));
        }
        let need = |name: &'static str| {
            find(&[name]).ok_or_else(|| {
                Error::invalid(format!(
                    "not a Prowler CSV report: the header has no {name} column (columns are separated by `;`)"
                ))
            })
        };
        Ok(Self {
            provider: need("PROVIDER")?,
            check: need("CHECK_ID")?,
            status: need("STATUS")?,
            account: find(&["ACCOUNT_UID", "ACCOUNT_ID", "SUBSCRIPTION", "PROJECT_ID"]),
            organization: find(&["ACCOUNT_ORGANIZATION_UID"]),
            muted: find(&["MUTED"]),
            severity: find(&["SEVERITY"]),
            title: find(&["CHECK_TITLE"]),
            remediation: find(&["REMEDIATION_RECOMMENDATION_TEXT"]),
            detail: find(&["STATUS_EXTENDED"]),
            service: find(&["SERVICE_NAME"]),
            resource_type: find(&["RESOURCE_TYPE"]),
            resource_uid: find(&["RESOURCE_UID", "RESOURCE_ARN", "RESOURCE_ID"]),
            resource_name: find(&["RESOURCE_NAME", "RESOURCE_ID"]),
            region: find(&["REGION"]),
            time: find(&["TIMESTAMP", "ASSESSMENT_START_TIME"]),
        })
    }

    /// # Errors
    /// The reason why the row cannot be read.
    fn finding<'a>(&self, row: &'a ByteRecord) -> OrSkipped<Finding<'a>> {
        let text = |column: Option<usize>| {
            let bytes = column.and_then(|it| row.get(it)).unwrap_or_default();
            let text = str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
            Ok::<&str, String>(unguarded(text))
        };
        Ok(Finding {
            provider: text(Some(self.provider))?,
            account: text(self.account)?,
            organization: text(self.organization)?,
            check: text(Some(self.check))?,
            status: text(Some(self.status))?,
            muted: text(self.muted)?.eq_ignore_ascii_case("true"),
            severity: text(self.severity)?,
            title: text(self.title)?,
            remediation: text(self.remediation)?,
            detail: text(self.detail)?,
            service: text(self.service)?,
            resource_type: text(self.resource_type)?,
            resource_uid: text(self.resource_uid)?,
            resource_name: text(self.resource_name)?,
            region: text(self.region)?,
            observed_at: moment::of_text(text(self.time)?),
        })
    }
}
