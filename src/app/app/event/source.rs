//! Events about the runs and the health of sources.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, Link, NewEvent, NoPrevious};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::store::per_client::import::Import;
use crate::store::per_client::roster::{HealthState, SourceHealth};

/// A run of a source was processed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntegrationSyncCompleted<'a> {
    pub source: &'a str,
    /// The format of the imported file, `facts` for a push, `scan` for a network scan.
    pub format: &'a str,
    /// The first 100 scopes of the run.
    pub scopes: &'a [String],
    /// How many scopes the run has.
    pub scope_count: u32,
    #[schemars(extend("format" = "uuid"))]
    pub import_id: String,
    pub records: u64,
    pub facts: u32,
    pub assets_added: u32,
    pub assets_updated: u32,
    /// The run saw everything of its scopes.
    pub complete: bool,
    /// The source could not read everything that it reads.
    pub partial: bool,
    /// What it said of that. Null when it said nothing.
    pub message: Option<&'a str>,
}

impl EventBody for IntegrationSyncCompleted<'_> {
    const KIND: EventKind = EventKind::IntegrationSyncCompleted;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        sync_key(self.source)
    }

    fn link(&self) -> Link {
        Link::Source(self.source.to_owned())
    }
}

fn sync_key(source: &str) -> String {
    format!("integration_sync/{source}")
}

#[must_use]
pub fn sync_completed(import: &Import) -> NewEvent {
    NewEvent::new(&completed(import), import.at)
}

/// `message`: what the source said of what it could not read.
#[must_use]
pub fn sync_partial(import: &Import, message: Option<&str>) -> NewEvent {
    let body = IntegrationSyncCompleted { partial: true, message, ..completed(import) };
    NewEvent::new(&body, import.at)
}

fn completed(import: &Import) -> IntegrationSyncCompleted<'_> {
    IntegrationSyncCompleted {
        source: &import.source,
        format: &import.format,
        scopes: &import.scopes,
        scope_count: import.n_scopes,
        import_id: import.id.to_string(),
        records: import.n_records,
        facts: import.n_facts,
        assets_added: import.n_assets_new,
        assets_updated: import.n_assets_updated,
        complete: import.complete,
        partial: false,
        message: None,
    }
}

/// A run of a source failed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntegrationSyncFailed<'a> {
    pub source: &'a str,
    pub scope: &'a str,
    /// What the source said. Null when it said nothing.
    pub message: Option<&'a str>,
}

impl EventBody for IntegrationSyncFailed<'_> {
    const KIND: EventKind = EventKind::IntegrationSyncFailed;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        sync_key(self.source)
    }

    fn link(&self) -> Link {
        Link::Source(self.source.to_owned())
    }
}

/// The health of a source changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorHealthChanged<'a> {
    pub source: &'a str,
    #[schemars(extend("enum" = ["healthy", "degraded", "failing", "silent"]))]
    pub status: &'static str,
    /// Failed runs since the last one that did not fail.
    pub failures: u32,
    /// What the last run said, if it was not healthy.
    pub message: Option<&'a str>,
    #[schemars(extend("format" = "date-time"))]
    pub last_run_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub last_success_at: Option<String>,
    /// Counts the times that the source stopped being healthy, from 1.
    pub occurrence: u32,
}

/// The health before.
#[derive(Serialize, JsonSchema)]
pub struct HealthBefore {
    #[schemars(extend("enum" = ["healthy", "degraded", "failing", "silent"]))]
    pub status: &'static str,
}

impl EventBody for ConnectorHealthChanged<'_> {
    const KIND: EventKind = EventKind::ConnectorHealthChanged;
    type Previous = HealthBefore;

    fn key(&self) -> String {
        format!("connector/{}", self.source)
    }

    fn link(&self) -> Link {
        Link::Source(self.source.to_owned())
    }
}

#[must_use]
pub fn health_changed(
    before: Option<HealthState>,
    after: &SourceHealth,
    occurrence: u32,
    now: Time,
) -> NewEvent {
    let body = ConnectorHealthChanged {
        source: &after.source,
        status: after.state.as_str(),
        failures: after.n_failures,
        message: after.message.as_deref(),
        last_run_at: after.last_run_at.to_string(),
        last_success_at: after.last_success_at.map(|it| it.to_string()),
        occurrence,
    };
    let before = before.map(|it| HealthBefore { status: it.as_str() });
    NewEvent::after(&body, before.as_ref(), now)
}

#[must_use]
pub fn sync_failed(source: &str, scope: &str, message: Option<&str>, now: Time) -> NewEvent {
    NewEvent::new(&IntegrationSyncFailed { source, scope, message }, now)
}
