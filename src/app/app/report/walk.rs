//! Lists over all clients, from a cursor on: one client after the other, each in the order of its keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::known;
use super::known::Nothing;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientSnapshot;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::condition::order;

/// Where a list over all clients continues: after this row of this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub client: ClientId,
    /// The row's key within the client.
    pub key: String,
}

impl App {
    /// Lists up to `limit` items after `after`: of one client, or of all that are listed, each in turn.
    ///
    /// `nothing`: what it is about, if it is all in the clients' posture.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the one client.
    pub(super) async fn walk<T: Send + 'static>(
        self: &Arc<Self>,
        caller: &Caller,
        (client, is_listed): (Option<ClientId>, impl Fn(&Client) -> bool + Send),
        nothing: Option<Nothing>,
        after: Option<Mark>,
        limit: u32,
        of_client: impl Fn(&ClientSnapshot, Part<'_>) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Vec<T>> {
        let mut clients: Vec<ClientId> = if let Some(id) = client {
            vec![self.reach_any(caller, id)?.0.id]
        } else {
            let all = self.clients.directory.list();
            let there = all.iter().filter(|it| it.state != ClientState::Erasing && is_listed(it));
            there.map(|it| it.id).filter(|it| caller.may_reach(*it)).collect()
        };
        clients.retain(|it| after.as_ref().is_none_or(|mark| mark.client <= *it));
        let of_version = |it| (it, nothing.map(|what| (what, known::version(&self.store, it))));
        let mut clients: Vec<_> = clients.into_iter().map(of_version).collect();
        clients.retain(|(id, what)| {
            what.is_none_or(|(what, version)| !self.known.has_nothing(*id, what, version))
        });
        let (limit, app) = (limit as usize, Arc::clone(self));
        let store = caller.acting_on(&self.store);
        let list = store.read(move |snapshot| {
            let mut found = Vec::new();
            for (id, what) in clients {
                let left = limit - found.len();
                if left == 0 {
                    break;
                }
                let mark = after.as_ref().filter(|it| it.client == id);
                let part = Part { after: mark.map(|it| it.key.as_str()), limit: left };
                let some = of_client(&snapshot.client(id), part)?;
                if let (true, None, Some((what, version))) = (some.is_empty(), mark, what) {
                    app.known.keep_nothing(id, what, version);
                }
                found.extend(some);
            }
            Ok(found)
        });
        list.await
    }
}

/// Which part of a client's list is wanted.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) after: Option<&'a str>,
    pub(super) limit: usize,
}

/// The first items of a part, in the order of their keys, from any number in any order.
pub(super) struct First<T> {
    after: Option<Vec<u8>>,
    limit: usize,
    pub(super) items: BTreeMap<Vec<u8>, T>,
}

impl<T> First<T> {
    pub(super) fn of(part: Part<'_>) -> Self {
        let after = part.after.map(order);
        Self { after, limit: part.limit, items: BTreeMap::new() }
    }

    /// Makes the item only if it is among the first.
    pub(super) fn offer(&mut self, key: &str, item: impl FnOnce() -> T) {
        let key = order(key);
        let is_full = self.items.len() == self.limit;
        let is_late = is_full && self.items.last_key_value().is_some_and(|(last, _)| *last < key);
        if is_late || self.after.as_ref().is_some_and(|after| key <= *after) {
            return;
        }
        self.items.insert(key, item());
        if self.limit < self.items.len() {
            self.items.pop_last();
        }
    }
}
