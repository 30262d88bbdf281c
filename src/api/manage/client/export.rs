//! The export of a client: everything about it, one line per item.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use serde::Serialize;
use serde_json::json;

use crate::api::edge::caller::{By, Origin};
use crate::api::edge::page_cache::AssetsShown;
use crate::api::edge::right::ViewExport;
use crate::api::manage::client::clients::ManagedClientView;
use crate::api::manage::decision::controls::ClientControlView;
use crate::api::manage::decision::evidence::EvidenceView;
use crate::api::manage::decision::tasks::TaskView;
use crate::api::manage::intake::imports::ImportView;
use crate::api::manage::report::compliance::ClientFrameworkView;
use crate::api::v1::assets;
use crate::api::v1::risks::RiskItemView;
use crate::api::v1::scores::SecurityScoreView;
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::Lines;
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::assessment::evidence::register;
use crate::app::report::posture::page_risks;
use crate::engine::framework::Level;
use crate::error::{Chain, Result};
use crate::page::Cut;
use crate::store::global::audit::{Act, AuditOutcome};
use crate::store::global::client::Client;
use crate::store::{ClientSnapshot, ClientStore};

/// How many assets are read at once.
const N_ASSETS_AT_ONCE: u32 = 1_000;
const N_DAYS_MAX: u32 = u32::MAX;

/// The kinds of items, in the order of an export.
const PARTS: [ExportPart; 9] = [
    ExportPart::Client,
    ExportPart::Scores,
    ExportPart::Risks,
    ExportPart::Requirements,
    ExportPart::Controls,
    ExportPart::Evidence,
    ExportPart::Tasks,
    ExportPart::Imports,
    ExportPart::Assets,
];

#[derive(Clone, Copy)]
enum ExportPart {
    Client,
    Scores,
    Risks,
    Requirements,
    Controls,
    Evidence,
    Tasks,
    Imports,
    Assets,
}

/// Lines to send, and how many they are.
#[derive(Default)]
struct ExportLines {
    bytes: Vec<u8>,
    n_lines: u64,
}

impl ExportLines {
    fn put(&mut self, kind: &str, data: &impl Serialize) {
        let line = json!({ "kind": kind, "data": data }).to_string();
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        self.n_lines += 1;
    }
}

/// What an export reads from.
#[derive(Clone)]
struct ExportSource {
    app: Arc<App>,
    client: Arc<Client>,
    rows: ClientStore,
}

impl ExportSource {
    /// Reads the lines of a part from `offset`. Returns true if more may remain.
    async fn read(&self, part: ExportPart, offset: u64) -> Result<(ExportLines, bool)> {
        let source = self.clone();
        self.rows.read(move |snapshot| source.read_now(snapshot, part, offset)).await
    }

    fn read_now(
        &self,
        rows: &ClientSnapshot,
        part: ExportPart,
        offset: u64,
    ) -> Result<(ExportLines, bool)> {
        let Self { app, client, .. } = self;
        let mut written = ExportLines::default();
        match part {
            ExportPart::Client => {
                let defaults = &app.options.settings;
                written.put("client", &ManagedClientView::of(client, defaults));
            }
            ExportPart::Scores => {
                let days = rows.list_days(N_DAYS_MAX)?.into_iter();
                days.for_each(|it| written.put("score", &SecurityScoreView::of(it)));
            }
            ExportPart::Risks => {
                let cut = Cut { limit: u32::MAX, offset: 0 };
                let risks = page_risks(rows, None, cut)?.items.into_iter();
                risks.for_each(|it| written.put("risk", &RiskItemView::of(it)));
            }
            ExportPart::Requirements => self.put_requirements(rows, &mut written)?,
            ExportPart::Controls => {
                let catalog = app.catalog();
                let states = app.control_states(rows)?.into_iter().zip(&catalog.controls);
                for (it, control) in states {
                    written.put("control", &ClientControlView::of(it, control, &catalog));
                }
            }
            ExportPart::Evidence => {
                let all = register(rows, &app.catalog())?.into_iter();
                all.for_each(|it| written.put("evidence", &EvidenceView::of_registered(it)));
            }
            ExportPart::Tasks => {
                let now = app.clock.now();
                let all = rows.list_all_tasks()?.into_iter();
                all.for_each(|it| written.put("task", &TaskView::of(it, now)));
            }
            ExportPart::Imports => {
                let all = rows.list_imports()?.into_iter();
                all.for_each(|it| written.put("import", &ImportView::of(it)));
            }
            ExportPart::Assets => {
                let cut = Cut { limit: N_ASSETS_AT_ONCE, offset };
                let page = assets::views(&self.rows, rows, AssetsShown::default(), cut)?;
                let more = offset + u64::from(N_ASSETS_AT_ONCE) < page.total;
                page.items.iter().for_each(|it| written.put("asset", it));
                return Ok((written, more));
            }
        }
        Ok((written, false))
    }

    fn put_requirements(&self, rows: &ClientSnapshot, written: &mut ExportLines) -> Result<()> {
        let report = self.app.client_report(rows)?;
        for framework in &report.catalog.frameworks {
            let outcome = self.app.framework_outcome(rows, framework)?;
            let level = Level::Requirement;
            let view = ClientFrameworkView::of(&report, framework, &outcome, level);
            written.put("framework", &view);
        }
        Ok(())
    }
}

/// How far an export has come.
struct ExportProgress {
    source: ExportSource,
    /// Parts that are complete; one more once the last line was sent.
    n_parts: usize,
    /// Where the current part continues.
    offset: u64,
    n_lines: u64,
}

impl ExportProgress {
    /// Returns the next lines, or `None` after the last one. The last line says how many there were: a reader who does not
    /// find it does not have the complete export.
    async fn next(mut self) -> Option<(std::io::Result<Bytes>, Self)> {
        let Some(part) = PARTS.get(self.n_parts) else {
            if self.n_parts != PARTS.len() {
                return None;
            }
            let mut end = ExportLines::default();
            end.put("end", &json!({ "lines": self.n_lines }));
            self.n_parts += 1;
            return Some((Ok(end.bytes.into()), self));
        };
        match self.source.read(*part, self.offset).await {
            Ok((written, more)) => {
                self.n_lines += written.n_lines;
                self.offset = if more { self.offset + u64::from(N_ASSETS_AT_ONCE) } else { 0 };
                self.n_parts += usize::from(!more);
                Some((Ok(written.bytes.into()), self))
            }
            Err(error) => {
                tracing::error!(error = %Chain(&error), "an export failed: {}", Chain(&error));
                self.n_parts = PARTS.len() + 1;
                Some((Err(std::io::Error::other(error)), self))
            }
        }
    }
}

pub struct Exports;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Exports {
    /// Export a client
    ///
    /// Returns newline-delimited JSON: one line `{"kind", "data"}` per item, of the kinds `client`, `score` (one per day),
    /// `risk`, `framework`, `control`, `evidence`, `task`, `import` and `asset`. `data` is what the other operations show. Each
    /// kind is read at a different moment. The last line is `{"kind": "end", "data": {"lines"}}`; an export without it is
    /// incomplete. Scope: `read:export`.
    #[oai(path = "/clients/:clientId/export", method = "get", operation_id = "export_client")]
    async fn export_client(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewExport>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Lines, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let act = Act {
            by: by.0.name(),
            address: origin.address.shown(),
            action: "GET /api/clients/{clientId}/export".to_owned(),
            about: format!("client {}", client.id),
            ..Act::default()
        };
        web.app.tally(act, AuditOutcome::Done);
        let source = ExportSource { app: Arc::clone(&web.app), client, rows };
        let progress = ExportProgress { source, n_parts: 0, offset: 0, n_lines: 0 };
        Ok(Lines::of(stream::unfold(progress, ExportProgress::next)))
    }
}
