//! What people said about a client: the log, from the newest record on.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::manage::decision::controls::ControlPartView;
use crate::api::wire::body::{Body, example};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{self, Cursor, Id, Raw, Text, UpTo, limit_up_to, position, word};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, StretchReply};
use crate::api::wire::said::{
    StatedAnswerView, StatementChannelView, StatementKindView, StatementStateView,
};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::statement::{self, StatementFilter, StatementKind, StatementState};
use crate::error::{Error, Result};
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::ClientSnapshot;
use crate::store::per_client::statement::{Deed, StatedEvidence, StatementNumber};

/// A record of what somebody said, or that it no longer counts. It never changes, but for its state.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Statement")]
#[serde(rename_all = "camelCase")]
pub struct StatementView {
    /// 1 for the first record of the client.
    number: u64,
    kind: StatementKindView,
    /// What it is about: a control code, a reference of a framework, a risk id, a question of the
    /// profile or an import id.
    subject: String,
    /// Of a requirement.
    framework_id: Null<String>,
    /// Of a control: the part that it is about. Null: all of it.
    part: Null<ControlPartView>,
    /// What it says. Null: it ends another record.
    answer: Null<StatedAnswerView>,
    /// The statement that it withdraws.
    withdraws: Null<u64>,
    /// The record that it undoes as a mistake.
    undoes: Null<u64>,
    /// The statement that it takes the place of.
    supersedes: Null<u64>,
    /// Null: none was given.
    reason: Null<String>,
    /// Where the evidence is.
    evidence: Null<String>,
    /// The entry of the evidence register that it refers to.
    evidence_id: Null<Uid>,
    /// SHA-256 of the evidence when the statement was made, in hexadecimal. Null: not known.
    evidence_sha256: Null<String>,
    /// It counts even while a technical observation is valid.
    #[serde(rename = "override")]
    overrides: bool,
    /// From when it counts.
    valid_from: Null<When>,
    /// Null: it does not expire.
    valid_until: Null<When>,
    /// What was asked or shown. Null: not kept.
    wording: Null<String>,
    /// Who says it.
    by: String,
    /// The user, key or operator that entered it. Null: it was made before this was recorded.
    account: Null<String>,
    channel: StatementChannelView,
    recorded_at: When,
    /// The batch that it was made in.
    batch_id: Null<Uid>,
    state: StatementStateView,
    /// The record by which it ended.
    ended_by: Null<u64>,
}

impl StatementView {
    pub fn of(it: StatementState) -> Self {
        let StatementState { record, standing, wording } = it;
        let (withdraws, undoes) = match record.deed {
            Deed::State(_) => (None, None),
            Deed::Withdraw { statement } => (Some(statement), None),
            Deed::Undo { record } => (None, Some(record)),
        };
        let content = record.content();
        let evidence: Option<StatedEvidence> = content.and_then(|it| it.evidence.clone());
        let (reference, id, sha256) =
            evidence.map_or((None, None, None), |it| (Some(it.reference), it.id, it.sha256));
        Self {
            number: record.number,
            kind: StatementKindView(StatementKind::of(&record.topic)),
            subject: statement::subject(&record.topic),
            framework_id: statement::framework(&record.topic)
                .map(|it| it.as_str().to_owned())
                .into(),
            part: statement::part(&record.topic).map(ControlPartView::of).into(),
            answer: content.map(|it| StatedAnswerView(it.answer.as_str())).into(),
            withdraws: withdraws.into(),
            undoes: undoes.into(),
            supersedes: content.and_then(|it| it.supersedes).into(),
            evidence: reference.into(),
            evidence_id: id.map(|it| Uid::of(it.as_bytes())).into(),
            evidence_sha256: sha256.map(hex::encode).into(),
            overrides: content.is_some_and(|it| it.overrides),
            valid_from: content.map(|it| When(it.from)).into(),
            valid_until: content.and_then(|it| it.until).map(When).into(),
            wording: wording.into(),
            reason: Some(record.reason).filter(|it| !it.is_empty()).into(),
            by: record.author.by,
            account: Some(record.author.account).filter(|it| !it.is_empty()).into(),
            channel: StatementChannelView(record.author.channel),
            recorded_at: When(record.recorded_at),
            batch_id: record.batch.map(|it| Uid::of(it.as_bytes())).into(),
            state: StatementStateView(standing.as_str()),
            ended_by: standing.ended_by().into(),
        }
    }
}

/// Why a record was a mistake.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "StatementUndo")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct UndoBody {
    #[schemars(length(min = 1, max = 1000))]
    pub reason: String,
}

example!(UndoBody, { "reason": "It was meant for another client" });

pub struct Statements;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Statements {
    /// List what was said about a client
    ///
    /// Attestations of controls, decisions about requirements, acceptances of risks, answers of the profile and undone imports,
    /// with who said it, when, why and how, and what became of it. Newest first. Nothing that was said is overwritten: what takes the place
    /// of a statement, or withdraws it, is a record of its own. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/statements", method = "get", operation_id = "list_statements")]
    async fn list_statements(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Only those about this kind of thing.
        kind: Query<Option<Raw<StatementKindView>>>,
        /// Only those about this, in upper or lower case: a control code, a reference, a risk id, a question or an
        /// import id.
        subject: Query<Option<Raw<Text>>>,
        /// Only those about requirements of this framework.
        framework: Query<Option<Raw<FrameworkName>>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<StatementView>, Failure> {
        let framework = match framework.0.as_ref() {
            Some(it) => Some(param::framework(&web.app.catalog(), Some(it))?.id),
            None => None,
        };
        let filter = StatementFilter {
            kind: word("kind", kind.0.as_ref())?.map(|it| it.0),
            subject: subject.0.map(|it| it.text),
            framework,
        };
        let before = position(after.0.as_ref(), |it| it.parse().ok())?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let now = web.app.clock.now();
        let list = rows.read(move |snapshot: &ClientSnapshot| {
            let found = statement::list(snapshot, &filter, before, limit as usize + 1, now)?;
            let found = Stretch::of(found, limit, |it| it.record.number.to_string());
            Ok(found.map(StatementView::of))
        });
        Ok(StretchReply::of(&list.await?))
    }

    /// Undo a statement
    ///
    /// Records, within 30 days, that a record was a mistake, and reassesses the client: what counts is as if it had never
    /// been made, and what it took the place of counts again. Undoing a withdrawal brings back what was withdrawn. The record
    /// stays readable. To say that something is no longer true, withdraw it instead. Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/statements/:number/undo",
        method = "post",
        operation_id = "undo_statement"
    )]
    async fn undo_statement(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// The number of the record.
        number: Path<Raw<Text>>,
        body: Body<UndoBody>,
    ) -> Result<Data<StatementView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let absent = || Error::not_found("statement not found");
        let number: StatementNumber = number.0.text.parse().map_err(|_| absent())?;
        let UndoBody { reason } = body.read()?;
        web.app.undo_statement(&by.0, &rows, number, reason).await?;
        let now = web.app.clock.now();
        let read = move |snapshot: &ClientSnapshot| {
            let filter = StatementFilter::default();
            let after = number.saturating_add(1);
            let found = statement::list(snapshot, &filter, Some(after), 1, now)?.pop();
            found.map(StatementView::of).ok_or_else(absent)
        };
        Ok(Data::of(&rows.read(read).await?))
    }
}
