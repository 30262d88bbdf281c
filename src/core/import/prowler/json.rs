//! Prowler 3's own JSON.

use std::io::BufRead;

use serde::Deserialize;

use super::record;
use crate::error::Result;
use crate::import::Record;
use crate::import::json;
use crate::import::moment;
use crate::import::prowler::finding::Finding;
use crate::import::scalar::Scalar;

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    json::each(input, &mut |at, item| match item.parse::<NativeRecord>() {
        Err(reason) => records(Record::Skipped { at, reason }),
        Ok(document) => record::tell(at, &document.finding(), records),
    })
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct NativeRecord<'a> {
    #[serde(borrow)]
    assessment_start_time: Scalar<'a>,
    provider: Scalar<'a>,
    #[serde(rename = "CheckID")]
    check_id: Scalar<'a>,
    check_title: Scalar<'a>,
    service_name: Scalar<'a>,
    status: Scalar<'a>,
    status_extended: Scalar<'a>,
    severity: Scalar<'a>,
    resource_type: Scalar<'a>,
    remediation: Option<Remediation<'a>>,
    /// Of aws.
    account_id: Scalar<'a>,
    /// Of azure.
    subscription: Scalar<'a>,
    /// Of gcp.
    project_id: Scalar<'a>,
    resource_arn: Scalar<'a>,
    resource_id: Scalar<'a>,
    resource_name: Scalar<'a>,
    region: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Remediation<'a> {
    #[serde(borrow)]
    recommendation: Option<Recommendation<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Recommendation<'a> {
    #[serde(borrow)]
    text: Scalar<'a>,
}

impl NativeRecord<'_> {
    fn finding(&self) -> Finding<'_> {
        let recommendation = self.remediation.as_ref().and_then(|it| it.recommendation.as_ref());
        Finding {
            provider: &self.provider.0,
            account: first([&self.account_id, &self.subscription, &self.project_id]),
            organization: "",
            check: &self.check_id.0,
            status: &self.status.0,
            muted: false,
            severity: &self.severity.0,
            title: &self.check_title.0,
            remediation: recommendation.map_or("", |it| &it.text.0),
            detail: &self.status_extended.0,
            service: &self.service_name.0,
            resource_type: &self.resource_type.0,
            resource_uid: first([&self.resource_arn, &self.resource_id]),
            resource_name: first([&self.resource_name, &self.resource_id]),
            region: &self.region.0,
            observed_at: moment::of_text(&self.assessment_start_time.0),
        }
    }
}

/// The first that is not empty; empty when all are.
fn first<'a, const N: usize>(texts: [&'a Scalar<'_>; N]) -> &'a str {
    texts.into_iter().map(|it| &*it.0).find(|it| !it.is_empty()).unwrap_or("")
}
