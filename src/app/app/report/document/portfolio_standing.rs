//! What the report about all clients says, as numbers.

use std::sync::Arc;

use super::standing::{QUARTER_DAYS, Quarter, count_risk};
use crate::app::App;
use crate::app::client::settings::Settings;
use crate::app::report::kpi::weight;
use crate::app::report::portfolio::{is_active, require_reportable};
use crate::app::report::posture::rule_changes;
use crate::app::report::walk::Mark;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::engine::posture::Score;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;
use crate::store::global::client::Client;
use crate::store::{ClientFigures, ClientSnapshot};

/// Days of which one has the first score of a client that was added in the quarter.
const N_DAYS: u32 = 92;

pub(super) struct PortfolioStanding {
    pub(super) now: Time,
    pub(super) zone: Zone,
    /// Lowest score first, those without one last. Ties are ordered by name.
    pub(super) clients: Vec<ClientLine>,
}

/// What is said of one client.
pub(super) struct ClientLine {
    pub(super) name: String,
    /// `None` until the first valid observation or attestation.
    pub(super) score: Option<Score>,
    pub(super) figures: ClientFigures,
    /// As [`weight`] of the figures. All zeros: it needs no attention.
    pub(super) weight: [u32; 5],
    /// Its requirements are not told apart.
    pub(super) quarter: Quarter,
    /// The framework in scope with the lowest readiness, and that readiness.
    pub(super) worst: Option<(String, u8)>,
}

impl ClientLine {
    /// The score at the start of the quarter, if there was one then, or when the rules of assessment changed in it.
    pub(super) fn before(&self, now: Time) -> Option<u8> {
        let since = now.plus_days(-QUARTER_DAYS);
        let is_compared = |at: Time| at <= since || self.quarter.rules_changed_at == Some(at);
        self.quarter.start.filter(|it| is_compared(it.0)).map(|it| it.1)
    }

    /// How far the score moved since then.
    pub(super) fn moved(&self, now: Time) -> Option<i16> {
        let to = self.score.as_ref()?.overall;
        Some(i16::from(to) - i16::from(self.before(now)?))
    }
}

impl App {
    /// Reads what the report says about the active clients that the caller may access.
    ///
    /// # Errors
    /// `Conflict` if there are too many for a report; `Unavailable` if the database is not available.
    pub(super) async fn portfolio_standing(
        self: &Arc<Self>,
        caller: &Caller,
    ) -> Result<PortfolioStanding> {
        let now = self.clock.now();
        let mut clients: Vec<ClientLine> = Vec::new();
        let mut after = None;
        loop {
            let app = Arc::clone(self);
            let mark = after.map(|client| Mark { client, key: String::new() });
            let line = move |rows: &ClientSnapshot| {
                let client = app.clients.directory.find(rows.id());
                client.map(|it| app.client_line(rows, &it, now)).transpose()
            };
            let some = self.walk(
                caller,
                (None, is_active),
                None,
                mark,
                PULL_LIMIT_MAX,
                move |rows, part| {
                    let line = if part.after.is_none() { line(rows)? } else { None };
                    Ok(line.map(|it| (rows.id(), it)).into_iter().collect())
                },
            );
            let some = some.await?;
            let is_end = some.len() < PULL_LIMIT_MAX as usize;
            after = some.last().map(|it| it.0);
            clients.extend(some.into_iter().map(|it| it.1));
            require_reportable(clients.len())?;
            if is_end {
                break;
            }
        }
        let score = |it: &ClientLine| it.score.as_ref().map_or(u8::MAX, |it| it.overall);
        clients.sort_by_cached_key(|it| (score(it), it.name.to_lowercase(), it.name.clone()));
        Ok(PortfolioStanding { now, zone: self.time_zone(), clients })
    }

    fn client_line(&self, rows: &ClientSnapshot, client: &Client, now: Time) -> Result<ClientLine> {
        let since = now.plus_days(-QUARTER_DAYS);
        let first = match rows.find_day_before(since)? {
            Some(it) => Some(it),
            None => rows.list_days(N_DAYS)?.pop(),
        };
        let start = first.map(|it| (it.calculated_at, it.score.overall));
        let rules = rule_changes(rows, start.map_or(since, |it| it.0))?;
        let mut quarter = Quarter::of(&rules, start);
        rows.visit_risks(|it| count_risk(&it, since, &mut quarter))?;
        let in_scope = Settings::of(&client.settings).frameworks();
        let catalog = self.catalog();
        let mut worst: Option<(String, u8)> = None;
        for it in catalog.frameworks.iter().filter(|it| in_scope.contains(&it.id)) {
            let readiness = rows.framework_outcome(it)?.summary.readiness;
            if worst.as_ref().is_none_or(|worst| readiness < worst.1) {
                worst = Some((it.name.clone(), readiness));
            }
        }
        let figures = rows.summary()?;
        Ok(ClientLine {
            name: client.name.clone(),
            score: rows.find_score()?.map(|it| it.score),
            weight: weight(&figures),
            figures,
            quarter,
            worst,
        })
    }
}
