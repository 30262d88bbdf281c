//! The history of a client's verdicts: what each was, from when to when, on what it rested and why it changed.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCompliance;
use crate::api::wire::param::{Cursor, Id, Raw, Text, UpTo, limit_up_to, position};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, StretchReply};
use crate::api::wire::view::{BasisView, StatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::assessment::span::{
    self, DayFigures, FrameworkFigures, HistorySubject, VerdictSpan,
};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::Result;
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::ClientSnapshot;
use crate::store::per_client::history::verdict::ChangePoint;

/// A time in which a verdict was the same.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "VerdictSpan")]
#[serde(rename_all = "camelCase")]
pub struct VerdictSpanView {
    /// Null: before what is kept.
    from: Null<When>,
    /// Null: it is so now.
    to: Null<When>,
    status: StatusView,
    /// 0 to 100. Null: not assessed or not applicable.
    score: Null<u8>,
    rests_on: BasisView,
    /// The sources that observed it, sorted. At most 16 are named.
    sources: Vec<String>,
    /// How many sources observed it.
    source_count: u32,
    /// Why it changed: the label of a source, `attestation`, `scope`, `lapse`, `assets`, `catalogue`, `undo`, or
    /// `upgrade`: an earlier release, which kept no history, left it so. Null: before what is kept.
    cause: Null<String>,
    /// The run of the source, or the import that was undone.
    import_id: Null<Uid>,
    /// The number of the statement by which it changed.
    statement: Null<u64>,
    /// The version of the rules by which it was decided. Null: not known.
    rules: Null<u16>,
    /// The catalog by which it was decided, in hexadecimal. Null: before what is kept.
    catalog: Null<String>,
}

impl VerdictSpanView {
    fn of(it: VerdictSpan) -> Self {
        let VerdictSpan { verdict, began, ended_at, .. } = it;
        let import = began.as_ref().and_then(|it| it.import);
        let known = |rules: &ChangePoint| Some(rules.rules).filter(|it| *it != 0);
        Self {
            from: began.as_ref().map(|it| When(it.at)).into(),
            to: ended_at.map(When).into(),
            status: StatusView(verdict.status),
            score: verdict.score.into(),
            rests_on: BasisView(verdict.basis),
            sources: verdict.sources,
            source_count: verdict.n_sources,
            import_id: import.map(|it| Uid::of(it.as_bytes())).into(),
            statement: began.as_ref().and_then(|it| it.statement).into(),
            rules: began.as_ref().and_then(known).into(),
            catalog: began.as_ref().map(|it| format!("{:016x}", it.catalog)).into(),
            cause: began.map(|it| it.cause).into(),
        }
    }
}

/// What a client came to at the end of a UTC day; of today, until now.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DayFigures")]
#[serde(rename_all = "camelCase")]
pub struct DayFiguresView {
    /// Such as 2026-11-20.
    day: String,
    /// The security score. Null: there was none to show.
    score: Null<u8>,
    /// Empty before the history of verdicts began.
    frameworks: Vec<FrameworkFiguresView>,
}

/// What a framework came to.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FrameworkFigures")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkFiguresView {
    framework_id: String,
    /// 0 to 100.
    readiness_score: u8,
    /// -203 to 110. Null: the framework has none, or its gate is not met.
    sprs_score: Null<i16>,
}

impl DayFiguresView {
    fn of(it: DayFigures) -> Self {
        let framework = |it: FrameworkFigures| FrameworkFiguresView {
            framework_id: it.id.as_str().to_owned(),
            readiness_score: it.readiness,
            sprs_score: it.sprs.into(),
        };
        Self {
            day: Time::EPOCH.plus_days(i64::from(it.day)).to_string()[..10].to_owned(),
            score: it.score.into(),
            frameworks: it.frameworks.into_iter().map(framework).collect(),
        }
    }
}

/// What a page of a list asks for.
type PageQuery = (Option<Raw<Cursor>>, Option<Raw<UpTo<PULL_LIMIT_MAX>>>);

async fn spans(
    web: &Web,
    by: &Caller,
    client: &Raw<Id>,
    subject: HistorySubject,
    (after, limit): PageQuery,
) -> Result<StretchReply<VerdictSpanView>, Failure> {
    let (before, limit) =
        (position(after.as_ref(), |it| it.parse().ok())?, limit_up_to(limit.as_ref())?);
    let (_, rows) = web.app.reach_any(by, client.read()?)?;
    let list = rows.read(move |snapshot: &ClientSnapshot| {
        let found = span::list(snapshot, &subject, before, limit as usize + 1)?;
        Ok(Stretch::of(found, limit, |it| it.id.to_string()).map(VerdictSpanView::of))
    });
    Ok(StretchReply::of(&list.await?))
}

pub struct History;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl History {
    /// List what a control was and when
    ///
    /// Newest first: from when to when it was what, on what that rested, and why it changed. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode/history",
        method = "get",
        operation_id = "list_control_history"
    )]
    async fn list_control_history(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// The code of a control in the catalog, in upper or lower case.
        #[oai(name = "controlCode")]
        control_code: Path<Raw<Text>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<VerdictSpanView>, Failure> {
        let catalog = web.app.catalog();
        let control = catalog.get_control(&control_code.0.text.to_ascii_uppercase())?;
        let subject = HistorySubject::control(control);
        spans(&web, &by.0, &client_id, subject, (after.0, limit.0)).await
    }

    /// List what a requirement was and when
    ///
    /// Newest first: from when to when it was what, on what that rested, and why it changed. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId/:requirement/history",
        method = "get",
        operation_id = "list_requirement_history"
    )]
    async fn list_requirement_history(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// The framework's own reference, of either level, in upper or lower case.
        requirement: Path<Raw<Text>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<VerdictSpanView>, Failure> {
        let catalog = web.app.catalog();
        let framework = catalog.framework_named(&framework_id.text)?;
        let row = &framework.rows[framework.get_row(&requirement.0.text)?];
        let subject = HistorySubject::row(framework, row);
        spans(&web, &by.0, &client_id, subject, (after.0, limit.0)).await
    }

    /// List what a client came to each day
    ///
    /// The security score, the readiness for each framework and the SPRS score at the end of each UTC day, newest first.
    /// Days before this was kept have the score alone. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/days", method = "get", operation_id = "list_days")]
    async fn list_days(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Continue after this day: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<DayFiguresView>, Failure> {
        let (before, limit) =
            (position(after.0.as_ref(), |it| it.parse().ok())?, limit_up_to(limit.0.as_ref())?);
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let (catalog, today) = (web.app.catalog(), web.app.clock.now().day());
        let list = rows.read(move |snapshot: &ClientSnapshot| {
            let found = span::list_days(snapshot, &catalog, today, before, limit + 1)?;
            Ok(Stretch::of(found, limit, |it| it.day.to_string()).map(DayFiguresView::of))
        });
        Ok(StretchReply::of(&list.await?))
    }
}
