//! What the reports about one client read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::because::{OpenQuestion, ReasonInput};
use crate::app::App;
use crate::app::assessment::statement::Statements;
use crate::app::client::settings::Settings;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Attestation, Profile, RowDecision};
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::ControlOutcome;
use crate::error::{Error, Result};
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::Evidence;

/// Everything about one client that explains its requirements.
pub struct ClientReport {
    pub catalog: Arc<Catalog>,
    /// In the catalog's order.
    pub controls: Vec<ControlOutcome>,
    /// Those that the client must meet.
    pub frameworks: Vec<FrameworkId>,
    pub now: Time,
    statements: Statements,
    profile: Profile,
    /// Platforms that a source reported about.
    seen: BTreeSet<String>,
}

impl ClientReport {
    #[must_use]
    pub fn reasons(&self) -> ReasonInput<'_> {
        let Self { catalog, controls, profile, seen, now, .. } = self;
        ReasonInput { catalog, controls, profile, seen, now: *now }
    }

    #[must_use]
    pub fn find_decision(&self, framework: FrameworkId, reference: &str) -> Option<&RowDecision> {
        self.statements.decisions.iter().find(|it| it.is_about(framework, reference))
    }

    /// Returns what was attested about a control, with the evidence that counts. `None`: nothing, or it has expired.
    #[must_use]
    pub fn find_attestation(&self, code: &str) -> Option<Attestation> {
        let is_valid =
            |it: &Attestation| it.control == code && it.until.is_none_or(|end| self.now < end);
        let found = self.statements.attested.iter().find(|it| is_valid(&it.attestation))?;
        let evidence = self.statements.evidence_of(found, self.now).map(str::to_owned);
        Some(Attestation { evidence, ..found.attestation.clone() })
    }

    /// Lists the valid entries of the evidence register about a control.
    pub fn evidence_of(&self, code: &str) -> impl Iterator<Item = &Evidence> {
        let all = self.statements.evidence.iter();
        all.filter(move |it| it.control == code && it.is_valid(self.now))
    }
}

impl App {
    pub fn client_report(&self, rows: &ClientSnapshot) -> Result<ClientReport> {
        let client = self.clients.directory.find(rows.id());
        let client = client.ok_or_else(|| Error::not_found("client not found"))?;
        let settings = Settings::of(&client.settings);
        let catalog = self.catalog();
        Ok(ClientReport {
            controls: self.control_outcomes(rows)?,
            frameworks: settings.frameworks(),
            statements: Statements::read(rows, &catalog)?,
            profile: settings.profile(),
            seen: rows.list_sources()?.iter().filter_map(|it| platform_of(&it.scope)).collect(),
            now: self.clock.now(),
            catalog,
        })
    }

    /// Returns the questions of the client's profile whose answers rows of its frameworks wait for.
    pub fn open_questions(
        &self,
        rows: &ClientSnapshot,
        report: &ClientReport,
    ) -> Result<Vec<OpenQuestion>> {
        let found = report.frameworks.iter().filter_map(|it| report.catalog.find_framework(*it));
        let outcome = |it: &'_ Framework| Ok(rows.framework_outcome(it)?.rows);
        let frameworks: Vec<&Framework> = found.collect();
        let outcomes = frameworks.iter().map(|it| outcome(it)).collect::<Result<Vec<_>>>()?;
        let both: Vec<_> = frameworks.into_iter().zip(outcomes.iter().map(Vec::as_slice)).collect();
        Ok(report.reasons().open_questions(&both))
    }
}

/// The platform with which the scopes of assessors begin, such as `aws/123456789012`.
fn platform_of(scope: &str) -> Option<String> {
    scope.split_once('/').map(|(platform, _)| platform.to_owned())
}
