//! Clients: list, add, show, change, erase.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, ViewClients};
use crate::api::wire::body::{Body, nullable, present};
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Gone, Made, Null, Rendered};
use crate::api::wire::view::{Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::client::settings::{Defaults, Settings};
use crate::app::decision::client::ClientChange;
use crate::page::Page;
use crate::store::global::client::{Client, ClientState};

/// A client organization as its administrator sees it.
#[derive(Object, Serialize)]
#[oai(rename = "ManagedClient", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct ManagedClientView {
    id: Uid,
    name: String,
    industry: Null<String>,
    employee_count: Null<u32>,
    /// Inactive clients are not listed by the versioned interface; their data is kept.
    active: bool,
    settings: Free,
    created_at: When,
    updated_at: When,
}

impl ManagedClientView {
    pub fn of(client: &Client, defaults: &Defaults) -> Self {
        Self {
            id: Uid::of(client.id.as_bytes()),
            name: client.name.clone(),
            industry: client.industry.clone().into(),
            employee_count: client.employee_count.into(),
            active: client.state == ClientState::Active,
            settings: Free(Settings::of(&client.settings).effective(defaults)),
            created_at: When(client.created_at),
            updated_at: When(client.updated_at),
        }
    }
}

/// What to change of a client; absent fields stay, null clears.
#[derive(Object)]
#[oai(rename = "ClientChange", rename_all = "camelCase")]
pub struct ClientDoc {
    /// Required for a new client.
    #[oai(validator(max_length = 500))]
    name: Option<String>,
    #[oai(nullable, validator(max_length = 100))]
    industry: Option<String>,
    #[oai(nullable)]
    employee_count: Option<u32>,
    active: Option<bool>,
    /// Members replace those of the same name, null removes one; `profile` is merged answer by answer.
    settings: Option<Free>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct ClientBody {
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "nullable")]
    industry: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    employee_count: Option<Option<u32>>,
    #[serde(deserialize_with = "present")]
    active: Option<bool>,
    #[serde(deserialize_with = "present")]
    settings: Option<Map<String, Value>>,
}

impl From<ClientBody> for ClientChange {
    fn from(body: ClientBody) -> Self {
        let ClientBody { name, industry, employee_count, active, settings } = body;
        Self { name, industry, employee_count, active, settings }
    }
}

pub struct Clients;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Clients {
    /// List all clients
    ///
    /// Inactive ones too, in the order in which they were added. Scope: `read:clients`.
    #[oai(path = "/clients", method = "get", operation_id = "manage_list_clients")]
    async fn list_clients(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewClients>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::Page<ManagedClientView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let mut all = web.app.clients.directory.list();
        all.retain(|it| it.state != ClientState::Erasing && by.0.may_reach(it.id));
        let defaults = &web.app.options.settings;
        let page = Page::of(all.into_iter(), cut).map(|it| ManagedClientView::of(&it, defaults));
        Ok(reply::Page::rendered(Rendered::page(&page)))
    }

    /// Add a client
    #[oai(path = "/clients", method = "post", operation_id = "add_client")]
    async fn add_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<ClientDoc>,
    ) -> Result<Made<ManagedClientView>, Failure> {
        let change = body.read::<ClientBody>()?.into();
        let client = web.app.add_client(&by.0.name(), change).await?;
        Ok(Made::Added(ManagedClientView::of(&client, &web.app.options.settings)))
    }

    /// Show a client
    ///
    /// Scope: `read:clients`.
    #[oai(path = "/clients/:clientId", method = "get", operation_id = "manage_get_client")]
    async fn get_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewClients>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let (client, _) = web.app.reach_any(&by.0, client_id.read()?)?;
        Ok(Data::of(&ManagedClientView::of(&client, &web.app.options.settings)))
    }

    /// Change a client
    #[oai(path = "/clients/:clientId", method = "patch", operation_id = "change_client")]
    async fn change_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<ClientDoc>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let id = client_id.read()?;
        web.app.reach_any(&by.0, id)?;
        let change = body.read::<ClientBody>()?.into();
        let client = web.app.change_client(&by.0, id, change).await?;
        Ok(Data::of(&ManagedClientView::of(&client, &web.app.options.settings)))
    }

    /// Erase a client
    ///
    /// Everything about it: assets, facts, results, history, events. There is no way back but a backup.
    #[oai(path = "/clients/:clientId", method = "delete", operation_id = "remove_client")]
    async fn remove_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_client(&by.0, client_id.read()?).await?;
        Ok(Gone)
    }
}
