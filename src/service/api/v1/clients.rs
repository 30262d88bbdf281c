//! Operations 1 and 2: client organizations.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{PageContent, PageKey};
use crate::api::edge::right::ReadClients;
use crate::api::wire::param::{Id, Limit, Offset, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::auth::caller::Caller;
use crate::id::ClientId;
use crate::store::global::client::Client;

/// A client organization, the unit of tenancy.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Client")]
#[serde(rename_all = "camelCase")]
pub struct ClientView {
    id: Uid,
    name: String,
    industry: Null<String>,
    employee_count: Null<u32>,
    created_at: When,
}

impl ClientView {
    pub fn of(client: &Client) -> Self {
        Self {
            id: Uid::of(client.id.as_bytes()),
            name: client.name.clone(),
            industry: client.industry.clone().into(),
            employee_count: client.employee_count.into(),
            created_at: When(client.created_at),
        }
    }
}

/// A client organization with its settings.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientDetail")]
#[serde(rename_all = "camelCase")]
pub struct ClientDetailView {
    id: Uid,
    name: String,
    industry: Null<String>,
    employee_count: Null<u32>,
    created_at: When,
    /// Effective settings: the client's own settings on top of the service's defaults. Known members: `profile`,
    /// `frameworks`, `scoreThresholds`, `dormantAfterDays`, `evidenceWarningDays`, `staleAssetDays`, `sanctionedApps`, `tags`,
    /// `timeZone`.
    settings: Free,
    updated_at: When,
}

impl ClientDetailView {
    pub fn of(client: &Client, app: &App) -> Self {
        let ClientView { id, name, industry, employee_count, created_at } = ClientView::of(client);
        let settings = Free(app.effective_settings(client));
        let updated_at = When(client.updated_at);
        Self { id, name, industry, employee_count, created_at, settings, updated_at }
    }
}

pub struct VersionedClients;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl VersionedClients {
    /// List clients
    ///
    /// Active client organizations that the key may access. Scope: `read:clients`.
    #[oai(path = "/clients", method = "get", operation_id = "list_clients")]
    async fn list_clients(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadClients>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
        /// Only clients of this industry, in upper or lower case.
        industry: Query<Option<Raw<Text>>>,
    ) -> Result<reply::PageReply<ClientView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let industry = industry.0.map(|it| it.text);
        let app = &web.app;
        let versions = [app.clients.directory.version(), 0];
        let shown =
            PageContent::Clients { allowed: restricted(&by.0), industry: industry.clone(), cut };
        let key = PageKey { shown, versions };
        if let Some(rendered) = web.cache.find(&key) {
            return Ok(reply::PageReply::rendered(rendered));
        }
        let page = app.clients.directory.page(by.0.allowed_clients(), industry.as_deref(), cut);
        let rendered = Rendered::page(&page.map(|it| ClientView::of(&it)));
        web.cache.put(key, rendered.clone());
        Ok(reply::PageReply::rendered(rendered))
    }

    /// Get a client
    ///
    /// One client organization with its effective settings. Scope: `read:clients`.
    #[oai(path = "/clients/:clientId", method = "get", operation_id = "get_client")]
    async fn get_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadClients>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<ClientDetailView>, Failure> {
        let (client, _) = web.app.reach_active(&by.0, client_id.read()?)?;
        Ok(Data::rendered(Rendered::data(&ClientDetailView::of(&client, &web.app))))
    }
}

/// Answers differ between callers only if their client lists differ.
fn restricted(caller: &Caller) -> Option<u128> {
    let ids: Vec<u8> =
        caller.allowed_clients()?.iter().flat_map(ClientId::as_bytes).copied().collect();
    Some(xxh3_128(&ids))
}
