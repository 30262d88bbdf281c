//! Facts: what connectors and integrators report about a client.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Header, Path};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::api::edge::caller::By;
use crate::api::edge::right::PushFacts;
use crate::api::manage::intake::facts_body::FactsDoc;
use crate::api::manage::intake::imports::ChangedView;
use crate::api::wire::body;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Rendered};
use crate::api::wire::upload::LargeBody;
use crate::api::wire::view::Uid;
use crate::api::{Group, Web};
use crate::app::intake::list::Moved;
use crate::app::intake::push::{
    FACTS_BYTES_MAX, FactsBody, FactsPush, IDEMPOTENCY_KEY_CHARS_MAX, Once, Push,
};
use crate::app::intake::run::IntakeOutcome;
use crate::auth::caller::Principal;
use crate::error::Error;
use crate::store::per_client::roster::ListKind;

/// How one list changed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ListChange")]
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
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FactsOutcome")]
#[serde(rename_all = "camelCase")]
pub struct FactsOutcomeView {
    /// The id of the run in the list of imports.
    import_id: Uid,
    /// Observations that were stored, including those that follow from complete lists of accounts.
    observations: u32,
    /// There were far fewer checks than before, and the observations were treated as partial.
    observations_held: bool,
    /// How many observations end earlier than `validUntil` says: nothing counts for longer than four times the maximum age of
    /// its control, or 400 days.
    adjusted: u32,
    /// How many subjects failed before and were not looked at: they still fail.
    not_looked_at: u64,
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
            adjusted: outcome.n_adjusted,
            not_looked_at: outcome.n_carried,
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
            app.check_push(
                client,
                Push { body: facts, file_name, digest, by, once, is_file: false },
            )
        };
        let push = received.read_with(&web.app, read).await?;
        Ok(match web.app.push_facts(&rows, push).await? {
            FactsPush::Taken(outcome) => Data::of(&FactsOutcomeView::of(&outcome)),
            FactsPush::Replayed(answer) => Data::again(answer),
        })
    }
}
