//! Frameworks, scores and risks over all clients that the caller may see.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::known;
use super::known::{Nothing, Version};
use super::kpi::reasons;
use super::walk::{First, Mark};
use crate::app::App;
use crate::app::client::settings::Settings;
use crate::app::report::posture::rule_changes;
use crate::auth::caller::Caller;
use crate::engine::fact::Status;
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::{FrameworkSummary, RowOutcome};
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::id::{ClientId, RiskId};
use crate::page::{Cut, Page};
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::posture::{OpenRisk, ScoreEntry};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::{ClientSnapshot, Snapshot};
use crate::text::name_key;

/// How many days ago the score is that the present one is compared with.
pub const TREND_DAYS: i64 = 30;

/// A report of more clients is refused: it is made in memory.
pub const N_REPORTED_MAX: usize = 10_000;

/// # Errors
/// `Conflict` if a report would have more than [`N_REPORTED_MAX`] clients.
pub fn require_reportable(n_clients: usize) -> Result<()> {
    if N_REPORTED_MAX < n_clients {
        let most = format!("a report has at most {N_REPORTED_MAX} clients");
        return Err(Error::conflict(format!("{most}; use GET /api/portfolio/scores")));
    }
    Ok(())
}

/// One report about all clients is made at a time: a large one takes much memory.
pub(in crate::app) struct PortfolioTurns(Semaphore);

impl Default for PortfolioTurns {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

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
    /// By which the service provider sorts its clients.
    pub tags: Vec<String>,
    /// `None` until the first valid observation or attestation.
    pub score: Option<ScoreEntry>,
    /// The overall score [`TREND_DAYS`] ago. `None`: there was none.
    pub score_before: Option<u8>,
    /// In percent.
    pub coverage: u8,
    /// Dollars per year. 0 if it is not known.
    pub exposure: u64,
    /// Open risks, not accepted, without a dollar impact.
    pub n_unpriced_risks: u32,
    /// Open and not accepted, in the order of [`Severity::ALL`].
    pub n_risks: [u64; 4],
    /// Decisions of people that are contradicted by what was seen.
    pub n_contradictions: u32,
    /// Why it needs attention, most important first.
    pub attention: Vec<String>,
    /// In the catalog's order, and whether the client must meet it.
    pub frameworks: Vec<(FrameworkId, bool, FrameworkSummary)>,
}

/// Which clients are listed, and how.
#[derive(Clone, Debug, Default)]
pub struct StandingList {
    /// Only those that have it in their name. In lower case, as it is compared. Empty: all.
    pub search: String,
    /// Only those of this industry. In lower case, as it is compared.
    pub industry: Option<String>,
    /// Only those with a tag of this [`name_key`].
    pub tag: Option<String>,
    /// Only those that must meet it.
    pub framework: Option<FrameworkId>,
    pub order: ClientOrder,
    /// It continues after this client.
    pub after: Option<ClientId>,
}

/// What clients are listed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientOrder {
    /// When they were added, oldest first.
    #[default]
    Added,
    /// Their names, in the order of the alphabet.
    Name,
    /// Their scores, lowest first. Those without a score are last.
    Score,
    /// How much of them is assessed, least first.
    Coverage,
    /// Their open risks that are not accepted: the most critical ones first, then the most high ones, and so on.
    Risks,
}

impl ClientOrder {
    pub const ALL: [Self; 5] = [Self::Added, Self::Name, Self::Score, Self::Coverage, Self::Risks];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Name => "name",
            Self::Score => "score",
            Self::Coverage => "coverage",
            Self::Risks => "risks",
        }
    }

    /// Sorts clients that are in the order in which they were added.
    fn sort(self, clients: &mut [Arc<Client>], snapshot: &Snapshot) -> Result<()> {
        let figures = match self {
            Self::Added | Self::Name => HashMap::new(),
            Self::Score | Self::Coverage | Self::Risks => {
                snapshot.list_summaries()?.into_iter().collect()
            }
        };
        let of = |it: &Arc<Client>| figures.get(&it.id).copied().unwrap_or_default();
        match self {
            Self::Added => (),
            Self::Name => clients.sort_by_cached_key(|it| it.name.to_lowercase()),
            Self::Score => clients.sort_by_cached_key(|it| {
                let score = of(it).score;
                (score.is_none(), score)
            }),
            Self::Coverage => clients.sort_by_cached_key(|it| of(it).coverage),
            Self::Risks => clients.sort_by_cached_key(|it| {
                let n_risks = of(it).n_risks;
                Reverse(Severity::ALL.map(|severity| n_risks[severity as usize]))
            }),
        }
        Ok(())
    }

    /// Where the list continues after a client.
    fn place_after(self, clients: &[Arc<Client>], after: ClientId) -> Result<usize> {
        if self == Self::Added {
            return Ok(clients.partition_point(|it| it.id <= after));
        }
        let place = clients.iter().position(|it| it.id == after);
        let rule = "must be a client of the list; it is no longer there, so start again without it";
        place.map(|it| it + 1).ok_or_else(|| Error::invalid_field("after", rule))
    }
}

impl StandingList {
    fn has(&self, client: &Client) -> bool {
        let industry = || client.industry.as_deref().unwrap_or_default().to_lowercase();
        client.name.to_lowercase().contains(&self.search)
            && self.industry.as_ref().is_none_or(|it| *it == industry())
            && self.has_set(client)
    }

    fn has_set(&self, client: &Client) -> bool {
        if self.framework.is_none() && self.tag.is_none() {
            return true; // The settings of many clients take long to read.
        }
        let settings = Settings::of(&client.settings);
        let is_tagged = |tag: &String| settings.tags().iter().any(|it| name_key(it) == *tag);
        self.framework.is_none_or(|it| settings.frameworks().contains(&it))
            && self.tag.as_ref().is_none_or(is_tagged)
    }
}

/// An open risk of one of many clients.
#[derive(Clone, Debug)]
pub struct ClientRisk {
    pub client: Arc<Client>,
    pub risk: OpenRisk,
    pub references: Vec<ExternalReference>,
}

pub(super) fn is_active(client: &Client) -> bool {
    client.state == ClientState::Active
}

impl App {
    /// Waits until no other report about all clients is made, for as long as the answer is held.
    ///
    /// # Errors
    /// None: it is never closed.
    pub async fn portfolio_turn(&self) -> Result<SemaphorePermit<'_>> {
        self.portfolio_turns.0.acquire().await.map_err(Error::internal)
    }

    /// Up to `limit` active clients of a list.
    ///
    /// # Errors
    /// `Invalid` if the list has no client to continue after; `Unavailable` if the database is not available.
    pub async fn list_standings(
        self: &Arc<Self>,
        caller: &Caller,
        list: StandingList,
        limit: u32,
    ) -> Result<Vec<ClientStanding>> {
        let mut clients = self.clients.directory.list();
        clients.retain(|it| is_active(it) && caller.may_reach(it.id));
        let app = Arc::clone(self);
        let read = move |snapshot: &Snapshot| {
            // Settings of many clients take too long to read for an async thread.
            clients.retain(|it| list.has(it));
            list.order.sort(&mut clients, snapshot)?;
            let first = list.after.map_or(Ok(0), |it| list.order.place_after(&clients, it))?;
            let wanted = clients.into_iter().skip(first).take(limit as usize);
            wanted.map(|it| app.standing(&snapshot.client(it.id), it)).collect()
        };
        caller.acting_on(&self.store).read(read).await
    }

    fn standing(&self, rows: &ClientSnapshot, client: Arc<Client>) -> Result<ClientStanding> {
        let catalog = self.catalog();
        let settings = Settings::of(&client.settings);
        let in_scope = settings.frameworks();
        let summary = |it: &Framework| {
            let summary = rows.framework_outcome(it)?.summary;
            Ok((it.id, in_scope.contains(&it.id), summary))
        };
        let figures = rows.summary()?;
        let before = rows.find_day_before(self.clock.now().plus_days(1 - TREND_DAYS))?;
        let is_comparable = |it: &ScoreEntry| {
            let rules = rule_changes(rows, it.calculated_at)?;
            Ok::<_, Error>(rules.iter().all(|changed| changed.at == it.calculated_at))
        };
        let before = match before {
            Some(it) if is_comparable(&it)? => Some(it),
            Some(_) | None => None,
        };
        Ok(ClientStanding {
            tags: settings.tags().into_iter().map(str::to_owned).collect(),
            score_before: before.map(|it| it.score.overall),
            exposure: figures.exposure,
            n_unpriced_risks: figures.n_unpriced_risks,
            n_risks: Severity::ALL.map(|it| u64::from(figures.n_risks[it as usize])),
            n_contradictions: rows.find_n_contradictions()?.unwrap_or(0),
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
        let nothing = Some(Nothing::Risk(severity));
        self.walk(caller, (None, is_active), nothing, mark, limit, move |rows, part| {
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
        let mut versions = Vec::new();
        if question.status.is_some() {
            versions.extend(clients.iter().map(|it| known::version(&self.store, it.id)));
        }
        let app = Arc::clone(self);
        let page = move |snapshot: &Snapshot| {
            if let (Some(status), Some(row)) = (question.status, question.row) {
                let catalog = app.catalog();
                let framework = catalog.get_framework(question.framework)?;
                let mut found = Vec::new();
                for (client, version) in clients.into_iter().zip(versions) {
                    let rows = snapshot.client(client.id);
                    if app.statuses(&rows, framework, version)?[row] == status {
                        found.push(client);
                    }
                }
                clients = found;
            }
            // Only the rows of the page are read in full.
            let Page { items, total, cut } = Page::of(clients.into_iter(), cut);
            let line = |client: Arc<Client>| app.line(snapshot, client, question);
            let items = items.into_iter().map(line).collect::<Result<_>>()?;
            Ok(Page { items, total, cut })
        };
        caller.acting_on(&self.store).read(page).await
    }

    /// The statuses of a client in a framework, row by row.
    fn statuses(
        &self,
        rows: &ClientSnapshot,
        framework: &Framework,
        version: Version,
    ) -> Result<Arc<[Status]>> {
        let (client, digest) = (rows.id(), framework.digest);
        if let Some(known) = self.known.statuses(client, digest, version) {
            return Ok(known);
        }
        let outcome = rows.framework_outcome(framework)?;
        let statuses: Arc<[Status]> = outcome.rows.iter().map(|it| it.status).collect();
        self.known.keep_statuses(client, digest, (version, Arc::clone(&statuses)));
        Ok(statuses)
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
