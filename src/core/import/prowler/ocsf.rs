//! Prowler's OCSF detection findings (version 4 and later).

use std::io::BufRead;

use serde::Deserialize;

use super::record;
use crate::clock::Time;
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
    json::each(input, &mut |at, item| {
        let mut skip = |reason: String| records(Record::Skipped { at, reason });
        match item.parse::<OcsfRecord>() {
            Err(reason) => skip(reason),
            Ok(document) if document.metadata.product.name.0 != "Prowler" => {
                skip("not produced by Prowler".to_owned())
            }
            Ok(document) if !matches!(&*document.class_uid.0, "" | "2004") => {
                skip("not a detection finding (class 2004)".to_owned())
            }
            Ok(document) => document.tell(at, records),
        }
    })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OcsfRecord<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    class_uid: Scalar<'a>,
    severity: Scalar<'a>,
    /// The state of the finding. `Suppressed` is muted.
    status: Scalar<'a>,
    /// The result of the check.
    status_code: Scalar<'a>,
    status_detail: Scalar<'a>,
    message: Scalar<'a>,
    finding_info: FindingInfo<'a>,
    resources: Vec<Resource<'a>>,
    cloud: Option<Cloud<'a>>,
    remediation: Option<OcsfRemediation<'a>>,
    /// In seconds, though OCSF asks for milliseconds.
    time: Scalar<'a>,
    time_dt: Scalar<'a>,
    /// Until 4.5.0.
    event_time: Scalar<'a>,
    unmapped: Option<Unmapped<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    event_code: Scalar<'a>,
    product: Product<'a>,
    /// `container` for Kubernetes.
    profiles: Vec<Scalar<'a>>,
    tenant_uid: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(in crate::import) struct Product<'a> {
    #[serde(borrow)]
    pub(in crate::import) name: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FindingInfo<'a> {
    #[serde(borrow)]
    uid: Scalar<'a>,
    title: Scalar<'a>,
    created_time: Scalar<'a>,
    analytic: Option<OcsfUid<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow)]
    uid: Scalar<'a>,
    name: Scalar<'a>,
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    namespace: Scalar<'a>,
    region: Scalar<'a>,
    group: Option<Product<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cloud<'a> {
    #[serde(borrow)]
    provider: Scalar<'a>,
    account: Option<OcsfUid<'a>>,
    org: Option<OcsfUid<'a>>,
    region: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(in crate::import) struct OcsfUid<'a> {
    #[serde(borrow)]
    pub(in crate::import) uid: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OcsfRemediation<'a> {
    #[serde(borrow)]
    desc: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Unmapped<'a> {
    #[serde(borrow)]
    provider: Scalar<'a>,
    provider_uid: Scalar<'a>,
}

impl OcsfRecord<'_> {
    /// Hands out one check for each resource. A finding without resources is about the account.
    fn tell(&self, at: u64, records: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        let cloud = self.cloud.as_ref();
        let unmapped = self.unmapped.as_ref();
        let provider = first([cloud.map(|it| &it.provider), unmapped.map(|it| &it.provider)]);
        let organization = first([
            Some(&self.metadata.tenant_uid),
            cloud.and_then(|it| it.org.as_ref()).map(|it| &it.uid),
        ]);
        let check = first([
            Some(&self.metadata.event_code),
            self.finding_info.analytic.as_ref().map(|it| &it.uid),
        ]);
        let account = first([
            cloud.and_then(|it| it.account.as_ref()).map(|it| &it.uid),
            unmapped.map(|it| &it.provider_uid),
        ]);
        let nothing = Resource::default();
        let alone = [&nothing];
        let several: Vec<&Resource>;
        let resources: &[&Resource] = if self.resources.is_empty() {
            &alone
        } else {
            several = self.resources.iter().collect();
            &several
        };
        for resource in resources {
            let (provider, account) = match (provider, account) {
                ("", "") if self.metadata.profiles.iter().any(|it| it.0 == "container") => {
                    ("kubernetes", cluster(&self.finding_info.uid.0, check, resource))
                }
                known => known,
            };
            let finding = Finding {
                provider,
                account,
                organization,
                check,
                status: &self.status_code.0,
                muted: self.status.0 == "Suppressed",
                severity: &self.severity.0,
                title: &self.finding_info.title.0,
                remediation: self.remediation.as_ref().map_or("", |it| &it.desc.0),
                detail: first([Some(&self.status_detail), Some(&self.message)]),
                service: resource.group.as_ref().map_or("", |it| &it.name.0),
                resource_type: &resource.kind.0,
                resource_uid: &resource.uid.0,
                resource_name: &resource.name.0,
                region: first([Some(&resource.region), cloud.map(|it| &it.region)]),
                observed_at: self.observed_at(),
            };
            record::tell(at, &finding, records)?;
        }
        Ok(())
    }

    fn observed_at(&self) -> Option<Time> {
        [&self.time, &self.finding_info.created_time, &self.time_dt, &self.event_time]
            .into_iter()
            .find_map(|it| moment::of_text(&it.0))
    }
}

/// The first that is not empty; empty when all are.
fn first<'a, const N: usize>(texts: [Option<&'a Scalar<'_>>; N]) -> &'a str {
    texts.into_iter().flatten().map(|it| &*it.0).find(|it| !it.is_empty()).unwrap_or("")
}

/// The cluster of a Kubernetes finding, which has no `cloud` object: it is the middle of
/// `prowler-kubernetes-<check>-<cluster>-<namespace>-<name>`. Empty when the id does not have this form.
fn cluster<'a>(uid: &'a str, check: &str, resource: &Resource) -> &'a str {
    let (namespace, name) = (&*resource.namespace.0, &*resource.name.0);
    let cluster = uid
        .strip_prefix(&format!("prowler-kubernetes-{check}-"))
        .and_then(|it| it.strip_suffix(&format!("-{name}")))
        .and_then(|it| {
            it.strip_suffix(&format!("-namespace: {namespace}"))
                .or_else(|| it.strip_suffix(&format!("-{namespace}")))
        });
    cluster.unwrap_or("")
}
