//! Facts: what connectors and integrators report about a client.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Header, Path};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::api::edge::caller::By;
use crate::api::edge::right::PushFacts;
use crate::api::manage::intake::imports::ChangedView;
use crate::api::wire::body::{self, example, present};
use crate::api::wire::input::Sha256Text;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::upload::LargeBody;
use crate::api::wire::view::{AssetTypeView, ReportedStatusView, SyncStatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::intake::list::Moved;
use crate::app::intake::push::{
    FACTS_BYTES_MAX, FactsBody, FactsPush, IDEMPOTENCY_KEY_CHARS_MAX, Once, Push,
};
use crate::app::intake::run::IntakeOutcome;
use crate::auth::caller::Principal;
use crate::error::Error;
use crate::store::per_client::roster::ListKind;

/// What one run of a source reports about a client. Everything except the source may be absent. An absent list says
/// nothing.
// It is read as `FactsBody`, on a floor below the API. A test compares the fields of both.
#[derive(Object, Deserialize)]
#[oai(rename = "Facts", rename_all = "camelCase", example, skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsDoc {
    /// The name of the source. An API key must send its own source label; a user or the operator may send any name.
    #[oai(validator(min_length = 1, max_length = 200))]
    source: String,
    /// The part of the client that the source reports about: an account, a tenant, a host, a subnet. Default: empty.
    #[oai(validator(max_length = 200))]
    #[serde(default, deserialize_with = "present")]
    scope: Option<String>,
    /// The lists in this body are complete for the scope: what they do not contain is treated as removed.
    /// Default: false.
    #[serde(default, deserialize_with = "present")]
    complete: Option<bool>,
    /// A complete list that is more than 30 % (and more than 5 entries) shorter than before is treated as partial until a
    /// second one confirms it. True confirms it at once. Default: false.
    #[serde(default, deserialize_with = "present")]
    confirm_shrink: Option<bool>,
    /// Default: now. At most five minutes in the future.
    #[oai(nullable)]
    observed_at: Option<When>,
    #[oai(nullable)]
    observations: Option<Vec<FactsObservationDoc>>,
    #[oai(nullable)]
    identities: Option<Vec<FactsIdentityDoc>>,
    #[oai(nullable)]
    assets: Option<Vec<FactsAssetDoc>>,
    #[oai(nullable)]
    apps: Option<Vec<FactsAppDoc>>,
    #[oai(nullable)]
    evidence: Option<Vec<FactsEvidenceDoc>>,
    /// How the run went. Default: completed if `complete` is true, otherwise the run is not recorded.
    sync: Option<Null<FactsSyncDoc>>,
}

/// What a source observed about a control: a status, or how many subjects passed and failed.
#[derive(Object, Deserialize)]
#[oai(rename = "FactsObservation", skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsObservationDoc {
    /// The code of a control in the catalog.
    control: String,
    /// Distinguishes several observations of one control. Default: `reported`. `identities` is reserved for what follows
    /// from lists of accounts.
    #[oai(nullable, validator(min_length = 1, max_length = 200))]
    check: Option<String>,
    /// Required without counts. Not together with counts.
    status: Option<Null<ReportedStatusView>>,
    /// Two of `passed`, `failed` and `total` are required without a status.
    #[oai(nullable, validator(minimum(value = "0")))]
    passed: Option<u32>,
    #[oai(nullable, validator(minimum(value = "0")))]
    failed: Option<u32>,
    #[oai(nullable, validator(minimum(value = "0")))]
    total: Option<u32>,
    #[oai(nullable, validator(min_length = 1, max_length = 1000))]
    findings: Option<String>,
    /// Default: as long as observations of the control count.
    #[oai(rename = "validUntil", nullable)]
    valid_until: Option<When>,
}

/// An account. Null means unknown, never "no".
#[derive(Object, Deserialize)]
#[oai(rename = "FactsIdentity", rename_all = "camelCase", skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsIdentityDoc {
    /// The source's own identifier of the account. Default: `user`.
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    external_id: Option<String>,
    #[oai(validator(min_length = 1, max_length = 500))]
    user: String,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    display_name: Option<String>,
    /// `guest`, or `member` (default).
    #[oai(nullable)]
    user_type: Option<String>,
    admin: bool,
    #[oai(validator(max_items = 200))]
    #[serde(default, deserialize_with = "present")]
    roles: Option<Vec<String>>,
    #[oai(nullable)]
    mfa: Option<bool>,
    #[oai(nullable)]
    mfa_enforced: Option<bool>,
    enabled: bool,
    #[oai(nullable)]
    created_at: Option<When>,
    /// A date-time of RFC 3339, or `never`. Null: unknown.
    #[oai(nullable)]
    last_sign_in: Option<String>,
}

/// An asset. Owner, criticality, tags and description apply only until a person changes them.
#[derive(Object, Deserialize)]
#[oai(rename = "FactsAsset", rename_all = "camelCase", skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsAssetDoc {
    #[oai(validator(min_length = 1, max_length = 500))]
    external_id: String,
    #[oai(validator(min_length = 1, max_length = 500))]
    name: String,
    asset_type: AssetTypeView,
    #[oai(nullable, validator(max_length = 500))]
    display_name: Option<String>,
    #[oai(nullable, validator(min_length = 1, max_length = 100))]
    category: Option<String>,
    #[oai(nullable)]
    is_critical: Option<bool>,
    #[oai(nullable, validator(max_length = 255))]
    owner: Option<String>,
    /// At most 16 KiB.
    #[oai(nullable, validator(max_length = 16384))]
    description: Option<String>,
    /// At most 128 characters each.
    #[oai(nullable, validator(max_items = 64))]
    tags: Option<Vec<String>>,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    hostname: Option<String>,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    ip: Option<String>,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    mac: Option<String>,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    serial: Option<String>,
    /// Default: false.
    #[serde(default, deserialize_with = "present")]
    is_managed: Option<bool>,
    #[oai(nullable)]
    last_seen_at: Option<When>,
}

/// An application in use.
#[derive(Object, Deserialize)]
#[oai(rename = "FactsApp", skip_serializing_if_is_none)]
#[serde(deny_unknown_fields)]
pub struct FactsAppDoc {
    #[oai(validator(min_length = 1, max_length = 500))]
    name: String,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    publisher: Option<String>,
    /// How many users use it.
    #[oai(validator(minimum(value = "0")))]
    users: u32,
    /// Whether the client allows it. Null or absent: the client's setting `sanctionedApps` decides.
    #[oai(nullable)]
    sanctioned: Option<bool>,
}

/// Where the evidence for a control is.
#[derive(Object, Deserialize)]
#[oai(rename = "FactsEvidence", rename_all = "camelCase", skip_serializing_if_is_none)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsEvidenceDoc {
    /// The code of a control in the catalog.
    control: String,
    #[oai(validator(min_length = 1, max_length = 200))]
    title: String,
    #[oai(nullable)]
    valid_until: Option<When>,
    #[oai(validator(min_length = 1, max_length = 1000))]
    reference: String,
    #[oai(nullable)]
    sha256: Option<Sha256Text>,
}

/// How the run went.
#[derive(Object, Deserialize)]
#[oai(rename = "FactsSync", skip_serializing_if_is_none)]
#[serde(deny_unknown_fields)]
pub struct FactsSyncDoc {
    status: SyncStatusView,
    #[oai(nullable, validator(min_length = 1, max_length = 500))]
    message: Option<String>,
}

example!(FactsDoc, {
    "source": "entra",
    "scope": "contoso.onmicrosoft.com",
    "complete": true,
    "observations": [{"control": "ID-01", "passed": 20, "failed": 2, "findings": "2 of 22 users have no MFA"}],
    "identities": [{
        "user": "ada@example.com",
        "admin": true,
        "roles": ["Global Administrator"],
        "mfa": true,
        "enabled": true,
        "lastSignIn": "2026-11-19T08:12:00Z",
    }],
});

/// How one list changed.
#[derive(Object, Serialize)]
#[oai(rename = "ListChange")]
pub struct MovedView {
    added: u32,
    changed: u32,
    gone: u32,
    /// The list was much shorter than before and was treated as partial. Send it again or confirm it.
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
    /// The id of the run in the list of imports.
    import_id: Uid,
    /// Observations that were stored, including those that follow from complete lists of accounts.
    observations: u32,
    /// There were far fewer checks than before, and the observations were treated as partial.
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
    fn of(outcome: &IntakeOutcome) -> Self {
        let moved = |part: ListKind| outcome.moved.get(&part).copied().unwrap_or_default();
        Self {
            import_id: Uid::of(outcome.import.id.as_bytes()),
            observations: outcome.import.n_facts,
            observations_held: moved(ListKind::Observations).is_held,
            assets_added: outcome.import.n_assets_new,
            assets_updated: outcome.import.n_assets_updated,
            assets_retired: outcome.n_retired,
            assets: MovedView::of(moved(ListKind::Assets)),
            identities: MovedView::of(moved(ListKind::Identities)),
            apps: MovedView::of(moved(ListKind::Apps)),
            changed: ChangedView::of(&outcome.announced),
        }
    }
}

fn render(outcome: &IntakeOutcome) -> String {
    let rendered = Rendered::data(&FactsOutcomeView::of(outcome));
    String::from_utf8_lossy(&rendered.body).into_owned()
}

pub struct ManagedFacts;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedFacts {
    /// Push facts
    ///
    /// The facts are taken completely or not at all. The same `Idempotency-Key` with the same body within 24 hours returns
    /// the earlier response and changes nothing; with another body it is answered with 409. Scope: `write:assessments`.
    #[oai(path = "/clients/:clientId/facts", method = "post", operation_id = "push_facts")]
    async fn push_facts(
        &self,
        web: Held<&Arc<Web>>,
        by: By<PushFacts>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "Idempotency-Key")] key: Header<Option<Raw<Text>>>,
        body: LargeBody<FactsDoc>,
    ) -> Result<Data<FactsOutcomeView>, Failure> {
        let (_, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let key = key.0.map(|it| it.text);
        if key.as_ref().is_some_and(|it| it.is_empty() || IDEMPOTENCY_KEY_CHARS_MAX < it.len()) {
            let rule = format!("must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters");
            return Err(Error::invalid_field("Idempotency-Key", rule).into());
        }
        let once = key.map(|it| Once { key: format!("{}\n{it}", by.0.account()), render });
        let received = body.receive(&web.app, &by.0, FACTS_BYTES_MAX).await?;
        let (app, caller, client) = (Arc::clone(&web.app), by.0.clone(), rows.id());
        let read = move |bytes: &[u8]| {
            let facts = body::read::<FactsBody>(bytes)?;
            if let Principal::Key(_) = &caller.identity
                && facts.source != caller.source()
            {
                let rule = format!("must be the key's source label, {:?}", caller.source());
                return Err(Error::invalid_field("source", rule));
            }
            let digest = Sha256::digest(bytes).into();
            let (file_name, by) = (String::new(), caller.name());
            app.check_push(client, Push { body: facts, file_name, digest, by, once })
        };
        let push = received.read_with(&web.app, read).await?;
        Ok(match web.app.push_facts(&rows, push).await? {
            FactsPush::Taken(outcome) => Data::of(&FactsOutcomeView::of(&outcome)),
            FactsPush::Replayed(answer) => Data::again(answer),
        })
    }
}
