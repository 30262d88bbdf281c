//! Client organizations: add, change, remove.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::reference;
use crate::app::App;
use crate::app::client::settings;
use crate::app::event::cause::Cause;
use crate::app::input::{require_length, require_text};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::{Batch, ClientStore, Snapshot, Store};

pub const NAME_CHARS_MAX: usize = 500;
pub const INDUSTRY_CHARS_MAX: usize = 100;
pub const EMPLOYEES_MAX: u32 = 100_000_000;
/// One commit of an erasure removes at most this many rows, so that other writers do not wait long.
const N_ERASED_AT_ONCE: usize = 500;

/// The fields of a new client, or what to change of a client. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ClientChange {
    pub name: Option<String>,
    pub industry: Option<Option<String>>,
    pub employee_count: Option<Option<u32>>,
    pub active: Option<bool>,
    pub settings: Option<Map<String, Value>>,
    pub references: Option<Vec<ExternalReference>>,
}

impl App {
    /// Returns a client that the caller may access, active or not.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access it, whether it exists or not; `NotFound` if it does not exist or is
    /// being erased.
    pub fn reach_any(&self, caller: &Caller, id: ClientId) -> Result<(Arc<Client>, ClientStore)> {
        let rows = caller.reach(&self.store, id)?;
        let client = self.clients.directory.find(id).filter(|it| it.state != ClientState::Erasing);
        Ok((client.ok_or_else(|| Error::not_found("client not found"))?, rows))
    }

    /// Returns a client that the contract's operations show. An inactive client is treated as absent.
    ///
    /// # Errors
    /// As [`App::reach_any`].
    pub fn reach_active(
        &self,
        caller: &Caller,
        id: ClientId,
    ) -> Result<(Arc<Client>, ClientStore)> {
        let (client, rows) = self.reach_any(caller, id)?;
        if client.state == ClientState::Active {
            return Ok((client, rows));
        }
        Err(Error::not_found("client not found"))
    }

    /// All clients that the caller may access, inactive ones too, in the order in which they were added.
    #[must_use]
    pub fn list_reachable(&self, caller: &Caller) -> Vec<ClientId> {
        let all = self.clients.directory.list().into_iter();
        let there = all.filter(|it| it.state != ClientState::Erasing && caller.may_reach(it.id));
        there.map(|it| it.id).collect()
    }

    /// The clients whose rows to list: the one that was asked for, or those that the caller may access. `None`: all.
    ///
    /// # Errors
    /// As [`App::reach_any`].
    pub(in crate::app) fn asked_clients(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
    ) -> Result<Option<Vec<ClientId>>> {
        Ok(match client {
            Some(id) => Some(vec![self.reach_any(caller, id)?.0.id]),
            None => caller.allowed_clients().map(<[_]>::to_vec),
        })
    }

    /// # Errors
    /// `Invalid` with the field that breaks a rule.
    pub async fn add_client(&self, by: &Caller, change: ClientChange) -> Result<Arc<Client>> {
        if change.name.is_none() {
            return Err(Error::invalid_field("name", "is required"));
        }
        reference::check(change.references.as_ref())?;
        let references = change.references.clone();
        let client = self.made(change, by)?;
        self.keep_client(&by.acting_on(&self.store), client, None, references).await
    }

    /// A new client, not stored yet.
    pub(super) fn made(&self, change: ClientChange, by: &Caller) -> Result<Client> {
        let now = self.clock.now();
        let client = Client {
            id: ClientId::made_at(now),
            name: String::new(),
            industry: None,
            employee_count: None,
            settings: "{}".to_owned(),
            state: ClientState::Active,
            created_at: now,
            updated_at: now,
        };
        self.changed(client, change, &by.name())
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule.
    pub async fn change_client(
        &self,
        caller: &Caller,
        id: ClientId,
        change: impl FnOnce() -> Result<ClientChange>,
    ) -> Result<Arc<Client>> {
        // Locked from reading to storing, so that concurrent changes are not lost and no change brings an erased client
        // back.
        let changing = self.clients.lock(id).await;
        let (client, rows) = self.reach_any(caller, id)?;
        let change = change()?;
        reference::check(change.references.as_ref())?;
        let references = change.references.clone();
        let reassess = change.settings.is_some()
            || change.employee_count.is_some()
            || change.industry.is_some();
        let client = self.changed((*client).clone(), change, &caller.name())?;
        let due = reassess.then(|| self.clock.now());
        let store = caller.acting_on(&self.store);
        let client = self.keep_client(&store, client, due, references).await?;
        drop(changing);
        if reassess {
            self.reassess(&rows, Cause::Scope).await?;
        }
        Ok(client)
    }

    /// Erases the client and everything about it. No reader sees it from now on. Its rows are removed in small steps,
    /// which continue after a restart.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_client(&self, caller: &Caller, id: ClientId) -> Result<()> {
        let _lock = self.clients.lock(id).await;
        let (client, _) = self.reach_any(caller, id)?;
        let erasing = Client { state: ClientState::Erasing, ..(*client).clone() };
        self.keep_client(&caller.acting_on(&self.store).reserved(), erasing, None, None).await?;
        self.erase_client(id).await
    }

    /// Continues an erasure until nothing of the client remains.
    pub async fn erase_client(&self, id: ClientId) -> Result<()> {
        let store = self.store.reserved();
        // Events first: while they are there, their deliveries can be queued again.
        let erase = move |batch: &mut Batch| batch.erase_client_events(id, N_ERASED_AT_ONCE);
        while store.write(erase).await? == N_ERASED_AT_ONCE {}
        self.erase_outlived_deliveries(id).await?;
        while store.write(move |batch| batch.erase_client_chunk(id, N_ERASED_AT_ONCE)).await? {}
        self.clients.directory.remove(id);
        Ok(())
    }

    /// Deliveries can be kept longer than events. Then only their own rows say whose they are.
    async fn erase_outlived_deliveries(&self, id: ClientId) -> Result<()> {
        let store = self.store.reserved();
        let mut after = None;
        loop {
            let list = move |snapshot: &Snapshot| {
                snapshot.list_outlived_deliveries(id, after, N_ERASED_AT_ONCE)
            };
            let found = store.read(list).await?;
            if !found.deliveries.is_empty() {
                store.write(move |batch| batch.erase_deliveries(&found.deliveries)).await?;
            }
            let Some(next) = found.next else { return Ok(()) };
            after = Some(next);
        }
    }

    /// `due`: when to reassess the client if the reassessment that follows does not happen.
    async fn keep_client(
        &self,
        store: &Store,
        client: Client,
        due: Option<Time>,
        references: Option<Vec<ExternalReference>>,
    ) -> Result<Arc<Client>> {
        let client = Arc::new(client);
        let (row, kept) = (Arc::clone(&client), Arc::clone(&client));
        let directory = Arc::clone(&self.clients.directory);
        // After the commit: what is shown must survive a restart.
        let put = move |(): &()| directory.put(kept);
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            batch.put_client(&row)?;
            if let Some(references) = &references {
                batch.client(row.id).put_references(Referenced::Client, references)?;
            }
            due.map_or(Ok(()), |at| batch.client(row.id).put_due(at))
        };
        store.write_then(write, put).await?;
        Ok(client)
    }

    fn changed(&self, mut client: Client, change: ClientChange, by: &str) -> Result<Client> {
        let now = self.clock.now();
        if let Some(name) = change.name {
            require_text("name", &name, NAME_CHARS_MAX)?;
            client.name = name;
        }
        if let Some(industry) = change.industry {
            require_length("industry", industry.as_deref(), INDUSTRY_CHARS_MAX)?;
            client.industry = industry;
        }
        if let Some(count) = change.employee_count {
            if count.is_some_and(|it| EMPLOYEES_MAX < it) {
                let rule = format!("must be at most {EMPLOYEES_MAX}");
                return Err(Error::invalid_field("employeeCount", rule));
            }
            client.employee_count = count;
        }
        if let Some(active) = change.active {
            client.state = if active { ClientState::Active } else { ClientState::Inactive };
        }
        if let Some(patch) = change.settings {
            client.settings = settings::change(&client.settings, &patch, &self.catalog(), by, now)?;
        }
        client.updated_at = now;
        Ok(client)
    }
}
