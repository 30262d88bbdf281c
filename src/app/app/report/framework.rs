//! One client's compliance with one framework, as reports tell it: each requirement with what keeps it from being
//! compliant, and each control with what its result is based on.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::because::Reason;
use super::client::ClientReport;
use super::observation::{ObservationFilter, list_observations};
use crate::app::App;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::engine::catalog::Catalog;
use crate::engine::contradiction::{Contradiction, DecidedThing};
use crate::engine::control::controls_of;
use crate::engine::fact::{Attestation, RowDecision};
use crate::engine::framework::{ControlRole, Framework, FrameworkId, FrameworkRow, Level};
use crate::engine::posture::{ControlOutcome, FrameworkSummary, PartialBecause, RowOutcome};
use crate::error::Result;
use crate::paper::Language;
use crate::store::ClientSnapshot;
use crate::store::global::client::Client;
use crate::store::per_client::evidence::Evidence;

/// How many observations are read at once.
const N_OBSERVATIONS_AT_ONCE: usize = 1_000;

/// Everything that a report says about one client and one framework.
pub struct FrameworkReport {
    pub msp_id: String,
    pub client: Arc<Client>,
    pub framework: Framework,
    pub summary: FrameworkSummary,
    /// In the framework's order, without its details.
    pub requirements: Vec<ReportedRequirement>,
    /// Those that count for a requirement, by their index in the catalog.
    pub controls: BTreeMap<usize, ReportedControl>,
    /// Decisions about its requirements and their controls that are contradicted by what was seen.
    pub contradictions: Vec<Contradiction>,
    pub now: Time,
    /// Where the days of the client end.
    pub zone: Zone,
}

/// One requirement of the framework.
pub struct ReportedRequirement {
    /// Index into [`Framework::rows`].
    pub row: usize,
    pub outcome: RowOutcome,
    /// `None`: it is not partial.
    pub partial_because: Option<PartialBecause>,
    /// Each thing that keeps it from being compliant.
    pub because: Vec<Reason>,
    /// `None`: nothing was decided, or it has expired.
    pub decision: Option<RowDecision>,
    /// Keys of [`FrameworkReport::controls`], in their order.
    pub controls: Vec<(usize, ControlRole)>,
}

/// One control, and what its result is based on.
pub struct ReportedControl {
    pub title: String,
    pub outcome: ControlOutcome,
    /// `None`: nothing was attested, or it has expired.
    pub attestation: Option<Attestation>,
    /// The valid entries of the register.
    pub evidence: Vec<Evidence>,
    /// When each source last saw it, by the source's name.
    pub sources: BTreeMap<String, Time>,
}

impl ReportedControl {
    /// When it was last seen or attested, whether or not that still counts. `None`: never.
    #[must_use]
    pub fn last_seen_at(&self) -> Option<Time> {
        self.sources.values().copied().chain(self.outcome.assessed_at).max()
    }
}

impl ReportedRequirement {
    /// One sentence for each thing that keeps it from being compliant, as the API says it.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.because.iter().map(|it| it.text(Language::English)).collect()
    }
}

impl FrameworkReport {
    #[must_use]
    pub fn row(&self, requirement: &ReportedRequirement) -> &FrameworkRow {
        &self.framework.rows[requirement.row]
    }

    /// The controls of a requirement, in their order.
    pub fn controls_of(
        &self,
        requirement: &ReportedRequirement,
    ) -> impl Iterator<Item = (&ReportedControl, ControlRole)> {
        requirement.controls.iter().map(|(index, role)| (&self.controls[index], *role))
    }
}

impl App {
    /// Reads what a report says about a client and a framework.
    ///
    /// # Errors
    /// `NotFound` if there is no such client or framework.
    pub fn framework_report(
        &self,
        rows: &ClientSnapshot,
        client: Arc<Client>,
        id: FrameworkId,
    ) -> Result<FrameworkReport> {
        let report = self.client_report(rows)?;
        let catalog = Arc::clone(&report.catalog);
        let framework = catalog.get_framework(id)?;
        let outcome = rows.framework_outcome(framework)?;
        let requirements = requirements(&report, framework, &outcome.rows);
        let mapped = requirements.iter().flat_map(|it| it.controls.iter().map(|it| it.0));
        let mut controls: BTreeMap<_, _> =
            mapped.map(|index| (index, reported(&report, index))).collect();
        add_sources(rows, &catalog, &mut controls)?;
        let is_about = |it: &Contradiction| match &it.about {
            DecidedThing::Control(code) => controls.values().any(|it| it.outcome.code == *code),
            DecidedThing::Row { framework, .. } => *framework == id,
            DecidedThing::Platform(_) => false,
        };
        let mut contradictions = rows.list_contradictions()?;
        contradictions.retain(is_about);
        Ok(FrameworkReport {
            msp_id: self.msp_id().to_owned(),
            zone: self.time_zone_of(client.id),
            client,
            framework: framework.clone(),
            summary: outcome.summary,
            requirements,
            controls,
            contradictions,
            now: report.now,
        })
    }
}

fn requirements(
    report: &ClientReport,
    framework: &Framework,
    outcomes: &[RowOutcome],
) -> Vec<ReportedRequirement> {
    let input = report.reasons();
    let rows = framework.mappings().into_iter().zip(outcomes).enumerate();
    let rows = rows.filter(|(row, _)| framework.rows[*row].level == Level::Requirement);
    rows.map(|(row, (mappings, outcome))| {
        let decision = report.find_decision(framework.id, &framework.rows[row].reference);
        let is_valid = |it: &&RowDecision| it.until.is_none_or(|end| report.now < end);
        ReportedRequirement {
            row,
            outcome: *outcome,
            partial_because: input.partial_because(&mappings, *outcome),
            because: input.because(&mappings, *outcome, decision),
            decision: decision.filter(is_valid).cloned(),
            controls: mappings.into_iter().map(|it| (it.control, it.role)).collect(),
        }
    })
    .collect()
}

fn reported(report: &ClientReport, index: usize) -> ReportedControl {
    let control = &report.catalog.controls[index];
    ReportedControl {
        title: control.title.clone(),
        outcome: report.controls[index].clone(),
        attestation: report.find_attestation(&control.code),
        evidence: report.evidence_of(&control.code).cloned().collect(),
        sources: BTreeMap::new(),
    }
}

/// Adds when each source last saw each of these controls.
fn add_sources(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    controls: &mut BTreeMap<usize, ReportedControl>,
) -> Result<()> {
    let wanted = Some(controls.keys().copied().collect());
    let filter = ObservationFilter { controls: wanted, ..ObservationFilter::default() };
    let mut after = None;
    loop {
        let limit = N_OBSERVATIONS_AT_ONCE;
        let found = list_observations(rows, catalog, &filter, after.as_ref(), limit)?;
        for (_, seen) in &found {
            for index in controls_of(catalog, seen) {
                let Some(control) = controls.get_mut(&index) else { continue };
                let last = control.sources.entry(seen.source.clone()).or_insert(seen.observed_at);
                *last = (*last).max(seen.observed_at);
            }
        }
        if found.len() < limit {
            return Ok(());
        }
        after = found.into_iter().last().map(|it| it.0);
    }
}
