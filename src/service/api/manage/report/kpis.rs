//! The dashboard's key performance indicators.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewKpis;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::Uid;
use crate::api::{Group, Web};
use crate::app::report::kpi::{Attention, Kpis, MeanReadiness};

macro_rules! figures {
    ($(#[$doc:meta])* $name:ident as $shown:literal { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(JsonSchema, Serialize)]
        #[schemars(rename = $shown)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$about])* $field: $type,)*
        }
    };
}

figures! {
    /// Key performance indicators of the active clients that the caller may see.
    KpisView as "Kpis" {
        clients: ClientsView,
        /// Of the clients with a score, rounded down. Null: no client has a score.
        mean_score: Null<u8>,
        /// Clients by grade.
        grades: GradesView,
        /// The mean share of the applicable controls, by weight, that is assessed, in percent. Null: there are no clients.
        coverage: Null<u8>,
        /// One entry per framework, over the clients with a score that have the framework in scope.
        readiness: Vec<ReadinessView>,
        /// Open risks that are not accepted, by severity.
        risks: RisksView,
        exposure: ExposureView,
        assets: AssetsView,
        tasks: TasksView,
        sources: SourcesView,
        /// Webhooks whose last attempts failed, or that were disabled because of failures. Null for callers who are limited to
        /// clients.
        webhooks_failing: Null<u32>,
        /// Network scans that are queued or running.
        scans_running: u32,
        /// The ten clients that need attention most.
        attention: Vec<AttentionView>,
    }
}

figures! {
    /// How many clients there are.
    ClientsView as "KpiClients" {
        /// Includes inactive clients, which no other figure counts.
        total: u32,
        active: u32,
        /// Active clients with a score.
        scored: u32,
        unscored: u32,
    }
}

/// Clients by the grade of their score.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "KpiGrades")]
pub struct GradesView {
    #[schemars(rename = "A")]
    #[serde(rename = "A")]
    a: u32,
    #[schemars(rename = "B")]
    #[serde(rename = "B")]
    b: u32,
    #[schemars(rename = "C")]
    #[serde(rename = "C")]
    c: u32,
    #[schemars(rename = "D")]
    #[serde(rename = "D")]
    d: u32,
    #[schemars(rename = "F")]
    #[serde(rename = "F")]
    f: u32,
}

figures! {
    /// The readiness of clients for a framework.
    ReadinessView as "KpiReadiness" {
        framework: FrameworkName,
        clients: u32,
        /// Rounded down. Null: no client has the framework in scope.
        mean: Null<u8>,
    }
}

figures! {
    /// Open risks by severity.
    RisksView as "KpiRisks" { critical: u64, high: u64, medium: u64, low: u64, }
}

figures! {
    /// What open risks add to the expected loss of a year.
    ExposureView as "KpiExposure" {
        /// Dollars per year, over the clients whose number of employees is known: the expected loss now, minus what it would
        /// be if they met everything. Counts accepted risks too.
        sum: u64,
        /// Open risks without a dollar impact, which the sum leaves out.
        unknown: u64,
    }
}

figures! {
    /// Assets that are not retired.
    AssetsView as "KpiAssets" { total: u64, critical: u64, unmanaged: u64, }
}

figures! {
    /// Remediation tasks that are open or in progress.
    TasksView as "KpiTasks" { open: u64, overdue: u64, }
}

figures! {
    /// Sources of facts that fail or no longer report.
    SourcesView as "KpiSources" { failing: u64, silent: u64, }
}

figures! {
    /// A client that needs attention.
    AttentionView as "KpiAttention" {
        client_id: Uid,
        client_name: String,
        /// In words, most important first: critical risks, failing or silent sources, overdue tasks, a score below 60, high
        /// risks.
        reasons: Vec<String>,
    }
}

impl RisksView {
    /// The most severe first.
    pub fn of([critical, high, medium, low]: [u64; 4]) -> Self {
        Self { critical, high, medium, low }
    }
}

impl ExposureView {
    pub fn of(sum: u64, n_unpriced_risks: u64) -> Self {
        Self { sum, unknown: n_unpriced_risks }
    }
}

impl KpisView {
    fn of(kpis: Kpis) -> Self {
        let sums = kpis.sums;
        Self {
            clients: ClientsView {
                total: kpis.n_clients,
                active: kpis.n_active,
                scored: kpis.n_scored,
                unscored: kpis.n_active - kpis.n_scored,
            },
            mean_score: kpis.mean_score.into(),
            grades: GradesView::of(kpis.n_by_grade),
            coverage: kpis.mean_coverage.into(),
            readiness: kpis.readiness.into_iter().map(ReadinessView::of).collect(),
            risks: RisksView::of(sums.n_risks),
            exposure: ExposureView::of(sums.exposure, sums.n_unpriced_risks),
            assets: AssetsView {
                total: sums.n_assets,
                critical: sums.n_critical_assets,
                unmanaged: sums.n_unmanaged_assets,
            },
            tasks: TasksView { open: sums.n_tasks, overdue: sums.n_overdue_tasks },
            sources: SourcesView { failing: sums.n_failing_sources, silent: sums.n_silent_sources },
            webhooks_failing: kpis.n_failing_webhooks.into(),
            scans_running: kpis.n_open_scans,
            attention: kpis.attention.into_iter().map(AttentionView::of).collect(),
        }
    }
}

impl GradesView {
    /// The best grade first.
    fn of(n: [u32; 5]) -> Self {
        Self { a: n[0], b: n[1], c: n[2], d: n[3], f: n[4] }
    }
}

impl ReadinessView {
    fn of(it: MeanReadiness) -> Self {
        let MeanReadiness { framework, n_clients, mean } = it;
        Self { framework: FrameworkName(framework), clients: n_clients, mean: mean.into() }
    }
}

impl AttentionView {
    fn of(it: Attention) -> Self {
        let Attention { client, name, reasons } = it;
        Self { client_id: Uid::of(client.as_bytes()), client_name: name, reasons }
    }
}

pub struct Dashboard;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Dashboard {
    /// Get key performance indicators
    ///
    /// Of the clients that the caller may see. Each caller may ask at most 30 times per minute.
    /// Scope: `read:portfolio`.
    #[oai(path = "/dashboard/kpis", method = "get", operation_id = "get_kpis")]
    async fn get_kpis(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewKpis>,
    ) -> Result<Data<KpisView>, Failure> {
        let kpis = web.app.kpis(&by.0).await?;
        Ok(Data::of(&KpisView::of(kpis)))
    }
}
