//! Figures over all clients that the caller may see, computed on request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::app::App;
use crate::app::client::settings::Settings;
use crate::auth::caller::Caller;
use crate::engine::catalog::Catalog;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::Score;
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientFigures;
use crate::store::Snapshot;
use crate::store::global::client::{Client, ClientState};
use crate::store::global::scan::Scan;
use crate::store::global::webhook::{Disabling, WebhookState};

/// How many clients are named as needing attention.
pub const N_ATTENTION: usize = 10;
/// A score below this needs attention.
const SCORE_MIN: u8 = 60;

/// Figures of active clients, except for `n_clients`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kpis {
    /// Includes inactive clients.
    pub n_clients: u32,
    pub n_active: u32,
    pub n_scored: u32,
    /// The mean over clients that have a score, rounded down.
    pub mean_score: Option<u8>,
    /// Clients by grade: A, B, C, D, F.
    pub n_by_grade: [u32; 5],
    /// The mean over all clients, rounded down. Clients without an assessment count as 0.
    pub mean_coverage: Option<u8>,
    pub readiness: Vec<MeanReadiness>,
    /// Everything that is counted rather than averaged.
    pub sums: Sums,
    /// `None`: the caller may not see them.
    pub n_failing_webhooks: Option<u32>,
    /// Queued and running ones.
    pub n_open_scans: u32,
    /// The clients that need attention most, most urgent first.
    pub attention: Vec<Attention>,
}

/// One framework over the clients that must meet it and have a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanReadiness {
    pub framework: FrameworkId,
    pub n_clients: u32,
    /// Rounded down. `None`: no client counts.
    pub mean: Option<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// By severity, in the order of [`Severity::ALL`].
    pub n_risks: [u64; 4],
    /// Dollars per year.
    pub exposure: u64,
    pub n_unpriced_risks: u64,
    pub n_assets: u64,
    pub n_critical_assets: u64,
    pub n_unmanaged_assets: u64,
    pub n_tasks: u64,
    pub n_overdue_tasks: u64,
    pub n_failing_sources: u64,
    pub n_silent_sources: u64,
}

/// A client that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    pub client: ClientId,
    pub name: String,
    /// In words, most important first.
    pub reasons: Vec<String>,
}

/// A mean under construction.
#[derive(Clone, Copy, Default)]
pub(super) struct Mean {
    sum: u64,
    n: u32,
}

impl Mean {
    fn add(&mut self, value: u8) {
        self.sum += u64::from(value);
        self.n += 1;
    }

    /// Rounded down. `None`: of nothing.
    pub(super) fn value(self) -> Option<u8> {
        let mean = self.sum.checked_div(u64::from(self.n))?;
        Some(u8::try_from(mean).expect("a mean of numbers up to 255 is at most 255"))
    }
}

impl FromIterator<u8> for Mean {
    fn from_iter<I: IntoIterator<Item = u8>>(all: I) -> Self {
        let mut mean = Self::default();
        all.into_iter().for_each(|it| mean.add(it));
        mean
    }
}

impl Sums {
    fn add(&mut self, it: &ClientFigures) {
        for (sum, severity) in self.n_risks.iter_mut().zip(Severity::ALL) {
            *sum += u64::from(it.n_risks[severity as usize]);
        }
        self.exposure = self.exposure.saturating_add(it.exposure);
        self.n_unpriced_risks += u64::from(it.n_unpriced_risks);
        self.n_assets += u64::from(it.n_assets);
        self.n_critical_assets += u64::from(it.n_critical_assets);
        self.n_unmanaged_assets += u64::from(it.n_unmanaged_assets);
        self.n_tasks += u64::from(it.n_tasks);
        self.n_overdue_tasks += u64::from(it.n_overdue_tasks);
        self.n_failing_sources += u64::from(it.n_failing_sources);
        self.n_silent_sources += u64::from(it.n_silent_sources);
    }
}

impl App {
    /// Sums up the allowed clients (`None`: all).
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn kpis(&self, caller: &Caller) -> Result<Kpis> {
        let allowed = caller.allowed_clients();
        let allowed: Option<BTreeSet<ClientId>> = allowed.map(|it| it.iter().copied().collect());
        let is_allowed = |it: &Arc<Client>| {
            it.state != ClientState::Erasing
                && allowed.as_ref().is_none_or(|ids| ids.contains(&it.id))
        };
        let mut clients = self.clients.directory.list();
        clients.retain(is_allowed);
        let sees_all = allowed.is_none();
        let catalog = self.catalog();
        let sum = move |snapshot: &Snapshot| {
            let n_clients = n(clients.len());
            let is_seen = |it: &Scan| match it.client {
                Some(id) => clients.iter().any(|client| client.id == id),
                None => sees_all,
            };
            let n_open_scans =
                n(snapshot.list_open_scans()?.iter().filter(|it| is_seen(it)).count());
            clients.retain(|it| it.state == ClientState::Active);
            let mut kpis = sum(&counted(snapshot, &catalog, clients)?);
            (kpis.n_clients, kpis.n_open_scans) = (n_clients, n_open_scans);
            if sees_all {
                kpis.n_failing_webhooks = Some(n_failing_webhooks(snapshot)?);
            }
            Ok(kpis)
        };
        caller.acting_on(&self.store).read(sum).await
    }
}

/// Counts the webhooks that are failing, and those that were disabled other than by an operator.
fn n_failing_webhooks(snapshot: &Snapshot) -> Result<u32> {
    let mut n_failing = 0;
    for webhook in snapshot.list_webhooks()? {
        n_failing += u32::from(match webhook.state {
            WebhookState::Enabled { .. } => {
                snapshot.find_delivery_queue(webhook.id)?.failing_since.is_some()
            }
            WebhookState::Disabled { why, .. } => why != Disabling::Operator,
            WebhookState::Removing => false,
        });
    }
    Ok(n_failing)
}

fn n(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A client with its figures.
struct Counted {
    client: Arc<Client>,
    figures: ClientFigures,
    /// Of the frameworks that it must meet.
    readiness: Vec<(FrameworkId, u8)>,
}

fn counted(
    snapshot: &Snapshot,
    catalog: &Catalog,
    clients: Vec<Arc<Client>>,
) -> Result<Vec<Counted>> {
    let kept: HashMap<ClientId, ClientFigures> = snapshot.list_summaries()?.into_iter().collect();
    let count = |client: Arc<Client>| {
        let rows = snapshot.client(client.id);
        let figures = match kept.get(&client.id) {
            Some(figures) => *figures,
            None => rows.count_summary()?,
        };
        let mut readiness = Vec::new();
        for id in Settings::of(&client.settings).frameworks() {
            let score = match id.contract_index() {
                Some(index) => figures.readiness[index],
                None => match catalog.find_framework(id) {
                    Some(it) => rows.framework_outcome(it)?.summary.readiness,
                    None => continue,
                },
            };
            readiness.push((id, score));
        }
        Ok(Counted { client, figures, readiness })
    };
    clients.into_iter().map(count).collect()
}

/// Figures of these clients alone.
fn sum(clients: &[Counted]) -> Kpis {
    let mut sums = Sums::default();
    let (mut score, mut coverage) = (Mean::default(), Mean::default());
    let mut readiness: BTreeMap<FrameworkId, Mean> =
        FrameworkId::CONTRACT.map(|it| (it, Mean::default())).into();
    let mut n_by_grade = [0; 5];
    for Counted { figures: summary, readiness: ready, .. } in clients {
        sums.add(summary);
        coverage.add(summary.coverage);
        let Some(overall) = summary.score else { continue };
        score.add(overall);
        n_by_grade[grade(overall)] += 1;
        for (framework, score) in ready {
            readiness.entry(*framework).or_default().add(*score);
        }
    }
    let readiness = readiness.into_iter();
    Kpis {
        n_clients: n(clients.len()),
        n_active: n(clients.len()),
        n_scored: score.n,
        mean_score: score.value(),
        n_by_grade,
        mean_coverage: coverage.value(),
        readiness: readiness
            .map(|(framework, it)| MeanReadiness { framework, n_clients: it.n, mean: it.value() })
            .collect(),
        sums,
        n_failing_webhooks: None,
        n_open_scans: 0,
        attention: attention(clients),
    }
}

/// The names of grades, best first.
pub const GRADES: [&str; 5] = ["A", "B", "C", "D", "F"];

fn grade(overall: u8) -> usize {
    let name = Score::grade_of(overall);
    GRADES.iter().position(|it| *it == name).expect("every grade is one of these")
}

/// What decides how much attention a client needs, most important first: critical risks, sources that are failing or
/// silent, tasks that are overdue, how far its score is below [`SCORE_MIN`], high risks. Ties are sorted by name.
pub(super) fn weight(it: &ClientFigures) -> [u32; 5] {
    [
        it.n_risks[Severity::Critical as usize],
        it.n_failing_sources + it.n_silent_sources,
        it.n_overdue_tasks,
        it.score.map_or(0, |score| u32::from(SCORE_MIN.saturating_sub(score))),
        it.n_risks[Severity::High as usize],
    ]
}

fn attention(clients: &[Counted]) -> Vec<Attention> {
    let weighed = clients.iter().map(|it| (weight(&it.figures), &it.client, &it.figures));
    let mut all: Vec<_> = weighed.filter(|(weight, ..)| *weight != [0; 5]).collect();
    let order = |(weight, client, _): &([u32; 5], &Arc<Client>, &ClientFigures)| {
        (Reverse(*weight), client.name.clone(), client.id)
    };
    if N_ATTENTION < all.len() {
        all.select_nth_unstable_by_key(N_ATTENTION, order);
        all.truncate(N_ATTENTION);
    }
    all.sort_by_key(order);
    let shown = all.into_iter().map(|(_, client, summary)| Attention {
        client: client.id,
        name: client.name.clone(),
        reasons: reasons(summary),
    });
    shown.collect()
}

/// Why a client needs attention, most important first. Empty: it does not.
pub(super) fn reasons(it: &ClientFigures) -> Vec<String> {
    let counted = |n: u32, one: &str, more: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {more}")),
    };
    let [critical, sources, overdue, below, high] = weight(it);
    let score = (below != 0).then_some(it.score).flatten();
    let all = [
        counted(critical, "critical risk", "critical risks"),
        counted(sources, "source failing or silent", "sources failing or silent"),
        counted(overdue, "task overdue", "tasks overdue"),
        score.map(|it| format!("score {it}")),
        counted(high, "high risk", "high risks"),
    ];
    all.into_iter().flatten().collect()
}
