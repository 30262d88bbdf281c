//! Facts: what connectors and integrators tell of a client.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Header, Path};
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::PushFacts;
use crate::api::manage::intake::imports::ChangedView;
use crate::api::wire::body::Body;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Rendered};
use crate::api::wire::view::{AssetTypeView, Uid};
use crate::api::{Group, Web};
use crate::app::intake::ingest::Outcome;
use crate::app::intake::list::Moved;
use crate::app::intake::push::{
    FACTS_BYTES_MAX, FactsBody, IDEMPOTENCY_KEY_CHARS_MAX, Once, Push, Pushed,
};
use crate::auth::caller::Caller;
use crate::error::Error;

/// What one run of a source tells of a client. Every part but the source may be absent; what is absent is not spoken of.
#[derive(Object)]
#[oai(rename = "Facts", rename_all = "camelCase")]
pub struct FactsDoc {
    /// Who tells. Of a key: its source label. Of a user or the operator: any name.
    #[oai(validator(max_length = 200))]
    source: String,
    /// Which part of the client the source speaks of: an account, a tenant, a host, a subnet.
    #[oai(validator(max_length = 200))]
    scope: Option<String>,
    /// The source saw everything of the lists that it sends, in that scope: what is absent is gone.
    #[oai(default)]
    complete: bool,
    /// A complete list that shrinks by more than 30 % (and 5) is taken as partial until a second one agrees; this says
    /// that it did shrink.
    #[oai(default)]
    confirm_shrink: bool,
    /// RFC 3339. Default: now.
    observed_at: Option<String>,
    observations: Option<Vec<FactsObservationDoc>>,
    identities: Option<Vec<FactsIdentityDoc>>,
    assets: Option<Vec<FactsAssetDoc>>,
    apps: Option<Vec<FactsAppDoc>>,
    evidence: Option<Vec<FactsEvidenceDoc>>,
    sync: Option<FactsSyncDoc>,
}

/// What the source saw of a control: a status, or how many passed and failed.
#[derive(Object)]
#[oai(rename = "FactsObservation", rename_all = "camelCase")]
pub struct FactsObservationDoc {
    /// A control's code.
    control: String,
    /// Tells several observations of one control apart. Not `identities`: so is called what lists of accounts say.
    check: Option<String>,
    /// `compliant`, `partial` or `non_compliant`.
    status: Option<String>,
    passed: Option<u32>,
    failed: Option<u32>,
    total: Option<u32>,
    #[oai(validator(max_length = 1000))]
    findings: Option<String>,
    /// RFC 3339. Default: as long as the control says.
    valid_until: Option<String>,
}

/// An account. Null means unknown, never no.
#[derive(Object)]
#[oai(rename = "FactsIdentity", rename_all = "camelCase")]
pub struct FactsIdentityDoc {
    /// The source's own identifier of it. Default: `user`.
    external_id: Option<String>,
    user: String,
    #[oai(nullable)]
    display_name: Option<String>,
    /// `member` (default) or `guest`.
    #[oai(nullable)]
    user_type: Option<String>,
    admin: bool,
    roles: Option<Vec<String>>,
    #[oai(nullable)]
    mfa: Option<bool>,
    #[oai(nullable)]
    mfa_enforced: Option<bool>,
    enabled: bool,
    #[oai(nullable)]
    created_at: Option<String>,
    /// RFC 3339, `never`, or null for unknown.
    #[oai(nullable)]
    last_sign_in: Option<String>,
}

/// An asset. What is set here of owner, criticality, tags and description stays as a person left it.
#[derive(Object)]
#[oai(rename = "FactsAsset", rename_all = "camelCase")]
pub struct FactsAssetDoc {
    external_id: String,
    name: String,
    asset_type: AssetTypeView,
    #[oai(nullable)]
    display_name: Option<String>,
    #[oai(nullable)]
    category: Option<String>,
    is_critical: Option<bool>,
    #[oai(nullable)]
    owner: Option<String>,
    #[oai(nullable)]
    description: Option<String>,
    tags: Option<Vec<String>>,
    #[oai(nullable)]
    hostname: Option<String>,
    #[oai(nullable)]
    ip: Option<String>,
    #[oai(nullable)]
    mac: Option<String>,
    #[oai(nullable)]
    serial: Option<String>,
    #[oai(default)]
    is_managed: bool,
    #[oai(nullable)]
    last_seen_at: Option<String>,
}

/// An app in use.
#[derive(Object)]
#[oai(rename = "FactsApp", rename_all = "camelCase")]
pub struct FactsAppDoc {
    name: String,
    #[oai(nullable)]
    publisher: Option<String>,
    users: u32,
    /// Absent or null: as the client's `sanctionedApps` say.
    #[oai(nullable)]
    sanctioned: Option<bool>,
}

/// Where the evidence for a control is.
#[derive(Object)]
#[oai(rename = "FactsEvidence", rename_all = "camelCase")]
pub struct FactsEvidenceDoc {
    control: String,
    title: String,
    #[oai(nullable)]
    valid_until: Option<String>,
    reference: String,
    #[oai(nullable)]
    sha256: Option<String>,
}

/// How the run went.
#[derive(Object)]
#[oai(rename = "FactsSync")]
pub struct FactsSyncDoc {
    /// `completed`, `partial` or `failed`.
    status: String,
    message: Option<String>,
}

/// How one list moved.
#[derive(Object, Serialize)]
#[oai(rename = "ListChange")]
pub struct MovedView {
    added: u32,
    changed: u32,
    gone: u32,
    /// It had far fewer than before and was taken as partial: send it again, or confirm it.
    held: bool,
}

impl MovedView {
    fn of(moved: Moved) -> Self {
        let Moved { n_added, n_changed, n_gone, is_held } = moved;
        Self { added: n_added, changed: n_changed, gone: n_gone, held: is_held }
    }
}

/// What a push of facts changed.
#[derive(Object, Serialize)]
#[oai(rename = "FactsOutcome", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct FactsOutcomeView {
    /// The record of the run, among the imports.
    import_id: Uid,
    /// Observations taken, those that follow from complete lists of accounts included.
    observations: u32,
    /// The observations had far fewer checks than before and were taken as partial.
    observations_held: bool,
    assets_added: u32,
    assets_updated: u32,
    assets_retired: u32,
    assets: MovedView,
    identities: MovedView,
    apps: MovedView,
    changed: ChangedView,
}

impl FactsOutcomeView {
    fn of(outcome: &Outcome) -> Self {
        let moved = |name: &str| outcome.moved.get(name).copied().unwrap_or_default();
        Self {
            import_id: Uid::of(outcome.import.id.as_bytes()),
            observations: outcome.import.n_facts,
            observations_held: moved("observations").is_held,
            assets_added: outcome.import.n_assets_new,
            assets_updated: outcome.import.n_assets_updated,
            assets_retired: outcome.n_retired,
            assets: MovedView::of(moved("assets")),
            identities: MovedView::of(moved("identities")),
            apps: MovedView::of(moved("apps")),
            changed: ChangedView::of(&outcome.announced),
        }
    }
}

fn render(outcome: &Outcome) -> String {
    let rendered = Rendered::data(&FactsOutcomeView::of(outcome));
    String::from_utf8_lossy(&rendered.body).into_owned()
}

pub struct Facts;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Facts {
    /// Push facts
    ///
    /// All or nothing. The same `Idempotency-Key` with the same body within 24 hours answers as before and does nothing;
    /// with another body it is refused with 409. Scope: `write:assessments`.
    #[oai(path = "/clients/:clientId/facts", method = "post", operation_id = "push_facts")]
    async fn push_facts(
        &self,
        web: Held<&Arc<Web>>,
        by: By<PushFacts>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "Idempotency-Key")] key: Header<Option<Raw<Text>>>,
        body: Body<FactsDoc, FACTS_BYTES_MAX>,
    ) -> Result<Data<FactsOutcomeView>, Failure> {
        let (_, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let facts = body.read::<FactsBody>()?;
        if let Caller::Key(_) = &by.0
            && facts.source != by.0.source()
        {
            let rule = format!("must be the key's source label, {:?}", by.0.source());
            return Err(Error::invalid_field("source", rule).into());
        }
        let key = key.0.map(|it| it.text);
        if key.as_ref().is_some_and(|it| it.is_empty() || IDEMPOTENCY_KEY_CHARS_MAX < it.len()) {
            let rule = format!("must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters");
            return Err(Error::invalid_field("Idempotency-Key", rule).into());
        }
        let push = Push {
            body: facts,
            file_name: String::new(),
            digest: body.digest(),
            by: by.0.name(),
            once: key.map(|it| Once { key: format!("{}\n{it}", by.0.account()), render }),
        };
        Ok(match web.app.push_facts(&rows, push).await? {
            Pushed::Taken(outcome) => Data::of(&FactsOutcomeView::of(&outcome)),
            Pushed::Again(answer) => Data::again(answer),
        })
    }
}
