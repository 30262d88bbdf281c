//! What an assessment reads about a client besides its facts.

use std::sync::Arc;

use crate::app::App;
use crate::app::assessment::statement::Statements;
use crate::app::client::retention::Retention;
use crate::app::client::settings::Settings;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::estate::KnownEstate;
use crate::engine::fact::{Facts, Profile, SourceFacts};
use crate::engine::framework::FrameworkId;
use crate::engine::posture::Posture;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::ClientStore;
use crate::store::global::client::ClientState;
use crate::store::per_client::asset::AssetFilter;

/// What an assessment reads about a client besides its facts.
pub struct AssessmentInput {
    pub catalog: Arc<Catalog>,
    pub profile: Profile,
    pub base_loss: Option<u64>,
    pub thresholds: Vec<u8>,
    /// The frameworks that the client must meet. Nothing is announced about others.
    pub frameworks: Vec<FrameworkId>,
    pub evidence_warning_days: u16,
    pub new_member_days: u16,
    pub retention: Retention,
    rows: ClientStore,
}

impl AssessmentInput {
    /// Returns the posture by what is known.
    pub(super) fn assess(
        &self,
        seen: &SourceFacts,
        statements: &Statements,
        estate: &KnownEstate,
        now: Time,
    ) -> Result<Posture> {
        let facts = Facts {
            observations: &seen.observations,
            reads: &seen.reads,
            attestations: &statements.attestations(now),
            parts: &statements.stated_parts(&self.catalog, now),
            decisions: &statements.decisions,
            subjects: &statements.subject_decisions(),
            profile: &self.profile,
            estate,
            critical_subjects: &self.critical_subjects()?,
            base_loss: self.base_loss,
            now,
        };
        Ok(crate::engine::assess(&self.catalog, &facts))
    }

    /// Returns [`crate::engine::fact::subject_hash`] of the identifiers of every critical asset, sorted.
    pub fn critical_subjects(&self) -> Result<Vec<u64>> {
        let filter = AssetFilter { critical_only: true, ..AssetFilter::default() };
        let mut hashes: Vec<u64> = Vec::new();
        self.rows.visit_assets(&filter, |asset| hashes.extend(asset.subjects()))?;
        hashes.sort_unstable();
        hashes.dedup();
        Ok(hashes)
    }
}

impl App {
    /// # Errors
    /// `NotFound` if the client does not exist or is being erased.
    pub(in crate::app) fn subject(&self, id: ClientId) -> Result<AssessmentInput> {
        let absent = || Error::not_found("client not found");
        let client = self.clients.directory.find(id).filter(|it| it.state != ClientState::Erasing);
        let client = client.ok_or_else(absent)?;
        let settings = Settings::of(&client.settings);
        Ok(AssessmentInput {
            catalog: self.catalog(),
            profile: settings.profile(),
            base_loss: self.options.loss.base_loss(&client),
            thresholds: settings.score_thresholds(),
            frameworks: settings.frameworks(),
            evidence_warning_days: settings.evidence_warning_days(&self.options.settings),
            new_member_days: self.options.settings.new_member_days,
            retention: settings.retention(&self.options.settings),
            rows: self.store.client_store(id),
        })
    }
}
