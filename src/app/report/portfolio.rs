//! Frameworks, scores and risks over all clients that the caller may see.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::kpi::reasons;
use super::walk::{First, Mark};
use crate::app::App;
use crate::app::client::settings::Settings;
use crate::auth::caller::Caller;
use crate::engine::fact::Status;
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::{FrameworkSummary, RowOutcome};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::{ClientId, RiskId};
use crate::page::{Cut, Page};
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::posture::{OpenRisk, ScoreEntry};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::{ClientSnapshot, Snapshot};

/// What a request asks about the portfolio.
#[derive(Clone, Copy, Debug)]
pub struct PortfolioQuery {
    pub framework: FrameworkId,
    /// A row of the framework, by its index in the catalog.
    pub row: Option<usize>,
    /// Only clients where that row has this status.
    pub status: Option<Status>,
}

/// One client's answer.
#[derive(Clone, Debug)]
pub struct PortfolioRow {
    pub client: Arc<Client>,
    pub summary: FrameworkSummary,
    /// `None` when no row was asked for.
    pub row: Option<RowOutcome>,
}

/// A client's score, and how far it is in every framework.
#[derive(Clone, Debug)]
pub struct ClientStanding {
    pub client: Arc<Client>,
    /// `None` until the first valid observation or attestation.
    pub score: Option<ScoreEntry>,
    /// In percent.
    pub coverage: u8,
    /// Open and not accepted, in the order of [`Severity::ALL`].
    pub n_risks: [u64; 4],
    /// Why it needs attention, most important first.
    pub attention: Vec<String>,
    /// In the catalog's order, and whether the client must meet it.
    pub frameworks: Vec<(FrameworkId, bool, FrameworkSummary)>,
}

/// An open risk of one of many clients.
#[derive(Clone, Debug)]
pub struct ClientRisk {
    pub client: Arc<Client>,
    pub risk: OpenRisk,
    pub references: Vec<ExternalReference>,
}

fn is_active(client: &Client) -> bool {
    client.state == ClientState::Active
}

impl App {
    /// Up to `limit` active clients after `after`, in the order in which they were added. `search`: only those that have it
    /// in their name, in upper or lower case.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_standings(
        self: &Arc<Self>,
        caller: &Caller,
        search: Option<&str>,
        after: Option<ClientId>,
        limit: u32,
    ) -> Result<Vec<ClientStanding>> {
        let app = Arc::clone(self);
        let mark = after.map(|client| Mark { client, key: String::new() });
        let search = search.map(str::to_lowercase).unwrap_or_default();
        let is_listed =
            move |it: &Client| is_active(it) && it.name.to_lowercase().contains(&search);
        self.walk(caller, (None, is_listed), mark, limit, move |rows, part| {
            let client = app.clients.directory.find(rows.id());
            let Some(client) = client.filter(|_| part.after.is_none()) else {
                return Ok(Vec::new());
            };
            Ok(vec![app.standing(rows, client)?])
        })
        .await
    }

    fn standing(&self, rows: &ClientSnapshot, client: Arc<Client>) -> Result<ClientStanding> {
        let catalog = self.catalog();
        let in_scope = Settings::of(&client.settings).frameworks();
        let summary = |it: &Framework| {
            let summary = rows.framework_outcome(it)?.summary;
            Ok((it.id, in_scope.contains(&it.id), summary))
        };
        let figures = rows.summary()?;
        Ok(ClientStanding {
            n_risks: Severity::ALL.map(|it| u64::from(figures.n_risks[it as usize])),
            attention: reasons(&figures),
            score: rows.find_score()?,
            coverage: rows.find_assessed()?.map_or(0, |it| it.coverage),
            frameworks: catalog.frameworks.iter().map(summary).collect::<Result<_>>()?,
            client,
        })
    }

    /// Up to `limit` open risks of active clients after `after`, by client and then by id. Includes accepted ones.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_risks_of_all(
        self: &Arc<Self>,
        caller: &Caller,
        severity: Option<Severity>,
        after: Option<(ClientId, RiskId)>,
        limit: u32,
    ) -> Result<Vec<ClientRisk>> {
        let app = Arc::clone(self);
        let mark = after.map(|(client, risk)| Mark { client, key: risk.to_string() });
        self.walk(caller, (None, is_active), mark, limit, move |rows, part| {
            let Some(client) = app.clients.directory.find(rows.id()) else {
                return Ok(Vec::new());
            };
            let mut first = First::of(part);
            rows.visit_risks(|risk| {
                let is_wanted = severity.is_none_or(|it| it == risk.risk.severity);
                if risk.closed.is_none() && is_wanted {
                    first.offer(&risk.id.to_string(), || risk);
                }
            })?;
            let of_client = |risk: OpenRisk| {
                let references = rows.list_references(Referenced::Risk(risk.id))?;
                Ok(ClientRisk { client: Arc::clone(&client), risk, references })
            };
            first.items.into_values().map(of_client).collect()
        })
        .await
    }

    /// A page of active clients that the caller may access, in the order in which they were added.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn page_portfolio(
        self: &Arc<Self>,
        caller: &Caller,
        question: PortfolioQuery,
        cut: Cut,
    ) -> Result<Page<PortfolioRow>> {
        let allowed = caller.allowed_clients();
        let allowed: Option<BTreeSet<ClientId>> = allowed.map(|it| it.iter().copied().collect());
        let mut clients = self.clients.directory.list();
        clients.retain(|it| {
            it.state == ClientState::Active
                && allowed.as_ref().is_none_or(|ids| ids.contains(&it.id))
        });
        let app = Arc::clone(self);
        let page = move |snapshot: &Snapshot| {
            let line = |client: Arc<Client>| app.line(snapshot, client, question);
            let Some(status) = question.status else {
                // Only the rows of the page are read.
                let Page { items, total, cut } = Page::of(clients.into_iter(), cut);
                let items = items.into_iter().map(line).collect::<Result<_>>()?;
                return Ok(Page { items, total, cut });
            };
            let mut lines = clients.into_iter().map(line).collect::<Result<Vec<_>>>()?;
            lines.retain(|it| it.row.is_some_and(|it| it.status == status));
            Ok(Page::of(lines.into_iter(), cut))
        };
        caller.acting_on(&self.store).read(page).await
    }

    fn line(
        &self,
        snapshot: &Snapshot,
        client: Arc<Client>,
        question: PortfolioQuery,
    ) -> Result<PortfolioRow> {
        let catalog = self.catalog();
        let framework = catalog.get_framework(question.framework)?;
        let outcome = snapshot.client(client.id).framework_outcome(framework)?;
        let row = question.row.map(|it| outcome.rows[it]);
        Ok(PortfolioRow { client, summary: outcome.summary, row })
    }
}
