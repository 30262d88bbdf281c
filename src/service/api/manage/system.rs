//! The state of the service.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::manage::backups::{BackupView, DrillView};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::notice::Notice;
use crate::app::report::document::signing::KnownKey;
use crate::app::report::orphan::Orphan;
use crate::engine::framework::FrameworkId;
use crate::store::ActiveNode;
use crate::store::global::client::ClientState;

/// The state of the service.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "System")]
#[serde(rename_all = "camelCase")]
pub struct SystemView {
    version: String,
    msp_id: String,
    /// The database can be read and written.
    ready: bool,
    now: When,
    clients_active: u64,
    clients_inactive: u64,
    keys: u64,
    frameworks: u64,
    controls: u64,
    /// Checks of known tools that are mapped to a control.
    checks_mapped: u64,
    /// Commits since the start.
    commits: u64,
    /// Writes since the start.
    writes: u64,
    /// Reads that found a damaged record since the start.
    damaged_records: u64,
    /// Writes are refused because the disk is nearly full.
    disk_full: bool,
    /// The node that answers. Null: the database is a file, which no other node can take over.
    node: Null<NodeView>,
    /// When the certificate that the service presents expires. Null: it presents none, and serves plain HTTP or waits for its
    /// first certificate.
    certificate_expires_at: Null<When>,
    /// The keys with which reports are signed, newest first.
    report_keys: Vec<ReportKeyView>,
    /// Webhooks whose signing secret the key file cannot open. Nothing is sent to them until they have a new secret.
    webhooks_needing_secret: Vec<Uid>,
    /// Own frameworks that this release cannot read. `GET /api/own-frameworks` says why. They are not in use.
    frameworks_not_in_use: Vec<FrameworkName>,
    /// What is wrong with the installation itself. At most one of each kind.
    notices: Vec<NoticeView>,
    /// Null: no backup was made yet.
    last_backup: Null<BackupView>,
    /// Null: no backup was restored as a drill yet.
    last_drill: Null<DrillView>,
    /// Statements and alert rules about controls, requirements or frameworks that this release no longer has. They count
    /// for nothing.
    orphan_count: u64,
    /// The first 100 of them.
    orphans: Vec<OrphanView>,
}

/// A node of an installation whose database is on a server.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Node")]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Always `active`: a standby answers no operation.
    role: &'static str,
    /// The host and the data directory.
    name: String,
    /// Counts how often the database was opened, by whatever node.
    epoch: u64,
    /// Milliseconds since it renewed its lease. A standby takes over after 10,000.
    lease_age_ms: u64,
}

impl NodeView {
    fn of(it: ActiveNode) -> Self {
        let lease_age_ms = u64::try_from(it.lease_age.as_millis()).unwrap_or(u64::MAX);
        Self { role: "active", name: it.name, epoch: it.epoch, lease_age_ms }
    }
}

/// Something that is wrong with the installation itself.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Notice")]
#[serde(rename_all = "camelCase")]
pub struct NoticeView {
    /// `backup_failed`, `backup_command_failed`, `backup_drill_failed`, `clock_ahead`, `connection_failing`,
    /// `credential_expiring`, `exploited_list_old`, `release_changed`, `reports_not_sent` or `watch_folder`. Later releases may know more.
    kind: String,
    /// Since when.
    at: When,
    message: String,
}

impl NoticeView {
    fn of(it: Notice) -> Self {
        Self { kind: it.kind.as_str().to_owned(), at: When(it.at), message: it.message }
    }
}

/// A key with which reports are signed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportKey")]
#[serde(rename_all = "camelCase")]
pub struct ReportKeyView {
    /// 32 bytes in hexadecimal.
    public_key: String,
    /// The first half of its SHA-256, for people to compare.
    fingerprint: String,
    created_at: When,
    /// New reports are signed with it. The other keys are those of other key files.
    signing: bool,
}

impl ReportKeyView {
    fn of(it: KnownKey) -> Self {
        let KnownKey { key, at, signs } = it;
        let (public_key, fingerprint) = (key.hex(), key.fingerprint());
        Self { public_key, fingerprint, created_at: When(at), signing: signs }
    }
}

/// A statement or alert rule about something that is gone.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Orphan")]
#[serde(rename_all = "camelCase")]
pub struct OrphanView {
    /// Null: an alert rule.
    client_id: Null<Uid>,
    /// `attestation`, `evidence`, `decision` or `alert_rule`.
    kind: String,
    /// The control's code, or the framework with the requirement's reference.
    about: String,
}

impl OrphanView {
    fn of(it: Orphan) -> Self {
        let client_id = it.client.map(|id| Uid::of(id.as_bytes())).into();
        Self { client_id, kind: it.kind.to_owned(), about: it.about }
    }
}

pub struct System;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl System {
    /// Get the state of the service
    ///
    /// Version, readiness, and counts of what is stored.
    #[oai(path = "/system", method = "get", operation_id = "get_system")]
    async fn get_system(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<SystemView>, Failure> {
        let app = &web.app;
        let health = app.health();
        let locked = app.webhooks_needing_secret().await?;
        let orphans = app.orphans().await?;
        let backups = app.backup_state().await?;
        let report_keys = app.list_report_keys().await?;
        let clients = app.clients.directory.list();
        let count = |state| clients.iter().filter(|it| it.state == state).count() as u64;
        let checks_mapped = app.catalog().tools.values().map(|it| it.checks.len() as u64).sum();
        Ok(Data::of(&SystemView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            msp_id: app.msp_id().to_owned(),
            ready: health.ready,
            now: When(app.clock.now()),
            clients_active: count(ClientState::Active),
            clients_inactive: count(ClientState::Inactive),
            keys: app.access.keyring.list().len() as u64,
            frameworks: app.catalog().frameworks.len() as u64,
            controls: app.catalog().controls.len() as u64,
            checks_mapped,
            commits: health.n_commits,
            writes: health.n_writes,
            damaged_records: health.n_damaged,
            disk_full: health.disk_full,
            node: app.node().map(NodeView::of).into(),
            certificate_expires_at: app.certificate_health().until.map(When).into(),
            frameworks_not_in_use: app
                .unreadable_frameworks()
                .iter()
                .map(|it| FrameworkName(FrameworkId::Own(it.id)))
                .collect(),
            notices: app.notices.list().into_iter().map(NoticeView::of).collect(),
            last_backup: backups.last_backup.map(BackupView::from).into(),
            last_drill: backups.last_drill.map(DrillView::from).into(),
            report_keys: report_keys.into_iter().map(ReportKeyView::of).collect(),
            orphan_count: orphans.n,
            orphans: orphans.shown.into_iter().map(OrphanView::of).collect(),
            webhooks_needing_secret: locked.iter().map(|it| Uid::of(it.as_bytes())).collect(),
        }))
    }
}
