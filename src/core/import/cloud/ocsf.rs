//! Compliance findings in the Open Cybersecurity Schema Framework (OCSF, class 2003) of AWS Security Hub, alone or from a security
//! lake. Prowler's files have a reader of their own.

use std::io::BufRead;

use serde::Deserialize;

use crate::clock::Time;
use crate::error::Result;
use crate::import::asff;
use crate::import::json::{self, JsonItem};
use crate::import::prowler::finding::Finding;
use crate::import::prowler::ocsf::{OcsfUid, Product};
use crate::import::prowler::record::{self, no_status};
use crate::import::scalar::Scalar;
use crate::import::text::OrSkipped;
use crate::import::{Record, contains, has_members, moment};

const COMPLIANCE: &str = "2003";
/// A finding that its product archived.
const CLOSED: &str = "3";

/// Returns true for the start of such a file.
pub(super) fn is_report(head: &[u8]) -> bool {
    let has_class = has_members(head, &["class_uid", "compliance", "product"]);
    has_class && contains(head, b"Security Hub")
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    json::each(input, &mut |at, item: JsonItem| {
        let told = item.parse::<Document>().and_then(|it| Ok((it.status()?, it)));
        match told {
            Err(reason) => records(Record::Skipped { at, reason }),
            Ok((status, document)) => document.tell(at, status, records),
        }
    })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow)]
    class_uid: Scalar<'a>,
    activity_id: Scalar<'a>,
    /// The state of the finding, not of the check.
    status: Scalar<'a>,
    severity: Scalar<'a>,
    time: Scalar<'a>,
    time_dt: Scalar<'a>,
    metadata: Metadata<'a>,
    cloud: Option<Cloud<'a>>,
    compliance: Option<Compliance<'a>>,
    finding_info: FindingInfo<'a>,
    remediation: Option<Remediation<'a>>,
    /// Until 1.1.
    resource: Option<Resource<'a>>,
    resources: Vec<Resource<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    product: Product<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cloud<'a> {
    #[serde(borrow)]
    account: Option<OcsfUid<'a>>,
    region: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Compliance<'a> {
    #[serde(borrow)]
    control: Scalar<'a>,
    status: Scalar<'a>,
    status_id: Scalar<'a>,
    status_detail: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FindingInfo<'a> {
    #[serde(borrow)]
    title: Scalar<'a>,
    last_seen_time: Scalar<'a>,
    last_seen_time_dt: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Remediation<'a> {
    #[serde(borrow)]
    desc: Scalar<'a>,
    references: Vec<Scalar<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow)]
    uid: Scalar<'a>,
    name: Scalar<'a>,
    region: Scalar<'a>,
    #[serde(rename = "type")]
    kind: Scalar<'a>,
}

impl Document<'_> {
    /// The result in the words of Prowler.
    ///
    /// # Errors
    /// The reason why the finding is no result of a check.
    fn status(&self) -> OrSkipped<&'static str> {
        let product = &*self.metadata.product.name.0;
        if !product.contains("Security Hub") {
            return Err("not produced by AWS Security Hub".to_owned());
        }
        let Some(compliance) = self.compliance.as_ref().filter(|_| self.class_uid.0 == COMPLIANCE)
        else {
            return Err("not a compliance finding (class 2003)".to_owned());
        };
        if self.activity_id.0 == CLOSED || self.status.0 == "Archived" {
            return Err("archived: it is no longer the current state".to_owned());
        }
        let word = &*compliance.status.0;
        match (word.to_ascii_lowercase().as_str(), &*compliance.status_id.0) {
            ("passed" | "pass", _) | ("", "1") => Ok("PASS"),
            ("failed" | "fail", _) | ("", "3") => Ok("FAIL"),
            ("warning" | "not_available" | "unknown", _) | ("", "0" | "2") => {
                Err(format!("status {word}: the tool could not check it"))
            }
            _ => Err(no_status(word)),
        }
    }

    /// Hands out one check for each resource. A finding without resources is about the account.
    fn tell(
        &self,
        at: u64,
        status: &str,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let account = self.cloud.as_ref().and_then(|it| it.account.as_ref());
        let region = self.cloud.as_ref().map_or("", |it| &it.region.0);
        let compliance = self.compliance.as_ref();
        let remediation = self.remediation();
        let account_alone = [Resource::default()];
        let resources: Vec<&Resource> = match (&self.resource, &*self.resources) {
            (Some(one), []) => vec![one],
            (None, []) => account_alone.iter().collect(),
            (_, several) => several.iter().collect(),
        };
        for resource in resources {
            let finding = Finding {
                provider: "aws",
                account: account.map_or("", |it| &it.uid.0),
                organization: "",
                check: compliance.map_or("", |it| &it.control.0),
                status,
                muted: self.status.0 == "Suppressed",
                severity: &self.severity.0,
                title: &self.finding_info.title.0,
                remediation: &remediation,
                detail: compliance.map_or("", |it| &it.status_detail.0),
                service: asff::service_of_arn(&resource.uid.0),
                resource_type: &resource.kind.0,
                resource_uid: &resource.uid.0,
                resource_name: if resource.name.0.is_empty() {
                    asff::name(&resource.uid.0)
                } else {
                    &resource.name.0
                },
                region: if resource.region.0.is_empty() { region } else { &resource.region.0 },
                observed_at: self.observed_at(),
            };
            record::tell(at, &finding, records)?;
        }
        Ok(())
    }

    fn remediation(&self) -> String {
        let Some(it) = &self.remediation else { return String::new() };
        let page = it.references.first().map_or("", |it| &it.0);
        format!("{} {page}", it.desc.0)
    }

    fn observed_at(&self) -> Option<Time> {
        let seen = [&self.finding_info.last_seen_time_dt, &self.finding_info.last_seen_time];
        let all = [seen[0], seen[1], &self.time_dt, &self.time];
        all.into_iter().find_map(|it| moment::of_text(&it.0))
    }
}
