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
use crate::api::edge::right::ViewExport;
use crate::api::manage::client::clients::ManagedClientView;
use crate::api::manage::client::observations::ObservationView;
use crate::api::manage::client::vulnerabilities::VulnerabilityView;
use crate::api::manage::decision::controls::ClientControlView;
use crate::api::manage::decision::evidence::EvidenceView;
use crate::api::manage::decision::risks::ManagedRiskView;
use crate::api::manage::decision::statements::StatementView;
use crate::api::manage::decision::tasks::TaskView;
use crate::api::manage::intake::imports::ImportView;
use crate::api::manage::report::compliance::ClientFrameworkView;
use crate::api::v1::assets;
use crate::api::v1::scores::SecurityScoreView;
use crate::api::wire::kind::Kind;
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::Lines;
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::assessment::evidence::register;
use crate::app::decision::statement::{self, StatementFilter};
use crate::app::report::observation::{ObservationFilter, are_declared_current, list_observations};
use crate::app::report::vulnerability::{
    VulnerabilityCursor, VulnerabilityFilter, list_vulnerabilities,
};
use crate::auth::caller::Caller;
use crate::engine::framework::Level;
use crate::engine::vulnerability::Exploited;
use crate::error::{Chain, Code, Error, Result};
use crate::id::{AssetId, ClientId, TaskId};
use crate::request::{self, RequestId};
use crate::store::global::audit::{Act, AuditOutcome};
use crate::store::global::client::Client;
use crate::store::per_client::fact::ObservationCursor;
use crate::store::per_client::reference::Referenced;
use crate::store::per_client::statement::StatementNumber;
use crate::store::{ClientSnapshot, ClientStore};

/// How many risks, tasks, observations or assets are read at once.
const N_ROWS_AT_ONCE: usize = 1_000;
const N_DAYS_MAX: u32 = u32::MAX;

/// Why an export of several clients ends early.
const NO_LONGER: &str = "no longer authorized for all clients of this export";

/// The kinds of items, in the order of an export.
static PARTS: [ExportPart; 12] = [
    ExportPart::Client,
    ExportPart::Scores,
    ExportPart::Risks { after: None },
    ExportPart::Requirements,
    ExportPart::Controls,
    ExportPart::Evidence,
    ExportPart::Statements { before: None },
    ExportPart::Tasks { after: None },
    ExportPart::Imports,
    ExportPart::Observations { after: None },
    ExportPart::Vulnerabilities { after: None },
    ExportPart::Assets { after: None },
];

/// A kind of items. Of those that may be many, what follows the last item that was sent: what is added or removed during
/// an export neither moves another item out of it nor into it twice.
#[derive(Clone)]
enum ExportPart {
    Client,
    Scores,
    /// `after`: the condition of a risk.
    Risks {
        after: Option<String>,
    },
    Requirements,
    Controls,
    Evidence,
    Statements {
        before: Option<StatementNumber>,
    },
    Tasks {
        after: Option<TaskId>,
    },
    Imports,
    Observations {
        after: Option<ObservationCursor>,
    },
    Vulnerabilities {
        after: Option<VulnerabilityCursor>,
    },
    Assets {
        after: Option<AssetId>,
    },
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

/// The only line of a piece.
fn line(line: &Value) -> Bytes {
    let mut lines = ExportLines::default();
    lines.put(line);
    lines.bytes.into()
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

    /// Reads the next lines of a part, and returns what is left of it. `None`: it is complete.
    async fn read(&self, part: ExportPart) -> Result<(ExportLines, Option<ExportPart>)> {
        let source = self.clone();
        let has_scans = matches!(part, ExportPart::Vulnerabilities { .. });
        let exploited =
            if has_scans { self.app.list_exploited().await? } else { Exploited::default() };
        let read = move |snapshot: &ClientSnapshot| {
            let mut written = ExportLines::default();
            let rest = source.put_part(snapshot, &exploited, &mut written, part)?;
            Ok((written, rest))
        };
        self.rows.read(read).await
    }

    fn put_part(
        &self,
        rows: &ClientSnapshot,
        exploited: &Exploited,
        written: &mut ExportLines,
        part: ExportPart,
    ) -> Result<Option<ExportPart>> {
        let Self { app, client, .. } = self;
        match part {
            ExportPart::Client => {
                let references = rows.list_references(Referenced::Client)?;
                let hold = rows.find_hold(app.clock.now())?;
                let view = ManagedClientView::of(client, references, hold, app);
                self.put(written, "client", &view);
            }
            ExportPart::Scores => {
                let days = rows.list_days(N_DAYS_MAX)?.into_iter().map(SecurityScoreView::of);
                days.for_each(|it| self.put(written, "score", &it));
            }
            ExportPart::Risks { after } => return self.put_risks(rows, written, after.as_deref()),
            ExportPart::Requirements => self.put_requirements(rows, written)?,
            ExportPart::Controls => {
                let catalog = app.catalog();
                let states = app.control_states(rows)?.into_iter().zip(&catalog.controls);
                for (it, control) in states {
                    let view = ClientControlView::of(it, control, &catalog);
                    self.put(written, "control", &view);
                }
            }
            ExportPart::Evidence => {
                let all = register(rows, &app.catalog())?.into_iter();
                let views = all.map(EvidenceView::of);
                views.for_each(|it| self.put(written, "evidence", &it));
            }
            ExportPart::Statements { before } => return self.put_statements(rows, written, before),
            ExportPart::Tasks { after } => return self.put_tasks(rows, written, after),
            ExportPart::Imports => {
                for it in rows.list_imports()? {
                    let age = rows.find_import_age(it.id)?;
                    self.put(written, "import", &ImportView::of(it, age));
                }
            }
            ExportPart::Observations { after } => {
                return self.put_observations(rows, written, after.as_ref());
            }
            ExportPart::Vulnerabilities { after } => {
                return self.put_vulnerabilities((rows, exploited), written, after.as_ref());
            }
            ExportPart::Assets { after } => return self.put_assets(rows, written, after),
        }
        Ok(None)
    }

    fn put_risks(
        &self,
        rows: &ClientSnapshot,
        written: &mut ExportLines,
        after: Option<&str>,
    ) -> Result<Option<ExportPart>> {
        let found = rows.list_open_risks_after(after, N_ROWS_AT_ONCE)?;
        let after = last_of_full(&found).map(|it| it.risk.condition.clone());
        for it in found {
            let references = rows.list_references(Referenced::Risk(it.id))?;
            self.put(written, "risk", &ManagedRiskView::of(it, references));
        }
        Ok(after.map(|it| ExportPart::Risks { after: Some(it) }))
    }

    fn put_statements(
        &self,
        rows: &ClientSnapshot,
        written: &mut ExportLines,
        before: Option<StatementNumber>,
    ) -> Result<Option<ExportPart>> {
        let (all, now) = (StatementFilter::default(), self.app.clock.now());
        let found = statement::list(rows, &all, before, N_ROWS_AT_ONCE, now)?;
        let before = last_of_full(&found).map(|it| it.record.number);
        let views = found.into_iter().map(StatementView::of);
        views.for_each(|it| self.put(written, "statement", &it));
        Ok(before.map(|it| ExportPart::Statements { before: Some(it) }))
    }

    fn put_tasks(
        &self,
        rows: &ClientSnapshot,
        written: &mut ExportLines,
        after: Option<TaskId>,
    ) -> Result<Option<ExportPart>> {
        let now = self.app.clock.now();
        let found = rows.list_tasks_after(after, N_ROWS_AT_ONCE)?;
        let after = last_of_full(&found).map(|it| it.id);
        for it in found {
            let references = rows.list_references(Referenced::Task(it.id))?;
            self.put(written, "task", &TaskView::of(it, references, now));
        }
        Ok(after.map(|it| ExportPart::Tasks { after: Some(it) }))
    }

    fn put_observations(
        &self,
        rows: &ClientSnapshot,
        written: &mut ExportLines,
        after: Option<&ObservationCursor>,
    ) -> Result<Option<ExportPart>> {
        let (catalog, now) = (self.app.catalog(), self.app.clock.now());
        let all = ObservationFilter::default();
        let found = list_observations(rows, &catalog, &all, after, N_ROWS_AT_ONCE)?;
        let after = last_of_full(&found).map(|it| it.0.clone());
        let declared = are_declared_current(rows, &found)?;
        for ((_, it), declared) in found.into_iter().zip(declared) {
            let view = ObservationView::of(it, declared, &catalog, now);
            self.put(written, "observation", &view);
        }
        Ok(after.map(|it| ExportPart::Observations { after: Some(it) }))
    }

    fn put_vulnerabilities(
        &self,
        (rows, exploited): (&ClientSnapshot, &Exploited),
        written: &mut ExportLines,
        after: Option<&VulnerabilityCursor>,
    ) -> Result<Option<ExportPart>> {
        let all = VulnerabilityFilter::default();
        let found = list_vulnerabilities(rows, exploited, &all, after, N_ROWS_AT_ONCE)?;
        let after = last_of_full(&found).map(VulnerabilityCursor::of);
        let views = found.into_iter().map(VulnerabilityView::of);
        views.for_each(|it| self.put(written, "vulnerability", &it));
        Ok(after.map(|it| ExportPart::Vulnerabilities { after: Some(it) }))
    }

    fn put_assets(
        &self,
        rows: &ClientSnapshot,
        written: &mut ExportLines,
        after: Option<AssetId>,
    ) -> Result<Option<ExportPart>> {
        let found = rows.list_assets_after(after, N_ROWS_AT_ONCE)?;
        let after = last_of_full(&found).map(|it| it.id);
        assets::views(rows, found)?.iter().for_each(|it| self.put(written, "asset", it));
        Ok(after.map(|it| ExportPart::Assets { after: Some(it) }))
    }

    fn put_requirements(&self, rows: &ClientSnapshot, written: &mut ExportLines) -> Result<()> {
        let report = self.app.client_report(rows)?;
        for framework in &report.catalog.frameworks {
            let outcome = rows.framework_outcome(framework)?;
            let level = Level::Requirement;
            let view = ClientFrameworkView::of(&report, framework, &outcome, level);
            self.put(written, "framework", &view);
        }
        Ok(())
    }
}

/// The last of these rows, if more may follow.
fn last_of_full<T>(found: &[T]) -> Option<&T> {
    found.last().filter(|_| found.len() == N_ROWS_AT_ONCE)
}

/// How far an export has come.
struct ExportProgress {
    app: Arc<App>,
    /// Of the request. The lines are read after its task has answered.
    request_id: Option<RequestId>,
    by: By<ViewExport>,
    /// Clients that are still to come. The first is being read.
    clients: VecDeque<ClientId>,
    /// Parts of the first client that are complete.
    n_parts: usize,
    /// What is left of the current part. `None`: all of it.
    rest: Option<ExportPart>,
    n_lines: u64,
    n_clients: u64,
    is_ended: bool,
}

impl ExportProgress {
    fn of(app: &Arc<App>, by: By<ViewExport>, clients: VecDeque<ClientId>) -> Self {
        let app = Arc::clone(app);
        let (n_parts, n_lines, n_clients, is_ended) = (0, 0, 0, false);
        let (rest, request_id) = (None, request::id());
        Self { app, request_id, by, clients, n_parts, rest, n_lines, n_clients, is_ended }
    }

    /// Returns the next lines, or `None` after the last one. The last line says how many there were: a reader who does not
    /// find it does not have the complete export. It is an error instead if the caller may read no further.
    async fn next(mut self) -> Option<(std::io::Result<Bytes>, Self)> {
        if self.is_ended {
            return None;
        }
        match self.read().await {
            Ok(bytes) => Some((Ok(bytes), self)),
            Err(error) if matches!(error.code, Code::Unauthenticated | Code::Forbidden) => {
                let request_id = self.request_id.as_deref();
                tracing::info!(request_id, "an export ended early: {}", error.message());
                self.is_ended = true;
                let (code, message) = (Kind::of(error.code).code, error.message());
                let refusal = json!({ "code": code, "message": message });
                Some((Ok(line(&json!({ "kind": "error", "data": refusal }))), self))
            }
            Err(error) => {
                let request_id = self.request_id.as_deref();
                tracing::error!(error = %Chain(&error), request_id, "an export failed: {}", Chain(&error));
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
            let (client, rows) = match self.app.reach_any(&self.by.again(&self.app)?, id) {
                Ok(found) => found,
                Err(error) if error.code == Code::NotFound => {
                    // It was removed since the export began.
                    self.clients.pop_front();
                    (self.n_parts, self.rest) = (0, None);
                    continue;
                }
                Err(_) => return Err(Error::forbidden(NO_LONGER)),
            };
            let source = ExportSource { app: Arc::clone(&self.app), client, rows };
            let part = self.rest.take().unwrap_or_else(|| part.clone());
            let (written, rest) = source.read(part).await?;
            self.n_parts += usize::from(rest.is_none());
            self.rest = rest;
            self.n_lines += written.n_lines;
            if written.n_lines != 0 {
                return Ok(written.bytes.into());
            }
        }
        self.is_ended = true;
        let counts = json!({ "lines": self.n_lines, "clients": self.n_clients });
        Ok(line(&json!({ "kind": "end", "data": counts })))
    }

    fn lines(self) -> Lines {
        Lines::of(stream::unfold(self, Self::next))
    }
}

/// Counts an export in the audit log.
pub(in crate::api::manage) fn tally(
    app: &App,
    (by, origin): (&Caller, &Origin),
    action: &str,
    about: String,
) {
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
    /// `risk`, `framework`, `control`, `evidence`, `statement`, `task`, `import`,
    /// `observation`, `vulnerability` and `asset`. `data` is what the other operations show. Each
    /// kind is read at a different moment. The last line is `{"kind": "end", "data": {"lines", "clients"}}`; an export without it is
    /// incomplete. If the caller loses access meanwhile, the last line is `{"kind": "error", "data": {"code", "message"}}` instead.
    /// Scope: `read:export`.
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
        Ok(ExportProgress::of(&web.app, by, [client.id].into()).lines())
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
        Ok(ExportProgress::of(&web.app, by, clients.into()).lines())
    }
}
