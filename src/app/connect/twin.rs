//! Connections that read the same: one of them may be at the wrong client.

use std::collections::BTreeMap;

use super::is_there;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::store::Snapshot;
use crate::store::global::connection::ConnectionWithRun;

/// Of one connection.
const N_TWINS_MAX: usize = 10;

/// A connection of the same kind with the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    pub id: ConnectionId,
    /// `None`: it sees many clients.
    pub client: Option<ClientId>,
}

impl App {
    /// Up to [`N_TWINS_MAX`] that the caller may see, for each of these connections.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read.
    pub async fn twins(
        &self,
        by: &Caller,
        all: &[ConnectionWithRun],
    ) -> Result<BTreeMap<ConnectionId, Vec<Twin>>> {
        let allowed = by.allowed_clients().map(<[ClientId]>::to_vec);
        let wanted: Vec<_> =
            all.iter().map(|it| (it.connection.id, it.connection.settings.clone())).collect();
        let find = move |snapshot: &Snapshot| {
            let is_of = |allowed: &Vec<ClientId>, client: Option<ClientId>| {
                client.is_some_and(|it| allowed.contains(&it))
            };
            let may_see = |client| allowed.as_ref().is_none_or(|it| is_of(it, client));
            let mut of_settings: BTreeMap<String, Vec<Twin>> = BTreeMap::new();
            for it in snapshot.list_connections()?.into_iter().filter(is_there) {
                if may_see(it.client) {
                    let twin = Twin { id: it.id, client: it.client };
                    of_settings.entry(it.settings).or_default().push(twin);
                }
            }
            let twins = |(id, settings): (ConnectionId, String)| {
                let same = of_settings.get(&settings).into_iter().flatten().copied();
                (id, same.filter(|twin| twin.id != id).take(N_TWINS_MAX).collect())
            };
            Ok(wanted.into_iter().map(twins).collect())
        };
        self.store.read(find).await
    }
}
