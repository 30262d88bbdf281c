//! What exists at a client, what people say about it, and what of it nobody looked at.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::said::{
    EstateKindView, MemberCountingView, MemberStandingView, UnseenKindView,
};
use crate::api::wire::view::{End, When};
use crate::api::{Group, Web};
use crate::app::assessment::estate::EstateStatement;
use crate::app::decision::estate::{EstateState, KindState, NewMemberDecision, NewWhole};
use crate::app::decision::member::{MemberCounting, MemberState};
use crate::engine::estate::{EstateKind, Unseen};
use crate::error::{Error, Result};
use crate::store::per_client::statement::{Author, StatedAnswer};
use crate::store::{ClientSnapshot, ClientStore};

/// What is known to exist at a client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Estate")]
#[serde(rename_all = "camelCase")]
pub struct EstateView {
    kinds: Vec<EstateKindCountView>,
    /// Platforms, tenants, cloud accounts and domains that were seen in the last 180 days, at most 1,000; devices that are new or stale, at
    /// most 500 of each; and each device that was excluded or retired. `GET /api/assets` lists all devices.
    members: Vec<EstateMemberView>,
    /// What is known and nobody looked at, that of which most depends first, at most 100.
    unseen: Vec<UnseenView>,
}

/// How many of a kind are known.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EstateCount")]
#[serde(rename_all = "camelCase")]
pub struct EstateKindCountView {
    kind: EstateKindView,
    known: u32,
    /// A source lists all that there are.
    listed: bool,
    /// Who says that these are all. Null: nobody.
    all: Null<SaidWholeView>,
}

/// Somebody says that there are no more than are known.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EstateAnswer")]
#[serde(rename_all = "camelCase")]
pub struct SaidWholeView {
    reason: String,
    by: String,
    at: When,
    until: Null<When>,
    /// How many were known then. Once there are more, it no longer counts.
    known: u32,
    counts: bool,
}

/// A member of the estate.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EstateMember")]
#[serde(rename_all = "camelCase")]
pub struct EstateMemberView {
    kind: EstateKindView,
    /// A platform, an account such as `aws/123456789012`, a domain, or the id of an asset.
    id: String,
    name: String,
    state: MemberCountingView,
    /// From when on it counts, if it is `new`.
    counts_from: Null<When>,
    /// Null: it is not known.
    first_seen: Null<When>,
    last_seen: Null<When>,
    /// The source that saw it last; of a device, first.
    source: Null<String>,
    /// Null: nobody decided about it.
    decision: Null<MemberDecisionView>,
}

/// What somebody decided about a member. It counts while `state` says so.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EstateDecision")]
#[serde(rename_all = "camelCase")]
pub struct MemberDecisionView {
    /// `excluded` or `retired`.
    decision: String,
    reason: String,
    by: String,
    at: When,
    /// Null: it does not expire.
    until: Null<When>,
}

/// Something that is known and that nobody looked at, or not all of it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Unseen")]
#[serde(rename_all = "camelCase")]
pub struct UnseenView {
    kind: UnseenKindView,
    /// In words.
    what: String,
    /// What one can do about it.
    remedy: &'static str,
    /// The controls that it keeps from being met, as far as is known.
    control_codes: Vec<String>,
}

impl UnseenView {
    pub fn of(it: Unseen) -> Self {
        let Unseen { kind, what, controls } = it;
        Self { kind: UnseenKindView(kind), remedy: kind.remedy(), what, control_codes: controls }
    }
}

impl EstateView {
    fn of(it: EstateState) -> Self {
        Self {
            kinds: it.kinds.into_iter().map(EstateKindCountView::of).collect(),
            members: it.members.into_iter().map(EstateMemberView::of).collect(),
            unseen: it.record.unseen.into_iter().map(UnseenView::of).collect(),
        }
    }

    async fn read(web: &Web, rows: &ClientStore) -> Result<Self> {
        let app = Arc::clone(&web.app);
        rows.read(move |it: &ClientSnapshot| app.estate(it).map(Self::of)).await
    }
}

impl EstateKindCountView {
    fn of(it: KindState) -> Self {
        let KindState { kind, n_known, is_listed, said, is_said_whole } = it;
        let said = said.map(|it| SaidWholeView::of(it, is_said_whole));
        Self { kind: EstateKindView(kind), known: n_known, listed: is_listed, all: said.into() }
    }
}

impl SaidWholeView {
    fn of(it: EstateStatement, counts: bool) -> Self {
        let EstateStatement { content, reason, by, .. } = it;
        let known = if let StatedAnswer::Whole(n) = content.answer { n } else { 0 };
        let (at, until) = (When(content.from), content.until.map(When).into());
        Self { reason, by, at, until, known, counts }
    }
}

impl EstateMemberView {
    fn of(it: MemberState) -> Self {
        let MemberState { kind, id, name, seen, decision, state, new_until } = it;
        let is_new = state == MemberCounting::New;
        Self {
            kind: EstateKindView(kind),
            id,
            name,
            state: MemberCountingView(state),
            counts_from: new_until.filter(|_| is_new).map(When).into(),
            first_seen: seen.as_ref().map(|it| When(it.first)).into(),
            last_seen: seen.as_ref().map(|it| When(it.last)).into(),
            source: seen.map(|it| it.source).into(),
            decision: decision.map(MemberDecisionView::of).into(),
        }
    }
}

impl MemberDecisionView {
    fn of(it: EstateStatement) -> Self {
        let EstateStatement { content, reason, by, .. } = it;
        Self {
            decision: content.answer.as_str().to_owned(),
            reason,
            by,
            at: When(content.from),
            until: content.until.map(When).into(),
        }
    }
}

/// Says that there are no more of a kind than are known, or withdraws that.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "EstateWhole")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct WholeBody {
    /// False withdraws what was said.
    all: bool,
    /// Required with `all` true. With false: why it is withdrawn.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    /// At most two years from now. Default: a year from now.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// Who says it. Default: the caller. The operator must send it with `all` true.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(WholeBody, {
    "all": true,
    "reason": "Confirmed by the client in the meeting of 2026-11-12",
    "by": "Ada Lovelace",
});

/// Takes members of the estate out of what must be seen, or back in.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "EstateDecisions")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct DecisionsBody {
    /// Accounts and domains that were seen, such as `aws/123456789012`, and ids of devices.
    #[schemars(length(min = 1, max = 1000))]
    members: Vec<String>,
    /// `counted` withdraws what was decided.
    decision: MemberStandingView,
    /// Required unless `counted`.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    /// At most three years from now. Default: `excluded` ends after a year, `retired` does not end.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// Who decides it. Default: the caller. The operator must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(DecisionsBody, {
    "members": ["aws/123456789012"],
    "decision": "excluded",
    "reason": "Sandbox for trainings, without data of the client",
    "by": "Ada Lovelace",
});

pub struct Estates;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Estates {
    /// Show what exists at a client
    ///
    /// Platforms and accounts that were seen, how many devices are known, who says that these are all, and what of it nobody looked at.
    /// Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/estate", method = "get", operation_id = "get_estate")]
    async fn get_estate(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<EstateView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        Ok(Data::of(&EstateView::read(&web, &rows).await?))
    }

    /// Say that these are all
    ///
    /// Records that there are no more cloud accounts, computers, servers, phones or systems than are known, and reassesses the client.
    /// Without it, what was seen of single ones stands for these alone, unless a source lists all. It no longer counts once more are
    /// known. Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/estate/:estateKind",
        method = "put",
        operation_id = "say_estate_whole"
    )]
    async fn say_estate_whole(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// `cloud_accounts`, `computers`, `servers`, `phones` or `systems`.
        #[oai(name = "estateKind")]
        estate_kind: Path<Raw<Text>>,
        body: Body<WholeBody>,
    ) -> Result<Data<EstateView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let kind = kind_of(&estate_kind.0.text)?;
        let WholeBody { all, reason, until, by: said_by } = body.read()?;
        if all {
            let reason = reason.ok_or_else(|| Error::invalid_field("reason", "is required"))?;
            let until = until.map(|it| it.0.at(&web.app.time_zone_of(client.id)));
            let new = NewWhole { reason, until, by: author(&by, said_by)? };
            web.app.say_whole(&rows, kind, new).await?;
        } else {
            let author = by.0.own_author();
            web.app.withdraw_whole(&rows, kind, reason.unwrap_or_default(), author).await?;
        }
        Ok(Data::of(&EstateView::read(&web, &rows).await?))
    }

    /// Exclude or retire what exists
    ///
    /// Takes up to 1,000 accounts and devices out of what must be seen, and drops what was seen of them, or takes them back in. Each is a
    /// statement; the client is reassessed once. Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/estate/decisions",
        method = "post",
        operation_id = "decide_estate"
    )]
    async fn decide_estate(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<DecisionsBody>,
    ) -> Result<Data<EstateView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let DecisionsBody { members, decision, reason, until, by: said_by } = body.read()?;
        let new = NewMemberDecision {
            members,
            standing: decision.0,
            reason,
            until: until.map(|it| it.0.at(&web.app.time_zone_of(client.id))),
            by: author(&by, said_by)?,
        };
        web.app.decide_members(&rows, new).await?;
        Ok(Data::of(&EstateView::read(&web, &rows).await?))
    }
}

fn kind_of(text: &str) -> Result<EstateKind> {
    let found = EstateKind::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        let all: Vec<&str> = EstateKind::SAID_WHOLE.iter().map(|it| it.as_str()).collect();
        Error::not_found(format!("unknown kind; must be one of {}", all.join(", ")))
    })
}

fn author(by: &By<Decide>, said_by: Option<String>) -> Result<Author> {
    let signature = by.0.signature(said_by)?;
    let signature = signature.ok_or_else(|| Error::invalid_field("by", "is required"))?;
    Ok(by.0.author(signature))
}
