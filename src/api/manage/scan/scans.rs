//! Network scans: start, watch, cancel, and what they found.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::{CancelScan, StartScan, ViewScanned, ViewScans, WatchScan};
use crate::api::manage::scan::scan_view::{FoundView, HostView, ScanView};
use crate::api::wire::body::Body;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Accepted, Data, Page, Rendered};
use crate::api::wire::view::Uid;
use crate::api::{Group, Web};
use crate::app::scan::request::NewScan;
use crate::error::{Error, Result};
use crate::id::ScanId;

/// What to scan.
#[derive(Object)]
#[oai(rename = "ScanStart", rename_all = "camelCase")]
pub struct ScanDoc {
    /// Networks in CIDR notation, all within `scan.allowed_networks`; a bare address is one host. At most 65,536 addresses.
    #[oai(validator(min_items = 1, max_items = 32))]
    targets: Vec<String>,
    /// Such as `22,80,8000-8100`. Default: 200 usual ones.
    #[oai(nullable)]
    ports: Option<String>,
    /// Probes under way at once, 1 to 1,024; others are brought within. Default: 256.
    #[oai(nullable)]
    threads: Option<u64>,
    /// Whose assets are found. Default: the caller's only client, else the only one there is, else nobody's: they are
    /// listed in `GET /api/assets` without a client, for users that are not limited to clients. Who is limited to
    /// several clients must name one.
    #[oai(nullable)]
    client_id: Option<Uid>,
    /// Networks in CIDR notation that are left out.
    #[oai(nullable, validator(max_items = 256))]
    exclude: Option<Vec<String>>,
    #[oai(nullable, validator(max_length = 200))]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct ScanBody {
    targets: Vec<String>,
    ports: Option<String>,
    threads: Option<i64>,
    client_id: Option<String>,
    exclude: Option<Vec<String>>,
    name: Option<String>,
}

impl ScanBody {
    fn new_scan(self) -> Result<NewScan> {
        let not_an_id = |_| Error::invalid_field("clientId", "must be a UUID");
        Ok(NewScan {
            client: self.client_id.map(|it| it.parse().map_err(not_an_id)).transpose()?,
            name: self.name,
            targets: self.targets,
            exclude: self.exclude.unwrap_or_default(),
            ports: self.ports,
            threads: self.threads.map(|it| u64::try_from(it).unwrap_or(0)),
        })
    }
}

pub struct Scans;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Scans {
    /// Start a network scan
    ///
    /// It is queued, and runs in the background. TCP connects only: nothing is sent to raw printing ports. At
    /// most 10 an hour for each caller. Scope: `write:assets`.
    #[oai(path = "/scan", method = "post", operation_id = "start_scan")]
    async fn start_scan(
        &self,
        web: Held<&Arc<Web>>,
        by: By<StartScan>,
        body: Body<ScanDoc>,
    ) -> Result<Accepted<ScanView>, Failure> {
        let new = body.read::<ScanBody>()?.new_scan()?;
        Ok(Accepted(ScanView::of(web.app.start_scan(&by.0, new).await?)))
    }

    /// List network scans
    ///
    /// Newest first. The 50 newest of each client are kept. Scope: `read:assets`.
    #[oai(path = "/scan", method = "get", operation_id = "list_scans")]
    async fn list_scans(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewScans>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<Page<ScanView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let page = web.app.list_scans(&by.0, client, cut).await?;
        Ok(Page::rendered(Rendered::page(&page.map(ScanView::of))))
    }

    /// Get a network scan
    ///
    /// At most 100 a minute for each caller. Scope: `read:assets` or `write:assets`.
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
    /// What it found stays listed with it, and comes into no inventory. Scope: `write:assets`.
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

    /// List what a network scan found
    ///
    /// Hosts in the order of their addresses, also while it runs. Scope: `read:assets`.
    #[oai(path = "/scan/:scan_id/results", method = "get", operation_id = "list_scan_results")]
    async fn list_scan_results(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewScans>,
        scan_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<Page<HostView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let id = scan_id.read::<ScanId>()?;
        let page = web.app.list_scan_hosts(&by.0, id, cut).await?;
        Ok(Page::rendered(Rendered::page(&page.map(HostView::of))))
    }

    /// List assets that network scans found
    ///
    /// Of all clients or one, in the order in which they were first seen; also those that another source knew before.
    /// Without a client: those of scans for none. At most 60 a minute for each caller.
    #[oai(path = "/assets", method = "get", operation_id = "list_scanned_assets")]
    async fn list_scanned_assets(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewScanned>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<Page<FoundView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let page = web.app.list_scanned_assets(&by.0, client, cut).await?;
        Ok(Page::rendered(Rendered::page(&page.map(FoundView::of))))
    }
}
