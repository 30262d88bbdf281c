//! All clients in memory. They are few and small, and every request needs them.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::id::ClientId;
use crate::page::{Cut, Page};
use crate::store::global::client::{Client, ClientState};

#[derive(Debug, Default)]
pub struct Directory {
    clients: RwLock<BTreeMap<ClientId, Arc<Client>>>,
    version: AtomicU64,
}

impl Directory {
    #[must_use]
    pub fn of(clients: Vec<Client>) -> Self {
        let clients = clients.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        Self { clients: RwLock::new(clients), version: AtomicU64::new(0) }
    }

    /// Replaces all clients.
    pub fn replace_all(&self, clients: Vec<Client>) {
        let new = clients.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        *self.clients.write().expect("no holder of this lock panics") = new;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Increases with every change of any client.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn find(&self, id: ClientId) -> Option<Arc<Client>> {
        self.clients.read().expect("no holder of this lock panics").get(&id).cloned()
    }

    /// In the order in which they were added.
    pub fn list(&self) -> Vec<Arc<Client>> {
        self.clients.read().expect("no holder of this lock panics").values().cloned().collect()
    }

    /// Returns active clients among `allowed` (`None`: all), optionally of one industry, ignoring case.
    pub fn page(
        &self,
        allowed: Option<&[ClientId]>,
        industry: Option<&str>,
        cut: Cut,
    ) -> Page<Arc<Client>> {
        let industry = industry.map(str::to_lowercase);
        let allowed: Option<HashSet<_>> = allowed.map(|it| it.iter().copied().collect());
        let wanted = |it: &&Arc<Client>| {
            let of_industry = || it.industry.as_ref().map(|it| it.to_lowercase());
            it.state == ClientState::Active
                && allowed.as_ref().is_none_or(|ids| ids.contains(&it.id))
                && (industry.is_none() || of_industry() == industry)
        };
        let clients = self.clients.read().expect("no holder of this lock panics");
        let all: Vec<_> = clients.values().filter(wanted).cloned().collect();
        Page::of(all.into_iter(), cut)
    }

    /// Call it after the commit that added or changed the client.
    pub fn put(&self, client: Arc<Client>) {
        let mut clients = self.clients.write().expect("no holder of this lock panics");
        clients.insert(client.id, client);
        drop(clients);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Call it after the commit that erased the client.
    pub fn remove(&self, id: ClientId) {
        self.clients.write().expect("no holder of this lock panics").remove(&id);
        self.version.fetch_add(1, Ordering::Release);
    }
}
