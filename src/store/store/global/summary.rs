//! A few figures per client. The functions that write a counted row update them in the same transaction, so that a sum over
//! all clients reads one row of each.

use crate::store::kernel::figure::{ClientFigures, DeviceFigures};
use std::ops::ControlFlow;

use crate::engine::asset::{Asset, AssetStatus};
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientBatch;
use crate::store::global::task::Task;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::per_client::posture::OpenRisk;
use crate::store::per_client::roster::{HealthState, SourceHealth};
use crate::store::row_key::Span;
use crate::store::table::{ASSETS, SUMMARIES};

/// Whether something is added to the figures or removed.
#[derive(Clone, Copy, Debug)]
enum SummaryStep {
    Add,
    Remove,
}

impl SummaryStep {
    fn take(self, count: &mut u32) {
        debug_assert!(matches!(self, Self::Add) || 0 < *count, "what leaves was counted");
        *count = match self {
            Self::Add => count.saturating_add(1),
            Self::Remove => count.saturating_sub(1),
        }
    }
}

impl ClientFigures {
    fn risk(&mut self, open: &OpenRisk, step: SummaryStep) {
        if !open.is_shown() {
            return;
        }
        step.take(&mut self.n_risks[open.risk.severity as usize]);
        if open.risk.dollar_impact.is_none() {
            step.take(&mut self.n_unpriced_risks);
        }
    }

    fn asset(&mut self, asset: &Asset, step: SummaryStep) {
        if asset.status == AssetStatus::Retired {
            return;
        }
        step.take(&mut self.n_assets);
        if asset.is_critical {
            step.take(&mut self.n_critical_assets);
        }
        if !asset.is_managed {
            step.take(&mut self.n_unmanaged_assets);
        }
        let Some(devices) = &mut self.devices else { return };
        let counts = asset.device_counts();
        for (n, figure) in [
            (counts.n_computers, &mut devices.computers),
            (counts.n_servers, &mut devices.servers),
            (counts.n_phones, &mut devices.phones),
            (counts.n_addressed, &mut devices.addressed),
        ] {
            if n != 0 {
                step.take(figure);
            }
        }
    }

    fn task(&mut self, task: &Task, step: SummaryStep) {
        if !task.status.is_open() {
            return;
        }
        step.take(&mut self.n_tasks);
        if task.missed.is_some() && task.missed == task.due_at {
            step.take(&mut self.n_overdue_tasks);
        }
    }

    fn source(&mut self, health: &SourceHealth, step: SummaryStep) {
        match health.state {
            HealthState::Failing => step.take(&mut self.n_failing_sources),
            HealthState::Silent => step.take(&mut self.n_silent_sources),
            HealthState::Healthy | HealthState::Degraded => (),
        }
    }
}

impl<R: Rows> Transaction<R> {
    /// The figures of all clients that were ever written, by client.
    pub fn list_summaries(&self) -> Result<Vec<(ClientId, ClientFigures)>> {
        let mut found = Vec::new();
        self.rows.visit_rows(SUMMARIES, &Span::all(), &mut |key, bytes| {
            let id = key.try_into().expect("every key of this table is a client id");
            found.push((ClientId::from_bytes(id), self.rows.open_row(SUMMARIES, key, bytes)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// The client's figures as of this transaction. They are stored once anything of the client was written.
    pub fn summary(&self) -> Result<ClientFigures> {
        let stored = self.rows.find_row(SUMMARIES, self.client.as_bytes())?;
        let stored: Option<ClientFigures> = stored;
        stored.filter(|it| it.devices.is_some()).map_or_else(|| self.count_summary(), Ok)
    }

    /// Computes the figures from the rows that they count.
    pub fn count_summary(&self) -> Result<ClientFigures> {
        let mut summary = ClientFigures {
            score: self.find_score()?.map(|it| it.score.overall),
            coverage: self.find_assessed()?.map_or(0, |it| it.coverage),
            exposure: self.find_expected_loss()?.map_or(0, |it| it.exposure()),
            devices: Some(DeviceFigures::default()),
            ..ClientFigures::default()
        };
        for framework in self.list_frameworks()? {
            if let Some(index) = framework.id.contract_index() {
                summary.readiness[index] = framework.summary.readiness;
            }
        }
        self.list_risks()?.iter().for_each(|it| summary.risk(it, SummaryStep::Add));
        self.list_open_tasks()?.iter().for_each(|it| summary.task(it, SummaryStep::Add));
        self.list_source_health()?.iter().for_each(|it| summary.source(it, SummaryStep::Add));
        let assets = ASSETS.name(self.client);
        self.rows.visit_rows(&assets, &Span::all(), &mut |key, bytes| {
            summary.asset(&self.rows.open_row(&assets, key, bytes)?, SummaryStep::Add);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(summary)
    }
}

impl ClientBatch<'_> {
    /// The client's figures with what this transaction changed.
    pub fn figures(&self) -> Result<ClientFigures> {
        match self.rows.summaries.get(&self.client) {
            Some(known) => Ok(*known),
            None => self.summary(),
        }
    }
}

/// Call each of these before the row that it counts is written.
impl ClientBatch<'_> {
    /// Changes the client's figures. They are stored with the transaction.
    pub(in crate::store) fn count(
        &mut self,
        change: impl FnOnce(&mut ClientFigures),
    ) -> Result<()> {
        let mut summary = self.figures()?;
        change(&mut summary);
        self.rows.summaries.insert(self.client, summary);
        Ok(())
    }

    pub(in crate::store) fn count_risk(
        &mut self,
        before: Option<&OpenRisk>,
        after: Option<&OpenRisk>,
    ) -> Result<()> {
        self.count(|it| turn(before, after, |risk, step| it.risk(risk, step)))
    }

    pub(in crate::store) fn count_asset(
        &mut self,
        before: Option<&Asset>,
        after: &Asset,
    ) -> Result<()> {
        self.count(|it| turn(before, Some(after), |asset, step| it.asset(asset, step)))
    }

    pub(in crate::store) fn count_task(
        &mut self,
        before: Option<&Task>,
        after: &Task,
    ) -> Result<()> {
        self.count(|it| turn(before, Some(after), |task, step| it.task(task, step)))
    }

    pub(in crate::store) fn count_source(
        &mut self,
        before: Option<&SourceHealth>,
        after: Option<&SourceHealth>,
    ) -> Result<()> {
        self.count(|it| turn(before, after, |health, step| it.source(health, step)))
    }
}

/// Removes the old row from the figures and adds the new one.
fn turn<T>(before: Option<&T>, after: Option<&T>, mut take: impl FnMut(&T, SummaryStep)) {
    if let Some(it) = before {
        take(it, SummaryStep::Remove);
    }
    if let Some(it) = after {
        take(it, SummaryStep::Add);
    }
}
