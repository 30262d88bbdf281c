//! The export of one client or of all: everything about them, one line per item.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::edge::caller::{By, Origin};
use crate::api::edge::page_cache::AssetsShown;
use crate::api::edge::right::ViewExport;
use crate::api::manage::client::clients::ManagedClientView;
use crate::api::manage::client::observations::ObservationView;
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
use crate::app::report::observation::{ObservationFilter, list_observations};
use crate::app::report::posture::page_risks;
use crate::auth::caller::Caller;
use crate::engine::framework::Level;
use crate::error::{Chain, Result};
use crate::id::ClientId;
use crate::page::Cut;
use crate::store::global::audit::{Act, AuditOutcome};
use crate::store::global::client::Client;
use crate::store::per_client::fact::ObservationCursor;
use crate::store::per_client::reference::Referenced;
use crate::store::{ClientSnapshot, ClientStore};

/// How many assets, risks or observations are read at once.
const N_ROWS_AT_ONCE: u32 = 1_000;
const N_DAYS_MAX: u32 = u32::MAX;

/// The kinds of items, in the order of an export.
const PARTS: [ExportPart; 10] = [
    ExportPart::Client,
    ExportPart::Scores,
    ExportPart::Risks,
    ExportPart::Requirements,
    ExportPart::Controls,
    ExportPart::Evidence,
    ExportPart::Tasks,
    ExportPart::Imports,
    ExportPart::Observations,
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
    Observations,
    Assets,
}

/// Where a part continues.
#[derive(Clone, Default)]
struct ExportPlace {
    offset: u64,
    after: Option<ObservationCursor>,
}

/// Lines to send, and how many they are.
#[derive(Default)]
struct ExportLines {
    bytes: Vec<u8>,
    n_lines: u64,
}

impl ExportLines {
    fn put(&mut self, line: &Value) {
        self.bytes.extend_from_slice(line.to_string().as_bytes());
        self.bytes.push(b'\n');
        self.n_lines += 1;
    }
}

/// The client that an export reads.
#[derive(Clone)]
struct ExportSource {
    app: Arc<App>,
    client: Arc<Client>,
    rows: ClientStore,
}

impl ExportSource {
    fn put(&self, written: &mut ExportLines, kind: &str, data: &impl Serialize) {
        written.put(&json!({ "kind": kind, "clientId": self.client.id.to_string(), "data": data }));
    }

    /// Reads the lines of a part from a place on, and returns where it continues. `None`: it is complete.
    async fn read(
        &self,
        part: ExportPart,
        place: ExportPlace,
    ) -> Result<(ExportLines, Option<ExportPlace>)> {
        let source = self.clone();
        self.rows.read(move |snapshot| source.read_now(snapshot, part, &place)).await
    }

    fn read_now(
        &self,
        rows: &ClientSnapshot,
        part: ExportPart,
        place: &ExportPlace,
    ) -> Result<(ExportLines, Option<ExportPlace>)> {
        let Self { app, client, .. } = self;
        let mut written = ExportLines::default();
        let cut = Cut { limit: N_ROWS_AT_ONCE, offset: place.offset };
        let continues = |total: u64| {
            let offset = place.offset + u64::from(N_ROWS_AT_ONCE);
            (offset < total).then_some(ExportPlace { offset, after: None })
        };
        let mut next = None;
        match part {
            ExportPart::Client => {
                let defaults = &app.options.settings;
                let references = rows.list_references(Referenced::Client)?;
                self.put(
                    &mut written,
                    "client",
                    &ManagedClientView::of(client, references, defaults),
                );
            }
            ExportPart::Scores => {
                let days = rows.list_days(N_DAYS_MAX)?.into_iter().map(SecurityScoreView::of);
                days.for_each(|it| self.put(&mut written, "score", &it));
            }
            ExportPart::Risks => {
                let page = page_risks(rows, None, cut)?.map(RiskItemView::of);
                page.items.iter().for_each(|it| self.put(&mut written, "risk", it));
                next = continues(page.total);
            }
            ExportPart::Requirements => self.put_requirements(rows, &mut written)?,
            ExportPart::Controls => {
                let catalog = app.catalog();
                let states = app.control_states(rows)?.into_iter().zip(&catalog.controls);
                for (it, control) in states {
                    let view = ClientControlView::of(it, control, &catalog);
                    self.put(&mut written, "control", &view);
                }
            }
            ExportPart::Evidence => {
                let all = register(rows, &app.catalog())?.into_iter();
                let views = all.map(EvidenceView::of_registered);
                views.for_each(|it| self.put(&mut written, "evidence", &it));
            }
            ExportPart::Tasks => {
                let now = app.clock.now();
                for it in rows.list_all_tasks()? {
                    let references = rows.list_references(Referenced::Task(it.id))?;
                    self.put(&mut written, "task", &TaskView::of(it, references, now));
                }
            }
            ExportPart::Imports => {
                let all = rows.list_imports()?.into_iter().map(ImportView::of);
                all.for_each(|it| self.put(&mut written, "import", &it));
            }
            ExportPart::Observations => {
                let (catalog, now, all) =
                    (app.catalog(), app.clock.now(), ObservationFilter::default());
                let (after, limit) = (place.after.as_ref(), N_ROWS_AT_ONCE);
                let found = list_observations(rows, &catalog, &all, after, limit)?;
                let last = found.last().filter(|_| found.len() == limit as usize);
                next = last.map(|it| ExportPlace { offset: 0, after: Some(it.0.clone()) });
                let views = found.into_iter().map(|it| ObservationView::of(it.1, &catalog, now));
                views.for_each(|it| self.put(&mut written, "observation", &it));
            }
            ExportPart::Assets => {
                let page = assets::views(&self.rows, rows, AssetsShown::default(), cut)?;
                page.items.iter().for_each(|it| self.put(&mut written, "asset", it));
                next = continues(page.total);
            }
        }
        Ok((written, next))
    }

    fn put_requirements(&self, rows: &ClientSnapshot, written: &mut ExportLines) -> Result<()> {
        let report = self.app.client_report(rows)?;
        for framework in &report.catalog.frameworks {
            let outcome = self.app.framework_outcome(rows, framework)?;
            let level = Level::Requirement;
            let view = ClientFrameworkView::of(&report, framework, &outcome, level);
            self.put(written, "framework", &view);
        }
        Ok(())
    }
}

/// How far an export has come.
struct ExportProgress {
    app: Arc<App>,
    caller: Caller,
    /// Clients that are still to come. The first is being read.
    clients: VecDeque<ClientId>,
    /// Parts of the first client that are complete.
    n_parts: usize,
    /// Where the current part continues.
    place: ExportPlace,
    n_lines: u64,
    n_clients: u64,
    is_ended: bool,
}

impl ExportProgress {
    fn of(app: &Arc<App>, caller: Caller, clients: VecDeque<ClientId>) -> Self {
        let app = Arc::clone(app);
        let (n_parts, n_lines, n_clients, is_ended) = (0, 0, 0, false);
        let place = ExportPlace::default();
        Self { app, caller, clients, n_parts, place, n_lines, n_clients, is_ended }
    }

    /// Returns the next lines, or `None` after the last one. The last line says how many there were: a reader who does not
    /// find it does not have the complete export.
    async fn next(mut self) -> Option<(std::io::Result<Bytes>, Self)> {
        if self.is_ended {
            return None;
        }
        match self.read().await {
            Ok(bytes) => Some((Ok(bytes), self)),
            Err(error) => {
                tracing::error!(error = %Chain(&error), "an export failed: {}", Chain(&error));
                self.is_ended = true;
                Some((Err(std::io::Error::other(error)), self))
            }
        }
    }

    async fn read(&mut self) -> Result<Bytes> {
        while let Some(id) = self.clients.front().copied() {
            let Some(part) = PARTS.get(self.n_parts) else {
                self.clients.pop_front();
                self.n_parts = 0;
                self.n_clients += 1;
                continue;
            };
            let Ok((client, rows)) = self.app.reach_any(&self.caller, id) else {
                // It was removed since the export began.
                self.clients.pop_front();
                (self.n_parts, self.place) = (0, ExportPlace::default());
                continue;
            };
            let source = ExportSource { app: Arc::clone(&self.app), client, rows };
            let (written, next) = source.read(*part, std::mem::take(&mut self.place)).await?;
            self.n_parts += usize::from(next.is_none());
            self.place = next.unwrap_or_default();
            self.n_lines += written.n_lines;
            if written.n_lines != 0 {
                return Ok(written.bytes.into());
            }
        }
        self.is_ended = true;
        let mut end = ExportLines::default();
        let counts = json!({ "lines": self.n_lines, "clients": self.n_clients });
        end.put(&json!({ "kind": "end", "data": counts }));
        Ok(end.bytes.into())
    }

    fn lines(self) -> Lines {
        Lines::of(stream::unfold(self, Self::next))
    }
}

/// Counts an export in the audit log.
fn tally(app: &App, (by, origin): (&Caller, &Origin), action: &str, about: String) {
    let (by, address) = (by.name(), origin.address.shown());
    let act = Act { by, address, action: action.to_owned(), about, ..Act::default() };
    app.tally(act, AuditOutcome::Done);
}

pub struct Exports;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Exports {
    /// Export a client
    ///
    /// Returns newline-delimited JSON: one line `{"kind", "clientId", "data"}` per item, of the kinds `client`, `score` (one per day),
    /// `risk`, `framework`, `control`, `evidence`, `task`, `import`,
    /// `observation` and `asset`. `data` is what the other operations show. Each
    /// kind is read at a different moment. The last line is `{"kind": "end", "data": {"lines", "clients"}}`; an export without it is
    /// incomplete. Scope: `read:export`.
    #[oai(path = "/clients/:clientId/export", method = "get", operation_id = "export_client")]
    async fn export_client(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewExport>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Lines, Failure> {
        let (client, _) = web.app.reach_any(&by.0, client_id.read()?)?;
        let about = format!("client {}", client.id);
        tally(&web.app, (&by.0, &origin), "GET /api/clients/{clientId}/export", about);
        Ok(ExportProgress::of(&web.app, by.0, [client.id].into()).lines())
    }

    /// Export all clients
    ///
    /// The lines of all clients that the caller may see, one client after the other, each as in the export of one client.
    /// Send `Accept-Encoding: gzip` to get them compressed. An export without the last line is incomplete.
    /// Scope: `read:export`.
    #[oai(path = "/export", method = "get", operation_id = "export_clients")]
    async fn export_clients(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewExport>,
    ) -> Result<Lines, Failure> {
        let clients = web.app.list_reachable(&by.0);
        tally(&web.app, (&by.0, &origin), "GET /api/export", "all clients".to_owned());
        Ok(ExportProgress::of(&web.app, by.0, clients.into()).lines())
    }
}
