//! Clients: list, add, get, change, erase.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{AddClients, Administer, ChangeClients, ViewClients};
use crate::api::wire::body::{Body, Change, example, present};
use crate::api::wire::input::Members;
use crate::api::wire::param::{Id, Limit, Needed, Offset, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reference::ReferenceView;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Made, Null, Rendered};
use crate::api::wire::upload::{FileBody, Received};
use crate::api::wire::view::{End, Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::decision::client::ClientChange;
use crate::app::decision::client_list::{LIST_BYTES_MAX, ListOutcome};
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::import::inventory::client_list;
use crate::page::Page;
use crate::store::global::client::receipt::ErasureReceipt;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::per_client::statement::StatementRecord;

/// A client organization, with what only the management API shows.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ManagedClient")]
#[serde(rename_all = "camelCase")]
pub struct ManagedClientView {
    id: Uid,
    name: String,
    industry: Null<String>,
    employee_count: Null<u32>,
    /// The versioned interface does not list inactive clients. Their data is kept.
    active: bool,
    /// Effective settings: the client's own settings on top of the service's defaults.
    settings: Free,
    /// What the client is called in other systems.
    external_references: Vec<ReferenceView>,
    /// Null: none stands.
    hold: Null<HoldView>,
    created_at: When,
    updated_at: When,
}

/// While it stands, nothing about the client is removed, by age or by erasing it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Hold")]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    reason: String,
    by: String,
    since: When,
    /// Null: until somebody lifts it.
    until: Null<When>,
}

impl HoldView {
    fn of(record: StatementRecord) -> Self {
        let until = record.content().and_then(|it| it.until);
        Self {
            reason: record.reason,
            by: record.author.by,
            since: When(record.recorded_at),
            until: until.map(When).into(),
        }
    }
}

impl ManagedClientView {
    pub fn of(
        client: &Client,
        references: Vec<ExternalReference>,
        hold: Option<StatementRecord>,
        app: &App,
    ) -> Self {
        Self {
            id: Uid::of(client.id.as_bytes()),
            name: client.name.clone(),
            industry: client.industry.clone().into(),
            employee_count: client.employee_count.into(),
            active: client.state == ClientState::Active,
            settings: Free(app.effective_settings(client)),
            external_references: ReferenceView::all(references),
            hold: hold.map(HoldView::of).into(),
            created_at: When(client.created_at),
            updated_at: When(client.updated_at),
        }
    }
}

/// A client to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ClientCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewClientBody {
    #[schemars(length(min = 1, max = 500))]
    name: String,
    #[schemars(length(max = 100))]
    #[serde(default)]
    industry: Null<String>,
    #[schemars(range(min = 0, max = 100_000_000))]
    #[serde(default)]
    employee_count: Null<u32>,
    /// Default: true.
    #[serde(default, deserialize_with = "present")]
    active: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    settings: Option<Members>,
    /// What the client is called in other systems, at most 10.
    #[schemars(length(max = 10))]
    #[serde(default, deserialize_with = "present")]
    external_references: Option<Vec<ReferenceView>>,
    /// Add the client even if another one has the name, or one that looks like it. Default: false, which answers 409 then.
    #[serde(default)]
    allow_same_name: bool,
}

example!(NewClientBody, {"name": "Acme Ltd", "industry": "Legal", "employeeCount": 40});

impl From<NewClientBody> for ClientChange {
    fn from(body: NewClientBody) -> Self {
        Self {
            name: Some(body.name),
            allow_same_name: body.allow_same_name,
            industry: body.industry.0.map(Some),
            employee_count: body.employee_count.0.map(Some),
            active: body.active,
            settings: body.settings.map(|it| it.0),
            references: ReferenceView::read(body.external_references),
        }
    }
}

/// What to change of a client. Absent fields stay as they are; null clears a field.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "ClientChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct ClientBody {
    #[schemars(length(min = 1, max = 500))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[schemars(length(max = 100))]
    industry: Change<String>,
    #[schemars(range(min = 0, max = 100_000_000))]
    employee_count: Change<u32>,
    #[serde(deserialize_with = "present")]
    active: Option<bool>,
    /// Members replace those of the same name, and null removes one. The answers in `profile` are merged one by one.
    #[serde(deserialize_with = "present")]
    settings: Option<Members>,
    /// What the client is called in other systems, at most 10. They replace all that it has.
    #[schemars(length(max = 10))]
    #[serde(deserialize_with = "present")]
    external_references: Option<Vec<ReferenceView>>,
    /// Give the client the name even if another one has it, or one that looks like it. Default: false, which answers 409 then.
    allow_same_name: bool,
}

example!(ClientBody, {"employeeCount": 45, "settings": {"profile": {"aws": "unused"}}});

impl From<ClientBody> for ClientChange {
    fn from(body: ClientBody) -> Self {
        Self {
            name: body.name,
            allow_same_name: body.allow_same_name,
            industry: body.industry.0,
            employee_count: body.employee_count.0,
            active: body.active,
            settings: body.settings.map(|it| it.0),
            references: ReferenceView::read(body.external_references),
        }
    }
}

async fn shown(web: &Web, caller: &Caller, client: &Client) -> Result<ManagedClientView> {
    let references = web.app.references(caller, client.id, Referenced::Client).await?;
    let hold = web.app.find_holds(vec![client.id]).await?.remove(&client.id);
    Ok(ManagedClientView::of(client, references, hold, &web.app))
}

/// A hold to place.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "HoldCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct HoldBody {
    #[schemars(length(min = 1, max = 1000))]
    reason: String,
    /// When it ends by itself. Default: it does not.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
}

example!(HoldBody, {"reason": "Litigation, case 4711"});

/// What became of a list of clients.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientList")]
#[serde(rename_all = "camelCase")]
pub struct ClientListView {
    added: Vec<AddedClientView>,
    /// Names that clients already have. These clients were left as they are.
    known: Vec<String>,
}

/// A client that a list added.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AddedClient")]
pub struct AddedClientView {
    id: Uid,
    name: String,
}

impl ClientListView {
    fn of(it: ListOutcome) -> Self {
        let added = |it: &Arc<Client>| AddedClientView {
            id: Uid::of(it.id.as_bytes()),
            name: it.name.clone(),
        };
        Self { added: it.added.iter().map(added).collect(), known: it.known }
    }
}

/// What was erased of a client, when and by whom.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ErasureReceipt")]
#[serde(rename_all = "camelCase")]
pub struct ErasureView {
    /// SHA-256 of the client's id, as text in lower case, in hexadecimal.
    client_sha256: String,
    begun_at: When,
    /// Null: it goes on.
    finished_at: Null<When>,
    /// As in the audit log.
    by: String,
    /// When the last scheduled backup that has the client is removed. Null: none are made on schedule. Backups that were made by
    /// hand, and copies, have the client until somebody removes them.
    backups_until: Null<When>,
    /// What there was when it began, by kind.
    counts: BTreeMap<String, u64>,
    /// SHA-256 of the statements. Null: there were none.
    statements_sha256: Null<String>,
    /// SHA-256 of each piece of evidence that had one.
    evidence_sha256: Vec<String>,
}

impl ErasureView {
    fn of(it: ErasureReceipt) -> Self {
        Self {
            client_sha256: hex::encode(it.client_sha256),
            begun_at: When(it.begun_at),
            finished_at: it.finished_at.map(When).into(),
            by: it.by,
            backups_until: it.backups_until.map(When).into(),
            counts: it.counts.into_iter().collect(),
            statements_sha256: it.statements_sha256.map(hex::encode).into(),
            evidence_sha256: it.evidence_sha256.iter().map(hex::encode).collect(),
        }
    }
}

pub struct ManagedClients;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedClients {
    /// List all clients
    ///
    /// Includes inactive clients, in the order in which they were added. Scope: `read:clients`.
    #[oai(path = "/clients", method = "get", operation_id = "manage_list_clients")]
    async fn list_clients(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewClients>,
        /// Only those whose names look like this one: case, white space and look-alike letters do not count.
        name: Query<Option<Raw<Text>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<ManagedClientView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let directory = &web.app.clients.directory;
        let mut all = name.0.map_or_else(|| directory.list(), |it| directory.list_named(&it.text));
        all.retain(|it| it.state != ClientState::Erasing && by.0.may_reach(it.id));
        let Page { items, total, cut } = Page::of(all.into_iter(), cut);
        let about = items.iter().map(|it| (it.id, Referenced::Client)).collect();
        let references = web.app.references_of(&by.0, about).await?;
        let mut holds = web.app.find_holds(items.iter().map(|it| it.id).collect()).await?;
        let both = items.into_iter().zip(references);
        let views = both.map(|(it, references)| {
            ManagedClientView::of(&it, references, holds.remove(&it.id), &web.app)
        });
        let page = Page { items: views.collect(), total, cut };
        Ok(reply::PageReply::rendered(Rendered::page(&page)))
    }

    /// Add a client
    ///
    /// Adds a client organization. Its id never changes. An API key that is limited to clients cannot add one; the new client
    /// belongs to the keys that are not.
    /// Scope: `manage:clients`.
    #[oai(path = "/clients", method = "post", operation_id = "add_client")]
    async fn add_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<AddClients>,
        body: Body<NewClientBody>,
    ) -> Result<Made<ManagedClientView>, Failure> {
        let change = body.read()?.into();
        let client = web.app.add_client(&by.0, change).await?;
        Ok(Made::Added(shown(&web, &by.0, &client).await?))
    }

    /// Add a list of clients
    ///
    /// The body is a table as spreadsheets save it (CSV, UTF-8, up to 1 MiB and 1,000 rows). Its first row names the columns:
    /// `name`, and optionally `industry`, `employees` and `frameworks`, whose identifiers are separated by semicolons. Names that
    /// clients already have are left out, so that the same list can be sent again. If a row breaks a rule, none is added.
    /// Scope: `manage:clients`.
    #[oai(path = "/clients/list", method = "post", operation_id = "add_client_list")]
    async fn add_client_list(
        &self,
        web: Held<&Arc<Web>>,
        by: By<AddClients>,
        file: FileBody,
    ) -> Result<Data<ClientListView>, Failure> {
        let upload = file.receive(&web.app, &by.0, LIST_BYTES_MAX).await?;
        let listed = Received::OnDisk(upload).read_with(&web.app, client_list::read).await?;
        let outcome = web.app.add_client_list(&by.0, listed).await?;
        Ok(Data::of(&ClientListView::of(outcome)))
    }

    /// Get a client
    ///
    /// Also works for inactive clients. Scope: `read:clients`.
    #[oai(path = "/clients/:clientId", method = "get", operation_id = "manage_get_client")]
    async fn get_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewClients>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let (client, _) = web.app.reach_any(&by.0, client_id.read()?)?;
        Ok(Data::of(&shown(&web, &by.0, &client).await?))
    }

    /// Change a client
    ///
    /// A change of industry, size or settings reassesses the client.
    /// Scope: `manage:clients`.
    #[oai(path = "/clients/:clientId", method = "patch", operation_id = "change_client")]
    async fn change_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ChangeClients>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<ClientBody>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let change = || Ok(body.read()?.into());
        let client = web.app.change_client(&by.0, client_id.read()?, change).await?;
        Ok(Data::of(&shown(&web, &by.0, &client).await?))
    }

    /// Place a hold
    ///
    /// While a hold stands, nothing about the client is removed by age, evidence is not removed, the client is not erased, and its
    /// terms of retention do not become shorter. A hold that stands is replaced. Placing and lifting are statements of kind
    /// `hold`.
    #[oai(path = "/clients/:clientId/hold", method = "put", operation_id = "place_hold")]
    async fn place_hold(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<HoldBody>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let HoldBody { reason, until } = body.read()?;
        let until = until.map(|it| it.0.at(&web.app.time_zone_of(client.id)));
        web.app.place_hold(&by.0, &rows, reason, until).await?;
        Ok(Data::of(&shown(&web, &by.0, &client).await?))
    }

    /// Lift a hold
    ///
    /// What its retention ends is removed from the next day on. Only for a user who may reach all clients.
    #[oai(path = "/clients/:clientId/hold", method = "delete", operation_id = "lift_hold")]
    async fn lift_hold(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Why, 1 to 1,000 characters.
        reason: Query<Needed<Text>>,
    ) -> Result<Data<ManagedClientView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let reason = reason.0.0.map(|it| it.text).unwrap_or_default();
        web.app.lift_hold(&by.0, &rows, reason).await?;
        Ok(Data::of(&shown(&web, &by.0, &client).await?))
    }

    /// Erase a client
    ///
    /// Removes everything about the client: assets, facts, results, history, events. Only a backup can bring it back. What stays is
    /// a receipt. A client under a hold is not erased.
    #[oai(path = "/clients/:clientId", method = "delete", operation_id = "remove_client")]
    async fn remove_client(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<ErasureView>, Failure> {
        let receipt = web.app.remove_client(&by.0, client_id.read()?).await?;
        Ok(Data::of(&ErasureView::of(receipt)))
    }

    /// List erased clients
    ///
    /// Receipts, newest first. They hold digests and counts, and nothing of the client itself; they are kept as long as
    /// statements (`retention.statements_days`).
    #[oai(path = "/erasures", method = "get", operation_id = "list_erasures")]
    async fn list_erasures(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<ErasureView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let Page { items, total, cut } = web.app.list_erasures(cut).await?;
        let items = items.into_iter().map(ErasureView::of).collect();
        Ok(reply::PageReply::rendered(Rendered::page(&Page { items, total, cut })))
    }
}
