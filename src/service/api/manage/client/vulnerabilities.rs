//! What vulnerability scanners found on a client's systems.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCompliance;
use crate::api::wire::param::{self, Cursor, Id, Raw, Text, TrueWord, UpTo, limit_up_to, position};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, StretchReply};
use crate::api::wire::view::{SeverityView, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::vulnerability::{
    OpenVulnerability, VulnerabilityCursor, VulnerabilityFilter, list_vulnerabilities,
};
use crate::engine::vulnerability::Vulnerability;
use crate::error::Result;
use crate::page::{PULL_LIMIT_MAX, Stretch};

/// A vulnerability of a system, once over all tools that found it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Vulnerability")]
#[serde(rename_all = "camelCase")]
pub struct VulnerabilityView {
    /// The CVE, or the tool's own id if it has none.
    id: String,
    severity: SeverityView,
    title: String,
    /// The name or address of the system, in lower case.
    system: String,
    /// Null: the system is not in the inventory.
    asset_id: Null<Uid>,
    /// What it is in. Empty: the tools do not say.
    components: Vec<ComponentView>,
    sources: Vec<String>,
    /// There is a fix.
    fixable: bool,
    /// The fix is not installed though it has been there for longer than 14 days if critical, 30 if high. Null: unknown, because
    /// no tool says since when there is a fix.
    overdue: Null<bool>,
    /// CISA's list of vulnerabilities that are known to be exploited has it, if one was brought. It counts as critical.
    known_exploited: bool,
    /// Accepted or muted at the tools. It does not count.
    accepted: bool,
    first_seen_at: When,
    last_seen_at: When,
}

/// A package or program that has a vulnerability.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "VulnerableComponent")]
#[serde(rename_all = "camelCase")]
struct ComponentView {
    name: Null<String>,
    installed_version: Null<String>,
    /// The version, or the update, that fixes it.
    fixed_version: Null<String>,
}

impl ComponentView {
    fn of(it: Vulnerability) -> Self {
        Self {
            name: it.component.into(),
            installed_version: it.installed.into(),
            fixed_version: it.fixed.into(),
        }
    }
}

impl VulnerabilityView {
    pub fn of(it: OpenVulnerability) -> Self {
        Self {
            id: it.id,
            severity: SeverityView(it.severity),
            title: it.title,
            system: it.system,
            asset_id: it.asset.map(|it| Uid::of(it.as_bytes())).into(),
            components: it.components.into_iter().map(ComponentView::of).collect(),
            sources: it.sources,
            fixable: it.is_fixable,
            overdue: it.is_overdue.into(),
            known_exploited: it.is_exploited,
            accepted: it.is_accepted,
            first_seen_at: When(it.first_seen_at),
            last_seen_at: When(it.last_seen_at),
        }
    }
}

pub struct Vulnerabilities;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Vulnerabilities {
    /// List a client's vulnerabilities
    ///
    /// What the newest scan of each system found, by every tool, system by system. What several tools found on one system is
    /// one row. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/vulnerabilities",
        method = "get",
        operation_id = "list_vulnerabilities"
    )]
    async fn list_vulnerabilities(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        severity: Query<Option<Raw<SeverityView>>>,
        /// Only this one, for example a CVE: which systems have it.
        id: Query<Option<Raw<Text>>>,
        /// Only those of this system.
        system: Query<Option<Raw<Text>>>,
        /// Only those whose fix should be installed by now.
        overdue: Query<Option<Raw<TrueWord>>>,
        /// Only those that are known to be exploited.
        exploited: Query<Option<Raw<TrueWord>>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<VulnerabilityView>, Failure> {
        let filter = VulnerabilityFilter {
            severity: param::word("severity", severity.0.as_ref())?.map(|it: SeverityView| it.0),
            id: id.0.map(|it| it.text),
            system: system.0.map(|it| it.text),
            overdue_only: param::only_true("overdue", overdue.0.as_ref())?,
            exploited_only: param::only_true("exploited", exploited.0.as_ref())?,
        };
        let after = position(after.0.as_ref(), VulnerabilityCursor::read)?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let known = web.app.list_exploited().await?;
        let list = rows.read(move |snapshot| {
            let n_max = limit as usize + 1;
            let found = list_vulnerabilities(snapshot, &known, &filter, after.as_ref(), n_max)?;
            Ok(Stretch::of(found, limit, |it| VulnerabilityCursor::of(it).text()))
        });
        Ok(StretchReply::of(&list.await?.map(VulnerabilityView::of)))
    }
}
