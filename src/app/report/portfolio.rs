//! One framework over all clients that the caller may see.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::engine::fact::Status;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::{FrameworkSummary, RowOutcome};
use crate::error::Result;
use crate::id::ClientId;
use crate::page::{Cut, Page};
use crate::store::Snapshot;
use crate::store::global::client::{Client, ClientState};

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

impl App {
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
        let outcome = self.framework_outcome(&snapshot.client(client.id), framework)?;
        let row = question.row.map(|it| outcome.rows[it]);
        Ok(PortfolioRow { client, summary: outcome.summary, row })
    }
}
