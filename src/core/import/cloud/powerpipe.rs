//! The JSON results of Powerpipe (Steampipe) about accounts of a cloud.

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::engine::catalog::reference::with_references;
use crate::error::{Error, Result};
use crate::import::asff;
use crate::import::document::{Part, walk};
use crate::import::prowler::finding::Finding;
use crate::import::prowler::record;
use crate::import::ration::refuse_beyond;
use crate::import::{Record, has_members};

const WHAT: &str = "Powerpipe";
/// A file with more results of one control is refused: they are kept until the control is known, which comes after them.
const N_RESULTS_MAX: usize = 100_000;
/// Dimensions that name the account.
const ACCOUNTS: [&str; 4] = ["account_id", "subscription_id", "project", "project_id"];
/// Dimensions that name the region.
const REGIONS: [&str; 2] = ["region", "location"];
/// The tag that names a control of the AWS Foundational Security Best Practices, and what stands before it in a reference.
const BEST_PRACTICE: &str = "foundational_security_item_id";
const REFERENCE: &str = "fsbp:";

/// Returns true for the start of such a report.
pub(super) fn is_report(head: &[u8]) -> bool {
    has_members(head, &["group_id", "summary"])
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut control = Control::default();
    let mut result = Outcome::default();
    let mut dimension = (String::new(), String::new());
    let (mut at, mut n_controls) = (0, 0_u64);
    walk(input, WHAT, &mut |path, part| {
        // Groups are in groups.
        let depth = path.iter().take_while(|it| **it == "groups").count();
        let ["controls", path @ ..] = &path[depth..] else { return Ok(()) };
        match (path, part) {
            ([], Part::Open) => {
                n_controls += 1;
                control = Control::default();
            }
            ([], Part::Close) => return std::mem::take(&mut control).tell(&mut at, records),
            (["control_id"], Part::Text(text)) => text.clone_into(&mut control.id),
            (["title"], Part::Text(text)) => text.clone_into(&mut control.title),
            (["severity"], Part::Text(text)) => text.clone_into(&mut control.severity),
            (["tags", "plugin"], Part::Text(text)) => text.clone_into(&mut control.plugin),
            (["tags", name], Part::Text(text)) if *name == BEST_PRACTICE => {
                text.clone_into(&mut control.best_practice);
            }
            (["results"], Part::Open) => result = Outcome::default(),
            (["results", "resource"], Part::Text(text)) => text.clone_into(&mut result.resource),
            (["results", "status"], Part::Text(text)) => text.clone_into(&mut result.status),
            (["results", "reason"], Part::Text(text)) => text.clone_into(&mut result.reason),
            (["results", "dimensions", "key"], Part::Text(text)) => {
                text.clone_into(&mut dimension.0);
            }
            (["results", "dimensions", "value"], Part::Text(text)) => {
                text.clone_into(&mut dimension.1);
            }
            (["results", "dimensions"], Part::Close) => {
                let (key, value) = std::mem::take(&mut dimension);
                if ACCOUNTS.contains(&&*key) {
                    result.account = value;
                } else if REGIONS.contains(&&*key) {
                    result.region = value;
                }
            }
            (["results"], Part::Close) => {
                control.results.push(std::mem::take(&mut result));
                let is_within = control.results.len() <= N_RESULTS_MAX;
                refuse_beyond(is_within, N_RESULTS_MAX as u64, "results of one control")?;
            }
            (_, Part::Open | Part::Text(_) | Part::Close) => (),
        }
        Ok(())
    })?;
    if n_controls == 0 {
        return Err(Error::invalid(format!("not a report of {WHAT}: it has no controls")));
    }
    Ok(())
}

#[derive(Default)]
struct Control {
    /// Such as `aws_compliance.control.foundational_security_iam_6`.
    id: String,
    title: String,
    severity: String,
    plugin: String,
    /// Such as `iam_6`.
    best_practice: String,
    results: Vec<Outcome>,
}

#[derive(Default)]
struct Outcome {
    resource: String,
    status: String,
    reason: String,
    account: String,
    region: String,
}

impl Control {
    fn tell(self, at: &mut u64, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        let name = self.id.rsplit('.').next().unwrap_or_default();
        let best_practice = Some(self.best_practice.trim()).filter(|it| !it.is_empty());
        let references: BTreeSet<String> =
            best_practice.map(|it| format!("{REFERENCE}{it}")).into_iter().collect();
        let check = with_references(name, &references);
        let of_mod = self.id.split_once("_compliance.").map_or("", |it| it.0);
        let provider = if self.plugin.is_empty() { of_mod } else { &self.plugin };
        for result in &self.results {
            *at += 1;
            let status = match result.status.as_str() {
                "ok" => "PASS",
                "alarm" => "FAIL",
                other => other,
            };
            let finding = Finding {
                provider,
                account: &result.account,
                check: &check,
                status,
                severity: &self.severity,
                title: &self.title,
                detail: &result.reason,
                service: asff::service_of_arn(&result.resource),
                resource_uid: &result.resource,
                resource_name: asff::name(&result.resource),
                region: &result.region,
                ..Finding::default()
            };
            record::tell(*at, &finding, records)?;
        }
        Ok(())
    }
}
