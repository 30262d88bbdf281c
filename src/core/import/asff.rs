//! AWS's security finding format (ASFF): findings of Prowler, and of AWS Security Hub.

use std::io::BufRead;

use serde::Deserialize;

use super::json::{self, JsonItem};
use super::prowler::finding::Finding;
use super::prowler::record::{self, no_status};
use super::scalar::Scalar;
use super::text::OrSkipped;
use super::{Check, Record, contains, moment};
use crate::clock::Time;
use crate::error::Result;

/// The tool of all findings but Prowler's.
pub(super) const SECURITY_HUB: &str = "securityhub";
const PROWLER: &str = "prowler";
/// Before the check's id in a `GeneratorId` of Prowler.
const PROWLER_GENERATOR: &str = "prowler-";
/// Before the standard and its rule in older ids of checks.
const RULE_SET: &str = "arn:aws:securityhub:::ruleset/";
/// The reason of a control that passes because there was nothing to look at.
const NOTHING_EVALUATED: &str = "CONFIG_EVALUATIONS_EMPTY";
/// How an answer of Security Hub starts, and what some tools make of it.
const WRAPPERS: &[&str] = &["{\"Findings\":[", "{\"findings\":["];

/// Prowler, if the file is its own. Security Hub adds fields to each finding, also to those that Prowler sent to it.
pub(super) fn source(head: &[u8]) -> &'static str {
    let is_exported = contains(head, b"\"aws/securityhub/");
    if !is_exported && contains(head, b"\"prowler-") { PROWLER } else { SECURITY_HUB }
}

/// See [`super::read`].
pub(super) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    json::each_within(WRAPPERS, input, &mut |at, item: JsonItem| {
        let told = item.parse::<AsffRecord>().and_then(|finding| {
            let statement = finding.statement()?;
            Ok((finding, statement))
        });
        match told {
            Err(reason) => records(Record::Skipped { at, reason }),
            Ok((finding, statement)) => finding.tell(at, &statement, records),
        }
    })
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffRecord<'a> {
    #[serde(borrow)]
    schema_version: Scalar<'a>,
    generator_id: Scalar<'a>,
    aws_account_id: Scalar<'a>,
    region: Scalar<'a>,
    title: Scalar<'a>,
    description: Scalar<'a>,
    severity: Option<AsffSeverity<'a>>,
    resources: Vec<AsffResource<'a>>,
    compliance: Option<AsffCompliance<'a>>,
    remediation: Option<AsffRemediation<'a>>,
    workflow: Option<AsffStatus<'a>>,
    record_state: Scalar<'a>,
    product_fields: Option<ProductFields<'a>>,
    last_observed_at: Scalar<'a>,
    updated_at: Scalar<'a>,
    created_at: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffSeverity<'a> {
    #[serde(borrow)]
    label: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffResource<'a> {
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(rename = "Type")]
    kind: Scalar<'a>,
    region: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffCompliance<'a> {
    #[serde(borrow)]
    status: Scalar<'a>,
    status_reasons: Option<Vec<StatusReason<'a>>>,
    security_control_id: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct StatusReason<'a> {
    #[serde(borrow)]
    reason_code: Scalar<'a>,
    description: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffRemediation<'a> {
    #[serde(borrow)]
    recommendation: Option<AsffRecommendation<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffRecommendation<'a> {
    #[serde(borrow)]
    text: Scalar<'a>,
    url: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct AsffStatus<'a> {
    #[serde(borrow)]
    status: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ProductFields<'a> {
    #[serde(borrow, rename = "ControlId")]
    control_id: Scalar<'a>,
    #[serde(rename = "aws/securityhub/annotation")]
    annotation: Scalar<'a>,
}

/// Whose check it is, and what came of it.
struct Statement {
    tool: &'static str,
    /// In the words of Prowler.
    status: &'static str,
    muted: bool,
}

impl AsffRecord<'_> {
    /// # Errors
    /// The reason why the finding is no result of a check.
    fn statement(&self) -> OrSkipped<Statement> {
        if self.schema_version.0.is_empty() && self.generator_id.0.is_empty() {
            return Err("not a finding".to_owned());
        }
        if self.record_state.0 == "ARCHIVED" {
            return Err("archived: it is no longer the current state".to_owned());
        }
        let Some(compliance) = &self.compliance else {
            return Err("not a check: it has no Compliance".to_owned());
        };
        let workflow = self.workflow.as_ref().map_or("", |it| &it.status.0);
        let is_suppressed = workflow == "SUPPRESSED";
        if self.generator_id.0.starts_with(PROWLER_GENERATOR) {
            let (status, muted) = prowler_status(&compliance.status.0)?;
            return Ok(Statement { tool: PROWLER, status, muted: muted || is_suppressed });
        }
        let mut reasons = compliance.status_reasons.iter().flatten();
        let is_empty = reasons.any(|it| it.reason_code.0 == NOTHING_EVALUATED);
        let status = match &*compliance.status.0 {
            "PASSED" if is_empty => {
                return Err("status PASSED: nothing was evaluated".to_owned());
            }
            "PASSED" => "PASS",
            "FAILED" => "FAIL",
            it @ ("WARNING" | "NOT_AVAILABLE") => {
                return Err(format!("status {it}: the tool could not check it"));
            }
            it => return Err(no_status(it)),
        };
        Ok(Statement { tool: SECURITY_HUB, status, muted: is_suppressed })
    }

    /// Hands out one check for each resource. A finding without resources is about the account.
    fn tell(
        &self,
        at: u64,
        statement: &Statement,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let is_prowler = statement.tool == PROWLER;
        let check = self.check(is_prowler);
        let remediation = self.remediation(is_prowler);
        let mut named = |record| match record {
            Record::Check(it) => records(Record::Check(Check { tool: Some(statement.tool), ..it })),
            Record::Silent { scope, check, observed_at, .. } => {
                let tool = Some(statement.tool);
                records(Record::Silent { scope, tool, check, observed_at })
            }
            it @ (Record::Asset(_)
            | Record::System(_)
            | Record::Vulnerability(_)
            | Record::Leaver(_)
            | Record::Skipped { .. }) => records(it),
        };
        let account = [AsffResource::default()];
        let resources = if self.resources.is_empty() { &account[..] } else { &self.resources };
        for resource in resources {
            let id = &*resource.id.0;
            let finding = Finding {
                provider: "aws",
                account: &self.aws_account_id.0,
                organization: "",
                check,
                status: statement.status,
                muted: statement.muted,
                severity: self.severity.as_ref().map_or("", |it| &it.label.0),
                title: &self.title.0,
                remediation: &remediation,
                detail: self.detail(is_prowler),
                service: if is_prowler { service_of_check(check) } else { service_of_arn(id) },
                resource_type: &resource.kind.0,
                resource_uid: id,
                resource_name: name(id),
                region: if resource.region.0.is_empty() {
                    &self.region.0
                } else {
                    &resource.region.0
                },
                observed_at: self.observed_at(),
            };
            record::tell(at, &finding, &mut named)?;
        }
        Ok(())
    }

    /// A control of Security Hub has the same id in all standards, but for those that number their rules.
    fn check(&self, is_prowler: bool) -> &str {
        let generator = &*self.generator_id.0;
        if is_prowler {
            return generator.strip_prefix(PROWLER_GENERATOR).unwrap_or(generator);
        }
        let of_standard = self.product_fields.as_ref().map_or("", |it| &*it.control_id.0);
        let of_control = self.compliance.as_ref().map_or("", |it| &*it.security_control_id.0);
        let is_id = |it: &&str| it.starts_with(|first: char| first.is_ascii_alphabetic());
        let id = [of_control, of_standard].into_iter().find(is_id);
        id.unwrap_or_else(|| generator.strip_prefix(RULE_SET).unwrap_or(generator))
    }

    /// What was seen. The description of a control of Security Hub is about the control.
    fn detail(&self, is_prowler: bool) -> &str {
        if is_prowler {
            return &self.description.0;
        }
        let reasons = self.compliance.iter().flat_map(|it| it.status_reasons.iter().flatten());
        let annotation = self.product_fields.as_ref().map(|it| &*it.annotation.0);
        let all = reasons.map(|it| &*it.description.0).chain(annotation);
        all.into_iter().find(|it| !it.is_empty()).unwrap_or("")
    }

    /// Security Hub's words say only that there is a page. Prowler's say what to do.
    fn remediation(&self, is_prowler: bool) -> String {
        let Some(it) = self.remediation.as_ref().and_then(|it| it.recommendation.as_ref()) else {
            return String::new();
        };
        if is_prowler { it.text.0.to_string() } else { format!("{} {}", it.text.0, it.url.0) }
    }

    fn observed_at(&self) -> Option<Time> {
        let all = [&self.last_observed_at, &self.updated_at, &self.created_at];
        all.into_iter().find_map(|it| moment::of_text(&it.0))
    }
}

/// A status of Prowler's in its own words, and whether it is muted. Prowler writes of a muted result only that it is one.
fn prowler_status(status: &str) -> OrSkipped<(&'static str, bool)> {
    match status {
        "PASSED" => Ok(("PASS", false)),
        "FAILED" => Ok(("FAIL", false)),
        "WARNING" => Ok(("FAIL", true)),
        "NOT_AVAILABLE" => Ok(("MANUAL", false)),
        it => Err(no_status(it)),
    }
}

/// The service of a check of Prowler, which its id begins with.
fn service_of_check(check: &str) -> &str {
    check.split('_').next().unwrap_or_default()
}

/// Empty for an id that is not an ARN.
pub(super) fn service_of_arn(id: &str) -> &str {
    id.strip_prefix("arn:").and_then(|it| it.split(':').nth(1)).unwrap_or_default()
}

/// The last part of an id, which a finding has instead of a name. Another id is its own name.
pub(super) fn name(id: &str) -> &str {
    let is_path = id.starts_with("arn:") || id.starts_with("AWS::");
    let last = id.rsplit(['/', ':']).next().filter(|it| is_path && !it.is_empty());
    last.unwrap_or(id)
}
