//! Network scans: start, watch, cancel, list results.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::{CancelScan, StartScan, ViewAssets, ViewScanned, WatchScan};
use crate::api::manage::scan::scan_view::{FoundView, HostView, ScanView};
use crate::api::wire::body::{Body, example};
use crate::api::wire::input::Ref;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Accepted, Data, Null, PageReply, Rendered};
use crate::api::{Group, Web};
use crate::app::scan::request::NewScan;
use crate::error::Result;
use crate::id::{ClientId, ScanId};

/// What to scan.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ScanStart")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct ScanBody {
    /// Networks in CIDR notation, all within `scan.allowed_networks` of the configuration. An address alone is one host. At
    /// most 65,536 addresses in total.
    #[schemars(length(min = 1, max = 32))]
    targets: Vec<String>,
    /// For example `22,80,8000-8100`. Default: 200 common ports.
    #[serde(default)]
    ports: Null<String>,
    /// How many probes may be in progress at once, 1 to 1,024. Values outside that range are changed to the nearest valid
    /// one. Default: 256.
    #[serde(default)]
    threads: Null<i64>,
    /// The client that the assets belong to. Default: the only client that the caller may see, or the only client there
    /// is. Otherwise the scan is for no client, and only users who are not limited to clients see its assets, in
    /// `GET /api/assets`. Callers who are limited to several clients must send it.
    #[serde(default)]
    client_id: Null<Ref<ClientId>>,
    /// Networks in CIDR notation to leave out.
    #[schemars(length(max = 256))]
    #[serde(default)]
    exclude: Null<Vec<String>>,
    #[schemars(length(max = 200))]
    #[serde(default)]
    name: Null<String>,
}

example!(ScanBody, {"targets": ["192.168.1.0/24"], "ports": "22,80,443,3389"});

impl ScanBody {
    fn new_scan(self) -> NewScan {
        NewScan {
            client: self.client_id.0.map(|it| it.0),
            name: self.name.0,
            targets: self.targets,
            exclude: self.exclude.0.unwrap_or_default(),
            ports: self.ports.0,
            threads: self.threads.0.map(|it| u64::try_from(it).unwrap_or(0)),
        }
    }
}

pub struct Scans;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Scans {
    /// Start a network scan
    ///
    /// The scan is queued and runs in the background. It opens TCP connections only and sends nothing to raw printing
    /// ports. Each caller may start at most 10 scans per hour. Scope: `write:assets`.
    #[oai(path = "/scan", method = "post", operation_id = "start_scan")]
    async fn start_scan(
        &self,
        web: Held<&Arc<Web>>,
        by: By<StartScan>,
        body: Body<ScanBody>,
    ) -> Result<Accepted<ScanView>, Failure> {
        let new = body.read()?.new_scan();
        Ok(Accepted(ScanView::of(web.app.start_scan(&by.0, new).await?)))
    }

    /// List network scans
    ///
    /// Newest first. The 50 newest scans of each client are kept. Scope: `read:assets`.
    #[oai(path = "/scan", method = "get", operation_id = "list_scans")]
    async fn list_scans(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewAssets>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<ScanView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let page = web.app.list_scans(&by.0, client, cut).await?;
        Ok(PageReply::rendered(Rendered::page(&page.map(ScanView::of))))
    }

    /// Get a network scan
    ///
    /// Each caller may ask at most 100 times per minute. Scope: `read:assets` or `write:assets`.
    #[oai(path = "/scan/:scan_id/status", method = "get", operation_id = "get_scan")]
    async fn get_scan(
        &self,
        web: Held<&Arc<Web>>,
        by: By<WatchScan>,
        scan_id: Path<Raw<Id>>,
    ) -> Result<Data<ScanView>, Failure> {
        let id = scan_id.read::<ScanId>()?;
        Ok(Data::of(&ScanView::of(web.app.get_scan(&by.0, id).await?)))
    }

    /// Cancel a network scan
    ///
    /// What the scan found stays in its results and is not added to the inventory. Scope: `write:assets`.
    #[oai(path = "/scan/:scan_id/cancel", method = "post", operation_id = "cancel_scan")]
    async fn cancel_scan(
        &self,
        web: Held<&Arc<Web>>,
        by: By<CancelScan>,
        scan_id: Path<Raw<Id>>,
    ) -> Result<Data<ScanView>, Failure> {
        let id = scan_id.read::<ScanId>()?;
        Ok(Data::of(&ScanView::of(web.app.cancel_scan(&by.0, id).await?)))
    }

    /// List the results of a network scan
    ///
    /// Hosts in the order of their addresses, also while the scan is running. Scope: `read:assets`.
    #[oai(path = "/scan/:scan_id/results", method = "get", operation_id = "list_scan_results")]
    async fn list_scan_results(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewAssets>,
        scan_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<HostView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let id = scan_id.read::<ScanId>()?;
        let page = web.app.list_scan_hosts(&by.0, id, cut).await?;
        Ok(PageReply::rendered(Rendered::page(&page.map(HostView::of))))
    }

    /// List assets that network scans found
    ///
    /// Assets of all clients or of one, in the order in which they were first seen, including assets that another source
    /// reported before. An asset with no client was found by a scan for no client. Each caller may ask at most 60 times per
    /// minute.
    #[oai(path = "/assets", method = "get", operation_id = "list_scanned_assets")]
    async fn list_scanned_assets(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewScanned>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<FoundView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let page = web.app.list_scanned_assets(&by.0, client, cut).await?;
        Ok(PageReply::rendered(Rendered::page(&page.map(FoundView::of))))
    }
}
