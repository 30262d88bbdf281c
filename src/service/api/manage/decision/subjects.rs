//! Decisions about single subjects of a control.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::said::SubjectRulingView;
use crate::api::wire::view::{End, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::subject::{
    ControlSubjects, FailingSubject, NewSubjectDecision, SubjectDecisionState,
};
use crate::auth::caller::Caller;
use crate::clock::zone::Zone;
use crate::error::{Error, Result};
use crate::id::SubjectDecisionId;
use crate::store::per_client::statement::subject::StatedSubjects;
use crate::store::{ClientSnapshot, ClientStore};

/// A longer list of subjects is refused.
const SUBJECTS_BYTES_MAX: usize = 1024 * 1024;

/// Subjects of a control that fail, and what people decided about single ones.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ControlSubjects")]
#[serde(rename_all = "camelCase")]
pub struct ControlSubjectsView {
    /// Those that fail and are known by name, by name: the first 1,000. Of each check, the first 200 are.
    subjects: Vec<FailingSubjectView>,
    /// How many more are known by name.
    unlisted_count: usize,
    /// How many failures are of subjects that are not known by name, over all checks. No pattern matches them.
    unnamed_count: u64,
    /// What counts of what was decided about single subjects. The decision that ends first comes first.
    decisions: Vec<SubjectDecisionView>,
}

/// A subject that fails.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FailingSubject")]
#[serde(rename_all = "camelCase")]
pub struct FailingSubjectView {
    name: String,
    /// What was decided about it. Null: nothing that counts.
    decision: Null<SubjectRulingView>,
    decision_id: Null<Uid>,
}

/// What a person decided about single subjects of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SubjectDecision")]
#[serde(rename_all = "camelCase")]
pub struct SubjectDecisionView {
    id: Uid,
    /// The number of its statement.
    statement: u64,
    decision: SubjectRulingView,
    /// Null: it has a pattern.
    ids: Null<Vec<String>>,
    /// Null: it names the subjects.
    pattern: Null<String>,
    /// How many subjects that fail now it is about.
    matched_count: usize,
    reason: String,
    by: String,
    at: When,
    until: When,
}

impl From<FailingSubject> for FailingSubjectView {
    fn from(it: FailingSubject) -> Self {
        let (ruling, id) = it.decided.unzip();
        Self {
            name: it.name,
            decision: ruling.map(SubjectRulingView).into(),
            decision_id: id.map(|it| Uid::of(it.as_bytes())).into(),
        }
    }
}

impl SubjectDecisionView {
    fn of(it: SubjectDecisionState) -> Self {
        let SubjectDecisionState { number, decision, n_matched } = it;
        let (ids, pattern) = match decision.subjects {
            StatedSubjects::Named(names) => (Some(names), None),
            StatedSubjects::Matching(pattern) => (None, Some(pattern)),
        };
        Self {
            id: Uid::of(decision.id.as_bytes()),
            statement: number,
            decision: SubjectRulingView(decision.ruling),
            ids: ids.into(),
            pattern: pattern.into(),
            matched_count: n_matched,
            reason: decision.reason,
            by: decision.by,
            at: When(decision.at),
            until: When(decision.until),
        }
    }
}

impl ControlSubjectsView {
    fn of(it: ControlSubjects) -> Self {
        Self {
            subjects: it.listed.into_iter().map(FailingSubjectView::from).collect(),
            unlisted_count: it.n_unlisted,
            unnamed_count: it.n_unnamed,
            decisions: it.decisions.into_iter().map(SubjectDecisionView::of).collect(),
        }
    }
}

/// What a person decides about single subjects of a control. Exactly one of `ids` and `pattern` is required.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "SubjectStatement")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct SubjectsBody {
    decision: SubjectRulingView,
    /// The ids that the source uses, or names as they are listed.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    ids: Option<Vec<String>>,
    /// All whose known name matches, now and later: `*` stands for any characters, `?` for one. Upper and lower case are the same.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    pattern: Option<String>,
    #[schemars(length(min = 1, max = 1000))]
    reason: String,
    /// At most one year from now. Default: one year.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// Who decided. Default: the caller. If a user or key names another person, both are recorded. The operator
    /// must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(SubjectsBody, {
    "decision": "intended",
    "pattern": "breakglass-*",
    "reason": "Emergency accounts, kept in the safe and watched",
    "by": "Ada Lovelace",
});

impl SubjectsBody {
    fn decision(self, caller: &Caller, zone: &Zone) -> Result<NewSubjectDecision> {
        let Self { decision, ids, pattern, reason, until, by } = self;
        let subjects = match (ids, pattern) {
            (Some(ids), None) => StatedSubjects::Named(ids),
            (None, Some(pattern)) => StatedSubjects::Matching(pattern),
            (None, None) => return Err(Error::invalid_field("ids", "give either ids or pattern")),
            (Some(_), Some(_)) => {
                return Err(Error::invalid_field("pattern", "give either ids or pattern"));
            }
        };
        let required = || Error::invalid_field("by", "is required");
        let by = caller.signature(by)?.ok_or_else(required)?;
        Ok(NewSubjectDecision {
            ruling: decision.0,
            subjects,
            reason,
            until: until.map(|it| it.0.at(zone)),
            by: caller.author(by),
        })
    }
}

async fn read(web: &Web, rows: &ClientStore, code: String) -> Result<ControlSubjects> {
    let app = Arc::clone(&web.app);
    rows.read(move |snapshot: &ClientSnapshot| app.control_subjects(snapshot, &code)).await
}

pub struct Subjects;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Subjects {
    /// List the failing subjects of a control
    ///
    /// Those that are known by name, and what people decided about single ones. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode/subjects",
        method = "get",
        operation_id = "list_control_subjects"
    )]
    async fn list_control_subjects(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// The code of a control in the catalog, in upper or lower case.
        #[oai(name = "controlCode")]
        control_code: Path<Raw<Text>>,
    ) -> Result<Data<ControlSubjectsView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text.to_ascii_uppercase();
        Ok(Data::kept(&ControlSubjectsView::of(read(&web, &rows, code).await?)))
    }

    /// Decide about subjects of a control
    ///
    /// Says of up to 1,000 subjects, or of those that a pattern matches, that they are meant to be so (`intended`: no members of
    /// the control, which neither pass nor fail), or that their risk is accepted (`accepted`: they still fail), and reassesses the
    /// client. Once the decision ends, they fail as before. It is one statement of the client's log.
    /// Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode/subjects",
        method = "post",
        operation_id = "decide_control_subjects"
    )]
    async fn decide_control_subjects(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "controlCode")] control_code: Path<Raw<Text>>,
        body: Body<SubjectsBody, SUBJECTS_BYTES_MAX>,
    ) -> Result<Made<SubjectDecisionView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text.to_ascii_uppercase();
        web.app.catalog().get_control(&code)?;
        let new = body.read()?.decision(&by.0, &web.app.time_zone_of(client.id))?;
        let id = web.app.decide_subjects(&rows, &code, new).await?;
        let all = read(&web, &rows, code).await?;
        let made = all.decisions.into_iter().find(|it| it.decision.id == id);
        let made = made.ok_or_else(|| Error::not_found("decision not found"))?;
        Ok(Made::Added(SubjectDecisionView::of(made)))
    }

    /// Withdraw a decision about subjects of a control
    ///
    /// The subjects fail as before from then on, and the client is reassessed. Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode/subjects/:decisionId",
        method = "delete",
        operation_id = "withdraw_control_subjects"
    )]
    async fn withdraw_control_subjects(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "controlCode")] control_code: Path<Raw<Text>>,
        /// The `id` of the decision.
        #[oai(name = "decisionId")]
        decision_id: Path<Raw<Id>>,
        /// Why, up to 1,000 characters.
        reason: Query<Option<Raw<Text>>>,
    ) -> Result<Gone, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text.to_ascii_uppercase();
        let reason = reason.0.map(|it| it.text).unwrap_or_default();
        let id = decision_id.read::<SubjectDecisionId>()?;
        web.app.withdraw_subjects(&rows, (&code, id), reason, by.0.own_author()).await?;
        Ok(Gone)
    }
}
