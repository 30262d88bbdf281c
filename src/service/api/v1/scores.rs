//! Operation 6: security scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{PageContent, PageKey};
use crate::api::edge::right::ReadScores;
use crate::api::wire::param::{HistoryLimit, Id, Raw, n_history};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{GradeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::posture::{ScoreHistory as ScoresRead, scores};
use crate::store::per_client::posture::ScoreEntry;

/// A security score.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SecurityScore")]
#[serde(rename_all = "camelCase")]
pub struct SecurityScoreView {
    id: Uid,
    /// 0 to 100: the mean of the applicable controls, weighted by severity. Controls that are not assessed count as 0. At
    /// most 89 while a critical control is not compliant.
    overall_score: u8,
    grade: GradeView,
    /// The score of each category, 0 to 100.
    category_scores: BTreeMap<String, u8>,
    /// Applicable controls.
    controls_total: u32,
    controls_compliant: u32,
    controls_partial: u32,
    controls_non_compliant: u32,
    calculated_at: When,
}

impl SecurityScoreView {
    pub fn of(entry: ScoreEntry) -> Self {
        Self {
            id: Uid::of(entry.id.as_bytes()),
            overall_score: entry.score.overall,
            grade: GradeView(entry.score.grade()),
            category_scores: entry.score.categories.into_iter().collect(),
            controls_total: entry.score.n_total,
            controls_compliant: entry.score.n_compliant,
            controls_partial: entry.score.n_partial,
            controls_non_compliant: entry.score.n_non_compliant,
            calculated_at: When(entry.calculated_at),
        }
    }
}

/// The current score and its history.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Scores")]
pub struct ScoresView {
    /// Null until the client's first valid observation or attestation.
    current: Null<SecurityScoreView>,
    /// One entry per UTC day, newest first.
    history: Vec<SecurityScoreView>,
}

impl ScoresView {
    fn of(scores: ScoresRead) -> Self {
        Self {
            current: scores.current.map(SecurityScoreView::of).into(),
            history: scores.history.into_iter().map(SecurityScoreView::of).collect(),
        }
    }
}

pub struct VersionedScores;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl VersionedScores {
    /// Get a client's security scores
    ///
    /// The current score and its history. Scope: `read:scores`.
    #[oai(path = "/clients/:clientId/scores", method = "get", operation_id = "get_scores")]
    async fn get_scores(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadScores>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// How many history entries to return.
        limit: Query<Option<Raw<HistoryLimit>>>,
    ) -> Result<Data<ScoresView>, Failure> {
        let n_history = n_history(limit.0.as_ref())?;
        let (client, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let shown = PageContent::Scores { client: client.id, n_history };
        let key = PageKey { shown, versions: [rows.versions().posture, 0] };
        let rendered = web.cached_or_render(key, &rows, move |snapshot| {
            Ok(Rendered::data(&ScoresView::of(scores(snapshot, n_history)?)))
        });
        Ok(Data::rendered(rendered.await?))
    }
}
