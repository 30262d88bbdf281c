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
    pub client: ClientId,
}

impl App {
    /// Up to [`N_TWINS_MAX`] that the caller may see, for each of these connections that is a client's.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read.
    pub async fn twins(
        &self,
        by: &Caller,
        all: &[ConnectionWithRun],
    ) -> Result<BTreeMap<ConnectionId, Vec<Twin>>> {
        let allowed = by.allowed_clients().map(<[ClientId]>::to_vec);
        // Accounts of a tool that sees many clients may differ in nothing but their secrets.
        let of_clients = all.iter().filter(|it| it.connection.client.is_some());
        let wanted: Vec<_> =
            of_clients.map(|it| (it.connection.id, it.connection.settings.clone())).collect();
        let find = move |snapshot: &Snapshot| {
            let is_of = |allowed: &Vec<ClientId>, client: Option<ClientId>| {
                client.is_some_and(|it| allowed.contains(&it))
            };
            let may_see = |client| allowed.as_ref().is_none_or(|it| is_of(it, client));
            let mut of_settings: BTreeMap<String, Vec<Twin>> =
                wanted.iter().map(|it| (it.1.clone(), Vec::new())).collect();
            for it in snapshot.list_connections()?.into_iter().filter(is_there) {
                let Some(client) = it.client.filter(|_| may_see(it.client)) else { continue };
                if let Some(same) = of_settings.get_mut(&it.settings) {
                    same.push(Twin { id: it.id, client });
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
