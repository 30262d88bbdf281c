//! Connections that read the same: one of them may be at the wrong client.

use std::collections::BTreeMap;

use super::is_there;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::store::Snapshot;
use crate::store::global::connection::ConnectionWithRun;

/// A connection of the same kind with the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    pub id: ConnectionId,
    /// `None`: it sees many clients.
    pub client: Option<ClientId>,
}

impl App {
    /// Those that the caller may see, for each of these connections.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read.
    pub async fn twins(
        &self,
        by: &Caller,
        all: &[ConnectionWithRun],
    ) -> Result<BTreeMap<ConnectionId, Vec<Twin>>> {
        let stored = self.store.read(Snapshot::list_connections).await?;
        let may_see = |client: Option<ClientId>| {
            client.map_or(by.allowed_clients().is_none(), |it| by.may_reach(it))
        };
        let mut of_settings: BTreeMap<&str, Vec<Twin>> = BTreeMap::new();
        for it in stored.iter().filter(|it| is_there(it) && may_see(it.client)) {
            let twin = Twin { id: it.id, client: it.client };
            of_settings.entry(&it.settings).or_default().push(twin);
        }
        let twins = |ConnectionWithRun { connection: it, .. }: &ConnectionWithRun| {
            let same = of_settings.get(it.settings.as_str()).into_iter().flatten();
            (it.id, same.copied().filter(|twin| twin.id != it.id).collect())
        };
        Ok(all.iter().map(twins).collect())
    }
}
