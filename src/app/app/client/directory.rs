//! All clients in memory. They are few and small, and every request needs them.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use crate::id::ClientId;
use crate::page::{Cut, Page};
use crate::store::global::client::{Client, ClientState};
use crate::text::LookIndex;

#[derive(Debug, Default)]
pub struct Directory {
    clients: RwLock<Listed>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Listed {
    by_id: BTreeMap<ClientId, Arc<Client>>,
    by_name: LookIndex<ClientId>,
}

impl Listed {
    fn of(clients: Vec<Client>) -> Self {
        let mut listed = Self::default();
        for client in clients {
            listed.put(Arc::new(client));
        }
        listed
    }

    fn put(&mut self, client: Arc<Client>) {
        self.remove(client.id);
        self.by_name.put(&client.name, client.id);
        self.by_id.insert(client.id, client);
    }

    fn remove(&mut self, id: ClientId) {
        let Some(before) = self.by_id.remove(&id) else { return };
        self.by_name.remove(&before.name, id);
    }
}

impl Directory {
    #[must_use]
    pub fn of(clients: Vec<Client>) -> Self {
        Self { clients: RwLock::new(Listed::of(clients)), version: AtomicU64::new(0) }
    }

    /// Replaces all clients.
    pub fn replace_all(&self, clients: Vec<Client>) {
        let new = Listed::of(clients);
        *self.clients.write().expect("no holder of this lock panics") = new;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Increases with every change of any client.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn find(&self, id: ClientId) -> Option<Arc<Client>> {
        self.read().by_id.get(&id).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, Listed> {
        self.clients.read().expect("no holder of this lock panics")
    }

    /// The clients whose names look like this one, in the order in which they were added.
    pub fn list_named(&self, name: &str) -> Vec<Arc<Client>> {
        let listed = self.read();
        let alike = listed.by_name.find(name);
        alike.iter().filter_map(|it| listed.by_id.get(it)).cloned().collect()
    }

    /// In the order in which they were added.
    pub fn list(&self) -> Vec<Arc<Client>> {
        self.read().by_id.values().cloned().collect()
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
        let listed = self.read();
        let all: Vec<_> = listed.by_id.values().filter(wanted).cloned().collect();
        Page::of(all.into_iter(), cut)
    }

    /// Call it after the commit that added or changed the client.
    pub fn put(&self, client: Arc<Client>) {
        let mut clients = self.clients.write().expect("no holder of this lock panics");
        clients.put(client);
        drop(clients);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Call it after the commit that erased the client.
    pub fn remove(&self, id: ClientId) {
        self.clients.write().expect("no holder of this lock panics").remove(id);
        self.version.fetch_add(1, Ordering::Release);
    }
}
