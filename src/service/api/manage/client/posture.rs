//! A client's posture explained: coverage, controls, score changes.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewScores;
use crate::api::manage::client::contradiction::{ContradictionView, N_CONTRADICTIONS_SHOWN};
use crate::api::manage::decision::estate::UnseenView;
use crate::api::v1::compliance::ControlResultView;
use crate::api::v1::scores::SecurityScoreView;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::report::because::OpenQuestion;
use crate::app::report::posture::COVERAGE_MIN;
use crate::engine::catalog::Catalog;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::{ExpectedLoss, coverage};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::history::score::ScoreMove;

/// A client's posture and what it is based on.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Posture")]
#[serde(rename_all = "camelCase")]
pub struct PostureView {
    /// Null until the client's first valid observation or attestation.
    score: Null<SecurityScoreView>,
    /// The share of the applicable controls, by weight, that is assessed, in percent. Below 40 the score is provisional.
    coverage: u8,
    provisional: bool,
    /// The SPRS score of CMMC Level 2, -203 to 110, for information. Null: there is no system security plan
    /// (CA.L2-3.12.4).
    sprs: Null<i16>,
    /// Profile questions without an answer, with the requirements of the client's frameworks that wait for nothing else.
    /// Answer them with `settings.profile`.
    questions: Vec<QuestionView>,
    /// What is known and nobody looked at, or not all of it, that of which most depends first, at most 100.
    unseen: Vec<UnseenView>,
    /// Null: the client was never assessed, or its number of employees is unknown.
    expected_loss: Null<ExpectedLossView>,
    controls: Vec<ControlResultView>,
    /// Decisions of people that are contradicted by what was seen, at most 200.
    contradictions: Vec<ContradictionView>,
    /// How many there are.
    contradiction_count: u32,
    /// Changes of the overall score, newest first, at most 100.
    moves: Vec<MoveView>,
}

/// A profile question without an answer.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OpenQuestion")]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// Such as `aws`: does the client use it?
    question: String,
    /// How many requirements wait for the answer.
    count: u32,
    /// The first 100 of them.
    requirements: Vec<WaitingRequirementView>,
}

/// A requirement that waits for the answer to a profile question.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "WaitingRequirement")]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequirementView {
    framework_id: FrameworkName,
    requirement: String,
}

impl QuestionView {
    fn of(it: &OpenQuestion, catalog: &Catalog) -> Self {
        let row = |(framework, row): &(FrameworkId, usize)| {
            let rows = &catalog.find_framework(*framework)?.rows;
            let requirement = rows[*row].reference.clone();
            Some(WaitingRequirementView { framework_id: FrameworkName(*framework), requirement })
        };
        Self {
            question: it.question.clone(),
            count: u32::try_from(it.rows.len()).unwrap_or(u32::MAX),
            requirements: it.rows.iter().take(N_WAITING_SHOWN).filter_map(row).collect(),
        }
    }
}

/// What incidents are expected to cost the client in a year, in US dollars: an estimate from its size and industry.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExpectedLoss")]
#[serde(rename_all = "camelCase")]
pub struct ExpectedLossView {
    /// If it met every control.
    base: u64,
    /// With the controls that fail now, whether or not their risks are accepted.
    now: u64,
    /// `now` minus `base`: what the failing controls add.
    exposure: u64,
}

impl ExpectedLossView {
    fn of(it: ExpectedLoss) -> Self {
        Self { base: it.base, now: it.now, exposure: it.exposure() }
    }
}

/// One change of the overall score. `from` and `to` are the same where only the rules changed: the cause is `catalogue`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ScoreMove")]
#[serde(rename_all = "camelCase")]
pub struct MoveView {
    at: When,
    from: Null<u8>,
    to: u8,
    /// The name of a source, or one of `attestation`, `scope`, `estate`, `lapse`, `assets`, `catalogue`, `undo`.
    cause: String,
    /// The codes of the controls that changed.
    controls: Vec<String>,
}

impl MoveView {
    fn of(it: ScoreMove) -> Self {
        let ScoreMove { at, from, to, cause, controls } = it;
        Self { at: When(at), from: from.into(), to, cause, controls }
    }
}

/// Requirements that are shown of a question.
const N_WAITING_SHOWN: usize = 100;
/// Moves that are shown.
const N_MOVES: u32 = 100;

impl PostureView {
    fn read(app: &App, rows: &ClientSnapshot) -> Result<Self> {
        let report = app.client_report(rows)?;
        let questions = app.open_questions(rows, &report)?;
        let catalog = report.catalog;
        let outcomes = report.controls;
        let coverage = coverage(&catalog, &outcomes);
        let titled = outcomes.into_iter().zip(&catalog.controls);
        let contradictions = rows.list_contradictions()?;
        let cmmc = rows.framework_outcome(catalog.get_framework(FrameworkId::CmmcL2)?)?;
        let score = rows.find_score()?;
        let loss = rows.find_expected_loss()?.filter(|_| score.is_some());
        Ok(Self {
            score: score.map(SecurityScoreView::of).into(),
            coverage,
            provisional: coverage < COVERAGE_MIN,
            sprs: cmmc.summary.sprs.into(),
            questions: questions.iter().map(|it| QuestionView::of(it, &catalog)).collect(),
            unseen: rows.estate()?.unseen.into_iter().map(UnseenView::of).collect(),
            expected_loss: loss.map(ExpectedLossView::of).into(),
            controls: titled
                .map(|(it, control)| ControlResultView::of(it, &control.title))
                .collect(),
            contradiction_count: u32::try_from(contradictions.len()).unwrap_or(u32::MAX),
            contradictions: contradictions
                .into_iter()
                .take(N_CONTRADICTIONS_SHOWN)
                .map(|it| ContradictionView::of(it, &catalog))
                .collect(),
            moves: rows.list_moves(N_MOVES)?.into_iter().map(MoveView::of).collect(),
        })
    }
}

pub struct Postures;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Postures {
    /// Explain a client's posture
    ///
    /// The score with its coverage, the result of every control, decisions that are contradicted by what was seen, and what
    /// changed the score. Scope: `read:scores`.
    #[oai(path = "/clients/:clientId/posture", method = "get", operation_id = "get_posture")]
    async fn get_posture(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewScores>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<PostureView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let app = Arc::clone(&web.app);
        let posture = rows.read(move |snapshot| PostureView::read(&app, snapshot)).await?;
        Ok(Data::kept(&posture))
    }
}
