//! The results of `ScoutSuite`, about an account of a cloud: a file of JavaScript, which gives a JSON document a name.

use std::io::{BufRead, Read};

use serde::Deserialize;

use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::import::about::{About, Told};
use crate::import::document::{Brief, Named, parse};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record, moment, plain, unreadable};

const WHAT: &str = "ScoutSuite";
/// The name of the document.
pub(super) const NAME: &[u8] = b"scoutsuite_results";
/// The document begins after at most so many bytes.
const START_BYTES_MAX: usize = 100;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    account_id: Brief,
    provider_code: Brief,
    provider_name: Brief,
    last_run: LastRun,
    /// `None`: it has none.
    services: Option<Named<Option<Service>, 500>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LastRun {
    time: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Service {
    findings: Named<Finding, 2_000>,
}

/// A rule, and how many items break it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Finding {
    description: Brief,
    remediation: Brief,
    level: Brief,
    checked_items: Brief,
    flagged_items: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    skip_name(input)?;
    let report: Report = parse(&mut b"{".chain(input), WHAT)?;
    let Some(services) = report.services else {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no services")));
    };
    let provider = report.provider_code.0.trim().to_lowercase();
    if provider.is_empty() {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no provider_code")));
    }
    let observed_at = moment::of_text(&iso(&report.last_run.time.0));
    let account = report.account_id.0.trim().to_lowercase();
    let name = format!("{} {account}", report.provider_name.0);
    let about = About::new(&provider, &account, &[&name], observed_at)?;
    let services = services.0.into_iter().filter_map(|it| it.1);
    for (at, (rule, finding)) in (1..).zip(services.flat_map(|it| it.findings.0)) {
        let title = plain::title(&finding.description.0);
        let detail = format!(
            "{} of {} items that were checked are flagged.",
            finding.flagged_items.0, finding.checked_items.0
        );
        let told = finding.outcome().map(|outcome| Told {
            outcome,
            severity: if finding.level.0 == "danger" { Severity::High } else { Severity::Medium },
            title: &title,
            remediation: &finding.remediation.0,
            detail: &detail,
        });
        about.tell(at, &rule, told, records)?;
    }
    Ok(())
}

/// Reads to the beginning of the document.
fn skip_name(input: &mut dyn BufRead) -> Result<()> {
    let mut start = Vec::new();
    let n = START_BYTES_MAX as u64;
    input.take(n).read_until(b'{', &mut start).map_err(unreadable)?;
    let name = start.strip_suffix(b"{").map(<[u8]>::trim_ascii);
    let name = name.and_then(|it| it.strip_suffix(b"=")).map(<[u8]>::trim_ascii);
    if name != Some(NAME) {
        return Err(Error::invalid(if start.len() < START_BYTES_MAX && !start.ends_with(b"{") {
            format!(
                "the file is truncated: it ends at byte {}, before the results of {WHAT}; copy the file again",
                start.len()
            )
        } else {
            format!(
                "not a report of {WHAT}: it does not start with scoutsuite_results; import scoutsuite_results_*.js of the report"
            )
        }));
    }
    Ok(())
}

/// A time such as `2026-11-20 10:00:00+0000` as ISO writes it.
fn iso(text: &str) -> String {
    let text = text.trim().replacen(' ', "T", 1);
    match text.split_at_checked(text.len().saturating_sub(2)) {
        Some((rest, minutes)) if rest.get(19..20).is_some_and(|it| it == "+" || it == "-") => {
            format!("{}:{minutes}", rest.trim_end_matches(':'))
        }
        Some(_) | None => text,
    }
}

impl Finding {
    /// What nothing was checked for does not pass.
    fn outcome(&self) -> OrSkipped<CheckOutcome> {
        let number = |it: &Brief| it.0.trim().parse::<u64>().ok();
        match (number(&self.checked_items), number(&self.flagged_items)) {
            (_, Some(1..)) => Ok(CheckOutcome::Fail),
            (Some(0), Some(0)) => Err("nothing to check".to_owned()),
            (Some(_), Some(0)) => Ok(CheckOutcome::Pass),
            (None, _) | (_, None) => Err("missing checked_items or flagged_items".to_owned()),
        }
    }
}
