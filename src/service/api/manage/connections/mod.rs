//! Connections to clients' environments: add, list, change, run, test, remove.

mod body;
pub mod mapping;
pub mod microsoft;
pub mod organization;
mod view;

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};

use self::body::{ConnectionBody, NewConnectionBody};
use self::view::{ConnectionView, KindView, TestView};
use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View, Work};
use crate::api::wire::body::Body;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Raw, Text, UpTo, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, StretchReply};
use crate::api::{Group, Web};
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::id::ConnectionId;
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::global::connection::ConnectionWithRun;

async fn shown(web: &Web, by: &Caller, it: ConnectionWithRun) -> Result<ConnectionView> {
    Ok(all_shown(web, by, vec![it]).await?.remove(0))
}

async fn all_shown(
    web: &Web,
    by: &Caller,
    all: Vec<ConnectionWithRun>,
) -> Result<Vec<ConnectionView>> {
    let mut consents = web.app.consents(&all).await?;
    let mut twins = web.app.twins(by, &all).await?;
    let view = |it: ConnectionWithRun| {
        let id = it.connection.id;
        let twins = twins.remove(&id).unwrap_or_default();
        ConnectionView::of(it, consents.remove(&id).unwrap_or_default(), twins)
    };
    all.into_iter().map(view).collect()
}

pub struct Connections;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Connections {
    /// List kinds of connections
    ///
    /// With what is to be entered for each of them. Those that you declare yourself come last.
    #[oai(path = "/connection-kinds", method = "get", operation_id = "list_connection_kinds")]
    async fn list_connection_kinds(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
    ) -> Result<Data<Vec<KindView>>, Failure> {
        let all = web.app.list_connection_kinds().await?;
        Ok(Data::of(&all.into_iter().map(KindView::from).collect::<Vec<_>>()))
    }

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
        /// Only those of this kind. Can be repeated.
        kind: Query<Option<Vec<Raw<Text>>>>,
        /// Continue after this connection: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<ConnectionView>, Failure> {
        let client = param::id("clientId", client_id.0.as_ref())?;
        let after = param::id("after", after.0.as_ref())?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let kinds = kind.0.into_iter().flatten().map(|it| it.text).collect();
        let all = web.app.list_connections(&by.0, (client, kinds), (after, limit + 1)).await?;
        let Stretch { items: all, next } =
            Stretch::of(all, limit, |it| it.connection.id.to_string());
        let items = all_shown(&web, &by.0, all).await?;
        Ok(StretchReply::of(&Stretch { items, next }))
    }

    /// Add a connection
    ///
    /// It runs at once, and then once a day. A client has at most 20, all clients together 10,000. A connection of your own
    /// tool needs an account that may access all clients.
    #[oai(path = "/connections", method = "post", operation_id = "add_connection")]
    async fn add_connection(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewConnectionBody>,
    ) -> Result<Made<ConnectionView>, Failure> {
        let new = body.read()?.new_connection();
        let added = web.app.add_connection(&by.0, new).await?;
        Ok(Made::Added(shown(&web, &by.0, added).await?))
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
        Ok(Data::of(&shown(&web, &by.0, found).await?))
    }

    /// Change a connection
    ///
    /// It runs at once if what it reads changed, or if it was paused. If somebody else changes it at the same moment, the
    /// answer is 409; send the request again.
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
        let id = connection_id.read::<ConnectionId>()?;
        let change = || Ok(body.read()?.change());
        let changed = web.app.change_connection(&by.0, id, change).await?;
        Ok(Data::of(&shown(&web, &by.0, changed).await?))
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
    /// It runs in the background, after a run that is going on. It has ended when `lastRunAt` has changed and `nextRunAt`
    /// is not what this call answers any more.
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
        Ok(Data::of(&shown(&web, &by.0, due).await?))
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
        let trial = web.app.test_connection(&by.0, connection_id.read()?).await?;
        Ok(Data::of(&TestView::from(trial)))
    }
}
