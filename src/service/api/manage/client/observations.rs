//! What sources saw of a client: which checks passed and failed where, and until when that counts.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCompliance;
use crate::api::wire::param::{self, Cursor, Id, Raw, Text, TrueWord, UpTo, limit_up_to, position};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, StretchReply};
use crate::api::wire::view::{SeverityView, StatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::observation::{ObservationFilter, are_declared_current, list_observations};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::control::{controls_of, valid_until};
use crate::engine::fact::{Observation, Subject, Verdict};
use crate::error::{Error, Result};
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::per_client::fact::ObservationCursor;

/// The newest that a source reports of a check in a scope.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Observation")]
#[serde(rename_all = "camelCase")]
pub struct ObservationView {
    /// The controls that it counts for. Empty: no control is mapped to the check.
    control_codes: Vec<String>,
    check: String,
    /// The tool that the check belongs to. Null: the source names the control itself.
    tool: Null<String>,
    title: String,
    source: String,
    /// The part of the client that it is about, for example an account or a tenant.
    scope: String,
    failing: bool,
    /// Subjects that passed. Null: the source states a status without counts.
    passed: Null<u32>,
    failed: Null<u32>,
    /// Subjects that are known and of which the source does not say it. Null as `passed`.
    unseen: Null<u32>,
    /// Null: the source counts subjects.
    status: Null<StatusView>,
    /// How many of those that failed are muted at the source: they did not pass, and are accepted there.
    accepted: u32,
    /// How many of those that failed only earlier runs saw: the newest did not look at them.
    carried: u32,
    severity: SeverityView,
    /// What was found. The first line names failing subjects.
    findings: Null<String>,
    remediation: Null<String>,
    observed_at: When,
    /// Who imported it declared that it shows the state at the time of the import, whatever date the file has.
    declared_current: bool,
    valid_until: When,
    /// False: it has expired.
    valid: bool,
    /// The import, push or scan that contained it.
    import_id: Uid,
}

impl ObservationView {
    pub fn of(it: Observation, declared_current: bool, catalog: &Catalog, now: Time) -> Self {
        let until = valid_until(catalog, &it);
        let controls = controls_of(catalog, &it).into_iter();
        let (counts, status) = match it.verdict {
            Verdict::Counted { passed, failed } => (Some((passed, failed, 0)), None),
            Verdict::Seen { passed, failed, unseen } => (Some((passed, failed, unseen)), None),
            Verdict::Stated(status) => (None, Some(status)),
            Verdict::Gone => (None, None),
        };
        Self {
            control_codes: controls.map(|it| catalog.controls[it].code.clone()).collect(),
            tool: match it.subject {
                Subject::Check { tool } => Some(tool).into(),
                Subject::Control(_) => None.into(),
            },
            check: it.check,
            title: it.title,
            source: it.source,
            scope: it.scope,
            failing: it.verdict.is_failing(),
            passed: counts.map(|it| it.0).into(),
            failed: counts.map(|it| it.1).into(),
            unseen: counts.map(|it| it.2).into(),
            status: status.map(StatusView).into(),
            accepted: it.accepted,
            carried: it.memory.n_carried(),
            severity: SeverityView(it.severity),
            findings: it.findings.into(),
            remediation: it.remediation.into(),
            observed_at: When(it.observed_at),
            declared_current,
            valid_until: When(until),
            valid: now < until,
            import_id: Uid::of(it.import.as_bytes()),
        }
    }
}

/// Finds the controls that a code means.
fn controls(catalog: &Catalog, given: Option<Raw<Text>>) -> Result<Option<Vec<usize>>> {
    let Some(Raw { text, .. }) = given else { return Ok(None) };
    let controls = catalog.controls_named(&text.to_ascii_uppercase());
    if controls.is_empty() {
        return Err(Error::invalid_field("control", "must be a control code of the catalog"));
    }
    Ok(Some(controls))
}

pub struct Observations;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Observations {
    /// List a client's observations
    ///
    /// What each source reported last of each check in each scope: the evidence behind controls and risks. Includes expired
    /// observations. The order is fixed. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/observations",
        method = "get",
        operation_id = "list_observations"
    )]
    async fn list_observations(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Only those that count for this control.
        control: Query<Option<Raw<Text>>>,
        /// Only those of this check.
        check: Query<Option<Raw<Text>>>,
        /// Only those of this source.
        source: Query<Option<Raw<Text>>>,
        /// Only those in which something fails.
        failing: Query<Option<Raw<TrueWord>>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<ObservationView>, Failure> {
        let catalog = web.app.catalog();
        let filter = ObservationFilter {
            controls: controls(&catalog, control.0)?,
            check: check.0.map(|it| it.text),
            source: source.0.map(|it| it.text),
            failing_only: param::only_true("failing", failing.0.as_ref())?,
        };
        let after = position(after.0.as_ref(), ObservationCursor::read)?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let now = web.app.clock.now();
        let list = rows.read(move |snapshot| {
            let found =
                list_observations(snapshot, &catalog, &filter, after.as_ref(), limit as usize + 1)?;
            let declared = are_declared_current(snapshot, &found)?;
            let found = found.into_iter().zip(declared).collect();
            let found = Stretch::of(found, limit, |((cursor, _), _)| cursor.to_string());
            Ok(found.map(|((_, it), declared)| ObservationView::of(it, declared, &catalog, now)))
        });
        Ok(StretchReply::of(&list.await?))
    }
}
