//! Connections to clients' environments: add, list, change, run, test, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View, Work};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::input::Ref;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::connect::{ConnectionChange, NewConnection};
use crate::connect::reading::{Group as ReadGroup, Reading};
use crate::connect::settings::Settings;
use crate::error::{Error, Result};
use crate::id::{ClientId, ConnectionId};
use crate::store::global::connection::{ConnectionState, ConnectionWithRun, GroupRun, StreamRun};

/// A connection to the environment of a client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Connection")]
#[serde(rename_all = "camelCase")]
pub struct ConnectionView {
    id: Uid,
    client_id: Uid,
    /// `dns`. Later releases may know more.
    kind: String,
    name: String,
    /// The name of the source of its facts.
    source: String,
    /// The domains whose records are read.
    domains: Vec<String>,
    paused: bool,
    /// `paused`; `pending` until the first run has ended; `healthy` if the last run read everything, `degraded` if it read a
    /// part, `failing` if it read nothing.
    health: String,
    /// Runs in a row that did not read everything.
    failures: u32,
    /// Null: it never ran.
    last_run_at: Null<When>,
    /// When everything was last read. Null: never.
    last_success_at: Null<When>,
    /// Null: it is paused.
    next_run_at: Null<When>,
    /// What the last run read, by part of the environment. Empty until the first run has ended.
    parts: Vec<PartView>,
    created_at: When,
    updated_at: When,
}

/// A part of an environment that is read on its own.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionPart")]
#[serde(rename_all = "camelCase")]
pub struct PartView {
    /// The domain.
    scope: String,
    streams: Vec<StreamView>,
    /// What is worth knowing and decides nothing.
    notes: Vec<NoteView>,
}

/// One collection that was read.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionStream")]
#[serde(rename_all = "camelCase")]
pub struct StreamView {
    name: String,
    /// `complete`, `partial`, `denied`, `unlicensed` or `failed`. Nothing is concluded from what is not complete.
    state: String,
    /// Why it is not complete. Null: it is.
    reason: Null<String>,
    /// Records that were read.
    rows: u64,
}

/// Something worth knowing.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionNote")]
pub struct NoteView {
    name: String,
    text: String,
}

impl From<(String, String)> for NoteView {
    fn from((name, text): (String, String)) -> Self {
        Self { name, text }
    }
}

fn optional(text: String) -> Null<String> {
    Some(text).filter(|it| !it.is_empty()).into()
}

impl From<StreamRun> for StreamView {
    fn from(it: StreamRun) -> Self {
        Self { name: it.name, state: it.state, reason: optional(it.reason), rows: it.n_rows }
    }
}

impl From<GroupRun> for PartView {
    fn from(it: GroupRun) -> Self {
        Self {
            scope: it.scope,
            streams: it.streams.into_iter().map(StreamView::from).collect(),
            notes: it.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}

impl ConnectionView {
    fn of(it: ConnectionWithRun) -> Result<Self> {
        let health = it.health().to_owned();
        let ConnectionWithRun { connection, run, due } = it;
        let settings = Settings::parse(&connection.settings)?;
        let kind = settings.kind().to_owned();
        let Settings::Dns { domains } = settings;
        Ok(Self {
            id: Uid::of(connection.id.as_bytes()),
            client_id: Uid::of(connection.client.as_bytes()),
            kind,
            name: connection.name,
            source: connection.source,
            domains,
            paused: connection.state == ConnectionState::Paused,
            health,
            failures: run.as_ref().map_or(0, |it| it.n_failures),
            last_run_at: run.as_ref().map(|it| When(it.at)).into(),
            last_success_at: run.as_ref().and_then(|it| it.last_success_at).map(When).into(),
            next_run_at: due.map(When).into(),
            parts: run.into_iter().flat_map(|it| it.groups).map(PartView::from).collect(),
            created_at: When(connection.created_at),
            updated_at: When(connection.updated_at),
        })
    }
}

/// A connection to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewConnectionBody {
    client_id: Ref<ClientId>,
    /// What to read: `dns`, the public DNS records of domains.
    kind: String,
    /// The domains to read.
    #[schemars(length(min = 1, max = 100))]
    domains: Vec<String>,
    /// Default: what it reads.
    #[schemars(length(max = 200))]
    #[serde(default, deserialize_with = "present")]
    name: Option<String>,
}

example!(NewConnectionBody, {
    "clientId": "018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f", "kind": "dns", "domains": ["example.com"],
});

impl NewConnectionBody {
    fn new_connection(self) -> Result<NewConnection> {
        if self.kind != "dns" {
            return Err(Error::invalid_field("kind", "must be dns"));
        }
        let settings = Settings::dns(&self.domains)?;
        Ok(NewConnection { client: self.client_id.0, name: self.name, settings })
    }
}

/// What to change of a connection. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct ConnectionBody {
    #[schemars(length(max = 200))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    /// All domains to read from now on. What was found of others is retracted.
    #[schemars(length(min = 1, max = 100))]
    #[serde(deserialize_with = "present")]
    domains: Option<Vec<String>>,
    /// A paused connection does not run. What it found stays until it is too old to count.
    #[serde(deserialize_with = "present")]
    paused: Option<bool>,
}

example!(ConnectionBody, {"paused": true});

impl ConnectionBody {
    fn change(self) -> Result<ConnectionChange> {
        Ok(ConnectionChange {
            name: self.name,
            settings: self.domains.map(|it| Settings::dns(&it)).transpose()?,
            is_paused: self.paused,
        })
    }
}

/// What a connection can read now, and what that decides.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTest")]
#[serde(rename_all = "camelCase")]
pub struct TestView {
    /// All streams were read to the end.
    complete: bool,
    parts: Vec<TestPartView>,
}

/// What was read of a part of an environment.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTestPart")]
#[serde(rename_all = "camelCase")]
pub struct TestPartView {
    /// The domain.
    scope: String,
    streams: Vec<StreamView>,
    /// What a run would say of controls.
    controls: Vec<TestControlView>,
    notes: Vec<NoteView>,
}

/// What a run would say of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTestControl")]
#[serde(rename_all = "camelCase")]
pub struct TestControlView {
    control_code: String,
    check: String,
    /// `compliant`, `partial`, `non_compliant` or `not_applicable`.
    status: String,
    findings: String,
}

impl From<ReadGroup> for TestPartView {
    fn from(it: ReadGroup) -> Self {
        let stream = |it: crate::connect::reading::Stream| StreamView {
            name: it.name,
            state: it.state.as_str().to_owned(),
            reason: optional(it.reason),
            rows: it.n_rows,
        };
        let control = |it: crate::connect::reading::Judged| TestControlView {
            control_code: it.control.to_owned(),
            check: it.check,
            status: it.status.as_str().to_owned(),
            findings: it.findings,
        };
        Self {
            scope: it.scope,
            streams: it.streams.into_iter().map(stream).collect(),
            controls: it.observations.into_iter().map(control).collect(),
            notes: it.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}

impl From<Reading> for TestView {
    fn from(it: Reading) -> Self {
        let parts: Vec<TestPartView> = it.groups.into_iter().map(TestPartView::from).collect();
        let mut streams = parts.iter().flat_map(|it| &it.streams);
        Self { complete: streams.all(|it| it.state == "complete"), parts }
    }
}

pub struct Connections;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Connections {
    /// List connections
    ///
    /// Oldest first, with their last runs.
    #[oai(path = "/connections", method = "get", operation_id = "list_connections")]
    async fn list_connections(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
        /// Only those of this client.
        #[oai(name = "clientId")]
        client_id: Query<Option<Raw<Id>>>,
    ) -> Result<Data<Vec<ConnectionView>>, Failure> {
        let client = param::id("clientId", client_id.0.as_ref())?;
        let all = web.app.list_connections(&by.0, client).await?;
        let all = all.into_iter().map(ConnectionView::of).collect::<Result<Vec<_>>>()?;
        Ok(Data::of(&all))
    }

    /// Add a connection
    ///
    /// It runs at once, and then once a day. A client has at most 20, all clients together 10,000.
    #[oai(path = "/connections", method = "post", operation_id = "add_connection")]
    async fn add_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewConnectionBody>,
    ) -> Result<Made<ConnectionView>, Failure> {
        let new = body.read()?.new_connection()?;
        Ok(Made::Added(ConnectionView::of(web.app.add_connection(&by.0, new).await?)?))
    }

    /// Get a connection
    ///
    /// With its last run.
    #[oai(path = "/connections/:connectionId", method = "get", operation_id = "get_connection")]
    async fn get_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
    ) -> Result<Data<ConnectionView>, Failure> {
        let found = web.app.get_connection(&by.0, connection_id.read()?).await?;
        Ok(Data::of(&ConnectionView::of(found)?))
    }

    /// Change a connection
    ///
    /// It runs at once if what it reads changed, or if it was paused.
    #[oai(
        path = "/connections/:connectionId",
        method = "patch",
        operation_id = "change_connection"
    )]
    async fn change_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
        body: Body<ConnectionBody>,
    ) -> Result<Data<ConnectionView>, Failure> {
        let (id, change) = (connection_id.read::<ConnectionId>()?, || body.read()?.change());
        Ok(Data::of(&ConnectionView::of(web.app.change_connection(&by.0, id, change).await?)?))
    }

    /// Remove a connection
    ///
    /// What it found is retracted.
    #[oai(
        path = "/connections/:connectionId",
        method = "delete",
        operation_id = "remove_connection"
    )]
    async fn remove_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_connection(&by.0, connection_id.read()?).await?;
        Ok(Gone)
    }

    /// Run a connection now
    ///
    /// It runs in the background: `lastRunAt` changes when it has ended.
    #[oai(
        path = "/connections/:connectionId/sync",
        method = "post",
        operation_id = "sync_connection"
    )]
    async fn sync_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
    ) -> Result<Data<ConnectionView>, Failure> {
        let due = web.app.hasten_connection(&by.0, connection_id.read()?).await?;
        Ok(Data::of(&ConnectionView::of(due)?))
    }

    /// Test a connection
    ///
    /// Reads everything that a run reads, and shows what that would decide. Nothing of it is stored.
    #[oai(
        path = "/connections/:connectionId/test",
        method = "post",
        operation_id = "test_connection"
    )]
    async fn test_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
    ) -> Result<Data<TestView>, Failure> {
        let reading = web.app.test_connection(&by.0, connection_id.read()?).await?;
        Ok(Data::of(&TestView::from(reading)))
    }
}
