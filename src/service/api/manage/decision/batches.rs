//! Statements about many clients at once.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::manage::decision::statements::UndoBody;
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::input::ClientIds;
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Accepted, Data, Null, PageReply, Rendered};
use crate::api::wire::said::{EstateKindView, MemberStandingView};
use crate::api::wire::view::{
    AttestedStatusView, BatchMemberStateView, BatchStateView, Decision, DecisionWord, End,
    StatusView, Uid, When,
};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::decision::batch::{Chosen, Member, NewBatch, Progress, Trial};
use crate::app::decision::member::MemberStanding;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::RowDecisionKind;
use crate::error::{Error, Result};
use crate::page::Page;
use crate::store::global::client::batch::{BatchDeed, BatchRecord};

/// The same statement about many clients. Exactly one of `attestation`, `decision`, `acceptance` and `estate`.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "BatchCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct BatchBody {
    /// 1 to 1,000 clients. Instead of `tag`.
    #[serde(default, deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// The active clients that have this tag now, of those that the caller may reach. Clients that get it later are not meant.
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, deserialize_with = "present")]
    tag: Option<String>,
    #[serde(default, deserialize_with = "present")]
    attestation: Option<BatchAttestation>,
    #[serde(default, deserialize_with = "present")]
    decision: Option<BatchDecision>,
    #[serde(default, deserialize_with = "present")]
    acceptance: Option<BatchAcceptance>,
    #[serde(default, deserialize_with = "present")]
    estate: Option<BatchEstate>,
    #[schemars(length(min = 1, max = 1000))]
    reason: String,
    /// As of a statement about one client. Required with `acceptance`.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// Who says it. Default: the caller. If a user or key names another person, both are recorded. The operator must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

/// What is attested about a control.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct BatchAttestation {
    control_code: String,
    status: AttestedStatusView,
    /// Where the evidence is. Without evidence, `compliant` counts as `partial`.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
    /// The attestation counts even while a technical observation is valid. Requires `until`.
    #[serde(default, rename = "override")]
    overrides: bool,
}

/// What is decided about a requirement.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct BatchDecision {
    framework_id: String,
    /// The framework's own reference, of either level, in upper or lower case.
    requirement: String,
    decision: DecisionWord,
    /// Where the evidence is. Required with `attested`.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
}

/// The open risk about this control is accepted.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct BatchAcceptance {
    control_code: String,
}

/// What there is at each of the clients: either `kind`, of which there are no more than are known, or `member` and `decision`.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct BatchEstate {
    /// `cloud_accounts`, `computers`, `servers`, `phones` or `systems`.
    #[serde(default, deserialize_with = "present")]
    kind: Option<EstateKindView>,
    /// An account or domain that was seen, such as `aws/123456789012`. Clients that do not have it refuse.
    #[schemars(length(min = 1, max = 500))]
    #[serde(default, deserialize_with = "present")]
    member: Option<String>,
    /// `excluded` or `retired`.
    #[serde(default, deserialize_with = "present")]
    decision: Option<MemberStandingView>,
}

impl BatchEstate {
    fn deed(self, reason: String, until: Option<Time>) -> Result<BatchDeed> {
        let is_retired = self.decision.map(|it| it.0 == MemberStanding::Retired);
        match (self.kind, self.member, is_retired) {
            (Some(EstateKindView(kind)), None, None) => {
                Ok(BatchDeed::SayWhole { kind, reason, until })
            }
            (None, Some(member), Some(is_retired)) => {
                Ok(BatchDeed::DecideMember { member, is_retired, reason, until })
            }
            _ => {
                let rule = "give either kind, or member and decision";
                Err(Error::invalid_field("estate", rule))
            }
        }
    }
}

example!(BatchBody, {
    "tag": "gold",
    "attestation": {"controlCode": "GOV-14", "status": "compliant", "evidence": "SharePoint: Plans/2026"},
    "reason": "The plan that we wrote for all of them was exercised on 2026-11-12",
    "by": "Ada Lovelace",
});

impl BatchBody {
    fn batch(self, caller: &Caller, app: &App) -> Result<NewBatch> {
        let Self { client_ids, tag, attestation, decision, acceptance, estate, reason, until, by } =
            self;
        let required = |field| move || Error::invalid_field(field, "is required");
        let chosen = match (client_ids, tag) {
            (Some(ids), None) => Chosen::Clients(ids.0),
            (None, Some(tag)) => Chosen::Tag(tag),
            (None, None) => return Err(required("clientIds")()),
            (Some(_), Some(_)) => {
                return Err(Error::invalid_field("tag", "give either clientIds or tag"));
            }
        };
        let catalog = &app.catalog();
        // All clients get the same moment.
        let until = until.map(|it| it.0.at(&app.time_zone()));
        let code = |field: &str, code: &str| {
            let known = catalog.get_control(code).map(|it| it.code.clone());
            known.map_err(|it| Error::invalid_field(field, it.message().to_owned()))
        };
        let deed = match (attestation, decision, acceptance, estate) {
            (Some(it), None, None, None) => BatchDeed::Attest {
                control: code("attestation.controlCode", &it.control_code)?,
                status: it.status.0,
                reason,
                evidence: it.evidence,
                until,
                overrides: it.overrides,
            },
            (None, Some(it), None, None) => it.deed(catalog, reason, until)?,
            (None, None, None, Some(it)) => it.deed(reason, until)?,
            (None, None, Some(it), None) => BatchDeed::Accept {
                control: code("acceptance.controlCode", &it.control_code)?,
                reason,
                until: until.ok_or_else(required("until"))?,
            },
            _ => {
                let rule = "give exactly one of attestation, decision, acceptance and estate";
                return Err(Error::invalid_field("attestation", rule));
            }
        };
        let by = caller.signature(by)?.ok_or_else(required("by"))?;
        Ok(NewBatch { chosen, deed, author: caller.author(by) })
    }
}

impl BatchDecision {
    fn deed(self, catalog: &Catalog, reason: String, until: Option<Time>) -> Result<BatchDeed> {
        let Self { framework_id, requirement, decision, evidence } = self;
        let kind = match (decision.0, evidence) {
            (Decision::Attested, Some(evidence)) => RowDecisionKind::Attested { evidence },
            (Decision::OutOfScope, None) => RowDecisionKind::OutOfScope,
            (Decision::Attested, None) => {
                return Err(Error::invalid_field("decision.evidence", "is required"));
            }
            (Decision::OutOfScope, Some(_)) => {
                let rule = "must be absent with out_of_scope; explain the decision in the reason";
                return Err(Error::invalid_field("decision.evidence", rule));
            }
        };
        let field = |name: &'static str| {
            move |it: Error| Error::invalid_field(name, it.message().to_owned())
        };
        let framework =
            catalog.framework_named(&framework_id).map_err(field("decision.frameworkId"))?;
        let row = framework.get_row(&requirement).map_err(field("decision.requirement"))?;
        let reference = framework.rows[row].reference.clone();
        Ok(BatchDeed::Decide { framework: framework.id, reference, kind, reason, until })
    }
}

/// Statements that are made together, and undone as one. The clients of it can be read for 90 days.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Batch")]
#[serde(rename_all = "camelCase")]
pub struct BatchView {
    id: Uid,
    state: BatchStateView,
    /// What is stated, in words.
    title: String,
    reason: String,
    by: String,
    /// The user, key or operator that began it.
    account: String,
    begun_at: When,
    finished_at: Null<When>,
    client_count: u32,
    /// Why it was undone. Null: it was not.
    undo_reason: Null<String>,
    undone_by: Null<String>,
    undone_at: Null<When>,
}

/// A batch, and how far it is.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BatchProgress")]
#[serde(rename_all = "camelCase")]
pub struct ProgressView {
    #[serde(flatten)]
    batch: BatchView,
    /// Clients of which it was stated.
    stated_count: u32,
    /// Clients that refused it, or that refused that it is undone.
    refused_count: u32,
    undone_count: u32,
}

/// A client of a batch.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BatchClient")]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    client_id: Uid,
    client_name: String,
    state: BatchMemberStateView,
    /// The number of the statement in the client's log.
    statement: Null<u64>,
    /// The number of the record that undid it.
    undone_by: Null<u64>,
    /// Why it was refused.
    message: Null<String>,
}

/// What a batch would find at a client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BatchTrial")]
#[serde(rename_all = "camelCase")]
pub struct TrialView {
    client_id: Uid,
    client_name: String,
    /// Of the control or requirement, now. Null: the client was never assessed.
    status: Null<StatusView>,
    /// How many of a kind of the estate are known. Null: the batch is about something else.
    known: Null<u32>,
    /// It would take the place of another statement.
    replaces: bool,
    /// Why nothing would be stated. Null: it would.
    message: Null<String>,
}

impl BatchView {
    fn of(it: &BatchRecord) -> Self {
        let undo = it.undo.as_ref();
        let (title, reason) = title(&it.deed);
        Self {
            id: Uid::of(it.id.as_bytes()),
            state: BatchStateView(state(it)),
            title,
            reason,
            by: it.author.by.clone(),
            account: it.author.account.clone(),
            begun_at: When(it.at),
            finished_at: it.finished_at.map(When).into(),
            client_count: it.n_clients,
            undo_reason: undo.map(|it| it.reason.clone()).into(),
            undone_by: undo.map(|it| it.author.by.clone()).into(),
            undone_at: undo.and_then(|it| it.finished_at).map(When).into(),
        }
    }
}

fn state(it: &BatchRecord) -> &'static str {
    match (&it.undo, it.is_open()) {
        (Some(_), true) => "undoing",
        (Some(_), false) => "undone",
        (None, true) => "running",
        (None, false) => "finished",
    }
}

/// What is stated, and why.
fn title(deed: &BatchDeed) -> (String, String) {
    match deed {
        BatchDeed::Attest { control, status, reason, .. } => {
            (format!("{control} {}", status.as_str()), reason.clone())
        }
        BatchDeed::Decide { framework, reference, kind, reason, .. } => {
            let word = match kind {
                RowDecisionKind::OutOfScope => "out_of_scope",
                RowDecisionKind::Attested { .. } => "attested",
            };
            (format!("{} {reference} {word}", framework.as_str()), reason.clone())
        }
        BatchDeed::Accept { control, reason, .. } => {
            (format!("{control} risk accepted"), reason.clone())
        }
        BatchDeed::SayWhole { kind, reason, .. } => {
            (format!("{} all", kind.as_str()), reason.clone())
        }
        BatchDeed::DecideMember { member, is_retired, reason, .. } => {
            let word = if *is_retired { "retired" } else { "excluded" };
            (format!("{member} {word}"), reason.clone())
        }
    }
}

impl ProgressView {
    fn of(it: &Progress) -> Self {
        Self {
            batch: BatchView::of(&it.record),
            stated_count: it.n_stated,
            refused_count: it.n_refused,
            undone_count: it.n_undone,
        }
    }
}

impl MemberView {
    fn of(it: Member) -> Self {
        let entry = it.entry.unwrap_or_default();
        let state = match (entry.statement, entry.undone_by, &entry.refused) {
            (None, _, Some(_)) => "refused",
            (None, _, None) => "waiting",
            (Some(_), Some(_), _) => "undone",
            (Some(_), None, Some(_)) => "not_undone",
            (Some(_), None, None) => "stated",
        };
        Self {
            client_id: Uid::of(it.client.as_bytes()),
            client_name: it.name,
            state: BatchMemberStateView(state),
            statement: entry.statement.into(),
            undone_by: entry.undone_by.into(),
            message: entry.refused.into(),
        }
    }
}

impl TrialView {
    fn of(it: Trial) -> Self {
        Self {
            client_id: Uid::of(it.client.as_bytes()),
            client_name: it.name,
            status: it.status.map(StatusView).into(),
            known: it.n_known.into(),
            replaces: it.replaces,
            message: it.refused.into(),
        }
    }
}

pub struct Batches;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Batches {
    /// Try a batch
    ///
    /// Says what the batch would find at each client, and states nothing. Scope: `manage:decisions`.
    #[oai(path = "/batches/trial", method = "post", operation_id = "try_batch")]
    async fn try_batch(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        body: Body<BatchBody>,
    ) -> Result<Data<Vec<TrialView>>, Failure> {
        let new = body.read()?.batch(&by.0, &web.app)?;
        let trials = web.app.try_batch(&by.0, new).await?;
        Ok(Data::of(&trials.into_iter().map(TrialView::of).collect()))
    }

    /// State the same about many clients
    ///
    /// Attests a control, decides about a requirement, accepts the risk about a control, or says what there is, at 1 to 1,000 clients, one
    /// after the other in the background; it goes on after a restart. What a client refuses is noted, and the others continue. Each
    /// statement is one of the client's log. A caller can have 5 batches in progress. Scope: `manage:decisions`.
    #[oai(path = "/batches", method = "post", operation_id = "begin_batch")]
    async fn begin_batch(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        body: Body<BatchBody>,
    ) -> Result<Accepted<ProgressView>, Failure> {
        let new = body.read()?.batch(&by.0, &web.app)?;
        Ok(Accepted(ProgressView::of(&web.app.begin_batch(&by.0, new).await?)))
    }

    /// List batches
    ///
    /// Of the last 90 days, newest first. Who may not reach all clients sees their own. Scope: `read:compliance`.
    #[oai(path = "/batches", method = "get", operation_id = "list_batches")]
    async fn list_batches(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<BatchView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let Page { items, total, cut } = web.app.list_batches(&by.0, cut).await?;
        let items = items.iter().map(BatchView::of).collect();
        Ok(PageReply::rendered(Rendered::page(&Page { items, total, cut })))
    }

    /// Get a batch
    ///
    /// Scope: `read:compliance`.
    #[oai(path = "/batches/:batchId", method = "get", operation_id = "get_batch")]
    async fn get_batch(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "batchId")] batch_id: Path<Raw<Id>>,
    ) -> Result<Data<ProgressView>, Failure> {
        let found = web.app.find_batch(&by.0, batch_id.read()?).await?;
        Ok(Data::of(&ProgressView::of(&found)))
    }

    /// List the clients of a batch
    ///
    /// Those that are still there, in the order in which they were added. Scope: `read:compliance`.
    #[oai(path = "/batches/:batchId/clients", method = "get", operation_id = "list_batch_clients")]
    async fn list_batch_clients(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "batchId")] batch_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<MemberView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let members = web.app.list_members(&by.0, batch_id.read()?).await?;
        let page = Page::of(members.into_iter(), cut);
        let Page { items, total, cut } = page;
        let items = items.into_iter().map(MemberView::of).collect();
        Ok(PageReply::rendered(Rendered::page(&Page { items, total, cut })))
    }

    /// Undo a batch
    ///
    /// Records, within 30 days, that all of it was a mistake: at each client, in the background, what counts is as if it had never been
    /// stated. A batch in progress ends. Scope: `manage:decisions`.
    #[oai(path = "/batches/:batchId/undo", method = "post", operation_id = "undo_batch")]
    async fn undo_batch(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "batchId")] batch_id: Path<Raw<Id>>,
        body: Body<UndoBody>,
    ) -> Result<Accepted<ProgressView>, Failure> {
        let id = batch_id.read()?;
        web.app.batch_record(&by.0, id).await?;
        let UndoBody { reason } = body.read()?;
        Ok(Accepted(ProgressView::of(&web.app.undo_batch(&by.0, id, reason).await?)))
    }
}
